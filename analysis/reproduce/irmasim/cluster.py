"""The cluster and the jobs of IRMaSim's paper (Herrera et al. 2021), and runs of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cluster_sim import Simulation, make_scheduler
from cluster_sim.platform.platform import Cluster, NodeGroup, NodeType, Platform, ProcessorType
from cluster_sim.records.result import Result
from cluster_sim.workload.workload import Workload

# Table III: pa is what a busy core draws, pb what a processor draws whatever its cores do.
WATTS = {3.4: (6.14211, 5.59316), 2.5: (3.51244, 3.19636), 1.7: (2.31082, 1.59482)}
CONTENTION = {"b": -1.85e-5, "c": 32000, "da": 1.75, "db": 3500, "dc": 45000, "dd": 3000}
# Table IV: instructions, instructions per cycle, memory volume in MB.
NPB = {
    "bt.C": (633.50e10, 3.06, 5.17e6),
    "cg.C": (60.31e10, 1.10, 7.30e6),
    "ep.C": (80.94e10, 1.16, 0.21e6),
    "is.C": (6.43e10, 0.95, 0.07e6),
    "lu.C": (370.25e10, 2.20, 8.70e6),
    "sp.C": (356.10e10, 2.74, 9.60e6),
    "ua.C": (312.57e10, 2.30, 4.32e6),
}
CLUSTERS = {"homogeneous": {3.4: 15}, "heterogeneous": {3.4: 8, 2.5: 4, 1.7: 3}}
MODELS = {"baseline": ("none", "baseline"), "contention": ("piecewise", "linear")}
SUBMITTED_WITHIN_S = 120.0
SCHEDULER = "list:first/first"


def processor(ghz: float, min_power: float = 1.0) -> ProcessorType:
    """Return the quad-core of §VI at one of its three clocks.

    Idle, it draws the share ``min_power`` of pb: all of it by Eq. 5.
    """
    core, common = WATTS[ghz]
    power = {"static_w": common, "dynamic_w": core, "min_power": min_power}
    return ProcessorType(f"i5-7500@{ghz}", 4, ghz, power=power, contention=CONTENTION)


def cluster(clocks: dict[float, int], model: str, min_power: float = 1.0) -> Platform:
    """Return a platform with that many nodes of each clock under one of :data:`MODELS`."""
    groups = [NodeGroup(NodeType(f"node@{ghz}", (processor(ghz, min_power),)), count) for ghz, count in clocks.items()]
    return Platform((Cluster("cluster0", tuple(groups)),)).with_models(*MODELS[model])


def batch(jobs: int, seed: int) -> Workload:
    """Draw sequential jobs from Table IV, submitted within the first two minutes."""
    rng = np.random.default_rng([2021, jobs, seed])
    submits = np.sort(rng.uniform(0.0, SUBMITTED_WITHIN_S, jobs)).round(3)
    return of_profiles(list(zip(submits.tolist(), rng.choice(list(NPB), jobs).tolist(), strict=True)))


def of_profiles(jobs: Sequence[tuple[float, str]]) -> Workload:
    """Return sequential jobs from (submission, benchmark). They ask for the time that they take alone at 3.4 GHz."""
    profiles = {
        name: {"req_ops": work, "ipc": ipc, "mem_vol": volume, "req_time": work / ipc / 3.4e9}
        for name, (work, ipc, volume) in NPB.items()
    }
    return Workload.from_triples([(submit, 1, name) for submit, name in jobs], profiles)


def run(platform: Platform, workload: Workload, scheduler: str = SCHEDULER, seed: int = 0) -> Result:
    """Run one simulation."""
    return Simulation(platform, workload, make_scheduler(scheduler), seed=seed).run(warn=False)
