"""Rows of a Gantt chart, and the pieces of jobs that had cores more than once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from cluster_sim.platform.platform import Platform
from cluster_sim.records.reasons.spells import Spell
from cluster_sim.records.result import Result

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
    ``height``                          length of the whole axis, in rows
    ======================  ==========  =====================================================
    """

    unit: RowUnit
    node_edge: np.ndarray
    node_first_core: np.ndarray
    height: float

    @classmethod
    def of(cls, platform: Platform, rows: Rows = "auto") -> RowScale:
        """Return the scale of a platform; ``rows`` is "node", "core" or "auto" (cores when there are at most 64)."""
        first = platform.first_core[platform.first_processor]
        by_core = rows == "core" or (rows == "auto" and first[-1] <= FEW_CORES)
        edge = first if by_core else np.arange(len(first))
        return cls("core" if by_core else "node", edge - 0.5, first, float(edge[-1] - edge[0]))

    def extent(self, first_core: np.ndarray, last_core: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions where intervals of cores, each within a node or reaching over whole ones, begin and end."""
        places = []
        for core, end in ((first_core, 0), (last_core, 1)):
            # The end of a node's last core belongs to it, not to the next node.
            node = np.searchsorted(self.node_first_core, core, side="right") - 1
            begin = self.node_first_core[node]
            share = (core + end - begin) / (self.node_first_core[node + 1] - begin)
            places.append(self.node_edge[node] + share * (self.node_edge[node + 1] - self.node_edge[node]))
        return places[0], places[1]

    def nodes(self, first_core: np.ndarray, last_core: np.ndarray, names: Sequence[str]) -> list[str]:
        """Return the node of each interval of cores, or its first and its last node, of those ``names``."""
        first, last = (
            (np.searchsorted(self.node_first_core, core, side="right") - 1).tolist() for core in (first_core, last_core)
        )
        return [names[a] if a == b else f"{names[a]} to {names[b]}" for a, b in zip(first, last, strict=True)]


@dataclass(frozen=True, slots=True)
class JobPieces:
    """Spells of the jobs that had cores more than once; their numbers count from 1, and 0 is for all other jobs."""

    spells: list[Spell]
    attempts: dict[tuple[int, int], dict[Any, Any]]  #: The row of each attempt of these jobs.

    @classmethod
    def of(cls, result: Result) -> JobPieces | None:
        """Return the pieces of a run; None if every job had cores once."""
        by_row = getattr(result, "spells", {})  # which tables that only look like a result do not have
        if not by_row:
            return None
        table = result.attempts
        rows = pd.Index(result.jobs["job_id"]).get_indexer(pd.Index(table["job_id"])).tolist()
        records = zip(rows, table.to_dict("records"), strict=True)
        attempts = {(row, each["attempt"]): each for row, each in records if row in by_row}
        return cls([spell for row in sorted(by_row) for spell in by_row[row]], attempts)

    def numbers(self, owner: np.ndarray, attempt: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Return the number of the spell of each rectangle: of its job (a row), its attempt and its start (s)."""
        known = {(spell.row, spell.attempt, spell.start): place for place, spell in enumerate(self.spells, start=1)}
        keys = zip(owner.tolist(), attempt.tolist(), start.tolist(), strict=True)
        return np.array([known.get(key, 0) for key in keys], np.int64)
