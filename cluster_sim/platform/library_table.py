"""The machines of the library: what they are made of, what they draw, and who says so.

Watts are of whole nodes. What a source gives per CPU is added up here, with the memory, network cards and disks that
draw the same whatever runs. GPUs stand apart: a machine has them if it is asked for with its GPUs. Between idle and full
load the ``linear`` model interpolates by busy cores. Memory bandwidths are the vendors' peak figures per socket, for the
``roofline`` contention model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cluster_sim.platform.hardware import PowerTransitions, Resource

_NEVER_SWITCHED = PowerTransitions()


@dataclass(frozen=True, slots=True)
class NodeEntry:
    """Equal nodes of one machine. Watts per node at no and at full load; bandwidth in MB/s per socket, 0: unknown."""

    count: int
    sockets: int
    cores: int
    """Cores per socket."""
    ghz: float
    flops_per_cycle: float
    memory_gb: float | None
    idle_w: float
    full_w: float
    bandwidth: float = 0.0
    transitions: PowerTransitions = _NEVER_SWITCHED
    gpus: Resource | None = None


@dataclass(frozen=True, slots=True)
class MachineEntry:
    """A machine of equal nodes: its name, one line that says what it is, its nodes, and where the figures are from."""

    name: str
    title: str
    nodes: NodeEntry
    source: str


@dataclass(frozen=True, slots=True)
class MixedEntry:
    """A machine of documented processors (``cluster_sim.platform.processor_table``): groups (count, cores, GHz)."""

    name: str
    title: str
    groups: tuple[tuple[int, int, float], ...]
    source: str


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """A server with its SPECpower_ssj2008 result: watts at 0, 10, … 100 % load."""

    name: str
    title: str
    sockets: int
    cores: int
    """Cores per socket."""
    ghz: float
    memory_gb: float
    watts: tuple[float, ...]
    result: str
    bandwidth: float = 0.0


# Taurus as Poquet (2017, p. 68) measured it; Casagrande et al. (2022) use the same figures for all four clusters. Off:
# 9 W, as in those authors' own platform file (their text counts 0 W).
_TAURUS_SWITCHING = PowerTransitions(
    off_w=9.0, switch_on_s=60.0, switch_on_w=125.0, switch_off_s=180.0, switch_off_w=101.0
)
GRID5000_SOURCE = (
    "CPU, clock and memory: Grid'5000 reference repository; watts and transitions, per node: Poquet 2017 (Taurus), "
    "used for this cluster by Casagrande et al. 2022 (DeepShutdown); 8 flops a cycle: AVX"
)
RAPS_SOURCE = "watts per CPU, GPU, memory, network card and disk: ExaDigiT RAPS, its configuration of this system"
_MI250X, _V100 = Resource(4, "mi250x", 128.0, 88.0, 560.0), Resource(4, "v100", 16.0, 75.0, 300.0)
_SIX_V100 = replace(_V100, count=6)
_MI250X_HALVES = Resource(8, "mi250x-gcd", 64.0, 44.0, 238.0)
"""GPUs of a node, with watts from the same configurations; memory from the vendors."""


def _grid5000(
    name: str, count: int, cores: int, ghz: float, memory_gb: float, bandwidth: float, cpu: str
) -> MachineEntry:
    nodes = NodeEntry(count, 2, cores, ghz, 8.0, memory_gb, 95.0, 190.0, bandwidth, _TAURUS_SWITCHING)
    return MachineEntry(
        name, f"Grid'5000 {name.capitalize()}: 2 × {cpu}, nodes that can be switched off", nodes, GRID5000_SOURCE
    )


def _raps(
    cpus: int, idle_w: float, full_w: float, memory_w: float, cards: int, card_w: float, disk_w: float
) -> tuple[float, float]:
    """Return the watts of a node, idle and at full load, without its GPUs."""
    rest = memory_w + cards * card_w + disk_w
    return cpus * idle_w + rest, cpus * full_w + rest


MACHINES: tuple[MachineEntry | MixedEntry | ServerEntry, ...] = (
    MixedEntry(
        "irmasim-15", "15 quad-core nodes at 3.4 GHz: the homogeneous cluster of IRMaSim's validation", ((15, 4, 3.4),),
        "Herrera et al. 2021, §VII-A and Table III",
    ),
    MixedEntry(
        "irmasim-8-4-3", "8, 4 and 3 quad-core nodes at 3.4, 2.5 and 1.7 GHz: its heterogeneous cluster",
        ((8, 4, 3.4), (4, 4, 2.5), (3, 4, 1.7)), "Herrera et al. 2021, §VII-A and Table III",
    ),
    MixedEntry(
        "energy-scheduler-2", "one node each of 8, 16, 32 and 48 cores: the Energy scheduler's Experiment 2",
        ((1, 8, 4.2), (1, 16, 3.8), (1, 32, 3.4), (1, 48, 3.0)), "López 2023, Table 4.7 and its input files",
    ),
    MixedEntry(
        "energy-scheduler-3", "ten nodes each of 8, 16, 32 and 48 cores: the Energy scheduler's Experiment 3",
        ((10, 8, 4.2), (10, 16, 3.8), (10, 32, 3.4), (10, 48, 3.0)), "López 2023, §4.4 and its input files",
    ),
    MixedEntry(
        "energy-scheduler-4", "30 nodes of 8 cores and 4 of 48: the Energy scheduler's Experiment 4",
        ((30, 8, 4.2), (4, 48, 3.0)), "López 2023, §4.5 and its input files",
    ),
    MixedEntry(
        "pcbe", "3 nodes of 64 cores and 9 of 8: PCBE's scaling experiment", ((3, 64, 3.0), (9, 8, 4.2)),
        "Cruz 2023, scaling experiment",
    ),
    _grid5000("taurus", 14, 6, 2.3, 32.0, 42_600.0, "Xeon E5-2630"),
    _grid5000("orion", 4, 6, 2.3, 32.0, 42_600.0, "Xeon E5-2630"),
    _grid5000("graphite", 4, 8, 2.0, 256.0, 51_200.0, "Xeon E5-2650"),
    _grid5000("econome", 22, 8, 2.2, 64.0, 51_200.0, "Xeon E5-2660"),
    MachineEntry(
        "frontier", "Frontier (ORNL), CPU part: EPYC 7A53",
        NodeEntry(9_472, 1, 64, 2.0, 16.0, 512.0, *_raps(1, 90, 280, 74.26, 4, 20, 30), 204_800.0, gpus=_MI250X),
        f"nodes and {RAPS_SOURCE}; its cpu_peak_flops is 64 × 2.0 GHz × 16",
    ),
    MachineEntry(
        "summit", "Summit (ORNL), CPU part: 2 × POWER9",
        NodeEntry(4_608, 2, 22, 3.07, 8.0, 512.0, *_raps(2, 47.25, 300, 74.26, 2, 21, 45), 170_000.0, gpus=_SIX_V100),
        f"{RAPS_SOURCE}; nodes, cores and clock: TOP500 (the configuration's cpu_peak_flops fits no clock of this CPU)",
    ),
    MachineEntry(
        "fugaku", "Fugaku (RIKEN): A64FX",
        NodeEntry(158_976, 1, 48, 2.2, 32.0, 32.0, *_raps(1, 30, 150, 10, 0, 0, 0), 1_024_000.0),
        f"nodes and {RAPS_SOURCE}; its cpu_peak_flops is 48 × 2.2 GHz × 32",
    ),
    MachineEntry(
        "lumi-c", "LUMI-C (CSC): 2 × EPYC 7763",
        NodeEntry(2_048, 2, 64, 2.45, 16.0, 256.0, *_raps(2, 90, 280, 74.26, 4, 20, 30), 204_800.0),
        f"{RAPS_SOURCE} (with 512 nodes; LUMI's documentation: 2,048); its cpu_peak_flops is 64 × 2.45 GHz × 16",
    ),
    MachineEntry(
        "lumi-g", "LUMI-G (CSC), CPU part: EPYC 7A53",
        NodeEntry(2_978, 1, 64, 2.0, 16.0, 512.0, *_raps(1, 90, 280, 74.26, 4, 20, 30), 204_800.0, gpus=_MI250X),
        f"{RAPS_SOURCE} (with 3,840 nodes; LUMI's documentation: 2,978); its cpu_peak_flops is 64 × 2.0 GHz × 16",
    ),
    MachineEntry(
        "marconi100", "Marconi100 (CINECA), CPU part: 2 × POWER9",
        NodeEntry(980, 2, 16, 3.1, 8.0, 256.0, *_raps(2, 47.25, 252, 74.26, 2, 21, 45), 170_000.0, gpus=_V100),
        f"nodes and {RAPS_SOURCE}; its cpu_peak_flops is 16 × 3.1 GHz × 8",
    ),
    MachineEntry(
        "setonix-cpu", "Setonix (Pawsey), CPU partition: 2 × EPYC 7763",
        NodeEntry(1_600, 2, 64, 2.45, 16.0, 256.0, *_raps(2, 90, 280, 74.26, 4, 20, 30), 204_800.0),
        f"nodes and {RAPS_SOURCE}; its cpu_peak_flops is 64 × 2.45 GHz × 16",
    ),
    MachineEntry(
        "adastra", "Adastra (CINES), MI250 partition, CPU part: EPYC 7A53",
        NodeEntry(356, 1, 64, 2.0, 16.0, 256.0, *_raps(1, 90, 280, 37.13, 4, 20, 0), 204_800.0, gpus=_MI250X_HALVES),
        f"nodes and {RAPS_SOURCE}; its cpu_peak_flops is 64 × 2.0 GHz × 16",
    ),
    MachineEntry(
        "aurora", "Aurora (ANL), CPU part: 2 × Xeon Max 9470 (bandwidth of its DDR5 only)",
        NodeEntry(10_624, 2, 52, 2.4, 32.0, 1_024.0, *_raps(2, 90, 350, 74.26, 4, 20, 30), 307_200.0),
        f"nodes and {RAPS_SOURCE}; its cpu_peak_flops is 52 × 2.4 GHz × 32",
    ),
    ServerEntry(
        "hp-ml110-g3", "HP ProLiant ML110 G3: Pentium D 930", 1, 2, 3.0, 4.0,
        (105, 112, 118, 125, 131, 137, 147, 153, 157, 164, 169), "20110127-00342",
    ),
    ServerEntry(
        "hp-ml110-g4", "HP ProLiant ML110 G4: Xeon 3040", 1, 2, 1.86, 4.0,
        (86, 89.4, 92.6, 96, 99.5, 102, 106, 108, 112, 114, 117), "20110127-00342",
    ),
    ServerEntry(
        "hp-ml110-g5", "HP ProLiant ML110 G5: Xeon 3075", 1, 2, 2.66, 4.0,
        (93.7, 97, 101, 105, 110, 116, 121, 125, 129, 133, 135), "20110124-00339",
    ),
    ServerEntry(
        "ibm-x3250-x3470", "IBM System x3250 M3: Xeon X3470", 1, 4, 2.933, 8.0,
        (41.6, 46.7, 52.3, 57.9, 65.4, 73, 80.7, 89.5, 99.6, 105, 113), "20091104-00213", 21_300.0,
    ),
    ServerEntry(
        "ibm-x3250-x3480", "IBM System x3250 M3: Xeon X3480", 1, 4, 3.067, 8.0,
        (42.3, 46.7, 49.7, 55.4, 61.8, 69.3, 76.1, 87, 96.1, 106, 113), "20101001-00297", 21_300.0,
    ),
    ServerEntry(
        "ibm-x3550-x5670", "IBM System x3550 M3: 2 × Xeon X5670", 2, 6, 2.933, 12.0,
        (66, 107, 120, 131, 143, 156, 173, 191, 211, 229, 247), "20100315-00239", 32_000.0,
    ),
    ServerEntry(
        "ibm-x3550-x5675", "IBM System x3550 M3: 2 × Xeon X5675", 2, 6, 3.067, 16.0,
        (58.4, 98, 109, 118, 128, 140, 153, 170, 189, 205, 222), "20110406-00368", 32_000.0,
    ),
)  # fmt: skip
