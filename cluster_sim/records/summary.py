"""The summary of a run: its metrics in the words and units of the fields, as :mod:`cluster_sim.records.metrics` has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from cluster_sim.files.json_values import for_json
from cluster_sim.records.metrics import (
    delay,
    energy_delay_product,
    energy_waste,
    is_measured,
    makespan,
    mean_level,
    mean_power,
    node_switches,
    throughput,
    utilisation,
    watt_minutes,
)
from cluster_sim.run.jobs.attempts import Absence, AttemptEnd
from cluster_sim.workload.fields import SUMMARY_METRICS, names

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from cluster_sim.machine.core_ranges import Floats, Ints
    from cluster_sim.records.energy_accounts import EnergyAccounts


class Columns(Protocol):
    """The columns of a table by name: the arrays that it is made of, which cost less to look at, or a data frame."""

    def __getitem__(self, name: str, /) -> Any:
        """Return a column, by row."""
        ...


class Changes(NamedTuple):
    """Facts about jobs whose cores changed that the tables of jobs and attempts do not tell."""

    busy_core_s: float  #: Core-seconds that jobs computed.
    suspensions: int  #: Times that one lost its cores and kept its work.


class RunColumns(NamedTuple):
    """The columns that a summary is made of."""

    jobs: Columns  #: As in the table of that name,
    attempts: Columns
    nodes: Columns
    watts: Floats  #: and the levels of the power curve, W.
    cores: int  #: Of the machine.


class TenantsEnergy(NamedTuple):
    """Energy of who held the cores, J: of each job, all its attempts together, and of each guest."""

    jobs: Floats
    guests: Floats
    lost: float  #: Of the jobs' attempts, by core-seconds, what came to nothing.


def summarise(
    result: RunColumns,
    accounts: EnergyAccounts,
    tenants_j: TenantsEnergy,
    horizon: float,
    now: float,
    changes: Changes | None = None,
    absences: Sequence[Absence] = (),
) -> dict[str, Any]:
    """Return all metrics of ``SUMMARY_METRICS``, in their order. What has no value (a mean over no jobs) is None."""
    values = job_metrics(result.jobs, result.attempts, result.cores, horizon, now, changes, absences)
    by_state = {state: float(energy.sum()) for state, energy in accounts.nodes.items()}
    nodes = result.nodes
    waste, by_core = energy_waste(by_state), float(nodes["energy_waste_by_core_j"].sum())
    failed_s = nodes["failed_s"]
    values |= {
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
        "max_watts": float(result.watts[: max(len(result.watts) - 1, 1)].max()),  # the last row closes the curve
        "availability": 1.0 - float(failed_s.sum()) / (len(failed_s) * horizon) if horizon else np.nan,
    }
    values["edp_js"] = energy_delay_product(values["energy_j"], values["makespan_s"])
    return {name: for_json(values[name]) for name in names(SUMMARY_METRICS)}


def job_metrics(
    jobs: Columns,
    attempts: Columns,
    cores: int,
    horizon: float,
    now: float,
    changes: Changes | None = None,
    absences: Sequence[Absence] = (),
) -> dict[str, Any]:
    """Return the metrics that say nothing of energy, from the tables of jobs and attempts of any program.

    ``cores`` are those of the machine; ``changes`` tells of jobs whose cores changed, where there were any.
    """
    waits, place = _waits_at_the_end(jobs, attempts)
    again = _waits_again(jobs, attempts, waits, place).without(absences, jobs)
    state, outcome = np.asarray(jobs["state"]), np.asarray(attempts["outcome"])
    preempted = sum(int((outcome == str(how)).sum()) for how in (AttemptEnd.PREEMPTED, AttemptEnd.CANCELLED))
    queue = queue_steps(jobs, again)
    recorded = queue.time <= horizon
    pending, has_queue = queue.pending[recorded], bool(recorded.any())
    return {
        "jobs_submitted": int((np.asarray(jobs["submit_time"]) <= now).sum()),
        **{f"jobs_{each}": int((state == each).sum()) for each in ("completed", "killed", "rejected", "unfinished")},
        **_times(jobs, attempts, waits, horizon, cores, changes),
        "jobs_requeued": int((np.asarray(attempts["attempt"]) > 1).sum() + waits.sum()),
        "jobs_preempted": preempted + (0 if changes is None else changes.suspensions),
        "lost_core_s": _sum(np.asarray(attempts["lost_core_s"])),
        "mean_queue_length": mean_level(pending, np.append(queue.time[recorded], horizon)) if has_queue else np.nan,
        "max_queue_length": int(pending.max(initial=0)),
    }


def _busy_core_s(jobs: Columns, attempts: Columns, waits: npt.NDArray[np.bool_], horizon: float) -> float:
    """Return the core-seconds that jobs had; what still runs at the end is busy until then."""
    rows, end, cores = jobs, "finish_time", np.asarray(jobs["requested_cores"])
    if (np.asarray(attempts["attempt"]) > 1).any() or waits.any():
        # A job's time from its first start to its last finish has gaps, or ends with a wait.
        place = _places(jobs, attempts["job_id"])
        rows, end, cores = attempts, "end_time", np.where(place >= 0, cores[place], 0)
    start, finish = np.asarray(rows["start_time"]), np.asarray(rows[end])
    started = ~np.isnan(start)
    finish = np.where(np.isnan(finish), horizon, finish)
    return _sum((finish[started] - start[started]) * cores[started])


def _times(
    jobs: Columns,
    attempts: Columns,
    waits: npt.NDArray[np.bool_],
    horizon: float,
    cores: int,
    changes: Changes | None,
) -> dict[str, Any]:
    state, start = np.asarray(jobs["state"]), np.asarray(jobs["start_time"])
    ran = is_measured(state, start)
    first, last = _bounds(jobs, ran)
    span = makespan(first, last)
    busy = _busy_core_s(jobs, attempts, waits, horizon) if changes is None else changes.busy_core_s
    window = used_window(jobs, horizon)
    wait, turnaround, slowdown, bounded, stretch, tardiness, requested = (
        np.asarray(jobs[name])[ran] for name in (*_OF_JOBS, "requested_time")
    )
    tardiness, waited, delayed = _known(tardiness), _known(wait), _known(delay(wait, requested))
    return {
        "first_submission_s": first,
        "last_completion_s": last,
        "makespan_s": span,
        "throughput_jobs_per_h": throughput((state[ran] == "completed").sum(), span),
        "utilisation": utilisation(busy, cores, window),
        "mean_wait_s": _mean(wait),
        "median_wait_s": np.median(waited) if len(waited) else np.nan,
        "p95_wait_s": np.quantile(waited, 0.95) if len(waited) else np.nan,
        "max_wait_s": _most(wait),
        "mean_turnaround_s": _mean(turnaround),
        "mean_slowdown": _mean(slowdown),
        "mean_bounded_slowdown": _mean(bounded),
        "max_slowdown": _most(slowdown),
        "max_bounded_slowdown": _most(bounded),
        "mean_stretch": _mean(stretch),
        "max_stretch": _most(stretch),
        "jobs_delayed": len(delayed),
        "share_delayed": len(delayed) / len(wait) if len(wait) else np.nan,
        "total_delay_s": _sum(delayed),
        "jobs_late": int((tardiness > 0.0).sum()) if len(tardiness) else np.nan,
        "mean_tardiness_s": _mean(tardiness),
        "max_tardiness_s": _most(tardiness),
    }


def _bounds(jobs: Columns, ran: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Return the first submission, and the last finish of the jobs that ran, s."""
    first = _least(np.asarray(jobs["submit_time"])) if len(ran) else 0.0
    return first, _most(np.asarray(jobs["finish_time"])[ran]) if ran.any() else first


def used_window(jobs: Columns, horizon: float) -> float:
    """Return the length of the window over which utilisation is taken, s: to the last finish, or to the horizon.

    Jobs still running at the end are busy beyond the last completion.
    """
    start = np.asarray(jobs["start_time"])
    ran = is_measured(np.asarray(jobs["state"]), start)
    first, last = _bounds(jobs, ran)
    return (last if ran.sum() == (~np.isnan(start)).sum() else horizon) - first


_OF_JOBS = ("wait_time", "turnaround_time", "slowdown", "bounded_slowdown", "stretch", "tardiness")


def _known(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def _sum(values: Floats) -> float:
    """Sum what is known; unknown values count 0 in place, so that they move no rounding."""
    return float(np.where(np.isnan(values), 0.0, values).sum())


def _mean(values: Floats) -> float:
    count = np.count_nonzero(~np.isnan(values))
    return _sum(values) / count if count else np.nan


def _least(values: Floats) -> float:
    return float(_known(values).min()) if len(_known(values)) else np.nan


def _most(values: Floats) -> float:
    return float(_known(values).max()) if len(_known(values)) else np.nan


class QueueWaits(NamedTuple):
    """Waits in the queue, arrays of shape (waits,)."""

    joins: Floats  #: When each began, s; inf: not yet.
    leaves: Floats  #: When it ended, s; NaN: not yet.
    cores: Ints  #: Cores that the job asks for.

    def and_then(self, others: QueueWaits) -> QueueWaits:
        """Return these waits followed by others."""
        joins, leaves, cores = (np.concatenate(columns) for columns in zip(self, others, strict=True))
        return QueueWaits(joins, leaves, cores)

    def without(self, absences: Sequence[Absence], jobs: Columns) -> QueueWaits:
        """Return these waits followed by rows that make gaps in them.

        It is as if a wait began where a gap ends, and ended where it begins.
        """
        if not absences:
            return self
        rows, since, until, _ = (np.array(column) for column in zip(*absences, strict=True))
        return self.and_then(QueueWaits(until, since, np.asarray(jobs["requested_cores"])[rows]))


class QueueSteps(NamedTuple):
    """The queue as a step function: what holds when the instant is over."""

    time: Floats
    pending: Ints
    pending_cores: Ints


def queue_steps(jobs: Columns, again: QueueWaits) -> QueueSteps:
    """Return pending jobs and their cores: from eligibility to allocation, or to what else ended the wait.

    A job that joined the queue ``again`` waits again, until its next attempt.
    """
    allocated, finished = np.asarray(jobs["allocation_time"]), np.asarray(jobs["finish_time"])
    eligible, is_left = np.asarray(jobs["eligible_time"]), np.asarray(jobs["state"]) == "unfinished"
    waited = (~np.isnan(allocated) | ~np.isnan(finished) | is_left) & ~np.isnan(eligible)
    left_at = np.where(np.isnan(allocated), finished, allocated)
    waits = QueueWaits(eligible[waited], left_at[waited], np.asarray(jobs["requested_cores"])[waited])
    joins, leaves, cores = waits.and_then(again)
    came, left = joins < np.inf, ~np.isnan(leaves)
    time = np.concatenate([joins[came], leaves[left]])
    count = np.concatenate([np.ones(int(came.sum()), np.int64), -np.ones(int(left.sum()), np.int64)])
    change = np.concatenate([cores[came], -cores[left]])
    instants, which = np.unique(time, return_inverse=True)
    pending = np.cumsum(np.bincount(which, count, len(instants))).astype(np.int64)
    pending_cores = np.cumsum(np.bincount(which, change, len(instants))).astype(np.int64)
    return QueueSteps(instants, pending, pending_cores)


def waits_again(jobs: Columns, attempts: Columns, absences: Sequence[Absence] = ()) -> QueueWaits:
    """Return the waits of jobs that had run and joined the queue again, and the gaps in waits."""
    return _waits_again(jobs, attempts, *_waits_at_the_end(jobs, attempts)).without(absences, jobs)


def _waits_again(jobs: Columns, attempts: Columns, waits: npt.NDArray[np.bool_], place: Ints) -> QueueWaits:
    requested, finished = np.asarray(jobs["requested_cores"]), np.asarray(jobs["finish_time"])
    waiting = QueueWaits(np.asarray(attempts["over_time"])[waits], finished[place[waits]], requested[place[waits]])
    later = (np.asarray(attempts["attempt"]) > 1) & (place >= 0)
    if not later.any():
        return waiting
    joins, leaves = np.asarray(attempts["queue_time"]), np.asarray(attempts["allocation_time"])
    return QueueWaits(joins[later], leaves[later], requested[place[later]]).and_then(waiting)


def _waits_at_the_end(jobs: Columns, attempts: Columns) -> tuple[npt.NDArray[np.bool_], Ints]:
    """Tell for each attempt whether its job waited again, or still waits, after it was stopped for good.

    Also return the job's row, -1 where there is none.
    """
    job_ids, ended = np.asarray(attempts["job_id"]), np.asarray(attempts["over_time"])
    place = _places(jobs, job_ids)
    last = np.ones(len(place), bool)
    if (np.asarray(attempts["attempt"]) > 1).any():
        last = ~pd.Index(job_ids, dtype=object).duplicated(keep="last")
    # One that is refused after an attempt has joined the queue, be it for no time.
    finished, is_left = (
        np.asarray(jobs["finish_time"])[place],
        np.isin(jobs["state"], ("unfinished", "rejected"))[place],
    )
    return last & (place >= 0) & ~np.isnan(ended) & (is_left | (finished > ended)), place


def _places(jobs: Columns, job_ids: Any) -> Ints:
    """Return the rows of jobs with these ids; -1 for an id that is no job's."""
    places: Ints = pd.Index(np.asarray(jobs["job_id"]), dtype=object).get_indexer(np.asarray(job_ids, object))
    return places
