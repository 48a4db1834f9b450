"""The end of a run: with its last job, or at the time that it was told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simpy.events import URGENT, Event

from cluster_sim.engine import END, Environment
from cluster_sim.errors import SimulationError

if TYPE_CHECKING:
    from cluster_sim.run.jobs.attempts import Attempts
    from cluster_sim.run.jobs.run_jobs import RunJobs


class EndOfRun:
    """The end of a run: with its last job, unless a process holds it open, and at ``until`` (s) in any case."""

    def __init__(self, env: Environment, jobs: RunJobs, attempts: Attempts, until: float | None):
        self._env = env
        self._jobs = jobs
        self._attempts = attempts
        self._held_open = 0  # by how many processes, so that the run does not end with its last job
        self.is_over = False  #: True when the last job is over, or nothing is left that could start another.
        self.event: Event = env.event() if until is None else env.at(until, URGENT)  #: The end.

        def finish(event: Event) -> None:
            self.is_over = True

        self.event.callbacks.append(finish)
        attempts.all_over.append(self.check)

    def hold_open(self) -> None:
        """Do not end with the last job: a process may submit others later. Until :meth:`release`, as often as this."""
        self._held_open += 1

    @property
    def is_held_open(self) -> bool:
        """Return whether somebody holds the run open now."""
        return self._held_open > 0

    def release(self) -> None:
        """Take one :meth:`hold_open` back. Raises SimulationError if there is none."""
        if not self._held_open:
            raise SimulationError("simulation.release: nobody holds the run open")
        self._held_open -= 1
        self.check()

    def check(self, *heard: object) -> None:
        """End the run if nothing is left, whatever has been heard."""
        # When everybody has seen this instant: until then a process may submit a job, or have one wait again.
        self._env.at(self._env.now, END).callbacks.append(self._end)

    def _end(self, event: Event) -> None:
        if self._attempts.over == self._jobs.count and not self._held_open and not self.event.triggered:
            self.event.succeed()
