"""First come, first served on logs: schedules that pyss' authors worked out, and figures that three programs agree on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler

FCFS_INPUTS = [f"fcfs_input.{i}" for i in range(8)]
BASIC_INPUTS = [f"basic_input.{i}" for i in range(29)]


def read_pyss(path: Path) -> Workload:
    """A pyss file: ``submit id estimate processors actual …``; its simulator passes over estimates that are too short."""
    rows = [line.split() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    rows = [row for row in rows if int(row[2]) >= int(row[4])]
    columns = {
        "job_id": [row[1] for row in rows],
        "submit_time": [float(row[0]) for row in rows],
        "requested_time": [float(row[2]) for row in rows],
        "requested_cores": [int(row[3]) for row in rows],
        "recorded_run_time": [float(row[4]) for row in rows],
    }
    return Workload(columns, name=path.name)


@pytest.mark.parametrize("name", FCFS_INPUTS + BASIC_INPUTS)
def test_pyss_inputs_say_when_each_job_ends(shared: Path, name: str) -> None:
    """On 100 processors each job ends at the whole part of its own id, which is text: 2.1 is not 2.10."""
    workload = read_pyss(shared / "cases" / "pyss" / name)
    result = Simulation(Platform.homogeneous(nodes=100, cores=1), workload, make_scheduler("fcfs")).run()
    assert len(result.jobs) > 0
    ids = result.jobs["job_id"]
    assert dict(zip(ids, result.jobs["finish_time"], strict=True)) == {i: float(int(float(i))) for i in ids}


def test_every_pyss_input_is_tried(shared: Path) -> None:
    """The lists above leave none of the FCFS files out."""
    there = {path.name for path in (shared / "cases" / "pyss").iterdir()}
    assert {name for name in there if name.startswith(("fcfs_", "basic_"))} == set(FCFS_INPUTS + BASIC_INPUTS)


@pytest.mark.parametrize(
    ("jobs", "mean_wait", "bounded_slowdown", "makespan"),
    [(1_000, 158_270.95, 4159.6091, 1_519_735.0), (2_000, 432_425.0135, None, None)],
)
def test_lublin_jobs(
    shared: Path, jobs: int, mean_wait: float, bounded_slowdown: float | None, makespan: float | None
) -> None:
    """The first jobs of the Lublin log on 256 processors: figures of pyss, IRMaSim's backfiller and a textbook program."""
    workload = Workload.read(shared / "traces" / "lublin_256.swf.gz").first(jobs)
    result = Simulation(Platform.homogeneous(nodes=256, cores=1), workload, make_scheduler("fcfs")).run()
    summary = result.summary()
    digits = len(str(mean_wait).partition(".")[2])
    assert summary["mean_wait_s"] == pytest.approx(mean_wait, abs=0.5001 * 10**-digits)
    if bounded_slowdown is not None:
        assert summary["mean_bounded_slowdown"] == pytest.approx(bounded_slowdown, abs=5.001e-5)
        assert summary["makespan_s"] == makespan
    run_time = workload.jobs["recorded_run_time"].to_numpy()
    assert np.array_equal(result.jobs["run_time"].to_numpy(), run_time)
