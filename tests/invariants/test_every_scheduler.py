"""One contract over everything registered: random platforms, random workloads, every scheduler."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.contract import full
from tests.support.contract.runs import LIST_SPECS, OTHER_SPECS, Case, cases


def check_run(case: Case, scheduler: str) -> None:
    """Run it, and check all that must hold."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = case.simulation(scheduler).run(warn=False)
    full.check_result(replace(case, scheduler=scheduler), result)


@pytest.mark.parametrize("scheduler", LIST_SPECS)
@settings(max_examples=2)
@given(case=cases(), blocking=st.sampled_from(["yes", "no"]), memory=st.sampled_from(["yes", "no"]))
def test_list_schedulers(scheduler: str, case: Case, blocking: str, memory: str) -> None:
    """Every pair of a job order and a node order keeps the contract, blocking or skipping, with and without memory."""
    check_run(case, f"{scheduler},blocking={blocking},memory={memory}")


@pytest.mark.parametrize("scheduler", OTHER_SPECS)
@settings(max_examples=5)
@given(case=cases())
def test_other_schedulers(scheduler: str, case: Case) -> None:
    """So does every other registered scheduler."""
    check_run(case, scheduler)


@settings(max_examples=12)
@given(case=cases(), memory=st.booleans())
def test_fcfs_starts_nobody_before_an_earlier_job(case: Case, memory: bool) -> None:
    """First come, first served: cores are given in order of submission, to the jobs that are not refused."""
    jobs = case.simulation(f"fcfs:memory={'yes' if memory else 'no'}").run().jobs
    allocated = jobs[jobs["state"] != "rejected"]["allocation_time"].to_numpy()
    assert (allocated[1:] >= allocated[:-1]).all()


@settings(max_examples=12)
@given(case=cases(), scheduler=st.sampled_from(["fcfs", *LIST_SPECS]))
def test_a_job_of_one_core_waits_only_while_every_core_is_held(case: Case, scheduler: str) -> None:
    """No list scheduler leaves a core idle that a job waits for: with one-core jobs, and nodes that are on, that shows."""
    assume(not any(kind.initially_off for kind in case.platform.node_types))  # cores of a node that boots cannot be had
    count = len(case.jobs["submit_time"])
    jobs = case.jobs | {"requested_cores": [1] * count, "nodes": [0] * count, "ntasks_per_node": [0] * count}
    result = Case(case.platform, jobs, case.options).simulation(scheduler).run()
    table = result.jobs
    for job in table[table["allocation_time"] > table["submit_time"]].itertuples():
        since, until = table["allocation_time"], table["finish_time"]
        held = (since < job.allocation_time) & (until >= job.allocation_time)
        assert held.sum() >= result.platform.core_count
