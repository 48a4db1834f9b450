"""The jobs of a log's days as they ran (Casagrande et al. 2022, Section 5.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cluster_sim.errors import InputError, ModelWarning, warn_user
from cluster_sim.platform.platform import Platform
from cluster_sim.workload.workload import Workload


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
