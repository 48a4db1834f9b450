"""Tables of docs/backfilling.md on tuned rules: ``python -m benchmarks.room_study [INPUTS] [--log NAME]``.

INPUTS holds ``traces``. The last 55 % of each log are cut into 20 windows to test on, the jobs before into windows of the same
length to learn from. There the rule with the least slowdown is chosen, EASY or conservative in every order; and of EASY that
leaves room for short jobs, what has the least and costs at most 2 % of that rule's mean wait and makespan. Both are tested once,
beside every rule and what was chosen on the other logs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.backfilling_study import ORDERS, echo, least, mean, played, windows
from benchmarks.shutdown_study import INPUTS
from cluster_sim import Platform, Workload

LOGS = {
    "lublin": ("lublin_256.swf.gz", 256),
    "kth": ("KTH-SP2-1996-2.1-cln.swf.gz", 100),
    "sdsc": ("SDSC-SP2-1998_pyss_5K_sample.swf.gz", 128),
    "kit": ("KIT-FH2-2016-1.first25326.derived.swf.gz", 24048),
}
"""Files of logs with requested times, and the processors of their machines."""
FIXED = ("fcfs", "sjf", "saf", "smallest", "f1")  # orders whose keys stay as they are
RULES = (*(f"easy:order={order}" for order in ORDERS), *(f"conservative:order={order}" for order in FIXED))
SHARES, SECONDS = (0.01, 0.02, 0.03, 0.05, 0.1), (600, 3600, 14400)
TESTED, WINDOWS = 0.55, 20
ALLOWED = 1.02
"""Ratio to the best rule's mean wait and makespan on the windows to learn from, up to which room is worth its price."""


@dataclass(frozen=True)
class Log:
    """A log's machine, and its windows to learn from and to test on."""

    platform: Platform
    learned: Sequence[Workload]
    tested: Sequence[Workload]


def read_log(inputs: Path, name: str) -> Log:
    """Cut a log into windows."""
    file, cores = LOGS[name]
    jobs = Workload.read(inputs / "traces" / file)
    length = int(TESTED * len(jobs) / WINDOWS)
    cut = len(jobs) - WINDOWS * length
    parts = windows(jobs, cut % length, len(jobs), length)
    return Log(Platform.homogeneous(nodes=cores, cores=1), parts[:-WINDOWS], parts[-WINDOWS:])


def with_room() -> list[str]:
    """EASY in the orders that look at jobs alone, with every room."""
    rooms = [f"room={share:g},room_for={seconds}" for share in SHARES for seconds in SECONDS]
    return [f"easy:order={order},{room}" for order in FIXED if order != "fcfs" for room in rooms]


def choose(log: Log) -> tuple[str, str]:
    """Of the windows to learn from: the best rule, and the best with room that costs little beside it; perhaps the same."""
    rules = played(log.learned, dict(zip(RULES, RULES, strict=True)), log.platform)
    best = least(rules)
    rooms = with_room()
    tried = {best: rules[best]} | played(log.learned, dict(zip(rooms, rooms, strict=True)), log.platform)
    most = {metric: ALLOWED * mean(rules[best], metric) for metric in ("mean_wait_s", "makespan_s")}
    cheap = {spec: runs for spec, runs in tried.items() if all(mean(runs, of) <= most[of] for of in most)}
    return best, least(cheap)


@click.command()
@click.argument("inputs", type=click.Path(path_type=Path, exists=True, file_okay=False), default=INPUTS)
@click.option(
    "--log", "names", type=click.Choice([*LOGS]), multiple=True, help="Only this log. [repeatable; default: all]"
)
def main(inputs: Path, names: Sequence[str]) -> None:
    """Print the tables of docs/backfilling.md on rules tuned on the earlier part of a log, with and without room."""
    logs = {name: read_log(inputs, name) for name in names or LOGS}
    chosen = {}
    for name, log in logs.items():
        chosen[name] = choose(log)
        click.echo(f"{name}: of {len(log.learned)} windows of {len(log.learned[0])} jobs: {' and '.join(chosen[name])}")
    for name, log in logs.items():
        others = [spec for other in chosen if other != name for spec in chosen[other]]
        specs = dict.fromkeys([*chosen[name], *others, *RULES])
        runs = played(log.tested, dict(zip(specs, specs, strict=True)), log.platform)
        title = f"{name}: {len(log.tested)} later windows of {len(log.tested[0])} jobs; in hindsight the best rule is"
        echo(f"{title} {least({rule: runs[rule] for rule in RULES})}", runs)


if __name__ == "__main__":
    main()
