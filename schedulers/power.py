"""Power policies: when nodes sleep."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.decisions import PowerDecision, SwitchOn
from schedulers.base import PowerPolicy, power_policies

if TYPE_CHECKING:
    from cluster_sim.view import View


@power_policies.register("always-on")
class AlwaysOn(PowerPolicy):
    """Every node is on all the time; those that are off at the start are booted at once."""

    def begin(self, view: View) -> None:
        """The boots are still to be ordered."""
        self._ordered = False

    def reserve(self, view: View) -> Iterable[PowerDecision]:
        """At the start of the run, boot what is off."""
        if not self._ordered:
            self._ordered = True
            for node in np.flatnonzero(view.is_off).tolist():
                yield SwitchOn(node)
