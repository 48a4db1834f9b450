"""What holds for a whole run, as its user has said."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunRules:
    """What a run's parts have to keep to, see :class:`~cluster_sim.run.simulation.Simulation`."""

    enforce_walltime: bool
    suspended_time_counts: bool
    after_each_event: bool  #: True if passes follow each single event, not each instant (a quirk).
    at_boundaries: bool  #: True if the scheduler decides whenever a malleable job comes to the end of a part.
    has_power_policy: bool
    scheduler: str  #: What the scheduler is called in messages.
