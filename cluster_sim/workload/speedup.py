"""How many times faster a job is on several cores than on one.

The run time of a job is known on the cores that it requested; on others it changes by the ratio of the speedups. To
add a model, register a class with a method ``at(cores)`` in :data:`speedups`, or under the entry-point group
``cluster_sim.speedups``; jobs name it in their column ``speedup``.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache
from typing import Annotated, Protocol

from annotated_types import Ge, Le
from typing_extensions import Doc

from cluster_sim.errors import SpecError
from cluster_sim.options import checked
from cluster_sim.registry import Registry

LINEAR = "linear"
MOST_WIDTHS = 10_000
"""Numbers of cores that a table may list."""


class Speedup(Protocol):
    """A law of how a job's run time follows its cores."""

    def at(self, cores: int) -> float:
        """Return how many times faster the job is on that many cores than on one; above 0."""
        ...


speedups: Registry[Speedup] = Registry("speedup", "cluster_sim.speedups")


@speedups.register(LINEAR)
class Linear:
    """Twice the cores take half the time."""

    def at(self, cores: int) -> float:
        """Return as many times faster as there are cores."""
        return float(cores)


@speedups.register("amdahl")
class Amdahl:
    """A part of the work, serial=0.1, takes its time whatever the cores, the rest is spread evenly (Amdahl 1967)."""

    @checked
    def __init__(self, serial: Annotated[float, Ge(0), Le(1), Doc("part of the work that one core does alone")] = 0.1):
        self.serial = serial

    def at(self, cores: int) -> float:
        """Return 1 / (serial + (1 - serial) / cores)."""
        return 1.0 / (self.serial + (1.0 - self.serial) / cores)


class Table:
    """Speedups as measured, on a straight line between two of the numbers of cores, and constant beyond the last."""

    def __init__(self, points: dict[int, float]):
        self._cores, self._speedups = zip(*sorted(points.items()), strict=True)

    def at(self, cores: int) -> float:
        """Return the speedup that the table gives."""
        place = bisect_left(self._cores, cores)
        if place == len(self._cores):
            return float(self._speedups[-1])
        if self._cores[place] == cores or place == 0:
            return float(self._speedups[place])
        (before, after), (low, high) = self._cores[place - 1 : place + 1], self._speedups[place - 1 : place + 1]
        return float(low + (high - low) * (cores - before) / (after - before))


@lru_cache(maxsize=1024)
def parse_speedup(text: str) -> Speedup:
    """Return the law that a text names; empty: linear. Raises SpecError."""
    if text in ("", LINEAR):
        return Linear()  # without a look at what other packages offer, which takes longer than a small run
    if not text.startswith("table:"):
        return speedups.make(text)
    points: dict[int, float] = {}
    for pair in text.removeprefix("table:").split(","):
        cores, _, factor = pair.partition("=")
        try:
            points[int(cores)] = float(factor)
        except ValueError:
            points = {}
            break
    good = 0 < len(points) <= MOST_WIDTHS and all(
        cores >= 1 and factor > 0.0 and math.isfinite(factor) for cores, factor in points.items()
    )
    if not good:
        raise SpecError("speedup 'table'", "cores=speedup, both above 0, such as table:1=1,2=1.9", text)
    return Table(points)


def time_ratio(text: str, base: int, cores: int) -> float:
    """Return how many times as long a job takes on ``cores`` cores as on ``base``, by the law that ``text`` names."""
    if base == cores:
        return 1.0
    law = parse_speedup(text)
    return law.at(base) / law.at(cores)
