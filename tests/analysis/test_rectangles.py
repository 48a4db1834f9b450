"""Geometry of rows and rectangles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.figures.timelines import coarsened
from analysis.gantt_chart.rectangles import busy_fraction, job_rectangles
from analysis.gantt_chart.rows import RowScale
from cluster_sim.platform import Platform

from .conftest import FakeResult


def test_cores_are_rows_only_when_they_are_few() -> None:
    """64 cores are drawn by core, 65 by node."""
    assert RowScale.of(Platform.homogeneous(nodes=8, cores=8)).unit == "core"
    assert RowScale.of(Platform.homogeneous(nodes=5, cores=13)).unit == "node"


def test_platforms_of_any_size_have_rows() -> None:
    """A hundred thousand nodes are an array, and a core's place is right at its end."""
    scale = RowScale.of(Platform.homogeneous(nodes=100_000, cores=4))
    assert scale.height == 100_000
    low, high = scale.extent(np.array([399_999]), np.array([399_999]))
    assert (low.tolist(), high.tolist()) == ([99_999.25], [99_999.5])


def test_merging_keeps_the_area(small: FakeResult) -> None:
    """Core-seconds of the rectangles are core-seconds of the table."""
    scale = RowScale.of(small.platform)
    rectangles = job_rectangles(small.core_holds, scale)
    area = (rectangles["end"] - rectangles["start"]) * (rectangles["last_core"] - rectangles["first_core"] + 1)
    assert area.sum() == 2 * 10 + 3 * 15 + 1 * 6


def test_neighbours_at_other_times_stay_apart(small: FakeResult) -> None:
    """Rows of one job on neighbouring cores merge only when start and end are the same."""
    table = small.allocations.assign(job_id="a", node="cluster0.node0", processor="processor0")
    table = table.assign(first_core=[0, 1, 2, 3], last_core=[0, 1, 2, 3], start=[0.0, 0.0, 1.0, 1.0], end=2.0).iloc[:4]
    scale = RowScale.of(small.platform)
    table.loc[2:, "processor"] = "processor1"
    table.loc[2:, ["first_core", "last_core"]] -= 2
    rectangles = job_rectangles(replace(small, allocations=table).core_holds, scale)
    assert rectangles[["first_core", "last_core", "start"]].to_numpy().tolist() == [[0, 1, 0.0], [2, 3, 1.0]]


def test_busy_fraction_by_hand() -> None:
    """A rectangle over a quarter of one cell and half of its neighbour in time."""
    rectangle = pd.DataFrame({"start": [0.5], "end": [2.0], "low": [0.0], "high": [0.5]})
    share = busy_fraction(rectangle, np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 2.0]))
    assert share.tolist() == [[0.25, 0.5, 0.0], [0.0, 0.0, 0.0]]


def test_busy_fraction_against_counting_points() -> None:
    """Random rectangles against the share of a fine grid of points that they cover."""
    rng = np.random.default_rng(5)
    # Rectangles on a fine lattice that do not overlap: one per row of height 0.25.
    start, low = rng.integers(0, 300, 40) / 20, np.arange(40) / 4
    table = pd.DataFrame({"start": start, "end": start + rng.integers(1, 100, 40) / 20, "low": low, "high": low + 0.25})
    share = busy_fraction(table, np.linspace(0, 20, 11), np.linspace(0, 10, 6))
    x, y = (np.arange(400) + 0.5) / 20, (np.arange(40) + 0.5) / 4
    inside = (x[None, :] > table["start"].to_numpy()[:, None]) & (x[None, :] < table["end"].to_numpy()[:, None])
    assert len(y) == len(inside)
    counted = inside.reshape(5, 8, 10, 40).mean(axis=(1, 3))
    assert np.allclose(share, counted, atol=1e-12)


def test_coarse_steps_by_hand() -> None:
    """8 W for one of four seconds, in two bins."""
    time, value = coarsened(np.array([0.0, 1.0, 4.0]), np.array([8.0, 0.0, 0.0]), 2)
    assert (time.tolist(), value.tolist()) == ([0.0, 2.0, 4.0], [4.0, 0.0, 0.0])
