"""Every metric of a run, on a schedule that was worked out by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cluster_sim import Platform, Result, Simulation, Workload, make_scheduler
from cluster_sim.records.summary import job_metrics
from cluster_sim.workload.fields import RESULT_TABLES, SUMMARY_METRICS, names
from schedulers import Fcfs
from tests.support.rows import workload_of

BY_HAND = {
    "jobs_submitted": 5,
    "jobs_completed": 3,
    "jobs_killed": 1,
    "jobs_rejected": 1,
    "jobs_unfinished": 0,
    "first_submission_s": 10.0,
    "last_completion_s": 70.0,
    "makespan_s": 60.0,
    "throughput_jobs_per_h": 3 / 60 * 3600,
    "utilisation": (2 * 20 + 5 + 40 + 8) / (2 * 60),
    "mean_wait_s": (0 + 18 + 15 + 15) / 4,
    "median_wait_s": 15.0,
    "p95_wait_s": 15 + 0.85 * 3,
    "max_wait_s": 18.0,
    "mean_turnaround_s": (20 + 23 + 55 + 23) / 4,
    "mean_slowdown": (1 + 23 / 5 + 55 / 40 + 23 / 8) / 4,
    "mean_bounded_slowdown": (1 + 23 / 10 + 55 / 40 + 23 / 10) / 4,
    "mean_stretch": (0 + 18 / 10 + 0 + 15 / 8) / 4,
    "mean_queue_length": (3 * 1 + 5 * 2 + 10 * 3 + 5 * 1) / 60,
    "max_queue_length": 3,
    "energy_j": 10 * 5 + 20 * 14 + 5 * 14 + 8 * 14 + 27 * 12,
    "edp_js": 836 * 60.0,
    "energy_jobs_j": 786.0,
    "energy_unused_j": 0.0,
    "energy_idle_j": 50.0,
    "energy_computing_j": 786.0,
    "energy_off_j": 0.0,
    "energy_switching_on_j": 0.0,
    "energy_switching_off_j": 0.0,
    "energy_waste_j": 50.0,
    "node_switches": 0,
    "mean_watts": 836 / 70,
    "max_watts": 14.0,
}


@pytest.mark.parametrize("metric", BY_HAND)
def test_metrics_of_the_run(worked_by_hand: Result, metric: str) -> None:
    """Counts, times, queue and energy, as a person adds them up."""
    assert worked_by_hand.summary()[metric] == pytest.approx(BY_HAND[metric], rel=1e-12)


def test_the_summary_is_the_table_of_metrics(worked_by_hand: Result) -> None:
    """Its keys are those of the one table that the manual is made from, in its order; none was left out above."""
    assert worked_by_hand.summary().index.tolist() == names(SUMMARY_METRICS)
    assert set(BY_HAND) <= set(names(SUMMARY_METRICS))


def test_metrics_of_each_job(worked_by_hand: Result) -> None:
    """Waits, run times, turnaround, slowdowns, stretch and joules of the five jobs."""
    jobs = worked_by_hand.jobs
    nan = float("nan")
    for column, expected in {
        "allocation_time": [10, 30, 30, nan, 35],
        "start_time": [10, 30, 30, nan, 35],
        "finish_time": [30, 35, 70, nan, 43],
        "wait_time": [0, 18, 15, nan, 15],
        "run_time": [20, 5, 40, nan, 8],
        "turnaround_time": [20, 23, 55, nan, 23],
        "slowdown": [1, 4.6, 1.375, nan, 2.875],
        "bounded_slowdown": [1, 2.3, 1.375, nan, 2.3],
        "stretch": [0, 1.8, 0, nan, 1.875],
        "energy_j": [20 * 14, 5 * 7, 13 * 7 + 27 * 12, 0, 8 * 7],
    }.items():
        assert jobs[column].to_numpy(float) == pytest.approx(np.array(expected, float), rel=1e-12, nan_ok=True), column
    assert jobs["state"].tolist() == ["completed", "completed", "completed", "rejected", "killed"]
    assert jobs["reason"].tolist() == ["", "", "", "it asks for 3 cores, the platform has 2", "walltime"]


def test_the_other_tables(worked_by_hand: Result) -> None:
    """Queue, power, node states and allocations of the same schedule."""
    assert worked_by_hand.queue.values.tolist() == [
        [10, 0, 0],
        [12, 1, 1],
        [15, 2, 2],
        [20, 3, 3],
        [30, 1, 1],
        [35, 0, 0],
    ]
    assert worked_by_hand.node_states.values.tolist() == [
        ["cluster0.node0", "IDLE", 0, 10],
        ["cluster0.node0", "COMPUTING", 10, 70],
    ]
    power = worked_by_hand.power
    for time, watts in {0: 5, 9.9: 5, 10: 14, 30: 14, 42: 14, 43: 12, 69: 12}.items():
        assert power["watts"].to_numpy()[np.searchsorted(power["time"], time, side="right") - 1] == watts
    assert power["time"].iloc[-1] == 70
    assert worked_by_hand.allocations[["job_id", "first_core", "last_core", "start", "end"]].values.tolist() == [
        ["0", 0, 1, 10, 30],
        ["1", 0, 0, 30, 35],
        ["2", 1, 1, 30, 70],
        ["4", 0, 0, 35, 43],
    ]


def test_tables_have_the_columns_that_the_manual_lists(something_of_everything: Result) -> None:
    """Every table, in the order of the one table of fields."""
    for name, fields in RESULT_TABLES.items():
        assert getattr(something_of_everything, name).columns.tolist() == names(fields)


def test_jobs_of_no_length() -> None:
    """A slowdown of nothing is no number, and counts in no mean; bounded, it is turnaround over ten seconds, or one."""
    workload = Workload({"submit_time": [0.0, 1.0], "requested_cores": [1, 1], "recorded_run_time": [31.0, 0.0]})
    result = Simulation(Platform.homogeneous(1, 1), workload, Fcfs()).run()
    assert result.jobs["slowdown"].isna().tolist() == [False, True]
    assert result.jobs["bounded_slowdown"].tolist() == [1.0, 3.0]
    assert result.summary()["mean_slowdown"] == 1.0


def test_metrics_without_a_finished_job() -> None:
    """Means over nothing are none; counts and energy are there."""
    workload = Workload({"submit_time": [2.0], "requested_cores": [9], "recorded_run_time": [1.0]})
    result = Simulation(Platform.homogeneous(1, 2, power={"static_w": 0.0}), workload, Fcfs()).run()
    summary, none = result.summary(), ["mean_wait_s", "mean_slowdown", "throughput_jobs_per_h"]
    assert summary["jobs_rejected"] == 1
    assert summary[none].isna().all()
    assert [result.metrics[key] for key in none] == [None] * 3
    assert (summary["makespan_s"], summary["energy_j"], summary["edp_js"]) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("until", [None, 150.0])
def test_a_summary_is_that_of_the_tables(until: float | None) -> None:
    """It is made of arrays, without the tables' data frames; those give the same, also where jobs ran again."""
    rng = np.random.default_rng(3)
    columns = {
        "submit_time": np.sort(rng.uniform(0.0, 200.0, 30)).tolist(),
        "requested_cores": rng.integers(1, 9, 30).tolist(),
        "recorded_run_time": rng.choice([0.0, 5.0, 70.0], 30).tolist(),
        "requested_time": rng.choice([0.0, 6.0, 80.0], 30).tolist(),
    }
    failures = "exponential:mtbf=60,repair=20,limit=3"
    machine = Platform.homogeneous(nodes=3, cores=4)
    result = Simulation(machine, Workload(columns), Fcfs(), seed=1, failures=failures, until=until).run()
    summary, end = result.summary(), float(result.power["time"].iloc[-1])
    now = end if until is None else until
    of_frames = job_metrics(result.jobs, result.attempts, machine.core_count, end, now)
    known = {name: value for name, value in of_frames.items() if np.isfinite(value)}
    assert known == {name: summary[name] for name in of_frames if np.isfinite(summary[name])}
    assert known["jobs_requeued"] > 0
    assert (known["jobs_unfinished"] > 0) == (until is not None)
    if until is not None:
        return
    waits = result.jobs["wait_time"].dropna()
    figures = {
        "mean_wait_s": waits.mean(),
        "p95_wait_s": waits.quantile(0.95),
        "max_wait_s": waits.max(),
        "mean_turnaround_s": result.jobs["turnaround_time"].mean(),
        "mean_bounded_slowdown": result.jobs["bounded_slowdown"].mean(),
    }
    assert {name: known[name] for name in figures} == pytest.approx(figures)


def test_the_queue_of_a_job_that_waits_again() -> None:
    """a is put back at 4 s, behind the shorter b, which had waited from 1 s on; a waits until 9 s and ends at 19 s."""
    workload = workload_of((0.0, 1, 10.0, 10.0), (1.0, 1, 5.0, 5.0), job_id=["a", "b"])
    simulation = Simulation(Platform.homogeneous(1, 1), workload, make_scheduler("easy:order=sjf"))
    simulation.run(until=4.0)
    simulation.requeue("a")
    summary = simulation.run().summary()
    assert summary["mean_queue_length"] == pytest.approx(8.0 / 19.0)
    assert summary["makespan_s"] == 19.0


def test_a_summary_is_a_series_of_numbers() -> None:
    """Rounding and means of two work; a name that is not there is told with the nearest one."""
    workload = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [3.0]})
    result = Simulation(Platform.homogeneous(1, 2), workload, Fcfs()).run()
    summary = result.summary()
    assert summary.dtype == np.float64
    assert summary.round(2)["makespan_s"] == 3.0
    assert pd.concat([summary, summary], axis=1).mean(axis=1)["makespan_s"] == 3.0
    assert result.metrics["jobs_completed"] == 1
    with pytest.raises(KeyError, match="makespan: expected makespan_s"):
        summary["makespan"]
