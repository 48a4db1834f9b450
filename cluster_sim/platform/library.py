"""A library of machines: published clusters, supercomputers and servers as platforms, each with its source.

``Platform.read("machine:taurus")`` reads one, ``machine:taurus,nodes=4`` a part or a multiple of it.
:data:`machines` lists them; ``python -m cluster_sim.platform.library`` prints the manual's page (``docs/reference/machines.md``).
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
    GRID5000_SOURCE,
    MACHINES,
    RAPS_SOURCE,
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


@platforms.register("machine")
def machine(name: Annotated[str, Doc("name of a machine of the library")], nodes: MachineSize = 0) -> Platform:
    """A machine of the library: NAME[,nodes=N]; ``cluster-sim list platforms`` names them."""
    return machines.factory(name)(nodes)


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
    def build(nodes: MachineSize = 0) -> Platform:
        where = f"machine '{entry.name}'"
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
        kind = NodeType(entry.name, (processor,) * node.sockets, node.memory_gb, node.transitions)
        contention = "roofline" if node.bandwidth else "none"
        return Platform((Cluster(entry.name, (NodeGroup(kind, nodes or node.count),)),), entry.name, contention)

    build.__name__, build.__doc__ = f"machine '{entry.name}'", f"{entry.title}."
    machines.register(entry.name)(checked(build))


for _entry in MACHINES:
    _register(_entry)


# ---------------------------------------------------------------------- the manual's page


def machines_page() -> str:
    """Return the manual's page on the machines."""
    tables: dict[str, list[str]] = {"mixed": [], "nodes": [], "servers": []}
    cells: tuple[str, ...]
    for entry in MACHINES:
        platform = machines.factory(entry.name)()
        watts = f"{_power(_watts(platform, busy=False))} / {_power(_watts(platform, busy=True))}"
        if isinstance(entry, MixedEntry):
            table, cells = "mixed", (entry.title, watts, entry.source)
        elif isinstance(entry, ServerEntry):
            idle, start, full, error = server_fit(entry.watts)
            share = f"{error:.1f} ({error / entry.watts[-1]:.0%})"
            cores = f"{entry.sockets * entry.cores}"
            table, cells = (
                "servers",
                (entry.title, cores, f"{idle:g}", f"{start:.1f}", f"{full:.1f}", share, entry.result),
            )
        else:
            groups = [group for cluster in platform.clusters for group in cluster.groups]
            cores = " + ".join(f"{group.count:,} × {group.type.cores}" for group in groups)
            switching = platform.node_types[0].transitions
            seconds = f"{switching.switch_on_s:g} / {switching.switch_off_s:g} s" if switching.switch_on_s else "–"
            source = entry.source.replace(GRID5000_SOURCE, "Grid'5000").replace(RAPS_SOURCE, "RAPS watts")
            source = source.replace("its cpu_peak_flops is", "peak")
            title = entry.title.removesuffix(", nodes that can be switched off")
            table, cells = "nodes", (title, cores, watts, seconds, source)
        tables[table].append(f"| {' | '.join((f'`{entry.name}`', *cells))} |")
    return _PAGE.format(**{name: "\n".join(rows) for name, rows in tables.items()})


def _watts(platform: Platform, busy: bool) -> float:
    """Return the watts of the whole machine, idle or with every core busy."""
    from cluster_sim.models.power import power_models, watts

    model = power_models.make(platform.power_model)
    counts = np.bincount(platform.type_of_processor, minlength=len(platform.processor_types))
    each = [watts(model, kind, kind.cores if busy else 0) for kind in platform.processor_types]
    return float(counts @ np.array(each))


def _power(value: float) -> str:
    return f"{value:,.0f} W" if value < 10_000.0 else f"{value / 1000.0:,.0f} kW"


_PAGE = """\
<!-- Made by `python -m cluster_sim.platform > docs/reference/machines.md`; edit platform/library_table.py instead. -->
# Machines

After this page you can run on a published machine: `Platform.read("machine:taurus")`, `--platform machine:taurus`, or
`machine:taurus,nodes=4` for another number of nodes.

A machine here is its CPU side: equal nodes, and power between idle and full load by busy cores (the `linear` model). GPUs,
networks and cooling are left out.

## Clusters of the source papers

Processors with their power and `piecewise` contention [as published](platform-format.md#documented-processors).

| name | what | idle / full | source |
|---|---|---|---|
{mixed}

## Clusters and supercomputers

Contention: `roofline`, with the peak memory bandwidth of the sockets. Watts include memory, network cards and disks.

- *Grid'5000:* CPU, clock and memory from its reference repository; watts and transitions per node from Poquet 2017 (Taurus),
  which Casagrande et al. 2022 (DeepShutdown) use for this cluster; 8 flops a cycle: AVX.
- *RAPS:* watts per CPU, memory, network card and disk from the system's configuration in ExaDigiT RAPS. *Nodes*: their number,
  too. *Peak*: the configuration's `cpu_peak_flops`, cores × clock × flops a cycle.

| name | what | nodes × cores | idle / full | on / off | source |
|---|---|---|---|---|---|
{nodes}

Left out, because their RAPS configurations do not describe the CPUs of the machine beyond doubt:
Kestrel, Perlmutter, Blue Waters, Lassen, Selene and MIT Supercloud.

## Servers

One node each, from SPECpower_ssj2008 results as they come with CloudSim; two of them name the same result. The `linear` model has
the measured idle watts, and a line fitted to the ten other loads. Its largest error is also given as a share of full load.

| name | what | cores | idle W | line from W | to W | largest error W | SPEC result |
|---|---|---|---|---|---|---|---|
{servers}
"""
