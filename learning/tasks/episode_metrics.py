"""Metrics of a finished episode, without the tables that a result makes for its summary."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.records.metrics import (
    bounded_slowdown,
    energy_delay_product,
    makespan,
    run_time,
    turnaround_time,
    wait_time,
)
from cluster_sim.run.jobs.attempts import STATES
from cluster_sim.workload.jobs import JobState

if TYPE_CHECKING:
    from cluster_sim.run.simulation import Simulation


def quick_metrics(simulation: Simulation) -> dict[str, Any]:
    """Return energy, makespan, waits and slowdowns of a finished run, with the keys and values of its summary.

    The whole summary takes longer than many an episode. It is used all the same if jobs are not submitted at the
    workload's times, or if a run went on beyond its last completion: these metrics need more care then.
    """
    records, workload = simulation.attempts, simulation.workload
    _, start, finish = records.spans(records.columns(simulation.machine.ledger))
    submit = workload.columns["submit_time"]
    ran = ~np.isnan(start) & ~np.isnan(finish)
    if workload.think_times or not ran.any() or finish[ran].max() != simulation.env.now:
        metrics = simulation.result().metrics
        return {name: metrics[name] for name in KEYS}
    span = makespan(float(submit.min()), float(finish[ran].max()))
    if not ran.all():
        start, finish, submit = start[ran], finish[ran], submit[ran]
    wait, turnaround = wait_time(submit, start), turnaround_time(submit, finish)
    slowdown = bounded_slowdown(turnaround, run_time(start, finish))
    states = np.bincount(np.frombuffer(records.state, np.uint8), minlength=len(STATES))
    energy = simulation.view.energy_j
    values = (
        *(energy, span, energy_delay_product(energy, span), float(wait.mean())),
        *(float(np.quantile(wait, 0.95)), float(wait.max())),
        *(float(turnaround.mean()), float(slowdown.mean()), float(slowdown.max())),
        *(int(states[STATES.index(state)]) for state in _STATES),
    )
    return dict(zip(KEYS, values, strict=True))


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
