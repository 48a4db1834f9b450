"""The switches of a platform: which nodes hang on which leaf switch, and which switches on which other.

A leaf switch is what most machines have in each rack. A :class:`SwitchTree` answers for them; rules that choose nodes by it
are in :mod:`cluster_sim.platform.node_choice`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from cluster_sim.errors import InputError, few
from cluster_sim.platform.hardware import check_name
from cluster_sim.read_only import closed
from cluster_sim.spelling import nearest

if TYPE_CHECKING:
    import numpy.typing as npt

Number = TypeVar("Number", bound=np.generic)

TOP = -1
"""Position of what joins the switches that hang on no other, where there are several."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch: a leaf with nodes, by their positions in the platform, or one with other switches, by their names."""

    name: str
    nodes: tuple[int, ...] = ()
    switches: tuple[str, ...] = ()


class SwitchTree:
    """The switches of a platform as a tree. Leaves are numbered in the order in which they are given.

    Raises InputError unless every node hangs on one leaf, every switch on one other at most, and none on itself.
    ``names`` are those of the nodes, for messages. Without any switch all nodes hang on one leaf.
    """

    def __init__(self, switches: Sequence[Switch], names: Sequence[str], where: str = "topology"):
        leaves = [switch for switch in switches if not switch.switches]
        uppers = [switch for switch in switches if switch.switches]
        self.switches = tuple([switch.name for switch in (*leaves, *uppers)])  #: Names of all switches, leaves first.
        self.leaves = tuple([leaf.name for leaf in leaves])  #: Names of the leaf switches.
        for switch in switches:
            check_name(f"{where}, a switch", switch.name)
        for name, times in Counter(self.switches).items():
            if times > 1:
                raise InputError(f"{where}, {name}", "every switch once", "it twice")
        position = {name: number for number, name in enumerate(self.switches)}
        parents = [TOP] * len(self.switches)
        leaf_of_node = np.full(len(names), TOP, np.int64)
        for number, leaf in enumerate(leaves):
            for node in leaf.nodes:
                if leaf_of_node[node] != TOP:
                    twice = "twice" if leaf_of_node[node] == number else f"on {leaves[leaf_of_node[node]].name}, too"
                    raise InputError(f"{where}, {leaf.name}", "every node on one leaf switch", f"{names[node]} {twice}")
                leaf_of_node[node] = number
        if switches and (leaf_of_node == TOP).any():
            missing = [names[node] for node in np.flatnonzero(leaf_of_node == TOP).tolist()]
            raise InputError(where, "every node on a leaf switch", f"{few(missing, 5)} on none")
        for switch in uppers:
            for name in switch.switches:
                if name not in position:
                    raise InputError(f"{where}, {switch.name}", nearest(name, position), name)
                if parents[position[name]] != TOP:
                    other = self.switches[parents[position[name]]]
                    raise InputError(f"{where}, {name}", "one switch above it", f"{other} and {switch.name}")
                parents[position[name]] = position[switch.name]
        #: Position of the switch on which each one hangs, or :data:`TOP`.
        self.parents = tuple(parents)
        for number, name in enumerate(self.switches):
            if len(self.above(number)) > len(self.switches):
                raise InputError(f"{where}, {name}", "a tree of switches", "a circle: it hangs on itself")
        if not switches:
            leaf_of_node[:] = 0
            self.switches, self.leaves, self.parents = ("all nodes",), ("all nodes",), (TOP,)
        leaf_of_node.flags.writeable = False
        self.leaf_of_node: npt.NDArray[np.int64] = leaf_of_node  #: Number of each node's leaf, shape (nodes,).
        self.__class__ = closed(SwitchTree)

    def above(self, switch: int) -> list[int]:
        """Return the positions of a switch, of that on which it hangs, and so on up to the top."""
        path = [switch]
        while self.parents[path[-1]] != TOP and len(path) <= len(self.parents):
            path.append(self.parents[path[-1]])
        return path

    @cached_property
    def hops(self) -> npt.NDArray[np.int64]:
        """Return how many links lie between each two leaf switches, shape (leaves, leaves)."""
        paths = [[*self.above(leaf), TOP][::-1] for leaf in range(len(self.leaves))]
        longest = max(map(len, paths))
        padded = np.array([path + [-2 - leaf] * (longest - len(path)) for leaf, path in enumerate(paths)])
        depths = np.array([len(path) for path in paths])
        hops = np.zeros((len(paths), len(paths)), np.int64)
        for leaf, path in enumerate(padded):
            shared = np.logical_and.accumulate(padded == path, axis=1).sum(axis=1)
            hops[leaf] = depths + depths[leaf] - 2 * shared
        np.fill_diagonal(hops, 0)
        hops.flags.writeable = False
        return hops

    def leaves_of(self, nodes: Iterable[int]) -> list[str]:
        """Return the names of the leaf switches on which some nodes hang, each once."""
        return [self.leaves[leaf] for leaf in dict.fromkeys(self.leaf_of_node[list(nodes)].tolist())]

    def sums(self, amounts: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Return the sum of the nodes' amounts below each leaf, shape (leaves,)."""
        return np.bincount(self.leaf_of_node, amounts, len(self.leaves)).astype(amounts.dtype)

    def sums_of_all(self, of_leaves: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Return the sum below every switch, shape (switches,), from that below each leaf."""
        sums = np.zeros(len(self.switches), of_leaves.dtype)
        for leaf, amount in enumerate(of_leaves.tolist()):
            sums[self.above(leaf)] += amount
        return sums


def switches_of(
    given: Mapping[str, Sequence[str]], positions: Mapping[str, int], where: str = "topology"
) -> tuple[Switch, ...]:
    """Return the switches of a mapping from each name to what hangs on it: names of nodes, or of other switches.

    Raises InputError for a name that is neither, and for a switch with both.
    """
    switches = []
    for name, members in given.items():
        below = [member for member in members if member in given]
        nodes = [member for member in members if member not in given]
        for member in nodes:
            if member not in positions:
                known = [*given, *positions] if below or not nodes else [*positions]
                raise InputError(f"{where}, {name}", f"nodes or switches; {nearest(member, known)}", member)
        if below and nodes:
            raise InputError(f"{where}, {name}", "nodes or other switches", f"node {nodes[0]} and switch {below[0]}")
        switches.append(Switch(name, tuple(positions[node] for node in nodes), tuple(below)))
    return tuple(switches)
