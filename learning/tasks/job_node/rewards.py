"""Rewards of JobNode by name; the sum over an episode is minus a metric of the run.

*Shaping.* With a potential Φ(state), adding ``γ·Φ(s') - Φ(s)`` to every reward changes no policy's rank: over an
episode the additions cancel to ``-Φ(s₀)``, a constant, when Φ is 0 at the end (Ng, Harada and Russell, "Policy
invariance under reward transformations", ICML 1999, Theorem 1). Here Φ is minus the expected cost to go: a placement is
charged when it is made and not when the job ends. Φ may use all that the simulation knows, even future jobs: the agent
never sees Φ, and the theorem only requires a function of the state.

*Scale.* ``scaled`` divides by a constant of the episode, its expected cost when it begins: returns are around -1 on
every machine and for all jobs.
"""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge, Gt, Le, Unit
from typing_extensions import Doc

from cluster_sim.errors import InputError, SpecError
from cluster_sim.options import checked
from cluster_sim.records.metrics import bounded_slowdown, energy_delay_product, makespan
from cluster_sim.registry import Registry
from cluster_sim.run.simulation import Simulation
from cluster_sim.run.view import View
from learning.tasks.decision_maker import DecisionMaker
from learning.tasks.job_node.cost_to_go import CostToGo, LeastOf, TrueCostToGo
from learning.tasks.reward import ByWorkload, Reward, run_alike
from learning.tasks.wait_meter import WaitMeter
from schedulers import make_scheduler

rewards: Registry[Reward] = Registry("reward", "cluster_sim.rewards")


Scaled = Annotated[bool, Doc("rewards are divided by what the episode is expected to cost")]
Shaped = Annotated[bool, Doc("a potential of the expected cost is added")]
Gamma = Annotated[float, Gt(0), Le(1), Doc("discount of the learner")]
Clairvoyant = Annotated[bool, Doc("expectations know the true run times")]


class _Metric:
    """Reward that is minus the growth of a metric, optionally scaled and shaped.

    To write one, derive from this class: :meth:`total` is the metric so far, :meth:`to_go` its expected growth, both in
    the metric's unit. ``gamma`` is the discount of the learner, so that shaping is invariant under it too. Predictions
    come from JobNode's decision-maker: with another one, only ``scaled=no,shaped=no`` works.
    """

    def __init__(self, scaled: bool, shaped: bool, gamma: float, clairvoyant: bool = False):
        self.scaled, self.shaped, self.gamma = scaled, shaped, gamma
        self._cost_to_go = TrueCostToGo if clairvoyant else CostToGo
        self._least: LeastOf = ByWorkload()

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        """Begin an episode: set its scale and its first potential."""
        self._simulation = simulation
        view = simulation.view
        self._cost = None
        if self.scaled or self.shaped:
            finder = getattr(maker, "finder", None)
            if finder is None:
                spec = getattr(self, "spec", type(self).__name__)
                raise InputError(
                    f"reward '{spec}'", "scaled=no,shaped=no, or JobNode's decision-maker", type(maker).__name__
                )
            self._cost = self._cost_to_go(simulation, finder, self._least)
        self.reset(simulation)
        expected = self.to_go(view, self._cost) if self._cost is not None else 0.0
        self.scale = expected if self.scaled and expected > 0.0 else 1.0  #: Divisor of the rewards.
        self._counted = 0.0
        self._potential = -expected if self.shaped else 0.0

    def reset(self, simulation: Simulation) -> None:
        """Forget the last episode."""

    def leave(self, view: View) -> None:
        """Note jobs that may have been started."""
        if self._cost is not None:
            self._cost.started(view)

    def passed(self, view: View) -> None:
        """Note nothing, by default."""

    def value(self, view: View, terminated: bool) -> float:
        """Return minus the growth of the metric, and the difference of potentials."""
        total = self.total(view)
        reward = self._counted - total
        self._counted = total
        if self.shaped and self._cost is not None:
            self._cost.started(view)
            potential = 0.0 if terminated else -self.to_go(view, self._cost)
            reward += self.gamma * potential - self._potential
            self._potential = potential
        return reward / self.scale

    def total(self, view: View) -> float:
        """Return the metric so far."""
        raise NotImplementedError

    def to_go(self, view: View, cost: CostToGo) -> float:
        """Return the expected growth of the metric until the end."""
        raise NotImplementedError


_SAME = 1e-6
"""Share up to which different energies count as equal."""


@rewards.register("energy")
class Energy(_Metric):
    """Minus the energy, J: the return is minus ``energy_j``.

    ``scaled=no,shaped=no`` is -ΔE as published (López 2023). The potential has three parts: idle watts of all nodes for
    the least remaining time, the expected additions of running jobs, and the least additions of jobs to come. With
    ``clairvoyant`` it knows the true run times, as for ``bounded-slowdown``. ``against`` names a scheduler, such as
    ``list:first/high_gflops``. Its run of the same jobs on the same machine, all nodes on, is then the scale: its own
    return is -1 for all jobs, so that jobs which slow each other count no more than others. (With the potential the
    return is 0 if nobody can do better.) A scheduler with random choices runs once, with the seed of that episode.
    """

    @checked
    def __init__(
        self,
        scaled: Scaled = True,
        shaped: Shaped = True,
        gamma: Gamma = 1.0,
        clairvoyant: Clairvoyant = False,
        against: Annotated[str, Doc("scheduler whose energy is the scale")] = "",
    ):
        super().__init__(scaled, shaped, gamma, clairvoyant)
        self.against = against
        if against and not scaled:
            raise SpecError("reward 'energy', option against", "scaled=yes: it says by what", "scaled=no")
        self._rule = make_scheduler(against) if against else None
        self._needed: ByWorkload[float] = ByWorkload()

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        """Begin an episode; at a workload's first, run the scheduler of the reference on its jobs."""
        super().begin(simulation, maker)
        if self._rule is not None:
            jobs = simulation.workload
            if jobs not in self._needed:
                self._needed[jobs] = run_alike(simulation, self._rule).view.energy_j
            needed = self._needed[jobs]
            beyond = needed + self._potential
            self.scale = beyond if beyond > _SAME * needed else needed or 1.0

    def total(self, view: View) -> float:
        """Return the energy so far, J."""
        return view.energy_j

    def to_go(self, view: View, cost: CostToGo) -> float:
        """Return the expected energy to the end, J."""
        return cost.joules(view, cost.seconds(view))


def _elapsed(view: View, first_submission: float) -> float:
    return max(makespan(first_submission, view.now), 0.0)


@rewards.register("edp")
class EnergyDelayProduct(_Metric):
    """Minus the energy-delay product, J·s: what E(t) · t grows by, so that the return is minus ``edp_js``.

    t counts from the first submission. The published form, ``edp-as-published``, does not add up to the metric.
    """

    @checked
    def __init__(self, scaled: Scaled = True, shaped: Shaped = True, gamma: Gamma = 1.0):
        super().__init__(scaled, shaped, gamma)

    def reset(self, simulation: Simulation) -> None:
        self._first = _first_submission(simulation)

    def total(self, view: View) -> float:
        """Return energy · time so far, J·s."""
        return energy_delay_product(view.energy_j, _elapsed(view, self._first))

    def to_go(self, view: View, cost: CostToGo) -> float:
        """Return the expected final product less the present one, J·s."""
        seconds = cost.seconds(view)
        end = max(makespan(self._first, view.now + seconds), 0.0)
        return energy_delay_product(view.energy_j + cost.joules(view, seconds), end) - self.total(view)


@rewards.register("edp-as-published")
class PublishedEdp(_Metric):
    """-ΔE · Δt of López (2023), J·s, unscaled and unshaped: guidance, whose sum is not the energy-delay product."""

    def __init__(self) -> None:
        super().__init__(scaled=False, shaped=False, gamma=1.0)

    def reset(self, simulation: Simulation) -> None:
        self._energy = self._time = self._sum = 0.0

    def total(self, view: View) -> float:
        """Return the products of increments so far, J·s."""
        self._sum += (view.energy_j - self._energy) * (view.now - self._time)
        self._energy, self._time = view.energy_j, view.now
        return self._sum


@rewards.register("makespan")
class Makespan(_Metric):
    """Minus the makespan, s, from the first submission to the last completion: the return is minus ``makespan_s``."""

    @checked
    def __init__(self, scaled: Scaled = True, shaped: Shaped = True, gamma: Gamma = 1.0):
        super().__init__(scaled, shaped, gamma)

    def reset(self, simulation: Simulation) -> None:
        self._first = _first_submission(simulation)

    def total(self, view: View) -> float:
        """Return the time since the first submission, s."""
        return _elapsed(view, self._first)

    def to_go(self, view: View, cost: CostToGo) -> float:
        """Return the least time until all jobs are over, s."""
        return max(makespan(self._first, view.now + cost.seconds(view)), 0.0) - self.total(view)


@rewards.register("wait")
class Wait(_Metric):
    """Minus the mean wait, s: what the jobs in the queue have waited, over the number of jobs of the workload.

    A job also waits while its nodes boot. The return is minus ``mean_wait_s`` if all jobs run and no job waits for another.
    """

    @checked
    def __init__(self, scaled: Scaled = True, shaped: Shaped = True, gamma: Gamma = 1.0):
        super().__init__(scaled, shaped, gamma)

    def reset(self, simulation: Simulation) -> None:
        self._meter = WaitMeter()
        self._jobs = max(len(simulation.workload), 1)

    def leave(self, view: View) -> None:
        """Note which jobs wait until the next pass."""
        super().leave(view)
        self._meter.leave(view)

    def passed(self, view: View) -> None:
        """Add what these jobs have waited since."""
        self._meter.passed(view)

    def total(self, view: View) -> float:
        """Return the mean wait so far, s."""
        return self._meter.waited_s / self._jobs

    def to_go(self, view: View, cost: CostToGo) -> float:
        """Return the expected waits of queued jobs; at the beginning the mean time of a job, for the scale."""
        if not view.pending_count and not view.now:
            return float(cost.job_seconds.mean()) if len(cost.job_seconds) else 0.0
        return cost.pending_wait(view) / self._jobs


@rewards.register("energy-and-wait")
class EnergyAndWait(Wait):
    """Minus the energy, J, and the price of waiting: every second that a job waits counts ``price`` J.

    With the penalty for waiting that López (2023) wished for, an agent that may wait gains nothing from waiting without end.
    The return is minus ``energy_j``, minus ``price`` times the waits of all jobs (s), where that of ``wait`` is the mean wait.
    """

    @checked
    def __init__(
        self,
        price: Annotated[float, Ge(0), Unit("W"), Doc("joules for a second that a job waits")] = 10.0,
        scaled: Scaled = True,
        shaped: Shaped = True,
        gamma: Gamma = 1.0,
    ):
        super().__init__(scaled, shaped, gamma)
        self._price = price

    def total(self, view: View) -> float:
        """Return the energy so far and the price of the waits so far, J."""
        return view.energy_j + self._price * self._meter.waited_s

    def to_go(self, view: View, cost: CostToGo) -> float:
        """Return the expected energy to the end, and the price of the expected waits, J."""
        return cost.joules(view, cost.seconds(view)) + self._price * self._jobs * super().to_go(view, cost)


@rewards.register("bounded-slowdown")
class BoundedSlowdown(_Metric):
    """Minus the mean bounded slowdown (bound 10 s), counted when jobs end, over the number of jobs of the workload.

    The return is minus ``mean_bounded_slowdown`` if all jobs run. The potential: the slowdown that each running job is
    expected to end with, and each pending job's if it started now; 1 for jobs to come. With ``clairvoyant`` it uses
    true run times instead of requested ones, which in logs are often many times as long: a reward is then the cost of
    the wait since the last reward. The agent sees neither.
    """

    @checked
    def __init__(
        self, scaled: Scaled = True, shaped: Shaped = True, gamma: Gamma = 1.0, clairvoyant: Clairvoyant = False
    ):
        super().__init__(scaled, shaped, gamma, clairvoyant)

    def reset(self, simulation: Simulation) -> None:
        self._sum, self._over = 0.0, 0
        self._jobs = max(len(simulation.workload), 1)

    def passed(self, view: View) -> None:
        """Count the jobs that have ended in this instant."""
        for running in view.ended:
            self._over += 1
            if running.start_time < float("inf"):
                self._sum += bounded_slowdown(view.now - running.job.submit_time, view.now - running.start_time)

    def total(self, view: View) -> float:
        """Return the slowdowns of the jobs that are over, over the number of all jobs."""
        return self._sum / self._jobs

    def to_go(self, view: View, cost: CostToGo) -> float:
        """Return the expected slowdowns of the other jobs, over the number of all jobs."""
        expected = float(self._jobs - self._over - view.running_count - view.pending_count)
        for running in view.running:
            end = cost.expected_end(view, running)
            expected += bounded_slowdown(end - running.job.submit_time, end - running.expected_start)
        for job in view.pending:
            seconds = cost.job_seconds.item(job.index)
            expected += bounded_slowdown(view.now - job.submit_time + seconds, seconds)
        return expected / self._jobs


def _first_submission(simulation: Simulation) -> float:
    submit = simulation.workload.jobs["submit_time"]
    return float(submit.iloc[0]) if len(submit) else 0.0
