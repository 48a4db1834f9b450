"""``cluster-sim evaluate``: how good an agent is, against every heuristic."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from cluster_sim.cli.completion import Named
from cluster_sim.cli.group import Invocation
from cluster_sim.cli.options import DeclaringCommand, out_option, setting_option
from cluster_sim.extras import needed


@click.command(
    cls=DeclaringCommand,
    declared_by="learning.training.evaluation:evaluate learning.training.evaluation:cases_of",
    declared={
        "length": {"flags": ("--trajectories",), "metavar": "N"},
        "count": {"flags": ("--cases",), "metavar": "N"},
        "metrics": {"flags": ("--metric",), "metavar": "M"},
        "heuristics": {"flags": ("--heuristic",), "type": Named("scheduler"), "metavar": "S"},
        "also": {"type": Named("scheduler"), "metavar": "S"},
        "runs": {"metavar": "N"},
        "seed": {"metavar": "N"},
        "workers": {"metavar": "N"},
    },
    short_help="Compare trained agents with all heuristics.",
)
@click.argument("directory", type=click.Path(), metavar="DIR")
@setting_option("workload", "as of run, or a folder of days", required=True)
@setting_option("platform", "as of run; by default the one it was trained on, if it is one")
@setting_option("first")
@setting_option("slice")
@setting_option("time_unit")
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
    with needed("evaluate", "torch"):
        import torch  # noqa: F401
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
