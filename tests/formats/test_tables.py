"""The native CSV format, and files that are whole or absent."""

from __future__ import annotations

import gzip
import math
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster_sim.errors import FormatError, SpecError
from cluster_sim.files.atomic import atomic_path
from cluster_sim.workload import Workload
from cluster_sim.workload.fields import JOB_FIELDS, Field

VALID: dict[str, list[Any]] = {  # columns whose values mean something, or depend on others
    "speedup": ["linear", "amdahl:0.05", "table:1=1,2=1.9"],
    "parts": ["", "10", "1 2@8 1@4"],
    "checkpoint_interval": ["", "young", "daly", "60"],
    "min_cores": [0, 1],
    "max_cores": [0, 2**50],
    "partition": [-1, 7, "batch", "", "0 1"],
    "gpus": [0, 3],  # of the three ways of asking for GPUs a job takes one
    "gpus_per_node": [0],
    "gpus_per_task": [0],
    "resources": ["", "fpga", "fpga:2;disk:1"],
}
LOWEST = {"": -1e300, ">= 0": 0, "> 0": 1e-300, ">= 1": 1}


def read(folder: Path, text: str, **options: Any) -> Workload:
    """The workload in a CSV file with this content."""
    path = folder / "jobs.csv"
    path.write_text(text)
    return Workload.read(path, **options)


def test_any_subset_in_any_order(tmp_path: Path) -> None:
    """Three columns are enough; empty cells take the default; times are not shifted."""
    text = "requested_cores,profile,submit_time,operations,requested_time\n4,A,7.5,1e9,\n2,,3,2e9,60\n"
    workload = read(tmp_path, text)
    jobs = workload.jobs
    assert jobs["job_id"].tolist() == ["1", "0"]
    assert jobs["submit_time"].tolist() == [3.0, 7.5]
    assert jobs["requested_time"].tolist() == [60.0, math.inf]
    assert jobs["profile"].tolist() == ["", "A"]
    assert jobs["nodes"].tolist() == [0, 0]
    assert (workload.name, workload.origin_s) == ("jobs", 0.0)


def test_time_unit(tmp_path: Path) -> None:
    """Times in minutes become seconds, and nothing else changes."""
    job = read(tmp_path, "submit_time,requested_cores,recorded_run_time\n2,3,5\n", time_unit="minutes").jobs.iloc[0]
    assert (job["submit_time"], job["requested_cores"], job["recorded_run_time"]) == (120.0, 3, 300.0)
    with pytest.raises(SpecError, match=r"time_unit: expected one of milliseconds, seconds, .*, found fortnights"):
        read(tmp_path, "submit_time,requested_cores,recorded_run_time\n2,3,5\n", time_unit="fortnights")


def values(field: Field) -> st.SearchStrategy[Any]:
    """Values that a column may hold."""
    if field.name in VALID:
        return st.sampled_from(VALID[field.name])
    if field.kind == "str":
        if field.name == "phases":
            return st.sampled_from(["", "1:0 1:1", "3.5:1 1:3", "1:0"])
        if field.name == "after":
            return st.just("")  # ids must be those of other rows: tests/dependencies
        return st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6)
    if field.kind == "bool":
        return st.booleans()
    if field.kind == "int":
        return st.integers(max(-(2**50), int(LOWEST[field.allowed])), 2**50)
    numbers = st.floats(LOWEST[field.allowed], min(field.most, 1e300))
    special = field.default if isinstance(field.default, float) else 0.0
    return st.one_of(numbers, st.just(special)) if special != 0 and field.name != "operations" else numbers


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(*(values(field) for field in JOB_FIELDS[1:])), min_size=1, max_size=8),
    name=st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1),
    origin_s=st.floats(0, 1e12),
    reference_gflops=st.one_of(st.none(), st.floats(1e-3, 1e6)),
)
def test_round_trip(
    tmp_path: Path, rows: list[tuple[Any, ...]], name: str, origin_s: float, reference_gflops: float | None
) -> None:
    """Written and read again, a workload is exactly the same, attributes included."""
    jobs = pd.DataFrame(rows, columns=[field.name for field in JOB_FIELDS[1:]])
    jobs["job_id"] = [f'job "{i}", #{i}' for i in range(len(jobs))]
    once = Workload(jobs, name, origin_s, ["; MaxProcs: 4", "; Note: a, b"], reference_gflops)
    once.write(tmp_path / "again.csv")
    again = Workload.read(tmp_path / "again.csv")
    pd.testing.assert_frame_equal(once.jobs, again.jobs, check_exact=True)
    assert (once.name, once.origin_s, once.header, once.reference_gflops) == (
        again.name, again.origin_s, again.header, again.reference_gflops,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "submit_tme,requested_cores,operations\n1,1,1\n",
            r"line 1, column 'submit_tme': expected submit_time \(the nea",
        ),
        ("submit_time,submit_time,requested_cores,operations\n", r"column 'submit_time': expected each column once"),
        ("submit_time,operations\n1,1\n", r"expected a column requested_cores, found only submit_time, operations"),
        ("submit_time,requested_cores\n1,1\n", r"expected a column operations or recorded_run_time"),
        ("submit_time,requested_cores,operations\n", r"jobs.csv: expected at least one job"),
        (
            "# origin_s: inf\nsubmit_time,requested_cores\n",
            r"line 1, origin_s: expected a number from -1e\+18 to .*, found inf",
        ),
        (
            "# reference_gflops: 1e300\nsubmit_time\n",
            r"line 1, reference_gflops: expected a number from 1e-09 to 1e\+12, found",
        ),
        ("# reference_gflops: 1_0\nsubmit_time\n", r"line 1, reference_gflops: expected a number from .*, found 1_0"),
        (
            "submit_time,requested_cores,operations\n1,1,1\n1,x,1\n",
            r"line 3, requested_cores: expected a number, found x",
        ),
        ("submit_time,requested_cores,operations\n1,1,nan\n", r"line 2, operations: expected a number, found nan"),
        (
            "submit_time,requested_cores,operations\n1,1,1\n1,1\n",
            r"line 3: expected 3 cells, as in the header, found 2",
        ),
        ("submit_time,requested_cores,operations\n1,1,1,1\n", r"line 2: expected 3 cells, as in the header, found 4"),
        (
            "submit_time,requested_cores,operations\n1,1,1\n1,0,1\n",
            r"line 3, job 1, requested_cores: .* >= 1, found 0.0",
        ),
        (
            "submit_time,requested_cores,operations\n1,1.5,1\n",
            r"line 2, job 0, requested_cores: expected a whole number",
        ),
        (
            "submit_time,requested_cores,operations\n,1,1\n",
            r"line 2, job 0, submit_time: expected a finite number >= 0",
        ),
        ("submit_time,requested_cores,operations\ninf,1,1\n", r"submit_time: expected a finite number >= 0, found inf"),
        (
            "submit_time,requested_cores,operations\n1,1,1e400\n",
            r"operations: expected a finite number >= 0, found inf",
        ),
        ("submit_time,requested_cores,operations\n1,1e30,1\n", r"requested_cores: expected a whole number below"),
        (
            "submit_time,requested_cores,operations\n1,1,\n",
            r"line 2, job 0, operations: expected operations or recorded",
        ),
        (
            '# name: x\nuser,submit_time,requested_cores,operations\n"a\nb",1,1,1\nc,-1,1,1\n',
            r"line 5, job 1, submit_time",
        ),
        ("# origin_s: soon\nsubmit_time,requested_cores,operations\n1,1,1\n", r"line 1, origin_s: expected a number"),
        (
            "job_id,submit_time,requested_cores,operations\na,1,1,1\na,1,1,1\n",
            r"line 3, job a, job_id: .*\(.* line 2\)",
        ),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, message: str) -> None:
    """A table that cannot be is refused in one line that names the line and the column."""
    with pytest.raises(FormatError, match=message) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_written_files_are_reproducible(tmp_path: Path) -> None:
    """The same workload is the same file, also gzipped."""
    workload = read(tmp_path, "submit_time,requested_cores,operations\n1,1,1\n")
    for name in ("a.csv.gz", "b.csv.gz"):
        workload.write(tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).startswith(b"# name: jobs\n")


def test_a_file_is_whole_or_absent(tmp_path: Path) -> None:
    """When writing fails, the old file stays and nothing is left beside it."""
    target = tmp_path / "out.csv.gz"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic_path(target) as aside:
        assert aside.suffixes[-2:] == [".csv", ".gz"]
        aside.write_text("half")
        raise KeyboardInterrupt
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    with atomic_path(target) as aside:
        aside.write_text("new")
    assert target.read_text() == "new"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """A folder that is not there is named."""
    workload = read(tmp_path, "submit_time,requested_cores,operations\n1,1,1\n")
    with pytest.raises(FormatError, match=r"nowhere/x.csv: expected a file that can be written, found No such file"):
        workload.write(tmp_path / "nowhere" / "x.csv")


@pytest.mark.parametrize(
    ("first", "lasts_s", "is_told"),
    [(0, 9, False), (86_400, 9, False), (1e6, 1e6, False), (1e6, 9e5, True), (1_767_225_600, 9, True)],
)
def test_a_first_submission_long_after_0_is_told(tmp_path: Path, first: float, lasts_s: float, is_told: bool) -> None:
    """Seconds since 1970 are not shifted, so a run would idle since then; an offset within a day or the log is meant."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        workload = read(tmp_path, f"submit_time,requested_cores,operations\n{first},1,1\n{first + lasts_s},1,1\n")
    texts = [str(each.message) for each in noted]
    assert [f"the first job is submitted at {first:,.0f} s, and a run begins at 0 s" in text for text in texts] == (
        [True] * is_told
    )
    assert workload.jobs["submit_time"].tolist() == [first, first + lasts_s]
