"""Confidence intervals over replications: Student's quantiles, by hand, and how they are printed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from analysis import format_table, replication_table
from cluster_sim.errors import InputError
from cluster_sim.records.intervals import blocks_of, geometric_change, half_width, mean_of, student_quantile, told_apart


@pytest.mark.parametrize(
    ("freedom", "confidence", "t"),
    # Table of percentage points in Abramowitz and Stegun (1964), 26.10.
    [(1, 0.95, 12.706), (2, 0.95, 4.303), (4, 0.95, 2.776), (9, 0.99, 3.250), (30, 0.95, 2.042), (120, 0.90, 1.658)],
)
def test_quantiles_are_those_of_the_tables(freedom: int, confidence: float, t: float) -> None:
    """Published ones, to their last digit."""
    assert student_quantile(freedom, confidence) == pytest.approx(t, abs=5e-4)


def test_quantiles_are_those_of_scipy() -> None:
    """To ten digits, for odd and even numbers, few and many."""
    stats = pytest.importorskip("scipy.stats")
    for freedom in (1, 2, 3, 4, 7, 50, 999):
        for confidence in (0.5, 0.95, 0.999):
            expected = stats.t.ppf((1 + confidence) / 2, freedom)
            assert student_quantile(freedom, confidence) == pytest.approx(expected, rel=1e-10)


def test_intervals_are_paired_by_hand() -> None:
    """Runs that differ from seed to seed by much, and from each other by 9 to 11 s: the difference is known well.

    Waits 100, 200, 300, 200, 200 s, and of easy 10, 10, 11, 9, 10 s less: means 200 and 190; differences -10, -10, -11, -9, -10,
    mean -10, deviation √(2/4) = 0.707, over √5 = 0.316; t = 2.776: 0.878 s or 0.44 % of 200 s.
    """
    runs = {
        "fcfs": [{"mean_wait_s": wait, "seed": i} for i, wait in enumerate((100, 200, 300, 200, 200))],
        "easy": [{"mean_wait_s": wait, "seed": i} for i, wait in enumerate((90, 190, 289, 191, 190))],
    }
    table = replication_table(runs)
    assert list(table.columns) == [
        "unit", "fcfs", "fcfs ±", "easy", "easy ±", "easy vs first, %", "easy vs first, % ±",
    ]  # fmt: skip
    row = table.loc["mean_wait_s"]
    assert row["fcfs"] == 200.0
    assert row["fcfs ±"] == pytest.approx(2.77645 * math.sqrt(20_000 / 4) / math.sqrt(5), rel=1e-5)
    assert row["easy vs first, %"] == pytest.approx(-5.0)
    assert row["easy vs first, % ±"] == pytest.approx(100 * 2.77645 * math.sqrt(0.5 / 5) / 200, rel=1e-5)
    line = format_table(table).splitlines()[-1]
    assert line.split() == "mean wait 3 min 20 s ± 1 min 28 s 3 min 10 s ± 1 min 27 s −5 ± 0.44 %".split()


@pytest.mark.parametrize("count", [1, 2, 4])
def test_fewer_than_five_have_no_interval(count: int) -> None:
    """Fewer replications have means and no half-width."""
    runs = {name: [{"mean_wait_s": wait * n} for wait in range(1, count + 1)] for name, n in (("a", 1), ("b", 2))}
    table = replication_table(runs)
    assert table.loc["mean_wait_s", "b vs first, %"] == pytest.approx(100.0)
    assert np.isnan(table.loc["mean_wait_s", ["a ±", "b ±", "b vs first, % ±"]].astype(float)).all()
    assert "±" not in format_table(table)


def test_who_is_told_apart() -> None:
    """More may be better, too. Alternatives without a value are left out. With few blocks nobody is called tied."""
    values = {
        "a": [0.9, 0.8, 0.9, 0.8, 0.9],
        "b": [0.7, 0.6, 0.7, 0.6, 0.7],
        "c": [0.8, 0.9, 0.8, 0.9, 0.8],
        "d": [np.nan] * 5,
    }
    arrays = {name: np.array(each) for name, each in values.items()}
    assert told_apart(arrays, largest=True) == (["a"], ["c"], ["b"])
    assert told_apart({name: each[:3] for name, each in arrays.items()}) == (["b"], [], ["c", "a"])
    assert told_apart(arrays) == (["b"], [], ["c", "a"])
    assert blocks_of(arrays) == 5
    assert blocks_of({"a": np.full(9, 0.1), "b": np.full(9, 0.2)}) == 1


def test_ratios_are_paired_by_hand() -> None:
    """Twice, the same, twice, the same and twice: logarithms of mean 0.416, standard error 0.170, t = 2.776."""
    change, low, high = geometric_change(np.array([2.0, 50.0, 600.0, 7.0, 8.0]), np.array([1.0, 50.0, 300.0, 7.0, 4.0]))
    assert change == pytest.approx(100 * (2 ** (3 / 5) - 1))
    assert (low, high) == pytest.approx(
        [100 * math.expm1(0.415888 + sign * 2.77645 * 0.169786) for sign in (-1, 1)], rel=1e-4
    )


def test_values_that_are_missing_or_never_change() -> None:
    """No value in one replication, no mean; equal values, no interval to speak of; a single replication, none."""
    runs = {
        "a": [{"energy_j": 0.0, "makespan_s": None}, *[{"energy_j": 0.0, "makespan_s": 1.0}] * 4],
        "b": [{"energy_j": 0.0, "makespan_s": 2.0}] * 5,
    }
    table = replication_table(runs)
    assert table.loc["energy_j", ["a", "a ±", "b vs first, %"]].tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(table.loc["makespan_s", ["a", "b vs first, %"]].astype(float)).all()
    once = replication_table({name: several[:1] for name, several in runs.items()})
    assert np.isnan(float(once.loc["energy_j", "a ±"]))


def test_equal_values_have_that_mean_and_no_interval() -> None:
    """Six times 0.1 over 6 is 0.09999999999999999 in floating point, and all six deviate from it; a log's runs are equal."""
    values = np.full((6, 1), 0.1)
    assert values.mean() != 0.1
    assert (mean_of(values).tolist(), half_width(values).tolist()) == ([0.1], [0.0])
    runs = {name: [{"mean_wait_s": 0.1 * n, "share_delayed": 0.35}] * 6 for name, n in (("a", 1), ("b", 3))}
    table = replication_table(runs)
    assert table.loc["mean_wait_s", ["a", "a ±", "b", "b ±", "b vs first, % ±"]].tolist() == [0.1, 0, 0.1 * 3, 0, 0]
    assert table.loc["share_delayed", ["a", "a ±"]].tolist() == [0.35, 0]
    assert "±" not in format_table(table)
    assert np.isnan(mean_of(np.zeros((0, 2)))).all()


def test_runs_must_be_pairs() -> None:
    """Different numbers of replications cannot be paired."""
    for runs in ({}, {"a": []}, {"a": [{"energy_j": 1.0}], "b": []}):
        with pytest.raises(InputError, match="the same number"):
            replication_table(runs)
    with pytest.raises(InputError, match="between 0 and 1"):
        student_quantile(3, 95)
