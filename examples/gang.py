"""Gang scheduling (Ousterhout 1982): rows of jobs have the machine in turn, for a quantum each. With one core: round robin."""

import math
from collections.abc import Iterator
from itertools import chain

from cluster_sim import Placement, Platform, Simulation, Workload
from cluster_sim.machine.free import Free
from cluster_sim.run.decisions import Decision, Preempt, Resume, Start, WakeAt
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from schedulers import Scheduler


class Row:
    """Jobs that run at the same time, and what they leave free of the machine."""

    def __init__(self, free: Free):
        self.free = free
        self.jobs: dict[int, tuple[Job, Placement]] = {}

    def takes(self, job: Job) -> bool:
        """Enter the job if there is room for it; whether there was."""
        placement = self.free.place(job)
        if placement is not None:
            self.free.take(job, placement)
            self.jobs[job.index] = job, placement
        return placement is not None

    def leave(self, index: int) -> None:
        """A job is over."""
        self.free.give(*self.jobs.pop(index))


class Gang(Scheduler):
    """A job goes into the first row with room for it, else into a new one, and stays there. A switch costs nothing."""

    def __init__(self, quantum: float = 60.0):
        self.quantum = quantum

    def begin(self, view: View) -> None:
        """A run begins: there is no row."""
        self.rows: list[Row] = []
        self.current: Row | None = None
        self.ends = math.inf  # when its turn does, s

    def schedule(self, view: View) -> Iterator[Decision]:
        """Jobs leave and join their rows; the next row has its turn when that of the current one is over, or it is empty."""
        for row in self.rows:
            for index in [
                i for i in row.jobs if i not in view.running_by_index and i not in view.planning.suspended_by_index
            ]:
                if not view.is_pending(row.jobs[index][0]):
                    row.leave(index)
        for job in view.submitted:
            if not any(row.takes(job) for row in self.rows):
                self.rows.append(Row(view.planning.outlook(empty=True)))
                self.rows[-1].takes(job)
        yield from self._take_turns(view)
        for job, placement in self.current.jobs.values() if self.current is not None else ():
            if job.index in view.planning.suspended_by_index:
                yield Resume(job, placement)
            elif view.is_pending(job):
                yield Start(job, placement)

    def _take_turns(self, view: View) -> Iterator[Decision]:
        current = self.current
        if current is None or not current.jobs or view.now >= self.ends:
            place = self.rows.index(current) + 1 if current in self.rows else 0
            following = [row for row in chain(self.rows[place:], self.rows[:place]) if row.jobs]
            self.current = following[0] if following else None
            self.rows = [row for row in self.rows if row.jobs]
            self.ends = view.now + self.quantum
            if current is not None and current is not self.current:
                running = [job for job, _ in current.jobs.values() if job.index in view.running_by_index]
                yield from (Preempt(job, "suspend", because="the turn of its row is over") for job in running)
        if len(self.rows) > 1:
            yield WakeAt(self.ends)


if __name__ == "__main__":
    columns = {
        "submit_time": [0.0, 0.0, 0.0, 4.0],
        "requested_cores": [2, 1, 1, 1],
        "recorded_run_time": [6.0, 5.0, 7.0, 2.0],
    }
    result = Simulation(Platform.homogeneous(nodes=2, cores=1), Workload(columns), Gang(3.0)).run()
    print(result.holds[["owner", "node", "start", "end"]].to_string(index=False))
