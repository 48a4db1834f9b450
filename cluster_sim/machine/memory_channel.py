"""The memory channel of a processor: a processor-sharing resource for task groups, in the style of SimPy's resources.

The tasks of one job on one processor always have the same rate and end together, so they are one unit of work, a
:class:`TaskGroup`. ``channel.request(…)`` makes one; it is the event to wait for, as SimPy's requests are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from simpy.core import BoundClass
from simpy.events import Event
from simpy.resources.base import BaseResource, Put
from simpy.resources.resource import Release

from cluster_sim.engine import Environment, PlannedEvent
from cluster_sim.models.processor_step import Phase, TaskProgress, adapt, complete, demand_of, next_end

if TYPE_CHECKING:
    from types import TracebackType

    from cluster_sim.models.contention import Contention


class TaskGroup(TaskProgress, Put["MemoryChannel"]):
    """The tasks of one job on one processor, as an event: it happens when their last phase ends."""

    def __init__(
        self,
        channel: MemoryChannel,
        tasks: int,
        phases: Sequence[Phase],
        since: float,
        fixed: bool = False,
        owner: int = -1,
    ):
        Event.__init__(self, channel.env)
        TaskProgress.__init__(self, owner, tasks, phases, since, fixed)
        self.resource = channel
        channel.put_queue.append(self)
        channel._do_put(self)

    def cancel(self) -> None:
        """Stop the tasks if they have not ended, which changes the speed of the others."""
        if self in self.resource.put_queue:
            self.resource.withdraw(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.resource.release(self)


class MemoryChannel(BaseResource[TaskGroup, Release]):
    """Shares a processor's memory bandwidth among the task groups that run on it, all of which are served at once.

    So nobody waits to be served: ``put_queue`` has the groups that run, and a group leaves it when it ends. ``capacity``
    is the demand (MB/s) from which on tasks are slowed, inf where none are.

    When its members change it lets the contention model say their speeds, credits progress to those whose speed changed,
    and plans **one** next completion. A superseded plan stays in SimPy's queue and is ignored. While demand stays under
    the model's threshold no speed can change and nothing is recomputed.

    With ``at_job_boundaries`` speeds are not recomputed when a group ends, only when a whole job starts or is released
    (the quirk ``contention-at-job-boundaries``).
    """

    def __init__(
        self,
        env: Environment,
        contention: Contention,
        at_job_boundaries: bool = False,
        on_change: Callable[[], None] = lambda: None,
    ):
        super().__init__(env, contention.threshold)
        self.put_queue: list[TaskGroup]
        self.env = env
        self._contention = contention
        self._at_job_boundaries = at_job_boundaries
        self._on_change = on_change
        self._ended: list[TaskGroup] = []
        self._plan: PlannedEvent | None = None
        self._planned_for = float("inf")
        self._contended = False
        self.demand = 0.0  #: Bandwidth that the running tasks ask for, MB/s, as last computed.

    @property
    def users(self) -> tuple[TaskGroup, ...]:
        """Return the task groups that run, in the order in which they started."""
        return tuple(self.put_queue)

    @property
    def count(self) -> int:
        """Return how many task groups run."""
        return len(self.put_queue)

    @property
    def queue(self) -> tuple[TaskGroup, ...]:
        """Return the task groups that wait to be served: none, since the channel slows its users instead."""
        return ()

    @property
    def ended_groups(self) -> tuple[TaskGroup, ...]:
        """Return task groups that have ended, but whose job still holds their cores."""
        return tuple(self._ended)

    def request(
        self,
        tasks: int,
        phases: Sequence[Phase],
        since: float | None = None,
        fixed: bool = False,
        owner: int = -1,
    ) -> TaskGroup:
        """Run ``tasks`` tasks through ``phases``, each of so many uncontended seconds and so many MB/s a task.

        ``since``: when the first of these phases started, if it has run uncontended for a while already.
        ``fixed``: the tasks wait rather than compute, so that neither clock nor contention changes their time.
        ``owner``: the number of their tenant in the ledger.
        """
        return TaskGroup(self, tasks, phases, self.env.now if since is None else since, fixed, owner)

    if TYPE_CHECKING:

        def release(self, group: TaskGroup) -> Release:
            """Take a group out, because its whole job is over. If it has not ended, it never does."""
            ...

    else:
        release = BoundClass(Release)

    def _do_put(self, group: TaskGroup) -> bool:
        """Let a group run beside the others."""
        self.refresh()
        return True

    def _do_get(self, release: Release) -> bool:
        """Take out the group of a release; releasing it once more changes nothing, as in SimPy."""
        group: TaskGroup = release.request  # type: ignore[assignment]
        if group in self.put_queue or group in self._ended:
            self.withdraw(group)
        release.succeed()
        return True

    def _trigger_put(self, release: Release | None) -> None:
        """Do nothing: nobody waits to be served."""

    def withdraw(self, group: TaskGroup) -> None:
        """Do what ``release`` does, without an event that tells of it."""
        if not group.triggered:
            self.put_queue.remove(group)
            self.refresh()
        else:
            self._ended.remove(group)
            if self._at_job_boundaries:
                self.refresh()

    def change_rate(self, ratio: float) -> None:
        """The processor's clock changes by ``ratio``: work left shrinks, and bandwidth asked for grows, with it."""
        for group in self.put_queue:
            if not group.fixed:
                group.change_rate(ratio, self.env.now)
        self.refresh()

    def refresh(self) -> None:
        """Recompute the demand, the speeds if it matters, and the next completion."""
        self.demand = demand_of(self.put_queue)
        contended = self.demand >= self._contention.threshold
        if contended or self._contended:
            adapt(self.put_queue, self._contention, self.demand, self.env.now)
            self._contended = contended
        self._on_change()
        self._plan_next()

    def _plan_next(self) -> None:
        """Plan the next completion, unless the one already planned is it."""
        next_finish = next_end(self.put_queue)
        if next_finish != self._planned_for:
            self._planned_for = next_finish
            if self._plan is not None:
                self._plan.callbacks.clear()  # superseded
                self._plan = None
            if self.put_queue:
                self._plan = self.env.at(self.env.within(next_finish))
                self._plan.callbacks.append(self._complete)

    def _complete(self, plan: Event) -> None:
        due = max(self._planned_for, self.env.now)
        self._planned_for, self._plan = float("inf"), None
        ended = complete(self.put_queue, due)
        self._ended += ended
        for group in ended:
            group.succeed()
        if self._at_job_boundaries and ended:
            self._on_change()
            self._plan_next()
        else:
            self.refresh()
