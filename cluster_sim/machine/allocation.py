"""What a job or a guest holds of the machine: cores and memory, by one request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simpy.resources.base import Put

if TYPE_CHECKING:
    from types import TracebackType

    from cluster_sim.machine.placement import Placement
    from cluster_sim.machine.units.unit_hold import UnitHold
    from cluster_sim.workload.jobs import Job

NOBODY = -1
"""The tenant of cores that are held where no run asks whose they are. Attempts of jobs count from 0, guests down from -2."""


class Allocation(Put[Any]):
    """A request for cores of the machine, on all their processors at once: granted in one call as it is made, or refused.

    It holds cores by processor and mask, runs of whole nodes as spans, memory, and counted resources. Among the ``users`` of
    processors it stands beside the requests of guests. The event has happened when it is made.

    ``memory_mb`` goes with each core, one task's; with all of them together where ``processors`` are given, as of a guest,
    who gets cores of these alone. ``job`` is whose they are, ``request`` the job as it asks now, for which the nodes have to
    be eligible and the counted resources free; ``tenant`` is its number in the ledger.
    Raises PlacementError, with nothing changed, if a core cannot be had.
    """

    def __init__(
        self,
        cores: Any,
        placement: Placement,
        memory_mb: float = 0.0,
        job: Job | None = None,
        tenant: int = NOBODY,
        processors: range | None = None,
        request: Job | None = None,
    ):
        # As in simpy's Put, but for the last step: it does not wait in a queue, so that nothing is left of a refused one.
        self.env = cores.env
        self.callbacks = None  # type: ignore[assignment]  # it has happened
        self._ok = True
        self._value = None
        self.resource = cores
        self.placement = placement
        self.memory_mb = memory_mb
        self.job = job
        self.tenant = tenant
        self.processors = processors
        self.pieces: list[tuple[int, int, int, int]] = []  #: (node, processor, mask of its cores, how many)
        self.spans: list[tuple[int, int, int, int]] = []  #: (first node, stop node, first processor, stop processor)
        self.idle: Sequence[tuple[int, int]] = ()  #: (node, cores) held beside, so that nobody else gets them.
        self.units: Sequence[UnitHold] = ()  #: Counted resources.
        self.hold = -1  #: Its number in the ledger.
        self.request = request
        cores._do_put(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.resource.release(self)

    def has_any_of(self, processors: range) -> bool:
        """Return whether it holds any cores of these neighbouring processors."""
        return any(processor in processors for _, processor, _, _ in self.pieces) or any(
            begin < processors.stop and processors.start < end for _, _, begin, end in self.spans
        )

    def __repr__(self) -> str:
        whose = f"job {self.job.job_id}" if self.job is not None else f"tenant {self.tenant}"
        return f"<Allocation of {whose}: {self.placement!r}>"
