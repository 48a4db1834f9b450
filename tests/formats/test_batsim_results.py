"""Batsim's result files: hand-worked tables, reading them back, and what evalys makes of the jobs."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from cluster_sim.errors import FormatError, ModelWarning
from cluster_sim.formats.batsim_results import (
    ENERGY_COLUMNS,
    JOB_COLUMNS,
    STATE_COLUMNS,
    consumed_energy_table,
    jobs_table,
    machine_states_table,
    parse_resources,
    read_consumed_energy,
    read_jobs,
    read_machine_states,
    write_jobs,
    write_outputs,
)
from cluster_sim.platform import Cluster, NodeGroup, Platform, PowerTransitions
from cluster_sim.records import Result
from cluster_sim.run import Simulation
from cluster_sim.workload import Workload
from schedulers import make_scheduler


def hand_made(until: float | None = None) -> Result:
    """Two nodes of two cores (10 W idle, 5 W more per busy core) and four jobs.

    Job a runs 0-10 s on core 0, b 2-17 s (its walltime) on cores 2 and 3, c has to wait for the first node and runs
    10-18 s on cores 0 and 1; the last is too wide.
    """
    platform = Platform.homogeneous(2, 2, power={"static_w": 10.0, "dynamic_w": 5.0, "min_power": 1.0})
    jobs = {
        "job_id": ["a", "b", "c", "wide"], "submit_time": [0, 2, 2, 3], "requested_cores": [1, 2, 2, 5],
        "recorded_run_time": [10, 20, 8, 1], "requested_time": [20, 15, math.inf, 5], "profile": ["p", "q", "q", "p"],
    }  # fmt: skip
    workload = Workload(jobs, name="hand")
    return Simulation(platform, workload, make_scheduler("fcfs"), enforce_walltime=True, until=until).run()


def test_jobs() -> None:
    """A row per job that is over; a job that never started has empty cells; a missing walltime is -1."""
    table = jobs_table(hand_made()).set_index("job_id")
    assert list(table.columns) == JOB_COLUMNS[1:]
    assert table["final_state"].tolist() == [
        "COMPLETED_SUCCESSFULLY", "COMPLETED_WALLTIME_REACHED", "COMPLETED_SUCCESSFULLY", "REJECTED",
    ]  # fmt: skip
    assert table["success"].tolist() == [1, 0, 1, 0]
    assert table["starting_time"].tolist()[:3] == [0.0, 2.0, 10.0]
    assert table["finish_time"].tolist()[:3] == [10.0, 17.0, 18.0]
    assert table["allocated_resources"].tolist() == ["0", "2-3", "0-1", ""]
    assert table["requested_time"].tolist() == [20.0, 15.0, -1.0, 5.0]
    assert table.loc["c", ["waiting_time", "turnaround_time", "stretch"]].tolist() == [8.0, 16.0, 2.0]
    assert table.loc["wide", ["starting_time", "finish_time", "stretch", "consumed_energy"]].isna().all()
    assert table["consumed_energy"].tolist()[:3] == [150.0, 300.0, 160.0]
    assert table["workload_name"].tolist() == ["hand"] * 4


def test_machine_states() -> None:
    """Cores computing: 1 from 0, 3 from 2, 4 from 10, 2 from 17, none from 18 s on."""
    table = machine_states_table(hand_made())
    assert list(table.columns) == STATE_COLUMNS
    assert table[["time", "nb_idle", "nb_computing"]].to_numpy().tolist() == [
        [0, 3, 1], [2, 1, 3], [10, 0, 4], [17, 2, 2], [18, 4, 0],
    ]  # fmt: skip
    assert (table[["nb_sleeping", "nb_switching_on", "nb_switching_off"]] == 0).all(axis=None)


def test_machine_states_of_a_node_that_sleeps() -> None:
    """Off from the start, booted for the job, one core of two busy."""
    result = sleeper()
    table = machine_states_table(result)
    assert table[STATE_COLUMNS].to_numpy().tolist() == [
        [0, 2, 0, 0, 0, 0], [3, 0, 2, 0, 0, 0], [7, 0, 0, 0, 1, 1], [9, 0, 0, 0, 2, 0],
    ]  # fmt: skip


def sleeper() -> Result:
    """One node of two cores that is off; a job of one core for 2 s comes at 3 s, booting takes 4 s."""
    power = {"static_w": 10.0, "dynamic_w": 5.0, "min_power": 1.0}
    costs = PowerTransitions(off_w=1.0, switch_on_s=4.0, switch_on_w=20.0)
    node = replace(Platform.homogeneous(1, 2, power=power, transitions=costs).node_types[0], initially_off=True)
    platform = Platform((Cluster("c", (NodeGroup(node, 1),)),))
    jobs = {"submit_time": [3.0], "requested_cores": [1], "recorded_run_time": [2.0]}
    return Simulation(platform, Workload(jobs), make_scheduler("fcfs")).run()


def test_consumed_energy() -> None:
    """1 W for 3 s, 20 W for 4 s, 15 W for 2 s: 3, 83 and 113 J at the boot, the start and the end."""
    table = consumed_energy_table(sleeper())
    assert list(table.columns) == ENERGY_COLUMNS
    assert table["event_type"].tolist() == ["p", "s", "e"]
    assert table[["time", "energy", "epower"]].to_numpy().tolist() == [[3, 3, 1], [7, 83, 20], [9, 113, 15]]


def test_files_come_back_as_written(tmp_path: Path) -> None:
    """All three files, to the last digit; no power is known between two events of one instant."""
    result = hand_made()
    paths = write_outputs(result, tmp_path / "out")
    assert [path.name for path in paths] == ["out_jobs.csv", "out_machine_states.csv", "out_consumed_energy.csv"]
    for path, read, made in zip(
        paths,
        (read_jobs, read_machine_states, read_consumed_energy),
        (jobs_table(result), machine_states_table(result), consumed_energy_table(result)),
        strict=True,
    ):
        pd.testing.assert_frame_equal(read(path), made, check_dtype=False, rtol=0, atol=0)
    assert ",NA\n" in paths[2].read_text()


def test_unfinished_jobs_are_not_listed() -> None:
    """As in Batsim, where the file lists what is over."""
    assert jobs_table(hand_made(until=5.0))["job_id"].tolist() == ["wide"]


def test_the_real_evalys_reads_the_jobs(tmp_path: Path) -> None:
    """Its utilisation, by its own reckoning, is the cores that our machine states call computing."""
    jobset = pytest.importorskip("evalys.jobset")
    result = hand_made()
    write_jobs(result, tmp_path / "jobs.csv")
    jobs = jobset.JobSet.from_csv(str(tmp_path / "jobs.csv"), resource_bounds=(0, 3))
    assert jobs.df["jobID"].tolist() == ["a", "b", "c", "wide"]
    assert [str(resources) for resources in jobs.df["allocated_resources"]] == ["0", "2-3", "0-1", ""]
    assert jobs.df["proc_alloc"].tolist() == [1, 2, 2, 0]
    load = jobs.utilisation.load
    computing = machine_states_table(result).set_index("time")["nb_computing"]
    assert load[load.index.isin(computing.index)].tolist() == computing.tolist()
    assert jobs.queue.load.loc[2.0] == 2
    assert jobs.MaxProcs == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected some content"),
        ("job_id,x\n1,2\n", "expected a column 'submission_time', found columns job_id, x"),
        (
            f"{','.join(JOB_COLUMNS)}\n{','.join(['soon'] * len(JOB_COLUMNS))}\n",
            "row 0, column submission_time: expected",
        ),
        ('"', "expected a CSV table"),
    ],
)
def test_bad_files_are_told_in_a_line(tmp_path: Path, text: str, message: str) -> None:
    """The line names the file, and the column where there is one."""
    (tmp_path / "jobs.csv").write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        read_jobs(tmp_path / "jobs.csv")
    assert str(caught.value).startswith(f"{tmp_path / 'jobs.csv'}")


def test_resources() -> None:
    """Ranges and single cores, in any order, each once; other text and cores that are not there are refused."""
    platform = Platform.homogeneous(2, 4)
    assert parse_resources("5 0-2 1", platform, "x").tolist() == [0, 1, 2, 5]
    assert parse_resources("", platform, "x").tolist() == []
    for text in ("3-1", "0-8", "a", "1-", "-1", "1,2", "99999999999999999999999999999999999999999999"):
        with pytest.raises(FormatError, match=r"^x: expected resources"):
            parse_resources(text, platform, "x")


EVALYS = (
    "jobID,submission_time,requested_number_of_processors,requested_time,success,starting_time,execution_time,finish_time,"
    "waiting_time,turnaround_time,stretch,allocated_processors\n7,0.0,1,20.0,1,5.0,10.0,15.0,5.0,15.0,1.5,0\n"
)


@pytest.mark.parametrize(
    ("row", "column", "expected"),
    [
        ("1,2.0,1.5,20.0,1,5.0,10.0,15.0,3.0,13.0,1.3,0", "requested_number_of_resources", "a whole number"),
        ("1,2.0,0.5,20.0,1,5.0,10.0,15.0,3.0,13.0,1.3,0", "requested_number_of_resources", "a whole number"),
        ("1,2.0,1,20.0,1,25.0,10.0,15.0,3.0,13.0,1.3,0", "finish_time", "a time not before the start"),
        ("1,7.0,1,20.0,1,5.0,10.0,15.0,3.0,13.0,1.3,0", "starting_time", "a time not before the submission"),
        ("1,-7.0,1,20.0,1,5.0,10.0,15.0,3.0,13.0,1.3,0", "submission_time", "a time from 0"),
        ("1,2.0,1,20.0,1,9e18,10.0,-9e18,3.0,13.0,1.3,0", "starting_time", "a time up to"),
        ("1,2.0,1,20.0,1,5.0,10.0,1e300,3.0,13.0,1.3,0", "finish_time", "a time up to"),
        ("1,2.0,1,-20.0,1,5.0,10.0,15.0,3.0,13.0,1.3,0", "requested_time", "a time from 0 s on, or -1"),
        ("1,2.0,1,20.0,7,5.0,10.0,15.0,3.0,13.0,1.3,0", "success", "0 or 1"),
    ],
)
def test_jobs_that_cannot_be_are_refused(tmp_path: Path, row: str, column: str, expected: str) -> None:
    """Parts of cores were cut off, and ends before starts made run times below 0."""
    path = tmp_path / "evalys.csv"
    path.write_text(f"{EVALYS}{row}\n")
    with pytest.raises(FormatError, match=rf"row 1, column {column}: expected {expected}"):
        read_jobs(path)


def test_a_row_with_a_cell_too_few_or_too_many_is_refused(tmp_path: Path) -> None:
    """The cells behind it would stand under other columns."""
    path = tmp_path / "evalys.csv"
    for row, found in (("1,2.0,1,20.0,1,5.0", 6), ("1,2.0,1,20.0,1,5.0,10.0,15.0,3.0,13.0,1.3,0,9", 13)):
        path.write_text(f"{EVALYS}{row}\n")
        with pytest.raises(FormatError, match=f"line 3: expected 12 cells, as in the header, found {found}"):
            read_jobs(path)


@pytest.mark.parametrize(
    ("column", "row", "said"),
    [
        ("execution_time", "1,2.0,1,20.0,1,5.0,20.0,15.0,3.0,13.0,1.3,0", "20, by those 10"),
        ("waiting_time", "1,2.0,1,20.0,1,5.0,10.0,15.0,6.0,13.0,1.3,0", "6, by those 3"),
        ("turnaround_time", "1,2.0,1,20.0,1,5.0,10.0,15.0,3.0,26.0,1.3,0", "26, by those 13"),
        ("stretch", "1,2.0,1,20.0,1,5.0,10.0,15.0,3.0,13.0,2.6,0", "2.6, by those 1.3"),
    ],
)
def test_columns_that_contradict_the_times_are_told(tmp_path: Path, column: str, row: str, said: str) -> None:
    """The times count, and the line says which column does not fit them."""
    path = tmp_path / "evalys.csv"
    path.write_text(f"{EVALYS}{row}\n")
    with pytest.warns(ModelWarning) as told:
        read_jobs(path)
    assert [str(warning.message) for warning in told] == [
        f"{path}, column {column}: 1 of 2 rows contradict the times of submission, start and finish, which count "
        f"(row 1: {said})"
    ]


def test_machines_and_energies_that_cannot_be_are_refused(tmp_path: Path) -> None:
    """Counts below 0 or of other totals, times and energies that fall, and 1e308 J, which overflowed."""
    states, energy = tmp_path / "s.csv", tmp_path / "e.csv"
    for read, path, header, rows, message in (
        (read_machine_states, states, STATE_COLUMNS, "0,0,0,0,3,1\n5,0,0,0,-1,5", "row 1, column nb_idle"),
        (read_machine_states, states, STATE_COLUMNS, "0,0,0,0,3,1\n5,0,0,0,3,5", "row 1: expected 4 machines in all"),
        (read_machine_states, states, STATE_COLUMNS, "5,0,0,0,3,1\n0,0,0,0,4,0", "row 1, column time: expected a number not"),
        (read_consumed_energy, energy, ENERGY_COLUMNS, "0,0,s,NA\n5,1e308,e,3", "row 1, column energy"),
        (read_consumed_energy, energy, ENERGY_COLUMNS, "0,9,s,NA\n5,3,e,3", "row 1, column energy: expected a number not"),
        (read_consumed_energy, energy, ENERGY_COLUMNS, "0,0,s,NA\n5,3,x,3", "row 1, column event_type: expected one of s, e, p"),
    ):  # fmt: skip
        path.write_text(f"{','.join(header)}\n{rows}\n")
        with pytest.raises(FormatError, match=message):
            read(path)
