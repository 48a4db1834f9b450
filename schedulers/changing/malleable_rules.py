"""Rules of malleable scheduling: how many cores a job starts on, who gives cores up for one that waits, and who gets more.

The strategies of Posner, Hupfeld and Finnerty (PECS 2023). ``usual`` is the number of cores that a job requested, between
its ``least`` and its ``most``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

from cluster_sim.machine.running import Running

if TYPE_CHECKING:
    from cluster_sim.workload.jobs import Job


class CoreBounds(NamedTuple):
    """Bounds on the cores of a job."""

    least: int
    usual: int
    most: int

    @classmethod
    def of(cls, job: Job) -> CoreBounds:
        return cls(job.min_cores, job.requested_cores, job.max_cores)


@dataclass(slots=True, eq=False)
class ResizableJob:
    """A running job whose cores can be changed in a pass, and what has been decided of them in it."""

    running: Running
    bounds: CoreBounds
    own: int  #: How many cores it is to have, as decided so far.
    _cores: Counter[int] = field(default_factory=Counter)  # by node; empty as long as nothing is decided

    @property
    def is_changed(self) -> bool:
        """Return whether anything has been decided."""
        return bool(self._cores)

    @property
    def cores(self) -> Counter[int]:
        """Return the cores that it is to have on each node."""
        if not self._cores:
            self._cores = Counter(self.running.placement.cores_by_node())
        return self._cores

    def give(self, count: int) -> list[int]:
        """Take that many cores from it, those of its last nodes; the node of each."""
        nodes = sorted(self.cores.elements(), reverse=True)[:count]
        self.cores.subtract(nodes)
        self._cores = +self._cores
        self.own -= len(nodes)
        return nodes

    def take(self, nodes: Sequence[int]) -> None:
        """Give it a core on each of these nodes."""
        self.cores.update(nodes)
        self.own += len(nodes)


Shares = list[tuple[ResizableJob, int]]
"""Jobs with the cores that they give up, or get."""


class Sizes(Protocol):
    """Rule of how large jobs are."""

    def start(self, bounds: CoreBounds, free: int) -> int:
        """Return on how many of the free cores a job starts; 0: on none."""
        ...

    def room(self, bounds: CoreBounds, elastic: Sequence[ResizableJob]) -> Shares:
        """Return what running jobs give up for a job that waits; nothing if that is not enough."""
        ...

    def hand_out(self, elastic: Sequence[ResizableJob], free: int) -> Shares:
        """Return what running jobs get of the cores that are free."""
        ...


def _above(
    elastic: Sequence[ResizableJob], floor: Callable[[CoreBounds], int], largest: bool = False
) -> list[ResizableJob]:
    """Return the jobs by what they have above a number, the smallest (or largest) first; ties in their order."""
    return sorted(elastic, key=lambda job: (job.own - floor(job.bounds)) * (-1 if largest else 1))


def _collect(jobs: Iterable[ResizableJob], floor: Callable[[CoreBounds], int], need: int) -> Shares:
    """Take ``need`` cores, from each of the jobs in turn what it has above the floor; nothing if that is not enough."""
    shares: Shares = []
    for job in jobs:
        share = min(need, job.own - floor(job.bounds))
        if share > 0:
            shares.append((job, share))
            need -= share
            if not need:
                return shares
    return []


def _fill(
    jobs: Iterable[ResizableJob], ceiling: Callable[[CoreBounds], int], free: int, got: Counter[ResizableJob]
) -> int:
    """Bring each of the jobs in turn up to the ceiling; what is left."""
    for job in jobs:
        share = min(free, ceiling(job.bounds) - job.own - got[job])
        if share > 0:
            got[job] += share
            free -= share
    return free


def _least(bounds: CoreBounds) -> int:
    return bounds.least


def _usual(bounds: CoreBounds) -> int:
    return bounds.usual


def _most(bounds: CoreBounds) -> int:
    return bounds.most


class Least:
    """Jobs start on their least number; those that are farthest above it give up first, those nearest to it get first."""

    def start(self, bounds: CoreBounds, free: int) -> int:
        return bounds.least if bounds.least <= free else 0

    def room(self, bounds: CoreBounds, elastic: Sequence[ResizableJob]) -> Shares:
        """Take the least that the job needs, from jobs by what they have above theirs."""
        return _collect(_above(elastic, _least, largest=True), _least, bounds.least)

    def hand_out(self, elastic: Sequence[ResizableJob], free: int) -> Shares:
        """Bring each job up to its most."""
        got: Counter[ResizableJob] = Counter()
        _fill(_above(elastic, _least), _most, free, got)
        return list(got.items())


class Usual:
    """Jobs start on what they requested, or on what is free; cores above what was requested are given up before others."""

    def start(self, bounds: CoreBounds, free: int) -> int:
        """Return what was requested, or less, down to the least."""
        return min(bounds.usual, free) if bounds.least <= free else 0

    def room(self, bounds: CoreBounds, elastic: Sequence[ResizableJob]) -> Shares:
        """Take cores above what was requested: for the job's request, or for its least; else its least from all."""
        jobs = _above(elastic, _usual, largest=True)
        for need, floor in ((bounds.usual, _usual), (bounds.least, _usual), (bounds.least, _least)):
            if shares := _collect(jobs, floor, need):
                return shares
        return []

    def hand_out(self, elastic: Sequence[ResizableJob], free: int) -> Shares:
        """Bring everybody up to what was requested, then up to the most."""
        first: Counter[ResizableJob] = Counter()
        free = _fill(_above(elastic, _usual), _usual, free, first)
        both = first.copy()
        _fill(sorted(elastic, key=lambda job: job.own + first[job] - job.bounds.usual), _most, free, both)
        return [*first.items(), *(both - first).items()]


class Average:
    """Jobs are kept equally far between their least and their most numbers, core by core.

    The published program counts what it takes from a job, or gives to it, with the wrong sign (``slips``): it takes from
    one job all it can before it turns to the next, and gives all to the job that was emptiest, beyond its most in vain.
    """

    def __init__(self, slips: bool):
        self._sign = -1 if slips else 1
        self._slips = slips

    def start(self, bounds: CoreBounds, free: int) -> int:
        return bounds.least if bounds.least <= free else 0

    def room(self, bounds: CoreBounds, elastic: Sequence[ResizableJob]) -> Shares:
        """Take the least that the job needs, a core at a time from the job that is farthest between its bounds."""
        taken: Counter[ResizableJob] = Counter()
        if sum(job.own - job.bounds.least for job in elastic) < bounds.least:
            return []
        for _ in range(bounds.least):
            givers = [job for job in elastic if job.own - taken[job] > job.bounds.least]
            taken[max(givers, key=lambda job: self._place(job, -taken[job]))] += 1
        return list(taken.items())

    def hand_out(self, elastic: Sequence[ResizableJob], free: int) -> Shares:
        """Give a core at a time to the job that is least far between its bounds."""
        got: Counter[ResizableJob] = Counter()
        takers = [job for job in elastic if job.bounds.most > job.bounds.least]
        while free and takers:
            job = min(takers, key=lambda job: self._place(job, got[job]))
            if job.own + (0 if self._slips else got[job]) >= job.bounds.most:
                break  # of those that have no more, or of all, this one is the least far
            got[job] += 1
            free -= 1
        return [(job, min(got[job], job.bounds.most - job.own)) for job in takers if got[job]]

    def _place(self, job: ResizableJob, change: int) -> float:
        """Return how far between its bounds a job would be with so many more cores, 0 to 1."""
        least, _, most = job.bounds
        return (job.own + self._sign * change - least) / (most - least)


# ---------------------------------------------------------------------- promises


class Agreement:
    """Cores that running jobs give up are promised to the jobs for which they do; each waits for its own.

    The numbers of cores that were promised are kept by the job's index; promised cores as (node, job), in the order in
    which they were promised.
    """

    def __init__(self) -> None:
        self.needs: dict[int, int] = {}
        self.promised: list[tuple[int, int]] = []

    def promise(self, job: Job, nodes: Sequence[int]) -> None:
        """Promise a job a core on each of these nodes, when they are free."""
        self.needs[job.index] = len(nodes)
        self.promised += [(node, job.index) for node in nodes]

    def withdraw(self, index: int) -> None:
        """Forget the promise of a job that waits no longer."""
        del self.needs[index]
        self.promised = [entry for entry in self.promised if entry[1] != index]

    def cores(self) -> Counter[int]:
        """Return how many cores of each node are promised."""
        return Counter(node for node, _ in self.promised)

    def ready(self, jobs: Sequence[Job], free: list[int]) -> Iterator[tuple[Job, list[int]]]:
        """Yield the jobs whose promises can be kept with what is free, and the node of each core that they get."""
        for job in jobs:
            if job.index in self.needs:
                nodes = self._nodes(job.index, self.needs[job.index], free)
                if nodes:
                    for node in nodes:
                        free[node] -= 1
                    yield job, nodes

    def _nodes(self, index: int, need: int, free: list[int]) -> list[int]:
        nodes = [node for node, job in self.promised if job == index]
        if any(free[node] < count for node, count in Counter(nodes).items()):
            return []
        self.withdraw(index)
        return nodes

    def _free(self, free: list[int]) -> list[int]:
        """Return the promised cores that are free, as nodes in their order."""
        nodes: list[int] = []
        for node, count in sorted(self.cores().items()):
            nodes += [node] * min(count, free[node])
        return nodes

    def _strike(self, nodes: Iterable[int]) -> None:
        """Remove a promise of a core on each of these nodes."""
        struck = Counter(nodes)
        kept: list[tuple[int, int]] = []
        for entry in self.promised:
            if struck[entry[0]]:
                struck[entry[0]] -= 1
            else:
                kept.append(entry)
        self.promised = kept


class Steal(Agreement):
    """A job takes promised cores that are free, whomever they are promised to, and leaves its own in exchange."""

    def withdraw(self, index: int) -> None:
        """Forget the promise of a job that waits no longer: remove as many promises as it had, the last ones."""
        need = self.needs.pop(index)
        self.promised = self.promised[: len(self.promised) - need]

    def _nodes(self, index: int, need: int, free: list[int]) -> list[int]:
        nodes = self._free(free)[:need]
        if len(nodes) < need:
            return []
        self._strike(nodes)
        del self.needs[index]
        return nodes


class CommonPool(Steal):
    """A job takes any cores that are free, promised ones first; for each other the last promise made is struck out."""

    def _nodes(self, index: int, need: int, free: list[int]) -> list[int]:
        if sum(free) < need:
            return []
        nodes = self._free(free)[:need]
        self._strike(nodes)
        if others := need - len(nodes):
            self.promised = self.promised[:-others]
            left = Counter(dict(enumerate(free)))
            left.subtract(nodes)
            nodes += sorted(left.elements())[:others]
        del self.needs[index]
        return nodes
