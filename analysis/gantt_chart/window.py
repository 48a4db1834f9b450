"""Exact charts of parts of a run: single rectangles, which a raster of the whole run shows together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from analysis.gantt_chart.chart_data import HeldRectangles, within
from analysis.gantt_chart.drawing import MOST_POLYGONS
from analysis.gantt_chart.gantt import draw_held
from analysis.gantt_chart.options import GanttOptions
from cluster_sim.amounts import number
from cluster_sim.errors import InputError
from cluster_sim.records.result import Result

if TYPE_CHECKING:
    import plotly.graph_objects as go


class GanttWindows:
    """Windows of one run, drawn from rectangles that were computed once.

    They are for zooming into a run too large to be drawn at once: in the callback of a Dash app on ``relayoutData``, or
    of a FigureWidget on its axis' range. ``options`` are those of :func:`analysis.gantt`.
    """

    def __init__(self, result: Result, **options: Any):
        self.options = GanttOptions.of(options)
        self.held = HeldRectangles.of(result, self.options.rows, self.options.workload)

    def count(self, start: float, end: float) -> int:
        """Return how many rectangles of jobs are in view from ``start`` to ``end`` (s)."""
        return len(within(self.held.rectangles, start, end))

    def exact(self, start: float, end: float) -> go.Figure:
        """Return the figure of a window (s) with single jobs. Raises InputError if a browser cannot draw so many."""
        if not start < end:
            raise InputError("window", "a start before its end", f"{number(start)} and {number(end)}")
        found = self.count(start, end)
        if found > MOST_POLYGONS:
            raise InputError("window", f"at most {number(MOST_POLYGONS)} rectangles", f"{number(found)}")
        return draw_held(self.held, replace(self.options, x_range=(start, end)))

    def figure(self, start: float, end: float) -> go.Figure:
        """Return the chart, with shades where there are too many rectangles.

        So any window can be looked at.
        """
        return draw_held(self.held, replace(self.options, x_range=(start, end)))


def window(result: Result, t0: float, t1: float, **options: Any) -> go.Figure:
    """Return the exact chart of ``result`` from ``t0`` to ``t1`` (s); :class:`GanttWindows` is for many windows."""
    return GanttWindows(result, **options).exact(t0, t1)
