"""The last unbroken time of each job, for formats that have one time and one set of cores for a job.

A job that was run again, suspended, or had its cores changed did not hold the same cores from its start to its finish; a
table that says so of all its cores has them twice, while other jobs held them. What is true of such a job is the time at
its end in which it ran without a break, and the cores that it kept throughout:

* a new attempt and a suspension are breaks: what was before them is left out;
* a change of cores is none as long as a core remains that the job had before and after: the time counts as a whole,
  and of the cores those that it kept.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cluster_sim.errors import counted
from cluster_sim.machine.core_ranges import spread
from cluster_sim.records.reasons.spells import MOVED, RESIZED, SUSPENDED

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.core_ranges import Floats, Holds, Ints
    from cluster_sim.records.result import Result


class Unbroken(NamedTuple):
    """Last unbroken time (s) and cores of each row of ``result.jobs``; NaN and no cores for a job that never ran."""

    start: Floats
    end: Floats
    cores: list[list[tuple[int, int]]]  #: First and last of each range, rising, counted through the platform.
    in_pieces: npt.NDArray[np.bool_]  #: Whether the job is over and has had other cores or times besides.


def unbroken_times(result: Result) -> Unbroken:
    """Return the last unbroken time of each job: from start to finish if it ran once on the same cores."""
    jobs = result.jobs
    start, end = (jobs[name].to_numpy(dtype=float).copy() for name in ("start_time", "finish_time"))
    end[np.isnan(start)] = np.nan
    cores: list[list[tuple[int, int]]] = [[] for _ in range(len(jobs))]
    is_over = jobs["state"].to_numpy() != "unfinished"
    used = result.core_holds.used_by_job
    whole = (used.start == start[used.tenant]) & (used.end == end[used.tenant])
    in_pieces = np.zeros(len(jobs), bool)
    in_pieces[used.tenant[~whole]] = True
    in_pieces &= is_over
    for row, low, high in zip(used.tenant.tolist(), used.first.tolist(), used.last.tolist(), strict=True):
        if not in_pieces[row]:
            cores[row].append((low, high))
    for own in cores:
        own.sort()
    # The cores in use in the last attempt of each job in pieces, by the job's row.
    holds = result.core_holds
    in_use = holds.used.where(in_pieces[holds.job[holds.used.tenant]])
    job, attempt = holds.job[in_use.tenant], holds.attempt[in_use.tenant]
    last_attempt = np.zeros(len(jobs), np.int64)
    np.maximum.at(last_attempt, job, attempt)
    chosen = np.flatnonzero(attempt == last_attempt[job])
    last = in_use.of(job).where(chosen[np.argsort(job[chosen], kind="stable")])
    bounds = np.searchsorted(last.tenant, np.arange(len(jobs) + 1))
    for row in np.flatnonzero(in_pieces).tolist():
        since, until, kept = _kept(last.where(slice(bounds[row], bounds[row + 1])))
        start[row], end[row] = since, until
        cores[row] = [(core, core) for core in kept.tolist()]
    return Unbroken(start, end, cores, in_pieces)


def told_of_pieces(result: Result, in_pieces: npt.NDArray[np.bool_]) -> str:
    """Return how many jobs ran in pieces, and for what reason, in words; empty if none did."""
    rows = set(np.flatnonzero(in_pieces).tolist())
    if not rows:
        return ""
    spells = result.all_spells
    ends = {row: {spell.then for spell in spells.of(row)} for row in rows}
    suspended = {row for row in rows if SUSPENDED in ends[row]}
    changed = {row for row in rows if ends[row] & {RESIZED, MOVED}}
    attempts = result.attempts["job_id"].value_counts()
    ids = result.jobs["job_id"].tolist()
    again = {row for row in rows if attempts.get(ids[row], 0) > 1} | (rows - suspended - changed)
    reasons = [
        f"{len(some):,} {what}"
        for some, what in (
            (again, "stopped and queued again"),
            (suspended, "suspended"),
            (changed, "with a change of cores"),
        )
        if some
    ]
    return f"{len(rows):,} of {counted(len(in_pieces), 'job')} ran in pieces ({', '.join(reasons)})"


def _kept(used: Holds) -> tuple[float, float, Ints]:
    """Return the unbroken time (from, to) at the end of an attempt, and the cores that it kept throughout."""
    edges = np.unique(np.concatenate([used.start, used.end])).tolist()
    since = until = edges[-1]
    kept = _cores(used.where(used.end == until))  # of an attempt that lasted no time
    for begin, stop in reversed(list(pairwise(edges))):
        held = _cores(used.where((used.start <= begin) & (used.end >= stop)))
        common = held if since == until else np.intersect1d(kept, held, assume_unique=True)
        if not len(common):
            break
        since, kept = begin, common
    return since, until, kept


def _cores(used: Holds) -> Ints:
    return np.unique(spread(used.first, used.last - used.first + 1))
