"""A family of job orders: products of powers of what a job requests and of its wait, to be tuned to a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.errors import SpecError

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job

_LONGEST_S = 1e12
"""What a job that requests no time counts as requesting."""
_MOST = 10
"""Of an exponent, so that no product is beyond what a number can be."""


class Powers:
    """Least r^a · n^b · (1 + w)^c first: r is the requested time (s, at least 1), n the requested cores, w the wait so far (s).

    (1, 0, 0) is ``sjf``, (0, 1, 0) ``smallest``, (1, 1, 0) ``saf``; with c below 0 jobs come forward as they wait.
    """

    def __init__(self, time: float, cores: float, wait: float = 0.0):
        self._time, self._cores, self._wait = time, cores, wait
        self.dynamic = self.by_column = wait != 0.0
        self.__name__ = f"powers:{time:g}:{cores:g}:{wait:g}"

    def __call__(self, job: Job, now: float) -> float:
        """The product."""
        time = np.minimum(np.maximum(job.requested_time, 1.0), _LONGEST_S)
        key = time**self._time * np.float64(job.requested_cores) ** self._cores
        return key * (1.0 + now - job.submit_time) ** self._wait if self._wait else key  # type: ignore[no-any-return]


def powers(exponents: str = "1:1:0") -> Powers:
    """Least r^a · n^b · (1 + wait)^c first, r the requested time, n the cores: powers:A:B:C; powers:1:1:0 is saf."""
    try:
        numbers = [float(part) for part in exponents.split(":")]
    except ValueError:
        numbers = []
    if not 2 <= len(numbers) <= 3 or not all(abs(one) <= _MOST for one in numbers):
        text = f"two or three numbers such as 1:2:-0.1, exponents of time, cores and wait, of at most {_MOST}"
        raise SpecError("job order 'powers'", text, exponents)
    return Powers(*numbers)
