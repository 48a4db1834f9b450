"""Small cases for ``PolicySelection()`` and ``NodeShutdown()`` without arguments: made here, in no time, and always the same."""

from __future__ import annotations

import numpy as np

from cluster_sim.platform.hardware import PowerTransitions
from cluster_sim.platform.platform import Platform
from cluster_sim.workload.days import DAY_S
from cluster_sim.workload.workload import Workload
from learning.tasks.episodes import Days

TAURUS = PowerTransitions(off_w=108.0, switch_on_s=60.0, switch_on_w=1500.0, switch_off_s=180.0, switch_off_w=1212.0)
"""Switching a node of twelve cores of Taurus, by core as Casagrande et al. (2022, Fig. 4)."""


def built_in_day(days: int = 4, jobs: int = 60) -> Days:
    """Return days on four nodes of twelve cores: bursts of short jobs that request hours, as in Taurus's log."""
    platform = Platform.homogeneous(
        nodes=4,
        cores=12,
        power={"static_w": 12 * 95.0, "dynamic_w": 95.0, "min_power": 1.0},
        transitions=TAURUS,
    )
    rng = np.random.default_rng(4)
    workloads = []
    for _ in range(days):
        bursts = np.sort(rng.integers(0, 1380, 12))
        submit = np.sort(rng.choice(bursts, jobs) + rng.integers(0, 20, jobs)) * 60.0
        columns = {
            "submit_time": submit,
            "requested_cores": rng.choice([1, 12, 16], jobs, p=[0.3, 0.5, 0.2]),
            "requested_time": rng.choice([3600.0, 7200.0, 18000.0], jobs),
            "recorded_run_time": rng.choice([60.0, 120.0, 600.0, 2400.0], jobs, p=[0.6, 0.2, 0.15, 0.05]),
        }
        workloads.append(Workload(columns))
    return Days(platform, workloads, until=DAY_S, enforce_walltime=True)
