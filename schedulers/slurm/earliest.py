"""When a job could start, and where, as running jobs come to the ends of their limits."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from schedulers.slurm.gang import SharedFree
from schedulers.slurm.nodes import Free, Held, NodeSet
from schedulers.slurm.selection import Choice, Shape, choose
from schedulers.slurm.settings import Settings

if TYPE_CHECKING:
    from schedulers.slurm.cluster import Queue

_WINDOW = 30.0
"""Bunches of jobs go by multiples of this on the clock, s."""


class Releases:
    """What is free when the jobs that run have ended by their limits: one after the other, or in bunches.

    select/linear takes them out one by one; cons_tres takes several at a time, ever more the later they end, and tests
    once for all of them. ``epoch`` is what the clock shows at 0 s of the run. ``candidates`` are jobs from which the job
    could take nodes: it can if it fits without them, whatever else ends. Where jobs of several tiers share cores, it
    stands in ``queue``.
    """

    def __init__(
        self,
        free: Free,
        held: Iterable[Held],
        now: float,
        settings: Settings,
        epoch: float = 0.0,
        candidates: Sequence[Held] = (),
        queue: Queue | None = None,
    ):
        self._settings = settings
        self._now = now
        self._epoch = epoch
        self._queue = queue
        running: list[tuple[float, NodeSet, Held]] = []
        first = free
        for one in held:
            if one.ending:  # its nodes are all but free
                first = first.copy() if first is free else first
                first.release(one)
            elif one not in candidates:
                running.append((one.end, one.mask, one))
        running.sort(
            key=lambda each: (each[0], each[2].made, each[2].ask.key)
        )  # equal ends: as they stand in Slurm's list
        self._running = running
        self._at_once = first if candidates else None
        if candidates:
            first = first.copy()
            for one in candidates:
                (first.release_cores if isinstance(first, SharedFree) else first.release)(one)
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
        return max(held.end + settings.over_time_limit + settings.kill_wait, self._now + 1.0)

    def first_fit(self, shape: Shape, within: NodeSet) -> tuple[float, Choice] | None:
        """The first time at which the job fits on nodes of a set, s, and where; None: it never does."""
        choice = None if self._at_once is None else self._choose(shape, self._at_once, within)
        if choice is None:
            choice = self._choose(shape, self._after[0], within)
        if choice is not None:
            return self._now, choice
        stages = list(self._one_by_one(within) if self._settings.whole_nodes else self._in_bunches(within))
        # Ever more is free: the first stage that could do is found by halves.
        first = 0
        if self._queue is None:
            first = bisect_left(stages, True, key=lambda stage: shape.may_fit(self._free_after(stage[1]), within))
        for last, ended in stages[first:]:
            choice = self._choose(shape, self._free_after(ended), within)
            if choice is not None:
                return self.expected_end(last), choice
        return None

    def _choose(self, shape: Shape, free: Free, within: NodeSet) -> Choice | None:
        if self._queue is not None and isinstance(free, SharedFree):
            return free.choices(shape, within, self._queue)
        return choose(shape, free, within)

    def _one_by_one(self, within: NodeSet) -> Iterator[tuple[Held, int]]:
        """Each job on these nodes, and how many of all have ended with it."""
        for index, (_, mask, one) in enumerate(self._running):
            if mask & within:
                yield one, index + 1

    def _in_bunches(self, within: NodeSet) -> Iterator[tuple[Held, int]]:
        """The same for the last jobs of bunches. A bunch grows while the next of all jobs ends within the window."""
        running = self._running
        first = next((end for end, mask, _ in running if mask & within), None)
        if first is None:
            return
        begin = (math.floor((first + self._epoch) / _WINDOW) + 1) * _WINDOW - self._epoch
        width, linear = _WINDOW, self._settings.bf_window_linear
        last, taken = len(running) - 1, None
        for index, (_, mask, one) in enumerate(running):
            if not mask & within:
                continue
            taken = one
            if index < last and running[index + 1][0] > begin + width:
                while running[index + 1][0] > begin + width:
                    width = width + linear if linear else 2.0 * width
                yield one, index + 1
                taken = None
        if taken is not None:
            yield taken, last + 1

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
