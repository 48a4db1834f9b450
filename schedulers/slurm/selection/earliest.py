"""When a job could start, and where, as running jobs come to the ends of their limits."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import or_
from typing import TYPE_CHECKING

from schedulers.slurm.gang import SharedFree
from schedulers.slurm.selection.best_fit import ChosenNodes, Shape, choose, choose_of
from schedulers.slurm.selection.node_holder import NodeHolder, RunningByEnd
from schedulers.slurm.selection.node_sets import NodeSet
from schedulers.slurm.selection.nodes import FreeCpus
from schedulers.slurm.settings import Settings

if TYPE_CHECKING:
    from schedulers.slurm.partitions import Queue

_WINDOW = 30.0
"""Multiples of this time, s, on the clock separate bunches of jobs."""


class LimitReleases:
    """Free CPUs and memory when the running jobs have ended by their limits: one after the other, or in bunches.

    select/linear takes them out one by one; cons_tres takes several at a time, ever more the later they end, and tests
    once for all of them. Jobs that are ``ending`` have all but left their nodes. ``epoch`` is what the clock shows at 0 s of
    the run. ``candidates`` are jobs from which the job could take nodes: it can if it fits without them, whatever else ends.
    Where jobs of several tiers share cores, it stands in ``queue``.
    """

    def __init__(
        self,
        free: FreeCpus,
        ends: RunningByEnd,
        ending: Iterable[NodeHolder],
        now: float,
        settings: Settings,
        epoch: float = 0.0,
        candidates: Sequence[NodeHolder] = (),
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
        self._ends = RunningByEnd(one for one in ends.jobs if one not in candidates) if candidates else ends
        self._running = self._ends.jobs
        self._at_once = first if candidates else None
        if candidates:
            first = first.copy()
            for one in candidates:
                (first.release_cores if isinstance(first, SharedFree) else first.release)(one)
        self._after = {0: first}  # what is free when so many have ended
        self._known = [0]
        self._end_times = [held.end for held in self._running]
        self._bunches: dict[NodeSet, list[int]] = {}
        self._masks = [held.mask for held in self._running]
        # Nodes that still hold jobs when so many have ended.
        self._busy_after = list(accumulate(reversed(self._masks), or_, initial=0))[::-1]

    def expected_end(self, held: NodeHolder) -> float:
        """Return when a job is taken to end, s: by its limit, or soon after it; a guest when it is to leave."""
        if held.end > self._now:
            return held.end
        settings = self._settings
        if settings.whole_nodes or held.is_guest:
            return self._now + 1.0
        if settings.over_time_limit == math.inf:
            return max(self._now + held.end - held.start, self._now + 1.0)
        return max(held.end + settings.over_time_limit + settings.kill_wait, self._now + 1.0)

    def first_fit(
        self, shape: Shape, within: NodeSet, least: int = 0, until: float = math.inf
    ) -> tuple[float, ChosenNodes | None] | None:
        """Return the first time at which the job fits on nodes of a set, s, and where; None: it never does.

        It is known not to fit before ``least`` jobs have ended. Where it is clear that it does not fit until a time (s),
        ``until``, nothing is chosen.
        """
        if not least:
            choice = None if self._at_once is None else self._choose(shape, self._at_once, within)
            if choice is None:
                choice = self._choose(shape, self._after[0], within)
            if choice is not None:
                return self._now, choice
        counts, first = self._counts(within), 0
        if self._queue is None:  # ever more is free: the first that may be enough is found by halves
            first = self._first_enough(counts, shape, within, bisect_left(counts, least))
        for ended in counts[first:]:
            last = ended - 1  # of those that have ended, the last one on these nodes
            while not self._masks[last] & within and not self._settings.whole_nodes:
                last -= 1
            if not self._masks[last] & within:
                continue
            time = self.expected_end(self._running[last])
            if time > until:
                return time, None
            if shape.whole and self._queue is None:
                empty_after = within & shape.fitting(self._after[0].facts) & ~self._busy_after[ended]
                choice = choose_of(shape, self._after[0], empty_after)
            else:
                choice = self._choose(shape, self._free_after(ended), within)
            if choice is not None:
                return time, choice
        return None

    def least_ended(self, shape: Shape, within: NodeSet) -> int | None:
        """Return how many jobs have to end at least until the job may fit on a part of a set; None: it never fits."""
        if self._queue is not None or shape.may_fit(self._after[0], within):
            return 0
        counts = self._counts(within)
        first = self._first_enough(counts, shape, within, 0)
        if first == len(counts):
            return None
        return counts[first - 1] + 1 if first else 1

    def end_of(self, ended: int) -> float:
        """Return when so many jobs have ended at the soonest, s."""
        return max(self._end_times[ended - 1], self._now) if ended else self._now

    def _counts(self, within: NodeSet) -> Sequence[int]:
        """Return how many jobs have ended when one has, or a bunch with jobs on these nodes."""
        if self._settings.whole_nodes:
            return range(1, len(self._running) + 1)
        found = self._bunches.get(within)
        if found is None:
            found = self._bunches[within] = list(self._in_bunches(within))
        return found

    def _first_enough(self, counts: Sequence[int], shape: Shape, within: NodeSet, known: int) -> int:
        """Return the place of the first count, from ``known`` on, after which the job may fit; else one past all."""
        first, last = known, len(counts)
        facts = self._after[0].facts
        on_empty = shape.whole or shape.needs_empty(facts)
        fitting, needed, busy = within & shape.fitting(facts), shape.nodes_needed(facts), self._busy_after
        middle = first
        while first < last:  # by halves, but for the first that is tried
            if on_empty:
                is_enough = (fitting & ~busy[counts[middle]]).bit_count() >= needed
            else:
                is_enough = shape.may_fit(self._free_after(counts[middle]), within)
            first, last = (first, middle) if is_enough else (middle + 1, last)
            middle = (first + last) // 2
        return first

    def _choose(self, shape: Shape, free: FreeCpus, within: NodeSet) -> ChosenNodes | None:
        if self._queue is not None and isinstance(free, SharedFree):
            return free.choices(shape, within, self._queue)
        return choose(shape, free, within)

    def _in_bunches(self, within: NodeSet) -> Iterator[int]:
        """Yield how many jobs have ended with each bunch.

        A bunch grows, by jobs on these nodes, while the next of all jobs ends within the window.
        """
        index = self._next_on(within, 0)
        if index is None:
            return
        ends = self._end_times
        begin = ends[index]
        if begin < math.inf:
            begin = (math.floor((begin + self._epoch) / _WINDOW) + 1) * _WINDOW - self._epoch
        width, linear = _WINDOW, self._settings.bf_window_linear
        last = len(ends) - 1
        while index is not None:
            # The first job on these nodes of which the next of all ends after the window.
            beyond = bisect_right(ends, begin + width) - 1
            boundary = self._next_on(within, max(index, beyond)) if beyond < last else None
            if boundary is None or boundary == last:
                yield last + 1
                return
            following = ends[boundary + 1]
            while following > begin + width:
                width = math.inf if following == math.inf else width + linear if linear else 2.0 * width
            yield boundary + 1
            index = self._next_on(within, boundary + 1)

    def _next_on(self, within: NodeSet, index: int) -> int | None:
        """Return the first job on these nodes, from one on."""
        masks = self._masks
        for place in range(index, len(masks)):
            if masks[place] & within:
                return place
        return None

    def _free_after(self, ended: int) -> FreeCpus:
        """Return what is free when so many have ended."""
        free = self._after.get(ended)
        if free is None:
            place = bisect_right(self._known, ended)
            before = self._known[place - 1]
            free = self._after[ended] = self._after[before].after(self._ends, before, ended)
            self._known.insert(place, ended)
        return free
