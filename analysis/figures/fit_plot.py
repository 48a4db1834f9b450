"""Plots of a fitted model: measured and fitted values, and the residuals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.figures.palette import CAPACITY, OKABE_ITO
from cluster_sim.models.fitting import Fit

_UNITS = {"speedup": "speedup", "watts": "power [W]"}
_MOST_SERIES = len(OKABE_ITO)


def plot_fit(fit: Fit, title: str | None = None) -> go.Figure:
    """Return a figure of a :class:`cluster_sim.models.fitting.Fit`: measured points and the fit, below them residuals.

    Contention is drawn over the total bandwidth, one colour per number of other tasks (the highest numbers share one);
    power over the busy cores. Residuals are measured less fitted, with a band of ± one RMSE.
    """
    data = fit.measurements
    across, label = ("total", "total bandwidth asked for [MB/s]") if "total" in data else ("busy_cores", "busy cores")
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.7, 0.3], vertical_spacing=0.06)
    for colour, (name, rows) in zip(OKABE_ITO, _series(data), strict=False):
        rows = rows.sort_values(across)
        marker = {"color": colour, "size": 7}
        measured = go.Scatter(x=rows[across], y=rows[fit.observed], mode="markers", marker=marker, name=name)
        fitted = go.Scatter(
            x=rows[across],
            y=rows["fitted"],
            # Runs of equal total bandwidth differ in other ways, too: a line would claim values that nobody measured.
            mode="markers" if "others" in data else "lines",
            marker={"color": colour, "symbol": "line-ew-open", "size": 11},
            line={"color": colour},
            name=f"{name}, fitted",
        )
        left = go.Scatter(
            x=rows[across], y=rows["residual"], mode="markers", marker=marker, showlegend=False, name=name
        )
        figure.add_trace(measured, row=1, col=1)
        figure.add_trace(fitted, row=1, col=1)
        figure.add_trace(left, row=2, col=1)
    figure.add_hrect(-fit.rmse, fit.rmse, fillcolor=CAPACITY, opacity=0.12, line_width=0, row=2, col=1)
    figure.add_hline(0.0, line={"color": CAPACITY, "width": 1}, row=2, col=1)
    figure.update_yaxes(title_text=_UNITS[fit.observed], row=1, col=1)
    figure.update_yaxes(title_text="residual", row=2, col=1)
    figure.update_xaxes(title_text=label, row=2, col=1)
    quality = f"R² {fit.r_squared:.4f}, RMSE {fit.rmse:.3g}, {len(fit.measurements)} measurements"
    figure.update_layout(title=title or f"{fit.model}: {quality}", template="plotly_white", height=620)
    return figure


def _series(data: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return names and rows by number of other tasks; without such a column, all rows as "measured"."""
    if "others" not in data:
        return [("measured", data)]
    numbers = np.sort(data["others"].unique())
    alone, rest = numbers[: _MOST_SERIES - 1], numbers[_MOST_SERIES - 1 :]
    series = [(f"{number:g} other tasks", data[data["others"] == number]) for number in alone]
    if len(rest):
        name = f"{rest[0]:g} other tasks" if len(rest) == 1 else f"{rest[0]:g} to {rest[-1]:g} other tasks"
        series.append((name, data[data["others"].isin(rest)]))
    return series
