"""Plans: what is free now and how much of it was promised to jobs that wait.

A backfilling pass asks its plan where a job can start now without breaking a promise (``place``), tells it what it started
(``take``), and makes promises (``promise``). There are three of them, for what a pass needs to know:

- :class:`CountedPlan`: any free cores are as good as any others, and one promise at most: two numbers are all there is;
- :class:`NodePlan`: nodes differ, and one promise at most: the same with a number for each node;
- :class:`~schedulers.backfilling.profile_plan.ProfilePlan`: any number of promises, on an availability profile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from cluster_sim.engine import SAME_INSTANT, latest
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.running import Running
from cluster_sim.run.outlook import Outlook
from cluster_sim.run.view import View
from schedulers.backfilling.node_choice import NodeChoice
from schedulers.backfilling.releases import (
    SHORTEST_S,
    Releases,
    Returns,
    about_to_boot,
    by_instant,
    cores_coming,
    planned_end,
    planned_time,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.workload.jobs import Job
    from schedulers.backfilling.trials import Trials


class Promise(NamedTuple):
    """Promise of cores to a job: the time, s, and perhaps which cores. If nodes have to boot, it starts later."""

    time: float
    placement: Placement | None = None
    delay: float = 0.0  #: How long its nodes boot first, s, as far as the plan counts that.

    @property
    def ready(self) -> float:
        """Return when its tasks are to begin, s."""
        return self.time + self.delay

    def end(self, job: Job) -> float:
        """Return until when it is planned to hold its cores, s."""
        return planned_end(job, self.time + self.delay)


class Plan(Protocol):
    """Interface of a plan to a backfilling pass."""

    def may_start(self, cores: npt.NDArray[np.int64], times: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Return which of these requests (cores, s) are worth asking ``place`` about, all at once; shape (jobs,)."""
        ...

    def place(self, job: Job) -> Placement | None:
        """Return where the job can start now without delaying a job that was promised a start."""
        ...

    def take(self, running: Running) -> None:
        """Note that the job that was placed has been started."""
        ...

    def promise(self, job: Job) -> Promise | None:
        """Promise the earliest start that can be had; None if the machine has not enough, nodes being down.

        It is inf when jobs that requested no time have to end first.
        """
        ...

    def delayed_by(self, job: Job) -> Job | None:
        """Return the job whose promise this one, which fits, would break if it started now; None: unknown."""
        ...


class CountedPlan:
    """Cores are alike: a job may start if enough are free, and if it ends before the promised start or leaves enough for it.

    *Shadow time* and *extra* cores are those of Mu'alem and Feitelson (2001): the head job's promised start, and the cores
    that it will leave free then.
    """

    _beside = 0  # cores that have to be free beside the promised job when it starts

    def __init__(self, where: NodeChoice, releases: Releases, trials: Trials | None):
        self._where = where
        self._view = where.view
        self._releases = releases
        self._trials = trials
        self._shadow = math.inf
        self._extra: float = math.inf
        self._head: Job | None = None  # the promised job

    def may_start(self, cores: npt.NDArray[np.int64], times: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Return for which requests enough cores are free, and the promise can be kept."""
        free = self._view.free_total
        fits = cores <= free
        if self._extra < free:
            in_time = ends_in_time(times, self._shadow, self._view.now)
            fits &= in_time | (cores <= self._extra) if self._extra > 0 else in_time
        return fits

    def place(self, job: Job) -> Placement | None:
        cores = job.requested_cores
        if cores > self._extra and self._view.now + (job.requested_time or SHORTEST_S) > self._shadow:
            return None
        placement = self._where.now(job)
        if placement is None or cores <= self._extra:
            return placement
        ends = self._view.now + self._view.boot_time(placement) + planned_time(job)
        return None if ends > self._shadow else placement

    def take(self, running: Running) -> None:
        """Count a job off the extra cores if it will not have ended by the promised start."""
        if running.expected_end > self._shadow:
            self._extra -= running.placement.cores

    def promise(self, job: Job) -> Promise | None:
        """Promise the time when enough running jobs should have ended, and enough nodes in transition be back."""
        free = self._free_with_trials() if self._trials else self._view.free_total
        needed, coming = job.requested_cores + self._beside, iter(cores_coming(self._releases, self._view))
        promised = math.inf
        for end, _, cores, _ in coming:
            free += cores
            if free >= needed:
                promised = end
                break
        else:
            self._shadow = self._extra = math.inf
            return None
        shadow = promised * SAME_INSTANT
        for end, _, cores, _ in coming:
            if end > shadow:
                break  # all that end at the shadow time count
            free += cores
        # If jobs that requested no time have to end first, no job is known to end before them.
        self._shadow = shadow if promised < math.inf else -math.inf
        self._extra, self._head = free - needed, job
        return Promise(promised)

    def _free_with_trials(self) -> int:
        """Return the free cores, with those of jobs on trial, which leave if the head job can start with them."""
        return self._trials.free_without(self._trials) if self._trials else self._view.free_total

    def may_stay(self, running: Running) -> bool:
        """Return whether a job on trial could be backfilled now where it runs."""
        return running.expected_end <= self._shadow or running.placement.cores <= self._extra

    def is_over_in_time(self, job: Job) -> bool:
        """Return whether a job that starts now, without a boot, ends before the promised start."""
        return self._view.now + planned_time(job) <= self._shadow

    def takes_room(self, job: Job, cores: int) -> bool:
        """Return whether the job with these cores would leave fewer free than it has to; here it has to leave none."""
        return False

    def delayed_by(self, job: Job) -> Job | None:
        return None if self._head is job else self._head


class PlanWithRoom(CountedPlan):
    """Plans as CountedPlan does, and keeps room beside long jobs.

    A job that requests more than ``room_for`` (s) leaves ``room`` cores free when it starts.

    These cores are for jobs that are soon over. While nothing runs, nobody has to leave any: else a job that needs nearly the
    whole machine would never start.
    """

    def __init__(self, where: NodeChoice, releases: Releases, trials: Trials | None, room: int, room_for: float):
        super().__init__(where, releases, trials)
        self._room, self._room_for = room, room_for

    def may_start(self, cores: npt.NDArray[np.int64], times: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        fits = super().may_start(cores, times)
        if self._others_run:
            fits &= (times <= self._room_for) | (cores <= self._free_with_trials() - self._room)
        return fits

    def place(self, job: Job) -> Placement | None:
        return None if self.lacks_room(job) else super().place(job)

    def lacks_room(self, job: Job) -> bool:
        """Return whether the job would leave too few cores free."""
        return self.takes_room(job, job.requested_cores)

    def may_stay(self, running: Running) -> bool:
        """Tell whether a job on trial may stay: if as many others are free as it would have to leave."""
        return super().may_stay(running) and not self.takes_room(running.job, running.placement.cores)

    def is_over_in_time(self, job: Job) -> bool:
        """Tell whether a job is over before the promised start, or enough others are free."""
        return super().is_over_in_time(job) and not self.lacks_room(job)

    def takes_room(self, job: Job, cores: int) -> bool:
        return self._others_run and cores + self._left_by(job) > self._free_with_trials()

    @property
    def _others_run(self) -> bool:
        """Return whether any job runs that is not on trial."""
        return self._view.running_count > (len(self._trials) if self._trials else 0)

    def _left_by(self, job: Job) -> int:
        return self._room if planned_time(job) > self._room_for else 0

    def promise(self, job: Job) -> Promise | None:
        """Promise its cores with those that it leaves, but not more than can be free: then everybody else is over."""
        coming = cores_coming(self._releases, self._view)
        most = self._free_with_trials() + sum([cores for _, _, cores, _ in coming])
        self._beside = max(min(self._left_by(job), most - job.requested_cores), 0)
        return super().promise(job)


class PlanBefore(CountedPlan):
    """Any free cores are as good as any others, and a job may start if it ends before the promised start, never beside it.

    The cores that the head job will leave free are not used, and a job that ends just when the head job should start
    waits. RLScheduler backfills so (Zhang et al., SC 2020, and its program). While nothing is promised, anything may
    start.
    """

    _before = math.inf  # when others have to be over, s

    def may_start(self, cores: npt.NDArray[np.int64], times: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        fits: npt.NDArray[np.bool_] = (cores <= self._view.free_total) & (self._view.now + times < self._before)
        return fits

    def place(self, job: Job) -> Placement | None:
        placement = self._where.now(job)
        if placement is None or self._before == math.inf:
            return placement
        ends = self._view.now + self._view.boot_time(placement) + planned_time(job)
        return placement if ends < self._before else None

    def promise(self, job: Job) -> Promise | None:
        """Promise the earliest start, and note what it means for the others."""
        promise = super().promise(job)
        if promise is not None:
            self._before = promise.time if promise.time < math.inf else -math.inf
        return promise


class NodePlan(CountedPlan):
    """Nodes differ: a job may start where it ends before the promised start, or leaves the promised job a place.

    *Counted*: any place will do; a placement is tried as the node order likes it, and if that leaves the promised job
    none, on what its own place leaves free. For a promised job that takes free cores on whichever nodes they are, their
    number says that. *Pinned*: the promise is of certain cores of certain nodes, and these are not touched.
    """

    def __init__(self, where: NodeChoice, releases: Releases, trials: Trials | None, pinned: bool):
        super().__init__(where, releases, trials)
        self._pinned = pinned
        self._promised = math.inf  # the shadow time, s; that of jobs that requested no time is -inf
        self._later: Outlook | None = None  # at the shadow time, the promised job not yet on it; None: it is counted
        self._place: Placement | None = None  # where it is to be, as found last
        self._spare: npt.NDArray[np.int64] | None = None  # cores of each node beside the promised job
        # Widths of jobs that found no place, as things are now, on which they could stay beyond the shadow time.
        self._too_wide: set[int] = set()

    def may_start(self, cores: npt.NDArray[np.int64], times: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Return which requests could fit and end in time, or fit on what the promised job may leave."""
        view = self._view
        fits = worth_trying(view, cores)
        if self._later is None:
            return fits & super().may_start(cores, times)
        left = self._spare if self._pinned and self._spare is not None else self._later.free
        long = worth_trying(view, cores, np.minimum(view.free_cores, left))
        if self._too_wide:
            long &= ~np.isin(cores, [*self._too_wide])
        return fits & (ends_in_time(times, self._shadow, view.now) | long)

    def place(self, job: Job) -> Placement | None:
        if self._later is None:
            return super().place(job)
        if self._view.now + planned_time(job) > self._shadow:
            return self._place_for_long(job)
        placement = self._where.now(job)
        if placement is None or not (boot_s := self._view.boot_time(placement)):
            return placement
        is_late = self._view.now + boot_s + planned_time(job) > self._shadow
        return self._place_for_long(job, placement) if is_late else placement

    def may_stay(self, running: Running) -> bool:
        """Return whether a job on trial ends before the promised start, or leaves the promised job a place."""
        if self._later is None or running.expected_end <= self._shadow:
            return super().may_stay(running)
        if not self._pinned:
            return self._leaves_a_place(running.placement, running.job)
        assert self._spare is not None
        spare, held = self._spare, self._later.cores_held
        return all(
            (spare[first:stop] >= held(running.job, first, stop, cores)).all()
            for first, stop, cores in running.placement.spans
        )

    def _place_for_long(self, job: Job, liked: Placement | None = None) -> Placement | None:
        """Place a job that still runs at the shadow time; ``liked`` is what the node order chose, if it was asked."""
        if job.requested_cores in self._too_wide:
            return None
        if not self._pinned:
            placement = liked or self._where.now(job)
            if placement is None or self._leaves_a_place(placement, job):
                return placement
        # Try what the promised job's own place leaves free, without nodes that would still boot when that job wants them.
        assert self._spare is not None
        spare, late = self._spare, self._late_boots()
        if late is not None and self._place is not None:
            its = np.array(self._place.nodes)
            spare = spare.copy()
            spare[its[late[its]]] = 0
        placement = self._where.now(job, spare)
        if placement is None and self._where.treats_alike:
            self._too_wide.add(job.requested_cores)
        return placement

    def _leaves_a_place(self, placement: Placement, job: Job) -> bool:
        assert self._later is not None
        assert self._head is not None
        self._later.hold(job, placement)
        booting = self._leave_booting(placement)
        left = self._where.later(self._head, self._later, self._shadow)
        for node, cores in booting:
            self._later.come_back(node, cores)
        self._later.give_back(job, placement)
        return left is not None

    def _leave_booting(self, placement: Placement) -> list[tuple[int, int]]:
        """Take away the free cores of nodes that would still boot for a job at the promised time; return them."""
        assert self._later is not None
        later, free = self._later, self._later.free.item
        late = self._late_boots()
        nodes = [] if late is None else [node for node in placement.nodes if late[node]]
        booting = [(node, free(node)) for node in nodes]
        for node, cores in booting:
            later.leave(node, cores)
        return booting

    def _late_boots(self) -> npt.NDArray[np.bool_] | None:
        """Return which nodes would not be on at the promised time if they began to boot now; None: all would."""
        if not self._view.is_off.any() or (delays := self._view.boot_delays) is None:
            return None
        return self._view.is_off & (self._view.now + delays > latest(self._promised))

    def take(self, running: Running) -> None:
        if self._later is None:
            super().take(running)
            return
        self._too_wide.clear()
        if running.expected_end <= self._shadow:
            return
        self._later.hold(running.job, running.placement)
        self._leave_booting(running.placement)
        if self._pinned:
            self._occupy(running.job, running.placement)
        else:
            self._find_place()

    def promise(self, job: Job) -> Promise | None:
        view = self._view
        takes_any = view.one_node_rule and job.requested_cores > view.platform.widest_node
        # A number of cores is not enough where nodes boot for other jobs: their other cores cannot be had before.
        if takes_any and not self._pinned and not view.transition_ends and view.boot_delays is None:
            return super().promise(job)
        if job.requested_cores > view.offered_cores:
            return None  # even if all jobs ended
        later = view.outlook()
        for one in self._trials or ():
            later.release(one)
        coming: Iterable[tuple[float, Callable[[], None]]] = (
            (end, partial(later.release, running)) for end, _, _, running in self._releases.entries
        )
        returns = Returns(view).soonest_first() if view.transition_ends or view.guests else []
        for end, node, cores in about_to_boot(self._releases, view):
            later.leave(node, cores)
            returns.append((end, node, cores))
        if returns:
            back = [(end, partial(later.come_back, node, cores)) for end, node, cores in returns]
            coming = sorted((*coming, *back), key=itemgetter(0))
        for end, together in by_instant(coming):
            for _, happen in together:
                happen()
            if self._where.later(job, later, end) is not None:
                self._later, self._head = later, job
                self._promised = end
                # No job is known to end before jobs that requested no time.
                self._shadow = latest(end) if end < math.inf else -math.inf
                placement = self._find_place()
                return Promise(end, placement if self._pinned else None)
        return None

    def _find_place(self) -> Placement | None:
        """Find a place for the promised job at the shadow time, and what is left beside it."""
        assert self._later is not None
        assert self._head is not None
        placement = self._where.later(self._head, self._later, self._shadow)
        self._spare = self._later.free.copy()
        if placement is not None:
            self._occupy(self._head, placement)
        self._place = placement
        return placement

    def _occupy(self, job: Job, placement: Placement) -> None:
        assert self._later is not None
        assert self._spare is not None
        for first, stop, cores in placement.spans:
            self._spare[first:stop] -= self._later.cores_held(job, first, stop, cores)


def ends_in_time(times: npt.NDArray[np.float64], shadow: float, now: float) -> npt.NDArray[np.bool_]:
    """Return which lengths (s) are over by the shadow time. For rounding a little more: ``place`` has the last word."""
    return times <= shadow - now + 1e-9 * abs(shadow)


def worth_trying(
    view: View, cores: npt.NDArray[np.int64], free: npt.NDArray[np.integer] | None = None
) -> npt.NDArray[np.bool_]:
    """Return which requests could fit at all on the free cores of the nodes (default: of now); shape (jobs,).

    As many are free, and on one node where the width rule wants one.
    """
    total = view.free_total
    if free is None:
        free = view.free_cores
    else:
        total = min(int(np.maximum(free, 0).sum()), total)
    enough = cores <= total
    if view.one_node_rule:
        enough &= (cores <= free.max()) | (cores > view.platform.widest_node)
    return enough
