"""Simulations made from settings, and tried without jobs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cluster_sim.errors import ModelWarning
from cluster_sim.run.policies import PowerPolicy, Scheduler
from cluster_sim.run.settings import SETTINGS
from cluster_sim.run.simulation import Simulation

if TYPE_CHECKING:
    from cluster_sim.platform.platform import Platform
    from cluster_sim.workload.workload import Workload


def simulation_of(
    says: Mapping[str, Any],
    platform: Platform,
    workload: Workload,
    scheduler: Scheduler,
    power: PowerPolicy | None,
) -> Simulation:
    """Make the simulation that settings describe, by name; those left out are Simulation's own. Raises InputError."""
    arguments = {
        setting.parameter: says[name] for name, setting in SETTINGS.items() if setting.parameter and name in says
    }
    machine = platform.with_models(says["contention_model"], says["power_model"])
    return Simulation(machine, workload, scheduler, power, **arguments)


def try_begin(simulation: Simulation) -> None:
    """Begin the run of a simulation without jobs, which ends at once: raises InputError for what only then is refused.

    Such as a policy that does not suit the platform. What is warned of is left to the run itself.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        simulation.run(warn=False)
