"""Estimates after Tsafrir, Etsion and Feitelson (2005): their shares, their values, and how they are dealt."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_sim.errors import InputError
from cluster_sim.workload.estimates import estimate_distribution, popular_values, tsafrir_estimates
from cluster_sim.workload.generators import LUBLIN, lublin_run_times

HOUR = 3600


def rng(seed: int = 0) -> np.random.Generator:
    """A stream of draws."""
    return np.random.default_rng(seed)


def test_popular_values_of_an_18_hour_limit() -> None:
    """The limit, the fourteen common values below it, and round hours down from the limit: 50 h and 10 h have none left."""
    values = popular_values(18 * HOUR)
    assert values[0] == 18 * HOUR
    common = [m * 60 for m in (5, 10, 15, 20, 30)] + [h * HOUR for h in (1, 2, 3, 4, 5, 6, 8, 10, 12)]
    assert set(common) < set(values)
    assert sorted(set(values[1:]) - set(common)) == [h * HOUR for h in (13, 14, 15, 16, 17)]
    assert len(values) == 20


def test_shares_of_the_head() -> None:
    """20 values have 89 % of the jobs; ranks 2 to 20 have 14.0491·exp(-0.177531·r) + 0.462513 %; the limit has rank 1."""
    values, counts = estimate_distribution(100_000, 36 * HOUR, rng())
    head = set(popular_values(36 * HOUR))
    by_rank = np.sort(counts[np.isin(values, list(head))])[::-1] / 1000
    assert by_rank.sum() == pytest.approx(89.0, abs=0.02)
    published = [14.0491 * math.exp(-0.177531 * r) + 0.462513 for r in range(2, 21)]
    assert by_rank[1:] == pytest.approx(published, abs=0.002)
    assert counts[values == 36 * HOUR][0] == counts.max()
    assert counts.sum() == 100_000


@pytest.mark.parametrize(("jobs", "number"), [(1000, 35), (10_000, 90), (40_000, 215), (250_000, 565), (10**6, 565)])
def test_number_of_different_values(jobs: int, number: int) -> None:
    """The published broken line, less a few that fall on minutes that are taken."""
    values, _ = estimate_distribution(jobs, 200 * HOUR, rng())
    assert number - 5 <= len(values) <= number


def test_shares_and_values_of_the_tail() -> None:
    """The k-th most frequent beyond the head goes with k^-2.267; values follow M·(a - 1)·x / (a - x) on minutes."""
    values, counts = estimate_distribution(10**6, 100 * HOUR, rng())
    tail = ~np.isin(values, popular_values(100 * HOUR))
    sizes = np.sort(counts[tail])[::-1]
    law = np.arange(21, 21 + len(sizes), dtype=float) ** -2.267
    assert sizes == pytest.approx(0.11 * 10**6 * law / law.sum(), abs=1.01)
    a = 1 + 12.1039 * 565**-0.6026
    x = np.arange(1, 546) / 545
    expected = np.sort((a - 1) * x / (a - x) * 100 * HOUR)
    # Off the grid of minutes by half of one, and by up to half a minute more where the minute was taken.
    assert all(np.abs(expected - value).min() <= 60 for value in values[tail])


def test_dealt_estimates_cover_the_run_times() -> None:
    """No estimate below its run time, the distribution kept job for job, and most estimates far too long."""
    times = lublin_run_times(LUBLIN["all"], np.ones(10_000, dtype=int), rng(1))
    estimates = tsafrir_estimates(times, rng(2))
    values, counts = estimate_distribution(10_000, estimates.max(), rng(2))
    assert (estimates >= times).all()
    assert sorted(estimates) == sorted(np.repeat(values, counts))
    assert np.median(times / estimates) < 0.3


@given(st.lists(st.integers(1, 20_000), min_size=1, max_size=60), st.integers(0, 5))
def test_small_workloads_too(times: list[int], seed: int) -> None:
    """A handful of jobs gets estimates as well; or, where nearly all are long, is told to raise the limit."""
    try:
        estimates = tsafrir_estimates(times, rng(seed), 20 * HOUR)
    except InputError as error:
        assert "a larger one" in str(error)
        assert len(times) > 5
    else:
        assert (estimates >= np.array(times)).all()
        assert estimates.max() <= 20 * HOUR


def test_none_at_all() -> None:
    """No jobs, no estimates."""
    assert tsafrir_estimates([], rng()).tolist() == []


def test_impossible_limits() -> None:
    """Below an hour, below the longest job, or with far more long jobs than long estimates."""
    for longest, match in ((60.0, "at least 3600"), (math.inf, "at least 3600"), (4000.0, "longest run time")):
        with pytest.raises(InputError, match=match):
            tsafrir_estimates([5000.0], rng(), longest)
    with pytest.raises(InputError, match="a larger one: 1000 jobs run 35000 s or longer"):
        tsafrir_estimates(np.full(1000, 35_000.0), rng(), 36_000.0)
