"""What a page draws itself of a Gantt chart that carries the tool, at every zoom: a figure without these traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plotly.graph_objects as go

JOBS, HOVER_POINTS, LABELS, COLOURS = "jobs", "hover", "labels", "colours"
"""Values of ``trace.meta`` for traces of jobs. Pages draw these anew at every zoom, and tests find them by it."""
_REDRAWN = (JOBS, HOVER_POINTS, LABELS, COLOURS)


def carry(figure: go.Figure, make: Callable[[], dict[str, Any]]) -> None:
    """Let a figure carry the tool that ``make`` returns when a page of the figure is written; its copies have none."""
    figure._tool = make  # plotly allows attributes that begin so


def carried(figure: go.Figure) -> dict[str, Any] | None:
    """Return the tool that a figure carries, if it does."""
    make: Callable[[], dict[str, Any]] | None = getattr(figure, "_tool", None)
    return None if make is None else make()


def with_tool(figure: go.Figure, found: dict[str, Any]) -> dict[str, Any]:
    """Return a figure and its tool as a dict, without the traces that a page draws itself.

    Each layer of the tool has ``at``: before which of the other traces its jobs are drawn. What is filled with patterns
    (``fixed``) stays as it is.
    """
    content: dict[str, Any] = figure.to_dict()
    content["layout"]["meta"] = {**content["layout"].get("meta", {}), "tool": found}
    if found["fixed"]:
        return content
    content["layout"]["legend"].pop("title", None)  # the page's own legend has the title of the colours of the moment
    kept: list[dict[str, Any]] = []
    places: dict[str, int] = {}
    for trace in content["data"]:
        if trace.get("meta") in _REDRAWN:
            places.setdefault(trace.get("yaxis", "y"), len(kept))
        else:
            kept.append(trace)
    content["data"] = kept
    for layer in found["layers"]:
        layer["at"] = places.get(layer["yaxis"], 0)
    return content
