"""Network models: fair shares and transfers worked out by hand."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster_sim.errors import InputError, ModelWarning
from cluster_sim.models.network import SharedNetwork, max_min_rates
from cluster_sim.platform import Cluster, NodeGroup, NodeType, Platform, ProcessorType
from cluster_sim.run import Simulation
from cluster_sim.workload import Workload
from schedulers import Fcfs
from tests.support.rows import workload_of


def workload(comm_vol: list[float], submit: list[float]) -> Workload:
    """Jobs of 2 tasks, 100 s each."""
    count = len(submit)
    jobs = {"submit_time": submit, "requested_cores": [2] * count, "recorded_run_time": [100.0] * count}
    return Workload(jobs | {"comm_vol": comm_vol})


def finishes(platform: Platform, jobs: Workload, network: str) -> list[float]:
    """Finish times under FCFS."""
    return Simulation(platform, jobs, Fcfs(), network=network).run().jobs["finish_time"].tolist()


def test_without_a_model_communication_costs_nothing_and_warns() -> None:
    """The default leaves communication out, and says so once."""
    platform = Platform.homogeneous(nodes=4, cores=1)
    with pytest.warns(ModelWarning, match="no time without a network model") as caught:
        assert finishes(platform, workload([1000.0, 1000.0], [0.0, 0.0]), "none") == [100.0, 100.0]
    assert ["communicat" in str(one.message) for one in caught].count(True) == 1


def test_jobs_on_one_node_communicate_through_memory() -> None:
    """A job whose tasks share a node sends nothing."""
    platform = Platform.homogeneous(nodes=1, cores=2)
    assert finishes(platform, workload([1000.0], [0.0]), "shared:node_link=10") == [100.0]


def test_a_transfer_takes_its_volume_over_the_link() -> None:
    """Two tasks on two nodes send 1000 MB each over links of 10 MB/s: 100 s after their work."""
    platform = Platform.homogeneous(nodes=2, cores=1)
    assert finishes(platform, workload([1000.0], [0.0]), "shared:node_link=10") == pytest.approx([200.0])


def two_clusters() -> Platform:
    """Two clusters of two one-core nodes."""
    node = NodeType("n", (ProcessorType("p", 1, 1.0),))
    return Platform(tuple(Cluster(name, (NodeGroup(node, 3),)) for name in ("a", "b")))


def test_clusters_share_their_links_while_transfers_overlap() -> None:
    """Three jobs, of which the second spans clusters; its rate follows the cluster link."""
    # Node order a0 a1 | a2 b0 | b1 b2: job 1 sends from a2 and b0 over both cluster links, 4 MB/s each.
    jobs = workload([400.0, 400.0, 400.0], [0.0, 0.0, 0.0])
    times = finishes(two_clusters(), jobs, "shared:node_link=10,cluster_link=4")
    assert times == pytest.approx([140.0, 200.0, 140.0])


def test_a_late_transfer_halves_the_rate_of_another() -> None:
    """Two jobs that span clusters share the link while both send."""
    node = NodeType("n", (ProcessorType("p", 2, 1.0),))
    platform = Platform(tuple(Cluster(name, (NodeGroup(node, 1),)) for name in ("a", "b")))
    jobs = workload_of((0.0, 2, 100.0), (50.0, 2, 100.0), nodes=[2, 2], comm_vol=[800.0, 800.0])
    # 100-150 job 0 alone at 8 MB/s, 400 of 800 MB; 150-250 both at 4 MB/s, job 0 done; then job 1 alone, 400 MB in 50 s.
    assert finishes(platform, jobs, "shared:node_link=100,cluster_link=8") == pytest.approx([250.0, 300.0])


def test_a_killed_job_frees_its_links() -> None:
    """A job killed while it sends leaves the whole link to the other."""
    node = NodeType("n", (ProcessorType("p", 2, 1.0),))
    platform = Platform(tuple(Cluster(name, (NodeGroup(node, 1),)) for name in ("a", "b")))
    jobs = Workload(
        {"submit_time": [0.0, 0.0], "requested_cores": [2, 2], "nodes": [2, 2], "recorded_run_time": [100.0, 100.0]}
        | {"comm_vol": [800.0, 800.0]}
    )
    simulation = Simulation(platform, jobs, Fcfs(), network="shared:cluster_link=8")
    simulation.run(until=150.0)
    simulation.kill("0")
    assert simulation.run().jobs["finish_time"].tolist() == pytest.approx([150.0, 225.0])


@given(
    flows=st.lists(st.dictionaries(st.sampled_from("abcde"), st.integers(1, 3), min_size=1), min_size=1, max_size=6),
    capacities=st.lists(st.floats(0.5, 100.0), min_size=5, max_size=5),
)
def test_rates_are_max_min_fair(flows: list[dict[str, int]], capacities: list[float]) -> None:
    """No link is overfull, and every flow has a full link on which nobody is faster."""
    links = {(name, ""): capacity for name, capacity in zip("abcde", capacities, strict=True)}
    demands = [Counter({(name, ""): times for name, times in flow.items()}) for flow in flows]
    rates = max_min_rates(demands, links)
    used = {link: sum(rate * demand[link] for rate, demand in zip(rates, demands, strict=True)) for link in links}
    assert all(used[link] <= links[link] * (1 + 1e-9) for link in links)
    for rate, demand in zip(rates, demands, strict=True):
        full = [link for link in demand if used[link] >= links[link] * (1 - 1e-9)]
        fastest = [max(r for r, d in zip(rates, demands, strict=True) if link in d) for link in full]
        assert any(rate >= other * (1 - 1e-9) for other in fastest)


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, float("nan"), "fast", None, 5e-324])
def test_a_graph_with_an_impossible_bandwidth_is_refused(bandwidth: object) -> None:
    """A link over which nothing moves would have no end of a transfer, and no number at all would end nowhere."""
    platform = two_clusters()
    graph = platform.topology()
    graph.edges["a", "a.node0"]["bandwidth"] = bandwidth
    with pytest.raises(InputError, match=r"bandwidth of the link a - a\.node0: expected MB/s above 0"):
        Simulation(platform, workload([1.0], [0.0]), Fcfs(), network=SharedNetwork(graph=graph))


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, float("nan"), 5e-324])
def test_an_impossible_bandwidth_is_refused(bandwidth: float) -> None:
    """The same of the links that have no bandwidth of their own."""
    with pytest.raises(InputError, match=r"node_link: expected .*MB/s above 0"):
        SharedNetwork(node_link=bandwidth)
    with pytest.raises(InputError, match=r"cluster_link: expected .*MB/s above 0"):
        SharedNetwork(cluster_link=bandwidth)
