"""Speedups of jobs: their speed over the whole run, relative to the same cores without neighbours."""

from __future__ import annotations

import numpy as np

from cluster_sim.machine.core_ranges import by_unit
from cluster_sim.records.result import Result
from cluster_sim.workload.workload import Workload


def job_speedups(result: Result, workload: Workload) -> np.ndarray:
    """Return the mean speedup in (0, 1] of every row of ``result.jobs``; NaN for jobs that did not run to their end.

    It is the time that the job's work takes alone, on the slowest of its processors at full clock, over the time that
    the job took. A lowered clock and communication between nodes count as slowing, too. ``workload`` has the work of
    the jobs, which a result does not keep; jobs that it lacks have NaN.
    """
    jobs, work = result.jobs, workload.jobs.set_index("job_id")
    work = work.reindex(jobs["job_id"])
    platform = result.platform
    reference = workload.reference_gflops
    at_reference = platform.fastest_ops_per_s if reference is None else reference * 1e9
    logged = work["recorded_run_time"].to_numpy(dtype=float)
    operations = work["operations"].to_numpy(dtype=float)
    operations = np.where(np.isnan(operations), logged * at_reference, operations)
    rates = np.array([kind.ops_per_s for kind in platform.processor_types], dtype=float)
    used, processor = by_unit(result.core_holds.used_by_job, platform.first_core)
    slowest = np.full(len(result.jobs), np.inf)
    np.minimum.at(slowest, used.tenant, rates[platform.type_of_processor[processor]])
    alone = operations / np.where(slowest < np.inf, slowest, np.nan)
    fixed = work["fixed_run_time"].fillna(False).to_numpy(dtype=bool) & np.isnan(
        work["operations"].to_numpy(dtype=float)
    )
    alone = np.where(fixed, logged, alone)
    took = (jobs["finish_time"] - jobs["start_time"]).to_numpy(dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        speedup = np.where(took > 0, alone / took, np.nan)
    speedup[(jobs["state"] != "completed").to_numpy()] = np.nan
    # Rounding of times far from zero may leave a job that ran alone just above one.
    return np.minimum(speedup, 1.0)
