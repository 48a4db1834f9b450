"""Rows of a Gantt chart, and the pieces of jobs that had cores more than once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from analysis.gantt_chart.groups import GroupBy, group_names
from cluster_sim.platform.platform import Platform
from cluster_sim.records.reasons.spells import Spell
from cluster_sim.records.result import Result

FEW_CORES = FEW_NODES = 64
"""Up to so many cores each has a row of its own; up to so many nodes, groups of nodes are not folded at first."""
OPEN_PX, GROUP_PX, LEAST_PX, MOST_PX, MOST_SHARE = 18.0, 28.0, 320.0, 2_400.0, 0.8
"""Height of a group's row, open and folded; of all rows; at the most, for many groups; and share that such rows take."""

RowUnit = Literal["node", "core"]
Rows = Literal["auto", "node", "core"]
Folded = Literal["auto", "all", "none"]


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A group of nodes: a row with its name, and under it the rows of its nodes; folded, the row shows their use instead."""

    name: str
    low: float  #: Where its own row begins and ends.
    high: float
    folded: bool


@dataclass(frozen=True, slots=True)
class RowScale:
    """Scale of the y axis: each node owns an interval of it, which its cores divide evenly.

    With unit "node" every node is equally high, with unit "core" as high as it has cores. Either way a core has its own
    place, so jobs that share a node never cover each other. Without groups, node (or core) ``i`` lies about the position
    ``i``. With groups the axis is as long, but each group has a row, in which the nodes of a folded group lie.

    ======================  ==========  =====================================================
    attribute               shape       meaning
    ======================  ==========  =====================================================
    ``unit``                            "node" or "core"
    ``node_low``            nodes       position where a node begins
    ``node_high``           nodes       position where it ends
    ``node_first_core``     nodes + 1   index, in platform order, of a node's first core
    ``height``                          length of the whole axis, in rows
    ``groups``                          the groups of nodes, from top to bottom
    ``group``               nodes       the group of each node
    ``blocks``              blocks + 1  first cores of the runs of nodes of one group, and the core count
    ======================  ==========  =====================================================
    """

    unit: RowUnit
    node_low: np.ndarray
    node_high: np.ndarray
    node_first_core: np.ndarray
    height: float
    groups: tuple[RowGroup, ...] = ()
    group: np.ndarray | None = None
    blocks: np.ndarray | None = None

    @classmethod
    def of(
        cls, platform: Platform, rows: Rows = "auto", group_by: GroupBy | None = None, folded: Folded = "auto"
    ) -> RowScale:
        """Return the scale of a platform; ``rows`` is "node", "core" or "auto" (cores when there are at most 64)."""
        first = platform.first_core[platform.first_processor]
        by_core = rows == "core" or (rows == "auto" and first[-1] <= FEW_CORES)
        unit: RowUnit = "core" if by_core else "node"
        edge = (first if by_core else np.arange(len(first))) - 0.5
        if group_by is None:
            return cls(unit, edge[:-1], edge[1:], first, float(edge[-1] - edge[0]))
        group, names = pd.factorize(np.array(group_names(platform, group_by), dtype=object))
        fold = folded == "all" or (folded == "auto" and len(group) > FEW_NODES)
        groups, low, high = grouped_rows(np.diff(edge), np.diff(first), group, names.tolist(), [fold] * len(names))
        blocks = np.append(first[:-1][np.append(True, np.diff(group) != 0)], first[-1])
        return cls(unit, low, high, first, float(edge[-1] - edge[0]), groups, group, blocks)

    @property
    def ends(self) -> tuple[float, float]:
        """Return where the axis begins and ends."""
        return -0.5, self.height - 0.5

    @property
    def least_px(self) -> float:
        """Return the height (px) below which the rows of groups would have no room."""
        return rows_px(len(self.groups)) if self.groups else 0.0

    @property
    def law(self) -> dict[str, float]:
        """Return the numbers by which :func:`grouped_rows` places rows, for pages."""
        return {"room": self.least_px, "open": OPEN_PX, "folded": GROUP_PX, "most": MOST_SHARE}

    def is_folded(self, first_core: np.ndarray) -> np.ndarray:
        """Return which of these cores are of a node in a folded group."""
        if self.group is None:
            return np.zeros(len(first_core), dtype=bool)
        node = np.searchsorted(self.node_first_core, first_core, side="right") - 1
        found: np.ndarray = np.array([group.folded for group in self.groups])[self.group[node]]
        return found

    def extent(self, first_core: np.ndarray, last_core: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions where intervals of cores, each within a node or reaching over whole ones, begin and end."""
        places = []
        for core, end in ((first_core, 0), (last_core, 1)):
            # The end of a node's last core belongs to it, not to the next node.
            node = np.searchsorted(self.node_first_core, core, side="right") - 1
            begin = self.node_first_core[node]
            share = (core + end - begin) / (self.node_first_core[node + 1] - begin)
            places.append(self.node_low[node] + share * (self.node_high[node] - self.node_low[node]))
        return places[0], places[1]

    def nodes(self, first_core: np.ndarray, last_core: np.ndarray, names: Sequence[str]) -> list[str]:
        """Return the node of each interval of cores, or its first and its last node, of those ``names``."""
        first, last = (
            (np.searchsorted(self.node_first_core, core, side="right") - 1).tolist() for core in (first_core, last_core)
        )
        return [names[a] if a == b else f"{names[a]} to {names[b]}" for a, b in zip(first, last, strict=True)]


def rows_px(groups: int) -> float:
    """Return the height of all rows (px) that gives the rows of so many groups room."""
    return max(LEAST_PX, min(GROUP_PX * groups + 200.0, MOST_PX))


def grouped_rows(
    size: np.ndarray, cores: np.ndarray, group: np.ndarray, names: Sequence[str], folded: Sequence[bool]
) -> tuple[tuple[RowGroup, ...], np.ndarray, np.ndarray]:
    """Return the rows of groups, and where each node begins and ends; ``size`` are the nodes' rows without groups.

    The axis is as long as without groups, however they are folded. In a folded group a node has its share of the cores, so
    that what is covered is what is in use. ``templates/gantt_jobs.js`` has the same law.
    """
    total, is_folded = float(size.sum()), np.array(folded)
    own = np.where(is_folded, GROUP_PX, OPEN_PX) * total / rows_px(len(names))
    open_rows = float(size[~is_folded[group]].sum())
    own *= min(1.0, MOST_SHARE * total / own.sum()) if open_rows else total / own.sum()
    scale = (total - own.sum()) / open_rows if open_rows else 0.0
    low, high = np.empty(len(size)), np.empty(len(size))
    groups, begin = [], -0.5
    for place, name in enumerate(names):
        nodes = np.flatnonzero(group == place)
        end = begin + own[place]
        groups.append(RowGroup(name, begin, end, folded[place]))
        since, rows = end, size[nodes] * scale
        if folded[place]:
            since, rows = begin, cores[nodes] * own[place] / cores[nodes].sum()
        high[nodes] = since + np.cumsum(rows)
        low[nodes] = high[nodes] - rows
        begin = end if folded[place] else float(high[nodes[-1]])
    return tuple(groups), low, high


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
