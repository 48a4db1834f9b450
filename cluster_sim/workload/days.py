"""A log cut into days, and how much of it came in quick succession (Casagrande et al. 2022, Sections 2.2 and 5.2)."""

from __future__ import annotations

import datetime

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

DAY_S = 86400.0
SEQUENTIAL_S = 300.0
"""Seconds after the job before, within which a submission counts as sequential."""


def day_edges(submit: Floats, at_least: int, midnight: float) -> list[tuple[int, int, float]]:
    """Return (first row, row behind the last, start in s) of each day that has ``at_least`` submissions."""
    numbers, first, count = np.unique(np.floor((submit - midnight) / DAY_S), return_index=True, return_counts=True)
    rows = zip(numbers.tolist(), first.tolist(), count.tolist(), strict=True)
    return [(low, low + jobs, midnight + number * DAY_S) for number, low, jobs in rows if jobs >= at_least]


def first_midnight(clock_start: datetime.datetime | None, origin_s: float) -> float:
    """Return a midnight, in s on the clock of a workload with that ``clock_start`` and ``origin_s``.

    By the SWF header's UnixStartTime and TimeZoneString (UTC where it names no known zone, summer time as on the first
    day); without a UnixStartTime the log's own clock is taken to begin at midnight.
    """
    if clock_start is None:
        return -origin_s
    offset = clock_start.utcoffset() or datetime.timedelta()
    return -((clock_start.timestamp() + offset.total_seconds()) % DAY_S) - origin_s


def sequential_share(submit: Floats, gap_s: float = SEQUENTIAL_S) -> float:
    """Return the share of jobs submitted less than ``gap_s`` after the one before.

    The share is of the jobs that follow another; NaN for fewer than two jobs.

    The first job follows none. Were it counted, no day could be entirely sequential, as those of the paper's group 5 are.
    """
    return float((np.diff(submit) < gap_s).mean()) if len(submit) > 1 else float("nan")
