"""Published logs of GPU clusters, in small files of the same form."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cluster_sim import Platform, Simulation, Workload
from cluster_sim.errors import FormatError, ModelWarning
from schedulers import make_scheduler

HELIOS = """job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
7,u1,v1,8,64,2,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:31,2020-06-09 19:41:31,3600,30
8,u2,v1,0,4,1,CANCELLED by 7,2020-06-09 18:42:01,2020-06-09 18:42:01,2020-06-09 18:42:11,10,0
9,u2,v1,1,4,1,FAILED,2020-06-09 18:42:01,None,None,,
"""
EAGLE = """job_id,user,account,partition,qos,wallclock_req,nodes_req,processors_req,gpus_req,mem_req,\
submit_time,start_time,end_time,run_time,state,name
3,u1,a1,gpu,high,7200.0,2,72,4,0.0,2019-01-01 08:55:55,2019-01-01 08:56:05,2019-01-01 09:06:05,600.0,TIMEOUT,x
"""
TIRESIAS = (
    "job_id,num_gpu,submit_time,iterations,model_name,duration,interval\n0,1,5,6,vgg,164,30\n1,8,35,1,net,147,2\n"
)
PM100 = {
    "job_id": [4, 5],
    "user_id": [1, 2],
    "num_cores_req": [128, 4],
    "num_nodes_req": [2, 1],
    "num_gpus_req": [8, 1],
    "run_time": [60, 61],
    "time_limit": [90, 2],
    "submit_time": pd.to_datetime(["2020-05-01 00:00:00", "2020-05-01 00:00:07"], utc=True),
    "start_time": pd.to_datetime(["2020-05-01 00:00:04", "2020-05-01 00:00:07"], utc=True),
    "job_state": ["COMPLETED", "NODE_FAIL"],
    "partition": ["1", "1"],
    "power_consumption": [[1.0, 2.0], [3.0]],
}
PHILLY: list[dict[str, Any]] = [
    {
        "status": "Pass", "vc": "v", "jobid": "app_1", "user": "u", "submitted_time": "2017-10-07 01:00:00",
        "attempts": [
            {"start_time": "2017-10-07 01:00:10", "end_time": "2017-10-07 01:00:20",
             "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}]},
            {"start_time": "2017-10-07 01:01:00", "end_time": "2017-10-07 01:02:00",
             "detail": [{"ip": "m1", "gpus": ["gpu0"]}, {"ip": "m2", "gpus": ["gpu0", "gpu3"]}]},
        ],
    },
    {"status": "Killed", "vc": "v", "jobid": "app_2", "user": "w", "submitted_time": "2017-10-07 01:00:05", "attempts": []},
]  # fmt: skip


def read(path: Path, content: str = "") -> tuple[pd.DataFrame, str]:
    """The jobs of a file, which may have to be written first, and what is told of it."""
    if content:
        path.write_text(content)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        jobs = Workload.read(str(path)).jobs
    return jobs, " / ".join(str(one.message) for one in caught)


def test_helios(tmp_path: Path) -> None:
    """A job without a run time is left out; a virtual cluster is a partition."""
    jobs, told = read(tmp_path / "cluster_log.csv", HELIOS)
    found = jobs[["job_id", "submit_time", "recorded_run_time", "requested_cores", "nodes", "gpus"]].values.tolist()
    assert found == [["7", 0.0, 3600.0, 64, 2, 8], ["8", 60.0, 10.0, 4, 0, 0]]
    assert jobs[["recorded_wait_time", "status", "partition"]].values.tolist() == [[30.0, 1, "v1"], [0.0, 5, "v1"]]
    assert "log of Helios: 1 of 3 jobs left out: 1 without a run time; not read: queue" in told


def test_eagle(tmp_path: Path) -> None:
    """Limits are seconds; the unit of its memory is not documented, so that it is not read."""
    jobs, told = read(tmp_path / "eagle.csv", EAGLE)
    columns = ["requested_time", "recorded_run_time", "requested_cores", "nodes", "gpus", "qos", "recorded_wait_time"]
    assert jobs[columns].values.tolist() == [[7200.0, 600.0, 72, 2, 4, "high", 10.0]]
    assert told.endswith("log of Eagle: not read: mem_req, name")


def test_pm100(tmp_path: Path) -> None:
    """Parquet; limits are minutes."""
    path = tmp_path / "job_table.parquet"
    pd.DataFrame(PM100).to_parquet(path)
    jobs, told = read(path)
    columns = ["submit_time", "requested_time", "requested_cores", "nodes", "gpus", "recorded_wait_time"]
    assert jobs[columns].values.tolist() == [[0.0, 5400.0, 128, 2, 8, 4.0], [7.0, 120.0, 4, 0, 1, 0.0]]
    assert "not read: power_consumption" in told


@pytest.mark.parametrize("name", ["cluster_job_log", "jobs.json"])
def test_philly(tmp_path: Path, name: str) -> None:
    """All attempts of a job are its run time, the GPUs of the last those that it asks for; one that never ran is left out."""
    jobs, told = read(tmp_path / name, json.dumps(PHILLY))
    columns = ["job_id", "recorded_run_time", "requested_cores", "gpus", "nodes", "recorded_wait_time", "status"]
    assert jobs[columns].values.tolist() == [["app_1", 70.0, 3, 3, 2, 10.0, 1]]
    assert "log of Philly: assumed: a core beside each GPU; 1 of 2 jobs left out: 1 without a run time" in told


def test_tiresias(tmp_path: Path) -> None:
    """GPUs in all, with a core beside each: the log runs where GPUs are."""
    path = tmp_path / "60_job.csv"
    jobs, _ = read(path, TIRESIAS)
    assert jobs[["submit_time", "recorded_run_time", "requested_cores", "gpus"]].values.tolist() == [
        [0.0, 164.0, 1, 1],
        [30.0, 147.0, 8, 8],
    ]
    platform = Platform.read("homogeneous:nodes=1,cores=8,gpus=8")
    result = Simulation(platform, Workload.read(str(path)), make_scheduler("fcfs")).run()
    assert result.jobs["start_time"].tolist() == [0.0, 164.0]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (HELIOS.replace("3600", "soon"), "line 2, duration: expected seconds, 0 or more, found soon"),
        (HELIOS.replace(",8,64", ",1.5,64"), "line 2, gpu_num: expected a whole number, 0 or more, found 1.5"),
        (HELIOS.replace("u1,v1,8", "u1,v1,-8"), "line 2, gpu_num: expected a whole number, 0 or more, found -8"),
        (HELIOS.replace("2020-06-09 18:42:01,2", "yesterday,2"), "line 3, submit_time: expected a date and time"),
        (HELIOS + "1,2,3,4,5,6,7,8,9,10,11,12,13,14\n", "expected a table of jobs, found Error tokenizing"),
        (HELIOS.split("\n")[0] + "\n", "expected at least one job that can be simulated, found 0 jobs"),
        (json.dumps([{"jobid": 1, "attempts": []}]), "job 1: expected a job as in Philly's cluster_job_log"),
        (json.dumps([PHILLY[0] | {"attempts": 3}]), "job 1: expected a job as in Philly's cluster_job_log"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, text: str, error: str) -> None:
    """Which row and column, what was expected, and what is there."""
    path = tmp_path / ("log.json" if text.startswith("[") else "log.csv")
    path.write_text(text)
    with pytest.raises(FormatError) as told:
        Workload.read(str(path))
    assert error in str(told.value)
    assert "\n" not in str(told.value)
