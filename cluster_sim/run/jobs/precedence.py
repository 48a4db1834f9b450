"""Jobs that wait for jobs, while a run goes on: which are held back, for how many others, and which follow which."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.workload.dependencies import When, follows, waits
from cluster_sim.workload.jobs import Job

if TYPE_CHECKING:
    import numpy.typing as npt
    from simpy.events import Event

    from cluster_sim.engine import Environment
    from cluster_sim.workload.workload import Workload

NAN = float("nan")


def has_dependencies(workload: Workload) -> bool:
    """Return whether a run of the workload has to look after dependencies at all."""
    return workload.think_times or workload.has_after


class Precedence:
    """Holds submitted jobs until those that they wait for are over, and submits jobs that follow others.

    What a job's end brings about happens in the same instant, so that one scheduling pass sees the free cores and all
    jobs that have become eligible; but after whatever ended the job, which may be a scheduler in the middle of its pass.

    ``columns`` are those that schedulers see; their ``submit_time`` is replaced by one that is filled while the run goes
    on. ``submit``, ``admit`` (to the queue) and ``reject`` are the simulation's.
    """

    def __init__(
        self,
        env: Environment,
        workload: Workload,
        columns: dict[str, npt.NDArray[Any]],
        submit: Callable[[Job], None],
        admit: Callable[[Job], None],
        reject: Callable[[Job, str], None],
    ):
        self._env = env
        self._columns = columns
        self._submit, self._admit, self._reject = submit, admit, reject
        self.held: dict[int, Job] = {}  #: Submitted jobs that are not yet eligible.
        self.refused: dict[int, str] = {}  #: Why a job can never become eligible.
        self._awaited: dict[int, int] = {}  # job -> how many others it still waits for
        self._successors: dict[int, list[tuple[int, When]]] = {}
        self._followers: dict[int, list[tuple[int, float]]] = {}
        self.submit_time = np.array(columns["submit_time"])  #: s; NaN until a job that follows another is submitted.
        table = workload.columns
        for row, before, when in waits(table):
            self._awaited[row] = self._awaited.get(row, 0) + 1
            self._successors.setdefault(before, []).append((row, when))
        for row, before, think in follows(table) if workload.think_times else ():
            self._followers.setdefault(before, []).append((row, think))
            self.submit_time[row] = NAN
        dict.__setitem__(columns, "submit_time", self.submit_time)  # for others it is read-only
        #: Jobs, by position, that are submitted from here and not at a time of their own.
        self.following = frozenset(row for rows in self._followers.values() for row, _ in rows)
        self.waiting = self.following | self._awaited.keys()  #: Jobs, by position, that wait for others at first.

    def expect(self, job: Job) -> None:
        """Add a job that waits for no other to those of the workload."""
        self.submit_time = self._columns["submit_time"]

    def holds(self, job: Job) -> bool:
        """Return whether a job that is submitted now is held back, from now on."""
        if self._awaited.get(job.index):
            self.held[job.index] = job
            return True
        return False

    def over(self, job: Job, outcome: str) -> None:
        """Let others go on that waited for a job that is over, with ``outcome`` completed, killed or rejected."""
        for follower, think in self._followers.pop(job.index, ()):
            self._at(self._env.now + think, self._follow, follower)
        successors = self._successors.pop(job.index, None)
        if successors is not None:
            self._at(self._env.now, self._release, successors, job, outcome)

    def _at(self, time: float, act: Callable[..., None], *args: object) -> None:
        def callback(event: Event) -> None:
            act(*args)

        self._env.at(time).callbacks.append(callback)

    def _follow(self, index: int) -> None:
        """Submit a job now."""
        now = self._env.now
        columns = self._columns
        columns["submit_time"][index] = now
        hot = (columns[name].item(index) for name in ("requested_cores", "requested_time"))
        self._submit(Job(columns, index, columns["job_id"][index], now, *hot))

    def _release(self, successors: list[tuple[int, When]], job: Job, outcome: str) -> None:
        """Admit those of a job's successors that wait for no other."""
        for index, when in successors:
            if outcome != "completed" and when == "completed":
                reason = f"job {job.job_id}, which it waits for, was {outcome}"
                self.refused.setdefault(index, reason)
                if index in self.held:
                    self._reject(self.held[index], reason)
                continue
            self._awaited[index] -= 1
            if not self._awaited[index] and index in self.held:
                self._admit(self.held.pop(index))
