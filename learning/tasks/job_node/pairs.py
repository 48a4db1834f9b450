"""Pairs of a job and a node: what an action of JobNode starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cluster_sim.machine.placement import Placement
from cluster_sim.read_only import renew
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from learning.tasks.occupancy import Asked

Ints = npt.NDArray[np.int64]


class Pairs:
    """Actions at one decision: action ``job * nodes + node`` starts the job on the node, the last one waits.

    A job that one node can hold goes on the node. A job that needs several begins with the node and goes on in platform
    order. A pair is allowed if the job can start there now, and if its estimated energy there does not exceed its
    ``max_energy``.

    ``jobs`` are the eligible jobs, at most ``num_jobs``; ``mask`` (int8, shape (actions,)) says what is allowed;
    ``actions`` are the allowed pairs by number, ``job_of`` and ``node_of`` what they consist of, all of shape (pairs,).
    ``cores``, ``times`` (s; inf when none was requested) and ``submitted`` (s on the run's clock) are of shape (jobs,).
    ``of_action`` are the job and the node of every action, by their places.
    """

    def __init__(
        self,
        view: View,
        jobs: list[Job],
        asked: Asked,
        allowed: npt.NDArray[np.bool_],
        placements: dict[tuple[int, int], Placement],
        options: PairOptions,
        may_wait: bool,
        of_action: tuple[Ints, Ints],
    ):
        self.view = view
        self.jobs = jobs
        self.asked = asked
        self.requests = asked.requests
        self.may_wait = may_wait
        self._placements = placements
        self._version = view.machine.version
        self.cores, self.times = asked.cores, asked.times
        self.submitted = np.array([job.submit_time for job in jobs])
        by_number = allowed.ravel()
        self.mask = np.zeros(options.num_jobs * allowed.shape[1] + options.wait, np.int8)
        self.mask[: by_number.size] = by_number
        self.actions = by_number.nonzero()[0]
        self.job_of, self.node_of = [column.take(self.actions) for column in of_action]
        if may_wait:
            self.mask[-1] = 1

    def __len__(self) -> int:
        """Return the number of allowed pairs; waiting is none."""
        return len(self.actions)

    def action(self, number: int) -> tuple[Job, Placement] | None:
        """Return the job that an allowed action starts, and its cores; None: the action waits."""
        if self.may_wait and number == len(self.mask) - 1:
            return None
        return self._start(*divmod(number, self.view.platform.node_count))

    def at(self, pair: int) -> tuple[Job, Placement]:
        """Return the job that an allowed pair starts, and its cores, by the pair's place in ``actions``."""
        return self._start(int(self.job_of[pair]), int(self.node_of[pair]))

    def _start(self, row: int, node: int) -> tuple[Job, Placement]:
        job = self.jobs[row]
        placement = self._placements.get((row, node))
        if placement is None:
            placement = Placement(((node, node + 1, job.requested_cores),))
            renew(placement, found_at=self._version)
        return job, placement


@dataclass(frozen=True, slots=True)
class PairOptions:
    """Options of the pairs.

    ``num_jobs`` pending jobs are eligible, the oldest first. ``merge_equal`` offers equal jobs and nodes once: the
    oldest job of each request, the first node of each state. Nothing is lost: exchanging two jobs that differ only in
    their age, or two nodes that differ only in their names, keeps energy, makespan and expected waits. With ``memory``
    nodes must have room for the jobs' memory. ``wait`` adds the last action.
    """

    num_jobs: int = 16
    merge_equal: bool = True
    memory: bool = False
    wait: bool = False
