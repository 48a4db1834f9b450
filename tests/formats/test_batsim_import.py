"""Batsim's and evalys' tables as results: by hand, there and back, and what is wrong with a file."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import ecdf, gantt, power_table, user_table, utilisation_table
from cluster_sim.errors import FormatError, InputError, ModelWarning
from cluster_sim.formats.batsim_import import is_batsim_result, read_outputs
from cluster_sim.formats.batsim_results import write_jobs, write_outputs
from cluster_sim.formats.swf_schedule import schedule_table, write_schedule
from cluster_sim.platform import Platform
from cluster_sim.records import Result
from cluster_sim.run import Simulation
from cluster_sim.run.decisions import Decision, Reject, Start
from cluster_sim.run.view import View
from cluster_sim.workload import Workload
from schedulers import Scheduler, make_scheduler

JOBS = """\
job_id,workload_name,profile,submission_time,requested_number_of_resources,requested_time,success,final_state,starting_time,\
execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources,consumed_energy
a,w,p,0,2,-1,1,COMPLETED_SUCCESSFULLY,0,10,10,0,10,1,0-1,200
b,w,p,1,3,20,0,COMPLETED_WALLTIME_REACHED,10,20,30,9,29,1.45,0 2-3,500
c,w,q,2,9,5,0,REJECTED,,,,,,,,
"""
STATES = """\
time,nb_sleeping,nb_switching_on,nb_switching_off,nb_idle,nb_computing
0,0,0,0,2,2
10,0,0,0,1,3
30,0,0,0,4,0
"""
ENERGY = "time,energy,event_type,epower\n0,0,s,NA\n10,500,e,50\n10,500,s,NA\n30,1700,e,60\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The prefix of three files: four machines, a and b one after the other, c too wide."""
    for name, text in (("jobs", JOBS), ("machine_states", STATES), ("consumed_energy", ENERGY)):
        (tmp_path / f"out_{name}.csv").write_text(text)
    return tmp_path / "out"


OLD = """\
jobID,submission_time,requested_number_of_processors,requested_time,success,starting_time,execution_time,finish_time,\
waiting_time,turnaround_time,stretch,allocated_processors
585,0.0,1,20.0,1,5.0,10.0,15.0,5.0,15.0,1.5,0
33,0.0,2,20.0,1,15.0,10.0,25.0,15.0,25.0,2.5,0-1
7,1.0,9,20.0,0,-1.0,-1.0,-1.0,-1.0,-1.0,-1.0,
"""


def test_old_tables_of_evalys(tmp_path: Path) -> None:
    """The columns' names before Batsim 2, without energies, and with -1 where a rejected job never started."""
    path = tmp_path / "jobs.csv"
    path.write_text(OLD)
    assert is_batsim_result(path)
    result = Result.load(path)
    jobs = result.jobs.set_index("job_id")
    assert jobs["state"].to_dict() == {"585": "completed", "33": "completed", "7": "rejected"}
    assert jobs["wait_time"].tolist()[:2] == [5.0, 15.0]
    assert result.platform.core_count == 2
    assert result.summary()["utilisation"] == pytest.approx(30 / 50)
    assert gantt(result).data


def test_a_job_that_started_had_resources(tmp_path: Path) -> None:
    """Where they are missing the row is named: nothing could be drawn or explained of such a job."""
    path = tmp_path / "jobs.csv"
    path.write_text(OLD.replace("2.5,0-1", "2.5,").replace("1.5,0", "1.5,0-1"))
    with pytest.raises(
        FormatError, match=r"jobs.csv row 1, column allocated_resources: expected the resources of a job"
    ):
        gantt(Result.load(path))


def test_a_job_stands_in_a_table_once(tmp_path: Path) -> None:
    """Twice in one workload is refused, for all that is worked out would count it twice; two workloads may share an id."""
    header, first = OLD.splitlines()[:2]
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join([header, first, first.replace("5.0", "6.0")]))
    with pytest.raises(FormatError, match=r"jobs.csv row 1, job 585: expected every job once, found it twice"):
        Result.load(path)
    path.write_text(
        "\n".join([f"{header},workload_name", f"{first},a", f"{first},b", f"{first.replace('585', '2')},b"])
    )
    assert Result.load(path).jobs["job_id"].tolist() == ["a!585", "b!585", "2"]


def test_a_result_by_hand(files: Path) -> None:
    """Jobs, cores, node states, power and metrics, worked out from the three files."""
    for path in (files, Path(f"{files}_jobs.csv")):
        result = Result.load(path)
        assert result.platform.core_count == result.platform.node_count == 4
        jobs = result.jobs.set_index("job_id")
        assert jobs["state"].tolist() == ["completed", "killed", "rejected"]
        assert jobs["reason"].tolist() == ["", "walltime", ""]
        assert jobs["requested_time"].tolist() == [math.inf, 20.0, 5.0]
        assert jobs["wait_time"].tolist()[:2] == [0.0, 9.0]
        rows = result.allocations[["job_id", "node", "start", "end"]].to_numpy().tolist()
        assert [tuple(row) for row in rows] == [
            ("a", "cluster0.node0", 0, 10), ("a", "cluster0.node1", 0, 10), ("b", "cluster0.node0", 10, 30),
            ("b", "cluster0.node2", 10, 30), ("b", "cluster0.node3", 10, 30),
        ]  # fmt: skip
        states = result.node_states[["node", "state", "start", "end"]].to_numpy().tolist()
        assert states[:3] == [
            ["cluster0.node0", "COMPUTING", 0.0, 30.0], ["cluster0.node1", "COMPUTING", 0.0, 10.0],
            ["cluster0.node1", "IDLE", 10.0, 30.0],
        ]  # fmt: skip
        assert result.nodes["busy_core_s"].tolist() == [30.0, 10.0, 20.0, 20.0]
        assert result.power.to_numpy().tolist() == [[0, 50], [10, 60], [30, 60]]
        said = result.summary()
        assert (said["energy_j"], said["makespan_s"], said["mean_wait_s"]) == (1700.0, 30.0, 4.5)
        assert (said["jobs_completed"], said["jobs_killed"], said["jobs_rejected"]) == (1, 1, 1)
        assert said["utilisation"] == pytest.approx(80 / 120)
        assert result.metrics["energy_idle_j"] is None


def test_the_figures_take_it(files: Path) -> None:
    """The same chart, curves and tables as of our own runs; what a file does not say is refused in a line."""
    result = Result.load(files)
    assert {row[0] for trace in gantt(result).data if trace.customdata is not None for row in trace.customdata} >= {"a"}
    assert utilisation_table(result)["busy_cores"].tolist() == [2.0, 3.0, 0.0]
    assert ecdf(result).data[0].x.tolist() == [0.0, 0.0, 9.0, 9.0]
    assert user_table(result)["jobs"].tolist() == [2]
    with pytest.raises(InputError, match="energy of each node by state"):
        power_table(result)


def test_an_evalys_table_alone(tmp_path: Path) -> None:
    """Jobs only, under any name: as many machines as they used; power is unknown, not zero."""
    (tmp_path / "schedule.csv").write_text(JOBS)
    result = Result.load(tmp_path / "schedule.csv")
    assert result.platform.node_count == 4
    assert result.power["watts"].isna().all()
    assert result.metrics["energy_j"] is None
    gantt(result)
    result.save(tmp_path / "saved")
    again = Result.load(tmp_path / "saved")
    pd.testing.assert_frame_equal(again.jobs, result.jobs, check_dtype=False)
    pd.testing.assert_frame_equal(again.allocations, result.allocations, check_dtype=False)


def ours() -> Result:
    """A run of ours on two nodes of two cores, every number with many digits."""
    rng = np.random.default_rng(3)
    jobs = {
        "submit_time": np.cumsum(rng.exponential(5.0, 30)), "requested_cores": rng.integers(1, 5, 30),
        "recorded_run_time": rng.uniform(1.0, 20.0, 30), "requested_time": np.full(30, 25.0),
    }  # fmt: skip
    platform = Platform.homogeneous(2, 2, power={"static_w": 10.0, "dynamic_w": 5.0, "min_power": 0.5})
    return Simulation(platform, Workload(jobs), make_scheduler("easy")).run()


def test_our_own_files_come_back_as_the_run(tmp_path: Path) -> None:
    """Written for Batsim and read again on the same platform: the same jobs, cores, states and energy."""
    result = ours()
    write_outputs(result, tmp_path / "out")
    again = read_outputs(tmp_path / "out", result.platform)
    for column in ("job_id", "start_time", "finish_time", "state", "wait_time", "bounded_slowdown", "energy_j"):
        pd.testing.assert_series_equal(again.jobs[column], result.jobs[column], rtol=1e-12, check_dtype=False)
    held = ["job_id", "node", "processor", "first_core", "last_core", "start", "end"]
    left, right = (r.allocations[held].sort_values(held, ignore_index=True) for r in (again, result))
    pd.testing.assert_frame_equal(left, right, check_dtype=False, rtol=1e-12)
    pd.testing.assert_frame_equal(again.node_states, result.node_states, rtol=1e-12)
    np.testing.assert_allclose(again.nodes["busy_core_s"], result.nodes["busy_core_s"], rtol=1e-12)
    for key in ("energy_j", "makespan_s", "mean_wait_s", "utilisation", "mean_queue_length"):
        assert again.summary()[key] == pytest.approx(result.summary()[key], rel=1e-9)


class Once(Scheduler):
    """Starts jobs at 0 s, and refuses those that come back."""

    def schedule(self, view: View) -> Iterable[Decision]:
        """One pass."""
        for job in view.pending:
            yield Reject(job, "it had its run") if view.now else Start(job, view.place(job))


def test_a_job_that_ran_and_was_refused_then_comes_back_as_refused(tmp_path: Path) -> None:
    """It is requeued at 4 s; the file has its run beside the final state REJECTED, and 4 s of one core were lost."""
    jobs = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [10.0]})
    simulation = Simulation(Platform.homogeneous(1, 2), jobs, Once())
    simulation.env.timeout(4.0).callbacks.append(lambda event: simulation.requeue("0"))
    result = simulation.run()
    write_jobs(result, tmp_path / "out_jobs.csv")
    again = Result.load(tmp_path / "out_jobs.csv")
    for one in (result, again):
        assert one.jobs[["start_time", "finish_time", "state"]].to_numpy().tolist() == [[0.0, 4.0, "rejected"]]
        assert one.attempts[["end_time", "outcome", "lost_core_s"]].to_numpy().tolist() == [[4.0, "requeued", 4.0]]
    assert again.explain("0").endswith("It was rejected at 4 s.\n")


def test_machines_that_slept_are_told(files: Path) -> None:
    """Batsim says how many, not which: a warning, not silence."""
    path = Path(f"{files}_machine_states.csv")
    path.write_text(path.read_text().replace("10,0,0,0,1,3", "10,1,0,0,0,3"))
    with pytest.warns(ModelWarning, match="up to 1 machines slept or switched"):
        Result.load(files)


def test_wrong_files_are_told(files: Path) -> None:
    """File, row and column; machines that the platform does not have; a file of something else."""
    path = Path(f"{files}_jobs.csv")
    path.write_text(JOBS.replace("0 2-3", "0 2-x"))
    with pytest.raises(FormatError, match=r"out_jobs.csv row 1, column allocated_resources: expected resources"):
        gantt(Result.load(files))
    path.write_text(JOBS)
    with pytest.raises(FormatError, match="resources from 0 to 2"):
        gantt(read_outputs(files, Platform.homogeneous(3, 1)))
    (path.parent / "other.csv").write_text("x,y\n1,2\n")
    assert not is_batsim_result(path.parent / "other.csv")
    with pytest.raises(FormatError):
        Result.load(path.parent / "other.csv")


def test_the_schedule_as_swf(tmp_path: Path) -> None:
    """Waits, run times and cores that came out; status; a rejected job never ran; the header keeps one line a directive."""
    platform = Platform.homogeneous(2, 2)
    jobs = {
        "job_id": ["7", "8", "9", "10"], "submit_time": [0.0, 2.0, 2.0, 3.0], "requested_cores": [1, 4, 2, 5],
        "recorded_run_time": [10.0, 20.0, 8.5, 1.0], "requested_time": [20.0, 15.0, math.inf, 5.0],
        "user": ["ann", "bob", "ann", ""],
    }  # fmt: skip
    workload = Workload(jobs, name="evil\n; MaxJobs: 0", origin_s=100.0)
    result = Simulation(platform, workload, make_scheduler("fcfs"), enforce_walltime=True).run()
    table = schedule_table(result)
    assert table.iloc[:, [0, 1, 2, 3, 4, 7, 8, 10, 11]].to_numpy().tolist() == [
        [7, 100, 0, 10, 1, 1, 20, 1, 1], [8, 102, 8, 15, 4, 4, 15, 0, 2], [9, 102, 23, 8.5, 2, 2, -1, 1, 1],
        [10, 103, -1, -1, -1, 5, 5, 5, -1],
    ]  # fmt: skip
    write_schedule(result, tmp_path / "schedule.swf.gz")
    with pytest.warns(ModelWarning, match="1 of 4 jobs dropped"):
        again = Workload.read(tmp_path / "schedule.swf.gz")
    assert again.jobs["recorded_wait_time"].tolist() == [0.0, 8.0, 23.0]
    assert again.jobs["recorded_run_time"].tolist() == [10.0, 15.0, 8.5]
    assert (again.max_procs, again.directive("MaxNodes"), again.directive("MaxJobs")) == (4, "2", "4")
    assert "; Note: User 1 is ann" in again.header


def test_ids_that_are_no_numbers_become_lines(tmp_path: Path) -> None:
    """SWF numbers its jobs; names become their places."""
    jobs = {"job_id": ["w0!1", "w0!2"], "submit_time": [0.0, 1.0], "requested_cores": [1, 1]}
    workload = Workload(jobs | {"recorded_run_time": [5.0, 5.0]})
    result = Simulation(Platform.homogeneous(1, 1), workload, make_scheduler("fcfs"), until=3.0).run()
    table = schedule_table(result)
    assert table.iloc[:, [0, 2, 3, 4, 10]].to_numpy().tolist() == [[1, 0, -1, 1, -1], [2, -1, -1, -1, -1]]
    write_jobs(result, tmp_path / "j.csv")  # unfinished jobs are in no table of Batsim's
    with pytest.raises(FormatError, match="a job that was given machines"):
        Result.load(tmp_path / "j.csv")


@pytest.mark.parametrize("rows", ["", "0,0,s,NA\n", "0,0,s,NA\n0,5,e,NA\n"])
def test_energies_of_one_instant_give_no_power(files: Path, rows: str) -> None:
    """A file of energies in which time stands still says nothing of power: it is unknown, as without the file."""
    Path(f"{files}_consumed_energy.csv").write_text("time,energy,event_type,epower\n" + rows)
    power = Result.load(files).power
    assert power["time"].tolist() == [0.0, 30.0]
    assert power["watts"].isna().all()


SHARED = """\
job_id,submission_time,requested_number_of_resources,requested_time,success,starting_time,finish_time,allocated_resources
a,0,2,20,1,0,10,0-1
b,1,1,20,1,{begin},14,1
c,2,1,20,1,12,14,0
d,2,1,20,1,3,3,0
"""


def test_jobs_that_share_machines_are_told(tmp_path: Path) -> None:
    """Two seconds of b on a's second machine: a warning and an assumption; a rounded end, and a job of 0 s, are none."""
    path = tmp_path / "jobs.csv"
    path.write_text(SHARED.format(begin=8))
    told = f"{path}: 1 of 4 jobs begin on machines that another still has (b on 1 at 8 s), which then count twice"
    with pytest.warns(ModelWarning) as noted:
        result = Result.load(path)
    (line,) = result.assumptions
    assert line.startswith(told)
    assert [str(each.message) for each in noted] == [line]
    assert result.summary()["utilisation"] == pytest.approx((2 * 10 + 6 + 2) / (2 * 14))
    path.write_text(SHARED.format(begin=9.999999))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Result.load(path).assumptions == []


def test_cores_that_were_had_count_not_those_asked_for(tmp_path: Path) -> None:
    """A job that asked for four machines and had one is busy on one."""
    path = tmp_path / "jobs.csv"
    path.write_text(SHARED.format(begin=10).replace("c,2,1", "c,2,4"))
    assert Result.load(path).summary()["utilisation"] == pytest.approx((2 * 10 + 4 + 2) / (2 * 14))


def test_machines_that_nothing_counts(files: Path) -> None:
    """Without a job that ran the machines' states have to say how many there are."""
    lines = JOBS.splitlines()
    Path(f"{files}_jobs.csv").write_text(f"{lines[0]}\n{lines[-1]}\n")
    assert Result.load(files).platform.core_count == 4
    Path(f"{files}_machine_states.csv").unlink()
    with pytest.raises(FormatError, match=r"or PREFIX_machine_states\.csv beside it"):
        Result.load(files)


def test_what_was_read_from_batsims_files_can_be_saved_and_read(tmp_path: Path) -> None:
    """The machine's joules are known and the nodes' are not: their column is empty, and that is no damage."""
    result = ours()
    write_outputs(result, tmp_path / "out")
    read_outputs(tmp_path / "out", result.platform).save(tmp_path / "saved")
    nodes = Result.load(tmp_path / "saved").nodes
    assert nodes["off_j"].isna().all()
    assert len(nodes) == 2
