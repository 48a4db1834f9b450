"""The scheduler that searches: equal to the optimum where it can be, in either order, and whatever it meets."""

from __future__ import annotations

import random

import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from schedulers import TreeSearch
from schedulers.optimum import OBJECTIVES, optimum
from tests.support.instances import random_platform, random_workload
from tests.support.rows import workload_of

FIGURES = dict(OBJECTIVES)


def at_once(workload: Workload) -> Workload:
    """The workload with all jobs submitted at 0."""
    return Workload(workload.jobs.assign(submit_time=0.0))


def reached(platform: Platform, workload: Workload, scheduler: TreeSearch) -> float:
    """The scheduler's metric of a run."""
    summary = Simulation(platform, workload, scheduler).run(warn=False).summary()
    return float(summary[FIGURES[scheduler.metric]])


@pytest.mark.parametrize("order", ["depth", "breadth"])
@pytest.mark.parametrize("contention", [False, True])
def test_equal_to_the_optimum(order: str, contention: bool) -> None:
    """With true run times and all jobs there at once, searching in every pass ends in the optimum without waiting."""
    for seed in range(12):
        rng = random.Random(seed)
        platform = random_platform(rng, contention)
        workload = at_once(random_workload(rng, platform, 5))
        for metric in OBJECTIVES:
            scheduler = TreeSearch(order, 100_000, metric, clairvoyant=True)  # type: ignore[arg-type]
            best = optimum(platform, workload, metric, order=order)  # type: ignore[arg-type]
            assert best.proven
            assert reached(platform, workload, scheduler) == pytest.approx(best.value, rel=1e-9), (seed, metric)
            assert not scheduler.cut_short


def test_both_orders_find_the_same_optimum() -> None:
    """Depth first and breadth first prove the same value, for jobs that come one after the other, with waiting too."""
    for seed in range(20):
        rng = random.Random(seed)
        platform = random_platform(rng, contention=True)
        workload = random_workload(rng, platform, 4, odd=True)
        for waiting in (False, True):
            deep, broad = (optimum(platform, workload, "edp", waiting, order=order) for order in ("depth", "breadth"))  # type: ignore[arg-type]
            assert deep.proven
            assert broad.proven
            assert deep.value == pytest.approx(broad.value, rel=1e-9)


def test_a_limit_leaves_breadth_first_with_the_greedy_schedule() -> None:
    """Graham (1969): 5 5 4 4 3 3 3 on three machines take 9 s; a few positions are enough for depth first only."""
    platform = Platform.homogeneous(nodes=3, cores=1)
    workload = workload_of(*((0.0, 1, float(t)) for t in (3, 3, 3, 4, 4, 5, 5)))
    ends = {}
    for order in ("depth", "breadth"):
        scheduler = TreeSearch(order, 100, "makespan", clairvoyant=True)  # type: ignore[arg-type]
        ends[order] = reached(platform, workload, scheduler)
    assert ends["depth"] == 9.0
    greedy = Simulation(platform, workload, make_scheduler("fcfs")).run().summary()["makespan_s"]
    assert 9.0 < ends["breadth"] <= greedy


def test_plans_with_requests_unless_clairvoyant() -> None:
    """One core is fast; requests say that the first job is the long one, and in truth the second is."""
    platform = Platform.read("mixed:1x1@2.0,1x1@1.0")
    workload = Workload(
        {
            "submit_time": [0.0, 0.0],
            "requested_cores": [1, 1],
            "recorded_run_time": [1.0, 9.0],
            "requested_time": [8.0, 2.0],
        }
    )
    for clairvoyant, on_fast in ((False, "0"), (True, "1")):
        scheduler = TreeSearch(metric="makespan", clairvoyant=clairvoyant)
        held = Simulation(platform, workload, scheduler).run(warn=False).allocations.set_index("job_id")
        assert held.loc[on_fast, "node"] == "cluster0.node0", clairvoyant


def test_jobs_beyond_the_window_run_where_they_fit() -> None:
    """A window of one job and a limit of one position: a plain list scheduler, that leaves no core idle."""
    platform = Platform.homogeneous(nodes=2, cores=2)
    workload = workload_of(*((0.0, 1, 10.0) for _ in range(8)))
    assert reached(platform, workload, TreeSearch(limit=1, metric="makespan", window=1)) == 20.0
