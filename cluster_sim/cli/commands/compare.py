"""``cluster-sim compare``: the same workload under several schedulers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from cluster_sim.cli.group import Invocation, json_option, say, tell_json
from cluster_sim.cli.options import given, simulation_options, specs_option

_schedulers = specs_option(
    "--scheduler", "-s", "schedulers", of="scheduler", required=True, metavar="S", help="Give it once for each run."
)


_replications = click.option(
    "--replications",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Runs of each scheduler, with the seeds from --seed on; from 5 on means have 95 % confidence intervals.",
)


@click.command(short_help="Simulate under several schedulers and compare.")
@simulation_options(_schedulers)
@_replications
@json_option
@click.pass_obj
def compare(
    invocation: Invocation, schedulers: tuple[str, ...], out: str, replications: int, as_json: bool, **options: Any
) -> None:
    """Simulate a workload under several schedulers and print their metrics beside each other.

    The folder receives comparison.csv, and for each scheduler a folder of its own with the results of its run. With
    --replications, the seed of a generated workload (lublin:…) changes, too, and differences are paired by seed.
    """
    from analysis import compare as conclude
    from analysis import comparison_table
    from cluster_sim.cli.comparisons import replicate, run_all
    from cluster_sim.cli.config import settings_of
    from cluster_sim.cli.simulate import check, load, prepare, table_text, whereabouts

    settings = settings_of(None, given(options))
    times = Counter(schedulers)
    names = list(times)
    for name, count in times.items():
        if count > 1:
            say(f"{name} is given {count} times and runs once: runs of one scheduler are the same")
    platform, workload = load(settings, names)
    check(settings, names, platform, workload)
    prepare(out, settings.file_format)
    if replications == 1:
        runs = run_all(settings, names, platform, workload, out, invocation)
        table, comparison = comparison_table(runs), conclude(runs)
    else:
        table, runs = replicate(settings, names, replications, out, invocation)
        comparison = conclude(runs, table)
    invocation.tell_all()
    if as_json:
        tell_json(table.to_dict("index") | {"comparison": comparison.to_dict()})
        say(whereabouts(out, settings))
        return
    if comparison.sentences:
        click.echo(f"{comparison}\n")
    click.echo(table_text(table))
    click.echo(whereabouts(out, settings))
