"""Least attained service: jobs that have run little go first, and wait behind the others once they have run more."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Gt
from typing_extensions import Doc

from cluster_sim.errors import SpecError
from cluster_sim.options import checked
from cluster_sim.run.decisions import Decision, WakeAt
from cluster_sim.run.view import View
from schedulers.changing.time_sharing import TimeSharing, width
from schedulers.policy.policy import schedulers
from schedulers.queue.orders import AnyNodeOrder, platform_order

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job

LATE = "late-demotions"
"""Quirk of the program behind Gu et al. (2019): it divides the seconds to a limit by GPUs, not what is left of it."""


@schedulers.register("las")
class LeastAttainedService(TimeSharing):
    """Least attained service in queues, with preemption (Tiresias, Gu et al. 2019): las:3250/7200,service=gpu-time,promote=4.

    Jobs join the first queue. One that runs goes to the end of the next queue when it has attained the limit of its own.
    The queues are gone through in order, and in each those that run go before those that wait; jobs that do not fit are
    skipped, and who runs and is left nothing is suspended. Attained is the time that a job ran, or that time for
    each of its GPUs or cores. With ``promote``, a job that waits in a later queue goes to the end of the first one when,
    since it first ran, it has waited that many times as long as it ran; then it begins with nothing attained. If jobs reach
    limits within the ``restart_time`` that moving to other nodes costs them, they may never get on.
    """

    @checked
    def __init__(
        self,
        limits: Annotated[str, Doc("what a job attains in each queue but the last, L/L/…, s")] = "3250/7200",
        service: Annotated[
            Literal["time", "gpu-time", "core-time"], Doc("what a job attains: time, or times its GPUs or its cores")
        ] = "time",
        promote: Annotated[
            float, Gt(0), Doc("waits, in times as long as it ran, after which a job goes first")
        ] = math.inf,
        nodes: AnyNodeOrder = platform_order,
    ):
        super().__init__(nodes)
        self._limits = _read(limits)
        self._service, self._promote = service, promote

    def begin(self, view: View) -> None:
        super().begin(view)
        self._queues: list[list[int]] = [[] for _ in range(len(self._limits) + 1)]
        self._queue_of: dict[int, int] = {}  # of each job, in order of submission
        self._since: dict[int, float] = {}  # when it first ran, since it was promoted if it was, s
        self._ran_before: dict[int, float] = {}  # how long it had run when it was promoted, s
        self._is_late = LATE in view.planning.quirks
        self._due = self._moved_at = -math.inf
        self._version: object = None
        #: How often each job was promoted, by its index.
        self.promotions: dict[int, int] = {}

    def schedule(self, view: View) -> Iterator[Decision]:
        """Hold a pass. By the quirk there is none at a time at which, meanwhile, nothing is to happen any more."""
        if self._is_late and view.now < self._due and view.machine.version is self._version and not view.submitted:
            return
        yield from super().schedule(view)
        running = view.running_by_index
        for queue in self._queues:
            queue.sort(key=lambda index: index not in running)
        self._version = view.machine.version
        due = min(self._changes(view), default=math.inf)
        if due < math.inf and due != self._due:
            yield WakeAt(due)
        self._due = due

    def ranked(self, view: View) -> Iterable[Job]:
        for job in view.submitted:
            self._forget(job.index)
            self._queue_of[job.index] = 0
            self._queues[0].append(job.index)
        jobs = {index: known for index in self._queue_of if (known := self.job_of(view, index)) is not None}
        for index in self._queue_of.keys() - jobs.keys():
            self._forget(index)
        if self._moved_at != view.now:  # one step in an instant
            self._moved_at = view.now
            self._move(view)
        return [jobs[index] for queue in self._queues for index in queue]

    def _forget(self, index: int) -> None:
        number = self._queue_of.pop(index, None)
        if number is not None:
            self._queues[number].remove(index)
            self._since.pop(index, None)
            self._ran_before.pop(index, None)

    def _move(self, view: View) -> None:
        """Move jobs to the next queue, or to the first."""
        for index, number in self._queue_of.items():
            running = view.running_by_index.get(index)
            if running is not None and running.start_time < math.inf:
                self._since.setdefault(index, running.start_time)
            if running is not None and self._demotion(view, index) <= view.now:
                goal = number + 1
            elif running is None and self._promotion(view, index) <= view.now:
                goal = 0
                self._since.pop(index, None)
                self._ran_before[index] = self.service.time(index, view.now)
                self.promotions[index] = self.promotions.get(index, 0) + 1
            else:
                continue
            self._queues[number].remove(index)
            self._queues[goal].append(index)
            self._queue_of[index] = goal

    def _ran(self, index: int, now: float) -> float:
        """Return how long a job has run, since it was promoted if it was, s."""
        return self.service.time(index, now) - self._ran_before.get(index, 0.0)

    def _demotion(self, view: View, index: int) -> float:
        """Return when a running job goes to the next queue if it keeps running, s."""
        number, running = self._queue_of[index], view.running_by_index[index]
        if number == len(self._limits):
            return math.inf
        before = self.service.before(index) - self._ran_before.get(index, 0.0)
        return running.start_time + (self._limits[number] / width(running.job, self._service) - before)

    def _promotion(self, view: View, index: int) -> float:
        """Return when a job that waits goes to the first queue, s."""
        ran = self._ran(index, view.now)
        if self._queue_of[index] == 0 or ran <= 0.0 or index not in self._since:
            return math.inf
        return self._since[index] + (self._promote + 1.0) * ran

    def _changes(self, view: View) -> Iterator[float]:
        """Return when jobs are to change queues, s, later than now."""
        for index, number in self._queue_of.items():
            if index not in view.running_by_index:
                due = self._promotion(view, index)
            else:
                due = self._demotion(view, index)
                if self._is_late and due < math.inf:
                    gpus = width(view.running_by_index[index].job, self._service)
                    late = view.now + (self._limits[number] - self._ran(index, view.now)) // gpus
                    due = late if late > view.now else due
            if due > view.now:
                yield due


def _read(limits: str) -> list[float]:
    """Return the limits of queues, each above the one before. Raises SpecError."""
    try:
        found = [float(text) for text in limits.split("/")]
    except ValueError:
        found = []
    if not found or not all(below < above < math.inf for below, above in zip([0.0, *found], found, strict=False)):
        raise SpecError(
            "scheduler 'las', option limits", "numbers of s, each above the one before, such as 200/900", limits
        )
    return found
