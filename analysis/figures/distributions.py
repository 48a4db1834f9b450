"""Distributions over the jobs of a run: of waits, slowdowns and other columns, and of submissions over the day."""

from __future__ import annotations

import datetime
from typing import Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.figures.figure_style import LEGEND_ABOVE, run_styles, styled
from analysis.figures.palette import BUSY
from analysis.figures.time_axis import show_durations, start_date_of
from analysis.tables.run_metrics import Runs, named_runs
from analysis.tables.wording import label_of
from cluster_sim.amounts import amount
from cluster_sim.errors import SpecError
from cluster_sim.records.result import Result
from cluster_sim.workload.fields import RESULT_TABLES
from cluster_sim.workload.workload import Workload

MOST_STEPS = 20_000
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NUMBERS = {field.name: field.unit for field in RESULT_TABLES["jobs"] if field.kind in ("float", "int")}


def ecdf_table(results: Runs, column: str = "wait_time") -> pd.DataFrame:
    """Return the empirical distribution function of a column of ``result.jobs``: ``run``, ``value``, ``share``.

    Each distinct value of a run has a row: ``share`` of the run's jobs have this value or less. Jobs without a value,
    such as the wait of a job that never started, do not count. Raises SpecError for a column that holds no numbers.
    """
    if column not in _NUMBERS:
        raise SpecError("ecdf, column", f"one of {', '.join(_NUMBERS)}", column)
    parts = []
    for name, result in named_runs(results).items():
        values = result.jobs[column].to_numpy(dtype=float)
        distinct, counts = np.unique(values[np.isfinite(values)], return_counts=True)
        share = np.cumsum(counts) / max(int(counts.sum()), 1)
        parts.append(pd.DataFrame({"run": name, "value": distinct, "share": share}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["run", "value", "share"])


def ecdf(
    results: Runs,
    column: str = "wait_time",
    *,
    log: bool | None = None,
    most_points: int = MOST_STEPS,
    title: str | None = None,
) -> go.Figure:
    """Draw the share of the jobs with a value up to x, a line per run: of any column of numbers of ``result.jobs``.

    ``log`` makes the axis of values logarithmic; by default, if values are above 0 and span more than three decades.
    A line with more than ``most_points`` steps keeps steps spread evenly over the jobs, among them the first and the
    last. The data are :func:`analysis.ecdf_table`.
    """
    runs = named_runs(results)
    table = ecdf_table(runs, column)
    unit = _NUMBERS[column]
    values = table["value"]
    if log is None:
        log = bool(len(values) and values.min() > 0 and values.max() > 1e3 * values.min())
    figure = go.Figure()
    words = label_of(column)
    for run, (name, _, line) in zip(runs, run_styles(list(runs)), strict=True):
        steps = table[table["run"] == run]
        value, share = steps["value"].to_numpy(), steps["share"].to_numpy()
        if len(value) > most_points:
            kept = np.unique(np.searchsorted(share, np.linspace(share[0], 1.0, most_points)).clip(max=len(value) - 1))
            value, share = value[kept], share[kept]
        if len(value):
            # Lines begin at a share of 0, and all end at the largest value of any run.
            value = np.concatenate([value[:1], value, [values.max()]])
            share = np.concatenate([[0.0], share, [1.0]])
        told = [amount(each, unit) for each in value.tolist()]
        hover = f"{name}: %{{y:.2%}} of the jobs<br>{words} up to %{{customdata}}<extra></extra>"
        style = line | {"shape": "hv", "width": 1.6}
        figure.add_trace(
            go.Scatter(x=value, y=share, name=name, mode="lines", line=style, customdata=told, hovertemplate=hover)
        )
    styled(
        figure, title or f"Distribution of the {words}", words.capitalize(), "Share of the jobs", yaxis_tickformat=".0%"
    )
    figure.update_xaxes(type="log" if log else "linear", exponentformat="power" if log else "none")
    if unit == "s" and len(values):
        show_durations(figure, "xaxis", float(values.min()), float(values.max()), log)
    elif unit:
        figure.update_xaxes(exponentformat="SI", ticksuffix=unit)
    return figure.update_yaxes(range=[0, 1.02]).update_layout(showlegend=len(runs) > 1, legend=LEGEND_ABOVE)


def arrival_table(
    jobs: Result | Workload, by: Literal["hour", "weekday"] = "hour", start: datetime.datetime | None = None
) -> pd.DataFrame:
    """Return the jobs submitted per hour of the day or per day of the week: ``hour`` or ``weekday``, ``jobs``.

    ``start`` is the calendar's time at second 0 of the run, by default that of the log's header (``UnixStartTime`` and
    ``TimeZoneString``). Without one, the clock of the log or of the generator (``origin_s``) begins on a Monday at
    midnight: weekdays are then only days of a cycle of seven. Raises SpecError for another ``by``.
    """
    if by not in ("hour", "weekday"):
        raise SpecError("arrivals, by", "hour or weekday", by)
    times = jobs.jobs["submit_time"].to_numpy(dtype=float)
    times = times[np.isfinite(times)] + _second_of_week(jobs, start)
    if by == "hour":
        counts = np.bincount((times // 3600).astype(np.int64) % 24, minlength=24)
        return pd.DataFrame({"hour": np.arange(24), "jobs": counts})
    counts = np.bincount((times // 86_400).astype(np.int64) % 7, minlength=7)
    return pd.DataFrame({"weekday": _WEEKDAYS, "jobs": counts})


def arrivals(
    jobs: Result | Workload,
    by: Literal["hour", "weekday"] = "hour",
    start: datetime.datetime | None = None,
    *,
    title: str | None = None,
) -> go.Figure:
    """Draw the jobs submitted by hour or weekday, of a run or a workload (:func:`analysis.arrival_table`)."""
    table = arrival_table(jobs, by, start)
    hover = "%{y:,} jobs<br>" + ("from %{x} to %{customdata} h" if by == "hour" else "%{x}") + "<extra></extra>"
    after = table["hour"].to_numpy() + 1 if by == "hour" else None
    bars = go.Bar(
        x=table[by].to_numpy(), y=table["jobs"].to_numpy(), customdata=after, marker_color=BUSY, hovertemplate=hover
    )
    words = "hour of the day" if by == "hour" else "weekday"
    return styled(go.Figure(bars), title or f"Jobs submitted, by {words}", words.capitalize(), "Jobs", bargap=0.15)


def _second_of_week(jobs: Result | Workload, start: datetime.datetime | None) -> float:
    """Return the time from a Monday's midnight to second 0, s."""
    if start is None:
        start = jobs.start_date if hasattr(jobs, "start_date") else start_date_of(jobs)
        if start is None:
            origin_s = jobs.meta.get("origin_s") if hasattr(jobs, "meta") else jobs.origin_s
            return float(origin_s or 0.0) % (7 * 86_400.0)
    midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
    return start.weekday() * 86_400.0 + (start - midnight).total_seconds()
