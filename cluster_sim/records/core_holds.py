"""Which cores were whose, and from when to when, in numbers: what the tables ``holds`` and ``allocations`` and all charts read.

Cores are counted through the platform, in its order. Names of nodes and processors are made only for tables that users
or files get, and read back only where a result is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cluster_sim.machine.core_ranges import Holds, by_unit, units_of
from cluster_sim.records.attempt_tables import GUEST, JOB
from cluster_sim.workload.fields import RESULT_COLUMNS

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.core_ranges import Floats, Ints
    from cluster_sim.platform.platform import Platform

ROWS_OF_PART = 500_000
"""Rows of a table that are written at a time."""


@dataclass(frozen=True)
class CoreHolds:
    """The cores that jobs and guests held, as the ledger writes them down.

    The tenants of :attr:`held` and :attr:`used` are numbered: first the attempts to run jobs, then the guests.
    """

    job_ids: npt.NDArray[np.object_]  #: Of the rows of ``result.jobs``.
    job: Ints  #: Of each attempt: its job's row in ``result.jobs``,
    attempt: Ints  #: and which of the job's attempts it is, from 1.
    guests: Sequence[str]  #: Names of the guests, by number.
    held: Holds  #: Cores that were held, from the allocation on; booting included.
    used_from: Floats  #: Since when a job's tasks used each of these, s; NaN: they never did, or it is a guest's.

    @cached_property
    def used(self) -> Holds:
        """Return cores of jobs from when their tasks began."""
        began = ~np.isnan(self.used_from)
        held, since = (self.held, self.used_from) if began.all() else (self.held.where(began), self.used_from[began])
        return Holds(held.tenant, held.first, held.last, since, held.end)

    @property
    def tells_more(self) -> bool:
        """Return whether holds say more than uses: a job had cores several times, or a guest or no task had some."""
        several = bool((self.attempt > 1).any()) or self.has_changes
        return several or len(self.guests) > 0 or bool(np.isnan(self.used_from).any())

    @cached_property
    def has_changes(self) -> bool:
        """Return whether an attempt did not have all its cores in one time: it was suspended, or its cores changed."""
        order = np.argsort(self.held.tenant, kind="stable")
        tenant, start, end = (column[order] for column in (self.held.tenant, self.held.start, self.held.end))
        several = (start[1:] != start[:-1]) | (end[1:] != end[:-1])
        return bool((several & (tenant[1:] == tenant[:-1]) & (tenant[1:] < len(self.job))).any())

    @property
    def used_by_job(self) -> Holds:
        """Return the cores in use, with the rows of the jobs for tenants, in that order."""
        job = self.job[self.used.tenant]
        return self.used.of(job).where(np.argsort(job, kind="stable"))

    @property
    def used_core_s(self) -> Floats:
        """Return core-seconds of each row of ``result.jobs``, all its attempts together: cores may change meanwhile."""
        used = self.used
        seconds = np.nan_to_num(np.maximum(used.end - used.start, 0.0))
        core_s = (used.last - used.first + 1) * seconds
        return np.bincount(self.job[used.tenant], core_s, len(self.job_ids)).astype(np.float64)

    def of_guests(self) -> Holds:
        """Return what guests held, with their places in :attr:`guests` for tenants."""
        held = self.held.where(self.held.tenant >= len(self.job))
        return held.of(held.tenant - len(self.job))

    def allocation_table(self, platform: Platform) -> pd.DataFrame:
        """Return the table ``allocations``: jobs in the order of ``result.jobs``."""
        return allocation_table(platform, self.used_by_job, self.job_ids)

    @property
    def owners(self) -> npt.NDArray[np.object_]:
        """Return the id of the job, or the name of the guest, of each tenant."""
        return np.concatenate([self.job_ids[self.job], np.array(self.guests, object)])

    @property
    def attempts(self) -> Ints:
        """Return the number of each tenant's attempt among those of its job; 0 for guests."""
        return np.concatenate([self.attempt, np.zeros(len(self.guests), np.int64)])

    @property
    def in_order(self) -> Holds:
        """Return :attr:`held` in order of time; in one instant jobs in the order of ``result.jobs``, then guests."""
        return self.held.where(self._order)

    @property
    def _order(self) -> Ints:
        rows = np.concatenate([self.job, np.full(len(self.guests), len(self.job_ids))])
        return np.lexsort((rows[self.held.tenant], self.held.start))

    def hold_table(self, platform: Platform) -> pd.DataFrame:
        """Return the table ``holds``, in that order."""
        order = self._order
        held = self.held.where(order)
        tenant, columns = _piece_columns(platform, held)
        used_from = np.repeat(self.used_from[order], units_of(held, platform.first_core)[1])
        columns |= {
            "owner": self.owners[tenant],
            "kind": np.where(tenant < len(self.job), JOB, GUEST).astype(object),
            "attempt": self.attempts[tenant],
            "used_from": used_from,
        }
        return pd.DataFrame(columns, columns=RESULT_COLUMNS["holds"])

    def texts_in_parts(self, platform: Platform) -> Iterator[tuple[slice, npt.NDArray[np.object_]]]:
        """Yield for some rows of the jobs at a time these rows, and the cores of each job's last attempt as text.

        ``cluster0.node1.processor0:0-3;…``; empty if the job never started.
        """
        last = np.zeros(len(self.job_ids), np.int64)
        np.maximum.at(last, self.job, self.attempt)
        used = self.used.where((self.attempt == last[self.job])[self.used.tenant])
        job = self.job[used.tenant]
        order = np.argsort(job, kind="stable")
        used, job = used.of(job).where(order), job[order]
        cores = np.bincount(job, used.last - used.first + 1, len(self.job_ids))
        for first, stop in pairwise(bounds_of_parts(cores)):
            part = slice(*np.searchsorted(job, (first, stop)))
            tenant, columns = _piece_columns(platform, used.of(used.tenant - first).where(part))
            low, high = (columns[name].astype(str).astype(object) for name in ("first_core", "last_core"))
            pieces = columns["node"] + "." + columns["processor"] + ":" + low + "-" + high
            bounds = np.searchsorted(tenant, np.arange(stop - first + 1)).tolist()
            yield slice(first, stop), np.array([";".join(pieces[i:j]) for i, j in pairwise(bounds)], object)


def allocation_table(platform: Platform, used: Holds, job_ids: npt.NDArray[np.object_]) -> pd.DataFrame:
    """Make the table ``allocations`` of cores in use, in their order; ``job_ids`` are those of the tenants."""
    tenant, columns = _piece_columns(platform, used)
    return pd.DataFrame({"job_id": job_ids[tenant], **columns}, columns=RESULT_COLUMNS["allocations"])


def _piece_columns(platform: Platform, holds: Holds) -> tuple[Ints, dict[str, npt.NDArray[Any]]]:
    """Cut holds at the bounds of processors: the tenant of each piece, and the columns of where and when."""
    names = np.array(platform.node_names(), object)
    pieces, unit = by_unit(holds, platform.first_core)
    node = np.searchsorted(platform.first_processor, unit, side="right") - 1
    within = unit - platform.first_processor[node]
    processors = np.array([f"processor{i}" for i in range(int(within.max(initial=0)) + 1)], object)
    return pieces.tenant, {
        "node": names[node],
        "processor": processors[within],
        "first_core": pieces.first - platform.first_core[unit],
        "last_core": pieces.last - platform.first_core[unit],
        "start": pieces.start,
        "end": pieces.end,
    }


def named_pieces(holds: Holds, platform: Platform) -> list[str]:
    """Name each piece of holds within one processor: ``cluster0.node1.processor0:0-3``, or ``…:2`` of one core."""
    _, columns = _piece_columns(platform, holds)
    first, last = (columns[name].astype(str).astype(object) for name in ("first_core", "last_core"))
    cores = np.where(first == last, first, first + "-" + last)
    texts: list[str] = (columns["node"] + "." + columns["processor"] + ":" + cores).tolist()
    return texts


def bounds_of_parts(rows: npt.NDArray[np.number]) -> list[int]:
    """Return where to cut a sequence into parts of some ``ROWS_OF_PART`` rows. Each element makes so many rows."""
    part = np.cumsum(rows) // ROWS_OF_PART
    return [0, *(np.flatnonzero(part[1:] > part[:-1]) + 1).tolist(), len(rows)]
