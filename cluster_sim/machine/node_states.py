"""Which nodes can be used, as they are or after a boot: their states, and what a power policy withholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.platform.node_state import NodeState

if TYPE_CHECKING:
    from cluster_sim.machine.placement import Placement
    from cluster_sim.platform.platform import Platform


_BYTES = (b"\0", b"\1")


class NodeStates:
    """Columns over nodes, in platform order: on, OFF, in transition or failed, and withheld. Passive.

    :mod:`cluster_sim.machine.switching` has nodes enter states, and :mod:`cluster_sim.machine.cores` books which of them
    can be used from then on.
    """

    def __init__(self, platform: Platform):
        self.platform = platform
        nodes = platform.node_count
        self.state = [NodeState.IDLE] * nodes  #: IDLE also while a node computes.
        # Bytes, which Python writes and reads in a fifth of numpy's time; numpy's arrays are the same memory.
        self._powered_on, self._powered_off = bytearray(b"\1" * nodes), bytearray(nodes)
        self.powered_on = np.frombuffer(self._powered_on, bool)  #: IDLE or COMPUTING.
        self.powered_off = np.frombuffer(self._powered_off, bool)  #: OFF.
        self.withheld = np.zeros(nodes, bool)  #: Taken out of the scheduler's reach by a power policy.
        self.withheld_count = 0  #: How many are,
        self.offered_cores = platform.core_count  #: and how many cores the others have, free or not.
        #: 1 for each node that is IDLE or COMPUTING, and not withheld,
        self.on_bytes = self._powered_on[:]
        #: and for each that is OFF and not withheld: it can be booted for a job.
        self.off_bytes = self._powered_off[:]
        self.is_on, self.is_off = np.frombuffer(self.on_bytes, bool), np.frombuffer(self.off_bytes, bool)
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
        was_on, was_off = self._powered_on[nodes[0]], self._powered_off[nodes[0]]
        for node in nodes if not (was_on or was_off) else ():
            self.transition_ends.pop(node, None)
        if not (was_on or was_off or on or off):  # it breaks down on the way, or is repaired
            self.changes += len(nodes)
        runs = _runs(nodes)
        for first, stop in runs:
            if was_on != on:
                self._powered_on[first:stop] = _BYTES[on] * (stop - first)
            if was_off != off:
                self._powered_off[first:stop] = _BYTES[off] * (stop - first)
        return runs

    def set_usable(self, runs: list[tuple[int, int]], on: bool, off: bool) -> int:
        """Make runs of nodes, all alike before, usable as they are, or after a boot, or not at all.

        Return the change: 1 if they can be used from now on, -1 if no longer, 0 if neither.
        """
        was_on, was_off = self.on_bytes[runs[0][0]], self.off_bytes[runs[0][0]]
        nodes = 0
        for first, stop in runs:
            if was_on != on:
                self.on_bytes[first:stop] = _BYTES[on] * (stop - first)
            if was_off != off:
                self.off_bytes[first:stop] = _BYTES[off] * (stop - first)
            nodes += stop - first
        self._not_on += (was_on - on) * nodes
        self.all_on = not self._not_on
        change = int(on or off) - int(was_on or was_off)
        self.changes += abs(change) * nodes
        return change

    def has_ready_nodes(self, placement: Placement) -> bool:
        """Return whether all nodes of a placement are on."""
        find = self.on_bytes.find
        for first, stop, _ in placement.spans:  # noqa: SIM110 - asked for every job while a node sleeps
            if find(0, first, stop) >= 0:
                return False
        return True

    def boot_time(self, placement: Placement) -> float:
        """Return how long all nodes of a placement should take to be on, s: the slowest boot of those that are OFF."""
        types, kinds, is_off = self.platform.node_types, self.platform.type_of_node.item, self.off_bytes
        if len(types) == 1:
            boots = any(is_off.find(1, first, stop) >= 0 for first, stop, _ in placement.spans)
            return types[0].transitions.switch_on_s if boots else 0.0
        return max(
            (types[kinds(node)].transitions.switch_on_s for node in placement.nodes if is_off[node]), default=0.0
        )


def _runs(nodes: Sequence[int]) -> list[tuple[int, int]]:
    """Return nodes, in any order, as (first, stop) of neighbours."""
    ordered = sorted(nodes)
    first = last = ordered[0]
    if ordered[-1] - first < len(ordered):
        return [(first, ordered[-1] + 1)]
    runs = []
    for node in ordered:
        if node > last + 1:
            runs.append((first, last + 1))
            first = node
        last = node
    return [*runs, (first, last + 1)]
