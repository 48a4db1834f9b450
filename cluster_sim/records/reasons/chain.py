"""The jobs whose ends a job waited for, one after the other: the critical path of its wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cluster_sim.engine import latest
from cluster_sim.errors import InputError
from cluster_sim.records.reasons.explanation import row_of

if TYPE_CHECKING:
    import numpy.typing as npt

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
    cores = result.core_holds
    held = cores.held.where(cores.held.tenant < len(cores.job))  # and not by guests
    rows, widths = cores.job[held.tenant], held.last - held.first + 1
    mine = (rows == row) & (held.start == time)
    links: list[dict[str, Any]] = []
    while time > latest(since):
        # One that took no time explains no wait.
        freed = (held.end == time) & (held.start < time) & (rows != row)
        if not freed.any():
            break
        row = _widest(rows[freed], _in_common(held, freed, mine)) if mine.any() else -1
        if row < 0:
            row = _widest(rows[freed], widths[freed])
        link = freed & (rows == row)
        begin = float(held.start[link].min())
        mine = (rows == row) & (held.start == begin)
        job = jobs.iloc[row]
        facts = {"job_id": job["job_id"], "user": job["user"], "cores": int(widths[link].sum())}
        links.append(facts | {"start": begin, "end": time, "of_wait_s": time - max(begin, since)})
        time = begin
    return pd.DataFrame(links[::-1], columns=list(COLUMNS))


def _in_common(held: Holds, freed: npt.NDArray[np.bool_], mine: npt.NDArray[np.bool_]) -> Ints:
    """Return how many of the cores of each range that was freed the next one then got."""
    first, last = held.first[freed][:, None], held.last[freed][:, None]
    both = np.minimum(last, held.last[mine]) - np.maximum(first, held.first[mine]) + 1
    common: Ints = np.maximum(both, 0).sum(axis=1)
    return common


def _widest(rows: Ints, cores: Ints) -> int:
    """Return the job with most of these cores, the first of several; -1 where none has any."""
    known, place = np.unique(rows, return_inverse=True)
    total = np.bincount(place, cores)
    return int(known[np.argmax(total)]) if total.max() > 0 else -1
