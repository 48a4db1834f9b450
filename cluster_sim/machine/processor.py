"""Processors and cores: handles on the shared resource of cores that a socket is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cluster_sim.errors import InputError
from cluster_sim.machine.guest_requests import SharedCores
from cluster_sim.machine.running import Running
from cluster_sim.platform.hardware import is_number, p_state_of, power_by_square

if TYPE_CHECKING:
    from simpy.events import Event

    from cluster_sim.machine.guest_requests import Request
    from cluster_sim.machine.machine import Machine
    from cluster_sim.machine.node import Node
    from cluster_sim.platform.platform import ProcessorType
    from cluster_sim.workload.jobs import Job


class Core:
    """An identified slot of its processor: free, or held by a job or a guest."""

    __slots__ = ("index", "processor")

    def __init__(self, processor: ProcessorView, index: int):
        self.processor = processor
        self.index = index  #: Position in the processor.

    @property
    def is_free(self) -> bool:
        """Return whether no job and no guest holds it."""
        return bool(self.processor.free_mask >> self.index & 1)

    @property
    def user(self) -> Request | Running | None:
        """Return what holds it: a guest's request or a running job; None if it is free."""
        return self.processor.user_of(self.index)

    @property
    def job(self) -> Job | None:
        """Return the job that holds it; None also where a guest does."""
        return self.processor.job_on(self.index)

    def __repr__(self) -> str:
        return f"<Core {self.processor.name}.core{self.index}: {self.job or 'free'}>"


class ProcessorView:
    """One processor as policies see it: its cores, clock, watts, and the demand on its memory channel."""

    def __init__(self, machine: Machine, index: int):
        self._machine = machine
        self.index = index  #: Position among all processors of the platform.
        platform = machine.platform
        self._nominal = platform.processor_types[int(platform.type_of_processor[index])]  # at the clock it began with

    @property
    def name(self) -> str:
        """Return the node and running index in it, ``cluster0.node1.processor0``."""
        machine = self._machine
        node = machine.node_of(self.index)
        return f"{machine.platform.node_name(node)}.processor{self.index - machine.processors_of(node).start}"

    @property
    def type(self) -> ProcessorType:
        """Return the processor's description, with the clock and watts that it has now."""
        return self._machine.type_of[self.index]

    @property
    def cores(self) -> list[Core]:
        """Return the processor's cores."""
        return [Core(self, i) for i in range(self.type.cores)]

    @property
    def busy_cores(self) -> int:
        """Return cores that run a task, or whose job waits for its last task."""
        return self._machine.busy[self.index]

    @property
    def free_mask(self) -> int:
        """Return cores that no job and no guest holds, one bit each."""
        return self._machine.free_mask[self.index]

    @property
    def watts(self) -> float:
        """Return what it draws now (as part of a node that is on)."""
        return self._machine.processor_watts(self.index)

    @property
    def demand(self) -> float:
        """Return the bandwidth that the tasks on it ask for, MB/s."""
        channel = self._machine.channels.get(self.index)
        return channel.demand if channel else 0.0

    @property
    def p_state(self) -> int | None:
        """Return which of its type's p-states it is in; None after :meth:`set_clock` to a clock of none of them."""
        return p_state_of(self.type, self._nominal)

    def user_of(self, core: int) -> Request | Running | None:
        """Return what holds a core of this processor: a guest's request or a running job; None if it is free."""
        machine = self._machine
        for request in machine.guests.held:
            pieces = request.allocation.pieces if request.allocation else ()
            if any(processor == self.index and mask >> core & 1 for _, processor, mask, _ in pieces):
                return request
        number = machine.first_core[self.index] + core
        return next(iter(machine.observer.jobs_on(number, number + 1)), None)

    def job_on(self, core: int) -> Job | None:
        """Return the job that holds a core of this processor; None also where a guest does."""
        user = self.user_of(core)
        return user.job if isinstance(user, Running) else None

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

    def __init__(self, machine: Machine, index: int):
        ProcessorView.__init__(self, machine, index)
        SharedCores.__init__(self, machine, machine.node_of(index), range(index, index + 1))

    @property
    def node(self) -> Node:
        """Return the node it is in."""
        return self._machine.node(self._machine.node_of(self.index))

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
