"""Nodes: a power-state machine each, as a SimPy process that wakes only for transitions."""

from __future__ import annotations

from collections.abc import Generator
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import simpy

from cluster_sim.errors import NodeStateError

if TYPE_CHECKING:
    from simpy.events import Event

    from cluster_sim.machine import Machine
    from cluster_sim.platform import NodeType, PowerTransitions
    from cluster_sim.processor import Processor


class NodeState(StrEnum):
    """What a node is doing. IDLE and COMPUTING are one state of the power machine, told apart by a count."""

    OFF = "OFF"
    SWITCHING_ON = "SWITCHING_ON"
    IDLE = "IDLE"
    COMPUTING = "COMPUTING"
    SWITCHING_OFF = "SWITCHING_OFF"
    FAILED = "FAILED"


class Node:
    """One node: the handle through which it is watched, switched off and on, failed and repaired.

    Its process starts with the first order, waits for the next, and sleeps through each transition; an idle or a
    computing node costs no event. In a process of your own::

        yield node.switch_off()     # goes on when the node is OFF
        yield node.switch_on()      # goes on when it is ready again
    """

    def __init__(self, machine: Machine, index: int):
        self._machine = machine
        self._env = machine.env
        self.index = index  #: Position in the platform.
        self.draws_w = 0.0  #: Watts in a state other than IDLE and COMPUTING.
        self._state = NodeState.IDLE
        self._ready: Event | None = None
        self._done: Event = self._env.event()
        self._order: Event = self._env.event()
        self._process: simpy.Process | None = None
        self._wake_afterwards = False

    # ------------------------------------------------------------------ what it is

    @property
    def name(self) -> str:
        """Cluster and running index, ``cluster0.node1``."""
        return self._machine.platform.node_name(self.index)

    @property
    def type(self) -> NodeType:
        """Its description in the platform."""
        platform = self._machine.platform
        return platform.node_types[int(platform.type_of_node[self.index])]

    @property
    def processors(self) -> list[Processor]:
        """Its processors, in order."""
        return [self._machine.processor(i) for i in self._machine.processors_of(self.index)]

    @property
    def cores(self) -> int:
        """Cores of all its processors."""
        return int(self._machine.platform.node_cores[self.index])

    @property
    def free_cores(self) -> int:
        """Cores that no job holds."""
        return int(self._machine.free[self.index])

    @property
    def state(self) -> NodeState:
        """What it is doing now."""
        if self._state is NodeState.IDLE and any(p.busy_cores for p in self.processors):
            return NodeState.COMPUTING
        return self._state

    @property
    def watts(self) -> float:
        """What it draws now."""
        if self._state is NodeState.IDLE:
            return sum(processor.watts for processor in self.processors)
        return self.draws_w

    @property
    def is_ready(self) -> bool:
        """Whether tasks can run on it now."""
        return self._state is NodeState.IDLE

    @property
    def ready(self) -> Event:
        """An event that happens when the node is on; at once if it is."""
        if self._ready is None:
            self._ready = self._env.event()
            if self.is_ready:
                self._ready.succeed(self)
        return self._ready

    # ------------------------------------------------------------------ what it can be told

    def switch_off(self) -> Event:
        """Start to switch the node off; the event happens when it is OFF.

        It never happens if the node fails on the way. Raises NodeStateError unless the node is idle with all its cores
        free.
        """
        if self.state is not NodeState.IDLE or self.free_cores < self.cores:
            raise NodeStateError(f"{self.name}: only an idle node can be switched off, it is {self._described()}")
        costs = self._transitions
        draws = self._machine.idle_watts(self.index) if costs.switch_off_w is None else costs.switch_off_w
        self._ready = None
        return self._begin(NodeState.SWITCHING_OFF, draws, costs.switch_off_s, NodeState.OFF)

    def switch_on(self) -> Event:
        """Start to boot the node; the event happens when it is ready.

        A node that is switching off finishes that first; one that is booting or on is left alone.
        Raises NodeStateError when the node has failed: ``repair`` it.
        """
        if self._state is NodeState.FAILED:
            raise NodeStateError(f"{self.name}: a failed node cannot be switched on, repair it")
        if self._state is NodeState.SWITCHING_OFF:
            self._wake_afterwards = True
        elif self._state is NodeState.OFF:
            self._boot()
        return self.ready

    def fail(self) -> None:
        """The node breaks down now: its jobs are killed, it draws nothing until it is repaired."""
        if self._state is not NodeState.FAILED:
            self._env.process(self._break_down())

    def repair(self) -> Event:
        """The failed node boots; the event happens when it is ready. Raises NodeStateError unless it has failed."""
        if self._state is not NodeState.FAILED:
            raise NodeStateError(f"{self.name}: only a failed node can be repaired, it is {self._described()}")
        self._boot()
        return self.ready

    # ------------------------------------------------------------------ the power-state machine

    @property
    def _transitions(self) -> PowerTransitions:
        return self.type.transitions

    def _described(self) -> str:
        return self.state if self.free_cores == self.cores else f"{self.state} with cores held by jobs"

    def _boot(self) -> None:
        costs = self._transitions
        draws = self._machine.idle_watts(self.index) if costs.switch_on_w is None else costs.switch_on_w
        self._begin(NodeState.SWITCHING_ON, draws, costs.switch_on_s, NodeState.IDLE)

    def _begin(self, state: NodeState, draws_w: float, seconds: float, then: NodeState) -> Event:
        """Enter a transition at once, and have the process end it after ``seconds``."""
        self._enter(state, draws_w)
        self._done = self._env.event()
        self._order.succeed((seconds, then))
        if self._process is None:
            self._process = self._env.process(self._live())
        return self._done

    def _live(self) -> Generator[Event, Any, None]:
        while True:
            try:
                seconds, then = yield self._order
                self._order = self._env.event()
                yield self._env.timeout(seconds)
            except simpy.Interrupt:  # it broke down in the middle, or in the instant of the order
                if self._order.triggered:
                    self._order = self._env.event()
                continue
            self._arrive(then)

    def _arrive(self, state: NodeState) -> None:
        off = state is NodeState.OFF
        self._enter(state, self._transitions.off_w if off else self._machine.idle_watts(self.index))
        self._done.succeed(self)
        if not off and self._ready is not None:
            self._ready.succeed(self)
        elif off and self._wake_afterwards:
            self._wake_afterwards = False
            self._boot()

    def _break_down(self) -> Generator[Event, Any, None]:
        while self._machine.kill_jobs_on(self.index, f"{self.name} failed"):
            yield self._env.timeout(0)  # the kills happen first
        if self._state is NodeState.FAILED:
            return  # told so twice in this instant
        if self._process is not None and self._state in (NodeState.SWITCHING_ON, NodeState.SWITCHING_OFF):
            self._process.interrupt("failed")
        if self._ready is not None and self._ready.triggered:
            self._ready = None
        self._wake_afterwards = False
        self._enter(NodeState.FAILED, 0.0)

    def _enter(self, state: NodeState, draws_w: float) -> None:
        self._machine.enter(self.index, state, draws_w)

    def set_state(self, state: NodeState, draws_w: float) -> None:
        """Note the state that the machine's books have just entered; call ``switch_off`` and the like instead."""
        self._state = state
        self.draws_w = draws_w

    def __repr__(self) -> str:
        return f"<Node {self.name}: {self.state}, {self.free_cores} of {self.cores} cores free>"
