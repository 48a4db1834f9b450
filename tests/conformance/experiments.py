"""The inputs of the experiments of López (2023), written out: what the figures of her thesis were made from.

Platforms and jobs as in the thesis' program. Where its text differs, the program counts: profile B of experiment 1 moves
10⁶ MB (Table 4.3 prints 10⁴), and experiment 3 has the letters A and B of its table swapped.
"""

from __future__ import annotations

from collections.abc import Sequence

from cluster_sim.platform import Cluster, NodeGroup, NodeType, Platform, ProcessorType
from cluster_sim.workload import Workload

Profile = dict[str, float]


def profile(instructions: float, req_time: float, mem_vol: float) -> Profile:
    """What one task does; every job of the thesis has an ipc of 1 and 100 MB a task."""
    return {"req_ops": instructions, "req_time": req_time, "mem_vol": mem_vol, "mem": 100, "ipc": 1}


def cluster(*groups: tuple[int, ProcessorType]) -> Platform:
    """Nodes of one processor each, from (how many, of which type)."""
    nodes = [NodeGroup(NodeType(f"node_{kind.name}", (kind,)), count) for count, kind in groups]
    return Platform((Cluster("cluster0", tuple(nodes)),))


def jobs(letters: str, step: float, cores: dict[str, int], profiles: dict[str, Profile]) -> Workload:
    """One job every ``step`` s, by the letters of their profiles."""
    triples = [(round(i * step, 4), cores[letter], letter) for i, letter in enumerate(letters)]
    return Workload.from_triples(triples, profiles)


def _experiment_1_processor(cores: int) -> ProcessorType:
    return ProcessorType(
        f"proc_{cores}_2.5",
        cores,
        2.5,
        power={"static_w": 24.38, "dynamic_w": 2.3, "min_power": 0.05},
        contention={"b": -1.85e-5, "c": 32000, "da": 1.75, "db": 2000, "dc": 50000, "dd": 6000},
    )


def _processor(cores: int, ghz: float, c: float, db: float, dd: float) -> ProcessorType:
    """A processor of experiments 2 to 4: watts by the square of the clock."""
    square = (ghz / 3.0) ** 2
    return ProcessorType(
        f"proc_{cores}_{ghz}",
        cores,
        ghz,
        power={"static_w": 35.108 * square, "dynamic_w": 3.313 * square, "min_power": 0.3959},
        contention={"b": -1.85e-5, "c": c, "da": 1.0, "db": db, "dc": 25000, "dd": dd},
    )


FOUR_KINDS = (
    _processor(8, 4.2, 32000, 500, 500),
    _processor(16, 3.8, 21000, 169, 100),
    _processor(32, 3.4, 21000, 150, 20),
    _processor(48, 3.0, 21000, 100, 10),
)

SHORT = profile(13_750_000_000, 4.6, 1)
LONG = profile(62_500_000_000, 20.8, 1e3)
HEAVY = profile(125_000_000_000, 41.7, 1e6)

EXPERIMENT_4_LETTERS = (
    "AABBCCAABABBAACCBBAABBAAAABCCBAACCCCAABABCCBAACCABAACCBBBBBBBBAACCAABBCCAAAABCCBAACCACACBAACCAAABBAB"
)


def experiment(name: str) -> tuple[Platform, Workload]:
    """Platform and workload of experiment 1, 2, 3, 4-mem or 4-comp."""
    eight = {"A": 8, "B": 8, "C": 8}
    if name == "1":
        platform = cluster((1, _experiment_1_processor(4)), (1, _experiment_1_processor(8)))
        profiles = {"A": profile(12_500_000_000, 5.5, 1), "B": profile(62_500_000_000, 25, 1e6)}
        return platform, jobs("AABABA", 0.05, {"A": 4, "B": 2}, profiles)
    if name == "2":
        platform = cluster(*((1, kind) for kind in FOUR_KINDS))
        return platform, jobs("A" * 14 + "CCBB", 0.05, eight | {"C": 4}, {"A": SHORT, "B": LONG, "C": HEAVY})
    if name == "3":
        platform = cluster(*((10, kind) for kind in FOUR_KINDS))
        letters = "B" * 140 + "C" * 20 + "A" * 20
        return platform, jobs(letters, 0.01, eight | {"C": 4}, {"A": LONG, "B": SHORT, "C": HEAVY})
    platform = cluster((30, FOUR_KINDS[0]), (4, FOUR_KINDS[3]))
    work = {"4-mem": (27.5e9, 62.5e9, 125e9), "4-comp": (55e9, 82.5e9, 125e9)}[name]
    times = {"4-mem": (9.2, 20.8, 41.7), "4-comp": (18.4, 27.5, 41.7)}[name]
    volumes: Sequence[float] = {"4-mem": (1e5, 1e6, 1e8), "4-comp": (1.0, 1.0, 1.0)}[name]
    profiles = {k: profile(o, t, v) for k, o, t, v in zip("ABC", work, times, volumes, strict=True)}
    return platform, jobs(EXPERIMENT_4_LETTERS, 1, eight, profiles)
