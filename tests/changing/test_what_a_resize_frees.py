"""What a resize gives up is free at once: for jobs that wait, and for power policies."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from cluster_sim import (
    Placement,
    Platform,
    PowerTransitions,
    Simulation,
    Start,
    View,
    Workload,
    make_power_policy,
    make_scheduler,
)
from cluster_sim.run.decisions import Decision, Resize
from schedulers import Scheduler
from tests.support.rows import workload_of

SWITCHES = PowerTransitions(off_w=9, switch_on_s=60, switch_on_w=125, switch_off_s=180, switch_off_w=101)


def malleable(count: int, **columns: list[object]) -> Workload:
    """Jobs that are, on one or two cores."""
    known = {"malleable": [True] * count, "min_cores": [1] * count, "max_cores": [2] * count}
    return Workload({"requested_time": columns["recorded_run_time"], **known, **columns})


@pytest.mark.parametrize("spec", ["malleable:size=pref", "malleable:size=pref,promise=steal"])
def test_a_job_that_waits_gets_it_in_the_same_instant(spec: str) -> None:
    """The first of two jobs on both cores gives one up when a third comes, at 100 s; the second begins then."""
    jobs = malleable(3, submit_time=[0, 0, 100], requested_cores=[2, 2, 1], recorded_run_time=[3000.0, 100.0, 1000.0])
    assert Simulation(Platform.homogeneous(2, 1), jobs, make_scheduler(spec)).run().jobs["start_time"].tolist() == [
        0,
        100,
        300,
    ]


def test_so_does_one_that_waits_for_the_node_that_another_leaves() -> None:
    """Job a moves from the first node to the second at 10 s, when job b comes, which wants just the first."""

    class Moves(Scheduler):
        def schedule(self, view: View) -> Iterable[Decision]:
            for job in view.pending:
                placement = Placement.on({0: 1})
                if view.planning.fits(job, placement):
                    yield Start(job, placement)
            for running in view.running if view.now == 10.0 else ():
                if running.placement == Placement.on({0: 1}) and running.job.job_id == "0":
                    yield Resize(running.job, Placement.on({1: 1}))

    jobs = malleable(2, submit_time=[0, 10], requested_cores=[1, 1], recorded_run_time=[100.0, 100.0])
    assert Simulation(Platform.homogeneous(2, 1), jobs, Moves()).run().jobs["start_time"].tolist() == [0, 10]


def test_a_node_that_was_kept_for_the_next_part_of_a_killed_job_sleeps() -> None:
    """Job a is to have both nodes after its first part, and its limit ends it before: both are idle from then on."""
    jobs = workload_of(
        (0, 1, 10.0, 10.0),
        (1, 1, 100.0, 40.0),
        (5000, 1, 10.0, 10.0),
        job_id=["b", "a", "c"],
        malleable=[False, True, False],
        min_cores=[0, 1, 0],
        max_cores=[0, 2, 0],
        parts=["", "2", ""],
    )
    platform = Platform.homogeneous(nodes=2, cores=1, transitions=SWITCHES)
    policies = make_scheduler("shrink-expand"), make_power_policy("timeout:20")
    states = Simulation(platform, jobs, *policies, enforce_walltime=True).run().node_states
    assert states.loc[states["state"] == "SWITCHING_OFF", "start"].tolist() == [61.0, 61.0]
