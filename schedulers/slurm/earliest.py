"""When a job could start, and where, as running jobs come to the ends of their limits."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from schedulers.slurm.nodes import Free, Held, NodeSet
from schedulers.slurm.selection import Choice, Shape, choose
from schedulers.slurm.settings import Settings

_WINDOW = 30.0
"""Bunches of jobs go by multiples of this on the clock, s."""


class Releases:
    """What is free when the jobs that run have ended by their limits: one after the other, or in bunches.

    select/linear takes them out one by one; cons_tres takes several at a time, ever more the later they end, and tests
    once for all of them. ``epoch`` is what the clock shows at 0 s of the run.
    """

    def __init__(self, free: Free, held: Iterable[Held], now: float, settings: Settings, epoch: float = 0.0):
        self._settings = settings
        self._now = now
        self._epoch = epoch
        running: list[tuple[float, NodeSet, Held]] = []
        first = free
        for one in held:
            if one.ending:  # its nodes are all but free
                first = first.copy() if first is free else first
                first.release(one)
            else:
                running.append((self.expected_end(one), one.mask, one))
        running.sort(
            key=lambda each: (each[0], each[2].made, each[2].ask.key)
        )  # equal ends: as they stand in Slurm's list
        self._running = running
        self._after = {0: first}  # what is free when so many have ended
        self._known = [0]

    def expected_end(self, held: Held) -> float:
        """When a job is taken to end, s: by its limit, or soon, if it has overrun that."""
        if held.end > self._now:
            return held.end
        settings = self._settings
        if settings.whole_nodes:
            return self._now + 1.0
        if settings.over_time_limit == math.inf:
            return self._now + held.end - held.start
        return max(held.end + settings.over_time_limit, self._now + settings.kill_wait)

    def first_fit(self, shape: Shape, within: NodeSet) -> tuple[float, Choice] | None:
        """The first time at which the job fits on nodes of a set, s, and where; None: it never does."""
        choice = choose(shape, self._after[0], within)
        if choice is not None:
            return self._now, choice
        stages = list(self._one_by_one(within) if self._settings.whole_nodes else self._in_bunches(within))
        # Ever more is free: the first stage that could do is found by halves.
        first = bisect_left(stages, True, key=lambda stage: shape.may_fit(self._free_after(stage[1]), within))
        for end, ended in stages[first:]:
            choice = choose(shape, self._free_after(ended), within)
            if choice is not None:
                return end, choice
        return None

    def _one_by_one(self, within: NodeSet) -> Iterator[tuple[float, int]]:
        """The end of each job on these nodes, and how many of all have ended then."""
        for index, (end, mask, _) in enumerate(self._running):
            if mask & within:
                yield end, index + 1

    def _in_bunches(self, within: NodeSet) -> Iterator[tuple[float, int]]:
        """The same for bunches: one grows, by jobs on these nodes, while the next job of all ends within the window."""
        running = self._running
        first = next((end for end, mask, _ in running if mask & within), None)
        if first is None:
            return
        begin = (math.floor((first + self._epoch) / _WINDOW) + 1) * _WINDOW - self._epoch
        width, linear = _WINDOW, self._settings.bf_window_linear
        last, end = len(running) - 1, math.nan
        for index, (job_end, mask, _) in enumerate(running):
            if not mask & within:
                continue
            end = job_end
            if index < last and running[index + 1][0] > begin + width:
                while running[index + 1][0] > begin + width:
                    width = width + linear if linear else 2.0 * width
                yield end, index + 1
                end = math.nan
        if end == end:
            yield end, last + 1

    def _free_after(self, ended: int) -> Free:
        """What is free when so many have ended."""
        known = self._known
        before = known[bisect_right(known, ended) - 1]
        free = self._after[before]
        if before == ended:
            return free
        if self._settings.whole_nodes:
            emptied = 0
            for _, mask, _ in self._running[before:ended]:
                emptied |= mask
            free = free.emptied(emptied)
        else:
            free = free.copy()
            for _, _, one in self._running[before:ended]:
                free.release(one)
        self._after[ended] = free
        known.insert(bisect_right(known, ended), ended)
        return free
