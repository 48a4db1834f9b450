"""The contention models as curves over many measurements at once, in unknowns that least squares can handle."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from cluster_sim.models.gompertz import SLOWEST, coefficients
from cluster_sim.platform.hardware import GOMPERTZ_CONTENTION, PIECEWISE_CONTENTION

Floats = npt.NDArray[np.float64]


class Curve:
    """A contention model as a function of scaled unknowns, all of the order of 1."""

    names: tuple[str, ...]

    def __init__(self, data: pd.DataFrame, options: Mapping[str, float]):
        self.own = data["bandwidth"].to_numpy()
        self.others = data["others"].to_numpy()
        self.total = data["total"].to_numpy()
        self.speedup = data["speedup"].to_numpy()
        self.options = options
        self.scale = float(self.total.max()) or 1.0

    def start(self, rng: np.random.Generator) -> Floats:
        """Return a place for the search to begin."""
        raise NotImplementedError

    def speedups(self, x: Floats) -> Floats:
        """Return the speedup of every measurement."""
        raise NotImplementedError

    def parameters(self, x: Floats) -> Floats:
        """Return the model's own parameters, in the order of :attr:`names`."""
        raise NotImplementedError

    def jacobian(self, x: Floats) -> Floats:
        """Return the derivative of the parameters by the unknowns, for their errors."""
        step = 1e-6 * np.maximum(1.0, np.abs(x))
        columns = [
            (self.parameters(x + e) - self.parameters(x - e)) / (2 * h)
            for h, e in zip(step, np.diag(step), strict=True)
        ]
        return np.array(columns).T


class Piecewise(Curve):
    """Unknowns: slope, threshold, onset at n = 0, its fall per task, width at n = 0, its fall per task; scaled."""

    names = PIECEWISE_CONTENTION

    def start(self, rng: np.random.Generator) -> Floats:
        """Return the threshold near the least total at which something was slowed, the rest anywhere sensible."""
        slowed = self.total[self.speedup < 0.98]
        threshold = float(slowed.min()) if len(slowed) else self.scale
        own = float(self.own.max()) or 1.0
        return np.array([
            -rng.uniform(0.3, 3.0), threshold / self.scale * rng.uniform(0.7, 1.1),
            rng.uniform(0.0, 1.0) * own / self.scale, rng.uniform(0.0, 0.5) * own / self.scale,
            rng.uniform(0.3, 3.0) * own / self.scale, rng.uniform(0.0, 0.2) * own / self.scale,
        ])  # fmt: skip

    def speedups(self, x: Floats) -> Floats:
        """Return the falling line, or the floor that a task's own bandwidth and the number of others set."""
        slope, threshold, onset, onset_fall, width, width_fall = x
        span = width - self.others * width_fall
        own = self.own / self.scale
        q = (own - (onset - self.others * onset_fall)) / np.where(span > 1e-9, span, 1e-9)
        q = np.clip(np.where(span > 1e-9, q, 1.0), 0.0, 1.0)
        step = 1.0 - q**3 * (6.0 * q**2 - 15.0 * q + 10.0)
        shared = self.options["k"] * self.others
        floor = (step * shared + 1.0) / (1.0 + shared)
        line = 1.0 + slope * (self.total / self.scale - threshold)
        return np.asarray(np.where(line >= 1.0, 1.0, np.maximum(floor, line)))

    def parameters(self, x: Floats) -> Floats:
        """Return da as the onset over its fall per task; undo the scale of the others."""
        slope, threshold, onset, onset_fall, width, width_fall = x
        s = self.scale
        da = onset / onset_fall if onset_fall else 0.0
        return np.array([slope / s, threshold * s, da, onset_fall * s, width * s, width_fall * s])


class Gompertz(Curve):
    """Unknowns: the model's eighteen parameters with bandwidths counted in the largest total."""

    names = GOMPERTZ_CONTENTION

    def __init__(self, data: pd.DataFrame, options: Mapping[str, float]):
        super().__init__(data, options)
        # With bandwidths from 0 to 1 all eighteen unknowns are of the order of 1.
        power = {"a": 1, "b": 0, "c": 0, "d": -1}  # of the unit of bandwidth in a constant coefficient
        own = {"a": 1, "b": 0}
        in_c = {"a": 2, "b": 1, "c": 0}
        exponents = [power[n[0]] + (in_c[n[1]] if n[0] == "c" else own[n[1]]) for n in self.names]
        self.units = (options["unit"] / self.scale) ** np.array(exponents, dtype=np.float64)

    def start(self, rng: np.random.Generator) -> Floats:
        """Return a curve that falls from 1 somewhere in the middle, the same for every task."""
        x = dict.fromkeys(self.names, 0.0)
        x.update(abb=-rng.uniform(3.0, 15.0), bbb=1.0, ccb=rng.uniform(0.0, 0.9), dbb=rng.uniform(0.2, 0.8))
        return np.array(list(x.values()))

    def speedups(self, x: Floats) -> Floats:
        """Return the formula of the model, kept within its bounds."""
        a, b, c, d = coefficients(x.tolist(), self.others, self.own / self.scale)
        total = self.total / self.scale
        curve = np.exp(-np.exp(np.clip(a * (total - d), -50.0, 50.0)))
        return np.asarray(np.clip(b + self.options["factor"] * (c - b) * curve, SLOWEST, 1.0))

    def parameters(self, x: Floats) -> Floats:
        """Return the unit of bandwidth changed from the largest total to the option's."""
        return np.asarray(x * self.units)


class Roofline(Curve):
    """Unknown: the capacity, in the largest total; tasks of a run are alike, so each gets an equal share."""

    names = ("bandwidth",)

    def start(self, rng: np.random.Generator) -> Floats:
        """Return any capacity below the largest total."""
        return np.array([rng.uniform(0.05, 1.0)])

    def speedups(self, x: Floats) -> Floats:
        """Return an equal share of the capacity over an equal share of the total."""
        capacity = max(float(x[0]), 1e-9) * self.scale
        return np.asarray(np.minimum(1.0, capacity / np.maximum(self.total, 1e-300)))

    def parameters(self, x: Floats) -> Floats:
        """Return the scale undone."""
        return np.asarray(x * self.scale)


CURVES: dict[str, type[Curve]] = {"piecewise": Piecewise, "gompertz": Gompertz, "roofline": Roofline}
