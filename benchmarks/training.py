"""How quickly agents collect and learn: ``python -m benchmarks.training [FOLDER] [--repeat N] [--quick]``.

FOLDER holds Experiment 2 of López (2023), ``platform.json`` and ``workload.json`` (18 jobs, 4 nodes); by default it is
``../shared/cases/irmasim/experiment2`` beside the repository, and without it the environment's built-in case is run.

Measured are decisions a second, of a random policy and of the networks, and the seconds of one training simulation of
the paper: five episodes of 18 decisions, 50 epochs in minibatches of 45, with its hyper-parameters. The papers' program
collects 170 to 270 decisions a second and takes 1.6 to 2.2 s for a training simulation. CPU time, one thread, median and
range of the runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np

from benchmarks.report import circumstances, described
from cluster_sim import Platform, Workload

INPUTS = Path(__file__).resolve().parents[2] / "shared" / "cases" / "irmasim" / "experiment2"
JOBS = 18
KINDS = {"as published": ("p2", "as-published"), "default": ("default", "scorer")}
GOAL_PER_S, GOAL_S = 4_000.0, 0.3


@dataclass(frozen=True)
class Experiment:
    """Makes the environment of the experiment; equal ones share what they made."""

    folder: Path | None
    observation: str

    def __call__(self) -> Any:
        """An environment."""
        from learning.tasks.job_node.environment import JobNode

        if self.folder is None:
            return JobNode(observation=self.observation)
        platform = Platform.read(self.folder / "platform.json")
        workload = Workload.read(self.folder / "workload.json")
        return JobNode(platform, workload, observation=self.observation, num_jobs=JOBS)


def random_decisions(make: Experiment, decisions: int) -> Callable[[], int]:
    """Take that many decisions in whole episodes, each one of the allowed actions at random."""
    environment, rng = make(), np.random.default_rng(0)

    def run() -> int:
        done, over = 0, True
        while done < decisions or not over:
            if over:
                environment.reset(seed=done)
            allowed = np.flatnonzero(environment.action_masks())
            *_, terminated, truncated, _ = environment.step(int(allowed[rng.integers(len(allowed))]))
            done, over = done + 1, terminated or truncated
        return done

    return run


def collecting(make: Experiment, spec: str, episodes: int) -> Callable[[], int]:
    """Episodes with a network of that spec, sixteen in lockstep; how many decisions they had."""
    from learning.algorithms.rollouts import collect, episode_seeds
    from learning.networks.building import make_network

    environment = make()
    network = make_network(spec, environment.observation_space, int(environment.action_space.n), seed=1)
    return lambda: sum(map(len, collect(make, network, episode_seeds(1, 0, episodes))))


def training_simulation(make: Experiment, spec: str) -> Callable[[], int]:
    """One iteration of the paper: five episodes, then 50 epochs; how many iterations that were."""
    from learning.algorithms.ppo import PPO, PUBLISHED, PPOOptions
    from learning.algorithms.rollouts import collect, episode_seeds
    from learning.networks.building import make_network

    environment = make()
    network = make_network(spec, environment.observation_space, int(environment.action_space.n), seed=1)
    ppo = PPO(network, PPOOptions(**PUBLISHED["energy-scheduler"]), iterations=100)

    def run() -> int:
        ppo.update(collect(make, network, episode_seeds(1, ppo.updates, 5)), 0)
        return 1

    return run


def seconds_each(run: Callable[[], int], repeat: int) -> list[float]:
    """CPU seconds for one of what a run counts, in each of the runs; one before them does not count."""
    run()
    found = []
    for _ in range(repeat):
        begin = time.process_time()
        count = run()
        found.append((time.process_time() - begin) / count)
    return found


def row(what: str, costs: list[float], per_second: bool) -> str:
    """A row of the table."""
    values = [1.0 / cost for cost in costs] if per_second else costs
    text = [f"{value:,.0f}" if per_second else f"{value:.3f}" for value in (median(values), min(values), max(values))]
    unit, goal = ("decisions/s", f"≥ {GOAL_PER_S:,.0f}") if per_second else ("s", f"≤ {GOAL_S:g}")
    return f"| {what} | {text[0]} {unit} ({text[1]} – {text[2]}) | {goal} |"


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False), required=False)
@click.option("--repeat", type=click.IntRange(1), default=5, show_default=True, help="Runs of each case.")
@click.option("--quick", is_flag=True, help="One short run of each: shows that they work, measures nothing.")
def main(folder: Path | None, repeat: int, quick: bool) -> None:
    """Measure collecting and learning on Experiment 2 of López (2023); print a Markdown table."""
    import torch

    torch.set_num_threads(1)
    folder = folder or (INPUTS if INPUTS.is_dir() else None)
    repeat, decisions, episodes = (1, 50, 2) if quick else (repeat, 2_000, 80)
    click.echo(f"{described(circumstances())} torch {torch.__version__}, one thread.")
    click.echo(f"{'Experiment 2' if folder else 'The built-in case'}, median of {repeat} (least – most).\n")
    click.echo("| what | measured | goal |\n|---|---|---|")
    for name, (observation, network) in KINDS.items():
        make = Experiment(folder, observation)
        click.echo(
            row(f"random policy, {name} observation", seconds_each(random_decisions(make, decisions), repeat), True)
        )
        click.echo(row(f"`{network}`, collecting", seconds_each(collecting(make, network, episodes), repeat), True))
        click.echo(
            row(f"`{network}`, a training simulation", seconds_each(training_simulation(make, network), repeat), False)
        )


if __name__ == "__main__":
    main()
