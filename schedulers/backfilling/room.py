"""EASY backfilling that keeps room for short jobs."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge, Le, Lt, Unit
from typing_extensions import Doc

from cluster_sim.errors import SpecError
from cluster_sim.machine.placement import Placement
from cluster_sim.machine.reason import Reason, ReasonKind
from cluster_sim.machine.running import Running
from cluster_sim.run.decisions import Hold
from cluster_sim.run.view import View
from schedulers.backfilling.easy import CountedPlan, EasyBackfilling
from schedulers.backfilling.node_choice import NodeChoice
from schedulers.backfilling.plans import Plan, Promise
from schedulers.backfilling.timeline import Timeline, planned_time

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from cluster_sim.workload.jobs import Job

HOUR_S = 3600.0
NO_ROOM = Reason(ReasonKind.NO_ROOM)
"""Reason for which a job waits though enough cores are free for itself."""

Room = Annotated[float, Ge(0), Lt(1), Doc("share of the cores that long jobs leave free")]
RoomFor = Annotated[float, Ge(0), Le(math.inf), Unit("s"), Doc("requested time up to which a job may take them")]


class PlanWithRoom(CountedPlan):
    """Plans as CountedPlan does, and keeps room beside long jobs.

    A job that requests more than ``room_for`` (s) leaves ``room`` cores free when it starts.

    These cores are for jobs that are soon over. While nothing runs, nobody has to leave any: else a job that needs nearly the
    whole machine would never start.
    """

    def __init__(self, where: NodeChoice, timeline: Timeline, room: int, room_for: float):
        super().__init__(where, timeline)
        self._room, self._room_for = room, room_for

    def promise(self, job: Job, beside: int = 0) -> Promise | None:
        """Promise its cores with those that it leaves, but not more than can be free: then everybody else is over."""
        most = self._timeline.free_cores + sum([cores for _, _, cores, _ in self._timeline.coming()])
        return super().promise(job, max(min(self._left_by(job), most - job.requested_cores), 0))

    def may_start(self, cores: npt.NDArray[np.int64], times: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        fits = super().may_start(cores, times)
        if self._others_run:
            room = self._timeline.free_cores - self._room
            fits &= (times <= self._room_for) | (cores <= room)
        return fits

    def place(self, job: Job) -> Placement | None:
        return None if self._lacks_room(job) else super().place(job)

    def may_stay(self, running: Running) -> bool:
        return super().may_stay(running) and not self.takes_room(running.job, running.placement.cores)

    def is_over_in_time(self, job: Job) -> bool:
        """Return whether a job ends by the shadow time, and enough others are free."""
        return super().is_over_in_time(job) and not self._lacks_room(job)

    def refusal(self, job: Job) -> Hold:
        return Hold(job, NO_ROOM) if self._lacks_room(job) else super().refusal(job)

    def takes_room(self, job: Job, cores: int) -> bool:
        """Return whether the job with these cores would leave fewer free than it has to."""
        return self._others_run and cores + self._left_by(job) > self._timeline.free_cores

    def _lacks_room(self, job: Job) -> bool:
        return self.takes_room(job, job.requested_cores)

    @property
    def _others_run(self) -> bool:
        """Return whether any job runs that is not on trial."""
        return self._view.running_count > len(self._timeline.on_trial)

    def _left_by(self, job: Job) -> int:
        return self._room if planned_time(job) > self._room_for else 0


class EasyWithRoom(EasyBackfilling):
    """EASY whose long jobs leave room for short ones, so that these find some at once.

    :func:`~schedulers.backfilling.experiments.easy` makes it, and checks its options.

    ``room`` is a share of the machine's cores that jobs which request more than ``room_for`` seconds leave free when they
    start; while nothing runs they need not. It asks for nodes of one core each.
    """

    def __init__(self, *easy: Any, room: float = 0.0, room_for: float = HOUR_S, **options: Any):
        super().__init__(*easy, **options)
        self.head_alone_delays = False
        self._room, self._room_for = room, room_for

    def begin(self, view: View) -> None:
        super().begin(view)
        if self._room and not self._counted:
            widest = view.platform.widest_node
            raise SpecError(
                "scheduler 'easy', option room",
                "nodes of one core each, and jobs that take any of them: free cores that are all alike",
                f"nodes of up to {widest} cores" if widest > 1 else "jobs that ask for certain nodes, or reservations",
            )

    def _plans(self, view: View) -> Callable[[], Plan]:
        room = math.ceil(self._room * view.platform.core_count)
        if not room or view.machine.turns:
            return super()._plans(view)
        return partial(PlanWithRoom, self._where, self._timeline, room, self._room_for)
