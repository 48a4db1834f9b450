"""The state of a run as a search sees it: what runs, how far it has got, what waits, what was spent."""

from __future__ import annotations

from typing import NamedTuple

from cluster_sim.models.processor_step import TaskProgress

Cores = tuple[tuple[int, int], ...]
"""Cores of a job: (node, cores on it)."""


class Move(NamedTuple):
    """A job (its position in the board's ``jobs``) to start now, and where."""

    job: int
    cores: Cores


class LastStart(NamedTuple):
    """The last start of a position, and those before it."""

    move: Move
    time: float
    before: LastStart | None


class Position:
    """The state of a run in an instant. ``groups``, ``due``, ``free``, ``draw`` and ``ended`` have an entry per processor."""

    __slots__ = (
        "arrived", "draw", "due", "ended", "energy", "free", "groups", "key", "labels", "last", "now", "open_groups", "pending",
        "running", "started",
    )  # fmt: skip

    now: float  #: s
    energy: float  #: J since time 0
    #: that run, in order of their start; shared with other positions, never changed
    groups: list[tuple[TaskProgress, ...]]
    due: list[float]  #: when the next of them ends, or its phase
    free: list[int]  #: free cores
    draw: list[float]  #: W
    ended: list[tuple[tuple[int, int], ...]]  #: (job, tasks) of groups that have ended but still hold their cores
    running: dict[int, tuple[tuple[int, int], ...]]  #: job -> (processor, cores)
    open_groups: dict[int, int]  #: job -> groups that still run
    pending: tuple[int, ...]  #: in order of submission
    arrived: int  #: how many jobs have been submitted
    started: LastStart | None
    labels: list[int]  #: by node: equal for nodes that are interchangeable
    key: tuple[object, ...]  #: equal at the beginning of instants that differ in nothing but what has been spent
    last: tuple[int, int] | None  #: (node, kind) of the last start in this instant

    def copy(self) -> Position:
        """Return a copy that can be changed."""
        other = Position()
        other.now, other.energy, other.arrived, other.pending = self.now, self.energy, self.arrived, self.pending
        other.started, other.last, other.key = self.started, self.last, self.key
        other.groups, other.due, other.free = self.groups.copy(), self.due.copy(), self.free.copy()
        other.draw, other.ended, other.labels = self.draw.copy(), self.ended.copy(), self.labels.copy()
        other.running, other.open_groups = self.running.copy(), self.open_groups.copy()
        return other
