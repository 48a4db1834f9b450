"""A family of job orders to be tuned: products of powers of requests, waits and what a user's jobs usually take."""

from __future__ import annotations

from copy import copy
from typing import Annotated, Any

import numpy as np
from typing_extensions import Doc

from cluster_sim.errors import SpecError
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job, JobColumns
from schedulers.queue.usual_times import UsualTimes

_LONGEST_S = 1e12
"""Time, s, that a job without a request counts as requesting."""
_MOST = 7
"""Largest exponent, so that no product is beyond what a number can be."""


class Powers:
    """Least r^a · n^b · (1 + w)^c · u^d first: r and w are the requested time and the wait so far (s), n the requested cores.

    (1, 0, 0) is ``sjf``, (0, 1, 0) ``smallest``, (1, 1, 0) ``saf``; with c below 0 jobs come forward as they wait. u is what
    the user's jobs usually take (:class:`~schedulers.queue.usual_times.UsualTimes`), which the order learns in each run from
    those
    that have ended; ``known`` is what it knows from the start. Requested times count as 1 s at least, usual ones as 10 s.
    """

    def __init__(
        self, time: float, cores: float, wait: float = 0.0, usual: float = 0.0, known: UsualTimes | None = None
    ):
        self._time, self._cores, self._wait, self._usual = time, cores, wait, usual
        self.dynamic = self.by_column = wait != 0.0 or usual != 0.0
        self.__name__ = (
            f"powers:{time:g}:{cores:g}:{wait:g}" + (f":{usual:g}" if usual else "") + ":known" * bool(known)
        )
        self.known = known or UsualTimes()  #: What it knows of users when a run begins.
        self._in_run: PowersInRun | None = None

    def in_run(self, view: View) -> Powers | PowersInRun:
        """Return the order in a run, where it learns what users' jobs take if it needs that: one for all who ask."""
        if not self._usual:
            return self
        if self._in_run is None or self._in_run.view is not view:
            self._in_run = PowersInRun(self, view)
        return self._in_run

    def __call__(self, job: Job | JobColumns, now: float) -> Any:
        """Return the product; of one job, or of many at once."""
        return self.key(job, now, self.known)

    def key(self, job: Job | JobColumns, now: float, known: UsualTimes) -> Any:
        """Return the product, where so much is known of the users."""
        if not self._usual:
            return self._requested(job, now)
        if not isinstance(job, JobColumns):
            # As a column, too: a number's power and that of many at once may differ in the last bit, and equal jobs have to tie.
            return float(self.key(JobColumns(job, np.array([job.index])), now, known)[0])
        return self._requested(job, now) * known.of(job.user.tolist(), _time(job)) ** self._usual

    def _requested(self, job: Job | JobColumns, now: float) -> Any:
        """Return the factors that do not depend on the user."""
        key = _time(job) ** self._time * np.float64(job.requested_cores) ** self._cores
        return key * (1.0 + now - job.submit_time) ** self._wait if self._wait else key


def _time(job: Job | JobColumns) -> Any:
    return np.minimum(np.maximum(job.requested_time, 1.0), _LONGEST_S)


class PowersInRun:
    """Products of powers in a run, and what its users' jobs have taken so far."""

    dynamic = True
    by_column = True

    def __init__(self, powers: Powers, view: View):
        self.view = view
        self._powers = powers
        self._known = copy(powers.known)
        self._waits = bool(powers._wait)
        self.version = 0  #: Another number whenever keys of jobs that wait have changed.
        view.planning.follow(self._follow)

    def _follow(self) -> None:
        if self._known.follow(self.view) or self._waits:
            self.version += 1

    def __call__(self, job: Job | JobColumns, now: float) -> Any:
        return self._powers.key(job, now, self._known)

    def tell(self, job: Job) -> str:
        """Say what a waiting job is expected to take, for people."""
        usual = self._known.of([job.user], np.array([_time(job)]))
        return f"expected to take {usual.item():,.0f} s, by its request and {self._known.count(job.user)} jobs of its user's"


def powers(
    exponents: Annotated[str, Doc("exponents of time, cores, wait and usual time, A:B:C:D")] = "1:1:0",
) -> Powers:
    """Least r^a · n^b · (1 + w)^c · u^d first, of time, cores, wait, user's usual time: powers:A:B:C:D; powers:1:1 is saf."""
    try:
        numbers = [float(part) for part in exponents.split(":")]
    except ValueError:
        numbers = []
    if not 2 <= len(numbers) <= 4 or not all(abs(one) <= _MOST for one in numbers):
        text = f"two to four numbers such as 1:2:-0.1, exponents of time, cores, wait and usual time, from -{_MOST} to {_MOST}"
        raise SpecError("job order 'powers'", text, exponents)
    return Powers(*numbers)  # type: ignore[arg-type]
