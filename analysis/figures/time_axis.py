"""Axes of time: by the calendar if a date is known, else in days and hours from the start, or in one unit.

Charts are built in simulated seconds and converted at the end, in one place; windows are always given in seconds.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
import plotly.graph_objects as go

from analysis.figures.figure_style import MOST_TICKS
from cluster_sim.amounts import NOTHING, PLAIN_SECONDS, durations, moments, numbers
from cluster_sim.errors import InputError, SpecError
from cluster_sim.records.result import Result
from cluster_sim.workload.workload import Workload

ELAPSED: Final = "elapsed"
CALENDAR: Final = "calendar"
TimeUnit = Literal["auto", "calendar", "elapsed", "s", "min", "h", "d"]
_DAY = 86_400
_STEPS = (
    *(number * 10.0**power for power in range(-6, 1) for number in (1, 2, 5)),
    *(10, 15, 20, 30, 60, 120, 300, 600, 900, 1_200, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200),
)
"""Seconds between two ticks, up to half a day; beyond it 1, 2 or 5 times a power of ten in days."""
_ROUND = (
    *(10.0**power for power in range(-6, 2)),
    *(60.0, 600.0, 3_600.0, 21_600.0, 86_400.0),
    *(864_000.0 * 10.0**power for power in range(6)),
)
"""Ticks of a logarithmic axis, s."""
SECONDS: dict[str, float] = {ELAPSED: 1.0, "s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0}
"""Seconds of each unit of an axis that is no calendar."""
_NAMES = {"s": "simulated seconds", "min": "simulated minutes", "h": "simulated hours", "d": "simulated days"}
# The part of a hover template that shows x in seconds.
_X_IN_S = re.compile(r"%\{x(:[^}]*)?\} s")
_DATE = "%Y-%m-%d %H:%M:%S"

StartDate = str | datetime.datetime


def round_ticks(start: float, end: float, most: int = MOST_TICKS) -> tuple[list[float], list[str]]:
    """Return places (s) and texts of at most ``most`` ticks at round times of a window: "4 d", "06:00", "30 s".

    Short runs are counted in seconds or minutes. In longer runs midnight shows the day's number, other ticks the time
    of day. If no tick is at midnight, the first tick shows the day in a second line. ``times.js`` does the same when a
    page is zoomed.
    """
    span = (end - start) / most
    days = 10.0 ** math.floor(math.log10(max(span, _DAY) / _DAY))
    longer = [_DAY * days * times for times in (1, 2, 5, 10)]
    step = next(each for each in (*_STEPS, *longer) if each >= span)
    places = [round(place * step, 6) for place in range(math.ceil(start / step), math.floor(end / step) + 1)]
    if end <= PLAIN_SECONDS:
        return places, list(map("{} s".format, numbers(places, 9)))
    if step >= 60 and end <= 3 * 3_600:
        return places, list(map("{} min".format, numbers(np.array(places) / 60)))
    return places, [_tick(place, step, first=number == 0) for number, place in enumerate(places)]


def show_durations(
    figure: go.Figure, axis: str, low: float, high: float, log: bool = False, most: int = MOST_TICKS
) -> None:
    """Give an axis of durations from ``low`` to ``high`` s, such as "xaxis", at most ``most`` ticks at round values.

    ``charts.js`` does the same when a page is zoomed.
    """
    if log:
        places = [place for place in _ROUND if low / 3 <= place <= high * 3]
    else:
        places, _ = round_ticks(low, high, most) if high > low else ([low], [])
    meta = figure.layout.meta or {}
    figure.update_layout({axis: {"tickvals": places, "ticktext": durations(places)}})
    figure.layout.meta = {**meta, "durations": [*meta.get("durations", ()), axis]}


def _tick(time: float, step: float, first: bool) -> str:
    day, rest = divmod(time, _DAY)
    if not rest:
        return f"{day:,.0f} d"
    clock = f"{rest // 3_600:02.0f}:{rest // 60 % 60:02.0f}"
    if step < 60:
        places = max(0, math.ceil(-math.log10(step))) if step < 1 else 0
        clock += f":{rest % 60:0{3 + places if places else 2}.{places}f}"
    return f"{clock}<br>{day:,.0f} d" if first and day else clock


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """Axis that turns simulated seconds into places and texts.

    ``seconds`` is the length of one unit of durations. ``start`` is the date at simulated second 0 on a calendar, whose
    places are milliseconds since 1970 on the clocks of its time zone, as plotly counts them. An axis of the unit
    "elapsed" has seconds for places and round times for ticks.
    """

    unit: TimeUnit = ELAPSED
    seconds: float = 1.0
    start: datetime.datetime | None = None

    @classmethod
    def of(cls, unit: TimeUnit, window: tuple[float, float], start_date: StartDate | None = None) -> TimeAxis:
        """Return the axis for a ``window`` in s.

        "auto" is the calendar when there is a ``start_date``, else days and hours from the start. Raises SpecError for
        an unknown unit and for a calendar without a date, InputError for a window that is empty or not finite.
        """
        if unit not in get_args(TimeUnit):
            raise SpecError("time_unit", f"one of {', '.join(get_args(TimeUnit))}", unit)
        if not -math.inf < window[0] < window[1] < math.inf:
            raise InputError("x_range", "a begin before the end, both finite", f"{window[0]:g} and {window[1]:g}")
        if unit == "auto":
            unit = CALENDAR if start_date else ELAPSED
        if unit != CALENDAR:
            return cls(unit, SECONDS[unit])
        if start_date is None:
            raise SpecError("time_unit", "a start_date with calendar", "none")
        return cls(unit, 3_600.0, _date(start_date))

    def durations(self, seconds: np.ndarray) -> list[str]:
        """Return durations as texts, in the axis' own unit if it has one."""
        if self.unit in (ELAPSED, CALENDAR):
            return durations(seconds)
        words = numbers(np.asarray(seconds, dtype=float) / self.seconds)
        return [word if word == NOTHING else f"{word} {self.unit}" for word in words]

    def places(self, seconds: np.ndarray) -> np.ndarray:
        """Return the places of times on the axis."""
        values = np.asarray(seconds, dtype=float)
        # A browser's dates hold whole milliseconds.
        return np.round(1e3 * (values + _wall_clock(self.start))) if self.start else values / self.seconds

    def scale(self) -> dict[str, Any]:
        """Return how a page computes places, factor × seconds + offset, and the unit in which it shows times."""
        if self.start:
            return {"unit": CALENDAR, "factor": 1e3, "offset": 1e3 * _wall_clock(self.start)}
        return {"unit": self.unit, "factor": 1 / self.seconds, "offset": 0.0}

    def dates(self, seconds: Sequence[float] | np.ndarray) -> list[str]:
        """Return times as dates; the axis must be a calendar."""
        assert self.start is not None
        known = np.nan_to_num(np.asarray(seconds, dtype=float)).tolist()
        texts = [(self.start + datetime.timedelta(seconds=value)).strftime(_DATE) for value in known]
        return [text if value == value else "–" for text, value in zip(texts, seconds, strict=True)]

    def texts(self, seconds: np.ndarray) -> list[str]:
        """Return times as texts; NaN becomes "–"."""
        if self.start:
            return self.dates(seconds)
        if self.unit == ELAPSED:
            return moments(seconds)
        words = numbers(np.asarray(seconds, dtype=float) / self.seconds, digits=8)
        return [word if word == NOTHING else f"{word} {self.unit}" for word in words]

    def layout(self, window: tuple[float, float]) -> dict[str, Any]:
        """Return the settings of the x axis for a ``window`` in s."""
        if self.start:
            offset = f"{self.start:%z}"
            zone = f"UTC{offset[:3]}:{offset[3:5]}" if self.start.utcoffset() else "UTC"
            return {"title": {"text": f"Time ({zone})"}, "type": "date"}
        if self.unit == ELAPSED:
            places, texts = round_ticks(*window)
            return {"title": {"text": "Time from the start"}, "tickvals": places, "ticktext": texts}
        return {"title": {"text": f"Time ({_NAMES[self.unit]})"}, "exponentformat": "none", "separatethousands": True}

    def convert(self, figure: go.Figure) -> None:
        """Turn all traces, in seconds, into this unit."""
        if self.unit == "s":
            return
        if self.start:
            said = f"%{{x|{_DATE}}}"
        else:
            said = "%{text}" if self.unit == ELAPSED else f"%{{x:,.8~g}} {self.unit}"
        for trace in figure.data:
            if not trace.hovertemplate or not _X_IN_S.search(trace.hovertemplate):
                continue
            trace.hovertemplate = _X_IN_S.sub(said, trace.hovertemplate)
            if self.unit == ELAPSED and trace.type == "heatmap":
                columns = moments(trace.x0 + trace.dx * np.arange(trace.z.shape[1]))
                trace.text = np.broadcast_to(np.array(columns, dtype=object), trace.z.shape)
            elif self.unit == ELAPSED:
                trace.text = moments(trace.x)
        if self.unit == ELAPSED:
            figure.update_layout(meta={**(figure.layout.meta or {}), ELAPSED: True})  # the page's ticks follow its zoom
            return
        for trace in figure.data:
            if trace.type == "bar" and trace.base is not None:
                length = self.places(np.asarray(trace.base) + np.asarray(trace.x)) - self.places(trace.base)
                trace.update(base=self.places(trace.base), x=length)
            elif trace.type == "heatmap":
                step = self.places(np.array([0.0, trace.dx]))
                trace.update(x0=float(self.places(trace.x0)), dx=float(step[1] - step[0]))
            elif trace.type != "bar" and trace.x is not None:
                trace.x = self.places(trace.x)


def _wall_clock(date: datetime.datetime) -> float:
    """Return the seconds from 1970 to the time that the clocks of the date's zone show."""
    return date.timestamp() + (date.utcoffset() or datetime.timedelta()).total_seconds()


def start_date_of(result: Result, workload: Workload | None = None) -> datetime.datetime | None:
    """Return the date at simulated second 0 in the machine's time zone, from the log of ``result``; None if unknown.

    For results of versions that did not keep the date, it comes from their ``workload``.
    """
    said = result.meta.get("start_date")
    if said is not None:
        return _date(str(said))
    clock = None if workload is None else workload.clock_start
    if clock is None or workload is None:
        return None
    return clock + datetime.timedelta(seconds=float(result.meta.get("origin_s", workload.origin_s) or 0.0))


def _date(given: StartDate) -> datetime.datetime:
    try:
        date = datetime.datetime.fromisoformat(given) if isinstance(given, str) else given
    except ValueError:
        raise SpecError("start_date", "a date such as 2026-03-01 or 2026-03-01T08:00", str(given)) from None
    return date if date.tzinfo else date.replace(tzinfo=datetime.UTC)
