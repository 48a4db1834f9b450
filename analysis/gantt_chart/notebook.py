"""Gantt charts in a notebook: small and still, exact at every zoom, and with a filter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.figures.palette import OFFERED, ColourClasses, ColourStrategy, colour_strategy
from analysis.figures.time_axis import SECONDS
from analysis.gantt_chart.gantt import GanttWindows, gantt
from analysis.gantt_chart.rectangles import time_window
from analysis.pages.page import piece
from analysis.pages.redrawn import carried
from analysis.tables.run_metrics import comparison_table, headlines, table_html
from cluster_sim.amounts import duration, energy, number
from cluster_sim.errors import InputError, SpecError, counted
from cluster_sim.extras import needed
from cluster_sim.records.result import Result

if TYPE_CHECKING:
    import numpy.typing as npt

PALE = "#e8ecef"
"""Colour of jobs that a filter leaves out."""


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
        self.window = start, end
        drawn = self.windows.figure(start, end)
        drawn.layout.xaxis.range = [at / SECONDS[self.unit] for at in (start, end)]
        put(self.figure, drawn)

    def zoomed(self, _: object, ends: Sequence[float] | None) -> None:
        """Draw what a new range of the x axis, in the chart's unit, asks for; the whole run for none."""
        start, end = self.whole if ends is None else (float(at) * SECONDS[self.unit] for at in ends)
        # Drawing sets the range, too, and so calls this again.
        if not all(math.isclose(new, old, rel_tol=1e-9) for new, old in zip((start, end), self.window, strict=True)):
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


MOST_JOBS_STILL = 20_000
"""Number of jobs of a result that shows itself with a chart; of more the chart takes seconds."""


def small_chart_and_metrics(result: Result) -> str:
    """Return what a result shows of itself, as HTML: its chart, small and still, and the metrics that matter most.

    Without jobs, or with very many, there is no chart.
    """
    metrics = table_html(headlines(comparison_table(result)))
    if not 0 < len(result.jobs) <= MOST_JOBS_STILL:
        return metrics
    tool = carried(gantt(result, panels=(), height=260))
    return piece("small_chart.html", still=None if tool is None else tool["still"]) + metrics


class GanttFilter:
    """A chart with a field for a condition: jobs that do not fulfil it are pale.

    ``condition`` is what :meth:`pandas.DataFrame.query` takes on ``result.jobs``, such as ``user == "u3" and wait_time > 3600``.
    ``options`` are those of :class:`GanttZoom`.
    """

    def __init__(self, result: Result, figure: go.Figure | None = None, **options: Any):
        self._result, self._options = result, options
        self.colour_by = str(options.pop("colour_by", "auto"))
        self.condition = ""
        self.zoom = GanttZoom(result, figure, colour_by=self.colour_by, **options)
        self.told = ""  #: What the jobs come to that fulfil the condition, or what is wrong with it.

    def show(self, condition: str, colour_by: str) -> None:
        """Draw anew, in the window of the moment."""
        jobs, strategy = self._result.jobs, colour_strategy(colour_by)
        try:
            chosen = jobs.index.isin(jobs.query(condition).index) if condition.strip() else np.ones(len(jobs), bool)
        except Exception as error:  # whatever pandas makes of what was typed
            reason = " ".join(str(error).split())
            self.told = f"expected a condition such as wait_time > 3600 and user == 'u1', found {condition}: {reason}"
            return
        self.condition, self.colour_by = condition, colour_by
        self.told = told_of(self._result, chosen)
        options = self._options | {"colour_by": partial(_others_pale, strategy, chosen), "time_unit": self.zoom.unit}
        self.zoom.windows = GanttWindows(self._result, **options)
        self.zoom.show(*self.zoom.window)


def _others_pale(strategy: ColourStrategy, chosen: npt.NDArray[np.bool_], jobs: pd.DataFrame) -> ColourClasses:
    classes = strategy(jobs)
    if chosen.all():
        return classes
    code = np.where(chosen, classes.code, len(classes.names))
    return replace(classes, code=code, names=(*classes.names, "other jobs"), colours=(*classes.colours, PALE))


def told_of(result: Result, chosen: npt.NDArray[np.bool_]) -> str:
    """Return what some jobs of a run come to: how many, their core-hours, their mean wait, their energy."""
    jobs, all_jobs = result.jobs[chosen], len(result.jobs)
    if jobs.empty:
        return f"none of {all_jobs:,} jobs"
    core_h = float(result.core_holds.used_core_s[chosen].sum()) / 3600.0
    facts = [f"{len(jobs):,} of {counted(all_jobs, 'job')}", f"{number(core_h, 4)} core-hours"]
    if jobs["wait_time"].notna().any():
        facts.append(f"mean wait {duration(float(jobs['wait_time'].mean()))}")
    return " · ".join([*facts, energy(float(jobs["energy_j"].sum()))])


def gantt_filter(result: Result, **options: Any) -> Any:
    """Return a widget: the chart of :func:`gantt_widget`, above it a condition on jobs, and what colours mean.

    Jobs that do not fulfil the condition are pale, and a line says what those come to that do. ``options`` are those of
    :class:`GanttFilter`. Raises InputError without anywidget (the extra ``notebook``).
    """
    with needed("gantt_filter", "anywidget"):
        widget = go.FigureWidget()
    import ipywidgets  # which anywidget brings

    filtered = GanttFilter(result, widget, **options)
    widget.layout.on_change(filtered.zoom.zoomed, "xaxis.range")
    wide = ipywidgets.Layout(width="480px")
    condition = ipywidgets.Text(
        description="Jobs",
        placeholder="such as user == 'u1' and wait_time > 3600",
        continuous_update=False,
        layout=wide,
    )
    colours = ipywidgets.Dropdown(options=OFFERED, value=filtered.colour_by, description="Colours")
    told = ipywidgets.Label()

    def show(_: object) -> None:
        filtered.show(condition.value, colours.value)
        told.value = filtered.told

    condition.observe(show, "value")
    colours.observe(show, "value")
    return ipywidgets.VBox([ipywidgets.HBox([condition, colours]), told, widget])
