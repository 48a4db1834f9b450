"""The Standard Workload Format: what logs do, what is kept, what is dropped."""

from __future__ import annotations

import gzip
import sys
import warnings
from pathlib import Path
from types import FrameType

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster_sim.errors import FormatError, ModelWarning, SpecError
from cluster_sim.workload import Workload
from cluster_sim.workload.fields import JOB_FIELDS

FULL_LINE = "7 100 20 300 4 250.5 1024 8 600 2048 1 12 3 5 2 1 6 45"
HEADER = (
    "; Version: 2.2\n; MaxNodes: 64\n; MaxProcs: 128\n; UnixStartTime: 843480031\n; TimeZoneString: Europe/Stockholm\n"
)


def read(folder: Path, text: str | bytes, name: str = "log.swf", **options: object) -> Workload:
    """The workload in an SWF file with this content."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return Workload.read(path, **options)


def line(job: int = 1, submit: float = 0, run: float = 10, used: int = 1, requested: int = 1, **fields: float) -> str:
    """A job line with -1 for all fields that are not given."""
    values: list[float] = [job, submit, -1, run, used, -1, -1, requested, *[-1] * 10]
    for position, name in {8: "requested_time", 10: "status", 11: "user"}.items():
        values[position] = fields.get(name, -1)
    return " ".join(map(str, values)) + "\n"


def test_all_18_fields_are_kept(tmp_path: Path) -> None:
    """Each field of a full line lands in its column, in our units."""
    job = read(tmp_path, FULL_LINE + "\n").jobs.iloc[0]
    defaults = {field.name: field.default for field in JOB_FIELDS}
    assert dict(job) == defaults | {
        "job_id": "7", "submit_time": 0.0, "requested_cores": 8, "nodes": 0, "ntasks_per_node": 0,
        "requested_time": 600.0, "operations": pytest.approx(np.nan, nan_ok=True), "recorded_run_time": 300.0,
        "ipc": 1.0, "mem_vol": 0.0, "memory": 2.0, "req_energy": pytest.approx(np.nan, nan_ok=True),
        "max_energy": np.inf, "deadline": np.inf, "profile": "", "user": "12", "group": "3", "tags": "",
        "priority": 0.0, "requested_cores_assumed": False, "requested_time_assumed": False, "requires": "", "exclusive": False,
        "reservation": "",
        "recorded_wait_time": 20.0, "used_cores": 4, "avg_cpu_time": 250.5, "used_memory": 1024.0,
        "requested_memory": 2048.0, "status": 1, "executable": 5, "queue": 2, "partition": 1, "preceding_job": 6,
        "think_time": 45.0, "after": "", "fixed_run_time": False, "phases": "", "comm_vol": 0.0,
    }  # fmt: skip


def test_header_directives(tmp_path: Path) -> None:
    """Header lines are kept as they are, and the known ones understood."""
    workload = read(tmp_path, HEADER + line())
    assert list(workload.header) == HEADER.splitlines()
    assert workload.max_procs == 128
    assert workload.unix_start_time == 843480031
    assert workload.time_zone == "Europe/Stockholm"
    assert workload.directive("Installation") is None


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("; MaxNodes: 64\n", 64),
        ("; MaxProcs: -1\n; MaxNodes: 32 (of 40)\n", 32),
        ("; MaxProcs: 1,152\n", 1152),
        ("; MaxProcs: 1'152 cores\n", 1152),
        ("; MaxProcs: 128, of 140\n", 128),
        *((f"; MaxProcs: {text}\n", None) for text in ("many", "-1", "0", "0x40", "1e3", "1,15", "1.5", "")),
        ("", None),
    ],
)
def test_machine_size_falls_back(tmp_path: Path, header: str, expected: int | None) -> None:
    """Without a usable MaxProcs, MaxNodes counts, and without that the widest job."""
    workload = read(tmp_path, header + line(requested=3))
    assert (workload.stated_procs, workload.max_procs) == (expected, expected or 3)


def test_header_in_latin_1(tmp_path: Path) -> None:
    """Old logs have names in Latin-1."""
    assert read(tmp_path, "; Installation: Universität\n".encode("latin-1") + line().encode()).header == (
        "; Installation: Universität",
    )


def test_submissions_start_at_zero(tmp_path: Path) -> None:
    """The first submission is subtracted and remembered."""
    workload = read(tmp_path, line(1, submit=500) + line(2, submit=512.5))
    assert workload.jobs["submit_time"].tolist() == [0.0, 12.5]
    assert workload.origin_s == 500.0


def test_unsorted_log(tmp_path: Path) -> None:
    """Jobs are sorted by submission; equal times keep the order of the file."""
    workload = read(tmp_path, line(1, 9) + line(2, 5) + line(3, 9) + line(4, 5))
    assert workload.jobs["job_id"].tolist() == ["2", "4", "1", "3"]


REST = " -1 -1 3 -1 -1 1 -1 -1 -1 -1 -1 -1 -1"
"""Fields 6 to 18 of a job that asks for three cores."""


@pytest.mark.parametrize(
    "text",
    [
        f"  1\t0 -1 1e1 2.0{REST}\r\n\r\n \t\r\n; comment\r\n2 5 -1 20.0 3{REST} ; remark of words\r\n",
        f"\ufeff1 0 -1 10 2{REST}\n2 5 -1 20 3{REST}",
    ],
    ids=["blanks, tabs, CRLF, comments, decimals", "byte order mark"],
)
def test_liberties_of_logs(tmp_path: Path, text: str) -> None:
    """Blank lines, any white space, remarks and decimals are read without complaint."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jobs = read(tmp_path, text).jobs
    assert jobs[["job_id", "submit_time", "recorded_run_time", "requested_cores"]].to_numpy().tolist() == [
        ["1", 0.0, 10.0, 3],
        ["2", 5.0, 20.0, 3],
    ]


@pytest.mark.parametrize("ending", ["", ".gz"])
@pytest.mark.parametrize("name", ["6", "x"], ids=["numbers", "a name"])
@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("2 5 100 4 -1 -1 4 200 -1 1 1 1 1 1 1 -1 -1\n", "17"),
        ("3 9 -1 100 4 4 -1 -1 4 200 -1 1 1 1 1 1 1 -1 -1\n", "19"),
        (
            "5 12 -1 100 4 -1 -1 4 200 -1 1 7 1 1 1 1 -1 -1 77 88\n2 5 100\n3 4\n",
            r"20 \(others without 18: lines 4, 5\)",
        ),
    ],
)
def test_a_line_that_lost_or_gained_a_field_is_refused(
    tmp_path: Path, lines: str, told: str, name: str, ending: str
) -> None:
    """A line of 17 fields was read as 200 cores for 4 s; nobody can say which of its fields is missing."""
    whole = "1 0 -1 100 4 -1 -1 4 200 -1 1 1 1 1 1 1 -1 -1\n"
    text = f"; MaxProcs: 8\n{whole}{lines}{name}{whole[1:]}"
    path = tmp_path / f"log.swf{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending else text.encode())
    with pytest.raises(
        FormatError, match=f"line 3: expected the 18 fields of SWF, -1 for what is unknown, found {told}$"
    ):
        Workload.read(path)


def test_a_log_whose_lines_all_have_more_fields_is_read_by_its_first_18(tmp_path: Path) -> None:
    """Some archives append columns of their own, numbers or words, to every line."""
    with pytest.warns(ModelWarning, match=r"all lines have more than the 18 fields of SWF \(line 1 has 20\)"):
        longer = read(tmp_path, f"1 0 -1 10 2{REST} 9 8\n2 5 -1 20 3{REST} x y z\n").jobs
    assert longer.equals(read(tmp_path, f"1 0 -1 10 2{REST}\n2 5 -1 20 3{REST}\n").jobs)


@pytest.mark.parametrize("text", ["1 0 -1 10 2\n2 5 -1 20 3\n", "2 5 100 4 -1 -1 4 200 -1 1 1 1 1 1 1 -1 -1\n"])
def test_a_log_of_short_lines_is_refused(tmp_path: Path, text: str) -> None:
    """The format has 18 fields, with -1 for what is unknown: of shorter lines nobody knows what is missing."""
    with pytest.raises(FormatError, match=r"line 1: expected the 18 fields of SWF.* found \d+"):
        read(tmp_path, text)


def test_ids_that_are_no_numbers_are_kept(tmp_path: Path) -> None:
    """An id is text: "2.10" is not "2.1", and long ones keep all their digits."""
    text = "".join(f"{job} 0 -1 10 2{REST}\n" for job in ("2.1", "2.10", "12345678901234567890"))
    assert read(tmp_path, text).jobs["job_id"].tolist() == ["2.1", "2.10", "12345678901234567890"]


def test_long_numbers_of_users_groups_and_partitions_stay_apart(tmp_path: Path) -> None:
    """Beyond 2^53 two neighbours are one float; as names they are two, also in a log that is written again."""
    long, next_to_it = "9007199254740993", "9007199254740992"
    rows = [f"{job} 0 -1 10 2 -1 -1 2 -1 -1 1 {name} {name} -1 -1 {name} -1 -1" for job, name in
            enumerate((long, next_to_it, "7", "-1"), start=1)]  # fmt: skip
    workload = read(tmp_path, "\n".join(rows))
    for column in ("user", "group", "partition"):
        assert workload.jobs[column].tolist() == [long, next_to_it, "7", ""]
    workload.write(tmp_path / "again.swf")
    assert Workload.read(tmp_path / "again.swf").jobs["user"].tolist() == [long, next_to_it, "7", ""]


def test_zeros_and_decimals_of_ids_say_nothing_on_either_path(tmp_path: Path) -> None:
    """Whether a log is read in one go or line by line, because another id is a name, job 007 is job 7."""
    quick = read(tmp_path, f"007 0 -1 10 2{REST}\n8.0 1 -1 10 2{REST}\n")
    slow = read(tmp_path, f"007 0 -1 10 2{REST}\n8.0 1 -1 10 2{REST}\na 2 -1 10 2{REST}\n")
    assert quick.jobs["job_id"].tolist() == slow.jobs["job_id"].tolist()[:2] == ["7", "8"]


def test_numbers_that_no_field_can_hold_count_as_unknown_and_are_told(tmp_path: Path) -> None:
    """Below -1, which says unknown, there is nothing; and status 9 has no meaning."""
    with pytest.warns(ModelWarning, match="3 numbers below -1, or of no status, .*first in line 1, field 9: -60"):
        jobs = read(tmp_path, "1 0 -1 10 2 -1 -1 2 -60 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
                              "2 0 -1 10 2 -1 -1 2 60 -1 9 -7 -1 -1 -1 -1 -1 -1\n").jobs  # fmt: skip
    assert jobs["requested_time_assumed"].tolist() == [True, False]
    assert (jobs["status"].tolist(), jobs["user"].tolist()) == ([1, -1], ["", ""])


def test_unrequested_processors_and_time(tmp_path: Path) -> None:
    """Without a request, a job asked for the processors and the time it used."""
    job = read(tmp_path, line(run=30, used=4, requested=-1)).jobs.iloc[0]
    assert (job["requested_cores"], job["requested_time"]) == (4, 30.0)
    assert job["requested_cores_assumed"]
    assert job["requested_time_assumed"]


def test_no_requested_time_can_mean_none(tmp_path: Path) -> None:
    """requested_time="none" leaves jobs without a walltime."""
    job = read(tmp_path, line(), requested_time="none").jobs.iloc[0]
    assert job["requested_time"] == np.inf
    assert not job["requested_time_assumed"]


def test_run_time_above_request_is_normal(tmp_path: Path) -> None:
    """Both times are kept when a job outran its request."""
    job = read(tmp_path, line(run=100, requested_time=60)).jobs.iloc[0]
    assert (job["recorded_run_time"], job["requested_time"]) == (100.0, 60.0)


def test_jobs_that_cannot_be_simulated_are_dropped_and_counted(tmp_path: Path) -> None:
    """One warning says how many jobs were dropped, why, and where the first of each kind is."""
    text = (
        "; header\n" + line(1) + line(2, run=-1) + line(3, used=-1, requested=-1) + line(4, status=2) + line(5, run=-1)
    )
    with pytest.warns(ModelWarning) as caught:
        workload = read(tmp_path, text)
    assert [str(w.message) for w in caught] == [
        f"{tmp_path}/log.swf: 4 of 5 jobs dropped: 1 partial executions (first in line 5), "
        "1 no processors (first in line 4), 2 no run time (first in line 3)"
    ]
    assert caught[0].filename == __file__
    assert workload.jobs["job_id"].tolist() == ["1"]


@pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")
@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, "1 2 3 5"),
        ({"cancelled": "keep"}, "1 2 3 4 5"),
        ({"cancelled": "drop"}, "1 2 5"),
        ({"failed": "drop"}, "1 3 5"),
        ({"zero_length": "drop"}, "1 2 3"),
    ],
)
def test_options_for_cancelled_failed_and_zero_length_jobs(tmp_path: Path, options: dict[str, str], kept: str) -> None:
    """By default only jobs cancelled before they ran are left out; each kind has its option."""
    text = (
        line(1, status=1) + line(2, status=0) + line(3, status=5) + line(4, status=5, run=0) + line(5, run=0, status=1)
    )
    assert read(tmp_path, text, **options).jobs["job_id"].tolist() == kept.split()


def test_wrong_option_value(tmp_path: Path) -> None:
    """An option value that does not exist is refused with those that do."""
    with pytest.raises(SpecError, match=r"option cancelled: expected one of ran, keep, drop, found maybe"):
        read(tmp_path, line(), cancelled="maybe")


def test_time_unit(tmp_path: Path) -> None:
    """A log in minutes is read into seconds; unknown times stay unknown."""
    workload = read(tmp_path, line(1, submit=10, run=2, requested_time=3) + line(2, submit=11), time_unit="minutes")
    assert workload.origin_s == 600.0
    assert workload.jobs["submit_time"].tolist() == [0.0, 60.0]
    assert workload.jobs.loc[0, ["recorded_run_time", "requested_time", "think_time"]].tolist() == [120.0, 180.0, -1.0]


counts = st.integers(-1, 10_000)
times = st.one_of(st.just(-1), st.integers(0, 10**9), st.floats(0, 1e9))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(
            st.one_of(st.integers(0, 10**9), st.floats(0, 1e9)), times, st.floats(0, 1e8), st.integers(1, 999), times,
            times, counts, times, times, st.sampled_from([-1, 0, 1]), counts, counts, counts, counts, counts, counts, times,
        ),
        min_size=1, max_size=12,
    )
)  # fmt: skip
def test_round_trip(tmp_path: Path, rows: list[tuple[float, ...]]) -> None:
    """Read, written and read again, a log gives the same jobs; what was unknown is -1 in the file."""
    text = "".join(f"{i} {' '.join(map(repr, row))}\n" for i, row in enumerate(rows))
    once = read(tmp_path, HEADER + text)
    once.write(tmp_path / "again.swf.gz")
    again = Workload.read(tmp_path / "again.swf.gz")
    pd.testing.assert_frame_equal(once.jobs, again.jobs, check_exact=True)
    assert (once.origin_s, once.header) == (again.origin_s, again.header)
    lines = gzip.decompress((tmp_path / "again.swf.gz").read_bytes()).decode().splitlines()[5:]
    written = {fields[0]: list(map(float, fields[1:])) for fields in map(str.split, lines)}
    for i, row in enumerate(rows):
        unknown = [
            -1.0 if value == -1 or (position in (6, 7) and value == 0) else None for position, value in enumerate(row)
        ]
        assert all(w == -1.0 for w, u in zip(written[str(i)], unknown, strict=True) if u is not None)


def test_written_file_is_plain_swf(tmp_path: Path) -> None:
    """Whole numbers are written as such, and a log's line comes out as it went in."""
    read(tmp_path, FULL_LINE + "\n" + line(8, 100)).write(tmp_path / "out.swf")
    assert (tmp_path / "out.swf").read_text().splitlines()[-2:] == [FULL_LINE, line(8, 100).strip()]


def test_jobs_in_operations_are_written_as_run_times(tmp_path: Path) -> None:
    """Work becomes a run time at the reference rate; without one, at 1 Gflop/s and with a warning."""
    jobs = {"job_id": ["a", "b"], "submit_time": [0, 1], "requested_cores": [2, 3], "operations": [4e9, 6e9]}
    Workload(pd.DataFrame(jobs), reference_gflops=2.0).write(tmp_path / "known.swf")
    assert Workload.read(tmp_path / "known.swf").jobs["recorded_run_time"].tolist() == [2.0, 3.0]
    with pytest.warns(ModelWarning, match="1 Gflop/s"):
        Workload(pd.DataFrame(jobs)).write(tmp_path / "unknown.swf")
    again = Workload.read(tmp_path / "unknown.swf")
    assert again.jobs["recorded_run_time"].tolist() == [4.0, 6.0]
    assert again.jobs["job_id"].tolist() == ["1", "2"]


# Jobs that can be simulated, of all in the file: counted with awk, not with this program.
LOGS = {
    "KIT-FH2-2016-1.first25326.derived.swf.gz": (25326, 24048),
    "KTH-SP2-1996-2.1-cln.swf.gz": (28475, 100),
    "NASA-iPSC-1993-3.1-cln.swf.gz": (18239, 128),
    "SDSC-SP2-1998_pyss_5K_sample.swf.gz": (4606, 128),
    "lublin_256.swf.gz": (10000, 256),
    "theta_1000.swf": (1000, 4360),
}


@pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")
@pytest.mark.parametrize("name", LOGS)
def test_real_logs(shared: Path, name: str) -> None:
    """Real logs of the Parallel Workloads Archive are read whole."""
    workload = Workload.read(shared / "traces" / name)
    assert (len(workload), workload.max_procs) == LOGS[name]
    assert workload.jobs["submit_time"].iloc[0] == 0.0
    assert workload.jobs["submit_time"].is_monotonic_increasing


@pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")
@pytest.mark.parametrize("name", LOGS)
def test_real_logs_round_trip(shared: Path, tmp_path: Path, name: str) -> None:
    """Real logs survive being written and read again, field by field as an independent reader sees them."""
    source = shared / "traces" / name
    workload = Workload.read(source)
    workload.write(tmp_path / "again.swf")
    pd.testing.assert_frame_equal(workload.jobs, Workload.read(tmp_path / "again.swf").jobs)
    kept = {int(job_id) for job_id in workload.jobs["job_id"]}
    original = np.loadtxt(source, comments=";", encoding="latin-1")
    original = original[[number in kept for number in original[:, 0]]]
    original = original[np.argsort(original[:, 1], kind="stable")]
    np.testing.assert_array_equal(np.loadtxt(tmp_path / "again.swf", comments=";"), original)


def test_same_log_as_irmasim(shared: Path) -> None:
    """Lublin's 10,000 jobs are the same in SWF and in the IRMaSim file made of it at 1 Gflop/s."""
    swf = Workload.read(shared / "traces" / "lublin_256.swf.gz")
    json = Workload.read(shared / "traces" / "irmasim_lublin_jobs.json.gz")
    assert swf.origin_s == json.origin_s
    np.testing.assert_array_equal(swf.jobs["submit_time"], json.jobs["submit_time"])
    np.testing.assert_array_equal(swf.jobs["requested_cores"], json.jobs["requested_cores"])
    np.testing.assert_array_equal(swf.jobs["requested_time"], json.jobs["requested_time"])
    np.testing.assert_array_equal(swf.jobs["recorded_run_time"] * 1e9, json.jobs["operations"])


def function_calls(path: Path) -> int:
    """How many Python functions are called to read a log."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        Workload.read(path)
    finally:
        sys.setprofile(before)
    return calls


def test_a_log_is_read_column_by_column(tmp_path: Path) -> None:
    """Twenty times the jobs take no more function calls: half a million lines are read in seconds, not minutes."""
    path = tmp_path / "log.swf"
    calls = {}
    for jobs in (1_000, 1_000, 20_000):  # the first time, modules are loaded and caches filled
        path.write_text("".join(f"{i} {i * 7} 5 {i % 977} {i % 31 + 1} -1 -1 {i % 31 + 1} 1000 -1 1 {i % 50} 1 -1 0 -1 -1 -1\n"
                                for i in range(jobs)))  # fmt: skip
        calls[jobs] = function_calls(path)
    assert calls[20_000] - calls[1_000] < 1_000


def test_error_in_a_dropped_or_sorted_log_names_the_line(tmp_path: Path) -> None:
    """Rows keep their line numbers through dropping and sorting."""
    text = "; h\n" + line(1, 9, run=-1) + "\n" + line(2, 5) + line(2, 3)
    with pytest.warns(ModelWarning), pytest.raises(FormatError, match=r"line 5, job 2, job_id.*not yet used .*line 4"):
        read(tmp_path, text)
