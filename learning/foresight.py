"""What each number of reserved nodes would mean now: which jobs would start, which nodes boot, sleep or stay idle.

All actions are looked at in one go. The scheduler's pass is imitated: equal requests together, in the order in which the
first of each was submitted, on free cores of nodes that are on and then of those that are OFF, and whoever does not fit
is skipped. That is what EASY does but for jobs that it holds back for the head's sake, so it is a feature, not a promise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from learning.waste import cycle_joules, idle_node_watts

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.jobs import Job
    from cluster_sim.view import View
    from learning.reservations import Reservations

    Floats = npt.NDArray[np.float64]

ROW = (
    "nodes offered",
    "as now",
    "jobs started",
    "cores started",
    "stretch relieved",
    "stretch left",
    "late cores started",
    "late cores left",
    "nodes booted",
    "boots at all",
    "nodes put to sleep",
    "nodes left idle",
    "any left idle",
    "cores left idle beside jobs",
    "cost",
    "relief for the cost",
    "relief and no boot",
    "everybody served",
    "all idle nodes sleep",
    "head job starts",
    "most stretched job fits",
    "most that boots nobody",
    "least for the most stretched",
)
"""Features of an action, in order; all in [0, 1]."""

HALF_STRETCH = 0.3
"""Summed stretch of waiting jobs at which its feature is 0.5: about where a good rule boots a node for them."""

MOST_JOBS = 128
"""So many of the waiting jobs are looked at."""


class Foresight:
    """Rows of features, one for each action; what does not change with time alone is worked out once."""

    def __init__(self, view: View, maker: Reservations):
        self._maker = maker
        self._nodes = view.platform.node_count
        self._total = float(view.platform.core_count)
        self._node_cores = view.platform.node_cores.astype(np.float64)
        self._widest = int(view.platform.node_cores.max())
        self._actions = np.arange(self._nodes + 1)
        idle_step_j = float(idle_node_watts(view).mean()) * maker.step_s
        self._idle_cost = idle_step_j / cycle_joules(view)  # of a step of an idle node, in cycles
        self._version: object = None
        self._pending: tuple[Job, ...] = ()
        self._turns_at = -math.inf
        self._rows = np.zeros((self._nodes + 1, len(ROW)))
        self._rows[:, 18] = maker.idle == "sleep"
        self._idle_ways = maker.idle
        self._fresh: list[int] = []

    def rows(self, view: View) -> npt.NDArray[np.float32]:
        """Features of all actions now, shape (actions, features)."""
        pending, fresh = view.pending, self._maker.fresh()
        if view.version is not self._version or pending != self._pending or fresh != self._fresh:
            self._version, self._pending, self._fresh = view.version, pending, fresh
            self._look(view, pending[:MOST_JOBS])
            self._turns_at = -math.inf
        if pending and view.now >= self._turns_at:
            self._sort_late(view.now)
        rows = self._rows
        rows[:, 1] = self._actions == self._maker.reserved
        if pending:
            clock = np.array([view.now, -1.0])
            relieved = np.maximum(self._rate @ clock, 0.0)
            left = np.maximum(self._all_rate @ clock - relieved, 0.0)
            rows[:, 4] = relieved / (relieved + HALF_STRETCH)
            rows[:, 5] = left / (left + HALF_STRETCH)
            rows[:, 15] = relieved / (relieved + self._cost + 1e-3)
            rows[:, 16] = rows[:, 4] * (rows[:, 9] == 0.0)
            fits = self._fits(max(pending[:MOST_JOBS], key=lambda job: _stretch(job, view.now)).requested_cores)
            rows[:, 20] = fits
            # As many as boot nobody; more, if that is what the most stretched job needs: the last that fits, then.
            last = self._nodes - int(fits[::-1].argmax()) if fits.any() else self._nodes
            rows[:, 22] = self._actions == min(last, self._bootless)
        return self._twice(rows) if self._idle_ways == "choose" else rows.astype(np.float32)

    def _twice(self, rows: Floats) -> npt.NDArray[np.float32]:
        """The rows, and the same where nodes that have just fallen idle are put to sleep, too."""
        half = self._nodes + 1
        both = np.empty((2 * half, len(ROW)), np.float32)
        both[:half] = both[half:] = rows
        both[half:, 18] = 1.0
        if self._fresh:
            both[half:, 10] += both[half:, 11]
            both[half:, 11:13] = 0.0
            both[half:, 14] = self._booted / (self._booted + 1.0)
            relieved = HALF_STRETCH * rows[:, 4] / (1.0 - rows[:, 4])
            both[half:, 15] = relieved / (relieved + self._booted + 1e-3)
        return both

    def _fits(self, cores: int) -> npt.NDArray[np.bool_]:
        """Whether a job alone could start on what is offered, under each action."""
        if cores not in self._fitting:
            free = self._free.sum(axis=1) if cores > self._widest else self._free.max(axis=1)
            self._fitting[cores] = free >= cores
        return self._fitting[cores]

    # ------------------------------------------------------------------ once for a state of queue and machine

    def _look(self, view: View, pending: tuple[Job, ...]) -> None:
        """Imitate the scheduler's pass under every action."""
        rank = np.empty(self._nodes, np.int64)
        rank[self._maker.order(view)] = np.arange(self._nodes)
        offered = rank[None, :] < (self._nodes - self._actions)[:, None]  # (actions, nodes)
        free = np.maximum(view.free_cores.astype(np.float64), 0.0)
        powered_on = view.powered_on
        on = np.where(offered & powered_on, free, 0.0)
        off = np.where(offered & view.powered_off, free, 0.0)
        fresh_off = off.copy()
        self._free = on + off
        self._fitting: dict[int, npt.NDArray[np.bool_]] = {}
        self._rows[:, 19] = 0.0
        self._groups: list[tuple[int, Floats, npt.NDArray[np.int64]]] = []
        self._rate = np.zeros((self._nodes + 1, 2))  # stretch of the started = rate · (now, -1)
        self._all_rate = np.zeros(2)
        jobs, cores = np.zeros(self._nodes + 1), np.zeros(self._nodes + 1)
        for width, members in _by_width(pending).items():
            wide = width > self._widest
            started = _start(on, off, width, len(members), wide)
            walls = np.array([min(job.requested_time, 86400.0) for job in members])
            submits = np.array([job.submit_time for job in members])
            sums = np.zeros((len(members) + 1, 2))
            np.cumsum(np.stack([1.0 / walls, submits / walls], axis=1), axis=0, out=sums[1:])
            if not self._groups:
                self._rows[:, 19] = started > 0  # the head is the first of the first group
            self._rate += sums[started]
            self._all_rate += sums[-1]
            self._groups.append((width, submits + self._maker.tau * walls, started))
            jobs += started
            cores += width * started
        self._describe(view, pending, (on, off, fresh_off), offered, jobs, cores)

    def _describe(
        self,
        view: View,
        pending: tuple[Job, ...],
        left: tuple[Floats, Floats, Floats],
        offered: npt.NDArray[np.bool_],
        jobs: Floats,
        cores: Floats,
    ) -> None:
        on, off, fresh_off = left
        rows = self._rows
        rows[:, 2:18] = 0.0
        rows[:, 0] = (self._nodes - self._actions) / self._nodes
        idle_now = view.powered_on & (view.free_cores == view.platform.node_cores)
        self._booted = booted = ((fresh_off - off) > 0.0).sum(axis=1)
        self._bootless = int((booted == 0).argmax())
        rows[:, 21:23] = (self._actions == self._bootless)[:, None]
        slept = (idle_now[None, :] & ~offered).sum(axis=1)
        untouched = on == self._node_cores
        idle = untouched.sum(axis=1)
        if self._idle_ways != "stay":  # then what is left idle sleeps, but perhaps for what has just fallen idle
            spared = untouched[:, self._fresh].sum(axis=1) if self._idle_ways == "choose" else 0 * idle
            slept, idle = slept + idle - spared, spared
        self._cost = booted + self._idle_cost * idle
        if pending:
            asked = float(sum(job.requested_cores for job in pending))
            rows[:, 2] = jobs / len(pending)
            rows[:, 3] = cores / asked
            rows[:, 17] = jobs == len(pending)
        rows[:, 8] = booted / self._nodes
        rows[:, 9] = booted > 0
        rows[:, 10] = slept / self._nodes
        rows[:, 11] = idle / self._nodes
        rows[:, 12] = idle > 0
        beside = np.where(untouched, 0.0, on).sum(axis=1) + np.where(fresh_off > off, off, 0.0).sum(axis=1)
        rows[:, 13] = beside / self._total
        rows[:, 14] = self._cost / (self._cost + 1.0)

    def _sort_late(self, now: float) -> None:
        """Which jobs are late; good until the next one is."""
        rows = self._rows
        started_late = np.zeros(self._nodes + 1)
        all_late, turns_at = 0.0, math.inf
        for width, bounds, started in self._groups:
            late = now >= bounds
            if not late.all():
                turns_at = min(turns_at, float(bounds[~late].min()))
            if late.any():
                counts = np.concatenate([[0], np.cumsum(late)])
                started_late += width * counts[started]
                all_late += width * float(counts[-1])
        rows[:, 6] = np.minimum(started_late / self._total, 1.0)
        rows[:, 7] = np.minimum((all_late - started_late) / self._total, 1.0)
        self._turns_at = turns_at


def _stretch(job: Job, now: float) -> float:
    return (now - job.submit_time) / min(job.requested_time, 86400.0)


def _by_width(pending: tuple[Job, ...]) -> dict[int, list[Job]]:
    groups: dict[int, list[Job]] = {}
    for job in pending:
        groups.setdefault(job.requested_cores, []).append(job)
    return groups


def _start(on: Floats, off: Floats, width: int, count: int, wide: bool) -> npt.NDArray[np.int64]:
    """How many of ``count`` jobs start under each action; takes their cores from ``on`` and then ``off``, (actions, nodes).

    A ``wide`` job takes single cores node by node, and has all its cores or none.
    """
    if wide:
        can = np.minimum((on.sum(axis=1) + off.sum(axis=1)) // width, count)
        missing = _take(on, can * width, 1)
        _take(off, missing, 1)
        counts: npt.NDArray[np.int64] = can.astype(np.int64)
        return counts
    missing = _take(off, _take(on, np.full(len(on), float(count)), width), width)
    started: npt.NDArray[np.int64] = (count - missing).astype(np.int64)
    return started


def _take(free: Floats, wanted: Floats, width: int) -> Floats:
    """Take slots of that many cores, first nodes first; how many are still missing under each action."""
    slots = free // width if width > 1 else free
    reached = np.cumsum(slots, axis=1)
    taken = np.clip(wanted[:, None] - (reached - slots), 0.0, slots)
    free -= taken * width
    missing: Floats = wanted - np.minimum(wanted, reached[:, -1])
    return missing
