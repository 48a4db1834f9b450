"""Rewards for starting jobs and putting nodes to sleep: energy or waste, and waiting.

Those of waste and stretch are NodeShutdown's (:mod:`learning.tasks.waste_rewards`).
"""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge, Unit
from typing_extensions import Doc

from cluster_sim.errors import SpecError
from cluster_sim.options import checked
from cluster_sim.registry import Registry
from cluster_sim.run.simulation import Simulation
from cluster_sim.run.view import View
from learning.tasks.decision_maker import DecisionMaker
from learning.tasks.jobs_and_nodes.rule_cost import RuleCost
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

    With ``shaped`` each step is paid by what it cost less than the rule did in the same time; the return is the same, plus 1.
    The potential is minus the rule's cost to go, a function of time alone, so that no policy's rank changes (Ng, Harada and
    Russell 1999). Jobs that come and congestion hit the rule as well, and a step that is short is no gain.
    """

    @checked
    def __init__(
        self,
        price: Annotated[float, Ge(0), Unit("W"), Doc("joules for a second that a job waits")] = 95.0,
        against: Annotated[str, Doc("scheduler + power policy whose cost is the scale")] = "easy + timeout:300",
        of: Annotated[Literal["energy", "waste"], Doc("joules that count: all, or those wasted by core")] = "energy",
        shaped: Annotated[bool, Doc("what the rule cost in the same time is taken off")] = False,
    ):
        if shaped and not against:
            raise SpecError("reward 'energy-and-wait', option shaped", "a rule, against=…, whose cost is taken off")
        self._price = price
        self._rule = make_pair(against) if against else None
        self._of_waste = of == "waste"
        self._shaped = shaped
        self._costs: ByWorkload[RuleCost] = ByWorkload()

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        """Begin an episode; at a workload's first, the rule plays it."""
        self._waste = metered(simulation) if self._of_waste else None
        self._waits = WaitMeter()
        self._counted_j, self._rule_j, self._scale = 0.0, 0.0, 1.0
        if self._rule is not None:
            jobs = simulation.workload
            if jobs not in self._costs:
                self._costs[jobs] = RuleCost(run_alike(simulation, *self._rule), self._price, self._of_waste)
            self._cost = self._costs[jobs]
            self._scale = self._cost.total or 1.0

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
        less = before - self._counted_j
        if self._shaped:
            paid, self._rule_j = self._rule_j, self._cost.total if terminated else self._cost.until(view.now)
            less += self._rule_j - paid
        return less / self._scale


@joint_rewards.register("waste-and-stretch")
class WasteAndStretchOfBoth(WasteAndStretch):
    """-(cycles wasted + ``stretch`` · summed stretch + ``late`` · jobs that became late + …), times ``scale``: NodeShutdown's."""


joint_rewards.register("mean-stretch")(MeanStretch)
