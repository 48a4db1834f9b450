"""Rewards for reserving nodes: wasted energy against waiting, as in Casagrande et al. (2022, Eq. 3), and by default.

``as-published`` is the paper's text, ``as-run`` is its authors' public program (GridGym, ``off_reservation_env.py`` of
August 2020).

Any of these may also be an environment's ``cost``; ``mean-stretch`` is made for that.
"""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Gt
from typing_extensions import Doc

from cluster_sim.options import checked
from cluster_sim.records.metrics import watt_minutes
from cluster_sim.registry import Registry
from cluster_sim.run.simulation import Simulation
from cluster_sim.run.view import View
from learning.tasks.decision_maker import DecisionMaker
from learning.tasks.node_shutdown.decision_maker import Reservations
from learning.tasks.reward import Reward
from learning.tasks.waiting_jobs import JOBS_IN_SIGHT, WaitingJobs, limit_of
from learning.tasks.waste_meter import most_watts
from learning.tasks.waste_rewards import CountedBy, MeanStretch, OfWaste, WasteAndStretch

shutdown_rewards: Registry[Reward] = Registry("reward of node-shutdown", "cluster_sim.shutdown_rewards")


@shutdown_rewards.register("as-published")
class WasteAndLateJobs(OfWaste):
    """-(E_waste + QoS), Eq. 3: W·min wasted since the last decision + cores of the jobs that are late now.

    A job is late from ``tau`` times its requested time on, of a day if it requested none. Energy is counted ``by`` core, as
    in the released data, or by node, as in Table 3, where a node wastes what its model gives it. The paper adds
    watt-minutes and cores as they are: on Taurus an idle node weighs as much as 95 of its late jobs.
    """

    @checked
    def __init__(self, by: CountedBy = "core", scale: Annotated[float, Gt(0), Doc("factor of the rewards")] = 1.0):
        super().__init__(by)
        self._scale = scale

    def value(self, view: View, terminated: bool) -> float:
        """Return the reward of the step that has just ended."""
        late = 0
        if view.pending_count:
            waiting = self._maker.waiting(view)
            late = int(waiting.cores[waiting.have_waited(view.now, self._maker.tau)].sum())
        return -self._scale * (watt_minutes(self._newly_wasted_j(view)) + late)


@shutdown_rewards.register("as-run")
class WasteAndLateJobsAsRun(OfWaste):
    """-(watts wasted by nodes + cores of late jobs) / cores of the machine, as the authors' program has it (``_get_reward``).

    Idle cores of a computing node waste nothing. Watts count in the greatest watts that a core draws without a job (125 W on
    Taurus, while it boots), as a mean over the step. A return of a day lies between -1440 and 0 on Taurus, if no job is late.
    ``late`` says which jobs count that have waited ``tau`` times their requested time at the end of a step: ``startable`` ones,
    as in the program, that could start if no node were reserved, while one is (:func:`startable`); or ``all`` of the queue, as
    in the paper.
    """

    _maker: Reservations

    @checked
    def __init__(self, late: Annotated[Literal["startable", "all"], Doc("late jobs that count")] = "startable"):
        super().__init__("node")
        self._late = late

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        super().begin(simulation, maker)
        simulation.power_policy.at_the_end_of_instants.append(self._count_late)  # type: ignore[union-attr]
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


shutdown_rewards.register("default")(WasteAndStretch)
shutdown_rewards.register("mean-stretch")(MeanStretch)
