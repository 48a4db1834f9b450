"""Moldable jobs: the scheduler chooses, when it starts a job, on how many cores it runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from typing_extensions import Doc

from cluster_sim.machine.reason import Reason, ReasonKind
from cluster_sim.options import checked
from cluster_sim.run.decisions import Decision, Hold, Start
from cluster_sim.run.view import View
from schedulers.backfilling.releases import Releases, cores_coming
from schedulers.policy.policy import Scheduler, schedulers, start_on
from schedulers.queue.orders import Memory

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.workload.jobs import Job


@schedulers.register("moldable")
class Moldable(Scheduler):
    """First come, first served, on as many cores as a job can have: moldable:width=free|earliest. No job overtakes.

    ``free``: the first job takes all that are free, up to its ``max_cores``, as soon as that is its ``min_cores``; the
    scheduler of ElastiSim's examples (Özden et al. 2022). ``earliest``: it has the number of cores with which it should
    end first, the wait for them included, going by the times that jobs requested; of several the least. One that
    requested no time takes what is free. With ``memory``, nodes must have room for a job's memory too.
    """

    chooses_cores = True

    @checked
    def __init__(
        self,
        width: Annotated[Literal["free", "earliest"], Doc("take what is free, or wait for the earliest end")] = "free",
        memory: Memory = False,
    ):
        self.width = width
        self.memory = memory

    def begin(self, view: View) -> None:
        """Begin a run in which nobody waits and nothing runs."""
        self._queue: list[tuple[int, Job]] = []
        self._releases = Releases()
        self._times: tuple[Job, npt.NDArray[np.float64]] | None = (
            None  # of the first job: what it requests on each width, s
        )

    def schedule(self, view: View) -> Iterator[Decision]:
        """Start jobs in order of submission, up to the first that cannot start or should wait."""
        for job in view.submitted:
            heappush(self._queue, (job.index, job))
        if self.width == "earliest":
            self._releases.follow(view)
        while self._queue:
            job = self._queue[0][1]
            if view.is_pending(job):
                start = self._start(view, job)
                if start is None:
                    if view.explains:
                        shortage = view.shortage(job.on_cores(job.min_cores), self.memory)
                        yield Hold(job, shortage or Reason(ReasonKind.SOONER_ON_MORE), blocks=True)
                    return
                yield start
                if self.width == "earliest":
                    self._releases.add(view.running_by_index[job.index])
            heappop(self._queue)

    def _start(self, view: View, job: Job) -> Start | None:
        """Start a job on the best of the widths that it can have now; None if it has to wait, or should."""
        widths: Iterable[int]
        if self.width == "free" or job.requested_time == math.inf:
            widths = range(min(view.free_total, job.max_cores), job.min_cores - 1, -1)
        else:
            if self._times is None or self._times[0] is not job:
                every = range(job.min_cores, job.max_cores + 1)
                self._times = job, np.array([job.on_cores(cores).requested_time for cores in every])
            times, free = [view.now], [view.free_total]
            for end, _, cores, _ in cores_coming(self._releases, view):
                times.append(end)
                free.append(free[-1] + cores)
            level = np.searchsorted(free, np.arange(job.min_cores, job.max_cores + 1))
            starts = np.append(times, math.inf)[level]  # s, of each width; inf: never
            best = np.argsort(starts + self._times[1], kind="stable")
            waits = np.flatnonzero(starts[best] > view.now)  # with these, and all that follow, it would wait
            widths = (best[: waits[0]] if len(waits) else best) + job.min_cores
        for cores in widths:
            placement = view.place(job.on_cores(cores), memory=self.memory)
            if placement is not None:
                return start_on(job, placement)
        return None
