"""A library of machines: published clusters, supercomputers and servers as platforms, each with its source.

``Platform.read("machine:taurus")`` reads one, ``machine:taurus,nodes=4`` a part or a multiple of it.
:data:`machines` lists them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from annotated_types import Ge, Unit
from typing_extensions import Doc

from cluster_sim.errors import SpecError
from cluster_sim.options import checked
from cluster_sim.platform.hardware import Cluster, NodeGroup, NodeType, ProcessorType
from cluster_sim.platform.library_table import (
    MACHINES,
    MachineEntry,
    MixedEntry,
    NodeEntry,
    ServerEntry,
)
from cluster_sim.platform.platform import Platform
from cluster_sim.platform.specs import mixed, platforms
from cluster_sim.registry import Registry

Entry = MachineEntry | MixedEntry | ServerEntry

machines: Registry[Platform] = Registry("machine", "cluster_sim.platform.library")
"""Machines by name; a third party's own entry is a function ``nodes: int = 0 -> Platform``."""


MachineSize = Annotated[int, Ge(0), Unit("nodes"), Doc("nodes of the machine; 0: as many as it has")]
WithGpus = Annotated[bool, Doc("with the GPUs of its nodes, which are left out otherwise")]


@platforms.register("machine")
def machine(
    name: Annotated[str, Doc("name of a machine of the library")], nodes: MachineSize = 0, gpus: WithGpus = False
) -> Platform:
    """A machine of the library: NAME[,nodes=N][,gpus=yes]; ``cluster-sim list platforms`` names them."""
    return machines.factory(name)(nodes, gpus) if gpus else machines.factory(name)(nodes)


def source_of(name: str) -> str:
    """Return where the figures of a built-in machine come from. Raises SpecError for an unknown name."""
    for entry in MACHINES:
        if entry.name == name:
            if isinstance(entry, ServerEntry):
                return f"SPECpower_ssj2008 result {entry.result}, as in CloudSim's power models"
            return entry.source
    raise SpecError("machine", f"one of {', '.join(entry.name for entry in MACHINES)}", name)


def server_fit(watts: tuple[float, ...]) -> tuple[float, float, float, float]:
    """Fit the linear power model to a SPECpower result: idle, intercept and full-load watts, and the largest error.

    The line is fitted to the watts at 10, 20, … 100 % load by least squares; the idle watts stand for themselves,
    unless they lie above the line, which the model cannot have: then the line starts at them.
    """
    load = np.arange(1, len(watts)) / (len(watts) - 1)
    slope, start = np.polyfit(load, watts[1:], 1)
    if start < watts[0]:
        start = watts[0]
        slope = float(load @ (np.array(watts[1:]) - start) / (load @ load))
    error = float(np.abs(np.array(watts[1:]) - start - slope * load).max())
    return float(watts[0]), float(start), float(start + slope), error


def _register(entry: Entry) -> None:
    def build(nodes: MachineSize = 0, gpus: WithGpus = False) -> Platform:
        where = f"machine '{entry.name}'"
        if gpus and not (isinstance(entry, MachineEntry) and entry.nodes.gpus):
            having = [one.name for one in MACHINES if isinstance(one, MachineEntry) and one.nodes.gpus]
            raise SpecError(f"{where}, gpus", f"one of the machines with GPUs, {', '.join(having)}", entry.name)
        if isinstance(entry, MixedEntry):
            groups = entry.groups
            if nodes:
                if len(groups) > 1:
                    raise SpecError(f"{where}, nodes", "no such option: the machine has several kinds of nodes", nodes)
                groups = ((nodes, *groups[0][1:]),)
            return replace(mixed(*(f"{count}x{cores}@{ghz}" for count, cores, ghz in groups)), id=entry.name)
        if isinstance(entry, ServerEntry):
            idle, start, full, _ = server_fit(entry.watts)
            shape = (entry.sockets, entry.cores, entry.ghz, 1.0, entry.memory_gb)
            node = NodeEntry(1, *shape, entry.watts[0], entry.watts[-1], entry.bandwidth)
        else:
            node = entry.nodes
            idle, start, full = node.idle_w, node.idle_w, node.full_w
        processor = ProcessorType(
            f"{entry.name}-cpu",
            node.cores,
            node.ghz,
            node.flops_per_cycle,
            power={
                "static_w": start / node.sockets,
                "dynamic_w": (full - start) / (node.sockets * node.cores),
                "min_power": idle / start,
            },
            contention={"bandwidth": node.bandwidth} if node.bandwidth else {},
        )
        resources = {"gpu": node.gpus} if gpus and node.gpus else {}
        sockets = (processor,) * node.sockets
        kind = NodeType(entry.name, sockets, node.memory_gb, node.transitions, resources=resources)
        contention = "roofline" if node.bandwidth else "none"
        return Platform((Cluster(entry.name, (NodeGroup(kind, nodes or node.count),)),), entry.name, contention)

    build.__name__, build.__doc__ = f"machine '{entry.name}'", f"{entry.title}."
    machines.register(entry.name)(checked(build))


for _entry in MACHINES:
    _register(_entry)
