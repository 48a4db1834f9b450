"""Which nodes can be used, as they are or after a boot: their states, and what a power policy withholds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.platform.node_state import NodeState

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.placement import Placement
    from cluster_sim.platform.platform import Platform


class NodeStates:
    """Columns over nodes, in platform order: on, OFF, in transition or failed, and withheld. Passive.

    :mod:`cluster_sim.machine.switching` has nodes enter states, and :mod:`cluster_sim.machine.cores` books which of them
    can be used from then on.
    """

    def __init__(self, platform: Platform):
        self.platform = platform
        nodes = platform.node_count
        self.state = [NodeState.IDLE] * nodes  #: IDLE also while a node computes.
        self.powered_on = np.ones(nodes, bool)  #: IDLE or COMPUTING.
        self.powered_off = np.zeros(nodes, bool)  #: OFF.
        self.withheld = np.zeros(nodes, bool)  #: Taken out of the scheduler's reach by a power policy.
        self.withheld_count = 0  #: How many are,
        self.offered_cores = platform.core_count  #: and how many cores the others have, free or not.
        self.is_on = self.powered_on.copy()  #: IDLE or COMPUTING, and not withheld.
        self.is_off = self.powered_off.copy()  #: OFF and not withheld: can be booted for a job.
        self._not_on = 0  #: Nodes that are not `is_on`,
        self.all_on = True  #: and whether there are none: then much need not be looked at.
        #: When nodes in transition should be on, or OFF, s on the run's clock, by node.
        self.transition_ends: dict[int, float] = {}
        #: How often a node has become usable, or has ceased to be, or what was known of its return has changed.
        self.changes = 0

    def enter(self, nodes: Sequence[int], on: bool, off: bool) -> list[tuple[int, int]]:
        """Make nodes, all of them in one state before, on, or OFF, or neither (in transition or failed).

        Return them as runs of neighbours (first, stop).
        """
        ends = self.transition_ends
        for node in nodes if ends else ():
            ends.pop(node, None)
        was_on, was_off = self.powered_on.item(nodes[0]), self.powered_off.item(nodes[0])
        if not (was_on or was_off or on or off):  # it breaks down on the way, or is repaired
            self.changes += len(nodes)
        runs = list(_runs(nodes))
        for first, stop in runs:
            if was_on != on:
                self.powered_on[first:stop] = on
            if was_off != off:
                self.powered_off[first:stop] = off
        return runs

    def set_usable(self, first: int, stop: int, on: bool, off: bool) -> int:
        """Make neighbours, all alike before, usable as they are, or after a boot, or not at all.

        Return the change: 1 if they can be used from now on, -1 if no longer, 0 if neither.
        """
        was_on, was_off = self.is_on.item(first), self.is_off.item(first)
        if was_on != on:
            self.is_on[first:stop] = on
        if was_off != off:
            self.is_off[first:stop] = off
        self._not_on += (was_on - on) * (stop - first)
        self.all_on = not self._not_on
        change = int(on or off) - int(was_on or was_off)
        self.changes += abs(change) * (stop - first)
        return change

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
