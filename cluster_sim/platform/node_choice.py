"""Rules that choose nodes as a set: in a row, under few switches, spread over groups.

Each takes ``amounts``, what a job could have on each node (shape (nodes,): free cores, or 1 where it fits), and how much it
wants in all. It returns ranks of the nodes, least first: who takes nodes in this order takes those that the rule chooses.
The first three are what Slurm 22.05 does (``select/cons_tres``), with the exact choices that it was recorded to make.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.platform.switches import TOP, SwitchTree

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.integer]
    Ranks = npt.NDArray[np.float64]

TAKEN, _MANY = -(2**40), 2**40
"""Sizes of a run of which the nodes are taken, and of one that does not suffice."""


def in_a_row(amounts: Ints, wanted: int) -> Ranks:
    """Take the shortest run of neighbours that suffices; if none does, the longest, and go on for the rest."""
    usable = np.concatenate(([0], amounts > 0, [0])).astype(np.int8)
    changes = np.flatnonzero(np.diff(usable))
    firsts, ends = changes[::2], changes[1::2]
    before = np.concatenate(([0], np.cumsum(amounts)))
    sizes = before[ends] - before[firsts]
    chosen: list[int] = []
    for _ in range(len(firsts)):
        best = best_run(sizes, sizes >= wanted)
        chosen += range(firsts.item(best), ends.item(best))
        wanted -= sizes.item(best)
        if wanted <= 0:
            break
        sizes[best] = TAKEN
    return _ranks(chosen, len(amounts))


def best_run(sizes: Ints, suffices: npt.NDArray[np.bool_]) -> int:
    """Return the smallest of some runs that suffices, or if none does the biggest; the first of equals."""
    if suffices.any():
        return int(np.where(suffices, sizes, _MANY).argmin())
    return int(sizes.argmax())


def under_few_switches(tree: SwitchTree, amounts: Ints, wanted: int, needed: int = 0) -> Ranks:
    """Take leaf after leaf: the one that best holds what is still wanted, near those that were taken before.

    Of two leaves that hold it the emptier one is better, of two that do not the one whose parent is, or that is fuller.
    What was taken is not subtracted at the switches above, as Slurm 22.05 does not. For a job that would do with less than
    it wants, a leaf holds it that has what is ``needed``.
    """
    return _leaf_by_leaf(tree, amounts, leaves_chosen(tree, tree.sums(amounts), wanted, needed))


def leaves_chosen(tree: SwitchTree, free: Ints, wanted: int, needed: int = 0) -> list[int]:
    """Return the leaves that :func:`under_few_switches` takes, where so much is free below each; all if they are too few."""
    sums, spare = tree.sums_of_all(free).tolist(), wanted - (needed or wanted)
    left = np.flatnonzero(free).tolist()
    chosen: list[int] = []
    distance = np.zeros(len(free), np.int64)
    while left and wanted > 0:
        best = left[0]
        for leaf in left[1:]:
            verdict = _compared(tree, sums, leaf, best, max(wanted - spare, 1))
            nearer = distance.item(leaf) - distance.item(best)
            if (verdict > 0 and nearer == 0) or (verdict >= 0 and nearer < 0):
                best = leaf
        chosen.append(best)
        left.remove(best)
        wanted -= sums[best]
        distance += tree.hops[best]
    return chosen


def leaf_sets(tree: SwitchTree, amounts: Ints, widest: Ints, wanted: int, most: int) -> Iterator[list[int]]:
    """Yield sets of at most ``most`` leaves that may hold what is wanted, the best first; no set holds it if none does.

    ``widest`` are the amounts for the widest part of a job whose parts differ. Of such a job on several leaves not every set
    is tried.
    """
    free, of_widest = tree.sums(amounts), tree.sums(widest)
    chosen = leaves_chosen(tree, free, wanted)
    by_size = [np.argsort(-sizes, kind="stable")[:most].tolist() for sizes in (free, of_widest)]
    every = [[leaf] for leaf in range(len(free))] if most == 1 else []
    seen = []
    for leaves in ([chosen] if len(chosen) <= most else []) + by_size + every:
        if leaves not in seen and free[leaves].sum() >= wanted:
            seen.append(leaves)
            yield leaves


def _compared(tree: SwitchTree, sums: list[int], one: int, other: int, wanted: int) -> int:
    """Return 1 if the first switch is better for what is wanted, -1 if the second is, 0 if neither."""
    while True:
        holds, other_holds = sums[one] >= wanted, sums[other] >= wanted
        if holds and other_holds:
            return _sign(sums[other] - sums[one])
        if holds != other_holds:
            return 1 if holds else -1
        above, other_above = tree.parents[one], tree.parents[other]
        if above == other_above or TOP in (above, other_above):
            return _sign(sums[one] - sums[other])
        one, other = above, other_above


def in_groups(tree: SwitchTree, amounts: Ints, wanted: int) -> Ranks:
    """Take the fullest group that holds the job; else whole groups, the emptiest first, and best fit for the rest.

    A group are the leaves below one switch; in it they are taken as :func:`under_few_switches` does. This is group packing,
    as studies of dragonflies compare it with spreading (Yang et al., SC 2016; Wang et al., IPDPS 2018).
    """
    free = tree.sums(amounts)
    above = [parent if parent != TOP else ~leaf for leaf, parent in enumerate(tree.parents[: len(free)])]
    groups = [[leaf for leaf, parent in enumerate(above) if parent == group] for group in dict.fromkeys(above)]
    sizes = np.array([free[leaves].sum() for leaves in groups])
    chosen: list[int] = []
    while wanted > 0 and (sizes > 0).any():
        best = best_run(sizes, sizes >= wanted)
        inside = np.zeros_like(free)
        inside[groups[best]] = free[groups[best]]
        chosen += leaves_chosen(tree, inside, wanted)
        wanted -= sizes.item(best)
        sizes[best] = TAKEN
    return _leaf_by_leaf(tree, amounts, chosen)


def one_switch_or_all(tree: SwitchTree, amounts: Ints, wanted: int) -> Ranks:
    """Take the leaf with most free nodes, if it holds the job; else a node of each leaf in turn, to spread the traffic."""
    free = tree.sums(amounts)
    fullest = int(free.argmax())
    if free[fullest] >= wanted:
        return _leaf_by_leaf(tree, amounts, [fullest])
    usable = np.flatnonzero(amounts)
    turn = np.zeros(len(tree.leaves), np.int64)
    keys = []
    for node in usable.tolist():
        leaf = int(tree.leaf_of_node[node])
        keys.append((turn.item(leaf), leaf))
        turn[leaf] += 1
    return _ranks([node for _, node in sorted(zip(keys, usable.tolist(), strict=True))], len(amounts))


def _leaf_by_leaf(tree: SwitchTree, amounts: Ints, leaves: Iterable[int]) -> Ranks:
    """Rank the usable nodes of the leaves in this order, each leaf's in platform order."""
    usable = np.flatnonzero(amounts)
    of_leaf = tree.leaf_of_node[usable]
    return _ranks([node for leaf in leaves for node in usable[of_leaf == leaf].tolist()], len(amounts))


def _ranks(chosen: list[int], nodes: int) -> Ranks:
    """Rank the chosen nodes first, in their order; all others tie behind them."""
    ranks = np.full(nodes, float(nodes))
    ranks[chosen] = np.arange(len(chosen))
    return ranks


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
