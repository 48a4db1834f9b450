"""Orders of nodes for jobs that share GPUs, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cluster_sim import Platform, Simulation, Workload
from cluster_sim.machine.units.fragmentation import TypicalJobs
from cluster_sim.platform import Cluster, NodeGroup, NodeType, ProcessorType, Resource
from cluster_sim.run.decisions import Start
from cluster_sim.run.view import View
from schedulers.gpu.node_orders import FragmentationGradientDescent
from schedulers.queue.orders import node_orders

CPU = ProcessorType("cpu", 8, 3.0, power={})
BIG, SMALL = (NodeType(f"gpu{n}", (CPU,), resources={"gpu": Resource(n)}) for n in (4, 2))
PLATFORM = Platform((Cluster("c", (NodeGroup(BIG, 1), NodeGroup(SMALL, 2))),))


def view_with(*placed: tuple[int, dict[str, Any]], waiting: dict[str, Any]) -> tuple[View, Any]:
    """A view in which jobs hold cores of nodes, and the job that waits."""
    jobs = [{"submit_time": 0.0, "recorded_run_time": 9.0} | job for job in (*(job for _, job in placed), waiting)]
    view = View.by_hand(PLATFORM, Workload(jobs))
    for job, (node, _) in zip(view.pending[:-1], placed, strict=True):
        within = np.zeros(3, np.int64)
        within[node] = 8
        placement = view.place(job, within=within)
        assert placement is not None
        view.apply(Start(job, placement))
    return view, view.pending[0]


def job(cores: int, gpus: int = 0, share: float = 1.0) -> dict[str, Any]:
    """A job of one node."""
    return {"requested_cores": cores, "gpus": gpus, "gpu_share": share}


def chosen(order: str, view: View, waiting: Any) -> int:
    """The node that an order takes."""
    placement = view.place(waiting, node_orders.make(order)(view, waiting))
    assert placement is not None
    return placement.nodes[0]


def test_best_fit_leaves_least() -> None:
    """Of 8 cores and at most 4 GPUs: node 2 has 4 cores and a GPU left, node 1 has 6 cores and 2."""
    view, waiting = view_with((2, job(2, 1)), waiting=job(2, 1))
    scores = -node_orders.make("best-fit")(view, waiting)
    # 1 - cores left / 8 / 2 - GPUs left / 4 / 2
    assert scores.tolist() == [
        int(100 * (1 - 6 / 16 - 3 / 8)),
        int(100 * (1 - 6 / 16 - 1 / 8)),
        int(100 * (1 - 4 / 16)),
    ]
    assert chosen("best-fit", view, waiting) == 2


def test_dot_product_takes_where_least_is_free() -> None:
    """Product of what is free and what is asked for, both of 8 cores and 4 GPUs."""
    view, waiting = view_with((1, job(4)), waiting=job(4, 2))
    scores = -node_orders.make("dot-product")(view, waiting)
    assert scores.tolist() == [int(100 * (1 - (1 / 2 + 1 / 2) / 2)), int(100 * (1 - (1 / 4 + 1 / 4) / 2)), 62]
    assert chosen("dot-product", view, waiting) == 1


def test_packing_fills_gpus_in_use_first() -> None:
    """A GPU of which a part is taken comes before idle GPUs of a node in use, and these before idle nodes."""
    view, waiting = view_with((2, job(1, 1, 0.5)), (0, job(1, 1)), waiting=job(1, 1, 0.5))
    scores = -node_orders.make("packing")(view, waiting)
    assert scores.tolist() == [50 - 1, 33 - 2, 100 - 50 // 10]
    assert chosen("packing", view, waiting) == 2


def test_clustering_goes_to_its_own_kind() -> None:
    """Nodes with jobs of as many GPUs alone, with others too, with none, with others alone."""
    view, waiting = view_with((0, job(1, 1)), (0, job(1, 2)), (1, job(1, 1)), (2, job(1, 1, 0.5)), waiting=job(1, 1))
    scores = -node_orders.make("clustering")(view, waiting)
    assert scores.tolist() == [50 + 25 * 3000 // 4000, 75 + 25 * 3000 // 4000, 0 + 25 * 2500 // 4000]


def test_fgd_keeps_whole_gpus_for_those_who_need_them() -> None:
    """Where jobs want whole GPUs, a share goes on the GPU that is broken already."""
    view, waiting = view_with((2, job(1, 1, 0.5)), (0, job(1, 4)), waiting=job(1, 1, 0.25))
    usual = Workload([{"submit_time": 0.0, "recorded_run_time": 9.0} | job(1, 1)])
    order = FragmentationGradientDescent()
    order.typical_of = usual
    placement = view.place(waiting, order(view, waiting))
    assert placement is not None
    assert placement.nodes == [2]
    assert [hold.which for hold in placement.units or ()] == [(0,)]


def test_fragmentation_by_hand() -> None:
    """Of half a GPU and a whole one: jobs of a whole GPU can use one, jobs of a half both, jobs of 9 cores none."""
    columns = Workload(
        [
            {"submit_time": 0.0, "recorded_run_time": 1.0} | each
            for each in [job(1, 1)] * 10 + [job(1, 1, 0.5)] * 6 + [job(9, 1)] * 4
        ]
    ).columns
    typical = TypicalJobs(columns)
    assert typical.weights.tolist() == [0.5, 0.3, 0.2]
    lost = typical.fragmentation(np.array([8]), np.array([[500_000, 1_000_000]]), np.ones((1, 3), bool))
    assert lost[0] == pytest.approx(0.5 * 500 + 0.3 * 0 + 0.2 * 1500)


def test_a_run_tells_what_nobody_could_use() -> None:
    """A half that nobody can take is fragmented as long as whole GPUs are what jobs want; all else is in use."""
    platform = Platform.homogeneous(1, 8, resources={"gpu": Resource(2)})
    jobs = Workload(
        [
            {"submit_time": 0.0, "recorded_run_time": 10.0, "requested_time": 10.0} | each
            for each in [job(1, 1, 0.5), *[job(1, 1)] * 30]
        ]
    )
    result = Simulation(platform, jobs, "fcfs").run()
    first = result.gpus.iloc[0]
    assert (first["held"], first["free"], first["fragmented"]) == (1.5, 0.5, pytest.approx(0.5))
    assert result.summary()["stranded_gpu_s"] == 0.0
