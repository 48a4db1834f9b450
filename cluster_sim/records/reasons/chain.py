"""The jobs whose ends a job waited for, one after the other: the critical path of its wait."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cluster_sim.engine import latest
from cluster_sim.errors import InputError
from cluster_sim.records.reasons.explanation import row_of

if TYPE_CHECKING:
    from cluster_sim.machine.core_ranges import Holds, Ints
    from cluster_sim.records.contracts import RunRecords

COLUMNS = ("job_id", "user", "cores", "start", "end", "of_wait_s")


def blocking_chain(result: RunRecords, job_id: str) -> pd.DataFrame:
    """Return a row for each job of the chain, the earliest first. See :meth:`cluster_sim.records.Result.blocking_chain`."""
    where, jobs, attempts = "result.blocking_chain", result.jobs, result.attempts
    row = row_of(jobs, str(job_id), where)
    own = attempts[(attempts["job_id"] == str(job_id)) & attempts["allocation_time"].notna()]
    if own.empty:
        raise InputError(where, "a job that got cores", f"{job_id}, which did not")
    since, time = (float(own.iloc[-1][key]) for key in ("queue_time", "allocation_time"))
    predecessors, links = Predecessors(result), []
    while time > latest(since) and (before := predecessors.of(row, time)):
        job = jobs.iloc[before.row]
        facts = {"job_id": job["job_id"], "user": job["user"], "cores": before.cores}
        links.append(facts | {"start": before.start, "end": time, "of_wait_s": time - max(before.start, since)})
        row, time = before.row, before.start
    return pd.DataFrame(links[::-1], columns=list(COLUMNS))


@dataclass(frozen=True, slots=True)
class Predecessor:
    """A job (its row) that gave cores back at the instant in which another one got its own."""

    row: int
    start: float  #: Since when it had those cores, s.
    cores: int


class Predecessors:
    """The jobs for whose ends the jobs of a run waited; a chain follows them."""

    def __init__(self, result: RunRecords):
        cores = result.core_holds
        held = cores.held.where(cores.held.tenant < len(cores.job))  # and not by guests
        rows = cores.job[held.tenant]
        by_end = np.argsort(held.end, kind="stable")
        self._held, self._rows = held.where(by_end), rows[by_end]
        self._begun = np.argsort(self._held.start, kind="stable")
        self._starts = self._held.start[self._begun]
        self._known: dict[tuple[int, float], Predecessor | None] = {}

    def of(self, row: int, time: float) -> Predecessor | None:
        """Return which job's end let the job of a row begin at ``time`` (s); None if none ended then."""
        if (row, time) not in self._known:
            self._known[row, time] = self._found(row, time)
        return self._known[row, time]

    def _found(self, row: int, time: float) -> Predecessor | None:
        held = self._held
        ended = slice(*(np.searchsorted(held.end, time, side=side) for side in ("left", "right")))
        freed, rows = held.where(ended), self._rows[ended]
        # One that took no time explains no wait.
        others = (freed.start < time) & (rows != row)
        if not others.any():
            return None
        freed, rows = freed.where(others), rows[others]
        widths = freed.last - freed.first + 1
        if (rows == rows[0]).all():
            return Predecessor(int(rows[0]), float(freed.start.min()), int(widths.sum()))
        begun = self._begun[slice(*(np.searchsorted(self._starts, time, side=side) for side in ("left", "right")))]
        mine = held.where(begun[self._rows[begun] == row])
        before = _widest(rows, _in_common(freed, mine)) if len(mine.tenant) else -1
        if before < 0:
            before = _widest(rows, widths)
        link = rows == before
        return Predecessor(before, float(freed.start[link].min()), int(widths[link].sum()))


def _in_common(freed: Holds, mine: Holds) -> Ints:
    """Return how many of the cores of each range that was freed the next one then got."""
    both = np.minimum(freed.last[:, None], mine.last) - np.maximum(freed.first[:, None], mine.first) + 1
    common: Ints = np.maximum(both, 0).sum(axis=1)
    return common


def _widest(rows: Ints, cores: Ints) -> int:
    """Return the job with most of these cores, the first of several; -1 where none has any."""
    known, place = np.unique(rows, return_inverse=True)
    total = np.bincount(place, cores)
    return int(known[np.argmax(total)]) if total.max() > 0 else -1
