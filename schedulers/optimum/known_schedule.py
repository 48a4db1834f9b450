"""A schedule that is known beforehand, followed to the letter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cluster_sim.machine.placement import Placement
from cluster_sim.run.decisions import Decision, Start, WakeAt
from cluster_sim.run.view import View
from schedulers.policy.policy import Scheduler

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job


class Scheduled(NamedTuple):
    """One start of a schedule."""

    job_id: str
    start_time: float  #: s
    placement: Placement


class Follow(Scheduler):
    """Starts every job of a schedule at its time on its cores; jobs that are not in it wait for ever.

    Starts of one instant are made in the order of the schedule: on a node with several processors the first gets the lower
    cores. A job whose cores are not free at its time starts as soon as they are.
    """

    def __init__(self, schedule: Sequence[Scheduled], spec: str = "follow"):
        self.spec = spec  #: What the records call it.
        self.starts = tuple(sorted(schedule, key=lambda start: start.start_time))

    def begin(self, view: View) -> None:
        """Begin a run in which nothing has started yet."""
        self._left = list(self.starts)
        self._submitted: dict[str, Job] = {}

    def schedule(self, view: View) -> Iterable[Decision]:
        """Start what is due, and ask to be woken for the next start."""
        self._submitted |= {job.job_id: job for job in view.submitted}
        not_yet = []
        for start in self._left:
            job = self._submitted.get(start.job_id)
            if (
                job is None
                or start.start_time > view.now
                or any(view.free_cores[node] < cores for node, cores in start.placement.cores_by_node().items())
            ):
                not_yet.append(start)
            elif view.is_pending(job):
                if view.planning.allows(job, start.placement):
                    yield Start(job, start.placement)
                else:  # a power cap is in the way
                    not_yet.append(start)
        self._left = not_yet
        later = [start.start_time for start in not_yet if start.start_time > view.now]
        if later:
            yield WakeAt(min(later))
