"""List scheduling on queues made by hand: who starts, where, and who waits."""

from __future__ import annotations

import numpy as np
import pytest

from cluster_sim import Job, Placement, Platform, Reject, Simulation, Start, View, Workload, make_scheduler
from cluster_sim.errors import PlacementError, SimulationError
from cluster_sim.run.view import ClairvoyantView
from schedulers import Fcfs, ListScheduler, Scheduler
from tests.support.rows import workload_of

from .conftest import Queue, decide, order_of


def test_blocking_stops_at_the_first_job_that_does_not_fit(queue: Queue) -> None:
    """Four cores: 2 start; 3 do not fit, and the last job, which would, waits behind them."""
    view = View.by_hand(Platform.homogeneous(1, 4), queue([2, 3, 1]))
    assert decide(ListScheduler(blocking=True), view) == [("0", {0: 2})]
    assert [job.job_id for job in view.pending] == ["1", "2"]


def test_skipping_goes_on_behind_it(queue: Queue) -> None:
    """The same queue, not blocking."""
    view = View.by_hand(Platform.homogeneous(1, 4), queue([2, 3, 1]))
    assert decide(ListScheduler(blocking=False), view) == [("0", {0: 2}), ("2", {0: 1})]
    assert [job.job_id for job in view.pending] == ["1"]


def test_what_was_skipped_is_tried_again_in_order() -> None:
    """Over a run: the wide job starts when it fits, and is not forgotten; those behind it pass meanwhile."""
    workload = workload_of((0.0, 3, 5.0), (0.0, 4, 1.0), (0.0, 1, 2.0), (0.0, 1, 2.0))
    platform = Platform.homogeneous(1, 4)
    starts = Simulation(platform, workload, make_scheduler("list:first/first,blocking=no")).run().jobs["start_time"]
    assert starts.tolist() == [0.0, 5.0, 0.0, 2.0]
    starts = Simulation(platform, workload, make_scheduler("list:first/first")).run().jobs["start_time"]
    assert starts.tolist() == [0.0, 5.0, 6.0, 6.0]


def test_names_of_common_pairs() -> None:
    """fcfs, sjf and ljf are lists by another name."""
    workload = workload_of((0.0, 2, 3.0, 3.0), (0.0, 2, 2.0, 2.0), (0.0, 1, 1.0, 1.0), (1.0, 1, 4.0, 4.0))
    starts = {
        name: Simulation(Platform.homogeneous(1, 2), workload, make_scheduler(name)).run().jobs["start_time"].tolist()
        for name in ("fcfs", "sjf", "ljf", "list:first/first", "list:shortest/first", "list:longest/first", "list")
    }
    assert starts["fcfs"] == starts["list:first/first"] == starts["list"] == [0.0, 3.0, 5.0, 5.0]
    assert starts["sjf"] == starts["list:shortest/first"] == [3.0, 1.0, 0.0, 6.0]
    assert starts["ljf"] == starts["list:longest/first"] == [0.0, 7.0, 9.0, 3.0]


def test_one_scheduler_object_can_serve_many_runs(queue: Queue) -> None:
    """A new run begins with an empty queue, also after one that left jobs waiting."""
    scheduler = Fcfs()
    platform = Platform.homogeneous(1, 4)
    Simulation(platform, queue([4, 4, 4]), scheduler, until=1.5).run()
    again = Simulation(platform, queue([1, 2]), scheduler).run().jobs
    assert again["state"].tolist() == ["completed", "completed"]


# ---------------------------------------------------------------------- width and shape


def test_a_job_that_fits_the_widest_node_goes_on_one(queue: Queue) -> None:
    """Three cores of four, though two nodes have two free each: it waits."""
    platform = Platform.homogeneous(2, 4)
    view = View.by_hand(platform, queue([2, 2, 3, 4], nodes=[0, 0, 0, 0]))
    assert decide(ListScheduler(nodes="high_cores"), view) == [("0", {0: 2}), ("1", {1: 2})]


def test_a_wider_job_takes_free_cores_node_by_node(queue: Queue) -> None:
    """Ten cores of three nodes of four, one of them partly taken: what is free, in the nodes' order."""
    platform = Platform.homogeneous(3, 4)
    view = View.by_hand(platform, queue([1, 10]))
    assert decide(ListScheduler(), view) == [("0", {0: 1}), ("1", {0: 3, 1: 4, 2: 3})]
    view = View.by_hand(platform, queue([1, 10]))
    assert decide(ListScheduler(nodes="high_cores"), view) == [("0", {0: 1}), ("1", {1: 4, 2: 4, 0: 2})]


@pytest.mark.parametrize(
    ("cores", "nodes", "per_node", "expected"),
    [
        (4, 2, 0, {0: 2, 1: 2}),
        (5, 2, 0, {0: 3, 1: 2}),
        (4, 0, 1, {0: 1, 1: 1, 2: 1, 3: 1}),
        (5, 0, 2, {0: 2, 1: 2, 2: 1}),
        (6, 3, 2, {0: 2, 1: 2, 2: 2}),
        (4, 1, 0, {0: 4}),
        (4, 2, 4, {0: 2, 1: 2}),
    ],
)
def test_jobs_that_ask_for_a_shape(
    queue: Queue, cores: int, nodes: int, per_node: int, expected: dict[int, int]
) -> None:
    """``nodes`` spreads evenly, ``ntasks_per_node`` alone fills nodes to that many; both override the width rule."""
    workload = queue([cores], nodes=[nodes], ntasks_per_node=[per_node])
    result = Simulation(Platform.homogeneous(4, 4), workload, Fcfs()).run()
    found = result.allocations.assign(cores=result.allocations["last_core"] - result.allocations["first_core"] + 1)
    assert dict(zip(found["node"], found["cores"], strict=True)) == {
        f"cluster0.node{node}": count for node, count in expected.items()
    }


def test_the_widest_wish_does_not_use_up_the_other_nodes() -> None:
    """Four tasks on one node and two on another, on nodes of two and four cores in that order: it fits, and runs."""
    from cluster_sim.platform import Cluster, NodeGroup, NodeType, ProcessorType

    groups = [NodeGroup(NodeType(f"n{c}", (ProcessorType(f"p{c}", c, 3.0),)), 1) for c in (2, 4)]
    platform = Platform((Cluster("cluster0", tuple(groups)),))
    workload = workload_of((0.0, 6, 1.0), ntasks_per_node=[4])
    assert Simulation(platform, workload, Fcfs()).run().jobs["state"].tolist() == ["completed"]


def test_cores_are_filled_in_processor_order(queue: Queue) -> None:
    """Lowest idle cores first, from the first processor on, into holes too."""
    workload = workload_of((0.0, 1, 5.0), (0.0, 1, 1.0), (0.0, 3, 5.0), (1.0, 4, 1.0))
    result = Simulation(Platform.homogeneous(1, 8, processors=2), workload, Fcfs()).run()
    assert result.jobs_with_allocation()["allocation"].tolist() == [
        "cluster0.node0.processor0:0-0",
        "cluster0.node0.processor0:1-1",
        "cluster0.node0.processor0:2-3;cluster0.node0.processor1:0-0",
        "cluster0.node0.processor0:1-1;cluster0.node0.processor1:1-3",
    ]


# ---------------------------------------------------------------------- memory


def test_memory_constrains_placement_where_the_scheduler_says_so(queue: Queue) -> None:
    """Nodes of 1 GB: two tasks of 400 MB fit, a third goes to the next node, or waits; the papers' policies do not look."""
    platform = Platform.homogeneous(2, 4, memory_gb=1.0)
    workload = queue([2, 1, 1, 1], memory=[400.0] * 4)
    assert decide(ListScheduler(memory=True), View.by_hand(platform, workload)) == [
        ("0", {0: 2}),
        ("1", {1: 1}),
        ("2", {1: 1}),
    ]
    assert decide(ListScheduler(memory=False), View.by_hand(platform, workload)) == [
        ("0", {0: 2}),
        ("1", {0: 1}),
        ("2", {0: 1}),
        ("3", {1: 1}),
    ]


def test_memory_is_given_back_when_a_job_ends() -> None:
    """The third job waits for memory, not for cores, until the first ends."""
    workload = workload_of((0.0, 1, 3.0), (0.0, 1, 9.0), (0.0, 1, 1.0), memory=[600.0, 400.0, 500.0])
    platform = Platform.homogeneous(1, 4, memory_gb=1.0)
    starts = Simulation(platform, workload, make_scheduler("fcfs:memory=yes")).run().jobs["start_time"]
    assert starts.tolist() == [0.0, 0.0, 3.0]
    starts = Simulation(platform, workload, make_scheduler("fcfs")).run().jobs["start_time"]
    assert starts.tolist() == [0.0, 0.0, 0.0]


def test_a_wide_job_takes_no_more_of_a_node_than_its_memory_holds(queue: Queue) -> None:
    """Six tasks of 400 MB on nodes of four cores and 1 GB: two on each."""
    platform = Platform.homogeneous(3, 4, memory_gb=1.0)
    view = View.by_hand(platform, queue([6], memory=[400.0]))
    assert decide(ListScheduler(memory=True), view) == [("0", {0: 2, 1: 2, 2: 2})]


# ---------------------------------------------------------------------- orders and schedulers of one's own


def test_an_order_is_any_function(queue: Queue) -> None:
    """Last come, first served, from the last node on: two lambdas."""
    scheduler = ListScheduler(lambda job, now: -job.submit_time, lambda view, job: -np.arange(view.platform.node_count))
    view = View.by_hand(Platform.homogeneous(2, 2), queue([1, 1, 2]))
    assert decide(scheduler, view) == [("2", {1: 2}), ("1", {0: 1}), ("0", {0: 1})]


def test_a_dynamic_order_is_worked_out_anew_in_every_pass() -> None:
    """Small jobs first, but a minute of waiting outweighs ten cores: job 1 overtakes job 2 only when that is dynamic."""

    def aging(job: Job, now: float) -> float:
        return job.requested_cores - (now - job.submit_time) / 6.0

    workload = workload_of((0.0, 12, 60.0), (0.0, 12, 60.0), (59.0, 3, 60.0))
    platform = Platform.homogeneous(1, 12)
    for dynamic, expected in ((True, [0.0, 60.0, 120.0]), (False, [0.0, 120.0, 60.0])):
        starts = Simulation(platform, workload, ListScheduler(aging, dynamic=dynamic)).run().jobs["start_time"]
        assert starts.tolist() == expected


def test_random_can_be_drawn_anew_in_every_pass(queue: Queue) -> None:
    """The random order and ``dynamic`` go together."""
    assert sorted(order_of(ListScheduler("random", dynamic=True), queue([1, 1, 1]))) == ["0", "1", "2"]


def test_a_view_made_by_hand_shows_what_was_applied(queue: Queue) -> None:
    """Started jobs run and hold cores and memory; refused ones are gone; what cannot be applied changes nothing."""
    view = View.by_hand(Platform.homogeneous(2, 4, memory_gb=2.0), queue([3, 2, 4], memory=[100.0] * 3))
    first, second, third = view.pending
    view.apply(Start(first, Placement.on({1: 3})))
    assert view.free_cores.tolist() == [4, 1]
    assert view.machine.memory_used.tolist() == [0.0, 300.0]
    assert [running.job for running in view.running] == [first]
    with pytest.raises(PlacementError):
        view.apply(Start(second, Placement.on({1: 2})))
    assert view.pending == (second, third)
    view.apply(Reject(second, "no"))
    assert view.pending == (third,)
    assert not view.is_pending(second)
    assert view.place(third) == Placement.on({0: 4})


def test_nobody_but_the_clairvoyant_learns_how_long_a_job_really_runs(queue: Queue) -> None:
    """A job shows requests only; a scheduler that says it is clairvoyant gets a view that knows run times."""
    seen: list[View] = []

    class Looks(Fcfs):
        def begin(self, view: View) -> None:
            super().begin(view)
            seen.append(view)

    class Knows(Looks):
        clairvoyant = True

    workload = queue([1], recorded_run_time=[7.0])
    job = View.by_hand(Platform.homogeneous(1, 1), workload).pending[0]
    for scheduler in (Looks(), Knows()):
        Simulation(Platform.homogeneous(1, 1), workload, scheduler).run()
    assert not hasattr(seen[0], "run_time")
    assert isinstance(seen[1], ClairvoyantView)
    assert seen[1].run_time(job) == 7.0
    for name in ("operations", "recorded_run_time", "run_time", "used_cores"):
        assert not hasattr(job, name)
    assert not {"operations", "recorded_run_time"} & set(job._columns)


def test_a_scheduler_without_schedule_says_what_is_missing() -> None:
    """The error names the class."""

    class Nothing(Scheduler):
        pass

    workload = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [1.0]})
    with pytest.raises(SimulationError, match="Nothing has no schedule method"):
        Simulation(Platform.homogeneous(1, 1), workload, Nothing()).run()


def test_memory_that_rounding_leaves_tells_no_nodes_apart() -> None:
    """0.1 and 0.2 MB were used on the third node, and are given back: the second is as empty, and comes first."""
    jobs = workload_of((0, 4, 100), (0, 4, 6), (0, 1, 5), (0, 1, 10), (20, 1, 5), memory=[0.0, 0.0, 0.1, 0.2, 0.0])
    scheduler = make_scheduler("list:first/most_used_mem")
    result = Simulation(Platform.homogeneous(nodes=3, cores=4), jobs, scheduler).run()
    assert result.allocations["node"].tolist()[2:] == ["cluster0.node2", "cluster0.node2", "cluster0.node1"]
