"""What the passes need to know of priorities and of the limits of accounts, and what they tell them of jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from schedulers.slurm.asks import Ask


class Accounting(Protocol):
    """Priorities of jobs, and what their associations and qualities of service allow.

    The scheduler makes one for a run, of the platform and the file of accounts if there is one:
    ``Multifactor(platform, accounts)`` of ``schedulers.slurm.priority`` for priority/multifactor, otherwise
    :class:`BasicPriority`. It tells it, in order of time, what becomes of each job. It never asks about a job
    that it has not told of, or one that is over. Times are s on the run's clock.
    """

    def begin(self, controller_start: float) -> None:
        """A run begins; the controller started then (s, often negative), from which periods are counted."""
        ...

    def submitted(self, ask: Ask, now: float) -> None:
        """The job is submitted, or submitted again when it is requeued: ``ask.submit_time`` is then that of the requeue."""
        ...

    def eligible(self, ask: Ask, now: float) -> None:
        """From now on nothing but its turn keeps the job waiting: not held, begun, dependencies met. Its age counts from now."""
        ...

    def tested(self, ask: Ask, cpus: int) -> None:
        """The job has been tested for the first time, and would get this many CPUs: with whole nodes more than it asks for."""
        ...

    def changed(self, ask: Ask, now: float) -> None:
        """Somebody changed the request of a job that waits."""
        ...

    def started(self, ask: Ask, partition: str, nodes: tuple[int, ...], cpus: int, now: float) -> None:
        """The job has its nodes (positions in the platform, rising) and CPUs, in that of its partitions."""
        ...

    def suspended(self, ask: Ask, now: float) -> None:
        """The job is stopped, and uses nothing until it is resumed."""
        ...

    def resumed(self, ask: Ask, now: float) -> None:
        """The job goes on."""
        ...

    def ended(self, ask: Ask, now: float) -> None:
        """The job has ended, however that came about; a requeued one is then submitted again."""
        ...

    def withdrawn(self, ask: Ask, now: float) -> None:
        """The job has left the queue without a start."""
        ...

    def advance(self, now: float) -> bool:
        """Bring usage, ages and shares up to the last period that is over; whether any priority may have changed."""
        ...

    def next_change(self, now: float) -> float:
        """When :meth:`advance` next may find a change, s: the end of the period; inf: never."""
        ...

    def priority(self, ask: Ask, partition: str) -> int:
        """The job's priority in one of its partitions, higher first; 0: held."""
        ...

    def parts(self, ask: Ask, partition: str) -> Mapping[str, float]:
        """What its priority is made of, weighted, by the names of ``sprio``: ``age``, ``fairshare``, ``jobsize`` …"""
        ...

    def refusal(self, ask: Ask, now: float) -> str:
        """Why a limit of its association or quality of service keeps the job waiting now, in Slurm's word for it.

        ``AssocGrpJobsLimit``, ``QOSMaxJobsPerUserLimit`` …; empty: none does. Only jobs that were :meth:`started` count.
        Slurm asks this before it tests the job: of numbers of jobs, and whether the job alone is too large.
        """
        ...

    def refusal_on(self, ask: Ask, nodes: tuple[int, ...], cpus: int, now: float) -> str:
        """The same of resources that jobs may have together: asked when a test has found nodes (positions) and CPUs for it."""
        ...

    def qos_priority(self, ask: Ask) -> int:
        """The priority of its quality of service: of the jobs that could be preempted the lowest goes first."""
        ...

    def may_preempt(self, ask: Ask, victim: Ask) -> bool:
        """Whether the quality of service of one names that of the other (``preempt/qos``)."""
        ...

    def preempt_mode(self, victim: Ask) -> str:
        """How jobs of its quality of service are preempted, in capitals; empty: as the configuration says."""
        ...


class BasicPriority:
    """priority/basic: every new job gets one less than the last, and nobody has limits."""

    _FIRST = 4_294_901_760

    def __init__(self) -> None:
        self._given: dict[int, int] = {}
        self._last = self._FIRST

    def begin(self, controller_start: float) -> None:
        """No job has been submitted."""
        self._given, self._last = {}, self._FIRST

    def submitted(self, ask: Ask, now: float) -> None:
        """It gets one less than the last; a requeued job keeps what it had."""
        if ask.key not in self._given:
            self._last -= 1
            self._given[ask.key] = self._last

    def eligible(self, ask: Ask, now: float) -> None:
        """Nothing depends on it."""

    def tested(self, ask: Ask, cpus: int) -> None:
        """Nothing depends on it."""

    def changed(self, ask: Ask, now: float) -> None:
        """Nothing depends on it."""

    def started(self, ask: Ask, partition: str, nodes: tuple[int, ...], cpus: int, now: float) -> None:
        """Nothing depends on it."""

    def suspended(self, ask: Ask, now: float) -> None:
        """Nothing depends on it."""

    def resumed(self, ask: Ask, now: float) -> None:
        """Nothing depends on it."""

    def ended(self, ask: Ask, now: float) -> None:
        """Its priority stays, for it may be requeued."""

    def withdrawn(self, ask: Ask, now: float) -> None:
        """Its priority goes."""
        self._given.pop(ask.key, None)

    def advance(self, now: float) -> bool:
        """Priorities never change."""
        return False

    def next_change(self, now: float) -> float:
        """Never."""
        return float("inf")

    def priority(self, ask: Ask, partition: str) -> int:
        """The number that it was given."""
        return self.given(ask.key)

    def given(self, key: int) -> int:
        """The same by the job's key."""
        return self._given[key]

    def parts(self, ask: Ask, partition: str) -> Mapping[str, float]:
        """It has no parts."""
        return {}

    def refusal(self, ask: Ask, now: float) -> str:
        """There are no limits."""
        return ""

    def refusal_on(self, ask: Ask, nodes: tuple[int, ...], cpus: int, now: float) -> str:
        """There are no limits."""
        return ""

    def qos_priority(self, ask: Ask) -> int:
        """All alike."""
        return 0

    def may_preempt(self, ask: Ask, victim: Ask) -> bool:
        """No quality of service names another."""
        return False

    def preempt_mode(self, victim: Ask) -> str:
        """As the configuration says."""
        return ""
