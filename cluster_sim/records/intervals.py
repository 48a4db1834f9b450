"""Laws of comparisons: intervals, how many blocks they need, what they show, and which alternatives are told apart.

Intervals are Student's, of means, paired differences and paired ratios, and the bootstrap's, of ratios of sums. Student's
quantile is worked out here, in closed form and by bisection, so that a comparison does not need scipy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import numpy as np

from cluster_sim.errors import InputError

CONFIDENCE = 0.95
FEWEST_BLOCKS = 5
"""Weeks, replications or workloads below which there is no interval: a bootstrap of two weeks has three values."""


class ComparisonVerdict(StrEnum):
    """Verdicts of a comparison on a metric."""

    LESS = "less"
    MORE = "more"
    TIE = "no difference shown"
    VALUES = "values only"


def verdict_of(low: float, high: float, blocks: int) -> ComparisonVerdict:
    """Return the verdict on a difference with an interval from ``low`` to ``high`` over so many blocks.

    >>> [str(verdict_of(*ends, blocks=8)) for ends in ((-2.0, -1.0), (0.0, 1.0), (1.0, 2.0))]
    ['less', 'no difference shown', 'more']
    """
    if blocks < FEWEST_BLOCKS or not (math.isfinite(low) and math.isfinite(high)):
        return ComparisonVerdict.VALUES
    return ComparisonVerdict.LESS if high < 0 else ComparisonVerdict.MORE if low > 0 else ComparisonVerdict.TIE


def blocks_of(values: Mapping[Any, np.ndarray]) -> int:
    """Return how many blocks these values are of, one each; 1 if nothing changes from block to block."""
    count = max((len(each) for each in values.values()), default=0)
    return count if any(len(each) and (each != each[0]).any() for each in values.values()) else min(count, 1)


def told_apart(
    values: Mapping[str, np.ndarray], largest: bool = False, confidence: float = CONFIDENCE
) -> tuple[list[str], list[str], list[str]]:
    """Return the names of the best alternative and its equals, of those not told apart from it, and of the others; best first.

    ``values`` has for each alternative a value for each block, all of the same blocks. Equals have the same value in each block.
    Student's intervals of the paired differences hold for all of them together (Bonferroni), since the best one is found in
    the same blocks. With fewer than :data:`FEWEST_BLOCKS` nobody is called tied.
    """
    sign = -1.0 if largest else 1.0
    means = {name: sign * float(mean_of(each[:, None])[0]) for name, each in values.items()}
    order = sorted((name for name in means if not math.isnan(means[name])), key=lambda name: means[name])
    leaders = [name for name in order if means[name] == means[order[0]]]
    others = order[len(leaders) :]
    if blocks_of(values) < FEWEST_BLOCKS:
        return leaders, [], others
    best = [name for name in leaders if (values[name] == values[leaders[0]]).all()]
    distinct = {values[name].tobytes(): values[name] for name in leaders}
    count = max(1, len(distinct) * len({values[name].tobytes() for name in others}))
    level = 1 - (1 - confidence) / count

    def is_apart(name: str) -> bool:
        apart = sign * np.transpose([values[name] - each for each in distinct.values()])
        return bool((mean_of(apart) > half_width(apart, level)).all())

    tied = [name for name in order if name not in best and (name in leaders or not is_apart(name))]
    return best, tied, [name for name in others if name not in tied]


def mean_of(values: np.ndarray) -> np.ndarray:
    """Return the mean of each column, NaN without rows; of equal values it is exactly that value."""
    if not len(values):
        return np.full(values.shape[1], np.nan)
    return np.asarray(np.where(_is_equal(values), values[0], values.mean(axis=0)))


def half_width(values: np.ndarray, confidence: float = CONFIDENCE, fewest: int = FEWEST_BLOCKS) -> np.ndarray:
    """Return half the width of the confidence interval of the mean of each column; 0 for equal values.

    NaN for fewer rows than ``fewest``: less than the default, 2 at least, is for bounds that nobody is shown.
    """
    count = len(values)
    if count < fewest:
        return np.full(values.shape[1], np.nan)
    spread = values.std(axis=0, ddof=1) / math.sqrt(count)
    # Of equal values the deviation is what rounding made of their mean.
    return np.where(_is_equal(values), 0.0, student_quantile(count - 1, confidence) * spread)


def _is_equal(values: np.ndarray) -> np.ndarray:
    """Tell for each column whether all its rows are the same number."""
    return np.asarray((values == values[0]).all(axis=0))


def paired_change(
    values: np.ndarray, first: np.ndarray, confidence: float = CONFIDENCE
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of each column of ``values - first`` in % of that of ``first``, and its interval's half-width.

    Rows are what was met by both: replications, windows of a log, days. Where the two are the same everywhere the change is 0,
    whatever the mean; NaN where there is no number.
    """
    apart, base = values - first, np.abs(mean_of(first))
    with np.errstate(divide="ignore", invalid="ignore"):
        change, around = (100 * part / base for part in (mean_of(apart), half_width(apart, confidence)))
    change = np.where(np.isfinite(change), change, np.where((apart == 0).all(axis=0), 0.0, np.nan))
    return change, np.where(np.isfinite(around), around, np.nan)


def geometric_change(
    values: np.ndarray, first: np.ndarray, confidence: float = CONFIDENCE
) -> tuple[float, float, float]:
    """Return the geometric mean of ``values / first`` as a change in %, and the ends of its interval.

    Both are above 0, one for each thing that both met. Student's interval of the mean of the logarithms: a few large values,
    which decide the mean of ``values - first``, count here by what they are of the others' size.
    """
    logs = np.log(values / first)
    mean, around = logs.mean(), half_width(logs[:, None], confidence)[0]
    change, low, high = (100 * np.expm1([mean, mean - around, mean + around])).tolist()
    return change, low, high


def bootstrap_interval(values: np.ndarray, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return ends of an interval of the mean of ``values``: percentiles of the means of 2,000 samples drawn from them.

    It never goes beyond the values themselves, so that what cannot be negative has no negative end. The draws are the
    same every time. NaN for fewer than :data:`FEWEST_BLOCKS` values.
    """
    low, high = bootstrap_ratios(values[:, None], np.ones((len(values), 1)), confidence)[0].tolist()
    return low, high


def bootstrap_ratios(sums: np.ndarray, counts: np.ndarray, confidence: float = CONFIDENCE) -> np.ndarray:
    """Return ends of intervals of Σ ``sums`` / Σ ``counts`` of each column, over rows that are drawn again and again.

    Rows are what is independent, as far as anything is: replications, or weeks of a log, each with the sum over its jobs and
    their number. 2,000 samples of as many rows are drawn, the same every time; a column of the result is (low, high), the
    percentiles of their ratios. Shape (columns, 2). NaN where fewer than :data:`FEWEST_BLOCKS` rows count anything.
    """
    rows = len(sums)
    if rows < FEWEST_BLOCKS:
        return np.full((sums.shape[1], 2), np.nan)
    draws = np.random.default_rng(0).integers(rows, size=(_RESAMPLES, rows))
    times = np.zeros((_RESAMPLES, rows))
    np.add.at(times, (np.arange(_RESAMPLES)[:, None], draws), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (times @ sums) / (times @ counts)
    tail = 50.0 * (1.0 - confidence)
    known = (counts > 0).sum(axis=0) >= FEWEST_BLOCKS
    ends = np.full((sums.shape[1], 2), np.nan)
    if known.any():
        ends[known] = np.nanpercentile(ratios[:, known], [tail, 100.0 - tail], axis=0).T
    return ends


_RESAMPLES = 2_000


def student_quantile(freedom: int, confidence: float = CONFIDENCE) -> float:
    """Return the t for which a Student variable lies in [-t, t] with probability ``confidence``.

    >>> round(student_quantile(4), 3)
    2.776
    """
    if not 0.0 < confidence < 1.0:
        raise InputError("confidence", "a number between 0 and 1", confidence)
    low, high = 0.0, math.pi / 2
    while high - low > 1e-15:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        # P(|T| <= t) with t = √freedom · tan(angle): Abramowitz and Stegun (1964), 26.7.3 and 26.7.4.
        sine, square = math.sin(middle), math.cos(middle) ** 2
        odd = freedom % 2 == 1
        term = total = 0.0 if odd and freedom == 1 else math.cos(middle) if odd else 1.0
        for k in range(3 if odd else 2, freedom - 1, 2):
            term *= square * (k - 1) / k
            total += term
        within = 2 / math.pi * (middle + sine * total) if odd else sine * total
        low, high = (middle, high) if within < confidence else (low, middle)
    return math.tan(low) * math.sqrt(freedom)
