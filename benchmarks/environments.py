"""Steps per second of environments with a random policy, resets included: ``python -m benchmarks.environments``.

Each run stands beside one of SimPy's floor (:func:`benchmarks.measure.floor`), and a step's cost is also given as a multiple
of a job there: that ratio holds on other machines and on busy ones, steps per second do not.

First each environment on its small built-in case, as ``gymnasium.make`` gives it, with Gymnasium's checks of every step: what
a first script sees. Then what papers and trainings play.

López (2023), Experiment 2: 18 jobs on four nodes; Experiment 3: 180 jobs on forty. The papers' program collects 170 to 270
decisions per second on Experiment 2, environments of other schedulers that learn reach 1,750 to 2,750. NodeShutdown: the 48
days of Casagrande et al. (2022). JobChoice: windows of 256 jobs, as an agent learns on them. Trainings step a group of
episodes together, which shares out what the default observation of JobNode costs: a row for a group of 64 says what is left.
CPU time.
"""

from __future__ import annotations

import inspect
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import click
import gymnasium

from benchmarks.inputs import LOG
from benchmarks.measure import alternate, floor
from benchmarks.report import circumstances, described
from cluster_sim import Platform, Workload
from learning import ENVIRONMENTS
from learning.algorithms.rollouts import rare_collections
from learning.tasks.environment import SchedulingEnv
from learning.tasks.episodes import Trajectories, Whole
from learning.tasks.job_choice.environment import JobChoice
from learning.tasks.job_node.environment import JobNode
from learning.training.configuration import EnvironmentKeys
from learning.training.inputs import environment_on, training_episodes

CASES = Path(__file__).resolve().parents[2] / "shared" / "cases" / "irmasim"
TAURUS = CASES.parent / "deepshutdown"
PUBLISHED: dict[str, Any] = {"skip": False, "patience": math.inf, "idle": "stay"}
SHUTDOWN: tuple[tuple[str, dict[str, Any], int], ...] = (("as-published", PUBLISHED, 8), ("default", {}, 30))
"""Observation, options, and most floors aimed at."""
JOB_NODE = (
    ("p2", "energy:scaled=no,shaped=no", 12),
    ("p2", "energy", None),
    ("default", "energy:scaled=no,shaped=no", None),
    ("default", "energy", 25),
)
"""Observation, reward, and most floors aimed at."""


GROUP = 64
"""Episodes that are stepped together, as in the trainings of Experiments 2 to 4."""
FLOOR_JOBS = 10_000


def random_steps(environments: Sequence[gymnasium.Env[Any, Any]], steps: int, seed: int = 0) -> Callable[[], int]:
    """Whole episodes of at least so many decisions in all, one in each environment at a time; to draw costs next to nothing."""
    if len(environments) > 1:
        return _steps_together([cast(SchedulingEnv, env.unwrapped) for env in environments], steps, seed)
    (env,) = environments

    def run() -> int:
        rng = random.Random(seed)
        done = 0
        while done < steps:
            _, info = env.reset(seed=rng.randrange(2**31))
            over = False
            while not over:
                _, _, terminated, truncated, info = env.step(rng.choice(info["action_mask"].nonzero()[0]))
                over = terminated or truncated
                done += 1
        return done

    return run


def _steps_together(environments: Sequence[SchedulingEnv], steps: int, seed: int) -> Callable[[], int]:
    """Step a group of environments, as rollouts play one."""

    @rare_collections()
    def run() -> int:
        rng = random.Random(seed)
        done = 0
        while done < steps:
            seeds = [rng.randrange(2**31) for _ in environments]
            begun = SchedulingEnv.reset_together(environments, seeds, [None] * len(seeds))
            running = [(env, info) for env, (_, info) in zip(environments, begun, strict=True)]
            while running:
                actions = [rng.choice(info["action_mask"].nonzero()[0]) for _, info in running]
                found = SchedulingEnv.step_together([env for env, _ in running], actions)
                done += len(found)
                running = [
                    (env, info)
                    for (env, _), (_, _, terminated, truncated, info) in zip(running, found, strict=True)
                    if not (terminated or truncated)
                ]
        return done

    return run


def measured(steps: int, repeat: int, group: int = GROUP, jobs: int = FLOOR_JOBS) -> Iterator[str]:
    """Rows of a Markdown table: medians, and the least and the most of the ratios of runs that stood side by side."""
    for name, observation, reward, environments, aim in cells(group):
        runs = {"floor": partial(floor, jobs), "steps": random_steps(environments, steps)}
        costs = alternate(runs, repeat)
        ratio = costs["steps"].over(costs["floor"])
        floors = f"**{ratio.value:.1f}** ({ratio.least:.1f} – {ratio.most:.1f})"
        per_second = 1e6 / costs["steps"].median
        yield f"| {name} | {observation} | {reward} | {per_second:,.0f} | {floors} | {'' if aim is None else f'≤ {aim}'} |"


def cells(together: int) -> Iterator[tuple[str, str, str, Sequence[gymnasium.Env[Any, Any]], int | None]]:
    """What is measured: experiment, observation, reward, the environments, and most floors aimed at."""
    for kind in ENVIRONMENTS:
        env = gymnasium.make(kind)
        given = inspect.signature(type(env.unwrapped)).parameters
        yield f'gymnasium.make("{kind}")', given["observation"].default, given["reward"].default, [env], None
    for number, source in experiments():
        for observation, reward, aim in JOB_NODE:
            env = JobNode(episodes=source, observation=observation, reward=reward)
            yield f"JobNode, Experiment {number}", observation, reward, [env], aim
        observation, reward, aim = JOB_NODE[-1]
        group = [JobNode(episodes=source, observation=observation, reward=reward) for _ in range(together)]
        yield f"JobNode, Experiment {number}, {together} episodes together", observation, reward, group, aim
    for observation, options, most in SHUTDOWN if TAURUS.is_dir() else ():
        env = environment_on(days_of_taurus(observation, options), training_episodes(days_of_taurus()))
        yield "NodeShutdown, Taurus", observation, observation, [env], most
    if LOG.is_file():
        windows = Trajectories(Platform.homogeneous(nodes=1, cores=256), Workload.read(LOG).first(5000), 256)
        yield "JobChoice, windows of Lublin-256", "default", "bounded-slowdown", [JobChoice(windows)], None


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
@click.option(
    "--repeat", type=click.IntRange(1), default=5, show_default=True, help="Runs, beside as many of the floor."
)
@click.option("--quick", is_flag=True, help="One short run of each: shows that they work, measures nothing.")
def main(steps: int, repeat: int, quick: bool) -> None:
    """Measure what the environments' steps cost and print a Markdown table."""
    if not CASES.is_dir():
        click.echo("the papers' experiments are not there: ../shared/cases/irmasim", err=True)
        sys.exit(2)
    steps, repeat, group, jobs = (1, 1, 2, 100) if quick else (steps, repeat, GROUP, FLOOR_JOBS)
    click.echo(f"Median of {repeat} runs, CPU time. {described(circumstances())}\n")
    click.echo(
        "| environment | observation | reward | steps/s | SimPy's floors (least – most) | aim |\n|---|---|---|---|---|---|"
    )
    for row in measured(steps, repeat, group, jobs):
        click.echo(row)


if __name__ == "__main__":
    main()
