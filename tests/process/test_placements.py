"""Placements as values."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import Platform, Simulation, make_scheduler
from cluster_sim.machine.free import Free
from cluster_sim.machine.placement import Placement
from cluster_sim.workload.jobs import Job
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


@given(seed=st.integers(0, 10_000), policy=st.sampled_from(["always-on", "timeout:2"]))
@settings(max_examples=40, deadline=None)
def test_the_machine_and_a_copy_of_it_place_jobs_alike(seed: int, policy: str) -> None:
    """The machine, which searches in sets of nodes, and what is free in arrays find the same cores at any time."""
    rng = np.random.default_rng(seed)
    platform = Platform.read("mixed:3x4@1,20x2@1,2x8@1,40x1@1")
    rows = [(float(t), int(n), float(s), float(s)) for t, n, s in rng.integers(1, (60, 30, 20), (40, 3)).tolist()]
    simulation = Simulation(platform, workload_of(*sorted(rows)), make_scheduler("fcfs"), power=policy)
    probes = [Job({}, 0, "probe", 0.0, cores, 1.0) for cores in (1, 2, 3, 5, 9, 40)]
    for time in np.sort(rng.uniform(0.0, 90.0, 12)).tolist():
        simulation.run(until=time)
        machine = simulation.machine
        free = Free.of(machine.cores, machine.nodes)
        free.is_on, free.is_off = machine.nodes.is_on, machine.nodes.is_off  # it takes them for alike
        assert [machine.cores.place(job) for job in probes] == [free.place(job) for job in probes]
