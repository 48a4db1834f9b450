"""The tables ``attempts`` and ``holds``: of a run, from its ledger; of other results, from their jobs and allocations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cluster_sim.machine.core_ranges import spread
from cluster_sim.run.attempts import Outcome
from cluster_sim.workload.fields import RESULT_TABLES, names

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.core_ranges import Floats, Holds, Ints
    from cluster_sim.platform.platform import Platform
    from cluster_sim.run.attempts import AttemptColumns

JOB, GUEST = "job", "guest"
"""Kinds of tenants."""


def numbers_of_attempts(job: Ints) -> Ints:
    """Which attempt of its job each attempt is, counted from 1; ``job`` by attempt, in order of allocation."""
    by_job = np.argsort(job, kind="stable")
    first = np.flatnonzero(np.append(True, job[by_job][1:] != job[by_job][:-1]))[: len(job)]
    numbers = np.empty(len(job), np.int64)
    numbers[by_job] = np.arange(len(job)) - np.repeat(first, np.diff(np.append(first, len(job)))) + 1
    return numbers


def attempt_table(
    attempts: AttemptColumns, job_ids: npt.NDArray[np.object_], eligible: Floats, loaded_core_s: Floats
) -> pd.DataFrame:
    """One row per attempt of a run; ``loaded_core_s`` are the core-seconds that each of them computed.

    Of an attempt that ended early all of them are lost.
    """
    job, ended = attempts.job, ~np.isnan(attempts.end_time)
    outcome = np.where(ended, str(Outcome.COMPLETED), str(Outcome.UNFINISHED)).astype(object)
    queued, reason, work_done = eligible[job], np.full(len(job), "", object), ended.astype(np.float64)
    lost = np.zeros(len(job))
    for attempt, how in attempts.stopped.items():
        outcome[attempt], work_done[attempt], reason[attempt] = str(how.outcome), how.work_done, how.reason
        lost[attempt] = loaded_core_s[attempt]
    for attempt, time in attempts.queue_time.items():
        queued[attempt] = time
    columns = {
        "job_id": job_ids[job],
        "attempt": numbers_of_attempts(job),
        "queue_time": queued,
        "allocation_time": attempts.allocation_time,
        "start_time": attempts.start_time,
        "end_time": attempts.end_time,
        "outcome": outcome,
        "reason": reason,
        "work_done": work_done,
        "lost_core_s": lost,
    }
    return pd.DataFrame(columns, columns=names(RESULT_TABLES["attempts"]), copy=False)


def piece_columns(platform: Platform, holds: Holds) -> tuple[Ints, dict[str, npt.NDArray[np.generic]]]:
    """Holds cut at the bounds of processors: the tenant of each piece, and the columns that say where and when."""
    bounds = platform.first_core
    first_unit = np.searchsorted(bounds, holds.first, side="right") - 1
    count = np.searchsorted(bounds, holds.last, side="right") - first_unit
    unit = spread(first_unit, count)
    node = np.searchsorted(platform.first_processor, unit, side="right") - 1
    within = unit - platform.first_processor[node]
    processors = np.array([f"processor{i}" for i in range(int(within.max(initial=0)) + 1)], object)
    return np.repeat(holds.tenant, count), {
        "node": np.array(platform.node_names(), object)[node],
        "processor": processors[within],
        "first_core": np.maximum(np.repeat(holds.first, count), bounds[unit]) - bounds[unit],
        "last_core": np.minimum(np.repeat(holds.last, count), bounds[unit + 1] - 1) - bounds[unit],
        "start": np.repeat(holds.start, count),
        "end": np.repeat(holds.end, count),
    }


def allocation_table(platform: Platform, loads: Holds, job_ids: npt.NDArray[np.object_]) -> pd.DataFrame:
    """The table ``allocations`` of cores in use; ``job_ids`` are those of the tenants by number."""
    tenant, columns = piece_columns(platform, loads)
    return pd.DataFrame({"job_id": job_ids[tenant], **columns}, columns=names(RESULT_TABLES["allocations"]))


# ---------------------------------------------------------------------- results that other programs, or versions, left


def attempts_of(jobs: pd.DataFrame) -> pd.DataFrame:
    """The table of attempts where every job that got cores was run once."""
    ran = jobs[jobs["allocation_time"].notna()]
    outcome = ran["state"].where(ran["state"] != "killed", Outcome.KILLED)
    seconds = (ran["finish_time"] - ran["start_time"]) * ran["requested_cores"]
    columns = {
        "job_id": ran["job_id"],
        "attempt": 1,
        "queue_time": ran["eligible_time"],
        "allocation_time": ran["allocation_time"],
        "start_time": ran["start_time"],
        "end_time": ran["finish_time"],
        "outcome": outcome,
        "reason": ran["reason"],
        "work_done": np.where(ran["state"] == "completed", 1.0, np.nan),
        "lost_core_s": np.where(ran["state"] == "killed", seconds.fillna(0.0), 0.0),
    }
    return pd.DataFrame(columns, columns=names(RESULT_TABLES["attempts"])).reset_index(drop=True)


def attempts_tell_more(attempts: pd.DataFrame) -> bool:
    """Whether the attempts say more than the jobs do: some ended early, and how, and with what done, stands only here."""
    return not attempts["outcome"].isin([Outcome.COMPLETED, Outcome.UNFINISHED]).all()


def last_allocations(holds: pd.DataFrame) -> pd.DataFrame:
    """Of each job what it held in its last attempt, as rows of ``allocations`` that stand together."""
    held = holds[holds["kind"] == JOB].rename(columns={"owner": "job_id"})
    last = held.groupby("job_id")["attempt"].transform("max")
    return held[held["attempt"] == last].sort_values("job_id", kind="stable")


def allocations_of(holds: pd.DataFrame, attempts: pd.DataFrame) -> pd.DataFrame:
    """The table of allocations from holds: from when the tasks of each attempt began."""
    held = holds[holds["kind"] == JOB].rename(columns={"owner": "job_id"})
    began = held.merge(attempts[["job_id", "attempt", "start_time"]], how="left", on=["job_id", "attempt"])[
        "start_time"
    ]
    held = held.assign(start=np.maximum(held["start"].to_numpy(), began.to_numpy()))
    started: pd.DataFrame = held[held["start"].notna()]
    return started[names(RESULT_TABLES["allocations"])].reset_index(drop=True)


def holds_of(jobs: pd.DataFrame, allocations: pd.DataFrame) -> pd.DataFrame:
    """The table of holds where every job that got cores was run once, and no guest held any."""
    since = jobs.set_index("job_id")["allocation_time"]
    table = allocations.rename(columns={"job_id": "owner"}).assign(kind=JOB, attempt=1)
    table["start"] = table["owner"].map(since)
    columns: pd.DataFrame = table[names(RESULT_TABLES["holds"])]
    return columns
