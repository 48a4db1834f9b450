"""A sample of the contract's long form, ``python -m benchmarks.fuzz``, and that the long form does what it says."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from cluster_sim import Result
from cluster_sim.platform import Platform
from cluster_sim.run import passes
from tests.support.contract import checks, full
from tests.support.contract.full import NotACase, Violation, check, described, full_case, reduced, violation
from tests.support.contract.runs import Case

BLOCKS, RUNS = 12, 6


@pytest.mark.parametrize("block", range(BLOCKS))
def test_the_contract_holds_of_whatever_can_be_run(block: int) -> None:
    """Everything registered, every wish of a job, orders from outside; ``benchmarks.fuzz --seed N --runs 1`` makes one again."""
    checked = 0
    for seed in range(block * RUNS, (block + 1) * RUNS):
        case = full_case(seed)
        try:
            broken = violation(case, thoroughly=seed % 10 == 0)
        except NotACase:
            continue
        assert broken is None, f"seed {seed}\n{broken.text}\n{described(case)}"
        checked += 1
    assert checked > RUNS // 2


def test_a_case_is_its_seed() -> None:
    """Equal seeds draw equal cases, also as the text that makes them again; another seed draws another."""
    assert described(full_case(3)) == described(full_case(3)) != described(full_case(4))


def test_a_broken_promise_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that no job may wait 1 s or more fails, and what is left of the case takes all the jobs that are left."""

    def nobody_waits(result: Result) -> None:
        assert not (result.jobs["wait_time"] >= 1.0).any(), "a job waits"

    monkeypatch.setattr(checks, "check_cores", nobody_waits)
    awake = (replace(full_case(seed), power=None) for seed in range(20, 100))  # or a job may wait for a boot alone
    small_cases = (case for case in awake if len(case.jobs["job_id"]) <= 5)
    found = next(broken for case in small_cases if (broken := _violation(case)))
    assert found.kind[1].startswith("test_full_cases.py:nobody_waits")
    small = reduced(found, thoroughly=False)
    assert small.kind == found.kind
    assert "a job waits" in small.text
    assert not any(_violation(smaller) for smaller in full.fewer_jobs(small.case))
    assert (small.case.orders, small.case.stops, small.case.scheduler) == ((), (), "fcfs")
    assert "workload = Workload(" in described(small.case)


def _violation(case: Case) -> Violation | None:
    try:
        return violation(case, thoroughly=False)
    except NotACase:
        return None


def test_a_cap_below_what_the_machine_draws_at_rest_is_no_case() -> None:
    """A run with such a cap is refused at its start, as documented: there is nothing to check."""
    platform = Platform.homogeneous(2, 4, power={"static_w": 50.0, "dynamic_w": 5.0, "min_power": 1.0})
    case = replace(full_case(1), platform=platform, power="power-cap:1", scheduler="fcfs", orders=(), stops=())
    with pytest.raises(NotACase, match="power cap"):
        check(replace(case, options={"enforce_walltime": False, "quirks": (), "seed": 0}))


def test_jobs_that_wait_for_ever_beside_a_policy_that_is_woken_for_ever_are_no_case(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The one job is above its energy limit, so that it may wait; without the limit it starts."""
    monkeypatch.setattr(passes, "MOST_FRUITLESS_PASSES", 100)
    jobs = {"job_id": ["0"], "submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [5.0]}
    options = {"enforce_walltime": False, "quirks": (), "seed": 0}
    platform = Platform.homogeneous(2, 4, power={"static_w": 50.0, "dynamic_w": 5.0, "min_power": 1.0})
    case = Case(platform, {**jobs, "max_energy": [1.0]}, options, "random:period=5,patience=1", "pcbe")
    with pytest.raises(NotACase, match="1 jobs wait and none runs"):
        check(case)
    check(replace(case, jobs={**jobs, "max_energy": [math.inf]}))
