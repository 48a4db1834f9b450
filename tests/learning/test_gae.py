"""Returns and advantages, by hand and by their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning.algorithms.gae import advantages, discounted_sums

NUMBERS = st.floats(-10.0, 10.0)


def test_returns_by_hand() -> None:
    """Rewards 1, 2, 4 at γ = 1/2: 4; 2 + 2; 1 + 2."""
    assert discounted_sums(np.array([1.0, 2.0, 4.0]), 0.5).tolist() == [3.0, 4.0, 4.0]


def test_returns_of_an_episode_cut_off() -> None:
    """What follows the cut, 8, counts as if it came in the next step."""
    assert discounted_sums(np.array([1.0, 2.0, 4.0]), 0.5, after=8.0).tolist() == [4.0, 6.0, 8.0]


def test_advantages_by_hand() -> None:
    """Two steps, γ = 1/2, λ = 1/2, values 2 and 4, rewards 1 and 3, terminated.

    δ = (1 + ½·4 − 2, 3 + 0 − 4) = (1, −1); A₁ = −1, A₀ = 1 + ¼·(−1) = 0.75.
    """
    found = advantages(np.array([1.0, 3.0]), np.array([2.0, 4.0]), 0.0, 0.5, 0.5)
    assert found.tolist() == [0.75, -1.0]


def test_advantages_of_an_episode_cut_off() -> None:
    """The same, cut off before a situation of value 6: δ₁ = 3 + ½·6 − 4 = 2, A₀ = 1 + ¼·2."""
    found = advantages(np.array([1.0, 3.0]), np.array([2.0, 4.0]), 6.0, 0.5, 0.5)
    assert found.tolist() == [1.5, 2.0]


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8), NUMBERS, st.floats(0.0, 1.0))
def test_lambda_one_trusts_rewards_alone(steps: list[tuple[float, float]], after: float, gamma: float) -> None:
    """With λ = 1 the advantage is the return less the value (Schulman et al. 2016, eq. 18)."""
    rewards, values = np.array(steps).T
    found = advantages(rewards, values, after, gamma, 1.0)
    assert found == pytest.approx(discounted_sums(rewards, gamma, after) - values, abs=1e-9)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=8), NUMBERS, st.floats(0.0, 1.0))
def test_lambda_zero_looks_one_step_ahead(steps: list[tuple[float, float]], after: float, gamma: float) -> None:
    """With λ = 0 it is the error of the value by one step (eq. 17)."""
    rewards, values = np.array(steps).T
    expected = [r + gamma * v - own for r, v, own in zip(rewards, [*values[1:], after], values, strict=True)]
    assert advantages(rewards, values, after, gamma, 0.0) == pytest.approx(expected)


@given(st.lists(NUMBERS, min_size=1, max_size=6), st.floats(0.0, 1.0), st.floats(0.0, 0.99))
def test_the_recursion_is_the_weighted_mean(rewards: list[float], gamma: float, lam: float) -> None:
    """A_t = Σ (γλ)^l δ_{t+l}, written out (López 2023, eq. 3.3)."""
    values = np.linspace(-1.0, 1.0, len(rewards))
    following = [*values[1:], 0.0]
    errors = [r + gamma * v - own for r, v, own in zip(rewards, following, values, strict=True)]
    expected = [sum((gamma * lam) ** (i - t) * errors[i] for i in range(t, len(rewards))) for t in range(len(rewards))]
    assert advantages(np.array(rewards), values, 0.0, gamma, lam) == pytest.approx(expected, abs=1e-9)
