"""Rules that choose nodes as a set, worked out by hand; ``tests/conformance`` holds them against Slurm's own choices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from cluster_sim import View
from cluster_sim.platform.node_choice import (
    in_a_row,
    in_groups,
    leaf_sets,
    leaves_chosen,
    one_switch_or_all,
    under_few_switches,
)
from cluster_sim.platform.switches import Switch, SwitchTree
from schedulers import node_orders
from tests.requests.test_switches import racks
from tests.support.rows import workload_of


def tree(sizes: list[int], groups: list[list[int]]) -> SwitchTree:
    """Leaves of so many nodes each, under switches, under one."""
    ends = np.cumsum(sizes).tolist()
    leaves = [
        Switch(f"l{i}", tuple(range(end - size, end))) for i, (size, end) in enumerate(zip(sizes, ends, strict=True))
    ]
    middle = [Switch(f"m{i}", (), tuple(f"l{leaf}" for leaf in group)) for i, group in enumerate(groups)]
    top = Switch("top", (), tuple(each.name for each in middle))
    return SwitchTree([*leaves, *middle, top], [f"n{i}" for i in range(sum(sizes))])


def taken(rule: Callable[[np.ndarray, int], np.ndarray], free: str, wanted: int) -> list[int]:
    """The nodes that a rule takes, in its order; ``free`` has a 1 for each node that is."""
    amounts = np.array([int(sign) for sign in free.replace(" ", "")])
    order = np.argsort(rule(amounts, wanted), kind="stable").tolist()
    return [node for node in order if amounts[node]][:wanted]


@pytest.mark.parametrize(
    ("free", "wanted", "nodes"),
    [
        ("1110 1100", 2, [4, 5]),  # the hole that it fills
        ("1100 1100", 2, [0, 1]),  # the first of equals
        ("1110 1100", 4, [0, 1, 2, 4]),  # none holds it: the longest, and then the rest
        ("1101 1100", 5, [3, 4, 5, 0, 1]),
    ],
)
def test_neighbours_in_a_row(free: str, wanted: int, nodes: list[int]) -> None:
    """Best fit over runs."""
    assert taken(in_a_row, free, wanted) == nodes


@pytest.mark.parametrize(
    ("free", "wanted", "nodes"),
    [
        ("111 110 | 11 11", 2, [3, 4]),  # the emptiest leaf that holds it, the first of equals
        ("111 110 | 11 11", 3, [0, 1, 2]),
        ("111 110 | 11 11", 4, [6, 7, 8, 9]),  # both sides hold it: that with no node to spare
        ("111 110 | 11 11", 5, [0, 1, 2, 3, 4]),  # the side that holds it
        ("101 110 | 11 11", 6, [3, 4, 0, 2, 6, 7]),
    ],
)
def test_under_few_switches(free: str, wanted: int, nodes: list[int]) -> None:
    """Two leaves of three nodes under one switch, two of two under another."""
    rule = partial(under_few_switches, tree([3, 3, 2, 2], [[0, 1], [2, 3]]))
    found = taken(rule, free.replace("|", ""), wanted)
    assert sorted(found) == sorted(nodes)


def test_a_leaf_near_those_that_were_taken_comes_first() -> None:
    """After a leaf of the first side the other leaf of that side, though one of the other side is fuller."""
    sides = tree([3, 1, 2, 2], [[0, 1], [2, 3]])
    assert leaves_chosen(sides, np.array([3, 1, 2, 2]), 5) == [0, 1, 2]


def test_a_job_that_would_do_with_less() -> None:
    """It wants four nodes and needs two: the leaf of two holds it, and is taken first."""
    sides = tree([3, 2], [[0, 1]])
    assert leaves_chosen(sides, np.array([3, 2]), 4, 2) == [1, 0]
    assert leaves_chosen(sides, np.array([3, 2]), 4) == [0, 1]


@pytest.mark.parametrize(("wanted", "nodes"), [(2, [0, 1]), (3, [0, 1, 2]), (4, [0, 3, 5, 1])])
def test_one_switch_or_all(wanted: int, nodes: list[int]) -> None:
    """The leaf with most free nodes, if it holds the job; else a node from each in turn."""
    rule = partial(one_switch_or_all, tree([3, 2, 2], [[0, 1, 2]]))
    assert taken(rule, "111 11 10", wanted) == nodes


@pytest.mark.parametrize(
    ("wanted", "nodes"),
    [
        (3, [4, 5, 6]),  # the fullest group that holds it
        (4, [0, 1, 2, 3]),
        (6, [0, 1, 2, 3, 7, 8]),  # a whole group, and the best fit for the rest
        (7, [0, 1, 2, 3, 4, 5, 6]),
    ],
)
def test_groups_are_packed(wanted: int, nodes: list[int]) -> None:
    """Three groups with four, three and two free nodes."""
    rule = partial(in_groups, tree([2, 2, 2, 2, 2], [[0, 1], [2, 3], [4]]))
    found = taken(rule, "1111 1110 11".replace(" ", "")[:7] + "0" + "11", wanted)
    assert sorted(found) == sorted(node if node < 7 else node + 1 for node in nodes)


def test_sets_of_few_leaves() -> None:
    """Of at most two leaves the chosen ones, else the fullest; none if these do not hold it."""
    leaves = tree([4, 1, 3], [[0, 1, 2]])
    free = np.array([1, 1, 1, 1, 1, 1, 1, 1])
    assert next(leaf_sets(leaves, free, free, 5, 2)) == [0, 1]
    assert list(leaf_sets(leaves, free, free, 8, 2)) == []
    assert [0] in list(leaf_sets(leaves, free, free, 3, 1))


@pytest.mark.parametrize(
    ("order", "nodes"),
    [
        ("first", [0, 1]),
        ("in-a-row", [3, 4]),
        ("fewest-switches", [3, 4]),
        ("one-switch-or-all", [0, 1]),
        ("group-packing", [3, 4]),
    ],
)
def test_every_scheduler_can_take_such_an_order(order: str, nodes: list[int]) -> None:
    """Racks of three nodes and two: a job of two nodes, and one of as many cores that fit on no single node."""
    for shape in ({"nodes": [2]}, {}):
        view = View.by_hand(racks(3, 2), workload_of((0, 2, 5, 5), **shape))
        (job,) = view.pending
        placement = view.place(job, node_orders.make(order)(view, job))
        expected = [0, 1] if order == "in-a-row" else nodes
        assert placement is not None
        assert placement.nodes == expected
