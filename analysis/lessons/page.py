"""Page of a lesson with the outputs of its cells; it contains all that it shows, figures included."""

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
    """Return the page as HTML."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    names = (f"figure{place}" for place in count())
    shown = []
    for cell in cells:
        text = cell.source if cell.is_code else Markup(markdown.render(cell.source))
        shown.append((text, [_shown(output, names) for output in cell.outputs]))
    return render("lesson.html", heading=f"Lesson {lesson.number} · {lesson.title}", cells=shown)


def _shown(output: Any, names: Iterator[str]) -> Markup | str:
    """Return a figure or table as a piece of the page; anything else as its text."""
    if hasattr(output, "to_plotly_json"):
        return figure_html(go.Figure(output), next(names))
    if hasattr(output, "to_html"):
        # Tables come from the lesson's own code, but are escaped all the same.
        frame = output.to_frame() if hasattr(output, "to_frame") and not hasattr(output, "columns") else output
        return Markup(frame.to_html(border=0, escape=True))
    return output if isinstance(output, str) else repr(output)
