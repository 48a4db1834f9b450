"""Failures and checkpoints against the tests of OpenDC: attempts, saved work, ends, and joules where our model has them.

OpenDC (atlarge-research/opendc, commit 691036deb, MIT), ``FailuresAndCheckpointingTest``: one machine with one core, 100 W
idle, also while it is down, and 150 W under a job that uses half of it; a job that has failed ten times is given up.
All nine cases stand in ../shared, three of them here.

Two of them (testCheckpoints2 and 3) have a job whose power changes in its middle, which no job of ours does: their times
are compared, their joules are not.
"""

from __future__ import annotations

import json
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from cluster_sim import Platform, Simulation, Workload
from cluster_sim.platform import PowerTransitions
from schedulers import Fcfs

OWN: list[dict[str, Any]] = [
    {
        "name": "testFailures3",
        "fragments": [[600_000, 1000]],
        "failures": [{"interval_ms": 300_000, "down_ms": 300_000}, {"interval_ms": 420_000, "down_ms": 600_000}],
        "repeat": False,
        "checkpoint": None,
        "expected": {
            "end_ms": 2_220_000,
            "state": "completed",
            "energy_j": 288_000.0,
            "attempts": [
                {"start_ms": 0, "stop_ms": 300_000, "saved_work_ms": 0, "checkpoints": 0},
                {"start_ms": 600_000, "stop_ms": 1_020_000, "saved_work_ms": 0, "checkpoints": 0},
                {"start_ms": 1_620_000, "stop_ms": 2_220_000, "saved_work_ms": 600_000, "checkpoints": 0},
            ],
            "energy_per_minute_j": {"0": 9000, "5": 6000, "10": 9000},
        },
    },
    {
        "name": "testFailures4",
        "fragments": [[600_000, 1000]],
        "failures": [{"interval_ms": 300_000, "down_ms": 300_000}],
        "repeat": True,
        "checkpoint": None,
        "expected": {
            "end_ms": 5_700_000,
            "state": "given up",
            "energy_j": 720_000.0,
            "attempts": [
                {"start_ms": 600_000 * k, "stop_ms": 600_000 * k + 300_000, "saved_work_ms": 0, "checkpoints": 0}
                for k in range(10)
            ],
            "energy_per_minute_j": {"0": 9000, "5": 6000, "90": 9000},
        },
    },
    {
        "name": "testCheckpoints4",
        "fragments": [[600_000, 1000]],
        "failures": [{"interval_ms": 300_000, "down_ms": 300_000}],
        "repeat": False,
        "checkpoint": {"interval_ms": 60_000, "duration_ms": 1000, "scaling": 1.5},
        "expected": {
            "end_ms": 918_000,
            "state": "completed",
            "energy_j": 122_700.0,
            "attempts": [
                {"start_ms": 0, "stop_ms": 300_000, "saved_work_ms": 285_000, "checkpoints": 3},
                {"start_ms": 600_000, "stop_ms": 918_000, "saved_work_ms": 600_000, "checkpoints": 3},
            ],
        },
    },
]
GIVEN_UP_AFTER = 10
MACHINE = Platform.homogeneous(
    nodes=1,
    cores=1,
    power={"static_w": 100.0, "dynamic_w": 50.0, "min_power": 1.0},
    transitions=PowerTransitions(failed_w=100.0),
)


def trace(case: dict[str, Any], path: Path) -> str:
    """The list of failures as a file: each counts from the repair of the one before."""
    failures = case["failures"]
    now, rows = 0.0, ["time,node,event"]
    for one in islice(cycle(failures), 2 * GIVEN_UP_AFTER if case["repeat"] else len(failures)):
        failed = now + one["interval_ms"] / 1000.0
        now = failed + one["down_ms"] / 1000.0
        rows += [f"{failed},0,fail", f"{now},0,repair"]
    path.write_text("\n".join(rows) + "\n")
    return f"trace:{path},limit={GIVEN_UP_AFTER}"


def check(case: dict[str, Any], folder: Path) -> None:
    """Play a case and compare all that is known of it."""
    work_s = sum(duration for duration, _ in case["fragments"]) / 1000.0
    columns: dict[str, list[Any]] = {"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [work_s]}
    saving = case["checkpoint"]
    if saving:
        columns |= {
            "checkpoint_interval": [str(saving["interval_ms"] / 1000.0)],
            "checkpoint_time": [saving["duration_ms"] / 1000.0],
            "checkpoint_growth": [saving["scaling"]],
        }
    failures = trace(case, folder / "failures.csv")
    result = Simulation(MACHINE, Workload(columns), Fcfs(), failures=failures).run()
    expected, attempts = case["expected"], result.attempts
    states = {"completed": "completed", "given up": "killed"}
    job = result.jobs.iloc[0]
    assert (job["state"], job["finish_time"]) == (
        states[expected["state"]],
        pytest.approx(expected["end_ms"] / 1000.0, rel=1e-12),
    )
    known = expected["attempts"]
    assert attempts["start_time"].tolist() == pytest.approx([one["start_ms"] / 1000.0 for one in known], rel=1e-12)
    assert attempts["end_time"].tolist() == pytest.approx([one["stop_ms"] / 1000.0 for one in known], rel=1e-12)
    done = attempts["work_done"] * work_s
    saved = done - attempts["lost_core_s"]
    assert saved.tolist() == pytest.approx([one["saved_work_ms"] / 1000.0 for one in known], rel=1e-12)
    if saving:
        lasted = attempts["end_time"] - attempts["start_time"]
        checkpoints = (lasted - (done - saved.shift(fill_value=0.0))) / (saving["duration_ms"] / 1000.0)
        assert checkpoints.tolist() == pytest.approx([one["checkpoints"] for one in known], rel=1e-9)
    if len({demand for _, demand in case["fragments"]}) == 1:
        assert result.summary()["energy_j"] == pytest.approx(expected["energy_j"], rel=1e-12)
        assert result.summary()["energy_lost_j"] == pytest.approx(150.0 * attempts["lost_core_s"].sum(), rel=1e-12)
        for minute, joules in expected.get("energy_per_minute_j", {}).items():
            seen = result.power[result.power["time"] <= 60.0 * float(minute)]
            if 60.0 * float(minute) < job["finish_time"]:
                assert seen["watts"].iloc[-1] * 60.0 == joules


@pytest.mark.parametrize("case", OWN, ids=lambda case: case["name"])
def test_the_cases_of_opendc(case: dict[str, Any], tmp_path: Path) -> None:
    """Three of them, with their figures."""
    check(case, tmp_path)


def test_all_cases_of_opendc(shared: Path, tmp_path: Path) -> None:
    """All nine."""
    cases = json.loads((shared / "cases/opendc-failures/cases.json").read_text())["cases"]
    assert len(cases) == 9
    for case in cases:
        check(case, tmp_path)
