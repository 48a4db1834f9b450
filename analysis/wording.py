"""How numbers, units and foreign text are written in tables, hovers and pages."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from cluster_sim.workload.fields import SUMMARY_METRICS

NOTHING = "–"

_UNITS = {field.name: field.unit for field in SUMMARY_METRICS}
_UNIT_ENDINGS = {"s": "_s", "J": "_j", "J s": "_js"}
_SPELLING = {"edp": "EDP", "p95": "95th percentile of"}


def numbers(values: ArrayLike, digits: int = 6) -> list[str]:
    """Numbers as text: ``digits`` significant ones, all before the point, thousands apart, no trailing zeros.

    From 10^12 on, and below 10^-4, in powers of ten. NaN reads "–" and infinity "∞".

    >>> numbers([315244.96, 0.25, float("nan")])
    ['315,245', '0.25', '–']
    """
    array = np.asarray(values, dtype=float).ravel()
    size = np.abs(array)
    usable = np.isfinite(array) & (size >= 1e-4)
    magnitude = np.floor(np.log10(np.where(usable, size, 1.0))).astype(int)
    decimals = np.clip(digits - 1 - magnitude, 0, None)
    return [_number(value, places, digits) for value, places in zip(array.tolist(), decimals.tolist(), strict=True)]


def number(value: float, digits: int = 6) -> str:
    """One number as :func:`numbers` writes it."""
    return numbers([value], digits)[0]


def _number(value: float, decimals: int, digits: int) -> str:
    if value != value:
        return NOTHING
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "−∞"
    if 0 < abs(value) < 1e-4 or abs(value) >= 1e12:
        return f"{value:.{digits}g}"
    text = f"{value:,.{decimals}f}"
    return (text.rstrip("0").rstrip(".") if decimals else text) or "0"


def unit_of(key: str) -> str:
    """Unit of a summary key, ``J`` for ``energy_j``; empty for counts, ratios and keys that are no metric of ours."""
    return _UNITS.get(key, "")


def label_of(key: str) -> str:
    """A summary key in words, its unit left to :func:`unit_of`: ``mean_wait_s`` reads "mean wait"."""
    stem = key.removesuffix(_UNIT_ENDINGS.get(unit_of(key), ""))
    return " ".join(_SPELLING.get(word, word) for word in stem.split("_"))


def plotly_text(texts: Iterable[object]) -> list[str]:
    """Foreign text made safe for labels and hovers, where plotly reads a few HTML tags (links among them).

    Quotes stay: plotly decodes ``&lt; &gt; &amp;`` after it has looked for tags, but does not know ``&quot;``.
    """
    return [html.escape(str(text), quote=False) for text in texts]


def shortened(text: str, limit: int = 60) -> str:
    """``text`` cut to ``limit`` characters, with an ellipsis when something is missing."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def listing(parts: Sequence[str]) -> str:
    """``parts`` as a phrase: "a", "a and b", "a, b and c"."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
