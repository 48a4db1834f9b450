"""When a job could start, and where, as running jobs come to the ends of their limits."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from schedulers.slurm.ends import Ends
from schedulers.slurm.gang import SharedFree
from schedulers.slurm.nodes import Free, Held, NodeSet
from schedulers.slurm.selection import Choice, Shape, choose
from schedulers.slurm.settings import Settings

if TYPE_CHECKING:
    from schedulers.slurm.cluster import Queue

_WINDOW = 30.0
"""Bunches of jobs go by multiples of this on the clock, s."""
_end_of = attrgetter("end")


class Releases:
    """What is free when the jobs that run have ended by their limits: one after the other, or in bunches.

    select/linear takes them out one by one; cons_tres takes several at a time, ever more the later they end, and tests
    once for all of them. Jobs that are ``ending`` have all but left their nodes. ``epoch`` is what the clock shows at 0 s of
    the run. ``candidates`` are jobs from which the job could take nodes: it can if it fits without them, whatever else ends.
    Where jobs of several tiers share cores, it stands in ``queue``.
    """

    def __init__(
        self,
        free: Free,
        ends: Ends,
        ending: Iterable[Held],
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
        first = free
        for one in ending:
            first = first.copy() if first is free else first
            first.release(one)
        self._ends = Ends(one for one in ends.jobs if one not in candidates) if candidates else ends
        self._running = self._ends.jobs
        self._at_once = first if candidates else None
        if candidates:
            first = first.copy()
            for one in candidates:
                (first.release_cores if isinstance(first, SharedFree) else first.release)(one)
        self._after = {0: first}  # what is free when so many have ended
        self._known = [0]
        self._emptied: list[NodeSet] = [0]  # nodes of the first of them, of which so many are known

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
        for last, ended in self._stages(shape, within):
            choice = self._choose(shape, self._free_after(ended), within)
            if choice is not None:
                return self.expected_end(last), choice
        return None

    def not_before(self, shape: Shape, within: NodeSet) -> float:
        """A time before which the job fits on no part of a set, s; now, if that is not clear; inf: it never fits."""
        if self._queue is not None or shape.may_fit(self._after[0], within):
            return self._now
        before = 0  # after so many have ended it does not fit
        if self._settings.whole_nodes:
            before = self._first_enough(shape, within) - 1
        else:
            for _, ended in self._in_bunches(within):
                if shape.may_fit(self._free_after(ended), within):
                    break
                before = ended
            else:
                return math.inf
        return max(self._running[before].end, self._now) if before < len(self._running) else math.inf

    def _stages(self, shape: Shape, within: NodeSet) -> Iterator[tuple[Held, int]]:
        """Jobs on these nodes, or the last ones of bunches, from the first after which the job may fit; how many have ended then.

        Ever more is free: the first is found by halves.
        """
        if self._settings.whole_nodes and self._queue is None:
            for index in range(self._first_enough(shape, within) - 1, len(self._running)):
                if self._running[index].mask & within:
                    yield self._running[index], index + 1
            return
        stages = list(self._in_bunches(within))
        first = 0
        if self._queue is None:
            first = bisect_left(stages, True, key=lambda stage: shape.may_fit(self._free_after(stage[1]), within))
        yield from stages[first:]

    def _first_enough(self, shape: Shape, within: NodeSet) -> int:
        """How many jobs have to end, one by one, until the job may fit; one more than there are: that is not enough."""
        numbers = range(1, len(self._running) + 1)
        return 1 + bisect_left(numbers, True, key=lambda ended: shape.may_fit(self._free_after(ended), within))

    def _choose(self, shape: Shape, free: Free, within: NodeSet) -> Choice | None:
        if self._queue is not None and isinstance(free, SharedFree):
            return free.choices(shape, within, self._queue)
        return choose(shape, free, within)

    def _in_bunches(self, within: NodeSet) -> Iterator[tuple[Held, int]]:
        """The last jobs of bunches. A bunch grows, by jobs on these nodes, while the next of all jobs ends within the window."""
        running = self._running
        index = self._next_on(within, 0)
        if index is None:
            return
        begin = (math.floor((running[index].end + self._epoch) / _WINDOW) + 1) * _WINDOW - self._epoch
        width, linear = _WINDOW, self._settings.bf_window_linear
        last = len(running) - 1
        while True:
            # The first job on these nodes of which the next of all ends after the window.
            beyond = bisect_right(running, begin + width, key=_end_of) - 1
            boundary = self._next_on(within, max(index, beyond)) if beyond < last else None
            if boundary is None or boundary == last:
                break
            following = running[boundary + 1].end
            while following > begin + width:
                width = math.inf if following == math.inf else width + linear if linear else 2.0 * width
            yield running[boundary], boundary + 1
            index = self._next_on(within, boundary + 1)
            if index is None:
                return
        yield next(held for held in reversed(running) if held.mask & within), last + 1

    def _next_on(self, within: NodeSet, index: int) -> int | None:
        """The first job on these nodes, from one on."""
        running = self._running
        for place in range(index, len(running)):
            if running[place].mask & within:
                return place
        return None

    def _free_after(self, ended: int) -> Free:
        """What is free when so many have ended."""
        free = self._after.get(ended)
        if free is None:
            if self._settings.whole_nodes:
                free = self._after[0].emptied(self._nodes_of(ended))
            else:
                place = bisect_right(self._known, ended)
                before = self._known[place - 1]
                free = self._after[before].after(self._ends, before, ended)
                self._known.insert(place, ended)
            self._after[ended] = free
        return free

    def _nodes_of(self, ended: int) -> NodeSet:
        """Nodes of the first so many that run."""
        emptied = self._emptied
        for held in self._running[len(emptied) - 1 : ended]:
            emptied.append(emptied[-1] | held.mask)
        return emptied[ended]
