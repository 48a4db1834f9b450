"""Usage of users as Slurm counts it: CPU-seconds that decay, added at every PriorityCalcPeriod and at a job's end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

LN_2 = 0.693
"""Natural logarithm of 2, as Slurm has it."""


def decay_per_second(half_life_s: float) -> float:
    """Return what remains of usage after a second: ``1 - 0.693 / half life``, at least 0; 1 for a half life of 0."""
    return max(0.0, 1.0 - LN_2 / half_life_s) if half_life_s > 0.0 else 1.0


@dataclass(slots=True)
class Usage:
    """Usage of every association in weighted CPU-seconds, and the jobs that go on adding to it.

    ``parents`` are positions of the associations above, -1 for the root; ``decay`` is what remains after a second.
    Times count in whole seconds, as in Slurm.
    """

    parents: Sequence[int]
    decay: float
    _own: npt.NDArray[np.float64] = field(init=False)  # charged to each association itself
    _jobs: dict[int, tuple[int, float, int]] = field(default_factory=dict, init=False)
    _last: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._own = np.zeros(len(self.parents))

    def extend(self) -> None:
        """Add an association, the last of ``parents``."""
        self._own = np.append(self._own, 0.0)

    def begin(self, now: float) -> None:
        """Count periods from now on (s)."""
        self._last = math.floor(now)

    def start(self, job: int, association: int, rate: float, now: float) -> None:
        """Count ``rate`` weighted CPUs for a job from now on (s)."""
        self._jobs[job] = association, rate, math.floor(now)

    def stop(self, job: int, now: float) -> None:
        """Add what a job used since the last period, and count no more for it. One that used nothing is left alone."""
        if job in self._jobs:
            self._add(*self._jobs.pop(job), math.floor(now))

    def _add(self, association: int, rate: float, since: int, now: int) -> None:
        seconds = now - since
        if seconds > 0:
            self._own[association] += rate * seconds * self.decay**seconds

    def end_period(self, now: float, waiting: Mapping[int, int] = MappingProxyType({})) -> dict[int, float]:
        """Let all usage decay over the period that ends now (s), and add that of running jobs.

        Slurm goes through the jobs in their order, running and waiting ones. ``waiting`` has, by job, associations of which it
        looks at the usage when it comes by that job; what comes back is their part of all usage at that moment.
        """
        second, parts = math.floor(now), dict[int, float]()
        self._own *= self.decay ** (second - (second if self._last is None else self._last))
        for job in sorted([*self._jobs, *waiting]) if waiting else list(self._jobs):
            if job in waiting:
                total = float(self._own.sum())
                parts[waiting[job]] = float(self._own[waiting[job]]) / total if total > 0.0 else 0.0
                continue
            association, rate, since = self._jobs[job]
            self._add(association, rate, since, second)
            self._jobs[job] = association, rate, max(since, second)
        self._last = second
        return parts

    def totals(self) -> list[float]:
        """Return the usage of each association with all below it, shape (associations,)."""
        totals: list[float] = self._own.tolist()
        for child in range(len(totals) - 1, 0, -1):
            totals[self.parents[child]] += totals[child]
        return totals
