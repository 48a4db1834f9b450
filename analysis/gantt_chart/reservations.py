"""Starts that a backfilling scheduler promised, drawn over what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.tables.wording import plotly_text
from cluster_sim.amounts import number

if TYPE_CHECKING:
    from analysis.figures.time_axis import TimeAxis
    from analysis.gantt_chart.chart_data import ChartData

MOST_SHOWN_AT_ONCE = 60
"""Number of reservations; more are shown only when their entry in the legend is clicked."""
_COLOUR = "#22303C"


def reservation_traces(scene: ChartData, axis: TimeAxis) -> list[Any]:
    """Return outlines over the nodes and the time that each job was promised last, and the points that carry hovers.

    The list is empty without a log of decisions (``Simulation(..., explain=True)``). A promise that names no nodes
    covers the whole height. The hover, at its beginning, says when it was made and when the job did start.
    """
    decisions = getattr(scene.held.result, "decisions", None)
    if decisions is None or not len(decisions):
        return []
    numbered = decisions.reset_index(drop=True)
    promised = numbered[numbered["decision"] == "reserve"].drop_duplicates("job_id", keep="last")
    jobs = scene.held.jobs.set_index("job_id").reindex(promised["job_id"])
    start = promised["promised_time"].to_numpy(dtype=float)
    length = jobs["requested_time"].to_numpy(dtype=float)
    end = np.where(np.isfinite(length), start + length, np.maximum(scene.held.until, start))
    seen = (end >= scene.canvas.start) & (start <= scene.canvas.end)
    if not seen.any():
        return []
    promised, jobs, start, end = promised[seen], jobs[seen], start[seen], end[seen]
    spans = scene.held.result.decision_spans
    node_edge = scene.held.scale.node_edge
    boxes = pd.DataFrame(
        [
            (position, node_edge[first_node], node_edge[stop_node])
            for position, row in enumerate(promised.index)
            for first_node, stop_node, _ in spans[row] or [(0, len(node_edge) - 1, 0)]
        ],
        columns=["promise", "low", "high"],
    )
    legend = {"legendgroup": "reservations", "visible": True if len(promised) <= MOST_SHOWN_AT_ONCE else "legendonly"}
    left, right = start[boxes["promise"]], end[boxes["promise"]]
    low, high, nothing = boxes["low"].to_numpy(), boxes["high"].to_numpy(), np.full(len(boxes), np.nan)
    outlines = go.Scatter(
        x=np.column_stack((left, right, right, left, left, nothing)).ravel(),
        y=np.column_stack((low, low, high, high, low, nothing)).ravel(),
        mode="lines",
        line={"color": _COLOUR, "width": 1.3, "dash": "dot"},
        hoverinfo="skip",
        name=f"reservations ({number(len(promised))})",
        legendrank=1_900,
        meta="reservations",
        **legend,
    )
    return [outlines, _hover_points(promised, jobs, boxes, start, axis, legend)]


def _hover_points(
    promised: pd.DataFrame,
    jobs: pd.DataFrame,
    boxes: pd.DataFrame,
    start: np.ndarray,
    axis: TimeAxis,
    legend: dict[str, Any],
) -> go.Scatter:
    first = boxes.drop_duplicates("promise")
    columns = [promised["time"].to_numpy(dtype=float), start, jobs["start_time"].to_numpy(dtype=float)]
    texts = [axis.texts(column) for column in columns]
    return go.Scatter(
        x=start,
        y=((first["low"] + first["high"]) / 2).to_numpy(),
        mode="markers",
        marker={"symbol": "line-ns-open", "size": 11, "color": _COLOUR},
        customdata=np.array([plotly_text(promised["job_id"]), *texts], dtype=object).T,
        hovertemplate=(
            "<b>promised to job %{customdata[0]}</b><br>said last at %{customdata[1]}: a start at %{customdata[2]}"
            "<br>it started at %{customdata[3]}<extra></extra>"
        ),
        showlegend=False,
        name="reservations",
        **legend,
    )
