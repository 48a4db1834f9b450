"""A scheduler, power policy or failure model decides in one run at a time: what it remembers is of that run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pandas as pd
import pytest

from cluster_sim import InputError, Platform, Simulation, Workload, make_power_policy, make_scheduler
from cluster_sim.run.failures import ExponentialFailures
from schedulers import power_policies, schedulers
from tests.support.contract.runs import needs_arguments, slurm_spec

PLATFORM = Platform.homogeneous(nodes=2, cores=4)
ONE, TWO = (Workload.read(f"lublin:jobs=40,nodes=8,seed={seed}") for seed in (3, 9))

MAKERS: dict[str, Callable[[], Any]] = {
    "list": lambda: make_scheduler("list:first/first"),
    **{f"scheduler {name}": lambda name=name: make_scheduler(name) for name in schedulers if name != "list"
       and not needs_arguments(schedulers, name)},
    **{f"power policy {name}": lambda name=name: make_power_policy(name) for name in power_policies
       if not needs_arguments(power_policies, name)},
    "power policy power-cap": lambda: make_power_policy("power-cap:300"),
    "failures": lambda: ExponentialFailures(mtbf=50_000.0, repair=60.0),
}  # fmt: skip


def simulation(policy: Any, workload: Workload = ONE) -> Simulation:
    """A run with this scheduler, power policy or failure model."""
    if isinstance(policy, ExponentialFailures):
        return Simulation(PLATFORM, workload, make_scheduler("fcfs"), failures=policy)
    if hasattr(policy, "schedule"):
        return Simulation(PLATFORM, workload, policy)
    return Simulation(PLATFORM, workload, make_scheduler("fcfs"), policy)


@cache
def alone(name: str, second: bool = False) -> pd.DataFrame:
    """Return the jobs of a run whose policy has served no other."""
    return simulation(MAKERS[name](), TWO if second else ONE).run().jobs


@pytest.mark.parametrize("name", MAKERS)
def test_one_object_serves_one_run_at_a_time(name: str) -> None:
    """The second run is refused in one line, as often as it is tried, and the first goes on as if there were no other."""
    policy = MAKERS[name]()
    one, two = simulation(policy), simulation(policy, TWO)
    one.run(until=20_000.0)
    for go_on in (lambda: two.run(until=20_000.0), two.run, lambda: two.env.run(until=20_000.0)):
        with pytest.raises(
            InputError, match="expected an object that serves no other run, which one that is not over has"
        ):
            go_on()
    assert one.run().jobs.equals(alone(name))
    assert two.run().jobs.equals(alone(name, second=True))  # now that the first is over


@pytest.mark.parametrize("name", MAKERS)
def test_one_after_the_other_is_as_it_was(name: str) -> None:
    """Also where both were put together before the first began."""
    policy = MAKERS[name]()
    one, two = simulation(policy), simulation(policy, TWO)
    assert one.run().jobs.equals(alone(name))
    assert two.run().jobs.equals(alone(name, second=True))
    assert one.run().jobs.equals(alone(name))  # nothing is left to do


@pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")
def test_slurm_serves_one_run_at_a_time() -> None:
    """So does the scheduler that cannot be made without a file."""
    with slurm_spec(PLATFORM, "builtin") as spec:
        scheduler = make_scheduler(spec)
    one = simulation(scheduler)
    one.run(until=20_000.0)
    with pytest.raises(InputError, match="serves no other run"):
        simulation(scheduler, TWO).run()


def test_a_run_that_ended_in_an_error_keeps_nobody() -> None:
    """Its scheduler serves another, and then the first does not go on with what that one remembers."""
    scheduler = make_scheduler("easy")
    one = simulation(scheduler)

    def fails() -> Iterator[Any]:
        yield one.env.timeout(5_000.0)
        raise ZeroDivisionError

    one.env.process(fails())
    with pytest.raises(ZeroDivisionError):
        one.run()
    two = simulation(scheduler, TWO)
    two.run(until=20_000.0)
    with pytest.raises(InputError, match="an object of this run alone: another run has begun with it since"):
        one.run()
    assert two.run().jobs.equals(simulation(make_scheduler("easy"), TWO).run().jobs)


def test_a_run_that_nobody_has_any_more_keeps_nobody() -> None:
    """Who makes a run anew under the same name can use the scheduler again."""
    scheduler = make_scheduler("fcfs")
    run = simulation(scheduler)
    run.run(until=20_000.0)
    del run
    assert simulation(scheduler).run().jobs.equals(simulation(make_scheduler("fcfs")).run().jobs)
