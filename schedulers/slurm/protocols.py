"""Interface of the passes to priorities and to the limits of accounts."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cluster_sim.platform.accounts import QualityOfService
from schedulers.slurm.job_request import Ask

if TYPE_CHECKING:
    from schedulers.slurm.partitions import Queue


class Accounting:
    """Priorities of jobs, and what their associations and qualities of service allow: nothing is refused here.

    The scheduler makes one for a run, of the platform and the file of accounts if there is one:
    :class:`~schedulers.slurm.priority.multifactor.Multifactor`, or :class:`BasicPriority` where there are neither accounts nor
    priority/multifactor. It tells it, in order of time, what becomes of each job. It never asks about a job
    that it has not told of, or one that is over. Times are s on the run's clock.
    """

    told: dict[int, str] | None = None
    """Parts of jobs' priorities when they started, for people, by their keys; None: nobody wants to know."""
    limits_resources = False  #: Whether :meth:`refusal_on` may refuse anything.

    def begin(self, controller_start: float, queues: Mapping[str, Queue] | None = None) -> None:
        """Begin a run with these partitions; periods count from ``controller_start`` (s, often negative)."""

    def submitted(self, ask: Ask, now: float, submit_time: float | None = None) -> None:
        """Note that the job is submitted, or requeued: then ``ask.submit_time`` is that of the requeue.

        ``submit_time`` (s) is when it was submitted, where it has been held until now.
        """

    def changed(self, ask: Ask, now: float) -> None:
        """Note that the waiting job asks for something else."""

    def eligible(self, ask: Ask, now: float) -> None:
        """Note that only its turn keeps the job waiting: not held, begun, dependencies met. Its age counts from now."""

    def held(self, ask: Ask) -> None:
        """Note that the job is held, or waits for others again: it has no priority until it is :meth:`eligible`."""

    def set_priority(self, ask: Ask, priority: int) -> None:
        """Give the job a priority that an administrator has chosen, which stays."""

    def tested(self, ask: Ask, cpus: int) -> None:
        """Note the job's first test, and the CPUs that it would get: with whole nodes more than it asks for."""

    def started(self, ask: Ask, partition: str, nodes: tuple[int, ...], cpus: int, now: float) -> None:
        """Note that the job has its nodes (positions in the platform, rising) and CPUs, in that of its partitions."""

    def suspended(self, ask: Ask, now: float) -> None:
        """Note that the job uses nothing until it is resumed."""

    def resumed(self, ask: Ask, now: float) -> None:
        """Note that the job goes on as it was."""

    def ended(self, ask: Ask, now: float) -> None:
        """Note that the job has ended, however that came about; a requeued one is then submitted again."""

    def withdrawn(self, ask: Ask, now: float) -> None:
        """Note that the job has left the queue without a start."""

    def advance(self, now: float) -> bool:
        """Bring usage, ages and shares up to the last period that is over; return whether priorities may change."""
        return False

    def next_change(self, now: float) -> float:
        """Return when :meth:`advance` next may find a change, s: the end of the period; inf: never."""
        return math.inf

    @abstractmethod
    def priority(self, ask: Ask, partition: str) -> int:
        """Return the job's priority in one of its partitions, higher first; 0: held."""

    def quality(self, ask: Ask) -> QualityOfService | None:
        """Return the job's quality of service; None where nobody knows it."""
        return None

    def refusal(self, ask: Ask, now: float) -> str:
        """Return Slurm's word for why a limit of its association or quality of service keeps the job waiting now.

        ``AssocGrpJobsLimit``, ``QOSMaxJobsPerUserLimit`` …; empty: none does. Only jobs that were :meth:`started` count.
        Slurm asks this before it tests the job: of numbers of jobs, and whether the job alone is too large.
        """
        return ""

    def refusal_on(self, ask: Ask, nodes: tuple[int, ...], cpus: int, now: float) -> str:
        """Say why a job may not have these resources together: asked when a test has found nodes (positions) and CPUs for it."""
        return ""


class BasicPriority(Accounting):
    """priority/basic: every new job gets one less than the last, and nobody has limits."""

    _FIRST = 4_294_901_760

    def __init__(self) -> None:
        self._given: dict[int, int] = {}
        self._nice: dict[int, int] = {}  # what was subtracted
        self._last = self._FIRST

    def begin(self, controller_start: float, queues: Mapping[str, Queue] | None = None) -> None:
        self._given, self._nice, self._last = {}, {}, self._FIRST

    def submitted(self, ask: Ask, now: float, submit_time: float | None = None) -> None:
        """Give the job a priority of one less than the last got, less its nice value; a requeued job keeps what it had."""
        if ask.key not in self._given and not ask.held:
            self._last -= 1
            self._given[ask.key], self._nice[ask.key] = max(self._last - ask.nice, 1), ask.nice

    def changed(self, ask: Ask, now: float) -> None:
        """Subtract the job's new nice value."""
        if ask.key in self._given:
            self._given[ask.key] = max(self._given[ask.key] + self._nice.get(ask.key, 0) - ask.nice, 1)
            self._nice[ask.key] = ask.nice

    def eligible(self, ask: Ask, now: float) -> None:
        """Give a job that was held one less than the last, too."""
        self.submitted(ask, now)

    def held(self, ask: Ask) -> None:
        """Take the job's priority away, if it is held."""
        if ask.held:
            self._given.pop(ask.key, None)

    def set_priority(self, ask: Ask, priority: int) -> None:
        """Give the job this priority."""
        self._given[ask.key] = priority

    def withdrawn(self, ask: Ask, now: float) -> None:
        """Take the job's priority away."""
        self._given.pop(ask.key, None)

    def priority(self, ask: Ask, partition: str) -> int:
        return self.given(ask.key)

    def given(self, key: int) -> int:
        """Return the priority by the job's key; 0: it is held."""
        return self._given.get(key, 0)
