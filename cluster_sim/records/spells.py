"""The spells of jobs: times in which an attempt had the same cores, and what came between one and the next.

A job that is run once, in one piece, has one spell. A suspension ends a spell, and so does a change of the job's cores.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from cluster_sim.machine.core_ranges import Floats, Holds, Ints
    from cluster_sim.records.core_holds import CoreHolds

SUSPENDED, RESIZED, MOVED = "suspended", "resized", "moved"


class Spell(NamedTuple):
    """A job had ``cores`` cores from ``start`` to ``end`` (s)."""

    row: int  #: Of the job in ``result.jobs``.
    attempt: int  #: Which of the job's, from 1.
    start: float
    end: float
    cores: int
    then: str  #: ``suspended``, ``resized`` or ``moved``; else how the attempt ended.
    until: float  #: Suspended: when it had cores again, or was stopped, s; inf: neither is known. Else as ``end``.


class _Columns(NamedTuple):
    tenant: Ints
    start: Floats
    end: Floats
    cores: Ints


def spells(cores: CoreHolds, attempts: pd.DataFrame, horizon: float) -> dict[int, list[Spell]]:
    """The spells of each job that had cores more than once, or is suspended, by its row, in order of time.

    ``horizon`` (s) is where the records end: what lasted until then is not known to have ended.
    """
    index = {job: row for row, job in enumerate(cores.job_ids.tolist())}
    keys = zip((index[job] for job in attempts["job_id"].tolist()), attempts["attempt"].tolist(), strict=True)
    columns = (attempts[name].tolist() for name in ("outcome", "end_time", "over_time"))
    ends = dict(zip(keys, zip(*columns, strict=True), strict=True))
    table = _of_tenants(cores.used)
    job = cores.job[table.tenant]
    number = np.bincount(job, minlength=len(cores.job_ids))
    wanted = number > 1
    wanted[[row for (row, _), (_, end, over) in ends.items() if end != over]] = True  # NaN: it has not ended
    found: dict[int, list[Spell]] = {}
    for place in np.flatnonzero(wanted[job]).tolist():
        row, attempt = int(job[place]), int(cores.attempt[table.tenant[place]])
        start, end, count = float(table.start[place]), float(table.end[place]), int(table.cores[place])
        outcome, ended, over = ends.get((row, attempt), ("", math.nan, math.nan))
        is_suspended = end < horizon if math.isnan(ended) else over > ended
        then, until = (SUSPENDED, math.inf if math.isnan(over) else over) if is_suspended else (outcome, end)
        found.setdefault(row, []).append(Spell(row, attempt, start, end, count, then, until))
    for row, own in list(found.items()):
        own.sort(key=lambda spell: (spell.attempt, spell.start))
        for place, (spell, after) in enumerate(pairwise(own)):
            if after.attempt == spell.attempt:
                own[place] = spell._replace(then=_between(spell, after), until=after.start)
        if len(own) == 1 and own[0].then != SUSPENDED:
            del found[row]
    return dict(sorted(found.items()))


def _between(spell: Spell, after: Spell) -> str:
    if after.start > spell.end:
        return SUSPENDED
    return RESIZED if after.cores != spell.cores else MOVED


def _of_tenants(used: Holds) -> _Columns:
    """One row for each time that a tenant had cores, whatever their number of ranges; by tenant and time."""
    used = used.where(np.lexsort((used.end, used.start, used.tenant)))
    if not len(used.tenant):
        return _Columns(used.tenant, used.start, used.end, np.zeros(0, np.int64))
    begins = (used.tenant[1:] != used.tenant[:-1]) | (used.start[1:] != used.start[:-1])
    last = np.flatnonzero(np.append(begins, True))
    longest = used.end[np.repeat(last, np.diff(last, prepend=-1))]
    used = used.where((used.end > used.start) | (longest == used.start))  # not what it got and gave up in one instant
    tenant, start = used.tenant, used.start
    first = np.flatnonzero(np.append(True, (tenant[1:] != tenant[:-1]) | (start[1:] != start[:-1])))
    cores = np.add.reduceat(used.last - used.first + 1, first)
    return _Columns(tenant[first], start[first], used.end[first], cores)


def reserved(held: Holds) -> npt.NDArray[np.bool_]:
    """Which holds are of cores that are kept for a job's next part while another of its holds lasts."""
    order = np.lexsort((held.end, held.start, held.tenant))
    tenant, start, end = (column[order].tolist() for column in (held.tenant, held.start, held.end))
    found = np.zeros(len(order), bool)
    last, began, until = -1, 0.0, 0.0
    for place, (whose, since, to) in enumerate(zip(tenant, start, end, strict=True)):
        if whose == last and began < since < until:
            found[order[place]] = True
        else:
            last, began, until = whose, since, to
    return found
