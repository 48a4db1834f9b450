"""How numbers, durations, energies and powers are written for people: in texts, hovers, axes and tables on a terminal.

Files, and tables as data, keep plain numbers in SI units; nothing that is written here is read back.
"""

from __future__ import annotations

import datetime
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

NOTHING = "–"
PLAIN_SECONDS = 600.0
"""Seconds up to which times of a run are written in seconds; later ones are in days, hours, minutes and seconds."""
IN_WORDS = 3_600.0
"""Seconds from which on :func:`at_time` and :func:`lasting` write days, hours and minutes."""
_MINUTE, _DAY = 60, 86_400
_COUNTABLE = 1e18
"""Seconds from which on times are written as plain numbers, without days and hours."""
_UNITS_FROM = (59.95, 3_599.5, 86_370.0)
"""Seconds that round up to a minute, an hour, a day: from these on, these units are used."""
_PREFIXES = ("", "k", "M", "G", "T", "P", "E")
SCALED = frozenset({"s", "J", "W", "J s", "W min"})
"""The units that :func:`amount` replaces by larger ones, or gives a prefix."""
_DIGITS = 3
_WATT_HOUR, _KILOWATT_HOUR = 3_600.0, 3.6e6
_SCALES = {
    "s": ((172_800.0, 86_400.0, "d"), (7_200.0, 3_600.0, "h"), (120.0, 60.0, "min")),
    "J": ((3.6e9, 3.6e9, "MWh"), (3.6e6, 3.6e6, "kWh"), (1e4, 1e3, "kJ")),
}
"""Larger units for people, by unit: the size from which on each is used, what it is, and its name."""
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def numbers(values: ArrayLike, digits: int = 6) -> list[str]:
    """Return numbers as text: ``digits`` significant ones, commas between thousands, no trailing zeros.

    Zero has no minus. Numbers from 10^12 on, and below 10^-4, are in powers of ten. NaN reads "–" and infinity "∞".

    >>> numbers([315244.96, 0.25, float("nan")])
    ['315,245', '0.25', '–']
    """
    array = np.asarray(values, dtype=float).ravel()
    size = np.abs(array)
    usable = np.isfinite(array) & (size >= 1e-4)
    magnitude = np.floor(np.log10(np.where(usable, size, 1.0))).astype(int)
    decimals = np.clip(digits - 1 - magnitude, 0, None)
    texts = []
    for value, places in zip(array.tolist(), decimals.tolist(), strict=True):
        if math.isnan(value):
            text = NOTHING
        elif math.isinf(value):
            text = "∞" if value > 0 else "−∞"
        elif 0 < abs(value) < 1e-4 or abs(value) >= 1e12:
            text = f"{value:.{digits}g}"
        else:
            text = f"{value:z,.{places}f}"  # z: no minus before 0
            text = (text.rstrip("0").rstrip(".") if places else text) or "0"
        texts.append(text)
    return texts


def number(value: float, digits: int = 6) -> str:
    """Return one number as :func:`numbers` writes it."""
    return numbers([value], digits)[0]


def durations(seconds: ArrayLike) -> list[str]:
    """Return lengths of time as text, rounded: in seconds, then minutes, hours, and days with the clock.

    >>> durations([8.25, 605, 5_400, 375_379, float("nan")])
    ['8.25 s', '10 min 5 s', '1 h 30 min', '4 d 08:16', '–']
    """
    values = np.asarray(seconds, dtype=float).ravel()
    size = np.abs(values)
    kind = np.where(size < _COUNTABLE, np.searchsorted(_UNITS_FROM, size, side="right"), 0)
    counted = np.rint(np.where(kind == 1, size, np.where(kind > 1, size / _MINUTE, 0.0))).astype(np.int64)
    texts = []
    for of_kind, whole, rest in zip(kind.tolist(), (counted // 60).tolist(), (counted % 60).tolist(), strict=True):
        if of_kind == 1:
            texts.append(f"{whole} min {rest} s" if rest else f"{whole} min")
        elif of_kind == 2:
            texts.append(f"{whole} h {rest} min" if rest else f"{whole} h")
        else:
            days, hours = divmod(whole, 24)
            texts.append(f"{days:,} d {hours:02}:{rest:02}" if hours or rest else f"{days:,} d")
    short = np.flatnonzero(kind == 0)
    return _completed(texts, values, short, numbers(size[short], _DIGITS))


def duration(seconds: float) -> str:
    """Return one length of time as :func:`durations` writes it."""
    return durations(seconds)[0]


def moments(seconds: ArrayLike) -> list[str]:
    """Return times of a run, counted from its second 0, as text: to the second, or in the first ten minutes to the ms.

    >>> moments([83.5, 5_400, 375_379, float("nan")])
    ['83.5 s', '01:30:00', '4 d 08:16:19', '–']
    """
    values = np.asarray(seconds, dtype=float).ravel()
    size = np.abs(values)
    long = (size >= PLAIN_SECONDS) & (size < _COUNTABLE)
    counted = np.rint(np.where(long, size, 0.0)).astype(np.int64)
    minutes = counted // 60
    parts = (counted // _DAY, minutes // 60 % 24, minutes % 60, counted % 60)
    texts = [
        f"{days:,} d {hour:02}:{minute:02}:{second:02}" if days else f"{hour:02}:{minute:02}:{second:02}"
        for days, hour, minute, second in zip(*(part.tolist() for part in parts), strict=True)
    ]
    short = np.flatnonzero(~long)
    exact = np.where(np.round(size[short], 3) > 0, np.round(size[short], 3), size[short])
    return _completed(texts, values, short, numbers(exact))


def _completed(texts: list[str], values: Floats, short: NDArray[np.intp], seconds: list[str]) -> list[str]:
    """Put the texts in ``seconds`` at the ``short`` places of ``texts``, and a sign before negative ones."""
    for place, text in zip(short.tolist(), seconds, strict=True):
        texts[place] = text if text in (NOTHING, "∞") else f"{text} s"
    for place in np.flatnonzero(values < 0).tolist():
        texts[place] = f"−{texts[place]}"
    return texts


def moment(seconds: float) -> str:
    """Return one time of a run as :func:`moments` writes it."""
    return moments(seconds)[0]


def in_seconds(time: float) -> str:
    """Write a time as ``1,234.5 s``; milliseconds are enough."""
    text = f"{time:,.3f}".rstrip("0").rstrip(".")
    return f"{text} s" if float(text.replace(",", "")) or not time else f"{time:.3g} s"


def at_time(time: float, began: datetime.datetime | None = None) -> str:
    """Write a time of the run: ``1,234.5 s``, ``2 d 20:18:18``, or a date if the run ``began`` at one.

    >>> at_time(93_600.0, datetime.datetime(2026, 3, 1, 8))
    '2026-03-02 10:00:00'
    """
    if not IN_WORDS <= time < math.inf:
        return in_seconds(time)
    if began is None:
        return moment(time)
    try:
        return str((began + datetime.timedelta(seconds=round(time))).replace(tzinfo=None))
    except OverflowError:  # beyond the year 9999
        return moment(time)


def lasting(time: float) -> str:
    """Write how long something lasts: ``1,234.5 s``, ``2 d 20:18 (245,898 s)``."""
    return f"{duration(time)} ({in_seconds(time)})" if IN_WORDS <= time < math.inf else in_seconds(time)


def prefixed(value: float, unit: str) -> str:
    """Return an amount with the prefix that fits it.

    >>> prefixed(18_250, "W")
    '18.2 kW'
    """
    return _prefixed(np.array([value], dtype=float), unit)[0]


def energy(joules: float) -> str:
    """Return an energy as text: in joules, and from a kilowatt-hour on in watt-hours.

    >>> energy(104_872_517_314)
    '29.1 MWh'
    """
    return energies(joules)[0]


def energies(joules: ArrayLike) -> list[str]:
    """Return energies as :func:`energy` writes them."""
    values = np.asarray(joules, dtype=float).ravel()
    texts = _prefixed(values, "J")
    large = np.flatnonzero((np.abs(values) >= _KILOWATT_HOUR) & (np.abs(values) < np.inf))
    for place, text in zip(large.tolist(), _prefixed(values[large] / _WATT_HOUR, "Wh"), strict=True):
        texts[place] = text
    return texts


def _prefixed(values: Floats, unit: str) -> list[str]:
    """Return three digits of each value, with a prefix from a thousand on."""
    size = np.abs(values)
    # What will be rounded up to the next prefix has it.
    large = (size >= 999.5) & (size < np.inf)
    power = np.where(large, np.log10(np.where(large, size * (1000 / 999.5), 1.0)) // 3, 0).astype(int)
    power = np.minimum(power, len(_PREFIXES) - 1)
    scaled = values / 1000.0**power
    texts = [
        f"{value:.3g} {_PREFIXES[prefix]}{unit}" for value, prefix in zip(scaled.tolist(), power.tolist(), strict=True)
    ]
    plain = np.flatnonzero(~large | (np.abs(scaled) >= 999.5))
    for place, text in zip(plain.tolist(), numbers(scaled[plain], _DIGITS), strict=True):
        texts[place] = NOTHING if text == NOTHING else f"{text} {_PREFIXES[power[place]]}{unit}"
    return texts


def amount(value: float, unit: str) -> str:
    """Return a number in an SI unit as people write it: a duration for seconds, an energy for joules, else a prefix.

    >>> amount(5_400, "s"), amount(0.85, ""), amount(2.5e6, "W")
    ('1 h 30 min', '0.85', '2.5 MW')
    """
    if unit == "s":
        return duration(value)
    if unit == "J":
        return energy(value)
    if unit in SCALED:
        return prefixed(value, unit)
    text = number(value) if value == np.rint(value) else number(value, _DIGITS)
    return f"{text} {unit}" if unit and text != NOTHING else text


def scale_of(unit: str, size: float) -> tuple[float, str]:
    """Return what to divide a quantity of that size by, and the unit in which people read it: 6,000 s are 100 min.

    >>> scale_of("s", 6000.0), scale_of("J", 7.2e6), scale_of("J s", 4e11), scale_of("", 0.5)
    ((60.0, 'min'), (3600000.0, 'kWh'), (1000000000.0, '10⁹ J s'), (1.0, ''))
    """
    for least, divisor, name in _SCALES.get(unit, ()):
        if size >= least:
            return divisor, name
    if unit == "J s" and size >= 1e6:
        power = 3 * math.floor(math.log10(size) / 3)
        return 10.0**power, f"10{str(power).translate(_SUPERSCRIPTS)} {unit}"
    return 1.0, unit
