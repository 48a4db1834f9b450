"""One run: a platform, a workload and a scheduler, put together on one SimPy environment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from numbers import Real
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from simpy.core import EmptySchedule
from simpy.events import URGENT, Event

from cluster_sim.engine import Environment, SimGridEnvironment
from cluster_sim.errors import InputError, SimulationError, StallWarning, counted, warn
from cluster_sim.machine.eligibility import eligibility_of
from cluster_sim.machine.job_clocks import JobClocks
from cluster_sim.machine.machine import Machine
from cluster_sim.machine.node import Node
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.units.counted_resources import resources_of
from cluster_sim.models.contention import ContentionModel
from cluster_sim.models.network import NetworkModel, network_models
from cluster_sim.models.power import PowerModel
from cluster_sim.models.processor_step import ProcessorModels, models_of
from cluster_sim.packages import sibling
from cluster_sim.platform.hardware import check_truth
from cluster_sim.read_only import refill, renew
from cluster_sim.registry import describe
from cluster_sim.run.decision_log import DecisionLog, KeptBack
from cluster_sim.run.decisions import PowerDecision, Start
from cluster_sim.run.dispatcher import Dispatcher
from cluster_sim.run.end_of_run import EndOfRun
from cluster_sim.run.failures import Failures, failure_models
from cluster_sim.run.hosts import as_counted
from cluster_sim.run.jobs.admission import Admission
from cluster_sim.run.jobs.attempt import Attempt
from cluster_sim.run.jobs.attempts import AttemptEnd, Attempts
from cluster_sim.run.jobs.execution import Executor
from cluster_sim.run.jobs.job_life import JobLife
from cluster_sim.run.jobs.late_jobs import LateJobs
from cluster_sim.run.jobs.live_jobs import LiveJobs
from cluster_sim.run.jobs.rules import RunRules
from cluster_sim.run.jobs.run_jobs import RunJobs
from cluster_sim.run.machine_view import forwarded
from cluster_sim.run.news import News
from cluster_sim.run.notices import Notices
from cluster_sim.run.own_processes import Process, name_of, start
from cluster_sim.run.passes import Passes
from cluster_sim.run.planning import About
from cluster_sim.run.policies import PowerPolicy, Scheduler, Steered, serve, traits_of
from cluster_sim.run.power_control import PowerControl
from cluster_sim.run.progress import Progress
from cluster_sim.run.quirks import known_quirks
from cluster_sim.run.view import ClairvoyantView, View
from cluster_sim.spelling import Guess
from cluster_sim.workload.advance_reservations import AdvanceReservation, reservations_of
from cluster_sim.workload.jobs import Job, any_asks
from cluster_sim.workload.work import Work

if TYPE_CHECKING:
    from cluster_sim.platform.accounts import Accounts
    from cluster_sim.platform.platform import Platform
    from cluster_sim.records.result import Result
    from cluster_sim.workload.workload import Workload


class Simulation:
    """A run in the making: build it, ``run()`` it, look at the result. One object is one run.

    Parameters: ``scheduler`` and ``power`` (a power policy, also named ``power_policy``; None leaves nodes as the platform
    says) as objects or specs, ``"easy"``, ``"timeout:300"``; a scheduler that switches nodes itself brings its own power policy;
    ``seed`` for everything random; ``enforce_walltime`` kills jobs that outlive their requested time; ``until`` (s)
    stops the run there, jobs not done are unfinished; ``quirks`` by name, see :mod:`cluster_sim.run.quirks`; ``contention`` and
    ``power_model`` as objects or specs replace the platform's own models, ``models`` both at once, for those who make
    many runs on one platform; ``network`` is by default none.
    ``explain`` keeps a log of the scheduler's decisions, for ``result.explain(job_id)``; ``reservations`` are nodes set
    aside for a time, see :class:`~cluster_sim.workload.advance_reservations.AdvanceReservation`; ``failures``, an object or a
    spec, say how nodes fail, see :mod:`cluster_sim.run.failures`; with ``suspended_time_counts`` a job that is suspended
    uses up its requested time meanwhile; ``accounts`` are whose jobs, with which shares and limits; ``processes``, functions
    or ``FILE.py:NAME``, are called with the simulation, and run as SimPy processes if they are generators.
    Raises InputError for an unknown quirk and for names of models that do not exist.

    It can be driven: ``env`` is the SimPy environment, and ``on(name)`` gives an event for processes of your own.
    ``run(until=t)`` goes on to t, ``step_to_decision()`` and ``decide()`` take the scheduler's place,
    ``step_to_power_decision()`` and ``decide_power()`` the power policy's.
    """

    def __init__(
        self,
        platform: Platform,
        workload: Workload,
        scheduler: Scheduler | str | None = None,
        power: PowerPolicy | str | None = None,
        seed: int = 0,
        enforce_walltime: bool = False,
        quirks: Iterable[str] = (),
        *,
        until: float | None = None,
        contention: ContentionModel | str | None = None,
        power_model: PowerModel | str | None = None,
        models: ProcessorModels | None = None,
        network: NetworkModel | str = "none",
        explain: bool = False,
        reservations: Iterable[AdvanceReservation] = (),
        failures: Failures | str | None = None,
        suspended_time_counts: bool = False,
        accounts: Accounts | None = None,
        processes: Iterable[Process | str] = (),
        power_policy: PowerPolicy | str | None = None,
    ):
        if power_policy is not None:
            if power is not None:
                raise InputError("Simulation", "power or power_policy, which are the same", "both")
            power = power_policy
        if isinstance(scheduler, str):
            scheduler = cast("Scheduler", sibling("schedulers").make_scheduler(scheduler))
        if isinstance(power, str):
            power = cast("PowerPolicy", sibling("schedulers").make_power_policy(power))
        self.traits = traits_of(scheduler, Scheduler())  #: What the scheduler declares of itself.
        own_power = self.traits.power_policy
        if own_power is not None:
            if not (power is None or isinstance(power, sibling("schedulers").AlwaysOn)):
                who = f"always-on, or none, beside {describe(scheduler)}, which brings its own (as easy + timeout:300 does)"
                raise InputError("Simulation, power", who, describe(power))
            power = own_power
        _check_kind("scheduler", scheduler, hasattr(scheduler, "memory"), "Fcfs() or make_scheduler('fcfs')")
        _check_kind("power", power, not hasattr(power, "schedule"), "AlwaysOn() or make_power_policy('always-on')")
        for name, value, sign in (("Platform", platform, "node_types"), ("Workload", workload, "counts_hosts")):
            if not hasattr(value, sign):
                raise InputError(f"Simulation, {name.lower()}", f"a {name}, such as {name}.read(…)", value)
        for name, model, methods in (
            ("contention", contention, ("on",)),
            ("power_model", power_model, ("idle_watts", "shared_watts", "core_watts")),
            ("network", network, ("on",)),
            ("failures", failures, ("inject",)),
        ):
            if not isinstance(model, str) and (model is not None or name == "network"):
                _check_has(f"Simulation, {name}", model, methods)
        if models is not None and not isinstance(models, ProcessorModels):
            raise InputError("Simulation, models", "what models_of(platform, …) returns, or None", repr(models))
        if accounts is not None:
            _check_has("Simulation, accounts", accounts, ("renamed",))
        reservations = reservations_of(reservations)
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise InputError("Simulation, seed", "a whole number >= 0", seed)
        flags = {
            "enforce_walltime": enforce_walltime,
            "explain": explain,
            "suspended_time_counts": suspended_time_counts,
        }
        for name, truth in flags.items():
            if type(truth) is not bool:
                check_truth(f"Simulation, {name}", truth)
        platform = as_counted(platform, workload)
        self.platform = platform
        self.workload = workload
        self.scheduler = scheduler
        self.power_policy = power
        self.power_traits = traits_of(power, PowerPolicy())  #: What the power policy declares of itself.
        self.seed = seed
        self.enforce_walltime = enforce_walltime
        self.until = None if until is None else _time_to_stop(until)
        self.quirks = known_quirks(quirks)
        #: How nodes fail; None: they do not, unless a process has them fail.
        self.failures = failure_models.make(failures) if isinstance(failures, str) else failures
        self.suspended_time_counts = suspended_time_counts
        #: Who may have how much of the machine, under the names of the workload; None: nobody keeps account.
        self.accounts = None if accounts is None else accounts.renamed(workload.aliases)
        self.env = SimGridEnvironment() if "simgrid-clock" in self.quirks else Environment()
        models = models_of(platform, contention, power_model) if models is None else models
        self.contention, self.power_model = models.contention, models.power

        self.network_model = network_models.make(network) if isinstance(network, str) else network
        self.network = self.network_model.on(self.env, platform)
        _check_has(
            f"network model {describe(self.network_model)}, what on(…) returns", self.network, ("transfer", "cancel")
        )

        self.jobs = RunJobs(workload)  #: Those of the workload, and those that are submitted while the run goes on.
        self.live_jobs: LiveJobs[Attempt] = LiveJobs()  #: Those that wait, hold cores or are suspended.
        self.attempts = Attempts(len(workload))
        self.decision_log = DecisionLog() if explain else None
        #: What is kept of why jobs wait, where there is no log.
        self.kept_back = KeptBack(self.traits.head_alone_delays, self.traits.keeps_back)
        self._told: set[str] = set()  #: Kinds of cautions that the user has been warned of.
        self.stopped_at = self.until  #: Up to when the caller wants the records; None: to the last completion.
        self.machine = self._make_machine(models, reservations)
        self.news = News()
        self.news.follow(self.machine.hub, for_power=power is not None)
        after_each_event = "pass-after-each-event" in self.quirks
        self.passes = Passes(
            self.machine,
            self.live_jobs,
            self.news,
            scheduler,
            power,
            self.power_traits,
            self.kept_back,
            after_each_event,
        )  # fmt: skip
        #: Have the policies decide, once, when all else of this instant has happened.
        self.request_pass = self.passes.request
        #: The event of the next scheduling pass, for the process of a scheduler.
        self.pass_due = self.passes.due
        #: The event of the power policy's next turn, for its process: RESERVE or REACT of :mod:`cluster_sim.engine`.
        self.power_turn_due = self.passes.power_due
        self.notices = Notices(self.env, self.machine.hub, self.machine.node)
        self._make_life(after_each_event)
        self.has_failed = False  #: True if it ended in an error.
        self._has_begun = False
        named = {"scheduler": scheduler, "power policy": power, "failure model": self.failures}
        self._policies = {kind: policy for kind, policy in named.items() if policy is not None}
        # Whoever drives it: `run` and the steps have served before.
        self.env.at(0.0, URGENT).callbacks.append(lambda event: None if self._has_begun else self._serve())
        for policy in (scheduler, power):
            if policy is not None:
                self.env.process(policy.attend(self))
        if own_power is not None:
            self.request_pass()  # nodes are idle before the first job comes
        if self.failures is not None:
            self.failures.inject(self)
        if isinstance(processes, str):
            raise InputError("Simulation, processes", "a list of functions, or of FILE.py:NAME", processes)
        processes = list(processes)
        self.processes = [name_of(each) for each in processes]  #: Of the user's, by name.
        start(self, processes)

    def _make_machine(self, models: ProcessorModels, reservations: Sequence[AdvanceReservation]) -> Machine:
        """Make the machine, and note what jobs may ask of it."""
        platform, columns = self.platform, self.jobs.columns
        rng = None
        if [kind for kind in platform.node_types if kind.transitions.switch_on_distribution]:
            rng = np.random.default_rng(np.random.SeedSequence(self.seed).spawn(2)[1])
        by_request = not self.traits.keeps_reservations
        eligibility = eligibility_of(platform, columns, reservations, by_request=by_request)
        machine = Machine(self.env, platform, models, quirks=self.quirks, rng=rng, eligibility=eligibility)
        cores = machine.cores
        cores.shapes = any_asks(columns, "nodes", "ntasks_per_node")
        cores.uses_memory = any_asks(columns, "memory")
        cores.resources = resources_of(platform, columns)
        return machine

    def _make_life(self, after_each_event: bool) -> None:
        """Make what takes jobs from their submission to their end, and the views of it for policies."""
        machine, live, workload, columns = self.machine, self.live_jobs, self.workload, self.jobs.columns
        traits = self.traits
        reference = workload.reference_gflops
        work = Work(columns, self.platform.fastest_ops_per_s if reference is None else reference * 1e9)
        # Even where nothing contends, node orders look at the bandwidth that running tasks ask for.
        on_channels = machine.power.follows_rates or any_asks(columns, "mem_vol")
        executor = Executor(machine, work, live.holders, on_channels, self.request_pass, self.attempts.stages)
        self.admission = Admission(
            machine, workload, self.jobs.requests, live.pending, self.attempts, self.decision_log,
            traits, self.accounts, self.request_pass, after_each_event,
        )  # fmt: skip
        self.closing = EndOfRun(self.env, self.jobs, self.attempts, self.until)
        if not self.jobs.count:
            self.admission.process.callbacks.append(self.closing.check)
        rules = RunRules(
            self.enforce_walltime,
            self.suspended_time_counts,
            after_each_event,
            traits.at_boundaries,
            self.power_policy is not None,
            "the scheduler" if self.scheduler is None else type(self.scheduler).__name__,
        )
        job_clocks = JobClocks(machine)
        self.life = JobLife(
            machine, self.jobs, live, executor, self.network, self.admission, self.attempts, job_clocks,
            rules, self.failures, self.request_pass, self.news, self.decision_log,
        )  # fmt: skip
        self._about = About(
            self.scheduler is None or traits.memory,
            self.decision_log is not None,
            self.accounts,
            workload.aliases,
            "the power policy" if self.power_policy is None else describe(self.power_policy).partition(":")[0],
            self.seed,
            self.quirks,
        )
        self.view = (
            self.clairvoyant_view()
            if traits.clairvoyant
            else View(machine, live, self.news, self.life.changes, self._about)
        )
        self.power_view = self.view  #: What the power policy sees of the run: what the scheduler does, or more.
        if not traits.clairvoyant and self.power_policy is not None and self.power_policy.clairvoyant:
            self.power_view = self.clairvoyant_view()
        control = PowerControl(
            machine, live, self.admission, job_clocks, self.request_pass, type(self.power_policy).__name__
        )
        #: Carry out what a policy decides, see :meth:`~cluster_sim.run.dispatcher.Dispatcher.apply`.
        self.apply = Dispatcher(
            self.life,
            self.admission,
            self.passes,
            self.news,
            control,
            self.decision_log,
            self.kept_back,
            after_each_event,
        ).apply
        self._late_jobs = LateJobs(self.jobs, self.life, self.admission, self._begin_anew)

    is_over: bool = forwarded("closing.is_over", "True if the last job is over, or nothing could start another.")
    start, simulate = Guess("run()"), Guess("run()")
    time, now = Guess("env.now"), Guess("env.now")

    def __repr__(self) -> str:
        policies = f"{describe(self.scheduler) if self.scheduler else 'no scheduler'}"
        if self.power_policy is not None:
            policies += f", {describe(self.power_policy)}"
        state = "over" if self.is_over else f"at {self.env.now:g} s"
        return f"<Simulation of {counted(len(self.jobs), 'job')} on {self.platform.id!r} under {policies}, {state}>"

    def _serve(self) -> None:
        """Let the policies serve this run, which begins or goes on. Raises InputError for one that serves another."""
        serve(self._policies, self, self._has_begun)
        self._has_begun = True

    def clairvoyant_view(self) -> ClairvoyantView:
        """Return a view that also knows how long jobs really run: for judges from outside, such as a reward."""
        changes, work = self.life.changes, self.life.executor.work
        return ClairvoyantView(
            self.machine, self.live_jobs, self.news, changes, self._about, work, self.enforce_walltime
        )

    def _begin_anew(self) -> None:
        """Have the scheduler look again at what jobs ask for: it may count only cores, for want of other wishes."""
        renew(self.view.planning, counts_memory=self.machine.cores.uses_memory and self._about.places_memory)
        if self.scheduler is not None:
            refill(self.news.submitted, self.live_jobs.pending.values())
            refill(self.news.ended, ())
            self.scheduler.begin(self.view)
            self.request_pass()

    # ------------------------------------------------------------------ running

    def run(self, until: float | None = None, progress: bool | str = False, warn: bool = True) -> Result:
        """Run to the end of the last job, or to ``until`` (s), and return the result so far.

        No run goes beyond the simulation's own ``until``. Warns (StallWarning) when jobs are left that nothing will ever
        start, and once (CautionWarning) of what the run assumes and of jobs that it rejects, unless ``warn`` is false;
        ``result.cautions`` has these too. ``progress`` shows on stderr how many jobs are over: a bar on a terminal,
        else a line now and then, which begins with ``progress`` where that is a text. Raises InputError for a time that
        is negative or not finite.
        """
        if until is not None:
            until = _time_to_stop(until) if self.until is None else min(_time_to_stop(until), self.until)
        self.stopped_at = self.until if until is None else until
        stop: float | Event = self.closing.event if until is None or until == self.until else until
        if stop > self.env.now if isinstance(stop, float) else not self.is_over:
            self._serve()
            name = progress if isinstance(progress, str) else "run"
            shown: AbstractContextManager[object] = nullcontext()
            if progress:
                shown = Progress(name, len(self.workload), "jobs", count=lambda: self.attempts.over)
            try:
                with shown:
                    self.env.run(until=stop)
            except BaseException as error:
                if not isinstance(error, RuntimeError) or not isinstance(error.__context__, EmptySchedule):
                    self.has_failed = True
                    raise
                self._warn_of_stall()
        result = self.result()
        if warn and (self.is_over or not self._told):
            result.warn_of_cautions(self._told)
        return result

    def live(self, until: float | None = None, **options: Any) -> Result:
        """Run as :meth:`run` does and show the Gantt chart meanwhile, in a browser or a notebook: :func:`analysis.live`."""
        result: Result = sibling("analysis").live(self, until, **options)
        return result

    def _warn_of_stall(self) -> None:
        self.closing.is_over = True
        left = len(self.jobs) - self.attempts.over
        if not left:
            return  # only somebody who holds the run open has not released it
        are = "is" if left == 1 else "are"
        cause = "the scheduler starts none of them"
        if count := self.machine.nodes.withheld_count:
            policy = type(self.power_policy).__name__
            cause += f", and {policy} withholds {counted(count, 'node')} without having asked to be woken (WakeAt)"
        message = f"{counted(left, 'job')} {are} unfinished and nothing is left to happen: {cause}"
        warn(StallWarning(message, cause), 3)

    def result(self) -> Result:
        """Return the records up to now, as a Result."""
        from cluster_sim.records.result import Result

        return Result.of(self)

    def step_to_decision(self) -> View | None:
        """Go on to the next scheduling pass and stop in it; None when the run is over.

        For agents: build the simulation without a scheduler, look at the view, ``decide`` as often as you like within
        the instant, and step again. Raises SimulationError when there is a scheduler.
        """
        if self.scheduler is not None:
            raise SimulationError("a simulation that has a scheduler cannot be stepped: leave the scheduler out")
        self._serve()
        self.passes.pass_is_over()
        due, closing = self.pass_due(), self.closing
        try:
            while not (closing.is_over or due.processed):
                self.env.step()
        except EmptySchedule:
            self._warn_of_stall()
            return None
        if self.is_over:
            return None
        for follow in self.view.planning.followers:
            follow()
        return self.view

    def decide(self, *placements: tuple[Job, Placement]) -> View:
        """Start jobs on the given cores now; the view that comes back shows them running."""
        for pair in placements:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise InputError(
                    "simulation.decide", "pairs (job, placement); other decisions go to simulation.apply", pair
                )
            self.apply(Start(*pair))
        return self.view

    def step_to_power_decision(self) -> View | None:
        """Go on to the next decision of a power policy that is steered, and stop before the scheduler's pass; None at the end.

        For agents that switch nodes beside a scheduler: build the simulation with ``power=Steered()``, look at the view,
        ``decide_power`` as often as you like within the instant, and step again. Like any power policy, an agent is
        asked when something has happened, and at the times that it asks for by ``WakeAt``.
        Raises SimulationError when there is no scheduler, or another power policy.
        """
        steered = self.power_policy
        if self.scheduler is None or not isinstance(steered, Steered):
            raise SimulationError("power decisions can be stepped through with a scheduler and power=Steered() only")
        self._serve()
        steered.is_due = False
        step, closing = self.env.step, self.closing
        try:
            while not (steered.is_due or closing.is_over):
                step()
        except EmptySchedule:
            self._warn_of_stall()
            return None
        return None if self.is_over else self.view

    def decide_power(self, *decisions: PowerDecision) -> View:
        """Carry power decisions out now, as a power policy's before the scheduler's pass; the view shows their effect.

        Raises SimulationError unless the power policy is steered, see :meth:`step_to_power_decision`.
        """
        if not isinstance(self.power_policy, Steered):
            raise SimulationError("power decisions can be given from outside with power=Steered() only")
        self.passes.carry_out(decisions, self.apply)
        return self.view

    # ------------------------------------------------------------------ instants

    def on(self, name: str) -> Event:
        """Return an event for a process of your own: ``jobs = yield simulation.on("job_completed")``.

        It happens once in an instant, with everything of that kind that the instant brought: a tuple of jobs for
        job_submitted, job_started, job_completed, job_killed and job_rejected, a tuple of (node, state) for
        node_state_changed, the whole :class:`~cluster_sim.run.notices.Batch` for instant.
        Raises InputError for another name.
        """
        return self.notices.on(name)

    # ------------------------------------------------------------------ jobs

    def kill(self, job: Job | str, reason: str = "killed") -> None:
        """Kill a job, running or waiting, in this instant; one that is over, or not yet submitted, is left alone.

        Raises InputError for a job id that the run does not have.
        """
        index = self.jobs.index(job, "simulation.kill")
        self.life.kill_soon(index, reason or "killed", AttemptEnd.KILLED)  # one without a reason would have completed

    def submit(self, fields: Mapping[str, Any], at: float | None = None) -> Job:
        """Submit another job, now or at a later time (s); any process may. The run does not end before it is over.

        ``fields`` are those of the job schema, as in a row of ``workload.jobs``; an id, if given, must be new. A job that
        waits for others (``after``) is submitted when they are over.
        Raises FormatError or InputError, with nothing changed, for fields, an id or a time that cannot be.
        """
        return self._late_jobs.submit(fields, at)

    def requeue(self, job: Job | str, reason: str = "") -> None:
        """Stop a running job, or take one that was killed, and have it wait again, in its old place of the queue.

        What it had done is lost. A job that waits is left alone. In this instant, from any process.
        Raises InputError for an id that the run does not have, and for a job that has completed or was rejected.
        """
        self.life.requeue(job, reason)

    def hold_open(self) -> None:
        """Do not end with the last job: a process may submit others later. Until :meth:`release`, as often as this."""
        self.closing.hold_open()

    def release(self) -> None:
        """Take one :meth:`hold_open` back. Raises SimulationError if there is none."""
        self.closing.release()

    # ------------------------------------------------------------------ the machine

    def node(self, node: int | str) -> Node:
        """Return a node by its position in the platform or its name."""
        return self.machine.node(self.platform.node_index(node) if isinstance(node, str) else node)

    def nodes(self) -> Iterator[Node]:
        """Return all nodes."""
        return map(self.machine.node, range(self.platform.node_count))


def _time_to_stop(until: float) -> float:
    if not isinstance(until, Real) or isinstance(until, bool) or not 0.0 <= until < float("inf"):
        raise InputError("simulation, until", "a finite time in s, 0 or later", until)
    return float(until)  # an int would make arrays of times ints


def _check_has(where: str, thing: object, methods: Sequence[str]) -> None:
    """Name a slip such as a class that was not called."""
    for name in methods:
        if isinstance(thing, type) or not callable(getattr(thing, name, None)):
            raise InputError(where, f"an object with {', '.join(methods)}", repr(thing))


def _check_kind(parameter: str, value: object, is_of_kind: bool, example: str) -> None:
    """Name the usual slips: a spec, a class that was not called, or a policy of the other kind."""
    if value is not None and (isinstance(value, type) or not hasattr(value, "attend") or not is_of_kind):
        raise InputError(f"Simulation, {parameter}", f"an object such as {example}", value)
