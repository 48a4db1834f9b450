"""Heuristics with which agents are compared, and a run under one of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from cluster_sim.errors import InputError, counted
from cluster_sim.files.source import PLUS, running_no_new_files
from cluster_sim.run.simulation import Simulation
from cluster_sim.spelling import hint
from cluster_sim.workload.fields import MORE_IS_BETTER, SUMMARY_METRICS, names
from learning.tasks.episode_metrics import which_ended
from schedulers import PowerPolicy, Scheduler
from schedulers.policy.policy import make_pair

if TYPE_CHECKING:
    import pandas as pd

    from learning.tasks.episodes import Episode

# López 2023, Table 4.1; high_mem as in the text and as in the programs. Random orders are left out.
_JOBS = ("first", "shortest", "smallest", "low_mem", "low_mem_ops")
_NODES = ("high_gflops", "high_cores", "high_mem", "most_used_mem", "high_mem_bw", "low_power")
LIST_HEURISTICS = tuple(f"list:{job}/{node}" for job, node in product(_JOBS, _NODES))
CONTENTION_AWARE = tuple(
    f"contention-aware:metric={metric},placements={placements}"
    for metric, placements in product(("delay", "energy", "edp"), ("one", "all"))
)
BACKFILLING = ("easy", "easy:order=sjf", "easy:order=wfp", "saf-easy", "conservative")
ORDERS = tuple(
    f"list:{job}/first{blocking}" for job, blocking in product(("saf", "unicef", "wfp"), ("", ",blocking=no"))
)
"""Orders of the queue that weigh run time, width and wait; Table 4.1 lacks them."""
SHUTDOWN = ("always-on", "timeout:0", "timeout:60", "timeout:300", "timeout:600")
JOINT = tuple(
    f"{scheduler}{PLUS}{power}"
    for scheduler, power in product(("easy", "saf-easy", "easy:order=saf"), (*SHUTDOWN, "summed-stretch"))
)
HEURISTICS = {
    "scheduler": LIST_HEURISTICS + CONTENTION_AWARE + BACKFILLING + ORDERS,
    "power": SHUTDOWN,
    "both": JOINT,
}
"""Heuristics of a comparison by default, by whose place the agent takes."""

BESIDE = "saf-easy"
"""Scheduler beside an agent that switches nodes, if its environment names none: NodeShutdown's default."""


def policies(
    spec: str, kind: str, environment: Mapping[str, Any], trust: bool = False
) -> tuple[Scheduler, PowerPolicy | None]:
    """Make the scheduler of a spec, or (``kind`` power) the power policy of a spec and the environment's scheduler.

    For ``kind`` both the spec is an agent, which is both, or names both: ``easy + timeout:300``. ``environment`` has the keys
    of the agent's environment. With ``trust`` Python files that it names are run.
    Raises SpecError for unknown names.
    """
    from schedulers import make_power_policy, make_scheduler

    if kind == "both" and not spec.startswith("learned:"):
        with running_no_new_files(unless=trust):
            return make_pair(spec)
    options = environment.get("options") or {}
    guard = running_no_new_files(unless=trust)
    if kind == "power":
        with guard:
            scheduler = make_scheduler(str(options.get("scheduler", BESIDE)))
        return scheduler, make_power_policy(spec)
    beside = options.get("power")
    with guard:
        power = None if beside is None else make_power_policy(str(beside))
    return make_scheduler(spec), power


def switches_nodes(kind: str, power: str | None) -> bool:
    """Return whether a run switches nodes: by the agent, if that is its ``kind``, or by ``power``, a policy's spec."""
    if kind != "scheduler" or power is None:
        return kind != "scheduler"
    from schedulers import make_power_policy

    return bool(getattr(make_power_policy(power), "switches", True))


REWARD = "reward"
"""Objective that is no metric: minus the mean sum of rewards."""


def check_minimised(
    where: str,
    metric: str,
    known: Sequence[str] = tuple(names(SUMMARY_METRICS)),
    told: str = "a key of summary.json",
) -> None:
    """Raise InputError for a metric that is not among the ``known``, which are ``told``, or of which more is better."""
    if metric in MORE_IS_BETTER:
        raise InputError(where, f"a metric of which less is better ({', '.join(MORE_IS_BETTER)} are not)", metric)
    if metric not in known:
        raise InputError(where, told + hint(metric, known), metric)


def metric_of(metrics: Mapping[str, Any] | pd.Series, name: str) -> float:
    """Return a metric of a finished run. Raises InputError if it has no value, such as a mean over no jobs."""
    value = metrics.get(name)
    has_none = value is None or math.isnan(value)
    if has_none and not metrics.get("jobs_completed", 1) and not metrics.get("jobs_killed", 0):
        told = {"submitted": metrics.get("jobs_submitted"), "rejected": metrics.get("jobs_rejected")}
        found = ", ".join(f"{int(number):,} {state}" for state, number in told.items() if number)
        raise InputError(f"metric {name}", "a job that ran", found or "none")
    if value is None or has_none:
        known = ", ".join(str(key) for key, known in metrics.items() if known is not None and known == known)
        raise InputError(f"metric {name}", f"a metric that the run has a value of ({known})", name)
    return float(value)


ENDED = ("jobs_completed", "jobs_killed")
"""Metrics that count the jobs of a run: means and totals over different numbers of jobs cannot be compared well."""
WHICH = "jobs_ended_crc"
"""Metric that identifies the jobs that ended: see :func:`which_ended`."""


Ended = tuple[int, int, int | None]
"""Number of jobs that a run completed, number that it killed, and an identifier of these jobs; None if unknown."""


def ended(metrics: Mapping[Any, Any] | pd.Series) -> Ended:
    """Return the jobs that a run ended, from its metrics."""
    completed, killed = (int(metrics[name]) for name in ENDED)
    which = metrics.get(WHICH)
    return completed, killed, None if which is None or which != which else int(which)


def of_other_jobs(runs: Iterable[tuple[str, Ended, Mapping[str, Ended]]], noun: str) -> str:
    """Say that runs of an agent ended other jobs than others did in the same place; "" if none is known to have.

    ``runs`` has for each run its name, the jobs that it ended (:func:`ended`), and the jobs that each of the others
    ended there. ``noun`` is the word with which runs are counted.
    """
    total, unlike = 0, []
    for name, own, others in runs:
        total += 1
        apart = {}
        for other, theirs in others.items():
            which_differ = None not in (own[2], theirs[2]) and own[2] != theirs[2]
            if own[:2] != theirs[:2] or which_differ:
                apart[other] = abs(own[0] - theirs[0]) + abs(own[1] - theirs[1])
        if apart:
            worst = max(apart, key=apart.__getitem__)
            unlike.append((apart[worst], name, own, worst, others[worst]))
    if not unlike:
        return ""
    by, name, own, other, theirs = max(unlike, key=lambda one: one[0])
    most = f"{name}, with {own[0]:,} completed and {own[1]:,} killed, {other} {theirs[0]:,} and {theirs[1]:,}"
    most += "" if by else ", as many, but not the same ones"
    many = f"in {len(unlike):,} of {counted(total, noun)} the agent ended other jobs than what it is compared with"
    return f"{many} (most apart in {most}): metrics there are not of the same work"


def run_on(case: Episode, scheduler: Scheduler, power: PowerPolicy | None = None, seed: int = 0) -> pd.Series:
    """Run a case and return its summary and :data:`WHICH` jobs ended; policies may be used for several runs."""
    simulation = Simulation(case.platform, case.workload, scheduler, power, seed, **case.rules())
    summary = simulation.run(warn=False).summary()
    summary[WHICH] = which_ended(simulation)
    return summary
