"""The set of intervals in which free nodes are looked up, against a plain set of integers."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from cluster_sim.machine.intervals import IntervalSet

runs = st.tuples(st.integers(0, 12), st.integers(1, 6)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(changes=st.lists(st.tuples(st.booleans(), runs), max_size=14), probe=runs)
def test_adding_and_removing_runs(changes: list[tuple[bool, tuple[int, int]]], probe: tuple[int, int]) -> None:
    """Whatever is added and removed, members, length, maximal runs and coverage are those of the plain set."""
    found, plain = IntervalSet(), set[int]()
    for add, (first, stop) in changes:
        if add:
            found.add(first, stop)
            plain |= set(range(first, stop))
        else:
            found.remove(first, stop)
            plain -= set(range(first, stop))
        assert [number for number in range(20) if number in found] == sorted(plain)
        assert len(found) == len(plain)
        assert bool(found) == bool(plain)
        intervals = list(found)
        assert [number for first, stop in intervals for number in range(first, stop)] == sorted(plain)
        assert all(stop < first for (_, stop), (first, _) in pairwise(intervals))
        assert found.covers(*probe) == set(range(*probe)).issubset(plain)
