"""Lessons as notebooks: their cells, run in this process, and as a file for Jupyter.

Cells run here and not in a Jupyter kernel: a lesson needs nothing but Python, and starts at once. What a cell shows is
what a notebook would show, the value of its last line and what it prints.
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
                name = f"cell {number}"
                tree = ast.parse(cell.source, name)
                last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
                printed = io.StringIO()
                value = None
                with redirect_stdout(printed):
                    exec(compile(tree, name, "exec"), names)
                    if isinstance(last, ast.Expr):
                        value = eval(compile(ast.Expression(last.value), name, "eval"), names)
                cell.outputs = [text for text in (printed.getvalue(),) if text] + ([] if value is None else [value])
            except Exception as error:
                # Whatever a lesson's code may raise: the reader is to know in which cell.
                raise CellError(f"cell {number}: {type(error).__name__}: {error}\n\n{cell.source}") from error
    return names


def as_ipynb(lesson: Lesson) -> str:
    """The lesson as a Jupyter notebook, without results. Raises InputError without jupytext."""
    notebook = _read(lesson.text)
    import jupytext  # type: ignore[import-untyped]

    return str(jupytext.writes(notebook, fmt="ipynb"))


def _read(text: str) -> Any:
    with needed("lesson", "jupytext"):
        import jupytext

    return jupytext.reads(text, fmt="md:myst")
