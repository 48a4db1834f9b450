"""Each job order and each node order on a state written down in the test, against the order that a person gives them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from cluster_sim import Placement, Platform, ProcessorType, Simulation, View, Workload
from cluster_sim.platform import Cluster, NodeGroup, NodeType
from schedulers import ListScheduler, job_orders, make_scheduler, node_orders
from tests.support.rows import workload_of

from .conftest import Queue, order_of

#                    submitted  cores  requested time  memory  memory volume
FOUR_JOBS = {
    "a": (0.0, 4, 30.0, 500.0, 100.0),  # 3.33 MB/s
    "b": (1.0, 2, 10.0, 100.0, 900.0),  # 90 MB/s
    "c": (2.0, 2, 12.0, 500.0, 50.0),  # 4.17 MB/s
    "d": (3.0, 1, 10.0, 200.0, 900.0),  # 90 MB/s
}


def four_jobs() -> Workload:
    """The table above."""
    submit, cores, requested, memory, volume = zip(*FOUR_JOBS.values(), strict=True)
    return Workload(
        {
            "job_id": list(FOUR_JOBS),
            "submit_time": submit,
            "requested_cores": cores,
            "requested_time": requested,
            "memory": memory,
            "mem_vol": volume,
            "recorded_run_time": [1.0, 20.0, 3.0, 4.0],  # what nobody may look at
        }
    )


JOB_ORDERS = {
    "first": "abcd",
    "shortest": "bdca",
    "longest": "acbd",
    "smallest": "dbca",
    "low_mem": "bdac",
    "low_mem_ops": "cabd",
    "low_mem_bw": "acbd",
}


@pytest.mark.parametrize(("order", "expected"), JOB_ORDERS.items())
def test_job_orders(order: str, expected: str) -> None:
    """Least key first, ties in order of submission; blocking or not, when there is room for all."""
    for blocking in (True, False):
        assert order_of(ListScheduler(order, blocking=blocking), four_jobs()) == expected


def test_the_published_orders_are_all_there() -> None:
    """The names of the papers' tables, and of this one."""
    assert {*JOB_ORDERS, "random"} <= set(job_orders)
    assert {*NODE_ORDERS, "random"} <= set(node_orders)


def test_a_job_without_requested_time_counts_as_endless() -> None:
    """Last under shortest, first under longest; its bandwidth over a time unknown is none."""
    workload = workload_of((0.0, 1, 1.0, np.inf), (0.0, 1, 1.0, 5.0), job_id=["x", "y"], mem_vol=[10.0, 10.0])
    for order, expected in {"shortest": "yx", "longest": "xy", "low_mem_bw": "xy"}.items():
        assert order_of(ListScheduler(order), workload) == expected


# ---------------------------------------------------------------------- nodes


def four_nodes() -> Platform:
    """Two equal nodes (0 and 3), one of two unlike sockets (1), a slow wide one (2); contention far away, but there."""

    def kind(name: str, cores: int, ghz: float, static: float, dynamic: float, threshold: float) -> ProcessorType:
        contention = {"b": -1e-9, "c": threshold, "da": 1.0, "db": 1e9, "dc": 1e9, "dd": 0.0}
        power = {"static_w": static, "dynamic_w": dynamic, "min_power": 0.5}
        return ProcessorType(name, cores, ghz, power=power, contention=contention)

    quad = NodeType("quad", (kind("quad", 4, 3.0, 10.0, 2.0, 1000.0),), 8.0)
    pair = NodeType("pair", (kind("fast", 2, 4.0, 5.0, 3.0, 800.0), kind("tiny", 2, 1.0, 5.0, 3.0, 800.0)), 16.0)
    wide = NodeType("wide", (kind("wide", 8, 2.0, 20.0, 1.0, 1500.0),), 4.0)
    groups = (NodeGroup(quad, 1), NodeGroup(pair, 1), NodeGroup(wide, 1), NodeGroup(quad, 1))
    return Platform((Cluster("cluster0", groups),))


RUNNING = Workload(
    {
        # On node 0 two cores, 1000 MB a task, and 100 MB/s: it needs 300 · 4/3 s there. On node 1 one core of the 4 GHz
        # socket, 3000 MB, 500 MB/s for 300 s. On node 2 six cores, 100 MB each, 50 MB/s for 600 s. Then two that come.
        "submit_time": [0.0, 0.0, 0.0, 1.0],
        "requested_cores": [2, 1, 6, 1],
        "recorded_run_time": [300.0] * 4,
        "memory": [1000.0, 3000.0, 100.0, 0.0],
        "mem_vol": [40_000.0, 150_000.0, 30_000.0, 0.0],
    }
)


def busy_view(**options: object) -> View:
    """The four nodes while the first three jobs run, one each on the first three nodes, and the fourth waits."""
    simulation = Simulation(four_nodes(), RUNNING, **options)  # type: ignore[arg-type]
    view = simulation.step_to_decision()
    assert view is not None
    simulation.decide(*((job, Placement.on({i: job.requested_cores})) for i, job in enumerate(view.pending)))
    assert simulation.step_to_decision() is view
    assert [job.job_id for job in view.pending] == ["3"]
    return view


NODE_ORDERS: Mapping[str, list[int]] = {
    "first": [0, 1, 2, 3],
    "high_gflops": [0, 3, 1, 2],  # a core's peak, averaged over sockets: 3, 2.5, 2, 3
    "current_gflops": [2, 0, 1, 3],  # 2·3, 4, 6·2, 0
    "high_cores": [3, 1, 0, 2],  # free: 2, 3, 2, 4
    "low_cores": [0, 2, 1, 3],
    "high_mem": [1, 3, 0, 2],  # free MB: 6192, 13384, 3496, 8192
    "most_used_mem": [1, 0, 2, 3],  # used MB: 2000, 3000, 600, 0
    "total_mem": [1, 0, 3, 2],  # GB: 8, 16, 4, 8
    "high_mem_bw": [3, 0, 2, 1],  # MB/s asked for: 200, 500, 300, 0
    "free_mem_bw": [2, 1, 3, 0],  # of the thresholds that leaves 800, 1100, 1200, 1000
    "low_power": [0, 3, 1, 2],  # at full load 18, 22, 28, 18 W
    "current_watts": [3, 1, 0, 2],  # now 14, 8 + 2.5, 26, 5 W
}


def ranking(order: str, view: View) -> list[int]:
    """The nodes as the order ranks them; ties go by platform order."""
    keys = node_orders.make(order)(view, view.pending[0])
    return list(range(4)) if keys is None else np.argsort(keys, kind="stable").tolist()


@pytest.mark.parametrize(("order", "expected"), NODE_ORDERS.items())
def test_node_orders(order: str, expected: list[int]) -> None:
    """Four nodes, three of them with a job, ranked."""
    assert ranking(order, busy_view()) == expected


def test_what_the_orders_look_at() -> None:
    """The view's figures for that state, one by one, as worked out by hand."""
    view = busy_view()
    assert view.free_cores.tolist() == [2, 3, 2, 4]
    assert view.memory_used.tolist() == [2000.0, 3000.0, 600.0, 0.0]
    assert view.memory_capacity.tolist() == [8192.0, 16384.0, 4096.0, 8192.0]
    assert view.demand == pytest.approx([200.0, 500.0, 300.0, 0.0])
    assert view.node_bandwidth.tolist() == [1000.0, 1600.0, 1500.0, 1000.0]
    assert view.node_gflops.tolist() == [3.0, 2.5, 2.0, 3.0]
    assert view.node_max_watts.tolist() == [18.0, 22.0, 28.0, 18.0]
    assert view.node_watts() == pytest.approx([14.0, 10.5, 26.0, 5.0])
    assert view.current_gflops() == pytest.approx([6.0, 4.0, 12.0, 0.0])
    assert view.watts == pytest.approx(55.5)


def test_the_job_goes_to_the_first_node_of_the_order_that_has_room(queue: Queue) -> None:
    """Three cores: nodes 0 and 2 have too few free, whatever the order thinks of them."""
    view = busy_view()
    job = View.by_hand(four_nodes(), queue([3])).pending[0]
    for order, node in {"first": 1, "low_cores": 1, "high_cores": 3, "high_mem_bw": 3, "current_gflops": 1}.items():
        placement = view.place(job, node_orders.make(order)(view, job))
        assert placement == Placement.on({node: 3}), order


def test_quirks_of_published_programs() -> None:
    """``low-power-means-high`` turns that order around; ``textual-node-order`` puts node10 before node2."""
    assert ranking("low_power", busy_view(quirks=["low-power-means-high"])) == [2, 1, 0, 3]
    jobs = Workload({"submit_time": [0.0] * 12, "requested_cores": [1] * 12, "recorded_run_time": [1.0] * 12})
    platform = Platform.homogeneous(nodes=12, cores=1)
    result = Simulation(platform, jobs, make_scheduler("fcfs"), quirks=["textual-node-order"]).run()
    names = [f"cluster0.node{i}" for i in (0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9)]
    assert result.allocations["node"].tolist() == names


def test_memory_that_nobody_knows_counts_as_equal() -> None:
    """Without capacities, most memory available is least memory used."""
    platform = Platform.homogeneous(nodes=3, cores=4)
    jobs = workload_of((0.0, 1, 9.0), (0.0, 1, 9.0), (0.0, 1, 9.0), (0.0, 1, 9.0), memory=[500.0] * 4)
    result = Simulation(platform, jobs, make_scheduler("list:first/high_mem")).run()
    assert result.allocations["node"].tolist() == [f"cluster0.node{i}" for i in (0, 1, 2, 0)]


# ---------------------------------------------------------------------- chance


def test_random_orders_follow_the_runs_seed() -> None:
    """Equal seeds draw equally; over many seeds every job comes first, and every node is taken, about equally often."""
    jobs = Workload({"submit_time": [0.0] * 4, "requested_cores": [1] * 4, "recorded_run_time": [1.0] * 4})
    first_job, node_of_it = [], []
    for seed in range(200):
        scheduler = make_scheduler("list:random/random")
        result = Simulation(Platform.homogeneous(nodes=4, cores=4), jobs, scheduler, seed=seed).run()
        node_of_it.append(result.allocations["node"][0])
        again = Simulation(Platform.homogeneous(nodes=1, cores=1), jobs, scheduler, seed=seed).run().jobs
        if seed < 5:
            twice = Simulation(Platform.homogeneous(nodes=1, cores=1), jobs, scheduler, seed=seed).run().jobs
            assert again.equals(twice)
        first_job.append(int(again["start_time"].argmin()))
    for drawn in (first_job, node_of_it):
        counts = [drawn.count(kind) for kind in set(drawn)]
        assert len(counts) == 4
        assert min(counts) > 25  # of 50 expected; the chance of fewer is below 1e-4
