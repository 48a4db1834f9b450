"""The keys of the queue orders of batch systems, worked out by hand from their papers' formulas."""

from __future__ import annotations

import math

import pytest

from cluster_sim import Platform, View, Workload
from schedulers import job_orders

# Submitted at 100 s, 8 cores for 1000 s, due at 5000 s, priority 3; now it is 600 s: it has waited 500 s.
EXPECTED = {
    "fcfs": 100.0,
    "sjf": 1000.0,
    "ljf": -1000.0,
    "saf": 8000.0,
    "f1": 3.0 * 8 + 870.0 * 2.0,
    "edf": 5000.0,
    "priority": -3.0,
    "wfp": -(0.5**3) * 8,
    "unicef": -500.0 / (3.0 * 1000.0),
    "expansion-factor": -0.5,  # (500 + 1000) / 1000, less the 1 that all have
}


@pytest.mark.parametrize("order", EXPECTED)
def test_keys(order: str) -> None:
    """One job, one figure for each order."""
    table = {
        "submit_time": [0.0, 100.0],
        "requested_cores": [1, 8],
        "requested_time": [1.0, 1000.0],
        "recorded_run_time": [1.0, 900.0],
        "deadline": [math.inf, 5000.0],
        "priority": [0.0, 3.0],
    }
    job = View.by_hand(Platform.homogeneous(nodes=1, cores=8), Workload(table)).pending[1]
    assert job_orders.make(order)(job, 600.0) == pytest.approx(EXPECTED[order], rel=1e-12)
    assert bool(getattr(job_orders.make(order), "dynamic", False)) == (order in ("wfp", "unicef", "expansion-factor"))
