"""What policies see cannot be changed by looking at it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from cluster_sim import Platform, Simulation, View, Workload
from cluster_sim.errors import ModelWarning, SimulationError
from cluster_sim.run.decisions import LimitPower
from cluster_sim.run.view import MOVED
from schedulers import AlwaysOn, Fcfs

PLATFORM = Platform.homogeneous(2, 4)
ARRAYS = (
    "free_cores usable_cores memory_used memory_capacity demand is_on is_off powered_on powered_off withheld".split()
)
SWITCHES = "switch_off switch_on fail repair request set_p_state ready".split()


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_a_view_cannot_be_written_to(name: str) -> None:
    """Nobody takes cores by writing a number."""
    array = getattr(View.by_hand(PLATFORM).machine, name)
    with pytest.raises(ValueError, match="read-only"):
        array[:] = 0


def test_arrays_of_a_view_follow_the_machine() -> None:
    """They are the machine's own numbers, not copies."""
    simulation = Simulation(
        PLATFORM, Workload({"submit_time": [0.0], "requested_cores": [3], "recorded_run_time": [9.0]}), Fcfs()
    )
    free = simulation.view.free_cores
    simulation.run(until=5.0)
    assert free.tolist() == [1, 4]


def test_nodes_of_a_view_can_only_be_looked_at() -> None:
    """Neither they nor their processors have anything that would switch, break or hold them."""
    view = View.by_hand(PLATFORM)
    node = view.machine.node(1)
    assert (node.name, node.free_cores, node.state) == ("cluster0.node1", 4, "IDLE")
    assert [n.index for n in view.machine.nodes()] == [0, 1]
    assert not [name for name in SWITCHES if hasattr(node, name)]
    assert not [name for name in (*SWITCHES, "load", "set_clock", "node") if hasattr(node.processors[0], name)]


def test_nobody_decides_for_a_power_policy_that_decides_itself() -> None:
    """decide_power is for steered runs; elsewhere it says so, and no limit is set."""
    workload = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [1.0]})
    for policy in (None, AlwaysOn()):
        simulation = Simulation(PLATFORM, workload, Fcfs(), power=policy)
        with pytest.raises(SimulationError, match="Steered"):
            simulation.decide_power(LimitPower(1.0))
        assert not simulation.machine.budget.is_set
    assert np.isfinite(simulation.run().summary()["energy_j"])


def test_a_view_has_some_twenty_members() -> None:
    """The rest is in its two parts; an old name that the manual had works, and says the new one, once."""
    view = View.by_hand(PLATFORM)
    members = {name for name in dir(view) if not name.startswith("_")}
    assert len(members) <= 24, members
    with pytest.warns(ModelWarning, match=r"^view\.memory_used is view\.machine\.memory_used now$"):
        assert view.memory_used is view.machine.memory_used
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert view.memory_used is view.machine.memory_used
    for name, part in MOVED.items():
        assert hasattr(getattr(view, part), name)
    with pytest.raises(AttributeError, match=r"expected view\.machine\.powered_on"):
        view.powered_on  # noqa: B018
    with pytest.raises(AttributeError, match="expected pending"):
        view.pendin  # noqa: B018
