"""Confidence intervals over replications: Student's quantiles, by hand, and how they are printed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from analysis import format_table, replication_table
from cluster_sim.errors import InputError
from cluster_sim.records.intervals import geometric_change, half_width, mean_of, student_quantile


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

    Waits 100, 200, 300 s and 90, 190, 289 s: means 200 and 189.67; differences -10, -10, -11, mean -10.333, deviation
    1/√3 over √3 replications = 1/3, t = 4.303: 1.434 s or 0.717 % of 200 s.
    """
    runs = {
        "fcfs": [{"mean_wait_s": wait, "seed": i} for i, wait in enumerate((100, 200, 300))],
        "easy": [{"mean_wait_s": wait, "seed": i} for i, wait in enumerate((90, 190, 289))],
    }
    table = replication_table(runs)
    assert list(table.columns) == [
        "unit", "fcfs", "fcfs ±", "easy", "easy ±", "easy vs first, %", "easy vs first, % ±",
    ]  # fmt: skip
    row = table.loc["mean_wait_s"]
    assert row["fcfs"] == 200.0
    assert row["fcfs ±"] == pytest.approx(4.30265 * 100 / math.sqrt(3), rel=1e-5)
    assert row["easy vs first, %"] == pytest.approx(-100 * 31 / 3 / 200)
    assert row["easy vs first, % ±"] == pytest.approx(100 * 4.30265 / 3 / 200, rel=1e-5)
    line = format_table(table).splitlines()[-1]
    assert line.split() == "mean wait s 3 min 20 s ± 4 min 8 s 3 min 10 s ± 4 min 7 s -5.17 ± 0.72 %".split()


def test_ratios_are_paired_by_hand() -> None:
    """Twice, the same, and twice again: logarithms 0.693, 0, 0.693, mean 0.462, standard error 0.231, t = 4.303."""
    change, low, high = geometric_change(np.array([2.0, 50.0, 600.0]), np.array([1.0, 50.0, 300.0]))
    assert change == pytest.approx(100 * (4 ** (1 / 3) - 1))
    assert (low, high) == pytest.approx(
        [100 * math.expm1(0.462098 + sign * 4.30265 * 0.231049) for sign in (-1, 1)], rel=1e-4
    )


def test_values_that_are_missing_or_never_change() -> None:
    """No value in one replication, no mean; equal values, no interval to speak of; a single replication, none."""
    runs = {
        "a": [{"energy_j": 0.0, "makespan_s": None}, {"energy_j": 0.0, "makespan_s": 1.0}],
        "b": [{"energy_j": 0.0, "makespan_s": 2.0}, {"energy_j": 0.0, "makespan_s": 2.0}],
    }
    table = replication_table(runs)
    assert table.loc["energy_j", ["a", "a ±", "b vs first, %"]].tolist() == [0.0, 0.0, 0.0]
    assert np.isnan(table.loc["makespan_s", ["a", "b vs first, %"]].astype(float)).all()
    once = replication_table({name: several[:1] for name, several in runs.items()})
    assert np.isnan(float(once.loc["energy_j", "a ±"]))


def test_equal_values_have_that_mean_and_no_interval() -> None:
    """Three times 0.1 over 3 is 0.10000000000000002 in floating point, and all three deviate from it; a log's runs are equal."""
    values = np.full((3, 1), 0.1)
    assert values.mean() != 0.1
    assert (mean_of(values).tolist(), half_width(values).tolist()) == ([0.1], [0.0])
    runs = {name: [{"mean_wait_s": 0.1 * n, "share_delayed": 0.35}] * 3 for name, n in (("a", 1), ("b", 3))}
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
