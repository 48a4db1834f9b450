"""Gantt chart in a notebook that draws exact jobs when one zooms into a run too large to be drawn at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from analysis.figures.time_axis import SECONDS
from analysis.gantt_chart.gantt import GanttWindows
from analysis.gantt_chart.rectangles import time_window
from cluster_sim.errors import InputError, SpecError
from cluster_sim.extras import needed
from cluster_sim.records.result import Result


class GanttZoom:
    """Chart that is drawn again for each window in view.

    ``figure`` is a plotly figure, or a FigureWidget, that :meth:`show` fills: with single jobs if there are few enough
    in view, else with shades. Its heading says which. ``options`` are those of :func:`analysis.gantt`, but for a
    calendar and a slider. Raises SpecError for these.
    """

    def __init__(self, result: Result, figure: go.Figure | None = None, **options: Any):
        self.unit = options.setdefault("time_unit", "elapsed")
        if self.unit not in SECONDS or options.get("slider"):
            raise SpecError("gantt in a notebook", f"time_unit {', '.join(SECONDS)} and no slider", self.unit)
        self.windows = GanttWindows(result, **options)
        self.whole = options.get("x_range") or time_window(result)
        self.figure = go.Figure() if figure is None else figure
        self.show(*self.whole)

    def show(self, start: float, end: float) -> None:
        """Draw the window from ``start`` to ``end`` (s). Raises InputError where it is none."""
        if not start < end:
            raise InputError("window", "a start before its end", f"{start} and {end}")
        self._drawn = start, end
        drawn = self.windows.figure(start, end)
        drawn.layout.xaxis.range = [at / SECONDS[self.unit] for at in (start, end)]
        put(self.figure, drawn)

    def zoomed(self, _: object, ends: Sequence[float] | None) -> None:
        """Draw what a new range of the x axis, in the chart's unit, asks for; the whole run for none."""
        start, end = self.whole if ends is None else (float(at) * SECONDS[self.unit] for at in ends)
        # Drawing sets the range, too, and so calls this again.
        if not all(math.isclose(new, old, rel_tol=1e-9) for new, old in zip((start, end), self._drawn, strict=True)):
            self.show(start, end)


def gantt_widget(result: Result, **options: Any) -> go.Figure:
    """Return a FigureWidget of a run, which asks for exact jobs on every zoom and pan along the time axis.

    ``options`` are those of :class:`GanttZoom`. Raises InputError without anywidget (the extra ``notebook``).
    """
    with needed("gantt_widget", "anywidget"):
        widget = go.FigureWidget()
    zoomable(widget, result, **options)
    return widget


def zoomable(widget: go.FigureWidget, result: Result, **options: Any) -> None:
    """Draw a run in a widget that then asks for exact jobs on every zoom."""
    zoom = GanttZoom(result, widget, **options)
    widget.layout.on_change(zoom.zoomed, "xaxis.range")


def put(figure: go.Figure, drawn: go.Figure) -> None:
    """Put all that was drawn in the place of what a figure shows."""
    with figure.batch_update():
        figure.data = ()
        figure.add_traces(drawn.data)
        figure.update_layout(drawn.layout, overwrite=True)
