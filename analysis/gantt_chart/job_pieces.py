"""What a Gantt chart shows of jobs that had cores more than once: their pieces, what was lost, what was no work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.gantt_chart.drawing import MOST_BARS, named_nodes, overlay_bars, overlay_polygons
from analysis.tables.wording import plotly_text, shortened
from cluster_sim.amounts import duration, number
from cluster_sim.errors import counted
from cluster_sim.machine.course import Doing
from cluster_sim.records.reasons.spells import RESIZED, SUSPENDED
from cluster_sim.run.jobs.attempts import Outcome

if TYPE_CHECKING:
    from analysis.figures.time_axis import TimeAxis
    from analysis.gantt_chart.rectangles import RowScale
    from analysis.gantt_chart.scene import Scene
    from cluster_sim.records.reasons.spells import Spell
    from cluster_sim.records.result import Result

PIECES = "pieces"
"""What ``trace.meta`` says of what is drawn over the jobs."""
MOST_SHOWN_AT_ONCE = 100
"""With more stages, those that are too short to be told apart are shown when their entry in the legend is clicked."""
_LEAST_WIDE_PX = 2.0
_INK = "#22303C"
_AGAIN = (Outcome.REQUEUED, Outcome.PREEMPTED, Outcome.FAILED)
_LOOKS = {Doing.CHECKPOINT: "", Doing.RESTART: "\\", Doing.RECONFIGURATION: "x"}
_LOST = {"shape": "/", "fgcolor": _INK, "bgcolor": "#FFFFFF", "size": 7, "solidity": 0.16}


@dataclass(frozen=True, slots=True)
class JobPieces:
    """The spells of the jobs that had cores more than once, each with its number; 0 is for all other jobs."""

    result: Result
    spells: list[Spell]
    places: list[str]  #: The nodes of each.
    attempts: dict[tuple[int, int], dict[Any, Any]]  #: The row of each attempt of these jobs.

    @classmethod
    def of(cls, result: Result, rectangles: pd.DataFrame, scale: RowScale) -> JobPieces | None:
        """Those of a run, and the column ``said`` of ``rectangles``, which has their numbers; None if there are none."""
        by_row = getattr(result, "spells", {})  # which tables that only look like a result do not have
        if not by_row:
            return None
        found = [spell for row in sorted(by_row) for spell in by_row[row]]
        code = {(spell.row, spell.attempt, spell.start): place + 1 for place, spell in enumerate(found)}
        keys = zip(*(rectangles[name].tolist() for name in ("owner", "attempt", "start")), strict=True)
        rectangles["said"] = np.array([code.get(key, 0) for key in keys], np.int64)
        names = named_nodes(rectangles, result.platform.node_names(), scale)
        places: list[list[str]] = [[] for _ in found]
        for said, name in zip(rectangles["said"].tolist(), names, strict=True):
            if said and name not in places[said - 1]:
                places[said - 1].append(name)
        table = result.attempts
        rows = pd.Index(result.jobs["job_id"]).get_indexer(pd.Index(table["job_id"])).tolist()
        attempts = {
            (row, each["attempt"]): each
            for row, each in zip(rows, table.to_dict("records"), strict=True)
            if row in by_row
        }
        return cls(result, found, [_several(each) for each in places], attempts)

    def texts(self, axis: TimeAxis) -> np.ndarray:
        """What the hover says of each, beginning with a line break; the first is empty."""
        texts = [""]
        times = np.array([(spell.start, spell.end) for spell in self.spells]).reshape(-1, 2)
        starts, ends = axis.texts(times[:, 0]), axis.texts(times[:, 1])
        by_row = self.result.spells
        place = -1
        for row in sorted(by_row):
            own = by_row[row]
            tries = max(spell.attempt for spell in own)
            for i, spell in enumerate(own):
                place += 1
                lines = [self._attempt(spell, tries)] if tries > 1 else []
                if len(own) > tries or tries == 1:
                    cores = counted(spell.cores, "core")
                    lines.append(f"piece {i + 1} of {len(own)}: {cores} from {starts[place]} to {ends[place]}")
                    lines[-1] += self._then(spell, own[i + 1] if i + 1 < len(own) else None)
                if i + 1 < len(own) and spell.then != RESIZED:
                    lines.append(f"goes on at {starts[place + 1]} on {self.places[place + 1]}")
                texts.append("".join(f"<br>{line}" for line in plotly_text(lines)))
        return np.array(texts, dtype=object)

    def _attempt(self, spell: Spell, tries: int) -> str:
        attempt = self.attempts[spell.row, spell.attempt]
        reason = f" ({shortened(attempt['reason'])})" if attempt["reason"] not in ("", attempt["outcome"]) else ""
        lost = f", {duration(attempt['lost_core_s'])} of core time lost" if attempt["lost_core_s"] else ""
        taker = self._taker(spell) if attempt["outcome"] == Outcome.PREEMPTED else ""
        return f"attempt {spell.attempt} of {tries}: {attempt['outcome']}{taker}{reason}{lost}"

    def _then(self, spell: Spell, after: Spell | None) -> str:
        if spell.then == SUSPENDED:
            return f", then suspended{self._taker(spell)}"
        return f", then {counted(after.cores, 'core')}" if after is not None and spell.then == RESIZED else ""

    def _taker(self, spell: Spell) -> str:
        """`` for job b``, if the log says for whom its cores were taken."""
        behind, _ = self.result.waits.preempted(spell.row, spell.start, spell.end)
        return f" for job {behind}" if behind else ""


def _several(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more" if names else "other nodes"


# ---------------------------------------------------------------------- what is drawn over the jobs


def piece_traces(scene: Scene, axis: TimeAxis) -> list[Any]:
    """Work that was lost, stages that are no work, and lines from each piece of a job to the next; none without pieces."""
    pieces = scene.held.pieces
    traces: list[Any] = []
    if pieces is not None:
        traces += [*_lost(scene, pieces), *_links(scene, pieces)]
    stages = getattr(scene.held.result, "stages", None)
    return [*traces, *_stages(scene, stages, axis)] if stages is not None and len(stages) else traces


def _lost(scene: Scene, pieces: JobPieces) -> list[Any]:
    """A pale hatched veil over what attempts computed in vain: since their last checkpoint, or since they began."""
    kept = _last_checkpoints(scene.held.result.stages, scene.held.result.jobs["job_id"])
    since = {
        key: kept.get(key, -np.inf)
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


def _last_checkpoints(stages: pd.DataFrame, job_ids: pd.Series) -> dict[tuple[int, int], float]:
    """When the last checkpoint of each attempt that was done was done, s."""
    made = stages[stages["stage"] == Doing.CHECKPOINT]
    rows = pd.Index(job_ids).get_indexer(pd.Index(made["job_id"])).tolist()
    found: dict[tuple[int, int], float] = {}
    saved = dict.fromkeys(rows, 0.0)
    for row, attempt, end, now in zip(rows, *(made[n].tolist() for n in ("attempt", "end", "saved")), strict=True):
        if now > saved[row]:
            found[row, attempt], saved[row] = end, now
    return found


def _stages(scene: Scene, stages: pd.DataFrame, axis: TimeAxis) -> list[Any]:
    """Bars over the jobs while they make checkpoints, restart or change their cores."""
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
        shown = apart or len(some) <= MOST_SHOWN_AT_ONCE
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
        saved = [f"; {number(100 * each, 3)} % of its work is saved" if doing is Doing.CHECKPOINT else ""
                 for each in some["saved"]]  # fmt: skip
        data = np.array([plotly_text(some["job_id"]), *texts, saved], dtype=object).T
        template = (
            f"<b>{doing}</b> of job %{{customdata[0]}}<br>from %{{customdata[1]}} to %{{customdata[2]}}"
            "%{customdata[3]}<extra></extra>"
        )
        bars = overlay_bars(some, canvas, marker, meta=PIECES, customdata=data, hovertemplate=template, **legend)
        traces.append(bars)
    return traces


def _links(scene: Scene, pieces: JobPieces) -> list[Any]:
    """A dotted line from the end of each piece that is not the last of its job to where it goes on.

    Shown by a click on its entry in the legend: over many jobs such lines hide more than they tell. In pages, those of
    the job under the mouse are drawn.
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
