"""Jobs that were started more than once: how often, when first, and what was lost."""

from __future__ import annotations

import datetime
from dataclasses import replace

import pandas as pd

from cluster_sim.amounts import at_time, duration
from cluster_sim.errors import few
from cluster_sim.records.cautions import Cautions
from cluster_sim.records.result import Result
from cluster_sim.run.jobs.attempts import AttemptEnd

HEADINGS = (
    "job",
    "submitted",
    "first start",
    "attempts",
    "stopped, last",
    "core time lost",
    "finished",
    "waited in all",
)
_NAMED = 3
_ANEW = (AttemptEnd.FAILED, AttemptEnd.REQUEUED, AttemptEnd.PREEMPTED)
"""Ends of an attempt after which a job is started again."""


def restarted(result: Result) -> pd.DataFrame:
    """Return the jobs that were stopped and started again, in their order in ``result.jobs``.

    Columns: ``job_id``, ``submit_time``, ``first_start`` and ``finish_time`` (s), ``attempts``, ``reason`` (why the last of
    the others was stopped), ``lost_core_s`` (of all of them), ``wait_time`` (s, in which no attempt ran).
    """
    attempts = result.attempts
    stopped = attempts[attempts["outcome"].astype(str).isin(_ANEW)]
    counts = attempts.groupby("job_id", sort=False)["attempt"].nunique()
    again = stopped[stopped["job_id"].map(counts) > 1]
    by_job = again.groupby("job_id", sort=False)
    jobs = result.jobs.set_index("job_id").reindex(list(by_job.groups))
    found = pd.DataFrame(
        {
            "submit_time": jobs["submit_time"],
            "first_start": attempts.groupby("job_id", sort=False)["start_time"].min().reindex(jobs.index),
            "attempts": counts.reindex(jobs.index),
            "reason": by_job["reason"].last().reindex(jobs.index),
            "lost_core_s": by_job["lost_core_s"].sum().reindex(jobs.index),
            "finish_time": jobs["finish_time"],
            "wait_time": jobs["wait_time"],
        }
    )
    return found.rename_axis("job_id").reset_index()


def cautions_of(result: Result) -> Cautions:
    """Return the cautions of a run, and among what happened the jobs that were started again."""
    cautions = result.cautions
    table = restarted(result)
    if table.empty:
        return cautions
    lost = float(table["lost_core_s"].sum())
    named = few(table["job_id"], _NAMED)
    line = (
        f"started again: {len(table):,} of {len(result.jobs):,} jobs ({named}); {duration(lost)} of core time were lost"
    )
    return replace(cautions, happened=(*cautions.happened, line))


def cells(table: pd.DataFrame, began: datetime.datetime | None = None) -> list[list[str]]:
    """Return rows under :data:`HEADINGS` of a table of :func:`restarted`; times are dates of a run that ``began`` at one."""
    rows = []
    for row in table.to_dict("records"):
        times = (float(row[name]) for name in ("submit_time", "first_start", "finish_time"))
        submitted, first, finished = (at_time(time, began) for time in times)
        lost, waited = duration(float(row["lost_core_s"])), duration(float(row["wait_time"]))
        rows.append(
            [str(row["job_id"]), submitted, first, str(row["attempts"]), str(row["reason"]), lost, finished, waited]
        )
    return rows
