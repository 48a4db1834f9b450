"""Saved results: what comes back, and what is said of files that are not whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pandas as pd
import pytest

from cluster_sim import FormatError, InputError, Platform, Result, Simulation, Workload
from cluster_sim.workload.fields import RESULT_TABLES, SUMMARY_METRICS, names
from schedulers import Fcfs
from tests.support.rows import workload_of

FORMATS: tuple[Literal["csv"], Literal["parquet"]] = ("csv", "parquet")


@pytest.mark.parametrize("file_format", FORMATS)
def test_what_was_saved_comes_back(
    something_of_everything: Result, tmp_path: Path, file_format: Literal["csv", "parquet"]
) -> None:
    """Every table to the last digit, ids and users as text, the summary, the platform, and what was run."""
    result = something_of_everything
    assert set(result.jobs["state"]) == {"completed", "killed", "rejected", "unfinished"}
    result.save(tmp_path, file_format)
    loaded = Result.load(tmp_path)
    for table in RESULT_TABLES:
        pd.testing.assert_frame_equal(getattr(loaded, table), getattr(result, table), check_exact=True)
    pd.testing.assert_series_equal(loaded.summary(), result.summary())
    assert loaded.platform == result.platform
    assert loaded.meta == result.meta
    assert loaded.meta["seed"] == 5
    assert loaded.jobs_with_allocation().equals(result.jobs_with_allocation())


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_result_written_in_parts_is_the_same(
    something_of_everything: Result,
    tmp_path: Path,
    file_format: Literal["csv", "parquet"],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every file to the last byte, and the table of node states to the last digit, a job and a node at a time."""
    whole = something_of_everything.node_states
    something_of_everything.save(tmp_path / "whole", file_format)
    monkeypatch.setattr("cluster_sim.records.core_holds.ROWS_OF_PART", 1)
    tables = something_of_everything._tables
    assert len(list(tables.node_states_in_parts())) > 3
    assert len(list(something_of_everything._jobs_in_parts())) > 3
    pd.testing.assert_frame_equal(tables.node_states(), whole, check_exact=True)
    something_of_everything.save(tmp_path / "parts", file_format)
    for file in (tmp_path / "whole").iterdir():
        assert file.read_bytes() == (tmp_path / "parts" / file.name).read_bytes(), file.name


def test_a_carriage_return_in_a_later_part_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All parts of a file are quoted alike, whichever of them needs it."""
    monkeypatch.setattr("cluster_sim.records.core_holds.ROWS_OF_PART", 1)
    columns = {"submit_time": [0.0] * 3, "requested_cores": [1] * 3, "recorded_run_time": [1.0] * 3}
    workload = Workload({"job_id": ["a", "b", "x\ry"], **columns})
    result = Simulation(Platform.homogeneous(nodes=1, cores=4), workload, Fcfs()).run()
    result.save(tmp_path)
    assert '"a",' in (tmp_path / "jobs.csv").read_text()
    pd.testing.assert_frame_equal(Result.load(tmp_path).jobs, result.jobs, check_exact=True)


def test_saving_a_loaded_result_writes_the_same_bytes(something_of_everything: Result, tmp_path: Path) -> None:
    """Nothing is lost on the way, in no direction."""
    something_of_everything.save(tmp_path / "one")
    Result.load(tmp_path / "one").save(tmp_path / "two")
    for name in ("jobs.csv", "node_states.csv", "power.csv", "summary.json", "platform.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name


def test_the_files_that_other_programs_read(worked_by_hand: Result, tmp_path: Path) -> None:
    """Columns of jobs.csv, cores as text, units in the keys of summary.json."""
    worked_by_hand.save(tmp_path)
    jobs = pd.read_csv(tmp_path / "jobs.csv", dtype={"job_id": str})
    wanted = "job_id,submit_time,start_time,finish_time,state,requested_cores,requested_time,allocation".split(",")
    assert set(wanted) <= set(jobs.columns)
    assert jobs["allocation"].fillna("").tolist() == [
        "cluster0.node0.processor0:0-1",
        "cluster0.node0.processor0:0-0",
        "cluster0.node0.processor0:1-1",
        "",
        "cluster0.node0.processor0:0-0",
    ]
    assert (tmp_path / "node_states.csv").read_text().splitlines()[0] == "node,state,start,end"
    assert (tmp_path / "power.csv").read_text().splitlines()[0] == "time,watts"
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert set(names(SUMMARY_METRICS)) <= set(summary)
    assert (summary["energy_j"], summary["version"], summary["scheduler"]) == (836.0, "0.2.0", "fcfs")


def test_cores_of_several_processors_and_holes(tmp_path: Path) -> None:
    """A job's cores as text: one part for each processor and run of neighbouring cores."""
    workload = workload_of((0.0, 1, 9.0), (0.0, 1, 1.0), (0.0, 1, 9.0), (2.0, 9, 1.0))
    result = Simulation(Platform.homogeneous(2, 6, processors=2), workload, Fcfs()).run()
    node = "cluster0.node{}.processor{}:{}".format
    text = ";".join([node(0, 0, "1-1"), node(0, 1, "0-2"), node(1, 0, "0-2"), node(1, 1, "0-1")])
    assert result.jobs_with_allocation()["allocation"].tolist()[3] == text
    result.save(tmp_path)
    assert Result.load(tmp_path).allocations.equals(result.allocations)


def test_saving_again_in_another_format_replaces_the_first(
    worked_by_hand: Result, something_of_everything: Result, tmp_path: Path
) -> None:
    """A folder holds one result: tables of the older one do not shine through."""
    for first, second in (FORMATS, FORMATS[::-1]):
        worked_by_hand.save(tmp_path / first, first)
        something_of_everything.save(tmp_path / first, second)
        loaded = Result.load(tmp_path / first)
        assert loaded.jobs.equals(something_of_everything.jobs)
        assert loaded.power.equals(something_of_everything.power)


def test_nothing_half_written_stays_behind(worked_by_hand: Result, tmp_path: Path) -> None:
    """Only whole files, under their own names; that one of attempts is there because a job was killed."""
    worked_by_hand.save(tmp_path)
    files = {path.name for path in tmp_path.iterdir()}
    tables = {"attempts.csv", "jobs.csv", "node_states.csv", "nodes.csv", "power.csv"}
    assert files == {*tables, "conditions.json", "platform.json", "summary.json"}


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_run_without_jobs_is_saved_and_loaded(tmp_path: Path, file_format: Literal["csv", "parquet"]) -> None:
    """Tables without rows come back with their columns and kinds."""
    nothing = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [1.0]}).first(0)
    result = Simulation(Platform.homogeneous(1, 1), nothing, Fcfs()).run()
    result.save(tmp_path, file_format)
    loaded = Result.load(tmp_path)
    for table in RESULT_TABLES:
        assert getattr(loaded, table).columns.tolist() == getattr(result, table).columns.tolist()
        assert len(getattr(loaded, table)) == len(getattr(result, table))
    assert loaded.jobs["wait_time"].sum() == 0.0


def remove(name: str) -> Callable[[Path], object]:
    """Delete a file."""
    return lambda folder: (folder / name).unlink()


def write(name: str, content: bytes) -> Callable[[Path], object]:
    """Overwrite a file."""
    return lambda folder: (folder / name).write_bytes(content)


def change(name: str, old: str, new: str) -> Callable[[Path], object]:
    """Replace text in a file."""

    def apply(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return apply


def nodes(edit: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[Path], object]:
    """Change the table of nodes."""
    return lambda folder: edit(pd.read_csv(folder / "nodes.csv")).to_csv(folder / "nodes.csv", index=False)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (remove("summary.json"), "summary.json: expected the results of a run, found no such file"),
        (write("summary.json", b"{"), "summary.json: expected JSON"),
        (write("summary.json", b""), "summary.json: expected JSON"),
        (write("summary.json", b"\xff\xfe\x00"), "summary.json: expected JSON"),
        (write("summary.json", b"[]"), "summary.json: expected an object, found list"),
        (remove("platform.json"), "platform.json: expected"),
        (write("platform.json", b"\x00\x01"), "platform.json"),
        (remove("jobs.csv"), "jobs.csv: expected a table of results, found no such file"),
        (write("jobs.csv", b""), "jobs.csv: expected a table of results"),
        (write("jobs.csv", b"\x00\xff\xfe" * 99), "jobs.csv: expected"),
        (change("jobs.csv", "start_time", "begin"), "jobs.csv: expected a column 'start_time'"),
        (change("jobs.csv", ",allocation\n", ",place\n"), "jobs.csv: expected a column 'allocation'"),
        (change("jobs.csv", "processor0:0-1", "processor0"), "job 0, allocation: expected node.processor:first-last"),
        (
            change("jobs.csv", "processor0:0-1", "processor0:a-b"),
            "job 0, allocation: expected node.processor:first-last",
        ),
        (change("power.csv", "time", "t"), "power.csv: expected a column 'time'"),
        (remove("power.csv"), "power.csv: expected a table of results, found no such file"),
        (write("power.csv", b"time,watts\n"), "power.csv: expected at least one row, found none"),
        (write("power.csv", b"time,watts\n0,5\nsoon,many\n"), "power.csv, line 3, time: expected a number, found soon"),
        (write("power.csv", b"time,watts\n0,True\n"), "power.csv, line 2, watts: expected a number, found True"),
        (
            change("jobs.csv", "0,10.0,10.0", "0,early,10.0"),
            "jobs.csv, line 2, submit_time: expected a number, found early",
        ),
        (remove("node_states.csv"), "node_states.csv: expected a table of results, found no such file"),
        (change("jobs.csv", "\n1,", "\n0,"), "jobs.csv, line 3, job_id: expected every job once, found '0' again"),
        (
            change("attempts.csv", "\n1,", "\n9,"),
            "attempts.csv, line 3, job_id: expected a job that the table of jobs has",
        ),
        (change("jobs.csv", "processor0:0-1", "socket0:0-1"), "job 0, allocation: expected node.processor:first-last"),
        (change("jobs.csv", "processor0:0-1", "processor7:0-1"), "allocation: expected cores that the platform has"),
        (change("jobs.csv", "node0.processor0:0-1", "node9.processor0:0-1"), "expected cores that the platform has"),
        (
            change("jobs.csv", "processor0:0-1", f"processor0:0-{'9' * 5000}"),
            "job 0, allocation: expected node.processor",
        ),
        (
            change("jobs.csv", "cluster0.node0.processor0:0-1", ""),
            "expected the cores of a job that started, found nothing",
        ),
        (
            change("node_states.csv", "cluster0.node0", "gone"),
            "node_states.csv, line 2, node: expected a node name such as",
        ),
        (change("node_states.csv", "COMPUTING", "COMPUTED"), "state: expected one of OFF, SWITCHING_ON, IDLE, "),
        (write("power.csv", b"time,watts\n5,9\n0,9\n"), "power.csv, line 3, time: expected a time after the one above"),
        (write("power.csv", b"time,watts\n0,9\ninf,9\n"), "power.csv, line 3, time: expected a number, found inf"),
        (
            nodes(lambda table: table[:0]),
            "nodes.csv: expected a row for each node of the platform (1), found 0 nodes in 0 rows",
        ),
        (
            nodes(lambda table: table.iloc[[0, 0]]),
            "nodes.csv: expected a row for each node of the platform (1), found 1 node in 2 rows",
        ),
        (nodes(lambda table: table.assign(idle_j="")), "nodes.csv, line 2, idle_j: expected a value, found nothing"),
    ],
)
def test_files_that_are_not_whole(
    worked_by_hand: Result, tmp_path: Path, spoil: Callable[[Path], object], words: str
) -> None:
    """Loading, or the table that needs the file, says in one line which file it is and what was expected."""
    worked_by_hand.save(tmp_path)
    spoil(tmp_path)

    def read_everything() -> None:
        result = Result.load(tmp_path)
        for table in RESULT_TABLES:
            getattr(result, table)

    with pytest.raises(FormatError) as error:
        read_everything()
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_where_the_folder_should_be(worked_by_hand: Result, tmp_path: Path) -> None:
    """Saving over a file is refused, in one line; the file is left alone."""
    (tmp_path / "out").write_text("mine")
    with pytest.raises(InputError, match="expected a directory for the results, found a file"):
        worked_by_hand.save(tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.parametrize("file_format", FORMATS)
def test_labels_of_jobs_are_kept(tmp_path: Path, file_format: Literal["csv", "parquet"]) -> None:
    """Queue and account as text, where the workload has some; no column where no job has one."""
    workload = workload_of(
        (0.0, 1, 5.0), (1.0, 1, 5.0), (2.0, 1, 5.0), queue=[2, -1, 10], account=["physics", "", "001"]
    )
    result = Simulation(Platform.homogeneous(nodes=1, cores=1), workload, Fcfs()).run()
    result.save(tmp_path, file_format)
    for jobs in (result.jobs, Result.load(tmp_path).jobs):
        assert jobs.columns.tolist() == [*names(RESULT_TABLES["jobs"]), "account", "queue"]
        assert jobs["queue"].tolist() == ["2", "", "10"]
        assert jobs["account"].tolist() == ["physics", "", "001"]
