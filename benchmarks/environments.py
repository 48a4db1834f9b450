"""Steps per second of JobNode and NodeShutdown with a random policy, resets included: ``python -m benchmarks.environments``.

López (2023), Experiment 2: 18 jobs on four nodes; Experiment 3: 180 jobs on forty. The papers' program collects 170 to 270
decisions per second on Experiment 2, environments of other schedulers that learn reach 1,750 to 2,750. CPU time.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from benchmarks.report import circumstances, described
from cluster_sim import Platform, Workload
from learning.config import EnvironmentKeys
from learning.environments.base import SchedulingEnv
from learning.environments.job_node import JobNode
from learning.episodes import Whole
from learning.inputs import environment_on, training_episodes

CASES = Path(__file__).resolve().parents[2] / "shared" / "cases" / "irmasim"
TAURUS = CASES.parent / "deepshutdown"
PUBLISHED: dict[str, Any] = {"skip": False, "patience": math.inf, "idle": "stay"}
OBSERVATIONS = (
    ("p2", "energy:scaled=no,shaped=no"),
    ("p2", "energy"),
    ("default", "energy:scaled=no,shaped=no"),
    ("default", "energy"),
)


def steps_per_second(env: SchedulingEnv, steps: int, seed: int = 0) -> float:
    """Decisions a second of CPU time, over whole episodes with at least so many; to draw them costs next to nothing."""
    rng = random.Random(seed)
    done = 0
    begin = time.process_time()
    while done < steps:
        _, info = env.reset(seed=rng.randrange(2**31))
        over = False
        while not over:
            _, _, terminated, truncated, info = env.step(rng.choice(info["action_mask"].nonzero()[0]))
            over = terminated or truncated
            done += 1
    return done / (time.process_time() - begin)


def measured(steps: int, repeat: int) -> Iterator[str]:
    """Rows of a Markdown table; the best of some runs, which other programs on the machine disturb least."""
    for number, source in experiments():
        for observation, reward in OBSERVATIONS:
            env = JobNode(episodes=source, observation=observation, reward=reward)
            best = max(steps_per_second(env, steps) for _ in range(repeat))
            yield f"| {number} | {observation} | {reward} | {best:,.0f} | {'≥ 4,000' if number == '2' else ''} |"
    if not TAURUS.is_dir():
        return
    for observation, options in (("as-published", PUBLISHED), ("default", {})):
        shutdown = environment_on(days_of_taurus(observation, options), training_episodes(days_of_taurus()))
        best = max(steps_per_second(shutdown, steps) for _ in range(repeat))
        goal = "≥ 10,000" if options else ""
        yield f"| Taurus, NodeShutdown | {observation} | {observation} | {best:,.0f} | {goal} |"


def days_of_taurus(observation: str = "default", options: dict[str, Any] | None = None) -> EnvironmentKeys:
    """NodeShutdown on the 48 days of Casagrande et al. (2022)."""
    return EnvironmentKeys(
        kind="node-shutdown",
        platform=str(TAURUS / "platform_taurus_168cores.xml"),
        workload=str(TAURUS / "train_days"),
        time_unit="min",
        days=True,
        until=86400.0,
        enforce_walltime=True,
        observation=observation,
        reward=observation,
        options=options or {},
    )


def experiments() -> Iterator[tuple[str, Whole]]:
    """The papers' experiments."""
    for number in ("2", "3"):
        folder = CASES / f"experiment{number}"
        yield number, Whole(Platform.read(folder / "platform.json"), Workload.read(folder / "workload.json"))


@click.command()
@click.option("--steps", type=click.IntRange(1), default=2000, show_default=True, help="Least decisions of a run.")
@click.option("--repeat", type=click.IntRange(1), default=5, show_default=True, help="Runs, of which the best counts.")
def main(steps: int, repeat: int) -> None:
    """Measure the environments' steps per second and print a Markdown table."""
    if not CASES.is_dir():
        click.echo("the papers' experiments are not there: ../shared/cases/irmasim", err=True)
        sys.exit(2)
    click.echo(f"Best of {repeat} runs, CPU time. {described(circumstances())}\n")
    click.echo("| experiment | observation | reward | steps/s | goal |\n|---|---|---|---|---|")
    for row in measured(steps, repeat):
        click.echo(row)


if __name__ == "__main__":
    main()
