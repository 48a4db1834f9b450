"""What is free: the cores and memory of each node that jobs can have, and the search for a job's among them."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.errors import InputError, counted
from cluster_sim.machine.eligibility import Eligibility
from cluster_sim.machine.memory import NodeMemory
from cluster_sim.machine.placement import Placement, Span, is_possible, shape
from cluster_sim.machine.units.counted_resources import NOTHING_COUNTED, CountedResources
from cluster_sim.machine.units.node_ranks import NodeRanks
from cluster_sim.platform.node_choice import leaf_sets

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.node_states import NodeStates
    from cluster_sim.machine.running import Running
    from cluster_sim.platform.platform import Platform
    from cluster_sim.workload.jobs import Job

    Ints = npt.NDArray[np.integer]
    """A number for each node, shape (nodes,)."""
    SetRule = Callable[[Ints, int], npt.NDArray[np.float64]]
    """A rule that ranks nodes by what a job could have on each, and by how much it wants of that."""
    Order = npt.NDArray[np.float64] | SetRule | None
    """Ranks of the nodes, least first; None: in platform order."""


class Pool:
    """The nodes of a machine as placements look at them: what is free on each, and which can be used.

    The machine has a pool that changes as it does (:class:`~cluster_sim.machine.cores.Cores`); a :class:`Free` is one to
    try out on it what comes later.
    """

    free: npt.NDArray[Any]  #: Free cores of each node, shape (nodes,).
    free_total: int  #: Free cores of nodes that can be used, booting them first if need be.
    now: float  #: s.

    def __init__(
        self,
        platform: Platform,
        memory: NodeMemory,
        is_on: npt.NDArray[np.bool_],
        is_off: npt.NDArray[np.bool_],
        eligibility: Eligibility,
    ):
        self.platform = platform
        self.widest = platform.widest_node
        self.is_on, self.is_off = is_on, is_off  #: Nodes that can be used at once, and after a boot.
        self.memory = memory
        self.shapes = True  #: True if any job of the workload fixes nodes or tasks per node.
        self.eligibility = eligibility  #: Which nodes jobs may use.
        self.resources: CountedResources = NOTHING_COUNTED  #: GPUs and other units, and licences.

    def why_impossible(
        self, job: Job, memory: bool = False, resources: bool = True, spreads_tasks: bool = False
    ) -> str:
        """Say why the job could not be placed even if all were free; empty: it could.

        Memory and counted ``resources`` matter if they count. Where the scheduler ``spreads_tasks`` as it will, its nodes
        need not be wide enough for even parts.
        """
        platform, cores, eligibility = self.platform, job.requested_cores, self.eligibility
        if cores > platform.core_count:
            return f"it asks for {cores} cores, the platform has {platform.core_count}"
        by_memory, by_resources = memory and job.memory > 0.0, resources and self.resources.asks(job)
        wanted = shape(job)
        never, allowed = eligibility.why_never(job, self.now), eligibility.nodes(job)
        if not never and by_resources:
            never = self.resources.why_never(job)
        if never or (wanted is None and not by_memory and not by_resources and allowed is None):
            return never
        if wanted is not None and not is_possible(job, wanted):
            most = f", at most {job.ntasks_per_node} on each" if job.ntasks_per_node else ""
            return f"{cores} tasks cannot be spread over {job.nodes} nodes{most}"
        if spreads_tasks:
            wanted = None
        capacity = platform.node_cores if allowed is None else np.where(allowed, platform.node_cores, 0)
        where = eligibility.described(job)
        if capacity.sum() < cores:
            return f"it asks for {cores} cores on nodes{where}, which have {capacity.sum()}"
        if by_memory:
            capacity = np.minimum(capacity, self.memory.room(job.memory, if_empty=True))
        if by_resources:
            capacity = np.minimum(capacity, self.resources.room(job, self.resources.capacity))
        if wanted is None and (cores > eligibility.widest(job) or (by_resources and not self._fits_one(job))):
            if capacity.sum() >= cores:
                return ""
            needs = [f"memory for {cores} tasks of {job.memory:g} MB"] if by_memory else []
            needs += [f"{self.resources.described(job)} for {counted(cores, 'task')}"] if by_resources else []
            return f"no set of nodes{where} has {' and '.join(needs)}"
        wishes = wanted or [cores]
        # Widest wish against widest node, and so on: if that fails, no other matching works.
        widest = np.sort(capacity)[::-1][: len(wishes)]
        if len(widest) < len(wishes) or (widest < wishes).any():
            what = f"with {job.memory:g} MB for each task" if by_memory else "that wide"
            what = f"{what} with {self.resources.described(job)}" if by_resources else what
            sizes = f"{counted(len(wishes), 'node')} of {counted(wishes[0], 'core')}"
            return f"it asks for {sizes}{where}, the platform has too few {what}"
        return ""

    def why_on_too_many_switches(self, job: Job, memory: bool = False) -> str:
        """Say why a job that is possible otherwise never finds its nodes under as few leaf switches; empty: it may."""
        if self.eligibility.switches_until(job) < float("inf") or job.reservation:
            return ""
        empty = Free(self.platform, self.memory.copy(True), self.eligibility)
        if empty.place(job, None, memory, time=float("inf")) is not None:
            return ""
        return f"it asks for at most {counted(job.switches, 'leaf switch', 'es')}, and so few never have room for it"

    def place(
        self,
        job: Job,
        order: Order = None,
        memory: bool = False,
        within: Ints | None = None,
        time: float | None = None,
    ) -> Placement | None:
        """Return a placement of the job on cores that are free, or None.

        A job that fits the widest node goes on one node; a wider one takes free cores node by node, partly free nodes
        included; ``nodes`` and ``ntasks_per_node`` override. ``order`` ranks the nodes (shape (nodes,), least first, ties
        and None in platform order), or is a rule that ranks them by what the job could have on each
        (:mod:`~cluster_sim.platform.node_choice`). Nodes that are on come before nodes that would have to be booted.
        With ``memory``, a node must also have room for its tasks' memory. ``within``, shape (nodes,), are the most cores
        that may be taken on each node: the plan of a scheduler that has promised the others. Only nodes that are eligible
        for the job at ``time`` (s, by default now) are taken, and only empty ones if it wants them for itself.
        """
        rule: SetRule | None = None
        if callable(order):
            rule, order = order, None
        elif order is not None and getattr(order, "shape", None) != (self.platform.node_count,):
            found = getattr(order, "shape", None)
            raise InputError(
                "node order",
                f"a number for each node, an array of shape ({self.platform.node_count},)",
                order if found is None else f"one of shape {found}",
            )
        cores = job.requested_cores
        if cores > self.free_total:
            return None
        rooms: Ints | None = self.memory.room(job.memory) if memory and job.memory > 0.0 else None
        if within is not None:
            rooms = within if rooms is None else np.minimum(rooms, within)
        widest = self.widest
        if self.eligibility.restricts:
            widest = self.eligibility.widest(job)
            rooms = self.open_rooms(job, time, rooms, within)
        if self.resources.asked and self.resources.asks(job):
            room = self.resources.room(job)
            rooms = room if rooms is None else np.minimum(rooms, room)
            widest = widest if self._fits_one(job) else 0
        capacity = self.free if rooms is None else np.minimum(self.free, rooms)
        wanted = shape(job) if self.shapes else None
        most = self.eligibility.leaf_limit(job, self.now if time is None else time) if self.eligibility.restricts else 0
        if rule is not None or most:
            return self._place_set(job, wanted, cores <= widest, rule or order, capacity, most)
        if wanted is not None:
            placement = self._place_shaped(wanted, order, capacity) if is_possible(job, wanted) else None
        else:
            placement = (self._place_on_one if cores <= widest else self._place_wide)(cores, order, capacity)
        if placement is not None and isinstance(order, NodeRanks):
            self.resources.prefer(job, placement, order.gpus)
        return placement

    def _fits_one(self, job: Job) -> bool:
        """Return whether some node that the job may use could have it whole, with its counted resources."""
        allowed = self.eligibility.nodes(job)
        cores = self.platform.node_cores if allowed is None else np.where(allowed, self.platform.node_cores, 0)
        return self.resources.fits_one_node(job, cores)

    def grown(self, placement: Placement, cores: int, rooms: Ints | None = None) -> Placement | None:
        """Return ``placement`` with more cores, ``cores`` in all, on its own nodes first; None if too few are free.

        ``rooms``, shape (nodes,), are the most cores that may be added on each node.
        """
        own = placement.cores_by_node()
        missing = cores - placement.cores
        free = np.where(self.is_on, self.free if rooms is None else np.minimum(self.free, rooms), 0)
        others = [node for node in np.flatnonzero(free).tolist() if node not in own]
        for node in (*own, *others):
            if missing <= 0:
                break
            more = min(missing, int(free[node]))
            own[node] = own.get(node, 0) + more
            missing -= more
        return Placement.on(own) if missing <= 0 else None

    def open_rooms(self, job: Job, time: float | None, rooms: Ints | None, within: Ints | None) -> Ints | None:
        """Return ``rooms``, the most cores to be taken on each node, with none on nodes that are not eligible now."""
        cores = self.platform.node_cores
        allowed = self.eligibility.open_at(job, self.now if time is None else time)
        if job.exclusive:
            empty = (self.free if within is None else np.minimum(self.free, within)) == cores
            allowed = empty if allowed is None else allowed & empty
        if allowed is None:
            return rooms
        return np.where(allowed, cores if rooms is None else rooms, 0)

    # ------------------------------------------------------------------ the search: on nodes that are on, else with boots

    def _place_on_one(self, cores: int, order: npt.NDArray[np.float64] | None, capacity: Ints) -> Placement | None:
        for usable in (self.is_on, self.is_off):
            candidates = ((capacity >= cores) & usable).nonzero()[0]
            if len(candidates):
                best = candidates[0] if order is None else candidates[np.argmin(order[candidates])]
                return Placement(((int(best), int(best) + 1, cores),))
        return None

    def _place_wide(self, cores: int, order: npt.NDArray[np.float64] | None, capacity: Ints) -> Placement | None:
        """Take free cores node by node in the given order, nodes that are on before those that would have to boot."""
        spans: list[Span] = []
        for usable in (self.is_on, self.is_off):
            candidates = ((capacity >= 1) & usable).nonzero()[0]
            ranked = candidates if order is None else candidates[np.argsort(order[candidates], kind="stable")]
            counts = capacity[ranked]
            reached = counts.cumsum()
            count = int(reached.searchsorted(cores)) + 1  # nodes that it takes, the last one perhaps in part
            nodes, taken = ranked[:count].tolist(), counts[:count].tolist()
            if count <= len(ranked):
                taken[-1] -= reached.item(count - 1) - cores
                return Placement([*spans, *_runs(nodes, taken)])
            spans += _runs(nodes, taken)
            cores -= sum(taken)
        return None

    def _place_set(
        self, job: Job, wanted: list[int] | None, on_one: bool, order: Order, capacity: Ints, most: int
    ) -> Placement | None:
        """Place a job whose nodes are chosen as a set: by a rule, or under at most so many leaf switches (0: any number)."""
        search: Callable[[npt.NDArray[np.float64] | None, Ints], Placement | None]
        cores, tree = job.requested_cores, self.platform.switch_tree
        if wanted is not None:
            if not is_possible(job, wanted):
                return None
            search, total = partial(self._place_shaped, wanted), len(wanted)
            amounts, widest = (np.int64(1) * (capacity >= part) for part in (min(wanted), wanted[0]))
        elif on_one:
            search, total, most = partial(self._place_on_one, cores), 1, 0
            amounts = widest = np.int64(1) * (capacity >= cores)
        else:
            search, total = partial(self._place_wide, cores), cores
            amounts = widest = np.maximum(capacity, 0)
        for usable in (self.is_on, self.is_on | self.is_off):
            usable_amounts = np.where(usable, amounts, 0)
            if usable_amounts.sum() < total:
                continue
            sets = leaf_sets(tree, usable_amounts, np.where(usable, widest, 0), total, most) if most else [None]
            for leaves in sets:
                where = usable if leaves is None else usable & np.isin(tree.leaf_of_node, leaves)
                ranks = order(np.where(where, amounts, 0), total) if callable(order) else order
                placement = search(ranks, np.where(where, capacity, 0))
                if placement is not None:
                    return placement
        return None

    def _place_shaped(
        self, wanted: list[int], order: npt.NDArray[np.float64] | None, capacity: Ints
    ) -> Placement | None:
        enough = capacity >= min(wanted)
        on, off = (enough & self.is_on).nonzero()[0], (enough & self.is_off).nonzero()[0]
        if order is not None:
            on, off = (nodes[np.argsort(order[nodes], kind="stable")] for nodes in (on, off))
        ranked = np.concatenate((on, off))
        spans: list[Span] = []
        # Widest first: a node that is good enough for a wish would be for every later one, so none is wasted.
        for taken in dict.fromkeys(wanted):
            count = wanted.count(taken)
            fitting = ranked[capacity[ranked] >= taken][:count]
            if len(fitting) < count:
                return None
            spans += [(node, node + 1, taken) for node in fitting.tolist()]
            if taken != wanted[-1]:
                ranked = ranked[~np.isin(ranked, fitting)]
        return Placement(spans)


def _runs(nodes: list[int], taken: list[int]) -> list[Span]:
    """Return nodes and the cores taken on each, neighbours with equal numbers as one span."""
    spans: list[Span] = []
    first = stop = cores = 0
    for node, count in zip(nodes, taken, strict=True):
        if node != stop or count != cores:
            if cores:
                spans.append((first, stop, cores))
            first, cores = node, count
        stop = node + 1
    return [*spans, (first, stop, cores)] if cores else spans


class Free(Pool):
    """What should be free at some time: a pool from which jobs can be given cores, without anything happening.

    ``Free(platform)`` is the empty machine, all on; ``of`` is what a running machine has free now. A node in transition
    counts as usable once a job that holds it ends, or the transition does. What is free may fall below 0.
    """

    def __init__(self, platform: Platform, memory: NodeMemory | None = None, eligibility: Eligibility | None = None):
        nodes = platform.node_count
        is_on, is_off = np.ones(nodes, bool), np.zeros(nodes, bool)
        super().__init__(platform, memory or NodeMemory(platform), is_on, is_off, eligibility or Eligibility(platform))
        self.now = 0.0
        self.free = platform.node_cores.astype(np.int64)
        self.free_total = platform.core_count
        self.withheld: npt.NDArray[np.bool_] | None = None  #: Nodes that stay out of it; None: none do.

    @classmethod
    def of(cls, pool: Pool, states: NodeStates, empty: bool = False, withheld: bool = False) -> Free:
        """Copy what a machine has free now (or, ``empty``, with no job running), on nodes that are on or can be booted.

        Nodes that the power policy withholds stay out of it, unless it is made ``withheld``: as if none were.
        """
        one = cls(pool.platform, pool.memory.copy(empty), pool.eligibility)
        one.now, one.shapes = pool.now, pool.shapes
        one.resources = pool.resources.copy(empty) if pool.resources.asked else pool.resources
        one.withheld = states.withheld if states.withheld_count and not withheld else None
        if not empty:
            one.is_on = states.powered_on | states.powered_off if withheld else states.is_on | states.is_off
            one.free = np.where(one.is_on, pool.free, 0)
            one.free_total = int(one.free.sum())
        return one

    def copy(self) -> Free:
        """Copy it, to change one and not the other; which nodes can be used is shared until it is set anew."""
        other = copy(self)
        other.free, other.memory = self.free.copy(), self.memory.copy()
        if self.resources.asked:
            other.resources = self.resources.copy()
        return other

    def take(self, job: Job, placement: Placement, memory: float = 0.0) -> None:
        """Take cores for a job, its counted resources, and ``memory`` (MB) for each of its tasks."""
        if self.resources.asked:
            self.resources.take(self.resources.planned(job, placement))
        self._add(job, placement, memory, -1)

    def give(self, job: Job, placement: Placement, memory: float = 0.0) -> None:
        """Undo :meth:`take`."""
        if self.resources.asked:
            self.resources.give(self.resources.planned(job, placement))
        self._add(job, placement, memory, 1)

    def _add(self, job: Job, placement: Placement, memory: float, sign: int) -> None:
        for first, stop, cores in placement.spans:
            if memory:
                self.memory.used[first:stop] -= sign * memory * cores
            held = self.cores_held(job, first, stop, cores)
            self.free[first:stop] += sign * held
            self.free_total += sign * _total(held, stop - first)

    def release(self, running: Running) -> None:
        """Give what a running job holds, as if it had ended; its nodes can be used then."""
        placement = running.placement if self.withheld is None else running.placement.offered(self.withheld)
        for first, stop, _ in placement.spans:
            self.is_on[first:stop] = True
        if self.resources.asked:  # also on withheld nodes, where no cores are to be had
            self.resources.give(self.resources.planned(running.job, running.placement))
        self._add(running.job, placement, running.memory_mb, 1)

    def held_by(self, running: Running) -> int:
        """Return how many cores :meth:`release` gives: all of its nodes where a job has these for itself."""
        spans = running.placement.offered(self.withheld).spans
        return sum(
            _total(self.cores_held(running.job, first, stop, cores), stop - first) for first, stop, cores in spans
        )

    def leave(self, node: int, cores: int) -> None:
        """Take ``cores`` of a node, which no job holds, out of reach until it comes back."""
        self.free[node] -= cores
        self.free_total -= cores

    def come_back(self, node: int, cores: int) -> None:
        """Make a node usable whose transition ends: it is not withheld, and no job holds ``cores`` of it."""
        self.is_on[node] = True
        self.free[node] += cores
        self.free_total += cores

    def cores_held(self, job: Job, first: int, stop: int, cores: int) -> int | npt.NDArray[np.int32]:
        """Return cores of each of some nodes that no other job gets while this one has ``cores`` on them."""
        if self.eligibility.restricts and job.exclusive:
            return self.platform.node_cores[first:stop]
        return cores

    def fits(self, job: Job, placement: Placement, time: float | None = None) -> bool:
        """Return whether the job could have just these cores at ``time`` (s, by default now)."""
        allowed = self.eligibility.open_at(job, self.now if time is None else time)
        spans = [slice(first, stop) for first, stop, _ in placement.spans]
        is_open = allowed is None or all(bool(allowed[span].all()) for span in spans)
        return is_open and all(bool(self.is_on[span].all()) for span in spans) and self.has_free(job, placement)

    def has_free(self, job: Job, placement: Placement) -> bool:
        """Return whether the cores of a placement are free, and the counted resources that go with them."""
        if self.resources.asked and not all(map(self.resources.is_free, self.resources.planned(job, placement))):
            return False
        return all(
            bool((self.free[first:stop] >= self.cores_held(job, first, stop, cores)).all())
            for first, stop, cores in placement.spans
        )


def _total(held: int | npt.NDArray[np.int32], nodes: int) -> int:
    """Sum cores, of so many held on each of some nodes."""
    return held * nodes if isinstance(held, int) else int(held.sum())
