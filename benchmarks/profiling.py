"""Where the time of a run goes: a profile, summed up by what the functions are for.

The phases before and after the run (reading, building, tables) are timed whole. Within the run each function's own
time is counted for the part it belongs to; what is not Python code of a known module (``heappush``, numpy) counts for
its caller. The profiler makes every call dearer (a run takes two to three times as long), so the shares are a
guide; the ratios of the other benchmarks are the measure.
"""

from __future__ import annotations

import cProfile
import gc
import pstats
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from benchmarks import inputs
from benchmarks.cases import Sizes, flat
from benchmarks.instructions import OTHER, part_of
from cluster_sim import Platform, Result, Simulation, Workload, make_scheduler

Function = tuple[str, int, str]  # as pstats names it: file, line, name


@dataclass(frozen=True, slots=True)
class FunctionTime:
    """A function's share of the run."""

    calls: int
    own_s: float
    name: str
    part: str


@dataclass(frozen=True, slots=True)
class Profile:
    """One profiled case: seconds by part, and the functions with most own time."""

    case: str
    jobs: int
    phases: dict[str, float]  #: CPU seconds of each phase, without a profiler.
    parts: dict[str, float]  #: CPU seconds of each part of the run, under the profiler.
    functions: list[FunctionTime]

    def text(self, top: int = 15) -> str:
        """The profile as Markdown."""
        whole, run = sum(self.phases.values()), sum(self.parts.values())
        lines = [f"### {self.case}", "", "| phase | µs a job | share |", "|---|---:|---:|"]
        lines += [_share(name, seconds, whole, self.jobs) for name, seconds in self.phases.items()]
        lines += ["", "Of the run, under the profiler:", "", "| part | µs a job | share |", "|---|---:|---:|"]
        by_time = sorted(self.parts.items(), key=lambda item: -item[1])
        lines += [_share(name, seconds, run, self.jobs) for name, seconds in by_time]
        lines += ["", "| calls a job | own µs a job | function | part |", "|---:|---:|---|---|"]
        for f in self.functions[:top]:
            lines.append(f"| {f.calls / self.jobs:.2f} | {f.own_s / self.jobs * 1e6:.2f} | `{f.name}` | {f.part} |")
        return "\n".join(lines)


def _share(name: str, seconds: float, whole: float, jobs: int) -> str:
    return f"| {name} | {seconds / jobs * 1e6:.1f} | {seconds / whole:.0%} |"


def profiles(sizes: Sizes) -> list[Profile]:
    """Profiles of the benchmarks' cases: the log, the same on many cores, and jobs that contend."""
    return list(_profiles(sizes))


def _profiles(sizes: Sizes) -> Iterator[Profile]:
    log = inputs.log().first(sizes.jobs)
    yield profiled("FCFS on the log, 256 one-core nodes", log, flat(inputs.LOG_CORES))
    yield profiled(f"The same on {sizes.many_cores:,} one-core nodes", log, flat(sizes.many_cores))
    platform, workload = inputs.memory_bound(sizes.contending_jobs)
    yield profiled("FCFS on memory-bound jobs, 16 nodes × 16 cores", workload, platform)
    platform, workload = inputs.experiment_3()
    yield profiled("smallest/most_used_mem on experiment 3", workload, platform, "list:smallest/most_used_mem")


def profiled(case: str, workload: Workload, platform: Platform, scheduler: str = "fcfs") -> Profile:
    """Run the case twice, once timed by phase and once under the profiler."""
    with tempfile.TemporaryDirectory() as folder:
        # The native format keeps all that a job can have.
        path = Path(folder) / "jobs.csv.gz"
        workload.write(path)
        Workload.read(path)  # loads the reader
        clock = _Clock()
        workload = clock.phase("reading", lambda: Workload.read(path))
    simulation = clock.phase("building", lambda: Simulation(platform, workload, make_scheduler(scheduler)))
    result: Result = clock.phase("run", simulation.run)
    clock.phase("result.jobs", lambda: result.jobs)

    simulation = Simulation(platform, workload, make_scheduler(scheduler))
    profiler = cProfile.Profile()
    gc.collect()
    profiler.runcall(simulation.run)
    parts, functions = _by_part(pstats.Stats(profiler))
    return Profile(case, len(workload), clock.seconds, parts, functions)


class _Clock:
    """CPU seconds of named phases."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def phase(self, name: str, work: Any) -> Any:
        gc.collect()
        begin = time.process_time()
        value = work()
        self.seconds[name] = time.process_time() - begin
        return value


def _by_part(stats: pstats.Stats) -> tuple[dict[str, float], list[FunctionTime]]:
    entries: dict[Function, Any] = stats.stats  # type: ignore[attr-defined]
    parts: Counter[str] = Counter()
    functions = []
    for function, (_, calls, own_s, _, _) in entries.items():
        shares = _shares(function, entries, frozenset())
        for part, share in shares.items():
            parts[part] += share * own_s
        functions.append(FunctionTime(calls, own_s, _name(function), ", ".join(sorted(shares))))
    return dict(parts), sorted(functions, key=lambda f: -f.own_s)


def _shares(function: Function, entries: dict[Function, Any], below: frozenset[Function]) -> dict[str, float]:
    """The parts that a function works for, with their shares: its own part, else those of its callers."""
    part = _part_of(function)
    own_by_caller = {caller: times[2] for caller, times in entries[function][4].items() if caller not in below}
    whole = sum(own_by_caller.values())
    if part != OTHER or not whole:
        return {part: 1.0}
    shares: Counter[str] = Counter()
    for caller, own_s in own_by_caller.items():
        for part, share in _shares(caller, entries, below | {function}).items():
            shares[part] += share * own_s / whole
    return dict(shares)


def _part_of(function: Function) -> str:
    """Return the part of the run that a function's own time counts for."""
    path = PurePath(function[0])
    return OTHER if {"formats", "cli"} & set(path.parts) else part_of(path)


def _name(function: Function) -> str:
    file, line, name = function
    if file == "~":
        return name.strip("<>")
    return f"{PurePath(file).stem}.{name}:{line}"
