"""A published number or statement, how it is measured here, and the verdict on it.

A number is kept as it is printed, ``"187.86"`` or ``"1.61e9"``, because the digits that were printed say how near a
reproduction has to come. A statement ("the least of all four") is published as ``"yes"`` and measured as a bool.

A verdict says something only if it could have been another one. So a claim about an agent has *controls*: what agents
that have learned nothing reach in its place. Where one of them agrees with the paper as well, the agreement shows nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import median
from typing import Any

import pandas as pd

from cluster_sim.errors import InputError

Values = Mapping[str, Any]
"""Measured values of the parts of a paper, by name."""


class ClaimVerdict(StrEnum):
    """Verdict on a claim. The last one says that there is none."""

    REPRODUCED = "reproduced"
    NOT_DISCRIMINATING = "not discriminating"
    NOT_REPRODUCED = "not reproduced"
    NOT_REPRODUCIBLE = "not reproducible"
    BEATS = "beats"
    DOES_NOT_BEAT = "does not beat"
    CONSISTENT = "consistent"
    INCONSISTENT = "inconsistent"
    HOLDS = "holds"
    DOES_NOT_HOLD = "does not hold"
    NOT_RUN = "not run"


class Kind(StrEnum):
    """Subject of a claim. Only claims of papers are reproductions, and counted as such."""

    PAPER = "the paper's numbers and statements"
    OUR_AGENT = "our default agent against the published one"
    PRINTED = "printed numbers that follow from other printed numbers"
    OURS = "statements made here, not in the paper"


VERDICTS = {
    Kind.PAPER: (ClaimVerdict.REPRODUCED, ClaimVerdict.NOT_REPRODUCED),
    Kind.OUR_AGENT: (ClaimVerdict.BEATS, ClaimVerdict.DOES_NOT_BEAT),
    Kind.PRINTED: (ClaimVerdict.CONSISTENT, ClaimVerdict.INCONSISTENT),
    Kind.OURS: (ClaimVerdict.HOLDS, ClaimVerdict.DOES_NOT_HOLD),
}
"""Verdicts of each kind of claim: if the measured value agrees, and if it does not."""


@dataclass(frozen=True)
class Tolerance:
    """Condition under which a measured value counts as the published one.

    ========  =====================================================================================
    printed   within one unit of the last digit printed: authors round, and some cut off
    relative  within the fraction ``width`` of the published value
    points    within ``width``, in the unit of the value: for percentages that the text rounds
    range     within the published ``low..high``
    runs      within ``width``, the standard deviation of the paper's own runs, see :func:`of_runs`
    at-least  not below the published value: for bounds
    at-most   not above it
    more      above the published value by more than its last digit
    among     the published value lies between the least and the greatest of the ``several`` that were measured
    holds     the statement is true
    ========  =====================================================================================
    """

    kind: str
    width: float = 0.0

    def text(self) -> str:
        """Return the tolerance as the report shows it."""
        if self.kind == "relative":
            return f"± {100.0 * self.width:g} %"
        if self.kind in ("points", "runs"):
            return f"± {self.width:.3g}"
        return _WORDS[self.kind]


_WORDS = {
    "printed": "last digit",
    "range": "in the range",
    "holds": "true",
    "at-least": "no less",
    "at-most": "no more",
    "more": "more",
    "among": "among them",
}
PRINTED, RANGE, HOLDS = Tolerance("printed"), Tolerance("range"), Tolerance("holds")
AT_LEAST, AT_MOST, MORE = Tolerance("at-least"), Tolerance("at-most"), Tolerance("more")
AMONG = Tolerance("among")


def relative(width: float) -> Tolerance:
    """Return the tolerance "within this fraction of the published value"."""
    return Tolerance("relative", width)


def points(width: float) -> Tolerance:
    """Return the tolerance "within so many units of the published value"."""
    return Tolerance("points", width)


RANGE_OF_100 = 5.015
"""Standard deviations between the least and the greatest of 100 normal numbers, on average (Tippett 1925)."""


def of_runs(least: str, greatest: str) -> Tolerance:
    """Return the tolerance "within one standard deviation of single runs".

    The deviation follows from the least and the greatest that the paper prints of its 100 runs. The paper trained once.
    Another training, or another hundred runs of the same agent, is another draw: how far draws lie apart is all that
    its own spread says. At least one unit of the last digit.
    """
    width = abs(number(greatest) - number(least)) / RANGE_OF_100
    return Tolerance("runs", max(width, last_place(least), last_place(greatest)))


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
    kind : what it is about; decides what its verdicts are called, and whether it counts.
    controls : name of a control → name of what it reaches, or a function of all values: a value, or a list with one for each of
        several agents.
    unseen : name of what further untrained agents reach. No verdict asks these: they show how often verdicts err.
    group : heading under which the report lists it; claims of one group are about the same setting.
    several : what the values are, where there are several.
    """

    key: str
    what: str
    published: str
    unit: str
    source: str
    measure: str | Callable[[Values], float | bool | Sequence[float]] | None
    tolerance: Tolerance = PRINTED
    how: str = ""
    reason: str = ""
    impossible: bool = False
    kind: Kind = Kind.PAPER
    controls: Mapping[str, str | Callable[[Values], Any]] = field(default_factory=dict)
    unseen: str = ""
    group: str = ""
    several: str = "trainings"


@dataclass(frozen=True)
class Control:
    """Values that agents without learning reach, one for each, and how many of them agree with the paper as well."""

    name: str
    values: tuple[float, ...]
    agreeing: int


@dataclass(frozen=True)
class Judged:
    """A claim with what was measured for it.

    ``measured`` is the median where there are ``several`` values, one for each training; ``difference`` is measured −
    published, or None.
    """

    claim: Claim
    measured: float | bool | None
    difference: float | None
    verdict: ClaimVerdict
    why: str
    several: tuple[float, ...] = ()
    controls: tuple[Control, ...] = ()
    unseen: Control | None = None


def judge(
    claim: Claim, values: Values, absent: Mapping[str, str] | None = None, curtailed: Mapping[str, str] | None = None
) -> Judged:
    """Compare a claim with what was measured; ``absent`` says why a value is not there, by the start of its name.

    ``curtailed`` says by the same what was cut short: nothing follows from such values, whether they agree or not.
    """
    seen = _Watched(values)
    try:
        measured, several = _measured(claim, seen)
        controls = tuple(
            _control(claim, name, key(seen) if callable(key) else seen[key]) for name, key in claim.controls.items()
        )
        unseen = _control(claim, "unseen", seen[claim.unseen]) if claim.unseen else None
    except KeyError as error:
        if claim.impossible:
            return Judged(claim, None, None, ClaimVerdict.NOT_REPRODUCIBLE, claim.reason)
        name = str(error.args[0])
        absent = absent or {}
        return Judged(claim, None, None, ClaimVerdict.NOT_RUN, _said_of(name, absent) or f"nothing measured '{name}'")
    difference = None
    if measured is not None and claim.tolerance.kind == "range":
        low, high = bounds(claim.published)
        difference = min(measured - low, 0.0) + max(measured - high, 0.0)
    elif measured is not None and claim.tolerance.kind != "holds":
        difference = measured - number(claim.published)
    agrees, differs = VERDICTS[claim.kind]
    if claim.impossible or measured is None:
        verdict = ClaimVerdict.NOT_REPRODUCIBLE
    elif not _agrees(claim, measured, several):
        verdict = differs
    else:
        verdict = ClaimVerdict.NOT_DISCRIMINATING if any(control.agreeing for control in controls) else agrees
    why = claim.reason
    if claim.tolerance.kind == "among" and several:
        published = number(claim.published)
        beyond = min(sum(value <= published for value in several), sum(value >= published for value in several))
        why = "; ".join(filter(None, (f"{beyond} of {len(several)} lie as far out", why)))
    short = next(filter(None, (_said_of(name, curtailed or {}) for name in seen.names)), None)
    if short is not None and verdict is not ClaimVerdict.NOT_REPRODUCIBLE:
        verdict, why = ClaimVerdict.NOT_RUN, short
    return Judged(claim, measured, difference, verdict, why, several, controls, unseen)


def _control(claim: Claim, name: str, reached: float | Sequence[float]) -> Control:
    values = tuple(map(float, reached)) if isinstance(reached, Sequence) else (float(reached),)
    if claim.tolerance.kind == "among":
        return Control(name, values, len(values) * _agrees(claim, median(values), values))
    return Control(name, values, sum(_agrees(claim, value) for value in values))


class _Watched(dict[str, Any]):
    """Values that remember which of them were looked at."""

    def __init__(self, values: Values):
        super().__init__(values)
        self.names: list[str] = []

    def __getitem__(self, name: str) -> Any:
        self.names.append(name)
        return super().__getitem__(name)


def _measured(claim: Claim, values: Values) -> tuple[float | bool | None, tuple[float, ...]]:
    """Return what was measured for a claim, and the values of which it is the median.

    Raises KeyError with the name of a value that is missing.
    """
    if claim.measure is None:
        return None, ()
    value = values[claim.measure] if isinstance(claim.measure, str) else claim.measure(values)
    if isinstance(value, Sequence):
        several = tuple(map(float, value))
        return median(several), several
    return (value if isinstance(value, bool) else float(value)), ()


def _said_of(name: str, texts: Mapping[str, str]) -> str | None:
    """Return the text whose key is the longest start of ``name``."""
    starts = [start for start in texts if name.startswith(start)]
    return texts[max(starts, key=len)] if starts else None


def _agrees(claim: Claim, measured: float | bool, several: Sequence[float] = ()) -> bool:
    """Return whether a value agrees with the published one, or ``several``, where they are judged together."""
    tolerance = claim.tolerance
    if tolerance.kind == "holds":
        return bool(measured)
    if math.isnan(measured):
        return False
    if tolerance.kind == "range":
        low, high = bounds(claim.published)
        return low <= measured <= high
    published = number(claim.published)
    slack = 1e-12 * abs(published)  # printed digits are decimal, and differences of floats are binary
    if tolerance.kind == "printed":
        return abs(measured - published) <= last_place(claim.published) + slack
    if tolerance.kind == "relative":
        return abs(measured - published) <= tolerance.width * abs(published) + slack
    if tolerance.kind in ("points", "runs"):
        return abs(measured - published) <= tolerance.width + slack
    if tolerance.kind == "at-least":
        return measured >= published - slack
    if tolerance.kind == "at-most":
        return measured <= published + slack
    if tolerance.kind == "among":
        return min(several) - slack <= published <= max(several) + slack
    if tolerance.kind == "more":
        return measured > published + last_place(claim.published) + slack
    raise InputError("tolerance", f"points, relative, runs, {', '.join(_WORDS)}", tolerance.kind)


def number(text: str) -> float:
    """Return a printed number. Raises InputError for other text."""
    try:
        return float(text.replace(" ", ""))
    except ValueError:
        raise InputError("published value", "a number", text) from None


def bounds(text: str) -> tuple[float, float]:
    """Return both ends of ``low..high``. Raises InputError for other text."""
    low, _, high = text.partition("..")
    return number(low), number(high)


def last_place(text: str) -> float:
    """Return the worth of one unit of the last digit printed: 0.01 for ``187.86``, 1e7 for ``1.61e9``."""
    decimals, exponent = _form(text)
    return float(10.0 ** (exponent - decimals))


def as_printed(value: float, printed: str) -> str:
    """Write a number in the form in which another is printed, with one more digit where that is not 0.

    >>> as_printed(1_612_345_678.0, "1.61e9"), as_printed(187.8647, "187.86"), as_printed(4.0, "4")
    ('1.612e9', '187.865', '4')
    """
    decimals, exponent = _form(printed)
    text = f"{value / 10.0**exponent:z.{decimals + 1}f}"
    text = text[: -1 if decimals else -2] if text.endswith("0") else text
    return f"{text}e{exponent}" if exponent else text


def _form(text: str) -> tuple[int, int]:
    """Return how many decimals a printed number has, and its power of ten."""
    mantissa, _, exponent = text.replace(" ", "").lower().partition("e")
    return len(mantissa.partition(".")[2]), int(exponent or 0)


def cells_of(table: str) -> Iterator[tuple[str, str, str]]:
    """Yield (row, column, number as printed) of each cell. ``|`` separates columns, and a cell ``-`` is empty."""
    head, *rows = (line.split("|") for line in table.strip().splitlines())
    columns = [name.strip() for name in head[1:]]
    for row in rows:
        for column, cell in zip(columns, row[1:], strict=True):
            if cell.strip() != "-":
                yield row[0].strip(), column, cell.strip()


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Return Spearman's rank correlation; equal values have the mean of their ranks."""
    return float(pd.Series(first).rank().corr(pd.Series(second).rank()))
