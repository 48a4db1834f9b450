"""Slurm as a scheduler of a simulation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Gt, Unit
from typing_extensions import Doc

from cluster_sim.engine import latest
from cluster_sim.errors import InputError, ModelWarning, warn_user
from cluster_sim.formats.slurm.sacctmgr import read_accounts
from cluster_sim.formats.slurm.slurm_conf import read_for
from cluster_sim.machine.guest_requests import Departure
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.reason import Reason, ReasonKind
from cluster_sim.options import checked
from cluster_sim.platform.accounts import Accounts
from cluster_sim.platform.platform import Platform
from cluster_sim.run.decisions import Decision, Hold, Preempt, Reject, Reserve, Start, WakeAt
from cluster_sim.run.view import View
from schedulers.policy.policy import Scheduler
from schedulers.slurm.administration import NODE_FAIL, Administrator, check_names, check_qualities, check_tiers
from schedulers.slurm.backfill import BackfillPass, JobStarted, Outcome, Paused
from schedulers.slurm.clean_up import CleanUps, Freed
from schedulers.slurm.cluster import SlurmCluster, SlurmReservation
from schedulers.slurm.commands import read_commands
from schedulers.slurm.dependencies import Dependencies
from schedulers.slurm.job_request import Ask
from schedulers.slurm.jobs_held_back import JobsHeldBack
from schedulers.slurm.loop_clocks import TICK, BackfillClock, MainClock
from schedulers.slurm.main_loop import MainPass
from schedulers.slurm.preemption import Preempted
from schedulers.slurm.priority.factors import warn_without_qualities
from schedulers.slurm.priority.multifactor import Multifactor
from schedulers.slurm.protocols import Accounting, BasicPriority
from schedulers.slurm.queue import ReasonCode, order, refused_in
from schedulers.slurm.request_maker import RequestMaker, why_no_gpus
from schedulers.slurm.running_jobs import RunningJobs
from schedulers.slurm.selection.best_fit import ChosenNodes
from schedulers.slurm.selection.node_sets import set_where
from schedulers.slurm.settings import Settings, check_topology, defaults_taken

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job

REQUEUED_WAIT_S = 121.0
"""Time, s, for which a requeued job may not start."""


class Slurm(Scheduler):
    """Slurm 22.05's schedulers, sched/backfill and sched/builtin: slurm:conf=FILE[,accounts=FILE].

    ``conf`` is the slurm.conf that the platform was read from. ``accounts`` has what ``sacctmgr -P show assoc`` and
    ``show qos`` print, or is an :class:`~cluster_sim.platform.accounts.Accounts`. ``asks`` is what jobs ask for that the
    workload has no field for, see :class:`~schedulers.slurm.request_maker.RequestMaker`. The controller started at ``start`` (s),
    from which everything periodic is counted; its main loop began ``main_delay`` s later, and looks every ``tick`` s.
    ``epoch`` is what the clock shows at 0 s, by which times are rounded. Nodes are free ``cleanup`` s after the end of a job,
    ``kill_cleanup`` s after a kill; these two and ``tick`` are what the recordings of one machine show. ``commands`` of an
    administrator are played when their time comes: a file, or pairs of a time (s) and a command, see
    :mod:`~schedulers.slurm.commands`. docs/guides/slurm.md says what is simulated, and what is refused.
    """

    spec = "slurm"
    keeps_limits = True
    keeps_reservations = True
    keeps_resources = True
    spreads_tasks = True

    @checked
    def __init__(
        self,
        conf: Annotated[str, Doc("the slurm.conf that the platform was read from")],
        accounts: Annotated[str | Accounts, Doc("file of what sacctmgr prints of accounts and qualities")] = "",
        asks: Annotated[str | Mapping[str, Mapping[str, Any]], Doc("file of what jobs ask for beside the log")] = "",
        start: Annotated[float, Unit("s"), Doc("time at which the controller started")] = -10.0,
        main_delay: Annotated[float, Ge(0), Unit("s"), Doc("time until its main loop began")] = 0.0,
        tick: Annotated[float, Gt(0), Unit("s"), Doc("time between two looks of the main loop")] = TICK,
        epoch: Annotated[float, Unit("s"), Doc("clock at 0 s, by which times are rounded")] = 0.0,
        cleanup: Annotated[float, Ge(0), Unit("s"), Doc("time from a job's end until its nodes are free")] = 0.02,
        kill_cleanup: Annotated[float, Ge(0), Unit("s"), Doc("the same after a kill")] = 3.7,
        commands: Annotated[
            str | Iterable[tuple[float, str]], Doc("file of an administrator's commands and their times")
        ] = (),
    ):
        with read_for(["slurm"]):
            self._platform = Platform.read(conf)
        if self._platform.slurm is None:
            raise InputError(_option("conf"), "a slurm.conf", conf)
        self._settings = Settings.of(self._platform.slurm)
        check_topology(self._platform, self._settings)
        if taken := defaults_taken(self._platform.slurm):
            warn_user(ModelWarning(f"{conf}: {taken}"))
        self._accounts = read_accounts(accounts) if isinstance(accounts, str) and accounts else accounts or None
        default = self._platform.slurm.partition()
        self._requests = RequestMaker(asks, "" if default is None else default.name, self._platform.slurm.node_names)
        self._start, self._epoch, self._tick, self._main_delay = start, epoch, tick, main_delay
        self._delay, self._kill_delay = cleanup, kill_cleanup
        self._commands = read_commands(commands)
        check_names(self._commands, self._platform.slurm)
        if self._settings.preempt is not None and self._settings.preempt.gang:
            check_tiers(self._commands, self._platform.slurm)
        if self._accounts is not None:
            check_qualities(self._commands, self._accounts)
        self._view: View | None = None
        self._has_passed = False

    def begin(self, view: View) -> None:
        """Begin a run in which nothing has been submitted and all nodes are free.

        It is also called in mid-run, when a job asks for what none has asked for before.
        """
        if self._view is view and self._has_passed:
            self._running.misses_ends = True
            return  # nothing changes for the jobs that are known
        if view.platform.node_cores.tolist() != self._platform.node_cores.tolist():
            nodes = f"{view.platform.node_count} nodes with {view.platform.core_count} cores"
            raise InputError(_option("conf"), "the slurm.conf of the platform", nodes)
        self._view, self._has_passed = view, False
        settings = self._settings
        accounts = view.planning.accounts if self._accounts is None else self._accounts.renamed(view.planning.aliases)
        self._requests.aliases = view.planning.aliases
        if settings.preempt is not None and settings.preempt.by_qos:
            warn_without_qualities("PreemptType=preempt/qos", accounts)
        self.cluster = SlurmCluster.of(self._platform, settings, self._accounting(accounts), self._epoch)
        if accounts is not None:
            check_qualities(self._commands, accounts)
            if self.cluster.preemption is not None:
                self.cluster.preemption.check(accounts.qos)
        self.cluster.accounting.begin(self._start + self._main_delay, self.cluster.queues)
        self.cluster.accounting.told = {} if view.explains else None
        self._main = MainClock(self._start + self._main_delay, settings, self._tick)
        self._backfill = BackfillClock(self._start, settings)
        self._walk: BackfillPass | None = None  # the pass that has not come to its end
        self._outcomes: Iterator[Outcome] = iter(())
        self._resume, self._paused_second, self._has_started = math.inf, -math.inf, False
        self._waiting: dict[int, tuple[Job, Ask]] = {}
        self._queue: list[Any] | None = None
        self._ran: set[int] = set()  # who has been started before
        self._clean_ups = CleanUps(self.cluster, self._delay, self._kill_delay)
        self._version: object = None
        self._guests: tuple[Departure, ...] = ()  # what guests held when it last looked
        self._told: dict[int, str] = {}  # why jobs wait, as it was told last
        self._reasons: dict[int, str] = {}  # why jobs wait, as the main loop has it
        self._woken = math.inf  # when it will be woken next, s
        self._in_vain = False  # whether the last look at the queue as it is has started nothing
        self._has_told_of_memory = False
        depends = self._requests.has_dependencies or any(one.options.get("dependency") for one in self._commands)
        self._dependencies = Dependencies(self.cluster.held.__contains__) if depends else None
        self._running: RunningJobs = RunningJobs(
            self.cluster,
            self._clean_ups,
            self._waiting,
            self._dependencies,
            self._main.check_after,
            self._backfill.note,
        )
        self._kept = JobsHeldBack(self.cluster, self._dependencies)
        self._deadlines: set[int] = set()  # jobs that have one
        self._next_deadline = math.inf  # when a job that waits can next no longer be over at its own, s
        self._switch_waits: list[
            float
        ] = []  # when jobs have waited long enough for few switches, s, the first one first
        assert self._platform.slurm is not None
        self._administrator = Administrator(self, self._waiting, self._commands, self._platform.slurm.node_names)
        self._administrator.aliases = view.planning.aliases.get("user", {})
        self._in_service = self.cluster.up  # nodes of which no hardware has failed
        for window in view.machine.reservations:
            reserved = set_where(window.nodes)
            self.cluster.windows.append(SlurmReservation(window.name, window.start, window.end, reserved))

    def _accounting(self, given: Accounts | None) -> Accounting:
        is_basic, slurm = not self._settings.multifactor, self._platform.slurm
        if given is None and is_basic:
            return BasicPriority()
        assert slurm is not None
        return Multifactor(slurm, slurm.all_cpus, given, slurm.all_nodes, is_basic)

    # ------------------------------------------------------------------ what happened

    def schedule(self, view: View) -> Iterable[Decision]:
        """Take in what happened; run the loops that are due."""
        now, self._has_passed = latest(view.now), True
        for decision in self._administrator.act(view):
            if isinstance(decision, Preempt):
                lost = self._running.lost if decision.because == NODE_FAIL else self._running.killed
                lost.add(decision.job.index)
            self._reorder()
            yield decision
        self._open_nodes()
        yield from self._news(view)
        freed = self._clean_ups.advance(now)
        if freed in (Freed.JOB, Freed.KILLED_JOB):
            self.changed()
            self._main.ask(at_once=freed is Freed.KILLED_JOB)
        elif freed is Freed.NODES:
            self._in_vain = False
            self._main.ask_whole()
            self._reorder()
        self._pass_time(view.now)
        yield from self._running.enforce_limits(view, now)
        if self.cluster.accounting.advance(view.now):
            self._reorder()
        if self._main.next_run(view.now) <= now:
            yield from self._run_main(view)
        if not self._settings.builtin and self._next_of_backfill(view.now) <= now:
            yield from self._run_backfill(view)
        now = view.now
        times = [self._clean_ups.next, self._running.next_check, self._resume]
        if self._waiting or self.cluster.held:
            times.append(self._next_of_clock)
        if self._waiting:
            times.append(self._main.next_run(now))
        # Nobody who waits can start before something happens that is none of the scheduler's doing.
        comes = self.cluster.held or self._clean_ups.next < math.inf or self._next_of_clock < math.inf
        is_stuck = self._in_vain and not comes
        if self._waiting and not is_stuck:
            times.append(self.cluster.accounting.next_change(now))
            if not self._settings.builtin:
                times.append(self._next_of_backfill(now))
        wake = min((time if time > now else math.nextafter(now, math.inf)) for time in times)
        if wake < self._woken or self._woken <= view.now:
            self._woken = wake
            if wake < math.inf:
                yield WakeAt(wake)

    def _news(self, view: View) -> Iterator[Decision]:
        now = view.now
        yield from self._running.follow(view)
        for job in view.submitted:
            known = self._waiting.get(job.index)
            if known is None or known[0] is not job:
                reason = self._submitted(job, now)
                if reason and view.is_pending(job):  # one may have been cancelled at once
                    yield Reject(job, reason)
        if view.machine.version is not self._version:
            self._version = view.machine.version
            guests = tuple(view.machine.guests)
            if guests != self._guests:
                self._guests = guests
                self.cluster.note_guests(guests, view.now, view.running_by_index)
                self.changed()
            yield from self._running.go_on(view)
            self._in_service = set_where(view.machine.is_on | view.machine.is_off)
            self._open_nodes()

    def _open_nodes(self) -> None:
        up = self._in_service & ~self._administrator.closed
        if up != self.cluster.up:
            self.cluster.up = up
            self.changed()

    def _pass_time(self, now: float) -> None:
        """Note what time alone has changed, and nobody tells the loops: eligible jobs, and advance reservations."""
        if self._next_of_waiting <= now:
            while self._switch_waits and self._switch_waits[0] <= now:
                heappop(self._switch_waits)
            if self.cluster.note_windows(now):
                self.changed()
            self._kept.release(now)
            self._note_deadlines(now)
            self._main.ask_whole()
            self._queue, self._in_vain = None, False
            self._backfill.changed = self._backfill.changed or self._backfill.goes_on

    def _submitted(self, job: Job, now: float) -> str:
        """Put a job in the queue; return why it may not join."""
        ask = self._requests.of(job, now)
        if reason := self._why_not_taken(ask):
            return reason
        if not (ask.memory_per_node or ask.memory_per_cpu):
            settings, queue = self._settings, self.cluster.queues[ask.partitions[0]]
            ask.memory_per_node, ask.memory_per_cpu = queue.memory_per_node, queue.memory_per_cpu
            default = (
                ask.memory_per_node or ask.memory_per_cpu or settings.def_memory_per_node or settings.def_memory_per_cpu
            )
            if not default and settings.counts_memory and not settings.whole_nodes and not self._has_told_of_memory:
                self._has_told_of_memory = True
                text = "and neither does the slurm.conf (DefMemPerCPU): it takes none; Slurm gives such jobs all memory of a node"
                warn_user(ModelWarning(f"job {ask.job_id} says nothing of memory, {text}"))
        self._administrator.amend(ask)
        if job.index in self._ran:
            ask.submit_time = self._clean_ups.over(ask.key, now)
            ask.begin_time = math.floor(ask.submit_time) + REQUEUED_WAIT_S
        facts, is_shared = self.cluster.facts, self.cluster.is_shared
        reason = self.cluster.why_not_admitted(ask) or why_no_gpus(job, ask, is_shared, facts.most_cpus)
        reason = reason or self._why_never(ask, job.requested_cores)
        if reason:
            return reason
        self._waiting[job.index] = (job, ask)
        self.cluster.forget(ask)
        self.cluster.accounting.submitted(ask, now, None if job.index in self._ran else job.submit_time)
        if self._dependencies is not None:
            self._dependencies.submitted(ask)
        if ask.deadline_s < math.inf:
            self._deadlines.add(ask.key)
        if (until := self.cluster.switches_until(ask)) > now:
            heappush(self._switch_waits, until)
        self.keep(ask)
        self.changed()
        return ""

    def _why_not_taken(self, ask: Ask) -> str:
        """Say why no partition takes a job that is submitted; empty: one does. It is then in those that do."""
        queues = self.cluster.queues
        for name in ask.partitions:
            if not name:
                return "it names no partition, and the slurm.conf has no default one (Default=YES)"
            if name not in queues:
                return f"it asks for partition '{name}', which there is not"
        if ask.key in self._ran:
            return ""  # it was in the queue before
        taken_by = self.cluster.open_partitions(ask.partitions)
        if not taken_by:
            states = [f"partition '{name}' is {queues[name].state}" for name in ask.partitions]
            return f"{', '.join(states)}, and takes no jobs"
        ask.partitions = taken_by
        enforced = self._settings.enforce_part_limits
        beyond = {
            entry.queue.name: reason
            for entry in self.cluster.entries(ask)
            if (reason := refused_in(self.cluster, entry))
        }
        if enforced != "NO" and beyond and (enforced == "ALL" or len(beyond) == len(taken_by)):
            name, reason = next(iter(beyond.items()))
            return f"it is beyond the limits of partition '{name}' ({reason}), and EnforcePartLimits={enforced}"
        return ""

    def keep(self, ask: Ask) -> None:
        """Look again whether a job that waits is eligible."""
        if ask.key in self._waiting and self._view is not None:
            self._kept.add(ask, self._view.now)
            self._note_deadlines(self._view.now)

    def _why_never(self, ask: Ask, cores: int) -> str:
        """Say why no partition has nodes for a job of so many cores, however free they are; empty: one has."""
        cluster = self.cluster
        if ask.least_nodes > cores:
            return f"it asks for {ask.least_nodes} nodes, and for {cores} cores"
        for entry in cluster.entries(ask):
            shape = cluster.shape(entry)
            most = shape.fixed * max(shape.most_nodes, shape.min_nodes)
            if most < cores and shape.fixed and not shape.whole:
                return f"it has {cores} cores, and asks for {most}"
            is_too_wide = cluster.shape(entry).min_nodes > entry.queue.nodes.bit_count()
            if cluster.could_ever(entry) or (is_too_wide and cluster.fits_elsewhere(entry)):
                return ""
        return "requested node configuration is not available"

    def changed(self) -> None:
        """Have both loops look at the queue, since jobs, nodes or partitions have changed."""
        self._main.ask()
        self._in_vain = False
        self._reorder()

    def _reorder(self) -> None:
        self._queue = None
        self._backfill.note(-math.inf if self._view is None else self._view.now)

    # ------------------------------------------------------------------ the loops

    def _sorted(self, view: View) -> list[Any]:
        if self._queue is None or self.cluster.order_changed or len(self._waiting) > view.pending_count:
            self.cluster.order_changed = False
            now = view.now
            for key, (job, _) in list(self._waiting.items()):
                if not view.is_pending(job):
                    ask = self._waiting.pop(key)[1]
                    self._kept.drop(ask.key)
                    self.cluster.accounting.withdrawn(ask, now)
                    if self._dependencies is not None:
                        self._dependencies.over(ask, now, False)
            self._kept.release(now)
            kept = self._kept.reasons
            self._queue = order(self.cluster, [ask for key, (_, ask) in self._waiting.items() if key not in kept])
        return self._queue

    def _note_deadlines(self, now: float) -> None:
        """Find out when, in whole seconds, a job can next no longer be over at its deadline."""
        asks = [self._waiting[key][1] for key in self._deadlines & self._waiting.keys()]
        lasts = [ask.deadline_s - min(map(self.cluster.shortest, self.cluster.entries(ask))) for ask in asks]
        missed = [math.floor(last) + 1.0 for last in lasts if last > -math.inf]
        self._next_deadline = min((time for time in missed if time > now), default=math.inf)

    def _miss_deadlines(self, view: View) -> Iterator[Decision]:
        """Reject the jobs that can no longer be over at their deadline."""
        now = view.now
        for key in sorted(self._deadlines & self._waiting.keys()):
            job, ask = self._waiting[key]
            if view.is_pending(job) and all(
                now + self.cluster.shortest(entry) > ask.deadline_s for entry in self.cluster.entries(ask)
            ):
                self._queue = None
                yield Reject(job, "it could not be over at its deadline any more")

    def _run_main(self, view: View) -> Iterator[Decision]:
        depth = self._main.ran(view.now)
        if not depth:
            return
        yield from self._miss_deadlines(view)
        walk = MainPass(self.cluster, self._sorted(view), view.now, depth)
        self._in_vain = self._settings.builtin and depth >= len(self._waiting)
        for outcome in walk.decisions():
            yield from self._carry_out(outcome, view)
        preemption, held = self.cluster.preemption, self.cluster.held.values()
        if preemption is not None and self._queue and held and preemption.may_change(view.now, held):
            self._main.ask_whole()
        if walk.reasons != self._reasons or ReasonCode.RESOURCES in walk.reasons.values():
            self._reasons = walk.reasons
            self._backfill.note(view.now)
        reasons = walk.reasons | self._kept.reasons
        for key, reason in reasons.items():
            waiting = self._waiting.get(key)
            is_told = view.explains or self._told.get(key) != reason
            if is_told and waiting is not None and view.is_pending(waiting[0]):
                blocks = view.explains and reason == ReasonCode.RESOURCES
                yield Hold(waiting[0], Reason(ReasonKind.SLURM, said=reason), blocks=blocks)
        self._told = reasons

    def _run_backfill(self, view: View) -> Iterator[Decision]:
        """Run a pass of backfilling, or what follows in one after a pause."""
        settings = self._settings
        if self._walk is None:
            yield from self._miss_deadlines(view)
            self._walk = BackfillPass(self.cluster, self._sorted(view), view.now)
            self._outcomes = self._walk.decisions()
            self._backfill.changed = self._has_started = False
        else:
            self._sorted(view)
            self._walk.resume(view.now, self._waiting.__contains__)
            if self._backfill.second != self._paused_second and not settings.bf_continue:
                self._outcomes = iter(())
        self._resume = math.inf
        for outcome in self._outcomes:
            if isinstance(outcome, Paused):
                if self._walk.has_updated:
                    self._backfill.second = math.floor(view.now)
                if self.cluster.held:
                    self._main.ask_whole()  # it may find nothing, but that is a change
                self._resume, self._paused_second = view.now + settings.bf_yield_sleep, self._backfill.second
                return
            if isinstance(outcome, (JobStarted, Preempted)):
                self._has_started = True
                yield from self._carry_out(outcome, view, "backfilled")
            elif view.explains and outcome.start < math.inf:
                yield Reserve(self._waiting[outcome.entry.ask.key][0], outcome.start)
        changed = self._backfill.changed or self._can_change(view.now)
        # A pass that pauses is not left out though it would find nothing: it takes time.
        changed = changed or self._has_started or (self._walk.stirs and self._walk.has_paused)
        self._backfill.passed(view.now, changed, self._walk.stirs)
        self._walk = None
        self._in_vain = not self._has_started and len(self._waiting) <= settings.bf_max_job_test

    def _next_of_backfill(self, now: float) -> float:
        """Return when its loop next does something, s: after a pause, or in a pass."""
        return self._backfill.next_pass(now) if self._walk is None else self._resume

    def _can_change(self, now: float) -> bool:
        """Return whether time alone may change what a pass decides, though nothing happens."""
        settings = self._settings
        if not self._waiting:
            return False
        soon, cluster = now + settings.bf_interval + 1.0, self.cluster
        others = (*cluster.ending.values(), *cluster.guests)
        overdue = cluster.running.first <= soon or any(held.end <= soon for held in others)
        return overdue or bool(self.cluster.windows) or settings.bf_min_age_reserve > 0.0

    def _carry_out(self, outcome: JobStarted | Preempted, view: View, because: str = "") -> Iterator[Decision]:
        if isinstance(outcome, Preempted):
            for held in outcome.victims:
                yield from self._running.stop(held, view)
            return
        key = outcome.entry.ask.key
        job, ask = self._waiting.pop(key)
        if self._dependencies is not None:
            self._dependencies.started(ask, self._view.now if self._view is not None else 0.0)
        self._ran.add(key)
        self._in_vain = False
        self._reorder()
        told = (self.cluster.accounting.told or {}).pop(key, "")
        placed = _placement(outcome.choice, outcome.entry.ask, job.requested_cores)
        start = Start(job, placed, "; ".join(filter(None, (because, told))))
        yield from self._running.make_way(start.job, view)
        yield start
        yield from self._running.go_on(view)

    @property
    def _next_of_clock(self) -> float:
        """Return when time alone, or the administrator, next changes something, s."""
        return min(self._next_of_waiting, self._administrator.next_time)

    @property
    def _next_of_waiting(self) -> float:
        """Return when time alone next changes something for jobs that wait, s."""
        waits = self._switch_waits[0] if self._switch_waits else math.inf
        return min(self._kept.next_time, self.cluster.next_boundary, self._next_deadline, waits)


def _placement(choice: ChosenNodes, ask: Ask, cores: int) -> Placement:
    """Place a job on as many cores as it asks for: with whole nodes perhaps not on all of theirs."""
    if sum(choice.cpus) == cores:
        return Placement.on(dict(zip(choice.nodes, choice.cpus, strict=True)))
    cpus, per_node = choice.cpus, ask.tasks_per_node * ask.cpus_per_task
    capped = tuple(min(most, per_node) for most in cpus)
    if sum(capped) >= cores:
        cpus = capped
    placed: dict[int, int] = {}
    for place, (node, most) in enumerate(zip(choice.nodes, cpus, strict=True)):
        placed[node] = max(min(most, cores - (len(choice.nodes) - place - 1)), 1)
        cores -= placed[node]
    return Placement.on(placed)


def _option(name: str) -> str:
    return f"scheduler 'slurm', option {name}"
