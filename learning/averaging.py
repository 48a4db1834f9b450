"""Stochastic weight averaging: the mean of the weights that training passes through late.

Izmailov et al. (2018): the mean lies in the middle of a wide optimum along whose border stochastic gradient descent walks.
López (2023) averages the actor's weights from three quarters of the training on and uses the mean to schedule. Training
itself goes on with its own weights.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cluster_sim.errors import InputError

Arrays = dict[str, np.ndarray]


class WeightAverage:
    """The mean of all weights that it was given, in double precision: w̄ ← w̄ + (w − w̄) / n."""

    def __init__(self) -> None:
        self.count = 0
        self._means: Arrays = {}

    def add(self, weights: Mapping[str, np.ndarray]) -> None:
        """Take these weights into the mean. Raises InputError when they are not those of the same network."""
        if self._means and set(weights) != set(self._means):
            raise InputError("weight average", f"weights {', '.join(self._means)}", ", ".join(weights))
        self.count += 1
        for name, weight in weights.items():
            mean = self._means.setdefault(name, np.zeros(np.shape(weight)))
            mean += (weight - mean) / self.count

    def weights(self) -> Arrays:
        """The mean, single precision as networks have it; empty before the first ``add``."""
        return {name: mean.astype(np.float32) for name, mean in self._means.items()}

    def state(self, name: str) -> Arrays:
        """Everything, to be stored."""
        count = {f"{name}.count": np.array(self.count)}
        return count | {f"{name}.mean.{key}": mean.copy() for key, mean in self._means.items()}

    def load_state(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over what ``state`` gave."""
        self.count = int(arrays[f"{name}.count"])
        prefix = f"{name}.mean."
        self._means = {
            key.removeprefix(prefix): np.array(mean, dtype=np.float64)
            for key, mean in arrays.items()
            if key.startswith(prefix)
        }
