"""Figures of a sweep: a metric over a factor with its intervals, two factors as a heatmap; and the curves of one run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.look import run_styles, styled
from analysis.replications import CONFIDENCE
from analysis.sweeps import LARGEST_IS_BEST, factors_of, sweep_table
from analysis.tables import HALF_WIDTH
from analysis.wording import label_of, plotly_text, unit_of
from cluster_sim.amounts import number
from cluster_sim.errors import InputError

if TYPE_CHECKING:
    from cluster_sim.records.result import Result

_MOST_LINES = 24
JOB_ORDER, NODE_ORDER = "job_order", "node_order"


def factor_plot(
    runs: pd.DataFrame, metric: str, x: str, colour: str | None = None, confidence: float = CONFIDENCE
) -> go.Figure:
    """Mean of a metric over the values of a factor, with intervals, a line for each value of another one (``colour``).

    Over factors that are neither, the mean is taken within each replication first; so they should be complete. Numbers on
    the x axis are joined by lines, names are not. Raises InputError for unknown columns or too many lines.
    """
    lines = [None] if colour is None else list(dict.fromkeys(runs[colour])) if colour in runs else []
    if len(lines) > _MOST_LINES:
        raise InputError(f"factor_plot, {colour}", f"at most {_MOST_LINES} values", len(lines))
    table = sweep_table(runs, [metric], [x] if colour is None else [colour, x], confidence)
    numeric = pd.api.types.is_numeric_dtype(table[x]) and table[x].dtype != bool
    figure = go.Figure()
    for value, (name, shade, line) in zip(lines, run_styles([str(value) for value in lines]), strict=True):
        rows = table if colour is None else table[table[colour] == value]
        rows = rows.sort_values(x) if numeric else rows
        figure.add_trace(
            go.Scatter(
                x=rows[x] if numeric else plotly_text(rows[x]),
                y=rows[metric],
                error_y={"type": "data", "array": rows[metric + HALF_WIDTH].fillna(0.0), "thickness": 1.2, "width": 4},
                mode="lines+markers" if numeric else "markers",
                marker={"color": shade, "size": 8},
                line=line,
                name=name if colour is not None else label_of(metric),
                showlegend=colour is not None,
            )
        )
    legend = {"title": {"text": plotly_text([colour])[0]}} if colour is not None else {}
    # Beside each other where names share a place.
    figure.update_layout(legend=legend, scattermode="overlay" if numeric else "group")
    figure.update_xaxes(exponentformat="none")
    return styled(figure, f"{label_of(metric)}, mean ± {confidence:.0%} interval", x, _axis(metric), height=440)


def factor_heatmap(runs: pd.DataFrame, metric: str, rows: str, columns: str) -> go.Figure:
    """Mean of a metric for each pair of values of two factors, in % of what the best pair is worse than.

    ``job_order`` and ``node_order`` are the halves of ``list:JOB/NODE``: of the schedulers only list scheduling is shown then.
    Raises InputError for unknown columns.
    """
    if {rows, columns} & {JOB_ORDER, NODE_ORDER}:
        runs = with_orders(runs)
    for name in (rows, columns, metric):
        if name not in runs.columns:
            raise InputError("factor_heatmap", f"a column of the runs ({', '.join(factors_of(runs))})", name)
    values = runs.pivot_table(index=rows, columns=columns, values=metric, sort=False, dropna=False)
    numbers = values.to_numpy(dtype=float)
    best = np.nanmax(numbers) if metric in LARGEST_IS_BEST else np.nanmin(numbers)
    with np.errstate(divide="ignore", invalid="ignore"):
        worse = 100 * np.abs(numbers - best) / abs(best) if best else np.abs(numbers)
    text = [[number(value, 4) if abs(value) < 1e7 else f"{value:.3e}" for value in row] for row in numbers]
    figure = go.Figure(
        go.Heatmap(
            z=worse,
            x=plotly_text(values.columns),
            y=plotly_text(values.index),
            text=text,
            texttemplate="%{text}",
            colorscale="Cividis",
            reversescale=True,
            colorbar={"title": {"text": "worse than the best" + (", %" if best else "")}},
            hovertemplate="%{y} / %{x}: %{text}<extra></extra>",
            xgap=1,
            ygap=1,
        )
    )
    figure.update_xaxes(type="category", tickangle=-35, automargin=True)
    figure.update_yaxes(type="category", automargin=True, autorange="reversed")
    return styled(figure, f"{_axis(metric)}, means", columns, rows, height=max(340, 120 + 26 * len(values)))


def with_orders(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs of list scheduling, with its two orders as the columns ``job_order`` and ``node_order``."""
    halves = runs["scheduler"].astype(str).str.extract(r"^list:([^/,]+)/([^,]+)")
    found = runs.assign(**{JOB_ORDER: halves[0], NODE_ORDER: halves[1]})[halves[0].notna()]
    if found.empty:
        raise InputError("factor_heatmap", "runs of list:JOB/NODE", "none")
    found.attrs = dict(runs.attrs)
    return found


def write_charts(result: Result, path: str | Path, title: str) -> Path:
    """A page with the power, the use of the cores and the queue of one run over time."""
    from analysis.page import figures_html, page, write_whole
    from analysis.timelines import power_timeline, queue_timeline, utilisation_timeline

    figures = [utilisation_timeline(result), queue_timeline(result), power_timeline(result)]
    return write_whole(path, page(title, figures_html(figures)))


def write_sweep_page(runs: pd.DataFrame, metrics: Sequence[str], path: str | Path, title: str = "Sweep") -> Path:
    """A page with a figure of each metric: a heatmap of list scheduling's orders, or a plot over the factors that vary."""
    from analysis.page import figures_html, page, write_whole

    figures = [figure for metric in metrics if runs[metric].notna().any() for figure in _figures(runs, metric)]
    return write_whole(path, page(title, figures_html(figures)))


def _figures(runs: pd.DataFrame, metric: str) -> list[go.Figure]:
    """What shows a metric best, for as many as two of the factors that vary."""
    varying = factors_of(runs)
    schedulers = runs["scheduler"].nunique()
    found = []
    if runs["scheduler"].astype(str).str.match(r"list:[^/]+/").sum() and schedulers > _MOST_LINES // 2:
        found.append(factor_heatmap(runs, metric, JOB_ORDER, NODE_ORDER))
    numeric = [name for name in varying if pd.api.types.is_numeric_dtype(runs[name])]
    small = [name for name in varying if runs[name].nunique() <= _MOST_LINES]
    x = (numeric or [name for name in varying if name != "scheduler"] or ["scheduler"])[0]
    colours = [name for name in ("scheduler", *small) if name != x and name in small]
    if x in numeric or x in small or not varying:
        found.append(factor_plot(runs, metric, x, colours[0] if colours else None))
    return found


def _axis(metric: str) -> str:
    return f"{label_of(metric)} [{unit}]" if (unit := unit_of(metric)) else label_of(metric)
