"""Nodes: a power-state machine each, whose transitions are SimPy events that any process can wait for."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from cluster_sim.errors import NodeStateError
from cluster_sim.machine.guest_requests import SharedCores
from cluster_sim.machine.processor import ProcessorView
from cluster_sim.platform.node_state import NodeState as NodeState

if TYPE_CHECKING:
    from simpy.events import Event, Process

    from cluster_sim.machine.guest_requests import Request
    from cluster_sim.machine.machine import Machine
    from cluster_sim.machine.processor import Processor
    from cluster_sim.platform.platform import NodeType


class NodeView:
    """One node as policies see it: what it is and does, and nothing that would change it."""

    def __init__(self, machine: Machine, index: int):
        self._machine = machine
        self.index = index  #: Position in the platform.

    @property
    def name(self) -> str:
        """Return the cluster and running index, ``cluster0.node1``."""
        return self._machine.platform.node_name(self.index)

    @property
    def type(self) -> NodeType:
        """Return the node's description in the platform."""
        platform = self._machine.platform
        return platform.node_types[int(platform.type_of_node[self.index])]

    @property
    def processors(self) -> Sequence[ProcessorView]:
        """Return the node's processors, in order."""
        return [ProcessorView(self._machine, i) for i in self._machine.processors_of(self.index)]

    @property
    def cores(self) -> int:
        """Return cores of all its processors."""
        return int(self._machine.platform.node_cores[self.index])

    @property
    def free_cores(self) -> int:
        """Return cores that no job and no guest holds."""
        return int(self._machine.free[self.index])

    @property
    def _state(self) -> NodeState:
        return self._machine.node_states[self.index]

    @property
    def state(self) -> NodeState:
        """Return what it is doing now."""
        if self._state is NodeState.IDLE and any(p.busy_cores for p in self.processors):
            return NodeState.COMPUTING
        return self._state

    @property
    def watts(self) -> float:
        """Return what it draws now."""
        return self._machine.node_watts(self.index)

    @property
    def is_ready(self) -> bool:
        """Return whether tasks can run on it now."""
        return self._state is NodeState.IDLE

    def _described(self) -> str:
        return self.state if self.free_cores == self.cores else f"{self.state} with cores held"

    def __repr__(self) -> str:
        return f"<Node {self.name}: {self.state}, {self.free_cores} of {self.cores} cores free>"


class Node(NodeView, SharedCores):
    """One node: a SimPy resource of cores and memory, and the process of its power states.

    :attr:`process` carries its transition, its sleep or its outage. Nodes that switch together share one, so a node that is
    on costs none. In a process of your own::

        yield node.switch_off()     # goes on when the node is OFF
        yield node.switch_on()      # goes on when it is ready again
    """

    def __init__(self, machine: Machine, index: int):
        NodeView.__init__(self, machine, index)
        SharedCores.__init__(self, machine, index, machine.processors_of(index))

    @property
    def process(self) -> Process | None:
        """Return the live SimPy process of its transition, sleep or outage; None while it is on."""
        return self._machine.switching.process(self.index)

    @property
    def processors(self) -> Sequence[Processor]:
        """Return the node's processors, in order."""
        return [self._machine.processor(i) for i in self._machine.processors_of(self.index)]

    @property
    def ready(self) -> Event:
        """Return an event that happens when the node is on; at once if it is."""
        return self._machine.switching.ready(self.index)

    def switch_off(self) -> Event:
        """Start to switch the node off; the event happens when it is OFF.

        If the node fails on the way, the event fails: NodeStateError is raised in the process that waits for it.
        Raises NodeStateError unless the node is idle with all its cores free.
        """
        if self.state is not NodeState.IDLE or self.free_cores < self.cores:
            raise NodeStateError(f"{self.name}: only an idle node can be switched off, it is {self._described()}")
        switching = self._machine.switching
        switching.switch_off((self.index,))
        return switching.off(self.index)

    def switch_on(self) -> Event:
        """Start to boot the node; the event happens when it is ready.

        A node that is switching off finishes that first; one that is booting or on is left alone.
        Raises NodeStateError when the node has failed: ``repair`` it.
        """
        if self._state is NodeState.FAILED:
            raise NodeStateError(f"{self.name}: a failed node cannot be switched on, repair it")
        self._machine.switching.switch_on((self.index,))
        return self.ready

    def request(
        self, cores: int = 0, memory_gb: float = 0.0, owner: str = "guest", expected_s: float | None = None
    ) -> Request:
        """Ask for cores of any of its processors, and for memory, for a process that is not a job.

        The request is an event, to be used in a ``with`` statement: ``with node.request(8) as held: yield held``. It is
        granted all or nothing, in order of request, when the cores are free and the node is on; no node is booted for it.
        ``owner`` names it in the records; with ``expected_s`` schedulers see when it should leave, without it never.
        Raises InputError for more than the node has.
        """
        return self._ask(cores, memory_gb, owner, expected_s)

    def set_p_state(self, number: int) -> None:
        """Have all processors run in that p-state of their type from now on; see :meth:`Processor.set_p_state`."""
        for processor in self.processors:
            processor.set_p_state(number)

    def fail(self) -> None:
        """Break down now: jobs are stopped, guests lose their cores; the node draws ``failed_w`` until its repair."""
        if self._state is not NodeState.FAILED:
            self._machine.env.process(self._break_down())

    def repair(self) -> Event:
        """Repair the failed node: it boots, or is OFF again, at no cost, if it was OFF or switching off when it failed.

        The event happens when it is ready, or OFF. Raises NodeStateError unless it has failed.
        """
        if self._state is not NodeState.FAILED:
            raise NodeStateError(f"{self.name}: only a failed node can be repaired, it is {self._described()}")
        return self._machine.switching.repair(self.index)

    def _break_down(self) -> Generator[Event, Any, None]:
        self._machine.guests.evict(self.index, f"{self.name} failed")
        while self._machine.kill_jobs_on(self.index, f"{self.name} failed"):
            yield self._machine.env.timeout(0)  # the kills happen first
        if self._state is not NodeState.FAILED:  # else told so twice in this instant
            self._machine.switching.fail(self.index)
