"""Rewards for reserving nodes: wasted energy against waiting, as in Casagrande et al. (2022, Eq. 3), and by default.

``as-published`` is the paper's text, ``as-run`` is its authors' public program (GridGym, ``off_reservation_env.py`` of
August 2020).

Any of these may also be an environment's ``cost``; :class:`MeanStretch` is made for that.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Unit
from typing_extensions import Doc

from cluster_sim.machine.node import NodeState
from cluster_sim.options import checked
from cluster_sim.records.metrics import watt_minutes
from cluster_sim.registry import Registry
from cluster_sim.run.simulation import Simulation
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from learning.tasks.decision_maker import DecisionMaker
from learning.tasks.node_shutdown.decision_maker import LATE, Reservations
from learning.tasks.node_shutdown.waiting_jobs import JOBS_IN_SIGHT, Floats, WaitingJobs, limit_of
from learning.tasks.node_shutdown.waste_meter import cycle_joules, metered, most_watts
from learning.tasks.reward import Reward

CountedBy = Annotated[Literal["core", "node"], Doc("wasted energy is counted by core or by node")]


class _OfWaste:
    """Base of two rewards: the wasted energy since the last step, by node or by core."""

    objective = "energy_waste_by_core_j"

    def __init__(self, by: str):
        self._by_core = by == "core"
        self.objective = "energy_waste_by_core_j" if by == "core" else "energy_waste_j"

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        """Begin an episode."""
        self._meter = metered(simulation)
        self._wasted_j = 0.0
        self._maker: Reservations = maker  # type: ignore[assignment]

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

    def __init__(self, maker: Reservations, tau: float):
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


shutdown_rewards: Registry[Reward] = Registry("reward of node-shutdown", "cluster_sim.shutdown_rewards")


@shutdown_rewards.register("as-published")
class WasteAndLateJobs(_OfWaste):
    """-(E_waste + QoS), Eq. 3: W·min wasted since the last decision + cores of the jobs that are late now.

    A job is late from ``tau`` times its requested time on, of a day if it requested none. Energy is counted ``by`` core, as
    in the released data, or by node, as in Table 3, where a node wastes what its model gives it. The paper adds
    watt-minutes and cores as they are: on Taurus an idle node weighs as much as 95 of its late jobs.
    """

    @checked
    def __init__(self, by: CountedBy = "core"):
        super().__init__(by)

    def value(self, view: View, terminated: bool) -> float:
        """Return the reward of the step that has just ended."""
        late = 0
        if view.pending_count:
            waiting = self._maker.waiting(view)
            late = int(waiting.cores[waiting.have_waited(view.now, self._maker.tau)].sum())
        return -(watt_minutes(self._newly_wasted_j(view)) + late)


@shutdown_rewards.register("as-run")
class WasteAndLateJobsAsRun(_OfWaste):
    """-(watts wasted + cores of late jobs) / cores of the machine, as the authors' program has it (``_get_reward``).

    Watts count in the greatest watts that a core draws without a job (125 W on Taurus, while it boots), as a mean over the
    step. A return of a day lies between -1440 and 0 on Taurus, if no job is late. ``late`` says which jobs count that have
    waited ``tau`` times their requested time at the end of a step: ``startable`` ones, as in the program, that could start if no
    node were reserved, while one is (:func:`startable`); or ``all`` of the queue, as in the paper.
    """

    @checked
    def __init__(self, late: Annotated[Literal["startable", "all"], Doc("late jobs that count")] = "startable"):
        super().__init__("core")
        self._late = late

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        super().begin(simulation, maker)
        simulation.power_policy.at_the_end_of_instants = self._count_late  # type: ignore[union-attr]
        view = simulation.view
        self._most_joules = most_watts(view) * self._maker.step_s
        self._cores = view.platform.core_count
        self._cores_late = 0

    def _count_late(self, view: View) -> None:
        """Count the cores of the late jobs that count, after the scheduler's pass."""
        self._cores_late = 0
        if not view.pending_count or (self._late == "startable" and not view.machine.withheld_count):
            return
        waiting = self._maker.waiting(view)
        is_late = waiting.have_waited(view.now, self._maker.tau)
        if is_late.any():
            places = range(len(is_late)) if self._late == "all" else startable(view, waiting)
            self._cores_late = sum(int(waiting.cores[place]) for place in places if is_late[place])

    def value(self, view: View, terminated: bool) -> float:
        """Return the reward of the step that has just ended."""
        return -(self._newly_wasted_j(view) / self._most_joules + self._cores_late / self._cores)


def startable(view: View, waiting: WaitingJobs) -> list[int]:
    """Return which waiting jobs could start now if no node were reserved, as places in the queue.

    This is the plan of the authors' program (``_get_schedule_plan``): the head of the queue, then the next nine by area. The
    first that does not fit is promised cores; others start beside it, or end before it. Nodes do not matter. Cores of jobs whose
    nodes boot are in use here.
    """
    free, promised, spare = int(view.free_cores.sum()), -1.0, 0
    found = []
    for place in waiting.by_area(JOBS_IN_SIGHT):
        cores, limit = int(waiting.cores[place]), float(waiting.limits[place])
        if cores <= free and (promised < 0.0 or cores <= spare or limit <= promised):
            spare -= cores if promised >= 0.0 and limit > promised else 0
            free -= cores
            found.append(place)
        elif promised < 0.0:
            ends = [(running.expected_end - view.now, running.placement.cores) for running in view.running]
            ends += [(limit_of(view.pending[other]), int(waiting.cores[other])) for other in found]
            given_back = free
            for end, cores_of_one in sorted(ends):
                if given_back >= cores and end > promised:
                    break
                promised = max(end, 0.0)
                given_back += cores_of_one
            spare = given_back - cores
    return found


@shutdown_rewards.register("default")
class WasteAndStretch(_OfWaste):
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


@shutdown_rewards.register("mean-stretch")
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
