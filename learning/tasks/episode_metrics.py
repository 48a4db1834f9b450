"""Metrics of a finished episode, without the tables that a result makes for its summary."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from cluster_sim.records.metrics import (
    bounded_slowdown,
    energy_delay_product,
    makespan,
    run_time,
    turnaround_time,
    wait_time,
)
from cluster_sim.run.jobs.attempts import STATES
from cluster_sim.run.simulation import Simulation
from cluster_sim.workload.jobs import JobState


def quick_metrics(simulation: Simulation) -> dict[str, Any]:
    """Return energy, makespan, waits and slowdowns of a finished run, with the keys and values of its summary.

    The whole summary takes longer than many an episode. It is used all the same if jobs are not submitted at the
    workload's times, or if a run went on beyond its last completion: these metrics need more care then.
    """
    records, workload = simulation.attempts, simulation.workload
    _, start, finish = records.spans(records.columns(simulation.machine.ledger))
    submit = workload.columns["submit_time"]
    ran = ~np.isnan(finish - start)
    if not np.logical_and.reduce(ran):
        start, finish, submit = start[ran], finish[ran], submit[ran]
    last = float(np.maximum.reduce(finish, initial=-np.inf))
    if workload.think_times or last != simulation.env.now:
        metrics = simulation.result().metrics
        return {name: metrics[name] for name in KEYS}
    span = makespan(float(np.minimum.reduce(workload.columns["submit_time"])), last)
    wait, turnaround = wait_time(submit, start), turnaround_time(submit, finish)
    slowdown = bounded_slowdown(turnaround, run_time(start, finish))
    energy = simulation.view.energy_j
    values = (
        *(energy, span, energy_delay_product(energy, span), _mean(wait)),
        *(quantile(wait, 0.95), float(np.maximum.reduce(wait))),
        *(_mean(turnaround), _mean(slowdown), float(np.maximum.reduce(slowdown))),
        *(records.state.count(STATES.index(state)) for state in _STATES),
    )
    return dict(zip(KEYS, values, strict=True))


def _mean(values: npt.NDArray[np.float64]) -> float:
    return float(np.add.reduce(values)) / len(values)


def quantile(values: npt.NDArray[np.float64], share: float) -> float:
    """Return ``numpy.quantile``, to the last bit."""
    return float(quantiles(values, [share])[0])


def quantiles(values: npt.NDArray[np.float64], shares: Iterable[float]) -> list[Any]:
    """Return ``numpy.quantile`` along the first axis, to the last bit; that takes as long as some steps of an episode."""
    ordered, last = np.sort(values, axis=0), len(values) - 1
    found = []
    for share in shares:
        place = last * share
        low = int(place)
        before, after = ordered[low], ordered[min(low + 1, last)]
        beyond, rise = place - low, after - before
        found.append(before + rise * beyond if beyond < 0.5 else after - rise * (1.0 - beyond))
    return found


_STATES = (JobState.COMPLETED, JobState.KILLED, JobState.REJECTED, JobState.UNFINISHED)

KEYS = (
    "energy_j",
    "makespan_s",
    "edp_js",
    "mean_wait_s",
    "p95_wait_s",
    "max_wait_s",
    "mean_turnaround_s",
    "mean_bounded_slowdown",
    "max_bounded_slowdown",
    *(f"jobs_{state}" for state in _STATES),
)
"""Keys of the summary that :func:`quick_metrics` returns."""


def which_ended(simulation: Simulation) -> int:
    """Return a number that is equal for runs that completed and killed the same jobs: a CRC-32 of the states."""
    states = np.frombuffer(bytes(simulation.attempts.state), np.uint8)
    return zlib.crc32(np.where(np.isin(states, _ENDED_STATES), states, 0).tobytes())


_ENDED_STATES = [STATES.index(state) for state in (JobState.COMPLETED, JobState.KILLED)]
