"""Which nodes can be used, as they are or after a boot: their states, and what a power policy withholds.

Kept in columns over nodes, in platform order. Placements look for free cores in two sets of nodes, those that are on and
those that would be booted; both are kept here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.machine.intervals import IntervalSet

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.engine import Environment
    from cluster_sim.machine.guest_requests import Guests
    from cluster_sim.machine.ledger import Ledger
    from cluster_sim.machine.placement import Placement
    from cluster_sim.platform.platform import Platform


class Availability:
    """Columns of nodes that are on, OFF or withheld, with their free cores, and what changes which of them can be used."""

    env: Environment
    guests: Guests
    ledger: Ledger

    def __init__(self, platform: Platform):
        self.platform = platform
        self._node_cores = platform.node_cores
        self.free = platform.node_cores.astype(np.int32)  #: Free cores of each node, shape (nodes,).
        self.free_total = platform.core_count  #: Free cores of nodes that can be used, booting them first if need be.
        self.guest_nodes: set[int] = set()  #: Nodes for which guests wait.
        self.powered_on = np.ones(platform.node_count, bool)  #: IDLE or COMPUTING.
        self.powered_off = np.zeros(platform.node_count, bool)  #: OFF.
        self.withheld = np.zeros(platform.node_count, bool)  #: Taken out of the scheduler's reach by a power policy.
        self.withheld_count = 0  #: How many are,
        self.offered_cores = platform.core_count  #: and how many cores the others have, free or not.
        self.is_on = self.powered_on.copy()  #: IDLE or COMPUTING, and not withheld.
        self.is_off = self.powered_off.copy()  #: OFF and not withheld: can be booted for a job.
        self._not_on = 0  #: Nodes that are not `is_on`,
        self.all_on = True  #: and whether there are none: then much need not be looked at.
        #: When nodes in transition should be on, or OFF, s on the run's clock, by node.
        self.transition_ends: dict[int, float] = {}
        #: Another object after every change of what is free; while it is the same, what was found free still is.
        self.version: object = object()
        #: How often a node has become usable, or has ceased to be, or what was known of its return has changed.
        self.capacity_changes = 0
        self.available = IntervalSet(0, platform.node_count)  #: Nodes that are on and have a free core.
        self.asleep = IntervalSet()  #: Nodes that are OFF and have a free core.

    def enter_states(self, nodes: Sequence[int], on: bool, off: bool) -> None:
        """Make nodes on, or OFF, or neither (in transition or failed); all of them were in one state before."""
        for node in self.guest_nodes.intersection(nodes) if on and self.guest_nodes else ():
            self.guests.look_at(node)
        ends = self.transition_ends
        for node in nodes if ends else ():
            ends.pop(node, None)
        was_on, was_off = self.powered_on.item(nodes[0]), self.powered_off.item(nodes[0])
        if not (was_on or was_off or on or off):  # it breaks down on the way, or is repaired
            self.capacity_changes += len(nodes)
        self.version = object()
        runs = list(_runs(nodes))
        for first, stop in runs:
            if was_on != on:
                self.powered_on[first:stop] = on
            if was_off != off:
                self.powered_off[first:stop] = off
        if self.withheld_count:
            for node in nodes:
                offered = not self.withheld[node]
                self._make_usable(node, on and offered, off and offered)
        else:
            self._make_all_usable(nodes, runs, (was_on, was_off), (on, off))

    def _make_all_usable(
        self, nodes: Sequence[int], runs: list[tuple[int, int]], was: tuple[bool, bool], now: tuple[bool, bool]
    ) -> None:
        """Do what ``_make_usable`` does for nodes that were all in one state and of which none is withheld.

        States are given as (on, off), before and now.
        """
        (was_on, was_off), (on, off) = was, now
        for first, stop in runs:
            if was_on != on:
                self.is_on[first:stop] = on
            if was_off != off:
                self.is_off[first:stop] = off
        self._not_on += (was_on - on) * len(nodes)
        self.all_on = not self._not_on
        change = (on or off) - (was_on or was_off)
        self.capacity_changes += abs(change) * len(nodes)
        free = list(map(self.free.item, nodes))
        if not any(free):
            return  # a job has them: they boot for it, or have booted
        self.free_total += change * sum(free)
        if 0 in free:  # of some of them
            runs = [(node, node + 1) for node, cores in zip(nodes, free, strict=True) if cores]
        for first, stop in runs:
            if was_on or was_off:
                (self.available if was_on else self.asleep).remove(first, stop)
            if on or off:
                (self.available if on else self.asleep).add(first, stop)

    def withhold(self, nodes: Sequence[int], withheld: bool) -> bool:
        """Take nodes out of the scheduler's reach, or give them back; what runs on them goes on. Whether that is new."""
        fresh = [node for node in dict.fromkeys(nodes) if self.withheld.item(node) != withheld]
        if not fresh:
            return False
        self.ledger.withheld.append((self.env.now, fresh, withheld))
        self.version = object()
        self.capacity_changes += len(fresh)  # also of nodes in transition, on whose return somebody may count
        self.withheld[fresh] = withheld
        self.withheld_count += len(fresh) if withheld else -len(fresh)
        for node in fresh:
            cores, on, off = self._node_cores.item(node), self.powered_on.item(node), self.powered_off.item(node)
            self.offered_cores += -cores if withheld else cores
            self._make_usable(node, on and not withheld, off and not withheld)
        return True

    def _make_usable(self, node: int, on: bool, off: bool) -> None:
        """Make a node usable as it is, or after a boot, or not at all."""
        was_on, was_off, free = self.is_on.item(node), self.is_off.item(node), self.free.item(node)
        self.is_on[node] = on
        self.is_off[node] = off
        self._not_on += was_on - on
        self.all_on = not self._not_on
        if free and (was_on or was_off):
            (self.available if was_on else self.asleep).remove(node, node + 1)
        if free and (on or off):
            (self.available if on else self.asleep).add(node, node + 1)
        change = (on or off) - (was_on or was_off)
        self.free_total += free * change
        self.capacity_changes += abs(change)

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

    def is_idle(self, node: int) -> bool:
        """Return whether a node is on and no job holds a core of it."""
        return bool(self.powered_on[node]) and self.free.item(node) == self._node_cores.item(node)

    def have_free_cores(self, nodes: Sequence[int]) -> bool:
        """Return whether any of the nodes has a core that no job holds."""
        return any(map(self.free.item, nodes))

    def has_ready_nodes(self, placement: Placement) -> bool:
        """Return whether all nodes of a placement are on."""
        is_on = self.is_on
        spans = placement.spans
        return all(is_on.item(first) if stop == first + 1 else all_true(is_on[first:stop]) for first, stop, _ in spans)

    def boot_time(self, placement: Placement) -> float:
        """Return how long all nodes of a placement should take to be on, s: the slowest boot of those that are OFF."""
        types, kinds, is_off = self.platform.node_types, self.platform.type_of_node.item, self.is_off.item
        if len(types) == 1:
            boots = any(b"\1" in self.is_off[first:stop].tobytes() for first, stop, _ in placement.spans)
            return types[0].transitions.switch_on_s if boots else 0.0
        return max(
            (types[kinds(node)].transitions.switch_on_s for node in placement.nodes if is_off(node)), default=0.0
        )


def all_true(mask: npt.NDArray[np.bool_]) -> bool:
    """Return ``mask.all()``, for the few nodes of a job faster than numpy does."""
    return b"\0" not in mask.tobytes()


def _runs(nodes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield nodes, in any order, as (first, stop) of neighbours."""
    ordered = sorted(nodes)
    first = last = ordered[0]
    if ordered[-1] - first < len(ordered):
        yield first, ordered[-1] + 1
        return
    for node in ordered:
        if node > last + 1:
            yield first, last + 1
            first = node
        last = node
    yield first, last + 1
