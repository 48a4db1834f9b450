"""Cores and memory without a job: SimPy requests that a process of the user's own makes of a processor or a node.

A *guest* holds cores beside the jobs and by the same books: what either gets is booked by ``Bookings.hold``. What it runs
on them goes through the same memory channels, so it slows jobs and is slowed by them, and stands in the same ledger.
In a process::

    with processor.request(cores=4, owner="backup") as held:
        yield held
        yield processor.load(4, seconds=60.0, mem_mb_per_s=2000.0, owner="backup")
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from simpy.events import Event

from cluster_sim.engine import GRANT
from cluster_sim.errors import InputError, NodeStateError, SimulationError
from cluster_sim.machine.allocation import NOBODY, Allocation, lowest_bits
from cluster_sim.machine.bookings import MB_PER_GB
from cluster_sim.machine.placement import Placement
from cluster_sim.platform.hardware import is_count, is_number

if TYPE_CHECKING:
    from types import TracebackType

    from cluster_sim.machine.machine import Machine
    from cluster_sim.machine.memory_channel import TaskGroup

FIRST_TENANT = NOBODY - 1
"""Number of the first guest in the ledger; the next is one less, and so on."""


BYTE_MB = 2.0**-20
"""A byte in MB. The memory in use of a node is a sum that may be off by the last digits: a byte does not count."""


class Departure(NamedTuple):
    """Cores of a node that a guest holds, and when it should give them back."""

    owner: str
    node: int
    cores: int
    expected_end: float  #: s; inf where it was not given.


class Request(Event):
    """A guest's request for cores of one processor, or for cores and memory of one node. Happens when it is granted.

    To be used as a context manager, which gives back what was granted, or withdraws the request if it never was.
    """

    def __init__(
        self, machine: Machine, node: int, processors: range, cores: int, memory_mb: float, owner: str, lasts_s: float
    ):
        super().__init__(machine.env)
        self.node = node
        self.processors = processors
        self.cores = cores
        self.memory_mb = memory_mb
        self.owner = owner
        self.lasts_s = lasts_s  #: How long it should hold them, s; inf where it was not given.
        self.since = float("inf")  #: When it was granted, s,
        self.expected_end = float("inf")  #: when it should give them back,
        self.until = float("inf")  #: and when it did; inf: not yet.
        self.lost = False  #: True if the node has broken down under it.
        self._machine = machine
        self._allocation: Allocation | None = None
        self._loads: list[Load] = []

    @property
    def placement(self) -> Placement:
        """Return which cores it asks for, as of a job."""
        return Placement(((self.node, self.node + 1, self.cores),) if self.cores else ())

    @property
    def is_held(self) -> bool:
        """Return whether it has been granted and not been given back."""
        return self._allocation is not None

    def release(self) -> None:
        """Give back what was granted, and end what still runs there; or withdraw the request."""
        self._machine.guests.leave(self)

    def __enter__(self) -> Request:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def __repr__(self) -> str:
        what = f"{self.cores} cores of {self._machine.platform.node_name(self.node)}"
        return f"<Request of {self.owner} for {what}, {'held' if self.is_held else 'not held'}>"


class Load:
    """Tasks that a guest runs on some of its cores of a processor."""

    def __init__(self, request: Request, processor: int, mask: int, group: TaskGroup, entry: int):
        self.request = request
        self.processor = processor
        self.mask = mask
        self.group = group
        self.entry = entry
        self.over = Event(group.env)  #: Happens when the tasks have ended; fails if their cores are lost to them.


class Guests:
    """The requests of a machine, and what has been granted.

    Requests are granted all or nothing, in the order in which they were made: one that does not fit yet has others for
    the same processors wait behind it. They are granted when all that happens in an instant has happened, before
    any policy decides. A node that is off is not booted for them.
    """

    def __init__(self, machine: Machine):
        self._machine = machine
        self._env = machine.env
        self.names: list[str] = []  #: Owners, by the order of their first request.
        self._waiting: dict[int, list[Request]] = defaultdict(list)  # by node, in order of request
        self._held: list[Request] = []
        self.granted: list[Request] = []  #: All that have been granted so far, for explanations.
        self._to_look_at: set[int] = set()  # nodes on which something may be granted now

    def __bool__(self) -> bool:
        """Return whether any guest holds anything."""
        return bool(self._held)

    def tenant(self, owner: str) -> int:
        """Return the number of an owner in the ledger."""
        if owner not in self.names:
            self.names.append(owner)
        return FIRST_TENANT - self.names.index(owner)

    def expected(self) -> list[Departure]:
        """Return what guests hold, and when they should leave."""
        return [Departure(held.owner, held.node, held.cores, held.expected_end) for held in self._held if held.cores]

    # ------------------------------------------------------------------ requests

    def request(
        self,
        where: str,
        node: int,
        processors: range,
        cores: int,
        memory_gb: float,
        owner: str,
        expected_s: float | None,
    ) -> Request:
        """Ask for cores of some processors of a node, and for memory of the node."""
        machine = self._machine
        most = machine.first_core[processors.stop] - machine.first_core[processors.start]
        if not is_count(cores, most, least=0) or not (cores or memory_gb):
            raise InputError(f"{where}.request, cores", f"1 to {most} cores", cores)
        if not is_number(memory_gb) or not 0.0 <= memory_gb * MB_PER_GB <= machine.memory_mb[node]:
            raise InputError(
                f"{where}.request, memory_gb", f"up to {machine.memory_mb[node] / MB_PER_GB:g} GB", memory_gb
            )
        if not isinstance(owner, str) or not owner:
            raise InputError(f"{where}.request, owner", "a name", owner)
        if expected_s is not None and not (is_number(expected_s) and expected_s > 0.0):
            raise InputError(f"{where}.request, expected_s", "seconds above 0, or None", expected_s)
        lasts_s = float("inf") if expected_s is None else float(expected_s)
        request = Request(machine, node, processors, int(cores), memory_gb * MB_PER_GB, owner, lasts_s)
        self.tenant(owner)
        self._waiting[node].append(request)
        machine.guest_nodes.add(node)
        self.look_at(node)
        return request

    def look_at(self, node: int) -> None:
        """Grant later in this instant what may fit now: something has become free on a node."""
        if node in self._waiting:
            if not self._to_look_at:
                self._env.at(self._env.now, GRANT).callbacks.append(self._grant)
            self._to_look_at.add(node)

    def _grant(self, event: Event) -> None:
        nodes, self._to_look_at = sorted(self._to_look_at), set()
        for node in nodes:
            awaited: set[int] = set()  # processors that an earlier request waits for
            for request in list(self._waiting[node]):
                if not (awaited.isdisjoint(request.processors) and self._fits(request)):
                    awaited.update(request.processors)
                    continue
                self._waiting[node].remove(request)
                tenant, processors = self.tenant(request.owner), request.processors
                request._allocation = self._machine.hold(
                    request.placement, request.memory_mb, tenant=tenant, processors=processors
                )
                request.since = self._env.now
                request.expected_end = self._env.now + request.lasts_s
                self._held.append(request)
                self.granted.append(request)
                request.succeed(request)
            if not self._waiting[node]:
                del self._waiting[node]
                self._machine.guest_nodes.discard(node)

    def _fits(self, request: Request) -> bool:
        machine = self._machine
        node = request.node
        free = sum(machine.free_mask[p].bit_count() for p in request.processors)
        if not machine.powered_on[node]:
            return False
        if min(free, machine.free.item(node)) < request.cores:  # an exclusive job has its node to itself
            return False
        return bool(request.memory_mb <= machine.memory_mb[node] - machine.memory_used[node] + BYTE_MB)

    def leave(self, request: Request) -> None:
        """Give back what a guest holds, or withdraw its request."""
        machine, allocation = self._machine, request._allocation
        if allocation is None:
            waiting = self._waiting.get(request.node, [])
            if request in waiting:
                waiting.remove(request)
                self.look_at(request.node)  # a request behind it may fit now
            return
        self._stop_loads(request, SimulationError, "the cores were given back while its tasks ran")
        request._allocation = None
        request.until = self._env.now
        self._held.remove(request)
        machine.release(allocation)
        machine.observer.guest_left(request)

    def evict(self, node: int, reason: str) -> None:
        """Take all that guests hold on a node, which breaks down; what they run there fails."""
        for request in [held for held in self._held if held.node == node]:
            self._stop_loads(request, NodeStateError, reason)
            request.lost = True
            self.leave(request)

    # ------------------------------------------------------------------ loads

    def load(self, where: str, processor: int, cores: int, seconds: float, mem_mb_per_s: float, owner: str) -> Event:
        """Run tasks on cores that a guest holds; the event happens when they have ended."""
        if not is_count(cores, most=sys.maxsize):
            raise InputError(f"{where}.load, cores", "a number of cores, 1 or more", cores)
        for name, value in (("seconds", seconds), ("mem_mb_per_s", mem_mb_per_s)):
            if not is_number(value) or not 0.0 <= value < float("inf"):
                raise InputError(f"{where}.load, {name}", "a finite number, 0 or more", value)
        machine = self._machine
        for request in self._held:
            # Cores of the processor that the guest holds and runs nothing on, a bit each.
            assert request._allocation is not None
            mask = sum(mask for _, p, mask, _ in request._allocation.pieces if p == processor)
            mask &= ~sum(load.mask for load in request._loads if load.processor == processor)
            if request.owner == owner and mask.bit_count() >= cores:
                break
        else:
            raise InputError(f"{where}.load, owner", f"a guest that holds {cores} idle cores there", owner)
        mask = lowest_bits(mask, cores)
        if mem_mb_per_s > 0.0:
            machine.observer.traffic_on(processor)
        tenant = self.tenant(owner)
        machine.load_cores(processor, cores)
        entry = machine.ledger.load(self._env.now, tenant, machine.ranges_of(processor, mask))
        group = machine.channel(processor).run(cores, [(float(seconds), float(mem_mb_per_s))], owner=tenant)
        load = Load(request, processor, mask, group, entry)
        request._loads.append(load)

        def complete(event: Event) -> None:
            if load in request._loads:
                self._end(load)
                load.over.succeed()

        group.callbacks.append(complete)
        return load.over

    def _stop_loads(self, request: Request, error: type[SimulationError], reason: str) -> None:
        """Stop what a guest runs on cores that it loses, and tell those who wait for it why."""
        for load in list(request._loads):
            self._end(load)
            load.over.fail(error(f"{request.owner}: {reason}"))
            load.over.defused = True

    def _end(self, load: Load) -> None:
        machine = self._machine
        load.request._loads.remove(load)
        machine.ledger.load_until[load.entry] = self._env.now
        load.group.channel.release(load.group)
        machine.unload_cores(load.processor, load.mask.bit_count())
