"""The tables of docs/guides/malleable.md: ``python -m studies.malleable_study [FOLDER] [--without-slips]``.

FOLDER has the jobs of Posner, Hupfeld and Finnerty (PECS 2023) as ``jobs-S0.csv.gz``, their figures as ``published.csv``, and
single jobs of some runs in ``expected``; by default ``../shared/cases/pecs23`` beside the repository. Each run is compared with
the published row, and job by job where there is a file. All rows of three seeds are some 300 runs of 2,300 jobs, half
an hour on one core. Exits with 1 if a figure differs that ties do not touch.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt
import pandas as pd

from cluster_sim import Platform, Simulation, Workload
from cluster_sim.records import Result
from cluster_sim.run.view import View
from schedulers.changing.malleable import Malleable
from schedulers.changing.malleable_rules import ResizableJob

INPUTS = Path(__file__).resolve().parents[2] / "shared" / "cases" / "pecs23"
NODES, OPS_PER_S = 128, 1e12
PROMISES = {"agreement": "agreement", "steal_agreement": "steal", "common_pool": "common-pool"}
RIGID: dict[str, dict[str, Any]] = {
    "rigid_backfill": {"size": "fixed", "overtake": True},
    "rigid_easy_backfill": {"size": "fixed"},
}
STRATEGIES: dict[str, dict[str, Any]] = {
    f"{size}_{theirs}": {"size": size, "promise": ours}
    for size in ("min", "pref", "average")
    for theirs, ours in PROMISES.items()
}
PERCENT = range(0, 101, 10)
TOUCHED_BY_TIES = {("S0", 70, "average_common_pool"), ("S1", 100, "average_common_pool")}
"""Rows in which the rounding of SimGrid's clock decides whether a submission or a tick comes first."""
TOLERANCES = {"average_node_utilization": 1e-4, "expand_nodes_per_event": 0.0501, "shrink_nodes_per_event": 0.0501}
"""Printed with one digit; of the utilisation, it depends on which nodes were busy how their times were rounded."""


class Counting(Malleable):
    """The scheduler, which counts what it decides of running jobs, in cores."""

    def begin(self, view: View) -> None:
        """Begin a run in which nothing is decided."""
        super().begin(view)
        self.shrunk: list[int] = []
        self.grown: list[int] = []

    def _shrink(self, job: ResizableJob, count: int) -> list[int]:
        self.shrunk.append(count)
        return super()._shrink(job, count)

    def _grow(self, job: ResizableJob, nodes: list[int]) -> None:
        self.grown += [len(nodes)] if nodes else []
        super()._grow(job, nodes)


def workload(folder: Path, seed: str, percent: int) -> Workload:
    """The jobs of a seed, so many percent of them malleable; the others are rigid, and in one part."""
    jobs = pd.read_csv(folder / f"jobs-{seed}.csv.gz")
    parallel, malleable = jobs["parallel_fraction"], jobs["malleable_from"] <= percent
    return Workload(
        {
            "job_id": jobs["id"].astype(str),
            "submit_time": jobs["submit_time"].astype(float),
            "requested_cores": jobs["pref_nodes"],
            "recorded_run_time": jobs["flops"] * ((1.0 - parallel) + parallel / jobs["pref_nodes"]) / OPS_PER_S,
            "speedup": [f"amdahl:{1.0 - share!r}" for share in parallel.tolist()],
            "min_cores": jobs["min_nodes"].where(malleable, 0),
            "max_cores": jobs["max_nodes"].where(malleable, 0),
            "malleable": malleable,
            "parts": jobs["parts"].astype(str).where(malleable, ""),
        }
    )


def run(jobs: Workload, name: str, slips: bool = True) -> tuple[Result, Counting]:
    """A run under a strategy, and the scheduler, which knows what it decided."""
    scheduler = Counting(**(RIGID | STRATEGIES)[name], slips=slips)
    platform = Platform.homogeneous(nodes=NODES, cores=1)
    return Simulation(platform, jobs, scheduler, quirks=["pass-after-each-event"]).run(), scheduler


def six_digits(values: pd.Series) -> npt.NDArray[np.float64]:
    """As ElastiSim prints them, from which the published figures were computed."""
    return np.array([float(f"{value:g}") for value in values])


def figures(result: Result, scheduler: Counting) -> dict[str, float]:
    """The published figures of a run."""
    jobs, held = result.jobs, result.allocations
    last_end = float(six_digits(jobs["finish_time"]).max())
    busy = ((held["end"] - held["start"]) * (held["last_core"] - held["first_core"] + 1)).sum()
    per_job = max(len(jobs) - 1, 1)
    return {
        "total_runtime": last_end,
        "average_wait_time": float(six_digits(jobs["wait_time"]).mean()),
        "average_turnaround_time": float(six_digits(jobs["turnaround_time"]).mean()),
        "average_makespan": float(six_digits(jobs["finish_time"] - jobs["start_time"]).mean()),
        "average_node_utilization": float(busy) / NODES / last_end,
        "expand_events": float(len(scheduler.grown)),
        "expand_nodes_per_event": float(np.mean(scheduler.grown)) if scheduler.grown else 0.0,
        "expand_events_per_job": len(scheduler.grown) / per_job,
        "shrink_events": float(len(scheduler.shrunk)),
        "shrink_nodes_per_event": float(np.mean(scheduler.shrunk)) if scheduler.shrunk else 0.0,
        "shrink_events_per_job": len(scheduler.shrunk) / per_job,
    }


def published(folder: Path, seed: str, percent: int, name: str) -> dict[str, float]:
    """The published row of a run."""
    table = pd.read_csv(folder / "published.csv")
    run_of = (table["seed"] == seed) & (table["malleable_percent"] == percent) & (table["scheduler"] == name)
    return {str(column): float(values.iloc[0]) for column, values in table[run_of].iloc[:, 3:].items()}


def differences(ours: dict[str, float], theirs: dict[str, float]) -> list[str]:
    """Figures that are not the published ones: further away than 1e-6 of them, or than half their last digit."""
    wrong = []
    for name, value in ours.items():
        digit = 0.0501 if name.endswith("per_job") else 0.501e-4
        if abs(value - theirs[name]) > max(1e-6 * abs(theirs[name]), TOLERANCES.get(name, digit)):
            wrong.append(f"{name}: {value:.6g}, published {theirs[name]:.6g}")
    return wrong


def sizes(result: Result) -> dict[str, list[tuple[float, int]]]:
    """From when on each job had how many cores, in order."""
    held = result.allocations
    held = held.assign(cores=held["last_core"] - held["first_core"] + 1)
    cores = held.groupby(["job_id", "start"], as_index=False)["cores"].sum()
    steps: dict[str, list[tuple[float, int]]] = {}
    for job, start, count in zip(cores["job_id"], cores["start"], cores["cores"], strict=True):
        steps.setdefault(job, []).append((start, count))
    return {job: sorted(some) for job, some in steps.items()}


def jobs_that_differ(result: Result, file: Path) -> list[str]:
    """Jobs that start, end or change their size at another time, by more than 1e-4 s, or have another size."""
    expected, got = pd.read_csv(file, dtype={"id": str, "sizes": str}), sizes(result)
    jobs = result.jobs.set_index("job_id").loc[expected["id"]]
    close: npt.NDArray[np.bool_] = np.isclose(jobs["start_time"], expected["start_time"], rtol=0.0, atol=1e-4)
    close &= np.isclose(jobs["finish_time"], expected["end_time"], rtol=0.0, atol=1e-4)
    wrong = []
    for job, start, steps, same in zip(expected["id"], expected["start_time"], expected["sizes"], close, strict=True):
        first, *changes = steps.split(";")
        wanted = [(start, int(first))] + [(float(time), int(n)) for time, n in (one.split(":") for one in changes)]
        alike = [n for _, n in wanted] == [n for _, n in got[job]]
        if not (same and alike and np.allclose([t for t, _ in wanted], [t for t, _ in got[job]], rtol=0.0, atol=1e-4)):
            wrong.append(str(job))
    return wrong


def rows(folder: Path, seeds: tuple[str, ...], percents: tuple[int, ...], slips: bool) -> Iterator[dict[str, Any]]:
    """A row for each run."""
    for seed in seeds:
        for percent in percents:
            jobs = workload(folder, seed, percent)
            for name in (*RIGID, *STRATEGIES) if percent == 0 else STRATEGIES:
                result, scheduler = run(jobs, name, slips)
                ours = figures(result, scheduler)
                wrong = differences(ours, published(folder, seed, percent, name)) if slips else []
                file = folder / "expected" / f"{seed}-{percent}-{name}.csv.gz"
                if slips and file.is_file() and (others := jobs_that_differ(result, file)):
                    wrong.append(f"{len(others)} jobs differ, the first is {others[0]}")
                run_of = {"seed": seed, "percent": percent, "strategy": name}
                yield run_of | ours | {"differs": "; ".join(wrong)}


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=INPUTS)
@click.option("--seed", "seeds", multiple=True, default=("S0", "S1", "S2"), help="Again for each seed.")
@click.option("--percent", "percents", multiple=True, type=int, default=tuple(PERCENT), help="Malleable jobs, again.")
@click.option(
    "--without-slips", is_flag=True, help="The strategies as they are meant: a table of means over the seeds."
)
def main(folder: Path, seeds: tuple[str, ...], percents: tuple[int, ...], without_slips: bool) -> None:
    """Compare the malleable strategies with the published figures, or tell what they do without the slips."""
    table = []
    for row in rows(folder, seeds, percents, not without_slips):
        table.append(row)
        run_of = f"{row['seed']} {row['percent']:>3} % {row['strategy']}"
        wait = f"mean wait {row['average_wait_time']:.1f} s"
        click.echo(f"{run_of}: {row['differs'] or wait}")
    figures_of = ["average_wait_time", "average_turnaround_time", "average_node_utilization"]
    means = pd.DataFrame(table).groupby(["percent", "strategy"], sort=False)[figures_of].mean()
    click.echo(means.round(4).to_string())
    unlike = [row for row in table if row["differs"]]
    click.echo(f"{len(table)} runs, {len(unlike)} differ from what was published")
    if any((row["seed"], row["percent"], row["strategy"]) not in TOUCHED_BY_TIES for row in unlike):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
