"""The Gantt chart of a run: who held which cores when, with power, busy cores and the queue under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from analysis.figures.palette import ColourStrategy, colour_strategy
from analysis.figures.time_axis import TimeAxis
from analysis.gantt_chart.chart_data import ChartData, HeldRectangles, within
from analysis.gantt_chart.hover import Hover
from analysis.gantt_chart.layout import LEAST_ROOM_PX, MARGIN, WIDTH_PX, add_slider, lay_out, put_head
from analysis.gantt_chart.options import GanttOptions
from analysis.gantt_chart.overlays import piece_traces, reservation_traces
from analysis.gantt_chart.panels import GAP_PX, PANEL_PX, carried_steps, panel_traces
from analysis.gantt_chart.rectangles import time_window
from analysis.gantt_chart.tool import MOST_CARRIED, tool
from analysis.gantt_chart.traces import MOST_BARS, MOST_POLYGONS, chosen_drawing, colour_bar
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
    held = HeldRectangles.of(result, options.rows, options.workload)
    return draw_held(held, options, carry=len(held.rectangles) <= MOST_CARRIED)


def tool_chart(result: Result, **options: Any) -> go.Figure:
    """Return the chart of a run for a page, where it becomes a tool of any size; ``options`` as for :func:`gantt`."""
    known = GanttOptions.of(options)
    return draw_held(HeldRectangles.of(result, known.rows, known.workload), known, carry=True)


def draw_held(held: HeldRectangles, options: GanttOptions, carry: bool = False) -> go.Figure:
    """Return the chart of ``held``.

    With ``carry`` its ``meta`` has the data of a page's tool (:mod:`analysis.gantt_chart.tool`).
    """
    result, lower, pattern_by = held.result, options.panels, options.pattern_by
    window = options.x_range or time_window(result)
    axis = TimeAxis.of(options.time_unit, window, options.start_date or held.start_date)
    height_px = options.height or int(np.clip(600 + 4 * held.scale.height, 640, 860)) + 110 * max(0, len(lower) - 2)
    below = len(lower) * (PANEL_PX + GAP_PX)
    inner = max(height_px - MARGIN["t"] - MARGIN["b"], LEAST_ROOM_PX + below)
    room = inner - below
    scene = ChartData.of(held, window, WIDTH_PX, room, part=options.x_range is not None)
    figure = go.Figure()
    how = chosen_drawing(options.drawing, len(scene.rectangles))
    if pattern_by is not None:
        if pattern_by not in held.jobs:
            raise SpecError("pattern_by", f"one of the columns {', '.join(map(str, held.jobs.columns))}", pattern_by)
        if how != "bars":
            raise SpecError("pattern_by", f"drawing bars, as for up to {number(MOST_BARS)} rectangles", how)
    look: dict[str, Any] = {"labels": options.labels, "pattern_by": pattern_by}
    hover = draw_rows(figure, scene, colour_strategy(options.colour_by), how, axis, **look)
    curves = {name: panel_traces(name, scene) for name in lower}
    if carry:
        steps = [told for name, traces in curves.items() for told in carried_steps(name, scene, traces, name)]
        found = tool([scene], [hover], axis, options.colour_by, steps)
        figure.update_layout(meta={"tool": found | {"fixed": pattern_by is not None}})
    if options.reservations and how != "raster":
        figure.add_traces(reservation_traces(scene, axis))
    for position, traces in enumerate(curves.values(), start=2):
        figure.add_traces([trace.update(yaxis=f"y{position}") for trace in traces])
    lay_out(figure, [scene], lower, inner, axis)
    if not len(scene.jobs):
        figure.add_annotation(
            text="no job ran" + (" in this window" if scene.outside else ""),
            x=0.5,
            y=sum(figure.layout.yaxis.domain) / 2,
            xref="paper",
            yref="paper",
            showarrow=False,
        )
    put_head(figure, result, scene, how, options.title, axis)
    if options.slider:
        add_slider(figure, len(lower), inner)
    axis.convert(figure)
    return figure


def draw_rows(
    figure: go.Figure,
    scene: ChartData,
    strategy: ColourStrategy,
    how: str,
    axis: TimeAxis,
    *,
    yaxis: str = "y",
    legend: bool = True,
    remarks: Sequence[str] | None = None,
    **options: Any,
) -> Hover | None:
    """Add a scene's node states and jobs to a figure, on the rows of ``yaxis``, and return their hovers, if made."""
    classes = scene.classes(strategy)
    hover = scene.hover(axis, remarks) if how != "raster" else None
    traces = scene.patterned_traces(axis) + scene.job_traces(classes, how, hover, **options)
    if how != "raster":
        traces += piece_traces(scene, axis)
    if classes.edges and len(scene.jobs) and how != "raster" and legend:
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
    return hover


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
