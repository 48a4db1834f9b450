"""Cores and memory without a job: SimPy requests that a process of the user's own makes of a processor or a node.

A *guest* holds cores beside the jobs and by the same books: what either gets is an allocation of the machine's cores.
What it runs on them goes through the same memory channels, so it slows jobs and is slowed by them, and stands in the same
ledger.
In a process::

    with processor.request(cores=4, owner="backup") as held:
        yield held
        yield processor.load(4, seconds=60.0, mem_mb_per_s=2000.0, owner="backup")
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from simpy.core import BoundClass
from simpy.events import Event
from simpy.resources.base import BaseResource, Put
from simpy.resources.resource import Release

from cluster_sim.errors import InputError, NodeStateError, SimulationError
from cluster_sim.machine.allocation import NOBODY, Allocation
from cluster_sim.machine.intervals import lowest_bits
from cluster_sim.machine.memory import MB_PER_GB
from cluster_sim.machine.placement import Placement
from cluster_sim.platform.hardware import is_count, is_number

if TYPE_CHECKING:
    from types import TracebackType

    from cluster_sim.machine.cores import Cores
    from cluster_sim.machine.hub import Hub
    from cluster_sim.machine.ledger import Ledger
    from cluster_sim.machine.memory_channel import MemoryChannel, TaskGroup
    from cluster_sim.machine.power.power_meter import PowerMeter

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


class Request(Put["SharedCores"]):
    """A request for cores of one processor, or for cores and memory of one node. The event happens when it is granted.

    Use it as a context manager, as SimPy's own: leaving the block gives back what was granted, or withdraws the request.
    """

    job = None  #: Whose it is: nobody's; an allocation has that of its job.

    def __init__(self, resource: SharedCores, cores: int, memory_mb: float, owner: str, lasts_s: float):
        self.cores = cores
        self.memory_mb = memory_mb
        self.owner = owner
        self.lasts_s = lasts_s  #: How long it should hold them, s; inf where it was not given.
        self.since = float("inf")  #: When it was granted, s,
        self.expected_end = float("inf")  #: when it should give them back,
        self.until = float("inf")  #: and when it did; inf: not yet.
        self.lost = False  #: True if the node has broken down under it.
        self.allocation: Allocation | None = None  #: What it holds; None before it is granted, and afterwards.
        self.loads: list[Load] = []  #: Tasks that its owner runs on its cores.
        super().__init__(resource)

    @property
    def node(self) -> int:
        """Return the position of the node whose cores or memory it asks for."""
        return self.resource.node_index

    @property
    def processors(self) -> range:
        """Return the indices of the processors whose cores may be granted."""
        return self.resource.processor_range

    @property
    def placement(self) -> Placement:
        """Return its cores as the placement of a job would give them."""
        return Placement(((self.node, self.node + 1, self.cores),) if self.cores else ())

    @property
    def is_held(self) -> bool:
        """Return whether it has been granted and not been given back."""
        return self.allocation is not None

    def holds(self, processors: range) -> bool:
        """Return whether it holds cores of processors, or memory beside all of them."""
        if self.allocation is None:
            return False
        return self.processors == processors or self.allocation.has_any_of(processors)

    def cancel(self) -> None:
        """Withdraw the request if it has not been granted; a request behind it may fit now."""
        if self in self.resource.put_queue:
            super().cancel()
            self.resource.trigger()

    def release(self) -> None:
        """Give back what was granted, and end what still runs there; or withdraw the request."""
        self.cancel()
        if self.is_held:
            self.resource.release(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def __repr__(self) -> str:
        what = f"{self.cores} cores of {self.resource.name}"
        return f"<Request of {self.owner} for {what}, {'held' if self.is_held else 'not held'}>"


class SharedCores(BaseResource[Request, Release]):
    """A SimPy resource of cores, and of memory, that requests share with jobs: a node or a processor.

    As in SimPy, ``request`` makes an event that happens when it is granted, and ``release`` gives its cores back. Requests
    are granted all or nothing, in the order in which they were made: one that does not fit yet has others for the same
    processors wait behind it. They are granted when all that happens in an instant has happened, before any policy
    decides. A node that is off is not booted for them. All resources of a node share one ``put_queue``.

    To grant by another rule, override ``_do_put``: it grants a request by calling the base's, or leaves it waiting.
    """

    def __init__(self, guests: Guests, node: int, processors: range):
        cores = guests.cores
        super().__init__(cores.env, cores.first_core[processors.stop] - cores.first_core[processors.start])
        self._guests = guests
        self.node_index = node
        self.processor_range = processors
        self.put_queue = cores.queue_of(node)

    @property
    def name(self) -> str:
        """Return the name in messages and records."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        """Return how many of its cores jobs and requests hold."""
        masks = self._guests.cores.free_mask
        return int(self._capacity) - sum(masks[processor].bit_count() for processor in self.processor_range)

    @property
    def users(self) -> list[Request | Allocation]:
        """Return what holds cores of it: granted requests, in the order of their grants, then allocations of jobs."""
        own = self.processor_range
        held = self._guests.cores.allocations.values()
        of_jobs = [each for each in held if each.processors is None and each.has_any_of(own)]
        return [*(request for request in self._guests.held if request.holds(own)), *of_jobs]

    @property
    def queue(self) -> list[Request]:
        """Return the requests that wait for cores of it, in the order in which they were made."""
        own = set(self.processor_range)
        return [request for request in self.put_queue if not own.isdisjoint(request.processors)]

    def trigger(self) -> None:
        """Look at the requests that wait, later in this instant."""
        self._guests.cores.look_at(self.node_index)

    def _trigger_put(self, release: Release | None) -> None:
        self.trigger()

    def _do_put(self, request: Request) -> bool:
        """Grant a request if its cores and its memory are free and the node is on."""
        fits = self._guests.fits(request)
        if fits:
            self._guests.give(request)
        return fits

    def _do_get(self, release: Release) -> bool:
        """Give back what a request was granted here; one of another resource is left alone, as in SimPy."""
        request: Request = release.request  # type: ignore[assignment]
        if request.holds(self.processor_range):
            self._guests.leave(request)
        release.succeed()
        return True

    if TYPE_CHECKING:

        def release(self, request: Request) -> Release:
            """Give back what a request was granted, now. The event has happened when others know."""
            ...

    else:
        release = BoundClass(Release)

    def _ask(self, cores: int, memory_gb: float, owner: str, expected_s: float | None) -> Request:
        """Make a request. Raises InputError for more than there is, and for arguments of wrong types."""
        most, node_mb = int(self._capacity), self._guests.cores.memory.capacity[self.node_index]
        if not is_count(cores, most, least=0) or not (cores or memory_gb):
            raise InputError(f"{self.name}.request, cores", f"1 to {most} cores", cores)
        if not is_number(memory_gb) or not 0.0 <= memory_gb * MB_PER_GB <= node_mb:
            raise InputError(f"{self.name}.request, memory_gb", f"up to {node_mb / MB_PER_GB:g} GB", memory_gb)
        if not isinstance(owner, str) or not owner:
            raise InputError(f"{self.name}.request, owner", "a name", owner)
        if expected_s is not None and not (is_number(expected_s) and expected_s > 0.0):
            raise InputError(f"{self.name}.request, expected_s", "seconds above 0, or None", expected_s)
        self._guests.tenant(owner)
        lasts_s = float("inf") if expected_s is None else float(expected_s)
        return Request(self, int(cores), memory_gb * MB_PER_GB, owner, lasts_s)


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
    """The requests that have been granted to guests, and what they run on their cores.

    :class:`SharedCores` says when one is granted.
    """

    def __init__(
        self,
        cores: Cores,
        power: PowerMeter,
        ledger: Ledger,
        hub: Hub,
        channel: Callable[[int], MemoryChannel],
    ):
        self.cores = cores
        self._env = cores.env
        self._power = power
        self._ledger = ledger
        self._channel = channel  # of a processor
        self._hub = hub
        self.names: list[str] = []  #: Owners, by the order of their first request.
        self.held: list[Request] = []  #: Requests that have been granted and hold something now.
        self.granted: list[Request] = []  #: All that have been granted so far, for explanations.

    def __bool__(self) -> bool:
        """Whether any guest holds anything."""
        return bool(self.held)

    def tenant(self, owner: str) -> int:
        """Return the number of an owner in the ledger."""
        if owner not in self.names:
            self.names.append(owner)
        return FIRST_TENANT - self.names.index(owner)

    def expected(self) -> list[Departure]:
        """What guests hold, and when they should leave."""
        return [Departure(held.owner, held.node, held.cores, held.expected_end) for held in self.held if held.cores]

    # ------------------------------------------------------------------ requests

    def fits(self, request: Request) -> bool:
        """Return whether the cores and the memory of a request are free, and its node is on."""
        cores, node = self.cores, request.node
        free = sum(cores.free_mask[p].bit_count() for p in request.processors)
        if not cores.nodes.powered_on[node]:
            return False
        if min(free, cores.free.item(node)) < request.cores:  # an exclusive job has its node to itself
            return False
        return bool(request.memory_mb <= cores.memory.capacity[node] - cores.memory.used[node] + BYTE_MB)

    def give(self, request: Request) -> None:
        """Give a request its cores and memory; its event happens."""
        tenant, processors = self.tenant(request.owner), request.processors
        request.allocation = self.cores.request(
            request.placement, request.memory_mb, tenant=tenant, processors=processors
        )
        request.since = self._env.now
        request.expected_end = self._env.now + request.lasts_s
        self.held.append(request)
        self.granted.append(request)
        request.succeed(request)

    def leave(self, request: Request) -> None:
        """Take back what a request holds."""
        assert request.allocation is not None
        self._stop_loads(request, SimulationError, "the cores were given back while its tasks ran")
        allocation, request.allocation = request.allocation, None
        request.until = self._env.now
        self.held.remove(request)
        self.cores.give_back(allocation)
        for hear in self._hub.guest_left:
            hear(request)

    def evict(self, node: int, reason: str) -> None:
        """A node breaks down: its guests lose what they hold, and what they run fails."""
        for request in [held for held in self.held if held.node == node]:
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
        for request in self.held:
            mask = self._idle_cores(request, processor) if request.owner == owner else 0
            if mask.bit_count() >= cores:
                break
        else:
            raise InputError(f"{where}.load, owner", f"a guest that holds {cores} idle cores there", owner)
        mask = lowest_bits(mask, cores)
        if mem_mb_per_s > 0.0:
            for hear in self._hub.memory_moves:
                hear(processor)
        tenant = self.tenant(owner)
        self._power.load_cores(processor, cores)
        entry = self._ledger.load(self._env.now, tenant, self.cores.ranges_of(processor, mask))
        group = self._channel(processor).request(cores, [(float(seconds), float(mem_mb_per_s))], owner=tenant)
        load = Load(request, processor, mask, group, entry)
        request.loads.append(load)
        group.callbacks.append(lambda event: self._complete(load))
        return load.over

    @staticmethod
    def _idle_cores(request: Request, processor: int) -> int:
        """Cores of a processor that a request holds and runs nothing on, a bit each."""
        assert request.allocation is not None
        mask = sum(mask for _, p, mask, _ in request.allocation.pieces if p == processor)
        return mask & ~sum(load.mask for load in request.loads if load.processor == processor)

    def _complete(self, load: Load) -> None:
        if load in load.request.loads:
            self._end(load)
            load.over.succeed()

    def _stop_loads(self, request: Request, error: type[SimulationError], reason: str) -> None:
        """Stop what a guest runs on cores that it loses, and tell those who wait for it why."""
        for load in list(request.loads):
            self._end(load)
            load.over.fail(error(f"{request.owner}: {reason}"))
            load.over.defused = True

    def _end(self, load: Load) -> None:
        load.request.loads.remove(load)
        self._ledger.load_until[load.entry] = self._env.now
        load.group.resource.withdraw(load.group)
        self._power.unload_cores(load.processor, load.mask.bit_count())
