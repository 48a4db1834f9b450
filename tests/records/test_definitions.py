"""The definitions of metrics, by hand, and that everything that reports one asks for the same definition."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cluster_sim.records.metrics
from cluster_sim import Platform, Result, Simulation, Workload
from cluster_sim.formats.batsim_import import read_outputs
from cluster_sim.formats.batsim_results import write_outputs
from cluster_sim.platform.node_state import NodeState
from cluster_sim.records.metrics import (
    bounded_slowdown,
    delays,
    energy_delay_product,
    energy_waste,
    job_columns,
    makespan,
    mean_level,
    mean_power,
    node_switches,
    on_off_cycles,
    slowdown,
    stretch,
    tardiness,
    throughput,
    utilisation,
    watt_minutes,
)
from learning.tasks.episodes import Whole
from learning.tasks.job_node.environment import JobNode
from learning.tasks.policy_selection.environment import PolicySelection
from schedulers import Fcfs

PLATFORM = Platform.homogeneous(nodes=1, cores=1, power={"static_w": 4.0, "dynamic_w": 6.0, "min_power": 0.5})
JOBS = Workload(
    {
        "submit_time": [0.0, 0.0, 0.0],
        "requested_cores": [1, 1, 1],
        "recorded_run_time": [5.0, 20.0, 4.0],
        "requested_time": [10.0, 40.0, 50.0],
    }
)
# One core at 10 W, in order of submission: waits 0, 5, 25 s; turnarounds 5, 25, 29 s.
BY_HAND = {
    "energy_j": 290.0,
    "makespan_s": 29.0,
    "edp_js": 8410.0,
    "mean_wait_s": (0 + 5 + 25) / 3,
    "max_wait_s": 25.0,
    "mean_turnaround_s": (5 + 25 + 29) / 3,
    "mean_slowdown": (1 + 25 / 20 + 29 / 4) / 3,
    "mean_bounded_slowdown": (1 + 25 / 20 + 29 / 10) / 3,
    "max_bounded_slowdown": 2.9,
}
REWARDS = {
    "energy": "energy_j",
    "makespan": "makespan_s",
    "edp": "edp_js",
    "wait": "mean_wait_s",
    "slowdown": "mean_slowdown",
    "bounded-slowdown": "mean_bounded_slowdown",
}


def of_one_job(turnaround: float, run: float, wait: float, requested: float) -> list[float]:
    """Slowdown, bounded slowdown and stretch of a job, as plain numbers."""
    return [slowdown(turnaround, run), bounded_slowdown(turnaround, run), stretch(wait, requested)]


@pytest.mark.parametrize(
    ("turnaround", "run", "wait", "requested", "expected"),
    [
        (29.0, 4.0, 25.0, 50.0, [7.25, 2.9, 0.5]),
        (25.0, 20.0, 5.0, 40.0, [1.25, 1.25, 0.125]),
        (5.0, 5.0, 0.0, 10.0, [1.0, 1.0, 0.0]),
        (30.0, 0.0, 30.0, math.inf, [math.nan, 3.0, 0.0]),
        (6.0, 3.0, 3.0, 0.0, [2.0, 1.0, math.nan]),
    ],
)
def test_metrics_of_a_job(turnaround: float, run: float, wait: float, requested: float, expected: list[float]) -> None:
    """By hand, and the same of numbers, of which rewards ask, as of arrays, of which tables do."""
    assert of_one_job(turnaround, run, wait, requested) == pytest.approx(expected, nan_ok=True)
    one, two, three, four = (np.array([value, value]) for value in (turnaround, run, wait, requested))
    of_many = np.array([slowdown(one, two), bounded_slowdown(one, two), stretch(three, four)])
    assert np.array_equal(of_many.T, [of_one_job(turnaround, run, wait, requested)] * 2, equal_nan=True)


def test_columns_of_a_job_that_never_started() -> None:
    """All of them are NaN, also where a time of its end is known; a job without a deadline is neither late nor in time."""
    nan = math.nan
    columns = job_columns(
        np.array([1.0, 2.0]), np.array([nan, 4.0]), np.array([9.0, 9.0]), np.array([5.0, 5.0]), np.array([8.0, 8.0])
    )
    assert {name: values[0] for name, values in columns.items()} == pytest.approx(
        dict.fromkeys(columns, nan), nan_ok=True
    )
    assert columns["tardiness"][1] == 1.0
    assert np.isnan(tardiness(np.array([3.0]), np.array([math.inf]))).all()


def test_metrics_of_runs_by_hand() -> None:
    """What is divided by no time has no value; an odd number of switches is one cycle fewer than it is switches."""
    assert makespan(10.0, 70.0) == 60.0
    assert throughput(3, 60.0) == 180.0
    assert utilisation(93.0, 2, 60.0) == 0.775
    assert mean_level(np.array([1, 3, 0]), np.array([0.0, 10.0, 20.0, 40.0])) == 1.0
    assert energy_delay_product(836.0, 60.0) == 50160.0
    assert mean_power(840.0, 70.0) == 12.0
    assert watt_minutes(120.0) == 2.0
    joules = {state: 10.0**i for i, state in enumerate(NodeState)}
    assert energy_waste(joules) == sum(v for s, v in joules.items() if s in ("SWITCHING_ON", "IDLE", "SWITCHING_OFF"))
    assert (node_switches(3, 2), on_off_cycles(3, 2)) == (5, 2)
    without_time = [throughput(3, 0.0), utilisation(1.0, 2, 0.0), mean_power(5.0, 0.0)]
    assert np.isnan([*without_time, mean_level(np.array([1]), np.array([4.0, 4.0]))]).all()


def test_delays_by_hand() -> None:
    """Half the requested time: 5 s of 40 are in time, 25 of 50 are late by nothing, 30 of 50 by 5 s."""
    waits = Simulation(PLATFORM, JOBS, Fcfs()).run().jobs
    assert delays(waits).isna().tolist() == [True, True, False]
    assert delays(waits, 0.1).tolist() == pytest.approx([math.nan, 1.0, 20.0], nan_ok=True)


def returns(env: Any) -> tuple[float, dict[str, float]]:
    """Sum of the rewards of an episode that takes the first allowed action throughout, and the metrics at its end."""
    _, info = env.reset(seed=0)
    total, over = 0.0, False
    while not over:
        _, reward, terminated, truncated, info = env.step(int(env.action_masks().argmax()))
        total, over = total + reward, terminated or truncated
    return total, info["metrics"]


def reported(folder: Path) -> dict[str, dict[str, float]]:
    """The metrics of :data:`BY_HAND` by everything that reports them."""
    result = Simulation(PLATFORM, JOBS, Fcfs()).run()
    write_outputs(result, folder / "out")
    imported = read_outputs(folder / "out", PLATFORM)
    found = {name: dict(one.summary()) for name, one in (("summary", result), ("import", imported))}
    found["table"] = _of_the_table(result)
    found["JobNode"] = returns(JobNode(PLATFORM, JOBS, merge_equal=False))[1]
    for name, key in REWARDS.items():
        if name != "slowdown":
            env = JobNode(PLATFORM, JOBS, merge_equal=False, reward=f"{name}:scaled=no,shaped=no")
            found[f"reward {name}"] = {key: -returns(env)[0]}
        chooser = PolicySelection(
            Whole(PLATFORM, JOBS), reward=f"metric:objective={name},scale=1", policies=("first/first",)
        )
        found[f"selection reward {name}"] = {key: -returns(chooser)[0]}
    return {name: {key: values[key] for key in BY_HAND if key in values} for name, values in found.items()}


def _of_the_table(result: Result) -> dict[str, float]:
    jobs = result.jobs
    columns = {"wait": "wait_time", "turnaround": "turnaround_time", "bounded_slowdown": "bounded_slowdown"}
    means = {f"mean_{name}": float(jobs[column].mean()) for name, column in columns.items()}
    return {
        "mean_wait_s": means["mean_wait"],
        "mean_turnaround_s": means["mean_turnaround"],
        "mean_bounded_slowdown": means["mean_bounded_slowdown"],
        "mean_slowdown": float(jobs["slowdown"].mean()),
        "max_bounded_slowdown": float(jobs["bounded_slowdown"].max()),
    }


def test_all_report_the_same(tmp_path: Path) -> None:
    """The hand-worked values in tables, summaries, imported results, environments and the returns of rewards alike."""
    for name, values in reported(tmp_path).items():
        assert values, name
        assert values == pytest.approx({key: BY_HAND[key] for key in values}, rel=1e-12), name


def test_the_bound_of_slowdowns_stands_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 25 s for 10 s in the one definition, everything that reports a bounded slowdown follows: 1, 1 and 29/25."""
    monkeypatch.setattr(cluster_sim.records.metrics, "BOUND_S", 25.0)
    bounded = {"mean_bounded_slowdown": (1 + 1 + 29 / 25) / 3, "max_bounded_slowdown": 29 / 25}
    found = {name: {k: v for k, v in values.items() if k in bounded} for name, values in reported(tmp_path).items()}
    followers = {name for name, values in found.items() if values}
    assert followers == {
        *("summary", "import", "table", "JobNode", "reward bounded-slowdown", "selection reward bounded-slowdown")
    }
    for name in followers:
        assert found[name] == pytest.approx({key: bounded[key] for key in found[name]}, rel=1e-12), name
