"""The ``roofline`` contention model: tasks share a processor's memory bandwidth fairly, and wait for nothing else."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Annotated

from annotated_types import Gt, Unit
from typing_extensions import Doc

from cluster_sim.models.contention import Contention, Demand, Uncontended, contention_models
from cluster_sim.options import checked
from cluster_sim.platform.hardware import check_contention_parameters
from cluster_sim.platform.platform import ProcessorType


@contention_models.register("roofline")
class RooflineContention:
    """Max-min fair shares of the memory bandwidth; a task runs at the lower of its two roofs, compute and memory.

    The roofline of Williams, Waterman and Patterson (2009): a task of ``ops`` operations that moves ``mem_vol`` MB on
    a core of rate ``peak`` runs at ``min(peak, share · ops / mem_vol)``. With its requested bandwidth
    ``R = mem_vol / (ops / peak)`` MB/s that is a speedup of ``min(1, share / R)``. The shares are max-min fair
    (Bertsekas and Gallager 1992, §6.5.2): every task gets what it asks for up to a common level L, such that the
    processor's capacity B is used up and no more::

        sum over tasks of min(R, L) = B        if they ask for more than B;  else every speedup is 1
        speedup = min(1, L / R)

    So the capacity is never left idle while a task waits for it, a task that moves no memory is never slowed, and
    adding a task never speeds another up.

    Parameter of a processor: ``bandwidth``, MB/s. The option ``bandwidth`` is for processors that have none of their
    own (``roofline:bandwidth=25600``); without it those that have no parameters at all never contend.
    """

    @checked
    def __init__(
        self,
        bandwidth: Annotated[float, Gt(0), Unit("MB/s"), Doc("capacity of processors that state none")] = math.inf,
    ):
        self.bandwidth = bandwidth

    def on(self, processor: ProcessorType) -> Contention:
        """Return the processor's own capacity, else the model's.

        Raises InputError where there is neither, and the processor has parameters of other models.
        """
        if "bandwidth" in processor.contention or (processor.contention and self.bandwidth == math.inf):
            check_contention_parameters(processor, "roofline")
        capacity = processor.contention.get("bandwidth", self.bandwidth)
        return Uncontended() if capacity == math.inf else _FairShares(capacity)

    def speedups(self, processor: ProcessorType, groups: Sequence[Demand]) -> list[float]:
        """Return one speedup per group by the formula above."""
        return self.on(processor).speedups(groups)


class _FairShares:
    def __init__(self, capacity: float):
        self.threshold = capacity

    def speedups(self, groups: Sequence[Demand]) -> list[float]:
        level = fair_level(groups, self.threshold)
        # A quotient too small for a float must not be 0: a task that does not move at all has no end.
        return [1.0 if bandwidth <= level else level / bandwidth or sys.float_info.min for _, bandwidth in groups]


def fair_level(groups: Sequence[Demand], capacity: float) -> float:
    """Return the most bandwidth that any task gets, MB/s: L of the formula; inf if all get what they ask for.

    Water-filling: tasks that ask for less than an equal share of what is left are served in full, least first.
    """
    left = capacity
    waiting = sum(tasks for tasks, _ in groups)
    for tasks, bandwidth in sorted(groups, key=lambda group: group[1]):
        if bandwidth * waiting > left:
            return left / waiting
        left -= tasks * bandwidth
        waiting -= tasks
    return math.inf
