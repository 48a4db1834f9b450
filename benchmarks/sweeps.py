"""What sweeps cost: ``python -m benchmarks.sweeps [--runs N] [--quick]``.

Measured are: the same sweep on one process and on two; what a run costs beside its simulation; the memory of the program that
hands out the work, at N runs and at ten times as many; the size of what is sent and of what is kept; and a log read by a worker,
against one mapped into memory.

How much quicker two processes are is told twice. By the clock, which is right on a quiet machine; and by CPU time, one process's
over half of what two take together, the program's own included, which is what the clock would show if nothing else ran.
"""

from __future__ import annotations

import json
import os
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from benchmarks.inputs import stand_in
from benchmarks.measure import in_fresh_process, peak_memory_gb
from benchmarks.report import circumstances, described

GOAL = 1.8


@dataclass(frozen=True)
class Cost:
    """Costs of one sweep: seconds by the clock, CPU seconds of its own process and of all, peak memory of its own process, MB."""

    clock_s: float
    own_s: float
    cpu_s: float
    peak_mb: float
    bytes_a_run: float
    bytes_sent: int


def grid_of(runs: int, jobs: int) -> dict[str, Any]:
    """A configuration of that many runs: two loads, five schedulers, and replications."""
    return {
        "factors": {
            "platform": "homogeneous:nodes=16,cores=4",
            "workload": f"lublin:jobs={jobs},nodes=64",
            "load": [0.8, 1.2],
            "scheduler": ["fcfs", "easy", "sjf", "ljf", "saf-easy"],
        },
        "replications": max(1, runs // 10),
    }


def cost_of(runs: int, jobs: int, workers: int) -> Cost:
    """Run a sweep in a folder that is thrown away; to be called in a fresh process."""
    from analysis.sweep import Grid, sweep

    grid = Grid.of(grid_of(runs, jobs))
    with tempfile.TemporaryDirectory() as folder:
        clock, own, children = time.perf_counter(), time.process_time(), _children_s()
        outcome = sweep(grid, folder, workers=workers)
        clock, own, children = time.perf_counter() - clock, time.process_time() - own, _children_s() - children
        assert outcome.done == len(grid), outcome.failures()
        size = (Path(folder) / "runs.parquet").stat().st_size / len(grid)
    sent = len(json.dumps(grid[0]))
    return Cost(clock, own, own + children, peak_memory_gb() * 1e3, size, sent)


def mapping(jobs: int) -> dict[str, float]:
    """CPU ms to read a log of that many jobs, and to map it; to be called in a fresh process."""
    from analysis.sweep import columns
    from cluster_sim import Workload

    with tempfile.TemporaryDirectory() as folder:
        log, arrow = Path(folder) / "log.swf", Path(folder) / "log.arrow"
        stand_in(jobs).write(log)
        columns.write(Workload.read(log), arrow)
        return {"read": _ms(lambda: Workload.read(log)), "map": _ms(lambda: columns.mapped(arrow))}


def _ms(act: Callable[[], object]) -> float:
    begin = time.process_time()
    act()
    return (time.process_time() - begin) * 1e3


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _row(what: str, measured: str, goal: str = "") -> None:
    click.echo(f"| {what} | {measured} | {goal} |")


@click.command()
@click.option("--runs", type=click.IntRange(10), default=500, show_default=True, help="Runs of a sweep.")
@click.option("--jobs", type=click.IntRange(1), default=300, show_default=True, help="Jobs of each run.")
@click.option("--quick", is_flag=True, help="Ten runs of five jobs: shows that it works, measures nothing.")
def main(runs: int, jobs: int, quick: bool) -> None:
    """Measure sweeps; print a Markdown table."""
    runs, jobs, log = (10, 5, 1_000) if quick else (runs, jobs, 200_000)
    click.echo(f"{described(circumstances())} Load of the machine: {os.getloadavg()[0]:.1f}.\n")
    click.echo("| what | measured | goal |\n|---|---|---|")
    # Fresh processes, for their peak memory begins with what they were started with.
    call: Callable[..., Any] = (lambda function, *given: function(*given)) if quick else in_fresh_process
    one, two = (call(cost_of, runs, jobs, workers) for workers in (1, 2))
    _row(
        f"{runs} runs of {jobs} jobs, two processes, by CPU time",
        f"{one.cpu_s / (two.cpu_s / 2):.2f} times",
        f"≥ {GOAL}",
    )
    _row("the same by the clock", f"{one.clock_s / two.clock_s:.2f} times", f"≥ {GOAL}, if quiet")
    times = 2 if quick else 10
    few = one if quick else call(cost_of, runs, 5, 2)
    many = call(cost_of, times * runs, 5, 1 if quick else 2)
    more = (times - 1) * runs
    _row(f"memory of the parent, {runs} runs of 5 jobs", f"{few.peak_mb:.0f} MB")
    _row(f"the same, {times * runs} runs", f"{many.peak_mb:.0f} MB", f"≤ {few.peak_mb + 20:.0f} MB")
    _row("CPU time of the parent", f"{max(many.own_s - few.own_s, 1e-3) / more * 1e3:.3f} ms a run")
    _row("CPU time of all, runs of 5 jobs", f"{max(many.cpu_s - few.cpu_s, 1e-3) / more * 1e3:.2f} ms a run")
    _row("a cell, as it is sent", f"{many.bytes_sent} bytes")
    _row("a row, as it is kept", f"{many.bytes_a_run:.0f} bytes")
    ms = call(mapping, log)
    _row(f"a log of {log} jobs, read", f"{ms['read']:.1f} ms")
    _row("the same, mapped into memory", f"{ms['map']:.1f} ms")


if __name__ == "__main__":
    main()
