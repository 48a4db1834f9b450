"""The state of a run as a search sees it: what runs, how far it has got, what waits, what was spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cluster_sim.channel import Phase

Cores = tuple[tuple[int, int], ...]
"""(node, cores on it) of a job."""


class Move(NamedTuple):
    """A job (its position in the board's ``jobs``) to start now, and where."""

    job: int
    cores: Cores


class Group(NamedTuple):
    """The tasks of one job on one processor, as :class:`cluster_sim.channel.TaskGroup`, but never changed."""

    job: int
    tasks: int
    finish: float  #: When the phase ends at this speed, s.
    remaining: float  #: Work left in the phase at ``since``, s at full speed.
    since: float
    speed: float
    bandwidth: float
    later: tuple[Phase, ...]  #: The phases to come.

    def at_speed(self, speed: float, now: float) -> Group:
        """The group from now on at another speed, its progress so far credited."""
        remaining = max(0.0, self.remaining - (now - self.since) * self.speed)
        return Group(self.job, self.tasks, now + remaining / speed, remaining, now, speed, self.bandwidth, self.later)

    def in_next_phase(self, now: float) -> Group:
        """The group as it begins its next phase."""
        seconds, bandwidth = self.later[0]
        finish = now + seconds / self.speed
        return Group(self.job, self.tasks, finish, seconds, now, self.speed, bandwidth, self.later[1:])

    def left(self, now: float) -> float:
        """Work left, s at full speed."""
        return (self.finish - now) * self.speed + sum(seconds for seconds, _ in self.later)


class Started(NamedTuple):
    """The last start of a position, and those before it."""

    move: Move
    time: float
    before: Started | None


class Position:
    """The state of a run in an instant. ``groups``, ``due``, ``free``, ``draw`` and ``ended`` have an entry per processor."""

    __slots__ = (
        "arrived", "draw", "due", "ended", "energy", "free", "groups", "key", "labels", "last", "now", "open_groups", "pending",
        "running", "started",
    )  # fmt: skip

    now: float  #: s
    energy: float  #: J since time 0
    groups: list[tuple[Group, ...]]  #: that run, in order of their start
    due: list[float]  #: when the next of them ends, or its phase
    free: list[int]  #: free cores
    draw: list[float]  #: W
    ended: list[tuple[tuple[int, int], ...]]  #: (job, tasks) of groups that have ended but still hold their cores
    running: dict[int, tuple[tuple[int, int], ...]]  #: job -> (processor, cores)
    open_groups: dict[int, int]  #: job -> groups that still run
    pending: tuple[int, ...]  #: in order of submission
    arrived: int  #: how many jobs have been submitted
    started: Started | None
    labels: list[int]  #: by node: equal for nodes that are interchangeable
    key: tuple[object, ...]  #: equal at the beginning of instants that differ in nothing but what has been spent
    last: tuple[int, int] | None  #: (node, kind) of the last start in this instant

    def copy(self) -> Position:
        """A position of its own that can be changed."""
        other = Position()
        other.now, other.energy, other.arrived, other.pending = self.now, self.energy, self.arrived, self.pending
        other.started, other.last, other.key = self.started, self.last, self.key
        other.groups, other.due, other.free = self.groups.copy(), self.due.copy(), self.free.copy()
        other.draw, other.ended, other.labels = self.draw.copy(), self.ended.copy(), self.labels.copy()
        other.running, other.open_groups = self.running.copy(), self.open_groups.copy()
        return other
