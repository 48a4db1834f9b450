"""How far trainings lie apart: ``python -m benchmarks.seeds_study CONFIG [AGENTS]… --workload W… --against H``.

CONFIG is the configuration of a training, AGENTS are folders that ``train`` has left. On each workload stand, side by side:
every agent with its likeliest actions and with drawn ones (the mean of ``--runs``), as many untrained agents as CONFIG has seeds,
the best of as many random episodes as a training has, played on that very workload, and rules. Reductions in % of what CONFIG
is to reduce against the heuristic H; more is better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import mean, stdev
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from analysis.reproduce.controls import RANDOM_PLAY, UNTRAINED, leave, tries
from analysis.reproduce.plays import Played, Reached, plays, reached_by
from cluster_sim import Workload

if TYPE_CHECKING:
    from learning.config import Config
    from learning.episodes import Episode

HEADINGS = (
    "| who | likeliest actions, by seed | mean ± sd | drawn actions, means by seed | mean |\n|---|---|---|---|---|"
)
Less = Callable[[Reached], float]
"""The reduction of what was reached, %."""


def case_of(config: Config, workload: str) -> Episode:
    """The jobs of a workload on the machine of a training, by its rules."""
    from learning.episodes import Episode
    from learning.inputs import read_platform, rules_of

    keys = config.environment
    return Episode(read_platform(keys), Workload.read(workload), name=workload, **rules_of(keys))


def table(
    config: Config, case: Episode, folders: Sequence[str], against: str, rules: Sequence[str], metric: str, runs: int
) -> list[str]:
    """The lines of one workload's table."""
    reference = reached_by(against, case)[metric]

    def less(reached: Reached) -> float:
        return 100.0 * (1.0 - reached[metric] / reference)

    lines = [agents_line(folder, plays(folder, case, "", runs, ""), less) for folder in folders]
    seeds = range(config.seed, config.seed + config.seeds)
    lines.append(agents_line("untrained", _played(UNTRAINED, config, case, runs, seeds), less))
    (random,) = _played(RANDOM_PLAY, config, case, tries(config))
    drawn = [less(reached) for reached in random.sampled]
    lines.append(f"| random search, best of {len(drawn)} | {max(drawn):.2f} | | | {mean(drawn):.2f} |")
    lines += [f"| `{rule}` | {less(reached_by(rule, case)):.2f} | | | |" for rule in rules]
    return [f"{case.name}, against `{against}`, {reference:,.0f}", "", HEADINGS, *lines]


def agents_line(who: str, played: Sequence[Played], less: Less) -> str:
    """The line of agents, in the order of their seeds."""
    greedy = [less(one.greedy) for one in played]
    drawn = [mean(map(less, one.sampled)) for one in played]
    spread = f"{mean(greedy):.2f} ± {stdev(greedy):.2f}" if len(greedy) > 1 else ""
    return f"| {who} | {_listed(greedy)} | {spread} | {_listed(drawn)} | {mean(drawn):.2f} |"


def _played(control: str, config: Config, case: Episode, runs: int, seeds: Sequence[int] | None = None) -> list[Played]:
    with TemporaryDirectory() as folder:
        leave(control, config, Path(folder), seeds)
        return plays(folder, case, "", runs, "")


def _listed(numbers: Iterable[float]) -> str:
    return ", ".join(f"{number:.2f}" for number in numbers)


@click.command()
@click.argument("config", type=click.Path(exists=True, dir_okay=False))
@click.argument("agents", nargs=-1, type=click.Path(exists=True, file_okay=False))
@click.option("--workload", multiple=True, required=True, help="To play; several times.")
@click.option(
    "--against", multiple=True, required=True, help="The heuristic to compare with: one, or one for each workload."
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
    rule: tuple[str, ...],
    metric: str,
    runs: int,
) -> None:
    """Print a table for each workload: agents by seed, and what is reached without learning."""
    from learning.config import read_config

    if len(against) not in (1, len(workload)):
        raise click.UsageError(
            f"--against once, or once for each of {len(workload)} workloads, not {len(against)} times"
        )
    keys = read_config(config)
    for name, reference in zip(workload, against * len(workload) if len(against) == 1 else against, strict=False):
        click.echo("\n".join(table(keys, case_of(keys, name), agents, reference, rule, metric, runs)) + "\n")


if __name__ == "__main__":
    main()
