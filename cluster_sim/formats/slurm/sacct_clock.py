"""Local times of a log as seconds since 1970, where clocks jump twice a year."""

from __future__ import annotations

import datetime
import math
import zoneinfo

import numpy as np

from cluster_sim.errors import SpecError

_NEVER = (math.nan, math.nan)
_NO_TIME = ("", "unknown", "none", "n/a")


def check_time(text: str) -> None:
    """Raise ValueError, saying what was expected, for what is no time in any time zone."""
    _both_times(text, datetime.UTC)


class LocalClock:
    """Reader of ``2026-03-29T02:30:00`` in a time zone such as Europe/Berlin; it takes ``1774751400`` as it is.

    ``skipped`` counts the times that no clock there ever showed, ``twice`` those that it showed twice.
    """

    def __init__(self, time_zone: str, path: str):
        try:
            self._zone = zoneinfo.ZoneInfo(time_zone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError, TypeError):
            raise SpecError(f"{path}, time_zone", "the name of a time zone such as Europe/Berlin", time_zone) from None
        self._known: dict[str, tuple[float, float]] = {}
        self.skipped = 0
        self.twice = 0

    def read(self, text: str) -> float:
        """Return seconds since 1970; NaN where there is no time. Raises ValueError that says what was expected."""
        if text not in self._known:
            self._known[text] = _both_times(text.strip(), self._zone)
        return self._known[text][0]

    def in_order(self, texts: list[list[str]], times: list[np.ndarray]) -> list[np.ndarray]:
        """Return times of jobs, which rise from column to column: a time shown twice is the later if it must be."""
        ordered: list[np.ndarray] = []
        before = np.full(len(times[0]), -math.inf)
        for column, first in zip(texts, times, strict=True):
            second = np.array([self._known.get(text, _NEVER)[1] for text in column], dtype=float)
            self.skipped += int((second < first).sum())
            self.twice += int((second > first).sum())
            late = (first < before) & (second > first)
            ordered.append(np.where(late, second, first))
            before = np.fmax(before, ordered[-1])
        return ordered


def _both_times(text: str, zone: datetime.tzinfo) -> tuple[float, float]:
    """Return what a text says by the offsets from UTC before and after a jump.

    They differ only in the hour of a jump.
    """
    if text.lower() in _NO_TIME:
        return _NEVER
    try:
        if text.isascii() and text.isdigit():
            moments = [float(text)]
        else:
            moment = datetime.datetime.fromisoformat(text)
            there = [moment.replace(tzinfo=moment.tzinfo or zone, fold=fold) for fold in (0, 1)]
            moments = [each.timestamp() for each in there]
    except (ValueError, OverflowError, OSError):
        moments = []
    if not moments or not 0 <= min(moments) <= max(moments) < 2**53:
        raise ValueError("a time such as 2026-03-01T12:00:00, or Unknown")
    return moments[0], moments[-1]
