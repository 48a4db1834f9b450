"""Rewards for switching nodes: wasted energy against waiting, and waiting alone, for what is to be kept within a limit."""

from __future__ import annotations

from typing import Annotated, Literal, Protocol

import numpy as np
from annotated_types import Ge, Gt, Unit
from typing_extensions import Doc

from cluster_sim.machine.node import NodeState
from cluster_sim.options import checked
from cluster_sim.run.simulation import Simulation
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from learning.tasks.decision_maker import DecisionMaker
from learning.tasks.waiting_jobs import LATE, Floats, WaitingJobs, limit_of
from learning.tasks.waste_meter import cycle_joules, metered

CountedBy = Annotated[Literal["core", "node"], Doc("wasted energy is counted by core or by node")]


class SeesQueue(Protocol):
    """Protocol of the decision-maker, as far as these rewards read it."""

    tau: float  #: Share of its requested time from which a waiting job is late.

    def waiting(self, view: View) -> WaitingJobs:
        """Return the queue as columns."""
        ...


class OfWaste:
    """Base of two rewards: the wasted energy since the last step, by node or by core."""

    objective = "energy_waste_by_core_j"

    def __init__(self, by: str):
        self._by_core = by == "core"
        self.objective = "energy_waste_by_core_j" if by == "core" else "energy_waste_j"

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        """Begin an episode."""
        self._meter = metered(simulation)
        self._wasted_j = 0.0
        self._maker: SeesQueue = maker  # type: ignore[assignment]

    def leave(self, view: View) -> None:
        """Note that all is decided at this instant."""

    def passed(self, view: View) -> None:
        """Note nothing, by default."""

    def _newly_wasted_j(self, view: View) -> float:
        before, self._wasted_j = self._wasted_j, self._meter.joules(view.now)[self._by_core]
        return self._wasted_j - before


class _Waits:
    """Waits of an episode's jobs, as they grow: stretches, and the number of jobs that became late.

    A job waits in the queue and while its nodes boot. It is late from ``tau`` times its requested time on.
    """

    def __init__(self, maker: SeesQueue, tau: float):
        self._maker = maker
        self._tau = tau
        self._queue: WaitingJobs | None = None
        self._counted: set[int] = set()  # jobs that waited when they were last looked at,
        self._since = 0.0  # and when that was, s
        self._stretch, self._late = 0.0, 0

    def passed(self, view: View) -> None:
        """Note the time until now, before the scheduler's pass: all waiting jobs have waited until now."""
        if not self._counted and not view.pending_count:
            return
        now, counted, queue = view.now, self._counted, self._maker.waiting(view)
        since: Floats | float = self._since
        if queue is not self._queue:
            known = np.array([index in counted for index in queue.indices], np.bool_)
            since = np.where(known, since, queue.submits)
        for wait in (np.maximum(now - since, 0.0) / queue.limits).tolist():
            self._stretch += wait
        bounds = queue.submits + self._tau * queue.limits
        self._late += int(np.count_nonzero((since < bounds) & (bounds <= now)))
        booting = []
        for running in view.running:
            if running.start_time > now:  # its nodes boot
                booting.append(running.job.index)
                self._add(running.job, now)
            elif running.job.index in counted:  # it has just begun, and waited until then
                self._add(running.job, running.start_time)
        if queue is not self._queue or booting or len(counted) > len(queue.indices):
            self._counted = {*queue.indices, *booting}
        self._queue, self._since = queue, now

    def _add(self, job: Job, until: float) -> None:
        """Add the wait of a job since it was last counted."""
        since, limit = self._since if job.index in self._counted else job.submit_time, limit_of(job)
        if until > since:
            self._stretch += (until - since) / limit
            self._late += since < job.submit_time + self._tau * limit <= until

    def taken(self) -> tuple[float, int]:
        """Return the stretches' growth and the jobs that became late since the last call."""
        stretch, late = self._stretch, self._late
        self._stretch, self._late = 0.0, 0
        return stretch, late


class WasteAndStretch(OfWaste):
    """-(cycles wasted + ``stretch`` · summed stretch + ``late`` · jobs that became late + …), times ``scale``.

    Energy counts in cycles: what switching one node off and on costs. Stretch (wait / requested time) is paid as it
    grows, each job that waits adding dt / requested time in dt, while its nodes boot too; over an episode the terms add up
    to the sum of the jobs' stretches, so the return is a weighted sum of total waste, total stretch and late jobs:
    nothing is shaped that could change what is optimal. ``stretch`` is the price in cycles of one job's waiting as long
    as it asked to run: 5 has a rule that boots once for 0.2 of summed stretch break even. A day's return is some -10.

    Two more prices are 0 unless given. ``mean_stretch`` is the price in cycles of a *mean* stretch of 1: a job counts by
    its share of the episode's jobs, as in figures that are means over days, so that a day of few jobs counts as much as one
    of many. ``switches`` is the price of an off-on cycle beyond its energy, in cycles, paid when a node goes to sleep.
    """

    @checked
    def __init__(
        self,
        stretch: Annotated[float, Ge(0), Unit("cycles"), Doc("price of a job's stretch of 1")] = 5.0,
        late: Annotated[float, Ge(0), Unit("cycles"), Doc("price of a job that becomes late")] = 0.2,
        by: CountedBy = "core",
        scale: Annotated[float, Gt(0), Doc("factor of the rewards")] = 0.05,
        mean_stretch: Annotated[float, Ge(0), Unit("cycles"), Doc("price of a mean stretch of 1")] = 0.0,
        switches: Annotated[float, Ge(0), Unit("cycles"), Doc("price of a switch beyond its energy")] = 0.0,
    ):
        super().__init__(by)
        self._stretch = stretch
        self._mean_stretch = mean_stretch
        self._switches = switches
        self._late = late
        self._scale = scale

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        super().begin(simulation, maker)
        self._cycle_j = cycle_joules(simulation.view)
        self._waits = _Waits(self._maker, self._maker.tau)
        self._paid_until = 0.0  # s: switches that began before are paid for
        self._price_of_stretch = self._stretch + self._mean_stretch / max(len(simulation.workload), 1)

    def passed(self, view: View) -> None:
        """Note the time until now, before the scheduler's pass: all waiting jobs have waited until now."""
        self._waits.passed(view)

    def value(self, view: View, terminated: bool) -> float:
        stretch, late = self._waits.taken()
        paid = self._price_of_stretch * stretch + self._late * late
        if self._switches:  # what begins now is the next step's, and of none if the episode is over, as in the records
            paid += self._switches * view.machine.state_changes.entries(
                NodeState.SWITCHING_OFF, self._paid_until, view.now
            )
            self._paid_until = view.now
        return -self._scale * (self._newly_wasted_j(view) / self._cycle_j + paid)


class MeanStretch:
    """Minus the growth of the jobs' stretches (wait / requested time), over the number of the episode's jobs.

    The return is minus ``mean_stretch`` where every job has begun by the end; one that has not counts with what it has
    waited, where the metric leaves it out. Made for ``cost``: as a reward it would have every node on.
    """

    objective = "mean_stretch"

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        self._waits = _Waits(maker, LATE)  # type: ignore[arg-type]
        self._jobs = max(len(simulation.workload), 1)

    def leave(self, view: View) -> None:
        """Note that all is decided at this instant."""

    def passed(self, view: View) -> None:
        """Note the time until now, before the scheduler's pass: all waiting jobs have waited until now."""
        self._waits.passed(view)

    def value(self, view: View, terminated: bool) -> float:
        return -self._waits.taken()[0] / self._jobs
