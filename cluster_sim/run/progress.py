"""How far a long command is, on stderr: a bar on a terminal, a line now and then anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

from cluster_sim.amounts import PLAIN_SECONDS, duration

if TYPE_CHECKING:
    from tqdm import tqdm

LEAST_GAP_S = 5.0
"""Wall-clock seconds from the start, or from the line before, in which there is no line: a short command stays quiet."""
LONGEST_GAP_S = 30.0
"""Wall-clock seconds after which there is a line, whatever was done since the one before."""
LINES = 10
"""Parts of the whole after each of which there is a line."""
_LOOK_EVERY_S = 0.5


def on_terminal() -> bool:
    """Return whether there is a standard error, and it is a terminal: where bars are shown."""
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


class Progress:
    """The progress of a piece of work, shown while the ``with`` block runs; nothing is written to stdout, ever.

    On a terminal it is a bar that vanishes at the end. Elsewhere :meth:`look` writes plain lines, such as
    ``train: 30 % (6 of 20 iterations), 95 s gone, about 220 s left``. A thread looks twice a second, so that a long step
    does not look like a standstill. Whatever goes wrong with stderr, the work goes on.

    Parameters
    ----------
    name, unit : what the lines begin with, and what is counted, in the plural.
    total, done : how many there are, and how many of them an earlier call has done.
    shown : False shows nothing, as in processes that work for another one.
    count : says how many are done, where nobody calls :meth:`reach`.
    clock : wall-clock time, s.
    """

    def __init__(
        self,
        name: str,
        total: int,
        unit: str,
        done: int = 0,
        shown: bool = True,
        count: Callable[[], int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.name, self.total, self.unit, self.done, self.shown = name, total, unit, done, shown
        self.notes: dict[str, str] = {}
        self._count, self._clock = count, clock
        self._before, self._began = done, clock()
        self._last_line, self._parts = self._began, self._part(done)
        self._bar: tqdm | None = None
        if shown and on_terminal():
            from tqdm import tqdm

            self._bar = tqdm(total=total, initial=done, unit=f" {unit}", leave=False, dynamic_ncols=True)

    def reach(self, done: int, **notes: str) -> None:
        """Note that so many are done, and what is to stand behind: ``failed="2"``."""
        self.done = done
        if notes:
            self.notes = notes

    def look(self) -> None:
        """Draw the bar anew; without one, write a line if it is time for one."""
        if self._count is not None:
            self.done = self._count()
        if self._bar is not None:
            self._bar.n = self.done
            self._bar.set_postfix(self.notes, refresh=False)
            self._bar.refresh()
            return
        now = self._clock()
        waited, part = now - self._last_line, self._part(self.done)
        if waited >= LONGEST_GAP_S or (part > self._parts and waited >= LEAST_GAP_S):
            self._last_line, self._parts = now, part
            gone_s, percent = now - self._began, 100 * self.done // max(self.total, 1)
            line = f"{self.name}: {percent} % ({self.done:,} of {self.total:,} {self.unit}), {_in_words(gone_s)} gone"
            if self._before < self.done < self.total:
                left_s = gone_s * (self.total - self.done) / (self.done - self._before)
                line += f", about {_in_words(left_s)} left"
            line += "".join(f", {name} {value}" for name, value in self.notes.items())
            if sys.stderr is not None:
                sys.stderr.write(f"{line}\n")
                sys.stderr.flush()

    def __enter__(self) -> Progress:
        if self.shown:
            self._over = Event()

            def watch() -> None:
                while not self._over.wait(_LOOK_EVERY_S):
                    with suppress(OSError, ValueError):  # a stderr that is full, or closed
                        self.look()

            self._thread = Thread(target=watch, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        if not self.shown:
            return
        self._over.set()
        self._thread.join()
        with suppress(OSError, ValueError):
            self.look()
            if self._bar is not None:
                self._bar.close()

    def _part(self, done: int) -> int:
        return LINES * done // max(self.total, 1)


def _in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < PLAIN_SECONDS else duration(seconds)
