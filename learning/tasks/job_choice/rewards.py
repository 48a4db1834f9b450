"""Rewards for choosing the next job: each started job counts at once with the cost of its wait."""

from __future__ import annotations

import math
from typing import Annotated

from annotated_types import Gt
from typing_extensions import Doc

from cluster_sim.machine.running import Running
from cluster_sim.options import checked
from cluster_sim.records.metrics import bounded_slowdown
from cluster_sim.registry import Registry
from cluster_sim.run.simulation import Simulation
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from learning.tasks.decision_maker import DecisionMaker
from learning.tasks.episode_metrics import quick_metrics
from learning.tasks.reward import Reward, run_alike
from schedulers.policy.policy import make_scheduler


class CommittedOrder:
    """Job order that commits, ``easy:order=…,backfill=fcfs,commit=yes,extra=no``. Raises SpecError for another."""

    def __init__(self, order: str):
        self._scheduler = make_scheduler(f"easy:order={order},backfill=fcfs,commit=yes,extra=no")

    def slowdown_of(self, simulation: Simulation) -> float:
        """Return the mean bounded slowdown that the scheduler reaches on the machine and the jobs of a run.

        It is at least 1, and 1 where no job runs.
        """
        run = run_alike(simulation, self._scheduler)
        return max(float(quick_metrics(run)["mean_bounded_slowdown"] or 1.0), 1.0)


choice_rewards: Registry[Reward] = Registry("reward of job-choice", "cluster_sim.choice_rewards")


Scale = Annotated[float, Gt(0), Doc("factor of the rewards")]
Waiting = Annotated[bool, Doc("waiting jobs count as if they began now")]


class _OfStartedJobs:
    """Minus a number of each job that has started, times ``scale`` over the number of jobs. To write one: :meth:`worth`.

    A job counts when it begins to run, and not when it ends: on a machine on which run times are the same everywhere,
    no later decision changes its number. If nodes have to boot, a job begins later than it is started. With
    ``waiting``, waiting jobs count as if they began now: a choice is charged at once with the wait of the others. The
    return of an episode that is played to its end is the same.
    """

    def __init__(self, scale: float, waiting: bool):
        self._scale = scale
        self._waiting = waiting

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        """Begin an episode."""
        self._counted: set[int] = set()
        self._sum = self._so_far = 0.0
        self._jobs = max(len(simulation.workload), 1)

    def leave(self, view: View) -> None:
        """Note, when all is decided at this instant, the jobs that have just begun to run."""
        for index, running in view.running_by_index.items():
            if index not in self._counted:
                self._count(running)

    def passed(self, view: View) -> None:
        """Note the jobs that ended at this instant; they may have begun since the last one, as their nodes booted."""
        for running in view.ended:
            if running.job.index not in self._counted:
                self._count(running)

    def _count(self, running: Running) -> None:
        if running.start_time < math.inf:  # else its nodes still boot
            self._counted.add(running.job.index)
            self._sum += self.worth(running.job, running.start_time - running.job.submit_time)

    def value(self, view: View, terminated: bool) -> float:
        """Return the sum counted since the last call."""
        self.leave(view)
        counted, self._sum = self._sum, 0.0
        if self._waiting:
            booting = [one.job for one in view.running_by_index.values() if one.start_time == math.inf]
            so_far = sum(self.worth(job, view.now - job.submit_time) for job in (*view.pending, *booting))
            counted, self._so_far = counted + so_far - self._so_far, so_far
        return -self._scale * counted / self._jobs

    def worth(self, job: Job, wait: float) -> float:
        """Return the cost of a wait (s) of the job."""
        raise NotImplementedError


@choice_rewards.register("bounded-slowdown")
class SlowdownAtStart(_OfStartedJobs):
    """The return is minus ``mean_bounded_slowdown`` times ``scale``, if all jobs run, each as long as on the fastest core alone.

    Checkpoints are part of that time. A rejected job counts 0 here, and does not count in the metric's mean.

    ``against`` names a job order: the reward is then divided by the slowdown of this order with the same backfilling on
    the same jobs. Windows of a log differ a hundredfold in their slowdown, which would hide the effect of a decision.
    RLScheduler takes the difference to rules.
    """

    objective = "mean_bounded_slowdown"

    @checked
    def __init__(
        self,
        scale: Scale = 1.0,
        against: Annotated[str, Doc("job order by whose slowdown the reward is divided")] = "",
        waiting: Waiting = False,
    ):
        super().__init__(scale, waiting)
        self._asked = scale
        self._against = CommittedOrder(against) if against else None

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        """Begin an episode: first, the order plays it."""
        super().begin(simulation, maker)
        self._truth = simulation.clairvoyant_view()
        self._seconds: dict[int, float] = {}  # how long each job runs, once asked for
        if self._against is not None:
            self._scale = self._asked / self._against.slowdown_of(simulation)

    def worth(self, job: Job, wait: float) -> float:
        """Return the job's bounded slowdown."""
        seconds = self._seconds.get(job.index)
        if seconds is None:
            seconds = self._seconds[job.index] = self._truth.undisturbed_time(job)
        return float(bounded_slowdown(wait + seconds, seconds))


@choice_rewards.register("wait")
class WaitAtStart(_OfStartedJobs):
    """The return is minus ``mean_wait_s`` times ``scale``, if all jobs run."""

    objective = "mean_wait_s"

    @checked
    def __init__(self, scale: Scale = 1.0, waiting: Waiting = False):
        super().__init__(scale, waiting)

    def worth(self, job: Job, wait: float) -> float:
        """Return the wait, s."""
        return wait
