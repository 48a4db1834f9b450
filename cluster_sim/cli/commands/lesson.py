"""``cluster-sim lesson``: lists the lessons, writes one as a notebook, runs one into a page; or grades a class."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cluster_sim.cli.options import DeclaringCommand, check_out
from cluster_sim.errors import InputError
from cluster_sim.extras import needed, pip_line

if TYPE_CHECKING:
    from analysis.lessons.grading import Marks


@click.command(
    cls=DeclaringCommand,
    declared_by="analysis.lessons.grading:grade",
    declared={
        "exercises_file": {"flags": ("--exercises",), "type": click.Path(), "metavar": "FILE.py"},
        "limit_s": {"flags": ("--limit",), "metavar": "S"},
        "workers": {"metavar": "N"},
    },
    short_help="Points by student and exercise for what a class handed in.",
)
@click.argument("folder", type=click.Path())
@click.option("--out", type=click.Path(), metavar="FILE.csv", help="Write the points as CSV, too.")
def grade(folder: str, out: str | None, **options: Any) -> None:
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

    marks = marks_of(folder, tell=tell, **options)
    if out is not None:
        write_bytes(out, marks.csv())
    table = marks.table().drop(columns="remarks").set_index("student")
    click.echo(table.astype(object).where(table.notna(), "-").to_string(index_names=False))
    if out is not None:
        click.echo(f"\n{out}")


class _Lesson(click.Command):
    """``lesson [N]``, beside which ``lesson grade`` is a command of its own."""

    beside = (grade,)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of ``lesson``, or of ``lesson grade``."""
        if args[:1] == [grade.name]:
            return grade.make_context(f"{info_name} {grade.name}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(cls=_Lesson, short_help="Lessons on scheduling: list them, open one, run one.")
@click.argument("number", type=int, required=False, metavar="[N]")
@click.option("--run", "runs", is_flag=True, help="Run its cells, and write a page with all results.")
@click.option(
    "--out",
    type=click.Path(),
    metavar="FILE",
    help="Where to write; lesson-NN.ipynb or .html in this folder unless given.",
)
@click.option(
    "--open", "opens", is_flag=True, help="Open what was written with the program that is set for such files."
)
@click.option("--force", is_flag=True, help="Replace a file that is there: what was done in it is lost.")
def lesson(number: int | None, runs: bool, out: str | None, opens: bool, force: bool) -> None:
    """Without N, list the lessons. With N, write lesson N as a Jupyter notebook to work in.

    With --run, run it as it stands and write a page that any browser shows, with every table and figure in it. No server
    is needed for either. A notebook that is there already is not replaced, since it may hold your answers.

    'cluster-sim lesson grade FOLDER' gives points to a class: see its --help.
    """
    from analysis.lessons import notebook
    from analysis.lessons.catalogue import lesson as find
    from analysis.lessons.catalogue import lessons
    from cluster_sim.files.atomic import write_bytes

    check_out("lesson, --out", out)
    if number is None:
        if runs or out or opens or force:
            raise InputError("lesson", "the number of a lesson beside --run, --out, --open or --force", "none")
        for one in lessons().values():
            click.echo(f"{one.number:>2}  {one.title} ({one.minutes} min)\n    {one.objective}")
        click.echo("\ncluster-sim lesson 1 writes the first one as a notebook, cluster-sim lesson 1 --run as a page.")
        return
    if out is not None and not runs and Path(out).suffix in (".html", ".htm"):
        raise InputError("lesson, --out", "FILE.ipynb, or --run beside the name of a page", out)
    one = find(number)
    path = Path(out or f"{one.stem}.{'html' if runs else 'ipynb'}")
    if path.exists() and not force and not (runs and path.suffix == ".html"):
        raise InputError(path, "no such file yet, or --force to replace it", "one that may hold your answers")
    if not runs:
        write_bytes(path, notebook.as_ipynb(one).encode())
    else:
        cells = notebook.cells_of(one)
        try:
            notebook.run(cells)
        except notebook.CellError as error:
            if isinstance(error.__cause__, ImportError):
                with needed(f"lesson {number}"):
                    raise error.__cause__ from None
            raise
        from analysis.lessons.page import page

        write_bytes(path, page(one, cells).encode())
    if opens:
        click.launch(str(path))
    elif runs:
        click.echo(f"{path}: open it in a browser")
    else:
        how = "" if find_spec("jupyterlab") else f" (after {pip_line('lessons')})"
        click.echo(f"{path}: open it with 'jupyter lab {path}'{how}, or in an editor that knows notebooks")
