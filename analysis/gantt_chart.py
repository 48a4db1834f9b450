"""The Gantt chart of a run: who held which cores when, with power and utilisation under it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.drawing import (
    Canvas,
    chosen_drawing,
    job_bars,
    job_labels,
    job_polygons,
    job_raster,
    raster_note,
    state_traces,
)
from analysis.hover import job_hover
from analysis.palette import ColourStrategy, colour_strategy
from analysis.rectangles import RowScale, job_rectangles, state_rectangles
from analysis.timelines import busy_trace, capacity_trace, power_trace
from analysis.wording import listing, number, plotly_text, shortened

if TYPE_CHECKING:
    from cluster_sim.platform import Platform
    from cluster_sim.records import Result

# Passed wherever a figure is shown or written. Without the first, plotly 7 offers to upload the chart.
CONFIG: dict[str, Any] = {
    "showSendToCloud": False,
    "displaylogo": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["select2d", "lasso2d"],
}

_GANTT, _POWER, _BUSY = (0.37, 1.0), (0.19, 0.325), (0.0, 0.135)
_WIDTH_PX = 1_050
_MARGIN = {"l": 130, "r": 30, "t": 76, "b": 56}
_LEGEND_PX = 185
_GRID = "#E4E8EC"


@dataclass(frozen=True, slots=True)
class _Scene:
    """What is drawn, measured once: rows, rectangles, and the window of time."""

    allocations: pd.DataFrame  # kept, since a result makes the table anew when asked
    scale: RowScale
    jobs: pd.DataFrame
    states: pd.DataFrame
    outside: int  # jobs that ran, but not in the window
    canvas: Canvas
    until: float


def gantt(
    result: Result,
    colour_by: str | ColourStrategy = "job",
    rows: str = "auto",
    *,
    drawing: str = "auto",
    labels: bool = True,
    title: str | None = None,
    x_range: tuple[float, float] | None = None,
    height: int | None = None,
) -> go.Figure:
    """Draw a run: resources × time, and under it power (W) and busy cores, on one time axis in simulated seconds.

    Each rectangle is an interval of neighbouring cores held by one job; its hover tells the job's request, times,
    wait, energy, slowdown, state and cores. Nodes that are off, in transition or failed are grey or hatched.

    Args:
        result: a finished run.
        colour_by: "job", "profile", "user", or a function ``jobs table -> ColourClasses``.
        rows: "node" (every node equally high, divided among its cores), "core" (every core equally high), or "auto":
            cores when there are at most 64.
        drawing: "bars", "polygons", "raster", or "auto" by the number of rectangles (see :mod:`analysis.drawing`).
        labels: write job ids into the largest rectangles that have room.
        title: heading; made from the run's settings when None.
        x_range: window of time in s, for a part of a long run or to give several runs the same axis; what lies
            outside is not drawn (the figure says how many jobs). First submission to last finish when None.
        height: pixels; chosen by the number of rows when None.

    Returns the figure. Raises SpecError for an unknown ``colour_by``, ``rows`` or ``drawing``.
    """
    strategy = colour_strategy(colour_by)
    scene = _measured(result, rows, x_range, height)
    figure = go.Figure()
    how = chosen_drawing(drawing, len(scene.jobs))
    names = result.platform.node_names()
    figure.add_traces(state_traces(scene.states, names, scene.scale, scene.canvas))
    figure.add_traces(_job_traces(result, scene, strategy, how, labels))
    figure.add_trace(power_trace(result.power).update(yaxis="y2"))
    figure.add_trace(busy_trace(scene.allocations, scene.until).update(yaxis="y3"))
    end = max(scene.canvas.end, scene.until)
    figure.add_trace(capacity_trace(result.platform.core_count, scene.canvas.start, end).update(yaxis="y3"))
    _lay_out(figure, scene, result.platform)
    _head(figure, result, scene, how, title)
    if not len(scene.jobs):
        figure.add_annotation(
            text="no job ran" + (" in this window" if scene.outside else ""),
            x=0.5,
            y=0.7,
            xref="paper",
            yref="paper",
            showarrow=False,
        )
    return figure


def run_title(result: Result) -> str:
    """A run in a few words, from its settings: scheduler, power policy, workload, platform."""
    meta = result.meta
    parts = [str(meta[key]) for key in ("scheduler", "power_policy") if meta.get(key) not in (None, "", "none")]
    workload = f" — {meta['workload']}" if meta.get("workload") else ""
    return f"{' + '.join(parts) or 'Schedule'}{workload} on {result.platform.id}"


def time_window(result: Result) -> tuple[float, float]:
    """First submission to last finish, in s (evalys' convention), or to the stop of a run with unfinished jobs."""
    jobs = result.jobs
    start = float(jobs["submit_time"].min()) if len(jobs) else 0.0
    started = jobs[jobs["start_time"].notna()]
    running = started["finish_time"].isna().any()
    ends = [result.power["time"].max() if running else np.nan, started["finish_time"].max()]
    end = float(np.nanmax([*ends, start]))
    return start, end if end > start else start + 1.0


def _measured(result: Result, rows: str, x_range: tuple[float, float] | None, height: int | None) -> _Scene:
    scale = RowScale.of(result.platform, rows)
    allocations, states = result.allocations, result.node_states
    until = float(np.nanmax([0.0, result.power["time"].max(), allocations["end"].max(), states["end"].max()]))
    start, end = x_range or time_window(result)
    whole = height or int(np.clip(600 + 4 * scale.height, 640, 860))
    panel = (whole - _MARGIN["t"] - _MARGIN["b"]) * (_GANTT[1] - _GANTT[0])
    held = job_rectangles(allocations, result.jobs, result.platform, scale, until)
    shown = _within(held, start, end)
    return _Scene(
        allocations=allocations,
        scale=scale,
        jobs=shown,
        states=_within(state_rectangles(states, result.platform, scale, until), start, end),
        outside=held["owner"].nunique() - shown["owner"].nunique(),
        canvas=Canvas(_WIDTH_PX, panel, start, end, scale.height),
        until=until,
    )


def _within(rectangles: pd.DataFrame, start: float, end: float) -> pd.DataFrame:
    return rectangles[(rectangles["end"] >= start) & (rectangles["start"] <= end)]


def _job_traces(result: Result, scene: _Scene, strategy: ColourStrategy, how: str, labels: bool) -> list[Any]:
    if not len(scene.jobs):
        return []
    if how == "raster":
        return [job_raster(scene.jobs, scene.scale, scene.canvas)]
    classes = strategy(result.jobs)
    hover = job_hover(result.jobs, scene.allocations, getattr(result, "decisions", None))
    traces: list[Any] = (
        list(job_bars(scene.jobs, classes, hover, scene.canvas))
        if how == "bars"
        else list(job_polygons(scene.jobs, classes, hover))
    )
    if labels:
        traces += job_labels(scene.jobs, result.jobs["job_id"], classes, scene.canvas)
    return traces


def _lay_out(figure: go.Figure, scene: _Scene, platform: Platform) -> None:
    canvas = scene.canvas
    pad = 0.004 * (canvas.end - canvas.start)
    panel = {"gridcolor": _GRID, "zeroline": False, "linecolor": "#9AA5B1", "showline": True, "ticks": "outside"}
    figure.update_layout(
        height=round(canvas.height_px / (_GANTT[1] - _GANTT[0])) + _MARGIN["t"] + _MARGIN["b"],
        margin=_MARGIN | ({"r": _LEGEND_PX} if _needs_room(figure) else {}),
        barmode="overlay",
        bargap=0,
        hovermode="closest",
        hoverlabel={"align": "left", "font": {"size": 12}},
        plot_bgcolor="#FFFFFF",
        paper_bgcolor="#FFFFFF",
        font={"family": "system-ui, Segoe UI, Helvetica, Arial, sans-serif", "size": 12, "color": "#22303C"},
        legend={"groupclick": "togglegroup", "itemsizing": "constant", "tracegroupgap": 0, "yanchor": "top", "y": 1},
        xaxis=panel
        | {
            "title": {"text": "Time (simulated seconds)"},
            "range": [canvas.start - pad, canvas.end + pad],
            "anchor": "y3",
            "exponentformat": "none",
            "separatethousands": True,
            # The line under the mouse runs through all three panels.
            "showspikes": True,
            "spikemode": "across",
            "spikesnap": "cursor",
            "spikethickness": 1,
            "spikecolor": "#7A8793",
            "spikedash": "dot",
        },
        yaxis=panel | _row_axis(scene, platform),
        yaxis2=panel | {"title": {"text": "Power (W)"}, "domain": _POWER, "anchor": "x", "rangemode": "tozero"},
        yaxis3=panel | {"title": {"text": "Busy cores"}, "domain": _BUSY, "anchor": "x"},
    )
    # The axis below the curves does not follow them: how far they stay under the capacity is what it shows.
    busy = {"nticks": 5, "separatethousands": True, "range": [0, 1.08 * platform.core_count]}
    figure.update_layout(yaxis2={"nticks": 5, "exponentformat": "SI"}, yaxis3=busy)


def _needs_room(figure: go.Figure) -> bool:
    return any(trace.type == "heatmap" or trace.showlegend for trace in figure.data)


def _row_axis(scene: _Scene, platform: Platform) -> dict[str, Any]:
    scale = scene.scale
    axis: dict[str, Any] = {
        "domain": _GANTT,
        "anchor": "x",
        # Listed from top to bottom, as one reads.
        "range": [scale.node_edge[-1], scale.node_edge[0]],
        "showgrid": False,
    }
    if platform.core_count == platform.node_count:
        return axis | {"title": {"text": "Node"}, "exponentformat": "none", "separatethousands": True}
    step = max(1, int(np.ceil(platform.node_count / (scene.canvas.height_px / 15))))
    names = [shortened(name, 18) for name in platform.node_names()[::step]]
    ticks = {"tickvals": scale.node_centre[::step], "ticktext": plotly_text(names)}
    what = "Cores, by node" if scale.unit == "core" else "Nodes"
    return axis | ticks | {"title": {"text": what, "standoff": 8}, "automargin": True}


def _head(figure: go.Figure, result: Result, scene: _Scene, how: str, title: str | None) -> None:
    heading, note = plotly_text([title or run_title(result), " · ".join(_notes(result, scene, how))])
    figure.update_layout(
        title={
            "text": heading,
            "x": 0.01,
            "xanchor": "left",
            "y": 1,
            "yanchor": "top",
            "pad": {"t": 16},
            "subtitle": {"text": note, "font": {"size": 12, "color": "#5A6772"}},
        }
    )
    edges = scene.scale.node_edge[1:-1]
    if result.platform.core_count > result.platform.node_count and len(edges) <= 64:
        # One path for all separators: a shape each would be slow.
        path = "".join(f"M0,{y}L1,{y}" for y in edges.tolist())
        figure.add_shape(
            type="path", path=path, xref="paper", yref="y", layer="below", line={"color": _GRID, "width": 1}
        )


def _notes(result: Result, scene: _Scene, how: str) -> list[str]:
    ran = int(scene.jobs["owner"].nunique())
    notes = [f"{number(ran)} {'job' if ran == 1 else 'jobs'}"]
    if scene.outside:
        notes[0] += f" in this window, {number(scene.outside)} outside it"
    finished = result.jobs[result.jobs["start_time"].notna() & result.jobs["finish_time"].notna()]
    if len(finished):
        notes.append(f"makespan {number(finished['finish_time'].max() - result.jobs['submit_time'].min())} s")
    never = result.jobs[result.jobs["start_time"].isna()]
    if len(never):
        counts = never["state"].value_counts()
        notes.append("never started: " + listing([f"{number(n)} {state}" for state, n in counts.items()]))
    if how == "raster":
        notes.append(raster_note(scene.scale, scene.canvas, len(scene.jobs)))
    return notes
