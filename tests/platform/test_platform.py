"""The platform as an object: counts, arrays, names, views, and what it refuses."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from typing import Any

import networkx as nx
import numpy as np
import pytest

from cluster_sim.errors import InputError
from cluster_sim.platform.platform import (
    Cluster,
    NodeGroup,
    NodeType,
    Parameters,
    Platform,
    PowerTransitions,
    ProcessorType,
    PState,
    check_contention,
)
from cluster_sim.run import Simulation
from cluster_sim.workload import Workload
from schedulers import Fcfs

CONTENTION = {"b": -1.85e-5, "c": 32000, "da": 1, "db": 500, "dc": 25000, "dd": 500}


@pytest.fixture
def lab() -> Platform:
    """Two clusters: three two-socket nodes and an empty group, then two nodes of two different processors."""
    fast, slow = ProcessorType("fast", 8, 4.2), ProcessorType("slow", 4, 2.0, flops_per_cycle=2)
    thin, both = NodeType("thin", (fast, fast)), NodeType("both", (slow, fast))
    return Platform(
        (Cluster("a", (NodeGroup(thin, 3), NodeGroup(both, 0))), Cluster("b", (NodeGroup(both, 1), NodeGroup(thin, 1))))
    )


def test_counts(lab: Platform) -> None:
    """Nodes, processors and cores add up over clusters, the widest node and the fastest core are found."""
    assert (lab.node_count, lab.processor_count, lab.core_count) == (5, 10, 76)
    assert (lab.widest_node, lab.fastest_ops_per_s) == (16, pytest.approx(4.2e9))


def test_arrays_agree_with_the_description(lab: Platform) -> None:
    """Types, cores and first indices are those of the nodes written out by hand."""
    assert [node.name for node in lab.node_types] == ["thin", "both"]
    assert [processor.name for processor in lab.processor_types] == ["fast", "slow"]
    assert lab.type_of_node.tolist() == [0, 0, 0, 1, 0]
    assert lab.node_cores.tolist() == [16, 16, 16, 12, 16]
    assert lab.first_processor.tolist() == [0, 2, 4, 6, 8, 10]
    assert lab.type_of_processor.tolist() == [0, 0, 0, 0, 0, 0, 1, 0, 0, 0]
    assert lab.first_core.tolist() == [0, 8, 16, 24, 32, 40, 48, 52, 60, 68, 76]
    assert (lab.type_of_node.dtype, lab.node_cores.dtype) == (np.int32, np.int32)
    assert (lab.first_processor.dtype, lab.first_core.dtype) == (np.int64, np.int64)


def test_arrays_are_read_only(lab: Platform) -> None:
    """Nobody changes the hardware of a running simulation by accident."""
    with pytest.raises(ValueError, match="read-only"):
        lab.node_cores[0] = 1
    with pytest.raises(FrozenInstanceError):
        lab.id = "other"  # type: ignore[misc]


def test_names(lab: Platform) -> None:
    """Nodes are numbered within their cluster, through its groups, and names lead back to indices."""
    names = ["a.node0", "a.node1", "a.node2", "b.node0", "b.node1"]
    assert lab.node_names() == names
    assert [lab.node_name(i) for i in range(5)] == names
    assert [lab.node_index(name) for name in names] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("name", ["a.node3", "a.node01", "a.node-1", "a.node", "c.node0", "node0", "", "a.node¹"])
def test_unknown_names(lab: Platform, name: str) -> None:
    """A name that no node has is refused with an example of one."""
    with pytest.raises(InputError, match=r"a node name such as a\.node0"):
        lab.node_index(name)
    with pytest.raises(IndexError):
        lab.node_name(5)


def test_a_hundred_thousand_nodes() -> None:
    """Arrays of a large platform are made without an object per node."""
    platform = Platform.homogeneous(100_000, 64, processors=2)
    assert platform.first_core[-1] == platform.core_count == 6_400_000
    assert platform.node_name(99_999) == "cluster0.node99999"
    assert platform.node_index("cluster0.node99999") == 99_999


def test_homogeneous_follows_the_power_law() -> None:
    """Equal nodes draw what documented processors of their clock draw, and do not contend unless told how."""
    (processor,) = Platform.homogeneous(2, 16, ghz=4.2, processors=2, memory_gb=32).processor_types
    assert (processor.cores, processor.clock_ghz) == (8, 4.2)
    # Table 7 of López et al. 2025 prints 68.81 W and 6.49 W for 4.2 GHz.
    assert processor.power["static_w"] == pytest.approx(68.81, abs=0.005)
    assert processor.power["dynamic_w"] == pytest.approx(6.49, abs=0.005)
    assert not processor.contention
    assert Platform.homogeneous(1, 8, contention=CONTENTION).processor_types[0].contention == CONTENTION


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((0, 4), "nodes: expected an integer from 1"),
        ((10**9, 4), "nodes: expected an integer from 1 to 10000000"),
        ((1.5, 4), "nodes: expected an integer"),
        ((True, 4), "nodes: expected an integer"),
        ((4, 0), "cores: expected an integer"),
        ((10**7, 10**7), "cores: expected an integer from 1 to 100000000"),
        ((4, 4, float("nan")), "ghz: expected a finite positive number, found nan"),
        ((4, 4, -1.0), "ghz: expected a finite positive number"),
        ((4, 4, 10**400), "found a huge integer"),
        ((4, 6, 3.0, 4), "cores: expected a multiple of 4 processors, found 6"),
        ((4, 6, 3.0, 7), "processors: expected an integer from 1 to 6"),
        ((4, 6, 3.0, 1, -1.0), "memory_gb: expected a finite non-negative number"),
    ],
)
def test_impossible_homogeneous_platforms(arguments: tuple[float, ...], expected: str) -> None:
    """Each argument is checked, and the message names it."""
    with pytest.raises(InputError) as caught:
        Platform.homogeneous(*arguments)  # type: ignore[arg-type]
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_clusters_and_types_need_names_of_their_own() -> None:
    """Two clusters with one id, or two descriptions under one name, cannot be told apart in results."""
    node = NodeType("n", (ProcessorType("p", 4, 3.0),))
    other = NodeType("n", (ProcessorType("p", 4, 3.0),), memory_gb=1)
    third = NodeType("m", (ProcessorType("p", 8, 3.0),))
    with pytest.raises(InputError, match="'a' twice"):
        Platform((Cluster("a", (NodeGroup(node, 1),)), Cluster("a", (NodeGroup(node, 1),))))
    with pytest.raises(InputError, match="two of 'n'"):
        Platform((Cluster("a", (NodeGroup(node, 1), NodeGroup(other, 1))),))
    with pytest.raises(InputError, match="two of 'p'"):
        Platform((Cluster("a", (NodeGroup(node, 1), NodeGroup(third, 1))),))


@pytest.mark.parametrize("cluster_id", ["", " ", "a b", "a;b", "a:b", "a,b", "a/b", "a\nb", "x.node1", "é\x07"])
def test_cluster_ids_that_would_break_allocations(cluster_id: str) -> None:
    """Ids go into allocation texts and paths, so separators are refused."""
    with pytest.raises(InputError):
        Cluster(cluster_id, ())


def test_parameters_of_the_built_in_models_are_checked() -> None:
    """Watts are not negative, min_power is a fraction, b is negative and piecewise parameters come whole."""

    def platform(
        contention_model: str = "piecewise", power_model: str = "linear", **parameters: dict[str, float]
    ) -> Platform:
        node = NodeType("n", (ProcessorType("p", 4, 3.0, **parameters),))  # type: ignore[arg-type]
        return Platform((Cluster("a", (NodeGroup(node, 1),)),), "p", contention_model, power_model)

    for power_model in ("linear", "baseline", "stall-aware", "idle"):
        with pytest.raises(InputError, match=r"power\.static_w: expected a finite non-negative number, found -1"):
            platform(power_model=power_model, power={"static_w": -1})
    assert platform(power_model="someones-own", power={"static_w": -1}).power_model == "someones-own"
    with pytest.raises(InputError, match=r"power\.min_power: expected a fraction from 0 to 1, found 40"):
        platform(power={"min_power": 40})
    with pytest.raises(InputError, match=r"contention\.b: expected a negative number"):
        platform(contention={**CONTENTION, "b": 1})
    with pytest.raises(InputError, match="found no dd"):
        platform(contention={key: value for key, value in CONTENTION.items() if key != "dd"})
    with pytest.raises(InputError, match="finite"):
        platform(contention={**CONTENTION, "c": float("inf")})
    assert platform("someones-own", contention={"a": 1.0}).contention_model == "someones-own"


def test_contention_that_means_nothing_names_the_first_n() -> None:
    """dc - n·dd reaches zero at n = 50 of 64 cores: told, with n; with 50 cores n can only be 49."""
    meaningless = ProcessorType("p", 64, 3.0, contention=CONTENTION)
    assert "'p'" in str(check_contention(meaningless))
    assert "n = 50 " in str(check_contention(meaningless))
    assert check_contention(ProcessorType("p", 51, 3.0, contention=CONTENTION)) is not None
    assert check_contention(ProcessorType("p", 50, 3.0, contention=CONTENTION)) is None
    assert "n = 0 " in str(check_contention(ProcessorType("p", 1, 3.0, contention={**CONTENTION, "dc": 0})))
    assert check_contention(ProcessorType("p", 64, 3.0, contention={**CONTENTION, "dd": 0})) is None
    assert check_contention(ProcessorType("p", 64, 3.0)) is None


def test_equal_descriptions_are_equal(lab: Platform) -> None:
    """Equality, hashes and pickles go by content; the order of parameters does not count."""
    assert pickle.loads(pickle.dumps(lab)) == lab
    assert Platform.homogeneous(4, 4) == Platform.homogeneous(4, 4) != Platform.homogeneous(4, 8)
    assert hash(Parameters({"a": 1, "b": 2})) == hash(Parameters({"b": 2, "a": 1}))
    assert ProcessorType("p", 1, 3.0, power={"a": 1, "b": 2}) == ProcessorType("p", 1, 3.0, power={"b": 2, "a": 1})


def test_with_models_keeps_the_hardware(lab: Platform) -> None:
    """Other models, same clusters."""
    other = lab.with_models(contention="none")
    assert (other.contention_model, other.power_model, other.clusters) == ("none", "linear", lab.clusters)
    assert "5 nodes" in repr(lab)


def test_topology(lab: Platform) -> None:
    """The graph is the tree of platform, clusters, nodes, processors and cores, with cores and rates that add up."""
    graph = lab.topology()
    root = graph.graph["root"]
    assert graph.nodes[root]["cores"] == 76
    assert sorted(graph.neighbors(root)) == ["a", "b"]
    assert graph.nodes["b.node0"] == {"kind": "node", "cores": 12, "gflops": pytest.approx(49.6), "type": "both"}
    for cluster in "ab":
        members = [graph.nodes[name] for name in graph.neighbors(cluster) if name != root]
        assert graph.nodes[cluster]["cores"] == sum(member["cores"] for member in members)
        assert graph.nodes[cluster]["gflops"] == pytest.approx(sum(member["gflops"] for member in members))
    kinds = [kind for _, kind in graph.nodes(data="kind")]
    assert (kinds.count("processor"), kinds.count("core")) == (lab.processor_count, 76)
    for name in lab.node_names():
        inner = [graph.nodes[inner] for inner in graph.neighbors(name) if inner.startswith(f"{name}.processor")]
        assert graph.nodes[name]["gflops"] == pytest.approx(sum(processor["gflops"] for processor in inner))
        assert graph.nodes[name]["cores"] == sum(processor["cores"] for processor in inner)
    assert nx.is_tree(graph)


def test_topology_ends_where_it_is_told_to(lab: Platform) -> None:
    """A large machine need not have a vertex for each core."""
    kinds = {kind for _, kind in lab.topology(down_to="node").nodes(data="kind")}
    assert kinds == {"platform", "cluster", "node"}
    assert "core" not in {kind for _, kind in lab.topology(down_to="processor").nodes(data="kind")}
    with pytest.raises(InputError, match="node, processor, core"):
        lab.topology(down_to="thread")


def test_impossible_transitions() -> None:
    """Times and watts of switching are finite and not negative."""
    with pytest.raises(InputError, match="switch_on_s"):
        PowerTransitions(switch_on_s=-1)
    with pytest.raises(InputError, match="switch_off_w"):
        PowerTransitions(switch_off_w=float("nan"))


def test_energies_of_transitions() -> None:
    """7500 J in a boot of 60 s are 125 W, of 50 to 70 s, too; what is made from such transitions has the same watts."""
    boot = PowerTransitions(9, 60, switch_on_j=7500, switch_off_s=2, switch_off_j=0)
    assert boot == PowerTransitions(9, 60, 125, 2, 0)
    assert PowerTransitions(switch_on_distribution="uniform:50,70", switch_on_j=7500).switch_on_w == 125
    assert replace(boot, off_w=4.5).scaled(2) == PowerTransitions(9, 60, 250, 2, 0)
    assert replace(PowerTransitions(switch_on_s=60), switch_on_j=7500) == PowerTransitions(
        switch_on_s=60, switch_on_w=125
    )


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ({"switch_on_j": 5}, "switch_on_j: expected a switch_on_s above 0 to spread the energy over, found 0 s"),
        ({"switch_off_s": 1, "switch_off_w": 1, "switch_off_j": 5}, "either switch_off_j or switch_off_w, found both"),
        ({"switch_on_s": 1, "switch_on_j": -5}, "switch_on_j: expected a finite non-negative number, found -5"),
        ({"switch_on_s": 1e-300, "switch_on_j": 1e300}, "switch_on_j: expected a finite .*number, found inf"),
    ],
)
def test_impossible_energies_of_transitions(figures: dict[str, float], message: str) -> None:
    """An energy needs a time, stands instead of watts, and is finite and not negative."""
    with pytest.raises(InputError, match=message):
        PowerTransitions(**figures)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [int, np.int64, np.float32])
def test_numbers_of_hardware_are_kept_as_floats(number: Callable[[int], Any]) -> None:
    """Whatever kind of number is given: nothing that looks at a record has to expect another kind."""
    power = {"static_w": number(50), "dynamic_w": number(10), "min_power": number(1)}
    states = (PState(number(2), power), PState(number(1)))
    contention = {"bandwidth": number(1000)}
    processor = ProcessorType("p", 4, number(2), number(8), power, contention, states)
    transitions = PowerTransitions(number(9), number(60), number(125), number(180), number(101))
    node = NodeType("n", (processor,), number(32), transitions)
    kept = [processor.clock_ghz, processor.flops_per_cycle, node.memory_gb]
    kept += [*processor.power.values(), *processor.contention.values()]
    for state in processor.p_states:
        kept += [state.clock_ghz, *(state.power or {}).values()]
    kept += [transitions.off_w, transitions.switch_on_s, transitions.switch_on_w]
    kept += [transitions.switch_off_s, transitions.switch_off_w]
    assert [type(value) for value in kept] == [float] * len(kept)
    assert processor.in_p_state(1).power == {"static_w": 12.5, "dynamic_w": 2.5, "min_power": 1.0}


def test_counts_of_hardware_are_kept_as_python_integers() -> None:
    """A core count of numpy's would overflow where 64 cores are the bits of one number."""
    processor = ProcessorType("p", np.int64(64), 2.0)
    group = NodeGroup(NodeType("n", (processor,)), np.int64(2))
    assert (type(processor.cores), type(group.count)) == (int, int)
    jobs = Workload({"submit_time": [0.0], "requested_cores": [100], "recorded_run_time": [5.0]})
    result = Simulation(Platform((Cluster("c", (group,)),)), jobs, Fcfs()).run()
    table = result.jobs_with_allocation()
    assert table["allocation"].tolist() == ["c.node0.processor0:0-63;c.node1.processor0:0-35"]
