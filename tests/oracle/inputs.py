"""Small machines and workloads, drawn by numbers of our own: the same on every version of every library.

What a machine or a job can have beyond the ordinary is a *trait*, a word of :data:`TRAITS`. Times lie on a coarse grid
where the seed is even, so that many instants coincide, and are arbitrary where it is odd.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from cluster_sim import (
    AdvanceReservation,
    Cluster,
    NodeGroup,
    NodeType,
    Platform,
    PowerTransitions,
    ProcessorType,
    PState,
    Workload,
)

TRAITS = {
    "sleepy": "switching takes time and watts; some nodes are off at the beginning",
    "boots": "every boot takes a time of its own",
    "contended": "jobs move memory, processors have the parameters of every contention model",
    "phases": "jobs move their memory in some of their phases only",
    "memory": "nodes have little memory, jobs occupy some",
    "tags": "nodes have tags, jobs ask for them",
    "exclusive": "jobs want nodes for themselves",
    "dependencies": "jobs wait for jobs",
    "reservations": "nodes are set aside for a time, for some jobs or for maintenance",
    "shapes": "jobs say on how many nodes, or how many tasks on each",
    "communication": "jobs on several nodes exchange data",
    "p-states": "processors have p-states",
    "deadlines": "jobs have deadlines and priorities",
    "energies": "jobs state energies, and some will not run where they would need more",
    "unknown": "some jobs request no time, or too little",
    "checkpoints": "some jobs make checkpoints, and need time to go on from one",
    "sizes": "jobs can run on other numbers of cores; some change them on the way, some between parts, some ask for it",
}

PIECEWISE = (
    {"b": -1.85e-5, "c": 100.0, "da": 1.0, "db": 100.0, "dc": 2500.0, "dd": 10.0},
    {"b": -0.05, "c": 50.0, "da": 1.75, "db": 200.0, "dc": 450.0, "dd": 30.0},
)
_GOMPERTZ = "aaa aab aba abb baa bab bba bbb caa cab cba cbb cca ccb daa dab dba dbb".split()
GOMPERTZ = dict.fromkeys(_GOMPERTZ, 0.01) | {"abb": -2.0, "bbb": 1.0, "ccb": 0.2, "dbb": 0.5}
POLYNOMIAL = {"idle_w": 11.5, "p00": 20.25, "p10": 3.5, "p01": 4.75, "p20": 0.125, "p11": 0.25, "p02": 0.0625}


@dataclass(frozen=True)
class Inputs:
    """What a run is of."""

    platform: Platform
    workload: Workload
    reservations: tuple[AdvanceReservation, ...] = ()


def small(seed: int, traits: frozenset[str] = frozenset(), jobs: int = 30) -> Inputs:
    """A machine of up to twelve nodes of up to three types, and as many jobs as are wanted."""
    rng = Random(seed)
    platform = _platform(rng, traits)
    return Inputs(
        platform, _workload(rng, platform, traits, jobs, coarse=seed % 2 == 0), _reservations(rng, platform, traits)
    )


def _platform(rng: Random, traits: frozenset[str]) -> Platform:
    processors = [_processor(rng, number, traits) for number in range(rng.randint(1, 3))]
    types = []
    for number in range(rng.randint(1, 3)):
        kinds = tuple(rng.choice(processors) for _ in range(rng.choice([1, 1, 2, 3])))
        memory = rng.choice([1.0, 1.5, 2.0]) if "memory" in traits else rng.choice([None, 64.0])
        tags = frozenset(rng.choice(["", "a", "b", "a b"]).split()) if "tags" in traits else frozenset()
        off = "sleepy" in traits and rng.random() < 0.4
        types.append(NodeType(f"n{number}", kinds, memory, _transitions(rng, traits), off, tags))
    clusters = []
    for number in range(rng.choice([1, 1, 2])):
        chosen = rng.sample(types, min(len(types), 2))
        clusters.append(Cluster(f"c{number}", tuple(NodeGroup(kind, rng.randint(1, 3)) for kind in chosen)))
    contention = rng.choice(["piecewise", "piecewise:k=1"]) if "contended" in traits else "none"
    power = rng.choice(["linear", "linear", "stall-aware:0.25"])
    return Platform(tuple(clusters), "small", contention, power)


def _processor(rng: Random, number: int, traits: frozenset[str]) -> ProcessorType:
    watts = {
        "static_w": rng.choice([10.0, 35.25, 68.8]),
        "dynamic_w": rng.choice([2.5, 4.0, 6.46]),
        "min_power": rng.choice([0.0, 0.25, 0.4, 1.0]),
    }
    cores, clock = rng.randint(1, 6), rng.choice([1.0, 1.5, 3.0])
    contention: dict[str, float] = {}
    if "contended" in traits:
        contention = rng.choice(PIECEWISE) | GOMPERTZ | {"bandwidth": rng.choice([60.0, 150.0, 1000.0])}
        watts |= POLYNOMIAL
    states: tuple[PState, ...] = ()
    if "p-states" in traits:
        states = tuple(
            PState(clock * ratio, {**watts, "static_w": watts["static_w"], "dynamic_w": watts["dynamic_w"] * ratio**3})
            for ratio in (0.5, 0.75, 1.0)
        )
    return ProcessorType(f"p{number}", cores, clock, power=watts, contention=contention, p_states=states)


def _transitions(rng: Random, traits: frozenset[str]) -> PowerTransitions:
    if "sleepy" not in traits:
        return PowerTransitions()
    boots = rng.choice(["uniform:1,5", "normal:3,1", "lognormal:4,2"]) if "boots" in traits else ""
    return PowerTransitions(
        off_w=rng.choice([0.0, 3.0]),
        switch_on_s=0.0 if boots else rng.choice([0.0, 2.0, 5.5]),
        switch_on_w=rng.choice([None, 125.0]),
        switch_off_s=rng.choice([0.0, 1.0, 2.5]),
        switch_off_w=rng.choice([None, 101.0]),
        switch_on_distribution=boots,
    )


def _workload(rng: Random, platform: Platform, traits: frozenset[str], jobs: int, coarse: bool) -> Workload:
    widest, everything, fastest = platform.widest_node, platform.core_count, platform.fastest_ops_per_s

    def seconds(*grid: float) -> float:
        return rng.choice(grid) if coarse else round(rng.uniform(0.7, 1.4) * rng.choice(grid), 6)

    submit = sorted(seconds(*map(float, range(int(jobs / 1.5)))) for _ in range(jobs))
    run = [seconds(0.0, 1.0, 2.0, 3.0, 4.5, 8.0, 15.0) for _ in range(jobs)]
    columns: dict[str, list[Any]] = {
        "submit_time": submit,
        "requested_cores": [
            rng.randint(1, rng.choice([widest, widest, max(1, widest // 2), everything])) for _ in range(jobs)
        ],
        "recorded_run_time": [float("nan") if number % 3 == 1 else time for number, time in enumerate(run)],
        "operations": [time * fastest if number % 3 == 1 else float("nan") for number, time in enumerate(run)],
        "requested_time": [max(1.0, time) * rng.choice([1.0, 1.0, 1.5, 2.0, 10.0]) * 3.0 for time in run],
        "user": [rng.choice(["ann", "bob", "cy"]) for _ in range(jobs)],
        "profile": [rng.choice(["", "x", "y"]) for _ in range(jobs)],
    }
    if jobs > 5:
        columns["requested_cores"][jobs // 2] = everything + 1  # never fits

    def some(chance: float, value: Any, otherwise: Any) -> list[Any]:
        return [value(number) if rng.random() < chance else otherwise for number in range(jobs)]

    if "unknown" in traits:
        columns["requested_time"] = [
            rng.choice([float("inf"), 0.0, 1.0, asked, asked, asked]) for asked in columns["requested_time"]
        ]
    if "contended" in traits:
        columns["mem_vol"] = some(0.7, lambda n: run[n] * rng.choice([5.0, 40.0, 300.0, 2000.0]), 0.0)
    if "phases" in traits:
        columns["phases"] = some(0.6, lambda n: rng.choice(["1:1 1:0", "1:0 2:1", "3:1 1:3 1:0"]), "")
    if "memory" in traits:
        columns["memory"] = some(0.7, lambda n: rng.choice([50.0, 300.0, 700.0, 1024.0 / 3]), 0.0)
    if "tags" in traits:
        columns["requires"] = some(0.4, lambda n: rng.choice(["a", "b"]), "")
    if "exclusive" in traits:
        columns["exclusive"] = some(0.3, lambda n: True, False)
    if "dependencies" in traits:
        columns["after"] = some(0.4, lambda n: rng.choice(["", "any:"]) + str(rng.randrange(n)) if n else "", "")
    if "reservations" in traits:
        columns["reservation"] = some(0.2, lambda n: "kept", "")
    if "shapes" in traits:
        columns["nodes"] = some(0.4, lambda n: rng.randint(1, 3), 0)
        columns["ntasks_per_node"] = some(0.3, lambda n: rng.randint(1, 3), 0)
    if "communication" in traits:
        columns["comm_vol"] = some(0.7, lambda n: rng.choice([10.0, 500.0, 2500.0]), 0.0)
    if "deadlines" in traits:
        columns["deadline"] = some(0.6, lambda n: submit[n] + run[n] * rng.choice([1.0, 3.0, 8.0]), float("inf"))
        columns["priority"] = some(0.5, lambda n: float(rng.randint(1, 3)), 0.0)
    if "energies" in traits:
        columns["req_energy"] = some(0.5, lambda n: 10.0 * run[n], float("nan"))
        columns["max_energy"] = some(0.2, lambda n: 60.0 * run[n], float("inf"))
    if "checkpoints" in traits:
        columns["checkpoint_interval"] = some(0.5, lambda n: rng.choice(["1", "2.5", "4"]), "")
        columns["checkpoint_time"] = some(0.5, lambda n: 0.5, 0.0)
        columns["restart_time"] = some(0.5, lambda n: 0.75, 0.0)
    if "sizes" in traits:
        requested = columns["requested_cores"]
        columns["min_cores"] = some(0.7, lambda n: max(int(requested[n]) // 2, 1), 0)
        columns["max_cores"] = some(0.7, lambda n: int(requested[n]) * 2, 0)
        columns["malleable"] = some(0.7, lambda n: True, False)
        columns["speedup"] = some(0.5, lambda n: "amdahl:0.1", "linear")
        columns["parts"] = some(0.5, lambda n: rng.choice(["1", "3", "8", f"1 2@{requested[n] + 1} 1@1"]), "")
        columns["reconfiguration_time"] = some(0.3, lambda n: 0.5, 0.0)
    return Workload(columns, name="small")


def _reservations(rng: Random, platform: Platform, traits: frozenset[str]) -> tuple[AdvanceReservation, ...]:
    if "reservations" not in traits:
        return ()
    kept = sorted(rng.sample(range(platform.node_count), rng.randint(1, max(1, platform.node_count // 2))))
    reservations = [AdvanceReservation("kept", 6.0, 30.0, kept)]
    if others := [node for node in range(platform.node_count) if node not in kept]:
        reservations.append(AdvanceReservation("maintenance", 12.0, 16.5, others[:2]))
    return tuple(reservations)
