"""The spells of jobs: times in which an attempt had the same cores, and what came between one and the next.

A job that is run once, in one piece, has one spell. A suspension ends a spell, and so does a change of the job's cores.
"""

from __future__ import annotations

import math
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
    until: float  #: Suspended: when it got cores again, or was stopped, s; inf: neither is known. Else as ``end``.


class Spells(NamedTuple):
    """The spells of some jobs, by their rows, in order of time."""

    ran: dict[int, list[Spell]]  #: In which they ran: of jobs that had cores more than once, or are suspended.
    booted: dict[int, list[Spell]]  #: In which their nodes only booted, and at the end of which they were suspended.

    def of(self, row: int) -> list[Spell]:
        """Return all spells of one job."""
        return sorted([*self.ran.get(row, ()), *self.booted.get(row, ())], key=lambda one: (one.attempt, one.start))


class _Columns(NamedTuple):
    tenant: Ints
    start: Floats
    end: Floats
    cores: Ints


class _Piece(NamedTuple):
    spell: Spell
    had: float  #: Since when the job had its cores, s: it began when its nodes had booted.
    ran: bool


def spells(cores: CoreHolds, attempts: pd.DataFrame, horizon: float) -> Spells:
    """Return the spells of each job that had cores more than once, or is suspended.

    ``horizon`` (s) is where the records end: what lasted until then is not known to have ended.
    """
    index = {job: row for row, job in enumerate(cores.job_ids.tolist())}
    keys = zip((index[job] for job in attempts["job_id"].tolist()), attempts["attempt"].tolist(), strict=True)
    columns = (attempts[name].tolist() for name in ("outcome", "end_time", "over_time"))
    ends = dict(zip(keys, zip(*columns, strict=True), strict=True))
    # Cores of jobs on which no task began, without those that were only kept for a job's next part.
    held, unused = cores.held, np.isnan(cores.used_from) & (cores.held.tenant < len(cores.job))
    held = held.where(concerned := np.isin(held.tenant, held.tenant[unused]))
    never_used = held.where(unused[concerned] & ~reserved(held))
    ran, booted = _of_tenants(cores.used), _of_tenants(never_used)
    table = _Columns(*(np.concatenate(pair) for pair in zip(ran, booted, strict=True)))
    late = cores.used_from > cores.held.start
    held, since = cores.held.where(late), cores.used_from[late]
    had = dict(zip(zip(held.tenant.tolist(), since.tolist(), strict=True), held.start.tolist(), strict=True))
    job = cores.job[table.tenant]
    wanted = np.bincount(job, minlength=len(cores.job_ids)) > 1
    wanted[[row for (row, _), (_, end, over) in ends.items() if end != over]] = True  # NaN: it has not ended
    found: dict[int, list[_Piece]] = {}
    for place in np.flatnonzero(wanted[job]).tolist():
        row, tenant = int(job[place]), int(table.tenant[place])
        attempt = int(cores.attempt[tenant])
        start, end, count = float(table.start[place]), float(table.end[place]), int(table.cores[place])
        outcome, ended, over = ends.get((row, attempt), ("", math.nan, math.nan))
        is_suspended = end < horizon if math.isnan(ended) else over > ended
        then, until = (SUSPENDED, math.inf if math.isnan(over) else over) if is_suspended else (outcome, end)
        spell = Spell(row, attempt, start, end, count, then, until)
        found.setdefault(row, []).append(_Piece(spell, had.get((tenant, start), start), place < len(ran.tenant)))
    told = Spells({}, {})
    for row, pieces in sorted(found.items()):
        pieces.sort(key=lambda piece: (piece.spell.attempt, piece.had, piece.spell.start))
        own = [_joined(piece, after) for piece, after in zip(pieces, [*pieces[1:], None], strict=True)]
        began = [spell for spell, piece in zip(own, pieces, strict=True) if piece.ran]
        if len(began) > 1 or (began and began[0].then == SUSPENDED):
            told.ran[row] = began
        if early := [s for s, piece in zip(own, pieces, strict=True) if not piece.ran and s.then == SUSPENDED]:
            told.booted[row] = early
    return told


def _joined(piece: _Piece, after: _Piece | None) -> Spell:
    """Return a spell that knows what came after it."""
    spell = piece.spell
    if after is None or after.spell.attempt != spell.attempt:
        return spell
    if after.had > spell.end:
        return spell._replace(then=SUSPENDED, until=after.had)
    if not after.ran:
        return spell
    then = RESIZED if after.spell.cores != spell.cores else MOVED
    return spell._replace(then=then, until=after.spell.start)


def _of_tenants(used: Holds) -> _Columns:
    """Make a row for each time that a tenant had cores, whatever their number of ranges; by tenant and time."""
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
    """Return a mask of the holds that keep cores for a job's next part while another of its holds lasts."""
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
