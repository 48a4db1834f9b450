"""Users who wait for their jobs: SWF's preceding job and think time, in a run."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from cluster_sim import Platform, Result, Simulation, Workload
from cluster_sim.cli import main
from cluster_sim.errors import InputError
from cluster_sim.workload.critical_path import critical_path
from schedulers import Fcfs

# number, submission, wait, run time, processors, …, preceding job, think time. Job 2 asks for the whole machine.
LOG = """; MaxProcs: 2
1 0   0 10 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1
2 4   0 20 2 -1 -1 2 20 -1 1 2 1 -1 -1 -1 -1 -1
3 11  0  5 1 -1 -1 1  5 -1 1 1 1 -1 -1 -1  1  3
4 500 0  5 1 -1 -1 1  5 -1 1 1 1 -1 -1 -1  3  0
5 600 0  1 1 -1 -1 1  1 -1 1 3 1 -1 -1 -1 99 7
6 600 0  1 1 -1 -1 1  1 -1 1 3 1 -1 -1 -1  5 -1
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log in a file."""
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    return path


def column(result: Result, name: str) -> list[float]:
    """A column of the jobs' records."""
    values: list[float] = result.jobs[name].tolist()
    return values


def test_a_log_is_replayed_by_its_times_unless_asked(log: Path) -> None:
    """Without being asked, preceding jobs count for nothing."""
    result = Simulation(Platform.homogeneous(nodes=2, cores=1), Workload.read(log), Fcfs()).run()
    assert column(result, "submit_time") == column(result, "eligible_time") == [0, 4, 11, 500, 600, 600]


def test_jobs_are_submitted_after_the_end_of_the_preceding_one(log: Path) -> None:
    """3 comes 3 s after the end of 1 at 10 s, 4 as soon as 3 ends; 5 precedes 6, but nobody in the log precedes 5.

    On two cores job 2 runs from 10 to 30, and 3, submitted at 13, waits for it.
    """
    workload = Workload.read(log).with_think_times()
    result = Simulation(Platform.homogeneous(nodes=2, cores=1), workload, Fcfs()).run()
    assert column(result, "submit_time") == [0, 4, 13, 35, 600, 601]
    assert column(result, "eligible_time") == column(result, "submit_time")
    assert column(result, "start_time") == [0, 10, 30, 35, 600, 601]
    assert column(result, "wait_time") == [0, 6, 17, 0, 0, 0]


def test_it_does_not_matter_what_became_of_the_preceding_job(log: Path) -> None:
    """Users go on when their job was killed, and when it was refused."""
    log.write_text(
        LOG.replace("1 0   0 10 1 -1 -1 1 10", "1 0   0 10 1 -1 -1 1 6").replace(" 5 1 -1 -1 1 ", " 5 7 -1 -1 7 ")
    )
    workload = Workload.read(log).with_think_times()
    result = Simulation(Platform.homogeneous(nodes=2, cores=1), workload, Fcfs(), enforce_walltime=True).run()
    assert column(result, "state") == ["killed", "completed", "rejected", "rejected", "completed", "completed"]
    assert column(result, "submit_time") == [0, 4, 9, 9, 600, 601]


def test_not_submitted_when_the_run_stops(log: Path, tmp_path: Path) -> None:
    """A job whose preceding job is not over has no submission yet, and is not counted among the submitted."""
    workload = Workload.read(log).with_think_times()
    result = Simulation(Platform.homogeneous(nodes=2, cores=1), workload, Fcfs(), until=12.0).run()
    assert [math.isnan(time) for time in column(result, "submit_time")] == [False, False, True, True, False, True]
    assert result.summary()["jobs_submitted"] == 2
    assert result.summary()["jobs_unfinished"] == 5
    result.save(tmp_path / "out")
    assert Result.load(tmp_path / "out").jobs.equals(result.jobs)


def test_a_follower_may_wait_for_others_as_well(log: Path) -> None:
    """Job 3 is submitted at 13 s, after its user's job, and then held until job 2 is over at 30."""
    workload = Workload.read(log).with_think_times().with_dependencies({3: [2]})
    result = Simulation(Platform.homogeneous(nodes=4, cores=1), workload.first(3), Fcfs()).run()
    assert column(result, "submit_time") == [0, 4, 13]
    assert column(result, "eligible_time") == [0, 4, 24]


def test_parts_keep_to_it(log: Path) -> None:
    """A part is as the whole; whose preceding job is left out is submitted at its own time."""
    part = Workload.read(log).with_think_times().slice(11, 999)
    result = Simulation(Platform.homogeneous(nodes=2, cores=1), part, Fcfs()).run()
    assert column(result, "submit_time") == [0, 5, 589, 590]


def test_more_load_is_less_thinking(log: Path) -> None:
    """Scaling the load divides think times as it does gaps; unknown ones stay unknown."""
    scaled = Workload.read(log).scale_load(2.0)
    assert scaled.jobs["think_time"].tolist() == [-1.0, -1.0, 1.5, 0.0, 3.5, -1.0]


def test_graph_and_critical_path(log: Path) -> None:
    """Think times are on the edges, and lengthen the path: 10 s, 3 s of thinking, 5 s and 5 s."""
    workload = Workload.read(log).with_think_times()
    edges = [("1", "3", {"think_time": 3.0}), ("3", "4", {"think_time": 0.0}), ("5", "6", {"think_time": 0.0})]
    assert list(workload.dependencies().edges(data=True)) == edges
    assert not Workload.read(log).dependencies().edges
    path = critical_path(workload.first(4), Platform.homogeneous(nodes=2, cores=1))
    assert path == (("2",), 24.0)
    assert critical_path(workload.first(4).with_dependencies({4: [2]}), Platform.homogeneous(1, 1)) == (
        ("2", "4"),
        29.0,
    )
    only = workload.fit_to(Platform.homogeneous(nodes=1, cores=1), "drop").first(3)
    assert critical_path(only, Platform.homogeneous(1, 1)) == (("1", "3", "4"), 23.0)


@pytest.mark.parametrize("number", [1, 4])
def test_a_circle_is_refused(log: Path, number: int) -> None:
    """A job that precedes itself, or its own predecessor, is named; without think times it does no harm."""
    log.write_text(
        LOG.replace("1 0   0 10 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1", f"1 0 0 10 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 {number}")
    )
    workload = Workload.read(log)
    with pytest.raises(InputError, match=r"preceding_job: expected jobs that do not wait .* found [134] after [134]"):
        workload.with_think_times()


def test_a_circle_of_both_kinds_is_refused(log: Path) -> None:
    """Job 3 follows job 1, which must not wait for it."""
    workload = Workload.read(log).with_dependencies({1: [3]})
    with pytest.raises(InputError, match="circle"):
        workload.with_think_times()
    with pytest.raises(InputError, match="circle"):
        Workload.read(log).with_think_times().with_dependencies({1: [3]})


def test_on_the_command_line(log: Path, tmp_path: Path) -> None:
    """`--think-times`, or the key of a configuration."""
    out = tmp_path / "out"
    assert CliRunner().invoke(main, ["run", "-w", str(log), "--think-times", "--out", str(out)]).exit_code == 0
    assert Result.load(out).jobs["submit_time"].tolist() == [0, 4, 13, 35, 600, 601]
    config = tmp_path / "study.json"
    config.write_text(json.dumps({"workload": "log.swf", "think_times": True}))
    assert CliRunner().invoke(main, ["run", str(config), "--out", str(out)]).exit_code == 0
    assert Result.load(out).jobs["submit_time"].tolist() == [0, 4, 13, 35, 600, 601]


def test_renumbered_ids_take_the_preceding_jobs_along(tmp_path: Path) -> None:
    """Where SWF numbers jobs anew, preceding_job points to the same jobs as before."""
    columns = {"submit_time": [0, 1, 2], "requested_cores": [1] * 3, "recorded_run_time": [1] * 3}
    work = Workload({**columns, "job_id": ["x", "7", "8"], "preceding_job": [-1, 55, 7], "think_time": [-1, 1, 2]})
    work.write(tmp_path / "log.swf")
    again = Workload.read(tmp_path / "log.swf").jobs
    assert again["job_id"].tolist() == ["1", "2", "3"]
    assert again["preceding_job"].tolist() == [-1, -1, 2]


def sessions(log: Workload) -> Workload:
    """Think times for a log that has none: each job follows the last one of its user that would be over without waiting.

    With the time between as think time, an empty machine must submit every job exactly when the log says.
    """
    jobs = log.jobs.copy()
    submit, run = jobs["submit_time"].to_numpy(), jobs["recorded_run_time"].to_numpy()
    preceding, think = np.full(len(jobs), -1), np.full(len(jobs), -1.0)
    last: dict[str, int] = {}
    for row, user in enumerate(jobs["user"]):
        before = last.get(user)
        if before is not None and submit[before] + run[before] <= submit[row]:
            preceding[row] = int(jobs["job_id"][before])
            think[row] = submit[row] - (submit[before] + run[before])
        last[user] = row
    return Workload(jobs.assign(preceding_job=preceding, think_time=think), header=log.header)


def test_a_real_log_in_sessions(shared: Path) -> None:
    """KTH-SP2: where nobody waits, the sessions are those of the log to the second; on its machine they are drawn out."""
    log = Workload.read(shared / "traces/KTH-SP2-1996-2.1-cln.swf.gz").first(3000)
    workload = sessions(log).with_think_times()
    following = workload.jobs["preceding_job"].to_numpy() >= 0
    assert following.sum() > 1000
    endless = Simulation(Platform.homogeneous(nodes=5000, cores=1), workload, Fcfs()).run()
    assert endless.jobs["submit_time"].tolist() == log.jobs["submit_time"].tolist()
    crowded = Simulation(Platform.homogeneous(nodes=log.max_procs, cores=1), workload, Fcfs()).run().jobs
    assert (crowded["state"] == "completed").all()
    late = crowded["submit_time"].to_numpy() - log.jobs["submit_time"].to_numpy()
    assert (late >= 0).all()
    assert (late[~following] == 0).all()
    assert late.max() > 0
    # A user's next job is submitted exactly the think time after the end of the last.
    row_of = {job: row for row, job in enumerate(crowded["job_id"])}
    before = [row_of[str(job)] for job in workload.jobs["preceding_job"][following]]
    ends = crowded["finish_time"].to_numpy()[before]
    assert (crowded["submit_time"][following] == ends + workload.jobs["think_time"][following].to_numpy()).all()
