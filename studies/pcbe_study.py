"""The tables of docs/guides/pcbe.md: ``python -m studies.pcbe_study FOLDER [OPTIONS]``.

``--agent`` sets a trained agent beside PCBE, with untrained agents and random play as controls. ``--thresholds`` studies
the ageing threshold at three loads of each log. FOLDER holds the inputs of Cruz (2023): ``table-5.1-row-1`` to
``table-5.2-row-4`` and ``scale-table-5.3``, each with its ``platform.json`` and ``workload.json``. By default it is
``../shared/cases/pcbe`` beside the repository. The scale run is the better part of the time, some ten minutes on one core.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

import click
import numpy as np
import pandas as pd

from analysis.reproduce.controls import RANDOM_PLAY, UNTRAINED, leave
from cluster_sim import Platform, Simulation, Workload, make_scheduler
from learning.training.agent import Agent, find_agents
from learning.training.configuration import read_config
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
THRESHOLDS_S = (0, 60, 300, 1_800, 7_200, 21_600, 86_400, 259_200, 604_800, "inf")
THRESHOLD_JOBS, STRETCHES, LOADS = 300, 8, (0.6, 0.9, 1.2)
TESTED_FROM = 90_001
"""Seed of the first draw of ``cruz`` that agents are tested on."""
AGENTS = "agents"
PLAYS = 5
"""Plays at random of each input."""
FIGURES = ("energy_j", "makespan_s", "edp_js", "mean_wait_s", "max_wait_s")

Input = tuple[str, Platform, Workload]
Players = Mapping[str, Sequence[tuple[str, int]]]
"""Rows of a table: each is the mean of runs, which are a scheduler and a seed."""


def figures(
    platform: Platform, workload: Workload, scheduler: str, quirks: tuple[str, ...] = (), seed: int = 0
) -> dict[str, float]:
    """The figures of one run."""
    result = Simulation(platform, workload, make_scheduler(scheduler), seed=seed, quirks=quirks).run(warn=False)
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


def log_name(log: Path) -> str:
    """Name of a log in tables: that of its file up to the first dot."""
    return log.name.partition(".")[0]


def windows(
    log: Path, platform: Platform, jobs: int = WINDOW_JOBS, parts: int = WINDOWS, load: float | None = None
) -> Iterator[Input]:
    """Parts of a log, made into workloads as Cruz made the scale run; the author's own jobs are left out.

    Tasks are cut to 64, run times are those of 2.5 GHz cores, and a task asks for 3 W for all of its time. With a ``load``
    arrivals are closer together or further apart, such that the work of a part is that share of what the platform can do
    between its first submission and its last.
    """
    table = Workload.read(log).jobs
    clocks = np.array([np.mean([p.clock_ghz for p in each.processors]) for each in platform.node_types])
    capacity = float((clocks[platform.type_of_node] * platform.node_cores).sum()) / 2.5  # cores of 2.5 GHz
    for start in range(0, len(table) - jobs, len(table) // parts):
        if start + jobs > AUTHORS_JOBS[0] and start < AUTHORS_JOBS[1]:
            continue
        part = table.iloc[start : start + jobs]
        seconds = np.maximum(part["recorded_run_time"].to_numpy(), 1.0)
        cores = np.minimum(part["requested_cores"].to_numpy(), 64)
        submits = part["submit_time"].to_numpy() - part["submit_time"].iloc[0]
        if load is not None:
            submits = submits * float((seconds * cores).sum()) / capacity / submits[-1] / load
        columns = {
            "submit_time": submits,
            "requested_cores": cores,
            "recorded_run_time": seconds * 2.5 / 4.2,  # at the platform's fastest clock
            "requested_time": seconds,
            "req_energy": seconds * 3.0,
        }
        yield f"{log_name(log)}-from-job-{start:05}", platform, Workload(columns)


def players(agent: Path, place: Path) -> Players:
    """An agent's trainings, and its controls, which are left in ``place``."""
    config = read_config(sorted(agent.glob("**/config.yaml"))[0])
    for control in (UNTRAINED, RANDOM_PLAY):
        leave(control, config, place / control)
    found = {
        AGENTS: [(f"learned:{folder}", 0) for folder in find_agents(agent)],
        f"{AGENTS}, best by validation": [(f"learned:{find_agents(agent)[0]}", 0)],
        UNTRAINED: [(f"learned:{folder}", 0) for folder in find_agents(place / UNTRAINED)],
        RANDOM_PLAY: [(f"learned:{place / RANDOM_PLAY},sample=yes", seed) for seed in range(PLAYS)],
    }
    if config.warm_start is not None:
        found["teacher"] = [(config.warm_start.teacher, 0)]
    return found


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


def compared(cases: Iterable[Input], goals: bool = False, beside: Players | None = None) -> pd.DataFrame:
    """Every figure of the fixed eight, of the adaptive, of FCFS, SJF and others, without quirks: one row a run, or a mean."""
    adaptive = [*ADAPTIVE, *(f"{spec},wait_goal={goal}" for spec in ADAPTIVE for goal in GOALS_S if goals)]
    rows = {spec: [(spec, 0)] for spec in (*FIXED, *adaptive, "fcfs", "sjf")} | dict(beside or {})
    runs = []
    for name, platform, workload in cases:
        for scheduler, plays in rows.items():
            played = pd.DataFrame([figures(platform, workload, spec, seed=seed) for spec, seed in plays])
            runs.append({"input": name, "scheduler": scheduler} | played.mean().to_dict())
    return pd.DataFrame(runs)


def thresholds(logs: Sequence[Path], platform: Platform, goals: bool = False) -> pd.DataFrame:
    """What ageing thresholds do on logs at several loads: a row for each log, load and scheduler, means over stretches.

    Energy and EDP are in % above the recommended configuration with the published threshold of 60 s, of each stretch.
    """
    aged = [f"pcbe:metric=energy,job=high,node=low,aging={seconds}" for seconds in THRESHOLDS_S]
    published = aged[THRESHOLDS_S.index(60)]
    adaptive = [ADAPTIVE[0], f"{ADAPTIVE[0]},wait_goal={GOALS_S[0]}"] if goals else []
    specs = dict.fromkeys([*aged, *FIXED, *adaptive, "fcfs", "sjf"])
    rows = []
    for log, load in product(logs, LOADS):
        for _, machine, workload in windows(log, platform, THRESHOLD_JOBS, STRETCHES, load):
            runs = {spec: figures(machine, workload, spec) for spec in specs}
            for spec, run in runs.items():
                above = {
                    f"{name} %": 100.0 * (run[name] / runs[published][name] - 1.0) for name in ("energy_j", "edp_js")
                }
                waits = {name: run[name] for name in ("mean_wait_s", "max_wait_s")}
                rows.append({"log": log_name(log), "load": load, "scheduler": spec} | above | waits)
    return pd.DataFrame(rows).groupby(["log", "load", "scheduler"], sort=False).mean()


def regrets(runs: pd.DataFrame, figure: str) -> pd.DataFrame:
    """How far each scheduler is above the best fixed configuration of each input: a fraction, inputs × schedulers."""
    table = runs.pivot(index="input", columns="scheduler", values=figure)
    return table.div(table[FIXED].min(axis=1), axis=0) - 1.0


def above_the_optimum(folder: Path, beside: Mapping[str, Players] | None = None, draws: int = 0) -> pd.DataFrame:
    """How far schedulers are above the proven optimum without waiting, %: inputs × schedulers.

    Inputs are the author's eight, and ``draws`` of ``cruz`` on the same machine for either metric. ``beside``: for a
    metric, further players.
    """
    cases: list[tuple[str, Objective, Platform, Workload]] = [
        (name, "edp" if "5.2" in name else "energy", platform, workload)
        for name, platform, workload in islice(inputs(folder, False), len(ROWS))
    ]
    machine = cases[0][2]
    for seed in range(TESTED_FROM, TESTED_FROM + draws):
        drawn = Workload.read(f"cruz:seed={seed}")
        cases += [(f"draw-{seed}, {metric}", metric, machine, drawn) for metric in ("energy", "edp")]
    rows = {}
    for name, metric, platform, workload in cases:
        least = optimum(platform, workload, metric)
        assert least.proven
        of_metric = [spec for spec in FIXED if f"metric={metric}" in spec]
        specs = [*of_metric, f"adaptive-pcbe:metric={metric}", *(spec.format(metric) for spec in (*OTHERS, *SEARCHES))]
        reached = {spec: figures(platform, workload, spec)[OBJECTIVES[metric]] for spec in specs}
        row = {spec.replace(f"metric={metric}", "metric"): value for spec, value in reached.items()}
        row["best of the four fixed"] = min(reached[spec] for spec in of_metric)
        for player, plays in ((beside or {}).get(metric) or {}).items():
            played = [figures(platform, workload, spec, seed=seed)[OBJECTIVES[metric]] for spec, seed in plays]
            row[player] = mean(played)
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


def show_optimum(folder: Path, agents: Sequence[Path], draws: int) -> None:
    """Print who is how far above the optimum, with the agents in these folders, each where its metric is asked for."""
    with TemporaryDirectory() as place:
        beside = {
            Agent.load(agent).facts["objective"].partition("_")[0]: players(agent, Path(place) / str(number))
            for number, agent in enumerate(agents)
        }
        table = above_the_optimum(folder, beside, draws)
    authors = table.iloc[: len(ROWS)]
    shown = {
        "5.1": authors.iloc[:4].mean(),
        "5.2": authors.iloc[4:].mean(),
        "all": authors.mean(),
        "worst": authors.max(),
    }
    for metric in METRICS if draws else ():
        of_draws = table[table.index.str.startswith("draw") & table.index.str.endswith(metric)]
        shown |= {f"draws, {metric}": of_draws.mean(), f"± {metric}": 1.96 * of_draws.sem()}
    click.echo(
        "% above the optimum without waiting: means of the tables' four inputs and of all eight, the worst; draws:"
    )
    click.echo(pd.DataFrame(shown).round(2).to_string())


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False), default=INPUTS)
@click.option("--skip-scale", is_flag=True, help="Leave the run of 891 jobs out.")
@click.option(
    "--goals",
    is_flag=True,
    help="With wait goals of 1, 7 and 14 days, too (with --thresholds: adaptive PCBE, and 1 day).",
)
@click.option("--optimum", "exact", is_flag=True, help="Only the eight small inputs, against their optima.")
@click.option("--draws", default=0, type=click.IntRange(0), help="With --optimum: so many draws of `cruz`, too.")
@click.option(
    "--agent",
    "agents",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="An agent beside PCBE; without --optimum on the segments alone.",
)
@click.option("--thresholds", "aging", is_flag=True, help="Only the ageing threshold, on each LOG at three loads.")
@click.option(
    "--log",
    "logs",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="KIT's log: other parts of it.",
)
@click.option("--csv", type=click.Path(path_type=Path, dir_okay=False), help="Write every run here.")
def main(
    folder: Path,
    skip_scale: bool,
    goals: bool,
    exact: bool,
    draws: int,
    agents: tuple[Path, ...],
    aging: bool,
    logs: tuple[Path, ...],
    csv: Path | None,
) -> None:
    """Print the tables of docs/guides/pcbe.md from the inputs of Cruz (2023)."""
    pd.set_option("display.width", 200, "display.max_columns", 20, "display.max_rows", 1000, "display.precision", 6)
    if exact:
        show_optimum(folder, agents, draws)
        return
    scale = Platform.read(folder / SCALE / "platform.json")
    if aging:
        click.echo(thresholds(logs, scale, goals).round(3).to_string())
        return
    if agents:
        segments = (case for case in inputs(folder, False) if case[0].startswith("segment"))
        with TemporaryDirectory() as place:
            beside = {k: v for i, agent in enumerate(agents) for k, v in players(agent, Path(place) / str(i)).items()}
            runs = compared(segments, beside=beside)
    elif logs:
        runs = pd.concat([compared(windows(log, scale)) for log in logs])
    else:
        click.echo(with_and_without(folder, not skip_scale).to_string(index=False))
        runs = compared(inputs(folder, not skip_scale), goals)
    click.echo(f"\nAbove the best fixed configuration, {runs['input'].nunique()} inputs, no quirk:")
    click.echo(summary(runs).round(3).to_string())
    if not agents:
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
