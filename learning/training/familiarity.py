"""Familiarity of an agent with a run: its observations in training, compared with those of the run.

An agent keeps the mean and the standard deviation of every number of its observations over all decisions of its
training; of numbers in rows, such as those of the actions, the mean over the rows counts. If the mean of a number in a
run is far from that in training, the agent decides in situations that it has not learned from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from learning.networks.network import Kept

FAR = 2.0
"""Number of standard deviations from the training's mean from which on a mean is far."""
FIRST_LOOK = 256
"""Number of decisions, a power of two, after which means are checked first; then whenever it has doubled."""
_NEVER = 0.05  # least deviation over the size of a number, for numbers that never changed in training


class StrangeFeature(NamedTuple):
    """Number of the observations that is far from training: its part, its place there, and both means."""

    part: str
    place: int
    mean: float
    trained: float
    deviation: float


class Familiarity:
    """Means and standard deviations of the numbers of observations, by the observation's part.

    Sums are over decisions in their order, so equal trainings have equal sums. ``facts`` of an earlier object may be
    given to continue it.
    """

    def __init__(self, facts: Mapping[str, Any] | None = None):
        self.count = 0
        self._sums: dict[str, npt.NDArray[np.float64]] = {}
        if facts:
            self.count = int(facts["count"])
            self._sums = {name: np.array(sums, dtype=np.float64) for name, sums in facts["sums"].items()}

    def note(self, observations: Iterable[Kept]) -> None:
        """Add what a network kept of observations."""
        for kept in observations:
            self.count += 1
            for name, values in kept.items():
                if values.dtype.kind != "f":  # masks, numbers of actions
                    continue
                mean = values if values.ndim == 1 else values.reshape(-1, values.shape[-1]).mean(axis=0, dtype=float)
                if name not in self._sums:
                    self._sums[name] = np.zeros((2, len(mean)))
                self._sums[name] += mean, np.square(mean, dtype=np.float64)

    def facts(self) -> dict[str, Any]:
        """Return the number of decisions, and by part the sums of its numbers and of their squares, to be saved."""
        return {"count": self.count, "sums": dict(self._sums)}

    def strangest(self, training: Familiarity) -> StrangeFeature | None:
        """Return the number whose mean is farthest from training, in standard deviations; None if none is far."""
        found: list[tuple[float, StrangeFeature]] = []
        for name, sums in self._sums.items():
            trained = training._sums.get(name)
            if trained is None or trained.shape != sums.shape:
                continue
            now, (mean, square) = sums[0] / self.count, trained / training.count
            deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
            distance = np.abs(now - mean) / np.maximum(deviation, _NEVER * np.maximum(np.abs(mean), 1.0))
            place = int(distance.argmax())
            numbers = (float(column[place]) for column in (now, mean, deviation))
            found.append((float(distance[place]), StrangeFeature(name, place, *numbers)))
        farthest, strange = max(found, key=lambda one: one[0], default=(-math.inf, None))
        return strange if farthest > FAR else None
