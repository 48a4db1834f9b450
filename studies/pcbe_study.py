"""The tables of docs/guides/pcbe.md: ``python -m studies.pcbe_study FOLDER [--skip-scale] [--goals] [--optimum] [--log LOG]``.

FOLDER holds the inputs of Cruz (2023): ``table-5.1-row-1`` to ``table-5.2-row-4`` and ``scale-table-5.3``, each with its
``platform.json`` and ``workload.json``. By default it is ``../shared/cases/pcbe`` beside the repository. The scale run is
the better part of the time, some ten minutes on one core.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from statistics import mean

import click
import numpy as np
import pandas as pd

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from schedulers.energy.adaptive_pcbe import CONFIGURATIONS
from schedulers.optimum import OBJECTIVES, Objective, optimum

INPUTS = Path(__file__).resolve().parents[2] / "shared" / "cases" / "pcbe"
ROWS = [f"table-5.{table}-row-{row}" for table in (1, 2) for row in (1, 2, 3, 4)]
SCALE = "scale-table-5.3"
SEGMENTS = 20
WINDOW_JOBS, WINDOWS = 120, 12
AUTHORS_JOBS = (6670, 7560)  # of the log, in the scale run
QUIRKS = ("unused-processors-draw-nothing", "textual-node-order", "low-power-means-high")
FIXED = [f"pcbe:metric={c.metric},job={c.job},node={c.node}" for c in CONFIGURATIONS]
HEURISTICS = ["list:first/first", "list:shortest/first", "list:shortest/high_gflops", "list:shortest/low_power"]
METRICS = ("energy", "edp")
ADAPTIVE = [f"adaptive-pcbe:metric={metric}" for metric in METRICS]
GOALS_S = (86_400, 604_800, 1_209_600)
OTHERS = ("fcfs", "sjf", "list:edf/first", "contention-aware:metric={}")
SEARCHES = tuple(f"search:metric={{}},clairvoyant={known}" for known in ("no", "yes"))
FIGURES = ("energy_j", "makespan_s", "edp_js", "mean_wait_s", "max_wait_s")

Input = tuple[str, Platform, Workload]


def figures(platform: Platform, workload: Workload, scheduler: str, quirks: tuple[str, ...] = ()) -> dict[str, float]:
    """The figures of one run."""
    result = Simulation(platform, workload, make_scheduler(scheduler), quirks=quirks).run()
    longest = float(result.jobs["wait_time"].max())
    return {name: float(value) for name, value in result.summary().items() if name in FIGURES} | {"max_wait_s": longest}


def inputs(folder: Path, scale: bool) -> Iterator[Input]:
    """The author's inputs by name: eight small ones, the segments of the scale run, and the scale run."""
    for name in ROWS:
        yield name, Platform.read(folder / name / "platform.json"), Workload.read(folder / name / "workload.json")
    platform = Platform.read(folder / SCALE / "platform.json")
    workload = Workload.read(folder / SCALE / "workload.json")
    for number, part in enumerate(workload.split(SEGMENTS)):
        yield f"segment-{number:02}", platform, part
    if scale:
        yield SCALE, platform, workload


def windows(log: Path, platform: Platform) -> Iterator[Input]:
    """Other parts of the log that the scale run is from, made into workloads as its author made that one.

    Tasks are cut to 64, run times are those of 2.5 GHz cores, and a task asks for 3 W for all of its time.
    """
    table = Workload.read(log).jobs
    for start in range(0, len(table) - WINDOW_JOBS, len(table) // WINDOWS):
        if start + WINDOW_JOBS > AUTHORS_JOBS[0] and start < AUTHORS_JOBS[1]:
            continue
        part = table.iloc[start : start + WINDOW_JOBS]
        seconds = np.maximum(part["recorded_run_time"].to_numpy(), 1.0)
        columns = {
            "submit_time": part["submit_time"].to_numpy() - part["submit_time"].iloc[0],
            "requested_cores": np.minimum(part["requested_cores"].to_numpy(), 64),
            "recorded_run_time": seconds * 2.5 / 4.2,  # at the platform's fastest clock
            "requested_time": seconds,
            "req_energy": seconds * 3.0,
        }
        yield f"from-job-{start:05}", platform, Workload(columns)


def with_and_without(folder: Path, scale: bool) -> pd.DataFrame:
    """Every scheduler of the tables, with the quirks of the author's program and with none."""
    rows = []
    for name, platform, workload in inputs(folder, scale):
        if name.startswith("segment"):
            continue
        metric = "edp" if "5.2" in name else "energy"
        of_table = [spec for spec in FIXED if f"metric={metric}" in spec]
        recommended = [spec for spec in FIXED if "job=high,node=low" in spec]
        for scheduler in (*recommended, *HEURISTICS) if name == SCALE else (*of_table, *HEURISTICS[:2]):
            row: dict[str, object] = {"input": name, "scheduler": scheduler}
            for label, quirks in (("published", QUIRKS), ("no quirk", ())):
                found = figures(platform, workload, scheduler, quirks)
                row |= {f"{label} {figure}": found[figure] for figure in FIGURES[:3]}
            rows.append(row)
    return pd.DataFrame(rows)


def compared(cases: Iterable[Input], goals: bool = False) -> pd.DataFrame:
    """Every figure of the fixed eight, of the adaptive, and of FCFS and SJF, without quirks: one row a run."""
    adaptive = [*ADAPTIVE, *(f"{spec},wait_goal={goal}" for spec in ADAPTIVE for goal in GOALS_S if goals)]
    runs = [
        {"input": name, "scheduler": scheduler} | figures(platform, workload, scheduler)
        for name, platform, workload in cases
        for scheduler in (*FIXED, *adaptive, "fcfs", "sjf")
    ]
    return pd.DataFrame(runs)


def regrets(runs: pd.DataFrame, figure: str) -> pd.DataFrame:
    """How far each scheduler is above the best fixed configuration of each input: a fraction, inputs × schedulers."""
    table = runs.pivot(index="input", columns="scheduler", values=figure)
    return table.div(table[FIXED].min(axis=1), axis=0) - 1.0


def above_the_optimum(folder: Path) -> pd.DataFrame:
    """How far schedulers are above the proven optimum without waiting on the eight small inputs, %: inputs × schedulers."""
    rows = {}
    for name, platform, workload in islice(inputs(folder, False), len(ROWS)):
        metric: Objective = "edp" if "5.2" in name else "energy"
        least = optimum(platform, workload, metric)
        assert least.proven
        of_metric = [spec for spec in FIXED if f"metric={metric}" in spec]
        specs = [*of_metric, f"adaptive-pcbe:metric={metric}", *(spec.format(metric) for spec in (*OTHERS, *SEARCHES))]
        reached = {spec: figures(platform, workload, spec)[OBJECTIVES[metric]] for spec in specs}
        row = {spec.replace(f"metric={metric}", "metric"): value for spec, value in reached.items()}
        row["best of the four fixed"] = min(reached[spec] for spec in of_metric)
        rows[name] = {spec: 100.0 * (value / least.value - 1.0) for spec, value in row.items()}
    return pd.DataFrame.from_dict(rows, orient="index")


def summary(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean and worst regret in energy and EDP, and waits, of each scheduler."""
    order = runs["scheduler"].drop_duplicates()
    table = pd.DataFrame(index=order)
    for figure in ("energy_j", "edp_js"):
        regret = regrets(runs, figure)
        table[f"{figure} mean %"], table[f"{figure} worst %"] = regret.mean() * 100.0, regret.max() * 100.0
    waits = runs.groupby("scheduler")[["mean_wait_s", "max_wait_s"]]
    table[["mean wait s", "longest wait s"]] = waits.agg({"mean_wait_s": mean, "max_wait_s": "max"})
    return table


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False), default=INPUTS)
@click.option("--skip-scale", is_flag=True, help="Leave the run of 891 jobs out.")
@click.option("--goals", is_flag=True, help="With wait goals of 1, 7 and 14 days, too.")
@click.option("--optimum", "exact", is_flag=True, help="Only the eight small inputs, against their optima.")
@click.option(
    "--log", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="KIT's log: other parts of it."
)
@click.option("--csv", type=click.Path(path_type=Path, dir_okay=False), help="Write every run here.")
def main(folder: Path, skip_scale: bool, goals: bool, exact: bool, log: Path | None, csv: Path | None) -> None:
    """Print the tables of docs/guides/pcbe.md from the inputs of Cruz (2023)."""
    pd.set_option("display.width", 200, "display.max_columns", 20, "display.max_rows", 1000, "display.precision", 6)
    if exact:
        table = above_the_optimum(folder)
        click.echo("% above the optimum without waiting, means and worst of the tables' four inputs and of all eight:")
        shown = {"5.1": table.iloc[:4].mean(), "5.2": table.iloc[4:].mean(), "all": table.mean(), "worst": table.max()}
        click.echo(pd.DataFrame(shown).round(2).to_string())
        return
    if log is not None:
        runs = compared(windows(log, Platform.read(folder / SCALE / "platform.json")))
    else:
        click.echo(with_and_without(folder, not skip_scale).to_string(index=False))
        runs = compared(inputs(folder, not skip_scale), goals)
    click.echo(f"\nAbove the best fixed configuration, {runs['input'].nunique()} inputs, no quirk:")
    click.echo(summary(runs).round(3).to_string())
    large = runs[~runs["input"].str.startswith("segment")]
    click.echo(f"\n{large[large['scheduler'].isin(ADAPTIVE)].to_string(index=False)}")
    for figure, metric in zip(("energy_j", "edp_js"), METRICS, strict=True):
        chosen = regrets(runs, figure)[[*FIXED, f"adaptive-pcbe:metric={metric}"]] * 100.0
        click.echo(
            f"\n% above the best fixed configuration, {figure}:\n{chosen.set_axis([*range(8), 'adaptive'], axis=1)}"
        )
    if csv is not None:
        runs.to_csv(csv, index=False)


if __name__ == "__main__":
    main()
