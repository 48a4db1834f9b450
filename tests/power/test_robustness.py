"""Power policies at the edges: memory, advance reservations, absurd options."""

from __future__ import annotations

import pytest

from cluster_sim import Platform, ProcessorType, Simulation, make_power_policy, make_scheduler
from cluster_sim.errors import SpecError
from cluster_sim.platform import Cluster, NodeGroup, NodeType
from cluster_sim.workload.advance_reservations import AdvanceReservation
from tests.support.rows import workload_of

from .conftest import SWITCHING, WATTS, jobs, nodes


@pytest.mark.parametrize("scheduler", ["easy:memory=yes", "list:first/first,blocking=no,memory=yes"])
def test_inertial_offers_a_node_with_memory_enough(scheduler: str) -> None:
    """A job that only the last node has memory for is given that one back when it comes, though others are free."""
    processor = ProcessorType("processor", 1, 1.0, power=WATTS)
    groups = [
        NodeGroup(NodeType(name, (processor,), memory_gb=memory, transitions=SWITCHING), count)
        for name, memory, count in (("small", 1.0, 2), ("big", 64.0, 1))
    ]
    platform = Platform((Cluster("cluster0", tuple(groups)),))
    columns = workload_of(
        (0.0, 1, 10_000.0, 10_000.0), (1.0, 1, 5.0, 5.0), (5_000.0, 1, 100.0, 100.0), memory=[1.0, 1.0, 40_000.0]
    )
    policy = make_power_policy("inertial:period=60")
    result = Simulation(platform, columns, make_scheduler(scheduler), policy).run()
    assert result.jobs["start_time"].tolist() == [0.0, 1.0, 5_000.0 + 1.0]  # it was OFF, and is booted


@pytest.mark.parametrize("scheduler", ["fcfs", "easy", "conservative"])
@pytest.mark.parametrize(
    "policy",
    ["timeout:0", "off-reservation:0.5", "off-reservation:10", "random", "random:period=7", "inertial:period=7"],
)
def test_a_job_in_its_advance_reservation_is_not_held_back(policy: str, scheduler: str) -> None:
    """It starts when its window opens, at 100 s, or when its node has booted: at no other time could it end in it."""
    workload = workload_of((0.0, 1, 900.0, 1000.0), (50.0, 1, 90.0, 150.0), reservation=["", "course"])
    for seed in range(5):
        result = Simulation(
            nodes(3),
            workload,
            make_scheduler(scheduler),
            make_power_policy(policy),
            seed,
            reservations=[AdvanceReservation("course", 100.0, 255.0, "2")],
        ).run()
        assert result.jobs["state"].tolist() == ["completed", "completed"]
        assert result.jobs["start_time"][1] in (100.0, 101.0, 102.0, 103.0)


@pytest.mark.parametrize("patience", [-1, 0, 10**400])
def test_a_patience_that_means_nothing(patience: int) -> None:
    """Patience is a number of periods that can be counted, from 1."""
    with pytest.raises(SpecError, match="option patience: expected a whole number of periods, 1 or more"):
        make_power_policy(f"random:patience={patience}")


def test_a_factor_beyond_all_numbers() -> None:
    """With a huge factor inertial shutdown takes and gives all nodes at once."""
    workload = jobs(*((50.0 * i, 2, 30.0, 40.0) for i in range(10)))
    result = Simulation(
        nodes(4), workload, make_scheduler("easy"), make_power_policy("inertial:factor=1.7e308,period=0.5")
    ).run()
    assert (result.jobs["state"] == "completed").all()
    assert (result.nodes["switches_off"] > 0).any()
