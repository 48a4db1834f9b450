"""Moldable jobs: on how many cores they start, and when, worked out by hand."""

from __future__ import annotations

import math

import pytest

from cluster_sim import Platform, Simulation, SpecError, Workload, make_scheduler
from cluster_sim.records import Result
from tests.support.rows import workload_of

from .conftest import Queue

Interval = tuple[float, float, int]
"""Start (s), end (s), cores."""


def run(workload: Workload, spec: str, nodes: int = 4, cores: int = 1, explain: bool = False) -> Result:
    """On a machine of equal nodes."""
    platform = Platform.homogeneous(nodes=nodes, cores=cores)
    return Simulation(platform, workload, make_scheduler(spec), explain=explain).run()


def intervals(result: Result) -> list[Interval]:
    """When each job ran, and on how many cores."""
    holds = result.holds
    cores = (holds["last_core"] - holds["first_core"] + 1).groupby(holds["owner"]).sum()
    jobs = result.jobs
    return [
        (start, end, int(cores[job]))
        for job, start, end in zip(jobs["job_id"], jobs["start_time"], jobs["finish_time"], strict=True)
    ]


def flexible(queue: Queue, seconds: float = 12.0, requested: float | None = None, **columns: object) -> Workload:
    """A rigid job on 3 of 4 cores from 0 to 11 s, at 1 s one for 1 to 4 cores, ``seconds`` on 2, at 2 s one on 1 core."""
    times = [11.0, seconds, 3.0]
    asked = times if requested is None else [11.0, requested, 3.0]
    limits = {"min_cores": [0, 1, 0], "max_cores": [0, 4, 0]}
    return queue([3, 2, 1], recorded_run_time=times, requested_time=asked, **limits, **columns)


def test_a_job_takes_what_is_free(queue: Queue) -> None:
    """One core is free at 1 s: the job takes it, 24 s for 12 on 2; who comes next waits for the first."""
    assert intervals(run(flexible(queue), "moldable")) == [(0.0, 11.0, 3), (1.0, 25.0, 1), (11.0, 14.0, 1)]


def test_a_job_waits_for_the_cores_with_which_it_ends_first(queue: Queue) -> None:
    """On 1 core at once it would end at 25 s, on 4 from 11 s on at 17 s; nobody overtakes it."""
    result = run(flexible(queue), "moldable:width=earliest", explain=True)
    assert intervals(result) == [(0.0, 11.0, 3), (11.0, 17.0, 4), (17.0, 20.0, 1)]
    reasons = result.decisions[result.decisions["job_id"] == "1"]["because"].tolist()
    assert reasons == ["should end sooner on more cores than are free", "on 4 cores, for 2 requested"]


def test_a_short_job_does_not_wait(queue: Queue) -> None:
    """3 s on 2 are 6 s on the free core, up to 7 s; on 4 it could only begin at 11 s."""
    assert intervals(run(flexible(queue, 3.0), "moldable:width=earliest"))[1] == (1.0, 7.0, 1)


def test_of_equal_ends_the_least_width(queue: Queue) -> None:
    """A job that does not scale ends at the same time on any: it takes one core and leaves the rest."""
    jobs = queue([2, 2], recorded_run_time=[8.0] * 2, requested_time=[8.0] * 2, speedup=["amdahl:1"] * 2,
                 min_cores=[1] * 2, max_cores=[4] * 2)  # fmt: skip
    assert intervals(run(jobs, "moldable:width=earliest")) == [(0.0, 8.0, 1), (1.0, 9.0, 1)]


def test_the_speedup_says_how_long_it_takes(queue: Queue) -> None:
    """By its table 4 cores are no better than 3, 4 times one: it takes 3 of 4 for 6 s of 24, then 2 for 8 s."""
    jobs = queue([1, 1], recorded_run_time=[24.0] * 2, requested_time=[24.0] * 2, min_cores=[1] * 2, max_cores=[4, 2],
                 speedup=["table:1=1,2=3,3=4,4=4"] * 2)  # fmt: skip
    assert intervals(run(jobs, "moldable:width=earliest")) == [(0.0, 6.0, 3), (6.0, 14.0, 2)]


def test_without_a_requested_time_it_takes_what_is_free(queue: Queue) -> None:
    """Nothing is known of its end, so no wait can be worth it."""
    jobs = flexible(queue, requested=math.inf)
    assert intervals(run(jobs, "moldable:width=earliest"))[1] == (1.0, 25.0, 1)


def test_on_nodes_of_several_cores(queue: Queue) -> None:
    """6 of 8 cores are free, 3 on each of two nodes: a job for one node takes 3, one wider than a node all 6."""
    first = {"nodes": [2, 0], "min_cores": [0, 1]}
    jobs = queue([2, 4], recorded_run_time=[9.0, 12.0], max_cores=[0, 4], **first)
    assert intervals(run(jobs, "moldable", nodes=2, cores=4)) == [(0.0, 9.0, 2), (1.0, 17.0, 3)]
    jobs = queue([2, 4], recorded_run_time=[9.0, 12.0], max_cores=[0, 8], **first)
    assert intervals(run(jobs, "moldable", nodes=2, cores=4)) == [(0.0, 9.0, 2), (1.0, 9.0, 6)]


@pytest.mark.parametrize("spec", ["moldable", "moldable:width=earliest", "shrink-expand", "equipartition"])
def test_no_node_gets_more_tasks_than_it_may(spec: str) -> None:
    """Eight cores are free, but of two nodes each may get two tasks: four, the most that may start."""
    jobs = workload_of((0.0, 4, 10.0), min_cores=[2], max_cores=[8], nodes=[2], ntasks_per_node=[2])
    result = run(jobs, spec, nodes=2, cores=4)
    assert result.allocations[["first_core", "last_core"]].to_numpy().tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize("spec", ["moldable", "shrink-expand", "equipartition"])
def test_a_job_has_a_task_on_each_of_its_nodes(spec: str) -> None:
    """One task cannot be on two nodes; 1 waits until 10 for a core on each, and says so. Of five tasks four may start."""
    jobs = {
        "submit_time": [0.0, 1.0], "requested_cores": [7, 2], "recorded_run_time": [10.0, 10.0], "min_cores": [7, 1],
        "max_cores": [7, 2], "nodes": [0, 2], "ntasks_per_node": [0, 1],
    }  # fmt: skip
    result = run(Workload(jobs), spec, nodes=2, cores=4, explain=True)
    assert result.jobs["start_time"].tolist() == [0.0, 10.0]
    assert "asks for 2 nodes with 1 free core, 1 like that" in result.explain("1")
    jobs = {name: values[1:] for name, values in jobs.items()} | {"requested_cores": [5], "max_cores": [5]}
    result = run(Workload(jobs | {"ntasks_per_node": [2]}), spec, nodes=2, cores=4)
    assert result.allocations[["first_core", "last_core"]].to_numpy().tolist() == [[0, 1], [0, 1]]


def test_an_unknown_width_is_refused() -> None:
    """The message names the option and what it may be."""
    with pytest.raises(SpecError, match="free or earliest"):
        make_scheduler("moldable:width=widest")
