"""Curves over the run: power in a stack, energy, use of the cores, queue; and the curves under the Gantt chart.

Past ``most_points`` a curve is drawn as means over equal intervals of time, which keeps every integral; hover and title
of the axis say so. The tables behind the figures, never thinned, are those of :mod:`analysis.series`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.look import run_styles, styled, transparent
from analysis.palette import BUSY, CAPACITY, OKABE_ITO, OTHERS, POWER, STATE_COLOURS
from analysis.series import OTHER_NODES, PowerBy, energy_table, power_table, queue_table, utilisation_table
from analysis.tables import named_runs
from analysis.wording import number, plotly_text

if TYPE_CHECKING:
    from cluster_sim.machine.core_ranges import Holds
    from cluster_sim.records.result import Result

MOST_POINTS = 20_000
COARSE_BINS = 4_000
_TIME = "Time (simulated seconds)"
# Those of the Gantt chart, and for the two states that it leaves white or covers with jobs.
_STATE_FILLS = STATE_COLOURS | {"IDLE": "#E69F00", "COMPUTING": "#56B4E9"}


def power_timeline(
    result: Result, by: PowerBy = "state", *, most_points: int = MOST_POINTS, title: str | None = None
) -> go.Figure:
    """Power over time, W, stacked by node state, by node (the twelve with the most energy) or by cluster.

    Draws :func:`analysis.power_table`, whose columns sum to the platform's power. Raises what that raises.
    """
    table, mean = _thinned(power_table(result, by), most_points)
    names = [str(name) for name in table.columns[1:]]
    figure = go.Figure()
    for name, label, colour in zip(names, plotly_text(map(_state_name, names)), _stack_colours(names, by), strict=True):
        figure.add_trace(
            go.Scatter(
                x=table["time"].to_numpy(),
                y=table[name].to_numpy(),
                name=label,
                stackgroup="power",
                mode="lines",
                line={"shape": "hv", "width": 0.5, "color": colour},
                fillcolor=colour,
                hovertemplate=f"{label}: %{{y:,.6~g}} W{mean}<extra></extra>",
            )
        )
    layout = {"hovermode": "x unified", "legend": {"traceorder": "reversed"}, "yaxis": {"rangemode": "tozero"}}
    styled(figure, title or f"Power by {by}", _TIME, "Power (W)")
    return figure.update_layout(layout)


def energy_timeline(
    results: Mapping[str, Result] | Result, *, most_points: int = MOST_POINTS, title: str | None = None
) -> go.Figure:
    """Energy used since time 0, J, a line per run (:func:`analysis.energy_table`)."""
    runs = named_runs(results)
    figure = go.Figure()
    for result, (name, _, line) in zip(runs.values(), run_styles(list(runs)), strict=True):
        table = energy_table(result)
        time, energy = table["time"].to_numpy(), table["energy_j"].to_numpy()
        if len(time) > most_points:
            # Points of the curve itself, further apart: nothing is averaged, and the last one is the total.
            grid = np.linspace(time[0], time[-1], most_points)
            time, energy = grid, np.interp(grid, time, energy)
        hover = f"{name}: %{{y:,.6~g}} J at %{{x:,.8~g}} s<extra></extra>"
        figure.add_trace(go.Scatter(x=time, y=energy, name=name, mode="lines", line=line, hovertemplate=hover))
    return _legend_above(styled(figure, title or "Energy used so far", _TIME, "Energy (J)"), len(runs))


def utilisation_timeline(
    results: Mapping[str, Result] | Result, *, most_points: int = MOST_POINTS, title: str | None = None
) -> go.Figure:
    """Share of all cores that jobs hold, a line per run (:func:`analysis.utilisation_table`).

    With a single run, a dashed line says which share belongs to nodes that are on.
    """
    runs = named_runs(results)
    tables = {name: utilisation_table(result) for name, result in runs.items()}
    figure = _run_lines(tables, "utilisation", "%{y:.1%} of the cores", most_points)
    if len(runs) == 1:
        table, mean = _thinned(next(iter(tables.values())), most_points)
        share = table["available_cores"].to_numpy() / next(iter(runs.values())).platform.core_count
        line = {"shape": "hv", "color": CAPACITY, "width": 1.2, "dash": "dash"}
        hover = f"on: %{{y:.1%}} of the cores{mean}<extra></extra>"
        x = table["time"].to_numpy()
        figure.add_trace(go.Scatter(x=x, y=share, name="nodes on", mode="lines", line=line, hovertemplate=hover))
    styled(figure, title or "Cores in use", _TIME, "Share of all cores", yaxis_tickformat=".0%")
    return _legend_above(figure.update_yaxes(range=[0, 1.05]), len(figure.data))


def queue_timeline(
    results: Mapping[str, Result] | Result,
    unit: Literal["jobs", "cores"] = "jobs",
    *,
    most_points: int = MOST_POINTS,
    title: str | None = None,
) -> go.Figure:
    """Jobs that wait, or the cores they ask for, a line per run (:func:`analysis.queue_table`)."""
    runs = named_runs(results)
    tables = {name: queue_table(result) for name, result in runs.items()}
    column, words = (
        ("pending", "Jobs that wait") if unit == "jobs" else ("pending_cores", "Cores asked for and waited for")
    )
    figure = _run_lines(tables, column, f"%{{y:,.6~g}} {unit}", most_points)
    styled(figure, title or words, _TIME, unit.capitalize(), yaxis_rangemode="tozero")
    return _legend_above(figure, len(runs))


def _run_lines(tables: Mapping[str, pd.DataFrame], column: str, value: str, most_points: int) -> go.Figure:
    figure = go.Figure()
    for table, (name, _, line) in zip(tables.values(), run_styles(list(tables)), strict=True):
        shown, mean = _thinned(table[["time", column]], most_points)
        figure.add_trace(
            go.Scatter(
                x=shown["time"].to_numpy(),
                y=shown[column].to_numpy(),
                name=name,
                mode="lines",
                line=line | {"shape": "hv", "width": 1.4},
                hovertemplate=f"{name}: {value}{mean}<br>from %{{x:,.8~g}} s<extra></extra>",
            )
        )
    return figure


def _legend_above(figure: go.Figure, entries: int) -> go.Figure:
    """Lines of several runs are named above the plot, so that figures stand below each other with the same width."""
    legend = {"orientation": "h", "yanchor": "bottom", "y": 1.0, "xanchor": "right", "x": 1.0}
    return figure.update_layout(showlegend=entries > 1, legend=legend)


def _state_name(name: str) -> str:
    return name.replace("_", " ").lower() if name.isupper() else name


def _stack_colours(names: list[str], by: PowerBy) -> list[str]:
    if by == "state":
        return [_STATE_FILLS[name] for name in names]
    colours = iter(OKABE_ITO + tuple(transparent(colour, 0.55) for colour in OKABE_ITO))
    return [OTHERS if name == OTHER_NODES else next(colours, OTHERS) for name in names]


def _thinned(table: pd.DataFrame, most_points: int) -> tuple[pd.DataFrame, str]:
    """The table, or means over equal intervals when it is longer; and words for the hover that say which."""
    if len(table) <= most_points:
        return table, ""
    time = table["time"].to_numpy(dtype=float)
    bins = max(1, min(COARSE_BINS, most_points - 1))
    columns = {str(name): coarsened(time, table[name].to_numpy(dtype=float), bins) for name in table.columns[1:]}
    edges = next(iter(columns.values()))[0]
    shown = pd.DataFrame({"time": edges, **{name: level for name, (_, level) in columns.items()}})
    return shown, f" (mean of {number(edges[1] - edges[0], digits=3)} s)"


def power_trace(power: pd.DataFrame) -> go.Scatter:
    """Power of the whole platform, W, from the columns ``time`` (s) and ``watts``; the last row closes the curve."""
    time, watts = power["time"].to_numpy(dtype=float), power["watts"].to_numpy(dtype=float)
    return _step_trace(time, watts, name="power", unit="W", colour=POWER)


def busy_trace(used: Holds) -> go.Scatter:
    """Cores held by jobs."""
    time, busy = busy_cores(used)
    return _step_trace(time, busy, name="busy cores", unit="cores", colour=BUSY)


def capacity_trace(cores: int, start: float, end: float) -> go.Scatter:
    """The dashed line that the busy cores cannot cross."""
    return go.Scatter(
        x=[start, end],
        y=[cores, cores],
        mode="lines",
        line={"color": CAPACITY, "width": 1.2, "dash": "dash"},
        name="capacity",
        hovertemplate=f"capacity: {number(cores)} cores<extra></extra>",
        showlegend=False,
    )


def busy_cores(used: Holds) -> tuple[np.ndarray, np.ndarray]:
    """Times (s) at which the number of cores held by jobs changes, and the number from then on."""
    width = used.last - used.first + 1
    time, position = np.unique(np.concatenate((used.start, used.end)), return_inverse=True)
    change = np.bincount(position, weights=np.concatenate((width, -width)), minlength=len(time))
    # Widths are whole numbers well below 2**53, so the running sum is exact and ends at exactly zero.
    return time, np.cumsum(change)


def coarsened(time: np.ndarray, value: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """The step function's mean in ``bins`` equal bins, as a step function: its integral is the same.

    >>> coarsened(np.array([0.0, 1.0, 4.0]), np.array([8.0, 0.0, 0.0]), 2)
    (array([0., 2., 4.]), array([4., 0., 0.]))
    """
    integral = np.concatenate(([0.0], np.cumsum(value[:-1] * np.diff(time))))
    edges = np.linspace(time[0], time[-1], bins + 1)
    mean = np.diff(np.interp(edges, time, integral)) / np.diff(edges)
    return edges, np.append(mean, value[-1])


def _step_trace(time: np.ndarray, value: np.ndarray, name: str, unit: str, colour: str) -> go.Scatter:
    said = name
    if len(time) > MOST_POINTS:
        time, value = coarsened(time, value, COARSE_BINS)
        said = f"mean {name} of {number(time[1] - time[0], digits=3)} s"
    return go.Scatter(
        x=time,
        y=value,
        mode="lines",
        line={"shape": "hv", "color": colour, "width": 1.2},
        fill="tozeroy",
        fillcolor=f"rgba({int(colour[1:3], 16)},{int(colour[3:5], 16)},{int(colour[5:7], 16)},0.22)",
        name=name,
        hovertemplate=f"{said}: %{{y:,.6~g}} {unit}<br>from %{{x:,.8~g}} s<extra></extra>",
        showlegend=False,
    )
