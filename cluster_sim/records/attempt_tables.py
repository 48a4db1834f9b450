"""The table ``attempts``: of a run, from its ledger; of other results, from their jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cluster_sim.run.jobs.attempts import AttemptColumns, AttemptEnd
from cluster_sim.workload.fields import RESULT_COLUMNS

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.core_ranges import Floats, Ints


JOB, GUEST = "job", "guest"
"""Kinds of tenants."""


def numbers_of_attempts(job: Ints) -> Ints:
    """Number the attempts of each job from 1; ``job`` by attempt, in order of allocation."""
    by_job = np.argsort(job, kind="stable")
    first = np.flatnonzero(np.append(True, job[by_job][1:] != job[by_job][:-1]))[: len(job)]
    numbers = np.empty(len(job), np.int64)
    numbers[by_job] = np.arange(len(job)) - np.repeat(first, np.diff(np.append(first, len(job)))) + 1
    return numbers


def attempt_columns(
    attempts: AttemptColumns, job_ids: npt.NDArray[np.object_], eligible: Floats, loaded_core_s: Floats
) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of the table of attempts; ``loaded_core_s`` are the core-seconds that each computed.

    Of an attempt that ended early all of them are lost, unless it is known that it can go on from a checkpoint.
    """
    job, ended = attempts.job, ~np.isnan(attempts.end_time)
    outcome = np.where(ended, str(AttemptEnd.COMPLETED), str(AttemptEnd.UNFINISHED)).astype(object)
    queued, reason, work_done = eligible[job], np.full(len(job), "", object), ended.astype(np.float64)
    over = attempts.end_time.copy()
    for attempt, how in attempts.stopped.items():
        outcome[attempt], work_done[attempt], reason[attempt] = str(how.outcome), how.work_done, how.reason
        if how.suspended_until == how.suspended_until:
            over[attempt] = how.suspended_until
    for attempt, time in attempts.queue_time.items():
        queued[attempt] = time
    number = numbers_of_attempts(job)
    columns = {
        "job_id": job_ids[job],
        "attempt": number,
        "queue_time": queued,
        "allocation_time": attempts.allocation_time,
        "start_time": attempts.start_time,
        "end_time": attempts.end_time,
        "over_time": over,
        "outcome": outcome,
        "reason": reason,
        "work_done": work_done,
        "lost_core_s": lost_core_s(attempts, loaded_core_s),
    }
    order = _in_order(number, job, attempts.allocation_time)
    return {name: columns[name][order] for name in RESULT_COLUMNS["attempts"]}


def lost_core_s(attempts: AttemptColumns, loaded_core_s: Floats) -> Floats:
    """Return the core-seconds of each attempt that came to nothing, of the ``loaded_core_s`` that it computed."""
    lost = np.zeros(len(attempts.job))
    for attempt, how in attempts.stopped.items():
        lost[attempt] = loaded_core_s[attempt] if how.lost_core_s is None else how.lost_core_s
    return lost


# ---------------------------------------------------------------------- results that other programs, or versions, left


def attempts_of(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the attempts if every job that got cores was run once. A job that was refused later had been requeued."""
    ran = jobs[jobs["allocation_time"].notna()]
    outcome = ran["state"].replace({"killed": AttemptEnd.KILLED, "rejected": AttemptEnd.REQUEUED})
    seconds = (ran["finish_time"] - ran["start_time"]) * ran["requested_cores"]
    columns = {
        "job_id": ran["job_id"],
        "attempt": 1,
        "queue_time": ran["eligible_time"],
        "allocation_time": ran["allocation_time"],
        "start_time": ran["start_time"],
        "end_time": ran["finish_time"],
        "over_time": ran["finish_time"],
        "outcome": outcome,
        "reason": ran["reason"],
        "work_done": np.where(ran["state"] == "completed", 1.0, np.nan),
        "lost_core_s": np.where(ran["state"].isin(["killed", "rejected"]), seconds.fillna(0.0), 0.0),
    }
    table = pd.DataFrame(columns, columns=RESULT_COLUMNS["attempts"])
    order = _in_order(table["attempt"], np.arange(len(table)), table["allocation_time"])
    return table.iloc[order].reset_index(drop=True)


def with_over_time(attempts: pd.DataFrame, jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the table of attempts with the column ``over_time`` (when each was over), which older results lack.

    One after which its job joined the queue again was over then; the last of a job that was killed with it, at the end of
    that job. Those had been suspended meanwhile, if they gave their cores back sooner. Of others it is not known.
    """
    again = attempts.groupby("job_id", sort=False)["queue_time"].shift(-1)
    of_job = jobs.set_index("job_id").loc[attempts["job_id"], ["finish_time", "state", "reason"]].reset_index(drop=True)
    last = ~attempts["job_id"].duplicated(keep="last")
    killed = last & attempts["outcome"].isin(_KILLS) & (of_job["state"] == "killed")
    over = attempts["end_time"].where(~attempts["outcome"].isin(_REJOINS) | again.isna(), again)
    # A job that failed, joined the queue again and was killed there, was killed for another reason.
    over = over.where(~killed | (of_job["reason"] != attempts["reason"]), of_job["finish_time"])
    table = attempts.copy()
    table.insert(RESULT_COLUMNS["attempts"].index("over_time"), "over_time", over)
    return table


_REJOINS = (AttemptEnd.REQUEUED, AttemptEnd.PREEMPTED, AttemptEnd.FAILED)
"""Ends of attempts after which a job joins the queue again in that instant."""
_KILLS = (AttemptEnd.KILLED, AttemptEnd.FAILED, AttemptEnd.TIMEOUT, AttemptEnd.CANCELLED)
"""Ends of attempts with which a job may be over."""


def _in_order(number: npt.ArrayLike, job: Ints, allocation_time: npt.ArrayLike) -> Ints:
    """Return the order of allocation; within one instant the order of the jobs."""
    return np.lexsort((number, job, allocation_time))  # type: ignore[arg-type]


def attempts_tell_more(attempts: pd.DataFrame) -> bool:
    """Return whether the attempts say more than the jobs: only they say which ended early, how, and with what done."""
    return not attempts["outcome"].isin([AttemptEnd.COMPLETED, AttemptEnd.UNFINISHED]).all()
