"""EASY backfilling behind a job that somebody else has chosen: the half of RLScheduler's setting that is not the agent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cluster_sim.run.decisions import Decision, Start
from cluster_sim.run.view import View
from schedulers.backfilling.easy import EasyBackfilling

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job


class CommittedBackfilling(EasyBackfilling):
    """Starts the job that it is told, or backfills behind it: :meth:`follow` in every pass, then :meth:`go_for`.

    To commit to a job, as Zhang et al. (SC 2020) do, give the same job again until it has started. Others are
    backfilled in order of submission. ``extra`` is as in :class:`~schedulers.backfilling.easy.EasyBackfilling`.
    """

    def __init__(self, extra: bool = False):
        super().__init__(extra=extra)

    def follow(self, view: View) -> None:
        """Take note of the jobs that came and ended. Before anything else in a pass."""
        self._queue.join(view.submitted, view)
        if self._queue.count != view.pending_count:
            self._queue.drop_cancelled(view)
        self._releases.follow(view)
        self._queue.close_up()

    def go_for(self, view: View, job: Job) -> Iterator[Decision]:
        """Start the job if it fits; else promise it a start, and start what does not delay it."""
        plan = self._plan = self._new_plan()
        placement = plan.place(job)
        if placement is not None:
            yield Start(job, placement)
            self._started(view, self._queue.place_of(job), job)
            return
        self._promised = int(plan.promise(job) is not None)
        if view.free_total:
            yield from self._backfill(view, self._queue.first)
