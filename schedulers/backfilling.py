"""Backfilling: jobs behind the head of the queue start early where they do not delay those that were promised a start."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cluster_sim.decisions import Decision, Hold, Reserve
from cluster_sim.errors import SpecError
from schedulers.base import Scheduler
from schedulers.orders import JobOrder, NodeOrder, check_aging, first, job_orders, node_orders, order_in, platform_order
from schedulers.plans import Promise, Where
from schedulers.queue import JobQueue
from schedulers.releases import Releases

if TYPE_CHECKING:
    from cluster_sim.execution import Running
    from cluster_sim.jobs import Job
    from cluster_sim.view import View

DELAYS = "would delay a job that was promised a start"


class Backfilling(Scheduler):
    """What EASY and conservative backfilling share: the queue, the running jobs by expected end, and starting a job.

    ``jobs`` and ``nodes`` are orders, by name or as functions, see :mod:`schedulers.orders`. ``reservation`` says what a
    promise is of: ``counted``, so many cores (the textbook's, Mu'alem and Feitelson 2001), or ``pinned``, certain cores
    of certain nodes (as Batsim's). With ``memory``, nodes must have room for the jobs' memory. Where nodes have several
    cores, or jobs ask for nodes, tags or memory, the promises of conservative backfilling, and of EASY with a depth of 2
    or more, are pinned in any case.

    A job is expected to end at its start plus its requested time; one that outlives that is put off step by step, see
    :class:`~schedulers.releases.Releases`. All that happens in an instant is one pass.
    """

    def __init__(
        self,
        jobs: str | JobOrder = first,
        nodes: str | NodeOrder = platform_order,
        reservation: str = "counted",
        memory: bool = False,
        aging: float = math.inf,
    ):
        self._job_order = job_orders.make(jobs) if isinstance(jobs, str) else jobs
        self._aging = check_aging(aging)
        self._node_order = node_orders.make(nodes) if isinstance(nodes, str) else nodes
        if reservation not in ("counted", "pinned"):
            raise SpecError("backfilling, option reservation", "counted or pinned", reservation)
        self._pinned = reservation == "pinned"
        self.memory = memory

    def begin(self, view: View) -> None:
        """Start with an empty queue and an empty machine."""
        self._queue = JobQueue(order_in(view, self._job_order, self._aging))
        self._releases = Releases()
        for running in view.running:
            self._releases.add(running)
        self._where = Where(view, self._node_order, self.memory)
        self._counted = view.counts_only and not self._pinned

    def _reasons(self, view: View, job: Job, promise: Promise | None) -> Iterator[Decision]:
        """For the decision log."""
        yield Hold(job, view.shortage(job, self.memory) or DELAYS)
        if promise is not None:
            yield Reserve(job, *promise)

    def _started(self, view: View, place: int, job: Job) -> Running:
        """The job at that place of the queue has been started."""
        self._queue.leave(place)
        running = view.running_job(job)
        self._releases.add(running)
        return running


def spec_of(name: str, options: dict[str, str]) -> str:
    """A scheduler's spec, without the options that have their usual values."""
    usual = {
        "order": "first",
        "nodes": "first",
        "depth": "1",
        "reservation": "counted",
        "memory": "no",
        "aging": "inf",
    }
    said = [
        f"{key}={value}"
        for key, value in options.items()
        if value not in ("", usual.get(key)) and (key, value) != ("nodes", "platform_order")  # the function named first
    ]
    return f"{name}:{','.join(said)}" if said else name
