"""Slips that everybody makes once end in one clear line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from cluster_sim.decisions import PowerDecision, SwitchOff, SwitchOn
from cluster_sim.errors import InputError, SimulationError
from cluster_sim.platform import Platform
from cluster_sim.simulation import Simulation
from cluster_sim.view import View
from cluster_sim.workload import Workload
from schedulers import Fcfs, PowerPolicy, Scheduler

PLATFORM = Platform.homogeneous(nodes=2, cores=2)
WORKLOAD = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [10.0]})


@pytest.mark.parametrize("scheduler", ["fcfs", Fcfs, 7])
def test_a_scheduler_is_an_object(scheduler: Any) -> None:
    """A spec or a class in place of a scheduler is refused, with an example."""
    with pytest.raises(InputError, match=r"Simulation, scheduler: expected an object such as Fcfs\(\)"):
        Simulation(PLATFORM, WORKLOAD, scheduler)


def test_a_power_policy_is_an_object() -> None:
    """The same for power policies."""
    with pytest.raises(InputError, match="Simulation, power: expected an object such as AlwaysOn"):
        Simulation(PLATFORM, WORKLOAD, Fcfs(), power="always-on")  # type: ignore[arg-type]


def test_one_quirk_may_be_given_as_text() -> None:
    """A single quirk needs no list."""
    assert Simulation(PLATFORM, WORKLOAD, Fcfs(), quirks="textual-node-order").quirks == {"textual-node-order"}


def test_a_pass_that_returns_nothing_is_told() -> None:
    """A schedule method that forgets to yield is named."""

    class Forgetful(Scheduler):
        def schedule(self, view: View) -> Any:
            view.place(view.pending[0])

    with pytest.raises(SimulationError, match=r"Forgetful\.schedule returned None"):
        Simulation(PLATFORM, WORKLOAD, Forgetful()).run()


def test_a_policy_that_goes_in_circles_is_stopped() -> None:
    """Nodes switched off and on in no time would hold the clock for ever."""

    class Circles(PowerPolicy):
        def reserve(self, view: View) -> Iterable[PowerDecision]:
            return [SwitchOff(node) for node in np.flatnonzero(view.is_on & (view.free_cores == 2)).tolist()]

        def react(self, view: View) -> Iterable[PowerDecision]:
            return [SwitchOn(node) for node in np.flatnonzero(view.is_off).tolist()]

    with pytest.raises(SimulationError, match="Circles switches nodes in circles"):
        Simulation(PLATFORM, WORKLOAD, Fcfs(), power=Circles()).run()


@pytest.mark.parametrize("clock", [0.0, -1.0, float("nan"), float("inf"), "3"])
def test_impossible_clocks_are_refused(clock: Any) -> None:
    """A clock is a positive number."""
    processor = Simulation(PLATFORM, WORKLOAD, Fcfs()).node(0).processors[0]
    with pytest.raises(InputError, match="expected a positive clock"):
        processor.set_clock(clock)
    with pytest.raises(InputError, match="expected watts, 0 or more"):
        processor.set_clock(2.0, static_w=-5.0)
