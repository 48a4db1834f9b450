"""Exercises whose answer is a policy: it runs on small random machines and textbook cases, and must have properties."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from analysis.lessons.checks import Exercise, Goal, Verdict
from cluster_sim.errors import ClusterSimError, counted
from cluster_sim.examples import case
from cluster_sim.machine.core_ranges import by_unit
from cluster_sim.platform.platform import Platform
from cluster_sim.records.result import Result
from cluster_sim.run.simulation import Simulation
from cluster_sim.workload.workload import Workload

_ROOT = Path(__file__).resolve().parents[2]
_OURS = (_ROOT / "cluster_sim", _ROOT / "schedulers")

Property = Callable[["Result"], str]
"""Property of every run of a good policy: returns an empty text, or a clause that says what is wrong."""


def everybody_runs(result: Result) -> str:
    """Check that every job is completed."""
    left = result.jobs.loc[result.jobs["state"] != "completed", ["job_id", "state"]]
    return "" if left.empty else f"job {left['job_id'].iloc[0]} is {left['state'].iloc[0]} at the end"


def nothing_idles(result: Result) -> str:
    """Check that no job waits while a node has enough free cores for it (jobs that fit one node)."""
    jobs, platform = _jobs(result), result.platform
    held, node_of = by_unit(result.core_holds.used, platform.first_core[platform.first_processor])
    cores = held.last - held.first + 1
    for time in sorted({job.submit for job in jobs} | {job.finish for job in jobs}):
        now = (held.start <= time) & (time < held.end)
        most = int((platform.node_cores - np.bincount(node_of[now], cores[now], platform.node_count)).max())
        for job in jobs:
            if job.submit <= time < job.start and job.cores <= most:
                return (
                    f"at {time:g} s job {job.job_id} waits for {counted(job.cores, 'core')}, and a node has {most} free"
                )
    return ""


def promises_are_kept(result: Result) -> str:
    """Check that no job starts after its shadow time as head job; on one node, with exact requested times."""
    jobs = _jobs(result)
    for position, head in enumerate(jobs):
        ahead = jobs[:position]
        became = max([head.submit, *(job.start for job in ahead)])
        running = [job for job in jobs if job.finish > became and (job.start < became or job in ahead)]
        shadow, free = became, result.platform.core_count - sum(job.cores for job in running)
        for job in sorted(running, key=lambda job: job.finish):
            if free >= head.cores:
                break
            shadow, free = job.finish, free + job.cores
        if head.start > shadow:
            return f"head job {head.job_id} could have started at {shadow:g} s, and starts at {head.start:g} s"
    return ""


def _place_of(error: Exception) -> str:
    """Return the line of the policy that raised the error, or that the simulation refused what the policy yielded."""
    origin = error.__cause__ or error  # SimPy raises a copy, from the error in the process
    # A cause that was never raised itself has no traceback.
    last = (traceback.extract_tb(origin.__traceback__) or traceback.extract_tb(error.__traceback__))[-1]
    if Path(last.filename) == Path(__file__):
        return "when one is made, which is done without arguments"
    if any(Path(last.filename).is_relative_to(package) for package in _OURS):
        return (
            "in the simulation, from what the policy yields or returns; view.place gives None where a job does not fit"
        )
    return f"in {last.name}, line {last.lineno}"


class _Ran(NamedTuple):
    """Times and cores of a job that has run."""

    job_id: str
    submit: float
    start: float
    finish: float
    cores: int


def _jobs(result: Result) -> list[_Ran]:
    names = ("job_id", "submit_time", "start_time", "finish_time", "requested_cores")
    return [_Ran(*row) for row in zip(*(result.jobs[name].tolist() for name in names), strict=True)]


class Policy(Exercise):
    """Exercise for a scheduler, or with ``power`` for a power policy, as a class or an object.

    The policy must run on ``trials`` random workloads with all ``properties``, on the first of them twice with the same
    result, and reach the goals of each textbook case in ``cases``. A power policy runs beside ``scheduler``. With
    ``one_node`` the random machines have one node.
    """

    def __init__(
        self,
        name: str,
        cases: Mapping[str, Sequence[Goal]],
        why: str,
        hints: Sequence[str],
        properties: Sequence[Property] = (everybody_runs,),
        trials: int = 6,
        one_node: bool = False,
        power: bool = False,
        scheduler: Callable[[], Any] | None = None,
    ):
        super().__init__(name, hints)
        self.cases, self.why = dict(cases), why
        self.properties, self.trials, self.one_node = tuple(properties), trials, one_node
        self.power, self.scheduler = power, scheduler

    def _judge(self, answer: Any) -> Verdict:
        wanted = "react" if self.power else "attend"
        if not hasattr(answer, wanted):
            base = "schedulers.PowerPolicy" if self.power else "schedulers.Scheduler"
            found = answer if isinstance(answer, type) else type(answer)
            return Verdict(False, f"a class derived from {base} is asked for, not {found.__name__}")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a property tells of jobs that are left
                return next(self._wrong(answer), Verdict(True, self.why))
        except ClusterSimError as error:
            return Verdict(False, f"the simulation refuses it: {error}")
        except Exception as error:
            # A student's code may raise anything: the verdict tells it, with its line.
            return Verdict(False, f"it raises {type(error).__name__}: {error} ({_place_of(error)})")

    def _wrong(self, answer: Any) -> Iterator[Verdict]:
        for seed in range(self.trials):
            platform, workload = random_trial(np.random.default_rng(seed), self.one_node)
            result = self._run(platform, workload, answer)
            yield from self._unheld(result, f"on random workload {seed}")
            if seed == 0:
                again = self._run(platform, workload, answer)
                if not result.jobs["start_time"].equals(again.jobs["start_time"]):
                    yield Verdict(False, f"on random workload {seed}, the same run twice gives different schedules")
        for name, goals in self.cases.items():
            result = self._run(case(name).platform, case(name).workload, answer)
            yield from self._unheld(result, f"on the case {name}")
            summary = result.summary()
            for goal in goals:
                if not goal.met(float(summary[goal.metric])):
                    yield Verdict(False, f"on the case {name}, its {goal.told(float(summary[goal.metric]))}")

    def _unheld(self, result: Result, where: str) -> Iterator[Verdict]:
        for holds in self.properties:
            if clause := holds(result):
                yield Verdict(False, f"{where}, {clause}")

    def _run(self, platform: Platform, workload: Workload, answer: Any) -> Result:
        policy = answer() if isinstance(answer, type) else answer
        if self.power:
            assert self.scheduler is not None
            return Simulation(platform, workload, self.scheduler(), policy).run(warn=False)
        return Simulation(platform, workload, policy).run(warn=False)


def random_trial(rng: np.random.Generator, one_node: bool = False) -> tuple[Platform, Workload]:
    """Return one to three small nodes, and eight jobs that each fit one node and have exact requested times."""
    cores = int(rng.integers(2, 5))
    platform = Platform.homogeneous(nodes=1 if one_node else int(rng.integers(1, 4)), cores=cores)
    times = rng.integers(1, 12, 8).astype(float)
    submits = np.sort(rng.integers(0, 12, 8)).astype(float)
    columns = {
        "submit_time": submits,
        "requested_cores": rng.integers(1, cores + 1, 8),
        "recorded_run_time": times,
        "requested_time": times,
    }
    return platform, Workload(columns)
