"""Groups of nodes, by which the rows of a Gantt chart stand together: a function of a node gives the name of its group."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cluster_sim.errors import InputError, SpecError, told_apart
from cluster_sim.platform.platform import Platform

GroupBy = str | Callable[[str], str]
"""A name of :data:`GROUPINGS`, or a function, name of a node -> name of its group."""


def _kinds(platform: Platform) -> list[str]:
    names = [node_type.name for node_type in platform.node_types]
    return [names[kind] for kind in platform.type_of_node.tolist()]


def _clusters(platform: Platform) -> list[str]:
    return [name.rpartition(".")[0] for name in platform.node_names()]


def _partitions(platform: Platform) -> list[str]:
    if platform.slurm is None or not platform.slurm.partitions:
        raise InputError("group_by partition", "a platform from a slurm.conf with partitions", f"'{platform.id}'")
    own: list[list[str]] = [[] for _ in range(platform.node_count)]
    for partition in platform.slurm.partitions:
        for node in partition.nodes:
            own[node].append(partition.name)
    return [" + ".join(names) or "no partition" for names in own]


def _racks(platform: Platform) -> list[str]:
    if not platform.switches:
        raise InputError("group_by rack", "a platform with a topology", f"'{platform.id}'")
    leaves = platform.switch_tree.leaves
    return [leaves[leaf] for leaf in platform.switch_tree.leaf_of_node.tolist()]


GROUPINGS: dict[str, Callable[[Platform], Sequence[str]]] = {
    "kind": _kinds,
    "cluster": _clusters,
    "partition": _partitions,
    "rack": _racks,
}
"""What nodes can be grouped by: for a platform, the group of each node. Nodes of several partitions are a group of their own."""


def group_names(platform: Platform, group_by: GroupBy) -> list[str]:
    """Return the name of each node's group. Raises SpecError for an unknown name, or for a group without a name."""
    if not callable(group_by):
        if group_by not in GROUPINGS:
            raise SpecError("group_by", f"one of {', '.join(GROUPINGS)}", group_by)
        return list(GROUPINGS[group_by](platform))
    names = [group_by(node) for node in platform.node_names()]
    for name in names:
        if not isinstance(name, str) or not name:
            raise SpecError("group_by", "a name for the group of each node", told_apart(name))
    return names
