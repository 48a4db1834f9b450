"""Jobs that are requeued, suspended, cancelled and stopped by failures: every interval of the cases worked by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schedulers import Preemptive
from tests.support import changing_cases as cases

NAMES = (
    *("requeue-all-lost-small", "requeue-all-lost", "requeue-from-checkpoint"),
    *("suspend-resume", "suspend-resume-servsim", "cancel", "node-failure", "node-failure-checkpoint"),
)


@pytest.mark.parametrize("name", NAMES)
def test_every_interval(shared: Path, tmp_path: Path, name: str) -> None:
    """Who was where, from when to when; how each attempt ended; what was lost; when the last job ended."""
    text = (shared / "cases" / "changing-jobs" / "cases.json").read_text(encoding="utf-8")
    case = next(case for case in json.loads(text)["cases"] if case["name"] == name)
    mode = "suspend" if "suspend" in case["rules"] else "requeue"
    result = cases.run(case, Preemptive(mode), tmp_path)
    assert cases.pieces(result) == cases.expected_pieces(case)
    assert cases.ends(result) == case["expected"]["attempts"]
    assert result.summary()["lost_core_s"] == case["expected"]["lost_node_seconds"]
    assert result.jobs["finish_time"].max() == case["expected"]["last_end"]


def job(name: str, submit: int, nodes: int, run_time: int, priority: int = 0, **checkpoints: int) -> dict[str, Any]:
    """A job of a case."""
    return {"id": name, "submit": submit, "nodes": nodes, "run_time": run_time, "priority": priority, **checkpoints}


SAVES = {"checkpoint_every": 4, "checkpoint_cost": 1, "restore_cost": 2}


def test_the_least_urgent_that_started_last_is_requeued(tmp_path: Path) -> None:
    """D takes C's node (C started after B) and F the same; E takes B's, A being as urgent as E; 3 + 6 + 1 s are lost."""
    jobs = [
        job("A", 0, 1, 9, priority=1),
        job("B", 0, 1, 9),
        job("C", 2, 1, 9),
        job("D", 5, 1, 4, priority=2),
        job("E", 6, 1, 2, priority=1),
        job("F", 10, 2, 3, priority=1),
    ]
    result = cases.run({"nodes": 3, "jobs": jobs}, Preemptive(), tmp_path)
    assert cases.pieces(result) == {
        "A": [(0, 9, {0})],
        "B": [(0, 6, {1}), (8, 17, {1})],
        "C": [(2, 5, {2}), (9, 10, {0}), (13, 22, {0})],
        "D": [(5, 9, {2})],
        "E": [(6, 8, {1})],
        "F": [(10, 13, {0, 2})],
    }
    assert result.summary()[["lost_core_s", "jobs_preempted", "jobs_requeued"]].tolist() == [10, 3, 3]


def test_a_requeued_job_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    """A saves 4 s at 5, loses 2 s on two nodes at 7, restores 10-12, and saves 4 more at 17, when D stops it again."""
    jobs = [
        job("A", 0, 2, 10, **SAVES),
        job("B", 7, 1, 3, priority=1),
        job("C", 8, 1, 5, **SAVES),
        job("D", 17, 1, 1, priority=1),
    ]
    result = cases.run({"nodes": 2, "jobs": jobs}, Preemptive(), tmp_path)
    assert cases.pieces(result) == {
        "A": [(0, 7, {0, 1}), (10, 17, {0, 1}), (18, 22, {0, 1})],
        "B": [(7, 10, {0})],
        "C": [(22, 28, {0})],
        "D": [(17, 18, {0})],
    }
    done = result.attempts["work_done"].tolist()
    assert done == pytest.approx([0.6, 1, 0.8, 1, 1, 1])
    assert result.attempts["lost_core_s"].tolist() == [4, 0, 0, 0, 0, 0]


def test_a_suspended_job_goes_on_where_it_was(tmp_path: Path) -> None:
    """D needs both nodes at 3; at 5 C goes first, on its node; B waits for that until 8; nothing is lost."""
    jobs = [job("A", 0, 1, 10), job("B", 0, 1, 6), job("C", 2, 1, 4, priority=1), job("D", 3, 2, 2, priority=2)]
    result = cases.run({"nodes": 2, "jobs": jobs}, Preemptive("suspend"), tmp_path)
    assert cases.pieces(result) == {
        "A": [(0, 3, {0}), (5, 12, {0})],
        "B": [(0, 2, {1}), (8, 12, {1})],
        "C": [(2, 3, {1}), (5, 8, {1})],
        "D": [(3, 5, {0, 1})],
    }
    assert result.jobs["wait_time"].tolist() == [2, 6, 2, 0]
    assert result.summary()[["lost_core_s", "jobs_preempted", "utilisation"]].tolist() == [0, 3, 1]


def test_jobs_are_cancelled_while_they_run_wait_and_end(tmp_path: Path) -> None:
    """A at 5, when B's and C's nodes come free; D, which blocks the queue, at 6; C at 9, when it has ended."""
    jobs = [job("A", 0, 2, 8), job("B", 0, 2, 5), job("C", 1, 1, 4), job("D", 2, 3, 2), job("E", 7, 1, 3)]
    cancels = [{"job": "A", "at": 5}, {"job": "D", "at": 6}, {"job": "C", "at": 9}]
    result = cases.run({"nodes": 3, "jobs": jobs, "cancels": cancels}, Preemptive(), tmp_path)
    assert cases.ends(result) == {
        "A": [[0, 5, "cancelled"]],
        "B": [[5, 10, "finished"]],
        "C": [[5, 9, "finished"]],
        "D": [],
        "E": [[9, 12, "finished"]],
    }
    assert result.jobs["state"].tolist() == ["killed", "completed", "completed", "killed", "completed"]
    assert result.summary()["lost_core_s"] == 10


def test_a_failure_where_a_checkpoint_would_begin(tmp_path: Path) -> None:
    """Node 1 fails at 9: the 4 s since the checkpoint are lost on both nodes; A has both again at 13 and restores first."""
    jobs = [job("A", 0, 2, 10, **SAVES), job("B", 1, 1, 3)]
    result = cases.run({"nodes": 2, "jobs": jobs, "failures": [{"node": 1, "down": [9, 13]}]}, Preemptive(), tmp_path)
    assert cases.ends(result) == {
        "A": [[0, 9, "failed"], [13, 22, "finished"]],
        "B": [[22, 25, "finished"]],
    }
    assert result.summary()[["lost_core_s", "jobs_requeued"]].tolist() == [8, 1]


def test_what_ends_then_failures_then_submissions(tmp_path: Path) -> None:
    """All at 5: A has ended on the node that fails; B has not and begins anew at 7, before C, which comes at 5."""
    jobs = [job("A", 0, 1, 5), job("B", 0, 1, 9), job("C", 5, 2, 1)]
    failures = [{"node": node, "down": [5, 7]} for node in (0, 1)]
    result = cases.run({"nodes": 2, "jobs": jobs, "failures": failures}, Preemptive(), tmp_path)
    assert cases.ends(result) == {
        "A": [[0, 5, "finished"]],
        "B": [[0, 5, "failed"], [7, 16, "finished"]],
        "C": [[16, 17, "finished"]],
    }
