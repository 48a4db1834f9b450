"""Batsim's workload JSON: profiles that can be run, profiles that are refused by name, and bad input in one line."""

from __future__ import annotations

import json
import math
import warnings
from pathlib import Path
from typing import Any

import pytest

from cluster_sim.errors import FormatError, ModelWarning, SpecError
from cluster_sim.platform import Cluster, NodeGroup, NodeType, Platform, ProcessorType
from cluster_sim.run import Simulation
from cluster_sim.workload import Workload
from schedulers import make_scheduler

PROFILES: dict[str, dict[str, Any]] = {
    "wait": {"type": "delay", "delay": 10.5},
    "even": {"type": "parallel_homogeneous", "cpu": 2e9, "com": 0},
    "shared": {"type": "parallel_homogeneous_total", "cpu": 8e9, "com": 0},
    "each": {"type": "parallel", "cpu": [1e9, 4e9, 0, 2e9], "com": [0] * 16},
    "delays": {"type": "composed", "repeat": 3, "seq": ["wait", "wait"]},
    "nested": {"type": "composed", "seq": ["even", "twice"]},
    "twice": {"type": "composed", "nb": 2, "seq": ["even"]},
    "talks": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 5e6},
    "mpi": {"type": "smpi", "trace": "trace.txt"},
    "mixed": {"type": "composed", "seq": ["wait", "even"]},
}


def job(profile: str, number: int | str = 0, **values: Any) -> dict[str, Any]:
    """A job of four resources."""
    return {"id": number, "subtime": 1, "walltime": 100, "res": 4, "profile": profile, **values}


def write(folder: Path, *jobs: dict[str, Any], profiles: Any = None) -> Path:
    """A workload file."""
    path = folder / "w.json"
    path.write_text(json.dumps({"nb_res": 4, "jobs": jobs, "profiles": PROFILES if profiles is None else profiles}))
    return path


@pytest.mark.parametrize(
    ("profile", "operations"),
    [("even", 2e9), ("shared", 2e9), ("nested", 6e9), ("twice", 4e9)],
)
def test_computation_becomes_operations_per_task(tmp_path: Path, profile: str, operations: float) -> None:
    """Amounts are per task; a total is shared out; a sequence is the sum of its parts, times its repetitions."""
    table = Workload.read(write(tmp_path, job(profile))).jobs
    assert (table.loc[0, "operations"], table.loc[0, "fixed_run_time"]) == (operations, False)
    assert math.isnan(table.loc[0, "recorded_run_time"])


@pytest.mark.parametrize(("profile", "seconds"), [("wait", 10.5), ("delays", 63.0)])
def test_a_delay_becomes_a_fixed_run_time(tmp_path: Path, profile: str, seconds: float) -> None:
    """A delay, or a sequence of delays, is a run time that no core's speed changes."""
    table = Workload.read(write(tmp_path, job(profile))).jobs
    assert (table.loc[0, "recorded_run_time"], table.loc[0, "fixed_run_time"]) == (seconds, True)


def test_unequal_tasks_take_the_time_of_the_largest(tmp_path: Path) -> None:
    """The tasks of a parallel profile progress together; a warning says that all are taken to be busy."""
    with pytest.warns(ModelWarning, match="unequal amounts"):
        table = Workload.read(write(tmp_path, job("each"))).jobs
    assert table.loc[0, "operations"] == 4e9


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ({"type": "delay", "delay": 3}, {"type": "DelayProfile", "delay": 3}),
        ({"type": "msg_par_hg", "cpu": 8, "com": 0}, {"type": "ParallelTaskHomogeneousProfile", "cpu": 8, "com": 0}),
        (
            {"type": "msg_par_hg_tot", "cpu": 8, "com": 0},
            {"type": "ptask_homogeneous", "generation_strategy": "DefinedAmountsSpreadUniformly", "cpu": 8, "com": 0},
        ),
        ({"type": "msg_par", "cpu": [8] * 4}, {"type": "ParallelTaskProfile", "cpu": [8] * 4, "com": [0] * 16}),
    ],
)
def test_old_and_new_names_mean_the_same(tmp_path: Path, older: dict[str, Any], newer: dict[str, Any]) -> None:
    """Batsim has renamed its profile types twice."""
    tables = [Workload.read(write(tmp_path, job("p"), profiles={"p": p})).jobs for p in (older, newer)]
    assert tables[0].equals(tables[1])


def test_times_stay_ids_are_text_and_minus_one_is_no_walltime(tmp_path: Path) -> None:
    """Nothing is shifted, not even in a part; jobs of one instant keep their order."""
    jobs = [job("wait", "w0!3", subtime=7.5), job("wait", 12, subtime=7.5, walltime=-1), job("wait", "x", subtime=9)]
    del jobs[2]["walltime"]
    workload = Workload.read(write(tmp_path, *jobs))
    assert workload.jobs["job_id"].tolist() == ["w0!3", "12", "x"]
    assert workload.jobs["submit_time"].tolist() == [7.5, 7.5, 9.0]
    assert workload.jobs["requested_time"].tolist() == [100.0, math.inf, math.inf]
    assert (workload.origin_s, workload.slice(8, 10).jobs["submit_time"].tolist()) == (0.0, [9.0])


def test_users_and_time_units(tmp_path: Path) -> None:
    """Times of a file in minutes become seconds, operations stay; a user is text."""
    path = write(tmp_path, job("wait", user_id=5), job("even", 1, user="ann"))
    table = Workload.read(path, time_unit="minutes").jobs
    assert table["submit_time"].tolist() == [60.0, 60.0]
    assert table["requested_time"].tolist() == [6000.0, 6000.0]
    assert (table.loc[0, "recorded_run_time"], table.loc[1, "operations"]) == (630.0, 2e9)
    assert table["user"].tolist() == ["5", "ann"]


def test_communication_is_left_out_with_a_warning(tmp_path: Path) -> None:
    """One warning for the file, with the number of jobs."""
    with pytest.warns(ModelWarning) as told:
        table = Workload.read(write(tmp_path, job("talks"), job("talks", 1), job("even", 2))).jobs
    assert [str(warning.message).partition(": ")[2] for warning in told] == [
        "2 jobs communicate, which costs nothing here: only their computation is simulated"
    ]
    assert table["operations"].tolist() == [1e9, 1e9, 2e9]


@pytest.mark.parametrize(
    ("profile", "found"),
    [
        ({"type": "smpi", "trace": "t"}, "smpi: it replays a trace"),
        ({"type": "TraceReplayProfile", "trace_type": "SMPI"}, "TraceReplayProfile: it replays a trace"),
        ({"type": "parallel_homogeneous_pfs", "bytes_to_read": 1}, "parallel_homogeneous_pfs: it reads and writes"),
        ({"type": "data_staging", "nb_bytes": 1}, "data_staging: it reads and writes storage"),
        ({"type": "send"}, "send: it talks to the scheduler"),
        ({"type": "quantum"}, "quantum: no type that is known"),
        ({"type": "parallel_homogeneous", "cpu": 0, "com": 1}, "parallel_homogeneous: it only communicates"),
        ({"type": "parallel", "cpu": [0] * 4, "com": [1] * 16}, "parallel: it only communicates"),
    ],
)
def test_what_needs_a_network_or_storage_is_refused_by_name(
    tmp_path: Path, profile: dict[str, Any], found: str
) -> None:
    """Refused once a job uses it, in one line; with unsupported=drop only those jobs are left out."""
    path = write(tmp_path, job("p"), job("even", 1), profiles={"p": profile, "even": PROFILES["even"]})
    with pytest.raises(FormatError) as caught:
        Workload.read(path)
    message = str(caught.value)
    assert "profiles.p" in message
    assert f"found {found}" in message
    assert "\n" not in message
    with pytest.warns(ModelWarning, match="1 jobs are left out"):
        assert Workload.read(path, unsupported="drop").jobs["job_id"].tolist() == ["1"]


def test_a_profile_that_no_job_uses_does_not_matter(tmp_path: Path) -> None:
    """Files list profiles for all their variants."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(Workload.read(write(tmp_path, job("even")))) == 1


BAD: list[tuple[dict[str, Any], Any, str]] = [
    (job("nobody"), None, r"jobs\[0\].profile: expected the name of a profile \(wait, .*\), found nobody"),
    (job("even", res=0), None, r"jobs\[0\].res: expected a whole number >= 1, found 0"),
    (job("even", res=1.5), None, r"jobs\[0\].res: expected a whole number >= 1, found 1.5"),
    (job("even", res="4"), None, r"jobs\[0\].res: expected a number, found 4"),
    (job("even", subtime=-1), None, r"jobs\[0\], job 0, submit_time: expected .* >= 0, found -1"),
    (job("even", subtime=None), None, r"jobs\[0\].subtime: expected a number, found None"),
    (job("even", walltime=-2), None, r"jobs\[0\].walltime: expected a time above 0, or -1 for none, found -2"),
    (job("even", id=True), None, r"jobs\[0\].id: expected text or a whole number, found True"),
    (job("each", res=3), None, r"profiles.each.cpu: expected an entry for each of the job's 3 resources, found 4 entr"),
    (job("mixed"), None, r"profiles.mixed.seq: expected a sequence of delays only or of computation only"),
    (job("p"), {"p": {"type": "delay"}}, r"profiles.p.delay: expected a number, found nothing"),
    (job("p"), {"p": {"type": "delay", "delay": 0}}, r"profiles.p.delay: expected a number above 0, found 0"),
    (job("p"), {"p": {"type": "parallel", "cpu": 3}}, r"profiles.p.cpu: expected a list of numbers, found 3"),
    (job("p"), {"p": {"type": "parallel", "cpu": [1, -1, 1, 1]}}, r"profiles.p.cpu: expected numbers >= 0, found -1"),
    (job("p"), {"p": {"type": "msg_par_hg", "cpu": -1}}, r"profiles.p.cpu: expected a number >= 0, found -1"),
    (job("p"), {"p": {"type": "msg_par_hg", "cpu": 10**400}}, r"profiles.p.cpu: expected a finite number"),
    (
        job("p"),
        {"p": {"type": "composed", "seq": ["q", "q"]}, "q": {"type": "delay", "delay": 1e308}},
        "profiles.p.seq: expected a sequence whose sum is a finite number, found inf",
    ),
    (job("p"), {"p": {"type": "composed", "seq": []}}, r"profiles.p.seq: expected a list of profiles' names"),
    (job("p"), {"p": {"type": "composed", "seq": ["p"]}}, r"profiles.p.seq: expected at most 50 sequences in each oth"),
    (job("p"), {"p": {"type": "composed", "seq": ["q"]}}, r"profiles.p.seq: expected the name of a profile"),
    (job("p"), {"p": {"type": "composed", "repeat": 0, "seq": ["p"]}}, r"profiles.p.repeat: expected a whole number"),
    (job("p"), {"p": 3, "q": {"type": "delay"}}, r"profiles.p: expected an object with the profile's type, found 3"),
]


@pytest.mark.parametrize(("entry", "profiles", "message"), BAD)
def test_bad_files_are_told_in_a_line(tmp_path: Path, entry: dict[str, Any], profiles: Any, message: str) -> None:
    """The line names the file, the job or the profile, what was expected and what was found."""
    path = write(tmp_path, entry, profiles=profiles)
    with pytest.raises(FormatError, match=message) as caught:
        Workload.read(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_bad_options(tmp_path: Path) -> None:
    """Options are checked like names."""
    path = write(tmp_path, job("even"))
    for options in ({"unsupported": "ignore"}, {"time_unit": "years"}, {"reference_gflops": 2.0}):
        with pytest.raises(SpecError):
            Workload.read(path, **options)


def two_speeds() -> Platform:
    """A node of a fast core, and one of a core at half its speed."""
    kinds = [ProcessorType(name, 1, ghz) for name, ghz in (("fast", 2.0), ("slow", 1.0))]
    groups = tuple(NodeGroup(NodeType(kind.name, (kind,)), 1) for kind in kinds)
    return Platform((Cluster("c", groups),))


def test_a_delay_takes_its_time_on_any_core_at_any_clock(tmp_path: Path) -> None:
    """On the slow core computation takes twice as long, a delay does not, not even when the clock changes in it."""
    jobs = [job(profile, number, subtime=0, res=1) for number, profile in enumerate(("wait", "wait", "even", "even"))]
    workload = Workload.read(write(tmp_path, *jobs))
    assert Simulation(two_speeds(), workload, make_scheduler("fcfs")).run().jobs["run_time"].tolist() == [
        10.5, 10.5, 1.0, 2.0,
    ]  # fmt: skip
    simulation = Simulation(two_speeds(), workload, make_scheduler("fcfs"))
    simulation.run(until=4.0)
    for node in (0, 1):
        simulation.node(node).processors[0].set_clock(0.5)
    assert simulation.run().jobs["run_time"].tolist() == [10.5, 10.5, 4.0, 4.0]
