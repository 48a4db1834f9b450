"""Measuring: alternating runs, medians, and processes of their own.

Times are CPU seconds of the process, which other programs on the machine disturb less than wall-clock time, with the
garbage collector on as it is for a user. What is left of their noise (caches, clocks that change) hits alternating runs
alike, so that the ratios hold where the seconds do not.
"""

from __future__ import annotations

import gc
import multiprocessing
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from statistics import median
from typing import Any, TypeVar

import simpy

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Cost:
    """What one job costs: CPU microseconds in each run, in the order of the runs."""

    runs: tuple[float, ...]

    @property
    def median(self) -> float:
        """CPU microseconds a job, median over the runs."""
        return median(self.runs)

    def over(self, other: Cost) -> Ratio:
        """How many times the other's cost."""
        pairs = [mine / theirs for mine, theirs in zip(self.runs, other.runs, strict=True)]
        return Ratio(self.median / other.median, min(pairs), max(pairs))


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of medians; least and most are the ratios of runs that stood side by side."""

    value: float
    least: float
    most: float


def cost_of(run: Callable[[], int]) -> float:
    """CPU microseconds a job of one run, which returns how many jobs it had."""
    gc.collect()  # what the last run left behind is not this one's affair
    begin = time.process_time()
    jobs = run()
    return (time.process_time() - begin) / jobs * 1e6


def alternate(runs: Mapping[str, Callable[[], int]], repeat: int) -> dict[str, Cost]:
    """Run first, second, … first, second, …, ``repeat`` times each, after one round that does not count."""
    costs: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(repeat + 1):
        for name, run in runs.items():
            cost = cost_of(run)
            if turn:  # the first time, modules are loaded and caches filled
                costs[name].append(cost)
    return {name: Cost(tuple(values)) for name, values in costs.items()}


def floor(jobs: int = 10_000) -> int:
    """SimPy's own cheapest job that is a process and holds a Resource: it arrives, gets the free slot, ends.

    Arrivals are chained, so that SimPy's queue stays short, and no job has to wait.
    """
    env = simpy.Environment()
    slot = simpy.Resource(env)

    def job() -> Any:
        with slot.request() as request:
            yield request
            yield env.timeout(0.5)

    def arrivals() -> Any:
        for _ in range(jobs):
            env.process(job())
            yield env.timeout(1.0)

    env.process(arrivals())
    env.run()
    return jobs


def in_fresh_process(function: Callable[..., Value], *arguments: Any) -> Value:
    """What the function returns, from an interpreter that has done nothing else."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        return executor.submit(function, *arguments).result()


def peak_memory_gb() -> float:
    """Most memory that this process has had so far, 1e9 bytes."""
    import resource  # not on Windows, where nothing else here needs it

    # A new process begins with its parent's figure, so the parent must be a small one.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e9
