"""What a job holds of a counted resource."""

from __future__ import annotations

from typing import NamedTuple

from cluster_sim.workload.resource_request import WHOLE

ANYWHERE = -1
"""Node of a licence, which belongs to the whole platform."""


class UnitHold(NamedTuple):
    """Units of one resource on a node that a job holds, or the licences (node ANYWHERE)."""

    resource: str
    node: int
    number: int
    share: int = WHOLE  #: Parts of each unit, of WHOLE.
    which: tuple[int, ...] = ()  #: Which units of the node, from 0; empty: it does not matter, as in a plan.
