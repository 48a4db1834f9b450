"""Fairness: metrics by user, and how evenly they are spread."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.figures.figure_style import LEGEND_ABOVE, run_styles, show_log, styled
from analysis.figures.time_axis import show_durations
from analysis.tables.run_metrics import Runs, named_runs
from analysis.tables.wording import label_of, plotly_text, shortened
from cluster_sim.amounts import amount
from cluster_sim.errors import SpecError
from cluster_sim.records.metrics import is_measured

NO_USER = "(no user)"
_WIDE = 100.0
MOST_USERS = 20
_METRICS = {
    "mean_wait_s": "s",
    "mean_bounded_slowdown": "",
    "jobs": "",
    "core_s": "core s",
    "share_of_core_s": "",
    "energy_j": "J",
}


def user_table(results: Runs) -> pd.DataFrame:
    """Return metrics of each user's jobs that ran to an end: a row per run and user, most core-seconds first.

    Columns: ``run``, ``user``, ``jobs``, ``core_s`` (core-seconds while the jobs ran, attempts that came to nothing
    included, boots excluded), ``share_of_core_s`` (of the run's core-seconds), ``mean_wait_s``,
    ``mean_bounded_slowdown``, ``energy_j``. Jobs without a user belong to "(no user)".
    """
    parts = []
    for name, result in named_runs(results).items():
        jobs = result.jobs.assign(core_s=result.core_holds.used_core_s)
        jobs = jobs[is_measured(jobs["state"].to_numpy(dtype=object), jobs["start_time"].to_numpy(dtype=float))]
        users = jobs["user"].fillna("").astype(str)
        groups = jobs.assign(user=users.where(users != "", NO_USER)).groupby("user", sort=True)
        table = groups.agg(
            jobs=("job_id", "size"),
            core_s=("core_s", "sum"),
            mean_wait_s=("wait_time", "mean"),
            mean_bounded_slowdown=("bounded_slowdown", "mean"),
            energy_j=("energy_j", "sum"),
        ).reset_index()
        total = float(table["core_s"].sum())
        table.insert(3, "share_of_core_s", table["core_s"] / total if total else 0.0)
        table.insert(0, "run", name)
        parts.append(table.sort_values("core_s", ascending=False, kind="stable"))
    return pd.concat(parts, ignore_index=True)


def fairness_index(values: np.ndarray | pd.Series) -> float:
    """Return Jain's index of fairness, (Σx)² / (n Σx²): 1 when all values are equal, 1/n when one has everything.

    Jain, Chiu, Hawe (1984). The index is NaN without values, and if all of them are 0.
    """
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    square = float((known**2).sum())
    return float(known.sum() ** 2 / (len(known) * square)) if square > 0 else float("nan")


def user_fairness(
    results: Runs,
    metric: str = "mean_bounded_slowdown",
    *,
    most: int = MOST_USERS,
    title: str | None = None,
) -> go.Figure:
    """Draw a metric of :func:`analysis.user_table` for the users with the most core-seconds, a bar per run.

    The legend has Jain's index over all users, drawn or not; the title says how many users there are.
    Raises SpecError for an unknown metric.
    """
    if metric not in _METRICS:
        raise SpecError("user_fairness, metric", f"one of {', '.join(_METRICS)}", metric)
    runs = named_runs(results)
    table = user_table(runs)
    # The first run alone orders the users, so that other runs do not change the order.
    users = list(dict.fromkeys(table["user"]))
    shown = users[:most]
    figure = go.Figure()
    unit = _METRICS[metric]
    for run, (name, colour, _) in zip(runs, run_styles(list(runs)), strict=True):
        mine = table[table["run"] == run].set_index("user")
        values = mine[metric].reindex(shown).to_numpy(dtype=float)
        figure.add_trace(
            go.Bar(
                x=np.arange(len(shown)),
                y=values,
                name=f"{name} · Jain's index {fairness_index(mine[metric]):.3f}",
                marker_color=colour,
                customdata=plotly_text(shown),
                text=[amount(value, unit) for value in values.tolist()],
                textposition="none",
                hovertemplate=f"{name}<br>user %{{customdata}}: %{{text}}<extra></extra>",
            )
        )
    words = label_of(metric)
    left = f" ({len(shown)} of {len(users)} users: those with the most core-seconds)" if len(users) > most else ""
    axis = words.capitalize()
    styled(figure, title or f"{words.capitalize()} by user{left}", "User", axis, 360, barmode="group")
    labels = plotly_text(shortened(user, 14) for user in shown)
    drawn = np.concatenate([np.asarray(trace.y, dtype=float) for trace in figure.data])
    drawn = drawn[drawn > 0]
    log = len(drawn) > 0 and drawn.max() > _WIDE * drawn.min()
    if log:  # else most bars would be lines on the axis
        figure.update_yaxes(type="log", title=f"{axis}, log scale")
    if unit == "s" and len(drawn):
        show_durations(figure, "yaxis", float(drawn.min()) if log else 0.0, float(drawn.max()), log)
    elif unit:
        figure.update_yaxes(ticksuffix=unit)
    elif log:
        show_log(figure, float(drawn.min()), float(drawn.max()), side="y")
    figure.update_xaxes(tickvals=list(range(len(shown))), ticktext=labels, automargin=True)
    return figure.update_layout(showlegend=True, legend=LEGEND_ABOVE)
