"""A log cut into days, and how much of it came in quick succession (Casagrande et al. 2022, Sections 2.2 and 5.2)."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.errors import InputError, ModelWarning, warn_user

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.platform.platform import Platform
    from cluster_sim.workload.workload import Workload

DAY_S = 86400.0
SEQUENTIAL_S = 300.0
"""Seconds after the job before, within which a submission counts as sequential."""


def day_edges(workload: Workload, at_least: int, midnight_s: float | None) -> list[tuple[int, int, float]]:
    """Return (first row, row behind the last, start in s) of each day that has ``at_least`` submissions."""
    if at_least < 1:
        raise InputError("days, at_least", "a number of jobs >= 1", at_least)
    submit = workload.jobs["submit_time"].to_numpy()
    midnight = first_midnight(workload) if midnight_s is None else midnight_s
    numbers, first, count = np.unique(np.floor((submit - midnight) / DAY_S), return_index=True, return_counts=True)
    rows = zip(numbers.tolist(), first.tolist(), count.tolist(), strict=True)
    return [(low, low + jobs, midnight + number * DAY_S) for number, low, jobs in rows if jobs >= at_least]


def first_midnight(workload: Workload) -> float:
    """Return a midnight, in s on the workload's clock.

    By the SWF header's UnixStartTime and TimeZoneString (UTC where it names no known zone, summer time as on the first
    day); without a UnixStartTime the log's own clock is taken to begin at midnight.
    """
    started = workload.clock_start
    if started is None:
        return -workload.origin_s
    offset = started.utcoffset() or datetime.timedelta()
    return -((started.timestamp() + offset.total_seconds()) % DAY_S) - workload.origin_s


def all_as_executed(days: Sequence[Workload], platform: Platform) -> list[Workload]:
    """Return every day :func:`as_executed`.

    Warns (ModelWarning) of jobs left out; raises InputError if none remains.
    """
    executed = [as_executed(day, platform) for day in days]
    jobs, left = sum(map(len, days)), sum(map(len, executed))
    why = "they did not run, are too wide for the platform or do not say what time they request"
    if jobs and not left:
        raise InputError("days", "jobs that can be simulated", f"none: all {jobs:,} are left out, for {why}")
    if left < jobs:
        empty = sum(not len(day) for day in executed)
        without = f"; {empty:,} of {len(days):,} days are left without jobs" if empty else ""
        warn_user(ModelWarning(f"days: {jobs - left:,} of {jobs:,} jobs left out: {why}{without}"))
    return executed


def as_executed(day: Workload, platform: Platform) -> Workload:
    """Return the jobs of a day as the paper simulates them: those that ran, fit and asked for a time, in whole seconds.

    Where a file counts operations per minute, 3 minutes come out as 179.99999999999997 s, and a job no longer ends in
    the instant in which another arrives. Times are rounded to the microsecond, and hold at any clock.
    """
    day = day.executable(platform)
    jobs = day.jobs.copy()
    worked = jobs["operations"] / platform.fastest_ops_per_s
    jobs["recorded_run_time"] = np.round(worked.where(jobs["operations"].notna(), jobs["recorded_run_time"]), 6)
    jobs["operations"] = np.nan
    jobs["fixed_run_time"] = True
    return type(day)(jobs, day.name, day.origin_s, day.header, day.reference_gflops, day.rebase)


def sequential_share(submit: npt.NDArray[np.float64], gap_s: float = SEQUENTIAL_S) -> float:
    """Return the share of jobs submitted less than ``gap_s`` after the one before.

    The share is of the jobs that follow another; NaN for fewer than two jobs.

    The first job follows none. Were it counted, no day could be entirely sequential, as those of the paper's group 5 are.
    """
    return float((np.diff(submit) < gap_s).mean()) if len(submit) > 1 else float("nan")
