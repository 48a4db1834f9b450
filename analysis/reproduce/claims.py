"""A published number or statement, how it is measured here, and the verdict on it.

A number is kept as it is printed, ``"187.86"`` or ``"1.61e9"``, because the digits that were printed say how near a
reproduction has to come. A statement ("the least of all four") is published as ``"yes"`` and measured as a bool.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cluster_sim.errors import InputError

Values = Mapping[str, Any]
"""What the parts of a paper measured, by name."""


class Verdict(StrEnum):
    """What became of a claim; the last one is no verdict but its absence."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not reproduced"
    NOT_REPRODUCIBLE = "not reproducible"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Tolerance:
    """When a measured value counts as the published one.

    ========  =====================================================================================
    printed   within one unit of the last digit printed: authors round, and some cut off
    relative  within the fraction ``width`` of the published value
    points    within ``width``, in the unit of the value: for percentages that the text rounds
    range     within the published ``low..high``
    at-least  not below the published value by more than ``width``: an agent may do better
    holds     the statement is true
    ========  =====================================================================================
    """

    kind: str
    width: float = 0.0

    def text(self) -> str:
        """For the report's column."""
        if self.kind == "relative":
            return f"± {100.0 * self.width:g} %"
        if self.kind == "points":
            return f"± {self.width:g}"
        return {"printed": "last digit", "range": "in the range", "holds": "true", "at-least": "no less"}[self.kind]


PRINTED, RANGE, HOLDS = Tolerance("printed"), Tolerance("range"), Tolerance("holds")


def relative(width: float) -> Tolerance:
    """Within this fraction of the published value."""
    return Tolerance("relative", width)


def points(width: float) -> Tolerance:
    """Within so many units of the published value."""
    return Tolerance("points", width)


def at_least(width: float) -> Tolerance:
    """At most ``width`` below the published value."""
    return Tolerance("at-least", width)


@dataclass(frozen=True)
class Claim:
    """One published number or statement.

    Attributes
    ----------
    key : unique within the paper, for results.csv.
    what : what it is about, for people.
    published : as printed; ``low..high`` for a range; ``yes`` for a statement.
    unit : of the published value, in our words.
    source : table, figure or section, with page where there is one.
    measure : name among the measured values, or a function of all of them; None when nothing can be measured.
    tolerance : when the two agree.
    how : how the value is measured, where the name does not say it.
    reason : why it differs, or why it cannot be reproduced.
    impossible : the claim cannot be checked, whatever is measured (a log that is not public); ``reason`` says why. What
        was measured in its place is shown beside it.
    group : heading under which the report lists it; claims of one group are about the same setting.
    """

    key: str
    what: str
    published: str
    unit: str
    source: str
    measure: str | Callable[[Values], float | bool] | None
    tolerance: Tolerance = PRINTED
    how: str = ""
    reason: str = ""
    impossible: bool = False
    group: str = ""


@dataclass(frozen=True)
class Judged:
    """A claim with what was measured for it. ``difference`` is measured − published, or None."""

    claim: Claim
    measured: float | bool | None
    difference: float | None
    verdict: Verdict
    why: str


def judge(
    claim: Claim, values: Values, absent: Mapping[str, str] | None = None, curtailed: Mapping[str, str] | None = None
) -> Judged:
    """Compare a claim with what was measured; ``absent`` says why a value is not there, by the start of its name.

    ``curtailed`` says by the same what was cut short: values that miss a claim then say nothing against it.
    """
    why = claim.reason
    seen = _Watched(values)
    try:
        measured = _measured(claim, seen)
    except KeyError as error:
        if claim.impossible:
            return Judged(claim, None, None, Verdict.NOT_REPRODUCIBLE, why)
        return Judged(claim, None, None, Verdict.NOT_RUN, _why_absent(str(error.args[0]), absent or {}))
    difference = _difference(claim, measured)
    if claim.impossible or claim.measure is None:
        return Judged(claim, measured, difference, Verdict.NOT_REPRODUCIBLE, why)
    agrees = measured is not None and _agrees(claim, measured)
    short = next(filter(None, (_said_of(name, curtailed or {}) for name in seen.names)), None)
    if short is not None and not agrees:
        return Judged(claim, measured, difference, Verdict.NOT_RUN, short)
    return Judged(claim, measured, difference, Verdict.REPRODUCED if agrees else Verdict.NOT_REPRODUCED, why)


class _Watched(dict[str, Any]):
    """Values that remember which of them were looked at."""

    def __init__(self, values: Values):
        super().__init__(values)
        self.names: list[str] = []

    def __getitem__(self, name: str) -> Any:
        self.names.append(name)
        return super().__getitem__(name)


def _measured(claim: Claim, values: Values) -> float | bool | None:
    """What was measured for a claim. Raises KeyError with the name of a value that is not there."""
    if claim.measure is None:
        return None
    value = values[claim.measure] if isinstance(claim.measure, str) else claim.measure(values)
    return value if isinstance(value, bool) else float(value)


def _why_absent(name: str, absent: Mapping[str, str]) -> str:
    return _said_of(name, absent) or f"nothing measured '{name}'"


def _said_of(name: str, texts: Mapping[str, str]) -> str | None:
    """The text of the longest start of ``name``."""
    starts = [start for start in texts if name.startswith(start)]
    return texts[max(starts, key=len)] if starts else None


def _agrees(claim: Claim, measured: float | bool) -> bool:
    tolerance = claim.tolerance
    if tolerance.kind == "holds":
        return bool(measured)
    if math.isnan(measured):
        return False
    if tolerance.kind == "range":
        low, high = bounds(claim.published)
        return low <= measured <= high
    published = number(claim.published)
    slack = 1e-12 * abs(published)  # the last digit is a decimal number, and the difference one of binary ones
    if tolerance.kind == "printed":
        return abs(measured - published) <= last_place(claim.published) + slack
    if tolerance.kind == "relative":
        return abs(measured - published) <= tolerance.width * abs(published) + slack
    if tolerance.kind == "points":
        return abs(measured - published) <= tolerance.width + slack
    if tolerance.kind == "at-least":
        return measured >= published - tolerance.width - slack
    raise InputError("tolerance", "printed, relative, points, range, at-least or holds", tolerance.kind)


def _difference(claim: Claim, measured: float | bool | None) -> float | None:
    if measured is None or claim.tolerance.kind == "holds":
        return None
    if claim.tolerance.kind == "range":
        low, high = bounds(claim.published)
        return min(measured - low, 0.0) + max(measured - high, 0.0)
    return measured - number(claim.published)


def number(text: str) -> float:
    """A printed number. Raises InputError."""
    try:
        return float(text.replace(" ", ""))
    except ValueError:
        raise InputError("published value", "a number", text) from None


def bounds(text: str) -> tuple[float, float]:
    """``low..high``. Raises InputError."""
    low, _, high = text.partition("..")
    return number(low), number(high)


def last_place(text: str) -> float:
    """What one unit of the last digit printed is worth: 0.01 for ``187.86``, 1e7 for ``1.61e9``, 1 for ``320``."""
    mantissa, _, exponent = text.replace(" ", "").lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(10.0 ** (int(exponent or 0) - decimals))
