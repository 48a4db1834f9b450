"""Figures that several papers need: bars beside each other, points, a schedule. All are plotly JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from analysis.figures.figure_style import styled
from analysis.figures.palette import OKABE_ITO
from analysis.gantt_chart.gantt import gantt
from analysis.reproduce.paper import PaperFigure
from analysis.tables.wording import plotly_text
from cluster_sim.records.result import Result

Numbers = Sequence[float | None]


def as_figure(name: str, caption: str, figure: go.Figure) -> PaperFigure:
    """Return a plotly figure in the form in which results keep it."""
    return PaperFigure(name, caption, json.loads(figure.to_json()))


def bars(name: str, caption: str, x: Sequence[str], series: Mapping[str, Numbers], unit: str) -> PaperFigure:
    """Draw a group of bars at each of ``x``, one bar for each series."""
    labels = plotly_text(x)
    figure = go.Figure(
        [
            go.Bar(name=label, x=labels, y=list(values), marker_color=OKABE_ITO[i % 7])
            for i, (label, values) in enumerate(zip(plotly_text(series), series.values(), strict=True))
        ]
    )
    styled(figure, name, "", unit, 340 if len(labels) <= 12 else 520, barmode="group")  # room for upright labels
    return as_figure(name, caption, figure)


def points(
    name: str, caption: str, x: Sequence[Any], series: Mapping[str, Numbers], x_title: str, unit: str
) -> PaperFigure:
    """Draw a cloud of points for each series."""
    symbols = ("circle", "square", "diamond", "cross", "x", "triangle-up", "star")
    figure = go.Figure(
        [
            go.Scatter(
                name=label,
                x=list(x),
                y=list(values),
                mode="markers",
                marker={"color": OKABE_ITO[i % 7], "symbol": symbols[i % 7], "size": 8},
            )
            for i, (label, values) in enumerate(zip(plotly_text(series), series.values(), strict=True))
        ]
    )
    return as_figure(name, caption, styled(figure, name, x_title, unit))


def schedule(name: str, caption: str, result: Result, **options: Any) -> PaperFigure:
    """Draw a run's Gantt chart. ``options`` go to :func:`analysis.gantt`."""
    return as_figure(name, caption, gantt(result, title=name, **options))
