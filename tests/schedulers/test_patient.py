"""Patient greedy: what waits, and for what, worked out by hand."""

from __future__ import annotations

import pytest

from cluster_sim import Platform, Simulation, SpecError, Workload, make_scheduler
from cluster_sim.platform import Cluster, NodeGroup, NodeType, ProcessorType

from .conftest import Queue


def two_kinds() -> Platform:
    """Node 0: 4 cores for 10 W in all; node 1: 4 cores as fast for 40 W in all. Nothing slows anything."""
    kinds = [
        ProcessorType(name, 4, 1.0, power={"static_w": watts - 4.0, "dynamic_w": 1.0, "min_power": 0.1})
        for name, watts in (("frugal", 10.0), ("hungry", 40.0))
    ]
    groups = tuple(NodeGroup(NodeType(kind.name, (kind,)), 1) for kind in kinds)
    return Platform((Cluster("cluster0", groups),), "small", "none", "linear")


def alike(queue: Queue, *widths: int, seconds: float = 10.0) -> Workload:
    """Jobs of the same requested and true time."""
    return queue(widths, requested_time=[seconds] * len(widths), recorded_run_time=[seconds] * len(widths))


def test_a_job_waits_for_frugal_cores(queue: Queue) -> None:
    """Job 0 takes the frugal node, and job 1 rather waits for it, 10 s, than take the hungry one; greedy takes it."""
    platform, jobs = two_kinds(), alike(queue, 4, 4)
    patient = Simulation(platform, jobs, make_scheduler("patient:frugal=0.1")).run()
    assert patient.jobs["start_time"].tolist() == [0.0, 10.0]
    assert patient.summary()["energy_j"] == pytest.approx(20 * (10 + 3.6))  # the hungry node idles at a tenth of 36 W
    greedy = Simulation(platform, jobs, make_scheduler("contention-aware:metric=energy,order=first")).run().jobs
    assert greedy["start_time"].tolist() == [0.0, 1.0]


def test_a_node_is_frugal_up_to_the_fraction(queue: Queue) -> None:
    """The hungry node needs 4 times the watts for the same operations: 300 % more than the least."""
    for fraction, second_start in ((2.99, 10.0), (3.01, 1.0)):
        jobs = alike(queue, 4, 4)
        run = Simulation(two_kinds(), jobs, make_scheduler(f"patient:frugal={fraction}")).run()
        assert run.jobs["start_time"].tolist() == [0.0, second_start]


def test_a_job_too_wide_for_the_frugal_nodes_takes_what_there_is(queue: Queue) -> None:
    """6 cores do not fit the 4 frugal ones: beside a job of 1 core, as on an idle machine, they start at once."""
    run = Simulation(two_kinds(), alike(queue, 1, 6), make_scheduler("patient:frugal=0.1")).run()
    assert run.jobs["start_time"].tolist() == [0.0, 1.0]


def test_long_jobs_leave_cores_free(queue: Queue) -> None:
    """Of 10 cores 2 are spared: with 4 busy a long job of 5 waits and one of 4 does not; a short one of 2 takes the rest."""
    run = Simulation(
        Platform.homogeneous(nodes=1, cores=10),
        queue([4, 5, 4, 2], requested_time=[1000.0, 1000.0, 1000.0, 100.0], recorded_run_time=[50.0] * 4),
        make_scheduler("patient:spare=0.2,short=900"),
    ).run()
    assert run.jobs["start_time"].tolist() == [0.0, 52.0, 2.0, 3.0]


@pytest.mark.parametrize("option", ["frugal=-1", "spare=1", "spare=-0.1", "short=-1", "metric=watts"])
def test_options_out_of_range(option: str) -> None:
    """One line names the option."""
    with pytest.raises(SpecError, match=option.partition("=")[0]):
        make_scheduler(f"patient:{option}")
