"""When a job could start, and where, as running jobs come to the ends of their limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from operator import attrgetter

from schedulers.slurm.nodes import Free, Held, NodeSet
from schedulers.slurm.selection import Choice, Shape, choose
from schedulers.slurm.settings import Settings

_CLOCK_STEP = 30.0


class Releases:
    """What is free when the jobs that run have ended by their limits: one after the other, or in bunches.

    select/linear takes them out one by one; cons_tres takes several at a time, ever more the later they end, and tests
    once for all of them. ``epoch`` is what the clock shows at 0 s of the run: bunches go by multiples of 30 s of the clock.
    """

    def __init__(self, free: Free, held: Iterable[Held], now: float, settings: Settings, epoch: float = 0.0):
        self._settings = settings
        self._now = now
        self._epoch = epoch
        self._ends = sorted(
            ((self.expected_end(one), index, one) for index, one in enumerate(held)), key=lambda entry: entry[:2]
        )
        first = free
        for _, _, one in self._ends:
            if one.ending:  # its nodes are all but free
                first = first.copy() if first is free else first
                first.release(one)
        self._stages: list[tuple[float, Free]] = [(now, first)]
        self._more = self._one_by_one() if settings.whole_nodes else self._in_bunches()

    def expected_end(self, held: Held) -> float:
        """When a job is taken to end, s: by its limit, or soon, if it has overrun that."""
        if held.end > self._now or held.ending:
            return held.end
        settings = self._settings
        if settings.whole_nodes:
            return self._now + 1.0
        if 0.0 < settings.over_time_limit < math.inf and held.end + settings.over_time_limit > self._now:
            return held.end + settings.over_time_limit
        if settings.over_time_limit == math.inf:
            return self._now + held.end - held.start
        return self._now + settings.kill_wait

    def _one_by_one(self) -> Iterator[tuple[float, Free]]:
        free = self._stages[0][1]
        emptied: NodeSet = 0
        for end, _, one in self._ends:
            if not one.ending:
                emptied |= one.mask
                yield end, free.emptied(emptied)

    def _in_bunches(self) -> Iterator[tuple[float, Free]]:
        free = self._stages[0][1]
        waiting = [(end, one) for end, _, one in self._ends if not one.ending]
        if not waiting:
            return
        clock = waiting[0][0] + self._epoch
        base = (math.floor(clock / _CLOCK_STEP) + 1) * _CLOCK_STEP - self._epoch
        width, taken = _CLOCK_STEP, 0
        while taken < len(waiting):
            free = free.copy()
            end = waiting[taken][0]
            while taken < len(waiting) and waiting[taken][0] <= base + width:
                end = waiting[taken][0]
                free.release(waiting[taken][1])
                taken += 1
            while taken < len(waiting) and waiting[taken][0] > base + width:
                linear = self._settings.bf_window_linear
                width = width + linear if linear else 2.0 * width
            yield end, free

    def _stage(self, index: int) -> tuple[float, Free] | None:
        while len(self._stages) <= index:
            stage = next(self._more, None)
            if stage is None:
                return None
            self._stages.append(stage)
        return self._stages[index]

    def first_fit(self, shape: Shape, within: NodeSet) -> tuple[float, Choice] | None:
        """The first time at which the job fits on nodes of a set, s, and where; None: it never does."""
        index = 0
        while (stage := self._stage(index)) is not None:
            time, free = stage
            if (choice := choose(shape, free, within)) is not None:
                return time, choice
            index += 1
        return None


by_end = attrgetter("end")
