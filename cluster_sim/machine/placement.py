"""Which cores a job gets: placements, and the search for free cores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import index
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex

import numpy as np

from cluster_sim.errors import InputError, PlacementError, counted

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.eligibility import Eligibility
    from cluster_sim.machine.intervals import IntervalSet
    from cluster_sim.machine.memory import NodeMemory
    from cluster_sim.platform.platform import Platform
    from cluster_sim.workload.jobs import Job


class FreeCores(Protocol):
    """What placements look at: the cores of the machine, or a copy to try out on it what comes later."""

    platform: Platform
    widest: int
    shapes: bool
    eligibility: Eligibility | None
    memory: NodeMemory
    free: npt.NDArray[Any]
    available: IntervalSet
    asleep: IntervalSet
    is_on: npt.NDArray[np.bool_]
    is_off: npt.NDArray[np.bool_]

    @property
    def free_total(self) -> int:
        """Return the free cores of all nodes that can be used."""
        ...

    @property
    def all_on(self) -> bool:
        """Return whether all nodes are on, and none is withheld."""
        ...

    @property
    def now(self) -> float:
        """Return the time, s."""
        ...


Span = tuple[int, int, int]
"""Nodes ``first`` … ``stop - 1`` by platform index, and the cores taken on each of them."""


_NEAR = 16
"""Nodes that are looked at one by one, before they are by the hundred."""


class Placement:
    """The cores that a job takes on each node. Within a node, idle cores are taken in processor order, lowest first.

    ``Placement.on({3: 8})`` is eight cores on node 3. Raises PlacementError for what are no whole numbers; whether the platform
    has such nodes, it is asked when the placement is decided on.
    """

    __slots__ = ("cores", "found_at", "spans")

    def __init__(self, spans: Iterable[Span]):
        self.found_at: object = None  #: The state of the machine in which it was found free, see ``Machine.version``.
        if type(spans) is tuple:
            self.spans: tuple[Span, ...] = spans
        else:
            try:
                several = iter(spans)
            except TypeError:
                raise _no_spans(spans) from None
            self.spans = tuple(several)  # what a generator raises is its own
        cores = 0
        try:
            for first, stop, taken in self.spans:
                if type(first) is not int or type(stop) is not int or type(taken) is not int:
                    # Whole numbers of numpy, in which products may not fit, or none.
                    self.spans = tuple((_whole(one), _whole(end), _whole(each)) for one, end, each in self.spans)
                    cores = sum((end - one) * each for one, end, each in self.spans)
                    break
                cores += (stop - first) * taken
        except (TypeError, ValueError):
            raise _no_spans(spans) from None
        self.cores = cores  #: Cores on all nodes together.

    @classmethod
    def on(cls, cores: Mapping[int, int]) -> Placement:
        """Make a placement from a mapping of node index to cores on that node; a Series of pandas is one, too."""
        try:
            spans = [((first := _whole(node)), first + 1, _whole(taken)) for node, taken in cores.items()]
        except (AttributeError, TypeError):
            expected = "a mapping from nodes, by their position in the platform, to cores, in whole numbers"
            raise PlacementError(f"Placement.on takes {expected}, not {cores!r}") from None
        return cls(spans)

    @classmethod
    def found(cls, spans: tuple[Span, ...], cores: int) -> Placement:
        """Make a placement of spans that a search has found, of so many cores together: they need no check."""
        placement = cls.__new__(cls)
        placement.found_at, placement.spans, placement.cores = None, spans, cores
        return placement

    @property
    def nodes(self) -> list[int]:
        """Return indices of the nodes, in the order in which they are filled."""
        return [node for first, stop, _ in self.spans for node in range(first, stop)]

    def covers(self, node: int) -> bool:
        """Return whether it has cores on a node."""
        for first, stop, _ in self.spans:  # noqa: SIM110 - asked of every running job when a node fails
            if first <= node < stop:
                return True
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Placement) and self.cores_by_node() == other.cores_by_node()

    def __hash__(self) -> int:
        return hash(frozenset(self.cores_by_node().items()))

    def cores_by_node(self) -> dict[int, int]:
        """Return cores on each node, by node index."""
        return {node: taken for first, stop, taken in self.spans for node in range(first, stop)}

    def beyond(self, other: Placement) -> Placement | None:
        """Return the cores that it has more than ``other`` on each node; None if there are none."""
        theirs = other.cores_by_node()
        more = {node: cores - theirs.get(node, 0) for node, cores in self.cores_by_node().items()}
        more = {node: cores for node, cores in more.items() if cores > 0}
        return Placement.on(more) if more else None

    def shrunk(self, cores: int) -> Placement:
        """Return it with only so many cores: it gives up the last nodes of the platform first."""
        own = self.cores_by_node()
        spare = self.cores - cores
        for node in sorted(own, reverse=True):
            less = min(spare, own[node])
            own[node] -= less
            spare -= less
        return Placement.on({node: count for node, count in own.items() if count})

    def __repr__(self) -> str:
        parts = (
            f"node {first}: {taken}" if stop == first + 1 else f"nodes {first}-{stop - 1}: {taken} each"
            for first, stop, taken in self.spans
        )
        return f"<Placement {', '.join(parts)}>"


def _whole(number: SupportsIndex) -> int:
    """Return a number of any type as Python's own; raise TypeError for what is no whole number, such as a truth."""
    if isinstance(number, bool):
        raise TypeError
    return int(index(number))


def _no_spans(found: object) -> PlacementError:
    expected = "(first node, node after the last, cores on each of them) in whole numbers"
    return PlacementError(f"a Placement is made of spans, {expected}, not of {found!r}")


def shape(job: Job) -> list[int] | None:
    """Return cores per node that the job insists on, widest first; None when the width rule decides.

    ``nodes`` spreads the tasks as evenly as it goes, ``ntasks_per_node`` being the most that a node may get;
    ``ntasks_per_node`` alone fills nodes to that many tasks.
    """
    if not job.is_shaped:
        return None
    nodes, per_node, cores = job.nodes, job.ntasks_per_node, job.requested_cores
    if nodes:
        each, left = divmod(cores, nodes)
        return [each + 1] * left + ([each] * (nodes - left) if each else [])
    full, left = divmod(cores, per_node)
    return [per_node] * full + ([left] if left else [])


def _is_possible(job: Job, wanted: list[int]) -> bool:
    """Return whether its tasks, spread over its nodes, leave none of these empty and none with more than it may get."""
    return not job.nodes or (len(wanted) == job.nodes and wanted[0] <= (job.ntasks_per_node or wanted[0]))


def why_impossible(
    pool: FreeCores, job: Job, memory: bool = False, gpus: bool = False, spreads_tasks: bool = False
) -> str:
    """Say why the job could not be placed even on the empty machine (memory and GPUs if they count); empty: it could.

    Where the scheduler ``spreads_tasks`` as it will, its nodes need not be wide enough for even parts.
    """
    platform, cores = pool.platform, job.requested_cores
    if cores > platform.core_count:
        return f"it asks for {cores} cores, the platform has {platform.core_count}"
    if job.gpus and not gpus:
        return f"it asks for {counted(job.gpus, 'GPU')}, which only the scheduler slurm gives"
    by_memory = memory and job.memory > 0.0
    wanted = shape(job)
    eligibility = pool.eligibility
    never = eligibility.why_never(job, pool.now) if eligibility is not None else ""
    allowed = eligibility.nodes(job) if eligibility is not None else None
    if never or (wanted is None and not by_memory and allowed is None):
        return never
    if wanted is not None and not _is_possible(job, wanted):
        most = f", at most {job.ntasks_per_node} on each" if job.ntasks_per_node else ""
        return f"{cores} tasks cannot be spread over {job.nodes} nodes{most}"
    if spreads_tasks:
        wanted = None
    capacity = platform.node_cores if allowed is None else np.where(allowed, platform.node_cores, 0)
    where = eligibility.described(job) if eligibility is not None else ""
    if capacity.sum() < cores:
        return f"it asks for {cores} cores on nodes{where}, which have {capacity.sum()}"
    if by_memory:
        capacity = np.minimum(capacity, pool.memory.room(job.memory, if_empty=True))
    if wanted is None and cores > (pool.widest if eligibility is None else eligibility.widest(job)):
        enough = capacity.sum() >= cores
        return "" if enough else f"no set of nodes{where} has memory for {cores} tasks of {job.memory:g} MB"
    wishes = wanted or [cores]
    # Widest wish against widest node, and so on: if that fails, no other matching works.
    widest = np.sort(capacity)[::-1][: len(wishes)]
    if len(widest) < len(wishes) or (widest < wishes).any():
        what = f"with {job.memory:g} MB for each task" if by_memory else "that wide"
        sizes = f"{counted(len(wishes), 'node')} of {counted(wishes[0], 'core')}"
        return f"it asks for {sizes}{where}, the platform has too few {what}"
    return ""


def place(
    pool: FreeCores,
    job: Job,
    order: npt.NDArray[np.float64] | None = None,
    memory: bool = False,
    within: npt.NDArray[np.integer] | None = None,
    time: float | None = None,
) -> Placement | None:
    """Return a placement of the job on cores that are free now, or None.

    A job that fits the widest node goes on one node; a wider one takes free cores node by node, partly free nodes
    included; ``nodes`` and ``ntasks_per_node`` override. ``order`` ranks the nodes (shape (nodes,), least first, ties
    and None in platform order). Nodes that are on come before nodes that would have to be booted.
    With ``memory``, a node must also have room for its tasks' memory. ``within``, shape (nodes,), are the most cores that
    may be taken on each node: the plan of a scheduler that has promised the others. Only nodes that are eligible for the
    job at ``time`` (s, by default now) are taken, and only empty ones if it wants them for itself.
    """
    if order is not None and getattr(order, "shape", None) != (pool.platform.node_count,):
        found = getattr(order, "shape", None)
        raise InputError(
            "node order",
            f"a number for each node, an array of shape ({pool.platform.node_count},)",
            order if found is None else f"one of shape {found}",
        )
    cores = job.requested_cores
    if cores > pool.free_total:
        return None
    rooms: npt.NDArray[np.integer] | None = pool.memory.room(job.memory) if memory and job.memory > 0.0 else None
    if within is not None:
        rooms = within if rooms is None else np.minimum(rooms, within)
    widest = pool.widest
    if pool.eligibility is not None:
        widest = pool.eligibility.widest(job)
        rooms = open_rooms(pool, job, time, rooms, within)
    wanted = shape(job) if pool.shapes else None
    if wanted is not None:
        return _place_shaped(pool, wanted, order, rooms) if _is_possible(job, wanted) else None
    if cores <= widest:
        if order is None and rooms is None:
            for nodes in (pool.available, pool.asleep):
                node = _first_with(pool, nodes, cores)
                if node is not None:
                    return Placement.found(((node, node + 1, cores),), cores)
            return None
        for candidates in _candidates(pool, _capacity(pool, rooms), cores):
            if len(candidates):
                best = candidates[0] if order is None else candidates[np.argmin(order[candidates])]
                return Placement(((int(best), int(best) + 1, cores),))
        return None
    if order is None and rooms is None:
        return _place_wide(pool, cores)
    return _place_wide_in_order(pool, cores, order, rooms)


def grown(
    pool: FreeCores, placement: Placement, cores: int, rooms: npt.NDArray[np.integer] | None = None
) -> Placement | None:
    """Return ``placement`` with more cores, ``cores`` in all, on its own nodes first; None if too few are free.

    ``rooms``, shape (nodes,), are the most cores that may be added on each node.
    """
    own = placement.cores_by_node()
    missing = cores - placement.cores
    free = np.where(pool.is_on, _capacity(pool, rooms), 0)
    others = [node for node in np.flatnonzero(free).tolist() if node not in own]
    for node in (*own, *others):
        if missing <= 0:
            break
        more = min(missing, int(free[node]))
        own[node] = own.get(node, 0) + more
        missing -= more
    return Placement.on(own) if missing <= 0 else None


def open_rooms(
    pool: FreeCores,
    job: Job,
    time: float | None,
    rooms: npt.NDArray[np.integer] | None,
    within: npt.NDArray[np.integer] | None,
) -> npt.NDArray[np.integer] | None:
    """Return ``rooms``, the most cores to be taken on each node, with none on nodes that are not eligible now."""
    assert pool.eligibility is not None
    cores = pool.platform.node_cores
    allowed = pool.eligibility.open_at(job, pool.now if time is None else time)
    if job.exclusive:
        empty = (pool.free if within is None else np.minimum(pool.free, within)) == cores
        allowed = empty if allowed is None else allowed & empty
    if allowed is None:
        return rooms
    return np.where(allowed, cores if rooms is None else rooms, 0)


def _first_with(pool: FreeCores, nodes: IntervalSet, cores: int) -> int | None:
    """Return the first of ``nodes`` (a set of usable nodes with free cores) that has that many free cores."""
    free = pool.free
    if not nodes:
        return None
    start = nodes.first()
    if free.item(start) >= cores:
        return start
    # While all nodes are on, those between the runs have no free core, and can be compared along with the others.
    runs = ((start, len(free)),) if pool.all_on else nodes
    for first, stop in runs:
        # The answer is usually near, where Python's numbers are compared faster than numpy is called.
        for node, left in enumerate(free[first : min(first + _NEAR, stop)].tolist(), first):
            if left >= cores:
                return node
        # Then in growing windows: comparing a whole large machine is not free.
        first, window = first + _NEAR, 256
        while first < stop:
            fits = free[first : min(first + window, stop)] >= cores
            best = int(fits.argmax())
            if fits[best]:
                return first + best
            first += window
            window *= 4
    return None


def _capacity(pool: FreeCores, rooms: npt.NDArray[np.integer] | None) -> npt.NDArray[np.integer]:
    """Return the most cores that can be taken on each node."""
    return pool.free if rooms is None or rooms is pool.free else np.minimum(pool.free, rooms)


def _candidates(pool: FreeCores, capacity: npt.NDArray[np.integer], cores: int) -> Iterable[npt.NDArray[np.int64]]:
    """Yield the nodes of that much capacity: those that are on, then those that would have to be booted."""
    for usable in (pool.is_on, pool.is_off):
        yield ((capacity >= cores) & usable).nonzero()[0]


def _place_wide(pool: FreeCores, cores: int) -> Placement | None:
    """Take free cores node by node in platform order, in as few spans as there are runs of equal nodes."""
    free, one_each, missing = pool.free, pool.widest == 1, cores
    spans: list[Span] = []
    for nodes in (pool.available, pool.asleep):
        bounds = iter(nodes.bounds)
        for first, stop in zip(bounds, bounds, strict=True):
            if one_each:
                end = stop if stop - first < missing else first + missing
                spans.append((first, end, 1))
                missing -= end - first
            else:
                while missing and first < stop:
                    taken = min(free.item(first), missing)
                    end = first + 1
                    if taken < missing:
                        end = _end_of_run(free, first, min(stop, first + missing // taken))
                    spans.append((first, end, taken))
                    missing -= (end - first) * taken
                    first = end
            if not missing:
                return Placement.found(tuple(spans), cores)
    return None


def _end_of_run(free: npt.NDArray[np.int32], first: int, stop: int) -> int:
    """Return up to where before ``stop`` nodes have as many free cores as the first; runs are short, or very long."""
    if stop == first + 1 or free.item(first + 1) != free.item(first):
        return first + 1
    length = (free[first:stop] == free.item(first)).tobytes().find(b"\0")
    return stop if length < 0 else first + length


def _place_wide_in_order(
    pool: FreeCores, cores: int, order: npt.NDArray[np.float64] | None, rooms: npt.NDArray[np.integer] | None
) -> Placement | None:
    """Free cores node by node in the given order, nodes that are on before those that would have to be booted."""
    capacity = _capacity(pool, rooms)
    spans: list[Span] = []
    for candidates in _candidates(pool, capacity, 1):
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


def _place_shaped(
    pool: FreeCores,
    wanted: list[int],
    order: npt.NDArray[np.float64] | None,
    rooms: npt.NDArray[np.integer] | None,
) -> Placement | None:
    capacity = _capacity(pool, rooms)
    ordered = [
        candidates if order is None else candidates[np.argsort(order[candidates], kind="stable")]
        for candidates in _candidates(pool, capacity, min(wanted))
    ]
    ranked = np.concatenate(ordered)
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
