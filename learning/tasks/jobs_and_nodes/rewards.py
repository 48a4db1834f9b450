"""Rewards for starting jobs and putting nodes to sleep: energy or waste, and waiting.

Those of waste and stretch are NodeShutdown's (:mod:`learning.tasks.waste_rewards`).
"""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge, Unit
from typing_extensions import Doc

from cluster_sim.options import checked
from cluster_sim.registry import Registry
from cluster_sim.run.simulation import Simulation
from cluster_sim.run.view import View
from learning.tasks.decision_maker import DecisionMaker
from learning.tasks.episode_metrics import quick_metrics
from learning.tasks.reward import ByWorkload, Reward, run_alike
from learning.tasks.wait_meter import WaitMeter
from learning.tasks.waste_meter import metered
from learning.tasks.waste_rewards import MeanStretch, WasteAndStretch
from schedulers.policy.policy import make_pair

joint_rewards: Registry[Reward] = Registry("reward of jobs-and-nodes", "cluster_sim.joint_rewards")


@joint_rewards.register("energy-and-wait")
class PricedWaits:
    """Minus the energy, J, and ``price`` J for every second that a job waits; over what a rule costs on the same jobs.

    ``against`` names the rule, a scheduler and a power policy: its own return is −1. Without a rule, the return is minus
    ``energy_j``, minus ``price`` times the waits of all jobs (s). With ``of=waste`` the energy is
    ``energy_waste_by_core_j``: what the jobs' own cores draw is left out. On equal cores all policies pay the same for
    that, so it would hide the effect of a decision.
    """

    @checked
    def __init__(
        self,
        price: Annotated[float, Ge(0), Unit("W"), Doc("joules for a second that a job waits")] = 95.0,
        against: Annotated[str, Doc("scheduler + power policy whose cost is the scale")] = "easy + timeout:300",
        of: Annotated[Literal["energy", "waste"], Doc("joules that count: all, or those wasted by core")] = "energy",
    ):
        self._price = price
        self._rule = make_pair(against) if against else None
        self._of_waste = of == "waste"
        self._costs: ByWorkload[float] = ByWorkload()

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        """Begin an episode; at a workload's first, the rule plays it."""
        self._waste = metered(simulation) if self._of_waste else None
        self._waits = WaitMeter()
        self._counted_j, self._scale = 0.0, 1.0
        if self._rule is None:
            return
        jobs = simulation.workload
        if jobs not in self._costs:
            run = run_alike(simulation, *self._rule)
            metrics = run.result().metrics if self._of_waste else quick_metrics(run)
            joules = metrics["energy_waste_by_core_j" if self._of_waste else "energy_j"]
            ran = metrics["jobs_completed"] + metrics["jobs_killed"]
            self._costs[jobs] = joules + self._price * ran * (metrics["mean_wait_s"] or 0.0)
        self._scale = self._costs[jobs] or 1.0

    def leave(self, view: View) -> None:
        """Note which jobs wait until the next pass."""
        self._waits.leave(view)

    def passed(self, view: View) -> None:
        """Add what these jobs have waited since."""
        self._waits.passed(view)

    def value(self, view: View, terminated: bool) -> float:
        """Return minus what was added to energy and waits since the last call."""
        joules = view.energy_j if self._waste is None else self._waste.joules(view.now)[1]
        before, self._counted_j = self._counted_j, joules + self._price * self._waits.waited_s
        return (before - self._counted_j) / self._scale


@joint_rewards.register("waste-and-stretch")
class WasteAndStretchOfBoth(WasteAndStretch):
    """-(cycles wasted + ``stretch`` · summed stretch + ``late`` · jobs that became late + …), times ``scale``: NodeShutdown's."""


joint_rewards.register("mean-stretch")(MeanStretch)
