"""The curves under a Gantt chart, on its time axis: power, busy cores, queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from analysis.figures.palette import BUSY, POWER
from analysis.figures.timelines import (
    MEAN,
    MOST_POINTS,
    busy_cores,
    capacity_trace,
    power_timeline,
    step_traces,
)
from analysis.tables.wording import listing
from cluster_sim.errors import SpecError

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from analysis.gantt_chart.chart_data import ChartData

    Steps = tuple[np.ndarray, np.ndarray]
    """Times (s) and the values from then on."""

QUEUE = "#CC79A7"
PANEL_PX, GAP_PX = 84, 34
MOST_STEPS = 500_000
"""Steps of a curve that a page carries, to draw it exactly when it is zoomed."""


def panels_of(names: Sequence[str]) -> list[str]:
    """The names, checked. Raises SpecError for an unknown one."""
    for name in names:
        if name not in _PANELS:
            raise SpecError("panels", f"one of {', '.join(_PANELS)}", name)
    return list(names)


def panel_traces(name: str, scene: ChartData) -> list[Any]:
    """The curves of a panel."""
    return _PANELS[name][0](scene)


def panel_axis(name: str, scene: ChartData) -> dict[str, Any]:
    """Title and range of a panel's y axis."""
    return _PANELS[name][1](scene)


def carried_steps(name: str, scene: ChartData, traces: Sequence[Any], uid: str) -> list[dict[str, Any]]:
    """For a page: all steps of a panel's curve, to the thousandth, if ``traces`` show means of them; none else.

    The curve and the two edges of its band get ``uid``, by which the page knows them.
    """
    if not traces or name not in _STEPS or MEAN not in traces[0].name:
        return []
    time, value = _STEPS[name](scene)
    if len(time) > MOST_STEPS:
        return []
    for trace, part in zip(traces, ("", " low", " high"), strict=False):
        trace.uid = uid + part
    return [{"uid": uid, "later": {"time": np.round(time, 3), "value": np.round(value, 3)}}]


def means_note(figure: go.Figure) -> list[str]:
    """Which curves of a figure are means, and of what; nothing where none is."""
    means: dict[str, list[str]] = {}
    for trace in figure.data:
        name, is_mean, each = str(trace.name or "").partition(MEAN)
        if is_mean:
            means.setdefault(each, []).append(name)
    told = [f"{listing(list(dict.fromkeys(names)))} of {each}" for each, names in means.items()]
    return [f"means, shaded from least to greatest: {', '.join(told)}"] if told else []


def stacked_domains(upper_px: Sequence[float], lower: int, inner_px: float) -> list[tuple[float, float]]:
    """Shares of the height, from the top: the large panels as high as ``upper_px``, then ``lower`` small ones."""
    domains, top = [], 1.0
    for height in [*upper_px, *[float(PANEL_PX)] * lower]:
        share = height / inner_px
        domains.append((max(0.0, top - share), top))
        top -= share + GAP_PX / inner_px
    return domains


def _power_steps(scene: ChartData) -> Steps:
    table = _near(scene.held.result.power, scene)
    return table["time"].to_numpy(dtype=float), table["watts"].to_numpy(dtype=float)


def _power(scene: ChartData) -> list[Any]:
    return step_traces(*_power_steps(scene), name="power", said="%{y:.3~s}W", colour=POWER)


def _power_by_state(scene: ChartData) -> list[Any]:
    figure = power_timeline(scene.held.result, "state")
    # Each state is a group of its own: a click on it in the legend hides no other.
    named = [trace.update(legendgroup=f"power {trace.name}", legendrank=2_500) for trace in figure.data]
    return [trace.update(legendgrouptitle={"text": "Power"}) for trace in named[:1]] + named[1:]


def _busy_steps(scene: ChartData) -> Steps:
    used = scene.held.used
    if scene.part and len(used.start) > MOST_POINTS:
        used = used.where((used.end >= scene.canvas.start) & (used.start <= scene.canvas.end))
    return busy_cores(used)


def _busy_name(scene: ChartData) -> str:
    """What guests hold stands in the chart above and is not counted, as it is not in the utilisation."""
    return "busy cores" if scene.held.guests is None else "cores of jobs"


def _busy(scene: ChartData) -> list[Any]:
    end = max(scene.canvas.end, scene.held.until)
    curve = step_traces(*_busy_steps(scene), name=_busy_name(scene), said="%{y:,.4~g} cores", colour=BUSY)
    return [*curve, capacity_trace(scene.held.result.platform.core_count, scene.canvas.start, end)]


def _queue_steps(scene: ChartData) -> Steps:
    steps = getattr(scene.held.result, "queue", None)
    if steps is None or not len(steps):
        return np.zeros(0), np.zeros(0)
    steps = _near(steps, scene)
    return steps["time"].to_numpy(dtype=float), steps["pending"].to_numpy(dtype=float)


def _queue(scene: ChartData) -> list[Any]:
    time, pending = _queue_steps(scene)
    if not len(time):  # nobody came: a panel without any trace would not be drawn, nor the axis of time under it
        time, pending = np.array([scene.canvas.start, scene.canvas.end]), np.zeros(2)
    return step_traces(time, pending, name="pending jobs", said="%{y:,.4~g}", colour=QUEUE)


def _near(steps: pd.DataFrame, scene: ChartData) -> pd.DataFrame:
    """The steps in view, where there are more than are drawn: a window shows them one by one."""
    if not scene.part or len(steps) <= MOST_POINTS:
        return steps
    time = steps["time"].to_numpy(dtype=float)
    first = max(int(np.searchsorted(time, scene.canvas.start, side="right")) - 1, 0)
    return steps.iloc[first : int(np.searchsorted(time, scene.canvas.end, side="right")) + 1]


def _power_axis(scene: ChartData) -> dict[str, Any]:
    unit = {"ticksuffix": "W", "exponentformat": "SI", "minexponent": 0}
    return {"title": {"text": "Power"}, "rangemode": "tozero", "nticks": 5, **unit}


def _busy_axis(scene: ChartData) -> dict[str, Any]:
    # It does not follow the curve: how far that stays under the capacity is what it shows.
    cores = scene.held.result.platform.core_count
    return {
        "title": {"text": _busy_name(scene).capitalize()},
        "nticks": 5,
        "separatethousands": True,
        "range": [0, 1.08 * cores],
    }


def _queue_axis(scene: ChartData) -> dict[str, Any]:
    return {"title": {"text": "Queue (jobs)"}, "nticks": 5, "separatethousands": True, "rangemode": "tozero"}


_PANELS: dict[str, tuple[Callable[[ChartData], list[Any]], Callable[[ChartData], dict[str, Any]]]] = {
    "power": (_power, _power_axis),
    "power-by-state": (_power_by_state, _power_axis),
    "busy": (_busy, _busy_axis),
    "queue": (_queue, _queue_axis),
}
_STEPS: dict[str, Callable[[ChartData], Steps]] = {"power": _power_steps, "busy": _busy_steps, "queue": _queue_steps}
PANELS = ("power", "busy", "queue")
