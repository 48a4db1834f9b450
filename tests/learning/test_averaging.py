"""The mean of weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_sim.errors import InputError
from learning.averaging import WeightAverage


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20))
def test_it_is_the_mean(numbers: list[float]) -> None:
    """Of all that were given."""
    average = WeightAverage()
    for number in numbers:
        average.add({"w": np.full((2, 1), number)})
    assert average.weights()["w"] == pytest.approx(np.full((2, 1), np.mean(numbers)), rel=1e-6, abs=1e-4)


def test_it_is_stored_exactly() -> None:
    """After its state went through another one, it goes on to the same bits."""
    rng = np.random.default_rng(0)
    weights = [{"a.w": rng.normal(size=3), "b": rng.normal(size=())} for _ in range(6)]
    whole, begun, resumed = WeightAverage(), WeightAverage(), WeightAverage()
    for one in weights:
        whole.add(one)
    for one in weights[:4]:
        begun.add(one)
    resumed.load_state("average", begun.state("average"))
    for one in weights[4:]:
        resumed.add(one)
    assert resumed.count == 6
    assert all((whole.weights()[name] == resumed.weights()[name]).all() for name in ("a.w", "b"))


def test_it_does_not_hold_on_to_what_it_was_given() -> None:
    """Arrays that change afterwards do not change the mean."""
    average, weight = WeightAverage(), np.ones(2)
    average.add({"w": weight})
    weight[:] = 9.0
    assert average.weights()["w"].tolist() == [1.0, 1.0]


def test_other_weights_are_refused() -> None:
    """Told in a line."""
    average = WeightAverage()
    assert average.weights() == {}
    average.add({"w": np.ones(1)})
    with pytest.raises(InputError, match="weight average: expected weights w, found v"):
        average.add({"v": np.ones(1)})
