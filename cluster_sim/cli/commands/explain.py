"""``cluster-sim explain``: what became of one job of a finished run, and why."""

from __future__ import annotations

import click

from cluster_sim.errors import InputError


@click.command(short_help="Say why a job of a finished run waited, and what started it.")
@click.argument("directory", type=click.Path(), metavar="DIR")
@click.argument("job_id", metavar="JOB")
def explain(directory: str, job_id: str) -> None:
    """Say why a job waited, what started it, where it ran and how it ended.

    DIR is a folder in which ``run`` left its results. Why a scheduler kept a job back that would have fitted is known
    only of a run that was to --explain.
    """
    from cluster_sim.records.result import Result

    result = Result.load(directory)
    try:
        text = result.explain(job_id)
    except InputError as error:
        if error.where != "result.explain":
            raise
        raise InputError(f"{directory}, job", error.expected, job_id) from None
    click.echo(text, nl=False)
