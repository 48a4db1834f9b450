"""Words for metrics, units and foreign text in tables, hovers and pages; amounts are in :mod:`cluster_sim.amounts`."""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from cluster_sim.workload.fields import label_of as label_of
from cluster_sim.workload.fields import unit_of as unit_of


def change(reduction: float) -> str:
    """Return a reduction in words, ``12.50 % less``; a negative one is ``more``."""
    return f"{abs(reduction):.2f} % {'more' if reduction <= -0.005 else 'less'}"  # never 0.00 % more


def plotly_text(texts: Iterable[object], limit: float = math.inf) -> list[str]:
    """Return foreign text made safe for labels and hovers, in which plotly reads a few HTML tags (links among them).

    Texts longer than ``limit`` are :func:`shortened`. Quotes stay: plotly decodes ``&lt; &gt; &amp;`` after it has looked
    for tags, but does not know ``&quot;``.
    """
    written: Iterable[str] = map(str, texts)
    if limit < math.inf:
        written = [text if len(text) <= limit else f"{text[: int(limit) - 1]}…" for text in written]
    return list(map(partial(html.escape, quote=False), written))


def shortened(text: str, limit: int = 60) -> str:
    """Return ``text`` cut to ``limit`` characters, with an ellipsis if it was longer."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def shortened_apart(texts: Sequence[str], limit: int) -> list[str]:
    """Return texts cut to ``limit`` characters: at the end, at the beginning, or in the middle, so that others stay others.

    Where all three look the same, a number stands behind.
    """
    half = (limit - 1) // 2
    found = [shortened(text, limit) for text in texts]
    for at_beginning, at_end in ((0, limit - 1), (limit - 1 - half, half)):
        told = _told_by(texts, found)
        found = [
            short if len(text) <= limit or told[short] == 1 else f"{text[:at_beginning]}…{text[-at_end:]}"
            for text, short in zip(texts, found, strict=True)
        ]
    told = _told_by(texts, found)
    known = list(dict.fromkeys(texts))
    return [
        short if len(text) <= limit or told[short] == 1 else f"{short} ({known.index(text) + 1})"
        for text, short in zip(texts, found, strict=True)
    ]


def _told_by(texts: Sequence[str], found: Sequence[str]) -> Counter[str]:
    """Count how many texts each of their short forms stands for."""
    return Counter(short for _, short in dict.fromkeys(zip(texts, found, strict=True)))


def listing(parts: Sequence[str]) -> str:
    """Return ``parts`` as a phrase: "a", "a and b", "a, b and c"."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def setting(value: object) -> str:
    """Return a setting in words."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {setting(item)}" for key, item in value.items()) or "none"
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(setting(item) for item in value) or "none"
    return str(value)


def axis_of(metric: str) -> str:
    """Return a metric with its unit, as the title of an axis."""
    return f"{label_of(metric)} [{unit}]" if (unit := unit_of(metric)) else label_of(metric)
