"""Cross-validation by days: agents that have not seen a day play it, for every day and training seed.

::

    python -m learning.training.cross_validation examples/training/deepshutdown.yaml --out deepshutdown

trains the agents of each fold ``fold: [k, n]`` of a configuration of days. Each day is then played, in an ordinary
simulation, by the agents that left it out (``learned:DIR``). A finished training is not repeated. The folder receives
the agents, in ``fold-K/seed-S``, ``runs.csv`` (a row for each day and seed) and ``seeds.csv`` (the means of each seed
over all days).
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pandas as pd

from cluster_sim.cli.group import WRONG_INPUT, Invocation, say
from cluster_sim.errors import InputError
from cluster_sim.files.atomic import atomic_files
from cluster_sim.workload.fields import SUMMARY_METRICS, names
from learning.tasks.episodes import Episode
from learning.training.agent import Agent, find_agents
from learning.training.configuration import Config, read_config
from learning.training.heuristics import metric_of, policies, run_on
from learning.training.inputs import all_days, split_days
from learning.training.training_seeds import train

METRICS = ("energy_waste_by_core_j", "node_switches", "mean_stretch")
"""Metrics that are measured by default: the figures of Casagrande et al. (2022)."""


def cross_validate(config: Config, out: str | Path, metrics: tuple[str, ...] = METRICS) -> pd.DataFrame:
    """Train the agents of every fold, and play each day with the agents that have not seen it.

    The number of folds is in the configuration's ``fold``. The table has a row for each day and training seed: ``day``
    (its number), ``fold``, ``seed`` (of the training), and the metrics, keys of summary.json. Raises InputError for a
    configuration without folds or with several logs, and for an unknown metric.
    """
    if config.environment.fold is None:
        raise InputError("environment, fold", "[k, n], for cross-validation in n folds")
    if config.environment.also is not None:  # whose days are split apart, log by log
        raise InputError(
            "environment.also", "one log, for cross-validation", f"{1 + len(config.environment.also)} logs"
        )
    for metric in metrics:
        if metric not in names(SUMMARY_METRICS):
            raise InputError("metric", "a key of summary.json", metric)
    out, folds = Path(out), config.environment.fold[1]
    days = all_days(config.environment)
    rows = []
    for fold in range(folds):
        keys = config.environment.model_copy(update={"fold": (fold, folds)})
        folder = out / f"fold-{fold}"
        train(config.model_copy(update={"environment": keys}), folder, resume=True)
        left_out = split_days(range(len(days)), fold, folds)[1]
        tested = _tested(folder, [(number, days[number]) for number in left_out], metrics)
        rows += [{"fold": fold} | row for row in tested]
    table = pd.DataFrame(rows).sort_values(["seed", "day"], ignore_index=True)
    with atomic_files(out / "runs.csv") as aside:
        for name, frame in (("runs", table), ("seeds", by_seed(table))):
            frame.to_csv(aside(out / f"{name}.csv"), index=False)
    return table


def by_seed(table: pd.DataFrame) -> pd.DataFrame:
    """Return means over the days, a row for each training seed."""
    return table.drop(columns=["fold", "day"]).groupby("seed", as_index=False).mean()


def _tested(folder: Path, days: list[tuple[int, Episode]], metrics: tuple[str, ...]) -> list[dict[str, float]]:
    """Return a row for each agent in a folder and day."""
    rows = []
    for agent_folder in find_agents(folder):  # of the user's own configuration
        agent = Agent.load(agent_folder)
        pair = policies(f"learned:{agent_folder},trust=yes", agent.decides, agent.environment, trust=True)
        for number, day in days:
            summary = run_on(day, *pair, day.seed)
            numbers = {metric: metric_of(summary, metric) for metric in metrics}
            rows.append({"day": number, "seed": int(agent.facts["seed"])} | numbers)
    return rows


@click.command()
@click.argument("config", type=click.Path())
@click.option("--out", required=True, type=click.Path(file_okay=False), help="Folder for agents and tables.")
@click.option("--workers", type=click.IntRange(1), help="Processes. [default: as many as there are cores]")
def main(config: str, out: str, workers: int | None) -> None:
    """Train and test the agents of every fold of CONFIG; print the means over all days for each training seed.

    Exit status: 0 done, 2 the input is wrong (one line says where).
    """
    invocation = Invocation([])
    try:
        with invocation.collecting():
            read = read_config(config)
            if workers is not None:
                read = read.model_copy(update={"workers": workers})
            table = by_seed(cross_validate(read, out))
    except InputError as error:
        say(str(error))
        sys.exit(WRONG_INPUT)
    invocation.tell_warnings()
    click.echo(table.to_string(index=False))
    click.echo(f"\nmean over seeds:\n{table.drop(columns='seed').mean().to_string()}")


if __name__ == "__main__":
    main()
