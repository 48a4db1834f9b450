"""What a scheduler can decide. A pass of a scheduler yields these, one after the other; each takes effect at once."""

from __future__ import annotations

from dataclasses import dataclass

from cluster_sim.jobs import Job
from cluster_sim.placement import Placement


@dataclass(slots=True)
class Start:
    """Start a pending job on these cores now (when its nodes have booted, if some are off)."""

    job: Job
    placement: Placement


@dataclass(slots=True)
class Reject:
    """Refuse a pending job for good; ``reason`` stands in its record."""

    job: Job
    reason: str


@dataclass(slots=True)
class WakeAt:
    """Hold a scheduling pass at ``time`` (s), even if nothing happens then."""

    time: float


Decision = Start | Reject | WakeAt


@dataclass(slots=True)
class SwitchOn:
    """A power policy boots a node that is off."""

    node: int


@dataclass(slots=True)
class SwitchOff:
    """A power policy shuts an idle node down."""

    node: int


PowerDecision = SwitchOn | SwitchOff | WakeAt
