"""The examples of schedulers that share cores over time, on small cases worked by hand."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

from cluster_sim import Platform, Result, Simulation, Workload
from schedulers import Scheduler
from tests.support import changing_cases as cases

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(file: str, name: str, *arguments: Any) -> Scheduler:
    """A scheduler of an example."""
    scheduler = runpy.run_path(str(EXAMPLES / file))[name](*arguments)
    assert isinstance(scheduler, Scheduler)
    return scheduler


def on_one_core(scheduler: Scheduler, *jobs: tuple[float, float]) -> Result:
    """The run of jobs (submission s, run time s) on one core; they request what they need."""
    times = [time for _, time in jobs]
    columns = {"submit_time": [submit for submit, _ in jobs], "requested_cores": [1] * len(jobs)}
    workload = Workload(columns | {"recorded_run_time": times, "requested_time": times})
    return Simulation(Platform.homogeneous(1, 1), workload, scheduler).run()


def turns(result: Result) -> str:
    """Who had the core from when to when, in order of time; what follows without a break is one turn."""
    merged: list[list[Any]] = []
    for row in result.holds.sort_values("start").itertuples():
        if merged and merged[-1][0] == row.owner and merged[-1][2] == row.start:
            merged[-1][2] = row.end
        else:
            merged.append([row.owner, row.start, row.end])
    return " ".join(f"{job}:{start:g}-{end:g}" for job, start, end in merged)


def test_gang_as_worked_by_hand(tmp_path: Path) -> None:
    """Row 0: A; row 1: B and C; D, at 4, in a third row, which is over at 8; at 14 only C's row is left."""
    jobs = [
        {"id": name, "submit": submit, "nodes": nodes, "run_time": time}
        for name, submit, nodes, time in (("A", 0, 2, 6), ("B", 0, 1, 5), ("C", 0, 1, 7), ("D", 4, 1, 2))
    ]
    result = cases.run({"nodes": 2, "jobs": jobs}, example("gang.py", "Gang", 3.0), tmp_path)
    assert cases.pieces(result) == {
        "A": [(0, 3, {0, 1}), (8, 11, {0, 1})],
        "B": [(3, 6, {0}), (11, 13, {0})],
        "C": [(3, 6, {1}), (11, 15, {1})],
        "D": [(6, 8, {0})],
    }


def test_gang_as_in_the_case(shared: Path, tmp_path: Path) -> None:
    """The same from the file: intervals, attempts, nothing lost, the last end."""
    text = (shared / "cases" / "changing-jobs" / "cases.json").read_text(encoding="utf-8")
    case = next(case for case in json.loads(text)["cases"] if case["name"] == "gang")
    result = cases.run(case, example("gang.py", "Gang", float(case["quantum"])), tmp_path)
    assert cases.pieces(result) == cases.expected_pieces(case)
    assert cases.ends(result) == case["expected"]["attempts"]
    assert result.summary()["lost_core_s"] == case["expected"]["lost_node_seconds"]
    assert result.jobs["finish_time"].max() == case["expected"]["last_end"]


def test_round_robin() -> None:
    """One core, turns of 2 s: three jobs of 5, 3 and 1 s take turns; the third gives up the rest of its own."""
    result = on_one_core(example("gang.py", "Gang", 2.0), (0.0, 5.0), (0.0, 3.0), (0.0, 1.0))
    assert turns(result) == "0:0-2 1:2-4 2:4-5 0:5-7 1:7-8 0:8-9"


def test_shortest_remaining_time_first() -> None:
    """Four jobs of a textbook (Silberschatz, Galvin and Gagne): waits of 9, 0, 15 and 2 s, 6.5 s on average."""
    result = on_one_core(
        example("shortest_remaining.py", "ShortestRemaining"), (0.0, 8.0), (1.0, 4.0), (2.0, 9.0), (3.0, 5.0)
    )
    assert turns(result) == "0:0-1 1:1-5 3:5-10 0:10-17 2:17-26"
    assert result.jobs["wait_time"].tolist() == [9.0, 0.0, 15.0, 2.0]
    assert result.summary()["mean_wait_s"] == 6.5


def test_feedback_queues() -> None:
    """Quanta of 2 and 4 s: 0 falls at 2 and 1 at 4; 3, new, takes the core of 0 at 6, which has it for another 4 s from 7."""
    scheduler = example("feedback_queues.py", "FeedbackQueues", (2.0, 4.0))
    result = on_one_core(scheduler, (0.0, 7.0), (1.0, 3.0), (3.0, 1.0), (6.0, 1.0))
    assert turns(result) == "0:0-2 1:2-4 2:4-5 0:5-6 3:6-7 0:7-11 1:11-12"


def test_a_job_falls_to_the_last_queue() -> None:
    """Quanta of 1 and 2 s: alone it keeps its core; after 3 s it is below whoever comes, and has no quantum any more."""
    result = on_one_core(example("feedback_queues.py", "FeedbackQueues", (1.0, 2.0)), (0.0, 9.0), (4.0, 3.0))
    assert turns(result) == "0:0-4 1:4-7 0:7-12"
