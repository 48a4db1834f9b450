"""Distributions of the time that a node takes to boot, as specs such as ``uniform:50,70``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from cluster_sim.errors import InputError

if TYPE_CHECKING:
    import numpy as np

WHERE = "power transitions, switch_on_distribution"
FORMS = "uniform:least,most, normal:mean,deviation or lognormal:mean,deviation, in s"
LONGEST_S, SHORTEST_MEAN_S = 1e9, 1e-9
"""Bounds of the numbers of a spec, s: far beyond any boot, but no result overflows."""


@dataclass(frozen=True, slots=True)
class BootTimes:
    """A distribution of boot times, s, by name and its two parameters.

    ``uniform``: from the least to the most. ``normal``: by mean and standard deviation; what falls below 0 counts as 0.
    ``lognormal``: by mean and standard deviation of the time itself, not of its logarithm.
    """

    name: str
    first: float
    second: float

    @property
    def mean(self) -> float:
        """Return the expected boot time, s."""
        if self.name == "uniform":
            return (self.first + self.second) / 2.0
        if self.name == "normal" and self.second > 0.0:
            z = self.first / self.second  # the mean of max(0, X)
            density = math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
            return self.first * (1.0 + math.erf(z / math.sqrt(2.0))) / 2.0 + self.second * density
        return self.first

    def draw(self, rng: np.random.Generator) -> float:
        """Draw the time of one boot, s."""
        if self.name == "uniform":
            return float(rng.uniform(self.first, self.second))
        if self.name == "normal":
            return max(0.0, float(rng.normal(self.first, self.second)))
        variance = math.log1p((self.second / self.first) ** 2)
        return float(rng.lognormal(math.log(self.first) - variance / 2.0, math.sqrt(variance)))


@lru_cache
def boot_times(text: str) -> BootTimes:
    """Return the distribution that a spec describes. Raises InputError."""
    name, _, rest = text.partition(":")
    try:
        first, second = (float(part) for part in rest.split(","))
    except ValueError:
        raise InputError(WHERE, FORMS, text) from None
    if name not in ("uniform", "normal", "lognormal"):
        raise InputError(WHERE, FORMS, text)
    if not (0.0 <= first <= LONGEST_S and 0.0 <= second <= LONGEST_S):
        raise InputError(WHERE, f"{FORMS}, from 0 to {LONGEST_S:g}", text)
    if name == "uniform" and first > second:
        raise InputError(WHERE, "uniform:least,most with the least first", text)
    if name == "lognormal" and first < SHORTEST_MEAN_S:
        raise InputError(WHERE, f"lognormal:mean,deviation with a mean above 0, {SHORTEST_MEAN_S:g} s or more", text)
    return BootTimes(name, first, second)
