"""``cluster-sim evaluate``: how good an agent is, against every heuristic."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from cluster_sim.cli.group import Invocation
from cluster_sim.cli.options import count_option, out_option, setting_option, specs_option, workers_option


@click.command(short_help="Compare trained agents with all heuristics.")
@click.argument("directory", type=click.Path(), metavar="DIR")
@setting_option("workload", "as of run, or a folder of days", required=True)
@setting_option("platform", "as of run; by default the one it was trained on, if it is one")
@setting_option("first")
@setting_option("slice")
@setting_option("time_unit")
@count_option("--trajectories", "length", help="Test on every piece of N consecutive jobs.")
@count_option("--cases", "count", help="Only N of these pieces, evenly spread.")
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="M",
    help="Key of summary.json; several times. [default: the objective]",
)
@specs_option(
    "--heuristic", "heuristics", of="scheduler", metavar="S", help="Instead of all list heuristics; several times."
)
@specs_option("--also", of="scheduler", metavar="S", help="Besides the others, such as easy:order=sjf; several times.")
@count_option("--runs", default=100, help="Test runs in which the agent samples its actions.")
@count_option("--seed", least=0, default=0, help="Of the first test run.")
@workers_option
@out_option("Folder for the tables.")
@click.pass_obj
def evaluate(
    invocation: Invocation, directory: str, workload: str, platform: str | None, out: str, **options: Any
) -> None:
    """Compare the agents of all training seeds in DIR with heuristics, in the form of the papers' tables.

    For each heuristic and the best of them: least, mean and greatest reduction in % over the test runs in which the
    agent samples, the reduction of its greedy run, and the spread of both over training seeds. The folder receives
    evaluation.csv, evaluation.txt, evaluation.json, runs.csv and heuristics.csv.
    """
    from cluster_sim.cli.simulate import checksums, prepare
    from learning.training.evaluation import assumed, cases_of, compared
    from learning.training.evaluation import evaluate as compare

    cut = {name: options.pop(name) for name in ("first", "time_unit", "length", "count")}
    cut["between"] = options.pop("slice")
    options["heuristics"] = options["heuristics"] or None
    # Refused before a log is read, and warned of.
    compared(directory, **{name: options[name] for name in ("metrics", "heuristics", "also")})
    cases = cases_of(directory, workload, platform, **cut)
    files = sorted(map(str, Path(workload).iterdir())) if os.path.isdir(workload) else [workload]
    prepare(out)
    invocation.assume(assumed(directory, cases))
    invocation.tell_all()
    evaluation = compare(directory, cases, progress=True, **options)
    evaluation.meta |= {"command": invocation.command, "inputs": checksums([platform, *files])}
    evaluation.save(out)
    click.echo(evaluation.text())
    click.echo(f"\nThe tables are in {out}")
