"""Depth-first and breadth-first search with pruning as a scheduler (alternatives to greedy in Cruz 2023, §2.1.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, cast

import numpy as np
from annotated_types import Ge, Unit
from typing_extensions import Doc

from cluster_sim.models.processor_step import Phase
from cluster_sim.options import checked
from cluster_sim.run.decisions import Decision, Hold, Start
from cluster_sim.run.view import ClairvoyantView, View
from cluster_sim.workload.jobs import Job
from schedulers.energy.contention_aware import Clairvoyant, Reference
from schedulers.energy.expectations import Expectations, SecondsOf, seconds_of_work
from schedulers.optimum.board import Board, Held
from schedulers.optimum.search import BranchAndBound, Objective, Optimum, TreeOrder
from schedulers.policy.policy import SKIPPED, Scheduler, schedulers
from schedulers.queue.orders import Memory

OVERRUN = 0.1
"""Share of its work that a job is expected to need more when it outlives its prediction."""


@schedulers.register("search")
class TreeSearch(Scheduler):
    """Searches the orders and nodes of the pending jobs, from the present state, for the best end of the run.

    In every pass the scheduler searches the schedules of the jobs that run and of the ``window`` oldest pending ones, as
    if no other job came. It carries out what the best one starts now. ``order=depth`` follows one schedule to its end
    before it looks at the next; ``breadth`` looks at all first decisions, then at all second ones, and so on. Both drop
    what cannot become better than the best schedule so far, and what is like a position that was looked at before: see
    :mod:`schedulers.optimum.search`. No job waits that fits. After ``limit`` positions the best schedule so far counts;
    breadth first has then often found none but the greedy ones with which each search begins.

    Energy, makespan and EDP are those of the whole run, by the run's contention and power models. The work of a job is
    what was requested, as in :class:`~schedulers.energy.contention_aware.ContentionAware`. With ``clairvoyant=yes``, jobs
    of one phase that are all submitted at once, at most ``window`` of them, and no limit reached, the run is the optimum
    without waiting.

    Jobs beyond the window, and jobs that ask for nodes of their own, nodes with tags or GPUs, start after the others where
    they fit first. The search knows nothing of memory, booting, communication and power caps: a job that cannot have the
    cores that were found for it takes others. Work grows with ``limit`` and the nodes: it is for small machines.
    """

    @checked
    def __init__(
        self,
        order: TreeOrder = "depth",
        limit: Annotated[int, Ge(1), Doc("positions that a pass looks at, at most")] = 1_000,
        metric: Annotated[Objective, Doc("what is to be least")] = "energy",
        window: Annotated[int, Ge(1), Unit("jobs"), Doc("pending jobs that are searched, the oldest")] = 12,
        reference: Reference = "slowest",
        memory: Memory = False,
        clairvoyant: Clairvoyant = False,
    ):
        self.order, self.limit, self.metric, self.window = order, limit, metric, window
        self.reference, self.memory, self.clairvoyant = reference, memory, clairvoyant

    def begin(self, view: View) -> None:
        """Begin a run in which nothing runs yet."""
        self._seconds = seconds_of_work(view, self.reference, self.clairvoyant)
        self._expected = Expectations(view, self._seconds, OVERRUN)
        self._first_submission = np.inf
        #: Passes in which the limit ended the search.
        self.cut_short = 0

    def schedule(self, view: View) -> Iterable[Decision]:
        """Search, start what the best schedule starts now, then what fits of the jobs that were not searched."""
        if view.submitted:
            self._first_submission = min(self._first_submission, *(job.submit_time for job in view.submitted))
        if not view.pending_count or not (view.free_total or view.explains):
            return
        self._expected.update()
        searched = [job for job in view.pending if self._is_plain(view, job)][: self.window]
        if any(view.place(job, None, self.memory) for job in searched):
            searched, found = self._search(view, searched)
            pending = {job.job_id: job for job in searched}
            why = f"in the best schedule of {found.nodes_explored} positions" if view.explains else ""
            for start in found.schedule:
                if start.start_time > view.now:
                    break
                within = np.zeros(view.platform.node_count, np.int64)
                for node, cores in start.placement.cores_by_node().items():
                    within[node] = cores
                job = pending[start.job_id]
                placement = view.place(job, None, self.memory, within) or view.place(job, None, self.memory)
                if placement is not None:
                    yield Start(job, placement, why)
                    self._expected.enter(job)
        not_searched = set(view.pending_by_index) - {job.index for job in searched}
        for job in view.pending:
            placement = view.place(job, None, self.memory) if job.index in not_searched else None
            if placement is not None:
                yield Start(job, placement)
                self._expected.enter(job)
            elif view.explains:
                yield Hold(job, view.shortage(job, self.memory) or SKIPPED)

    def _is_plain(self, view: View, job: Job) -> bool:
        """Return whether a job may run on any nodes, beside others, and asks for cores alone."""
        machine = view.machine
        plain = not job.exclusive and not job.switches and machine.eligible(job) is None
        return plain and not machine.asks_for_resources(job)

    def _search(self, view: View, pending: list[Job]) -> tuple[list[Job], Optimum]:
        """Return the jobs that the machine can hold one day, and the best schedule for them."""
        running = [running.job for running in view.running]
        work = cast(ClairvoyantView, view).work if self.clairvoyant else _Requested([*running, *pending], self._seconds)
        held: dict[int, Held] = {number: [] for number in range(len(running))}
        number_of = {job.index: number for number, job in enumerate(running)}
        for node in {node for running in view.running for node in running.placement.nodes}:
            for processor, share in zip(view.machine.processors_of(node), self._expected.shares_now(node), strict=True):
                for group in share.groups:
                    held[number_of[group.job]].append((processor, group.tasks, group.seconds, group.bandwidth))

        def resumed(jobs: list[Job]) -> Board:
            board = Board(view.platform, [*running, *jobs], work, view.machine.processor_models)
            board.first_submission = self._first_submission
            return board

        free = view.free_cores.tolist()
        board = resumed(pending)
        position = board.resume(view.now, view.energy_j, held, free)
        holdable = board.can_hold(position)[len(running) :]
        if not all(holdable):
            pending = [job for job, is_holdable in zip(pending, holdable, strict=True) if is_holdable]
            board = resumed(pending)
            position = board.resume(view.now, view.energy_j, held, free)
        found = BranchAndBound(board, self.metric, order=self.order).run(position, self.limit)
        self.cut_short += not found.proven
        return pending, found


class _Requested:
    """What jobs are expected to take, by their requests: one phase each."""

    def __init__(self, jobs: list[Job], seconds: SecondsOf):
        self._jobs = {job.index: job for job in jobs}
        self._seconds = seconds

    def phases(self, index: int, ops_per_s: float) -> list[Phase]:
        job = self._jobs[index]
        seconds = self._seconds(job, ops_per_s)
        return [(seconds, job.mem_vol / seconds if seconds > 0.0 else 0.0)]

    def is_fixed(self, index: int) -> bool:
        return False
