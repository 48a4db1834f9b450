"""Random acyclic graphs of jobs under every scheduler: what must hold whatever they look like."""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cluster_sim import Platform, Result, Simulation, Workload, make_scheduler
from cluster_sim.errors import SpecError
from cluster_sim.workload.critical_path import critical_path
from schedulers import schedulers

given_graphs = settings(
    deadline=None, derandomize=True, database=None, max_examples=15, phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip


def _by_name_alone(name: str) -> bool:
    try:
        make_scheduler(name)
    except SpecError:
        return False
    return True


SCHEDULERS = [name for name in schedulers if _by_name_alone(name)]


@dataclass(frozen=True)
class Story:
    """Jobs, and which edges of the graph ask only that a job is over."""

    workload: Workload
    graph: nx.DiGraph


@st.composite
def stories(draw: st.DrawFn, latest: int = 6) -> Story:
    """Up to 12 jobs in some order of a random acyclic graph; whole seconds, so that sums are exact and ends coincide."""
    count = draw(st.integers(1, 12))
    order = draw(st.permutations(range(count)))  # a topological order, which need not be that of the table
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1), st.sampled_from(["completed", "over"]))
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(str(i) for i in range(count))
    for first, second, when in draw(st.lists(pairs, max_size=20)):
        if first < second:
            graph.add_edge(str(order[first]), str(order[second]), when=when)
    several = {"min_size": count, "max_size": count}
    columns = {
        "job_id": [str(i) for i in range(count)],
        "submit_time": draw(st.lists(st.integers(0, latest), **several)),
        "requested_cores": draw(st.lists(st.integers(1, 4), **several)),
        "recorded_run_time": draw(st.lists(st.integers(0, 5), **several)),
        "requested_time": draw(st.lists(st.integers(1, 6), **several)),
    }
    return Story(Workload(columns).with_dag(graph), graph)


def run(story: Story, scheduler: str, cores: int, **options: bool) -> Result:
    """The run on one-core nodes."""
    platform = Platform.homogeneous(nodes=cores, cores=1)
    return Simulation(platform, story.workload, make_scheduler(scheduler), **options).run()


def check(story: Story, result: Result) -> None:
    """Nothing starts before what it waits for is over, nothing is lost, and only failures keep a job from running."""
    jobs = result.jobs.set_index("job_id")
    assert not (jobs["state"] == "unfinished").any()
    for before, after, when in story.graph.edges(data="when"):
        if jobs.at[after, "state"] != "rejected":
            # A rejected predecessor is over at once, and has no end of its own where it never was eligible.
            assert not jobs.at[before, "finish_time"] > jobs.at[after, "start_time"]
            assert when == "over" or jobs.at[before, "state"] == "completed"
    for job, row in jobs.iterrows():
        failed = [
            b
            for b, _, w in story.graph.in_edges(job, data="when")
            if w == "completed" and jobs.at[b, "state"] != "completed"
        ]
        assert (row["state"] == "rejected") == (bool(failed) or row["requested_cores"] > result.platform.core_count)
        if row["state"] == "rejected":
            continue
        waited_for = [
            jobs.at[b, "finish_time"] for b in story.graph.predecessors(job) if jobs.at[b, "state"] != "rejected"
        ]
        refused = [b for b in story.graph.predecessors(job) if jobs.at[b, "state"] == "rejected"]
        if not refused:
            assert row["eligible_time"] == max([row["submit_time"], *waited_for])
        assert row["submit_time"] <= row["eligible_time"] <= row["start_time"]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@given(story=stories())
@given_graphs
def test_order_is_kept(scheduler: str, story: Story) -> None:
    """On a machine that holds some of the jobs at a time, and is too small for the widest."""
    result = run(story, scheduler, 3)
    check(story, result)
    if (result.jobs["state"] == "completed").all():
        bound = critical_path(story.workload, result.platform)
        assert result.summary()["makespan_s"] >= bound.makespan_s


@given(story=stories())
@given_graphs
def test_failures_spread_as_they_should(story: Story) -> None:
    """With jobs that are killed at their walltime."""
    check(story, run(story, "fcfs", 4, enforce_walltime=True))


@given(story=stories(latest=0))
@given_graphs
def test_without_want_of_cores_the_longest_path_is_the_makespan(story: Story) -> None:
    """As networkx computes it; and every job starts when the longest path to it ends."""
    result = run(story, "fcfs", 48)
    seconds = dict(zip(story.workload.jobs["job_id"], story.workload.jobs["recorded_run_time"], strict=True))
    weighted: nx.DiGraph = nx.DiGraph()
    weighted.add_nodes_from(story.graph)
    weighted.add_edges_from((a, b, {"weight": seconds[a]}) for a, b in story.graph.edges)
    weighted.add_edges_from((job, "end", {"weight": seconds[job]}) for job in story.graph)
    longest = nx.dag_longest_path_length(weighted)
    assert result.summary()["makespan_s"] == longest
    assert critical_path(story.workload, result.platform).makespan_s == longest
    assert result.jobs["wait_time"].equals(result.jobs["eligible_time"] - result.jobs["submit_time"])


@given(story=stories())
@given_graphs
def test_the_same_run_twice(story: Story) -> None:
    """The same input gives the same records."""
    assert run(story, "fcfs", 4).jobs.equals(run(story, "fcfs", 4).jobs)
