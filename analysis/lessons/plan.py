"""Schedules made by hand: checked against the rules and played in a simulation; an error names what is wrong."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.errors import InputError, counted
from cluster_sim.examples import Case
from cluster_sim.machine.placement import Placement
from cluster_sim.platform.platform import Platform
from cluster_sim.records.result import Result
from cluster_sim.run.decisions import Start, WakeAt
from cluster_sim.run.policies import Scheduler
from cluster_sim.run.simulation import Simulation
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from cluster_sim.workload.workload import Workload

if TYPE_CHECKING:
    from simpy.events import Event


PlannedStart = float | tuple[float, str | int]
"""Start of a job, s, and optionally its node: ``4`` or ``(4, "node1")``."""


@dataclass(frozen=True)
class _Entry:
    """Line of the plan for one job; ``node`` is a position, None: the first node that fits."""

    start: float
    job_id: str
    node: int | None


def play(
    case: Case | tuple[Platform, Workload], plan: Mapping[str, PlannedStart], power: Any = None, **settings: Any
) -> Result:
    """Run a schedule made by hand: ``{"a": 0, "b": (4, "node1")}``, a start (s) per job, and a node if that matters.

    ``settings`` are those of :class:`~cluster_sim.Simulation`. Raises InputError, one line that names the job, for an
    impossible schedule: a job too early, too few free cores, a job before its predecessor, a job left out.
    """
    platform, workload = case if isinstance(case, tuple) else (case.platform, case.workload)
    if not isinstance(plan, Mapping):
        raise InputError("schedule", 'a start for each job, such as {"a": 0, "b": 4}', plan)
    jobs = workload.jobs.set_index("job_id")
    for job_id in plan:
        if job_id not in jobs.index:
            raise InputError("schedule", f"jobs {', '.join(jobs.index)}", f"a job '{job_id}'")
    entries = []
    for job_id, submit in zip(jobs.index.tolist(), jobs["submit_time"].tolist(), strict=True):
        if job_id not in plan:
            raise InputError(f"job {job_id}", "a start", "none: it is not in the schedule")
        planned = plan[job_id]
        start, node = planned if isinstance(planned, tuple | list) and len(planned) == 2 else (planned, None)
        if isinstance(start, bool) or not isinstance(start, int | float | np.number) or not math.isfinite(float(start)):
            raise InputError(f"job {job_id}", 'a start in seconds, such as 4 or (4, "node1")', repr(planned))
        if start < submit:
            raise InputError(f"job {job_id}", f"a start at {submit:g} s or later, when it is submitted", f"{start:g} s")
        entries.append(_Entry(float(start), job_id, None if node is None else _node(platform, job_id, node)))
    return Simulation(platform, workload, _ByHand(entries, workload), power, **settings).run(warn=False)


def _node(platform: Platform, job_id: str, node: str | int) -> int:
    """Return the position of a node, which is given as position, as name, or as name without the cluster's."""
    names = platform.node_names()
    told = isinstance(node, str | int | np.integer) and not isinstance(node, bool)
    for position, name in enumerate(names):
        if told and (node in (position, name) or node == name.rpartition(".")[2]):
            return position
    raise InputError(f"job {job_id}", f"a node of {', '.join(name.rpartition('.')[2] for name in names)}", node)


class _ByHand(Scheduler):
    """Scheduler that starts each job at its planned time, or raises why it cannot."""

    spec = "by hand"

    def __init__(self, entries: list[_Entry], workload: Workload):
        self._due = sorted(entries, key=lambda entry: entry.start)
        self._precedes = workload.dependencies()

    def begin(self, view: View) -> None:
        """Do nothing: the plan is made."""

    def attend(self, simulation: Any) -> Generator[Event, Any, None]:
        """Run as a process that starts jobs at their planned times."""
        view = simulation.view
        while True:
            yield simulation.pass_due()
            while self._due and self._due[0].start <= view.now:
                entry = self._due.pop(0)
                job = self._pending(view, entry)
                simulation.apply(Start(job, self._placement(simulation, job, entry)))
            if self._due:
                simulation.apply(WakeAt(self._due[0].start))
            simulation.passes.pass_is_over()

    def _pending(self, view: View, entry: _Entry) -> Job:
        for job in view.pending:
            if job.job_id == entry.job_id:
                return job
        before = [str(other) for other in self._precedes.predecessors(entry.job_id)]
        running = [running.job.job_id for running in view.running if running.job.job_id in before]
        unfinished = running or before
        raise InputError(
            f"job {entry.job_id}",
            f"a start after the end of job {' and job '.join(unfinished)}, which comes before it",
            f"{entry.start:g} s",
        )

    def _placement(self, simulation: Simulation, job: Job, entry: _Entry) -> Placement:
        view = simulation.view
        within = None
        if entry.node is not None:
            within = np.zeros(view.platform.node_count, np.int64)
            within[entry.node] = view.platform.node_cores[entry.node]
        placement = view.place(job, within=within)
        if placement is not None:
            return placement
        # The error names the cores that the job lacks, and which jobs hold them until when.
        truth = simulation.clairvoyant_view()
        nodes = range(view.platform.node_count) if entry.node is None else [entry.node]
        holders = []
        for running in view.running:
            cores = [
                count
                for processor, count in view.planning.held_cores(running.job)
                if view.machine.node_of(processor) in nodes
            ]
            if cores:
                until = "" if simulation.machine.power.follows_rates else f" until {truth.true_end(running):g} s"
                holders.append(f"{running.job.job_id} has {sum(cores)}{until}")
        free = max(int(view.free_cores[node]) for node in nodes)
        name = view.platform.node_name(nodes[0]).rpartition(".")[2]
        where = f" on {name}" if len(nodes) == 1 else " on one node"
        expected = f"{counted(job.requested_cores, 'free core')}{where} at {entry.start:g} s"
        raise InputError(f"job {job.job_id}", expected, f"{free}" + (f" ({', '.join(holders)})" if holders else ""))
