"""Figures of a what-if: use of the machine day by day, and the waits of classes of jobs with what the change makes of them."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.figures.figure_style import GRID, styled, transparent
from analysis.figures.palette import OKABE_ITO
from analysis.figures.time_axis import show_durations
from analysis.tables.wording import plotly_text, shortened
from analysis.whatif.effects import effect_of_class
from analysis.whatif.replayed import CHANGED, DAY, RECORDED, UNCHANGED, busy_core_s
from cluster_sim.amounts import duration
from cluster_sim.errors import counted
from cluster_sim.records.comparison import Effect
from cluster_sim.records.intervals import ComparisonVerdict

LOOKS = {RECORDED: ("#7A8691", "diamond"), UNCHANGED: (OKABE_ITO[0], "circle"), CHANGED: (OKABE_ITO[1], "circle")}
LESS, MORE, UNSURE = "#009E73", "#D55E00", "#9AA5B1"
"""Colours of a change: less wait, more wait, or not known."""
_BETWEEN = transparent("#7A8691", 0.25)
_ROW_PX, _ROOM_PX = 27, 118
MOST_ROWS = 20
_MOST_TICKS = 6


def use_by_day(jobs: pd.DataFrame, cores: Mapping[str, int], start: datetime.datetime | None) -> go.Figure:
    """Draw the share of the cores that were busy, day by day, recorded and in each run."""
    first = float(jobs["submit_time"].min())
    midnight = first - (0.0 if start is None else (start.hour * 60 + start.minute) * 60.0 + start.second + first % 1)
    edges: np.ndarray = midnight + DAY * np.arange(math.ceil((float(jobs["submit_time"].max()) - midnight) / DAY) + 1)
    days = list(range(len(edges) - 1))
    x = days if start is None else [start.date() + datetime.timedelta(days=day) for day in days]
    figure = go.Figure()
    for name in cores:
        colour, _ = LOOKS[name]
        share = busy_core_s(jobs, name, edges) / (cores[name] * DAY)
        line = {"color": colour, "shape": "hvh", "width": 3 if name == RECORDED else 1.8}
        figure.add_trace(go.Scatter(x=x, y=share, mode="lines", line=line, name=name, hovertemplate="%{x}: %{y:.1%}"))
    styled(figure, "", "" if start is not None else "day", "", height=270, hovermode="x unified")
    figure.update_layout(margin={"l": 60, "r": 20, "t": 34, "b": 40}, legend=_legend())
    return figure.update_yaxes(rangemode="tozero", tickformat=".0%")


def _legend() -> dict[str, object]:
    return {"orientation": "h", "yanchor": "bottom", "y": 1.0, "xanchor": "left", "x": 0.0}


def waits_of_classes(table: pd.DataFrame) -> go.Figure:
    """Draw the mean waits of each class of jobs, a row each.

    If the table has the change with its interval, it stands beside the waits. ``table`` is that of
    :func:`analysis.whatif.effects.by_class`, of which at most 20 rows are drawn.
    """
    rows = table.head(MOST_ROWS).iloc[::-1]
    names = [name for name in LOOKS if f"{name}_s" in table]
    with_change = "change_s" in table
    figure = make_subplots(
        cols=1 + with_change, shared_yaxes=True, horizontal_spacing=0.03, column_widths=[0.55, 0.45][: 1 + with_change]
    )
    labels = plotly_text(
        f"{shortened(group, 22)} · {counted(jobs, 'job')}"
        for group, jobs in zip(rows["group"].tolist(), rows["jobs"].tolist(), strict=True)
    )
    for place, label in enumerate(labels):
        ends = rows[[f"{name}_s" for name in names]].iloc[place].to_numpy(dtype=float)
        figure.add_trace(
            go.Scatter(x=[ends.min(), ends.max()], y=[label] * 2, mode="lines", line={"color": _BETWEEN, "width": 5},
                       hoverinfo="skip", showlegend=False), 1, 1,
        )  # fmt: skip
    for name in names:
        colour, symbol = LOOKS[name]
        values = rows[f"{name}_s"].to_numpy(dtype=float)
        figure.add_trace(
            go.Scatter(
                x=values, y=labels, mode="markers", name=name, marker={"color": colour, "size": 10, "symbol": symbol},
                hovertext=[f"{label}<br>{name}: {duration(value)}" for label, value in zip(labels, values.tolist(), strict=True)],
                hoverinfo="text",
            ), 1, 1,
        )  # fmt: skip
    styled(figure, "", "", "", height=_ROW_PX * len(rows) + _ROOM_PX)
    figure.update_layout(margin={"l": 20, "r": 24, "t": 40, "b": 52}, legend=_legend())
    figure.update_xaxes(showline=True, linecolor=UNSURE, gridcolor=GRID, zeroline=False, exponentformat="none")
    most = float(rows[[f"{name}_s" for name in names]].to_numpy().max(initial=0.0)) or 1.0
    _lengths(figure, "xaxis", "mean wait", (-0.02 * most, 1.04 * most))
    figure.update_yaxes(type="category", automargin=True, ticks="", showline=False, showgrid=False)
    return _with_changes(figure, rows, labels) if with_change else figure


def _with_changes(figure: go.Figure, rows: pd.DataFrame, labels: list[str]) -> go.Figure:
    """Draw the second panel: differences with their intervals, green if waits are surely less, red if they are more."""
    change, low, high = (rows[name].to_numpy(dtype=float) for name in ("change_s", "low_s", "high_s"))
    ends = np.concatenate([[0.0], *(values[np.isfinite(values)] for values in (change, low, high))])
    effects = [effect_of_class(row) for row in rows.to_dict("records")]
    colours = [verdict_colour(effect) for effect in effects]
    for colour in dict.fromkeys(colours):
        mine = [place for place, each in enumerate(colours) if each == colour]
        figure.add_trace(
            go.Scatter(
                x=change[mine], y=[labels[place] for place in mine], mode="markers", showlegend=False,
                marker={"color": colour, "size": 9}, hoverinfo="text",
                hovertext=[f"{labels[place]}<br>{effects[place].change()}" for place in mine],
                error_x={"type": "data", "symmetric": False, "array": np.nan_to_num(high[mine] - change[mine]),
                         "arrayminus": np.nan_to_num(change[mine] - low[mine]), "thickness": 2, "width": 0,
                         "color": colour},
            ), 1, 2,
        )  # fmt: skip
    figure.add_vline(x=0, line={"color": "#5A6772", "width": 1}, col=2)
    pad = 0.04 * float(np.ptp(ends)) or 1.0
    _lengths(
        figure, "xaxis2", "change of it: left of 0 is less wait", (float(ends.min()) - pad, float(ends.max()) + pad)
    )
    return figure


def _lengths(figure: go.Figure, axis: str, title: str, ends: tuple[float, float]) -> None:
    """Set title, range and ticks of an axis of times. Each tick has its unit, since panels may differ in size."""
    figure.update_layout({axis: {"range": ends, "title": {"text": title, "standoff": 8}}})
    show_durations(figure, axis, *ends, most=_MOST_TICKS)


def verdict_colour(effect: Effect) -> str:
    """Return green if waits are shown to be less, red if more, grey if unknown or too little to matter."""
    return (
        LESS if effect.shown is ComparisonVerdict.LESS else MORE if effect.shown is ComparisonVerdict.MORE else UNSURE
    )


def signed(seconds: float) -> str:
    """Return a difference of times with its sign: +5 min."""
    return f"+{duration(seconds)}" if seconds > 0 else duration(seconds)
