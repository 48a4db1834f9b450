"""The running machine: which cores are free, what every processor draws, which nodes are on.

State is kept in columns over nodes and processors, in platform order, because a run may have 100,000 of them and a job
thousands; :class:`Node` and :class:`Processor` are handles on one row, made when somebody asks for them. A job on a run of
whole neighbouring nodes is booked in one slice, so that its cost does not grow with their number.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from cluster_sim.channel import MemoryChannel
from cluster_sim.contention import ContentionModel
from cluster_sim.errors import PlacementError
from cluster_sim.intervals import IntervalSet
from cluster_sim.node import Node, NodeState
from cluster_sim.placement import Placement
from cluster_sim.power import Load, PowerModel, watts
from cluster_sim.processor import Processor

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.engine import Environment
    from cluster_sim.jobs import Job
    from cluster_sim.platform import Platform, ProcessorType

MB_PER_GB = 1024.0


class Observer(Protocol):
    """What the machine tells and asks the simulation that runs jobs on it."""

    def node_changed(self, node: int, state: NodeState) -> None:
        """A node has entered a state."""
        ...

    def kill_jobs_on(self, node: int, reason: str) -> int:
        """Kill the jobs that hold cores of a node; how many there are."""
        ...

    def job_on_core(self, processor: int, core: int) -> Job | None:
        """The job that holds a core."""
        ...

    def rates_will_change(self) -> None:
        """A clock is about to change: work in progress has to be on the channels."""
        ...


class Allocation:
    """The cores that a job holds: single nodes by processor and core mask, runs of whole nodes as spans."""

    __slots__ = ("memory_mb", "pieces", "spans")

    def __init__(self, memory_mb: float) -> None:
        self.pieces: list[tuple[int, int, int, int]] = []  #: (node, processor, mask of its cores, how many)
        self.spans: list[tuple[int, int, int, int]] = []  #: (first node, stop node, first processor, stop processor)
        self.memory_mb = memory_mb  #: Memory of one task.


class Machine:
    """Columns of the machine's state, and the few operations that change them.

    A job *holds* cores from its allocation to its release and *loads* them (they draw power) while its tasks run.
    """

    def __init__(
        self,
        env: Environment,
        platform: Platform,
        contention: ContentionModel,
        power: PowerModel,
        observer: Observer,
        quirks: frozenset[str] = frozenset(),
    ):
        self.env = env
        self.observer = observer
        self.platform = platform
        self.contention = contention
        self.power = power
        self.widest = platform.widest_node
        self.shapes = True  #: Whether any job of the workload fixes nodes or tasks per node.
        self.first_processor: list[int] = platform.first_processor.tolist()
        self.first_core: list[int] = platform.first_core.tolist()
        types = platform.processor_types
        self._tables = {kind: self._table(kind) for kind in types}
        # By number, not by looking types up: hashing one for each of 100,000 processors takes longer than all the rest.
        numbers = platform.type_of_processor.tolist()
        tables = [self._tables[kind] for kind in types]
        masks = [(1 << kind.cores) - 1 for kind in types]
        self.type_of: list[ProcessorType] = [types[i] for i in numbers]
        self.table_of: list[list[float]] = [tables[i] for i in numbers]
        self._cores_of: list[int] = np.diff(platform.first_core).tolist()
        self._full_mask: list[int] = [masks[i] for i in numbers]

        self.free = platform.node_cores.astype(np.int32)  #: Free cores of each node, shape (nodes,).
        self.free_total = platform.core_count  #: Free cores of nodes that can be used, booting them first if need be.
        self.free_mask = list(self._full_mask)  #: Free cores of each processor, one bit each.
        self.busy = [0] * platform.processor_count  #: Busy cores of each processor.
        self.memory_used = np.zeros(platform.node_count)  #: MB that the tasks on each node occupy.
        self.demand = np.zeros(platform.node_count)  #: MB/s that the tasks on each node ask for.
        capacity = [t.memory_gb * MB_PER_GB if t.memory_gb is not None else np.inf for t in platform.node_types]
        self.memory_mb = np.array(capacity)[platform.type_of_node]  #: Memory of each node, inf when not given.
        self.is_on = np.ones(platform.node_count, bool)  #: IDLE or COMPUTING.
        self.is_off = np.zeros(platform.node_count, bool)  #: OFF: can be booted for a job.
        self._not_on = 0  #: Nodes that are neither IDLE nor COMPUTING,
        self.all_on = True  #: and whether there are none: then much need not be looked at.
        #: Another object after every change of what is free; while it is the same, what was found free still is.
        self.version: object = object()
        self._node_count = platform.node_count
        self._node_cores = platform.node_cores
        self._cores_of_every_node = platform.widest_node if len(platform.node_types) == 1 else 0
        self.available = IntervalSet(0, platform.node_count)  #: Nodes that are on and have a free core.
        self.asleep = IntervalSet()  #: Nodes that are OFF and have a free core.
        self.transitions: list[
            tuple[float, int, NodeState, float]
        ] = []  #: (time, node, new state, W drawn when not on)
        self.clock_changes: list[tuple[float, int, ProcessorType]] = []  #: (time, processor, its type from then on)

        self._nodes: dict[int, Node] = {}
        self._processors: dict[int, Processor] = {}
        self.follows_rates = bool(getattr(power, "follows_rates", False))  #: Whether watts follow the tasks' speeds.
        self._rate_watts: dict[int, float] = {}
        self.rate_log: list[tuple[float, int, float, dict[int, float]]] = []  #: (time, processor, shared W, W by job)
        self.channels: dict[int, MemoryChannel] = {}  #: By processor; made for the first task group.
        self._at_job_boundaries = "contention-at-job-boundaries" in quirks
        unused_draw_nothing = "unused-processors-draw-nothing" in quirks
        self._never_used = bytearray(b"\1") * platform.processor_count if unused_draw_nothing else None
        self.watts = 0.0  #: What the whole machine draws now.
        self._energy_j = 0.0
        self._since = 0.0
        self.power_times = array("d", [0.0])
        self.power_watts = array("d", [0.0])
        self._loading_watts: list[float] | None = None
        self._power_on_at_start()

    @property
    def loading_watts(self) -> list[float]:
        """Prefix sums over processors of what loading all of an idle processor's cores adds."""
        if self._loading_watts is None:
            self._loading_watts = [0.0, *np.cumsum([table[-1] - table[0] for table in self.table_of]).tolist()]
        return self._loading_watts

    def _table(self, kind: ProcessorType) -> list[float]:
        """Watts of a processor for 0, 1, … all of its cores busy."""
        return [watts(self.power, kind, busy) for busy in range(kind.cores + 1)]

    def _power_on_at_start(self) -> None:
        off = np.array([t.initially_off for t in self.platform.node_types])[self.platform.type_of_node]
        if self._never_used is None:
            self._add_watts(float(np.sum([table[0] for table in self.table_of])))
        for node in np.flatnonzero(off).tolist():
            kind = self.platform.node_types[self.platform.type_of_node[node]]
            self._book(node, NodeState.OFF, kind.transitions.off_w)  # nobody is there yet to be told

    # ------------------------------------------------------------------ handles

    def node(self, index: int) -> Node:
        """The handle of one node."""
        node = self._nodes.get(index)
        if node is None:
            if not 0 <= index < self.platform.node_count:
                raise IndexError(f"node {index} of a machine with {self.platform.node_count} nodes")
            node = self._nodes[index] = Node(self, index)
        return node

    def processor(self, index: int) -> Processor:
        """The handle of one processor, by its index in the platform."""
        processor = self._processors.get(index)
        if processor is None:
            processor = self._processors[index] = Processor(self, index)
        return processor

    def processors_of(self, node: int) -> range:
        """Indices of a node's processors."""
        return range(self.first_processor[node], self.first_processor[node + 1])

    def node_of(self, processor: int) -> int:
        """The node that a processor is in."""
        return bisect_right(self.first_processor, processor) - 1

    def channel(self, processor: int) -> MemoryChannel:
        """The memory channel of a processor."""
        channel = self.channels.get(processor)
        if channel is None:
            node = self.node_of(processor)
            channel = self.channels[processor] = MemoryChannel(
                self.env,
                self.contention.on(self.type_of[processor]),
                self._at_job_boundaries,
                lambda: self._channel_changed(processor, node),
            )
        return channel

    def _channel_changed(self, processor: int, node: int) -> None:
        channels = self.channels
        if self.follows_rates:
            self._update_rate_watts(processor)
        self.demand[node] = sum(channels[p].demand for p in self.processors_of(node) if p in channels)

    def kill_jobs_on(self, node: int, reason: str) -> int:
        """Kill the jobs that hold cores of a node; how many there are."""
        return self.observer.kill_jobs_on(node, reason)

    def job_on_core(self, processor: int, core: int) -> Job | None:
        """The job that holds a core."""
        return self.observer.job_on_core(processor, core)

    # ------------------------------------------------------------------ power and energy

    @property
    def energy_j(self) -> float:
        """Energy since the start, J."""
        return self._energy_j + self.watts * (self.env.now - self._since)

    def _add_watts(self, watts: float) -> None:
        now = self.env.now
        if now > self._since:
            self._energy_j += self.watts * (now - self._since)
            self._since = now
            self.power_times.append(now)
            self.power_watts.append(self.watts)
        self.watts += watts
        self.power_watts[-1] = self.watts

    def idle_watts(self, node: int) -> float:
        """What a node draws with no busy core."""
        return sum(self.table_of[p][0] for p in self.processors_of(node) if not self._unused(p))

    def _update_rate_watts(self, processor: int) -> None:
        """What a processor draws, by how fast its tasks run now."""
        if not self.is_on[self.node_of(processor)]:
            return
        kind, channel = self.type_of[processor], self.channels[processor]
        loads: list[Load] = [(group.tasks, group.bandwidth, group.speed) for group in channel.groups]
        loads += [(group.tasks, 0.0, 1.0) for group in channel.ended_groups]
        owners = [group.owner for group in (*channel.groups, *channel.ended_groups)]
        shared, own = self.power.loaded_watts(kind, loads) if loads else (self.power.idle_watts(kind), [])  # type: ignore[attr-defined]
        before = self._rate_watts.get(processor, 0.0 if self._unused(processor) else self.power.idle_watts(kind))
        if self._never_used is not None:
            self._never_used[processor] = 0
        self._rate_watts[processor] = shared + sum(own)
        self.rate_log.append((self.env.now, processor, shared, dict(zip(owners, own, strict=True))))
        self._add_watts(self._rate_watts[processor] - before)

    def processor_watts(self, processor: int) -> float:
        """What a processor of a node that is on draws now."""
        if processor in self._rate_watts:
            return self._rate_watts[processor]
        return 0.0 if self._unused(processor) else self.table_of[processor][self.busy[processor]]

    def max_watts(self, kind: ProcessorType) -> float:
        """What a processor of that type draws with all its cores busy."""
        return self._tables[kind][-1]

    def achieved_gflops(self, processor: int) -> float:
        """Rate that the tasks on a processor reach now, summed over tasks, 1e9 operations/s."""
        peak = self.type_of[processor].gflops
        if processor not in self.channels:
            return peak * self.busy[processor]
        return peak * sum(group.tasks * group.speed for group in self.channels[processor].groups)

    def _unused(self, processor: int) -> bool:
        return self._never_used is not None and bool(self._never_used[processor])

    # ------------------------------------------------------------------ holding and releasing cores

    def room(self, memory: float, if_empty: bool = False) -> npt.NDArray[np.int64]:
        """Tasks of ``memory`` MB each for which every node has memory left (or has, if it were empty), shape (nodes,)."""
        left = (self.memory_mb if if_empty else np.maximum(self.memory_mb - self.memory_used, 0.0)) / memory
        return np.minimum(left + 1e-9, self.platform.core_count).astype(np.int64)

    def hold(self, placement: Placement, memory: float = 0.0) -> Allocation:
        """Take the cores of a placement. Raises PlacementError, with nothing changed, if one cannot be had."""
        if placement.found_at is not self.version:
            self._check(placement)
        self.version = object()
        allocation = Allocation(memory)
        for first, stop, cores in placement.spans:
            if self.all_on and cores == self._cores_of_every_node:
                self._hold_whole(first, stop, allocation)
            elif stop - first == 1:
                self._hold_on(first, cores, allocation)
            elif self.is_on[first:stop].all() and (self._node_cores[first:stop] == cores).all():
                self._hold_whole(first, stop, allocation)
            else:
                for node in range(first, stop):
                    self._hold_on(node, cores, allocation)
        self.free_total -= placement.cores
        if memory:
            for node, cores in placement.cores_by_node().items():
                self.memory_used[node] += memory * cores
        return allocation

    def _check(self, placement: Placement) -> None:
        if not placement.spans:
            raise PlacementError("the placement has no cores")
        reached, ascending = 0, True
        for first, stop, cores in placement.spans:
            if not 0 <= first < stop <= self._node_count or cores < 1:
                raise PlacementError(f"{placement}: no such nodes on {self.platform!r}")
            ascending = ascending and first >= reached
            reached = stop
            # Nodes in `available` are on and have a free core; most placements need no more than that.
            if not (cores == 1 and self.available.covers(first, stop)):
                self._check_nodes(placement, first, stop, cores)
        if not ascending and any(a[1] > b[0] for a, b in pairwise(sorted(placement.spans))):
            raise PlacementError(f"{placement}: a node appears twice")

    def _check_nodes(self, placement: Placement, first: int, stop: int, cores: int) -> None:
        if not self.all_on and not (self.is_on[first:stop] | self.is_off[first:stop]).all():
            raise PlacementError(f"{placement}: a node is failed or in transition")
        free = self.free
        if (free.item(first) if stop == first + 1 else free[first:stop].min()) < cores:
            raise PlacementError(f"{placement}: fewer cores are free")

    def _hold_whole(self, first: int, stop: int, allocation: Allocation) -> None:
        begin, end = self.first_processor[first], self.first_processor[stop]
        self.free_mask[begin:end] = [0] * (end - begin)
        self.free[first:stop] = 0
        self.available.remove(first, stop)
        allocation.spans.append((first, stop, begin, end))

    def _hold_on(self, node: int, cores: int, allocation: Allocation) -> None:
        left = self.free.item(node) - cores
        self.free[node] = left
        if not left:
            (self.available if self.is_on[node] else self.asleep).remove(node, node + 1)
        for processor in range(self.first_processor[node], self.first_processor[node + 1]):
            mask = self.free_mask[processor]
            if mask:
                taken = _lowest_bits(mask, cores)
                self.free_mask[processor] = mask ^ taken
                count = taken.bit_count()
                allocation.pieces.append((node, processor, taken, count))
                cores -= count
                if not cores:
                    return

    def release(self, allocation: Allocation) -> None:
        """Give the cores of an allocation back."""
        self.version = object()
        free = self.free
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
                self._open(first, stop)
                usable = self.is_on[first:stop] | self.is_off[first:stop]
                self.free_total += int(free[first:stop][usable].sum())
            else:
                self.available.add(first, stop)
                self.free_total += self.first_core[end] - self.first_core[begin]
        if allocation.memory_mb:
            self._release_memory(allocation)

    def _release_memory(self, allocation: Allocation) -> None:
        memory = allocation.memory_mb
        for node, _, _, count in allocation.pieces:
            self.memory_used[node] -= memory * count
        for first, stop, _, _ in allocation.spans:
            self.memory_used[first:stop] -= memory * self._node_cores[first:stop]
        if self.free_total == self.platform.core_count:
            self.memory_used[:] = 0.0  # nothing runs: no rounding error may outlive it

    def _open(self, first: int, stop: int) -> None:
        """Enter nodes that get free cores into the set in which placements look for them."""
        if self.all_on:
            self.available.add(first, stop)
            return
        for node in range(first, stop):
            if self.is_on[node]:
                self.available.add(node, node + 1)
            elif self.is_off[node]:
                self.asleep.add(node, node + 1)

    def has_ready_nodes(self, placement: Placement) -> bool:
        """Whether all nodes of a placement are on."""
        return all(self.is_on[first:stop].all() for first, stop, _ in placement.spans)

    # ------------------------------------------------------------------ loading and unloading cores

    def load(self, allocation: Allocation) -> None:
        """The cores of an allocation become busy."""
        if self.follows_rates:
            self._count_busy(allocation, 1)
            return
        added = 0.0
        for _, processor, _, count in allocation.pieces:
            added += self._load_on(processor, count)
        loading = self._loading_watts or self.loading_watts
        for _, _, begin, end in allocation.spans:
            if self._never_used is not None:
                added += sum(self._load_on(p, self._cores_of[p]) for p in range(begin, end))
            else:
                self.busy[begin:end] = self._cores_of[begin:end]
                added += loading[end] - loading[begin]
        self._add_watts(added)

    def _load_on(self, processor: int, cores: int) -> float:
        table, busy = self.table_of[processor], self.busy[processor]
        self.busy[processor] = busy + cores
        before = table[busy]
        if self._never_used is not None and self._never_used[processor]:
            self._never_used[processor] = 0
            before = 0.0
        return table[busy + cores] - before

    def _count_busy(self, allocation: Allocation, sign: int) -> None:
        """Busy cores where the channels say what they draw."""
        for processor, count in self.cores_by_processor(allocation):
            self.busy[processor] += sign * count
            if sign < 0:
                self._update_rate_watts(processor)

    def unload(self, allocation: Allocation) -> None:
        """The cores of an allocation stop being busy; their tasks have left the channels."""
        if self.follows_rates:
            self._count_busy(allocation, -1)
            return
        added = 0.0
        for _, processor, _, count in allocation.pieces:
            table, busy = self.table_of[processor], self.busy[processor]
            self.busy[processor] = busy - count
            added += table[busy - count] - table[busy]
        loading = self._loading_watts or self.loading_watts
        for _, _, begin, end in allocation.spans:
            self.busy[begin:end] = [0] * (end - begin)
            added -= loading[end] - loading[begin]
        self._add_watts(added)

    # ------------------------------------------------------------------ states and clocks

    def enter(self, node: int, state: NodeState, draws_w: float) -> None:
        """A node changes its state; ``draws_w`` is what it draws in the new one. Only its own process calls this."""
        self._book(node, state, draws_w)
        self.observer.node_changed(node, state)

    def _book(self, node: int, state: NodeState, draws_w: float) -> None:
        self.version = object()
        before = self.node(node).watts
        usable = bool(self.is_on[node] or self.is_off[node])
        self._not_on += int(self.is_on[node]) - int(state is NodeState.IDLE)
        self.all_on = not self._not_on
        self.available.remove(node, node + 1)
        self.asleep.remove(node, node + 1)
        self.is_on[node] = state is NodeState.IDLE
        self.is_off[node] = state is NodeState.OFF
        if self.free[node]:
            self._open(node, node + 1)
        self.free_total += int(self.free[node]) * (int(self.is_on[node] or self.is_off[node]) - int(usable))
        self.node(node).set_state(state, draws_w)
        for processor in self.processors_of(node) if self._rate_watts else ():
            # Nothing runs there; what it draws when it is on again depends on its clock then.
            self._rate_watts.pop(processor, None)
        self.transitions.append((self.env.now, node, state, draws_w))
        self._add_watts(self.node(node).watts - before)

    def set_clock(self, processor: int, kind: ProcessorType) -> None:
        """A processor's clock and watts become those of ``kind``; the number of its cores stays."""
        self.observer.rates_will_change()
        ratio = kind.ops_per_s / self.type_of[processor].ops_per_s
        if kind not in self._tables:
            self._tables[kind] = self._table(kind)
        before = self.table_of[processor]
        busy = self.busy[processor]
        self.type_of[processor], self.table_of[processor] = kind, self._tables[kind]
        self._loading_watts = None
        self.clock_changes.append((self.env.now, processor, kind))
        if self.is_on[self.node_of(processor)] and not self._unused(processor) and processor not in self._rate_watts:
            self._add_watts(self.table_of[processor][busy] - before[busy])
        if processor in self.channels:
            self.channels[processor].change_rate(ratio)

    def cores_by_processor(self, allocation: Allocation) -> list[tuple[int, int]]:
        """(processor, cores of it) of an allocation."""
        pairs = [(processor, count) for _, processor, _, count in allocation.pieces]
        for _, _, begin, end in allocation.spans:
            pairs += zip(range(begin, end), self._cores_of[begin:end], strict=True)
        return pairs

    def core_ranges(self, allocation: Allocation) -> list[tuple[int, int]]:
        """Global indices (first, last) of the cores of an allocation, as maximal runs within nodes or spans."""
        ranges = [(self.first_core[begin], self.first_core[end] - 1) for _, _, begin, end in allocation.spans]
        for _, processor, mask, _ in allocation.pieces:
            base = self.first_core[processor]
            while mask:
                low = (mask & -mask).bit_length() - 1
                run = ~(mask >> low)
                length = (run & -run).bit_length() - 1
                ranges.append((base + low, base + low + length - 1))
                mask &= ~(((1 << length) - 1) << low)
        return ranges


def _lowest_bits(mask: int, count: int) -> int:
    """The ``count`` lowest set bits of ``mask`` (all of them if there are fewer)."""
    if mask.bit_count() <= count:
        return mask
    count = int(count)  # numpy's integers, of which users make placements, would overflow in the shifts
    taken = 0
    while count:
        low = (mask & -mask).bit_length() - 1
        run = ~(mask >> low)
        length = min((run & -run).bit_length() - 1, count)
        bits = ((1 << length) - 1) << low
        taken |= bits
        mask ^= bits
        count -= length
    return taken
