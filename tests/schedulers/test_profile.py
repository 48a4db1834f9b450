"""The availability profile, by itself: against hand-work, and against an array with one entry a second."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from schedulers.backfilling.availability_profile import AvailabilityProfile

HORIZON = 40


def test_a_day_with_two_jobs() -> None:
    """Eight cores; five until 10, two more from 4 to 6: what is free, and where the gaps are."""
    profile = AvailabilityProfile(0.0, 3)
    profile.release(10.0, 5)
    profile.take(4.0, 6.0, 2)
    assert profile.times.tolist() == [0.0, 4.0, 6.0, 10.0]
    assert profile.free.tolist() == [3, 1, 3, 8]
    assert profile.earliest(3, 4.0) == 0.0
    assert profile.earliest(3, 4.5) == 6.0
    assert profile.earliest(2, 5.0) == 6.0
    assert profile.earliest(1, math.inf) == 0.0
    assert profile.earliest(4, 1.0) == 10.0
    assert profile.earliest(9, 1.0) == math.inf
    assert (int(profile.least(0.0, 4.0)), int(profile.least(3.0, 4.5)), int(profile.least(6.0, math.inf))) == (3, 1, 3)
    assert profile.least_until(np.array([4.0, 4.5, 99.0])).tolist() == [3, 1, 1]
    assert profile.most_before(np.array([4.0, 10.0, 10.5]), profile.free).tolist() == [3, 3, 8]


def test_the_past_is_forgotten() -> None:
    """Advancing keeps what is to come; giving back what was taken makes one step of neighbours again."""
    profile = AvailabilityProfile(0.0, 4)
    profile.take(2.0, 8.0, 3)
    profile.advance(5.0)
    assert (profile.times.tolist(), profile.free.tolist()) == ([5.0, 8.0], [1, 4])
    profile.give(5.0, 8.0, 3)
    profile.join_equal_steps()
    assert (profile.times.tolist(), profile.free.tolist()) == ([5.0], [4])
    assert repr(profile) == "AvailabilityProfile(5: 4)"


def test_nodes_have_a_number_each() -> None:
    """The same operations on a vector of nodes."""
    profile = AvailabilityProfile(0.0, np.array([2, 0]))
    profile.release(3.0, np.array([0, 4]))
    profile.take(1.0, 5.0, np.array([1, 0]))
    assert profile.free.tolist() == [[2, 0], [1, 0], [1, 4], [2, 4]]
    assert profile.least(0.0, 4.0).tolist() == [1, 0]
    profile.give(1.0, 5.0, np.array([1, 0]))
    profile.join_equal_steps()
    assert (profile.times.tolist(), profile.free.tolist()) == ([0.0, 3.0], [[2, 0], [2, 4]])


def test_it_grows() -> None:
    """More steps than it has room for at first: a staircase of a hundred, taken in an order that cuts new steps each time."""
    profile = AvailabilityProfile(0.0, 100)
    for i in range(100):
        profile.take(0.0, 1.0 + (37 * i) % 100, 1)
    assert len(profile) == 101
    assert profile.free.tolist() == list(range(101))


operations = st.lists(
    st.tuples(st.sampled_from(["take", "give", "release"]), st.integers(0, 20), st.integers(1, 15), st.integers(1, 5)),
    max_size=25,
)


@given(operations, st.integers(0, 12), st.integers(0, 12), st.integers(1, 15))
def test_any_history_is_that_of_an_array(
    history: list[tuple[str, int, int, int]], now: int, amount: int, length: int
) -> None:
    """Whatever is taken, given and released: the profile answers as one that has an entry for every second."""
    profile, seconds = AvailabilityProfile(0.0, 8), np.full(HORIZON, 8)
    for kind, start, lasts, cores in history:
        end = HORIZON if kind == "release" else start + lasts
        seconds[start:end] += -cores if kind == "take" else cores
        if kind == "release":
            profile.release(float(start), cores)
        else:
            getattr(profile, kind)(float(start), float(start + lasts), cores)
    profile.advance(float(now))
    if amount % 2:
        profile.join_equal_steps()
    seconds = seconds[now:]

    def seen(second: int) -> int:
        return int(profile.free[profile.times.searchsorted(now + second, "right") - 1])

    assert [seen(i) for i in range(len(seconds))] == seconds.tolist()
    fits = (i for i in range(len(seconds)) if (seconds[i : i + length] >= amount).all())
    assert profile.earliest(amount, float(length)) == next((float(now + i) for i in fits), math.inf)
    assert int(profile.least(now + 1.0, now + 1.0 + length)) == seconds[1 : 1 + length].min()
    ends = np.arange(1, len(seconds))
    assert profile.least_until(now + ends.astype(float)).tolist() == [seconds[:end].min() for end in ends]
    assert profile.most_before(now + ends.astype(float), profile.free).tolist() == [seconds[:end].max() for end in ends]


def test_who_holds_the_end_can_begin_earlier() -> None:
    """Three cores free from 4 to 6 and from 8 on: who has them from 10 on can begin at 8, and not at 4."""
    profile = AvailabilityProfile(0.0, 1)
    profile.give(4.0, 6.0, 2)
    profile.give(8.0, 10.0, 2)
    assert profile.earliest(3, 100.0, before=10.0) == 8.0
    assert profile.earliest(3, 2.0, before=10.0) == 4.0
    assert profile.earliest(3, 100.0, before=8.0) == math.inf
    assert profile.earliest(3, 100.0) == math.inf
