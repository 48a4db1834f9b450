"""Power policies that leave the scheduler every node: always on, a timeout, a number of nodes kept ready.

The nodes they switch off can be used all the same, since a job that is placed on them has them booted. So no job waits
for ever that would not wait for ever without the policy. Those that withhold nodes are in
:mod:`schedulers.power.off_reservation`, :mod:`schedulers.power.inertial_shutdown` and :mod:`schedulers.power.summed_stretch`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Annotated

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Unit
from typing_extensions import Doc

from cluster_sim.machine.node import NodeState
from cluster_sim.options import checked
from cluster_sim.run.decisions import PowerDecision, SwitchOff, SwitchOn, WakeAt
from cluster_sim.run.view import View
from schedulers.policy.policy import PowerPolicy, power_policies


def unused_nodes(view: View) -> npt.NDArray[np.bool_]:
    """Return which nodes no job holds a core of, whatever their state, shape (nodes,)."""
    return view.free_cores == view.platform.node_cores  # type: ignore[no-any-return]


def idle_nodes(view: View) -> npt.NDArray[np.bool_]:
    """Return which nodes are on with all their cores free, withheld or not, shape (nodes,)."""
    return view.machine.powered_on & unused_nodes(view)


def waits_in_window(view: View) -> bool:
    """Return whether a job waits whose advance reservation is open: the job is lost if it starts too late."""
    return view.machine.restricts and any(job.reservation for job in view.pending)


@power_policies.register("always-on")
class AlwaysOn(PowerPolicy):
    """Every node is on all the time; those that are off at the start are booted at once, or when they have been repaired.

    A node that a process of the user's own switches off, that process has to switch on again.
    """

    switches = follows_submissions = False

    def begin(self, view: View) -> None:
        """Note which nodes are still to be booted."""
        starts_off = np.array([kind.initially_off for kind in view.platform.node_types])
        self._to_boot: list[int] = np.flatnonzero(starts_off[view.platform.type_of_node]).tolist()

    def reserve(self, view: View) -> Iterable[PowerDecision]:
        """Boot what is off at the start of the run, or is OFF after a repair because it failed before."""
        if self._to_boot:
            nodes, states = self._to_boot, [view.machine.node(node).state for node in self._to_boot]
            self._to_boot = [node for node, state in zip(nodes, states, strict=True) if state is NodeState.FAILED]
            for node, state in zip(nodes, states, strict=True):
                if state is NodeState.OFF:
                    yield SwitchOn(node)


@power_policies.register("timeout")
class IdleTimeout(PowerPolicy):
    """A node idle for so many seconds is switched off; timeout:0 switches off whatever the scheduler leaves idle.

    The opportunistic shutdown of Casagrande et al. (2022, §2.1). ``seconds`` count from when the node's last job ended,
    or from when it was ready if it was booted for no job.

    Costs one wake-up for an idle period at most: nodes stand in one queue in the order in which they fell idle, which is
    the order in which they are due. Only its first is waited for, and not looked at again before its time.
    """

    follows_submissions = False
    follows_switching = False
    reserves = False

    @checked
    def __init__(
        self, seconds: Annotated[float, Ge(0), Unit("s"), Doc("idle time after which a node is switched off")] = 300.0
    ):
        self.seconds = seconds

    def begin(self, view: View) -> None:
        """Begin a run in which every node may be idle."""
        self._cores: list[int] = view.platform.node_cores.tolist()
        self._touched = list(range(view.platform.node_count))  # nodes that may have fallen idle
        self._changes_seen = 0
        self._since = [-1.0] * view.platform.node_count  # when each may have fallen idle the last time
        self._waiting: deque[tuple[float, list[int]]] = deque()  # (idle since, nodes), also of periods that are over
        self._wakes_at = -1.0  # nothing can be due before

    def react(self, view: View) -> Iterable[PowerDecision]:
        """Switch off what has been idle long enough, now that the scheduler has taken what it wants."""
        # Nodes that jobs have left, or that have been booted.
        touched, changes = self._touched, view.machine.state_changes
        for running in view.planning.vacated:
            for first, stop, _ in running.placement.spans:
                touched += range(first, stop)
        count = len(changes)
        if count > self._changes_seen:
            touched += changes.entering(NodeState.IDLE, self._changes_seen)
            self._changes_seen = count
        now, since, waiting = view.now, self._since, self._waiting
        if touched:
            for node in touched:
                since[node] = now
            waiting.append((now, touched))
            self._touched = []
        return self._due(view) if waiting and now >= self._wakes_at else ()

    def _due(self, view: View) -> Iterator[PowerDecision]:
        """Switch off what is due, and be woken for the first that still has time."""
        now, waiting, due = view.now, self._waiting, list[int]()
        since, cores, free, is_on = self._since, self._cores, view.free_cores.item, view.machine.powered_on.item
        self._wakes_at = -1.0
        while waiting:
            begun, nodes = waiting[0]
            idle = [node for node in nodes if since[node] == begun and free(node) == cores[node] and is_on(node)]
            if idle and begun + self.seconds > now:
                self._wakes_at = begun + self.seconds
                break
            due += idle
            waiting.popleft()
        if due:
            yield SwitchOff(list(dict.fromkeys(due)))  # two jobs may have left a node in one instant
        if waiting:
            yield WakeAt(self._wakes_at)


@power_policies.register("keep-ready")
class KeepReady(PowerPolicy):
    """Keep this many nodes idle and on for jobs to come: the other idle ones are switched off, or booted to that end.

    A node that boots for no job counts as ready. The first nodes of the platform are kept, which is where placements
    look first.
    """

    reserves = False

    @checked
    def __init__(self, nodes: Annotated[int, Ge(0), Unit("nodes"), Doc("idle nodes that stay on")] = 1):
        self._wanted = nodes

    def begin(self, view: View) -> None:
        """Begin a run in which nothing has been looked at."""
        self._version: object = None

    def react(self, view: View) -> Iterator[PowerDecision]:
        """Switch off the last idle nodes that are too many, or boot the first that are OFF."""
        if view.machine.version is self._version:
            return
        idle = np.flatnonzero(idle_nodes(view)).tolist()
        unused = unused_nodes(view)
        booting = sum(
            bool(unused[node]) and view.machine.node(node).state is NodeState.SWITCHING_ON
            for node in view.machine.transition_ends
        )
        missing = self._wanted - len(idle) - booting
        if missing > 0:
            for node in np.flatnonzero(view.machine.powered_off & unused)[:missing].tolist():
                yield SwitchOn(node)
        elif too_many := idle[max(len(idle) + missing, 0) :]:
            yield SwitchOff(too_many)
        self._version = view.machine.version
