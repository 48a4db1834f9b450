"""Jobs that wait for other jobs, as ``sbatch --dependency`` says it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from cluster_sim.errors import FormatError
from schedulers.slurm.job_request import Ask
from schedulers.slurm.queue import ReasonCode

_KINDS = ("after", "afterany", "afterok", "afternotok", "aftercorr")
_JOB = re.compile(r"(?P<id>[^:+]+)(?:\+(?P<minutes>[0-9]{1,9}))?")
_EXPECTED = "conditions such as afterok:1:2,after:3+10,singleton, with ? for , where one is enough"


@dataclass(frozen=True, slots=True)
class Condition:
    """Condition on a job, and for ``after`` the delay (s) after its start. ``singleton`` names no job."""

    kind: str
    job: str = ""
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Dependency:
    """Conditions of which all have to be met, or one (``?``)."""

    conditions: tuple[Condition, ...]
    one_is_enough: bool = False

    @classmethod
    def parse(cls, text: str) -> Dependency:
        """Read the value of ``--dependency``. Raises FormatError."""
        if "?" in text and "," in text:
            raise FormatError("dependency", _EXPECTED, text)
        conditions = []
        for part in re.split("[,?]", text.strip()):
            kind, _, jobs = part.strip().partition(":")
            if kind == "singleton" and not jobs:
                conditions.append(Condition(kind))
                continue
            for job in map(_JOB.fullmatch, jobs.split(":")):
                if kind not in _KINDS or job is None:
                    raise FormatError("dependency", _EXPECTED, text)
                conditions.append(Condition(kind, job["id"], 60.0 * int(job["minutes"] or 0)))
        return cls(tuple(conditions), "?" in text)


@dataclass(slots=True)
class _Fate:
    """State of a job so far."""

    ask: Ask
    start: float = math.nan  #: s; of a job that was withdrawn, when that was.
    is_over: bool = False
    is_well: bool = False  #: Whether it is over and did what it should.


class Dependencies:
    """Follows what becomes of jobs, and says whether those that they wait for are far enough.

    A job is over when its nodes are cleaned up; a job that nobody has submitted keeps nobody waiting.
    ``is_completing`` says whether a job (by its key) that has ended still holds nodes.
    """

    def __init__(self, is_completing: Callable[[int], bool]):
        self._is_completing = is_completing
        self._fates: dict[str, _Fate] = {}
        self._tasks: dict[str, list[str]] = {}  # of each array
        self._named: dict[tuple[str, str], list[str]] = {}  # jobs of a user with a name
        self._parsed: dict[str, Dependency] = {}
        self._never: set[int] = set()

    def submitted(self, ask: Ask) -> None:
        """Note that the job waits, for the first time or again."""
        if ask.job_id not in self._fates:
            if ask.array:
                self._tasks.setdefault(ask.array, []).append(ask.job_id)
            if ask.name:
                self._named.setdefault((ask.user, ask.name), []).append(ask.job_id)
        self._fates[ask.job_id] = _Fate(ask)

    def started(self, ask: Ask, now: float) -> None:
        """Note that the job runs from now on."""
        self._fates[ask.job_id].start = now

    def over(self, ask: Ask, now: float, is_well: bool) -> None:
        """Note that the job has ended, well or not, or has left the queue."""
        fate = self._fates.get(ask.job_id)
        if fate is not None:
            fate.is_over, fate.is_well = True, is_well
            fate.start = now if math.isnan(fate.start) else fate.start

    def reason(self, ask: Ask, now: float) -> ReasonCode:
        """Return why a job has to wait for others: NONE, if it need not."""
        if not ask.dependency:
            return ReasonCode.NONE
        if ask.key in self._never:
            return ReasonCode.NEVER
        found = self._of(ask)
        states = [self._state(condition, ask, now) for condition in found.conditions]
        if found.one_is_enough:
            if ReasonCode.NONE in states:
                return ReasonCode.NONE
            is_lost = all(state is ReasonCode.NEVER for state in states)
        else:
            if all(state is ReasonCode.NONE for state in states):
                return ReasonCode.NONE
            is_lost = ReasonCode.NEVER in states
        if is_lost:
            self._never.add(ask.key)
        return ReasonCode.NEVER if is_lost else ReasonCode.DEPENDENCY

    def next_change(self, ask: Ask, now: float) -> float:
        """Return when a delay that a job waits for is over, s; inf: it waits for no delay."""
        times = [
            self._fates[job].start + condition.delay_s
            for condition in (self._of(ask).conditions if ask.dependency else ())
            for job in self._jobs(condition, ask)
            if condition.delay_s and not math.isnan(self._fates[job].start)
        ]
        return min((time for time in times if time > now), default=math.inf)

    def _of(self, ask: Ask) -> Dependency:
        if ask.dependency not in self._parsed:
            self._parsed[ask.dependency] = Dependency.parse(ask.dependency)
        return self._parsed[ask.dependency]

    def _jobs(self, condition: Condition, ask: Ask) -> list[str]:
        """Return ids of the submitted jobs that a condition is about: a job, or tasks of an array."""
        if condition.kind == "singleton":
            same = self._named.get((ask.user, ask.name), []) if ask.name else []
            return [job for job in same if job != ask.job_id]
        if condition.kind == "aftercorr" and ask.array:
            task = f"{condition.job}_{ask.job_id.rpartition('_')[2]}"
            if task in self._fates:
                return [task]
        jobs = [condition.job, *self._tasks.get(condition.job, ())]
        return [job for job in jobs if job in self._fates]

    def _state(self, condition: Condition, ask: Ask, now: float) -> ReasonCode:
        """Return NONE if the condition is met, NEVER if it never will be."""
        fates = [self._fates[job] for job in self._jobs(condition, ask)]
        kind = condition.kind
        if kind == "singleton":  # earlier jobs, and any that runs
            waits = any(not fate.is_over and (fate.ask.key < ask.key or fate.start == fate.start) for fate in fates)
        elif kind == "after":
            waits = any(not now - fate.start >= condition.delay_s for fate in fates)
        else:
            waits = any(not fate.is_over or self._is_completing(fate.ask.key) for fate in fates)
        if waits:
            return ReasonCode.DEPENDENCY
        well = all(fate.is_well for fate in fates)
        if (kind in ("afterok", "aftercorr") and not well) or (kind == "afternotok" and fates and well):
            return ReasonCode.NEVER
        return ReasonCode.NONE
