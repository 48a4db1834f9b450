"""An agent on other logs and machines than its own: ``python -m studies.carry_study [INPUTS] [--policy SPEC …]``.

INPUTS holds ``traces``. The power policy, by default the ready agent that learned from days of Taurus, plays later days of other
logs, on Taurus' nodes and on those of another machine, nothing learned anew. Where all nodes are busy there is nothing to switch:
they have three times the cores of the log's own machine. Beside it stand the rule of one number with the threshold that was
right on Taurus, the same with the threshold that wastes least on earlier days of the very log and machine, of those that keep the
limit there, and nodes that sleep at once. Days count on which these keep the limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import click
import numpy as np

from analysis.reproduce.deepshutdown.runs import run_day
from cluster_sim import Platform, Workload
from cluster_sim.records.intervals import half_width, paired_change
from learning.tasks.episodes import spread
from studies.constraint_study import BASE, LIMIT, RULE, THRESHOLDS
from studies.room_study import LOGS
from studies.shutdown_study import INPUTS, of_day

MACHINES = ("taurus", "graphite")
NAMES = ("kth", "sdsc")
"""Not Lublin-256, many of whose jobs request seconds: a boot alone breaks the limit. KIT has too many nodes to look at each."""
DAYS = 24
TESTED = 0.5
TAURUS_THRESHOLD = 0.25
GRID = (*THRESHOLDS, 0.75, 1.0, 1.5, 2.0)
ROOMY = 3
"""Cores of the machine for one of the log's."""
HEADER = "| log, machine | days | policy | waste, W·min a day | more than the tuned rule's, % | mean stretch |"


def platform_for(machine: str, cores: int) -> Platform:
    """As many nodes of a machine as have so many cores."""
    node_cores = int(Platform.read(f"machine:{machine},nodes=1").core_count)
    return Platform.read(f"machine:{machine},nodes={math.ceil(cores / node_cores)}")


def days_of(inputs: Path, name: str) -> tuple[list[Workload], list[Workload]]:
    """Days of the first and of the second half of a log, evenly spread."""
    days = Workload.read(inputs / "traces" / LOGS[name][0]).days()
    cut = round((1.0 - TESTED) * len(days))
    return spread(days[:cut], DAYS), spread(days[cut:], DAYS)


def played(platform: Platform, days: Sequence[Workload], policy: str) -> np.ndarray:
    """Waste (W·min by node) and mean stretch of each day, shape (days, 2)."""
    rows = [of_day(run_day(platform, day, policy, seed)) for seed, day in enumerate(days)]
    return np.array([(row["waste"], row["stretch"]) for row in rows])


def tuned_rule(platform: Platform, days: Sequence[Workload]) -> str:
    """The rule that wastes least on these days, where they can keep the limit, of those that do in the mean."""
    stretches = played(platform, days, BASE)[:, 1]
    days = [day for day, stretch in zip(days, stretches, strict=True) if stretch <= LIMIT]
    means = {spec: played(platform, days, spec).mean(axis=0) for spec in (f"{RULE}:{one:g}" for one in GRID)}
    keeping = {spec: waste for spec, (waste, stretch) in means.items() if stretch <= LIMIT}
    return min(keeping, key=lambda spec: keeping[spec])


@click.command()
@click.argument("inputs", type=click.Path(path_type=Path, exists=True, file_okay=False), default=INPUTS)
@click.option("--policy", "agents", multiple=True, default=["learned:taurus-sleep"], help="Power policy. [repeatable]")
def main(inputs: Path, agents: Sequence[str]) -> None:
    """Print the table of docs/results/agents.md on agents elsewhere."""
    click.echo(f"{HEADER}\n|---|---|---|---|---|---|")
    for name in NAMES:
        earlier, later = days_of(inputs, name)
        for machine in MACHINES:
            platform = platform_for(machine, ROOMY * LOGS[name][1])
            tuned = tuned_rule(platform, earlier)
            policies = dict.fromkeys([tuned, *agents, f"{RULE}:{TAURUS_THRESHOLD:g}", BASE])
            found = {policy: played(platform, later, policy) for policy in policies}
            kept = found[BASE][:, 1] <= LIMIT
            first = found[tuned][kept]
            for policy, rows in found.items():
                change, around = paired_change(rows[kept], first)
                mean, half = rows[kept].mean(axis=0), half_width(rows[kept])
                more = "" if policy == tuned else f"{change[0]:+.1f} ± {around[0]:.1f}"
                where = (
                    f"{name}, {platform.node_count} nodes of {machine} | {kept.sum()} of {len(later)}"
                    if policy == tuned
                    else " | "
                )
                click.echo(f"| {where} | `{policy}` | {mean[0]:,.0f} | {more} | {mean[1]:.3f} ± {half[1]:.3f} |")


if __name__ == "__main__":
    main()
