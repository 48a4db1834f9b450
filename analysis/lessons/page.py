"""A lesson as a page with what its cells showed; it needs nothing from elsewhere, figures included."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import plotly.graph_objects as go
from markupsafe import Markup

from analysis.lessons.catalogue import Lesson
from analysis.lessons.notebook import Cell
from analysis.pages.page import figure_html, render


def page(lesson: Lesson, cells: list[Cell]) -> str:
    """The whole page."""
    names = (f"figure{place}" for place in count())
    shown = [
        (cell.source if cell.is_code else _words(cell.source), [_shown(output, names) for output in cell.outputs])
        for cell in cells
    ]
    return render("lesson.html", heading=f"Lesson {lesson.number} · {lesson.title}", cells=shown)


def _words(source: str) -> Markup:
    from markdown_it import MarkdownIt

    return Markup(MarkdownIt("commonmark", {"html": False}).enable("table").render(source))


def _shown(output: Any, names: Iterator[str]) -> Markup | str:
    """A figure or table as a piece of the page; of anything else its text."""
    if hasattr(output, "to_plotly_json"):
        return figure_html(go.Figure(output), next(names))
    if hasattr(output, "to_html"):
        # Whatever stands in a table or text comes from the lesson's own code; it is escaped all the same.
        frame = output.to_frame() if hasattr(output, "to_frame") and not hasattr(output, "columns") else output
        return Markup(frame.to_html(border=0, escape=True))
    return output if isinstance(output, str) else repr(output)
