"""List scheduling: jobs in some order, each to the first node that fits in another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Annotated, Any

from typing_extensions import Doc

from cluster_sim.options import checked
from cluster_sim.run.decisions import Decision, Hold, Start
from cluster_sim.run.view import View
from schedulers.policy.policy import SKIPPED, Scheduler, blocks, schedulers
from schedulers.queue.orders import (
    Aging,
    AnyJobOrder,
    AnyNodeOrder,
    Memory,
    first,
    job_orders,
    name_of,
    node_orders,
    order_in,
    platform_order,
    ranking,
    told_by,
)

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job


Blocking = Annotated[bool, Doc("no job overtakes one that does not fit")]


class ListScheduler(Scheduler):
    """Takes the first job by the job order; if some node fits it, starts it on the first such node by the node order; repeats.

    With ``blocking`` it stops at the first job that does not fit (head-of-line blocking, from which the numbers of
    López (2023) come); without, it goes on to the jobs behind it, as López, Stafford and Bosque (2025) §4 describe.
    With ``memory``, a node must have room for the job's memory too.

    Orders are registered names or functions of your own, see :mod:`schedulers.queue.orders`. A job's key is computed when
    the job is submitted; with ``dynamic`` it is computed anew in every pass, for keys that change while a job waits.
    With ``aging``, jobs that have waited that long (s) go before all others, in order of submission.
    """

    blocked_by: Job | None = None  #: See :class:`~cluster_sim.run.passes.BlocksQueue`.

    @checked
    def __init__(
        self,
        jobs: AnyJobOrder = first,
        nodes: AnyNodeOrder = platform_order,
        blocking: Blocking = True,
        memory: Memory = False,
        dynamic: Annotated[bool, Doc("keys are computed anew in every pass")] = False,
        aging: Aging = math.inf,
    ):
        self._job_order = job_orders.make(jobs) if isinstance(jobs, str) else jobs
        self._aging = aging
        self._node_order = node_orders.make(nodes) if isinstance(nodes, str) else nodes
        self.spec = f"list:{name_of(jobs)}/{name_of(nodes)}" + ("" if blocking else ",blocking=no")
        self.spec += (",memory=yes" if memory else "") + (f",aging={aging:g}" if aging < math.inf else "")
        self.blocking = blocking
        self.memory = memory
        self.dynamic = dynamic or aging < math.inf or getattr(self._job_order, "dynamic", False)

    def begin(self, view: View) -> None:
        """Start with an empty queue."""
        self._order = order_in(view, self._job_order, self._aging)
        self._ranks = ranking(view, self._node_order)
        self._queue: list[tuple[Any, int, Job]] = []
        # In order of submission nothing overtakes the head; but what is told of it, and those that follow, go by passes.
        is_ours = getattr(self.schedule, "__func__", None) is ListScheduler.schedule
        goes_by_passes = view.explains or view.planning.followers or not is_ours
        self._head_blocks = self.blocking and not self.dynamic and self._order is first and not goes_by_passes
        self.blocked_by = None

    def schedule(self, view: View) -> Iterable[Decision]:
        """Hold a pass over the queue."""
        if self.dynamic:
            self._queue = sorted((self._order(job, view.now), job.index, job) for job in view.pending)
        else:
            for job in view.submitted:
                heappush(self._queue, (self._order(job, view.now), job.index, job))
        if not self.blocking:
            return self._skipping_pass(view)
        if not self._queue:
            return ()
        head = self._queue[0][2]
        if head.requested_cores > view.free_total and view.pending_by_index.get(head.index) is head:
            self.blocked_by = head if self._head_blocks else None
            return self._reasons(view, head)
        return self._blocking_pass(view)

    def _blocking_pass(self, view: View) -> Iterator[Decision]:
        queue, pending, ranks = self._queue, view.pending_by_index, self._ranks
        while queue:
            job = queue[0][2]
            if pending.get(job.index) is job:  # it may have been started, cancelled or rejected
                placement = None
                if job.requested_cores <= view.free_total:  # no order is worked out for a job that cannot fit
                    placement = view.place(job, ranks(view, job) if ranks is not None else None, self.memory)
                if placement is None:
                    self.blocked_by = job if self._head_blocks else None
                    # Another order of nodes may be drawn at random, and a power cap may change: each pass looks again.
                    looks_again = ranks is not None or view.machine.power_budget.is_set
                    self.refused_at = None if looks_again else view.machine.version
                    yield from self._reasons(view, job)
                    return
                yield Start(job, placement, told_by(self._order, job) if view.explains else "")
            heappop(queue)

    def _reasons(self, view: View, head: Job) -> Iterable[Hold]:
        """Tell that the head waits, and with it all that are behind it; the log of decisions hears why, too."""
        if self._head_blocks:  # who blocks the queue is known
            return ()
        return [blocks(view, head, memory=self.memory)]

    def _skipping_pass(self, view: View) -> Iterator[Decision]:
        self._queue.sort()
        waiting = []
        for position, entry in enumerate(self._queue):
            if not view.free_total:
                waiting += self._queue[position:]
                break
            job = entry[2]
            if view.is_pending(job):
                placement = view.place(job, self._node_order(view, job), self.memory)
                if placement is None:
                    waiting.append(entry)
                else:
                    yield Start(job, placement, told_by(self._order, job) if view.explains else "")
        self._queue = waiting  # sorted, and so a heap
        if view.explains:
            yield from (Hold(job, SKIPPED) for job in view.submitted if view.is_pending(job))
            for _, _, job in waiting:
                if view.planning.is_capped(job):
                    yield Hold(job, view.shortage(job, self.memory))


@schedulers.register("list")
def list_scheduler(
    orders: Annotated[str, Doc("a job order and a node order, JOB/NODE")] = "first/first",
    blocking: Blocking = True,
    memory: Memory = False,
    aging: Aging = math.inf,
) -> ListScheduler:
    """List scheduling by JOB/NODE orders, e.g. list:smallest/high_cores; blocking=no skips jobs that do not fit."""
    jobs, _, nodes = orders.partition("/")
    return ListScheduler(jobs, nodes or "first", blocking, memory, aging=aging)


@schedulers.register("fcfs")
class Fcfs(ListScheduler):
    """First come, first served: submission order, and no job overtakes."""

    @checked
    def __init__(self, nodes: AnyNodeOrder = "first", memory: Memory = False):
        super().__init__("first", nodes, memory=memory)


@schedulers.register("sjf")
class Sjf(ListScheduler):
    """Shortest job first, by requested time."""

    @checked
    def __init__(self, nodes: AnyNodeOrder = "first", memory: Memory = False):
        super().__init__("shortest", nodes, memory=memory)


@schedulers.register("ljf")
class Ljf(ListScheduler):
    """Longest job first, by requested time."""

    @checked
    def __init__(self, nodes: AnyNodeOrder = "first", memory: Memory = False):
        super().__init__("longest", nodes, memory=memory)
