"""DeepShutdown's agent as its authors ran it: ``python -m studies.as_run_study [INPUTS] --out FOLDER [--iterations N]``.

The paper's text (``examples/training/deepshutdown-as-published.yaml``) and the authors' public program differ in six ways. Each
way is tried alone, then all together, which is ``deepshutdown-as-run.yaml``; the scale of the reward is tried apart. All have the
same number of iterations, of the same number of days, drawn from the 48 days of Taurus that the authors released. Then each agent
plays six of these days with drawn actions. Trainings that are there are not made again. The tables stand in
docs/results/what-the-authors-ran/deepshutdown.md.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from cluster_sim.files.atomic import atomic_files
from learning.tasks.episodes import Episode, Whole, spread
from learning.training.agent import Agent
from learning.training.configuration import Config, read_config
from learning.training.inputs import all_days, environment_on
from learning.training.training import last
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
    rows = []
    for seed, day in enumerate(days):
        environment = environment_on(config.environment, Whole(day.platform, day.workload, **day.rules()))
        network, rng = agent.build(environment.maker), np.random.default_rng(seed)
        observation, _ = environment.reset(seed=seed)
        numbers, total, over = [], 0.0, False
        while not over:
            action, _ = network.decide(observation, None, rng)
            observation, reward, terminated, truncated, _ = environment.step(action)
            numbers.append(action)
            total += float(reward)
            over = terminated or truncated
        reserved = np.array(numbers)
        rows.append(
            {
                "return": total,
                "changed": 100.0 * float((np.diff(reserved) != 0).mean()),
                "most frequent": 100.0 * Counter(numbers).most_common(1)[0][1] / len(numbers),
                "reserved": float(reserved.mean()),
            }
        )
    return {str(name): float(mean) for name, mean in pd.DataFrame(rows).mean().items()}


def row_of(name: str, folder: Path, config: Config, last_ones: int) -> dict[str, Any]:
    """Return what a training logged, in the first update and in the mean of the last ``last_ones``, and how its agent acts."""
    logged = pd.read_csv(folder / "metrics.csv")
    end = logged.tail(last_ones)
    days = spread(all_days(config.environment), PLAYED)
    return {
        "way": name,
        "seed": config.seed,
        "explained variance, first": float(logged["train/explained_variance"].dropna().iloc[0]),
        "explained variance, last": float(end["train/explained_variance"].mean()),
        "entropy, last": -float(end["train/entropy_loss"].mean()),
        "return, first": float(logged["rollout/ep_rew_mean"].head(last_ones).mean()),
        "return, last": float(end["rollout/ep_rew_mean"].mean()),
        "updates": float(logged["train/n_updates"].iloc[-1]),
        **acts(last(folder), config, days),
    }


@click.command()
@click.argument("inputs", type=click.Path(path_type=Path, exists=True, file_okay=False), default=INPUTS)
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Trainings and tables.")
@click.option("--iterations", type=click.IntRange(1), default=15, show_default=True, help="Of each training.")
@click.option("--days", type=click.IntRange(1), default=1, show_default=True, help="Of an iteration.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of each training.")
def main(inputs: Path, out: Path, iterations: int, days: int, seed: int) -> None:
    """Train each way alone, all together, and the scale of the reward apart, and print what came out."""
    ways = {TEXT: [], AS_RUN: list(CHANGES), **{name: [name] for name in CHANGES | CONTROL}}
    rows = []
    for name, changes in ways.items():
        config = training(changes, inputs, iterations, days, seed)
        folder = out / f"seed-{seed}" / name.replace(" ", "-")
        train(config, folder, resume=True)
        rows.append(row_of(name, folder, config, min(5, iterations)))
        click.echo(f"{name}: {rows[-1]}")
    with atomic_files(out / f"seed-{seed}.csv") as aside:
        pd.DataFrame(rows).to_csv(aside(out / f"seed-{seed}.csv"), index=False)
    click.echo(pd.DataFrame(rows).to_string(index=False, float_format=lambda number: f"{number:.3g}"))


if __name__ == "__main__":
    main()
