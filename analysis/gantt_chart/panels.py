"""The curves under a Gantt chart, on its time axis: power, busy cores, queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.figures.palette import BUSY, POWER
from analysis.figures.timelines import (
    MEAN,
    MOST_POINTS,
    Steps,
    busy_cores,
    cap_traces,
    capacity_trace,
    idle_trace,
    power_timeline,
    step_traces,
)
from analysis.gantt_chart.rectangles import RectanglesInView

QUEUE = "#CC79A7"
PANEL_PX, GAP_PX = 84, 34
MOST_STEPS = 500_000
"""Number of steps of a curve up to which a page carries all of them, to draw the curve exactly when zoomed."""


def panel_curves(names: Sequence[str], view: RectanglesInView) -> dict[str, list[Any]]:
    """Return the curves of each panel; those of means have a ``uid``, the panel's name, by which pages know them."""
    canvas, run = view.canvas, view.run
    begin, end, cores = canvas.start, max(canvas.end, run.until), run.result.platform.core_count
    busy = busy_name(view)
    steps = _steps(names, view)
    curves: dict[str, list[Any]] = {}
    for name in names:
        if name == "power-by-state":
            curves[name] = _power_by_state(view)
            continue
        time, value = steps[name]
        if not len(time):  # without jobs: a panel without a trace would not be drawn, nor the axis of time under it
            time, value = np.array([begin, canvas.end]), np.zeros(2)
        if name == "power":
            curves[name] = step_traces(time, value, name="power", said="%{y:.3~s}W", colour=POWER)
            curves[name] += cap_traces(run.result, end)
        elif name == "busy":
            curves[name] = step_traces(time, value, name=busy, said="%{y:,.4~g} cores", colour=BUSY)
            curves[name].append(capacity_trace(cores, begin, end))
            if "queue" in steps and run.guests is None:  # their cores are not idle
                curves[name] += idle_trace(steps[name], steps["queue"], cores, QUEUE)
        else:
            curves[name] = step_traces(time, value, name="pending jobs", said="%{y:,.4~g}", colour=QUEUE)
    for name, traces in curves.items():
        if MEAN in traces[0].name and name != "power-by-state":
            for trace, part in zip(traces, ("", " low", " high"), strict=False):
                trace.uid = name + part
    return curves


def _power_by_state(view: RectanglesInView) -> list[Any]:
    figure = power_timeline(view.run.result, "state")
    # Each state is a group of its own: a click on it in the legend hides no other.
    named = [trace.update(legendgroup=f"power {trace.name}", legendrank=2_500) for trace in figure.data]
    return [trace.update(legendgrouptitle={"text": "Power"}) for trace in named[:1]] + named[1:]


def panel_axes(names: Sequence[str], view: RectanglesInView) -> list[dict[str, Any]]:
    """Return title and range of each panel's y axis."""
    busy = busy_name(view).capitalize()
    watts = {"ticksuffix": "W", "exponentformat": "SI", "minexponent": 0}
    power = {"title": {"text": "Power"}, "rangemode": "tozero"} | watts
    # It does not follow the curve: how far that stays under the capacity is what it shows.
    top = 1.08 * view.run.result.platform.core_count
    known = {
        "queue": {"title": {"text": "Queue (jobs)"}, "separatethousands": True, "rangemode": "tozero"},
        "busy": {"title": {"text": busy}, "separatethousands": True, "range": [0, top]},
    }
    return [{"nticks": 5, "anchor": "x"} | known.get(name, power) for name in names]


def carried_steps(name: str, view: RectanglesInView, uid: str) -> list[dict[str, Any]]:
    """Return all steps of a panel's curve of means for a page, to the thousandth, if they are not too many."""
    time, value = _steps([name], view)[name]
    later = {"time": np.round(time, 3), "value": np.round(value, 3)}
    return [{"uid": uid, "later": later}] if len(time) <= MOST_STEPS else []


def _steps(names: Sequence[str], view: RectanglesInView) -> dict[str, Steps]:
    """Return the steps of each panel's curve; of a part of a run with very many steps, only the steps in view."""
    run, start, end = view.run, view.canvas.start, view.canvas.end
    tables = {"power": ("power", "watts"), "queue": ("queue", "pending")}
    found: dict[str, Steps] = {}
    for name in names:
        if name == "busy":
            used = run.used
            if view.part and len(used.start) > MOST_POINTS:
                used = used.where((used.end >= start) & (used.start <= end))
            found[name] = busy_cores(used)
        elif name in tables:
            attribute, column = tables[name]
            table = getattr(run.result, attribute, None)
            time, value = (np.zeros(0) if table is None else table[each].to_numpy(float) for each in ("time", column))
            if view.part and len(time) > MOST_POINTS:
                first = max(int(np.searchsorted(time, start, side="right")) - 1, 0)
                seen = slice(first, int(np.searchsorted(time, end, side="right")) + 1)
                time, value = time[seen], value[seen]
            found[name] = time, value
    return found


def busy_name(view: RectanglesInView) -> str:
    """Return the curve's name. Cores of guests are not counted, as in the utilisation; the chart above shows them."""
    return "busy cores" if view.run.guests is None else "cores of jobs"
