"""A pass of sched/backfill: who starts now, and which nodes are kept for whom until when."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from schedulers.slurm.cluster import SlurmCluster
from schedulers.slurm.job_request import QueuedJob
from schedulers.slurm.loop_clocks import TEST_S
from schedulers.slurm.preemption import Preempted
from schedulers.slurm.queue import ReasonCode, why_not_in
from schedulers.slurm.selection.best_fit import ChosenNodes, Shape
from schedulers.slurm.selection.earliest import LimitReleases
from schedulers.slurm.selection.licence_plan import LicencePlan
from schedulers.slurm.selection.node_sets import NodeSet
from schedulers.slurm.selection.node_table import NodeTable


@dataclass(slots=True)
class JobStarted:
    """A job starts now."""

    entry: QueuedJob
    choice: ChosenNodes
    limit_s: float


@dataclass(slots=True)
class Planned:
    """A job is to start then (s), and its nodes are kept for it, unless that is beyond the window or the table is full."""

    entry: QueuedJob
    start: float
    choice: ChosenNodes


@dataclass(slots=True)
class Paused:
    """The pass gives up its locks for bf_yield_sleep: others may start and end jobs meanwhile."""


Outcome = JobStarted | Planned | Preempted | Paused
_PAUSED = Paused()


@dataclass(slots=True)
class _Search:
    """Search for nodes for a job, for its length (s), among ``candidates``.

    Fewer nodes than ``least``, or times before ``not_before`` (s), need not be tried.
    """

    entry: QueuedJob
    shape: Shape
    length: float
    candidates: NodeSet
    least: int
    #: Whether a trial tells no more than where and when the job fits: it is left out where it is no use.
    is_plain: bool = False
    ended: int = 0  #: How many jobs have to end before it fits, if the search is plain.
    not_before: float = -math.inf
    tested: dict[NodeSet, tuple[float, ChosenNodes | None] | None] = field(default_factory=dict)


@dataclass(slots=True)
class _Fit:
    """Nodes that stand open from ``time`` on (s), and the ``choice`` of them that is free at ``soonest``.

    Others open at ``later``; 0: none do.
    """

    time: float
    nodes: NodeSet
    later: float
    soonest: float
    choice: ChosenNodes


class BackfillPass:
    """One pass over a queue. :meth:`decisions` yields what it does; jobs that start are started on the cluster first."""

    def __init__(self, cluster: SlurmCluster, queue: Sequence[QueuedJob], now: float):
        self._cluster = cluster
        self._settings = settings = cluster.settings
        self._queue = queue
        self._now = self._begun = float(math.floor(now))  # Slurm's clock has whole seconds
        self._held = dict(cluster.held)
        self._freed: NodeSet = 0  # nodes of jobs that have left them since the pass began: it does not use them
        self._spent = 0.0  # on tests since the last pause, s
        self._pauses_always = settings.bf_yield_interval <= TEST_S
        begin = self._rounded(self._now)
        self._table = NodeTable(begin, self._now + settings.bf_window, cluster.up, settings.bf_node_space_size)
        self._licences = LicencePlan(cluster.all_licences)
        if settings.bf_licenses:
            for held in cluster.held.values():
                if not held.ending:
                    self._licences.hold(held.ask.licences, -math.inf, max(held.end, self._now + 1.0))
        self._releases: dict[Hashable, LimitReleases] = {}
        self._preempted: Preempted | None = None  # what was done for the job that was last tested
        self._counted: Counter[object] = Counter()
        self._planned: Counter[str] = Counter()  # tasks of each array
        self._done: set[int] = set()
        self._postponed = False  # whether a job is planned later than when it would fit
        self._in_plans: NodeSet = 0  # nodes that are in plans
        self.over = False  #: Whether the pass has come to an end before the end of the queue.
        self.has_paused = False  #: Whether it has given up its locks, and so taken time.
        self.has_updated = False  #: Whether it has put off a plan since it last went on.
        self.tested = 0  #: How many jobs it has tested.

    def decisions(self) -> Iterator[Outcome]:
        """Yield the decisions on each job in turn."""
        settings = self._settings
        started = 0
        for entry in self._queue:
            self._spent += TEST_S
            if self._spent >= settings.bf_yield_interval:
                yield self._pause()
            if self.has_paused and self._now - self._begun >= settings.bf_max_time:
                break
            if not self._may_be_tested(entry):
                continue
            if self.tested >= settings.bf_max_job_test:
                break
            self.tested += 1
            outcome = yield from self._decide(entry)
            if self._preempted is not None:
                self._releases.clear()
                yield self._preempted
                self._preempted = None
                self._done.add(entry.ask.key)
            if isinstance(outcome, JobStarted):
                self._releases.clear()
                self._done.add(entry.ask.key)
                started += 1
            if outcome is not None:
                yield outcome
            if self.over or 0 < settings.bf_max_job_start <= started:
                break

    def resume(self, now: float, waits: Callable[[int], bool]) -> None:
        """Go on after a pause; jobs that do not wait any more are no longer looked at."""
        self._now, self.has_updated = float(math.floor(now)), False
        self._releases.clear()
        held = self._cluster.held
        self._freed |= reduce(or_, (one.mask for key, one in self._held.items() if key not in held), 0)
        self._held = dict(held)
        self._done.update(entry.ask.key for entry in self._queue if not waits(entry.ask.key))

    def _pause(self) -> Paused:
        self._spent, self.has_paused = 0.0, True
        return _PAUSED

    @property
    def stirs(self) -> bool:
        """Return whether the pass is a reason for another: idle nodes are in plans, or a plan was put off."""
        return self._postponed or bool(self._in_plans & ~self._cluster.busy)

    def _rounded(self, time: float) -> float:
        """Return a time rounded down to bf_resolution of the clock."""
        step, epoch = max(self._settings.bf_resolution, 1.0), self._cluster.epoch
        return time if time == math.inf else math.floor((time + epoch) / step) * step - epoch

    # ------------------------------------------------------------------ who is tested

    def _may_be_tested(self, entry: QueuedJob) -> bool:
        """Return whether the job is tested; it counts as one of its user, partition and association that are."""
        cluster, settings, ask = self._cluster, self._settings, entry.ask
        if ask.key in self._done or cluster.is_throttled(ask):
            return False
        if ask.array and self._planned[ask.array] >= settings.bf_max_job_array_resv:
            return False
        if why_not_in(cluster, entry) is not ReasonCode.NONE:
            return False
        if not settings.bf_licenses and not cluster.has_licences(ask):
            return False
        if cluster.accounting.refusal(ask, self._now):
            return False
        if not settings.bf_limits_tests:
            return True
        partition = entry.queue.name
        for most, key in (
            (settings.bf_max_job_part, ("part", partition)),
            (settings.bf_max_job_user_part, ("user", ask.user, partition)),
            (settings.bf_max_job_user, ("user", ask.user)),
            (settings.bf_max_job_assoc, ("assoc", ask.account, ask.user)),
        ):
            if most:
                self._counted[key] += 1
                if self._counted[key] > most:
                    return False
        return True

    # ------------------------------------------------------------------ one job

    def _decide(self, entry: QueuedJob) -> Generator[Paused, None, JobStarted | Planned | None]:
        """Start the job, or plan it; None: no start is known, or it is not to be planned."""
        cluster, ask, settings = self._cluster, entry.ask, self._settings
        search = self._search(entry)
        if search is None:
            return None
        time = self._now
        while (fit := (yield from self._first_fit(search, time))) is not None:
            now = self._now
            start, choice, later = max(fit.soonest, fit.time), fit.choice, fit.later
            if fit.time > fit.soonest:
                self._postponed = self.has_updated = True
            limits = cluster.accounting
            if limits.limits_resources and limits.refusal_on(ask, choice.nodes, sum(choice.cpus), now):
                return None
            if start <= now:
                if choice.mask & cluster.completing:
                    start = now + 1.0
                else:
                    started = self._start(entry, choice, fit.nodes, search.length)
                    if started is not None:
                        return started
            elif later and start > later:
                time = later
                continue
            if start > now + settings.bf_window:
                return Planned(entry, start, choice)
            if start > now and cluster.is_young(entry, now):
                return None
            begin, end = self._rounded(start), self._rounded(start + search.length)
            end = max(end, begin + max(settings.bf_resolution, 1.0))
            if not self._table.overlaps(choice.mask, begin, end):
                # If the table is full the pass ends with this job, which knows its start but has no nodes kept.
                self._in_plans |= choice.mask
                if self._table.is_full:
                    self.over = True
                else:
                    self._table.reserve(choice.mask, begin, end)
                    self._licences.hold(entry.ask.licences, begin, end)
                    self._planned[entry.ask.array] += 1
                return Planned(entry, start, choice)
            if start <= fit.time and not later:
                return None
            # At the end of the window a plan may begin before the time tried.
            time = start if start > fit.time else later
        return None

    # ------------------------------------------------------------------ when, and on which nodes

    def _search(self, entry: QueuedJob) -> _Search | None:
        """Return what is looked for; None: it is nowhere.

        A search is plain unless a trial tells more than whether the job fits: the first trial of a job, one whose
        result limits are asked about, or one that may take nodes from others.
        """
        cluster, ask = self._cluster, entry.ask
        shape, length = cluster.shape_at(entry, self._now), cluster.shortest(entry)
        candidates = entry.queue.nodes & cluster.up & cluster.nodes_for(ask) & ~self._freed
        limits = cluster.accounting.limits_resources
        if limits or self._pauses_always or cluster.preemption is not None or not cluster.is_tested(ask):
            return _Search(entry, shape, length, candidates, shape.min_nodes)
        releases = self._soonest(entry)
        ended = releases.least_ended(shape, candidates)
        if ended is None:
            return None
        least, not_before = shape.nodes_needed(cluster.facts), releases.end_of(ended)
        return _Search(entry, shape, length, candidates, least, True, ended, not_before)

    def _first_fit(self, search: _Search, time: float) -> Generator[Paused, None, _Fit | None]:
        """Find nodes that a job fits on from ``time`` (s) on, or as soon after as there are some; None: there are none.

        Nodes on which it would not fit before others come free are passed over.
        """
        shape, tested, is_plain = search.shape, search.tested, search.is_plain
        while True:
            if self._pauses_always:
                yield self._pause()
                tested.clear()
                search.candidates &= ~self._freed
                if search.entry.ask.key in self._done:
                    break
            self._spent += TEST_S
            opened = self._first_open(search, time)
            if opened is None:
                break
            time, nodes, later = opened
            if nodes.bit_count() >= search.least and not shape.required & ~nodes:
                until = later if is_plain and later else math.inf
                found = tested.get(nodes)
                if nodes not in tested or (found is not None and found[1] is None and found[0] <= until):
                    releases = self._soonest(search.entry)
                    found = tested[nodes] = releases.first_fit(shape, nodes, search.ended, until)
                if not is_plain:
                    self._cluster.note_test(search.entry, None if found is None else found[1])
                if found is not None and found[1] is not None:
                    return _Fit(time, nodes, later, found[0], found[1])
            if not later:
                break
            time = later
        return None

    def _first_open(self, search: _Search, time: float) -> tuple[float, NodeSet, float] | None:
        """Return from when on (s) which nodes stand open to a job for its length, and when others may (0: never).

        Others' plans, advance reservations and licences are kept. None: there never are enough licences.
        """
        cluster, table, ask, length = self._cluster, self._table, search.entry.ask, search.length
        needs_licences = bool(ask.licences) and self._settings.bf_licenses
        is_reserved = bool(cluster.windows) or bool(ask.reservation)
        while True:
            unreserved = search.candidates
            if is_reserved:
                open_nodes = cluster.open_nodes(ask, time, time + length)
                if not ask.reservation and open_nodes.bit_count() < search.shape.min_nodes:
                    time = cluster.window_over(time, time + length)
                    continue
                unreserved &= open_nodes
            if needs_licences or is_reserved or self._pauses_always:
                nodes, later = table.over(unreserved, time, time + length)
            else:
                time, nodes, later = table.first_open(unreserved, time, length, search.least, search.not_before)
            if cluster.windows:
                closing = cluster.next_window(time) + 1.0
                if 1.0 < closing < self._now + self._settings.bf_window:
                    later = min(filter(None, (later, closing)))
            wait = self._licences.wait(ask.licences, time, time + length) if needs_licences else 0.0
            if not wait:
                return time, nodes, later
            if wait == math.inf:
                return None
            time = wait

    def _start(self, entry: QueuedJob, choice: ChosenNodes, nodes: NodeSet, length: float) -> JobStarted | None:
        """Start a job that could start now; None if it has to wait for nodes of the set that it takes from others."""
        cluster, now = self._cluster, self._now
        if cluster.preemption is not None:
            nodes &= ~cluster.completing
            chosen = cluster.choose(entry, nodes, now, length)
            if chosen is None:
                self._preempted = cluster.preempt(entry, nodes, now, length)
                return None
            choice = chosen
        cluster.start(entry, choice, length, now)
        self._licences.hold(entry.ask.licences, now, now + length)
        return JobStarted(entry, choice, length)

    def _soonest(self, entry: QueuedJob) -> LimitReleases:
        """Return when what is free, for jobs that may take nodes from the same others."""
        cluster, now = self._cluster, self._now
        if cluster.preemption is None and None in self._releases:
            return self._releases[None]
        candidates = cluster.candidates(entry, now)
        queue = entry.queue if cluster.is_shared else None
        key = None if cluster.preemption is None else (queue, *(held.ask.key for held in candidates))
        found = self._releases.get(key)
        if found is None:
            leaving, ending = cluster.leaving, cluster.ending.values()
            found = LimitReleases(cluster.free, leaving, ending, now, self._settings, cluster.epoch, candidates, queue)
            self._releases[key] = found
        return found
