"""How metrics, units and foreign text are named in tables, hovers and pages; amounts are in :mod:`cluster_sim.amounts`."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

from cluster_sim.workload.fields import SUMMARY_METRICS

_UNITS = {field.name: field.unit for field in SUMMARY_METRICS}
_UNIT_ENDINGS = {"s": "_s", "J": "_j", "J s": "_js"}
_SPELLING = {"edp": "EDP", "p95": "95th percentile of"}


def unit_of(key: str) -> str:
    """Unit of a summary key, ``J`` for ``energy_j``; empty for counts, ratios and keys that are no metric of ours."""
    return _UNITS.get(key, "")


def label_of(key: str) -> str:
    """A summary key in words, its unit left to :func:`unit_of`: ``mean_wait_s`` reads "mean wait"."""
    stem = key.removesuffix(_UNIT_ENDINGS.get(unit_of(key), ""))
    return " ".join(_SPELLING.get(word, word) for word in stem.split("_"))


_SCALES = {
    "s": ((172_800.0, 86_400.0, "d"), (7_200.0, 3_600.0, "h"), (120.0, 60.0, "min")),
    "J": ((3.6e9, 3.6e9, "MWh"), (3.6e6, 3.6e6, "kWh"), (1e4, 1e3, "kJ")),
}
"""Of a unit: from which size on another one is meant for people, what it is, and its name."""


def scale_of(unit: str, size: float) -> tuple[float, str]:
    """The unit in which people read a quantity of that size, and what to divide by: 6,000 s are 100 min.

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


_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


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
