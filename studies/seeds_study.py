"""How far trainings lie apart: ``python -m studies.seeds_study CONFIG [AGENTS]… --workload W… --against H``.

CONFIG is the configuration of a training, AGENTS are folders that ``train`` has left. On each workload stand, side by side:
every agent with its likeliest actions and with drawn ones (the mean of ``--runs``), as many untrained agents as CONFIG has seeds,
the best of as many random episodes as a training has, played on that very workload, and rules. Reductions in % of what CONFIG
is to reduce against the heuristic H; more is better. ``--kept-of 3`` adds what comes of three trainings of which validation
keeps one. Of a workload with ``seed=1..12``, twelve draws, each number is the mean over these, and random search is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from analysis.reproduce.controls import RANDOM_PLAY, UNTRAINED, leave, tries
from analysis.reproduce.plays import Played, Reached, plays, reached_by
from cluster_sim import Workload
from cluster_sim.errors import InputError

if TYPE_CHECKING:
    from learning.training.configuration import Config

HEADINGS = (
    "| who | likeliest actions, by seed | mean ± sd | drawn actions, means by seed | mean |\n|---|---|---|---|---|"
)
SEEDS = re.compile(r"\bseed=(\d+)\.\.(\d+)")
"""Of the draws of a generator."""


@dataclass(frozen=True)
class Reductions:
    """What one agent reaches, %: with drawn actions in each run, and with its likeliest ones."""

    drawn: Sequence[float]
    greedy: float


class Cases:
    """The jobs of a workload, or of several draws of it, on the machine of a training, beside what a heuristic reaches there."""

    def __init__(self, config: Config, workload: str, against: str, metric: str):
        from learning.tasks.episodes import Episode
        from learning.training.inputs import read_platform, rules_of

        platform, rules = read_platform(config.environment), rules_of(config.environment)
        self.name, self.against, self.metric = workload, against, metric
        self.cases = [Episode(platform, Workload.read(name), name=name, **rules) for name in draws_of(workload)]
        self.references = [reached_by(against, case)[metric] for case in self.cases]

    def of_agents(self, folder: str | Path, runs: int) -> list[Reductions]:
        """What the agents in a folder reach, by their seeds; the means over the draws."""
        pairs = zip(self.cases, self.references, strict=True)
        on_each = [[self._reduced(one, by) for one in plays(folder, case, "", runs, "")] for case, by in pairs]
        return [
            Reductions(
                [mean(run) for run in zip(*(one.drawn for one in agent), strict=True)],
                mean(one.greedy for one in agent),
            )
            for agent in zip(*on_each, strict=True)
        ]

    def of_rule(self, rule: str) -> float:
        """What a scheduler reaches that learns nothing."""
        pairs = zip(self.cases, self.references, strict=True)
        return mean(self._less(reached_by(rule, case), reference) for case, reference in pairs)

    def _reduced(self, played: Played, reference: float) -> Reductions:
        return Reductions([self._less(run, reference) for run in played.sampled], self._less(played.greedy, reference))

    def _less(self, reached: Reached, reference: float) -> float:
        return 100.0 * (1.0 - reached[self.metric] / reference)


def draws_of(workload: str) -> list[str]:
    """The workload of each seed of a range, ``seed=1..12``; without one the workload alone."""
    found = SEEDS.search(workload)
    if found is None:
        return [workload]
    first, last = map(int, found.groups())
    return [SEEDS.sub(f"seed={seed}", workload) for seed in range(first, last + 1)]


def table(
    config: Config, cases: Cases, folders: Sequence[str], rules: Sequence[str], runs: int, of: int = 1
) -> list[str]:
    """The lines of one workload's table; ``of``: of so many agents validation keeps one."""
    lines = []
    for folder in folders:
        reached = cases.of_agents(folder, runs)
        lines.append(agents_line(folder, reached))
        if of > 1:
            lines.append(agents_line(f"{folder}, one kept of {of}", [reached[i] for i in kept(folder, of)]))
    with TemporaryDirectory() as folder:
        leave(UNTRAINED, config, Path(folder), range(config.seed, config.seed + config.seeds))
        lines.append(agents_line("untrained", cases.of_agents(folder, runs)))
    if len(cases.cases) == 1:
        with TemporaryDirectory() as folder:
            leave(RANDOM_PLAY, config, Path(folder))
            (random,) = cases.of_agents(folder, tries(config))
        lines.append(
            f"| random search, best of {len(random.drawn)} | {max(random.drawn):.2f} | | | {mean(random.drawn):.2f} |"
        )
    lines += [f"| `{rule}` | {cases.of_rule(rule):.2f} | | | |" for rule in rules]
    return [f"{cases.name}, against `{cases.against}`, {mean(cases.references):,.0f}", "", HEADINGS, *lines]


def kept(folder: str | Path, of: int) -> list[int]:
    """Which agents of a folder, in the order of their seeds, validation keeps: of every ``of`` in a row the best there.

    Raises InputError where there is a rest.
    """
    from learning.training.agent import Agent, find_agents

    facts = sorted((Agent.load(place).facts for place in find_agents(folder)), key=lambda one: int(one["seed"]))
    if len(facts) % of:
        raise InputError(str(folder), f"a multiple of {of} agents, one of every {of} of which is kept", len(facts))
    return [min(range(i, i + of), key=lambda k: float(facts[k]["score"])) for i in range(0, len(facts), of)]


def agents_line(who: str, reached: Sequence[Reductions]) -> str:
    """The line of agents, in the order of their seeds."""
    greedy = [one.greedy for one in reached]
    drawn = [mean(one.drawn) for one in reached]
    spread = f"{mean(greedy):.2f} ± {stdev(greedy):.2f}" if len(greedy) > 1 else ""
    return f"| {who} | {_listed(greedy)} | {spread} | {_listed(drawn)} | {mean(drawn):.2f} |"


def _listed(numbers: Iterable[float]) -> str:
    return ", ".join(f"{number:.2f}" for number in numbers)


@click.command()
@click.argument("config", type=click.Path(exists=True, dir_okay=False))
@click.argument("agents", nargs=-1, type=click.Path(exists=True, file_okay=False))
@click.option(
    "--workload", multiple=True, required=True, help="To play; several times. seed=1..12: the mean over draws."
)
@click.option(
    "--against", multiple=True, required=True, help="The heuristic to compare with: one, or one for each workload."
)
@click.option(
    "--kept-of", type=click.IntRange(1), default=1, help="Add a line: of so many agents in a row validation keeps one."
)
@click.option("--rule", multiple=True, help="A scheduler that learns nothing, for a line of its own; several times.")
@click.option("--metric", type=click.Choice(["energy_j", "edp_js"]), default="energy_j", show_default=True)
@click.option(
    "--runs", type=click.IntRange(1), default=10, show_default=True, help="Runs of each agent with drawn actions."
)
def main(
    config: str,
    agents: tuple[str, ...],
    workload: tuple[str, ...],
    against: tuple[str, ...],
    kept_of: int,
    rule: tuple[str, ...],
    metric: str,
    runs: int,
) -> None:
    """Print a table for each workload: agents by seed, and what is reached without learning."""
    from learning.training.configuration import read_config

    if len(against) not in (1, len(workload)):
        raise click.UsageError(
            f"--against once, or once for each of {len(workload)} workloads, not {len(against)} times"
        )
    keys = read_config(config)
    for name, reference in zip(workload, against * len(workload) if len(against) == 1 else against, strict=False):
        cases = Cases(keys, name, reference, metric)
        click.echo("\n".join(table(keys, cases, agents, rule, runs, kept_of)) + "\n")


if __name__ == "__main__":
    main()
