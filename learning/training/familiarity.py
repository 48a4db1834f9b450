"""What an agent saw while it learned, and whether a run shows it something else.

Of every number of an observation the mean and the standard deviation over all decisions of a training are kept with its
agent; of numbers in rows, such as those of the actions, it is the mean over the rows that is followed. A run in which the
mean of a number lies far from what it was in training asks the agent about situations that it has not learned from: what
it decides there has not been tried.
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
"""A mean so many standard deviations from that of training is far from it."""
FIRST_LOOK = 256
"""After so many decisions means are looked at first; then each time that there are twice as many. A power of two."""
_NEVER = 0.05  # the least deviation, over the size of the number: one that never changed may differ a little


class StrangeFeature(NamedTuple):
    """A number of the observations that lies far from training: the part it belongs to, its place there, and both means."""

    part: str
    place: int
    mean: float
    trained: float
    deviation: float


class Familiarity:
    """Means and standard deviations of the numbers of observations, by the observation's part.

    Sums are over decisions, in the order in which these are noted, so equal trainings have equal ones. ``facts`` of others
    may be given to go on from.
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
        """How many decisions, and of each part the sums of its numbers and of their squares; to be saved."""
        return {"count": self.count, "sums": dict(self._sums)}

    def strangest(self, training: Familiarity) -> StrangeFeature | None:
        """The number whose mean lies farthest from that of a training, in its standard deviations; None if none is far."""
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
