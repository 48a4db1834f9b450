"""When Slurm's loops look at the queue: nothing in them follows from an event at once."""

from __future__ import annotations

import math

from schedulers.slurm.settings import Settings

TICK = 1.0019
"""Time, s, from one look of the main loop to the next, as one machine shows: it sleeps a second, then works."""
LOOK = 1.0004
"""Time, s, from one look of the backfill loop to the next while nothing has changed; of the same machine."""
PASS_S = 0.0006
"""Time, s, that a pass of the backfill loop took there: the next is counted from its end."""
TEST_S = 0.00005
"""Time, s, that a test of a job took there: a pass gives up its locks when its tests add up to bf_yield_interval."""
TICKS_TO_CHECK = 30
"""Ticks from one check of limits to the next."""
_SAME = 1e-6


class MainClock:
    """Ticks once a second; says at which the main scheduler runs, and over how much of the queue."""

    def __init__(self, start: float, settings: Settings, tick: float = TICK):
        self._start = start
        self._tick = tick
        self._settings = settings
        self._last = self._last_whole = start
        self.asked = False  #: Whether something happened that it should look at.
        self.asked_whole = False  #: Whether it should look at the whole queue, for jobs that stand far behind.
        self._at_once = False

    def ask(self, at_once: bool = False) -> None:
        """Ask for a run after a submission, a clean-up, a change of a job or partition. Some let it run at once."""
        self.asked = self.asked_whole = True
        self._at_once = self._at_once or at_once

    def ask_whole(self) -> None:
        """Ask for a look at the whole queue, since time has made a job startable, which nobody tells the loop."""
        self.asked_whole = True

    def _note_whole(self, now: float) -> None:
        """Count the runs over the whole queue, every sched_interval, with those that are left out as useless."""
        while (due := self.tick_from(self._first(self._last_whole, self._settings.sched_interval))) < now - _SAME:
            self._last_whole = due

    def tick_from(self, time: float) -> float:
        """Return the first tick at or after a time, s."""
        return self._start + math.ceil((time - self._start) / self._tick - _SAME) * self._tick

    def check_after(self, time: float) -> float:
        """Return the first check of limits after a time, s."""
        step = self._tick * TICKS_TO_CHECK
        return self._start + (math.floor((time - self._start) / step + _SAME) + 1) * step

    def next_run(self, now: float) -> float:
        """Return when it next runs, if nothing else happens, s; inf: not."""
        if self._at_once:
            return now
        after = math.inf
        if self.asked:
            after = self._first(self._last, self._settings.batch_sched_delay)
        if self.asked_whole:
            self._note_whole(now)
            after = min(after, self._first(self._last_whole, self._settings.sched_interval))
        return after if after == math.inf else self.tick_from(max(after, now))

    @staticmethod
    def _first(last: float, delay: float) -> float:
        """Return from when on at least ``delay`` whole seconds of the clock have passed."""
        return math.floor(last) + delay

    def ran(self, now: float) -> int:
        """Run now, and return over how many jobs; 0 if there is no need to."""
        self._note_whole(now)
        self._at_once = False
        whole = self.asked_whole and now >= self._first(self._last_whole, self._settings.sched_interval)
        if not whole and not self.asked:
            return 0
        self._last, self.asked = now, False
        if whole:
            self._last_whole, self.asked_whole = now, False
        return 10**9 if whole else self._settings.default_queue_depth


class BackfillClock:
    """Looks bf_interval after the last pass, and again each second until something has changed.

    A pass that stirs is followed by another in any case: those between which nothing changes are left out.
    """

    def __init__(self, start: float, settings: Settings):
        self._interval = settings.bf_interval
        self._last = start
        self._step = LOOK
        self.changed = False  #: Whether a pass could come to another result than the last.
        self.goes_on = False  #: Whether it passes again anyway.
        self.second = -math.inf  #: Second of the last change.

    def note(self, now: float) -> None:
        """Note a change."""
        self.changed, self.second = True, math.floor(now)

    def next_pass(self, now: float) -> float:
        """Return when the next pass is, s; inf: not before something changes."""
        if not self.changed:
            return math.inf
        first = self._last + self._interval + PASS_S
        if now <= first:
            return first
        return first + math.ceil((now - first) / self._step - _SAME) * self._step

    def passed(self, now: float, changed: bool, stirs: bool) -> None:
        """Note that a pass is over, whether it changed something, and whether it is itself a reason to pass again.

        A change in the second of the pass may have come after it, by Slurm's clock.
        """
        self._last = now
        self._step = max(self._interval, LOOK) if stirs else LOOK
        self.changed = changed or self.second == math.floor(now)
        self.goes_on = stirs
