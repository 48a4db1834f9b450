"""Cores that change hands while their job goes on: an allocation becomes another one, in one instant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.errors import PlacementError
from cluster_sim.machine.allocation import Allocation, lowest_bits
from cluster_sim.machine.bookings import Bookings
from cluster_sim.machine.placement import Placement

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.workload.jobs import Job


class Resizing(Bookings):
    """Bookings that can change the cores of an allocation, and keep the memory of suspended jobs."""

    def check_change(self, allocation: Allocation, placement: Placement, job: Job) -> Placement | None:
        """Return the cores that a job gains if ``placement`` takes the place of ``allocation``; None if it gains none.

        Raises PlacementError if these cores cannot be had.
        """
        self.check_nodes_of(placement)
        own: dict[int, int] = {}
        for processor, count in self.cores_by_processor(allocation):
            node = self.node_of(processor)
            own[node] = own.get(node, 0) + count
        wanted = placement.cores_by_node()
        more = {node: cores - own.get(node, 0) for node, cores in wanted.items() if cores > own.get(node, 0)}
        for node, cores in more.items():
            if not self.is_on[node]:
                raise PlacementError(f"{placement}: node {node} is not on, or withheld")
            if self.free.item(node) < cores:
                raise PlacementError(f"{placement}: fewer cores are free")
        if not more:
            return None
        gain = Placement.on(more)
        if self.eligibility is not None:
            self._check_eligible(self.eligibility, gain, job)
        return gain

    def change(self, allocation: Allocation, placement: Placement, job: Job, tenant: int) -> Allocation:
        """Give a job the checked cores of ``placement`` in place of its own; it keeps those of its own that it can."""
        own = {processor: mask for _, processor, mask, _ in allocation.pieces}
        for _, _, begin, end in allocation.spans:
            own |= {processor: self._full_mask[processor] for processor in range(begin, end)}
        self.release(allocation)
        changed = Allocation(allocation.memory_mb)
        for node, cores in placement.cores_by_node().items():
            self._hold_first(node, cores, changed, own)
            if self.is_on[node]:  # the job may keep cores on nodes that are withheld
                self.free_total -= cores
        if allocation.memory_mb:
            self._occupy(placement.cores_by_node(), allocation.memory_mb)
        self.version = object()
        changed.hold = self.ledger.hold(self.env.now, tenant, self.core_ranges(changed))
        return changed

    def _hold_first(self, node: int, cores: int, allocation: Allocation, own: dict[int, int]) -> None:
        """Hold cores of a node: first ``own`` ones (a mask by processor), then others, the lowest first."""
        left = self.free.item(node) - cores
        self.free[node] = left
        if not left:
            (self.available if self.is_on[node] else self.asleep).remove(node, node + 1)
        processors = self.processors_of(node)
        taken = dict.fromkeys(processors, 0)
        for among in (own, None):
            for processor in processors:
                mask = self.free_mask[processor] if among is None else among.get(processor, 0)
                some = lowest_bits(mask, cores) if cores else 0
                self.free_mask[processor] ^= some
                taken[processor] |= some
                cores -= some.bit_count()
        for processor, mask in taken.items():
            if mask:
                allocation.pieces.append((node, processor, mask, mask.bit_count()))

    def grown(self, placement: Placement, cores: int, rooms: npt.NDArray[np.integer] | None = None) -> Placement | None:
        """Return ``placement`` with more cores, ``cores`` in all, on its own nodes first; None if too few are free.

        ``rooms``, shape (nodes,), are the most cores that may be added on each node.
        """
        own = placement.cores_by_node()
        missing = cores - placement.cores
        free = np.where(self.is_on, self.free if rooms is None else np.minimum(self.free, rooms), 0)
        others = [node for node in np.flatnonzero(free).tolist() if node not in own]
        for node in (*own, *others):
            if missing <= 0:
                break
            more = min(missing, int(free[node]))
            own[node] = own.get(node, 0) + more
            missing -= more
        return Placement.on(own) if missing <= 0 else None

    @staticmethod
    def shrunk(placement: Placement, cores: int) -> Placement:
        """Return ``placement`` with only ``cores`` of its cores: it gives up the last nodes of the platform first."""
        own = placement.cores_by_node()
        spare = placement.cores - cores
        for node in sorted(own, reverse=True):
            less = min(spare, own[node])
            own[node] -= less
            spare -= less
        return Placement.on({node: count for node, count in own.items() if count})

    # ------------------------------------------------------------------ memory of suspended jobs

    def keep_memory(self, placement: Placement, memory_mb: float) -> None:
        """Keep ``memory_mb`` for each task on the nodes of a job that has given back its cores."""
        if memory_mb:
            self.version = object()
            self._occupy(placement.cores_by_node(), memory_mb)

    def drop_memory(self, placement: Placement, memory_mb: float) -> None:
        """Undo :meth:`keep_memory`."""
        if memory_mb:
            self.version = object()
            self._leave(placement.cores_by_node(), memory_mb)
