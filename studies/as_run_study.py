"""DeepShutdown's agent as its authors ran it: ``python -m studies.as_run_study [INPUTS] --out FOLDER [--seeds N]``.

The paper's text (``examples/training/deepshutdown-as-published.yaml``) and the authors' public program differ in six ways. Each
way is tried alone, then all together, which is ``deepshutdown-as-run.yaml``; the scale of the reward is tried apart. All have the
same number of iterations, of the same number of days, drawn from the 48 days of Taurus that the authors released. Then each agent
plays six of these days with drawn actions, and so does the agent with which its training began: the control. Trainings and rows
that are there are not made again. The tables stand in docs/results/what-the-authors-ran/deepshutdown.md.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from cluster_sim.files.atomic import atomic_files
from learning.algorithms.rollouts import collect
from learning.tasks.episodes import Episode, spread
from learning.training.agent import Agent
from learning.training.configuration import Config, read_config
from learning.training.inputs import MakeEnvironment, all_days
from learning.training.training import last, untrained
from learning.training.training_seeds import train
from studies.shutdown_study import INPUTS

FILES = Path(__file__).resolve().parents[1] / "examples" / "training"
TEXT, AS_RUN = "as written", "as run"
CHANGES: dict[str, dict[str, Any]] = {
    "reward": {"environment": {"reward": "as-run"}},
    "64 steps": {"options": {"target_kl": 0.0}},
    "rates": {
        "options": {"actor_lr": 5e-4, "critic_lr": 5e-4, "entropy": 0.005, "entropy_end": None, "clip_value": 0.2}
    },
    "two LSTMs": {"network": "lstm:over=history,critic=own,activation=leaky-relu"},
    "features": {"environment": {"observation": "as-published:features=as-run"}},
    "head": {"head": "waits-for-jobs"},
}
"""What each way changes of the text's training; 64 steps are 16 minibatches in each of four epochs."""
SCALE = "scale"
CONTROL: dict[str, dict[str, Any]] = {SCALE: {"environment": {"reward": "as-published:scale=4.7619e-5"}}}
"""Control of ``reward``: the text's reward over the 21,000 W that 168 cores draw at most without jobs, and nothing else."""
MINIBATCHES = 16
PLAYED = 6
LAST = 5
"""Updates whose mean tells how a training ended."""
ROW = "row.json"


def training(changes: list[str], inputs: Path, iterations: int, days: int, seed: int) -> Config:
    """Return the training of the paper's text with some ways of the program, cut to a number of iterations of some days."""
    config = read_config(FILES / "deepshutdown-as-published.yaml").model_dump()
    environment, options = config["environment"], config["algorithm"]["options"]
    folder = inputs / "cases" / "deepshutdown"
    environment |= {
        "platform": str(folder / "platform_taurus_168cores.xml"), "workload": str(folder / "train_days"), "fold": None
    }  # fmt: skip
    for name in changes:
        change = (CHANGES | CONTROL)[name]
        environment |= change.get("environment", {})
        options |= change.get("options", {})
        config["network"] = change.get("network", config["network"])
        if name == "64 steps":
            options["minibatch"] = days * 1440 // MINIBATCHES
        if "head" in change:
            environment["options"]["head"] = change["head"]
    config |= {"iterations": iterations, "episodes": days, "group": days, "seed": seed, "workers": 1}
    config["validation"] |= {"every": iterations, "episodes": 1}
    return Config.model_validate(config)


def acts(agent: Agent, config: Config, days: list[Episode]) -> dict[str, float]:
    """Measure how an agent acts, with drawn actions, in the mean over days.

    ``return``; ``changed`` and ``most frequent``, in % of the minutes: another number of nodes is reserved than before, and the
    number that is reserved most often; ``reserved``, how many nodes are.
    """
    make = MakeEnvironment.of(config.environment)
    network = agent.build(make().maker)
    rows = []
    for played in collect(make, network, range(len(days)), group=len(days), options=[{"episode": day} for day in days]):
        numbers = played.actions.tolist()
        rows.append(
            {
                "return": played.reward,
                "changed": 100.0 * float((np.diff(numbers) != 0).mean()),
                "most frequent": 100.0 * Counter(numbers).most_common(1)[0][1] / len(numbers),
                "reserved": float(np.mean(numbers)),
            }
        )
    return {str(name): float(mean) for name, mean in pd.DataFrame(rows).mean().items()}


def row_of(name: str, folder: Path, config: Config) -> dict[str, Any]:
    """Return what a training logged, in the first update and in the mean of the last ones, and how its agent acts.

    ``better`` is by how many % the return of its six days is above that of the agent with which the training began.
    """
    logged = pd.read_csv(folder / "metrics.csv")
    end = logged.tail(LAST)
    days = spread(all_days(config.environment), PLAYED)
    trained, began = acts(last(folder), config, days), acts(untrained(config), config, days)
    return {
        "way": name,
        "seed": config.seed,
        "explained variance, first": float(logged["train/explained_variance"].dropna().iloc[0]),
        "explained variance, last": float(end["train/explained_variance"].mean()),
        "entropy, last": -float(end["train/entropy_loss"].mean()),
        "return, first": float(logged["rollout/ep_rew_mean"].head(LAST).mean()),
        "return, last": float(end["rollout/ep_rew_mean"].mean()),
        "updates": float(logged["train/n_updates"].iloc[-1]),
        **trained,
        "better": 100.0 * (trained["return"] - began["return"]) / abs(began["return"]),
    }


def over_seeds(rows: pd.DataFrame) -> pd.DataFrame:
    """Return of each way the mean of each number over the seeds, and the least and the greatest."""
    by_way = rows.drop(columns="seed").groupby("way", sort=False)
    return by_way.agg(["mean", "min", "max"])


@click.command()
@click.argument("inputs", type=click.Path(path_type=Path, exists=True, file_okay=False), default=INPUTS)
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Trainings and tables.")
@click.option("--iterations", type=click.IntRange(1), default=20, show_default=True, help="Of each training.")
@click.option("--days", type=click.IntRange(1), default=1, show_default=True, help="Of an iteration.")
@click.option("--seeds", type=click.IntRange(1), default=3, show_default=True, help="Trainings of each way.")
def main(inputs: Path, out: Path, iterations: int, days: int, seeds: int) -> None:
    """Train each way alone, all together, and the scale of the reward apart, and print what came out."""
    ways = {TEXT: [], AS_RUN: list(CHANGES), **{name: [name] for name in CHANGES | CONTROL}}
    rows = []
    for seed in range(seeds):
        for name, changes in ways.items():
            folder = out / f"seed-{seed}" / name.replace(" ", "-")
            config = training(changes, inputs, iterations, days, seed)
            train(config, folder, resume=True)
            if not (folder / ROW).exists():
                with atomic_files(folder / ROW) as aside:
                    aside(folder / ROW).write_text(json.dumps(row_of(name, folder, config)))
            rows.append(json.loads((folder / ROW).read_text()))
            click.echo(f"{name}: {rows[-1]}")
    table = pd.DataFrame(rows)
    with atomic_files(out / "rows.csv") as aside:
        table.to_csv(aside(out / "rows.csv"), index=False)
    click.echo(over_seeds(table).T.to_string(float_format=lambda number: f"{number:.4g}"))


if __name__ == "__main__":
    main()
