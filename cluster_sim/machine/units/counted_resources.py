"""The counted resources of a machine: which GPUs and other units of its nodes are free, and how many licences.

What is free is one vector of *slots*. A slot is all units of one resource on a node, which are alike, or, where jobs may
have shares of GPUs, a single GPU; a licence of the whole platform is one slot. Plans of what will be free are vectors of
the same slots, so that the laws of what fits stand here once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cluster_sim.errors import PlacementError, counted
from cluster_sim.machine.intervals import bits_of, lowest_bits
from cluster_sim.machine.units.unit_hold import ANYWHERE, UnitHold
from cluster_sim.read_only import renew
from cluster_sim.workload.jobs import any_asks
from cluster_sim.workload.resource_request import (
    GPU,
    GPU_COLUMNS,
    NOTHING,
    WHOLE,
    Per,
    ResourceRequest,
    Units,
    resource_request,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.placement import Placement
    from cluster_sim.platform.platform import Platform
    from cluster_sim.workload.jobs import Job

MOST = 2**40
"""Tasks of a job on a node where its resources set no limit."""


class Lack(NamedTuple):
    """Resource of which a job cannot have enough: what it asks for, in words, and how many units there are."""

    asked: str
    found: int
    elsewhere: bool = False  #: True if enough are free, but not where the job's tasks find cores.


class CountedResources:
    """Units and licences as one vector of what is free, in parts of a unit (WHOLE each), shape (slots,).

    With ``by_unit``, each GPU has a slot of its own: jobs may have shares of it.
    """

    asked = True  #: Whether any job of the run asks for some of it.

    def __init__(self, platform: Platform, by_unit: bool = False):
        self._platform = platform
        self.by_unit = by_unit  #: Whether it matters which of a node's GPUs a job gets.
        self._nodes = platform.node_count
        self._counts = {name: platform.units_of(name) for name in platform.resource_names}
        self._first: dict[str, int] = {}  # slot
        self._width: dict[str, int] = {}  # slots of each node
        parts: list[npt.NDArray[np.int64]] = []
        slots = 0
        for name, counts in self._counts.items():
            apart = self._has_numbers(name)
            width = int(counts.max(initial=0)) if apart else 1
            self._first[name], self._width[name] = slots, width
            single = np.arange(width) < counts[:, np.newaxis] if apart else counts[:, np.newaxis]
            parts.append((single * WHOLE).ravel())
            slots += self._nodes * width
        self._pools = {name: slots + place for place, name in enumerate(platform.pools)}
        parts.append(np.array([count * WHOLE for count in platform.pools.values()], np.int64))
        self.capacity: npt.NDArray[np.int64] = np.concatenate(parts)
        self.free = self.capacity.copy()  #: It may fall below 0 in a plan.
        #: Whether jobs can hold any; where the platform has none, those that ask for some are rejected.
        self.counts = bool(len(self.capacity))
        self._requests: dict[int, ResourceRequest] = {}  # by index of the job
        self._on_one: dict[tuple[int, int], bool] = {}  # by index and cores: whether a node could have the whole job
        self._numbers: dict[tuple[str, int], int] = {}  # free units of a node as a mask, where they have no slots

    def copy(self, empty: bool = False) -> CountedResources:
        """Return a copy to try things out on, as it is now or as if nobody held anything."""
        other = copy(self)
        other.free = self.capacity.copy() if empty else self.free.copy()
        return other

    # ------------------------------------------------------------------ what a job asks for

    def request(self, job: Job) -> ResourceRequest:
        """Return what a job asks for, as far as it counts: licences do only where the platform has pools."""
        if not self.asked:
            return NOTHING
        request = self._requests.get(job.index)
        if request is None:
            request = self._requests[job.index] = resource_request(job, licences=bool(self._pools))
        return request

    def asks(self, job: Job) -> bool:
        """Return whether the job asks for any of it."""
        request = self.request(job)
        return bool(request.units or request.licences)

    def why_never(self, job: Job) -> str:
        """Say why the job could not have what it asks for even if all were free; empty: each of it, by itself."""
        request = self.request(job)
        others = request.licences or any(units.per is not Per.TASK for units in request.units)
        if job.malleable and (others or (request.units and request.share < WHOLE)):
            asked = self.described(job)
            return f"it is malleable and asks for {asked}: the number of its cores can change with whole gpus_per_task alone"
        for units in request.units:
            asked, found = self._asked(units, request), self._available(units, request, self.capacity)
            most, total = int(found.max(initial=0)), int(found.sum())
            if not total:
                types = f" of type {' or '.join(request.gpu_types)}" if units.resource == GPU else ""
                return f"it asks for {asked}, the platform has none{types if request.gpu_types else ''}"
            if units.per is Per.JOB and total < units.number:
                return f"it asks for {asked}, the platform has {total}"
            if units.per is not Per.JOB and most < units.number:
                return f"it asks for {asked}, no node has more than {most}"
        for name, count in request.licences:
            most = int(self.capacity[self._pools[name]]) // WHOLE if name in self._pools else 0
            if most < count:
                return f"it asks for {counted(count, 'licence')} of {name}, the platform has {most or 'none'}"
        return ""

    def described(self, job: Job) -> str:
        """Return what the job asks for, in words: ``4 GPUs on each node``."""
        request = self.request(job)
        parts = [self._asked(units, request) for units in request.units]
        return " and ".join([*parts, *(f"{counted(count, 'licence')} of {name}" for name, count in request.licences)])

    def _asked(self, units: Units, request: ResourceRequest) -> str:
        name = "GPU" if units.resource == GPU else units.resource
        types = f" of type {' or '.join(request.gpu_types)}" if request.gpu_types and units.resource == GPU else ""
        share = f" ({request.share / WHOLE:g} of each)" if request.share < WHOLE and units.resource == GPU else ""
        per = "" if units.per is Per.JOB else f" {units.per.value}"
        number = counted(units.number, name) if name == "GPU" else f"{units.number:,} {name}"
        return f"{number}{types}{share}{per}"

    # ------------------------------------------------------------------ what fits

    def units_free(self, resource: str, free: npt.NDArray[np.integer], share: int = WHOLE) -> npt.NDArray[np.int64]:
        """Return of how many units of a resource each node has so large a share free, shape (nodes,)."""
        first, width = self._first[resource], self._width[resource]
        slots = free[first : first + self._nodes * width]
        if self._has_numbers(resource):
            fits: npt.NDArray[np.int64] = (slots.reshape(self._nodes, width) >= share).sum(axis=1)
            return fits
        return (slots // WHOLE).astype(np.int64)

    def shares(self, resource: str) -> npt.NDArray[np.float64]:
        """Return what is left of each unit of a resource, shape (nodes, units of the node with most).

        Where all units of a node are alike, the free ones stand first.
        """
        first, width = self._first[resource], self._width[resource]
        slots = self.free[first : first + self._nodes * width].reshape(self._nodes, width)
        if not self._has_numbers(resource):
            slots = WHOLE * (np.arange(self._counts[resource].max(initial=0)) < slots // WHOLE)
        found: npt.NDArray[np.float64] = slots / WHOLE
        return found

    def _available(
        self, units: Units, request: ResourceRequest, free: npt.NDArray[np.integer]
    ) -> npt.NDArray[np.int64]:
        """Return how many units each node has free for a request, of the types that it names."""
        if units.resource not in self._first:
            return np.zeros(self._nodes, np.int64)
        found = self.units_free(units.resource, free, self._share(units, request))
        if units.resource == GPU and request.gpu_types:
            kinds = [
                GPU in kind.resources and kind.resources[GPU].type in request.gpu_types
                for kind in self._platform.node_types
            ]
            found = np.where(np.array(kinds)[self._platform.type_of_node], found, 0)
        return found

    @staticmethod
    def _share(units: Units, request: ResourceRequest) -> int:
        return request.share if units.resource == GPU else WHOLE

    def room(self, job: Job, free: npt.NDArray[np.integer] | None = None) -> npt.NDArray[np.int64]:
        """Return for how many tasks of the job each node has what goes with them, shape (nodes,).

        ``free`` is a vector of slots, by default what is free now.
        """
        free = self.free if free is None else free
        request = self.request(job)
        rooms = np.full(self._nodes, MOST, np.int64)
        for units in request.units:
            found = np.maximum(self._available(units, request, free), 0)
            if units.per is Per.TASK:
                np.minimum(rooms, found // units.number, out=rooms)
            elif units.per is Per.JOB and not job.nodes:
                np.minimum(rooms, found * job.requested_cores // units.number, out=rooms)
            else:
                each = units.number if units.per is Per.NODE else -(-units.number // job.nodes)
                rooms[found < each] = 0
        for name, count in request.licences:
            if name not in self._pools or free[self._pools[name]] < count * WHOLE:
                rooms[:] = 0
        return rooms

    def fits_one_node(self, job: Job, cores: npt.NDArray[np.integer]) -> bool:
        """Return whether some node, of ``cores`` each, could have the whole job if all were free."""
        key = job.index, job.requested_cores
        fits = self._on_one.get(key)
        if fits is None:
            rooms = np.minimum(self.room(job, self.capacity), cores)
            fits = self._on_one[key] = bool((rooms >= job.requested_cores).any())
        return fits

    def lacking(self, job: Job, usable: npt.NDArray[np.bool_]) -> Lack | None:
        """Return of which resource the job cannot have enough now on the usable nodes; None: enough of each is free."""
        request, elsewhere = self.request(job), None
        for units in request.units:
            asked = self._asked(units, request)
            found = np.where(usable, np.maximum(self._available(units, request, self.free), 0), 0)
            if units.per is Per.JOB and found.sum() < units.number:
                return Lack(asked, int(found.sum()))
            if units.per is not Per.JOB and found.max(initial=0) < units.number:
                return Lack(asked, int(found.max(initial=0)))
            elsewhere = elsewhere or Lack(asked, int(found.sum()), elsewhere=True)
        for name, count in request.licences:
            left = int(self.free[self._pools[name]]) // WHOLE
            if left < count:
                return Lack(f"{counted(count, 'licence')} of {name}", left)
        return elsewhere

    # ------------------------------------------------------------------ taking and giving

    def holds(self, job: Job, placement: Placement, free: npt.NDArray[np.integer] | None = None) -> list[UnitHold]:
        """Return what the job takes with a placement, of the GPUs that ``free`` has (by default now) where that matters.

        A share of a GPU goes on the one with the least left that has room, whole GPUs are the first free ones.
        """
        request = self.request(job)
        found: list[UnitHold] = []
        if not request.units and not request.licences:
            return found
        cores = sorted(placement.cores_by_node().items())
        tasks = [count for _, count in cores]
        chosen = self.free if free is None else free
        for units in request.units:
            share = self._share(units, request)
            for (node, _), count in zip(cores, units.of_nodes(tasks, job.nodes), strict=True):
                if count:
                    numbers = self._chosen(node, count, share, chosen) if self._has_numbers(units.resource) else ()
                    found.append(UnitHold(units.resource, node, count, share, numbers))
        found += [UnitHold(name, ANYWHERE, count) for name, count in request.licences]
        return found

    def planned(self, job: Job, placement: Placement) -> Sequence[UnitHold]:
        """Return what the job takes with a placement; where it matters which GPUs, the placement keeps what is chosen."""
        if placement.units is not None:
            return placement.units
        holds = self.holds(job, placement)
        if self.by_unit:
            renew(placement, units=holds)
        return holds

    def plan(self, job: Job, placement: Placement, free: npt.NDArray[np.integer]) -> None:
        """Choose for a placement, where that matters, which of the GPUs the job is to have that ``free`` has."""
        if self.by_unit:
            renew(placement, units=self.holds(job, placement, free))

    def prefer(self, job: Job, placement: Placement, gpus: npt.NDArray[np.int64]) -> None:
        """Have a job that shares GPUs take one of ``gpus`` on each node, shape (nodes,), -1: as the law chooses."""
        if self.by_unit:
            renew(
                placement,
                units=[
                    hold._replace(which=(int(gpus[hold.node]),))
                    if hold.share < WHOLE and hold.number == 1 and gpus[hold.node] >= 0
                    else hold
                    for hold in self.holds(job, placement)
                ],
            )

    def _has_numbers(self, resource: str) -> bool:
        return self.by_unit and resource == GPU

    def _chosen(self, node: int, count: int, share: int, free: npt.NDArray[np.integer]) -> tuple[int, ...]:
        """Return which GPUs of a node a job takes; where too few have room, as in a plan that failed, those with most."""
        first, width = self._first[GPU] + node * self._width[GPU], self._width[GPU]
        left = free[first : first + width].tolist()
        fitting = [number for number in range(width) if left[number] >= share]
        if len(fitting) < count:
            fitting = sorted(range(int(self._counts[GPU][node])), key=lambda number: -left[number])
        elif share < WHOLE:
            fitting.sort(key=left.__getitem__)
        return tuple(sorted(fitting[:count]))

    def amount(self, holds: Iterable[UnitHold]) -> npt.NDArray[np.int64]:
        """Return what some holds take of each slot, shape (slots,)."""
        amount = np.zeros(len(self.capacity), np.int64)
        for slots, parts in map(self.slots, holds):
            for slot in slots:
                amount[slot] += parts
        return amount

    def slots(self, hold: UnitHold) -> tuple[Sequence[int], int]:
        """Return the slots of a hold, and how much it takes of each."""
        if hold.node == ANYWHERE:
            return (self._pools[hold.resource],), hold.number * WHOLE
        first = self._first[hold.resource] + hold.node * self._width[hold.resource]
        if self._has_numbers(hold.resource):
            return [first + number for number in hold.which], hold.share
        return (first,), hold.number * WHOLE

    def take(self, holds: Iterable[UnitHold]) -> None:
        """Take what some holds are of, which may leave less than nothing."""
        for slots, parts in map(self.slots, holds):
            for slot in slots:
                self.free[slot] -= parts

    def give(self, holds: Iterable[UnitHold]) -> None:
        """Undo :meth:`take`."""
        for slots, parts in map(self.slots, holds):
            for slot in slots:
                self.free[slot] += parts

    # ------------------------------------------------------------------ of the machine itself: certain units

    def check(self, job: Job, placement: Placement, own: Sequence[UnitHold] = ()) -> None:
        """Raise PlacementError, which names the resource, unless the job could have what it asks for with a placement.

        What it has of its ``own`` would be free for it.
        """
        self.give(own)
        try:
            self._certain(job, placement)
        finally:
            self.take(own)

    def would_have(self, job: Job, placement: Placement) -> bool:
        """Return whether the job could have what it asks for with a placement."""
        try:
            self._certain(job, placement)
        except PlacementError:
            return False
        return True

    def _certain(self, job: Job, placement: Placement) -> list[UnitHold]:
        """Return what the job would get: what a plan has chosen for it if that is free. Raises as :meth:`check` does."""
        holds = self.holds(job, placement)
        if placement.units is not None:
            alike = [hold[:4] for hold in placement.units] == [hold[:4] for hold in holds]
            if alike and all(map(self.is_free, placement.units)):
                return list(placement.units)
        for hold in holds:
            self._check(job, hold)
        return holds

    def book(self, job: Job, placement: Placement) -> list[UnitHold]:
        """Take what the job asks for, with a placement of its tasks, and return it with the numbers of the units.

        Raises PlacementError, with nothing changed, if it is not free.
        """
        holds = self._certain(job, placement)
        self.take(holds)
        if self.by_unit:
            renew(placement, units=holds)
        return [hold if hold.which else hold._replace(which=self._numbered(hold)) for hold in holds]

    def is_free(self, hold: UnitHold) -> bool:
        """Return whether what a hold is of is free now."""
        slots, parts = self.slots(hold)
        return all(self.free[slot] >= parts for slot in slots)

    def _check(self, job: Job, hold: UnitHold) -> None:
        asked = f"job {job.job_id} asks for {self.described(job)}"
        if hold.node == ANYWHERE:
            if hold.resource not in self._pools or not self.is_free(hold):
                left = int(self.free[self._pools[hold.resource]]) // WHOLE if hold.resource in self._pools else 0
                raise PlacementError(f"{asked}: {left} free")
            return
        name, kind = (
            self._platform.node_name(hold.node),
            self._platform.node_types[self._platform.type_of_node[hold.node]],
        )
        if hold.resource not in kind.resources:
            raise PlacementError(f"{asked}: {name} has none")
        types = self.request(job).gpu_types
        if hold.resource == GPU and types and kind.resources[GPU].type not in types:
            raise PlacementError(f"{asked}: {name} has others")
        left = self.units_free(hold.resource, self.free, hold.share)[hold.node]
        if left < hold.number:
            raise PlacementError(f"{asked}: {name} has {left} free")

    def _numbered(self, hold: UnitHold) -> tuple[int, ...]:
        """Take the lowest free numbers of units that are all alike."""
        free = self._free_numbers(hold)
        taken = lowest_bits(free, hold.number)
        self._numbers[hold.resource, hold.node] = free ^ taken
        return tuple(bits_of(taken))

    def _free_numbers(self, hold: UnitHold) -> int:
        count = self._platform.pools[hold.resource] if hold.node == ANYWHERE else self._counts[hold.resource][hold.node]
        return self._numbers.get((hold.resource, hold.node), (1 << int(count)) - 1)

    def unbook(self, holds: Sequence[UnitHold]) -> None:
        """Give back what :meth:`book` took."""
        self.give(holds)
        for hold in holds:
            if not self._has_numbers(hold.resource):
                self._numbers[hold.resource, hold.node] |= sum(1 << number for number in hold.which)

    def busy_watts(self, holds: Iterable[UnitHold]) -> dict[int, float]:
        """Return what each node draws more while tasks have these units, W."""
        watts: dict[int, float] = {}
        for hold in holds:
            if hold.node != ANYWHERE:
                kind = self._platform.node_types[self._platform.type_of_node[hold.node]].resources[hold.resource]
                watts[hold.node] = watts.get(hold.node, 0.0) + hold.number * hold.share / WHOLE * kind.busy_w
        return watts

    def least_watts(self, job: Job) -> float:
        """Return the least that the units of a job draw more when busy, W, if it has them on one node."""
        request, total = self.request(job), 0.0
        for units in request.units:
            draws = [
                t.resources[units.resource].busy_w for t in self._platform.node_types if units.resource in t.resources
            ]
            count = units.number * (job.requested_cores if units.per is Per.TASK else 1)
            total += count * self._share(units, request) / WHOLE * min(draws, default=0.0)
        return total

    def rebook(self, holds: Iterable[UnitHold]) -> None:
        """Take what is held already, in a machine that looks at counted resources anew."""
        for hold in holds:
            self.take([hold])
            if not self._has_numbers(hold.resource):
                taken = sum(1 << number for number in hold.which)
                self._numbers[hold.resource, hold.node] = self._free_numbers(hold) & ~taken


class NothingCounted(CountedResources):
    """The counted resources of a run in which no job asks for any: there are no slots."""

    def __init__(self) -> None:
        self.asked = self.by_unit = self.counts = False
        self.free = self.capacity = np.zeros(0, np.int64)


NOTHING_COUNTED = NothingCounted()


def resources_of(platform: Platform, columns: Mapping[str, Any]) -> CountedResources:
    """Return the counted resources of a machine, as far as the jobs of a workload's columns ask for any.

    Licences count only where the platform has pools: logs name those of machines that say nothing of them.
    """
    if not any_asks(columns, *GPU_COLUMNS, "resources", *(["licenses"] if platform.pools else [])):
        return NOTHING_COUNTED
    return CountedResources(platform, by_unit=bool((columns["gpu_share"] < 1.0).any()))
