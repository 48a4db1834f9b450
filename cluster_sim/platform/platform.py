"""The hardware, as it is described before anything runs: platform > cluster > node > processor > core.

A :class:`Platform` is immutable. It keeps *groups* of equal nodes, so that a hundred thousand nodes cost no more to
describe than one; per-node facts are numpy arrays in *platform order*: clusters as listed, groups as listed, nodes
by running index. A node is named by its cluster and its running index in it, ``cluster0.node1``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from cluster_sim.errors import InputError, counted
from cluster_sim.packages import sibling
from cluster_sim.platform.hardware import (
    LINEAR_POWER,
    MAX_CORES,
    MAX_NODES,
    MAX_PROCESSORS_PER_NODE,
    MAX_UNITS,
    PIECEWISE_CONTENTION,
    Cluster,
    Frozen,
    NodeGroup,
    NodeType,
    Parameters,
    PowerTransitions,
    ProcessorType,
    PState,
    Resource,
    check_contention,
    check_count,
    check_name,
    check_number,
    check_parameters,
    check_resource_name,
)
from cluster_sim.platform.processor_table import power_at
from cluster_sim.platform.switches import TOP, Switch, SwitchTree
from cluster_sim.spelling import Guess

if TYPE_CHECKING:
    import networkx as nx
    import numpy.typing as npt

    from cluster_sim.platform.slurm import SlurmMachine

__all__ = [
    "LINEAR_POWER",
    "MAX_CORES",
    "MAX_NODES",
    "PIECEWISE_CONTENTION",
    "Cluster",
    "NodeGroup",
    "NodeType",
    "PState",
    "Parameters",
    "Platform",
    "PowerTransitions",
    "ProcessorType",
    "Resource",
    "check_contention",
]

_PLAIN_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")


@dataclass(frozen=True, repr=False)
class Platform:
    """Clusters of nodes, and the specs of the contention and power models that their parameters are meant for.

    ``watts_assumed``: what it was made from states no watts, and those of a documented processor stand in.
    ``slurm``: names and weights of nodes, partitions and parameters, of a platform that was read from a slurm.conf.
    ``pools``: how many of each licence the jobs of the whole platform can hold at once.
    ``switches`` say which nodes stand in one rack, if anything is known of that; :attr:`switch_tree` answers for them.
    Equal descriptions are equal platforms. Arrays are read-only and made when first asked for. Raises InputError
    when there is no node, when cluster ids repeat, when two different types share a name, or when parameters do not
    fit the named model.
    """

    clusters: tuple[Cluster, ...]
    id: str = "platform"
    contention_model: str = "piecewise"
    power_model: str = "linear"
    watts_assumed: bool = field(default=False, compare=False)
    slurm: SlurmMachine | None = field(default=None, compare=False)
    pools: Mapping[str, int] = Frozen()
    switches: tuple[Switch, ...] = ()

    nodes: ClassVar = Guess("node_count, node_names(), node_types")
    cores: ClassVar = Guess("core_count, node_cores")
    processors: ClassVar = Guess("processor_count, processor_types")
    describe: ClassVar = Guess("print(platform)")
    save: ClassVar = Guess("write(path)")

    def __post_init__(self) -> None:
        object.__setattr__(self, "clusters", tuple(self.clusters))
        check_name("id of a platform", self.id)
        for cluster_id in _repeated(cluster.id for cluster in self.clusters):
            raise InputError(f"platform '{self.id}', clusters", "different cluster ids", f"'{cluster_id}' twice")
        check_count(f"platform '{self.id}', nodes", self.node_count, MAX_NODES)
        check_count(f"platform '{self.id}', cores", self.core_count, MAX_CORES)
        nodes = tuple(dict.fromkeys(group.type for cluster in self.clusters for group in cluster.groups))
        for name in _repeated(node_type.name for node_type in nodes):
            raise InputError(f"platform '{self.id}', node types", "one description per name", f"two of '{name}'")
        processors = tuple(dict.fromkeys(processor for node_type in nodes for processor in node_type.processors))
        for name in _repeated(processor.name for processor in processors):
            raise InputError(f"platform '{self.id}', processor types", "one description per name", f"two of '{name}'")
        for processor in processors:
            check_parameters(processor, self.contention_model, self.power_model)
        for name, count in self.pools.items():
            check_resource_name(f"platform '{self.id}', pools", name)
            check_count(f"platform '{self.id}', pools, {name}", count, MAX_UNITS, least=0)
        object.__setattr__(self, "pools", Frozen(self.pools))
        object.__setattr__(self, "switches", tuple(self.switches))
        if self.switches:
            _ = self.switch_tree

    # ------------------------------------------------------------------ making, reading, writing

    @classmethod
    def homogeneous(
        cls,
        nodes: int,
        cores: int,
        ghz: float = 3.0,
        processors: int = 1,
        memory_gb: float | None = None,
        *,
        power: Mapping[str, float] | None = None,
        contention: Mapping[str, float] | None = None,
        transitions: PowerTransitions | None = None,
        contention_model: str = "piecewise",
        power_model: str = "linear",
        resources: Mapping[str, Resource] | None = None,
    ) -> Platform:
        """Make ``nodes`` equal nodes of ``cores`` cores in ``processors`` sockets of equal size, in one cluster.

        ``resources`` are the counted units of each node. ``power`` and ``contention`` are the parameters of the models;
        ``power`` defaults to the law of :func:`cluster_sim.platform.processor_table.power_at`, and without ``contention``
        tasks do not slow each other.
        Raises InputError when the cores do not divide among the processors.
        """
        check_count("homogeneous platform, nodes", nodes, MAX_NODES)
        check_count("homogeneous platform, cores", cores, MAX_CORES)
        check_count("homogeneous platform, processors", processors, min(cores, MAX_PROCESSORS_PER_NODE))
        check_number("homogeneous platform, ghz", ghz, positive=True)
        if cores % processors:
            raise InputError("homogeneous platform, cores", f"a multiple of {processors} processors", cores)
        processor = ProcessorType(
            name="processor",
            cores=cores // processors,
            clock_ghz=ghz,
            power=power_at(ghz) if power is None else power,
            contention=contention or {},
        )
        node = NodeType(
            "node", (processor,) * processors, memory_gb, transitions or PowerTransitions(), resources=resources or {}
        )
        clusters = (Cluster("cluster0", (NodeGroup(node, nodes),)),)
        return cls(clusters, "homogeneous", contention_model, power_model)

    @classmethod
    def read(cls, source: str | Path, name: str | None = None, **options: Any) -> Platform:
        """Read a platform file (own YAML/JSON, IRMaSim's JSON, SimGrid's XML, slurm.conf, ``.gz`` too), or a spec.

        ``name`` picks one platform of an IRMaSim file that describes several; ``options`` are those of the format
        (:func:`cluster_sim.formats.batsim_platform.read_simgrid` has some). Warns (ModelWarning) of parameters
        that cannot be taken at their word. Raises FormatError for a file and SpecError for a spec that is wrong.
        """
        platform: Platform = sibling("cluster_sim.formats.platform_files").read_platform(source, name, **options)
        return platform

    def write(self, path: str | Path) -> None:
        """Write the platform in the own format: YAML, or JSON for ``.json``; compressed for ``.gz``."""
        sibling("cluster_sim.formats.native_platform").write_native(self, path)

    def with_models(self, contention: str | None = None, power: str | None = None) -> Platform:
        """Return the same hardware with other default models, given as specs such as ``piecewise:k=1``."""
        return replace(
            self, contention_model=contention or self.contention_model, power_model=power or self.power_model
        )

    @cached_property
    def of_hosts(self) -> Platform:
        """Return the platform as Batsim counts it, a core for each host of several cores; itself if there are none."""
        if not any(node_type.hosts for node_type in self.node_types):
            return self
        clusters = (
            Cluster(cluster.id, tuple(NodeGroup(group.type.of_hosts, group.count) for group in cluster.groups))
            for cluster in self.clusters
        )
        return replace(self, clusters=tuple(clusters))

    # ------------------------------------------------------------------ counts

    @cached_property
    def node_count(self) -> int:
        """Return the number of nodes of all clusters."""
        return sum(cluster.node_count for cluster in self.clusters)

    @cached_property
    def processor_count(self) -> int:
        """Return the number of processors of all nodes."""
        return sum(group.count * len(group.type.processors) for group in self._groups)

    @cached_property
    def core_count(self) -> int:
        """Return the number of cores of all nodes."""
        return sum(group.count * group.type.cores for group in self._groups)

    @cached_property
    def widest_node(self) -> int:
        """Return the number of cores of the widest node."""
        return max(node_type.cores for node_type in self.node_types)

    @cached_property
    def resource_names(self) -> tuple[str, ...]:
        """Return the names of the counted resources of its nodes, in the order of first use."""
        return tuple(dict.fromkeys(name for node_type in self.node_types for name in node_type.resources))

    def units_of(self, resource: str) -> npt.NDArray[np.int64]:
        """Return how many units of a resource each node has, shape (node_count,)."""
        counts = [t.resources[resource].count if resource in t.resources else 0 for t in self.node_types]
        return np.array(counts, np.int64)[self.type_of_node]

    @cached_property
    def fastest_ops_per_s(self) -> float:
        """Return the peak rate of the fastest core, operations per second."""
        return max(processor.ops_per_s for processor in self.processor_types)

    # ------------------------------------------------------------------ types and arrays, in platform order

    @property
    def _groups(self) -> Iterator[NodeGroup]:
        return (group for cluster in self.clusters for group in cluster.groups if group.count)

    @cached_property
    def node_types(self) -> tuple[NodeType, ...]:
        """Return the distinct node types that have nodes, in order of first use."""
        return tuple(dict.fromkeys(group.type for group in self._groups))

    @cached_property
    def processor_types(self) -> tuple[ProcessorType, ...]:
        """Return the distinct processor types of those nodes, in order of first use."""
        return tuple(dict.fromkeys(processor for node in self.node_types for processor in node.processors))

    @cached_property
    def type_of_node(self) -> npt.NDArray[np.int32]:
        """Return the index into :attr:`node_types`, shape (node_count,)."""
        index = {node_type: i for i, node_type in enumerate(self.node_types)}
        groups = list(self._groups)
        return _frozen(np.repeat(np.array([index[g.type] for g in groups], np.int32), [g.count for g in groups]))

    @cached_property
    def type_of_processor(self) -> npt.NDArray[np.int32]:
        """Return the index into :attr:`processor_types`, shape (processor_count,)."""
        index = {processor: i for i, processor in enumerate(self.processor_types)}
        parts = [np.tile([index[p] for p in group.type.processors], group.count) for group in self._groups]
        return _frozen(np.concatenate(parts).astype(np.int32))

    @cached_property
    def node_cores(self) -> npt.NDArray[np.int32]:
        """Return the number of cores of each node, shape (node_count,)."""
        return _frozen(np.array([t.cores for t in self.node_types], np.int32)[self.type_of_node])

    @cached_property
    def first_processor(self) -> npt.NDArray[np.int64]:
        """Return the global index of each node's first processor, and the processor count, shape (node_count + 1,)."""
        return _offsets(np.array([len(t.processors) for t in self.node_types], np.int64)[self.type_of_node])

    @cached_property
    def first_core(self) -> npt.NDArray[np.int64]:
        """Return the global index of each processor's first core, and the core count, shape (processor_count + 1,)."""
        return _offsets(np.array([p.cores for p in self.processor_types], np.int64)[self.type_of_processor])

    # ------------------------------------------------------------------ names

    @cached_property
    def _first_node(self) -> list[int]:
        """Return the global index of each cluster's first node, and the node count."""
        return [0, *np.cumsum([cluster.node_count for cluster in self.clusters]).tolist()]

    @cached_property
    def _names(self) -> list[str]:
        return [f"{cluster.id}.node{i}" for cluster in self.clusters for i in range(cluster.node_count)]

    def node_names(self) -> list[str]:
        """Return the names of all nodes in platform order (made once; do not change the list)."""
        return self._names

    def node_name(self, node: int) -> str:
        """Name of a node, ``cluster0.node1``. Raises IndexError beyond the last node."""
        if not 0 <= node < self.node_count:
            raise IndexError(f"node {node} of a platform with {self.node_count} nodes")
        cluster = int(np.searchsorted(self._first_node, node, side="right")) - 1
        return f"{self.clusters[cluster].id}.node{node - self._first_node[cluster]}"

    def node_index(self, name: str) -> int:
        """Return the index of the node of that name. Raises InputError when there is none."""
        cluster_id, _, number = name.rpartition(".node")
        for first, cluster in zip(self._first_node, self.clusters, strict=False):
            # `node01` is no name of ours, though int() would take it.
            if cluster.id == cluster_id and _PLAIN_NUMBER.fullmatch(number) and int(number) < cluster.node_count:
                return first + int(number)
        raise InputError(f"platform '{self.id}'", f"a node name such as {self.node_name(0)}", name)

    def node_indices(self, names: Iterable[str]) -> npt.NDArray[np.int64]:
        """Return the indices of the nodes of these names, which may repeat. Raises InputError for another name."""
        names = list(names)
        index = {name: self.node_index(str(name)) for name in dict.fromkeys(names)}
        return np.fromiter(map(index.__getitem__, names), np.int64, len(names))

    @cached_property
    def switch_tree(self) -> SwitchTree:
        """Return the switches as a tree; all nodes hang on one if nothing else is known."""
        return SwitchTree(self.switches, self.node_names())

    # ------------------------------------------------------------------ views

    def topology(self, down_to: str = "core") -> nx.Graph:
        """Return the tree platform > cluster > node > processor > core as a networkx graph; of switches, if it has any.

        The root is ``graph.graph["root"]``; other vertices have the names of what they stand for, such as
        ``cluster0.node1.processor0.core3``. Switches stand in the place of clusters: ``switch:rack0``.
        Every vertex has ``kind`` (platform, cluster, switch, node, processor or core),
        ``cores`` and ``gflops`` (peak of all its cores); nodes and processors also have ``type``, the name of their type.
        With ``down_to`` "node" or "processor" the tree ends there: a vertex for each core takes about 1 kB.
        Raises InputError for another ``down_to``.
        """
        levels = ("node", "processor", "core")
        if down_to not in levels:
            raise InputError("topology, down_to", f"one of {', '.join(levels)}", down_to)
        import networkx as nx

        # Cluster ids contain no colon, so the root's name is its own whatever the platform is called.
        root = f"platform:{self.id}"
        graph: nx.Graph = nx.Graph(root=root)
        gflops = {t: t.gflops for t in self.node_types}
        total_gflops = sum(group.count * gflops[group.type] for group in self._groups)
        graph.add_node(root, kind="platform", cores=self.core_count, gflops=total_gflops)
        if self.switches:
            above = self._add_switches(graph, root)
        else:
            above = np.repeat([c.id for c in self.clusters], [c.node_count for c in self.clusters]).tolist()
        for cluster in self.clusters if not self.switches else ():
            groups = [group for group in cluster.groups if group.count]
            cores = sum(group.count * group.type.cores for group in groups)
            rate = sum(group.count * gflops[group.type] for group in groups)
            graph.add_node(cluster.id, kind="cluster", cores=cores, gflops=rate)
            graph.add_edge(root, cluster.id)
        for name, parent, index in zip(self.node_names(), above, self.type_of_node.tolist(), strict=True):
            node = self.node_types[index]
            graph.add_node(name, kind="node", cores=node.cores, gflops=gflops[node], type=node.name)
            graph.add_edge(parent, name)
            for number, kind in enumerate(node.processors if down_to != "node" else ()):
                processor = f"{name}.processor{number}"
                graph.add_node(
                    processor, kind="processor", cores=kind.cores, gflops=kind.cores * kind.gflops, type=kind.name
                )
                graph.add_edge(name, processor)
                for core in range(kind.cores if down_to == "core" else 0):
                    graph.add_node(f"{processor}.core{core}", kind="core", cores=1, gflops=kind.gflops)
                    graph.add_edge(processor, f"{processor}.core{core}")
        return graph

    def _add_switches(self, graph: nx.Graph, root: str) -> list[str]:
        """Add the switches to a graph, each after the one above it; return the vertex above each node."""
        tree = self.switch_tree
        vertices = [f"switch:{name}" for name in tree.switches]
        cores = tree.sums_of_all(tree.sums(self.node_cores))
        rates = np.array([node_type.gflops for node_type in self.node_types])[self.type_of_node]
        gflops = tree.sums_of_all(tree.sums(rates))
        for switch in sorted(range(len(vertices)), key=lambda switch: len(tree.above(switch))):
            graph.add_node(vertices[switch], kind="switch", cores=cores.item(switch), gflops=gflops.item(switch))
            above = tree.parents[switch]
            graph.add_edge(root if above == TOP else vertices[above], vertices[switch])
        return [vertices[leaf] for leaf in tree.leaf_of_node.tolist()]

    def __repr__(self) -> str:
        return (
            f"<Platform '{self.id}': {counted(len(self.clusters), 'cluster')}, {counted(self.node_count, 'node')}, "
            f"{counted(self.processor_count, 'processor')}, {counted(self.core_count, 'core')}"
            f"{''.join(f', {self.units_of(name).sum():,} {name}' for name in self.resource_names)}>"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>"


def _repeated(names: Iterable[str]) -> list[str]:
    seen: set[str] = set()
    return [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def _offsets(sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return _frozen(np.concatenate(([0], np.cumsum(sizes))).astype(np.int64))
