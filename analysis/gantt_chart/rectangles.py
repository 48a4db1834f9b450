"""Rectangles of the cores that were held in a run: which cores, in platform order, from when to when.

A rectangle is an interval of neighbouring cores that one job (or one node state) holds over one interval of time.
All tables are columnar; a run of a million allocation rows takes a second or two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from cluster_sim.machine.core_ranges import Holds
from cluster_sim.platform.platform import Platform
from cluster_sim.records.core_holds import CoreHolds

FEW_CORES = 64
SHOWN_STATES = ("OFF", "SWITCHING_ON", "SWITCHING_OFF", "FAILED")

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


def job_rectangles(cores: CoreHolds, scale: RowScale) -> pd.DataFrame:
    """Return the rectangles of all jobs whose tasks used cores.

    Columns: ``owner`` (row of the job in ``result.jobs``), ``first_core``, ``last_core`` (platform order, both included),
    ``start``, ``end`` (s), ``low``, ``high`` (rows), ``attempt`` (which of the job's, from 1).
    """
    table = rectangles_of(cores.used, scale)
    attempt = table["owner"].to_numpy()
    return table.assign(owner=cores.job[attempt], attempt=cores.attempt[attempt])


def guest_rectangles(cores: CoreHolds, scale: RowScale) -> pd.DataFrame:
    """Return the rectangles of all guests that held cores; ``owner`` is the place in ``cores.guests``."""
    return rectangles_of(cores.of_guests(), scale)


def state_rectangles(node_states: pd.DataFrame, platform: Platform, scale: RowScale, until: float) -> pd.DataFrame:
    """Return the rectangles of states in which a node cannot work; ``owner`` is the index in ``SHOWN_STATES``."""
    owner = pd.Index(SHOWN_STATES).get_indexer(pd.Index(node_states["state"].astype(str)))
    shown, owner = node_states[owner >= 0], owner[owner >= 0]
    node = platform.node_indices(shown["node"])
    first, last = scale.node_first_core[node], scale.node_first_core[node + 1] - 1
    start, end = shown["start"].to_numpy(dtype=float), shown["end"].fillna(until).to_numpy(dtype=float)
    return rectangles_of(Holds(owner, first, last, start, end), scale)


def rectangles_of(holds: Holds, scale: RowScale) -> pd.DataFrame:
    """Return the rectangles of holds; those of one tenant and time on neighbouring cores are joined."""
    holds = holds.where(np.lexsort((holds.first, holds.end, holds.start, holds.tenant))).joined()
    return pd.DataFrame(
        {
            "owner": holds.tenant,
            "first_core": holds.first,
            "last_core": holds.last,
            "start": holds.start,
            "end": holds.end,
            "low": scale.low(holds.first),
            "high": scale.high(holds.last),
        }
    )


def busy_fraction(rectangles: pd.DataFrame, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the share of each cell of an even grid that rectangles cover: shape ``(len(y) - 1, len(x) - 1)``.

    ``x`` (s) and ``y`` (rows) are the cells' edges. Exact, also for rectangles smaller than a cell: the corners of a
    rectangle are deposited as point masses, shared linearly between two cells on each axis; summing along both axes
    then gives the covered area of every cell.
    """
    step_x, step_y = x[1] - x[0], y[1] - y[0]
    columns, rows = len(x) - 1, len(y) - 1
    shape = (rows + 2, columns + 2)
    mass = np.zeros(shape[0] * shape[1])
    for x_edge, x_sign in (("start", 1.0), ("end", -1.0)):
        for y_edge, y_sign in (("low", 1.0), ("high", -1.0)):
            for column, x_share in _linear_shares((rectangles[x_edge].to_numpy() - x[0]) / step_x, columns):
                for row, y_share in _linear_shares((rectangles[y_edge].to_numpy() - y[0]) / step_y, rows):
                    weight = x_sign * y_sign * x_share * y_share
                    mass += np.bincount(row * shape[1] + column, weights=weight, minlength=len(mass))
    covered: np.ndarray = mass.reshape(shape).cumsum(axis=0).cumsum(axis=1)[:rows, :columns]
    return covered.clip(0.0, 1.0)


def _linear_shares(position: np.ndarray, cells: int) -> list[tuple[np.ndarray, np.ndarray]]:
    position = np.clip(position, 0.0, float(cells))
    cell = position.astype(np.int64)
    beyond = position - cell
    return [(cell, 1.0 - beyond), (cell + 1, beyond)]
