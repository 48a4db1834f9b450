"""Pairs of a job and a node: what an action of JobNode starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cluster_sim.machine.placement import Placement
from cluster_sim.run.view import View
from learning.tasks.occupancy import Asked

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job


class Pairs:
    """The actions at one decision: action ``job * nodes + node`` starts the job on the node, the last one waits.

    A job that one node can hold goes on the node. One that needs several begins with the node and goes on in platform
    order. A pair is allowed if the job can start there now, and if the energy that it is estimated to need there does
    not exceed its ``max_energy``.

    ``jobs`` are the eligible jobs, at most ``num_jobs``; ``mask`` (int8, shape (actions,)) says what is allowed;
    ``actions`` are the allowed pairs by number, ``job_of`` and ``node_of`` what they consist of, all of shape (pairs,).
    ``cores``, ``times`` (s; inf when none was requested) and ``submitted`` (s on the run's clock) are of shape (jobs,).
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
    ):
        self.view = view
        self.jobs = jobs
        self.asked = asked
        self.requests = asked.requests
        self.may_wait = may_wait
        self._placements = placements
        self._version = view.version
        self.cores, self.times = asked.cores, asked.times
        self.submitted = np.array([job.submit_time for job in jobs])
        nodes = allowed.shape[1]
        self.mask = np.zeros(options.num_jobs * nodes + options.wait, np.int8)
        self.mask[: allowed.size] = allowed.ravel()
        self.job_of, self.node_of = allowed.nonzero()
        self.actions = self.job_of * nodes + self.node_of
        if may_wait:
            self.mask[-1] = 1

    def __len__(self) -> int:
        """How many pairs are allowed; waiting is none."""
        return len(self.actions)

    def action(self, number: int) -> tuple[Job, Placement] | None:
        """What an allowed action starts, and on which cores; None: it waits."""
        if self.may_wait and number == len(self.mask) - 1:
            return None
        return self._start(*divmod(number, self.view.platform.node_count))

    def at(self, pair: int) -> tuple[Job, Placement]:
        """What an allowed pair starts, and on which cores, by its place in ``actions``."""
        return self._start(int(self.job_of[pair]), int(self.node_of[pair]))

    def _start(self, row: int, node: int) -> tuple[Job, Placement]:
        job = self.jobs[row]
        placement = self._placements.get((row, node))
        if placement is None:
            placement = Placement(((node, node + 1, job.requested_cores),))
            placement.found_at = self._version
        return job, placement


@dataclass(frozen=True, slots=True)
class PairOptions:
    """Which jobs are offered, and how.

    ``num_jobs`` pending jobs are eligible, the oldest first. ``merge_equal`` offers what is the same only once: of jobs
    with the same request the oldest, of nodes in the same state the first. Nothing is lost by that: exchanging two jobs
    that differ in nothing but their age, or two nodes that differ in nothing but their names, turns every schedule into
    one of equal energy and makespan, and equal expected waits by all that can be known. ``memory`` has nodes have room
    for the jobs' memory. ``wait`` adds the last action.
    """

    num_jobs: int = 16
    merge_equal: bool = True
    memory: bool = False
    wait: bool = False
