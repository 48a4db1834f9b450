"""The contract of counted resources, over every scheduler, and over jobs that change while they run."""

from __future__ import annotations

import warnings
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tests.support.contract import chaos, checks, resources
from tests.support.contract.full import NotACase
from tests.support.contract.runs import LIST_SPECS, OTHER_SPECS, draw_case

GIVING = [spec for spec in OTHER_SPECS if not spec.startswith("search")]


@pytest.mark.parametrize("scheduler", [*LIST_SPECS[::3], *GIVING])
@settings(max_examples=6)
@given(random=st.randoms(use_true_random=False))
def test_no_scheduler_gives_more_than_there_is(scheduler: str, random: Random) -> None:
    """Every job has what it asks for as long as it has its cores, energies add up, and promises are kept."""
    case = resources.with_resources(random, draw_case(random))
    case = replace(case, options=case.options | {"explain": True})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        simulation = case.simulation(scheduler)
        result = simulation.run()
    by_memory = simulation.scheduler is not None and simulation.scheduler.memory
    resources.check(case, result, full_rejections=not by_memory and not scheduler.startswith("moldable"))
    checks.check_energy_identities(result, simulation)
    checks.check_all_is_free(simulation)
    cores = simulation.machine.cores
    assert (cores.resources.free == cores.resources.capacity).all()
    if scheduler.startswith("conservative"):
        checks.check_promises(result)


@settings(max_examples=25)
@given(random=st.randoms(use_true_random=False))
def test_whatever_a_scheduler_does_to_jobs(random: Random) -> None:
    """Jobs that are preempted, suspended, resized or killed give back what they had, and have it again when they go on."""
    case = resources.with_resources(random, chaos.draw(random))
    try:
        result = chaos.check(case)
    except NotACase:
        reject()
    resources.check(case, result, full_rejections=False)
