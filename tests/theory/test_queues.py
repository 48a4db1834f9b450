"""Queueing theory: waits of M/M/c, Lindley's recursion for one server, and turnaround under processor sharing.

Means over replications with fixed seeds; the theory's value must lie in their 99 % confidence interval (Student's t),
and the interval must be narrow, or it would prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from math import factorial

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from cluster_sim import Platform, ProcessorType, Simulation, Workload, make_scheduler
from cluster_sim.platform import Cluster, NodeGroup, NodeType

Floats = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]

MEAN_SERVICE_S = 100.0


def exponential(rng: np.random.Generator, count: int) -> Floats:
    """Service times, mean 100 s."""
    return rng.exponential(MEAN_SERVICE_S, count)


def bimodal(rng: np.random.Generator, count: int) -> Floats:
    """Many short ones and a few long: 20 s (9 of 10) or 820 s, mean 100 s."""
    return np.where(rng.random(count) < 0.9, 20.0, 820.0)


def deterministic(rng: np.random.Generator, count: int) -> Floats:
    """All the same."""
    return np.full(count, MEAN_SERVICE_S)


def poisson_jobs(seed: int, count: int, load: float, draw: Draw, mem_vol_per_s: float = 0.0) -> Workload:
    """One-core jobs with Poisson arrivals that bring ``load`` mean services in a mean service time."""
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(MEAN_SERVICE_S / load, count))
    service = draw(rng, count)
    return Workload(
        {
            "submit_time": arrivals,
            "requested_cores": np.ones(count, int),
            "recorded_run_time": service,
            "mem_vol": service * mem_vol_per_s,
        }
    )


def assert_in_confidence_interval(means: list[float], theory: float, width: float) -> None:
    """The theory's value lies in the 99 % interval of the means, and that is at most ``width`` (relative) to a side."""
    half = stats.t.ppf(0.995, len(means) - 1) * np.std(means, ddof=1) / np.sqrt(len(means))
    assert half < width * theory
    assert np.mean(means) == pytest.approx(theory, abs=half)


def mean_wait(platform: Platform, workload: Workload, warm_up: int) -> float:
    """Mean wait of the jobs after the first ``warm_up``."""
    jobs = Simulation(platform, workload, make_scheduler("fcfs")).run().jobs
    return float(jobs["wait_time"].to_numpy()[warm_up:].mean())


def erlang_c_wait(servers: int, load: float) -> float:
    """Mean wait in M/M/c with ``load`` = λ/μ, in mean services."""
    full = load**servers / factorial(servers) * servers / (servers - load)
    all_busy = full / (sum(load**k / factorial(k) for k in range(servers)) + full)
    return all_busy / (servers - load)


def test_mean_wait_of_mmc() -> None:
    """Poisson arrivals, exponential services, four servers: Erlang's C. For one server Lindley says every single wait."""
    platform, load = Platform.homogeneous(nodes=1, cores=4), 2.8
    means = [mean_wait(platform, poisson_jobs(seed, 6_000, load, exponential), 1_000) for seed in range(400, 408)]
    assert_in_confidence_interval(means, erlang_c_wait(4, load) * MEAN_SERVICE_S, 0.12)


def test_it_does_not_matter_how_servers_are_packaged() -> None:
    """Four nodes of a core serve every job when the four cores of a node do."""
    workload = poisson_jobs(400, 3_000, 2.8, exponential)
    packed, apart = (
        Simulation(platform, workload, make_scheduler("fcfs")).run().jobs["start_time"].tolist()
        for platform in (Platform.homogeneous(1, 4), Platform.homogeneous(4, 1))
    )
    assert packed == apart


@pytest.mark.parametrize("draw", [exponential, bimodal])
def test_waits_of_one_server_follow_lindley(draw: Draw) -> None:
    """G/G/1, job by job: the next wait is this wait plus this service less the gap, or nothing."""
    workload = poisson_jobs(5, 5_000, 0.9, draw)
    jobs = Simulation(Platform.homogeneous(1, 1), workload, make_scheduler("fcfs")).run().jobs
    arrivals = workload.jobs["submit_time"].to_numpy()
    service = workload.jobs["recorded_run_time"].to_numpy()
    wait, expected = 0.0, []
    for gap, work in zip(np.diff(arrivals, append=np.inf), service, strict=True):
        expected.append(wait)
        wait = max(0.0, wait + work - gap)
    assert jobs["wait_time"].to_numpy() == pytest.approx(np.array(expected), rel=1e-9, abs=1e-6)
    assert max(expected) > 500.0


def one_shared_processor() -> Platform:
    """96 cores whose memory is saturated by a single task: with k = 1, n tasks run at 1/n of their speed each.

    Every task asks for 1000 MB/s: beyond the threshold (1), far down the slope (b = -1), and beyond the end of the
    smoothstep (q > 1, so s(q) = 0); that leaves d = 1/(1 + n_other), the egalitarian share, and 1 for a task alone.
    """
    saturated = {"b": -1.0, "c": 1.0, "da": 0.0, "db": 0.0, "dc": 1.0, "dd": 0.0}
    processor = ProcessorType("shared", 96, 3.0, contention=saturated)
    node = NodeType("node", (processor,))
    return Platform((Cluster("cluster0", (NodeGroup(node, 1),)),), contention_model="piecewise:k=1")


def test_mean_turnaround_of_processor_sharing() -> None:
    """M/D/1-PS: mean turnaround is E[S] / (1 - ρ), as with the two lengths below, so any distribution; nobody waits."""
    load = 0.6
    means = []
    for seed in range(8):
        workload = poisson_jobs(seed, 3_000, load, deterministic, mem_vol_per_s=1000.0)
        jobs = Simulation(one_shared_processor(), workload, make_scheduler("fcfs")).run().jobs
        assert jobs["wait_time"].max() == 0.0
        means.append(float(jobs["turnaround_time"].to_numpy()[500:].mean()))
    assert_in_confidence_interval(means, MEAN_SERVICE_S / (1.0 - load), 0.12)


def test_processor_sharing_is_fair_to_short_jobs() -> None:
    """M/G/1-PS: a job that needs x seconds takes x / (1 - ρ) on average; waiting in a queue would make short ones pay."""
    load, means = 0.6, {MEAN_SERVICE_S: [], 20.0: [], 820.0: []}
    for seed in range(8):
        workload = poisson_jobs(50 + seed, 6_000, load, bimodal, mem_vol_per_s=1000.0)
        jobs = Simulation(one_shared_processor(), workload, make_scheduler("fcfs")).run().jobs
        service = workload.jobs["recorded_run_time"].to_numpy()[500:]
        turnaround = jobs["turnaround_time"].to_numpy()[500:]
        assert jobs["wait_time"].max() == 0.0
        means[MEAN_SERVICE_S].append(float(turnaround.mean()))
        for length in (20.0, 820.0):
            means[length].append(float(turnaround[service == length].mean()))
    assert_in_confidence_interval(means[MEAN_SERVICE_S], MEAN_SERVICE_S / (1.0 - load), 0.12)
    assert_in_confidence_interval(means[20.0], 20.0 / (1.0 - load), 0.15)
    assert_in_confidence_interval(means[820.0], 820.0 / (1.0 - load), 0.15)
