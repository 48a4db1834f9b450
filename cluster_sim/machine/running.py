"""A job on the machine as policies see it: which cores it holds, since when, and until when by its request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster_sim.read_only import closed

if TYPE_CHECKING:
    from cluster_sim.machine.placement import Placement
    from cluster_sim.workload.jobs import Job


class Running:
    """A job that holds cores: since when, which, and until when at the latest by its request.

    When the job goes on after a suspension, or with other cores, another object tells of it, in which start and limit
    are of that time.
    """

    __slots__ = (
        "allocation_time",
        "attempt",
        "expected_start",
        "extended_by",
        "has_ended",
        "job",
        "limit_s",
        "memory_mb",
        "placement",
        "start_time",
    )

    def __init__(self, job: Job, placement: Placement, now: float, attempt: int = -1, memory_mb: float = 0.0):
        self.job = job
        self.placement = placement
        self.allocation_time = now  #: When it got its cores, s.
        self.start_time = now  #: When its tasks began, s; inf while its nodes boot.
        self.expected_start = now  #: When its tasks can be expected to begin, s: now, or when its nodes should be on.
        #: How long it may run by its request, s, on these cores and from its start on.
        self.limit_s = job.requested_time
        self.extended_by = 0.0  #: How much a scheduler that saw it outlive its request has added to it, s.
        self.attempt = attempt  #: Its number among all attempts of the run: a job that begins anew is another one.
        self.memory_mb = memory_mb  #: What each of its tasks occupies, MB; 0 where nobody counts memory.
        self.has_ended = False  #: True from when it is to give these cores back in this instant.
        self.__class__ = _CLOSED

    @property
    def expected_end(self) -> float:
        """Start (while its nodes boot, the expected one) + limit + extensions, s; inf when no time was requested."""
        return self.expected_start + self.limit_s + self.extended_by

    def __repr__(self) -> str:
        return f"<Running {self.job.job_id} on {self.placement!r} since {self.start_time:g} s>"


_CLOSED = closed(Running)
