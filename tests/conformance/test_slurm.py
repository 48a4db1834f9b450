"""The real Slurm: recorded passes, decision by decision, and recorded runs, job by job."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.slurm_runs import Recording, computed_pass, passes_that_agree, recorded_pass, replay, slurm_for
from schedulers import make_scheduler

pytestmark = pytest.mark.filterwarnings("ignore")

PASSES = {
    "bf-linear-1": 47,
    "bf-linear-2": 49,
    "bf-defaults": 21,
    "bf-max-job-user": 48,
    "bf-max-job-test": 27,
    "bf-max-job-start": 62,
    "bf-min-age": 50,
    "bf-window": 48,
    "time-min": 45,
    "part-tier": 52,
    "bf-tres-1": 31,
    "bf-tres-2": 40,
    "shapes-1": 38,
    "shapes-2": 47,
    "weights-features": 39,
    "licences": 15,
}
"""Recorded runs with the number of their passes that started or planned something."""

WHOLE_RUNS = (
    "fifo-builtin",
    "bf-linear-1",
    "bf-defaults",
    "bf-max-job-user",
    "bf-min-age",
    "bf-window",
    "time-min",
    "bf-tres-1",
    "bf-tres-2",
    "shapes-1",
    "part-tier",
    "licences",
    "mf-1",
    "mf-2",
    "mf-3",
    "fair-tree",
    "fair-tree-2",
    "fair-classic",
    "qos-limits-2",
)


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_plans_what_slurm_planned(shared: Path, name: str) -> None:
    """From the recorded state of its instant: who starts, every planned start, and every node."""
    recording = Recording.read(shared / "cases" / "slurm" / name)
    plans = [plan for plan in recording.plans["plans"] if plan["t"] >= 0.0]
    assert len(plans) == PASSES[name]
    wrong = [plan["t"] for plan in plans if computed_pass(recording, plan) != recorded_pass(plan)]
    assert wrong == []
    assert passes_that_agree(recording) == (PASSES[name], PASSES[name])


@pytest.mark.parametrize("name", WHOLE_RUNS)
def test_a_run_goes_as_recorded(shared: Path, name: str) -> None:
    """Fed with recorded run times, every job that two recordings share has its nodes and starts in time; by EASY they do not."""
    recording = Recording.read(shared / "cases" / "slurm" / name)
    found = replay(recording, slurm_for(recording))
    assert (found.nodes, found.within) == (found.jobs, found.jobs)
    easy = replay(recording, make_scheduler("easy"))
    assert easy.within < found.within
