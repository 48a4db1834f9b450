"""Speed and calls of each stage of the code, as a table that is kept: ``python -m benchmarks.stages "what changed"``.

A change that is compared only with the one before may cost a little, and so may the next: the table shows where that has led.
The command adds a row to ``benchmarks/STAGES.md``. Costs are ratios measured side by side, as all benchmarks here; calls are
those of the project's own functions, which no load of the machine disturbs. Some five minutes.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import click

from benchmarks import inputs
from benchmarks.cases import FLOOR, flat, in_a_row, simulate
from benchmarks.measure import alternate, floor
from cluster_sim import Platform, Simulation, Workload, make_scheduler

TABLE = Path(__file__).with_name("STAGES.md")
ROOT = Path(__file__).resolve().parent.parent
FEW, MANY = 1_000, 3_000


def calls_of(run: Callable[[], object]) -> int:
    """Count the calls of the project's own functions in a run."""
    count, own = 0, str(ROOT)

    def note(frame: Any, event: str, argument: object) -> None:
        nonlocal count
        name = frame.f_code.co_filename
        count += event == "call" and name.startswith(own) and ".venv" not in name

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def calls_per_job(scheduler: str) -> float:
    """Count calls a job, from ``run()`` to ``result.jobs``: Lublin's jobs on 256 one-core nodes.

    It is the difference of two workloads, so that what a run costs once does not count.
    """
    counts = []
    for jobs in (FEW, MANY):
        workload = Workload.read(f"lublin:jobs={jobs},nodes=256,seed=1")
        simulation = Simulation(flat(256), workload, make_scheduler(scheduler))
        counts.append(calls_of(lambda it=simulation: it.run().jobs))  # type: ignore[misc]
    return (counts[1] - counts[0]) / (MANY - FEW)


def calls_of_two_jobs() -> tuple[int, int]:
    """Count calls to build and to run two jobs under EASY on one node, everything loaded."""
    platform = Platform.homogeneous(nodes=1, cores=8)
    two = {"submit_time": [0, 1], "requested_cores": [4, 8], "recorded_run_time": [10, 10], "requested_time": [20, 20]}
    workload, made = Workload(two), []
    for _ in range(2):
        made.clear()
        built = calls_of(lambda: made.append(Simulation(platform, workload, make_scheduler("easy"))))
        run = calls_of(made[0].run)
    return built, run


def ratios(jobs: int, repeat: int) -> dict[str, float]:
    """Return costs of a job over SimPy's floor, and with sleeping nodes over nodes that stay on."""
    log, swift = inputs.log().first(jobs), inputs.short_queues(min(jobs, 10_000))
    machine, small = flat(inputs.LOG_CORES), flat(inputs.SHORT_CORES)
    runs: dict[str, Callable[[], int]] = {FLOOR: partial(floor, jobs)}
    runs |= {name: partial(simulate, machine, log, name) for name in ("fcfs", "easy", "conservative")}
    runs["contention"] = partial(in_a_row, 10, partial(simulate, *inputs.memory_bound(1_000)))
    runs |= {name: partial(simulate, small, swift, "fcfs", name) for name in ("always-on", "timeout:300")}
    costs = {name: cost.median for name, cost in alternate(runs, repeat).items()}
    over_floor = {name: costs[name] / costs[FLOOR] for name in ("fcfs", "easy", "conservative", "contention")}
    return over_floor | {"timeout:300 over always-on": costs["timeout:300"] / costs["always-on"]}


@click.command()
@click.argument("stage")
@click.option("--jobs", default=10_000, show_default=True, help="Of the log.")
@click.option("--repeat", default=5, show_default=True, help="Alternating runs of each case.")
@click.option("--table", type=click.Path(path_type=Path), default=TABLE, help="File that gets the row.")
def main(stage: str, jobs: int, repeat: int, table: Path) -> None:
    """Measure the code as it is, and add it to the table as STAGE."""
    warnings.simplefilter("ignore")
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    found = ratios(jobs, repeat)
    built, run = calls_of_two_jobs()
    calls = [f"{calls_per_job(name):.0f}" for name in ("fcfs", "easy")]
    cells = [date.today().isoformat(), stage, commit.stdout.strip() or "no commit"]
    cells += [*(f"{value:.2f}" for value in found.values()), *calls, str(built), str(run)]
    row = f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |\n"
    with table.open("a", encoding="utf-8") as file:
        file.write(row)
    click.echo(row, nl=False)


if __name__ == "__main__":
    main()
