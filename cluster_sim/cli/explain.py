"""``cluster-sim explain``: what became of one job of a finished run, and why."""

from __future__ import annotations

import click


@click.command(short_help="Say why a job of a finished run waited, and what started it.")
@click.argument("directory", type=click.Path(), metavar="DIR")
@click.argument("job_id", metavar="JOB")
def explain(directory: str, job_id: str) -> None:
    """Say why a job waited, what started it, where it ran and how it ended.

    DIR is a folder in which ``run`` left its results. Why a scheduler kept a job back that would have fitted is known
    only of a run that was to --explain.
    """
    from cluster_sim.records.result import Result

    click.echo(Result.load(directory).explain(job_id), nl=False)
