"""Power models: the watts of a processor from how busy it is.

A processor's power has two parts, because a job's energy needs them apart: what its tenants *share*, by cores held, and
what each busy *core* draws. An idle processor's watts belong to no job.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Protocol

from annotated_types import Ge, Le
from typing_extensions import Doc

from cluster_sim.errors import InputError
from cluster_sim.options import checked
from cluster_sim.platform.platform import ProcessorType
from cluster_sim.registry import Registry, describe


class PowerModel(Protocol):
    """To write a model: the three methods below, then register a name for it."""

    def idle_watts(self, processor: ProcessorType) -> float:
        """Return watts with no busy core."""
        ...

    def shared_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """Return watts that the jobs on a busy processor share by the cores they hold."""
        ...

    def core_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """Return watts of each busy core."""
        ...


def watts(model: PowerModel, processor: ProcessorType, busy_cores: int) -> float:
    """Return total watts with ``busy_cores`` busy cores. Raises InputError if the model gives no number."""
    if busy_cores == 0:
        shared, each = model.idle_watts(processor), 0.0
    else:
        shared, each = model.shared_watts(processor, busy_cores), model.core_watts(processor, busy_cores)
    try:
        return float(shared + busy_cores * each if busy_cores else shared)
    except (TypeError, ValueError):
        raise _no_watts(model, processor, busy_cores, f"{shared} and {each} a core" if busy_cores else shared) from None


def watts_by_cores(model: PowerModel, processor: ProcessorType) -> tuple[float, ...]:
    """Return total watts with 0, 1, … all cores busy. Raises InputError for some that cannot be."""
    kind = type(model)
    if isinstance(model, LinearPower) and (kind.idle_watts, kind.shared_watts, kind.core_watts) == _LINEAR:  # in one go
        static, dynamic = model.shared_watts(processor, 1), model.core_watts(processor, 1)
        table = [float(static + busy * dynamic) for busy in range(processor.cores + 1)]
        table[0] = float(model.idle_watts(processor))
    else:
        table = [watts(model, processor, busy) for busy in range(processor.cores + 1)]
    for busy, drawn in enumerate(table):
        if not 0.0 <= drawn < math.inf:
            raise _no_watts(model, processor, busy, drawn)
    return tuple(table)


def _no_watts(model: PowerModel, processor: ProcessorType, busy: int, found: object) -> InputError:
    where = f"power model {describe(model)}, processor type '{processor.name}', {busy} of {processor.cores} cores busy"
    return InputError(where, "finite watts, 0 or more", str(found))


power_models: Registry[PowerModel] = Registry(
    "power model", "cluster_sim.power_models", needs=("idle_watts", "shared_watts", "core_watts")
)


@power_models.register("linear")
class LinearPower:
    """static + dynamic · busy cores; idle: min_power · static (Herrera et al. 2021, and the papers after it).

    Parameters of a processor: ``static_w`` (W per processor), ``dynamic_w`` (W per busy core), ``min_power`` (fraction).
    """

    def idle_watts(self, processor: ProcessorType) -> float:
        """Return min_power · static."""
        return processor.power.get("min_power", 0.0) * processor.power.get("static_w", 0.0)

    def shared_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """Return the static watts."""
        return processor.power.get("static_w", 0.0)

    def core_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """Return the dynamic watts."""
        return processor.power.get("dynamic_w", 0.0)


_LINEAR = LinearPower.idle_watts, LinearPower.shared_watts, LinearPower.core_watts


@power_models.register("idle")
class IdlePower(LinearPower):
    """Idle watts, busy or not: what Batsim counts while all jobs are delays, which keep a host without loading it."""

    def shared_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """Return the idle watts, which the jobs share."""
        return self.idle_watts(processor)

    def core_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """Return 0 W."""
        return 0.0


@power_models.register("baseline")
class BaselinePower:
    """Busy cores · dynamic watts, and nothing else: cores as independent machines (baseline of Herrera et al. 2021)."""

    def idle_watts(self, processor: ProcessorType) -> float:
        """Return 0 W."""
        return 0.0

    def shared_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """Return 0 W."""
        return 0.0

    def core_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """Return the dynamic watts."""
        return processor.power.get("dynamic_w", 0.0)


Load = tuple[int, float, float]
"""A task group as a power model sees it: its tasks, the bandwidth each asks for (MB/s), and their speed in (0, 1]."""


class RatePowerModel(PowerModel, Protocol):
    """A power model whose watts also follow how fast the tasks run: write :meth:`loaded_watts` too.

    The other methods then describe tasks that nothing slows and that move no memory. Cores that are held by a job whose
    tasks on them have ended count as tasks at full speed without bandwidth: they wait actively.
    """

    follows_rates: bool

    def loaded_watts(self, processor: ProcessorType, loads: Sequence[Load]) -> tuple[float, list[float]]:
        """Return what the groups share by the cores they hold, and what each of them draws itself, W."""
        ...


@power_models.register("stall-aware")
class StallAwarePower(LinearPower):
    """As ``linear``, but a core's dynamic power follows its task's speed: a stalled core draws less.

    A task at speed s draws dynamic · (stalled + (1 - stalled) · s); ``stalled`` is what a core that only waits for memory
    draws, as a fraction of its dynamic watts. The first-order form of the models that scale dynamic power with activity.
    """

    follows_rates = True
    draws_most_at_full_speed = True  #: So that a power cap can count with the watts of full speed.

    @checked
    def __init__(
        self,
        stalled: Annotated[float, Ge(0), Le(1), Doc("part of its dynamic watts that a stalled core draws")] = 0.0,
    ):
        self.stalled = stalled

    def loaded_watts(self, processor: ProcessorType, loads: Sequence[Load]) -> tuple[float, list[float]]:
        """Return static, and dynamic watts scaled by the speed of each group."""
        dynamic = processor.power.get("dynamic_w", 0.0)
        share = [tasks * dynamic * (self.stalled + (1.0 - self.stalled) * speed) for tasks, _, speed in loads]
        return processor.power.get("static_w", 0.0), share


@power_models.register("polynomial")
class PolynomialPower:
    """A quadratic polynomial of the tasks n and their total bandwidth B, in GB/s (the successor of Herrera et al. 2021).

    p00 + p10·B + p01·n + p20·B² + p11·B·n + p02·n² W for n > 0, shared by the cores held, and ``idle_w`` for n = 0.
    The parameters are a processor's ``power``; those left out are 0. Never less than 0 W.
    """

    follows_rates = True

    def idle_watts(self, processor: ProcessorType) -> float:
        """Return idle_w."""
        return processor.power.get("idle_w", 0.0)

    def shared_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """Return the polynomial without bandwidth."""
        return self.loaded_watts(processor, [(busy_cores, 0.0, 1.0)])[0]

    def core_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """Return 0 W."""
        return 0.0

    def loaded_watts(self, processor: ProcessorType, loads: Sequence[Load]) -> tuple[float, list[float]]:
        """Return the polynomial, all of it shared."""
        n = float(sum(tasks for tasks, _, _ in loads))
        b = sum(tasks * bandwidth * speed for tasks, bandwidth, speed in loads) / 1000.0
        p = processor.power.get
        total = p("p00", 0.0) + p("p10", 0.0) * b + p("p01", 0.0) * n
        total += p("p20", 0.0) * b * b + p("p11", 0.0) * b * n + p("p02", 0.0) * n * n
        return max(total, 0.0), [0.0] * len(loads)
