"""Rectangles of the cores that were held in a run: which cores, in platform order, from when to when.

A rectangle is an interval of neighbouring cores that one job (or one node state) holds over one interval of time.
All tables are columnar; a run of a million allocation rows takes a second or two.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.gantt_chart.rows import RowScale
from cluster_sim.machine.core_ranges import Holds
from cluster_sim.platform.platform import Platform
from cluster_sim.records.core_holds import CoreHolds
from cluster_sim.records.result import Result

SHOWN_STATES = ("OFF", "SWITCHING_ON", "SWITCHING_OFF", "FAILED")


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


def time_window(result: Result) -> tuple[float, float]:
    """Return first submission and last finish, s (evalys' convention), or the stop of a run with unfinished jobs."""
    jobs = result.jobs
    start = float(jobs["submit_time"].min()) if len(jobs) else 0.0
    started = jobs[jobs["start_time"].notna()]
    running = started["finish_time"].isna().any()
    ends = [result.power["time"].max() if running else np.nan, started["finish_time"].max()]
    end = float(np.nanmax([*ends, start]))
    return start, end if end > start else start + 1.0
