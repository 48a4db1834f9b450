"""What happened in one instant, and its delivery to the processes that asked for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from cluster_sim.engine import OBSERVE, Environment
from cluster_sim.errors import InputError

if TYPE_CHECKING:
    from simpy.events import Event

    from cluster_sim.machine.hub import Hub
    from cluster_sim.machine.node import Node, NodeState
    from cluster_sim.workload.jobs import Job

_FIELDS = {
    "job_submitted": "submitted",
    "job_started": "started",
    "job_completed": "completed",
    "job_killed": "killed",
    "job_rejected": "rejected",
    "node_state_changed": "node_states",
}
NOTICES = (*_FIELDS, "instant")


@dataclass(frozen=True, slots=True)
class Batch:
    """Everything that happened at ``time`` (s) since the last delivery, each kind in order of happening."""

    time: float
    submitted: tuple[Job, ...] = ()
    started: tuple[Job, ...] = ()
    completed: tuple[Job, ...] = ()
    killed: tuple[Job, ...] = ()
    rejected: tuple[Job, ...] = ()
    node_states: tuple[tuple[Node, NodeState], ...] = ()


class Notices:
    """The notices of what happens, delivered in one batch per instant.

    A one-shot event that is re-armed loses the second of two notices of one instant; a batch loses nothing. Before
    the first request nothing is collected.
    """

    def __init__(self, env: Environment, hub: Hub, node: Callable[[int], Node]):
        self._env = env
        self._hub = hub
        self._node = node  # the handle of one
        self._events: dict[str, Event] = {}
        self._collected: dict[str, list[Any]] = {}
        self._follows = False  # whether a process has ever asked

    def on(self, name: str) -> Event:
        """Return the event of the next delivery of that kind."""
        if name not in NOTICES:
            raise InputError("simulation.on", f"one of {', '.join(NOTICES)}", name)
        if not self._follows:
            self._follow()
        return self._events.setdefault(name, self._env.event())

    def _follow(self) -> None:
        """Hear what happens from now on."""
        self._follows = True
        hub = self._hub
        hub.submitted.append(partial(self._note, "job_submitted"))
        hub.started.append(partial(self._note, "job_started"))
        hub.over.append(lambda job, outcome: self._note(f"job_{outcome}", job))
        hub.nodes_changed.append(self._note_nodes)

    def _note_nodes(self, nodes: Sequence[int], state: NodeState) -> None:
        for node in nodes:
            self._note("node_state_changed", (self._node(node), state))

    def _note(self, name: str, what: object) -> None:
        """Collect that something of that kind happened now."""
        if not self._collected:
            self._env.at(self._env.now, OBSERVE).callbacks.append(self._deliver)
        self._collected.setdefault(name, []).append(what)

    def _deliver(self, event: Event) -> None:
        collected, self._collected = self._collected, {}
        batch = Batch(self._env.now, **{_FIELDS[name]: tuple(items) for name, items in collected.items()})
        for name in NOTICES:
            if name in self._events and (name == "instant" or name in collected):
                payload = batch if name == "instant" else getattr(batch, _FIELDS[name])
                self._events.pop(name).succeed(payload)
