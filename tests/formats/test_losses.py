"""What a format cannot say of a workload is told when one is written in it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from cluster_sim import Workload

JOBS: dict[str, Any] = {
    "job_id": ["x7", "y8"],
    "submit_time": [0.0, 5.0],
    "requested_cores": [1, 1],
    "requested_time": [20.0, 20.0],
    "recorded_run_time": [10.0, 10.0],
    "requires": ["ib", ""],
    "exclusive": [True, False],
    "deadline": [50.0, float("inf")],
    "priority": [9.0, 0.0],
    "user": ["ann", "bob"],
    "gpus": [0, 2],
    "status": [1, 1],
}


def told(workload: Workload, path: Path) -> list[str]:
    """What writing the workload warns of, without the path."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        workload.write(path)
    return [str(each.message).removeprefix(f"{path}: ") for each in noted]


def test_columns_without_a_field_are_named(tmp_path: Path) -> None:
    """SWF and JSON name each column that they lose, SWF also those whose names become numbers; CSV loses none."""
    workload = Workload(JOBS, reference_gflops=1.0, header=["; MaxProcs: 4"])
    assert told(workload, tmp_path / "jobs.swf") == [
        "this format has no field for deadline, requires, exclusive, gpus, priority, reference_gflops; .csv has",
        "SWF has numbers only: names are numbered from 1 in order of appearance in job_id, user",
    ]
    assert told(workload, tmp_path / "jobs.json") == ["this format has no field for gpus, status, header; .csv has"]
    assert told(workload, tmp_path / "jobs.csv") == []


@pytest.mark.parametrize("name", ["jobs.swf", "jobs.json"])
def test_nothing_is_told_where_nothing_is_lost(tmp_path: Path, name: str) -> None:
    """A workload of what both formats have a field for is written without a word."""
    kept = ("submit_time", "requested_cores", "requested_time")
    columns = {key: JOBS[key] for key in kept} | {"job_id": ["1", "2"], "operations": [1e9, 2e9], "user": ["3", ""]}
    known = {"reference_gflops": 1.0} if name == "jobs.json" else {}
    if name == "jobs.swf":
        columns["recorded_run_time"] = columns.pop("operations")
    assert told(Workload(columns, **known), tmp_path / name) == []


def test_limits_that_swf_cannot_say_are_told(tmp_path: Path) -> None:
    """A job that may run for ever, or for 0 s, comes back with its run time as request: a perfect estimate."""
    jobs = {"submit_time": [0.0] * 3, "requested_cores": [1] * 3, "recorded_run_time": [10.0] * 3}
    workload = Workload(jobs | {"job_id": ["1", "2", "3"], "requested_time": [float("inf"), 0.0, 20.0]})
    (line,) = told(workload, tmp_path / "jobs.swf")
    assert line.startswith("2 of 3 jobs requested no time, or 0 s, which SWF cannot say")
    again = Workload.read(tmp_path / "jobs.swf")
    assert again.jobs["requested_time"].tolist() == [10.0, 10.0, 20.0]
    assert told(again, tmp_path / "jobs.swf") == []


def test_deadlines_of_a_log_that_began_later(tmp_path: Path) -> None:
    """JSON has times on the log's own clock, deadlines as well as submissions."""
    workload = Workload(JOBS, reference_gflops=1.0, origin_s=1000.0)
    workload.write(tmp_path / "jobs.json")
    again = Workload.read(tmp_path / "jobs.json")
    assert (again.origin_s, again.jobs["submit_time"].tolist()) == (1000.0, [0.0, 5.0])
    assert again.jobs["deadline"].tolist() == [50.0, float("inf")]
