"""The contract for jobs that change while they run: preempted, resumed, resized, checkpointed, stopped by failures."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from cluster_sim import Platform, Simulation
from cluster_sim.run.decisions import Decision, Preempt, Resize, Resume
from cluster_sim.run.view import View
from schedulers import make_scheduler
from tests.support.contract import chaos
from tests.support.contract.full import NotACase
from tests.support.rows import workload_of
from tests.support.scripted import Scripted


class AtBoundaries(Scripted):
    """Is asked at the end of every part."""

    at_boundaries = True


@settings(max_examples=15)
@given(random=st.randoms(use_true_random=False))
def test_whatever_a_scheduler_does_to_jobs(random: Random) -> None:
    """Work adds up, cores are held once, joules add up, walltimes hold, and in the end all is free."""
    try:
        chaos.check(chaos.draw(random))
    except NotACase:  # a cap below what the idle machine draws, say
        reject()


@pytest.mark.parametrize(
    "spec", ["preemptive", "preemptive:suspend,queues=3/1", "preemptive:grace=1.5", "easy", "conservative"]
)
@pytest.mark.parametrize("seed", range(6))
def test_schedulers_beside_all_of_it(spec: str, seed: int) -> None:
    """The same under those that preempt by priority, and under backfilling, beside parts, checkpoints and failures."""
    chaos.check(chaos.draw(Random(seed)), make_scheduler(spec))


@pytest.mark.parametrize("seed", range(100, 106))
def test_the_same_seed_leaves_the_same_tables(seed: int) -> None:
    """Whatever was decided at random."""
    chaos.check_repeatable(chaos.draw(Random(seed)))


def test_a_job_that_is_suspended_where_a_part_ends_goes_on_with_its_next_part() -> None:
    """Three parts of 2 s; suspended at 2 and resumed at once; what is decided at 3 happens at 4, where the second part ends."""

    def suspend(view: View) -> Iterator[Decision]:
        job = view.running[0].job
        yield Preempt(job, "suspend")
        yield Resume(job, view.suspended[0].placement)

    def grow(view: View) -> Iterator[Decision]:
        placement = view.planning.grown(view.running[0], 2)
        assert placement is not None
        yield Resize(view.running[0].job, placement)

    workload = workload_of((0.0, 1, 6.0), parts=["3"], max_cores=[2], malleable=[True], reconfiguration_time=[0.5])
    simulation = Simulation(Platform.homogeneous(2, 1), workload, AtBoundaries({2.0: suspend, 3.0: grow}))
    result = simulation.run()
    # Parts 0-2 and 2-4 on one core; the change 4-4.5; the last part, on two, 4.5-5.5.
    assert result.jobs["finish_time"].tolist() == [5.5]
    assert result.stages[["stage", "start", "end"]].to_numpy().tolist() == [["reconfiguration", 4.0, 4.5]]
