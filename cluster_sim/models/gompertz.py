"""The ``gompertz`` contention model: the successor of the ``piecewise`` one, fitted with Gompertz curves."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeVar

from annotated_types import Gt, Unit
from typing_extensions import Doc

from cluster_sim.models.contention import Contention, Demand, Uncontended, contention_models
from cluster_sim.options import checked
from cluster_sim.platform.hardware import GOMPERTZ_CONTENTION, check_contention_parameters
from cluster_sim.platform.platform import ProcessorType

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

SLOWEST = 0.01
"""Least speedup. The formula is a fit: outside the range it was fitted to it can fall to 0 and below."""

T = TypeVar("T", float, "npt.NDArray[np.float64]")

_LARGEST_EXPONENT = 700.0  # e^700 is still a float


@contention_models.register("gompertz")
class GompertzContention:
    """Smooth slowdown by total bandwidth, a Gompertz curve whose shape depends on the task and on its neighbours.

    With ``n`` other tasks on the processor, a task's own bandwidth ``x`` and the total ``X`` (both in units of ``unit``
    MB/s)::

        a = (abb + n·aba) + (aab + n·aaa)·x
        b = (bbb + n·bba) + (bab + n·baa)·x
        c = (ccb + n·cca) + (cbb + n·cba)·x + (cab + n·caa)·x²
        d = (dbb + n·dba) + (dab + n·daa)·x
        speedup = b + factor · (c - b) · exp(-exp(a·(X - d)))          between 0.01 and 1

    For ``a < 0`` the speedup goes from ``b`` at little traffic to ``b + factor·(c - b)`` at much. Of a parameter's
    three letters the first is the coefficient, the second the power of x (b: none, a: one; in ``c`` c: none, b: one,
    a: two), the third says whether it is constant (b) or per other task (a).

    The formula and the names are those of "modelV2" in the public program that came after Herrera et al. (2021); there
    a node is one set of cores, here the parameters belong to a processor (``ProcessorType.contention``, all eighteen
    or none: a processor without them never contends). Three things are ours. Tasks that together move no memory are
    not slowed. The result is kept within [0.01, 1]. And ``unit`` and ``factor`` are options, because the program is at
    odds with itself: one of its forms has ``factor`` 0.9, another has 1; it turns bandwidths into 1000 MB/s (``unit``,
    the default here), but the parameters that come with it make sense only per 10⁶ MB/s (``gompertz:unit=1e6``: then
    four tasks of 17,300 MB/s on their quad-core run at 0.49; with 1000 the quadratic falls far below 0).
    """

    @checked
    def __init__(
        self,
        unit: Annotated[float, Gt(0), Unit("MB/s"), Doc("unit of the bandwidths in the formula")] = 1000.0,
        factor: Annotated[float, Gt(0), Doc("part of the way from b to c that the curve goes")] = 0.9,
    ):
        self.unit = unit
        self.factor = factor

    def on(self, processor: ProcessorType) -> Contention:
        """Return the curves with the processor's parameters."""
        if not processor.contention:
            return Uncontended()
        check_contention_parameters(processor, "gompertz")
        return _GompertzCurves(self.unit, self.factor, [processor.contention[name] for name in GOMPERTZ_CONTENTION])

    def speedups(self, processor: ProcessorType, groups: Sequence[Demand]) -> list[float]:
        """Return one speedup per group by the formula above."""
        return self.on(processor).speedups(groups)


def coefficients(parameters: Sequence[float], n: T, x: T) -> tuple[T, T, T, T]:
    """Return a, b, c and d of a task's curve from :data:`GOMPERTZ_CONTENTION`, other tasks and its own bandwidth."""
    aaa, aab, aba, abb, baa, bab, bba, bbb, caa, cab, cba, cbb, cca, ccb, daa, dab, dba, dbb = parameters
    return (
        abb + n * aba + (aab + n * aaa) * x,
        bbb + n * bba + (bab + n * baa) * x,
        ccb + n * cca + (cbb + n * cba) * x + (cab + n * caa) * x * x,
        dbb + n * dba + (dab + n * daa) * x,
    )


class _GompertzCurves:
    # There is no traffic so light that it slows nothing; only none at all.
    threshold = sys.float_info.min

    def __init__(self, unit: float, factor: float, parameters: Sequence[float]):
        self._unit = unit
        self._factor = factor
        self._parameters = tuple(parameters)

    def speedups(self, groups: Sequence[Demand]) -> list[float]:
        total = sum(tasks * bandwidth for tasks, bandwidth in groups) / self._unit
        if total <= 0.0:
            return [1.0] * len(groups)
        n = sum(tasks for tasks, _ in groups) - 1
        speedups = []
        for _, bandwidth in groups:
            a, b, c, d = coefficients(self._parameters, n, bandwidth / self._unit)
            curve = math.exp(-math.exp(min(a * (total - d), _LARGEST_EXPONENT)))
            speedups.append(min(1.0, max(SLOWEST, b + self._factor * (c - b) * curve)))
        return speedups
