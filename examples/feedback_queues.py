"""A multilevel feedback queue: who has used up its quantum gives way to others, and waits in a lower queue from then on."""

from collections.abc import Iterator

from cluster_sim import Platform, Simulation, Workload
from cluster_sim.run.decisions import Decision, Preempt, WakeAt
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from schedulers import Preemptive


class FeedbackQueues(Preemptive):
    """Jobs begin in the first queue; each queue has a quantum (s), the one below them all has none.

    A job of a higher queue takes the cores of lower ones, which later get their quantum anew.
    """

    def __init__(self, quanta: tuple[float, ...] = (8.0, 16.0)):
        super().__init__("suspend")
        self.quanta = quanta

    def begin(self, view: View) -> None:
        """A run begins: all queues are empty."""
        super().begin(view)
        self.level: dict[int, int] = {}  # of jobs that are not in the first queue
        self.joined: dict[int, float] = {}  # and since when they are where they are

    def urgency(self, job: Job) -> float:
        """Higher queues first."""
        return -self.level.get(job.index, 0)

    def turn(self, job: Job) -> float:
        """Within a queue in the order in which jobs came to it."""
        return self.joined.get(job.index, job.submit_time)

    def schedule(self, view: View) -> Iterator[Decision]:
        """Who has used up its quantum falls; then the most urgent have the cores; then wait for the next quantum to end."""
        for index, ends in self._ends(view):
            if ends <= view.now:
                self.level[index] = self.level.get(index, 0) + 1
                self.joined[index] = view.now
                yield Preempt(view.running_by_index[index].job, "suspend", because="its quantum is used up")
        yield from super().schedule(view)
        yield from (WakeAt(ends) for _, ends in self._ends(view))

    def _ends(self, view: View) -> list[tuple[int, float]]:
        """The running jobs that are not in the last queue, and when their quanta are used up, s."""
        limited = [one for one in view.running if self.level.get(one.job.index, 0) < len(self.quanta)]
        return [(one.job.index, one.start_time + self.quanta[self.level.get(one.job.index, 0)]) for one in limited]


if __name__ == "__main__":
    columns = {
        "submit_time": [0.0, 1.0, 3.0, 6.0],
        "requested_cores": [1] * 4,
        "recorded_run_time": [7.0, 3.0, 1.0, 1.0],
    }
    platform = Platform.homogeneous(nodes=1, cores=1)
    result = Simulation(platform, Workload(columns), FeedbackQueues((2.0, 4.0))).run()
    print(result.holds[["owner", "start", "end"]].to_string(index=False))
