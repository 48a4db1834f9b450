"""Notebooks of lessons: their cells, run in this process, and as a file for Jupyter.

Cells run here and not in a Jupyter kernel: a lesson needs nothing but Python, and starts at once. A cell shows what a
notebook would show: what it prints, and the value of its last line.
"""

from __future__ import annotations

import ast
import io
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from typing import Any

from analysis.lessons.catalogue import Lesson
from cluster_sim.extras import needed


@dataclass
class Cell:
    """Cell of a lesson. ``outputs`` are what it showed when it ran: texts, tables and figures, in order."""

    source: str
    is_code: bool
    outputs: list[Any] = field(default_factory=list)


class CellError(Exception):
    """Error of a lesson's cell; the error that the cell raised is the cause."""


def cells_of(lesson: Lesson) -> list[Cell]:
    """Return the cells of a lesson. Raises InputError without jupytext."""
    return [Cell(cell.source, cell.cell_type == "code") for cell in _read(lesson.text).cells]


def run(cells: list[Cell], names: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run the code cells one after the other, in one namespace, and set their outputs.

    Raises CellError at the first cell that fails, from its error.
    """
    names = {"__name__": "__lesson__"} if names is None else names
    for number, cell in enumerate(cells):
        if cell.is_code:
            try:
                cell.outputs = _run_code(cell.source, f"cell {number}", names)
            except Exception as error:  # the code may raise anything; the reader must know in which cell
                raise CellError(f"cell {number}: {type(error).__name__}: {error}\n\n{cell.source}") from error
    return names


def _run_code(source: str, name: str, names: dict[str, Any]) -> list[Any]:
    """Run a cell and return what a notebook would show: printed text, then the value of a last expression."""
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with redirect_stdout(printed):
        exec(compile(tree, name, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), names)
    return [text for text in (printed.getvalue(),) if text] + ([] if value is None else [value])


def as_ipynb(lesson: Lesson) -> str:
    """Return the lesson as a Jupyter notebook, without results. Raises InputError without jupytext."""
    notebook = _read(lesson.text)
    import jupytext  # type: ignore[import-untyped]

    return str(jupytext.writes(notebook, fmt="ipynb"))


def _read(text: str) -> Any:
    with needed("lesson", "jupytext"):
        import jupytext

    return jupytext.reads(text, fmt="md:myst")
