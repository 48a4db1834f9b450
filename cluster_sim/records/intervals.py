"""Confidence intervals: Student's, of means, paired differences and paired ratios, and the bootstrap's, of ratios of sums.

Student's quantile is worked out here, in closed form and by bisection, so that a comparison does not need scipy.
"""

from __future__ import annotations

import math

import numpy as np

from cluster_sim.errors import InputError

CONFIDENCE = 0.95


def mean_of(values: np.ndarray) -> np.ndarray:
    """The mean of each column, NaN without rows; of equal values the value itself, which sum and division might miss."""
    if not len(values):
        return np.full(values.shape[1], np.nan)
    return np.asarray(np.where(_is_equal(values), values[0], values.mean(axis=0)))


def half_width(values: np.ndarray, confidence: float = CONFIDENCE) -> np.ndarray:
    """Half the width of the confidence interval of the mean of each column; NaN for a single row, 0 for equal values."""
    count = len(values)
    if count < 2:
        return np.full(values.shape[1], np.nan)
    spread = values.std(axis=0, ddof=1) / math.sqrt(count)
    # Of equal values the deviation is what rounding made of their mean.
    return np.where(_is_equal(values), 0.0, student_quantile(count - 1, confidence) * spread)


def _is_equal(values: np.ndarray) -> np.ndarray:
    """Of each column whether it is one number, again and again."""
    return np.asarray((values == values[0]).all(axis=0))


def paired_change(
    values: np.ndarray, first: np.ndarray, confidence: float = CONFIDENCE
) -> tuple[np.ndarray, np.ndarray]:
    """The mean of each column of ``values - first`` in % of that column's mean of ``first``, and its interval's half-width.

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
    """The geometric mean of ``values / first`` as a change in %, and the ends of its interval.

    Both are above 0, one for each thing that both met. Student's interval of the mean of the logarithms: a few large values,
    which decide the mean of ``values - first``, count here by what they are of the others' size.
    """
    logs = np.log(values / first)
    mean, around = logs.mean(), half_width(logs[:, None], confidence)[0]
    change, low, high = (100 * np.expm1([mean, mean - around, mean + around])).tolist()
    return change, low, high


def bootstrap_interval(values: np.ndarray, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Ends of an interval of the mean of ``values``: percentiles of the means of 2,000 samples drawn from them.

    It never goes beyond the values themselves, so that what cannot be negative has no negative end. The draws are the
    same every time. The mean itself, twice, for fewer than two values.
    """
    if len(values) < 2:
        mean = float(np.mean(values)) if len(values) else math.nan
        return mean, mean
    low, high = bootstrap_ratios(values[:, None], np.ones((len(values), 1)), confidence)[0].tolist()
    return low, high


def bootstrap_ratios(sums: np.ndarray, counts: np.ndarray, confidence: float = CONFIDENCE) -> np.ndarray:
    """Ends of intervals of Σ ``sums`` / Σ ``counts`` of each column, over rows that are drawn again and again.

    Rows are what is independent, as far as anything is: replications, or weeks of a log, each with the sum over its jobs and
    their number. 2,000 samples of as many rows are drawn, the same every time; a column of the result is (low, high), the
    percentiles of their ratios. Shape (columns, 2). NaN where fewer than two rows count anything.
    """
    rows = len(sums)
    draws = np.random.default_rng(0).integers(rows, size=(_RESAMPLES, rows))
    times = np.zeros((_RESAMPLES, rows))
    np.add.at(times, (np.arange(_RESAMPLES)[:, None], draws), 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (times @ sums) / (times @ counts)
    tail = 50.0 * (1.0 - confidence)
    known = (counts > 0).sum(axis=0) > 1
    ends = np.full((sums.shape[1], 2), np.nan)
    if known.any():
        ends[known] = np.nanpercentile(ratios[:, known], [tail, 100.0 - tail], axis=0).T
    return ends


_RESAMPLES = 2_000


def student_quantile(freedom: int, confidence: float = CONFIDENCE) -> float:
    """The t for which a Student variable lies in [-t, t] with probability ``confidence``.

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
        low, high = (middle, high) if _within(middle, freedom) < confidence else (low, middle)
    return math.tan(low) * math.sqrt(freedom)


def _within(angle: float, freedom: int) -> float:
    """P(|T| <= t) with t = √freedom · tan(angle): Abramowitz and Stegun (1964), 26.7.3 and 26.7.4."""
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = freedom % 2 == 1
    term = total = 0.0 if odd and freedom == 1 else math.cos(angle) if odd else 1.0
    for k in range(3 if odd else 2, freedom - 1, 2):
        term *= square * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
