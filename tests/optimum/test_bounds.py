"""Lower bounds that the search relies on."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from schedulers.optimum.board import Board
from schedulers.optimum.bounds import LowerBounds, decomposed
from tests.support.instances import random_platform, random_workload


def test_never_above_what_comes() -> None:
    """Along random schedules, every position's bounds are below the end and the energy that the schedule comes to."""
    for seed in range(80):
        rng = random.Random(seed)
        platform = random_platform(rng, contention=seed % 2 == 0)
        board = Board.of(platform, random_workload(rng, platform, 5, odd=seed % 3 == 0))
        bounds = LowerBounds(board)
        position, seen = board.start(), []
        while not board.is_over(position):
            seen.append(bounds.of(position))
            moves = list(board.moves(position))
            wait = not moves or (rng.random() < 0.4 and board.next_instant(position) < float("inf"))
            position = board.advance(position) if wait else board.place(position, rng.choice(moves))
            position.last = None
        assert all(end <= position.now * (1 + 1e-12) for end, _ in seen), seed
        assert all(energy <= position.energy * (1 + 1e-12) for _, energy in seen), seed


@given(st.lists(st.floats(0.0, 1e6), min_size=2, max_size=9))
def test_watts_are_taken_apart_from_below(table: list[float]) -> None:
    """Whatever a power model says, floor + static + dynamic · b is not more, and no part is negative."""
    floor, static, dynamic = decomposed(table)
    assert min(floor, static, dynamic) >= 0.0
    for busy, watts in enumerate(table):
        assert floor + (static if busy else 0.0) + dynamic * busy <= watts * (1 + 1e-12) + 1e-9


def test_linear_watts_come_apart_exactly() -> None:
    """Idle 4, static 10, dynamic 3: floor 4, 6 more as soon as a core is busy, 3 for each."""
    assert decomposed([4.0, 13.0, 16.0, 19.0]) == (4.0, 6.0, 3.0)
