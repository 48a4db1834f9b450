"""The keys of the queue orders of batch systems, worked out by hand from their papers' formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cluster_sim import Platform, Simulation, View, Workload
from cluster_sim.errors import SpecError
from schedulers import job_orders, make_scheduler
from schedulers.queue.power_law_orders import powers
from tests.support.rows import workload_of

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
    "powers:2:0.5:-0.25": 1000.0**2 * 8**0.5 / 501**0.25,
    "powers:1:2": 1000.0 * 8**2,
    "powers:0.5:1:0:2": 1000.0**0.5 * 8 * 1000.0**2,  # of a user who has run nothing
    "expansion-factor": -0.5,  # (500 + 1000) / 1000, less the 1 that all have
}
DYNAMIC = ("wfp", "unicef", "expansion-factor", "powers:2:0.5:-0.25", "powers:0.5:1:0:2")


@pytest.mark.parametrize("order", EXPECTED)
def test_keys(order: str) -> None:
    """One job, one figure for each order."""
    table = workload_of((0.0, 1, 1.0, 1.0), (100.0, 8, 900.0, 1000.0), deadline=[math.inf, 5000.0], priority=[0.0, 3.0])
    job = View.by_hand(Platform.homogeneous(nodes=1, cores=8), table).pending[1]
    assert job_orders.make(order)(job, 600.0) == pytest.approx(EXPECTED[order], rel=1e-12)
    assert bool(getattr(job_orders.make(order), "dynamic", False)) == (order in DYNAMIC)


@pytest.mark.parametrize(("exponents", "order"), [("1:0", "sjf"), ("0:1", "smallest"), ("1:1", "saf"), ("-1:0", "ljf")])
def test_powers_are_a_family_that_known_orders_belong_to(exponents: str, order: str) -> None:
    """The same schedules, with ties as they were."""
    rng = np.random.default_rng(5)
    times = rng.integers(1, 9, 200) * 100.0
    table = {"submit_time": np.arange(200.0), "requested_cores": rng.integers(1, 8, 200), "requested_time": times}
    workload, platform = Workload(table | {"recorded_run_time": times}), Platform.homogeneous(nodes=8, cores=1)
    one, other = (
        Simulation(platform, workload, make_scheduler(f"easy:order={name}")).run().jobs["start_time"]
        for name in (f"powers:{exponents}", order)
    )
    assert one.tolist() == other.tolist()


@pytest.mark.parametrize("exponents", ["1", "a:b", "1:2:3:4:5", "inf:1", "1:nan", "1:11", ""])
def test_exponents_that_are_none(exponents: str) -> None:
    """One line, with what was expected."""
    with pytest.raises(SpecError, match="two to four numbers such as"):
        powers(exponents)
