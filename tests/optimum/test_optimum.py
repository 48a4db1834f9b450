"""The optimum: equal to brute force, never above a heuristic, and what it says when it had to stop."""

from __future__ import annotations

import random

import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import InputError, ModelWarning
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions, ProcessorType
from schedulers import job_orders, node_orders
from schedulers.optimum import OBJECTIVES, Optimum, optimum
from schedulers.optimum.known_schedule import Follow, Scheduled
from tests.support.instances import Placement, all_schedules, random_platform, random_workload
from tests.support.rows import workload_of

METRIC = {"energy": "energy_j", "makespan": "makespan_s", "edp": "edp_js"}
jobs = workload_of
PAIRS = [f"{jobs}/{nodes}" for jobs in job_orders for nodes in node_orders]


def replayed(found: Optimum, platform: Platform, workload: Workload) -> float:
    """The objective's value in a simulation that follows the schedule."""
    return float(Simulation(platform, workload, found.scheduler()).run().summary()[METRIC[found.objective]])


def value_of(simulation: Simulation) -> dict[str, float]:
    """Energy, makespan and EDP of a run that is over."""
    simulation.run()
    end, energy = simulation.env.now, simulation.view.energy_j
    makespan = end - float(simulation.workload.jobs["submit_time"].min())
    return {"energy": energy, "makespan": makespan, "edp": energy * makespan}


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize(("waiting", "count", "seeds"), [(False, 4, 6), (True, 3, 2)])
@pytest.mark.parametrize("contention", [False, True])
def test_equal_to_brute_force(contention: bool, waiting: bool, count: int, seeds: int, odd: bool) -> None:
    """The best of all sequences of decisions that a simulation can be given; and its schedule does it in a simulation."""
    for seed in range(seeds):
        rng = random.Random(seed)
        platform = random_platform(rng, contention)
        workload = random_workload(rng, platform, count, odd)
        outcomes = list(all_schedules(platform, workload, waiting))
        for objective in OBJECTIVES:
            found = optimum(platform, workload, objective, waiting)
            assert found.proven
            assert found.lower_bound == found.value
            assert found.value == pytest.approx(min(outcome[objective] for outcome in outcomes), rel=1e-9), seed
            assert replayed(found, platform, workload) == pytest.approx(found.value, rel=1e-9), seed


def test_never_above_a_list_scheduler() -> None:
    """On 100 instances of five or six jobs no list scheduler that skips jobs does better than the optimum without waiting."""
    for seed in range(100):
        rng = random.Random(seed)
        platform = random_platform(rng, contention=True, nodes=3)
        workload = random_workload(rng, platform, rng.choice([5, 6]))
        objective = rng.choice(list(OBJECTIVES))
        least = optimum(platform, workload, objective).value * (1 - 1e-9)
        for pair in (PAIRS[(2 * seed + i) % len(PAIRS)] for i in range(2)):  # all pairs have their turn
            scheduler = make_scheduler(f"list:{pair},blocking=no")
            assert value_of(Simulation(platform, workload, scheduler, seed=seed))[objective] >= least, (seed, pair)


def test_never_above_a_list_scheduler_that_blocks() -> None:
    """Head-of-line blocking is deliberate waiting: nothing of that kind beats the optimum with waiting."""
    for seed in range(30):
        rng = random.Random(seed)
        platform = random_platform(rng, contention=True)
        workload = random_workload(rng, platform, 4)
        objective = rng.choice(list(OBJECTIVES))
        best = optimum(platform, workload, objective, waiting=True)
        assert best.value <= optimum(platform, workload, objective).value
        for pair in (PAIRS[(3 * seed + i) % len(PAIRS)] for i in range(3)):
            simulation = Simulation(platform, workload, make_scheduler(f"list:{pair}"))
            assert value_of(simulation)[objective] >= best.value * (1 - 1e-9), (seed, pair)


def test_makespan_of_independent_machines() -> None:
    """Graham (1969): 5 5 4 4 3 3 3 on three machines takes 9, longest first takes 11."""
    platform = Platform.homogeneous(nodes=3, cores=1)
    workload = jobs(*((0.0, 1, float(t)) for t in (5, 5, 4, 4, 3, 3, 3)))
    assert optimum(platform, workload, "makespan").value == 9.0
    assert optimum(platform, workload, "makespan", waiting=True).value == 9.0


def test_waiting_can_pay() -> None:
    """Two jobs of 10 s at 0 and 1 s: started at once they keep the processor busy for 11 s, together from 1 s on for 10."""
    platform = Platform.homogeneous(nodes=1, cores=2, power={"static_w": 8.0, "dynamic_w": 1.0, "min_power": 0.0})
    workload = jobs((0, 1, 10), (1, 1, 10))
    assert optimum(platform, workload, "energy").value == pytest.approx(8 * 11 + 20)
    assert optimum(platform, workload, "energy", waiting=True).value == pytest.approx(8 * 10 + 20)


def test_a_start_between_events_can_be_better_still() -> None:
    """The example of the manual: 120 J at events, 115 J if the first job starts at 7 s, when nothing happens."""
    platform = Platform.homogeneous(nodes=1, cores=2, power={"static_w": 10.0, "dynamic_w": 0.0, "min_power": 0.5})
    workload = jobs((0, 1, 3), (8, 1, 1), (10, 2, 5))
    assert optimum(platform, workload, "energy", waiting=True).value == pytest.approx(120.0)
    between = Follow(
        [Scheduled(str(i), t, Placement.on({0: k})) for i, t, k in ((0, 7.0, 1), (1, 8.0, 1), (2, 10.0, 2))]
    )
    assert value_of(Simulation(platform, workload, between))["energy"] == pytest.approx(115.0)


def test_what_is_alike_is_searched_once() -> None:
    """Eight equal jobs on eight equal nodes are eight starts and an end, not 8! × 8! ways."""
    platform = Platform.homogeneous(nodes=8, cores=1)
    found = optimum(platform, jobs(*((0.0, 1, 3.0) for _ in range(8))), "energy", waiting=True)
    assert found.proven
    assert found.nodes_explored < 500


def test_a_limit_is_admitted() -> None:
    """A search that had to stop says so, with a bound that the optimum does not go below."""
    rng = random.Random(3)
    platform = random_platform(rng, contention=True)
    workload = random_workload(rng, platform, 5)
    for objective in OBJECTIVES:
        true = optimum(platform, workload, objective, waiting=True)
        for limit in (1, 5, 25, 100):
            some = optimum(platform, workload, objective, waiting=True, max_nodes=limit)
            assert some.lower_bound <= true.value * (1 + 1e-9) <= some.value * (1 + 2e-9)
            assert some.proven == (some.gap == 0.0)
            assert some.nodes_explored <= limit


def test_many_jobs_get_an_answer() -> None:
    """300 jobs are too many to search, not to answer; the time limit ends it too."""
    platform = Platform.homogeneous(nodes=4, cores=4)
    workload = jobs(*((float(i), 1 + i % 4, 10.0 + i % 7) for i in range(300)))
    found = optimum(platform, workload, "energy", max_nodes=20)
    assert not found.proven
    assert 0.0 < found.lower_bound < found.value
    assert len(found.schedule) == 300
    assert replayed(found, platform, workload) == pytest.approx(found.value, rel=1e-9)
    assert not optimum(platform, workload, "energy", max_seconds=0.01).proven


def test_jobs_that_never_fit_are_left_out() -> None:
    """As a simulation rejects them; the run counts from the first submission all the same."""
    platform = Platform.homogeneous(nodes=2, cores=2)
    workload = jobs((0, 9, 1), (1, 2, 3), (1, 2, 4))
    with pytest.warns(ModelWarning, match="1 of 3 jobs can never run on it, and the optimum is without them"):
        found = optimum(platform, workload, "makespan")
    assert found.value == 5.0
    assert [start.job_id for start in found.schedule] == ["1", "2"]
    assert replayed(found, platform, workload) == 5.0


def test_wrong_input() -> None:
    """One line each that says what was expected."""
    platform, workload = Platform.homogeneous(nodes=1, cores=2), jobs((0, 1, 1))
    with pytest.raises(InputError, match="energy, makespan or edp, found time"):
        optimum(platform, workload, "time")
    with pytest.raises(InputError, match="max_nodes"):
        optimum(platform, workload, max_nodes=0)
    with pytest.raises(InputError, match="max_seconds"):
        optimum(platform, workload, max_seconds=0.0)
    with pytest.raises(InputError, match="a job that the platform can hold, found 1 jobs"):
        optimum(platform, jobs((0, 3, 1)))
    with pytest.raises(InputError, match="fixed, found jobs that follow others by think times"):
        optimum(platform, workload.with_think_times())
    asleep = NodeType("n", (ProcessorType("p", 2, 1.0),), None, PowerTransitions(), initially_off=True)
    with pytest.raises(InputError, match="nodes that are on"):
        optimum(Platform((Cluster("c", (NodeGroup(asleep, 1),)),)), workload)


@pytest.mark.parametrize(
    ("column", "value"),
    [("requires", "gpu"), ("exclusive", True), ("reservation", "r"), ("after", "0"), ("checkpoint_interval", "2")],
)
def test_wishes_that_it_does_not_know_are_refused(column: str, value: object) -> None:
    """Rather than answered as if the job had not had them; the message names the job and the column."""
    workload = jobs((0, 1, 1), (0, 1, 1))
    workload.jobs[column] = [type(value)(), value]
    with pytest.raises(InputError, match=f"job 1: expected no '{column}'"):
        optimum(Platform.homogeneous(nodes=1, cores=2), workload)


@pytest.mark.parametrize(("requested", "least", "most"), [(1, 0, 2), (2, 1, 0)])
def test_jobs_that_choose_their_size_are_refused(requested: int, least: int, most: int) -> None:
    """`moldable` ends the first in half of what would be called the proven optimum; bounds that leave no choice are none."""
    platform, workload = Platform.homogeneous(nodes=1, cores=2), jobs((0, 1, 1), (0, requested, 10))
    workload.jobs["min_cores"], workload.jobs["max_cores"] = [0, least], [0, most]
    with pytest.raises(InputError, match=rf"job 1, m.*_cores: expected .* requested_cores \({requested}\) only"):
        optimum(platform, workload)
    workload.jobs["min_cores"] = workload.jobs["max_cores"] = [1, requested]
    assert optimum(platform, workload).proven
