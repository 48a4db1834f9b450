"""Which licences are held or planned, from when to when: the part of a backfill pass that bf_licenses adds."""

from __future__ import annotations

import math
from collections.abc import Mapping


class LicencePlan:
    """Plan of licences: how many of each there are, and who has them when."""

    def __init__(self, total: Mapping[str, int]):
        self._total = total
        self._uses: list[tuple[float, float, Mapping[str, int]]] = []

    def hold(self, licences: Mapping[str, int], start: float, end: float) -> None:
        """Hold the licences from ``start`` to ``end`` (s)."""
        if licences:
            self._uses.append((start, end, licences))

    def wait(self, wanted: Mapping[str, int], start: float, end: float) -> float:
        """Return until when a job that wants them from ``start`` to ``end`` has to wait, s: 0 not at all, inf for ever.

        What begins at its end counts, too.
        """
        uses = [use for use in self._uses if use[0] <= end and start < use[1]]
        for name, count in wanted.items():
            if count > self._total.get(name, 0):
                return math.inf
            for time in (start, *(use[0] for use in uses if start < use[0])):
                taken = sum(held.get(name, 0) for begin, stop, held in uses if begin <= time < stop)
                if taken + count > self._total[name]:
                    return min((stop for _, stop, held in uses if name in held), default=math.inf)
        return 0.0
