"""Jobs to which time closes and opens nodes: those that name an advance reservation, or wait for few switches.

They wait for the window to begin, and are refused when it is too late.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cluster_sim.engine import REACT, Environment, latest

if TYPE_CHECKING:
    from simpy.events import Event

    from cluster_sim.machine.eligibility import Eligibility
    from cluster_sim.workload.jobs import Job


class WindowGate:
    """The gate between submission and queue for jobs that name an advance reservation.

    A job that comes before its window is held back until that begins, so that it blocks no other job: no scheduler
    could start it. One that still waits when it can no longer end within the window, by its request, is refused after
    the pass of that instant. ``admit`` (to the queue) and ``refuse`` (unless it is in the queue no more) are the
    simulation's; ``turn`` is called when a window begins or ends, and when a job has waited long enough for few switches.
    """

    def __init__(
        self,
        env: Environment,
        eligibility: Eligibility,
        admit: Callable[[Job], None],
        refuse: Callable[[Job, str], None],
        turn: Callable[[], None],
    ):
        self._env = env
        self._eligibility = eligibility
        self._admit, self._refuse, self._turn = admit, refuse, turn
        self.held: dict[int, Job] = {}  #: Jobs whose window has not begun.
        for time in eligibility.turning_times:
            if time > env.now:
                env.at(time).callbacks.append(lambda event: turn())

    def holds(self, job: Job) -> bool:
        """Return whether a job that could now go to the queue is held back instead."""
        if (until := self._eligibility.switches_until(job)) < float("inf") and until > self._env.now:
            self._env.at(until).callbacks.append(lambda event: self._turn())
        if not job.reservation:
            return False

        def let_in(event: Event) -> None:
            if self.held.pop(job.index, None) is not None:
                self._admit(job)

        start = self._eligibility.earliest_start(job)
        if start > latest(self._env.now):
            self.held[job.index] = job
            self._env.at(start).callbacks.append(let_in)
            return True
        last = max(self._eligibility.latest_start(job), self._env.now)
        reason = f"it could not start in time to end within advance reservation '{job.reservation}'"
        self._env.at(last, REACT).callbacks.append(lambda event: self._refuse(job, reason))
        return False
