"""Power models: the watts of a processor from how busy it is.

A processor's power has two parts, because a job's energy needs them apart: what its tenants *share*, by cores held, and
what each busy *core* draws. An idle processor's watts belong to nobody.
"""

from __future__ import annotations

from typing import Protocol

from cluster_sim.platform import ProcessorType
from cluster_sim.registry import Registry


class PowerModel(Protocol):
    """To write a model: the three methods below, then register a name for it."""

    def idle_watts(self, processor: ProcessorType) -> float:
        """Watts with no busy core."""
        ...

    def shared_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """Watts that the jobs on a busy processor share by the cores they hold."""
        ...

    def core_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """Watts of each busy core."""
        ...


def watts(model: PowerModel, processor: ProcessorType, busy_cores: int) -> float:
    """Total watts of a processor with ``busy_cores`` busy cores."""
    if busy_cores == 0:
        return model.idle_watts(processor)
    return model.shared_watts(processor, busy_cores) + busy_cores * model.core_watts(processor, busy_cores)


power_models: Registry[PowerModel] = Registry("power model", "cluster_sim.power_models")


@power_models.register("linear")
class LinearPower:
    """static + dynamic · busy cores; idle: min_power · static (Herrera et al. 2021, and the papers after it).

    Parameters of a processor: ``static_w`` (W per processor), ``dynamic_w`` (W per busy core), ``min_power`` (fraction).
    """

    def idle_watts(self, processor: ProcessorType) -> float:
        """min_power · static."""
        return processor.power.get("min_power", 0.0) * processor.power.get("static_w", 0.0)

    def shared_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """The static watts."""
        return processor.power.get("static_w", 0.0)

    def core_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """The dynamic watts."""
        return processor.power.get("dynamic_w", 0.0)


@power_models.register("idle")
class IdlePower(LinearPower):
    """Idle watts, busy or not: what Batsim counts while all jobs are delays, which keep a host without loading it."""

    def shared_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """The same as idle, for the jobs to share."""
        return self.idle_watts(processor)

    def core_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """Nothing."""
        return 0.0


@power_models.register("baseline")
class BaselinePower:
    """Busy cores · dynamic watts, and nothing else: cores as independent machines (baseline of Herrera et al. 2021)."""

    def idle_watts(self, processor: ProcessorType) -> float:
        """Nothing."""
        return 0.0

    def shared_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """Nothing."""
        return 0.0

    def core_watts(self, processor: ProcessorType, busy_cores: int) -> float:
        """The dynamic watts."""
        return processor.power.get("dynamic_w", 0.0)
