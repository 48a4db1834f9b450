"""Values of a saved result that no run can have written are refused, with file, line and column, on load and by validate."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

from cluster_sim import Platform, Result, Simulation, Workload
from cluster_sim.cli import main
from cluster_sim.errors import FormatError, ModelWarning
from schedulers import make_power_policy, make_scheduler


@pytest.fixture(scope="module")
def run() -> Result:
    """Four jobs on two nodes that sleep, one of them too wide."""
    workload = Workload(
        {"submit_time": [0.0, 1, 2, 3], "requested_cores": [1, 9, 2, 4], "recorded_run_time": [5.0, 5, 7, 9]}
    )
    made = make_scheduler("easy"), make_power_policy("timeout:1")
    return Simulation(Platform.homogeneous(2, 2), workload, *made, explain=True).run()


def every_table(folder: Path) -> Result:
    """A result of which every table has been read."""
    result = Result.load(folder)
    for table in ("jobs", "nodes", "node_states", "power", "decisions", "core_holds", "attempts", "stages"):
        getattr(result, table)
    return result


def with_summary(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change what summary.json says."""
    path = folder / "summary.json"
    summary = json.loads(path.read_text())
    change(summary)
    path.write_text(json.dumps(summary))


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_what_was_saved_is_read_without_a_word(tmp_path: Path, run: Result, file_format: Any) -> None:
    """Neither refused nor warned of, and equal."""
    run.save(tmp_path, file_format)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = every_table(tmp_path)
    pd.testing.assert_frame_equal(result.jobs, run.jobs, check_dtype=False)


@pytest.mark.parametrize(
    ("metric", "value", "expected"),
    [
        ("lost_core_s", "a", "a number, or null, found a"),
        ("makespan_s", "0x10", "a number, or null, found 0x10"),
        ("makespan_s", False, "a number, or null, found False"),
        ("energy_j", float("inf"), "a finite number >= 0, found inf"),
        ("mean_wait_s", -4, "a finite number >= 0, found -4"),
        ("availability", 1.2, "a finite number >= 0, at most 1, found 1.2"),
        ("jobs_killed", 1.5, "a whole number, or null, found 1.5"),
        ("jobs_completed", 7, "3, the completed jobs in the table of jobs, found 7"),
        ("makespan_s", 36.0, "18, last_completion_s - first_submission_s, found 36"),
        ("seed", "x", "a whole number, found x"),
    ],
)
def test_metrics_are_checked(tmp_path: Path, run: Result, metric: str, value: Any, expected: str) -> None:
    """Their types and bounds, and that none contradicts another; each of these was loaded, and found valid."""
    run.save(tmp_path)
    with_summary(tmp_path, lambda summary: summary.update({metric: value}))
    with pytest.raises(FormatError, match=rf"summary\.json, {metric}: expected {expected}"):
        Result.load(tmp_path)
    checked = CliRunner().invoke(main, ["validate", str(tmp_path)])
    assert (checked.exit_code, checked.output.count("\n")) == (2, 1)


def test_a_lost_or_misspelt_metric_is_told(tmp_path: Path, run: Result) -> None:
    """The nearest known key is named; a key of a user's own is kept without a word."""
    run.save(tmp_path)
    with_summary(tmp_path, lambda summary: summary.update(energy_jj=summary.pop("energy_j"), of_mine=5))
    with pytest.warns(ModelWarning) as told:
        result = Result.load(tmp_path)
    texts = [str(warning.message) for warning in told]
    assert any("'energy_jj' in the file (the nearest known key is 'energy_j')" in text for text in texts)
    assert any("no value of energy_j: " in text for text in texts)
    assert not any("of_mine" in text for text in texts)
    assert ("energy_j" not in result.summary(), result.meta["of_mine"]) == (True, 5)


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("table", "column", "row", "value", "expected"),
    [
        ("jobs", "state", 0, "½", "one of completed, killed, rejected, unfinished, found ½"),
        ("jobs", "slowdown", 0, float("-inf"), "a number from 1 on, found -inf"),
        ("jobs", "submit_time", 0, -1.0, "a number from 0 on, found -1"),
        ("jobs", "allocation_time", 2, 900.0, None),
        ("jobs", "wait_time", 0, 7.0, "turnaround_time - run_time, found 7"),
        ("jobs", "energy_j", 0, float("inf"), "a number, found inf"),
        ("nodes", "idle_s", 1, 77.0, None),
        ("nodes", "energy_j", 1, 1e9, r"off_j \+ switching_on_j \+"),
        ("nodes", "on_off_cycles", 0, 9, r"\(switches_on \+ switches_off\) // 2, found 9"),
        ("node_states", "end", 1, 0.0, "a time not before"),
        ("power", "watts", 0, -5.0, "a number from 0 on, found -5"),
        ("decisions", "decision", 0, "strt", "one of start, reserve, hold"),
    ],
)
def test_tables_are_checked(
    tmp_path: Path, run: Result, file_format: Any, table: str, column: str, row: int, value: Any, expected: str | None
) -> None:
    """Words, bounds, the order of times, and columns that contradict each other, in both formats."""
    run.save(tmp_path, file_format)
    path = tmp_path / f"{table}.{file_format}"
    frame = pd.read_csv(path, keep_default_na=False, dtype=object) if file_format == "csv" else pd.read_parquet(path)
    frame.loc[row, column] = value
    frame.to_csv(path, index=False) if file_format == "csv" else frame.to_parquet(path)
    told = column if expected else r"\w+"
    with pytest.raises(
        FormatError, match=rf"{table}\.{file_format}, line {row + 2}, {told}: expected {expected or ''}"
    ):
        every_table(tmp_path)


def test_names_come_back_exactly_as_they_were(tmp_path: Path) -> None:
    """CSV files are for programs: nothing is put before a name that a spreadsheet would take for a formula, or left out."""
    users = ["=HYPERLINK(1)", "\x1b[31mred", "<script>", "+1", "@x", "-5"]
    columns = {"submit_time": [0.0] * 6, "requested_cores": [1] * 6, "recorded_run_time": [1.0] * 6, "user": users}
    workload = Workload(columns | {"job_id": [f"={name}" for name in users]})
    Simulation(Platform.homogeneous(1, 8), workload, make_scheduler("fcfs")).run().save(tmp_path)
    jobs = Result.load(tmp_path).jobs
    assert (jobs["user"].tolist(), jobs["job_id"].tolist()) == (users, [f"={name}" for name in users])
    workload.write(tmp_path / "jobs.csv")
    assert Workload.read(tmp_path / "jobs.csv").jobs["user"].tolist() == users
