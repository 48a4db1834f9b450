"""sacct's output: written here line by line, and made of the runs that a real Slurm was recorded in."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cluster_sim import InputError, Platform, Simulation, Workload, make_scheduler
from cluster_sim.cli import main
from cluster_sim.errors import FormatError, ModelWarning, SpecError

RECORDED = sorted(Path(__file__).resolve().parents[3].joinpath("shared/cases/slurm").glob("*/expected.json"))
HEADER = (
    "JobID|JobName|User|Account|Partition|Submit|Eligible|Start|End|Elapsed|Timelimit|State|ReqCPUS|AllocCPUS|ReqTRES"
)
ONE = (
    "1|a|ann|phys|p|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T10:00:05|2026-03-01T10:10:05|00:10:00|01:00:00|"
    "COMPLETED|4|4|cpu=4,mem=8G,node=1"
)

pytestmark = pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")


def dump(tmp_path: Path, *rows: str, header: str = HEADER) -> str:
    """A file with these rows."""
    path = tmp_path / "jobs.txt"
    path.write_text("\n".join([header, *rows]) + "\n")
    return str(path)


def shell(*words: str) -> int:
    """The exit status of a command."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(ended.value.code or 0)


def row(job: str, **cells: str) -> str:
    """The row ``ONE`` with other cells."""
    values = dict(zip(HEADER.split("|"), ONE.split("|"), strict=True)) | {"JobID": job} | cells
    return "|".join(values.values())


def warned(path: str, **options: Any) -> list[str]:
    """What reading a file warns of."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        Workload.read(path, **options)
    return [str(each.message) for each in noted]


def first(path: str, **options: Any) -> dict[str, Any]:
    """The first job of a file."""
    return Workload.read(path, **options).jobs.iloc[0].to_dict()


def test_a_job_is_read_by_its_header(tmp_path: Path) -> None:
    """Every column that a job has becomes the field of the job schema that says the same."""
    header = HEADER + "|QOS|Group|Priority|NNodes|NodeList|Constraints|Licenses|TotalCPU"
    job = first(dump(tmp_path, ONE + "|high|g|77|1|n[3]|fast&big|foo:2|20:00.500", header=header))
    assert job["job_id"] == "1"
    assert job["submit_time"] == 0
    assert job["recorded_run_time"] == 600
    assert (job["requested_cores"], job["used_cores"], job["requested_time"]) == (4, 4, 3600)
    assert (job["memory"], job["nodes"], job["gpus"]) == (2048, 0, 0)
    assert (job["user"], job["group"], job["account"], job["partition"], job["qos"]) == (
        "ann",
        "g",
        "phys",
        "p",
        "high",
    )
    assert (job["profile"], job["recorded_nodes"], job["requires"], job["licenses"]) == (
        "a",
        "n[3]",
        "fast big",
        "foo:2",
    )
    assert (job["status"], job["priority"], job["recorded_wait_time"], job["avg_cpu_time"]) == (1, 77, 5, 1200.5 / 4)
    assert not job["requested_time_assumed"]
    assert not job["requested_cores_assumed"]


def test_header_in_any_order_and_case(tmp_path: Path) -> None:
    """Only the names of the columns count; --parsable's bar at the end and headers in between are passed over."""
    header = "elapsed|ALLOCCPUS|submit|JobId|"
    path = dump(
        tmp_path, "00:00:07|3|2026-03-01T10:00:00|5|", header, "00:00:08|2|2026-03-01T10:00:09|6|", header=header
    )
    jobs = Workload.read(path).jobs
    assert jobs[["job_id", "submit_time", "requested_cores", "recorded_run_time"]].values.tolist() == [
        ["5", 0, 3, 7], ["6", 9, 2, 8],
    ]  # fmt: skip
    assert jobs["requested_cores_assumed"].all()
    assert jobs["requested_time_assumed"].all()
    assert np.isinf(Workload.read(path, requested_time="none").jobs["requested_time"]).all()


def test_steps_are_folded_into_their_job(tmp_path: Path) -> None:
    """Steps are no jobs; only the memory that they alone know is kept."""
    header = HEADER + "|MaxRSS"
    steps = [row(step) + f"|{memory}" for step, memory in (("1.batch", "5000K"), ("1.0", "2M"), ("1.extern", ""))]
    workload = Workload.read(dump(tmp_path, ONE + "|", *steps, header=header))
    assert workload.jobs[["job_id", "used_memory"]].values.tolist() == [["1", 5000.0]]


def test_tasks_of_an_array_are_jobs(tmp_path: Path) -> None:
    """Those that wait share a row; they are dropped and counted, or take their limit as run time."""
    waiting = row("7_[2-5,9%2]", State="PENDING", Start="Unknown", End="Unknown", Elapsed="00:00:00", AllocCPUS="0")
    path = dump(tmp_path, row("7_1"), waiting)
    assert Workload.read(path).jobs["job_id"].tolist() == ["7_1"]
    assert warned(path)[0].endswith("5 of 6 jobs dropped: 5 not over (they wait or run) (first in line 3)")
    jobs = Workload.read(path, unfinished="limit").jobs
    assert jobs["job_id"].tolist() == ["7_1", "7_2", "7_3", "7_4", "7_5", "7_9"]
    assert jobs["recorded_run_time"].tolist() == [600] + [3600] * 5
    assert jobs["array_limit"].tolist() == [2] * 6
    assert Workload.read(path).jobs["array_limit"].tolist() == [2]


def test_requeues_are_attempts_of_one_job(tmp_path: Path) -> None:
    """The job keeps its first submission and its last attempt's run time; how many there were is said once."""
    failed = row("3", State="NODE_FAIL", Elapsed="00:05:00", End="2026-03-01T10:05:05")
    again = row(
        "3", Submit="2026-03-01T10:05:06", Start="2026-03-01T10:07:06", End="2026-03-01T10:09:06", Elapsed="00:02:00"
    )
    path = dump(tmp_path, failed, again)
    jobs = Workload.read(path).jobs
    assert jobs[["job_id", "submit_time", "recorded_run_time", "recorded_wait_time", "status"]].values.tolist() == [
        ["3", 0, 120, 426, 1]
    ]
    assert "requeued: 1 job, 2 attempts in all" in "".join(warned(path))


def test_overlapping_dumps_are_no_requeues(tmp_path: Path) -> None:
    """A job that still ran in the first of two dumps is the same attempt in the second."""
    running = row("4", State="RUNNING", End="Unknown", Elapsed="00:01:00")
    path = dump(tmp_path, running, row("4"))
    assert Workload.read(path).jobs["recorded_run_time"].tolist() == [600]
    assert "requeued" not in "".join(warned(path))


def test_a_number_given_again_is_another_job(tmp_path: Path) -> None:
    """Slurm's numbers start anew one day; another user's job is no attempt of the first."""
    later = row("1", User="bob", Submit="2026-04-01T10:00:00", Start="2026-04-01T10:00:05", End="2026-04-01T10:10:05")
    assert Workload.read(dump(tmp_path, ONE, later)).jobs["job_id"].tolist() == ["1", "1#2"]


@pytest.mark.parametrize(
    ("state", "status"),
    [("COMPLETED", 1), ("FAILED", 0), ("TIMEOUT", 0), ("NODE_FAIL", 0), ("OUT_OF_MEMORY", 0), ("DEADLINE", 0),
     ("CANCELLED by 1000", 5), ("CANCELLED+", 5), ("PREEMPTED", 5), ("ODD", -1)],
)  # fmt: skip
def test_states(tmp_path: Path, state: str, status: int) -> None:
    """States count as SWF counts them; those not known are named."""
    path = dump(tmp_path, row("1", State=state))
    assert first(path)["status"] == status
    assert ("not read: states ODD (1 job)" in "".join(warned(path))) == (state == "ODD")


def test_jobs_without_a_run_are_dropped_by_reason(tmp_path: Path) -> None:
    """One line counts the jobs that cannot be simulated, each under one reason."""
    never = {"Start": "None", "End": "2026-03-01T10:01:00", "Elapsed": "00:00:00", "AllocCPUS": "0"}
    path = dump(tmp_path, ONE, row("2", State="CANCELLED by 5", **never), row("3", State="RUNNING", End="Unknown"),
                row("4", Submit="Unknown"), row("5", State="FAILED", Start="Unknown", Elapsed=""))  # fmt: skip
    (text, *_) = warned(path)
    assert text.partition("dropped: ")[2] == (
        "1 not over (they wait or run) (first in line 4), 1 cancelled before they ran (first in line 3), "
        "1 without a submission (first in line 5), 1 without a run time (first in line 6)"
    )
    assert Workload.read(path, cancelled="keep").jobs["recorded_run_time"].tolist() == [600, 0]


def test_whole_nodes_are_more_than_asked_for(tmp_path: Path) -> None:
    """A job takes what it was allocated, which is told; or what it requested, if one prefers that."""
    path = dump(tmp_path, row("1", ReqCPUS="1", AllocCPUS="32"))
    assert first(path)["requested_cores"] == 32
    assert "allocated more CPUs than requested: 1 job" in "".join(warned(path))
    assert first(path, cores="requested")["requested_cores"] == 1


@pytest.mark.parametrize(
    ("text", "megabytes"),
    [
        ("8G", 2048),
        ("4Gn", 2048),
        ("2Gc", 2048),
        ("500Mc", 500),
        ("1T", 262144),
        ("", 0),
        ("0n", 0),
        ("512", 128),
        ("?", 0),
    ],
)
def test_memory(tmp_path: Path, text: str, megabytes: float) -> None:
    """Of the job, of each of its two nodes, of each of its four CPUs: it is that of one task here."""
    cells = row("1", ReqTRES="cpu=4,node=2") + f"|{text}|2"
    assert first(dump(tmp_path, cells, header=HEADER + "|ReqMem|NNodes"))["memory"] == megabytes


@pytest.mark.parametrize(
    ("limit", "seconds", "assumed"),
    [("1-02:03:04", 93784, False), ("05:30", 330, False), ("UNLIMITED", np.inf, False), ("Partition_Limit", 600, True),
     ("", 600, True)],
)  # fmt: skip
def test_time_limits(tmp_path: Path, limit: str, seconds: float, assumed: bool) -> None:
    """Days and minutes; none at all is endless, one that is not told is the run time, as in SWF."""
    job = first(dump(tmp_path, row("1", Timelimit=limit)))
    assert (job["requested_time"], job["requested_time_assumed"]) == (seconds, assumed)


def test_run_time_leaves_suspensions_out(tmp_path: Path) -> None:
    """Without Elapsed it is from start to end but for the time suspended; ElapsedRaw counts seconds."""
    bare = "1|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T11:00:00|2"
    assert (
        first(dump(tmp_path, bare + "|00:10:00", header="JobID|Submit|Start|End|NCPUS|Suspended"))["recorded_run_time"]
        == 3000
    )
    assert (
        first(dump(tmp_path, bare + "|77", header="JobID|Submit|Start|End|NCPUS|ElapsedRaw"))["recorded_run_time"] == 77
    )


def test_time_zones_and_summer_time(tmp_path: Path) -> None:
    """Clocks in Berlin: two real hours from 1 to 4 o'clock in March, four in October; a start follows its submission."""
    spring = {
        "Submit": "2026-03-29T01:30:00",
        "Eligible": "2026-03-29T01:30:00",
        "Start": "2026-03-29T03:30:00",
        "End": "Unknown",
    }
    workload = Workload.read(dump(tmp_path, row("1", **spring)), time_zone="Europe/Berlin")
    assert workload.jobs["recorded_wait_time"].tolist() == [3600]
    assert workload.start_date is not None
    assert workload.start_date.isoformat() == "2026-03-29T01:30:00+01:00"
    autumn = {
        "Submit": "2026-10-25T02:50:00",
        "Eligible": "2026-10-25T02:50:00",
        "Start": "2026-10-25T02:10:00",
        "End": "Unknown",
    }
    path = dump(tmp_path, row("1", **autumn))
    assert Workload.read(path, time_zone="Europe/Berlin").jobs["recorded_wait_time"].tolist() == [1200]
    assert (
        "times in the hour that clocks show twice when it ends (the first, unless the job's other times say the second): 3"
        in "".join(warned(path, time_zone="Europe/Berlin"))
    )
    skipped = dump(tmp_path, row("1", Start="2026-03-29T02:30:00"))
    assert "times in the hour that clocks skip when summer time begins (is the time zone right?): 1" in "".join(
        warned(skipped, time_zone="Europe/Berlin")
    )
    assert "clocks" not in "".join(warned(skipped))
    with pytest.raises(SpecError, match="time_zone: expected the name of a time zone"):
        Workload.read(path, time_zone="Mars/Base")


def test_eligible_times(tmp_path: Path) -> None:
    """A job that waited for another joins the queue when it was submitted, which is told, or when it was eligible."""
    path = dump(tmp_path, ONE, row("2", Eligible="2026-03-01T10:00:03"))
    assert "eligible later than submitted: 1 job" in "".join(warned(path))
    jobs = Workload.read(path, submission="eligible").jobs
    assert jobs["submit_time"].tolist() == [0, 3]
    assert jobs["recorded_wait_time"].tolist() == [5, 2]


def test_gpus_are_kept_and_jobs_that_need_them_rejected(tmp_path: Path) -> None:
    """The run says why; without its GPUs the job runs."""
    path = dump(
        tmp_path,
        ONE,
        row("2", ReqTRES="cpu=4,gres/gpu=2,gres/gpu:a100=2"),
        row("3", ReqTRES="gres/gpu:a=1,gres/gpu:b=2"),
    )
    workload = Workload.read(path)
    assert workload.jobs["gpus"].tolist() == [0, 2, 3]
    assert workload.jobs["gpu_type"].tolist() == ["", "a100", "a|b"]
    platform, easy = Platform.homogeneous(2, 4), make_scheduler("easy")
    jobs = Simulation(platform, workload, easy).run().jobs
    assert jobs["state"].tolist() == ["completed", "rejected", "rejected"]
    assert jobs["reason"][1] == "it asks for 2 GPUs of type a100, the platform has none of type a100"
    assert set(Simulation(platform, workload.without_gpus(), easy).run().jobs["state"]) == {"completed"}
    late = Simulation(platform, Workload.read(dump(tmp_path, ONE)), make_scheduler("fcfs"))
    job = late.submit(
        {"job_id": "late", "requested_cores": 1, "recorded_run_time": 5, "gpus": 1, "partition": "q"}, at=3
    )
    assert (job.partition, late.jobs.job(0).partition, late.run().jobs["state"][1]) == ("q", "p", "rejected")


def test_what_is_not_read_is_listed_once(tmp_path: Path) -> None:
    """Columns, trackable resources and constraints by their names, in one line."""
    path = dump(tmp_path, row("1", ReqTRES="cpu=4,billing=9,fs/disk=5") + "|0:0|x|a*2",
                header=HEADER + "|ExitCode|WCKey|Constraints")  # fmt: skip
    assert warned(path) == [
        f"{path}: not read: columns ExitCode, WCKey; TRES fs/disk (1 job); constraints 1 that are no list of features"
    ]


def test_bars_in_a_job_name(tmp_path: Path) -> None:
    """sacct does not escape its separator; where one column is free text, the cells in excess are its own."""
    job = first(dump(tmp_path, row("1", JobName="a|b|c")))
    assert (job["profile"], job["user"], job["requested_cores"]) == ("a|b|c", "ann", 4)


def test_names_are_anonymised(tmp_path: Path) -> None:
    """By order of appearance; equal names stay equal."""
    path = dump(tmp_path, row("1"), row("2", User="bob"), row("3", Account="bio", JobName="z"))
    jobs = Workload.read(path, anonymise=True).jobs
    assert jobs[["user", "account", "profile"]].values.tolist() == [
        ["u1", "a1", "j1"],
        ["u2", "a1", "j1"],
        ["u1", "a2", "j2"],
    ]


def test_csv_and_parquet(tmp_path: Path) -> None:
    """The same columns in other containers give the same jobs; a CSV file may have bars, too."""
    path = dump(tmp_path, ONE, row("2", Timelimit="UNLIMITED"))
    whole = Workload.read(path).jobs
    frame = pd.read_csv(path, sep="|", dtype=str)
    frame.to_csv(tmp_path / "commas.csv", index=False)
    (tmp_path / "bars.csv").write_text(Path(path).read_text())
    names = ["commas.csv", "bars.csv"]
    try:
        typed = frame.assign(Submit=pd.to_datetime(frame["Submit"]), AllocCPUS=frame["AllocCPUS"].astype(int),
                             Elapsed=pd.to_timedelta(frame["Elapsed"]))  # fmt: skip
        typed.to_parquet(tmp_path / "typed.parquet")
        names.append("typed.parquet")
    except ImportError:
        pass
    for name in names:
        pd.testing.assert_frame_equal(Workload.read(tmp_path / name).jobs, whole)


def test_partitions_have_names_or_numbers(tmp_path: Path) -> None:
    """Names stay names in the own format; SWF, which has only numbers, counts them; numbers stay integers."""
    workload = Workload.read(dump(tmp_path, ONE, row("2", Partition="q"), row("3", Partition="")))
    assert workload.jobs["partition"].tolist() == ["p", "q", ""]
    workload.write(tmp_path / "jobs.csv")
    pd.testing.assert_frame_equal(Workload.read(tmp_path / "jobs.csv").jobs, workload.jobs)
    workload.write(tmp_path / "log.swf")
    again = Workload.read(tmp_path / "log.swf").jobs["partition"]
    assert again.tolist() == [1, 2, -1]
    assert again.dtype == np.int64
    numbers = Workload.read(dump(tmp_path, row("1", Partition="7"), row("2", Partition=""))).jobs["partition"]
    assert numbers.tolist() == [7, -1]
    assert numbers.dtype == np.int64


@pytest.mark.parametrize(
    ("header", "line", "message"),
    [
        (HEADER, row("x1"), "line 2, JobID: expected a job's id such as 123, 123_4, 123_[5-9], 123+1 or 123.batch, found x1"),
        (HEADER, row("1", Submit="soon"), "line 2, Submit: expected a time such as 2026-03-01T12:00:00, or Unknown, found soon"),
        (HEADER, row("1", Elapsed="1h"), "line 2, Elapsed: expected a duration such as 1-02:03:04, 03:04.5 or UNLIMITED"),
        (HEADER, row("1", AllocCPUS="four"), "line 2, AllocCPUS: expected a whole number, found four"),
        (HEADER, row("1", ReqTRES="cpu"), "line 2, ReqTRES: expected trackable resources such as cpu=4,mem=8G,node=1, found cpu"),
        (HEADER, "1|2", "line 2: expected 15 cells, as in the header, found 2"),
        (HEADER, row("1_[9-3]"), "line 2, JobID: expected array tasks in rising order, such as 5-9, found 1_[9-3]"),
        (HEADER, row("1", State="PENDING"), "expected at least one job that can be simulated, found 1 jobs and 0 steps, 1 not"),
        ("JobID|Elapsed|NCPUS", "1|00:01:00|2", "expected a column Submit, found JobID, Elapsed, NCPUS"),
        ("JobID|Elapsed|Submit", "1|00:01:00|2026-01-01", "expected a column with CPUs: AllocCPUS, NCPUS, ReqCPUS, AllocTRES"),
        ("JobID|JobID|Submit", "1|1|2026-01-01", "line 1: expected a header with every column once, found jobid"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_a_line(tmp_path: Path, header: str, line: str, message: str) -> None:
    """File, line, column, what was expected and what was found."""
    path = dump(tmp_path, line, header=header)
    with pytest.raises(FormatError) as caught:
        Workload.read(path)
    assert str(caught.value).startswith(path)
    assert message in str(caught.value)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """convert and run take the options; wrong input ends with 2."""
    path = dump(tmp_path, ONE, row("2", ReqTRES="gres/gpu=1"))
    assert shell("convert", path, str(tmp_path / "out.csv"), "--anonymise", "--time-zone", "Europe/Berlin") == 0
    text = (tmp_path / "out.csv").read_text()
    assert "u1" in text
    assert "ann" not in text
    assert "TimeZoneString: Europe/Berlin" in text
    run = ["run", "-p", "homogeneous:nodes=2,cores=4", "-w", path, "--out"]
    assert shell(*run, str(tmp_path / "a"), "--anonymise") == 0
    assert pd.read_csv(tmp_path / "a/jobs.csv")["state"].tolist() == ["completed", "rejected"]
    assert shell(*run, str(tmp_path / "b"), "--ignore-gpus") == 0
    assert pd.read_csv(tmp_path / "b/jobs.csv")["state"].tolist() == ["completed", "completed"]
    told = capsys.readouterr().err
    assert "it asks for 1 GPU, the platform has none; --ignore-gpus runs" in told
    assert "1 of 2 jobs need GPUs: they run as if they needed none" in told
    assert (
        shell("run", "-p", "homogeneous:nodes=2,cores=4", "-w", dump(tmp_path, row("x")), "--out", str(tmp_path)) == 2
    )
    assert "line 2, JobID: expected" in capsys.readouterr().err
    assert shell("convert", "homogeneous:nodes=2,cores=4", str(tmp_path / "p.yaml"), "--anonymise") == 2


# ---------------------------------------------------------------------- tasks of arrays, attempts


WAITING = {"State": "PENDING", "Start": "Unknown", "End": "Unknown", "Elapsed": "00:00:00", "AllocCPUS": "0"}


def ids(path: str, **options: Any) -> list[str]:
    """The ids of the jobs that are read, sorted."""
    return sorted(Workload.read(path, **options).jobs["job_id"])


def test_a_task_is_one_job_whichever_rows_name_it(tmp_path: Path) -> None:
    """Its own row tells more than a shared one; of shared rows the last counts; nothing is counted twice."""
    rows = [row("7_[1-4%2]", **WAITING), row("7_1"), HEADER, row("7_[3-4%2]", **WAITING), row("7_2")]
    path = dump(tmp_path, *rows)
    assert ids(path) == ["7_1", "7_2"]
    assert "2 of 4 jobs dropped: 2 not over" in "".join(warned(path))
    assert ids(path, unfinished="limit") == ["7_1", "7_2", "7_3", "7_4"]
    assert Workload.read(path, unfinished="limit").jobs["array_limit"].tolist() == [2] * 4


def test_a_dump_of_tasks_that_waited_drops_none(tmp_path: Path) -> None:
    """All tasks of a shared row have run since."""
    path = dump(tmp_path, row("7_[1-5:2]", **WAITING), row("7_1"), row("7_3"), row("7_5"))
    assert ids(path, unfinished="limit") == ["7_1", "7_3", "7_5"]
    assert not any("dropped" in text for text in warned(path))


def test_cancelled_tasks_share_a_row(tmp_path: Path) -> None:
    """A task that its own row and a shared one call cancelled is one job."""
    never = WAITING | {"State": "CANCELLED by 7", "End": "2026-03-01T11:00:00"}
    assert ids(dump(tmp_path, row("4_[2-3]", **never), row("4_2", **never)), cancelled="keep") == ["4_2", "4_3"]


def test_a_list_of_tasks_that_slurm_cut_short(tmp_path: Path) -> None:
    """The number before the dots is unsure unless it ends a range; that tasks are missing is told."""
    path = dump(tmp_path, row("7_[1,3,1...]", **WAITING), row("8_[1-3...%4]", **WAITING))
    assert ids(path, unfinished="limit") == ["7_1", "7_3", "8_1", "8_2", "8_3"]
    told = "".join(warned(path, unfinished="limit"))
    assert "with a list of array tasks that Slurm has cut short: 2 jobs" in told


def test_a_job_renamed_between_attempts_is_one_job(tmp_path: Path) -> None:
    """A requeue keeps the number and the user; the name may change."""
    first_try = row("3", State="PREEMPTED")
    again = row("3", JobName="b", Submit="2026-03-01T10:10:05", Start="2026-03-01T12:00:00", End="2026-03-01T12:10:00")
    assert Workload.read(dump(tmp_path, first_try, again)).jobs[["job_id", "submit_time"]].values.tolist() == [["3", 0]]


def test_a_number_given_again_to_the_same_user(tmp_path: Path) -> None:
    """A job that was over long before the next submission is another job, whatever its name."""
    later = row("1", Submit="2026-04-01T10:00:00", Start="2026-04-01T10:00:05", End="2026-04-01T10:10:05")
    path = dump(tmp_path, ONE, later, row("1_[1-2]", Submit="2026-05-01T10:00:00", **WAITING))
    assert ids(path) == ["1", "1#2"]
    array = [row("9_1"), row("9_[1-2]", Submit="2026-05-01T10:00:00", **WAITING)]
    assert ids(dump(tmp_path, *array), unfinished="limit") == ["9_1", "9_1#2", "9_2"]


def test_the_last_dump_knows_a_job_best(tmp_path: Path) -> None:
    """A job waits in the first dump, runs in the second, and is over in the third."""
    running = row("5", State="RUNNING", End="Unknown", Elapsed="00:01:00")
    for rows in ([row("5", **WAITING), running, row("5")], [row("5"), running, row("5", **WAITING)]):
        assert Workload.read(dump(tmp_path, *rows)).jobs["recorded_run_time"].tolist() == [600]


# ---------------------------------------------------------------------- columns that stand in for each other


@pytest.mark.parametrize(
    ("header", "cells", "field", "value"),
    [
        ("ElapsedRaw|Elapsed", ("|00:00:07", "9|00:00:08"), "recorded_run_time", [7, 9]),
        ("ElapsedRaw", ("", "9"), "recorded_run_time", [600, 9]),
        ("AllocCPUS|NCPUS|AllocTRES", ("||cpu=3", "|5|cpu=3"), "used_cores", [3, 5]),
        ("AllocCPUS|ReqCPUS|ReqTRES", ("2||cpu=3", "2|4|cpu=3"), "requested_cores", [2, 2]),
        ("NCPUS|ReqMem|ReqTRES", ("1||cpu=1,mem=2G", "1|3G|cpu=1,mem=2G"), "memory", [2048, 3072]),
        ("NCPUS|Timelimit|TimelimitRaw", ("1||3", "1|00:02:00|3"), "requested_time", [180, 120]),
        ("NCPUS|NNodes|AllocTRES", ("4||node=2", "4|3|node=2"), "nodes", [2, 3]),
        ("NCPUS|AllocGRES|ReqGRES", ("1||gpu:2", "1|gpu:3|gpu:2"), "gpus", [2, 3]),
        ("NCPUS|AllocGRES|ReqGRES", ("1||gpu:A100:2", "1|gpu:3|gpu:b:2"), "gpu_type", ["A100", ""]),
        ("NCPUS|ReqTRES|AllocTRES", ("1|gres/gpu=1|gres/gpu:b=1", "1||gres/gpu:B=1"), "gpu_type", ["", "B"]),
    ],
)
def test_columns_fall_back_row_by_row(
    tmp_path: Path, header: str, cells: tuple[str, str], field: str, value: list[float]
) -> None:
    """A cell that says nothing leaves the word to the next column, in that row alone."""
    times = "2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T10:10:00"
    more = "" if "CPUS" in header else "|NCPUS"
    rows = [f"{job}|{times}|{said}" + ("|1" if more else "") for job, said in enumerate(cells, start=1)]
    path = dump(tmp_path, *rows, header=f"JobID|Submit|Start|End|{header}{more}")
    assert Workload.read(path).jobs[field].tolist() == value


def test_a_job_id_may_stand_in_the_raw_column(tmp_path: Path) -> None:
    """Where JobID is empty JobIDRaw has it."""
    path = dump(tmp_path, row("1") + "|11", row("") + "|12", header=HEADER + "|JobIDRaw")
    assert ids(path) == ["1", "12"]


def test_an_overflown_amount_of_memory_is_none(tmp_path: Path) -> None:
    """Slurm writes 16E where it does not know; tmpfs is no GPU."""
    header = HEADER + "|MaxRSS|ReqMem|AllocGRES"
    rows = [row("1") + "||16E|tmpfs:100G", row("1.batch") + "|16E||", row("2") + "||?|", row("2.0") + "|3M||"]
    jobs = Workload.read(dump(tmp_path, *rows, header=header)).jobs
    assert jobs[["used_memory", "gpus"]].values.tolist() == [[-1, 0], [3072, 0]]


# ---------------------------------------------------------------------- rows that are broken


def test_one_bad_row_refuses_no_log(tmp_path: Path) -> None:
    """Each is counted and named with its line, column and what was expected; the others are read."""
    bad = [row("x"), row("3", Submit="soon"), row("4", AllocCPUS="four"), row("5", State="12:00"), "6|a|ann"]
    path = dump(tmp_path, ONE, *bad, row("7"))
    assert ids(path) == ["1", "7"]
    text = next(text for text in warned(path) if "left out" in text)
    assert "5 of 7 rows left out; line 3, JobID: expected a job's id" in text
    assert "then line 4, 5, 6, 7" in text
    assert r"leave out JobName or print with sacct --parsable2 --delimiter=$'\x1f'" in text


@pytest.mark.parametrize(
    ("header", "lines", "texts"),
    [
        ("JobName|Comment|SubmitLine", ["a|b|c|sbatch x"], [""]),
        ("JobName|State|SubmitLine", ["a|b|COMPLETED|sbatch -C a|b x"], ["a|b"]),
        ("Constraints|State|JobName", ["[x|y]&z|COMPLETED|n"], ["n"]),
        ("JobName|State|SubmitLine", ["a|COMPLETED|sbatch --wrap=for i", "do x", "done"], ["a"]),
        ("SubmitLine|State|JobName", ["sbatch --wrap=for i", "do echo", "done|COMPLETED|n"], ["n"]),
        ("JobName|State|User", ["a", "b|COMPLETED|ann"], ["a\nb"]),
    ],
)
def test_texts_with_separators_and_line_breaks(tmp_path: Path, header: str, lines: list[str], texts: list[str]) -> None:
    """Ids, times and states say where a text ends; where they do not, the text is empty and all else is read."""
    start = "1|2026-03-01T10:00:00|00:10:00|2|"
    after = "9|2026-03-01T10:00:00|00:20:00|4|" + "|".join(
        {"State": "COMPLETED", "User": "ann"}.get(name, "") for name in header.split("|")
    )
    path = dump(tmp_path, start + "\n".join(lines), after, header=f"JobID|Submit|Elapsed|NCPUS|{header}")
    jobs = Workload.read(path).jobs.set_index("job_id")
    assert jobs["recorded_run_time"].to_dict() == {"1": 600, "9": 1200}
    assert [jobs.loc["1", "profile"]] == texts
    assert "1 row put together" in "".join(warned(path))


def test_a_row_that_may_be_read_in_two_ways_is_left_out(tmp_path: Path) -> None:
    """What decides, here the user, could stand in either place: nothing is guessed."""
    header = "JobID|Submit|Elapsed|NCPUS|JobName|User|Comment"
    start = "2026-03-01T10:00:00|00:10:00|2"
    path = dump(tmp_path, f"1|{start}|a|b|c|d", f"2|{start}|a|ann|c", header=header)
    assert ids(path) == ["2"]
    assert "1 of 2 rows left out; line 2: expected 7 cells, as in the header, found 8" in "".join(warned(path))


def test_a_log_that_is_cut_off_loses_its_last_row_only(tmp_path: Path) -> None:
    """The beginning of a row is no line break in the text before."""
    path = dump(tmp_path, row("1") + "|sbatch x", "2|b|ann|phys", header=HEADER + "|SubmitLine")
    assert ids(path) == ["1"]
    assert "1 of 2 rows left out; line 3" in "".join(warned(path))


@pytest.mark.parametrize("delimiter", ["^|^", "~", "\x1f", ";", "\t", "::", ","])
def test_delimiters(tmp_path: Path, delimiter: str) -> None:
    """sacct --delimiter takes any text."""
    path = tmp_path / "jobs.txt"
    path.write_text(
        "\n".join(line.replace("|", delimiter) for line in (HEADER, ONE.replace("cpu=4,mem=8G,node=1", "")))
    )
    assert ids(str(path)) == ["1"]


def test_dumps_with_other_columns_are_put_together(tmp_path: Path) -> None:
    """Each header holds for the rows below it."""
    path = dump(tmp_path, ONE, "NCPUS|JobID|Submit|Elapsed", "3|2|2026-03-01T10:00:00|00:00:09")
    assert Workload.read(path).jobs[["job_id", "requested_cores", "user"]].values.tolist() == [
        ["1", 4, "ann"], ["2", 3, ""],
    ]  # fmt: skip


# ---------------------------------------------------------------------- sacct --json


def as_json(number: Any) -> str:
    """The jobs of ``test_json_is_the_same_log`` as Slurm's JSON, its numbers written by ``number``."""

    def job(name: str, **more: Any) -> dict[str, Any]:
        times = {"submission": 1772359200, "eligible": 1772359200, "start": 1772359205, "end": 1772359805}
        return {
            "job_id": 1, "name": name, "user": "ann", "account": "phys", "partition": "p", "qos": "normal", "group": "g",
            "nodes": "n1", "constraints": "", "allocation_nodes": 1, "priority": number(7),
            "array": {"job_id": 0, "task_id": number(None), "task": ""}, "het": {"job_id": 0, "job_offset": number(None)},
            "state": {"current": "COMPLETED" if number is plain else ["COMPLETED"], "reason": "None"},
            "required": {"CPUs": 4, "memory": 4096} if number is plain else {"CPUs": 4, "memory_per_node": number(4096)},
            "time": times | {"elapsed": 600, "suspended": 0, "limit": number(60)},
            "tres": {"requested": [{"type": "cpu", "name": "", "count": 4}, {"type": "mem", "name": "", "count": 8192}],
                     "allocated": [{"type": "cpu", "name": "", "count": 4}, {"type": "gres", "name": "gpu", "count": 2}]},
            "steps": [{"tres": {"requested": {"max": [{"type": "mem", "name": "", "count": 3 * 2**20}]}}}],
        } | more  # fmt: skip

    waits = {"state": {"current": "PENDING" if number is plain else ["PENDING"]}}
    waits["time"] = {"submission": 1772359200, "eligible": 0, "start": 0, "end": 0, "elapsed": 0, "limit": number(60)}
    jobs = [
        job("a"),
        job("b", job_id=12, array={"job_id": 10, "task_id": number(2), "task": ""}),
        job("c", array={"job_id": 11, "task_id": number(None), "task": "1-3%2"}, **waits),
        job("d", het={"job_id": 20, "job_offset": number(1)}),
    ]
    return json.dumps({"meta": {"Slurm": {"version": {"major": "22"}}}, "errors": [], "jobs": jobs})


def plain(value: int | None) -> Any:
    """A number as Slurm 22.05 writes it."""
    return value


def wrapped(value: int | None) -> Any:
    """A number as Slurm 23.02 writes it."""
    return {"set": value is not None, "infinite": False, "number": value or 0}


@pytest.mark.parametrize("number", [plain, wrapped])
def test_json_is_the_same_log(tmp_path: Path, number: Any) -> None:
    """What sacct prints as text and as JSON gives the same jobs, in both forms that Slurm has given its JSON."""
    header = (
        "JobID|JobName|User|Group|Account|Partition|QOS|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|State|ReqCPUS|"
        "ReqMem|ReqTRES|AllocTRES|NodeList|Priority|MaxRSS"
    )
    ran = ("ann|g|phys|p|normal|2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T10:00:05|2026-03-01T10:10:05|600|60|"
           "COMPLETED|4|4Gn|cpu=4,mem=8G|cpu=4,gres/gpu=2|n1|7|")  # fmt: skip
    waits = ran.replace("2026-03-01T10:00:00|2026-03-01T10:00:05|2026-03-01T10:10:05|600", "Unknown|Unknown|Unknown|0")
    waits = waits.replace("COMPLETED", "PENDING")
    rows = [f"1|a|{ran}", f"10_2|b|{ran}", f"11_[1-3%2]|c|{waits}", f"20+1|d|{ran}"]
    steps = [f"{job}.0|x|" + "|" * 18 + "3072K" for job in ("1", "10_2", "11", "20+1")]
    text = Workload.read(dump(tmp_path, *rows, *steps, header=header), unfinished="limit").jobs
    path = tmp_path / "jobs.json"
    path.write_text(as_json(number))
    pd.testing.assert_frame_equal(Workload.read(str(path), unfinished="limit").jobs, text)
    assert sorted(text["job_id"]) == ["1", "10_2", "11_1", "11_2", "11_3", "20+1"]
    assert (
        shell(
            "run", "-p", "homogeneous:nodes=9,cores=4", "-w", str(path), "--ignore-gpus", "--out", str(tmp_path / "o")
        )
        == 0
    )


def test_a_job_of_the_json_that_is_none_is_left_out(tmp_path: Path) -> None:
    """It is counted by its place among the jobs."""
    document = json.loads(as_json(plain))
    document["jobs"][1]["time"] = 7
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(document))
    assert ids(str(path)) == ["1", "20+1"]
    assert "1 of 4 rows left out; job 2: expected a job as sacct --json prints it" in "".join(warned(str(path)))


# ---------------------------------------------------------------------- near formats


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("das2.gwf", "# Grid workload\n# JobID SubmitTime WaitTime RunTime NProcs\n0 1109242800 0 100 4\n", "GWF"),
        ("das2.swf", "0 1 2 " + "-1 " * 26 + "\n", "GWF"),
        ("jobs.txt", "JobId=7 JobName=x\n   UserId=u(1) GroupId=g(1)\n", "what scontrol show job prints"),
        ("jobs.txt", "  JOBID PARTITION     NAME     USER ST TIME NODES NODELIST(REASON)\n 7 p x u R 0:01 1 n1\n", "squeue"),
        ("20260301", "03/01/2026 10:00:00;E;7.head;user=u group=g queue=q\n", "PBS or Torque"),
        ("lsb.acct", '"JOB_FINISH" "10.1" 1772359200 7 1001\n', "LSF"),
        ("accounting", "all.q:n1:g:u:x:7:sge" + ":0" * 40 + "\n", "Grid Engine"),
        ("squeue.json", '{"jobs": [{"job_id": 7, "job_state": ["RUNNING"]}]}', "the JSON of squeue or scontrol"),
        ("sinfo.json", '{"meta": {"slurm": {}}, "nodes": []}', "the JSON of another of Slurm's commands"),
        ("helios.csv", "job_id,user,gpu_num,cpu_num,state,submit_time,end_time\n1,u,8,32,COMPLETED,1,2\n",
         "a table of another program without requested_cores and recorded_run_time, with gpu_num, cpu_num, state, end_time"),
    ],
)  # fmt: skip
def test_near_formats_are_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, what: str
) -> None:
    """One line says what the file is and what to give instead."""
    path = tmp_path / name
    path.write_text(text)
    assert shell("run", "-p", "homogeneous:nodes=2,cores=4", "-w", str(path), "--out", str(tmp_path / "out")) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert what in line
    assert "sacct --" in line or "docs/reference/job-schema.md" in line


# ---------------------------------------------------------------------- recorded runs


def clock(seconds: float | None) -> str:
    """A recorded time, s, as sacct prints it."""
    return (
        "Unknown"
        if seconds is None
        else str(pd.Timestamp("2026-11-01") + pd.Timedelta(seconds=seconds)).replace(" ", "T")
    )


def minutes(limit: str) -> str:
    """A limit, ``M:SS``, as sacct prints it."""
    whole, seconds = map(int, limit.split(":"))
    total = whole * 60 + seconds
    return f"{total // 86400}-{total % 86400 // 3600:02}:{total % 3600 // 60:02}:{total % 60:02}"


def folded(nodes: list[str]) -> str:
    """Names of nodes, ``n3``, as Slurm lists them."""
    return nodes[0] if len(nodes) == 1 else f"n[{','.join(node[1:] for node in nodes)}]"


def recorded_rows(run: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """A run as sacct prints it, with a row for each attempt and a step for each job; and its jobs that are over."""
    asked = {job["id"]: job for job in json.loads((run / "jobs.json").read_text())}
    rows, over = [], []
    for job in json.loads((run / "expected.json").read_text())["jobs"]:
        if job["state"] == "REJECTED":
            continue
        base = asked[job["id"].partition("_")[0]]
        options = base["options"]
        last = {"start": job["start"], "end": job["end"], "state": job["state"], "nodes": job["nodes"]}
        attempts = [*job.get("attempts", [])[:-1], last] if job.get("attempts") else [last]
        gpus = sum(int(part["gres"].partition("(")[0].rpartition(":")[2]) * len(part["nodes"])
                   for part in job.get("allocation", []) if "gres" in part)  # fmt: skip
        for number, each in enumerate(attempts):
            is_last = number == len(attempts) - 1
            begun = each["start"] is not None and each["nodes"]
            waits = each["state"] == "PENDING" and is_last
            state = "REQUEUED" if not is_last else "CANCELLED by 0" if job["state"] == "CANCELLED" else job["state"]
            elapsed = (
                ""
                if each["end"] is None or waits or not begun
                else f"00:{(each['end'] - each['start']) // 60:02}:{(each['end'] - each['start']) % 60:02}"
            )
            cells = [job["id"], base["name"], base["user"], options.get("qos", ""), job["partition"],
                     clock(job["submit"] if number == 0 else attempts[number - 1]["end"]), clock(job["eligible"]),
                     clock(each["start"] if begun and not waits else None), clock(None if waits else each["end"]), elapsed,
                     minutes(options["time"]) if "time" in options else "UNLIMITED", state, job["cpus"], job["cpus"],
                     f"cpu={job['cpus']},gres/gpu={gpus}" if gpus else f"cpu={job['cpus']}",
                     folded(each["nodes"]) if begun else "None assigned"]  # fmt: skip
            rows.append("|".join(map(str, cells)))
            if begun:
                rows.append("|".join([f"{job['id']}.batch", "batch", *map(str, cells[2:])]))
        if (
            job["end"] is not None
            and job["start"] is not None
            and job["nodes"]
            and job["state"] not in ("PENDING", "RUNNING")
        ):
            over.append(job | {"of": base, "gpus": gpus})
    return rows, over


@pytest.mark.skipif(not RECORDED, reason="the recorded runs of ../shared are not there")
@pytest.mark.parametrize("run", [path.parent for path in RECORDED], ids=lambda run: run.name)
def test_recorded_runs(tmp_path: Path, run: Path) -> None:
    """Every job of a recorded run that is over is read, with the times, cores, nodes and states that were recorded."""
    header = (
        "JobID|JobName|User|QOS|Partition|Submit|Eligible|Start|End|Elapsed|Timelimit|State|ReqCPUS|AllocCPUS|ReqTRES"
    )
    rows, expected = recorded_rows(run)
    workload = Workload.read(dump(tmp_path, *rows, header=f"{header}|NodeList"), cancelled="keep")
    jobs = workload.jobs.set_index("job_id")
    assert sorted(jobs.index) == sorted(job["id"] for job in expected)
    first_submit = min(job["submit"] for job in expected)
    status = {"COMPLETED": 1, "CANCELLED": 5, "PREEMPTED": 5}
    for job in expected:
        found = jobs.loc[job["id"]]
        assert found["submit_time"] == job["submit"] - first_submit
        assert found["recorded_run_time"] == job["end"] - job["start"]
        assert found["recorded_wait_time"] == job["start"] - job["submit"]
        assert found["requested_cores"] == found["used_cores"] == job["cpus"]
        assert found["recorded_nodes"] == folded(job["nodes"])
        assert found["status"] == status.get(job["state"], 0)
        assert (found["partition"], found["user"], found["gpus"]) == (job["partition"], job["of"]["user"], job["gpus"])
        limit = job["of"]["options"].get("time")
        seconds = np.inf if limit is None else int(limit.split(":")[0]) * 60 + int(limit.split(":")[1])
        assert found["requested_time"] == seconds


def test_unknown_options_are_refused(tmp_path: Path) -> None:
    """An option that other formats have, or a value that none has."""
    with pytest.raises(InputError, match="an option of this format"):
        Workload.read(dump(tmp_path, ONE), time_unit="minutes")
    with pytest.raises(SpecError, match="option cores: expected one of allocated, requested, found all"):
        Workload.read(dump(tmp_path, ONE), cores="all")


def test_warnings_are_model_warnings(tmp_path: Path) -> None:
    """Nothing is told in another way."""
    with pytest.warns(ModelWarning, match="not read: columns Odd"):
        Workload.read(dump(tmp_path, ONE + "|1", header=HEADER + "|Odd"))


def test_a_submit_line_says_throttles_and_for_whom_a_job_waits(tmp_path: Path) -> None:
    """Of arrays all tasks are meant; jobs that the log lacks or that came later are left out; other dependencies are told."""
    lines = {
        "7_1": "sbatch -a 1-2%1 job.sh -a 5",
        "7_2": "sbatch -a 1-2%1 job.sh -a 5",
        "8": "sbatch --dependency=AfterAny:7_2:10 job.sh",
        "9": "sbatch -d singleton --array=0 job.sh",
        "10": "sbatch --depend afterok:7,afterany:9:3 job.sh",
    }
    path = dump(tmp_path, *(f"{row(job)}|{line}" for job, line in lines.items()), header=f"{HEADER}|SubmitLine")
    jobs = Workload.read(path).jobs.set_index("job_id")
    assert jobs["array_limit"].to_dict() == {"7_1": 1, "7_2": 1, "8": 0, "9": 0, "10": 0}
    assert jobs["after"].to_dict() == {"7_1": "", "7_2": "", "8": "any:7_2", "9": "", "10": "7_1 7_2 any:9"}
    assert any("dependencies other than afterok and afterany: 1 job" in text for text in warned(path))
    assert set(Workload.read(path, submission="eligible").jobs["after"]) == {""}


def test_a_submit_line_says_how_many_switches_and_how_long_a_job_waits_for_them(tmp_path: Path) -> None:
    """Slurm waits 300 s at most, unless its configuration says otherwise; a word of the job's own script is not meant."""
    lines = {
        "1": "sbatch --switches=1@0:30 job.sh",
        "2": "sbatch --switches 2 job.sh",
        "3": "sbatch --switches=1@1-00:00 job.sh",
        "4": "sbatch job.sh --x--switches=3",
        "5": "sbatch --switches=0 job.sh",
    }
    path = dump(tmp_path, *(f"{row(job)}|{line}" for job, line in lines.items()), header=f"{HEADER}|SubmitLine")
    jobs = Workload.read(path).jobs
    assert jobs["switches"].tolist() == [1, 2, 1, 0, 0]
    assert jobs["switch_wait"].tolist() == [30.0, 300.0, 300.0, math.inf, math.inf]


def test_an_end_before_its_start_is_told(tmp_path: Path) -> None:
    """Elapsed contradicts the two times: it counts, and this is said."""
    times = "2026-03-01T10:00:00|2026-03-01T10:00:00|2026-03-01T10:00:05|2026-03-01T09:00:00"
    row = f"1|a|ann|phys|p|{times}|00:10:00|01:00:00|COMPLETED|4|4|"
    (tmp_path / "jobs.txt").write_text(f"{HEADER}\n{row}\n")
    with pytest.warns(ModelWarning, match="End before Start: 1 job, Elapsed is their run time"):
        Workload.read(str(tmp_path / "jobs.txt"))
