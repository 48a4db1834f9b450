"""Rewards for selecting policies: Table I of Herrera et al. (2021) as printed, and the metrics that it stands for.

Table I prints, for C_j the time from arrival to completion of job j, C_r the rate of resource r, P_r its power: makespan
Σ C_r over the active resources, energy -Σ P_r Σ C_j, efficiency -Σ P_r Σ C_j². All are to be *maximised*, and the signs are
as they should be in all three. But the first is paid at every decision and not by time, so an agent that is asked more
often gets more for the same schedule; and the objective that is printed for it, Σ C_j, is the total turnaround and not the
makespan. The other two multiply the power now with the times of the jobs that have just ended: neither adds up to the
energy or the energy-delay product of the run. The ``metric`` rewards add up to minus the metric itself.

The public program pays the first as printed. For the other two it pays the energy of the time that has just passed, and
the same times its length: the ``as-run`` rewards.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from annotated_types import Ge
from typing_extensions import Doc

from cluster_sim.options import checked
from cluster_sim.records.metrics import bounded_slowdown, energy_delay_product, makespan, slowdown
from cluster_sim.registry import Registry
from cluster_sim.run.simulation import Simulation
from cluster_sim.run.view import View
from learning.tasks.decision_maker import DecisionMaker
from learning.tasks.reward import Reward

OBJECTIVES = {
    "makespan": "makespan_s",
    "energy": "energy_j",
    "edp": "edp_js",
    "slowdown": "mean_slowdown",
    "bounded-slowdown": "mean_bounded_slowdown",
    "wait": "mean_wait_s",
}
"""Objectives by name, and the keys of the summary that they are."""

selection_rewards: Registry[Reward] = Registry("reward of policy-selection", "cluster_sim.selection_rewards")


class _OfSelection:
    """Base of the rewards: the run, and the jobs that have ended since the last decision."""

    objective = ""

    def __init__(self, name: str):
        self._name = name
        self.objective = OBJECTIVES[name]

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        """Begin an episode."""
        self._jobs = max(len(simulation.workload), 1)
        submits = simulation.workload.jobs["submit_time"]
        self._first = float(submits.min()) if len(submits) else 0.0
        self._ended: list[tuple[float, float]] = []  # turnaround and run time of each

    def leave(self, view: View) -> None:
        """Note that all is decided at this instant."""

    def passed(self, view: View) -> None:
        """Take note of which jobs have ended."""
        for running in view.ended:
            ran = view.now - running.start_time if running.start_time <= view.now else 0.0
            self._ended.append((view.now - running.job.submit_time, ran))


@selection_rewards.register("as-published")
class Published(_OfSelection):
    """Table I of Herrera et al. (2021): as-published:energy, makespan or edp; see the module on what they do.

    Power is what the machine draws at the decision that ends the step, W; C_j of the jobs that ended in the step, s; the
    rate of active resources is that of the running tasks, 1e9 operations/s.
    """

    @checked
    def __init__(
        self, objective: Annotated[Literal["makespan", "energy", "edp"], Doc("metric that the paper names")] = "energy"
    ):
        super().__init__(objective)

    def value(self, view: View, terminated: bool) -> float:
        ended, self._ended = self._ended, []
        if self._name == "makespan":
            return float(view.machine.current_gflops().sum())
        power = 2 if self._name == "edp" else 1
        return -view.watts * sum(turnaround**power for turnaround, _ in ended)


@selection_rewards.register("as-run")
class AsRun(_OfSelection):
    """What the public program pays for two rewards of Table I: as-run:energy or edp.

    With Δt, s, the time between the last two passes, and ΔE, J, the energy of that time: -ΔE, or -ΔE Δt. The sum of
    ΔE Δt is not the energy-delay product. The program of 2023, of López' Policy scheduler, differs in two ways. It pays
    before it decides: a decision gets what was to be paid for the one before it, and the last pay is lost. And its EDP is
    the product of two negative numbers: it pays +ΔE Δt, so what is to be least is rewarded.
    """

    @checked
    def __init__(
        self,
        objective: Annotated[Literal["energy", "edp"], Doc("metric that the paper names")] = "energy",
        program: Annotated[Literal[2021, 2023], Doc("year of the program: March 2021, or June 2023")] = 2021,
    ):
        super().__init__(objective)
        self._late = program == 2023

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        super().begin(simulation, maker)
        self._time = self._energy = self._due = self._held = 0.0

    def passed(self, view: View) -> None:
        if view.now > self._time:
            seconds, joules = view.now - self._time, view.energy_j - self._energy
            energy_delay = joules * seconds
            if self._name == "edp":
                self._due = energy_delay if self._late else -energy_delay
            else:
                self._due = -joules
            self._time, self._energy = view.now, view.energy_j

    def value(self, view: View, terminated: bool) -> float:
        before, self._held = self._held, self._due
        return before if self._late else self._due


@selection_rewards.register("metric")
class Metric(_OfSelection):
    """Minus what the metric has grown by, so that the return is minus the metric: metric:energy, makespan, edp, …

    Also slowdown, bounded-slowdown and wait, which are means over the workload's jobs and grow when jobs end. Divided by
    the ``scale``; without one, by the episode's own: what the whole machine, at its most watts, takes for the core-seconds
    requested, in J, s or J·s, 1 for slowdowns. A constant of the episode, so what is optimal stays what it is.
    """

    @checked
    def __init__(
        self,
        objective: Annotated[
            Literal["makespan", "energy", "edp", "slowdown", "bounded-slowdown", "wait"], Doc("metric")
        ] = "energy",
        scale: Annotated[float, Ge(0), Doc("divisor of the rewards; 0: the episode's own")] = 0.0,
    ):
        super().__init__(objective)
        self._given_scale = scale

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        super().begin(simulation, maker)
        self._counted = self._sum = 0.0
        # About the metric's value: the machine is fully busy for as long as the known requests take it.
        jobs, view = simulation.workload.jobs, simulation.view
        core_s = (jobs["requested_cores"] * jobs["requested_time"]).replace(math.inf, 0.0).sum()
        seconds = max(float(core_s) / view.platform.core_count, 1.0)
        watts = float(view.machine.node_max_watts.sum()) or 1.0
        scales = {"makespan": seconds, "wait": seconds, "energy": watts * seconds, "edp": watts * seconds**2}
        self._scale = self._given_scale or scales.get(self._name, 1.0)

    def value(self, view: View, terminated: bool) -> float:
        span = max(makespan(self._first, view.now), 0.0)
        if self._name == "makespan":
            total = span
        elif self._name == "energy":
            total = view.energy_j
        elif self._name == "edp":
            total = energy_delay_product(view.energy_j, span)
        else:
            ended, self._ended = self._ended, []
            self._sum += sum(self._of_job(*times) for times in ended) / self._jobs
            total = self._sum
        before, self._counted = self._counted, total
        return (before - total) / self._scale

    def _of_job(self, turnaround: float, ran: float) -> float:
        if self._name == "wait":
            return turnaround - ran
        if self._name == "slowdown":
            return slowdown(turnaround, ran) if ran > 0.0 else 1.0
        return bounded_slowdown(turnaround, ran)
