"""EASY backfilling behind a job that has been chosen: RLScheduler's setting (Zhang et al., SC 2020, and its program)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from typing_extensions import Doc

from cluster_sim.machine.placement import Placement
from cluster_sim.run.decisions import Decision
from cluster_sim.run.view import View
from schedulers.backfilling.easy import CountedPlan, EasyBackfilling
from schedulers.backfilling.job_queue import JobQueue
from schedulers.backfilling.plans import Plan, Promise
from schedulers.backfilling.timeline import planned_time
from schedulers.queue.orders import JobOrder, order_in, told_by

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from cluster_sim.workload.jobs import Job

Commits = Annotated[bool, Doc("the first job that cannot start stays the first")]
TakesExtra = Annotated[bool, Doc("jobs are backfilled on cores that the promised job leaves free")]


class Commitment:
    """Puts the job to which a scheduler has committed itself before an order, until that job has started."""

    dynamic = True

    def __init__(self, order: JobOrder):
        self._order = order
        self._held: Job | None = None

    def hold(self, job: Job, view: View) -> None:
        """Stay with this job, unless another that has the turn still waits."""
        if self._held is None or not view.is_pending(self._held):
            self._held = job

    def __call__(self, job: Job, now: float) -> tuple[bool, Any]:
        """Return the key: whose turn it is goes first; then by the order."""
        return job is not self._held, self._order(job, now)

    def tell(self, job: Job) -> str:
        return told_by(self._order, job)


class PlanBefore(CountedPlan):
    """Any free cores are as good as any others, and a job may start if it ends before the promised start, never beside it.

    The cores that the head job will leave free are not used, and a job that ends just when the head job should start
    waits. While nothing is promised, anything may start.
    """

    _before = math.inf  # when others have to be over, s

    def may_start(self, cores: npt.NDArray[np.int64], times: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        fits: npt.NDArray[np.bool_] = (cores <= self._view.free_total) & (self._view.now + times < self._before)
        return fits

    def place(self, job: Job) -> Placement | None:
        placement = self._where.now(job)
        if placement is None or self._before == math.inf:
            return placement
        ends = self._view.now + self._view.planning.boot_time(placement) + planned_time(job)
        return placement if ends < self._before else None

    def promise(self, job: Job, beside: int = 0) -> Promise | None:
        promise = super().promise(job, beside)
        if promise is not None:
            self._before = promise.time if promise.time < math.inf else -math.inf
        return promise


class CommittedEasy(EasyBackfilling):
    """EASY that stays with what it has chosen, or that backfills nothing beside the promised job, as RLScheduler does both.

    :func:`~schedulers.backfilling.experiments.easy` makes it, and checks its options.

    With ``commit``, the first job that cannot start stays the first until it has, whatever comes or becomes more urgent
    meanwhile. Without ``extra``, only jobs that end before its promised start are backfilled, none on the cores that it
    will leave free. Beside advance reservations they are, as with ``extra``.
    """

    def __init__(self, *easy: Any, commit: bool = False, extra: bool = True, **options: Any):
        super().__init__(*easy, **options)
        self._commits, self._takes_extra = commit, extra

    def begin(self, view: View) -> None:
        super().begin(view)
        self._commitment: Commitment | None = None
        if self._commits:
            self._commitment = Commitment(order_in(view, self._job_order, self._aging))
            self._queue = JobQueue(self._commitment)

    def _plans(self, view: View) -> Callable[[], Plan]:
        if self._takes_extra or view.machine.turns:
            return super()._plans(view)
        return partial(PlanBefore, self._where, self._timeline)

    def _hold(self, view: View, plan: Plan, place: int, job: Job) -> Iterator[Decision]:
        if self._commitment is not None:
            self._commitment.hold(job, view)
        return super()._hold(view, plan, place, job)


class CommittedBackfilling(CommittedEasy):
    """Starts the job that it is told, or backfills behind it: :meth:`follow` in every pass, then :meth:`go_for`.

    To commit to a job, as Zhang et al. (SC 2020) do, give the same job again until it has started. Others are
    backfilled in order of submission. ``extra`` is as in :class:`CommittedEasy`.
    """

    def __init__(self, extra: bool = False):
        super().__init__(extra=extra)

    def follow(self, view: View) -> None:
        """Take note of the jobs that came and ended. Before anything else in a pass."""
        self._queue.join(view.submitted, view)
        self._queue.drop_cancelled(view)
        self._timeline.follow()
        self._queue.close_up()

    def go_for(self, view: View, job: Job) -> Iterator[Decision]:
        """Start the job if it fits; else promise it a start, and start what does not delay it."""
        plan = self._new_plan()
        placement = plan.place(job)
        if placement is not None:
            self._timeline.add((yield from self._start(view, self._queue.place_of(job), job, placement)))
            return
        self._promised = int(plan.promise(job) is not None)
        yield from self._backfill(view, plan, self._queue.first)
