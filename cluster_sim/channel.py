"""The memory channel of a processor: a processor-sharing resource for task groups, in the style of SimPy's resources.

The tasks of one job on one processor always have the same rate and end together, so they are one unit of work, a
:class:`TaskGroup`. Requesting is ``channel.run(…)``; the group is itself the event to wait for, as SimPy's requests are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from simpy.events import Event

from cluster_sim.engine import PlannedEvent

if TYPE_CHECKING:
    from cluster_sim.contention import Contention
    from cluster_sim.engine import Environment


class TaskGroup(Event):
    """The tasks of one job on one processor. Happens when they end.

    While it runs it has a planned finish, which every change of its speed supersedes.
    """

    def __init__(
        self, channel: MemoryChannel, tasks: int, seconds: float, bandwidth: float, since: float, fixed: bool = False
    ):
        super().__init__(channel.env)
        self.channel = channel
        self.tasks = tasks
        self.fixed = fixed  #: Whether its time does not depend on the clock.
        self.bandwidth = bandwidth  #: MB/s that each task asks for.
        self.speed = 1.0  #: Achieved over uncontended rate.
        self.remaining = seconds  #: Work left at :attr:`since`, in seconds at full speed.
        self.since = since  #: When the speed last changed.
        self.finish = since + seconds  #: When it ends if the speed stays.

    def change_speed(self, speed: float, now: float) -> None:
        """Credit the progress so far and go on at another speed."""
        self.remaining = max(0.0, self.remaining - (now - self.since) * self.speed)
        self.since = now
        self.speed = speed
        self.finish = now + self.remaining / speed


class MemoryChannel:
    """Shares a processor's memory bandwidth among the task groups that run on it.

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
        on_demand: Callable[[], None] = lambda: None,
    ):
        self.env = env
        self._contention = contention
        self._at_job_boundaries = at_job_boundaries
        self._on_demand = on_demand
        self._groups: list[TaskGroup] = []
        self._plan: PlannedEvent | None = None
        self._planned_for = float("inf")
        self._contended = False
        self.demand = 0.0  #: Bandwidth that the running tasks ask for, MB/s, as last computed.

    @property
    def groups(self) -> tuple[TaskGroup, ...]:
        """The task groups that run, in the order in which they started."""
        return tuple(self._groups)

    def run(
        self, tasks: int, seconds: float, bandwidth: float, since: float | None = None, fixed: bool = False
    ) -> TaskGroup:
        """Run ``tasks`` tasks that need ``seconds`` uncontended and ask for ``bandwidth`` MB/s each.

        ``since``: when they started, if they have run uncontended for a while already. ``fixed``: they wait rather
        than compute, so that another clock changes nothing.
        """
        group = TaskGroup(self, tasks, seconds, bandwidth, self.env.now if since is None else since, fixed)
        self._groups.append(group)
        self.refresh()
        return group

    def release(self, group: TaskGroup) -> None:
        """The group's whole job is over: take the group out if it has not ended (then it never happens)."""
        if not group.triggered:
            self._groups.remove(group)
            self.refresh()
        elif self._at_job_boundaries:
            self.refresh()

    def change_rate(self, ratio: float) -> None:
        """The processor's clock changes by ``ratio``: work left shrinks, and bandwidth asked for grows, with it."""
        for group in self._groups:
            if group.fixed:
                continue
            group.change_speed(group.speed, self.env.now)
            group.remaining /= ratio
            group.bandwidth *= ratio
            group.finish = group.since + group.remaining / group.speed
        self.refresh()

    def refresh(self) -> None:
        """Recompute the demand, the speeds if it matters, and the next completion."""
        groups = self._groups
        self.demand = sum([group.tasks * group.bandwidth for group in groups])
        self._on_demand()
        contended = self.demand >= self._contention.threshold
        if contended or self._contended:
            now = self.env.now
            speeds = self._contention.speedups([(group.tasks, group.bandwidth) for group in groups])
            for group, speed in zip(groups, speeds, strict=True):
                if speed != group.speed:
                    group.change_speed(speed, now)
            self._contended = contended
        self._plan_next()

    def _plan_next(self) -> None:
        """Plan the next completion, unless the one already planned is it."""
        next_finish = min([group.finish for group in self._groups], default=float("inf"))
        if next_finish != self._planned_for:
            self._planned_for = next_finish
            self._plan = None
            if self._groups:
                self._plan = self.env.at(next_finish)
                self._plan.callbacks.append(self._complete)

    def _complete(self, plan: Event) -> None:
        if plan is not self._plan:
            return  # superseded
        due = self._planned_for
        finished = [group for group in self._groups if group.finish <= due]
        self._groups = [group for group in self._groups if group.finish > due]
        self._planned_for = float("inf")
        for group in finished:
            group.succeed()
        if self._at_job_boundaries:
            self._plan_next()
        else:
            self.refresh()
