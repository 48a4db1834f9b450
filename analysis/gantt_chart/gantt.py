"""The Gantt chart of a run: who held which cores when, with power, busy cores and the queue under it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from analysis.figures.palette import ColourClasses
from analysis.figures.time_axis import TimeAxis
from analysis.gantt_chart.hover import Hover, hover_of
from analysis.gantt_chart.layout import LEAST_ROOM_PX, MARGIN, WIDTH_PX, add_slider, lay_out, put_head
from analysis.gantt_chart.options import GanttOptions, RunsOptions
from analysis.gantt_chart.overlays import piece_traces, reservation_traces
from analysis.gantt_chart.panels import GAP_PX, PANEL_PX, carried_steps, panel_axes, panel_curves
from analysis.gantt_chart.rectangles import RectanglesInView, RunRectangles
from analysis.gantt_chart.still import still
from analysis.gantt_chart.tool import tool
from analysis.gantt_chart.traces import (
    MOST_BARS,
    MOST_POLYGONS,
    chosen_drawing,
    colour_bar,
    job_traces,
    patterned_traces,
    use_traces,
)
from analysis.pages.redrawn import carry
from analysis.tables.wording import plotly_text
from cluster_sim.amounts import number
from cluster_sim.errors import InputError, SpecError
from cluster_sim.options import with_options
from cluster_sim.records.result import Result


@with_options(GanttOptions)
def gantt(result: Result, options: GanttOptions) -> go.Figure:
    """Draw a run: resources × time, and under it power (W), busy cores and pending jobs, on one time axis.

    Each rectangle is an interval of neighbouring cores held by one job. Its hover tells the job's request, times,
    wait, energy, slowdown, state and cores; if the run was to ``explain``, also why the job waited. If a job had cores
    more than once, the hover also tells the attempt and the piece, how it ended, and where the job goes on. Lost work
    is paler and hatched; checkpoints, restarts and changes of cores are marked. Nodes that are off, in transition or
    failed are grey or hatched, as are cores of guests.

    Returns the figure. Raises SpecError for an unknown name, and for patterns on another drawing than bars.
    """
    return drawn(run_rectangles(result, options), options)


def run_rectangles(result: Result, options: GanttOptions | RunsOptions) -> RunRectangles:
    """Return the rectangles of a run, in the rows that the options ask for."""
    return RunRectangles.of(result, options.rows, options.workload, options.group_by, options.folded)


def drawn(run: RunRectangles, options: GanttOptions) -> go.Figure:
    """Return the chart of a run's rectangles. A page of it is a tool (:mod:`analysis.gantt_chart.tool`)."""
    lower, pattern_by = options.panels, options.pattern_by
    window = options.x_range or run.window
    axis = TimeAxis.of(options.time_unit, window, options.start_date or run.start_date)
    height_px = options.height or int(np.clip(600 + 4 * run.scale.height, 640, 860)) + 110 * max(0, len(lower) - 2)
    below = len(lower) * (PANEL_PX + GAP_PX)
    inner = max(height_px - MARGIN["t"] - MARGIN["b"], max(LEAST_ROOM_PX, run.scale.least_px) + below)
    view = RectanglesInView.of(run, window, WIDTH_PX, inner - below, part=options.x_range is not None)
    classes = view.classes(options.colour_by)
    how = chosen_drawing(options.drawing, len(view.unfolded().rectangles))
    if pattern_by is not None:
        if pattern_by not in run.jobs:
            raise SpecError("pattern_by", f"one of the columns {', '.join(map(str, run.jobs.columns))}", pattern_by)
        if how != "bars":
            raise SpecError("pattern_by", f"drawing bars, as for up to {number(MOST_BARS)} rectangles", how)
    curves, axes = panel_curves(lower, view), panel_axes(lower, view)
    hover = hover_of(view, axis) if how != "raster" else None
    figure = go.Figure()
    draw_rows(figure, view, classes, how, axis, hover, labels=options.labels, pattern_by=pattern_by)
    if options.reservations and how != "raster":
        figure.add_traces(reservation_traces(view, axis))
    for place, traces in enumerate(curves.values(), start=2):
        for trace in traces:
            figure.add_trace(trace.update(yaxis=f"y{place}"))
    lay_out(figure, [view], axes, inner, axis)
    notes = put_head(figure, view, how, options.title, axis)
    if options.slider:
        add_slider(figure, len(lower), inner)
    axis.convert(figure)

    def page_data() -> dict[str, Any]:
        steps = [each for name, (curve, *_) in curves.items() if curve.uid for each in carried_steps(name, view, name)]
        found = tool([view], [hover], axis, options.colour_by, steps)
        picture = still(figure, [view.all_together(classes)], found, axis)
        return found | {"fixed": pattern_by is not None, "notes": notes, "still": picture}

    carry(figure, page_data)
    return figure


def draw_rows(
    figure: go.Figure,
    view: RectanglesInView,
    classes: ColourClasses,
    how: str,
    axis: TimeAxis,
    hover: Hover | None,
    *,
    yaxis: str = "y",
    legend: bool = True,
    **options: Any,
) -> None:
    """Add a view's node states and jobs, with their hovers, to a figure, on the rows of ``yaxis``."""
    traces = patterned_traces(view, axis) + job_traces(view.unfolded(), classes, how, hover, **options)
    if view.run.scale.groups:
        traces += use_traces(view, classes)
    if how != "raster":
        traces += piece_traces(view, axis)
        if classes.edges and len(view.jobs) and legend:
            traces.append(colour_bar(classes))
    if classes.title and not classes.edges:
        figure.update_layout(legend={"title": {"text": plotly_text([classes.title])[0]}})
    # Only entries that no run above has go into the legend.
    told: set[Any] = set() if legend else {trace.legendgroup for trace in figure.data if trace.showlegend} | {None}
    for trace in traces:
        trace.update(yaxis=yaxis)
        if trace.legendgroup in told:
            trace.update(showlegend=False)
    figure.add_traces(traces)


class GanttWindows:
    """Windows of one run, drawn from rectangles that were computed once.

    They are for zooming into a run too large to be drawn at once: in the callback of a Dash app on ``relayoutData``, or
    of a FigureWidget on its axis' range. ``options`` are those of :func:`analysis.gantt`.
    """

    def __init__(self, result: Result, **options: Any):
        self.options = GanttOptions.of(options)
        self.rectangles = run_rectangles(result, self.options)

    def count(self, start: float, end: float) -> int:
        """Return how many rectangles of jobs are in view from ``start`` to ``end`` (s)."""
        table = self.rectangles.rectangles
        return int(((table["end"] >= start) & (table["start"] <= end)).sum())

    def exact(self, start: float, end: float) -> go.Figure:
        """Return the figure of a window (s) with single jobs. Raises InputError if a browser cannot draw so many."""
        if not start < end:
            raise InputError("window", "a start before its end", f"{number(start)} and {number(end)}")
        found = self.count(start, end)
        if found > MOST_POLYGONS:
            raise InputError("window", f"at most {number(MOST_POLYGONS)} rectangles", f"{number(found)}")
        return drawn(self.rectangles, replace(self.options, x_range=(start, end)))

    def figure(self, start: float, end: float) -> go.Figure:
        """Return the chart, with shades where there are too many rectangles.

        So any window can be looked at.
        """
        return drawn(self.rectangles, replace(self.options, x_range=(start, end)))


def window(result: Result, t0: float, t1: float, **options: Any) -> go.Figure:
    """Return the exact chart of ``result`` from ``t0`` to ``t1`` (s); :class:`GanttWindows` is for many windows."""
    return GanttWindows(result, **options).exact(t0, t1)
