"""Curves over the run: power in a stack, energy, use of the cores, queue; and the curves under the Gantt chart.

Past ``most_points`` a curve is drawn as means over equal intervals of time, which keeps every integral. Its name and
hover say so, and a band shows the least and the greatest value in each interval. The tables behind the figures are
never thinned (:mod:`analysis.tables.series`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.figures.figure_style import LEGEND_ABOVE, run_styles, styled, transparent
from analysis.figures.palette import ALL_STATES, CAPACITY, OKABE_ITO, OTHERS
from analysis.figures.time_axis import TimeAxis, TimeUnit, start_date_of
from analysis.tables.run_metrics import Runs, named_runs
from analysis.tables.series import OTHER_NODES, PowerBy, energy_table, power_table, queue_table, utilisation_table
from analysis.tables.wording import plotly_text
from cluster_sim.amounts import duration, energies, scale_of
from cluster_sim.errors import SpecError
from cluster_sim.machine.core_ranges import Holds
from cluster_sim.records.result import Result

MOST_POINTS = 20_000
COARSE_BINS = 4_000
BAND, MEAN, CAP = "range", ", mean of ", "power cap"
IDLE = "idle while jobs wait"

Steps = tuple[np.ndarray, np.ndarray]
"""Times (s) and the values from then on."""


def power_timeline(
    result: Result,
    by: PowerBy = "state",
    *,
    most_points: int = MOST_POINTS,
    title: str | None = None,
    time_unit: TimeUnit = "auto",
) -> go.Figure:
    """Draw power over time, W, stacked by node state, by node (the twelve with the most energy) or by cluster.

    The data are :func:`analysis.power_table`, whose columns sum to the platform's power; its errors come through.
    If means are drawn, a band shows the range of the platform's power. ``time_unit`` is as in :func:`analysis.gantt`.
    """
    whole = power_table(result, by)
    table, mean = _thinned(whole, most_points)
    names = [str(name) for name in table.columns[1:]]
    if by == "state":
        colours = [ALL_STATES[name] for name in names]
    else:
        palette = iter(OKABE_ITO + tuple(transparent(colour, 0.55) for colour in OKABE_ITO))
        colours = [OTHERS if name == OTHER_NODES else next(palette, OTHERS) for name in names]
    labels = plotly_text(name.replace("_", " ").lower() if name.isupper() else name for name in names)
    figure = go.Figure()
    for name, label, colour in zip(names, labels, colours, strict=True):
        figure.add_trace(
            go.Scatter(
                x=table["time"].to_numpy(),
                y=table[name].to_numpy(),
                name=label + mean,
                stackgroup="power",
                mode="lines",
                line={"shape": "hv", "width": 0.5, "color": colour},
                fillcolor=colour,
                hovertemplate=f"{label}: %{{y:.3~s}}W{mean}<extra></extra>",
            )
        )
    if mean:
        curve = whole["time"].to_numpy(dtype=float), whole[names].sum(axis=1).to_numpy(dtype=float)
        figure.add_traces(band(*curve, table["time"].to_numpy(), "#22303C", name="all power, from least to greatest"))
    figure.add_traces(cap_traces(result, float(table["time"].iloc[-1])))
    layout = {"hovermode": "x unified", "legend": {"traceorder": "reversed"}, "yaxis": {"rangemode": "tozero"}}
    styled(figure, title or f"Power by {by}", "", "Power", yaxis_ticksuffix="W", yaxis_minexponent=0)
    return _timed(figure.update_layout(layout), [result], time_unit)


def energy_timeline(
    results: Runs,
    *,
    most_points: int = MOST_POINTS,
    title: str | None = None,
    time_unit: TimeUnit = "auto",
) -> go.Figure:
    """Draw the energy used since time 0, a line per run (:func:`analysis.energy_table`), in J, kJ, kWh or MWh."""
    runs = named_runs(results)
    tables = [energy_table(result) for result in runs.values()]
    divisor, unit = scale_of("J", max((float(table["energy_j"].iloc[-1]) for table in tables), default=0.0))
    figure = go.Figure()
    for table, (name, _, line) in zip(tables, run_styles(list(runs)), strict=True):
        time, energy = table["time"].to_numpy(), table["energy_j"].to_numpy()
        if len(time) > most_points:
            # Points of the curve itself, further apart: nothing is averaged, and the last one is the total.
            grid = np.linspace(time[0], time[-1], most_points)
            time, energy = grid, np.interp(grid, time, energy)
        hover = f"{name}: %{{customdata}} at %{{x:,.8~g}} s<extra></extra>"
        figure.add_trace(
            go.Scatter(
                x=time,
                y=energy / divisor,
                name=name,
                mode="lines",
                line=line,
                customdata=energies(energy),
                hovertemplate=hover,
            )
        )
    styled(figure, title or "Energy used so far", "", f"Energy [{unit}]", yaxis_exponentformat="none")
    figure.update_layout(showlegend=len(runs) > 1, legend=LEGEND_ABOVE)
    return _timed(figure, runs.values(), time_unit)


def utilisation_timeline(
    results: Runs,
    *,
    most_points: int = MOST_POINTS,
    title: str | None = None,
    time_unit: TimeUnit = "auto",
) -> go.Figure:
    """Draw the share of all cores that jobs hold, a line per run (:func:`analysis.utilisation_table`).

    With a single run, a dashed line shows the share of cores on nodes that are on.
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
        name = f"nodes on{mean}"
        figure.add_trace(go.Scatter(x=x, y=share, name=name, mode="lines", line=line, hovertemplate=hover))
    styled(figure, title or "Cores in use", "", "Share of all cores", yaxis_tickformat=".0%")
    figure.update_yaxes(range=[0, 1.05]).update_layout(showlegend=len(figure.data) > 1, legend=LEGEND_ABOVE)
    return _timed(figure, runs.values(), time_unit)


def queue_timeline(
    results: Runs,
    unit: Literal["jobs", "cores"] = "jobs",
    *,
    most_points: int = MOST_POINTS,
    title: str | None = None,
    time_unit: TimeUnit = "auto",
) -> go.Figure:
    """Draw the number of jobs that wait, or the cores they ask for, a line per run (:func:`analysis.queue_table`).

    Raises SpecError for another ``unit``.
    """
    if unit not in ("jobs", "cores"):
        raise SpecError("queue_timeline, unit", "jobs or cores", unit)
    runs = named_runs(results)
    tables = {name: queue_table(result) for name, result in runs.items()}
    column, words = (
        ("pending", "Jobs that wait") if unit == "jobs" else ("pending_cores", "Cores asked for and waited for")
    )
    figure = _run_lines(tables, column, f"%{{y:,.6~g}} {unit}", most_points)
    styled(figure, title or words, "", unit.capitalize(), yaxis_rangemode="tozero")
    figure.update_layout(showlegend=len(runs) > 1, legend=LEGEND_ABOVE)
    return _timed(figure, runs.values(), time_unit)


def _run_lines(tables: Mapping[str, pd.DataFrame], column: str, value: str, most_points: int) -> go.Figure:
    figure = go.Figure()
    for table, (name, colour, line) in zip(tables.values(), run_styles(list(tables)), strict=True):
        shown, mean = _thinned(table[["time", column]], most_points)
        if mean:
            curve = table["time"].to_numpy(dtype=float), table[column].to_numpy(dtype=float)
            figure.add_traces(band(*curve, shown["time"].to_numpy(), colour, group=name))
        figure.add_trace(
            go.Scatter(
                x=shown["time"].to_numpy(),
                y=shown[column].to_numpy(),
                name=name + mean,
                mode="lines",
                line=line | {"shape": "hv", "width": 1.4},
                legendgroup=name,
                hovertemplate=f"{name}: {value}{mean}<br>from %{{x:,.8~g}} s<extra></extra>",
            )
        )
    return figure


def _thinned(table: pd.DataFrame, most_points: int) -> tuple[pd.DataFrame, str]:
    """Return the table, or means over equal intervals if it is longer; and the hover's words for the means."""
    if len(table) <= most_points:
        return table, ""
    time = table["time"].to_numpy(dtype=float)
    bins = max(1, min(COARSE_BINS, most_points - 1))
    columns = {str(name): coarsened(time, table[name].to_numpy(dtype=float), bins) for name in table.columns[1:]}
    edges = next(iter(columns.values()))[0]
    shown = pd.DataFrame({"time": edges, **{name: level for name, (_, level) in columns.items()}})
    return shown, f"{MEAN}{duration(edges[1] - edges[0])}"


def capacity_trace(cores: int, start: float, end: float) -> go.Scatter:
    """Return the dashed line that the busy cores cannot cross."""
    return go.Scatter(
        x=[start, end],
        y=[cores, cores],
        mode="lines",
        line={"color": CAPACITY, "width": 1.2, "dash": "dash"},
        name="capacity",
        hovertemplate=f"capacity: {cores:,} cores<extra></extra>",
        showlegend=False,
    )


def idle_trace(busy: Steps, pending: Steps, cores: int, colour: str) -> list[go.Scatter]:
    """Return the area between the busy cores and the line before it, the capacity, while jobs wait; none if none waits.

    With many steps it shows means, as the busy cores do.
    """
    time = np.union1d(busy[0], pending[0])
    held, waiting = (np.append(0.0, value)[np.searchsorted(at, time, side="right")] for at, value in (busy, pending))
    if not (idle := (waiting > 0) & (held < cores)).any():
        return []
    level = np.where(idle, held, float(cores))
    if len(time) > MOST_POINTS:
        time, level = coarsened(time, level, COARSE_BINS)
    look = {
        "line": {"shape": "hv", "width": 0, "color": colour},
        "fill": "tonexty",
        "fillcolor": transparent(colour, 0.5),
    }
    return [go.Scatter(x=time, y=level, mode="lines", name=IDLE, hoverinfo="skip", legendrank=2_400, meta=IDLE, **look)]


def cap_traces(result: Result, end: float) -> list[go.Scatter]:
    """Return the dashed line of the power caps that kept jobs waiting, up to ``end`` (s); none where none did."""
    conditions = getattr(result, "conditions", None)  # which tables that only look like a result do not have
    caps = () if conditions is None else conditions.power_caps
    if not caps:
        return []
    times, watts = np.array([*caps, (max(end, caps[-1][0]), caps[-1][1])], dtype=float).T
    return [
        go.Scatter(
            x=times,
            y=np.where(np.isfinite(watts), watts, np.nan),
            mode="lines",
            line={"shape": "hv", "color": CAPACITY, "width": 1.2, "dash": "dash"},
            name=CAP,
            hovertemplate="power cap: %{y:.3~s}W<extra></extra>",
            legendgroup=CAP,
            legendrank=2_600,
            showlegend=True,
        )
    ]


def busy_cores(used: Holds) -> tuple[np.ndarray, np.ndarray]:
    """Return the times (s) at which the number of cores held by jobs changes, and the number from then on."""
    if not len(used.start):
        return np.zeros(0), np.zeros(0)
    # The cores of a job are neighbours in the table, and begin and end together: one row for them is enough.
    differs = (np.diff(used.start) != 0) | (np.diff(used.end) != 0)
    row = np.flatnonzero(np.append(True, differs))
    width = np.add.reduceat(used.last - used.first + 1, row)
    time, position = np.unique(np.concatenate((used.start[row], used.end[row])), return_inverse=True)
    change = np.bincount(position, weights=np.concatenate((width, -width)), minlength=len(time))
    # Widths are whole numbers well below 2**53, so the running sum is exact and ends at exactly zero.
    return time, np.cumsum(change)


def coarsened(time: np.ndarray, value: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the step function's mean in ``bins`` equal bins, as a step function with the same integral.

    >>> coarsened(np.array([0.0, 1.0, 4.0]), np.array([8.0, 0.0, 0.0]), 2)
    (array([0., 2., 4.]), array([4., 0., 0.]))
    """
    integral = np.concatenate(([0.0], np.cumsum(value[:-1] * np.diff(time))))
    edges = np.linspace(time[0], time[-1], bins + 1)
    mean = np.diff(np.interp(edges, time, integral)) / np.diff(edges)
    return edges, np.append(mean, value[-1])


def ranges(time: np.ndarray, value: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the greatest value of a step function between each two edges; the last pair stands twice.

    >>> ranges(np.array([0.0, 1.0, 4.0]), np.array([8.0, 0.0, 0.0]), np.array([0.0, 2.0, 4.0]))
    (array([0., 0., 0.]), array([8., 0., 0.]))
    """
    at_edge = value[np.clip(np.searchsorted(time, edges[:-1], side="right") - 1, 0, None)]
    # The values of an interval: the one with which it begins, and those that begin in it.
    lasting = np.flatnonzero(np.append(np.diff(time) > 0, False))
    when = np.concatenate([edges[:-1], time[lasting]])
    what = np.concatenate([at_edge, value[lasting]])
    inside = (when >= edges[0]) & (when < edges[-1])
    order = np.argsort(when[inside], kind="stable")
    when, what = when[inside][order], what[inside][order]
    first = np.searchsorted(when, edges[:-1])
    low, high = (extreme.reduceat(what, first) for extreme in (np.minimum, np.maximum))
    return np.append(low, low[-1]), np.append(high, high[-1])


def band(
    time: np.ndarray, value: np.ndarray, edges: np.ndarray, colour: str, group: str = "", name: str = ""
) -> list[go.Scatter]:
    """Return the range of a step function in each interval between edges, as two lines with a filling between them.

    It is in the legend only with a ``name``; ``group`` is the legend's group of its curve.
    """
    low, high = ranges(time, value, edges)
    common = {
        "x": edges,
        "mode": "lines",
        "line": {"shape": "hv", "width": 0, "color": colour},
        "hoverinfo": "skip",
        "legendgroup": group or BAND,
        "meta": BAND,
    }
    return [
        go.Scatter(y=low, name=BAND, showlegend=False, **common),
        go.Scatter(
            y=high,
            name=name or BAND,
            showlegend=bool(name),
            fill="tonexty",
            fillcolor=transparent(colour, 0.28),
            **common,
        ),
    ]


def step_traces(time: np.ndarray, value: np.ndarray, name: str, said: str, colour: str) -> list[go.Scatter]:
    """Return a filled step function; with many steps its means, named so, and the band of their range behind it.

    ``said`` is the value in the hover, as Plotly formats it.
    """
    behind: list[go.Scatter] = []
    if len(time) > MOST_POINTS:
        edges, mean = coarsened(time, value, COARSE_BINS)
        behind = band(time, value, edges, colour)
        time, value, name = edges, mean, f"{name}{MEAN}{duration(edges[1] - edges[0])}"
    curve = go.Scatter(
        x=time,
        y=value,
        mode="lines",
        line={"shape": "hv", "color": colour, "width": 1.2},
        fill="tozeroy",
        fillcolor=transparent(colour, 0.22),
        name=name,
        hovertemplate=f"{name}: {said}<br>from %{{x:,.8~g}} s<extra></extra>",
        showlegend=False,
    )
    return [curve, *behind]


def _timed(figure: go.Figure, results: Iterable[Result], time_unit: TimeUnit) -> go.Figure:
    """Convert a figure drawn in seconds to its axis of time: the calendar if the first run knows the date."""
    results = list(results)
    window = 0.0, max(float(result.power["time"].iloc[-1]) for result in results) or 1.0
    axis = TimeAxis.of(time_unit, window, start_date_of(results[0]))
    figure.update_xaxes(axis.layout(window))
    axis.convert(figure)
    return figure
