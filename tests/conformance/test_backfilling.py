"""Backfilling as other programs do it: pyss, IRMaSim's backfiller, CQSim and Batsim, job by job where they say so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.formats.batsim_results import jobs_table, read_jobs
from cluster_sim.records import Result

from .test_logs import BASIC_INPUTS, read_pyss

BACKFILLING_INPUTS = [f"bf_input.{i}" for i in range(5)]
STRETCHES = np.array([1, 1.5, 2, 3, 5, 10])


def run(workload: Workload, scheduler: str, cores: int = 256) -> Result:
    """On one-core nodes."""
    return Simulation(Platform.homogeneous(nodes=cores, cores=1), workload, make_scheduler(scheduler)).run()


@pytest.mark.parametrize("scheduler", ["easy", "easy:depth=2", "conservative", "conservative:reservation=pinned"])
@pytest.mark.parametrize("name", BACKFILLING_INPUTS + BASIC_INPUTS)
def test_pyss_inputs_say_when_each_job_ends(shared: Path, name: str, scheduler: str) -> None:
    """On 100 processors each job ends at the whole part of its own id, whatever is promised to how many."""
    result = run(read_pyss(shared / "cases" / "pyss" / name), scheduler, 100)
    ids = result.jobs["job_id"]
    assert dict(zip(ids, result.jobs["finish_time"], strict=True)) == {i: float(int(float(i))) for i in ids}


@pytest.fixture(scope="module")
def lublin(shared: Path) -> Workload:
    """The Lublin log; its requested times are the run times."""
    return Workload.read(shared / "traces" / "lublin_256.swf.gz")


def with_long_requests(workload: Workload) -> Workload:
    """The same with ceil(run time times 1, 1.5, 2, 3, 5, 10), by the id modulo 6, as requested time."""
    jobs = workload.jobs.copy()
    jobs["requested_time"] = np.ceil(jobs["recorded_run_time"] * STRETCHES[jobs["job_id"].astype(int) % 6])
    return Workload(jobs, reference_gflops=workload.reference_gflops)


@pytest.mark.parametrize(
    ("jobs", "exact", "scheduler", "wait", "slowdown"),
    [
        (1_000, True, "easy", 11_045.205, 60.7841),
        (2_000, True, "easy", 23_310.532, None),
        (1_000, False, "easy", 10_984.128, 55.9415),
        (2_000, False, "easy", 22_173.481, 216.4879),
        (1_000, True, "easy:reservation=pinned", 10_983.268, None),
        (2_000, True, "easy:reservation=pinned", 22_832.262, None),
    ],
)
def test_lublin_jobs(
    lublin: Workload, jobs: int, exact: bool, scheduler: str, wait: float, slowdown: float | None
) -> None:
    """Mean wait and bounded slowdown of the first jobs: pyss, IRMaSim's backfiller and a textbook program agree on them."""
    workload = lublin.first(jobs)
    summary = run(workload if exact else with_long_requests(workload), scheduler).summary()
    assert summary["mean_wait_s"] == pytest.approx(wait, abs=5.001e-4)
    if slowdown is not None:
        assert summary["mean_bounded_slowdown"] == pytest.approx(slowdown, abs=5.001e-5)
    if jobs == 1_000 and exact and scheduler == "easy":
        assert summary["makespan_s"] == 1_156_731.0


@pytest.mark.parametrize(
    ("scheduler", "wait"), [("fcfs", 1_163_645.83), ("easy", 14_872.45), ("conservative", 16_064.16)]
)
def test_a_lighter_load(lublin: Workload, scheduler: str, wait: float) -> None:
    """10,000 jobs with arrivals 1.35 times as far apart, whole seconds: figures of CQSim and of a textbook program."""
    jobs = lublin.first(10_000).jobs.copy()
    jobs["submit_time"] = np.floor((jobs["submit_time"] + lublin.origin_s) * 1.35)
    workload = Workload(jobs, reference_gflops=lublin.reference_gflops)
    # The figure for conservative has been rounded up: 16,064.1555.
    assert run(workload, scheduler).summary()["mean_wait_s"] == pytest.approx(wait, abs=5.001e-3)


@pytest.fixture(scope="module")
def medium_late(shared: Path) -> tuple[pd.DataFrame, Platform, Workload]:
    """Batsim's EASY schedule of 801 jobs on 32 hosts, and its inputs."""
    root = shared / "cases/batsim-medium-late"
    theirs = read_jobs(root / "easy/out_jobs.csv").set_index("job_id")
    return theirs, Platform.read(root / "platform.xml.gz", max_hosts=32), Workload.read(root / "medium_late.json")


@pytest.mark.parametrize(("reservation", "same"), [("pinned", 801), ("counted", 725)])
def test_batsims_easy(medium_late: tuple[pd.DataFrame, Platform, Workload], reservation: str, same: int) -> None:
    """With the head's promise pinned to hosts, starts and hosts of all 801 jobs; counted, 725 starts are the same."""
    theirs, platform, workload = medium_late
    scheduler = make_scheduler(f"easy:reservation={reservation}")
    result = Simulation(platform, workload, scheduler, power_model="idle").run()
    ours = jobs_table(result).set_index("job_id").loc[theirs.index]
    assert ((ours["starting_time"] - theirs["starting_time"]).abs() < 1e-6).sum() == same
    if reservation == "pinned":
        assert (ours["allocated_resources"] == theirs["allocated_resources"]).all()


def test_batsims_conservative(medium_late: tuple[pd.DataFrame, Platform, Workload]) -> None:
    """Batsim's own schedule has 728 starts and 432 hosts in common with jobs that stay where they were promised a place.

    So has ours with ``replan``, which is its rule.
    """
    _, platform, workload = medium_late
    tables = [
        jobs_table(Simulation(platform, workload, make_scheduler(spec), power_model="idle").run()).set_index("job_id")
        for spec in ("conservative:replan=yes", "conservative:reservation=pinned")
    ]
    ours, stays = tables[0], tables[1].loc[tables[0].index]
    assert ((ours["starting_time"] - stays["starting_time"]).abs() < 1e-6).sum() == 728
    assert (ours["allocated_resources"] == stays["allocated_resources"]).sum() == 432
