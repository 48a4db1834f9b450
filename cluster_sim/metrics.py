"""The metrics of a run, in the words and units of ``cluster_sim.fields``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cluster_sim.fields import SUMMARY_METRICS, names
from cluster_sim.node import NodeState

if TYPE_CHECKING:
    from cluster_sim.accounting import Accounts
    from cluster_sim.records import Result


def summarise(
    result: Result,
    accounts: Accounts,
    transitions: list[tuple[float, int, NodeState, float]],
    horizon: float,
    now: float,
) -> dict[str, Any]:
    """All metrics of ``SUMMARY_METRICS``, in their order. What has no value (a mean over no jobs) is None."""
    jobs = result.jobs
    values: dict[str, Any] = {
        **_counts(jobs, now),
        **_times(jobs, horizon, result.platform.core_count),
        **_queue(result.queue, horizon),
        **_energies(result, accounts, transitions, horizon),
    }
    values["edp_js"] = values["energy_j"] * values["makespan_s"]
    return {name: _plain(values[name]) for name in names(SUMMARY_METRICS)}


def _counts(jobs: pd.DataFrame, now: float) -> dict[str, Any]:
    states = jobs["state"].value_counts()
    return {
        "jobs_submitted": int((jobs["submit_time"] <= now).sum()),
        **{f"jobs_{state}": int(states.get(state, 0)) for state in ("completed", "killed", "rejected", "unfinished")},
    }


def _times(jobs: pd.DataFrame, horizon: float, cores: int) -> dict[str, Any]:
    ran = jobs[jobs["state"].isin(["completed", "killed"]) & jobs["start_time"].notna()]
    first = float(jobs["submit_time"].min()) if len(jobs) else 0.0
    last = float(ran["finish_time"].max()) if len(ran) else first
    makespan = last - first
    started = jobs[jobs["start_time"].notna()]
    busy = ((started["finish_time"].fillna(horizon) - started["start_time"]) * started["requested_cores"]).sum()
    # Jobs still running at the end are busy beyond the last completion.
    window = (last if len(ran) == len(started) else horizon) - first
    wait = ran["wait_time"]
    return {
        "first_submission_s": first,
        "last_completion_s": last,
        "makespan_s": makespan,
        "throughput_jobs_per_h": (ran["state"] == "completed").sum() / makespan * 3600.0 if makespan else np.nan,
        "utilisation": busy / (cores * window) if window else np.nan,
        "mean_wait_s": wait.mean(),
        "median_wait_s": wait.median(),
        "p95_wait_s": wait.quantile(0.95),
        "max_wait_s": wait.max(),
        "mean_turnaround_s": ran["turnaround_time"].mean(),
        "mean_slowdown": ran["slowdown"].mean(),
        "mean_bounded_slowdown": ran["bounded_slowdown"].mean(),
        "mean_stretch": ran["stretch"].mean(),
    }


def queue_steps(jobs: pd.DataFrame) -> pd.DataFrame:
    """Pending jobs and their cores as a step function: from submission to allocation, or to whatever else ended the wait."""
    waited = jobs[jobs["allocation_time"].notna() | jobs["finish_time"].notna() | (jobs["state"] == "unfinished")]
    joins = waited["submit_time"].to_numpy()
    leaves = waited["allocation_time"].fillna(waited["finish_time"]).to_numpy()
    cores = waited["requested_cores"].to_numpy()
    left = ~np.isnan(leaves)
    time = np.concatenate([joins, leaves[left]])
    count = np.concatenate([np.ones(len(joins), np.int64), -np.ones(int(left.sum()), np.int64)])
    change = np.concatenate([cores, -cores[left]])
    # The state at a time is what holds when its instant is over.
    instants, which = np.unique(time, return_inverse=True)
    pending = np.cumsum(np.bincount(which, count, len(instants))).astype(np.int64)
    pending_cores = np.cumsum(np.bincount(which, change, len(instants))).astype(np.int64)
    return pd.DataFrame({"time": instants, "pending": pending, "pending_cores": pending_cores})


def _queue(queue: pd.DataFrame, horizon: float) -> dict[str, Any]:
    queue = queue[queue["time"] <= horizon]
    if queue.empty:
        return {"mean_queue_length": np.nan, "max_queue_length": 0}
    time = np.append(queue["time"].to_numpy(), horizon)
    window = horizon - time[0]
    mean = float((queue["pending"].to_numpy() * np.diff(time)).sum() / window) if window else np.nan
    return {"mean_queue_length": mean, "max_queue_length": int(queue["pending"].max())}


def _energies(
    result: Result, accounts: Accounts, transitions: list[tuple[float, int, NodeState, float]], horizon: float
) -> dict[str, Any]:
    by_state = {state: float(energy.sum()) for state, energy in accounts.nodes.items()}
    idle, on, off = (by_state[s] for s in (NodeState.IDLE, NodeState.SWITCHING_ON, NodeState.SWITCHING_OFF))
    switches = [time for time, _, s, _ in transitions if s in (NodeState.SWITCHING_ON, NodeState.SWITCHING_OFF)]
    return {
        "energy_j": accounts.total,
        "energy_jobs_j": float(accounts.jobs.sum()),
        "energy_unused_j": float(accounts.unused.sum()),
        "energy_idle_j": idle,
        "energy_computing_j": by_state[NodeState.COMPUTING],
        "energy_off_j": by_state[NodeState.OFF] + by_state[NodeState.FAILED],
        "energy_switching_on_j": on,
        "energy_switching_off_j": off,
        "energy_waste_j": idle + on + off,
        "node_switches": len(switches),
        "mean_watts": accounts.total / horizon if horizon else np.nan,
        "max_watts": float(result.power["watts"].max()),
    }


def _plain(value: Any) -> Any:
    number = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(number, float) and not np.isfinite(number) else number
