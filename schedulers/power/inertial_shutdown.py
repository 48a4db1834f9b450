"""Inertial shutdown: nodes are switched off while the load is falling, and on while it is rising."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import numpy as np
from annotated_types import Ge, Gt, Unit
from typing_extensions import Doc

from cluster_sim.options import checked
from cluster_sim.run.decisions import Offer, PowerDecision, SwitchOff, SwitchOn, WakeAt, Withhold
from cluster_sim.run.view import View
from schedulers.policy.policy import PowerPolicy, power_policies
from schedulers.power.idle_timeout import idle_nodes, waits_in_window

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.workload.jobs import Job

    Mask = npt.NDArray[np.bool_]

HORIZON_S = 1e9
"""Time, s, for a load that the nodes on offer never work off."""


@power_policies.register("inertial")
class InertialShutdown(PowerPolicy):
    """Withholds nodes and switches them off while the load is falling, ever more of them; gives back while it is rising.

    Poquet's inertial shutdown (2017, p. 85), as the monitoring stages of his Batsched
    (``energy_bf_monitoring_inertial_shutdown``) do it. The load is the *liquid load horizon*: how long the nodes on
    offer would take for the requested core-seconds of the queue, poured like a liquid into what the running jobs leave
    free. Every ``period`` (s) its integral over the period is compared with that over the one before. While it grows,
    nodes are given back and booted: 1, or ``factor`` times as many as the last time. When it stops growing the policy
    turns round. As long as it does not grow, nodes are withheld by the same rule: idle ones first, then nodes whose
    jobs are left to end. Each turn costs a period in which nothing changes: the inertia.

    Enough nodes stay on offer for each pending job to fit on them once they are free. All are on offer if jobs wait
    while nothing runs, or one waits in its advance reservation. A job that requests no time counts for nothing in the
    load. Monitoring begins with the first job, as in Batsched, and rests while nothing waits, nothing runs and all is
    off.
    """

    @checked
    def __init__(
        self,
        period: Annotated[float, Ge(1e-3), Unit("s"), Doc("time over which the load is compared")] = 600.0,
        factor: Annotated[float, Gt(0), Doc("how many times as many nodes each further step changes")] = 2.0,
    ):
        self._period = period
        self._factor = factor

    def begin(self, view: View) -> None:
        """Begin a run in which all nodes are on offer, and the load is taken to rise."""
        self._has_begun = False  # whether a job has come
        self._rising = True
        self._changed = 0  # nodes given back or withheld at the last stage
        self._next_stage = -1.0  # none is planned
        self._last = (view.now, 0.0)  # (s, liquid load horizon)
        self._integral = 0.0
        self._integral_before = 0.0

    def reserve(self, view: View) -> Iterator[PowerDecision]:
        """Keep account of the load, decide at the end of a period, and let new jobs have enough nodes."""
        new = {job.index for job in view.submitted}
        self._has_begun = self._has_begun or bool(new)
        # Add the trapezoid since the last pass to the integral.
        waiting = [job for job in view.pending if job.index not in new]
        since, before = self._last
        if view.now > since:
            self._integral += (before + self._liquid_load_horizon(view, waiting)) / 2.0 * (view.now - since)
        if 0.0 <= self._next_stage <= view.now:
            yield from self._stage(view)
        if view.machine.withheld_count and waits_in_window(view):
            yield from self._offer(np.flatnonzero(view.machine.withheld))
        elif view.machine.withheld_count and new:
            # Offer as few withheld nodes, first ones first, as it takes for the jobs to fit once they are free.
            withheld = np.flatnonzero(view.machine.withheld)
            given = 0
            for job in _unlike(view, view.submitted):
                low, high = given, len(withheld)
                while low < high:
                    middle = (low + high) // 2
                    left = ~view.machine.withheld
                    left[withheld[:middle]] = True
                    low, high = (low, middle) if fits(view, job, left) else (middle + 1, high)
                given = low
            yield from self._offer(withheld[:given])
        if self._next_stage < 0.0 and self._goes_on(view):
            self._integral = 0.0
            self._next_stage = view.now + self._period
            yield WakeAt(self._next_stage)

    def react(self, view: View) -> Iterator[PowerDecision]:
        """Switch off the withheld nodes on which nothing runs any more."""
        self._last = (view.now, self._liquid_load_horizon(view, view.pending))
        if view.machine.withheld_count:
            yield SwitchOff(np.flatnonzero(view.machine.withheld & idle_nodes(view)).tolist())

    # ------------------------------------------------------------------ the load

    def _liquid_load_horizon(self, view: View, waiting: Iterable[Job]) -> float:
        """Return how long the load of the jobs that wait would take on the nodes on offer, s."""
        timed = [job for job in waiting if job.requested_time < math.inf]
        load = sum(job.requested_cores * min(job.requested_time, HORIZON_S) for job in timed)
        if not load:
            return 0.0
        withheld = view.machine.withheld if view.machine.withheld_count else None
        ends = sorted((max(r.expected_end, view.now), r.placement.offered(withheld).cores) for r in view.running)
        free, time = view.free_total, view.now
        for end, cores in ends:
            if end == math.inf or free * (end - time) >= load:
                break
            load -= free * (end - time) if free else 0.0
            free, time = free + cores, end
        return min(time - view.now + load / free, HORIZON_S) if free and time < math.inf else HORIZON_S

    # ------------------------------------------------------------------ the stages

    def _goes_on(self, view: View) -> bool:
        """Return whether there is anything to monitor: work, or nodes left on with none since jobs have come."""
        if not self._has_begun:
            return False
        if view.running_count:
            return True
        if view.pending_count:  # jobs that have just come may start
            return bool(view.machine.withheld_count or view.submitted)
        return not view.machine.withheld.all()

    def _stage(self, view: View) -> Iterator[PowerDecision]:
        """Go on as before, or turn round, at the end of a period."""
        rises = self._integral > self._integral_before
        self._integral, self._integral_before, self._next_stage = 0.0, self._integral, -1.0
        if view.pending_count and not view.running_count:
            yield from self._give_back(view, np.flatnonzero(view.machine.withheld))
            return
        if rises != self._rising:
            self._rising, self._changed = rises, 0
            return
        number = max(1, int(min(self._changed * self._factor, view.platform.node_count)))
        if rises:
            yield from self._give_back(view, np.flatnonzero(view.machine.withheld)[:number], boot=True)
        else:
            left = np.flatnonzero(~view.machine.withheld)[::-1]
            chosen = left[np.argsort(~idle_nodes(view)[left], kind="stable")][:number]
            while len(chosen) and not self._leaves_enough(view, chosen):
                chosen = chosen[: len(chosen) // 2]
            self._changed = len(chosen)
            for node in chosen.tolist():
                yield Withhold(node)

    def _give_back(self, view: View, nodes: npt.NDArray[np.int64], boot: bool = False) -> Iterator[PowerDecision]:
        self._changed = len(nodes)
        for node in nodes.tolist():
            yield Offer(node)
            if boot and not is_failed(view)[node]:
                yield SwitchOn(node)

    def _leaves_enough(self, view: View, chosen: npt.NDArray[np.int64]) -> bool:
        """Return whether every pending job that could run at all could run without those nodes."""
        left = ~view.machine.withheld
        left[chosen] = False
        kinds = _unlike(view, view.pending)
        return all(fits(view, job, left) or not fits(view, job, ~is_failed(view)) for job in kinds)

    @staticmethod
    def _offer(nodes: npt.NDArray[np.int64]) -> Iterator[PowerDecision]:
        for node in nodes.tolist():
            yield Offer(node)


def is_failed(view: View) -> Mask:
    """Return which nodes are neither on nor OFF nor in transition, shape (nodes,)."""
    failed = ~(view.machine.powered_on | view.machine.powered_off)
    failed[list(view.machine.transition_ends)] = False
    return failed


def fits(view: View, job: Job, nodes: Mask) -> bool:
    """Return whether a job could be placed on those of some nodes that have not failed, if nothing ran there.

    On the cores that it requested, or on the fewest that it can have where all nodes together are not enough for those.
    """
    if _fits(view, job, nodes):
        return True
    fewest = job.on_cores(job.min_cores)
    return fewest is not job and not _fits(view, job, np.ones_like(nodes)) and _fits(view, fewest, nodes)


def _fits(view: View, job: Job, nodes: Mask) -> bool:
    cores = np.where(nodes & ~is_failed(view), view.platform.node_cores, 0)
    return (
        view.planning.outlook(empty=True).place(job, memory=view.planning.counts_memory, within=cores, time=view.now)
        is not None
    )


def _unlike(view: View, jobs: Iterable[Job]) -> Iterable[Job]:
    """Return one of each kind of job that asks for the same."""
    kinds: dict[tuple[object, ...], Job] = {}
    by_memory, by_time = view.planning.counts_memory, bool(view.machine.reservations)
    for job in jobs:
        asks = (job.requested_cores, job.min_cores, job.nodes, job.ntasks_per_node, job.requires, job.exclusive)
        few = view.machine.leaf_limit(job, view.now)
        kinds.setdefault((*asks, few, by_memory and job.memory, by_time and job.requested_time), job)
    return kinds.values()
