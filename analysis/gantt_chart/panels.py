"""The curves under a Gantt chart, on its time axis: power, busy cores, queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.figures.palette import BUSY, POWER
from analysis.figures.timelines import (
    MEAN,
    MOST_POINTS,
    busy_cores,
    cap_traces,
    capacity_trace,
    power_timeline,
    step_traces,
)
from analysis.tables.wording import listing

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from analysis.gantt_chart.chart_data import ChartData

    Steps = tuple[np.ndarray, np.ndarray]
    """Times (s) and the values from then on."""

QUEUE = "#CC79A7"
PANEL_PX, GAP_PX = 84, 34
MOST_STEPS = 500_000
"""Number of steps of a curve up to which a page carries all of them, to draw the curve exactly when zoomed."""


def panel_traces(name: str, scene: ChartData) -> list[Any]:
    """Return the curves of a panel."""
    if name == "power-by-state":
        figure = power_timeline(scene.held.result, "state")
        # Each state is a group of its own: a click on it in the legend hides no other.
        named = [trace.update(legendgroup=f"power {trace.name}", legendrank=2_500) for trace in figure.data]
        return [trace.update(legendgrouptitle={"text": "Power"}) for trace in named[:1]] + named[1:]
    time, value = _steps(name, scene)
    start, end = scene.canvas.start, scene.canvas.end
    if name == "power":
        curve = step_traces(time, value, name="power", said="%{y:.3~s}W", colour=POWER)
        return [*curve, *cap_traces(scene.held.result, max(end, scene.held.until))]
    if name == "busy":
        curve = step_traces(time, value, name=_busy_name(scene), said="%{y:,.4~g} cores", colour=BUSY)
        return [*curve, capacity_trace(scene.held.result.platform.core_count, start, max(end, scene.held.until))]
    if not len(time):  # without jobs: a panel without a trace would not be drawn, nor the axis of time under it
        time, value = np.array([start, end]), np.zeros(2)
    return step_traces(time, value, name="pending jobs", said="%{y:,.4~g}", colour=QUEUE)


def panel_axis(name: str, scene: ChartData) -> dict[str, Any]:
    """Return title and range of a panel's y axis."""
    axis: dict[str, Any] = {"nticks": 5}
    if name == "queue":
        return axis | {"title": {"text": "Queue (jobs)"}, "separatethousands": True, "rangemode": "tozero"}
    if name == "busy":
        # It does not follow the curve: how far that stays under the capacity is what it shows.
        top = 1.08 * scene.held.result.platform.core_count
        return axis | {"title": {"text": _busy_name(scene).capitalize()}, "separatethousands": True, "range": [0, top]}
    unit = {"ticksuffix": "W", "exponentformat": "SI", "minexponent": 0}
    return axis | {"title": {"text": "Power"}, "rangemode": "tozero"} | unit


def carried_steps(name: str, scene: ChartData, traces: Sequence[Any], uid: str) -> list[dict[str, Any]]:
    """Return all steps of a panel's curve for a page, to the thousandth, if ``traces`` show means of them.

    The curve and the two edges of its band get ``uid``, by which the page knows them.
    """
    if not traces or name == "power-by-state" or MEAN not in traces[0].name:
        return []
    time, value = _steps(name, scene)
    if len(time) > MOST_STEPS:
        return []
    for trace, part in zip(traces, ("", " low", " high"), strict=False):
        trace.uid = uid + part
    return [{"uid": uid, "later": {"time": np.round(time, 3), "value": np.round(value, 3)}}]


def means_note(figure: go.Figure) -> list[str]:
    """Return a note that names the curves of means and their intervals; an empty list without such curves."""
    means: dict[str, list[str]] = {}
    for trace in figure.data:
        name, is_mean, each = str(trace.name or "").partition(MEAN)
        if is_mean:
            means.setdefault(each, []).append(name)
    told = [f"{listing(list(dict.fromkeys(names)))} of {each}" for each, names in means.items()]
    return [f"means, shaded from least to greatest: {', '.join(told)}"] if told else []


def stacked_domains(upper_px: Sequence[float], lower: int, inner_px: float) -> list[tuple[float, float]]:
    """Return each panel's share of the height, from the top: panels of ``upper_px``, then ``lower`` small ones."""
    domains, top = [], 1.0
    for height in [*upper_px, *[float(PANEL_PX)] * lower]:
        share = height / inner_px
        domains.append((max(0.0, top - share), top))
        top -= share + GAP_PX / inner_px
    return domains


def _steps(name: str, scene: ChartData) -> Steps:
    """Return the steps of a panel's curve; of a part of a run with very many steps, only the steps in view."""
    canvas = scene.canvas
    if name == "busy":
        used = scene.held.used
        if scene.part and len(used.start) > MOST_POINTS:
            used = used.where((used.end >= canvas.start) & (used.start <= canvas.end))
        return busy_cores(used)
    result = scene.held.result
    table, column = (result.power, "watts") if name == "power" else (getattr(result, "queue", None), "pending")
    if table is None:
        return np.zeros(0), np.zeros(0)
    time, value = table["time"].to_numpy(dtype=float), table[column].to_numpy(dtype=float)
    if not scene.part or len(time) <= MOST_POINTS:
        return time, value
    first = max(int(np.searchsorted(time, canvas.start, side="right")) - 1, 0)
    last = int(np.searchsorted(time, canvas.end, side="right"))
    return time[first : last + 1], value[first : last + 1]


def _busy_name(scene: ChartData) -> str:
    """Return the curve's name. Cores of guests are not counted, as in the utilisation; the chart above shows them."""
    return "busy cores" if scene.held.guests is None else "cores of jobs"
