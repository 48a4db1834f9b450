"""Placements: which cores a job gets, and how many on each node it insists on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, SupportsIndex

from cluster_sim.errors import PlacementError
from cluster_sim.read_only import closed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from cluster_sim.machine.units.unit_hold import UnitHold
    from cluster_sim.workload.jobs import Job


Span = tuple[int, int, int]
"""Nodes ``first`` … ``stop - 1`` by platform index, and the cores taken on each of them."""


class Placement:
    """The cores that a job takes on each node. Within a node, idle cores are taken in processor order, lowest first.

    ``Placement.on({3: 8})`` is eight cores on node 3. Raises PlacementError for what are no whole numbers; whether the platform
    has such nodes, it is asked when the placement is decided on.
    """

    __slots__ = ("cores", "found_at", "spans", "units")

    def __init__(self, spans: Iterable[Span]):
        self.found_at: object = None  #: The state of the machine in which it was found free, see ``Machine.version``.
        #: Which GPUs the job is to have, where that matters and has been decided.
        self.units: Sequence[UnitHold] | None = None
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
        self.__class__ = _CLOSED

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
        placement.found_at, placement.units, placement.spans, placement.cores = None, None, spans, cores
        placement.__class__ = _CLOSED
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

    def offered(self, withheld: npt.NDArray[np.bool_] | None) -> Placement:
        """Return what of it is on nodes that are not withheld (None: none is)."""
        # Among the few nodes of a job, bytes are found faster than numpy says whether there are any.
        if withheld is None or not any(b"\1" in withheld[first:stop].tobytes() for first, stop, _ in self.spans):
            return self
        return Placement.on({node: cores for node, cores in self.cores_by_node().items() if not withheld[node]})

    def __repr__(self) -> str:
        parts = (
            f"node {first}: {taken}" if stop == first + 1 else f"nodes {first}-{stop - 1}: {taken} each"
            for first, stop, taken in self.spans
        )
        return f"<Placement {', '.join(parts)}>"


_CLOSED = closed(Placement)


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


def is_possible(job: Job, wanted: list[int]) -> bool:
    """Return whether its tasks, spread over its nodes, leave none of these empty and none with more than it may get."""
    return not job.nodes or (len(wanted) == job.nodes and wanted[0] <= (job.ntasks_per_node or wanted[0]))
