"""``cluster-sim gantt``: the chart of a finished run."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="Draw the Gantt chart of a finished run.")
@click.argument("directory", metavar="DIR")
@click.option("--out", metavar="FILE.html", help="The page to write. [default: DIR/gantt.html]")
@click.option("--colour-by", type=click.Choice(["job", "profile", "user"]), default="job", show_default=True)
def gantt(directory: str, out: str | None, colour_by: str) -> None:
    """Draw the Gantt chart of a finished run, from the folder in which ``run`` left its results.

    The page is interactive, needs nothing else and works offline.
    """
    from analysis import write_gantt
    from cluster_sim.records import Result

    path = write_gantt(Result.load(directory), out or Path(directory) / "gantt.html", colour_by=colour_by)
    click.echo(f"The chart is {path}")
