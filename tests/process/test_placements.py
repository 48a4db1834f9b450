"""Placements as values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cluster_sim import Platform, Simulation, make_scheduler
from cluster_sim.machine.placement import Placement
from tests.support.rows import workload_of


@given(cores=st.dictionaries(st.integers(0, 5), st.integers(1, 4)), data=st.data())
def test_equal_placements_have_equal_hashes(cores: dict[int, int], data: st.DataObject) -> None:
    """The same cores on the same nodes, named in any order, are one placement to a set."""
    shuffled = dict(data.draw(st.permutations(list(cores.items()))))
    assert Placement.on(cores) == Placement.on(shuffled)
    assert len({Placement.on(cores), Placement.on(shuffled)}) == 1


def test_spans_and_single_nodes_are_the_same_placement() -> None:
    """Neighbours taken together or one by one are equal, and other cores are another placement."""
    assert {Placement(((1, 4, 2),)), Placement.on({3: 2, 1: 2, 2: 2})} == {Placement.on({1: 2, 2: 2, 3: 2})}
    assert len({Placement.on({1: 2, 2: 1}), Placement.on({1: 1, 2: 2})}) == 2


def test_an_outlook_frees_the_memory_of_all_tasks() -> None:
    """Two tasks of a hold 3000 of 4096 MB, so that b, of the same size, has a place when a is over."""
    workload = workload_of((0.0, 2, 10.0, 10.0), (1.0, 2, 5.0, 5.0), memory=[1500.0, 1500.0])
    platform = Platform.homogeneous(nodes=1, cores=4, memory_gb=4)
    simulation = Simulation(platform, workload, make_scheduler("fcfs:memory=yes"))
    simulation.run(until=2.0)
    view = simulation.view
    [running], [waiting], outlook = view.running, view.pending, view.planning.outlook()
    assert outlook.place(waiting, memory=True) is None
    outlook.release(running)
    assert outlook.place(waiting, memory=True) == Placement.on({0: 2})
