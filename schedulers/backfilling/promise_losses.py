"""What the machine has lost since the scheduler last made its promises: why a promise is put off, for the decision log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cluster_sim.engine import latest
from cluster_sim.machine.guest_requests import Departure
from cluster_sim.machine.reason import Loss
from cluster_sim.platform.node_state import NodeState
from cluster_sim.run.view import View

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Losses:
    """Follows a run from pass to pass, where its decisions are logged."""

    def __init__(self) -> None:
        self._found: set[Loss] = set()
        self._changes_seen = 0
        self._withheld: npt.NDArray[np.bool_] | None = None
        self._ends: dict[int, float] = {}  # when the nodes in transition were to be back
        self._guests: frozenset[Departure] = frozenset()

    def follow(self, view: View, outlived: bool) -> None:
        """Note what has been lost since the last pass; ``outlived``: a job has lasted longer than expected."""
        changes, seen = view.machine.state_changes, self._changes_seen
        if len(changes) != seen:
            self._changes_seen = len(changes)
            platform = view.platform
            owned = {node for running in (*view.ended, *view.running) for node in running.placement.nodes}
            for time, node, state, _ in changes[seen:]:
                costs = platform.node_types[platform.type_of_node[node]].transitions
                if state is NodeState.FAILED:
                    self._ends.pop(node, None)
                    self.note(Loss.FAILED)
                elif state is NodeState.SWITCHING_OFF:
                    self._ends[node] = time + costs.switch_off_s
                    self.note(Loss.SWITCHED_OFF)
                elif state is NodeState.SWITCHING_ON:
                    self._ends[node] = time + costs.switch_on_s
                    if node not in owned:
                        self.note(Loss.SWITCHED_ON)
                elif time > latest(self._ends.pop(node, time)):
                    self.note(Loss.LATE_NODE)
        if view.machine.withheld_count:
            fresh = view.machine.withheld if self._withheld is None else view.machine.withheld & ~self._withheld
            if fresh.any():
                self.note(Loss.WITHHELD)
        self._withheld = view.machine.withheld.copy() if view.machine.withheld_count else None
        ends = view.machine.transition_ends
        for node, end in self._ends.items():
            if end <= latest(view.now):
                self.note(Loss.LATE_NODE)
            elif ends.get(node, end) > latest(end):
                self.note(Loss.SWITCHED_ON)  # it was to be OFF then, and is to boot as well
        self._ends = dict(ends)
        if outlived:
            self.note(Loss.LATE_JOB)
        if view.planning.resumed:
            self.note(Loss.CHANGED)
        if view.machine.guests or self._guests:
            guests = frozenset(view.machine.guests)
            if guests - self._guests:
                self.note(Loss.GUEST)
            if any(guest.expected_end <= latest(view.now) for guest in guests):
                self.note(Loss.LATE_GUEST)
            self._guests = guests

    def note(self, loss: Loss) -> None:
        """Note another loss."""
        self._found.add(loss)

    def forget(self) -> None:
        """Forget all losses, since all promises have been made anew."""
        self._found.clear()

    def known(self) -> tuple[Loss, ...]:
        """Return the losses, each once, in the order in which they are told."""
        return tuple(loss for loss in Loss if loss in self._found)
