"""Deadlines: how late jobs are, and what the summary says of it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from cluster_sim import Result, Simulation
from schedulers import Fcfs

from .conftest import jobs, machine


def test_tardiness_is_what_a_job_is_late_and_never_below_nothing() -> None:
    """One early, one exactly in time, one 4 s late, one without a deadline, one that never ran."""
    workload = jobs((0, 1, 5), (0, 1, 5), (0, 1, 5), (0, 1, 5), (0, 2, 5), deadline=[6.0, 10.0, 11.0, math.inf, 1.0])
    result = Simulation(machine((1, 1, "")), workload, Fcfs()).run()
    assert result.jobs["tardiness"].tolist() == pytest.approx([0, 0, 4, np.nan, np.nan], nan_ok=True)
    summary = result.summary()
    assert summary["jobs_late"] == 1
    assert summary["mean_tardiness_s"] == pytest.approx(4 / 3)
    assert summary["max_tardiness_s"] == 4


def test_a_killed_job_is_late_by_when_it_was_killed() -> None:
    """Its request ran out at 7 s, its deadline was at 5 s."""
    workload = jobs((0, 1, 9), requested_time=[7.0], deadline=[5.0])
    result = Simulation(machine((1, 1, "")), workload, Fcfs(), enforce_walltime=True).run()
    assert result.jobs["tardiness"].tolist() == [2]


def test_without_deadlines_there_is_nothing_to_be_late_for(tmp_path: Path) -> None:
    """No number in the table, none in the summary, also after a journey through files."""
    result = Simulation(machine((1, 1, "")), jobs((0, 1, 5)), Fcfs()).run()
    result.save(tmp_path / "out")
    for seen in (result, Result.load(tmp_path / "out")):
        assert np.isnan(seen.jobs["tardiness"]).all()
        summary = seen.summary()
        for key in ("jobs_late", "mean_tardiness_s", "max_tardiness_s"):
            assert summary[key] is None or math.isnan(summary[key])
