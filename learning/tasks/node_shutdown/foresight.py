"""Foresight for each number of reserved nodes: which jobs would start now, which nodes boot, sleep or stay idle.

All actions are computed at once, by imitating the scheduler's pass. Equal requests come together, in the order of their
first submissions, on free cores of nodes that are on and then of OFF nodes; jobs that do not fit are skipped. EASY also
holds jobs back for the head's sake, so this is a feature, not a promise.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from cluster_sim.platform.platform import Platform
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from learning.tasks.feature_table import ZERO, FeatureTable, bounded, feature, span
from learning.tasks.waiting_jobs import HALF_STRETCH, WaitingJobs
from learning.tasks.waste_meter import cycle_joules, idle_node_watts

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class ActionRow(FeatureTable):
    """Features of an action's effect now: all in [0, 1]."""

    nodes_offered = feature("nodes that are not reserved", "over all")
    as_now = feature("1 if as many nodes are reserved now")
    jobs_started = feature("waiting jobs that would start", "over all that are looked at")
    cores_started = feature("their cores", "over those of all that are looked at")
    stretch_relieved = feature("summed stretch of the jobs that would start", "s / (s + HALF_STRETCH)")
    stretch_left = feature("summed stretch of the others", "s / (s + HALF_STRETCH)")
    late_cores_started = feature("cores of late jobs that would start", "over the machine's, at most 1")
    late_cores_left = feature("cores of the other late jobs", "over the machine's, at most 1")
    nodes_booted = feature("nodes that would boot", "over all")
    boots_at_all = feature("1 if any would")
    nodes_put_to_sleep = feature("nodes that would be switched off", "over all")
    nodes_left_idle = feature("nodes that would stay on and idle", "over all")
    any_left_idle = feature("1 if any would")
    cores_left_idle_beside_jobs = feature("idle cores of nodes in use", "over the machine's")
    cost = feature("boots and a step of the nodes left idle, in on-off cycles of a node", "c / (c + 1)")
    relief_for_the_cost = feature("summed stretch of the jobs that would start", "over itself and the cost")
    relief_and_no_boot = feature("stretch relieved if nothing boots", "as there, else 0")
    everybody_served = feature("1 if all jobs that are looked at would start")
    all_idle_nodes_sleep = feature("1 if what the scheduler leaves idle is put to sleep")
    head_job_starts = feature("1 if the first job of the queue would start")
    most_stretched_job_fits = feature("1 if the most stretched job alone could start on what is offered")
    most_that_boots_nobody = feature("1 for the action that offers most without a boot")
    least_for_the_most_stretched = feature("1 for that action, or the one that offers least with which that job starts")


ROW = tuple(name.replace("_", " ") for name in ActionRow.names)
"""Names of the features of an action, in order, in words."""


# Columns that are computed again when the queue or the machine has changed.
_ANEW = span(ActionRow.jobs_started, ActionRow.everybody_served)
_IDLE = span(ActionRow.nodes_left_idle, ActionRow.any_left_idle)
_OFFERS = span(ActionRow.most_that_boots_nobody, ActionRow.least_for_the_most_stretched)

MOST_JOBS = 128
"""Number of waiting jobs that are considered."""


class NodesKeptOff(Protocol):
    """Protocol of NodeShutdown's decision-maker, as far as observations read it."""

    platform: Platform
    idle: str  #: Treatment of nodes that are left idle: stay, sleep or choose.
    tau: float
    step_s: float  #: s between decisions.
    reserved: int  #: Nodes that are kept off.

    def waiting(self, view: View) -> WaitingJobs:
        """Return the jobs that wait, as columns."""
        ...

    def fresh(self) -> list[int]:
        """Return the nodes that have just fallen idle."""
        ...

    def order(self, view: View) -> list[int]:
        """Return the nodes in the order in which they are kept off."""
        ...


class Foresight:
    """Rows of features, one for each action; values that do not change with time alone are computed once."""

    def __init__(self, view: View, maker: NodesKeptOff):
        self._maker = maker
        self._nodes = view.platform.node_count
        self._total = float(view.platform.core_count)
        self._node_cores = view.platform.node_cores
        self._widest = int(view.platform.node_cores.max())
        self._actions = np.arange(self._nodes + 1)
        self._offers = self._nodes - self._actions
        idle_step_j = float(idle_node_watts(view).mean()) * maker.step_s
        self._idle_cost = idle_step_j / cycle_joules(view)  # of a step of an idle node, in cycles
        self._version: object = None
        self._queue = _Queue(WaitingJobs((), maker.tau))
        self._turns_at = -math.inf
        self._rows = np.zeros((ActionRow.size, self._nodes + 1))  # by feature
        self._rows[ActionRow.nodes_offered] = self._offers / self._nodes
        self._rows[ActionRow.all_idle_nodes_sleep] = maker.idle == "sleep"
        self._idle_ways = maker.idle
        self._order: list[int] = []
        self._rank, self._backwards = np.empty(self._nodes, np.int64), np.empty(0, np.int64)
        self._fresh: list[int] = []

    def rows(self, view: View) -> npt.NDArray[np.float32]:
        """Return features of all actions now, shape (actions, features)."""
        waiting, fresh = self._maker.waiting(view), self._maker.fresh()
        if waiting is not self._queue.waiting:
            self._queue, self._version = _Queue(waiting), None
        if view.machine.version is not self._version or fresh != self._fresh:
            self._version, self._fresh = view.machine.version, fresh
            self._look(view)
            self._turns_at = -math.inf
        rows, now = self._rows, view.now
        if waiting.jobs and now >= self._turns_at:
            self._sort_late(now)
        rows[ActionRow.as_now] = self._actions == self._maker.reserved
        if waiting.jobs:
            clock = np.array([now, -1.0])
            relieved = np.maximum(self._rate @ clock, ZERO)
            left = np.maximum(self._all_rate @ clock - relieved, ZERO)
            rows[ActionRow.stretch_relieved] = share = bounded(relieved, HALF_STRETCH)
            rows[ActionRow.stretch_left] = bounded(left, HALF_STRETCH)
            rows[ActionRow.relief_for_the_cost] = relieved / (relieved + self._cost + 1e-3)
            rows[ActionRow.relief_and_no_boot] = share * (self._booted == ZERO)
            fits, count = self._fits(self._queue.most_stretched(now).requested_cores)
            rows[ActionRow.most_stretched_job_fits] = fits
            # Offer the nodes that need no boot; more, if the most stretched job needs them to fit.
            last = count - 1 if count else self._nodes
            rows[ActionRow.least_for_the_most_stretched] = self._actions == min(last, self._bootless)
        if self._idle_ways != "choose":
            return rows.T.astype(np.float32)
        # The rows, and the same where nodes that have just fallen idle are put to sleep, too.
        half = self._nodes + 1
        both = np.empty((2, half, ActionRow.size), np.float32)
        both[:] = rows.T
        again = both[1]
        again[:, ActionRow.all_idle_nodes_sleep] = 1.0
        if self._fresh:
            again[:, ActionRow.nodes_put_to_sleep] += again[:, ActionRow.nodes_left_idle]
            again[:, _IDLE] = 0.0
            again[:, ActionRow.cost] = bounded(self._booted, 1.0)
            relieved = HALF_STRETCH * rows[ActionRow.stretch_relieved] / (1.0 - rows[ActionRow.stretch_relieved])
            again[:, ActionRow.relief_for_the_cost] = relieved / (relieved + self._booted + 1e-3)
        return both.reshape(2 * half, ActionRow.size)

    def _fits(self, cores: int) -> tuple[npt.NDArray[np.bool_], int]:
        """Return under which actions a job alone could start on the offered nodes, and their number: the first ones."""
        known = self._fitting.get(cores)
        if known is None:
            wide, free = cores > self._widest, self._free
            free = np.add.reduce(free, axis=1) if wide else np.maximum.reduce(free, axis=1, initial=0.0)
            fits = free >= cores
            known = self._fitting[cores] = fits, int(np.count_nonzero(fits))
        return known

    # ------------------------------------------------------------------ once for a state of queue and machine

    def _look(self, view: View) -> None:
        """Imitate the scheduler's pass under every action. Cores are counted in floats, which are summed sooner."""
        order = self._maker.order(view)
        if order is not self._order:
            self._order, self._backwards = order, np.array(order[::-1])
            self._rank[order] = self._actions[:-1]
        # Jobs take free cores of nodes that are on, then of OFF nodes.
        on = view.machine.powered_on.nonzero()[0]
        nodes = np.concatenate((on, view.machine.powered_off.nonzero()[0]))
        is_offered = self._rank.take(nodes) < self._offers[:, None]  # (actions, nodes)
        self._free = np.maximum(view.free_cores.take(nodes), ZERO) * is_offered
        self._fitting: dict[int, tuple[npt.NDArray[np.bool_], int]] = {}
        left = self._free.copy()
        self._started: list[Ints | None] = []  # of each group of the queue; None: nobody starts under any action
        self._rate = np.zeros((self._nodes + 1, 2))  # stretch of the started = rate · (now, -1)
        self._all_rate = self._queue.rate
        rows = self._rows
        rows[_ANEW] = 0.0
        rows[ActionRow.head_job_starts] = 0.0
        jobs = cores = np.zeros(self._nodes + 1)
        for group in self._queue.groups:
            wide = group.width > self._widest
            most = np.maximum.reduce(np.add.reduce(left, axis=1) if wide else left, axis=None, initial=0.0)
            if most < group.width:
                self._started.append(None)
                continue
            started = _start(left, group.width, len(group.bounds), wide)
            if not self._started:
                rows[ActionRow.head_job_starts] = started > 0  # the head is the first of the first group
            self._started.append(started)
            self._rate += group.sums.take(started, axis=0)
            jobs = jobs + started
            cores = cores + group.width * started
        if waiting := len(self._queue.jobs):
            rows[ActionRow.jobs_started] = jobs / waiting
            rows[ActionRow.cores_started] = cores / self._queue.cores
            rows[ActionRow.everybody_served] = jobs == waiting
        self._describe_nodes(view, left, on)

    def _describe_nodes(self, view: View, left: Floats, on: Ints) -> None:
        """Set the columns of nodes; ``left``: free cores after the pass, of nodes ``on``, then of OFF nodes."""
        rows, stop = self._rows, len(on)
        unused = self._free.copy()  # free cores of nodes that no job has
        unused[:, :stop] = self._node_cores.take(on)
        is_used = (left < unused).astype(np.float64)
        self._booted = booted = np.add.reduce(is_used[:, stop:], axis=1)
        idle = stop - np.add.reduce(is_used[:, :stop], axis=1)
        self._bootless = int((booted == ZERO).argmax())
        rows[_OFFERS] = 0.0
        rows[_OFFERS, self._bootless] = 1.0
        slept = np.zeros(self._nodes + 1)
        is_idle = (view.machine.powered_on & (view.free_cores == self._node_cores)).astype(np.float64)
        np.add.accumulate(is_idle.take(self._backwards), out=slept[1:])
        if self._idle_ways != "stay":  # then idle nodes sleep, except perhaps nodes that have just fallen idle
            slept += idle
            idle = self._spared(is_used[:, :stop], on)
            slept -= idle
        self._cost = booted + self._idle_cost * idle
        rows[ActionRow.nodes_booted] = booted / self._nodes
        rows[ActionRow.boots_at_all] = booted > ZERO
        rows[ActionRow.nodes_put_to_sleep] = slept / self._nodes
        rows[ActionRow.nodes_left_idle] = idle / self._nodes
        rows[ActionRow.any_left_idle] = idle > ZERO
        rows[ActionRow.cores_left_idle_beside_jobs] = np.add.reduce(left * is_used, axis=1) / self._total
        rows[ActionRow.cost] = bounded(self._cost, 1.0)

    def _spared(self, is_used: Floats, on: Ints) -> Floats:
        """Return how many of the nodes that have just fallen idle stay so under each action, of nodes that are ``on``."""
        if not self._fresh:
            return np.zeros(self._nodes + 1)
        is_fresh = np.zeros(self._nodes)
        is_fresh[self._fresh] = 1.0
        fresh = is_fresh.take(on)
        spared: Floats = np.add.reduce(fresh) - np.add.reduce(is_used * fresh, axis=1)
        return spared

    def _sort_late(self, now: float) -> None:
        """Set the columns of late jobs; they hold until the next job becomes late."""
        started_late = np.zeros(self._nodes + 1)
        all_late, turns_at = 0.0, math.inf
        for group, started in zip(self._queue.groups, self._started, strict=True):
            late = [now >= bound for bound in group.bounds]
            turns_at = min([turns_at, *(bound for bound in group.bounds if bound > now)])
            if any(late):
                all_late += float(group.width * sum(late))
                if started is not None:
                    started_late += group.width * np.array([0, *accumulate(late)]).take(started)
        self._rows[ActionRow.late_cores_started] = np.minimum(started_late / self._total, 1.0)
        self._rows[ActionRow.late_cores_left] = np.minimum((all_late - started_late) / self._total, 1.0)
        self._turns_at = turns_at


_GROWTH, _START = range(2)  # stretch at a time = growth · time - start


class _Group(NamedTuple):
    """Waiting jobs of one width."""

    width: int  #: Cores that each asks for.
    bounds: list[float]  #: Time from which on each is late, s.
    sums: Floats  #: For the first 0, 1, … jobs: growth of their stretch (1/s), and its start.


class _Queue:
    """Values of the first waiting jobs that are used at every decision, computed once for a queue."""

    def __init__(self, waiting: WaitingJobs):
        self.waiting = waiting
        self.jobs = waiting.jobs[:MOST_JOBS]
        cores = waiting.cores[:MOST_JOBS].tolist()
        self.cores = float(sum(cores))
        limits = waiting.limits[:MOST_JOBS]
        parts = np.empty((len(cores), 2))
        parts[:, _GROWTH], parts[:, _START] = 1.0 / limits, waiting.submits[:MOST_JOBS] / limits
        self.groups: list[_Group] = []
        self.rate = np.zeros(2)  #: Growth and start of the stretch of all of them.
        for width in dict.fromkeys(cores):
            members = (waiting.cores[:MOST_JOBS] == width).nonzero()[0]
            sums = np.zeros((len(members) + 1, 2))
            np.add.accumulate(parts.take(members, axis=0), axis=0, out=sums[1:])
            self.groups.append(_Group(width, waiting.late_from.take(members).tolist(), sums))
            self.rate += sums[-1]

    def most_stretched(self, now: float) -> Job:
        """Return the job with the longest wait over its requested time, the first of several."""
        return self.jobs[int(self.waiting.stretches(now)[:MOST_JOBS].argmax())]


def _start(free: Floats, width: int, count: int, wide: bool) -> Ints:
    """Return how many of ``count`` jobs start under each action, shape (actions,); take their cores from ``free``.

    A ``wide`` job takes single cores node by node, and has all its cores or none.
    """
    if wide:
        jobs = np.minimum(np.floor(np.add.reduce(free, axis=1) / width), count)
        _take(free, jobs[:, None] * width, 1)
    else:
        jobs = _take(free, count, width)
    started: Ints = jobs.astype(np.int64)
    return started


def _take(free: Floats, wanted: Floats | int, width: int) -> Floats:
    """Take slots of that many cores, first nodes first; how many there were under each action, shape (actions,)."""
    slots = np.floor(free / width) if width > 1 else free
    before = np.add.accumulate(slots, axis=1) - slots
    taken = np.minimum(np.maximum(wanted - before, ZERO), slots)
    free -= taken * width
    counts: Floats = np.add.reduce(taken, axis=1)
    return counts
