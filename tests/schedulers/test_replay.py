"""Playing a schedule back, ours or Batsim's."""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster_sim.errors import FormatError, InputError, ModelWarning
from cluster_sim.formats.batsim_results import write_jobs
from cluster_sim.platform import Platform
from cluster_sim.records import Result
from cluster_sim.simulation import Simulation
from cluster_sim.workload import Workload
from schedulers import Replay, Scheduler, make_scheduler

HEADER = (
    "job_id,workload_name,submission_time,requested_number_of_resources,requested_time,success,starting_time,"
    "execution_time,finish_time,waiting_time,turnaround_time,stretch,consumed_energy,allocated_resources\n"
)


def row(job: str, start: object, cores: str) -> str:
    """A line of Batsim's table of which only these three count."""
    return f"{job},w0,0,1,9,1,{start},1,1,0,1,1,0,{cores}\n"


def workload(*cores: int, seconds: float = 5.0) -> Workload:
    """Jobs submitted at 0."""
    count = len(cores)
    return Workload({"submit_time": [0.0] * count, "requested_cores": cores, "recorded_run_time": [seconds] * count})


def run(scheduler: Scheduler, jobs: Workload, nodes: int = 3, cores: int = 2) -> Result:
    """A run on equal nodes."""
    return Simulation(Platform.homogeneous(nodes, cores), jobs, scheduler).run()


@pytest.mark.parametrize("batsim", [False, True])
def test_our_own_schedule_comes_back(tmp_path: Path, batsim: bool) -> None:
    """Whatever made it, to the last digit, from our jobs.csv as well as from Batsim's."""
    jobs = Workload(
        {
            "submit_time": [0, 0, 1, 2, 2.3, 7, 7], "requested_cores": [2, 3, 1, 6, 1, 2, 1],
            "recorded_run_time": [3.1, 4.7, 9.9, 1.3, 0.2, 5, 6], "requested_time": [9] * 7,
        }
    )  # fmt: skip
    first = run(make_scheduler("list:smallest/high_cores,blocking=no"), jobs)
    first.save(tmp_path)
    write_jobs(first, tmp_path / "batsim_jobs.csv")
    again = run(make_scheduler(f"replay:{tmp_path / ('batsim_jobs.csv' if batsim else 'jobs.csv')}"), jobs)
    pd.testing.assert_frame_equal(again.jobs, first.jobs)
    by_job = [r.allocations.sort_values(["job_id", "node"], ignore_index=True) for r in (again, first)]
    pd.testing.assert_frame_equal(*by_job)


def test_batsim_record(tmp_path: Path) -> None:
    """Resource i is core i; the job waits for its time although its cores are free; ids may name the workload."""
    (tmp_path / "r.csv").write_text(HEADER + row("0", 2.5, "4") + row("1", 1, "0-1 5"))
    jobs = Workload(
        {"job_id": ["w0!0", "1"], "submit_time": [0, 0], "requested_cores": [1, 3], "recorded_run_time": [1, 1]}
    )
    result = run(Replay(str(tmp_path / "r.csv")), jobs)
    assert result.jobs["start_time"].tolist() == [2.5, 1.0]
    assert result.jobs_with_allocation()["allocation"].tolist() == [
        "cluster0.node2.processor0:0-0",
        "cluster0.node0.processor0:0-1;cluster0.node2.processor0:0-0",
    ]


def test_a_job_that_the_record_lacks_is_rejected(tmp_path: Path) -> None:
    """So is one that never started there; the reason says which."""
    path = tmp_path / "r.csv"
    path.write_text(HEADER + row("0", "", "") + row("1", -1, "") + row("2", 0, "0"))
    result = run(Replay(str(path)), workload(1, 1, 1, 1))
    assert result.jobs["state"].tolist() == ["rejected", "rejected", "completed", "rejected"]
    assert result.jobs["reason"].tolist() == [f"never started in {path}"] * 2 + ["", f"not in {path}"]


def test_rounded_times_do_not_stop_it(tmp_path: Path) -> None:
    """A job recorded a hair before its predecessor ends starts when that ends; one that is really late is told."""
    path = tmp_path / "r.csv"
    path.write_text(HEADER + row("0", 0, "0") + row("1", 4.999999, "0"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run(Replay(str(path)), workload(1, 1), cores=1)
    assert result.jobs["start_time"].tolist() == [0.0, 5.0]
    path.write_text(HEADER + row("0", 0, "0") + row("1", 3, "0"))
    with pytest.warns(ModelWarning, match=r"job 1 starts at 5 s, not at the recorded 3 s: its cores were not free"):
        run(Replay(str(path)), workload(1, 1), cores=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected some content"),
        ("job_id,start_time\n0,1\n", "expected a column 'allocation', or Batsim's 'allocated_resources'"),
        ("job_id,start_time,allocation\n0,soon,x\n", "job 0, start_time: expected a number, found soon"),
        ("job_id,start_time,allocation\n0,0,x\n", "job 0, allocation: expected node.processor:first-last;…, found x"),
        ("job_id,start_time,allocation\n0,0,cluster0.node9.processor0:0-0\n", "expected a node name such as cluster0"),
        ("job_id,start_time,allocation\n0,0,cluster0.node0.processor1:0-0\n", "expected a processor that the node has"),
        ("job_id,start_time,allocation\n0,0,cluster0.node0.processor0:1-2\n", "expected cores that the processor has"),
        (HEADER + row("0", 0, "0-1"), "job 0: expected 1 cores, as the workload says, found 2"),
        (HEADER + row("0", 0, "6"), "job 0: expected resources from 0 to 5, found 6"),
        (HEADER + row("0", 0, "x"), "job 0: expected resources such as 0-3 7, found x"),
        (HEADER + row("0", 0, "1") * 2, "job 0: expected every job once, found it twice"),
        (HEADER + row("0", "now", "1"), "row 0, column starting_time: expected a number, found now"),
        ("allocated_resources\n0\n", "expected a column 'job_id'"),
    ],
)
def test_bad_records_are_told_in_a_line(tmp_path: Path, text: str, message: str) -> None:
    """The line names the file and the job, also when it comes out of the middle of a run."""
    path = tmp_path / "r.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        run(Replay(str(path)), workload(1))
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


BITS = st.one_of(
    st.binary(max_size=3), st.sampled_from([b",", b"\n", b'"', b"-", b"nan", b"inf", b"9" * 30, b";", b":"])
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), batsim=st.booleans())
def test_mutated_records_end_in_a_line(tmp_path: Path, data: st.DataObject, batsim: bool) -> None:
    """Cut out, put in and exchanged bytes: a run, or an InputError that names the file."""
    own = "job_id,start_time,allocation\n0,0.5,cluster0.node0.processor0:0-0\n1,2,cluster0.node1.processor0:0-1\n"
    text = bytearray((HEADER + row("0", 0.5, "0") + row("1", 2, "2-3") if batsim else own).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(text)))
        text[position : position + data.draw(st.integers(0, 5))] = data.draw(BITS)
    path = tmp_path / "r.csv"
    path.write_bytes(bytes(text))
    message = str(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run(Replay(str(path)), workload(1, 2))
        except InputError as error:
            message = str(error)
    assert str(path) in message
    assert "\n" not in message
