"""The jobs of a run that are neither over nor to come: they wait, hold cores, or are suspended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from cluster_sim.machine.allocation import Allocation
    from cluster_sim.machine.placement import Placement
    from cluster_sim.machine.running import Running
    from cluster_sim.workload.jobs import Job


class Held(NamedTuple):
    """A job that holds cores where no process runs it, as on a view made by hand."""

    running: Running
    allocation: Allocation


@dataclass(frozen=True, slots=True)
class Suspended:
    """A job that has lost its cores and keeps its work, and its memory on its nodes."""

    job: Job
    placement: Placement  #: The cores that it had.
    attempt: int  #: Its number in the records.
    since: float  #: s.
    memory_mb: float  #: That each of its tasks occupies meanwhile.
    p_state: int | None = None  #: That was chosen for it, and in which it goes on.


@dataclass(frozen=True, slots=True)
class Spared:
    """Cores that a guest has given back, or that were held for a job's next part, which it will not have."""

    placement: Placement


Holder = TypeVar("Holder")


@dataclass(slots=True)
class LiveJobs(Generic[Holder]):
    """Live jobs by their index."""

    pending: dict[int, Job] = field(default_factory=dict)  #: Jobs in the queue, in order.
    running: dict[int, Running] = field(default_factory=dict)  #: Jobs that hold cores, as policies see them,
    holders: dict[int, Holder] = field(default_factory=dict)  #: and as what they hold them: their attempts.
    suspended: dict[int, Suspended] = field(default_factory=dict)
