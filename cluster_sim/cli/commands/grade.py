"""``cluster-sim lesson grade``: points for a class."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from cluster_sim.cli.options import Seconds, check_out
from cluster_sim.errors import InputError

if TYPE_CHECKING:
    from analysis.lessons.grading import Marks


@click.command(short_help="Points by student and exercise for what a class handed in.")
@click.argument("folder", type=click.Path())
@click.option("--out", type=click.Path(), metavar="FILE.csv", help="Write the points as CSV, too.")
@click.option("--exercises", type=click.Path(), metavar="FILE.py", help="A Python file with exercises of your own.")
@click.option("--limit", type=Seconds(), default=120, show_default=True, metavar="S", help="Seconds for each file.")
@click.option(
    "--workers", type=click.IntRange(min=1), default=1, show_default=True, metavar="N", help="Students at a time."
)
def grade(folder: str, out: str | None, exercises: str | None, limit: float, workers: int) -> None:
    """Run what a class handed in, and print points by student and exercise.

    FOLDER has a subfolder for each student, with notebooks or Python files in it, or one such file for each student. Each
    file runs in a process of its own for at most --limit seconds; a cell that does not end, or ends the process, is left
    out. THE STUDENTS' CODE IS EXECUTED, with your rights: grade in a container, or as a user who may do nothing else.
    """
    from analysis.lessons.grading import grade as marks_of
    from cluster_sim.cli.group import say
    from cluster_sim.files.atomic import write_bytes

    check_out("lesson grade, --out", out)
    if (
        out is not None and not Path(out).absolute().parent.is_dir()
    ):  # before a class is graded for a quarter of an hour
        raise InputError(out, "a file in a folder that is there", f"no folder {Path(out).parent}")

    def tell(marks: Marks) -> None:
        for remark in marks.remarks:
            say(f"{marks.student}: {remark}")

    marks = marks_of(folder, limit, exercises, workers, tell)
    if out is not None:
        write_bytes(out, marks.csv())
    table = marks.table().drop(columns="remarks").set_index("student")
    click.echo(table.astype(object).where(table.notna(), "-").to_string(index_names=False))
    if out is not None:
        click.echo(f"\n{out}")
