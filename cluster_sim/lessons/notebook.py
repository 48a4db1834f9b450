"""Lessons as notebooks: their cells, run in this process; as a file for Jupyter; as a page with all results in it.

Cells run here and not in a Jupyter kernel: a lesson needs nothing but Python, and starts at once. What a cell shows is
what a notebook would show, the value of its last line and what it prints.
"""

from __future__ import annotations

import ast
import html
import io
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from cluster_sim.errors import InputError
from cluster_sim.lessons.catalogue import Lesson

_STYLE = """
body { max-width: 68rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.55 system-ui, sans-serif; color: #1d2733; }
pre { background: #f4f6f8; padding: .7rem .9rem; overflow-x: auto; border-radius: 4px; font-size: 14px; line-height: 1.4; }
pre.out { background: none; border-left: 3px solid #c8d0d8; border-radius: 0; }
pre.error { border-color: #b3261e; }
code { font-family: ui-monospace, monospace; font-size: .92em; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { border: 1px solid #d5dbe1; padding: .25rem .6rem; text-align: right; }
th:first-child, td:first-child { text-align: left; }
"""


_FIGURE = {"displaylogo": False, "showSendToCloud": False}


@dataclass
class Cell:
    """A cell of a lesson. ``outputs`` are what it showed when it was run: texts, tables and figures, in order."""

    source: str
    is_code: bool
    outputs: list[Any] = field(default_factory=list)


class CellError(Exception):
    """A cell of a lesson failed; the error that it raised is the cause."""


def cells_of(lesson: Lesson) -> list[Cell]:
    """The cells of a lesson. Raises InputError without jupytext."""
    return [Cell(cell.source, cell.cell_type == "code") for cell in _read(lesson.text).cells]


def run(cells: list[Cell], names: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run the code cells one after the other, in one namespace, and keep what they show in them.

    Raises CellError at the first one that fails, from its error.
    """
    names = {"__name__": "__lesson__"} if names is None else names
    for number, cell in enumerate(cells):
        if cell.is_code:
            try:
                _run_cell(cell, f"cell {number}", names)
            except Exception as error:
                # Whatever a lesson's code may raise: the reader is to know in which cell.
                raise CellError(f"cell {number}: {type(error).__name__}: {error}\n\n{cell.source}") from error
    return names


def _run_cell(cell: Cell, name: str, names: dict[str, Any]) -> None:
    tree = ast.parse(cell.source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with redirect_stdout(printed):
        exec(compile(tree, name, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), names)
    cell.outputs = [text for text in (printed.getvalue(),) if text] + ([] if value is None else [value])


def as_ipynb(lesson: Lesson) -> str:
    """The lesson as a Jupyter notebook, without results. Raises InputError without jupytext."""
    notebook = _read(lesson.text)
    import jupytext  # type: ignore[import-untyped]

    return str(jupytext.writes(notebook, fmt="ipynb"))


def as_html(lesson: Lesson, cells: list[Cell]) -> str:
    """A page of the lesson with what its cells showed; it needs nothing from elsewhere, figures included."""
    body = "\n".join(part for cell in cells for part in _parts(cell))
    title = html.escape(f"Lesson {lesson.number} · {lesson.title}")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n<script>{_plotly()}</script>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _parts(cell: Cell) -> Iterator[str]:
    from markdown_it import MarkdownIt

    if not cell.is_code:
        yield MarkdownIt("commonmark", {"html": False}).enable("table").render(cell.source)
        return
    yield f"<pre><code>{html.escape(cell.source)}</code></pre>"
    for output in cell.outputs:
        if hasattr(output, "to_plotly_json"):
            yield output.to_html(full_html=False, include_plotlyjs=False, config=_FIGURE)
        elif hasattr(output, "to_html"):
            # Whatever stands in a table or text comes from the lesson's own code; it is escaped all the same.
            frame = output.to_frame() if hasattr(output, "to_frame") and not hasattr(output, "columns") else output
            yield frame.to_html(border=0, escape=True)
        else:
            yield f'<pre class="out">{html.escape(output if isinstance(output, str) else repr(output))}</pre>'


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


def _read(text: str) -> Any:
    if find_spec("jupytext") is None:
        raise InputError("lesson", "jupytext to be installed (cluster-sim[lessons])")
    import jupytext

    return jupytext.reads(text, fmt="md:myst")
