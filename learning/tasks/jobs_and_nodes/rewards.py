"""Rewards for starting jobs and putting nodes to sleep: energy or waste, and waiting.

Those of waste and stretch are NodeShutdown's (:mod:`learning.tasks.node_shutdown.rewards`).
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
from learning.tasks.job_node.cost_to_go import ByWorkload
from learning.tasks.job_node.rewards import EnergyAndWait
from learning.tasks.node_shutdown.rewards import MeanStretch, WasteAndStretch
from learning.tasks.node_shutdown.waste_meter import metered
from learning.tasks.reward import Reward, run_alike
from schedulers.policy.policy import make_pair

joint_rewards: Registry[Reward] = Registry("reward of jobs-and-nodes", "cluster_sim.joint_rewards")


@joint_rewards.register("energy-and-wait")
class EnergyAndWaitOfBoth(EnergyAndWait):
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
        super().__init__(price, scaled=False, shaped=False)
        self._of_waste = of == "waste"
        self._rule = make_pair(against) if against else None
        self._costs: ByWorkload[float] = ByWorkload()

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        """Begin an episode; at a workload's first, the rule plays it."""
        self._meter = metered(simulation) if self._of_waste else None
        super().begin(simulation, maker)
        if self._rule is None:
            return
        jobs = simulation.workload
        if jobs not in self._costs:
            run = run_alike(simulation, *self._rule)
            metrics = run.result().metrics if self._of_waste else quick_metrics(run)
            joules = metrics["energy_waste_by_core_j" if self._of_waste else "energy_j"]
            ran = metrics["jobs_completed"] + metrics["jobs_killed"]
            self._costs[jobs] = joules + self._price * ran * (metrics["mean_wait_s"] or 0.0)
        self.scale = self._costs[jobs] or 1.0

    def joules(self, view: View) -> float:
        """Return the energy so far, or the waste, J."""
        return view.energy_j if self._meter is None else self._meter.joules(view.now)[1]


@joint_rewards.register("waste-and-stretch")
class WasteAndStretchOfBoth(WasteAndStretch):
    """-(cycles wasted + ``stretch`` · summed stretch + ``late`` · jobs that became late + …), times ``scale``: NodeShutdown's."""


joint_rewards.register("mean-stretch")(MeanStretch)
