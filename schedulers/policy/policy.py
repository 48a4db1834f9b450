"""Schedulers and power policies by name, and what all of them may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster_sim.errors import SpecError, counted
from cluster_sim.files.source import PLUS
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.reason import FITS, Reason, ReasonKind
from cluster_sim.registry import Registry, describe
from cluster_sim.run.decisions import Hold, Start
from cluster_sim.run.policies import PowerPolicy as PowerPolicy
from cluster_sim.run.policies import Scheduler as Scheduler

if TYPE_CHECKING:
    from cluster_sim.run.view import View
    from cluster_sim.workload.jobs import Job

SKIPPED = Reason(ReasonKind.SKIPPED)
"""Reason for which a skipped job waits, for ``Hold``: the same words in every pass make one row of the log."""


schedulers: Registry[Scheduler] = Registry("scheduler", "cluster_sim.schedulers", Scheduler)
power_policies: Registry[PowerPolicy] = Registry("power policy", "cluster_sim.power_policies", PowerPolicy)

# Imported by a spec with this name only: twenty modules, and those of a package above this one.
schedulers.register_later(
    "slurm",
    "schedulers.slurm.scheduler",
    "Slurm",
    "Slurm 22.05's schedulers, sched/backfill and sched/builtin: slurm:conf=FILE[,accounts=FILE].",
)
schedulers.register_later(
    "learned",
    "learning.training.agent",
    "LearnedScheduler",
    "A trained agent decides: learned:DIR[,sample=yes][,trust=yes], DIR left by train.",
)
power_policies.register_later(
    "learned",
    "learning.training.agent",
    "LearnedPowerPolicy",
    "A trained agent switches nodes: learned:DIR[,sample=yes][,trust=yes].",
)


def make_pair(spec: str) -> tuple[Scheduler, PowerPolicy]:
    """Make a scheduler and a power policy from a spec of both, ``easy:order=saf + timeout:300``. Raises SpecError."""
    scheduler, plus, power = spec.partition(PLUS)
    if not plus:
        raise SpecError(f"'{spec}'", "a scheduler and a power policy, such as 'easy + timeout:300'")
    return schedulers.make(scheduler.strip()), make_power_policy(power.strip())


def blocks(view: View, job: Job, otherwise: Reason = FITS, memory: bool = False, cores: int = 0) -> Hold:
    """Hold a job that no other may overtake. Only a run with a log of decisions has worked out what it lacks.

    ``otherwise`` is the reason if it lacks nothing, on its own number of cores or, if given, that of ``cores``.
    """
    if not view.explains:
        return Hold(job, FITS, blocks=True)
    return Hold(job, view.shortage(job.on_cores(cores) if cores else job, memory) or otherwise, blocks=True)


def start_on(job: Job, placement: Placement) -> Start:
    """Start a job there; if it gets other cores than it requested, the decision log says so."""
    cores, wanted = placement.cores, job.requested_cores
    return Start(job, placement, "" if cores == wanted else f"on {counted(cores, 'core')}, for {wanted} requested")


def make_scheduler(spec: str) -> Scheduler:
    """Make a scheduler from a spec: ``fcfs``, ``list:first/high_gflops``, or ``lsf.py:LSF``, a class in a file.

    ``easy + timeout:300`` is a scheduler with a power policy of its own. Raises SpecError.
    """
    if not isinstance(spec, str) or PLUS not in spec:
        return schedulers.make(spec)
    scheduler, power = make_pair(spec)
    if scheduler.power_policy is not None:
        raise SpecError(
            f"scheduler '{spec}'", "no power policy beside a scheduler that switches nodes itself", describe(power)
        )
    scheduler.power_policy = power
    return scheduler


def make_power_policy(spec: str) -> PowerPolicy:
    """Make a power policy from a spec such as ``always-on``, or ``file.py:CLASS``. Raises SpecError."""
    return power_policies.make(spec)
