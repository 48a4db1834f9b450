"""The cores of the machine, together one SimPy resource: which are free, and what jobs and guests hold of them.

Kept in columns over nodes and processors, in platform order. A job on a run of whole neighbouring nodes is booked in one
slice, so that its cost does not grow with their number.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, MutableSequence, Sequence
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from simpy.core import BoundClass
from simpy.events import Event
from simpy.resources.base import BaseResource
from simpy.resources.resource import Release

from cluster_sim.engine import GRANT, Environment
from cluster_sim.errors import PlacementError, counted
from cluster_sim.machine.allocation import NOBODY, Allocation
from cluster_sim.machine.free import Pool
from cluster_sim.machine.hub import Hub
from cluster_sim.machine.intervals import IntervalSet, end_of_run, first_of_at_least, lowest_bits
from cluster_sim.machine.ledger import Ledger
from cluster_sim.machine.memory import NodeMemory
from cluster_sim.machine.node_states import NodeStates
from cluster_sim.machine.placement import Placement, Span
from cluster_sim.platform.node_state import NodeState

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.eligibility import Eligibility
    from cluster_sim.machine.free import Ints
    from cluster_sim.platform.platform import Platform
    from cluster_sim.workload.jobs import Job


class Cores(Pool, BaseResource[Any, Release]):
    """The SimPy resource of all cores. A job's allocation is one request to it, which is granted in one call, or refused.

    Jobs and guests are alike to it: a *tenant* is a number, and what it was granted an :class:`Allocation`. Nobody waits
    for it: schedulers decide when a job asks. ``put_queue`` has the requests of guests to single nodes and processors.
    A job that has its nodes for itself (``exclusive``) also holds their other cores, which stay idle: they are not free,
    and not busy. Placements look for free cores in two sets of nodes, ``available`` and ``asleep``.
    """

    def __init__(
        self,
        env: Environment,
        platform: Platform,
        nodes: NodeStates,
        ledger: Ledger,
        hub: Hub,
        eligibility: Eligibility,
    ):
        Pool.__init__(self, platform, NodeMemory(platform), nodes.is_on, nodes.is_off, eligibility)
        BaseResource.__init__(self, env, platform.core_count)
        self.env = env
        self.nodes = nodes
        self._ledger = ledger
        self._hub = hub
        self.uses_memory = False  #: True if any job of the workload asks for memory.
        self.first_processor: list[int] = platform.first_processor.tolist()
        self.first_core: list[int] = platform.first_core.tolist()
        masks = [(1 << kind.cores) - 1 for kind in platform.processor_types]
        self.of_processor = array("i", np.diff(platform.first_core).tolist())  #: How many each processor has.
        pack: Callable[[list[int]], MutableSequence[int]] = list if max(masks) >> 64 else partial(array, "Q")
        self._full_mask = pack([masks[i] for i in platform.type_of_processor.tolist()])
        self._no_mask = pack([0] * platform.processor_count)
        self.free_mask = self._full_mask[:]  #: Free cores of each processor, one bit each.
        self._node_cores = platform.node_cores
        # The same numbers twice: numpy takes half a microsecond for a slice of its array, Python's a fifth of that.
        self._free = array("i", platform.node_cores.tolist())
        self.free = np.frombuffer(self._free, np.int32)
        self._all_free, self._none_free = self._free[:], array("i", [0]) * platform.node_count
        self.free_total = platform.core_count
        self._cores_of_every_node = platform.widest_node if len(platform.node_types) == 1 else 0
        self.available = IntervalSet(0, platform.node_count)  #: Nodes that are on and have a free core.
        self.asleep = IntervalSet()  #: Nodes that are OFF and have a free core.
        #: Another object after every change of what is free; while it is the same, what was found free still is.
        self.version: object = object()
        self.allocations: dict[int, Allocation] = {}  #: What is held now, by number in the ledger, oldest first.
        self._queues: dict[int, list[Any]] = defaultdict(list)  # of guests' requests, by node
        self.awaited: set[int] = set()  #: Nodes for which guests wait.
        self._to_look_at: set[int] = set()  # of them, those on which something may be granted now

    if TYPE_CHECKING:
        now: float
    else:  # read without a call of Python's
        now = property(attrgetter("env.now"), doc="The time, s.")

    # ------------------------------------------------------------------ placements in platform order, found in the sets

    def _place_on_one(self, cores: int, order: npt.NDArray[np.float64] | None, capacity: Ints) -> Placement | None:
        free, all_on = self.free, self.nodes.all_on
        if order is not None or capacity is not free:
            return super()._place_on_one(cores, order, capacity)
        for nodes in (self.available, self.asleep):
            if not nodes.bounds:
                continue
            first = nodes.bounds[0]
            node: int | None = first
            if free.item(first) < cores:
                # While all nodes are on, those between the runs have no free core: they are compared with the others.
                node = first_of_at_least(free, ((first, len(free)),) if all_on else nodes, cores)
            if node is not None:
                return Placement.found(((node, node + 1, cores),), cores)
        return None

    def _place_wide(self, cores: int, order: npt.NDArray[np.float64] | None, capacity: Ints) -> Placement | None:
        """Take free cores node by node in platform order, in as few spans as there are runs of equal nodes."""
        if order is not None or capacity is not self.free:
            return super()._place_wide(cores, order, capacity)
        free, one_each, missing = self.free, self.widest == 1, cores
        spans: list[Span] = []
        for nodes in (self.available, self.asleep):
            for first, stop in nodes:
                if one_each:
                    end = stop if stop - first < missing else first + missing
                    spans.append((first, end, 1))
                    missing -= end - first
                else:
                    while missing and first < stop:
                        taken = min(free.item(first), missing)
                        end = first + 1
                        if taken < missing:
                            end = end_of_run(free, first, min(stop, first + missing // taken))
                        spans.append((first, end, taken))
                        missing -= (end - first) * taken
                        first = end
                if not missing:
                    return Placement.found(tuple(spans), cores)
        return None

    # ------------------------------------------------------------------ as SimPy has it

    @property
    def count(self) -> int:
        """Return how many cores jobs and guests hold."""
        return int(self._capacity) - sum(map(int.bit_count, self.free_mask))

    @property
    def users(self) -> list[Allocation]:
        """Return what is held, in the order in which it was granted."""
        return list(self.allocations.values())

    @property
    def queue(self) -> list[Any]:
        """Return the requests of guests that wait for cores of single nodes and processors, node by node."""
        return [request for _, waiting in sorted(self._queues.items()) for request in waiting]

    if TYPE_CHECKING:

        def request(
            self,
            placement: Placement,
            memory_mb: float = 0.0,
            job: Job | None = None,
            tenant: int = NOBODY,
            processors: range | None = None,
            request: Job | None = None,
        ) -> Allocation:
            """Give a tenant the cores of a placement. Raises PlacementError, with nothing changed, if it cannot be."""
            ...

        def release(self, allocation: Allocation) -> Release:
            """Give back what was granted, now. The event has happened when others know."""
            ...

    else:
        request = BoundClass(Allocation)
        release = BoundClass(Release)

    def _do_put(self, allocation: Allocation) -> bool:
        """Grant an allocation, as it is made."""
        placement, processors, request = allocation.placement, allocation.processors, allocation.request
        nodes, restricts = self.nodes, self.eligibility.restricts
        if processors is None and placement.found_at is not self.version:
            self._check(placement)
        if request is not None and restricts:
            self._check_eligible(placement, request)
        if request is not None and self.resources.asked:
            allocation.units = self.resources.book(request, placement)
        self.version = object()
        ranges: list[tuple[int, int]] = []  # of neighbouring cores, by their numbers
        if processors is not None:
            self._give_guest(allocation, processors)
        else:
            for first, stop, cores in placement.spans:
                whole = cores == self._cores_of_every_node
                if whole and nodes.all_on or stop - first > 1 and self._are_whole(first, stop, cores, whole):
                    begin, end = self.first_processor[first], self.first_processor[stop]
                    self.free_mask[begin:end] = self._no_mask[begin:end]
                    self._free[first:stop] = self._none_free[first:stop]
                    (self.available if nodes.on_bytes[first] else self.asleep).remove(first, stop)
                    allocation.spans.append((first, stop, begin, end))
                    ranges.append((self.first_core[begin], self.first_core[end] - 1))
                    continue
                for node in range(first, stop):
                    processors = range(self.first_processor[node], self.first_processor[node + 1])
                    self._hold_on(node, cores, allocation, processors)
            self.free_total -= placement.cores
            if allocation.memory_mb:
                self.memory.occupy(placement.cores_by_node(), allocation.memory_mb)
            if request is not None and restricts and request.exclusive:
                self._hold_the_rest(allocation)
        for _, processor, mask, _ in allocation.pieces:
            ranges += self.ranges_of(processor, mask)
        allocation.hold = self._ledger.hold(self.env.now, allocation.tenant, ranges, allocation.units)
        self.allocations[allocation.hold] = allocation
        return True

    def _do_get(self, release: Release) -> bool:
        """Give back what was granted; releasing it once more changes nothing, as in SimPy.

        Raises PlacementError for what a job of the run holds: the run gives that back.
        """
        allocation: Allocation = release.request  # type: ignore[assignment]
        if allocation.hold in self.allocations:
            if allocation.tenant >= 0:
                raise PlacementError(f"{allocation} is given back when the job ends: simulation.kill(job) ends it")
            self.give_back(allocation)
            for hear in self._hub.guest_left:
                hear(allocation)
        release.succeed()
        return True

    def _trigger_put(self, release: Release | None) -> None:
        """Do nothing: those who wait are looked at as soon as cores of their nodes are free."""

    # ------------------------------------------------------------------ what is held

    def processors_of(self, node: int) -> range:
        """Return indices of a node's processors."""
        return range(self.first_processor[node], self.first_processor[node + 1])

    def node_of(self, processor: int) -> int:
        """Return the node that a processor is in."""
        return bisect_right(self.first_processor, processor) - 1

    def can_hold(self, placement: Placement, job: Job) -> bool:
        """Return whether a job could get these cores now."""
        try:
            self._check(placement)
            self._check_eligible(placement, job)
            if self.resources.asked:
                self.resources.check(job, placement)
        except PlacementError:
            return False
        return True

    def _are_whole(self, first: int, stop: int, cores: int, whole: bool) -> bool:
        """Return whether so many cores on each are all of some nodes that are all on, or all OFF."""
        # Then one of the sets has them all.
        alike = self.available.covers(first, stop) or self.asleep.covers(first, stop)
        return alike and (whole or bool((self._node_cores[first:stop] == cores).all()))

    def check_nodes_of(self, placement: Placement) -> None:
        """Raise PlacementError unless a placement names nodes of the platform, each once, and cores on each."""
        if not placement.spans:
            raise PlacementError("the placement has no cores")
        reached, ascending = 0, True
        for first, stop, cores in placement.spans:
            if type(first) is bool or not 0 <= first < stop <= len(self.free):
                raise PlacementError(f"{placement}: no such nodes on {self.platform!r}")
            if cores < 1:
                raise PlacementError(f"{placement}: on each node it has a core or more")
            ascending = ascending and first >= reached
            reached = stop
        if not ascending and any(a[1] > b[0] for a, b in pairwise(sorted(map(tuple, placement.spans)))):
            raise PlacementError(f"{placement}: a node appears twice")

    def _check(self, placement: Placement) -> None:
        self.check_nodes_of(placement)
        nodes, free = self.nodes, self.free
        for first, stop, cores in placement.spans:
            # Nodes in `available` are on and have a free core; most placements need no more than that.
            if cores == 1 and self.available.covers(first, stop):
                continue
            if not nodes.all_on and not (self.is_on[first:stop] | self.is_off[first:stop]).all():
                raise PlacementError(f"{placement}: a node is failed, in transition or withheld")
            if (free.item(first) if stop == first + 1 else free[first:stop].min()) < cores:
                node = first + int(np.argmin(free[first:stop]))
                found = f"{int(free[node])} on {self.platform.node_name(node)}"
                raise PlacementError(f"{placement}: fewer cores are free at {self.now:g} s: {found}")

    def _check_eligible(self, placement: Placement, job: Job) -> None:
        eligibility = self.eligibility
        if not eligibility.restricts:
            return
        allowed = eligibility.open_at(job, self.now)
        for node in placement.nodes:
            name = self.platform.node_name(node)
            if allowed is not None and not allowed[node]:
                reason = eligibility.why_closed(job, node, self.now)
                raise PlacementError(f"job {job.job_id} may not start on {name} now: {reason}")
            if job.exclusive and self.free[node] < self._node_cores[node]:
                raise PlacementError(f"job {job.job_id} may not start on {name} now: another job is there")
        self._check_leaves(placement, job)

    def _check_leaves(self, placement: Placement, job: Job) -> None:
        if most := self.eligibility.leaf_limit(job, self.now):
            leaves = self.platform.switch_tree.leaves_of(placement.nodes)
            if len(leaves) > most:
                found = f"it asks for at most {counted(most, 'leaf switch', 'es')}, not {', '.join(leaves)}"
                raise PlacementError(f"job {job.job_id} may not start there now: {found}")

    def _give_guest(self, allocation: Allocation, processors: range) -> None:
        """Give a guest cores of processors of one node, or none, and memory. They are there, and the node is on."""
        node, cores = self.node_of(processors.start), allocation.placement.cores
        if cores:
            self._hold_on(node, cores, allocation, processors)
        self.nodes.changes += 1
        if self.is_on[node]:  # it may be withheld
            self.free_total -= cores
        if allocation.memory_mb:
            self.memory.occupy({node: 1}, allocation.memory_mb)

    def _hold_on(self, node: int, cores: int, allocation: Allocation, processors: range) -> None:
        left = self._free[node] - cores
        self._free[node] = left
        if not left:
            (self.available if self.nodes.on_bytes[node] else self.asleep).remove(node, node + 1)
        for processor in processors:
            mask = self.free_mask[processor]
            if mask and cores:
                taken = lowest_bits(mask, cores)
                self.free_mask[processor] = mask ^ taken
                count = taken.bit_count()
                allocation.pieces.append((node, processor, taken, count))
                cores -= count
                if not cores:
                    return

    def _hold_the_rest(self, allocation: Allocation) -> None:
        """Hold the cores of a job's nodes that are still free, too, so that no other job gets them."""
        allocation.idle = [(node, left) for node in allocation.placement.nodes if (left := self._free[node])]
        for node, left in allocation.idle:
            self._free[node] = 0
            self.free_total -= left
            (self.available if self.nodes.on_bytes[node] else self.asleep).remove(node, node + 1)

    def give_back(self, allocation: Allocation) -> None:
        """Take back what a tenant was granted: as ``release`` does, without an event that tells of it."""
        self.version = object()
        del self.allocations[allocation.hold]
        self._ledger.held_until[allocation.hold] = self.env.now
        free, nodes = self._free, self.nodes
        if allocation.processors is not None:
            nodes.changes += 1  # a guest's
        for node, left in allocation.idle:
            free[node] = left
            self._open(node, node + 1)
            if self.is_on[node] or self.is_off[node]:
                self.free_total += left
        for node, processor, mask, count in allocation.pieces:
            before = free[node]
            free[node] = before + count
            if not before:
                self._open(node, node + 1)
            self.free_mask[processor] |= mask
            if nodes.all_on or self.is_on[node] or self.is_off[node]:
                self.free_total += count
        for first, stop, begin, end in allocation.spans:
            self.free_mask[begin:end] = self._full_mask[begin:end]
            free[first:stop] = self._all_free[first:stop]
            if nodes.all_on or nodes.on_bytes.find(0, first, stop) < 0:
                self.available.add(first, stop)
                self.free_total += self.first_core[end] - self.first_core[begin]
            else:
                self._open(first, stop)
                usable = self.is_on[first:stop] | self.is_off[first:stop]
                self.free_total += int(self._node_cores[first:stop][usable].sum())
        if allocation.memory_mb:
            self._leave_memory(allocation)
        if allocation.units:
            self.resources.unbook(allocation.units)
        if self.awaited:
            self._look_at_released(allocation)

    def take_back(self, allocation: Allocation) -> None:
        """Give back the cores of the last allocation, made in this instant, as if it had not been."""
        self.give_back(allocation)
        self._ledger.take_back(allocation.hold)

    def _leave_memory(self, allocation: Allocation) -> None:
        memory = allocation.memory_mb
        if allocation.processors is not None:
            self.memory.leave({self.node_of(allocation.processors.start): 1}, memory)
            return
        cores: dict[int, int] = {}
        for node, _, _, count in allocation.pieces:
            cores[node] = cores.get(node, 0) + count
        self.memory.leave(cores, memory)
        for first, stop, _, _ in allocation.spans:
            self.memory.leave_run(first, stop, memory * self._node_cores[first:stop])

    # ------------------------------------------------------------------ guests who wait

    def queue_of(self, node: int) -> list[Any]:
        """Return the requests that wait for a node or its processors, in the order in which they were made."""
        return self._queues[node]

    def look_at(self, node: int) -> None:
        """Have the requests for a node looked at later in this instant, because something has become free on it."""
        if not self._queues.get(node):
            self.awaited.discard(node)
            return
        self.awaited.add(node)
        if not self._to_look_at:
            self.env.at(self.now, GRANT).callbacks.append(self._grant)
        self._to_look_at.add(node)

    def _look_at_released(self, allocation: Allocation) -> None:
        """Have the requests looked at for the nodes of which an allocation has given back cores."""
        for node, *_ in (*allocation.idle, *allocation.pieces):
            self.look_at(node)
        for node in tuple(self.awaited) if allocation.spans else ():
            if any(first <= node < stop for first, stop, _, _ in allocation.spans):
                self.look_at(node)

    def _grant(self, event: Event) -> None:
        nodes, self._to_look_at = sorted(self._to_look_at), set()
        for node in nodes:
            queue = self._queues[node]
            waited_for: set[int] = set()  # processors that an earlier request waits for
            for request in list(queue):
                if not (waited_for.isdisjoint(request.processors) and request.resource._do_put(request)):
                    waited_for.update(request.processors)
            queue[:] = [request for request in queue if not request.triggered]
            if not queue:
                self.awaited.discard(node)

    # ------------------------------------------------------------------ which can be used

    def enter(self, nodes: Sequence[int], on: bool, off: bool) -> None:
        """Make nodes on, or OFF, or neither (in transition or failed); all of them were in one state before."""
        for node in self.awaited.intersection(nodes) if on and self.awaited else ():
            self.look_at(node)
        runs = self.nodes.enter(nodes, on, off)
        self.version = object()
        if not self.nodes.withheld_count:
            self._make_usable(runs, on, off)
            return
        for node in nodes:
            offered = not self.nodes.withheld[node]
            self._make_usable([(node, node + 1)], on and offered, off and offered)

    def withhold(self, nodes: Sequence[int], withheld: bool) -> bool:
        """Take nodes out of the scheduler's reach, or give them back; what runs on them goes on. Whether that is new."""
        states = self.nodes
        fresh = [node for node in dict.fromkeys(nodes) if states.withheld.item(node) != withheld]
        if not fresh:
            return False
        self._ledger.withheld.append((self.now, fresh, withheld))
        self.version = object()
        states.changes += len(fresh)  # also of nodes in transition, on whose return somebody may count
        states.withheld[fresh] = withheld
        states.withheld_count += len(fresh) if withheld else -len(fresh)
        for node in fresh:
            cores, on, off = self._all_free[node], states.powered_on.item(node), states.powered_off.item(node)
            states.offered_cores += -cores if withheld else cores
            self._make_usable([(node, node + 1)], on and not withheld, off and not withheld)
        return True

    def _make_usable(self, runs: list[tuple[int, int]], on: bool, off: bool) -> None:
        """Make runs of nodes, all alike before, usable as they are, or after a boot, or not at all."""
        was_on, was_off = self.nodes.on_bytes[runs[0][0]], self.nodes.off_bytes[runs[0][0]]
        change = self.nodes.set_usable(runs, on, off)
        for first, stop in runs:
            free = self._free[first:stop]
            cores = sum(free)
            if not cores:
                continue  # a job has them: they boot for it, or have booted
            self.free_total += change * cores
            open_runs = [(first, stop)]
            if 0 in free:  # a job has some of them
                open_runs = [(node, node + 1) for node, count in enumerate(free, first) if count]
            for begin, end in open_runs:
                if was_on or was_off:
                    (self.available if was_on else self.asleep).remove(begin, end)
                if on or off:
                    (self.available if on else self.asleep).add(begin, end)

    def _open(self, first: int, stop: int) -> None:
        """Enter nodes that get free cores into the set in which placements look for them."""
        if self.nodes.all_on:
            self.available.add(first, stop)
            return
        is_on, is_off = self.nodes.on_bytes, self.nodes.off_bytes
        for node in range(first, stop):
            if is_on[node]:
                self.available.add(node, node + 1)
            elif is_off[node]:
                self.asleep.add(node, node + 1)

    def are_idle(self, nodes: Sequence[int]) -> bool:
        """Return whether all of the nodes are on, and no job holds a core of them."""
        state, free, all_free = self.nodes.state, self._free, self._all_free
        return not [n for n in nodes if free[n] != all_free[n] or state[n] is not NodeState.IDLE]

    def have_free_cores(self, nodes: Sequence[int]) -> bool:
        """Return whether any of the nodes has a core that no job holds."""
        return any(map(self._free.__getitem__, nodes))

    # ------------------------------------------------------------------ cores that change hands while a job goes on

    def check_change(self, allocation: Allocation, placement: Placement, job: Job) -> None:
        """Raise PlacementError if the cores that a job lacks of ``placement`` cannot be had."""
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
            if self._free[node] < cores:
                raise PlacementError(f"{placement}: fewer cores are free")
        if more:
            self._check_eligible(Placement.on(more), job)
            self._check_leaves(placement, job)
        if self.resources.asked:
            self.resources.check(job, placement, own=allocation.units)

    def change(self, allocation: Allocation, placement: Placement) -> None:
        """Give a job the checked cores of ``placement`` in place of its own; it keeps those of its own that it can."""
        own = {processor: mask for _, processor, mask, _ in allocation.pieces}
        for _, _, begin, end in allocation.spans:
            own |= {processor: self._full_mask[processor] for processor in range(begin, end)}
        self.give_back(allocation)
        allocation.placement, allocation.pieces, allocation.spans = placement, [], []
        for node, cores in placement.cores_by_node().items():
            self._hold_first(node, cores, allocation, own)
            if self.is_on[node]:  # the job may keep cores on nodes that are withheld
                self.free_total -= cores
        if allocation.memory_mb:
            self.memory.occupy(placement.cores_by_node(), allocation.memory_mb)
        if allocation.units and allocation.request is not None:
            allocation.units = self.resources.book(allocation.request, placement)
        self.version = object()
        ranges = self.core_ranges(allocation)
        allocation.hold = self._ledger.hold(self.now, allocation.tenant, ranges, allocation.units)
        self.allocations[allocation.hold] = allocation

    def _hold_first(self, node: int, cores: int, allocation: Allocation, own: dict[int, int]) -> None:
        """Hold cores of a node: first ``own`` ones (a mask by processor), then others, the lowest first."""
        left = self._free[node] - cores
        self._free[node] = left
        if not left:
            (self.available if self.nodes.on_bytes[node] else self.asleep).remove(node, node + 1)
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

    def keep_memory(self, placement: Placement, memory_mb: float) -> None:
        """Keep ``memory_mb`` for each task on the nodes of a job that has given back its cores."""
        if memory_mb:
            self.version = object()
            self.memory.occupy(placement.cores_by_node(), memory_mb)

    def drop_memory(self, placement: Placement, memory_mb: float) -> None:
        """Undo :meth:`keep_memory`."""
        if memory_mb:
            self.version = object()
            self.memory.leave(placement.cores_by_node(), memory_mb)

    # ------------------------------------------------------------------ by processor, and by number

    def cores_by_processor(self, allocation: Allocation) -> list[tuple[int, int]]:
        """Return (processor, cores of it) of an allocation."""
        pairs = [(processor, count) for _, processor, _, count in allocation.pieces]
        for _, _, begin, end in allocation.spans:
            pairs += zip(range(begin, end), self.of_processor[begin:end], strict=True)
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
        ranges = []
        for _, _, begin, end in allocation.spans:
            ranges.append((self.first_core[begin], self.first_core[end] - 1))
        for _, processor, mask, _ in allocation.pieces:
            ranges += self.ranges_of(processor, mask)
        return ranges
