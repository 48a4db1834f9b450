"""One run: a platform, a workload and a scheduler, put together on one SimPy environment."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from simpy.core import EmptySchedule
from simpy.events import URGENT, Event, Process

from cluster_sim.engine import END, WALLTIME, EagerProcess, Environment
from cluster_sim.errors import InputError, ModelWarning, NodeStateError, PlacementError, SimulationError
from cluster_sim.machine.eligibility import Eligibility
from cluster_sim.machine.job_clocks import JobClocks
from cluster_sim.machine.machine import Machine
from cluster_sim.machine.node import Node, NodeState
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.power_budget import PowerBudget
from cluster_sim.machine.running import Running
from cluster_sim.models.contention import ContentionModel, contention_models
from cluster_sim.models.network import NetworkModel, network_models
from cluster_sim.models.power import PowerModel, power_models
from cluster_sim.models.processor_step import ProcessorModels
from cluster_sim.run.admission import Admission
from cluster_sim.run.attempts import STATES, Attempts, Outcome, Stopped
from cluster_sim.run.clairvoyant_view import ClairvoyantView
from cluster_sim.run.decision_log import DecisionLog
from cluster_sim.run.decisions import (
    Decision,
    Hold,
    LimitPower,
    Offer,
    PowerDecision,
    Reject,
    Reserve,
    SetPState,
    Start,
    SwitchOff,
    SwitchOn,
    WakeAt,
    Withhold,
    check_decision,
)
from cluster_sim.run.execution import Executor, Kill, execute
from cluster_sim.run.instant import Notices
from cluster_sim.run.passes import Passes, PowerPolicy, Scheduler, Steered
from cluster_sim.run.progress import show_progress
from cluster_sim.run.resources import as_counted
from cluster_sim.run.run_jobs import RunJobs
from cluster_sim.run.view import View
from cluster_sim.workload.advance_reservations import AdvanceReservation
from cluster_sim.workload.jobs import Job, JobState
from cluster_sim.workload.work import Work

if TYPE_CHECKING:
    from cluster_sim.machine.guests import Request
    from cluster_sim.platform.platform import Platform
    from cluster_sim.records.result import Result
    from cluster_sim.workload.workload import Workload

QUIRKS = (
    "unused-processors-draw-nothing",
    "textual-node-order",
    "low-power-means-high",
    "contention-at-job-boundaries",
)
"""Behaviour of published programs that their numbers need; off unless asked for."""


class Simulation:
    """A run in the making: build it, ``run()`` it, look at the result. One object is one run.

    Parameters: ``scheduler`` and ``power`` (a power policy; None leaves nodes as the platform says) as objects;
    ``seed`` for everything random; ``enforce_walltime`` kills jobs that outlive their requested time; ``until`` (s)
    stops the run there, jobs not done are unfinished; ``quirks`` by name, see :data:`QUIRKS`; ``contention`` and
    ``power_model`` as objects or specs replace the platform's own models, ``models`` both at once, for those who make
    many runs on one platform; ``network`` is by default none.
    ``explain`` keeps a log of the scheduler's decisions, for ``result.explain(job_id)``; ``reservations`` are nodes set
    aside for a time, see :class:`~cluster_sim.workload.advance_reservations.AdvanceReservation`.
    Raises InputError for an unknown quirk and for names of models that do not exist.

    It can be driven: ``env`` is the SimPy environment, ``on(name)`` an event for processes of your own,
    ``run(until=t)`` goes on to t, ``step_to_decision()`` and ``decide()`` take the scheduler's place,
    ``step_to_power_decision()`` and ``decide_power()`` the power policy's.
    """

    def __init__(
        self,
        platform: Platform,
        workload: Workload,
        scheduler: Scheduler | None = None,
        power: PowerPolicy | None = None,
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
    ):
        _check_kind("scheduler", scheduler, "attend", "Fcfs() or make_scheduler('fcfs')")
        _check_kind("power", power, "react", "AlwaysOn() or make_power_policy('always-on')")
        platform = as_counted(platform, workload)
        self.platform = platform
        self.workload = workload
        self.scheduler = scheduler
        self.power_policy = power
        self.seed = seed
        self.enforce_walltime = enforce_walltime
        self.until = None if until is None else _time_to_stop(until)
        self.quirks = _known_quirks(quirks)
        self.env = Environment()
        models = models_of(platform, contention, power_model) if models is None else models
        self.contention, self.power_model = models.contention, models.power

        self.network_model = network_models.make(network) if isinstance(network, str) else network
        self.network = self.network_model.on(self.env, platform)

        self.jobs = RunJobs(workload)  #: Those of the workload, and those that are submitted while the run goes on.
        columns = self.jobs.columns
        reference = workload.reference_gflops
        work = Work(columns, platform.fastest_ops_per_s if reference is None else reference * 1e9)
        self.machine = Machine(self.env, platform, models, self, self.quirks)
        self.machine.shapes = bool((columns["nodes"] > 0).any() or (columns["ntasks_per_node"] > 0).any())
        self.machine.eligibility = Eligibility.of(platform, columns, reservations)
        self._uses_memory = bool((columns["memory"] > 0).any())
        self.jobs_communicate = bool((columns["comm_vol"] > 0).any())
        # Even where nothing contends, node orders look at the bandwidth that running tasks ask for.
        on_channels = self.machine.follows_rates or bool((columns["mem_vol"] > 0).any())
        self._executor = Executor(self.machine, work, on_channels)
        self._job_clocks = JobClocks(self.machine)
        if any(kind.transitions.switch_on_distribution for kind in platform.node_types):
            self.machine.rng = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[1])
        self.attempts = Attempts(len(workload))
        self.decision_log = DecisionLog() if explain else None
        self._pending: dict[int, Job] = {}
        self._running: dict[int, Running] = {}
        self.notices = Notices(self.env)
        self._end: Event = self.env.event() if self.until is None else self.env.at(self.until, URGENT)
        self.stopped_at = self.until  #: Up to when the caller wants the records; None: to the last completion.
        self.is_over = False  #: Whether the last job is over, or nothing is left that could start another.
        self._end.callbacks.append(self._finish)
        self.view = self._make_view()
        self.admission = Admission(self, self.jobs.requests, self._pending)
        self.admission.process.callbacks.append(lambda event: self._check_end())  # of a workload without jobs
        if scheduler is not None:
            self.env.process(scheduler.attend(self))
        self._held_open = 0  # by how many processes, so that the run does not end with its last job
        self._refused_power = False  # whether a decision of the power policy has been refused
        name = "the scheduler" if scheduler is None else type(scheduler).__name__
        self._passes = Passes(self.env, self._power_view(), power, self._apply_power, name)
        #: Have the policies decide, once, when all else of this instant has happened.
        self.request_pass = self._passes.request

    def _power_view(self) -> View:
        """The scheduler's view, or one that knows more, for a clairvoyant power policy."""
        if not getattr(self.power_policy, "clairvoyant", False) or isinstance(self.view, ClairvoyantView):
            return self.view
        view = self._make_view(clairvoyant=True)
        view.submitted, view.ended = self.view.submitted, self.view.ended  # one list each, which the pass clears
        view.vacated = self.view.vacated
        return view

    def clairvoyant_view(self) -> ClairvoyantView:
        """A view that also knows how long jobs really run: for what judges a run from outside, such as a reward."""
        view = self._make_view(clairvoyant=True)
        assert isinstance(view, ClairvoyantView)
        return view

    def _make_view(self, clairvoyant: bool = False) -> View:
        clairvoyant = clairvoyant or (self.scheduler is not None and self.scheduler.clairvoyant)
        kind = ClairvoyantView if clairvoyant else View
        view = kind(self.machine, self._pending, self._running)
        if isinstance(view, ClairvoyantView):
            view.work = self._executor.work
            view.kills_at_walltime = self.enforce_walltime
        view.seed = self.seed
        view.quirks = self.quirks
        view.explains = self.decision_log is not None
        if self.power_policy is not None:
            spec = str(getattr(self.power_policy, "spec", ""))
            view.power_policy = spec.partition(":")[0] or type(self.power_policy).__name__
        view.counts_memory = self._uses_memory and (self.scheduler is None or self.scheduler.memory)
        return view

    # ------------------------------------------------------------------ running

    def run(self, until: float | None = None, progress: bool = False) -> Result:
        """Run to the end of the last job, or to ``until`` (s), and return the result so far.

        No run goes beyond the simulation's own ``until``. Warns (ModelWarning) when jobs are left that nothing will ever
        start. ``progress`` shows a bar on stderr. Raises InputError for a time that is negative or not finite.
        """
        if progress:
            show_progress(self)
        if until is not None:
            until = _time_to_stop(until) if self.until is None else min(_time_to_stop(until), self.until)
        self.stopped_at = self.until if until is None else until
        if until is not None and until > self.env.now:
            self.env.run(until=self.env.at(until, URGENT))
        elif until is None and not self.is_over:
            try:
                self.env.run(until=self._end)
            except RuntimeError as error:
                if not isinstance(error.__context__, EmptySchedule):
                    raise  # somebody's own
                self._warn_of_stall()
        return self.result()

    def _warn_of_stall(self) -> None:
        self.is_over = True
        left = len(self.jobs) - self.attempts.over
        if not left:
            return  # only somebody who holds the run open has not released it
        message = f"{left} jobs are unfinished and nothing is left to happen: the scheduler starts none of them"
        if self.machine.withheld_count:
            policy, count = type(self.power_policy).__name__, self.machine.withheld_count
            message += f", and {policy} withholds {count} nodes without having asked to be woken (WakeAt)"
        warnings.warn(message, ModelWarning, stacklevel=3)

    def result(self) -> Result:
        """The records up to now, as a Result."""
        from cluster_sim.records.result import Result

        return Result.of(self)

    def step_to_decision(self) -> View | None:
        """Go on to the next scheduling pass and stop in it; None when the run is over.

        For agents: build the simulation without a scheduler, look at the view, ``decide`` as often as you like within
        the instant, and step again. Raises SimulationError when there is a scheduler.
        """
        if self.scheduler is not None:
            raise SimulationError("a simulation that has a scheduler cannot be stepped: leave the scheduler out")
        self.view.pass_is_over()
        due = self.pass_due()
        try:
            while not (self.is_over or due.processed):
                self.env.step()
        except EmptySchedule:
            self._warn_of_stall()
            return None
        return None if self.is_over else self.view

    def decide(self, *placements: tuple[Job, Placement]) -> View:
        """Start jobs on the given cores now; the view that comes back shows them running."""
        for job, placement in placements:
            self.apply(Start(job, placement))
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
        steered.is_due = False
        step = self.env.step
        try:
            while not (steered.is_due or self.is_over):
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
        self._passes.carry_out(decisions)
        return self.view

    def _finish(self, event: Event) -> None:
        self.is_over = True

    # ------------------------------------------------------------------ instants

    def on(self, name: str) -> Event:
        """An event for a process of your own: ``jobs = yield simulation.on("job_completed")``.

        It happens once in an instant, with everything of that kind that the instant brought: a tuple of jobs for
        job_submitted, job_started, job_completed, job_killed and job_rejected, a tuple of (node, state) for
        node_state_changed, the whole :class:`~cluster_sim.run.instant.Batch` for instant.
        Raises InputError for another name.
        """
        return self.notices.on(name)

    def pass_due(self) -> Event:
        """The event of the next scheduling pass, for the process of a scheduler."""
        return self._passes.due()

    # ------------------------------------------------------------------ decisions

    def apply(self, decision: Decision) -> None:
        """Carry out a scheduler's decision. Raises PlacementError, with nothing changed, when it cannot be.

        Raises InputError when a value in it is of a wrong kind, such as None for a placement.
        """
        if type(decision) is Start:
            try:
                self._start(decision.job, decision.placement, decision.p_state)
            except (AttributeError, TypeError):
                check_decision(decision)
                raise
            if self.decision_log is not None:
                self.decision_log.started(self.env.now, decision)
        elif isinstance(decision, Reject):
            check_decision(decision)
            self._require_pending(decision.job)
            self.admission.reject(decision.job, decision.reason)
        elif isinstance(decision, WakeAt):
            self._wake_at(decision, self.request_pass)
        elif isinstance(decision, (Hold, Reserve)):
            check_decision(decision)
            self._require_pending(decision.job)
            if self.decision_log is not None:
                self.decision_log.note(self.env.now, decision)
        else:
            raise SimulationError(f"a scheduler decides Start, Reserve, Hold, Reject or WakeAt, not {decision!r}")

    def _apply_power(self, decision: PowerDecision) -> None:
        if isinstance(decision, WakeAt):
            self._wake_at(decision, self._passes.request_policy)
        elif isinstance(decision, SwitchOff):
            self._switch_off(self._nodes_of(decision))
        elif isinstance(decision, SwitchOn):
            self._switch(self.machine.node(self._position(decision, decision.node)), on=True)
        elif isinstance(decision, (Withhold, Offer)):
            changed = self.machine.withhold(self._nodes_of(decision), isinstance(decision, Withhold))
            if changed and isinstance(decision, Offer):
                self.request_pass()  # one that comes after the scheduler's pass has another follow
        elif isinstance(decision, SetPState):
            last = self.platform.processor_count - 1
            if not _is_position(decision.processor, last):
                raise _wrong(
                    decision, "processor", f"a processor by its position, from 0 to {last}", decision.processor
                )
            self.machine.processor(decision.processor).set_p_state(decision.p_state)
        elif isinstance(decision, LimitPower):
            if not (isinstance(decision.watts, Real) and decision.watts >= 0.0):
                raise _wrong(decision, "watts", "W, 0 or more, inf for no limit", decision.watts)
            self._limit_power(decision)
        elif isinstance(decision, Reject):
            check_decision(decision)
            self._require_pending(decision.job)
            self.admission.reject(decision.job, decision.reason)
            self.request_pass()
        else:
            kinds = "SwitchOn, SwitchOff, Withhold, Offer, SetPState, LimitPower, Reject or WakeAt"
            raise SimulationError(f"a power policy decides {kinds}, not {decision!r}")

    def _nodes_of(self, decision: SwitchOff | Withhold | Offer) -> list[int]:
        """Positions of the nodes that a decision names."""
        nodes = decision.node if isinstance(decision.node, list) else [decision.node]
        # Of thousands of nodes at once none is looked at in Python.
        if set(map(type, nodes)) == {int} and min(nodes) >= 0 and max(nodes) < self.platform.node_count:
            return nodes
        return [self._position(decision, node) for node in nodes]

    def _position(self, decision: SwitchOn | SwitchOff | Withhold | Offer, node: object) -> int:
        """The position of a node that a decision names, also by its name."""
        last = self.platform.node_count - 1
        if isinstance(node, str):
            return self.platform.node_index(node)
        if not _is_position(node, last):
            several = "" if isinstance(decision, SwitchOn) else ", or a list of nodes"
            raise _wrong(decision, "node", f"a node by its position, from 0 to {last}, or its name{several}", node)
        return int(node)  # type: ignore[call-overload, no-any-return]

    def _limit_power(self, limit: LimitPower) -> None:
        """From now on the machine has a power budget; jobs that can never fit under it are refused."""
        budget = PowerBudget(self.machine, self._job_clocks, limit.watts, limit.slow)
        self.machine.budget = budget
        for job in list(self._pending.values()):
            if reason := budget.why_never(job):
                self.admission.reject(job, reason)

    def _switch_off(self, nodes: list[int]) -> None:
        """Switch several nodes off for the power policy, at once if all are idle."""
        machine = self.machine
        each_once = len(set(nodes)) == len(nodes)
        if each_once and all(map(machine.is_idle, nodes)):
            if nodes:
                machine.switching.switch_off(nodes)
            return
        for node in nodes:
            self._switch(machine.node(node), on=False)

    def _switch(self, node: Node, on: bool) -> None:
        """Switch a node for the power policy; what its state does not allow is refused, and the first time said so."""
        try:
            if on:
                node.switch_on()
            else:
                node.switch_off()
        except NodeStateError as error:
            if not self._refused_power:
                self._refused_power = True
                policy = type(self.power_policy).__name__
                message = f"{policy}, at {self.env.now:g} s: {error}; the decision is refused, as all such are"
                warnings.warn(message, ModelWarning, stacklevel=2)

    def _wake_at(self, decision: WakeAt, request: Callable[[], None]) -> None:
        time = decision.time
        if type(time) is not float:
            check_decision(decision)
        if not time > self.env.now:
            raise SimulationError(f"WakeAt({time:g}) lies not after now ({self.env.now:g} s)")
        if time < float("inf"):  # the expected end of a job that requested no time is never
            self.env.at(time).callbacks.append(lambda event: request())

    def _require_pending(self, job: Job) -> None:
        if self._pending.get(job.index) is not job:
            raise PlacementError(f"job {job.job_id} is not pending")

    # ------------------------------------------------------------------ the life of a job

    def _start(self, job: Job, placement: Placement, p_state: int | None = None) -> None:
        self._require_pending(job)
        if placement.cores != job.requested_cores:
            message = f"job {job.job_id} asks for {job.requested_cores} cores, {placement!r} has {placement.cores}"
            raise PlacementError(message)
        machine = self.machine
        memory = job.memory if self._uses_memory else 0.0
        budget = machine.budget
        slower = {} if budget is None else budget.require(job, placement, p_state)
        attempt = len(self.attempts)
        allocation = machine.hold(placement, memory, job, attempt)
        if p_state is not None:
            try:
                self._job_clocks.choose(job, allocation, p_state)
            except PlacementError:
                machine.take_back(allocation)
                raise
        del self._pending[job.index]
        running = self._running[job.index] = Running(job, placement, allocation, self.env.now, attempt)
        self.attempts.begin(job)
        if budget is not None:
            budget.slow_down(slower)  # not before nothing can be refused any more
            budget.start(running)
        if machine.all_on or machine.has_ready_nodes(placement):
            self.begin(running)
        else:
            running.start_time = float("inf")
            running.expected_start = self.env.now + machine.boot_time(placement)
        # Boots begin after the pass, or a node would be in transition for what the scheduler still decides in it.
        kind = EagerProcess if running.start_time < float("inf") else Process
        running._process = kind(self.env, execute(self, running))

    def begin(self, running: Running) -> None:
        """The tasks of a job begin: its nodes are ready. Called by the job's process."""
        if self.decision_log is not None and running.start_time == float("inf"):
            self.decision_log.booted(self.env.now, running.job.index, self.env.now > running.expected_start)
        running.start_time = running.expected_start = self.env.now
        if self._job_clocks:
            self._job_clocks.begin(running.job)
        self.machine.load(running._allocation)
        self._executor.start_tasks(running)
        if self.notices.wanted:
            self.notices.note("job_started", running.job)
        if self.enforce_walltime and running.job.requested_time < float("inf"):
            limit = self.env.at(self.env.now + running.job.requested_time, WALLTIME)
            limit.callbacks.append(lambda event: self._interrupt(running, Kill("walltime", Outcome.TIMEOUT)))

    def communicate(self, running: Running) -> None:
        """The tasks of a job have ended: start what they exchange, if they have not yet. Called by the job's process."""
        volume = self._executor.work.comm_vol(running.job.index) * running.job.requested_cores
        nodes = running.placement.nodes
        if running._transfer is None and volume > 0.0 and len(nodes) > 1:
            running._transfer = self.network.transfer(nodes, volume / len(nodes))

    def end(self, running: Running, kill: Kill | None = None) -> None:
        """The job is over: its work is done, or it has been killed. Called by the job's process."""
        job = running.job
        running._ended = True
        if kill is not None:
            done = self._executor.work_done(running)
            self.attempts.stopped[running._attempt] = Stopped(kill.outcome, done, kill.reason)
        del self._running[job.index]
        self.view.ended.append(running)
        if self.power_policy is not None:
            self.view.vacated.append(running)
        if running.start_time < float("inf"):
            self._executor.stop_tasks(running)
            if running._transfer is not None:
                self.network.cancel(running._transfer)
            self.machine.unload(running._allocation)
        self.machine.release(running._allocation)
        if self._job_clocks:
            self._job_clocks.end(job, running.start_time < float("inf"))
        self.request_pass()
        if kill is not None and kill.outcome is Outcome.REQUEUED:
            self._queue_again(job)
            return
        if kill is None:
            self.attempts.completed(job)
        else:
            self.attempts.killed(job, kill.reason)
        if self.notices.wanted:
            self.notices.note("job_completed" if kill is None else "job_killed", job)
        self.over(job, "completed" if kill is None else "killed")

    def kill(self, job: Job | str, reason: str = "killed") -> None:
        """Kill a job, running or waiting, in this instant; one that is over, or not yet submitted, is left alone.

        Raises InputError for a job id that the run does not have.
        """
        reason = reason or "killed"  # a job that ends without a reason has completed
        self._kill_soon(self.jobs.index(job, "simulation.kill"), reason, Outcome.KILLED)

    def submit(self, fields: Mapping[str, Any], at: float | None = None) -> Job:
        """Submit another job, now or at a later time (s); any process may. The run does not end before it is over.

        ``fields`` are those of the job schema, as in a row of ``workload.jobs``; an id, if given, must be new. A job that
        waits for others (``after``) is submitted when they are over.
        Raises FormatError or InputError, with nothing changed, for fields, an id or a time that cannot be.
        """
        time = self.env.now if at is None else at
        if not self.env.now <= time < float("inf"):
            raise InputError("simulation.submit, at", f"a time from now on ({self.env.now:g} s)", at)
        job = self.jobs.add(fields, float(time))
        self._executor.work.add(job.index)
        self.attempts.add_job()
        self.admission.expect(job)
        self._prepare_for(job)
        if time == self.env.now:
            self.admission.submit(job)
        else:
            self.env.at(time).callbacks.append(lambda event: self.admission.submit(job))
        return job

    def _prepare_for(self, job: Job) -> None:
        """What no job of the run has asked for so far is not looked at; from now on it is."""
        machine = self.machine
        shaped = machine.shapes or job.nodes > 0 or job.ntasks_per_node > 0
        memory = self._uses_memory or job.memory > 0.0
        eligible = machine.eligibility
        if eligible is None and (job.requires or job.exclusive or job.reservation):
            eligible = Eligibility(self.platform)
        self.jobs_communicate = self.jobs_communicate or self._executor.work.comm_vol(job.index) > 0.0
        if job.mem_vol > 0.0 and not self._executor.on_channels:
            self._executor.move_to_channels(self._running)
        if (shaped, memory, eligible) == (machine.shapes, self._uses_memory, machine.eligibility):
            return
        machine.shapes, self._uses_memory, machine.eligibility = shaped, memory, eligible
        self.view.counts_memory = memory and (self.scheduler is None or self.scheduler.memory)
        self.admission.prepare()
        if self.scheduler is not None:  # it may count only cores, for want of other wishes: it begins anew
            self.view.submitted[:] = list(self._pending.values())
            self.view.ended.clear()
            self.scheduler.begin(self.view)
            self.request_pass()

    def requeue(self, job: Job | str, reason: str = "") -> None:
        """Stop a running job, or take one that was killed, and have it wait again, in its old place of the queue.

        What it had done is lost. A job that waits is left alone. In this instant, from any process.
        Raises InputError for an id that the run does not have, and for a job that has completed or was rejected.
        """
        index = self.jobs.index(job, "simulation.requeue")
        state = STATES[self.attempts.state[index]]
        if state in (JobState.COMPLETED, JobState.REJECTED):
            raise InputError("simulation.requeue", "a job that runs, waits or was killed", f"{state} job {job}")
        if state is JobState.KILLED:
            self._queue_again(self.jobs.job(index))
        elif index in self._running:
            self._kill_soon(index, reason or "requeued", Outcome.REQUEUED)

    def _queue_again(self, job: Job) -> None:
        self.attempts.requeued(self.env.now, job)
        self.admission.readmit(job)

    def hold_open(self) -> None:
        """Do not end with the last job: a process may submit others later. Until :meth:`release`, as often as this."""
        self._held_open += 1

    def release(self) -> None:
        """Take one :meth:`hold_open` back. Raises SimulationError if there is none."""
        if not self._held_open:
            raise SimulationError("simulation.release: nobody holds the run open")
        self._held_open -= 1
        self._check_end()

    def _kill_soon(self, index: int, reason: str, outcome: Outcome) -> None:
        """Not at once: a process cannot be interrupted in the middle of what it does, nor before it has begun."""
        self.env.timeout(0).callbacks.append(lambda event: self._kill(index, reason, outcome))

    def _kill(self, index: int, reason: str, outcome: Outcome) -> None:
        running = self._running.get(index)
        waiting = self.admission.withdraw(index) if outcome is Outcome.KILLED else None
        if running is not None:
            self._interrupt(running, Kill(reason, outcome))
        elif waiting is not None:
            self.attempts.withdrawn(self.env.now, waiting, reason)
            self.notices.note("job_killed", waiting)
            self.request_pass()
            self.over(waiting, "killed")

    def _interrupt(self, running: Running, kill: Kill) -> None:
        if not running._ended:
            running._ended = True  # a second kill in the same instant finds it so
            assert running._process is not None
            running._process.interrupt(kill)

    def over(self, job: Job, outcome: str) -> None:
        """A job is completed, killed or rejected. Called when it has been recorded."""
        self.admission.over(job, outcome)
        self._check_end()

    def _check_end(self) -> None:
        if self._has_ended():
            # When everybody has seen this instant: until then a process may submit a job, or have one wait again.
            self.env.at(self.env.now, END).callbacks.append(
                lambda event: self._end.succeed() if self._has_ended() else None
            )

    def _has_ended(self) -> bool:
        return self.attempts.over == len(self.jobs) and not self._held_open and not self._end.triggered

    # ------------------------------------------------------------------ the machine

    def node(self, node: int | str) -> Node:
        """A node by its position in the platform or its name."""
        return self.machine.node(self.platform.node_index(node) if isinstance(node, str) else node)

    def nodes(self) -> Iterator[Node]:
        """All nodes."""
        return map(self.machine.node, range(self.platform.node_count))

    def nodes_changed(self, nodes: Sequence[int], state: NodeState) -> None:
        """Called by the machine: nodes have entered a state."""
        for node in nodes if self.notices.wanted else ():
            self.notices.note("node_state_changed", (self.machine.node(node), state))
        if state is NodeState.SWITCHING_ON or state is NodeState.SWITCHING_OFF:
            return
        # Whoever waits may fit now; a job's own nodes are nobody's news. But booting may have weighed on a power cap.
        can_be_had = self.machine.have_free_cores(nodes)
        if self.scheduler is None or (self._pending and (can_be_had or self.machine.budget is not None)):
            self.request_pass()
        if self._passes.follow_switching or (can_be_had and state is not NodeState.OFF):
            self._passes.request_policy()

    def kill_jobs_on(self, node: int, reason: str) -> int:
        """Kill the jobs that hold cores of a node; how many there are."""
        jobs = [running.job for running in self._running.values() if node in running.placement.nodes]
        for job in jobs:
            self._kill_soon(job.index, reason, Outcome.FAILED)
        return len(jobs)

    def job_on_core(self, processor: int, core: int) -> Job | None:
        """The job that holds a core of a processor."""
        number = self.machine.first_core[processor] + core
        for running in self._running.values():
            if any(first <= number <= last for first, last in self.machine.core_ranges(running._allocation)):
                return running.job
        return None

    def guest_left(self, guest: Request) -> None:
        """Called by the machine: a guest has given cores back that a job may wait for."""
        if self.power_policy is not None:
            self.view.vacated.append(guest)
        self.request_pass()

    def traffic_on(self, processor: int) -> None:
        """Called by the machine before somebody else than a job moves memory on a processor."""
        self._executor.put_on_channel(processor, self._running)

    def rates_will_change(self) -> None:
        """Called by the machine before a clock changes."""
        if not self._executor.on_channels:
            self._executor.move_to_channels(self._running)


def models_of(
    platform: Platform, contention: ContentionModel | str | None = None, power: PowerModel | str | None = None
) -> ProcessorModels:
    """The models that are asked for, as objects or specs, else the platform's own. Raises InputError for unknown names."""
    contention = platform.contention_model if contention is None else contention
    power = platform.power_model if power is None else power
    return ProcessorModels(
        contention_models.make(contention) if isinstance(contention, str) else contention,
        power_models.make(power) if isinstance(power, str) else power,
    )


def _time_to_stop(until: float) -> float:
    if not 0.0 <= until < float("inf"):
        raise InputError("simulation, until", "a finite time in s, 0 or later", until)
    return float(until)  # an int would make arrays of times ints


def _check_kind(parameter: str, value: object, method: str, example: str) -> None:
    """Name the usual slips: a spec, or a class that was not called."""
    if value is not None and (isinstance(value, type) or not hasattr(value, method)):
        raise InputError(f"Simulation, {parameter}", f"an object such as {example}", value)


def _is_position(value: object, last: int) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(0 <= value <= last)


def _wrong(decision: PowerDecision, name: str, expected: str, found: object) -> InputError:
    return InputError(f"{type(decision).__name__}, {name}", expected, "None" if found is None else found)


def _known_quirks(quirks: Iterable[str]) -> frozenset[str]:
    names = frozenset((quirks,) if isinstance(quirks, str) else quirks)
    for name in sorted(names - set(QUIRKS)):
        raise InputError("quirk", f"one of {', '.join(QUIRKS)}", name)
    return names
