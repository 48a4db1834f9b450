"""Traces over the jobs of a Gantt chart: pieces of jobs that had cores more than once, and promised starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.gantt_chart.rows import JobPieces
from analysis.gantt_chart.traces import MOST_BARS, overlay_bars, overlay_polygons
from analysis.tables.wording import plotly_text
from cluster_sim.amounts import number
from cluster_sim.machine.course import Doing
from cluster_sim.records.reasons.spells import RESIZED
from cluster_sim.run.jobs.attempts import AttemptEnd

if TYPE_CHECKING:
    from analysis.figures.time_axis import TimeAxis
    from analysis.gantt_chart.chart_data import ChartData

PIECES = "pieces"
"""Value of ``trace.meta`` for traces that are drawn over the jobs."""
MOST_STAGES = 100
"""Number of stages; with more, short ones are shown only when their entry in the legend is clicked."""
MOST_RESERVATIONS = 60
"""Number of reservations; more are shown only when their entry in the legend is clicked."""
_LEAST_WIDE_PX = 2.0
_INK = "#22303C"
_AGAIN = (AttemptEnd.REQUEUED, AttemptEnd.PREEMPTED, AttemptEnd.FAILED)
_LOOKS = {Doing.CHECKPOINT: "", Doing.RESTART: "\\", Doing.RECONFIGURATION: "x"}
_LOST = {"shape": "/", "fgcolor": _INK, "bgcolor": "#FFFFFF", "size": 7, "solidity": 0.16}


def piece_traces(scene: ChartData, axis: TimeAxis) -> list[Any]:
    """Return the traces of lost work, of stages that are no work, and of lines from each piece of a job to the next."""
    pieces = scene.held.pieces
    traces: list[Any] = []
    if pieces is not None:
        traces += [*_lost(scene, pieces), *_links(scene, pieces)]
    stages = getattr(scene.held.result, "stages", None)
    return [*traces, *_stages(scene, stages, axis)] if stages is not None and len(stages) else traces


def _lost(scene: ChartData, pieces: JobPieces) -> list[Any]:
    """Return a pale hatched veil over the work that an attempt lost: since its last checkpoint, or its beginning."""
    # The end of the last checkpoint of each attempt, s.
    stages = scene.held.result.stages
    made = stages[stages["stage"] == Doing.CHECKPOINT]
    rows = pd.Index(scene.held.result.jobs["job_id"]).get_indexer(pd.Index(made["job_id"])).tolist()
    checkpointed: dict[tuple[int, int], float] = {}
    saved = dict.fromkeys(rows, 0.0)
    for row, attempt, end, now in zip(rows, *(made[n].tolist() for n in ("attempt", "end", "saved")), strict=True):
        if now > saved[row]:
            checkpointed[row, attempt], saved[row] = end, now
    since = {
        key: checkpointed.get(key, -np.inf)
        for key, attempt in pieces.attempts.items()
        if attempt["lost_core_s"] and attempt["outcome"] in _AGAIN
    }
    shown = scene.rectangles
    keys = zip(scene.position[shown["owner"]].tolist(), shown["attempt"].tolist(), strict=True)
    begin = np.array([since.get(key, np.inf) for key in keys])
    lost = shown.assign(start=np.maximum(shown["start"], begin))
    lost = lost[lost["start"] < lost["end"]]
    if lost.empty:
        return []
    legend = _legend("work lost, done again")
    if len(lost) > MOST_BARS:
        return [overlay_polygons(lost, "rgba(255,255,255,0.7)", meta=PIECES, **legend)]
    marker = {"color": "#FFFFFF", "opacity": 0.72, "line": {"width": 0}, "pattern": _LOST}
    return [overlay_bars(lost, scene.canvas, marker, meta=PIECES, hoverinfo="skip", **legend)]


def _stages(scene: ChartData, stages: pd.DataFrame, axis: TimeAxis) -> list[Any]:
    """Return bars over the jobs while they make checkpoints, restart or change their cores."""
    held, canvas = scene.held, scene.canvas
    seen = stages[(stages["end"] >= canvas.start) & (stages["start"] <= canvas.end)]
    rows = pd.Index(held.jobs["job_id"]).get_indexer(pd.Index(seen["job_id"]))
    wanted = seen.assign(row=rows, stage_start=seen["start"], stage_end=seen["end"]).drop(columns=["start", "end"])
    over = scene.rectangles.assign(row=scene.position[scene.rectangles["owner"]])
    both = over.merge(wanted, on=["row", "attempt"])
    both = both[
        (both["stage_start"] < both["end"]) & (both["stage_end"] > both["start"])
        | (both["stage_start"] == both["stage_end"]) & (both["stage_end"] == both["end"])
        | (both["stage_start"] == both["stage_end"]) & (both["stage_start"] == both["start"])
    ]
    both = both.assign(start=both["stage_start"], end=both["stage_end"])
    traces = []
    for doing, shape in _LOOKS.items():
        some = both[both["stage"] == doing]
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


def _links(scene: ChartData, pieces: JobPieces) -> list[Any]:
    """Return dotted lines from the end of each piece of a job to the start of its next piece.

    A click on their entry in the legend shows them: over many jobs such lines hide more than they tell. Pages draw
    the lines of the job under the mouse.
    """
    middle = scene.rectangles.groupby("said")[["low", "high"]].agg({"low": "min", "high": "max"}).mean(axis=1).to_dict()
    x: list[float | None] = []
    y: list[float | None] = []
    for code, (spell, after) in enumerate(zip(pieces.spells, pieces.spells[1:], strict=False), start=1):
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
    legend = {"legendgroup": "reservations", "visible": True if len(promised) <= MOST_RESERVATIONS else "legendonly"}
    left, right = start[boxes["promise"]], end[boxes["promise"]]
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
