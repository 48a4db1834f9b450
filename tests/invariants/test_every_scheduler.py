"""One contract over everything registered: random platforms, random workloads, every scheduler."""

from __future__ import annotations

import warnings

import pytest
from hypothesis import given, settings

from cluster_sim import Workload
from cluster_sim.accounting import Accounts, History, settle, sweep
from cluster_sim.accounting import _parted as rows_by_node  # the way in to the independent reckoning
from cluster_sim.node import NodeState
from cluster_sim.simulation import Simulation

from . import checks
from .runs import LIST_SPECS, MIXED_SPECS, Case, cases



def check_run(case: Case, scheduler: str) -> None:
    """Run it, and check all that must hold."""
    simulation = case.simulation(scheduler)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = simulation.run()
    workload = Workload(case.jobs)
    checks.check_times(result, workload)
    assert not (result.jobs["state"] == "unfinished").any()
    checks.check_cores(result)
    checks.check_run_times(result, workload)
    checks.check_walltime(result, case.options["enforce_walltime"])
    checks.check_shapes(result, workload)
    checks.check_node_states(result)
    checks.check_energy_identities(result)
    unused = "unused-processors-draw-nothing" in case.options["quirks"]
    if not (unused and len(simulation.machine.transitions)):
        total, by_job = checks.second_opinion(result, unused)
        assert result.summary()["energy_j"] == pytest.approx(total, rel=1e-9, abs=1e-9)
        assert dict(zip(result.jobs["job_id"], result.jobs["energy_j"], strict=True)) == pytest.approx(
            by_job, rel=1e-9, abs=1e-9
        )


@pytest.mark.parametrize("scheduler", LIST_SPECS)
@settings(max_examples=3)
@given(case=cases())
def test_list_schedulers(scheduler: str, case: Case) -> None:
    """Every pair of a job order and a node order."""
    check_run(case, scheduler)
