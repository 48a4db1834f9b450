"""Every metric by its definition, unit and source: the one place that tables, summaries, rewards and environments ask.

Functions of numbers, without side effects. Those of single jobs take arrays, entry by entry, or plain numbers, of which
rewards ask thousands; times are s, energies J. The words are those of Feitelson and Rudolph, "Metrics and benchmarking
for parallel job scheduling" (JSSPP 1998), unless another source is named.
:mod:`cluster_sim.records.summary` applies them to a run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from cluster_sim.platform.node_state import NodeState

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Of = TypeVar("Of", float, Floats)
Count = TypeVar("Count", int, npt.NDArray[np.int64])

BOUND_S = 10.0
"""Run times below this count as this in a bounded slowdown, s."""

THETA = 0.5
"""Share of the requested time that a job may wait before it counts as delayed; Casagrande et al. (2022) do not state theirs."""

WASTED = (NodeState.IDLE, NodeState.SWITCHING_ON, NodeState.SWITCHING_OFF)
"""States in which a node draws power and neither computes nor saves energy (Casagrande et al. 2022, Eq. 4)."""

WATT_MINUTE_J = 60.0
"""A watt-minute, J."""

# ---------------------------------------------------------------------- of a job


def wait_time(submit: Of, start: Of) -> Of:
    """Return the time from the submission until the tasks begin, s."""
    return start - submit


def run_time(start: Of, finish: Of) -> Of:
    """Return the time from when the tasks begin to when the last one ends, s."""
    return finish - start


def turnaround_time(submit: Of, finish: Of) -> Of:
    """Return the time from the submission to the end, s; also called response time."""
    return finish - submit


def slowdown(turnaround: Of, run: Of) -> Of:
    """Return turnaround over run time; NaN for a job that ran for no time."""
    return _ratio(turnaround, run)


def bounded_slowdown(turnaround: Of, run: Of) -> Of:
    """Return turnaround over run time, or over :data:`BOUND_S` for shorter jobs, and 1 at least (Feitelson 2001)."""
    if isinstance(run, np.ndarray):
        return np.maximum(1.0, turnaround / np.maximum(run, BOUND_S))
    return max(1.0, turnaround / max(run, BOUND_S))


def stretch(wait: Of, requested: Of) -> Of:
    """Wait over requested time (Casagrande et al. 2022); NaN for a job that requested no seconds, 0 without a limit."""
    return _ratio(wait, requested)


def _ratio(part: Of, whole: Of) -> Of:
    """Divide; NaN for a divisor of 0."""
    if isinstance(whole, np.ndarray):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(whole > 0.0, part / whole, np.nan)
    return part / whole if whole > 0.0 else math.nan


def tardiness(finish: Floats, deadline: Floats) -> Floats:
    """Return how long after its deadline each job ended, s, 0 for one in time; NaN without a deadline."""
    with np.errstate(invalid="ignore"):
        return np.where(deadline == np.inf, np.nan, np.maximum(finish - deadline, 0.0))


def delay(wait: Floats, requested: Floats, theta: float = THETA) -> Floats:
    """Return how long each job waited beyond ``theta`` times its requested time, s; NaN if it did not.

    Casagrande et al. (2022), Eq. 10: wait - theta x requested time where wait / requested time >= theta. A job that did not
    start (NaN), or that requested no time, is never delayed.
    """
    limit = theta * requested
    with np.errstate(invalid="ignore"):
        return np.where((wait >= limit) & (requested > 0.0), wait - limit, np.nan)


def delays(jobs: pd.DataFrame, theta: float = THETA) -> pd.Series:
    """Return :func:`delay` of the jobs in a result's table."""
    of_each: pd.Series = jobs["wait_time"].copy()
    of_each[:] = delay(jobs["wait_time"].to_numpy(), jobs["requested_time"].to_numpy(), theta)
    return of_each.rename(None)


def is_measured(state: npt.NDArray[np.object_], start: Floats) -> npt.NDArray[np.bool_]:
    """Return a mask of the jobs that count in job metrics: those that ran and are over, completed or killed.

    A job that is refused after a run does not count.
    """
    return np.asarray((state == "completed") | (state == "killed")) & ~np.isnan(start)


class InPieces(NamedTuple):
    """Jobs that ran in more than one piece: by their rows, how long altogether, and how long in the last attempt, s."""

    rows: npt.NDArray[np.int64]
    run: Floats
    last_run: Floats


def job_columns(
    submit: Floats,
    start: Floats,
    finish: Floats,
    requested: Floats,
    deadline: Floats | float = math.inf,
    in_pieces: InPieces | None = None,
) -> dict[str, Floats]:
    """Return the columns of the table of jobs that are metrics; NaN for jobs that did not start.

    A job that ran in pieces waited all the time from its submission to its finish in which no task of it ran; its slowdowns
    look at the run time of its last attempt.
    """
    run, wait = run_time(start, finish), wait_time(submit, start)
    ended = np.where(np.isnan(start), np.nan, finish)
    turnaround = turnaround_time(submit, ended)
    last_run = run
    if in_pieces is not None:
        over, last_run = np.where(np.isnan(ended), np.nan, 1.0)[in_pieces.rows], run.copy()
        run[in_pieces.rows] = in_pieces.run * over
        last_run[in_pieces.rows] = in_pieces.last_run * over
        wait[in_pieces.rows] = turnaround[in_pieces.rows] - in_pieces.run
    return {
        "wait_time": wait,
        "run_time": run,
        "turnaround_time": turnaround,
        "slowdown": slowdown(turnaround, last_run),
        "bounded_slowdown": bounded_slowdown(turnaround, last_run),
        "stretch": stretch(wait, requested),
        "tardiness": tardiness(ended, np.broadcast_to(deadline, submit.shape)),
    }


# ---------------------------------------------------------------------- of a run


def makespan(first_submission: float, last_completion: float) -> float:
    """Return the time from the first submission to the last completion, s."""
    return last_completion - first_submission


def throughput(completed: int, makespan_s: float) -> float:
    """Return jobs completed per hour of the makespan; NaN for a makespan of 0."""
    return completed / makespan_s * 3600.0 if makespan_s else math.nan


def utilisation(busy_core_s: float, cores: int, window_s: float) -> float:
    """Return the mean share of the cores in use over a window, 0 to 1; NaN for a window of 0. Both in one unit."""
    return busy_core_s / (cores * window_s) if window_s else math.nan


def mean_level(levels: Floats | npt.NDArray[np.int64], times: Floats) -> float:
    """Return the mean over time of a step function: ``levels[i]`` holds from ``times[i]`` on. NaN over no time."""
    window = times[-1] - times[0]
    return float((levels * np.diff(times)).sum() / window) if window else math.nan


def energy_delay_product(energy_j: float, makespan_s: float) -> float:
    """Return energy times makespan, J·s (Gonzalez and Horowitz 1996)."""
    return energy_j * makespan_s


def mean_power(energy_j: float, window_s: float) -> float:
    """Return energy over the window in which it was drawn, W; NaN for a window of 0."""
    return energy_j / window_s if window_s else math.nan


def watt_minutes(joules: Of) -> Of:
    """Return energy in W·min, which Casagrande et al. (2022) count in."""
    return joules / WATT_MINUTE_J


def energy_waste(joules: Mapping[NodeState, Of]) -> Of:
    """Return J that nodes drew in the states :data:`WASTED` (Casagrande et al. 2022, Eq. 4), from J by state."""
    idle, switching_on, switching_off = (joules[state] for state in WASTED)
    return idle + switching_on + switching_off


def node_switches(on: Count, off: Count) -> Count:
    """Return how often nodes were switched: on and off each count."""
    return on + off


def on_off_cycles(on: Count, off: Count) -> Count:
    """Return how often nodes were switched off and on again; of an odd number of switches the last one is in none."""
    return (on + off) // 2
