"""Jobs in phases: compute-heavy and memory-heavy stretches in turn.

A job's work and memory volume are totals; its phases say how they are spread over time, as shares: ``"3:1 1:3"`` is a first
phase with 3/4 of the operations and 1/4 of the memory volume, and a second with the rest. Empty text is one phase. Every
processor that runs tasks of the job takes them through the phases by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache

from cluster_sim.errors import InputError

MOST_PHASES = 1000

Phase = tuple[float, float]
"""A stretch of a task's work: uncontended seconds, and the bandwidth it asks for meanwhile (MB/s)."""


@lru_cache(maxsize=1024)
def parse_phases(text: str) -> tuple[tuple[float, float], ...]:
    """Return (share of the work, share of the memory volume) of each phase; each adds up to 1.

    Raises InputError for text that is not pairs ``work:memory`` of numbers >= 0, or that has no work at all.
    """
    if not text.strip():
        return ((1.0, 1.0),)
    try:
        pairs = [tuple(float(number) for number in pair.split(":")) for pair in text.split()]
    except ValueError:
        pairs = []
    good = 0 < len(pairs) <= MOST_PHASES and all(
        len(pair) == 2 and all(math.isfinite(number) and number >= 0.0 for number in pair) for pair in pairs
    )
    if not good or not 0.0 < sum(pair[0] for pair in pairs) < math.inf:
        raise InputError("phases", "pairs work:memory of shares >= 0, such as '3:1 1:3'", text)
    work = sum(pair[0] for pair in pairs)
    memory = sum(pair[1] for pair in pairs)
    if not memory < math.inf:
        raise InputError("phases", "shares with a finite sum", text)
    # Without any memory share the volume is spread as the work is.
    return tuple((w / work, m / memory if memory else w / work) for w, m in pairs)


def phases_text(phases: Iterable[tuple[float, float]]) -> str:
    """Return phases as text; shares are relative."""
    return " ".join(f"{float(work)!r}:{float(memory)!r}" for work, memory in phases)
