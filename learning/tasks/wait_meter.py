"""Meter of the seconds that jobs wait during a run, for rewards."""

from __future__ import annotations

from cluster_sim.machine.running import Running
from cluster_sim.run.view import View


class WaitMeter:
    """Seconds that all jobs have waited so far, in the queue and while their nodes boot.

    :meth:`leave` is called when all is decided at an instant, :meth:`passed` when time has gone on.
    """

    def __init__(self) -> None:
        self.waited_s = 0.0  #: s
        self._since, self._waiting = 0.0, 0
        self._booting: list[Running] = []

    def leave(self, view: View) -> None:
        """Note which jobs wait until the next pass."""
        self._since, self._waiting = view.now, view.pending_count
        self._booting = [running for running in view.running if running.start_time > view.now]

    def passed(self, view: View) -> None:
        """Add what these jobs have waited since."""
        self.waited_s += self._waiting * (view.now - self._since)
        self.waited_s += sum(min(running.start_time, view.now) - self._since for running in self._booting)
        self._since = view.now
