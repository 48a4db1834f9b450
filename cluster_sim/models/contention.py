"""Contention models: how much the tasks on one processor slow each other down through its memory.

A model is pure: from the task groups on a processor it says each group's *speedup*, its achieved over its uncontended
rate, in (0, 1]. No clock and no events, so that schedulers, searches and tests can ask it about processors that do not exist.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Protocol

from annotated_types import Ge, Le
from typing_extensions import Doc

from cluster_sim.options import checked
from cluster_sim.platform.hardware import MOST_PARAMETER, PIECEWISE_CONTENTION, check_contention_parameters
from cluster_sim.platform.platform import ProcessorType
from cluster_sim.registry import Registry

Demand = tuple[int, float]
"""A task group as a model sees it: its tasks, and the bandwidth each of them asks for (MB/s)."""


class Contention(Protocol):
    """A contention model applied to one type of processor."""

    threshold: float
    """Total bandwidth (MB/s) below which every speedup is 1, so that nothing needs computing."""

    def speedups(self, groups: Sequence[Demand]) -> list[float]:
        """Return one speedup in (0, 1] per group."""
        ...


class ContentionModel(Protocol):
    """To write a model: ``on(processor)`` returns what your model makes of that processor, then register a name for it."""

    def on(self, processor: ProcessorType) -> Contention:
        """Return the model with this processor's parameters."""
        ...

    def speedups(self, processor: ProcessorType, groups: Sequence[Demand]) -> list[float]:
        """Return one speedup in (0, 1] per task group running on ``processor``."""
        ...


contention_models: Registry[ContentionModel] = Registry(
    "contention model", "cluster_sim.contention_models", needs=("on",)
)


class Uncontended:
    """Every task runs at its peak rate, whatever runs beside it."""

    threshold = math.inf

    def speedups(self, groups: Sequence[Demand]) -> list[float]:
        """Return 1 for every group."""
        return [1.0] * len(groups)


@contention_models.register("none")
class NoContention:
    """No contention: cores are independent (the baseline of Herrera et al. 2021)."""

    def on(self, processor: ProcessorType) -> Contention:
        """Return the same model for every processor."""
        return Uncontended()

    def speedups(self, processor: ProcessorType, groups: Sequence[Demand]) -> list[float]:
        """Return 1 for every group."""
        return [1.0] * len(groups)


@contention_models.register("piecewise")
class PiecewiseContention:
    """Slowdown of Herrera et al. (2021), Eq. 2-4, in the form that made their group's published numbers.

    With ``n`` other tasks on the processor, a task's own bandwidth ``R`` and the total ``T`` (MB/s)::

        s(x)    = 1 for x < 0;  0 for x > 1;  1 - x³(6x² - 15x + 10) in between
        q       = (R - (da - n)·db) / (dc - n·dd)
        d       = s(q)·k·n/(1 + k·n) + 1/(1 + k·n)
        speedup = 1 if T < c;  d if T > (d + b·c - 1)/b;  1 + b·(T - c) in between

    The paper prints ``s`` rising and with a wrong sign, and ``k`` = 1; all numbers published with the model need the
    falling form and ``k`` = 0.6. Where ``dc - n·dd`` is not positive the formula means nothing: there s(q) = 0, and
    reading the platform warns. A processor without the parameters b, c, da, db, dc, dd never contends.
    """

    @checked
    def __init__(self, k: Annotated[float, Ge(0), Le(MOST_PARAMETER), Doc("slowdown by each other task")] = 0.6):
        self.k = k

    def on(self, processor: ProcessorType) -> Contention:
        """Return the curve with the processor's parameters."""
        if not processor.contention:
            return Uncontended()
        check_contention_parameters(processor, "piecewise")
        return _PiecewiseCurve(self.k, **{name: processor.contention[name] for name in PIECEWISE_CONTENTION})

    def speedups(self, processor: ProcessorType, groups: Sequence[Demand]) -> list[float]:
        """Return one speedup per group by the formula above."""
        return self.on(processor).speedups(groups)


class _PiecewiseCurve:
    def __init__(self, k: float, b: float, c: float, da: float, db: float, dc: float, dd: float):
        self.k, self.b, self.da, self.db, self.dc, self.dd = k, b, da, db, dc, dd
        self.threshold = c

    def speedups(self, groups: Sequence[Demand]) -> list[float]:
        total = 0.0
        running = 0
        for tasks, bandwidth in groups:
            total += tasks * bandwidth
            running += tasks
        if total <= self.threshold:  # at the threshold itself the slope is 1; where that is 0, nothing may run at all
            return [1.0] * len(groups)
        others = running - 1
        slowest = 1.0 / (1.0 + self.k * others)
        onset = (self.da - others) * self.db
        width = self.dc - others * self.dd
        slope = 1.0 + self.b * (total - self.threshold)
        speedups = []
        for _, bandwidth in groups:
            x = (bandwidth - onset) / width if width > 0.0 else 1.0
            if x <= 0.0:
                floor = 1.0
            elif x >= 1.0:
                floor = slowest
            else:
                floor = (1.0 - x * x * x * (6.0 * x * x - 15.0 * x + 10.0)) * (self.k * others) * slowest + slowest
            # b < 0, so "T beyond where the slope meets d" is the same as "the slope has fallen below d".
            speedups.append(slope if slope > floor else floor)
        return speedups


contention_models.register_later(
    "gompertz",
    "cluster_sim.models.gompertz",
    "GompertzContention",
    "Smooth slowdown by total bandwidth, a Gompertz curve whose shape depends on the task and on its neighbours.",
)
contention_models.register_later(
    "roofline",
    "cluster_sim.models.roofline",
    "RooflineContention",
    "Max-min fair shares of the memory bandwidth; a task runs at the lower of its two roofs, compute and memory.",
)
