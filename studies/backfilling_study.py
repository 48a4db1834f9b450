"""Tables of docs/results/orders.md: ``python -m studies.backfilling_study [INPUTS] [--out FOLDER] [--seeds N]``.

INPUTS holds ``traces/lublin_256.swf.gz``. Rules that commit to whom they have chosen (``easy:commit=yes``), as RLScheduler's do
(Zhang et al., SC 2020), on ten windows of 1,024 jobs; with ``--out`` also agents: trained by
``examples/training/lublin-choice.yaml``, tested on later windows of 256 jobs beside the rule that is best on the windows to
train on. The slowdown never stands alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from analysis import backfilling_markdown, backfilling_table
from analysis.tables.backfilling import METRICS, SLOWDOWN
from cluster_sim import Platform, Simulation, Workload, make_scheduler
from learning.tasks.episodes import consecutive
from learning.training.agent import find_agents
from learning.training.configuration import read_config
from learning.training.training_seeds import train
from studies.shutdown_study import INPUTS

LOG = "traces/lublin_256.swf.gz"
CONFIG = Path(__file__).resolve().parents[1] / "examples" / "training" / "lublin-choice.yaml"
ORDERS = ("fcfs", "wfp", "unicef", "sjf", "f1", "saf", "smallest", "expansion-factor")
COMMITTED = "easy:order={},backfill=fcfs,commit=yes,extra=no"
EASY = "easy:order={},backfill=fcfs"
PUBLISHED_WINDOWS = (1981, 2756, 4299, 8850, 3316, 2714, 5228, 7762, 4022, 7085)
"""First jobs of the windows that RLScheduler's program draws for its test, with its default seed, 1."""
WINDOW, LONG_WINDOW = 256, 1024
LEARNED_FROM, TESTED_FROM = 5000, 6000
"""Jobs before the first are to learn from, those from the second on to test on; those between choose the agents."""


def machine() -> Platform:
    """256 cores, alike and always on."""
    return Platform.homogeneous(nodes=1, cores=256)


def published_windows(log: Workload) -> list[Workload]:
    """With the submission times of the log, by which F1 decides."""
    return [log._cut(first, first + LONG_WINDOW, 0.0) for first in PUBLISHED_WINDOWS]


def windows(log: Workload, first: int, stop: int, length: int = WINDOW) -> list[Workload]:
    """Windows of as many jobs one after the other, times counted from the first submission of each."""
    return [consecutive(log, start, length) for start in range(first, stop - length + 1, length)]


def played(
    jobs: Sequence[Workload], specs: Mapping[str, str], platform: Platform | None = None
) -> dict[str, list[Mapping[str, Any]]]:
    """The summaries of schedulers (name → spec) over windows, on :func:`machine` or another."""
    return {name: list(_summaries(jobs, spec, platform or machine())) for name, spec in specs.items()}


def _summaries(jobs: Sequence[Workload], spec: str, platform: Platform) -> Iterator[Mapping[str, Any]]:
    scheduler = make_scheduler(spec)
    for window in jobs:
        yield Simulation(platform, window, scheduler).run().summary()


def mean(runs: Sequence[Mapping[str, Any]], metric: str) -> float:
    """Over windows."""
    return float(np.mean([summary[metric] for summary in runs]))


def mean_of(
    several: Sequence[Sequence[Mapping[str, Any]]], metrics: Sequence[str] = METRICS
) -> list[Mapping[str, Any]]:
    """Return the mean of runs of the same windows, in each window."""
    return [{name: mean(runs, name) for name in metrics} for runs in zip(*several, strict=True)]


def least(runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """The scheduler with the least slowdown."""
    return min(runs, key=lambda name: mean(runs[name], SLOWDOWN))


def echo(title: str, runs: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Print a table, differences to the first."""
    click.echo(f"\n{title}\n\n{backfilling_markdown(backfilling_table(runs), list(runs))}")


def committed(orders: Sequence[str]) -> dict[str, str]:
    """Rules that commit, by their orders."""
    return {order: COMMITTED.format(order) for order in orders}


def with_mean(
    runs: Mapping[str, Sequence[Mapping[str, Any]]], agents: Iterable[str]
) -> dict[str, Sequence[Mapping[str, Any]]]:
    """With a scheduler more, which has in each window the mean of what agents of several seeds have."""
    several = [runs[agent] for agent in agents]
    return {**runs, f"mean of {len(several)} agents": mean_of(several)}


def agents_of(inputs: Path, folder: Path, seeds: int) -> dict[str, str]:
    """The agents of the configuration, trained where they are not yet there."""
    config = read_config(CONFIG)
    log = str((inputs / LOG).resolve())
    update = {
        name: getattr(config, name).model_copy(update={"workload": log}) for name in ("environment", "validation")
    }
    train(config.model_copy(update={**update, "seeds": seeds, "workers": 1}), folder, resume=True)
    return {f"agent, {path.parent.name}": f"learned:{path}" for path in sorted(find_agents(folder))}


@click.command()
@click.argument("inputs", type=click.Path(path_type=Path, exists=True, file_okay=False), default=INPUTS)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Train agents here, and test them, too.")
@click.option("--seeds", type=click.IntRange(2), default=5, show_default=True, help="Trainings.")
def main(inputs: Path, out: Path | None, seeds: int) -> None:
    """Print the tables of docs/results/orders.md on committed schedulers and agents."""
    log = Workload.read(inputs / LOG)
    long, long_orders = published_windows(log), (*ORDERS[:5], "saf")
    easy = {f"easy {order}": EASY.format(order) for order in long_orders}
    echo(f"{len(long)} windows of {LONG_WINDOW:,} jobs, committed and not", played(long, committed(long_orders) | easy))
    to_learn = played(windows(log, 0, LEARNED_FROM), committed(ORDERS))
    best = least(to_learn)
    echo(f"{len(to_learn[best])} windows of {WINDOW} jobs to learn from: {best} has the least slowdown", to_learn)
    if out is not None:
        tested = windows(log, TESTED_FROM, len(log))
        agents = agents_of(inputs, out / "agents", seeds)
        runs = played(long, committed(("sjf", "f1", "saf")) | agents)
        echo("the long windows, differences to sjf", with_mean(runs, agents))
        orders = list(dict.fromkeys([best, "f1", *ORDERS]))
        easy = {f"easy {order}": EASY.format(order) for order in orders[:2]}
        runs = played(tested, committed(orders) | easy | agents)
        echo(
            f"{len(tested)} later windows of {WINDOW} jobs, differences to {best} paired by window",
            with_mean(runs, agents),
        )


if __name__ == "__main__":
    main()
