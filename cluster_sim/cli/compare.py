"""``cluster-sim compare``: the same workload under several schedulers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cluster_sim.cli.group import Invocation
from cluster_sim.cli.options import given, simulation_options

if TYPE_CHECKING:
    from cluster_sim.cli.config import Settings
    from cluster_sim.platform import Platform
    from cluster_sim.records import Result
    from cluster_sim.workload import Workload

_schedulers = click.option(
    "--scheduler", "-s", "schedulers", required=True, multiple=True, metavar="S", help="Give it once for each run."
)


@click.command(short_help="Simulate under several schedulers and compare.")
@simulation_options(_schedulers)
@click.pass_obj
def compare(invocation: Invocation, schedulers: tuple[str, ...], out: str, **options: Any) -> None:
    """Simulate a workload under several schedulers and print their metrics beside each other.

    The folder receives comparison.csv, and for each scheduler a folder of its own with the results of its run.
    """
    from cluster_sim.cli.config import settings_of
    from cluster_sim.cli.simulate import check, load, prepare, summary_text, whereabouts

    settings = settings_of(None, given(options))
    names = list(dict.fromkeys(schedulers))
    platform, workload = load(settings)
    check(settings, names, platform, workload)
    prepare(out, settings.file_format)
    click.echo(summary_text(run_all(settings, names, platform, workload, out, invocation)))
    click.echo(whereabouts(out, settings))


def run_all(
    settings: Settings,
    schedulers: Sequence[str],
    platform: Platform,
    workload: Workload,
    out: str,
    invocation: Invocation,
) -> dict[str, Result]:
    """Run every scheduler and leave the results in ``out``: a folder each, comparison.csv, and the report if wanted."""
    from analysis import comparison_table, write_report
    from cluster_sim.cli.simulate import simulate
    from cluster_sim.formats.atomic import atomic_path

    runs = {}
    for name, folder in zip(schedulers, folders(schedulers), strict=True):
        runs[name] = simulate(settings, name, platform, workload, invocation)
        # Saved at once: whoever interrupts the second run keeps the first.
        runs[name].save(Path(out) / folder, settings.file_format)
    with atomic_path(Path(out) / "comparison.csv") as path:
        comparison_table(runs).to_csv(path)
    if settings.report:
        write_report(runs, Path(out) / "report.html")
    return runs


def folders(specs: Sequence[str]) -> list[str]:
    """A folder's name for each spec, different ones, of letters that every file system takes.

    >>> folders(["fcfs", "list:first/first,blocking=no"])
    ['fcfs', 'list-first-first-blocking-no']
    """
    names: list[str] = []
    for spec in specs:
        name = re.sub(r"[^A-Za-z0-9_.]+", "-", spec).strip("-.")[:80] or "run"
        taken = sum(other == name or other.rpartition("+")[0] == name for other in names)
        names.append(f"{name}+{taken + 1}" if taken else name)
    return names
