"""Jobs that ran in pieces, in Batsim's files: a schedule that is possible, and a warning of what is not told."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import ModelWarning
from cluster_sim.formats.batsim_import import read_outputs
from cluster_sim.formats.batsim_results import jobs_table, write_jobs, write_outputs
from cluster_sim.records import Result
from tests.support.scripted import requeued, resized, stopped_while_suspended, suspended

SHOWN = ["starting_time", "execution_time", "finish_time", "waiting_time", "turnaround_time", "allocated_resources"]


def moved() -> Result:
    """Alone, job m has all eight cores; r takes the second node from 100 s to 400 s, n all but two from 150 s on."""
    jobs = {
        "job_id": ["m", "r", "n"], "submit_time": [0.0, 100.0, 150.0], "requested_cores": [8, 4, 4],
        "recorded_run_time": [1000.0, 300.0, 800.0], "min_cores": [2, 0, 2], "max_cores": [8, 0, 8],
        "malleable": [True, False, True], "requested_time": [2000.0, 600.0, 2000.0],
        "reconfiguration_time": [10.0, 0.0, 5.0], "speedup": ["amdahl:0.2", "linear", "linear"],
    }  # fmt: skip
    return Simulation(Platform.homogeneous(2, 4), Workload(jobs), make_scheduler("shrink-expand")).run()


def killed_in_the_queue() -> Result:
    """Job a runs from 0 to 4 s and is requeued for b (8 s); at 6 s it is killed in the queue."""
    jobs = {"job_id": ["a", "b"], "submit_time": [0.0, 1.0], "requested_cores": [1, 1]}
    workload = Workload(jobs | {"recorded_run_time": [10.0, 8.0], "requested_time": [20.0, 9.0]})
    simulation = Simulation(Platform.homogeneous(1, 1), workload, make_scheduler("sjf"))
    simulation.env.at(4.0).callbacks.append(lambda event: simulation.requeue("a", "by hand"))
    simulation.env.at(6.0).callbacks.append(lambda event: simulation.kill("a", "by hand"))
    return simulation.run()


@pytest.mark.parametrize(
    ("run", "row", "reason"),
    [
        # Its last attempt began at 10 s: that of the first 8 s is not told.
        (requeued, [10, 9, 19, 10, 19, "0-1"], "1 stopped and queued again"),
        # From 7 s on it had both nodes again.
        (suspended, [7, 6, 13, 7, 13, "0-1"], "1 suspended"),
        # Four cores to 5 s, then two of them: these it had throughout.
        (resized, [0, 16, 16, 0, 16, "0-1"], "1 with a change of cores"),
        # It ran to 4 s; from then on it held nothing.
        (lambda: stopped_while_suspended("cancel"), [0, 4, 4, 0, 4, "0-1"], "1 suspended"),
        (killed_in_the_queue, [0, 4, 4, 0, 4, "0"], "1 stopped and queued again"),
    ],
)
def test_the_last_unbroken_time(run: Callable[[], Result], row: list[object], reason: str, tmp_path: Path) -> None:
    """Start, finish, wait and cores of job a, worked by hand; the warning counts it and says why it ran in pieces."""
    result = run()
    assert jobs_table(result).set_index("job_id").loc[["a"], SHOWN].to_numpy().tolist() == [row]
    with pytest.warns(ModelWarning) as noted:
        write_outputs(result, tmp_path / "out")
    (line,) = [str(each.message) for each in noted]
    assert line.startswith(
        f"{tmp_path / 'out_jobs.csv'}: 1 of 2 jobs ran in pieces ({reason}), and Batsim's files know one"
    )


@pytest.mark.parametrize("run", [requeued, suspended, resized, moved, killed_in_the_queue])
def test_what_comes_back_is_possible(run: Callable[[], Result], tmp_path: Path) -> None:
    """Read again, no two jobs have a core at once, and no more is busy than was."""
    result = run()
    with pytest.warns(ModelWarning, match="ran in pieces"):
        write_outputs(result, tmp_path / "out")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = read_outputs(tmp_path / "out", result.platform)
    assert again.assumptions == []
    assert again.nodes["busy_core_s"].sum() <= result.nodes["busy_core_s"].sum()
    assert again.summary()["utilisation"] <= result.summary()["utilisation"] <= 1.0
    assert again.summary()["mean_watts"] == pytest.approx(result.summary()["mean_watts"])


def test_waits_of_resized_jobs_come_back(tmp_path: Path) -> None:
    """A job that keeps some of its cores keeps its start: its wait, turnaround and slowdown are those of the run."""
    result = moved()
    assert jobs_table(result)["allocated_resources"].tolist() == ["0-1", "4-7", "2-3"]
    with pytest.warns(ModelWarning, match=r"2 of 3 jobs ran in pieces \(2 with a change of cores\)"):
        write_jobs(result, tmp_path / "jobs.csv")
    again = Result.load(tmp_path / "jobs.csv")
    for column in ("start_time", "finish_time", "wait_time", "run_time", "slowdown"):
        assert again.jobs[column].tolist() == pytest.approx(result.jobs[column].tolist())
