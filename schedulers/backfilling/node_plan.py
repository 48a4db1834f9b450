"""A plan with one promise where nodes differ: what the promised job will leave free, node by node."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.engine import latest
from cluster_sim.machine.free import Free
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.running import Running
from cluster_sim.run.decisions import Hold
from schedulers.backfilling.node_choice import NodeChoice
from schedulers.backfilling.plans import PlanOfOne, Promise, ends_in_time, refusal, worth_trying
from schedulers.backfilling.timeline import Timeline, planned_time

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.workload.jobs import Job


class NodePlan:
    """Nodes differ: a job may start where it ends before the promised start, or leaves the promised job a place.

    *Counted*: any place will do; a placement is tried as the node order likes it, and if that leaves the promised job
    none, on what its own place leaves free. For a promised job that takes free cores on whichever nodes they are, their
    number says that. *Pinned*: the promise is of certain cores of certain nodes, and these are not touched.
    """

    def __init__(self, where: NodeChoice, timeline: Timeline, by_number: Callable[[], PlanOfOne], pinned: bool):
        self._where = where
        self._view = where.view
        self._timeline = timeline
        self._by_number = by_number()  # for as long as the promised job is counted, or none is promised
        self._pinned = pinned
        self._head: Job | None = None  # the promised job
        self._shadow = math.inf
        self._promised = math.inf  # the shadow time, s; that of jobs that requested no time is -inf
        self._later: Free | None = None  # at the shadow time, the promised job not yet on it; None: it is counted
        self._place: Placement | None = None  # where it is to be, as found last
        self._beside: Free | None = None  # the same with the promised job on it
        # Widths of jobs that found no place, as things are now, on which they could stay beyond the shadow time.
        self._too_wide: set[int] = set()

    def may_start(self, cores: npt.NDArray[np.int64], times: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Return which requests could fit and end in time, or fit on what the promised job may leave."""
        view = self._view
        fits = worth_trying(view, cores)
        if self._later is None:
            return fits & self._by_number.may_start(cores, times)
        left = (self._beside if self._pinned and self._beside is not None else self._later).free
        long = worth_trying(view, cores, np.minimum(view.free_cores, left))
        if self._too_wide:
            long &= ~np.isin(cores, [*self._too_wide])
        return fits & (ends_in_time(times, self._shadow, view.now) | long)

    def place(self, job: Job) -> Placement | None:
        if self._later is None:
            return self._by_number.place(job)
        if self._view.now + planned_time(job) > self._shadow:
            return self._place_for_long(job)
        placement = self._where.now(job)
        if placement is None or not (boot_s := self._view.planning.boot_time(placement)):
            return placement
        is_late = self._view.now + boot_s + planned_time(job) > self._shadow
        return self._place_for_long(job, placement) if is_late else placement

    def may_stay(self, running: Running) -> bool:
        """Return whether a job on trial ends before the promised start, or leaves the promised job a place."""
        if self._later is None:
            return self._by_number.may_stay(running)
        if running.expected_end <= self._shadow:
            return True
        if not self._pinned:
            return self._leaves_a_place(running.placement, running.job)
        assert self._beside is not None
        return self._beside.fits(running.job, running.placement)

    def is_over_in_time(self, job: Job) -> bool:
        """Return whether a job that starts now, without a boot, ends before the promised start."""
        if self._later is None:
            return self._by_number.is_over_in_time(job)
        return self._view.now + planned_time(job) <= self._shadow

    def refusal(self, job: Job) -> Hold:
        return self._by_number.refusal(job) if self._later is None else refusal(job, self._head)

    def _place_for_long(self, job: Job, liked: Placement | None = None) -> Placement | None:
        """Place a job that still runs at the shadow time; ``liked`` is what the node order chose, if it was asked."""
        if job.requested_cores in self._too_wide:
            return None
        if not self._pinned:
            placement = liked or self._where.now(job)
            if placement is None or self._leaves_a_place(placement, job):
                return placement
        # Try what the promised job's own place leaves free, without nodes that would still boot when that job wants them.
        assert self._beside is not None
        spare, late = self._beside.free, self._late_boots()
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
        self._later.take(job, placement)
        booting = self._leave_booting(placement)
        left = self._where.later(self._head, self._later, self._shadow)
        for node, cores in booting:
            self._later.come_back(node, cores)
        self._later.give(job, placement)
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
        if not self._view.machine.is_off.any() or (delays := self._view.machine.boot_delays) is None:
            return None
        return self._view.machine.is_off & (self._view.now + delays > latest(self._promised))

    def take(self, running: Running) -> None:
        if self._later is None:
            self._by_number.take(running)
            return
        self._too_wide.clear()
        if running.expected_end <= self._shadow:
            return
        self._later.take(running.job, running.placement)
        self._leave_booting(running.placement)
        if self._pinned:
            assert self._beside is not None
            self._beside.take(running.job, running.placement)
        else:
            assert self._head is not None
            self._set_aside(self._where.later(self._head, self._later, self._shadow))

    def promise(self, job: Job) -> Promise | None:
        view = self._view
        takes_any = view.machine.one_node_rule and job.requested_cores > view.platform.widest_node
        # A number of cores is not enough where nodes boot for other jobs: their other cores cannot be had before.
        if takes_any and not self._pinned and not view.machine.transition_ends and view.machine.boot_delays is None:
            return self._by_number.promise(job)
        if job.requested_cores > view.machine.offered_cores:
            return None  # even if all jobs ended
        for end, later in self._timeline.states():
            placement = self._where.later(job, later, end)
            if placement is not None:
                self._later, self._head = later, job
                self._promised = end
                # No job is known to end before jobs that requested no time.
                self._shadow = latest(end) if end < math.inf else -math.inf
                self._set_aside(placement)
                return Promise(end, placement if self._pinned else None)
        return None

    def _set_aside(self, placement: Placement | None) -> None:
        """Note where the promised job is to be, and what is left beside it."""
        assert self._later is not None
        assert self._head is not None
        self._beside = self._later.copy()
        if placement is not None:
            self._beside.take(self._head, placement)
        self._place = placement
