"""Rows of a Gantt chart, and the pieces of jobs that had cores more than once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from analysis.tables.wording import plotly_text, shortened
from cluster_sim.amounts import duration
from cluster_sim.errors import counted
from cluster_sim.platform.platform import Platform
from cluster_sim.records.reasons.spells import RESIZED, SUSPENDED, Spell
from cluster_sim.records.result import Result
from cluster_sim.run.jobs.attempts import AttemptEnd

if TYPE_CHECKING:
    from analysis.figures.time_axis import TimeAxis

FEW_CORES = 64

RowUnit = Literal["node", "core"]
Rows = Literal["auto", "node", "core"]


@dataclass(frozen=True, slots=True)
class RowScale:
    """Scale of the y axis: each node owns an interval of it, which its cores divide evenly.

    With unit "node" every node is 1 high, with unit "core" as high as it has cores. Either way a core has its own
    place, so jobs that share a node never cover each other. Node (or core) ``i`` lies about the position ``i``.

    ======================  ==========  =====================================================
    attribute               shape       meaning
    ======================  ==========  =====================================================
    ``unit``                            "node" or "core"
    ``node_edge``           nodes + 1   position where a node begins; the last is the end
    ``node_first_core``     nodes + 1   index, in platform order, of a node's first core
    ======================  ==========  =====================================================
    """

    unit: RowUnit
    node_edge: np.ndarray
    node_first_core: np.ndarray

    @classmethod
    def of(cls, platform: Platform, rows: Rows = "auto") -> RowScale:
        """Return the scale of a platform; ``rows`` is "node", "core" or "auto" (cores when there are at most 64)."""
        first = platform.first_core[platform.first_processor]
        by_core = rows == "core" or (rows == "auto" and first[-1] <= FEW_CORES)
        edge = first if by_core else np.arange(len(first))
        return cls("core" if by_core else "node", edge - 0.5, first)

    @property
    def height(self) -> float:
        """Return the length of the whole axis, in rows."""
        return float(self.node_edge[-1] - self.node_edge[0])

    @property
    def node_centre(self) -> np.ndarray:
        """Return the positions of the nodes' middles."""
        centre: np.ndarray = (self.node_edge[1:] + self.node_edge[:-1]) / 2
        return centre

    def low(self, core: np.ndarray) -> np.ndarray:
        """Return the positions where the given cores begin."""
        return self._position(core, self._node(core))

    def high(self, core: np.ndarray) -> np.ndarray:
        """Return the positions where the given cores end."""
        return self._position(core + 1, self._node(core))

    def _node(self, core: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.node_first_core, core, side="right") - 1

    def _position(self, core: np.ndarray, node: np.ndarray) -> np.ndarray:
        # The node is given, not looked up: the end of a node's last core belongs to it, not to the next node.
        share = (core - self.node_first_core[node]) / (self.node_first_core[node + 1] - self.node_first_core[node])
        position: np.ndarray = self.node_edge[node] + share * (self.node_edge[node + 1] - self.node_edge[node])
        return position


@dataclass(frozen=True, slots=True)
class JobPieces:
    """Spells of the jobs that had cores more than once, each with its number; 0 is for all other jobs."""

    result: Result
    spells: list[Spell]
    places: list[str]  #: The nodes of each.
    attempts: dict[tuple[int, int], dict[Any, Any]]  #: The row of each attempt of these jobs.

    @classmethod
    def of(cls, result: Result, rectangles: pd.DataFrame, scale: RowScale) -> JobPieces | None:
        """Return the pieces of a run, or None; write their numbers to the column ``said`` of ``rectangles``."""
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
        shortened_places = []
        for nodes in places:
            more = f" and {len(nodes) - 1} more" if len(nodes) > 1 else ""
            shortened_places.append(nodes[0] + more if nodes else "other nodes")
        return cls(result, found, shortened_places, attempts)

    def texts(self, axis: TimeAxis) -> np.ndarray:
        """Return the hover's lines for each piece, each text after a line break; the first text is empty."""
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
                    if spell.then == SUSPENDED:
                        lines[-1] += f", then suspended{self._taker(spell)}"
                    elif spell.then == RESIZED and i + 1 < len(own):
                        lines[-1] += f", then {counted(own[i + 1].cores, 'core')}"
                if i + 1 < len(own) and spell.then != RESIZED:
                    lines.append(f"goes on at {starts[place + 1]} on {self.places[place + 1]}")
                texts.append("".join(f"<br>{line}" for line in plotly_text(lines)))
        return np.array(texts, dtype=object)

    def _attempt(self, spell: Spell, tries: int) -> str:
        attempt = self.attempts[spell.row, spell.attempt]
        reason = f" ({shortened(attempt['reason'])})" if attempt["reason"] not in ("", attempt["outcome"]) else ""
        lost = f", {duration(attempt['lost_core_s'])} of core time lost" if attempt["lost_core_s"] else ""
        taker = self._taker(spell) if attempt["outcome"] == AttemptEnd.PREEMPTED else ""
        return f"attempt {spell.attempt} of {tries}: {attempt['outcome']}{taker}{reason}{lost}"

    def _taker(self, spell: Spell) -> str:
        """Return `` for job b`` if the log says which job took the spell's cores, else nothing."""
        behind, _ = self.result.waits.preempted(spell.row, spell.start, spell.end)
        return f" for job {behind}" if behind else ""


def named_nodes(rows: pd.DataFrame, node_names: list[str], scale: RowScale) -> list[str]:
    """Return the node of each rectangle, or its first and last node."""
    first = np.searchsorted(scale.node_first_core, rows["first_core"], side="right") - 1
    last = np.searchsorted(scale.node_first_core, rows["last_core"], side="right") - 1
    return [
        node_names[a] if a == b else f"{node_names[a]} to {node_names[b]}"
        for a, b in zip(first.tolist(), last.tolist(), strict=True)
    ]
