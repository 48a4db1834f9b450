"""Small random instances, and every schedule of one: by trying all that a scheduler could decide in a real simulation."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np

from cluster_sim import ModelWarning, Platform, Simulation, View, Workload
from cluster_sim.machine.placement import Placement
from cluster_sim.platform import Cluster, NodeGroup, NodeType, ProcessorType
from cluster_sim.workload import Job

CONTENDED = {"b": -1.85e-5, "c": 100.0, "da": 1.0, "db": 100.0, "dc": 2500.0, "dd": 10.0}
POWER = ("linear", "linear", "baseline", "stall-aware:0.25")

Option = tuple[Job, Placement] | None
"""What can be decided: a start, or None to let time go on."""


def random_platform(rng: random.Random, contention: bool, nodes: int = 2, most_processors: int = 2) -> Platform:
    """Nodes of one or two types, with a processor or two each."""
    types = []
    for i in range(rng.randint(1, 2)):
        power = {"static_w": rng.choice([10.0, 35.25]), "dynamic_w": rng.choice([2.5, 4.0]), "min_power": 0.25}
        kind = ProcessorType(
            f"p{i}", rng.randint(2, 4), rng.choice([1.0, 1.5]), power=power, contention=CONTENDED if contention else {}
        )
        types.append(NodeType(f"n{i}", (kind,) * rng.choice([1, 1, most_processors])))
    groups = tuple(NodeGroup(rng.choice(types), 1) for _ in range(nodes))
    return Platform((Cluster("c", groups),), "random", "piecewise", rng.choice(POWER))


def random_workload(rng: random.Random, platform: Platform, jobs: int, odd: bool = False) -> Workload:
    """Jobs on a coarse grid of times, so that instants coincide; ``odd`` ones take no time, have phases or shapes."""
    widest = platform.core_count if odd else platform.widest_node
    columns: dict[str, list[Any]] = {
        "submit_time": sorted(float(rng.choice([0, 0, 1, 2, 3])) for _ in range(jobs)),
        "requested_cores": [rng.randint(1, widest) for _ in range(jobs)],
        "recorded_run_time": [rng.choice([1.0, 2.0, 3.0, 4.5]) for _ in range(jobs)],
        "requested_time": [rng.choice([2.0, 5.0]) for _ in range(jobs)],
        "mem_vol": [rng.choice([0.0, 300.0, 5000.0]) for _ in range(jobs)],
    }
    if odd:
        columns["recorded_run_time"][0] = 0.0
        columns["phases"] = [rng.choice(["", "3:1 1:3"]) for _ in range(jobs)]
        few = platform.node_count
        columns["ntasks_per_node"] = [rng.choice([0, 0, int(cores <= few)]) for cores in columns["requested_cores"]]
        columns["fixed_run_time"] = [rng.random() < 0.2 for _ in range(jobs)]
    return Workload(columns)


def options(view: View, waiting: bool) -> list[Option]:
    """Every start that is possible now: each pending job, with every order of the nodes; and to go on, where allowed."""
    count = view.platform.node_count
    orders = [np.array(order, float) for order in permutations(range(count))]
    starts: list[Option] = []
    for job in view.pending:
        places = {p for p in (view.place(job, order) for order in orders) if p is not None}
        starts += [(job, place) for place in sorted(places, key=repr)]
    return [*starts, None] if waiting or not starts else starts


def all_schedules(platform: Platform, workload: Workload, waiting: bool) -> Iterator[dict[str, float]]:
    """Energy, makespan and EDP of every schedule, one simulation after the other."""
    choices: list[int] = []
    while True:
        counts, outcome = _run(platform, workload, waiting, choices)
        if outcome is not None:
            yield outcome
        choices += [0] * (len(counts) - len(choices))
        while choices and choices[-1] + 1 == counts[len(choices) - 1]:
            choices.pop()
        if not choices:
            return
        choices[-1] += 1


def _run(
    platform: Platform, workload: Workload, waiting: bool, choices: list[int]
) -> tuple[list[int], dict[str, float] | None]:
    """One run by these choices, then always the first: how many there were each time, and the result if all jobs ran."""
    simulation = Simulation(platform, workload)
    counts: list[int] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # some runs wait for ever
        while (view := simulation.step_to_decision()) is not None:
            while True:
                possible = options(view, waiting)
                chosen = possible[choices[len(counts)] if len(counts) < len(choices) else 0]
                counts.append(len(possible))
                if chosen is None:
                    break
                simulation.decide(chosen)
    view = simulation.view
    if view.pending_count:
        return counts, None
    makespan = view.now - float(workload.jobs["submit_time"].min())
    return counts, {"energy": view.energy_j, "makespan": makespan, "edp": view.energy_j * makespan}
