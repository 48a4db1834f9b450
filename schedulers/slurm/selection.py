"""Which nodes a job gets: best fit over runs of consecutive nodes, those of low weight first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from schedulers.slurm.asks import Ask
from schedulers.slurm.nodes import Free, NodeSet, is_in, members, runs, set_of, set_where

if TYPE_CHECKING:
    from schedulers.slurm.nodes import Counts

Run = tuple[int, int]
"""First node, and how many follow each other."""


@dataclass(slots=True)
class Choice:
    """Nodes for a job (rising), CPUs and memory (MB) on each."""

    nodes: tuple[int, ...]
    cpus: tuple[int, ...]
    memory: tuple[float, ...]
    mask: NodeSet = 0
    cores: tuple[tuple[int, ...], ...] = ()  #: Which on each, where jobs of several tiers share them.

    def __post_init__(self) -> None:
        self.mask = set_of(self.nodes)


class Shape:
    """What a job asks of nodes, worked out once for all the tests of a pass.

    ``whole_nodes``: nodes are given out whole, as select/linear and exclusive jobs have it. ``memory``, MB on a node and for
    each CPU, is 0 where it does not count.
    """

    def __init__(self, ask: Ask, whole_nodes: bool, memory_per_node: float = 0.0, memory_per_cpu: float = 0.0):
        self.ask = ask
        self.whole = whole_nodes or ask.exclusive
        self.memory_per_node = memory_per_node
        self.memory_per_cpu = 0.0 if memory_per_node else memory_per_cpu
        self.required = set_of(ask.required_nodes)
        self.min_nodes = ask.least_nodes
        self.most_nodes = ask.most_nodes
        if ask.spread:
            self.most_nodes = self.most_nodes or max(ask.tasks, 1)
        elif self.required and not ask.min_nodes:
            self.min_nodes = len(ask.required_nodes)
        self.cpus = max(ask.cpus, self.min_nodes)
        self._most = max(self.most_nodes, self.min_nodes, len(ask.required_nodes))  # where it does not want any number
        self.per_task = ask.cpus_per_task
        self.per_node = ask.tasks_per_node * ask.cpus_per_task  # 0: any number
        #: CPUs on each node of a job that asks for nodes, not for a number of tasks; else 0.
        self.fixed = 0 if ask.tasks else self.per_node or self.per_task
        self.least = self.per_node or self.per_task  # CPUs that a node must have free
        self._least_mb = self.memory_per_node or self.memory_per_cpu * self.least

    def usable(self, free: Free, within: NodeSet) -> NodeSet:
        """Nodes of a set on which the job could have at least what it needs on one."""
        if self.whole:
            return within & free.empty & free.facts.at_least(self.least, self._least_mb)
        if self.ask.gpus_per_node:
            within &= free.with_gpus(self.ask.gpus_per_node)
        return within & free.at_least(self.least, self._least_mb)

    def may_fit(self, free: Free, within: NodeSet) -> bool:
        """Whether there are enough nodes, and enough CPUs on all of them; the more is free, the sooner."""
        usable = self.usable(free, within)
        if self.required & ~usable or usable.bit_count() < self.min_nodes:
            return False
        if self.fixed and not self.whole:
            return True
        if self.most_nodes and not self.whole:
            # All but one of its nodes may have all CPUs that a node has: the last, and so each, at least the rest.
            least = self.cpus - (self._most - 1) * free.facts.most_cpus
            if least > self.least:
                usable &= free.at_least(least, self._least_mb)
                if usable.bit_count() < -(-self.cpus // free.facts.most_cpus):
                    return False
        if self.whole and free.facts.cpus_of_each:
            return usable.bit_count() * free.facts.cpus_of_each >= self.cpus
        before, left = self.capacities(free)[1], self.cpus
        if before.item(-1) < left:
            return False
        for first, length in runs(usable):
            left -= before.item(first + length) - before.item(first)
            if left <= 0:
                return True
        return False

    def capacities(self, free: Free) -> tuple[Counts, Counts]:
        """CPUs that the job could have on each node that is usable; and on all nodes before each."""
        if self.whole:
            return free.facts.capacities
        return free.capacities(self.memory_per_cpu, 1 if self.fixed else self.per_task)


def choose(shape: Shape, free: Free, within: NodeSet) -> Choice | None:
    """Nodes of a set on which the job can start with what is free; None if it cannot."""
    if not shape.may_fit(free, within):
        return None
    usable = shape.usable(free, within)
    for nodes in _ever_larger(shape, usable, free):
        search = _Search(shape, free)
        if search.over(nodes):
            return _given(shape, search.taken, free)
    return None


def _ever_larger(shape: Shape, usable: NodeSet, free: Free) -> Iterator[NodeSet]:
    """The nodes; then, for a job that may have few, which small ones can lead astray, without the smallest, and so on."""
    yield usable
    if shape.whole or shape.fixed or not shape.most_nodes or shape.ask.spread:
        return
    cpus, _ = shape.capacities(free)
    others = usable & ~shape.required
    for size in np.unique(cpus[is_in(others, len(cpus))]).tolist()[:-1]:
        usable &= shape.required | set_where(cpus > size)
        yield usable


class _Search:
    """What a job still lacks while nodes are taken for it."""

    def __init__(self, shape: Shape, free: Free):
        self._shape = shape
        self._tiers = free.facts.tiers
        self._capacities, self._before = shape.capacities(free)
        self._nodes = max(shape.most_nodes, shape.min_nodes)  # as many as it would like
        self._most_cpus = free.facts.most_cpus
        self._spare = self._nodes - shape.min_nodes  # of them, those that it can do without
        self._least = shape.min_nodes  # those that have to follow
        self._cpus = shape.cpus
        self.taken: dict[int, int] = {}  #: The CPUs that it may have at most on each of its nodes.

    def over(self, usable: NodeSet) -> bool:
        """Take nodes of a set; whether they do."""
        if self._shape.ask.spread:
            self._least = min(self._nodes, usable.bit_count())
            self._take_some(members(usable), every=True)
        else:
            for node in members(self._shape.required):
                self._take(node)
            self._take_by_runs(usable & ~self._shape.required)
        return self._nodes - self._spare <= 0 and self._cpus <= 0

    @property
    def _is_done(self) -> bool:
        return self._nodes <= 0 and (self._cpus <= 0 or self._shape.most_nodes > 0)

    @property
    def _is_lost(self) -> bool:
        """Whether the nodes that are still wanted cannot have the CPUs that are, however wide they are."""
        return self._shape.most_nodes > 0 and self._cpus > max(self._nodes, 0) * self._most_cpus

    def _take_by_runs(self, usable: NodeSet) -> None:
        for tier in self._tiers:
            some = list(runs(usable & tier))
            while some and not self._is_done and not self._is_lost:
                first, length = some.pop(self._best(some) if len(some) > 1 else 0)
                alone = self._alone(first, length) if self._nodes <= 1 else None
                self._take_some(range(first, first + length) if alone is None else (alone,))
            if self._is_done or self._is_lost:
                return

    def _best(self, some: Sequence[Run]) -> int:
        """The smallest run that suffices, or if none does the biggest; the first of equals."""
        before, needed = self._before, self._nodes - self._spare
        best, best_size, suffices = 0, -1, False
        for index, (first, length) in enumerate(some):
            size = before.item(first + length) - before.item(first)
            if length >= needed and size >= self._cpus:
                if not suffices or size < best_size:
                    best, best_size, suffices = index, size, True
            elif not suffices and size > best_size:
                best, best_size = index, size
        return best

    def _alone(self, first: int, length: int) -> int | None:
        """The node of a run that suffices alone with the fewest CPUs to spare; None if none does."""
        cpus = self._capacities[first : first + length]
        enough = cpus >= self._cpus
        if not enough.any():
            return None
        return first + int(np.where(enough, cpus, np.iinfo(np.int64).max).argmin())

    def _take_some(self, nodes: Sequence[int] | Iterator[int], every: bool = False) -> None:
        for node in nodes:
            if self._nodes <= 0 if every else self._is_done:
                return
            self._take(node)

    def _take(self, node: int) -> None:
        cpus, shape = self._capacities.item(node), self._shape
        if not shape.whole:
            unit = shape.fixed or shape.per_task
            cpus = min(cpus, max(self._cpus - max(self._least - 1, 0) * unit, unit))
        self.taken[node] = cpus
        self._nodes -= 1
        self._least -= 1
        self._cpus -= cpus


def _given(shape: Shape, taken: dict[int, int], free: Free) -> Choice:
    """What the job gets on each of its nodes."""
    nodes = tuple(sorted(taken))
    if shape.whole:
        cpus = tuple(taken[node] for node in nodes)
    elif shape.fixed:
        cpus = (shape.fixed,) * len(nodes)
    else:
        most = [min(taken[node], shape.per_node or taken[node]) // shape.per_task for node in nodes]
        cpus = _dealt(shape.cpus // shape.per_task, most, shape.per_task)
    if shape.memory_per_node:
        return Choice(nodes, cpus, (shape.memory_per_node,) * len(nodes))
    return Choice(nodes, cpus, tuple(shape.memory_per_cpu * count for count in cpus))


def _dealt(tasks: int, most: Sequence[int], per_task: int) -> tuple[int, ...]:
    """CPUs on each node when the tasks are dealt out in turn, no node getting more than its most."""
    level, left, full = 0, tasks, sorted(most)
    for index, limit in enumerate(full):  # those that are full one after the other, the others all alike
        others = len(full) - index
        if (limit - level) * others > left:
            break
        left -= (limit - level) * others
        level = limit
    else:
        return tuple(limit * per_task for limit in most)
    rounds, more = divmod(left, others)
    level += rounds
    got = []
    for limit in most:
        extra = limit > level and more > 0
        more -= extra
        got.append((min(limit, level) + extra) * per_task)
    return tuple(got)
