"""Nodes, processors and cores: handles on the machine, made when somebody asks for them.

A node and a processor are SimPy resources of cores; the state is in the columns of the machine.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from cluster_sim.errors import InputError, NodeStateError
from cluster_sim.machine.guest_requests import Guests, Request, SharedCores
from cluster_sim.platform.hardware import is_number, p_state_of, power_by_square
from cluster_sim.platform.node_state import NodeState as NodeState
from cluster_sim.read_only import shown

if TYPE_CHECKING:
    from simpy.events import Event, Process

    from cluster_sim.engine import Environment
    from cluster_sim.machine.allocation import Allocation
    from cluster_sim.machine.cores import Cores
    from cluster_sim.machine.hub import Hub
    from cluster_sim.machine.ledger import Ledger
    from cluster_sim.machine.memory_channel import MemoryChannel
    from cluster_sim.machine.node_states import NodeStates
    from cluster_sim.machine.power.power_meter import PowerMeter
    from cluster_sim.machine.switching import Switching
    from cluster_sim.models.processor_step import ProcessorModels
    from cluster_sim.platform.platform import NodeType, Platform, ProcessorType
    from cluster_sim.workload.jobs import Job


class MachineParts(Protocol):
    """The machine as its nodes, processors and power budget know it: its parts, and what they have it do."""

    env: Environment
    platform: Platform
    models: ProcessorModels
    ledger: Ledger
    nodes: NodeStates
    cores: Cores
    type_of: list[ProcessorType]
    power: PowerMeter
    channels: dict[int, MemoryChannel]
    guests: Guests
    switching: Switching
    hub: Hub

    def node(self, index: int) -> Node:
        """Return the handle of a node."""
        ...

    def processor(self, index: int) -> Processor:
        """Return the handle of a processor."""
        ...

    def set_clock(self, processor: int, kind: ProcessorType) -> None:
        """Give a processor the clock and watts of ``kind``."""
        ...


class CoreView:
    """An identified slot of its processor, as policies see it: free, or held by a job or a guest."""

    __slots__ = ("index", "processor")

    def __init__(self, processor: ProcessorView, index: int):
        self.processor = processor
        self.index = index  #: Position in the processor.

    @property
    def is_free(self) -> bool:
        """Return whether no job and no guest holds it."""
        return bool(self.processor.free_mask >> self.index & 1)

    @property
    def job(self) -> Job | None:
        """Return the job that holds it; None also where a guest does."""
        return self.processor.job_on(self.index)

    def __repr__(self) -> str:
        return f"<Core {self.processor.name}.core{self.index}: {self.job or 'free'}>"


class Core(CoreView):
    """A core of a processor's handle: it also tells by which request it is held."""

    __slots__ = ()
    processor: Processor

    @property
    def user(self) -> Request | Allocation | None:
        """Return what holds it: a guest's request or the allocation of a job; None if it is free."""
        return self.processor.user_of(self.index)


class ProcessorView:
    """One processor as policies see it: its cores, clock, watts, and the demand on its memory channel."""

    def __init__(self, machine: MachineParts, index: int):
        self._machine = machine
        self.index = index  #: Position among all processors of the platform.
        platform = machine.platform
        self._nominal = platform.processor_types[int(platform.type_of_processor[index])]  # at the clock it began with

    @property
    def name(self) -> str:
        """Return the node and running index in it, ``cluster0.node1.processor0``."""
        machine = self._machine
        node = machine.cores.node_of(self.index)
        return f"{machine.platform.node_name(node)}.processor{self.index - machine.cores.processors_of(node).start}"

    @property
    def type(self) -> ProcessorType:
        """Return the processor's description, with the clock and watts that it has now."""
        return self._machine.type_of[self.index]

    @property
    def cores(self) -> Sequence[CoreView]:
        """Return the processor's cores."""
        return [shown(CoreView(self, i)) for i in range(self.type.cores)]

    @property
    def busy_cores(self) -> int:
        """Return cores that run a task, or whose job waits for its last task."""
        return self._machine.power.busy[self.index]

    @property
    def free_mask(self) -> int:
        """Return cores that no job and no guest holds, one bit each."""
        return self._machine.cores.free_mask[self.index]

    @property
    def watts(self) -> float:
        """Return what it draws now (as part of a node that is on)."""
        return self._machine.power.processor_watts(self.index)

    @property
    def demand(self) -> float:
        """Return the bandwidth that the tasks on it ask for, MB/s."""
        channel = self._machine.channels.get(self.index)
        return channel.demand if channel else 0.0

    @property
    def p_state(self) -> int | None:
        """Return which of its type's p-states it is in; None after :meth:`set_clock` to a clock of none of them."""
        return p_state_of(self.type, self._nominal)

    def _user_of(self, core: int) -> Request | Allocation | None:
        number = self._machine.cores.first_core[self.index] + core
        for allocation in self._machine.cores.allocations.values():
            if any(first <= number <= last for first, last in self._machine.cores.core_ranges(allocation)):
                return next((held for held in self._machine.guests.held if held.allocation is allocation), allocation)
        return None

    def job_on(self, core: int) -> Job | None:
        """Return the job that holds a core of this processor; None also where a guest does."""
        user = self._user_of(core)
        return None if user is None else user.job

    def __repr__(self) -> str:
        return (
            f"<Processor {self.name}: {self.busy_cores} of {self.type.cores} cores busy at {self.type.clock_ghz:g} GHz>"
        )


class Processor(ProcessorView, SharedCores):
    """One processor: a SimPy resource of cores that jobs and guests share, with a clock that can be changed.

    In a process::

        with processor.request(4) as held:
            yield held                          # goes on when four cores are free
            yield processor.load(4, seconds=60.0)
    """

    def __init__(self, machine: MachineParts, index: int):
        ProcessorView.__init__(self, machine, index)
        SharedCores.__init__(self, machine.guests, machine.cores.node_of(index), range(index, index + 1))

    @property
    def node(self) -> Node:
        """Return the node it is in."""
        return self._machine.node(self.node_index)

    @property
    def cores(self) -> Sequence[Core]:
        """Return the processor's cores."""
        return [Core(self, i) for i in range(self.type.cores)]

    def user_of(self, core: int) -> Request | Allocation | None:
        """Return what holds a core of this processor: a guest's request or a job's allocation; None if it is free."""
        return self._user_of(core)

    def request(self, cores: int = 1, owner: str = "guest", expected_s: float | None = None) -> Request:
        """Ask for some of its cores for a process that is not a job; see :meth:`Node.request`."""
        return self._ask(cores, 0.0, owner, expected_s)

    def load(self, cores: int, seconds: float, mem_mb_per_s: float = 0.0, owner: str = "guest") -> Event:
        """Run tasks on cores that ``owner`` holds here, which take so many seconds if nothing slows them.

        They draw power, share the memory channel with all others, each asking for ``mem_mb_per_s`` MB/s, and follow the
        clock. The event happens when they have ended; it fails with NodeStateError if the node breaks down.
        Raises InputError unless the owner holds that many cores here on which it runs nothing.
        """
        return self._machine.guests.load(self.name, self.index, cores, seconds, mem_mb_per_s, owner)

    def set_clock(self, ghz: float, static_w: float | None = None, dynamic_w: float | None = None) -> None:
        """Run at another clock from now on; tasks that run go on at the new rate.

        Watts not given follow the square of the clock, as in the processor table of Cruz (2023).
        Raises InputError for a clock that is not positive.
        """
        if not (is_number(ghz) and 0.0 < ghz < float("inf")):
            raise InputError(f"{self.name}, clock", "a positive clock in GHz", ghz)
        for watts in (static_w, dynamic_w):
            if watts is not None and not (is_number(watts) and 0.0 <= watts < float("inf")):
                raise InputError(f"{self.name}, watts at {ghz:g} GHz", "watts, 0 or more", watts)
        given = {key: value for key, value in (("static_w", static_w), ("dynamic_w", dynamic_w)) if value is not None}
        power = power_by_square(self._nominal.power, ghz / self._nominal.clock_ghz) | given
        self._machine.set_clock(self.index, replace(self._nominal, clock_ghz=ghz, power=power))

    def set_p_state(self, number: int) -> None:
        """Run in that of its type's p-states from now on; tasks that run go on at the new rate.

        Raises InputError for a p-state that it does not have.
        """
        kind = self._nominal.in_p_state(number)
        if kind != self.type:
            self._machine.set_clock(self.index, kind)


class NodeView:
    """One node as policies see it: what it is and does, and nothing that would change it."""

    def __init__(self, machine: MachineParts, index: int):
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
        return [shown(ProcessorView(self._machine, i)) for i in self._machine.cores.processors_of(self.index)]

    @property
    def cores(self) -> int:
        """Return cores of all its processors."""
        return int(self._machine.platform.node_cores[self.index])

    @property
    def free_cores(self) -> int:
        """Return cores that no job and no guest holds."""
        return int(self._machine.cores.free[self.index])

    @property
    def _state(self) -> NodeState:
        return self._machine.nodes.state[self.index]

    @property
    def state(self) -> NodeState:
        """Return what it is doing now."""
        if self._state is NodeState.IDLE and any(p.busy_cores for p in self.processors):
            return NodeState.COMPUTING
        return self._state

    @property
    def watts(self) -> float:
        """Return what it draws now."""
        return self._machine.power.node_watts(self.index)

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

    def __init__(self, machine: MachineParts, index: int):
        NodeView.__init__(self, machine, index)
        SharedCores.__init__(self, machine.guests, index, machine.cores.processors_of(index))

    @property
    def process(self) -> Process | None:
        """Return the live SimPy process of its transition, sleep or outage; None while it is on."""
        return self._machine.switching.process(self.index)

    @property
    def processors(self) -> Sequence[Processor]:
        """Return the node's processors, in order."""
        return [self._machine.processor(i) for i in self._machine.cores.processors_of(self.index)]

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
            self._env.process(self._break_down())

    def repair(self) -> Event:
        """Repair the failed node: it boots, or is OFF again, at no cost, if it was OFF or switching off when it failed.

        The event happens when it is ready, or OFF. Raises NodeStateError unless it has failed.
        """
        if self._state is not NodeState.FAILED:
            raise NodeStateError(f"{self.name}: only a failed node can be repaired, it is {self._described()}")
        return self._machine.switching.repair(self.index)

    def _break_down(self) -> Generator[Event, Any, None]:
        self._machine.guests.evict(self.index, f"{self.name} failed")
        while sum(kill(self.index, f"{self.name} failed") for kill in self._machine.hub.node_fails):
            yield self._env.timeout(0)  # the kills happen first
        if self._state is not NodeState.FAILED:  # else told so twice in this instant
            self._machine.switching.fail(self.index)
