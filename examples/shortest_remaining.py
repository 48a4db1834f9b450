"""Shortest remaining time first, by requested time: a job that needs less than a running one still does takes its cores.

With `cluster-sim run --scheduler examples/shortest_remaining.py:ShortestRemaining` on any log. The jobs below are those of
Silberschatz, Galvin and Gagne's textbook (Operating System Concepts, CPU scheduling), which wait for 6.5 s on average.
"""

from cluster_sim import Platform, Simulation, Workload
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from schedulers import Preemptive


class ShortestRemaining(Preemptive):
    """Jobs lose their cores to shorter ones, and go on later where they were."""

    def __init__(self) -> None:
        super().__init__("suspend")

    def begin(self, view: View) -> None:
        """A run begins: nobody has run yet."""
        super().begin(view)
        self.view = view
        self.left: dict[int, float] = {}  # what jobs have left of their requested time, s, when last looked at

    def urgency(self, job: Job) -> float:
        """The less is left, the more."""
        running = self.view.running_by_index.get(job.index)
        if running is not None:
            self.left[job.index] = running.expected_end - self.view.now
        return -self.left.get(job.index, job.requested_time)


if __name__ == "__main__":
    times = [8.0, 4.0, 9.0, 5.0]
    columns = {"submit_time": [0.0, 1.0, 2.0, 3.0], "requested_cores": [1] * 4, "requested_time": times}
    workload = Workload(columns | {"recorded_run_time": times})
    result = Simulation(Platform.homogeneous(nodes=1, cores=1), workload, ShortestRemaining()).run()
    print(result.jobs[["job_id", "submit_time", "start_time", "finish_time", "wait_time"]].to_string(index=False))
