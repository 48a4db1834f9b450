"""What commit 9eea1f1 left is read as it was: results, agents, sweeps, names that packages offer."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

from cluster_sim import Platform, Result, Simulation, Workload, make_scheduler

FILES = Path(__file__).with_name("9eea1f1")
WITHOUT_PYARROW = "the rows of a sweep are Parquet"


def test_a_saved_result_loads() -> None:
    """With its tables, its metrics and the reasons of its decisions."""
    result = Result.load(FILES / "result")
    assert result.jobs[["job_id", "start_time", "finish_time"]].values.tolist() == [
        ["a", 0.0, 60.0],
        ["b", 65.0, 95.0],
        ["c", 20.0, 65.0],
    ]
    assert result.summary()["makespan_s"] == 95.0
    assert result.meta["scheduler"] == "easy"
    assert "overtook it: c" in result.explain("b")


def test_a_saved_agent_decides_as_it_did() -> None:
    """The same network, the same observation, the same schedule."""
    pytest.importorskip("torch")
    workload = Workload.read(FILES / "jobs.csv")
    scheduler = make_scheduler(f"learned:{FILES / 'agent'}")
    jobs = Simulation(Platform.homogeneous(nodes=2, cores=2), workload, scheduler).run(warn=False).jobs
    before = pd.read_csv(FILES / "played-jobs.csv")
    assert jobs["start_time"].tolist() == before["start_time"].tolist()
    assert jobs["finish_time"].tolist() == before["finish_time"].tolist()


def test_a_sweep_is_read() -> None:
    """Its rows, and its factors as columns."""
    pytest.importorskip("pyarrow", reason=WITHOUT_PYARROW)
    from analysis.sweep.runs_table import read_sweep

    runs = read_sweep(FILES / "sweep")
    assert runs["scheduler"].tolist() == ["fcfs", "easy"]
    assert runs["status"].tolist() == ["done", "done"]


@pytest.mark.parametrize("package", ["cluster_sim", "schedulers", "learning", "analysis", "analysis.sweep"])
def test_offered_names_are_still_offered(package: str) -> None:
    """Module paths may change, what a package offers stays."""
    before = json.loads((FILES / "names.json").read_text())[package]
    module = import_module(package)
    assert [name for name in before if not hasattr(module, name)] == []
