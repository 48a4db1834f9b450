"""Behaviour of published programs that their numbers need."""

from __future__ import annotations

from collections.abc import Iterable

from cluster_sim.errors import InputError

QUIRKS = (
    "unused-processors-draw-nothing",
    "textual-node-order",
    "low-power-means-high",
    "contention-at-job-boundaries",
    "pass-after-each-event",
    "simgrid-clock",
    "late-demotions",
)
"""Behaviour of published programs that their numbers need; off unless asked for."""


def known_quirks(quirks: Iterable[str]) -> frozenset[str]:
    """Return the quirks as a set. Raises InputError for one that there is not."""
    names = frozenset((quirks,) if isinstance(quirks, str) else quirks)
    for name in sorted(names - set(QUIRKS)):
        raise InputError("quirk", f"one of {', '.join(QUIRKS)}", name)
    return names
