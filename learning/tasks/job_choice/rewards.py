"""What choosing the next job was worth: each started job counts at once with what its wait has made of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cluster_sim.errors import SpecError
from cluster_sim.machine.running import Running
from cluster_sim.records.metrics import bounded_slowdown
from cluster_sim.registry import Registry
from cluster_sim.run.view import View
from learning.tasks.episode_metrics import quick_metrics
from learning.tasks.reward import run_alike
from schedulers.policy.policy import make_scheduler

if TYPE_CHECKING:
    from cluster_sim.run.simulation import Simulation
    from cluster_sim.workload.jobs import Job
    from learning.tasks.decision_maker import DecisionMaker
    from learning.tasks.reward import Reward


class CommittedOrder:
    """A job order that commits, ``easy:order=…,backfill=fcfs,commit=yes,extra=no``. Raises SpecError for an unknown one."""

    def __init__(self, order: str):
        self._scheduler = make_scheduler(f"easy:order={order},backfill=fcfs,commit=yes,extra=no")

    def slowdown_of(self, simulation: Simulation) -> float:
        """Return the mean bounded slowdown that the scheduler reaches on the machine and the jobs of a run.

        It is at least 1, and 1 where no job runs.
        """
        run = run_alike(simulation, self._scheduler)
        return max(float(quick_metrics(run)["mean_bounded_slowdown"] or 1.0), 1.0)


choice_rewards: Registry[Reward] = Registry("reward of job-choice", "cluster_sim.choice_rewards")


class _OfStartedJobs:
    """Minus a number of each job that has started, times ``scale`` over the number of jobs. To write one: :meth:`worth`.

    It is counted when the job begins to run, and not when it ends: nothing that is decided later changes it on a machine on
    which jobs run as long wherever they are. Where nodes have to boot, a job begins later than it is started. While
    ``waiting``, jobs count with what they would have if they began now, so that what a choice makes the others wait follows
    it at once; the return of an episode that is played to its end is the same.
    """

    def __init__(self, scale: float, waiting: bool):
        if not 0.0 < scale < math.inf:
            raise SpecError("reward of job-choice, option scale", "a finite number above 0", scale)
        self._scale = scale
        self._waiting = waiting

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        """An episode begins: nobody has started."""
        self._counted: set[int] = set()
        self._sum = self._so_far = 0.0
        self._jobs = max(len(simulation.workload), 1)

    def leave(self, view: View) -> None:
        """All is decided at this instant: who runs now and did not before has begun."""
        for index, running in view.running_by_index.items():
            if index not in self._counted:
                self._count(running)

    def passed(self, view: View) -> None:
        """Who has ended in this instant may have begun since the last one: its nodes were booting."""
        for running in view.ended:
            if running.job.index not in self._counted:
                self._count(running)

    def _count(self, running: Running) -> None:
        if running.start_time < math.inf:  # else its nodes still boot
            self._counted.add(running.job.index)
            self._sum += self.worth(running.job, running.start_time - running.job.submit_time)

    def value(self, view: View, terminated: bool) -> float:
        """What has been counted since."""
        self.leave(view)
        counted, self._sum = self._sum, 0.0
        if self._waiting:
            booting = [one.job for one in view.running_by_index.values() if one.start_time == math.inf]
            so_far = sum(self.worth(job, view.now - job.submit_time) for job in (*view.pending, *booting))
            counted, self._so_far = counted + so_far - self._so_far, so_far
        return -self._scale * counted / self._jobs

    def worth(self, job: Job, wait: float) -> float:
        """What a wait (s) of the job costs."""
        raise NotImplementedError


@choice_rewards.register("bounded-slowdown")
class SlowdownAtStart(_OfStartedJobs):
    """The return is minus ``mean_bounded_slowdown`` times ``scale``, if all jobs run, each as long as on the fastest core alone.

    Checkpoints are part of that time. A job that is rejected counts 0 here, and is none of those of which the metric is the mean.

    ``against`` a job order it is that over what this order has, by the same backfilling, on the same jobs: windows of a log
    differ a hundredfold in their slowdown, and what a decision did would drown in that. RLScheduler takes the difference to
    rules.
    """

    objective = "mean_bounded_slowdown"

    def __init__(self, scale: float = 1.0, against: str = "", waiting: bool = False):
        super().__init__(scale, waiting)
        self._asked = scale
        self._against = CommittedOrder(against) if against else None

    def begin(self, simulation: Simulation, maker: DecisionMaker) -> None:
        """An episode begins; the order plays it first."""
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

    def __init__(self, scale: float = 1.0, waiting: bool = False):
        super().__init__(scale, waiting)

    def worth(self, job: Job, wait: float) -> float:
        """The wait, s."""
        return wait
