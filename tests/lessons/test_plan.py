"""Schedules made by hand: what is wrong with one is told in one line; what is right is played as it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.lessons import play
from cluster_sim import Platform, Simulation, examples
from cluster_sim.errors import InputError
from schedulers import EasyBackfilling, Fcfs
from tests.support.rows import workload_of

FCFS = {"a": 0, "b": 0, "c": 4, "d": 6, "e": 8, "f": 10, "g": 12, "h": 13}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"c": 0}, "job c: expected a start at 1 s or later, when it is submitted, found 0 s"),
        ({"c": 3}, "job c: expected 1 free core on node0 at 3 s, found 0 (a has 1 until 4 s, b has 1 until 6 s)"),
        ({"d": 5.5}, "job d: expected 1 free core on node0 at 5.5 s, found 0 (b has 1 until 6 s, c has 1 until 12 s)"),
        ({"z": 3}, "schedule: expected jobs a, b, c, d, e, f, g, h, found a job 'z'"),
        ({"c": None}, 'job c: expected a start in seconds, such as 4 or (4, "node1"), found None'),
        ({"c": "soon"}, "job c: expected a start in seconds, such as 4 or (4, \"node1\"), found 'soon'"),
        ({"c": "4"}, "job c: expected a start in seconds, such as 4 or (4, \"node1\"), found '4'"),
        ({"c": float("nan")}, 'job c: expected a start in seconds, such as 4 or (4, "node1"), found nan'),
        ({"c": (4, "node7")}, "job c: expected a node of node0, found node7"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(changes: dict[str, Any], message: str) -> None:
    """Too early, overlapping, unknown, no number, no node: the line names the job and what was expected."""
    with pytest.raises(InputError) as caught:
        play(examples.case("short-jobs-first"), FCFS | changes)
    assert str(caught.value) == message


def test_a_job_left_out_is_missed() -> None:
    """Every job has to be in the schedule."""
    with pytest.raises(InputError, match="job h: expected a start, found none: it is not in the schedule"):
        play(examples.case("short-jobs-first"), {job: start for job, start in FCFS.items() if job != "h"})


def test_no_schedule_at_all() -> None:
    """A list is no schedule."""
    with pytest.raises(InputError, match="schedule: expected a start for each job"):
        play(examples.case("short-jobs-first"), [0, 0, 4])  # type: ignore[arg-type]


def test_too_few_cores_on_the_node_that_is_named() -> None:
    """Job e of lesson 4 needs four cores: the fast node never has them, the slow one only when a and c are done."""
    case = examples.case("fast-and-slow")
    plan: dict[str, Any] = {
        "a": (0, 1),
        "b": (0, "node0"),
        "c": (1, "cluster0.node1"),
        "d": 6,
        "e": (8, "node0"),
        "f": 8,
    }
    with pytest.raises(InputError, match=r"job e: expected 4 free cores on node0 at 8 s, found 2"):
        play(case, plan)
    with pytest.raises(
        InputError, match=r"job e: expected 4 free cores on node1 at 7 s, found 2 \(a has 2 until 8 s\)"
    ):
        play(case, plan | {"e": (7, "node1")})
    assert play(case, plan | {"e": (8, "node1")}).summary()["makespan_s"] == 13


def test_a_dependency_that_is_not_kept() -> None:
    """T9 of Graham's tasks has to wait for T1, which ends at 3."""
    case = examples.case("graham-nine")
    plan = {"T1": 0, "T2": 0, "T3": 0, "T4": 2, "T9": 2, "T5": 4, "T6": 4, "T7": 8, "T8": 8}
    with pytest.raises(
        InputError, match="job T9: expected a start after the end of job T1, which comes before it, found 2 s"
    ):
        play(case, plan)
    assert play(case, plan | {"T9": 3}).summary()["makespan_s"] == 12


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 4), st.integers(1, 9)), min_size=1, max_size=8),
    st.booleans(),
)
def test_a_schedule_of_a_scheduler_is_played_back(rows: list[tuple[int, int, int]], backfills: bool) -> None:
    """What FCFS or EASY did is valid, and played by hand it has the same starts, ends and energy."""
    platform, workload = Platform.homogeneous(nodes=2, cores=4), workload_of(*((*row, row[2]) for row in rows))
    made = Simulation(platform, workload, EasyBackfilling() if backfills else Fcfs()).run()
    nodes = dict(zip(made.allocations["job_id"], made.allocations["node"], strict=True))
    plan = {job: (start, nodes[job]) for job, start in zip(made.jobs["job_id"], made.jobs["start_time"], strict=True)}
    played = play((platform, workload), plan)
    assert played.jobs[["start_time", "finish_time"]].equals(made.jobs[["start_time", "finish_time"]])
    assert played.summary()["energy_j"] == pytest.approx(made.summary()["energy_j"], rel=1e-12)
