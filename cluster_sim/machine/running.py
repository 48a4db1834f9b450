"""A job on the machine: which cores it holds, since when, and until when by its request."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import simpy
    from simpy.events import Event

    from cluster_sim.machine.allocation import Allocation
    from cluster_sim.machine.course import Course
    from cluster_sim.machine.placement import Placement
    from cluster_sim.workload.jobs import Job


class Running:
    """A job that holds cores: since when, which, and until when at the latest by its request.

    When the job goes on after a suspension, or with other cores, another object tells of it, in which start and limit
    are of that time.
    """

    __slots__ = (
        "_allocation",
        "_attempt",
        "_course",
        "_ended",
        "_groups",
        "_process",
        "_transfer",
        "_whole_s",
        "allocation_time",
        "expected_start",
        "extended_by",
        "job",
        "limit_s",
        "placement",
        "start_time",
    )

    def __init__(self, job: Job, placement: Placement, allocation: Allocation, now: float, attempt: int = -1):
        self.job = job
        self.placement = placement
        self.allocation_time = now  #: When it got its cores, s.
        self.start_time = now  #: When its tasks began, s; inf while its nodes boot.
        self.expected_start = now  #: When its tasks can be expected to begin, s: now, or when its nodes should be on.
        self.limit_s = (
            job.requested_time
        )  #: How long it may run by its request, s, on these cores and from its start on.
        self.extended_by = 0.0  #: How much a scheduler that saw it outlive its request has added to it, s.
        self._allocation = allocation
        self._attempt = attempt
        self._groups: list[Event] = []
        self._course: Course | None = None
        self._process: simpy.Process | None = None
        self._ended = False
        self._transfer: Event | None = None
        self._whole_s: float | None = None  # how long all its work takes on these cores, once somebody has asked

    @property
    def expected_end(self) -> float:
        """Start (while its nodes boot, the expected one) + limit + extensions, s; inf when no time was requested."""
        return self.expected_start + self.limit_s + self.extended_by

    @property
    def attempt(self) -> int:
        """Return the number of this attempt among all of the run: each time that a job begins anew is another one."""
        return self._attempt

    def __repr__(self) -> str:
        return f"<Running {self.job.job_id} on {self.placement!r} since {self.start_time:g} s>"
