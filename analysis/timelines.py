"""Step curves over the run: power and busy cores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.palette import BUSY, CAPACITY, POWER
from analysis.wording import number

MOST_POINTS = 20_000
COARSE_BINS = 4_000


def power_trace(power: pd.DataFrame) -> go.Scatter:
    """Power of the whole platform, W, from the columns ``time`` (s) and ``watts``; the last row closes the curve."""
    time, watts = power["time"].to_numpy(dtype=float), power["watts"].to_numpy(dtype=float)
    return _step_trace(time, watts, name="power", unit="W", colour=POWER)


def busy_trace(allocations: pd.DataFrame, until: float) -> go.Scatter:
    """Cores held by jobs; what is still held when the run stops is held to ``until`` (s)."""
    time, busy = busy_cores(allocations, until)
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


def busy_cores(allocations: pd.DataFrame, until: float) -> tuple[np.ndarray, np.ndarray]:
    """Times (s) at which the number of cores held by jobs changes, and the number from then on."""
    width = (allocations["last_core"] - allocations["first_core"] + 1).to_numpy(dtype=float)
    start = allocations["start"].to_numpy(dtype=float)
    end = allocations["end"].fillna(until).to_numpy(dtype=float)
    time, position = np.unique(np.concatenate((start, end)), return_inverse=True)
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
