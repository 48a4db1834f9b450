"""Nodes for a job that fills all of its nodes, as the search over runs finds them, but quickly where it finds none."""

from __future__ import annotations

from collections.abc import Iterable

from cluster_sim.platform.node_choice import TAKEN, best_run
from schedulers.slurm.selection.node_sets import Counts, NodeSet, edges


def empty_nodes(sets: Iterable[NodeSet], empty: NodeSet, wanted: int, before: Counts, cpus: int) -> NodeSet:
    """Return the first ``count`` empty nodes of the first set that has enough (0: none).

    All nodes have so many CPUs, the empty ones belong to every set, and ``before``, shape (nodes + 1,), counts the free CPUs of
    all nodes before each. The search begins with a run that suffices, from its first node on, or if there is none with that of
    the most CPUs. So it takes empty nodes alone only if a longest run of these begins a run of the set, and is all of it where
    it does not suffice.
    """
    starts, length = longest_runs(empty, wanted)
    for nodes in sets:
        firsts = starts & ~(nodes << 1)
        may_be = firsts if length == wanted else firsts & ~(nodes >> length)
        taken = _taken(nodes, empty, wanted, before, cpus) if may_be or wanted == 1 else 0
        if taken:
            return taken
    return 0


def longest_runs(nodes: NodeSet, most: int) -> tuple[NodeSet, int]:
    """Return where the longest runs of a set that is not empty begin, and their length; runs longer than ``most`` count as
    several.
    """
    length = step = 1
    while step and length < most:
        step = min(step, length, most - length)
        longer = nodes & nodes >> step
        if longer:
            nodes, length, step = longer, length + step, 2 * step
        else:
            step //= 2
    return nodes, length


def _taken(nodes: NodeSet, empty: NodeSet, wanted: int, before: Counts, cpus: int) -> NodeSet:
    """Return that many nodes of a set, run by run; 0 if not all of them are empty."""
    firsts, ends = edges(nodes)
    sizes = before[ends] - before[firsts]
    taken = 0
    for _ in range(len(firsts)):
        best = best_run(sizes, sizes >= wanted * cpus)
        first, end = firsts.item(best), ends.item(best)
        if wanted == 1:  # of the run it takes the first node that suffices alone
            run = empty & ((1 << end) - (1 << first))
            return taken | run & -run if run else 0
        run = (1 << min(end, first + wanted)) - (1 << first)
        if run & ~empty:
            return 0
        taken |= run
        wanted -= run.bit_count()
        if not wanted:
            return taken
        sizes[best] = TAKEN
    return 0
