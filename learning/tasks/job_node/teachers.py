"""Teachers for JobNode: schedulers whose decisions an agent can imitate before it learns by itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from cluster_sim.errors import SpecError
from cluster_sim.run.decisions import Start
from cluster_sim.run.simulation import Simulation
from cluster_sim.run.view import View
from learning.tasks.job_node.environment import JobNodeMaker
from learning.tasks.job_node.pairs import Pairs
from schedulers.energy.contention_aware import ContentionAware
from schedulers.policy.policy import make_scheduler
from schedulers.queue.list_scheduling import ListScheduler


class SchedulerTeacher:
    """Teacher that takes the action of a scheduler's spec: ``contention-aware:…``, ``list:…``, ``fcfs`` and so on.

    The scheduler is asked at every decision what it would start first. If equal jobs and nodes are offered once, its
    choice is the pair that represents them. If it would start nothing, the teacher waits. If waiting is not allowed, or
    its choice is not offered (a job beyond the ``num_jobs`` oldest), it takes the first allowed pair.

    A teacher is called with an environment and an observation, which it ignores, and serves one environment after the
    other. Raises SpecError for schedulers that keep a memory of their own from pass to pass.
    """

    def __init__(self, spec: str):
        scheduler = make_scheduler(spec)
        if not isinstance(scheduler, (ListScheduler, ContentionAware)):
            raise SpecError(
                f"teacher '{spec}'", "contention-aware:…, patient, or a list scheduler such as list:smallest/high_cores"
            )
        if isinstance(scheduler, ListScheduler):
            scheduler.dynamic = True  # it is not asked in every pass, so it may not rely on what is new
        self.spec = spec
        self._scheduler = scheduler
        self._simulation: Simulation | None = None

    def __call__(self, environment: Any, observation: object = None) -> int:
        """Return the action at the environment's present decision."""
        inner = getattr(environment, "unwrapped", environment)
        simulation: Simulation = inner.simulation
        if simulation is not self._simulation:
            self._simulation = simulation
            self._scheduler.begin(simulation.view)
        return self.action(simulation.view, inner.maker)

    def action(self, view: View, maker: JobNodeMaker) -> int:
        """Choose an action from a view and the decision-maker that is about to decide on it."""
        pairs = maker.pairs(view)
        for decision in self._scheduler.schedule(view):
            if isinstance(decision, Start):
                number = _number_of(decision, view, maker, pairs)
                if number is not None:
                    return number
                break
        if pairs.may_wait:
            return len(pairs.mask) - 1
        return int(pairs.actions[0])


def _number_of(start: Start, view: View, maker: JobNodeMaker, pairs: Pairs) -> int | None:
    """Return the allowed action that stands for a start; None if there is none."""
    node = start.placement.spans[0][0]
    if maker.options.merge_equal:
        number = maker.finder.requests.of(start.job).number
        rows = [row for row, request in enumerate(pairs.requests) if request.number == number]
        maker.finder.occupancy.update(view)
        node = maker.finder.occupancy.first_like(view, node)
    else:
        rows = [row for row, job in enumerate(pairs.jobs) if job is start.job]
    if not rows:
        return None
    offered = np.flatnonzero(pairs.job_of == rows[0])
    found = offered[pairs.node_of[offered] == node]
    return int(pairs.actions[found[0]]) if len(found) else None
