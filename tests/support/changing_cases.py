"""Cases of jobs that change while they run: from their description to a run, and from a run to what they expect."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from cluster_sim import Platform, Result, Simulation, Workload
from schedulers import Scheduler

OUTCOMES = {"completed": "finished", "killed": "cancelled"}
"""What the cases call outcomes that have other names here."""

Piece = tuple[float, float, set[int]]
"""From when to when (s) a job was on which nodes."""


def workload(jobs: list[dict[str, Any]]) -> Workload:
    """The jobs of a case whose number of nodes is fixed."""
    return Workload(
        {
            "job_id": [job["id"] for job in jobs],
            "submit_time": [float(job["submit"]) for job in jobs],
            "requested_cores": [job["nodes"] for job in jobs],
            "recorded_run_time": [float(job["run_time"]) for job in jobs],
            "requested_time": [float(job["run_time"]) for job in jobs],
            "priority": [float(job.get("priority", 0)) for job in jobs],
            "checkpoint_interval": [str(job.get("checkpoint_every", "")) for job in jobs],
            "checkpoint_time": [float(job.get("checkpoint_cost", 0)) for job in jobs],
            "restart_time": [float(job.get("restore_cost", 0)) for job in jobs],
        }
    )


def run(case: Mapping[str, Any], scheduler: Scheduler, folder: Path) -> Result:
    """The run of a case, with its failures, for which a file goes into ``folder``, and a process that cancels jobs."""
    failures = None
    if "failures" in case:
        failures = folder / "failures.csv"
        rows = [f"{one['down'][i]},{one['node']},{what}" for one in case["failures"] for i, what in enumerate(EVENTS)]
        failures.write_text("\n".join(["time,node,event", *rows, ""]), encoding="utf-8")
    simulation = Simulation(
        Platform.homogeneous(case["nodes"], 1),
        workload(case["jobs"]),
        scheduler,
        failures=None if failures is None else f"trace:{failures}",
    )
    simulation.env.process(_cancel(simulation, case.get("cancels", [])))
    return simulation.run()


EVENTS = ("fail", "repair")


def _cancel(simulation: Simulation, cancels: list[dict[str, Any]]) -> Generator[Any, Any, None]:
    for cancel in cancels:
        yield simulation.env.timeout(cancel["at"] - simulation.env.now)
        simulation.kill(cancel["job"])


def pieces(result: Result) -> dict[str, list[Piece]]:
    """Where each job was, from each time that it got cores to when it lost them, in order of time."""
    found: dict[tuple[str, float, float], set[int]] = {}
    for row in result.holds.itertuples():
        found.setdefault((row.owner, row.start, row.end), set()).add(result.platform.node_index(row.node))
    together: dict[str, list[Piece]] = {}
    for (job, start, end), nodes in sorted(found.items()):
        together.setdefault(job, []).append((start, end, nodes))
    return together


def expected_pieces(case: Mapping[str, Any]) -> dict[str, list[Piece]]:
    """The same as the case says; work, a checkpoint and more work on the same nodes are one piece."""
    together: dict[str, list[Piece]] = {}
    for row in case["expected"]["intervals"]:
        before = together.setdefault(row["job"], [])
        piece = float(row["start"]), float(row["stop"]), set(row["nodes"])
        if before and before[-1][1:] == (piece[0], piece[2]):
            before[-1] = before[-1][0], *piece[1:]
        else:
            before.append(piece)
    return together


def ends(result: Result) -> dict[str, list[list[Any]]]:
    """Per job its pieces as [start, stop, outcome], in the words of the cases: one that is to go on was suspended."""
    outcomes = {(row.job_id, row.end_time): row.outcome for row in result.attempts.itertuples()}
    found: dict[str, list[list[Any]]] = {job: [] for job in result.jobs["job_id"]}
    for job, spans in pieces(result).items():
        for start, end, _ in spans:
            outcome = outcomes.get((job, end), "suspended")
            found[job].append([start, end, OUTCOMES.get(outcome, outcome)])
    return found
