"""Platforms from a spec such as ``homogeneous:nodes=64,cores=16`` or ``mixed:3x64@3.0,9x8@4.2``.

A third party adds a spec by registering a function that returns a Platform in ``platforms``, or through the
setuptools entry-point group ``cluster_sim.platforms``.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Annotated

from annotated_types import Ge, Le, Unit
from typing_extensions import Doc

from cluster_sim.errors import ModelWarning, SpecError, warn_user
from cluster_sim.packages import sibling
from cluster_sim.platform.hardware import Cluster, NodeGroup, NodeType, ProcessorType, Resource
from cluster_sim.platform.platform import Platform
from cluster_sim.platform.processor_table import documented, power_at
from cluster_sim.registry import Registry

platforms: Registry[Platform] = Registry("platform", "cluster_sim.platforms")

_GROUP = re.compile(r"([0-9]{1,9})x([0-9]{1,9})@([0-9]{1,9}(?:\.[0-9]{1,9})?)")


NodeMemory = Annotated[float, Unit("GB"), Doc("memory of a node")]


@platforms.register("homogeneous")
def homogeneous(
    nodes: Annotated[int, Unit("nodes"), Doc("nodes of the machine")] = 0,
    cores: Annotated[int, Unit("cores"), Doc("cores of a node")] = 0,
    ghz: Annotated[float, Unit("GHz"), Doc("clock")] = 3.0,
    processors: Annotated[int, Unit("processors"), Doc("processors of a node")] = 1,
    memory_gb: NodeMemory = math.inf,
    gpus: Annotated[int, Ge(0), Unit("GPUs"), Doc("GPUs of a node")] = 0,
) -> Platform:
    """Equal nodes: nodes=N,cores=N per node[,ghz=3.0][,processors=sockets per node][,memory_gb=per node][,gpus=per node]."""
    for key, value in (("nodes", nodes), ("cores", cores)):
        if value < 1:
            raise SpecError("platform 'homogeneous'", f"{key}=N, N at least 1", value or f"no {key}")
    resources = {"gpu": Resource(gpus)} if gpus else {}
    platform = Platform.homogeneous(nodes, cores, ghz, processors, _unlimited(memory_gb), resources=resources)
    return replace(platform, watts_assumed=True)


@platforms.register("mixed")
def mixed(
    *groups: Annotated[str, Doc("nodes of one processor each, COUNTxCORES@GHZ")],
    memory_gb: NodeMemory = math.inf,
    min_power: Annotated[
        float | None,
        Ge(0),
        Le(1),
        Doc("share of their constant power that processors draw without tasks; documented unless given"),
    ] = None,
) -> Platform:
    """Nodes of documented processors, one each: COUNTxCORES@GHZ[,COUNTxCORES@GHZ…][,memory_gb=per node][,min_power=share].

    A processor that no source documents gets its power from the law and no contention, with a ModelWarning.
    """
    if not groups:
        raise SpecError("platform 'mixed'", "groups COUNTxCORES@GHZ such as mixed:3x64@3.0,9x8@4.2", "none")
    types: dict[tuple[int, float], NodeType] = {}
    members = []
    for group in groups:
        match = _GROUP.fullmatch(group)
        if match is None:
            raise SpecError("platform 'mixed'", "COUNTxCORES@GHZ such as 3x64@3.0", group)
        cores, ghz = int(match[2]), float(match[3])
        if (cores, ghz) not in types:
            entry = documented(cores, ghz)
            if entry is None:
                text = "its power follows the law of the documented ones, and its tasks do not slow each other"
                none = f"no source documents a processor of {cores} cores at {ghz} GHz"
                warn_user(ModelWarning(f"platform 'mixed': {none}: {text}"))
            power = power_at(ghz) if entry is None else entry.power
            if min_power is not None:
                power = {**power, "min_power": min_power}
            contention = {} if entry is None else entry.contention
            processor = ProcessorType(f"proc_{cores}_{ghz}", cores, ghz, power=power, contention=contention)
            types[cores, ghz] = NodeType(f"node_{cores}_{ghz}", (processor,), _unlimited(memory_gb))
        members.append(NodeGroup(types[cores, ghz], int(match[1])))
    return Platform((Cluster("cluster0", tuple(members)),), id="mixed")


@platforms.register("simgrid")
def simgrid(
    path: Annotated[str, Doc("file of SimGrid's XML")],
    cores_per_node: Annotated[int, Unit("hosts"), Doc("hosts that make a node; 0: each is one")] = 0,
    max_hosts: Annotated[int, Unit("hosts"), Doc("hosts that are read; 0: all")] = 0,
    time_unit: Annotated[str, Doc("unit of times in the file")] = "seconds",
) -> Platform:
    """A SimGrid XML file with options: FILE[,cores_per_node=N][,max_hosts=N][,time_unit=minutes]."""
    read = sibling("cluster_sim.formats.batsim_platform").read_simgrid
    platform: Platform = read(
        path, time_unit=time_unit, cores_per_node=cores_per_node or None, max_hosts=max_hosts or None
    )
    return platform


platforms.register_later(
    "machine",
    "cluster_sim.platform.library",
    "machine",
    "A machine of the library: NAME[,nodes=N][,gpus=yes]; ``cluster-sim list platforms`` names them.",
)


def is_platform_spec(text: str) -> bool:
    """Return whether a text is a spec (a registered name or a Python file, then a colon) and not a path."""
    return platforms.names(text)


def _unlimited(memory_gb: float) -> float | None:
    return None if memory_gb == math.inf else memory_gb
