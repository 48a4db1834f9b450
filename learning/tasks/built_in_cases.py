"""Small built-in cases, which environments run when they are made without arguments."""

from __future__ import annotations

import numpy as np

from cluster_sim.platform.hardware import Cluster, NodeGroup, NodeType, PowerTransitions, ProcessorType
from cluster_sim.platform.platform import Platform
from cluster_sim.platform.processor_table import power_at
from cluster_sim.workload.days import DAY_S
from cluster_sim.workload.workload import Workload
from learning.tasks.episodes import Days, Drawn, EpisodeSource

_CONTENTION = {"b": -1.85e-05, "c": 21000.0, "da": 1.0, "db": 150.0, "dc": 25000.0, "dd": 20.0}
_PROFILES = ((8, 4.6, 1.0), (2, 20.8, 1e3), (4, 41.7, 1e6))  # cores, s at 3 GHz, MB


def small_cluster() -> Platform:
    """Return four nodes of 8 to 48 cores, wider ones slower, as in Experiment 2 of López (2023), with contention."""
    types = []
    for cores, ghz in ((8, 4.2), (16, 3.8), (32, 3.4), (48, 3.0)):
        processor = ProcessorType(f"p{cores}", cores, ghz, power=power_at(ghz), contention=_CONTENTION)
        types.append(NodeType(f"n{cores}", (processor,)))
    return Platform((Cluster("cluster0", tuple(NodeGroup(kind, 1) for kind in types)),), "small")


def mixed_jobs(rng: np.random.Generator, jobs: int = 24) -> Workload:
    """Return short wide jobs, long narrow ones, and jobs that contend for memory, one every 50 ms in random order."""
    kinds = rng.choice(3, jobs, p=(0.6, 0.2, 0.2))
    cores, seconds, volume = (np.array([_PROFILES[kind][i] for kind in kinds]) for i in range(3))
    return Workload(
        {
            "submit_time": 0.05 * np.arange(jobs),
            "requested_cores": cores.astype(np.int64),
            "requested_time": seconds,
            "operations": seconds * 3e9,
            "mem_vol": volume,
            "profile": np.array([f"profile{kind}" for kind in kinds], dtype=object),
        },
        name="mixed",
    )


def job_choice_case() -> EpisodeSource:
    """Return the case of JobChoice: 48 fresh jobs on 16 cores, which are seldom enough."""
    return Drawn(Platform.homogeneous(nodes=1, cores=16), _parallel_jobs)


def _parallel_jobs(rng: np.random.Generator) -> Workload:
    times = rng.lognormal(5.0, 1.5, 48)
    return Workload(
        {
            "submit_time": np.cumsum(rng.exponential(60.0, 48)),
            "requested_cores": 2 ** rng.integers(0, 5, 48),
            "requested_time": times,
            "recorded_run_time": times,
        },
        name="parallel",
    )


def job_node_case() -> EpisodeSource:
    """Return the case of JobNode: 24 fresh jobs on the small cluster."""
    return Drawn(small_cluster(), mixed_jobs)


TAURUS = PowerTransitions(off_w=108.0, switch_on_s=60.0, switch_on_w=1500.0, switch_off_s=180.0, switch_off_w=1212.0)
"""Switching a node of twelve cores of Taurus, by core as Casagrande et al. (2022, Fig. 4)."""


def built_in_day(days: int = 4, jobs: int = 60) -> Days:
    """Return days on four nodes of twelve cores: bursts of short jobs that request hours, as in Taurus's log."""
    platform = Platform.homogeneous(
        nodes=4,
        cores=12,
        power={"static_w": 12 * 95.0, "dynamic_w": 95.0, "min_power": 1.0},
        transitions=TAURUS,
    )
    rng = np.random.default_rng(4)
    workloads = []
    for _ in range(days):
        bursts = np.sort(rng.integers(0, 1380, 12))
        submit = np.sort(rng.choice(bursts, jobs) + rng.integers(0, 20, jobs)) * 60.0
        columns = {
            "submit_time": submit,
            "requested_cores": rng.choice([1, 12, 16], jobs, p=[0.3, 0.5, 0.2]),
            "requested_time": rng.choice([3600.0, 7200.0, 18000.0], jobs),
            "recorded_run_time": rng.choice([60.0, 120.0, 600.0, 2400.0], jobs, p=[0.6, 0.2, 0.15, 0.05]),
        }
        workloads.append(Workload(columns))
    return Days(platform, workloads, until=DAY_S, enforce_walltime=True)
