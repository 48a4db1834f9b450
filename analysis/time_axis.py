"""The unit in which a chart shows time: simulated seconds, longer units, or the calendar.

Charts are built in simulated seconds and converted at the end, in one place; windows are always given in seconds.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from analysis.wording import NOTHING, numbers
from cluster_sim.errors import InputError, SpecError

if TYPE_CHECKING:
    from cluster_sim.records.result import Result
    from cluster_sim.workload.workload import Workload

TIME_UNITS = ("auto", "s", "min", "h", "d", "calendar")
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}
_NAMES = {"s": "simulated seconds", "min": "simulated minutes", "h": "simulated hours", "d": "simulated days"}
_X_IN_S = re.compile(r"%\{x(:[^}]*)?\} s")
_DATE = "%Y-%m-%d %H:%M:%S"

StartDate = str | datetime.datetime


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """How simulated seconds become places and texts.

    ``seconds`` is the length of one unit of durations; ``start`` the date at simulated second 0 on a calendar, whose
    places are milliseconds since 1970, as plotly counts them.
    """

    unit: str = "s"
    seconds: float = 1.0
    start: datetime.datetime | None = None

    @classmethod
    def of(cls, unit: str, window: tuple[float, float], start_date: StartDate | None = None) -> TimeAxis:
        """The axis for a ``window`` in s. Raises SpecError for an unknown unit, and a calendar without a
        date, InputError for a window that does not begin before it ends, or is not finite.

        "auto" is the calendar when there is a ``start_date``, else seconds up to three hours, hours up to thirty days,
        and days.
        """
        if unit not in TIME_UNITS:
            raise SpecError("time_unit", f"one of {', '.join(TIME_UNITS)}", unit)
        if not -math.inf < window[0] < window[1] < math.inf:
            raise InputError("x_range", "a begin before the end, both finite", f"{window[0]:g} and {window[1]:g}")
        if unit == "auto":
            span = window[1] - window[0]
            unit = "calendar" if start_date else "s" if span <= 10_800 else "h" if span <= 30 * 86_400 else "d"
        if unit != "calendar":
            return cls(unit, _SECONDS[unit])
        if start_date is None:
            raise SpecError("time_unit", "a start_date with calendar", "none")
        return cls(unit, 3_600.0, _date(start_date))

    @property
    def duration_unit(self) -> str:
        """What durations are counted in; hours on a calendar."""
        return "h" if self.start else self.unit

    def durations(self, seconds: np.ndarray) -> np.ndarray:
        """Lengths of time in :attr:`duration_unit`."""
        return np.asarray(seconds, dtype=float) / self.seconds

    def places(self, seconds: np.ndarray) -> np.ndarray:
        """Where times stand on the axis."""
        values = np.asarray(seconds, dtype=float)
        # Whole milliseconds: more digits than any log has, and what a browser's dates can hold.
        return np.round(1e3 * values + 1e3 * self.start.timestamp()) if self.start else values / self.seconds

    def dates(self, seconds: Sequence[float] | np.ndarray) -> list[str]:
        """Times as dates. Only on a calendar."""
        assert self.start is not None
        known = np.nan_to_num(np.asarray(seconds, dtype=float)).tolist()
        texts = [(self.start + datetime.timedelta(seconds=value)).strftime(_DATE) for value in known]
        return [text if value == value else "–" for text, value in zip(texts, seconds, strict=True)]

    def texts(self, seconds: np.ndarray) -> list[str]:
        """Times as texts with their unit; what did not come reads "–"."""
        if self.start:
            return self.dates(seconds)
        words = numbers(self.durations(seconds), digits=8)
        return [word if word == NOTHING else f"{word} {self.unit}" for word in words]

    def layout(self) -> dict[str, Any]:
        """Settings of the x axis."""
        if self.start:
            return {"title": {"text": "Time (calendar)"}, "type": "date"}
        return {"title": {"text": f"Time ({_NAMES[self.unit]})"}, "exponentformat": "none", "separatethousands": True}

    def convert(self, figure: go.Figure) -> None:
        """Turn all traces, in seconds, into this unit."""
        if self.unit == "s":
            return
        for trace in figure.data:
            if trace.type == "bar":
                length = self.places(np.asarray(trace.base) + np.asarray(trace.x)) - self.places(trace.base)
                trace.update(base=self.places(trace.base), x=length)
            elif trace.type == "heatmap":
                step = self.places(np.array([0.0, trace.dx]))
                trace.update(x0=float(self.places(trace.x0)), dx=float(step[1] - step[0]))
            elif trace.x is not None:
                trace.x = self.places(trace.x)
            if trace.hovertemplate:
                trace.hovertemplate = _X_IN_S.sub(self._x_in_hover, trace.hovertemplate)

    def _x_in_hover(self, found: re.Match[str]) -> str:
        return f"%{{x|{_DATE}}}" if self.start else f"%{{x{found[1] or ''}}} {self.unit}"


def start_date_of(result: Result, workload: Workload | None = None) -> datetime.datetime | None:
    """The date at simulated second 0, by the header of the log that ``result`` comes from; None if it has none.

    In UTC: a log's zone changes with summer time, its clock does not.
    """
    origin = result.meta.get("origin_s", workload.origin_s if workload is not None else 0.0) or 0.0
    begin = None if workload is None else workload.unix_start_time
    return None if begin is None else datetime.datetime.fromtimestamp(begin + float(origin), datetime.UTC)


def _date(given: StartDate) -> datetime.datetime:
    try:
        date = datetime.datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        raise SpecError("start_date", "a date such as 2026-03-01 or 2026-03-01T08:00", str(given)) from None
    return date if date.tzinfo else date.replace(tzinfo=datetime.UTC)
