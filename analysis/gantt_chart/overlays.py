"""Traces over the jobs of a Gantt chart: pieces of jobs that had cores more than once, and promised starts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.figures.time_axis import TimeAxis
from analysis.gantt_chart.rectangles import Canvas, RectanglesInView
from analysis.gantt_chart.traces import MOST_BARS, overlay_bars, overlay_polygons
from analysis.tables.wording import plotly_text
from cluster_sim.amounts import number
from cluster_sim.machine.course import Doing
from cluster_sim.records.reasons.spells import RESIZED

PIECES = "pieces"
"""Value of ``trace.meta`` for traces that are drawn over the jobs."""
MOST_STAGES = 100
"""Number of stages; with more, short ones are shown only when their entry in the legend is clicked."""
MOST_RESERVATIONS = 60
"""Number of reservations; more are shown only when their entry in the legend is clicked."""
_LEAST_WIDE_PX = 2.0
_INK = "#22303C"
_LOOKS = {Doing.CHECKPOINT: "", Doing.RESTART: "\\", Doing.RECONFIGURATION: "x"}
_LOST = {"shape": "/", "fgcolor": _INK, "bgcolor": "#FFFFFF", "size": 7, "solidity": 0.16}


def piece_traces(view: RectanglesInView, axis: TimeAxis) -> list[Any]:
    """Return the traces of lost work, of stages that are no work, and of lines from each piece of a job to the next."""
    traces: list[Any] = []
    if view.run.pieces is not None:
        traces += [*_lost(view), *_links(view)]
    stages = view.stages()
    return traces if stages is None else [*traces, *_stages(view.canvas, stages, axis)]


def _lost(view: RectanglesInView) -> list[Any]:
    """Return a pale hatched veil over the work that attempts lost."""
    lost = view.lost_work()
    if lost.empty:
        return []
    legend = _legend("work lost, done again")
    if len(lost) > MOST_BARS:
        return [overlay_polygons(lost, "rgba(255,255,255,0.7)", meta=PIECES, **legend)]
    marker = {"color": "#FFFFFF", "opacity": 0.72, "line": {"width": 0}, "pattern": _LOST}
    return [overlay_bars(lost, view.canvas, marker, meta=PIECES, hoverinfo="skip", **legend)]


def _stages(canvas: Canvas, stages: pd.DataFrame, axis: TimeAxis) -> list[Any]:
    """Return bars over the jobs while they make checkpoints, restart or change their cores."""
    traces = []
    for doing, shape in _LOOKS.items():
        some = stages[stages["stage"] == doing]
        if some.empty:
            continue
        apart = ((some["end"] - some["start"]) * canvas.px_per_s).median() >= _LEAST_WIDE_PX
        shown = apart or len(some) <= MOST_STAGES
        legend = _legend(str(doing) if shown else f"{doing} ({number(len(some))})")
        legend |= {"visible": True if shown else "legendonly"}
        if len(some) > MOST_BARS:
            traces.append(overlay_polygons(some, _INK, meta=PIECES, opacity=0.6, **legend))
            continue
        pattern = {"shape": shape, "fgcolor": _INK, "bgcolor": "#FFFFFF", "size": 5, "solidity": 0.4}
        marker = {
            "color": _INK,
            "opacity": 0.6,
            "line": {"width": 1, "color": _INK},
            "pattern": pattern if shape else {},
        }
        texts = (axis.texts(some[name].to_numpy()) for name in ("start", "end"))
        saved = [""] * len(some)
        if doing is Doing.CHECKPOINT:
            saved = [f"; {number(100 * share, 3)} % of its work is saved" for share in some["saved"]]
        data = np.array([plotly_text(some["job_id"]), *texts, saved], dtype=object).T
        template = (
            f"<b>{doing}</b> of job %{{customdata[0]}}<br>from %{{customdata[1]}} to %{{customdata[2]}}"
            "%{customdata[3]}<extra></extra>"
        )
        bars = overlay_bars(some, canvas, marker, meta=PIECES, customdata=data, hovertemplate=template, **legend)
        traces.append(bars)
    return traces


def _links(view: RectanglesInView) -> list[Any]:
    """Return dotted lines from the end of each piece of a job to the start of its next piece.

    A click on their entry in the legend shows them: over many jobs such lines hide more than they tell. Pages draw
    the lines of the job under the mouse.
    """
    middle = view.rectangles.groupby("said")[["low", "high"]].agg({"low": "min", "high": "max"}).mean(axis=1).to_dict()
    spells = [] if view.run.pieces is None else view.run.pieces.spells
    x: list[float | None] = []
    y: list[float | None] = []
    for code, (spell, after) in enumerate(pairwise(spells), start=1):
        if spell.row == after.row and spell.then != RESIZED and code in middle and code + 1 in middle:
            x += [spell.end, after.start, None]
            y += [middle[code], middle[code + 1], None]
    if not x:
        return []
    legend = _legend("where it goes on") | {"visible": "legendonly"}
    line = {"color": _INK, "width": 1.2, "dash": "dot"}
    return [go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", meta=PIECES, **legend)]


def _legend(name: str) -> dict[str, Any]:
    return {"name": name, "legendgroup": f"Pieces: {name}", "legendrank": 1_800, "showlegend": True}


def reservation_traces(view: RectanglesInView, axis: TimeAxis) -> list[Any]:
    """Return outlines over the nodes and the time that each job was promised last, and the points that carry hovers.

    The list is empty without a log of decisions (``Simulation(..., explain=True)``). The hover, at the promise's
    beginning, says when it was made and when the job did start.
    """
    found = view.promises()
    if found is None:
        return []
    promised, boxes = found
    legend = {"legendgroup": "reservations", "visible": True if len(promised) <= MOST_RESERVATIONS else "legendonly"}
    start = promised["start"].to_numpy()
    left, right = start[boxes["owner"]], promised["end"].to_numpy()[boxes["owner"]]
    low, high, nothing = boxes["low"].to_numpy(), boxes["high"].to_numpy(), np.full(len(boxes), np.nan)
    outlines = go.Scatter(
        x=np.column_stack((left, right, right, left, left, nothing)).ravel(),
        y=np.column_stack((low, low, high, high, low, nothing)).ravel(),
        mode="lines",
        line={"color": _INK, "width": 1.3, "dash": "dot"},
        hoverinfo="skip",
        name=f"reservations ({number(len(promised))})",
        legendrank=1_900,
        meta="reservations",
        **legend,
    )
    first = boxes.drop_duplicates("owner")
    texts = [axis.texts(promised[name].to_numpy(dtype=float)) for name in ("time", "start", "start_time")]
    points = go.Scatter(
        x=start,
        y=((first["low"] + first["high"]) / 2).to_numpy(),
        mode="markers",
        marker={"symbol": "line-ns-open", "size": 11, "color": _INK},
        customdata=np.array([plotly_text(promised["job_id"]), *texts], dtype=object).T,
        hovertemplate=(
            "<b>promised to job %{customdata[0]}</b><br>said last at %{customdata[1]}: a start at %{customdata[2]}"
            "<br>it started at %{customdata[3]}<extra></extra>"
        ),
        showlegend=False,
        name="reservations",
        **legend,
    )
    return [outlines, points]
