"""Which cores and how much memory of the machine are free, and what jobs and guests hold of them.

Kept in columns over nodes and processors, in platform order. A job on a run of whole neighbouring nodes is booked in one
slice, so that its cost does not grow with their number. Which nodes can be used at all stands in
:mod:`cluster_sim.machine.availability`.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.errors import PlacementError
from cluster_sim.machine.allocation import NOBODY, Allocation, lowest_bits
from cluster_sim.machine.availability import Availability, all_true
from cluster_sim.machine.ledger import Ledger
from cluster_sim.machine.placement import Placement

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from cluster_sim.engine import Environment
    from cluster_sim.machine.eligibility import Eligibility
    from cluster_sim.platform.platform import Platform
    from cluster_sim.workload.jobs import Job

MB_PER_GB = 1024.0


def tasks_in(left_mb: npt.NDArray[np.float64], memory: float, most: int) -> npt.NDArray[np.int64]:
    """Return for how many tasks of ``memory`` MB each, at ``most``, each node has memory, shape (nodes,)."""
    return np.minimum(np.maximum(left_mb, 0.0) / memory + 1e-9, most).astype(np.int64)


class Bookings(Availability):
    """Columns of free cores and memory, and :meth:`hold` and :meth:`release`, which take them and give them back.

    Jobs and guests are alike to them: a *tenant* is a number, and what it was granted an :class:`Allocation`.
    A job that has its nodes for itself (``exclusive``) also holds their other cores, which stay idle: they are not free,
    and not busy.
    """

    def __init__(self, env: Environment, platform: Platform):
        super().__init__(platform)
        self.env = env
        self.ledger = Ledger()
        self.widest = platform.widest_node
        self.shapes = True  #: True if any job of the workload fixes nodes or tasks per node.
        self.uses_memory = False  #: True if any job of the workload asks for memory.
        self.eligibility: Eligibility | None = (
            None  #: None while jobs ask for no particular nodes and none are reserved.
        )
        self.first_processor: list[int] = platform.first_processor.tolist()
        self.first_core: list[int] = platform.first_core.tolist()
        masks = [(1 << kind.cores) - 1 for kind in platform.processor_types]
        self._cores_of: list[int] = np.diff(platform.first_core).tolist()
        self._full_mask: list[int] = [masks[i] for i in platform.type_of_processor.tolist()]
        self.free_mask = list(self._full_mask)  #: Free cores of each processor, one bit each.
        self.memory_used = np.zeros(platform.node_count)  #: MB that jobs and guests occupy of each node.
        self._in_memory = np.zeros(platform.node_count, np.int64)  # jobs and guests that occupy some, of each node
        capacity = [t.memory_gb * MB_PER_GB if t.memory_gb is not None else np.inf for t in platform.node_types]
        self.memory_mb = np.array(capacity)[platform.type_of_node]  #: Memory of each node, inf when not given.
        self._node_count = platform.node_count
        self._cores_of_every_node = platform.widest_node if len(platform.node_types) == 1 else 0

    def processors_of(self, node: int) -> range:
        """Return indices of a node's processors."""
        return range(self.first_processor[node], self.first_processor[node + 1])

    def node_of(self, processor: int) -> int:
        """Return the node that a processor is in."""
        return bisect_right(self.first_processor, processor) - 1

    def room(self, memory: float, if_empty: bool = False) -> npt.NDArray[np.int64]:
        """Return for how many tasks of ``memory`` MB nodes have memory left (or have, if empty), shape (nodes,)."""
        left = self.memory_mb if if_empty else self.memory_mb - self.memory_used
        return tasks_in(left, memory, self.platform.core_count)

    def hold(
        self,
        placement: Placement,
        memory: float = 0.0,
        job: Job | None = None,
        tenant: int = NOBODY,
        processors: range | None = None,
    ) -> Allocation:
        """Give a tenant the cores of a placement until :meth:`release`, with ``memory`` MB each; the ledger has its number.

        For a ``job`` its nodes must be eligible now, and it has them for itself if it asks for that. With ``processors`` it
        is a guest's: cores of these on one node, or none, and memory with all of them together. They are there, and the
        node is on: it may be withheld. Raises PlacementError, with nothing changed, if a core cannot be had.
        """
        if processors is None and placement.found_at is not self.version:
            self._check(placement)
        if job is not None and self.eligibility is not None:
            self._check_eligible(self.eligibility, placement, job)
        self.version = object()
        allocation = Allocation(memory)
        for first, stop, cores in placement.spans:
            whole = cores == self._cores_of_every_node
            if processors is not None:
                self._hold_on(first, cores, allocation, processors)
            elif whole and self.all_on:
                self._hold_whole(first, stop, allocation)
            elif stop - first == 1:
                self._hold_on(first, cores, allocation)
            elif self._are_alike(first, stop) and (whole or (self._node_cores[first:stop] == cores).all()):
                self._hold_whole(first, stop, allocation)
            else:
                for node in range(first, stop):
                    self._hold_on(node, cores, allocation)
        if processors is not None:
            node = self.node_of(processors.start)
            allocation.node = node
            self.capacity_changes += 1
            if self.is_on[node]:
                self.free_total -= placement.cores
            if allocation.memory_mb:
                self._occupy({node: 1}, allocation.memory_mb)
        else:
            self.free_total -= placement.cores
            if memory:
                self._occupy(placement.cores_by_node(), memory)
        if job is not None and self.eligibility is not None and job.exclusive:
            # Hold the cores of these nodes that are still free, too, so that no other job gets them.
            allocation.idle = [(node, left) for node in placement.nodes if (left := self.free.item(node))]
            for node, left in allocation.idle:
                self.free[node] = 0
                self.free_total -= left
                (self.available if self.is_on[node] else self.asleep).remove(node, node + 1)
        allocation.hold = self.ledger.hold(self.env.now, tenant, self.core_ranges(allocation))
        return allocation

    def can_hold(self, placement: Placement, job: Job) -> bool:
        """Return whether :meth:`hold` would give a job these cores now."""
        try:
            self._check(placement)
            if self.eligibility is not None:
                self._check_eligible(self.eligibility, placement, job)
        except PlacementError:
            return False
        return True

    def _are_alike(self, first: int, stop: int) -> bool:
        """Return whether nodes with free cores are all on, or all OFF: then one of the sets has them all."""
        return self.available.covers(first, stop) or self.asleep.covers(first, stop)

    def check_nodes_of(self, placement: Placement) -> None:
        """Raise PlacementError unless a placement names nodes of the platform, each once, and cores on each."""
        if not placement.spans:
            raise PlacementError("the placement has no cores")
        reached, ascending = 0, True
        for first, stop, cores in placement.spans:
            if type(first) is bool or not 0 <= first < stop <= self._node_count:
                raise PlacementError(f"{placement}: no such nodes on {self.platform!r}")
            if cores < 1:
                raise PlacementError(f"{placement}: on each node it has a core or more")
            ascending = ascending and first >= reached
            reached = stop
        if not ascending and any(a[1] > b[0] for a, b in pairwise(sorted(map(tuple, placement.spans)))):
            raise PlacementError(f"{placement}: a node appears twice")

    def _check(self, placement: Placement) -> None:
        self.check_nodes_of(placement)
        for first, stop, cores in placement.spans:
            # Nodes in `available` are on and have a free core; most placements need no more than that.
            if cores == 1 and self.available.covers(first, stop):
                continue
            if not self.all_on and not (self.is_on[first:stop] | self.is_off[first:stop]).all():
                raise PlacementError(f"{placement}: a node is failed, in transition or withheld")
            free = self.free
            if (free.item(first) if stop == first + 1 else free[first:stop].min()) < cores:
                node = first + int(np.argmin(free[first:stop]))
                found = f"{int(free[node])} on {self.platform.node_name(node)}"
                raise PlacementError(f"{placement}: fewer cores are free at {self.env.now:g} s: {found}")

    def _check_eligible(self, eligibility: Eligibility, placement: Placement, job: Job) -> None:
        allowed = eligibility.open_at(job, self.env.now)
        for node in placement.nodes:
            name = self.platform.node_name(node)
            if allowed is not None and not allowed[node]:
                reason = eligibility.why_closed(job, node, self.env.now)
                raise PlacementError(f"job {job.job_id} may not start on {name} now: {reason}")
            if job.exclusive and self.free[node] < self._node_cores[node]:
                raise PlacementError(f"job {job.job_id} may not start on {name} now: another job is there")

    def _hold_whole(self, first: int, stop: int, allocation: Allocation) -> None:
        begin, end = self.first_processor[first], self.first_processor[stop]
        self.free_mask[begin:end] = [0] * (end - begin)
        self.free[first:stop] = 0
        (self.available if self.all_on or self.is_on[first] else self.asleep).remove(first, stop)
        allocation.spans.append((first, stop, begin, end))

    def _hold_on(self, node: int, cores: int, allocation: Allocation, processors: range | None = None) -> None:
        left = self.free.item(node) - cores
        self.free[node] = left
        if not left:
            (self.available if self.is_on[node] else self.asleep).remove(node, node + 1)
        for processor in self.processors_of(node) if processors is None else processors:
            mask = self.free_mask[processor]
            if mask and cores:
                taken = lowest_bits(mask, cores)
                self.free_mask[processor] = mask ^ taken
                count = taken.bit_count()
                allocation.pieces.append((node, processor, taken, count))
                cores -= count
                if not cores:
                    return

    def release(self, allocation: Allocation) -> None:
        """Give back what a tenant was granted."""
        self.version = object()
        if allocation.node >= 0:
            self.capacity_changes += 1  # a guest's
        self.ledger.held_until[allocation.hold] = self.env.now
        free = self.free
        for node, left in allocation.idle:
            free[node] = left
            self._open(node, node + 1)
            if self.is_on[node] or self.is_off[node]:
                self.free_total += left
        for node, processor, mask, count in allocation.pieces:
            before = free.item(node)
            free[node] = before + count
            if not before:
                self._open(node, node + 1)
            self.free_mask[processor] |= mask
            if self.all_on or self.is_on[node] or self.is_off[node]:
                self.free_total += count
        for first, stop, begin, end in allocation.spans:
            self.free_mask[begin:end] = self._full_mask[begin:end]
            free[first:stop] = self._node_cores[first:stop]
            if not self.all_on:
                on = self.is_on[first:stop]
                if all_true(on):
                    self.available.add(first, stop)
                    self.free_total += self.first_core[end] - self.first_core[begin]
                    continue
                self._open(first, stop)
                self.free_total += int(free[first:stop][on | self.is_off[first:stop]].sum())
            else:
                self.available.add(first, stop)
                self.free_total += self.first_core[end] - self.first_core[begin]
        if allocation.memory_mb:
            memory = allocation.memory_mb
            if allocation.node >= 0:
                self._leave({allocation.node: 1}, memory)
            else:
                cores: dict[int, int] = {}
                for node, _, _, count in allocation.pieces:
                    cores[node] = cores.get(node, 0) + count
                self._leave(cores, memory)
                for first, stop, _, _ in allocation.spans:
                    used, there = self.memory_used[first:stop], self._in_memory[first:stop]
                    used -= memory * self._node_cores[first:stop]
                    there -= 1
                    used[there == 0] = 0.0
        if self.guest_nodes:
            self.guests.look_at_released(allocation)

    def take_back(self, allocation: Allocation) -> None:
        """Give back the cores of the last allocation, made in this instant, as if it had not been."""
        self.release(allocation)
        self.ledger.take_back(allocation.hold)

    def _occupy(self, shares: Mapping[int, int], mb: float) -> None:
        """Occupy memory of nodes for a tenant: on each ``mb`` times its share."""
        for node, share in shares.items():
            self.memory_used[node] += mb * share
            self._in_memory[node] += 1

    def _leave(self, shares: Mapping[int, int], mb: float) -> None:
        """Undo ``_occupy``. An empty node is reset to exactly 0 MB, so that rounding cannot make equal nodes differ."""
        for node, share in shares.items():
            self._in_memory[node] -= 1
            self.memory_used[node] = self.memory_used.item(node) - mb * share if self._in_memory.item(node) else 0.0

    def cores_by_processor(self, allocation: Allocation) -> list[tuple[int, int]]:
        """Return (processor, cores of it) of an allocation."""
        pairs = [(processor, count) for _, processor, _, count in allocation.pieces]
        for _, _, begin, end in allocation.spans:
            pairs += zip(range(begin, end), self._cores_of[begin:end], strict=True)
        return pairs

    def ranges_of(self, processor: int, mask: int) -> list[tuple[int, int]]:
        """Return the global indices (first, last) of some cores of a processor, as maximal runs."""
        ranges: list[tuple[int, int]] = []
        base = self.first_core[processor]
        while mask:
            low = (mask & -mask).bit_length() - 1
            run = ~(mask >> low)
            length = (run & -run).bit_length() - 1
            ranges.append((base + low, base + low + length - 1))
            mask &= ~(((1 << length) - 1) << low)
        return ranges

    def core_ranges(self, allocation: Allocation) -> list[tuple[int, int]]:
        """Return global indices (first, last) of the cores of an allocation, as maximal runs in nodes or spans."""
        ranges = [(self.first_core[begin], self.first_core[end] - 1) for _, _, begin, end in allocation.spans]
        for _, processor, mask, _ in allocation.pieces:
            ranges += self.ranges_of(processor, mask)
        return ranges
