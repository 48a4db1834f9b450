"""The summary of a run: its metrics in the words and units of the fields, as :mod:`cluster_sim.records.metrics` has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from cluster_sim.records.metrics import (
    delays,
    energy_delay_product,
    energy_waste,
    makespan,
    mean_level,
    mean_power,
    node_switches,
    throughput,
    utilisation,
    watt_minutes,
)
from cluster_sim.run.attempts import Outcome
from cluster_sim.workload.fields import SUMMARY_METRICS, names

if TYPE_CHECKING:
    from cluster_sim.machine.core_ranges import Floats
    from cluster_sim.records.accounting import Accounts
    from cluster_sim.records.result import Result


class Changes(NamedTuple):
    """What the tables of jobs and attempts do not say of jobs whose cores changed."""

    busy_core_s: float  #: Core-seconds that jobs computed.
    suspensions: int  #: Times that one lost its cores and kept its work.


class TenantsEnergy(NamedTuple):
    """Energy of who held the cores, J: of each job, all its attempts together, and of each guest."""

    jobs: Floats
    guests: Floats
    lost: float  #: Of the jobs' attempts, by core-seconds, what came to nothing.


def summarise(
    result: Result,
    accounts: Accounts,
    tenants_j: TenantsEnergy,
    horizon: float,
    now: float,
    changes: Changes | None = None,
) -> dict[str, Any]:
    """All metrics of ``SUMMARY_METRICS``, in their order. What has no value (a mean over no jobs) is None."""
    values = job_metrics(result, horizon, now, changes) | _energies(result, accounts, tenants_j, horizon)
    values["edp_js"] = energy_delay_product(values["energy_j"], values["makespan_s"])
    return {name: _plain(values[name]) for name in names(SUMMARY_METRICS)}


def job_metrics(result: Result, horizon: float, now: float, changes: Changes | None = None) -> dict[str, Any]:
    """The metrics that say nothing of energy: from the jobs' table alone, whatever program made it.

    ``changes`` tells of jobs whose cores changed, where there were any.
    """
    jobs = result.jobs
    return {
        **_counts(jobs, now),
        **_times(jobs, result.attempts, horizon, result.platform.core_count, changes),
        **_attempts(jobs, result.attempts, changes),
        **_queue(result.queue, horizon),
    }


def _counts(jobs: pd.DataFrame, now: float) -> dict[str, Any]:
    states = jobs["state"].value_counts()
    return {
        "jobs_submitted": int((jobs["submit_time"] <= now).sum()),
        **{f"jobs_{state}": int(states.get(state, 0)) for state in ("completed", "killed", "rejected", "unfinished")},
    }


def _attempts(jobs: pd.DataFrame, attempts: pd.DataFrame, changes: Changes | None) -> dict[str, Any]:
    preempted = int(attempts["outcome"].isin([Outcome.PREEMPTED, Outcome.CANCELLED]).sum())
    return {
        "jobs_requeued": len(_waits_again(jobs, attempts)),
        "jobs_preempted": preempted + (0 if changes is None else changes.suspensions),
        "lost_core_s": float(attempts["lost_core_s"].sum()),
    }


def _busy_core_s(started: pd.DataFrame, attempts: pd.DataFrame, horizon: float) -> float:
    """Core-seconds that jobs had; what still runs at the end is busy until then."""
    rows, cores = started, started["requested_cores"]
    if (attempts["attempt"] > 1).any():  # then a job's time from its first start to its last finish has gaps
        rows = attempts[attempts["start_time"].notna()].rename(columns={"end_time": "finish_time"})
        cores = rows["job_id"].map(started.set_index("job_id")["requested_cores"])
    return float(((rows["finish_time"].fillna(horizon) - rows["start_time"]) * cores).sum())


def _times(
    jobs: pd.DataFrame, attempts: pd.DataFrame, horizon: float, cores: int, changes: Changes | None
) -> dict[str, Any]:
    ran = jobs[jobs["state"].isin(["completed", "killed"]) & jobs["start_time"].notna()]
    first = float(jobs["submit_time"].min()) if len(jobs) else 0.0
    last = float(ran["finish_time"].max()) if len(ran) else first
    span = makespan(first, last)
    started = jobs[jobs["start_time"].notna()]
    busy = _busy_core_s(started, attempts, horizon) if changes is None else changes.busy_core_s
    # Jobs still running at the end are busy beyond the last completion.
    window = (last if len(ran) == len(started) else horizon) - first
    wait, tardiness = ran["wait_time"], ran["tardiness"].dropna()
    return {
        "first_submission_s": first,
        "last_completion_s": last,
        "makespan_s": span,
        "throughput_jobs_per_h": throughput((ran["state"] == "completed").sum(), span),
        "utilisation": utilisation(busy, cores, window),
        "mean_wait_s": wait.mean(),
        "median_wait_s": wait.median(),
        "p95_wait_s": wait.quantile(0.95),
        "max_wait_s": wait.max(),
        "mean_turnaround_s": ran["turnaround_time"].mean(),
        "mean_slowdown": ran["slowdown"].mean(),
        "mean_bounded_slowdown": ran["bounded_slowdown"].mean(),
        "max_slowdown": ran["slowdown"].max(),
        "max_bounded_slowdown": ran["bounded_slowdown"].max(),
        "mean_stretch": ran["stretch"].mean(),
        "max_stretch": ran["stretch"].max(),
        **_delays(ran),
        "jobs_late": int((tardiness > 0.0).sum()) if len(tardiness) else np.nan,
        "mean_tardiness_s": tardiness.mean(),
        "max_tardiness_s": tardiness.max(),
    }


def _delays(ran: pd.DataFrame) -> dict[str, Any]:
    delay = delays(ran).dropna()
    return {
        "jobs_delayed": len(delay),
        "share_delayed": len(delay) / len(ran) if len(ran) else np.nan,
        "total_delay_s": float(delay.sum()),
    }


def queue_steps(jobs: pd.DataFrame, attempts: pd.DataFrame) -> pd.DataFrame:
    """Pending jobs and their cores as a step function: from eligibility to allocation, or to what else ended the wait.

    A job that joined the queue again waits again, until its next attempt.
    """
    waited = jobs[jobs["allocation_time"].notna() | jobs["finish_time"].notna() | (jobs["state"] == "unfinished")]
    waited = waited[waited["eligible_time"].notna()]
    joins = waited["eligible_time"].to_numpy()
    leaves = waited["allocation_time"].fillna(waited["finish_time"]).to_numpy()
    cores = waited["requested_cores"].to_numpy()
    again = _waits_again(jobs, attempts)
    if len(again):
        joins = np.concatenate([joins, again["joins"].to_numpy()])
        leaves = np.concatenate([leaves, again["leaves"].to_numpy()])
        cores = np.concatenate([cores, again["requested_cores"].to_numpy()])
    left = ~np.isnan(leaves)
    time = np.concatenate([joins, leaves[left]])
    count = np.concatenate([np.ones(len(joins), np.int64), -np.ones(int(left.sum()), np.int64)])
    change = np.concatenate([cores, -cores[left]])
    # The state at a time is what holds when its instant is over.
    instants, which = np.unique(time, return_inverse=True)
    pending = np.cumsum(np.bincount(which, count, len(instants))).astype(np.int64)
    pending_cores = np.cumsum(np.bincount(which, change, len(instants))).astype(np.int64)
    return pd.DataFrame({"time": instants, "pending": pending, "pending_cores": pending_cores})


def _waits_again(jobs: pd.DataFrame, attempts: pd.DataFrame) -> pd.DataFrame:
    """When jobs that had run joined the queue again, and when they left it (NaN: not yet)."""
    later = attempts[attempts["attempt"] > 1]
    last = attempts if later.empty else attempts.drop_duplicates("job_id", keep="last")
    place = pd.Index(jobs["job_id"]).get_indexer(
        pd.Index(last["job_id"])
    )  # a merge of all columns would take ten times as long
    ended, finished = last["end_time"].to_numpy(), jobs["finish_time"].to_numpy()[place]
    is_left = (jobs["state"] == "unfinished").to_numpy()[place]
    waits = (place >= 0) & ~np.isnan(ended) & (is_left | (finished > ended))
    if later.empty and not waits.any():
        return later
    waiting = pd.DataFrame(
        {
            "joins": ended[waits],
            "leaves": finished[waits],
            "requested_cores": jobs["requested_cores"].to_numpy()[place[waits]],
        }
    )
    later = later.merge(jobs[["job_id", "requested_cores"]], on="job_id")
    columns = ["joins", "leaves", "requested_cores"]
    return pd.concat(
        [
            later.rename(columns={"queue_time": "joins", "allocation_time": "leaves"})[columns],
            waiting,
        ]
    )


def _queue(queue: pd.DataFrame, horizon: float) -> dict[str, Any]:
    queue = queue[queue["time"] <= horizon]
    if queue.empty:
        return {"mean_queue_length": np.nan, "max_queue_length": 0}
    time = np.append(queue["time"].to_numpy(), horizon)
    mean = mean_level(queue["pending"].to_numpy(), time)
    return {"mean_queue_length": mean, "max_queue_length": int(queue["pending"].max())}


def _energies(result: Result, accounts: Accounts, tenants_j: TenantsEnergy, horizon: float) -> dict[str, Any]:
    by_state = {state: float(energy.sum()) for state, energy in accounts.nodes.items()}
    nodes = result.nodes
    waste, by_core = energy_waste(by_state), float(nodes["energy_waste_by_core_j"].sum())
    return {
        "energy_j": accounts.total,
        "energy_jobs_j": float(tenants_j.jobs.sum()),
        "energy_guests_j": float(tenants_j.guests.sum()),
        "energy_lost_j": tenants_j.lost,
        "energy_unused_j": float(accounts.unused.sum()),
        **{f"energy_{state.lower()}_j": energy for state, energy in by_state.items()},
        "energy_waste_j": waste,
        "energy_waste_by_core_j": by_core,
        "energy_wmin": watt_minutes(accounts.total),
        "energy_waste_wmin": watt_minutes(waste),
        "energy_waste_by_core_wmin": watt_minutes(by_core),
        "node_switches": node_switches(int(nodes["switches_on"].sum()), int(nodes["switches_off"].sum())),
        "on_off_cycles": int(nodes["on_off_cycles"].sum()),
        "mean_watts": mean_power(accounts.total, horizon),
        "max_watts": float(result.power["watts"].max()),
        "availability": 1.0 - float(nodes["failed_s"].sum()) / (len(nodes) * horizon) if horizon else np.nan,
    }


def _plain(value: Any) -> Any:
    number = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(number, float) and not np.isfinite(number) else number
