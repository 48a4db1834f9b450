"""Jobs of a small machine of equal cores, for tests of backfilling: worked out by hand, or drawn at random."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from cluster_sim import Platform, Simulation, Workload, make_scheduler

from . import textbook

Rows = list[tuple[float, int, float, float]]
"""(submission, cores, requested time, run time) of each job."""


def workload(rows: Rows, **columns: Any) -> Workload:
    """Jobs named a, b, c, …; numbered in logs longer than the alphabet."""
    names = ("submit_time", "requested_cores", "requested_time", "recorded_run_time")
    table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    ids = [chr(97 + i) if len(rows) <= 26 else str(i) for i in range(len(rows))]
    return Workload({"job_id": ids, **table, **columns})


def starts(scheduler: str, rows: Rows, cores: int = 4, platform: Platform | None = None, **options: Any) -> list[float]:
    """When each job starts, on one-core nodes."""
    columns = options.pop("columns", {})
    machine = platform or Platform.homogeneous(nodes=cores, cores=1)
    result = Simulation(machine, workload(rows, **columns), make_scheduler(scheduler), **options).run()
    return [float(time) for time in result.jobs["start_time"]]


KEYS: dict[str, textbook.Key] = {
    "fcfs": textbook.by_submission,
    "sjf": lambda job, now: job[2],
    "saf": lambda job, now: job[1] * job[2],
    "expansion-factor": lambda job, now: -(now - job[0]) / max(job[2], 1.0),
}


@st.composite
def small_logs(draw: st.DrawFn, exact: bool = False) -> tuple[int, Rows]:
    """Cores of a small machine and jobs that fit it, on few values, so that events coincide."""
    cores = draw(st.integers(2, 9))
    rows, now = [], 0.0
    for _ in range(draw(st.integers(1, 30))):
        now += draw(st.sampled_from([0, 0, 1, 2, 5]))
        run = float(draw(st.integers(1, 9)))
        requested = run if exact else run + draw(st.sampled_from([0, 0, 1, 5, 30]))
        rows.append((now, draw(st.integers(1, cores)), requested, run))
    return cores, rows
