"""Schedules as SWF: jobs that ran in pieces have a line that sums up, and one for each piece; workloads as they were."""

from __future__ import annotations

import math
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import ModelWarning
from cluster_sim.formats.swf_schedule import schedule_table, write_schedule
from cluster_sim.records import Result
from schedulers import Preemptive
from tests.support.rows import workload_of

# job, submit, wait, run, cores, requested, status
SHOWN = [0, 1, 2, 3, 4, 7, 10]


def lines(result: Result) -> list[list[float]]:
    """The fields of the schedule that a run decides."""
    return schedule_table(result).iloc[:, SHOWN].to_numpy().tolist()


def urgent_at_4(scheduler: Preemptive, **options: Any) -> Result:
    """Job 8 of 10 s, on both cores from 0; job 9 of 3 s, more urgent, comes at 4; job 10 comes at 5; the log began at 100."""
    jobs = {
        "job_id": ["8", "9", "10"], "submit_time": [0.0, 4.0, 5.0], "requested_cores": [2, 1, 1],
        "recorded_run_time": [10.0, 3.0, 2.0], "requested_time": [12.0, 12.0, 12.0], "priority": [0.0, 1.0, 0.0],
    }  # fmt: skip
    workload = Workload(jobs, origin_s=100.0)
    return Simulation(Platform.homogeneous(1, 2), workload, scheduler, **options).run()


def test_a_job_that_is_requeued() -> None:
    """It loses 4 s, waits 3 and runs for 10: 14 s in all; the others have one line each, as ever."""
    assert lines(urgent_at_4(Preemptive("requeue"))) == [
        [8, 100, 3, 14, 2, 2, 1],
        [8, 100, 0, 4, 2, 2, 2],
        [8, -1, 3, 10, 2, 2, 3],
        [9, 104, 0, 3, 1, 1, 1],
        [10, 105, 12, 2, 1, 1, 1],
    ]


def test_a_job_that_is_suspended() -> None:
    """It runs for 4 and 6 s, with 3 s between."""
    assert lines(urgent_at_4(Preemptive("suspend")))[:3] == [
        [8, 100, 3, 10, 2, 2, 1],
        [8, 100, 0, 4, 2, 2, 2],
        [8, -1, 3, 6, 2, 2, 3],
    ]


@pytest.mark.parametrize(
    ("options", "run", "wait", "status", "second", "last"),
    [({"enforce_walltime": True}, 9, 0, 0, 5, 4), ({"until": 11.0}, -1, -1, -1, 7, 2)],
)
def test_a_job_that_is_killed_or_not_over(
    options: dict[str, Any], run: int, wait: int, status: int, second: int, last: int
) -> None:
    """Requeued at 4, it is killed after its 5 s at 9: status 4; or the run ends at 11, before it: to be continued."""
    slow = {"job_id": ["8"], "submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [10.0]}
    workload = Workload(slow | {"requested_time": [5.0]})
    simulation = Simulation(Platform.homogeneous(1, 1), workload, make_scheduler("fcfs"), **options)

    def requeue() -> Generator[Any, Any, None]:
        yield simulation.env.timeout(4.0)
        simulation.requeue("8", "by hand")

    simulation.env.process(requeue())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        result = simulation.run()
    assert lines(result) == [
        [8, 0, wait, run, 1, 1, status],
        [8, 0, 0, 4, 1, 1, 2],
        [8, -1, 0, second, 1, 1, last],
    ]


def test_a_job_whose_cores_change() -> None:
    """Alone it has all four cores; when another waits it gives up two: 2 s on 4 cores leave 16 of 24 core-s, 8 s on 2."""
    jobs = {
        "job_id": ["1", "2"], "submit_time": [0.0, 2.0], "requested_cores": [4, 2], "recorded_run_time": [6.0, 9.0],
        "min_cores": [2, 0], "max_cores": [4, 0], "malleable": [True, False],
    }  # fmt: skip
    result = Simulation(Platform.homogeneous(4, 1), Workload(jobs), make_scheduler("shrink-expand")).run()
    assert lines(result) == [
        [1, 0, 0, 10, 4, 4, 1],
        [1, 0, 0, 2, 4, 4, 2],
        [1, -1, 0, 8, 2, 4, 3],
        [2, 2, 0, 9, 2, 2, 1],
    ]


def test_the_workload_comes_back(tmp_path: Path) -> None:
    """Lines of pieces are passed over: jobs, sizes and requests are those of the run, run times what they ran in all."""
    result = urgent_at_4(Preemptive("suspend"))
    path = tmp_path / "schedule.swf"
    write_schedule(result, path)
    text = path.read_text()
    assert "; MaxJobs: 3\n" in text
    assert "; MaxRecords: 5\n" in text
    with pytest.warns(ModelWarning, match=r"2 of 5 jobs dropped: 2 partial executions \(first in line 10\)"):
        again = Workload.read(str(path))
    assert again.origin_s == 100.0
    assert again.jobs["job_id"].tolist() == ["8", "9", "10"]
    assert again.jobs["submit_time"].tolist() == [0.0, 4.0, 5.0]
    assert again.jobs["requested_cores"].tolist() == [2, 1, 1]
    assert again.jobs["requested_time"].tolist() == [12.0] * 3
    assert again.jobs["recorded_run_time"].tolist() == [10.0, 3.0, 2.0]
    assert math.isnan(again.jobs["operations"].iloc[0])


def test_groups_and_queues_come_along_and_names_leave(tmp_path: Path) -> None:
    """Numbers stand as they are, names in the header's notes; of an anonymised log nobody's name is left there."""
    jobs = {"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [5.0], "requested_time": [9.0]}
    whose = {"user": ["alice"], "group": ["3"], "queue": [2], "partition": ["batch"], "profile": ["lammps"]}
    result = Simulation(Platform.homogeneous(1, 2), Workload(jobs | whose), make_scheduler("fcfs")).run()
    path = tmp_path / "schedule.swf"
    write_schedule(result, path)
    text = path.read_text()
    assert text.splitlines()[-1].split()[11:16] == ["1", "3", "1", "2", "1"]
    notes = ["User 1 is alice", "Executable 1 is lammps", "Partition 1 is batch"]
    assert all(f"; Note: {note}\n" in text for note in notes)
    header = Workload.read(path).anonymised().header
    assert [any(note in line for line in header) for note in notes] == [False, False, True]
    assert "; MaxProcs: 2" in header


def test_names_that_become_numbers_are_told(tmp_path: Path) -> None:
    """A schedule tells in the words of a workload in which columns numbers stand for names; numbers pass without a word."""
    workload = workload_of((0.0, 2, 10.0, 20.0), (3.0, 2, 5.0, 20.0), job_id=["alpha", "beta"], user=["ann", "bob"])
    result = Simulation(Platform.homogeneous(1, 4), workload, make_scheduler("fcfs")).run()
    told = "SWF has numbers only: names are numbered from 1 in order of appearance in job_id, user$"
    for write in (workload.write, lambda path: write_schedule(result, path)):
        with pytest.warns(ModelWarning, match=told):
            write(str(tmp_path / "names.swf"))
    assert schedule_table(result).iloc[:, 0].tolist() == [1, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_schedule(urgent_at_4(Preemptive("suspend")), tmp_path / "numbers.swf")
