"""A power policy of one number: nodes that are off stay so until the stretches of the waiting jobs add up to it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated

import numpy as np
from annotated_types import Ge
from typing_extensions import Doc

from cluster_sim.options import checked
from cluster_sim.run.decisions import Offer, PowerDecision, SwitchOff, WakeAt, Withhold
from cluster_sim.run.view import View
from schedulers.policy.policy import PowerPolicy, power_policies
from schedulers.power.idle_timeout import idle_nodes, waits_in_window


@power_policies.register("summed-stretch")
class SummedStretch(PowerPolicy):
    """Boots nothing until the stretches of all waiting jobs add up to the threshold; a node left idle is switched off.

    A job's stretch is its wait over its requested time (Casagrande et al. 2022, Eq. 9). Below the threshold the nodes that
    are OFF are withheld, so that jobs wait for nodes that are on; from then on all are offered, and the scheduler has
    booted what it wants. Like a reservation of Casagrande et al. it trades waiting for fewer boots, without knowing when jobs
    will end: one long wait opens the machine, and so do many short ones.

    The sum grows with time, so every job has its chance: alone in the queue after ``threshold`` times its requested time,
    beside others sooner. A job that requests no time, or an endless one, is let through at once, and so is one that waits
    in its advance reservation. With 0 it is ``timeout:0``.
    """

    @checked
    def __init__(
        self, threshold: Annotated[float, Ge(0), Doc("sum of the waiting jobs' stretches that opens the machine")] = 0.3
    ):
        self._threshold = threshold

    def begin(self, view: View) -> None:
        """Begin a run in which nothing is withheld."""
        self._wakes_at = -1.0

    def reserve(self, view: View) -> Iterator[PowerDecision]:
        """Offer all nodes, or withhold those that are OFF."""
        if self._opens_at(view) <= view.now or waits_in_window(view):
            changed = np.flatnonzero(view.machine.withheld)
            yield from [Offer(changed.tolist())] if len(changed) else []
        else:
            changed = np.flatnonzero(view.machine.powered_off & ~view.machine.withheld)
            yield from [Withhold(changed.tolist())] if len(changed) else []

    def react(self, view: View) -> Iterator[PowerDecision]:
        """Switch off what the scheduler has left idle, and be woken when the threshold will be reached."""
        idle = np.flatnonzero(idle_nodes(view))
        if len(idle):
            yield SwitchOff(idle.tolist())
        opens_at = self._opens_at(view)
        if view.now < opens_at < math.inf and opens_at != self._wakes_at:
            self._wakes_at = opens_at
            yield WakeAt(opens_at)

    def _opens_at(self, view: View) -> float:
        """Return when the summed stretch of the waiting jobs reaches the threshold, s. inf: no job waits.

        If it has reached the threshold, the time is not after now.

        It grows by Σ 1 / requested time a second.
        """
        now, stretch, growth = view.now, 0.0, 0.0
        for job in view.pending:
            if not 0.0 < job.requested_time < math.inf:
                return now
            stretch += (now - job.submit_time) / job.requested_time
            growth += 1.0 / job.requested_time
        return now + (self._threshold - stretch) / growth if growth else math.inf
