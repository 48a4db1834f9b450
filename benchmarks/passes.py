"""Time of one scheduling pass against the length of the queue.

The machine is full, the queue long, and now and then a job ends: the pass that a scheduler holds all day. Every run here
is of ``PASSES`` such ends; what is timed is what the scheduler does in each of them, and nothing else of the simulation.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from cluster_sim import Platform, Scheduler, Simulation, View, Workload, make_scheduler
from cluster_sim.run.decisions import Decision

PASSES = 9
_GAP_S = 1.0  # between two ends
_SEED = 1


@dataclass(frozen=True, slots=True)
class PassRow:
    """Time of a pass for growing queues, and the exponents with which it grows from each to the next."""

    benchmark: str
    case: str
    lengths: tuple[int, ...]
    runs: tuple[tuple[float, ...], ...]  #: ms of each pass, by length.
    target: float | None = None  #: Largest exponent aimed at, over the whole range.

    @property
    def ms(self) -> list[float]:
        """Median ms of a pass, by length."""
        return [median(runs) for runs in self.runs]

    @property
    def exponents(self) -> list[float]:
        """k where time grows as length to the k, from each length to the next."""
        steps = zip(pairwise(self.ms), pairwise(self.lengths), strict=True)
        return [math.log(after / before) / math.log(longer / length) for (before, after), (length, longer) in steps]

    @property
    def growth(self) -> float | None:
        """The exponent over the whole range; None of a single length."""
        if len(self.lengths) < 2:
            return None
        return math.log(self.ms[-1] / self.ms[0]) / math.log(self.lengths[-1] / self.lengths[0])

    def cells(self) -> list[str]:
        """The row's cells as text."""
        measured = ", ".join(f"{n:,}: {_ms(ms)}" for n, ms in zip(self.lengths, self.ms, strict=True))
        steps = zip(pairwise(self.ms), self.exponents, strict=True)
        ratios = " ".join(f"×{after / before:.3g} (^{k:.2f})" for (before, after), k in steps)
        overall = "" if self.growth is None else f"exponent **{self.growth:.2f}**: {ratios}"
        target = "" if self.target is None else f"exponent ≤ {self.target:g}"
        return [self.benchmark, self.case, measured, "shorter queues" if self.exponents else "", overall, target]

    def as_json(self) -> dict[str, Any]:
        """Everything."""
        return {**asdict(self), "ms": self.ms, "exponents": self.exponents, "growth": self.growth}


def _ms(ms: float) -> str:
    return f"{ms:.3g} ms" if ms < 100.0 else f"{ms:,.0f} ms"


class Stopwatch(Scheduler):
    """Measures how long a scheduler thinks in each pass: from being asked to each of its decisions, CPU ms."""

    def __init__(self, scheduler: Scheduler):
        self._scheduler = scheduler
        self.memory = scheduler.memory
        self.ms: list[float] = []

    def begin(self, view: View) -> None:
        """Begin the timed scheduler's run."""
        self._scheduler.begin(view)

    def schedule(self, view: View) -> Iterable[Decision]:
        """The timed scheduler's decisions; carrying them out is not timed."""
        spent, begin = 0.0, time.process_time()
        for decision in self._scheduler.schedule(view):
            spent += time.process_time() - begin
            yield decision
            begin = time.process_time()
        self.ms.append((spent + time.process_time() - begin) * 1e3)


def full_queue(platform: Platform, jobs: int) -> Workload:
    """Jobs that fill the machine, of which one ends every second for a while; behind them ``jobs`` that have to wait.

    Of those the first asks for half of the widest node, or of the machine if its nodes have one core.
    """
    rng = np.random.default_rng(_SEED)
    fillers = _fillers(platform)
    widest = platform.widest_node if platform.widest_node > 1 else platform.core_count // 2
    waiting = np.minimum(np.floor(2.0 ** rng.uniform(0.0, 8.0, jobs)), widest).astype(np.int64)
    waiting[0] = widest
    lengths = np.ceil(rng.uniform(600.0, 36_000.0, jobs))
    asked = np.concatenate((np.full(len(fillers), 36_000.0), lengths))
    run_times = asked.copy()
    run_times[:PASSES] = _GAP_S * np.arange(1, PASSES + 1)  # long before it is expected
    columns = {
        "submit_time": np.zeros(len(asked)),
        "requested_cores": np.concatenate((fillers, waiting)),
        "requested_time": asked,
        "recorded_run_time": run_times,
        "req_energy": np.concatenate((np.full(len(fillers), 1e12), lengths * 3.0)),  # fillers first
    }
    return Workload(columns, name="a full machine and a queue")


def _fillers(platform: Platform) -> npt.NDArray[np.int64]:
    """Widths of jobs that fill the machine: one for each node, or sixteen for a machine of one-core nodes."""
    if platform.widest_node > 1:
        return np.sort(platform.node_cores)[::-1].astype(np.int64)
    return np.full(16, platform.core_count // 16)


def pass_times(scheduler: str, platform: Platform, jobs: int) -> tuple[float, ...]:
    """CPU ms of each pass in which a job has ended, with that many jobs in the queue."""
    stopwatch = Stopwatch(make_scheduler(scheduler))
    Simulation(platform, full_queue(platform, jobs), stopwatch, until=_GAP_S * (PASSES + 0.5)).run()
    return tuple(stopwatch.ms[-PASSES:])


def pass_row(scheduler: str, platform: Platform, lengths: Sequence[int], target: float | None = None) -> PassRow:
    """One scheduler on queues of these lengths."""
    runs = tuple(pass_times(scheduler, platform, jobs) for jobs in lengths)
    case = f"one pass of `{scheduler}`, {platform.node_count:,} nodes, by pending jobs"
    return PassRow("passes", case, tuple(lengths), runs, target)
