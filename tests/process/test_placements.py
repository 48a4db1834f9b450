"""Placements as values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cluster_sim.machine.placement import Placement


@given(cores=st.dictionaries(st.integers(0, 5), st.integers(1, 4)), data=st.data())
def test_equal_placements_have_equal_hashes(cores: dict[int, int], data: st.DataObject) -> None:
    """The same cores on the same nodes, named in any order, are one placement to a set."""
    shuffled = dict(data.draw(st.permutations(list(cores.items()))))
    assert Placement.on(cores) == Placement.on(shuffled)
    assert len({Placement.on(cores), Placement.on(shuffled)}) == 1


def test_spans_and_single_nodes_are_the_same_placement() -> None:
    """Neighbours taken together or one by one are equal, and other cores are another placement."""
    assert {Placement(((1, 4, 2),)), Placement.on({3: 2, 1: 2, 2: 2})} == {Placement.on({1: 2, 2: 2, 3: 2})}
    assert len({Placement.on({1: 2, 2: 1}), Placement.on({1: 1, 2: 2})}) == 2
