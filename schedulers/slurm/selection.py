"""Which nodes a job gets: best fit over runs of consecutive nodes, those of low weight first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from schedulers.slurm.asks import Ask
from schedulers.slurm.nodes import Free, NodeFacts, NodeSet, members, runs, set_of


@dataclass(slots=True)
class Choice:
    """Nodes for a job (rising), CPUs and memory (MB) on each."""

    nodes: tuple[int, ...]
    cpus: tuple[int, ...]
    memory: tuple[float, ...]
    whole: bool
    mask: NodeSet = 0

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
        self.min_nodes = ask.least_nodes
        self.most_nodes = ask.max_nodes or ask.min_nodes  # 0: any number
        self.per_task = ask.cpus_per_task
        self.per_node = ask.tasks_per_node * ask.cpus_per_task  # 0: any number
        self.uniform = self.whole or (ask.tasks_per_node > 0 and not self.memory_per_cpu) or (not ask.tasks)
        self.most = self.per_node or self.per_task  # CPUs on each node of a uniform job
        self.cpus = ask.cpus
        self.required = set_of(ask.required_nodes)
        if ask.spread:
            self.most_nodes = self.most_nodes or max(ask.tasks, 1)
        elif self.required and not ask.min_nodes:
            self.min_nodes = max(self.min_nodes, len(ask.required_nodes))

    def usable(self, free: Free, within: NodeSet) -> NodeSet:
        """Nodes of a set on which the job could have at least what it needs on one."""
        if self.whole:
            nodes = within & free.empty
            if self.per_node > 1:
                nodes &= free.facts.with_cpus(self.per_node)
        else:
            nodes = within & free.at_least(self.most if self.uniform else max(self.per_node, self.per_task))
        least = self.memory_per_node or self.memory_per_cpu * (self.per_node or self.per_task)
        if least:
            memory = free.facts.memory if self.whole else free.memory
            nodes = set_of([node for node in members(nodes) if memory[node] >= least])
        return nodes

    def capacity(self, free: Free) -> Callable[[int], int]:
        """CPUs that the job could have on each node that is usable."""
        facts, per_task, per_node, per_cpu = free.facts, self.per_task, self.per_node, self.memory_per_cpu
        if self.whole:
            return facts.cpus.__getitem__
        if self.uniform:
            return lambda node: self.most

        def on(node: int) -> int:
            cpus = free.cpus[node]
            if per_node:
                cpus = min(cpus, per_node)
            if per_cpu:
                cpus = min(cpus, int(free.memory[node] / per_cpu + 1e-9))
            return cpus - cpus % per_task

        return on


def choose(shape: Shape, free: Free, within: NodeSet) -> Choice | None:
    """Nodes of a set on which the job can start with what is free; None if it cannot."""
    usable = shape.usable(free, within)
    if shape.required & ~usable or usable.bit_count() < shape.min_nodes:
        return None
    capacity = shape.capacity(free)
    chosen = _fit(shape, usable, capacity, free.facts)
    if chosen is None and not shape.uniform:
        chosen = _without_small_nodes(shape, usable, capacity, free.facts)
    return None if chosen is None else _given(shape, chosen, free.facts)


def _without_small_nodes(
    shape: Shape, usable: NodeSet, capacity: Callable[[int], int], facts: NodeFacts
) -> dict[int, int] | None:
    """A job of few nodes may have been led to small ones: try again without those, leaving out ever larger ones."""
    if not shape.most_nodes:
        return None
    by_size: dict[int, NodeSet] = {}
    for node in members(usable & ~shape.required):
        by_size[capacity(node)] = by_size.get(capacity(node), 0) | 1 << node
    for size in sorted(by_size)[:-1]:
        usable &= ~by_size[size]
        if usable.bit_count() < shape.min_nodes:
            return None
        chosen = _fit(shape, usable, capacity, facts)
        if chosen is not None:
            return chosen
    return None


def _fit(
    shape: Shape, usable: NodeSet, capacity: Callable[[int], int], facts: NodeFacts
) -> dict[int, int] | None:
    """The nodes, and the CPUs on each that the job may have at most, in the order in which they are taken."""
    left = _Left(shape)
    if shape.ask.spread:
        for node in members(usable):
            left.take(node, capacity(node))
            if left.nodes <= 0:
                break
        return left.result()
    for node in members(shape.required):
        left.take(node, capacity(node))
    usable &= ~shape.required
    for tier in facts.tiers:
        open_runs = list(runs(usable & tier))
        while open_runs and not left.done:
            sizes = _sizes(shape, open_runs, capacity, facts)
            best = _best(open_runs, sizes, left)
            first, length = open_runs.pop(best)
            for node in range(first, first + length):
                if left.done:
                    break
                left.take(node, capacity(node))
        if left.done:
            break
    return left.result()


def _sizes(
    shape: Shape, some: Sequence[tuple[int, int]], capacity: Callable[[int], int], facts: NodeFacts
) -> list[int]:
    """CPUs of each run."""
    if shape.whole:
        before = facts.cpus_before
        return [before[first + length] - before[first] for first, length in some]
    if shape.uniform:
        return [length * shape.most for _, length in some]
    return [sum(map(capacity, range(first, first + length))) for first, length in some]


def _best(some: Sequence[tuple[int, int]], sizes: Sequence[int], left: _Left) -> int:
    """The smallest run that suffices, or if none does the biggest; the first of equals."""
    best, suffices = 0, False
    for index, (_, length) in enumerate(some):
        enough = length >= left.nodes_needed and sizes[index] >= left.cpus
        if enough and (not suffices or sizes[index] < sizes[best]):
            best, suffices = index, True
        elif not enough and not suffices and sizes[index] > sizes[best]:
            best = index
    return best


class _Left:
    """What a job still lacks while nodes are taken for it."""

    def __init__(self, shape: Shape):
        self._shape = shape
        self.nodes = max(shape.most_nodes, shape.min_nodes)  # as many as it would like
        self._spare = max(shape.most_nodes - shape.min_nodes, 0)  # of them, those that it can do without
        self._open = not shape.most_nodes  # any number will do
        self._least = shape.min_nodes
        self.cpus = shape.cpus
        self._taken: dict[int, int] = {}

    @property
    def nodes_needed(self) -> int:
        return self.nodes - self._spare

    @property
    def done(self) -> bool:
        at_most = not self._open and self.nodes <= 0
        return at_most or (self.nodes <= 0 and self.cpus <= 0)

    def take(self, node: int, capacity: int) -> None:
        if self._shape.whole or self._shape.uniform:
            cpus = capacity
        else:
            kept = max(self._least - 1, 0) * self._shape.per_task  # for the nodes that must follow
            cpus = min(capacity, max(self.cpus - kept, self._shape.per_task))
        if self._shape.ask.spread:
            cpus = capacity
        self._taken[node] = cpus
        self.nodes -= 1
        self._least -= 1
        self.cpus -= cpus

    def result(self) -> dict[int, int] | None:
        return self._taken if self.nodes_needed <= 0 and self.cpus <= 0 else None


def _given(shape: Shape, chosen: dict[int, int], facts: NodeFacts) -> Choice:
    """What the job gets on each of its nodes: tasks are dealt out one by one."""
    nodes = tuple(sorted(chosen))
    if shape.whole:
        cpus = tuple(facts.cpus[node] for node in nodes)
    elif shape.uniform:
        cpus = tuple(chosen[node] for node in nodes)
    else:
        cpus = _dealt(shape.cpus // shape.per_task, [chosen[node] // shape.per_task for node in nodes], shape.per_task)
    if shape.memory_per_node:
        memory = (shape.memory_per_node,) * len(nodes)
    else:
        memory = tuple(shape.memory_per_cpu * count for count in cpus)
    return Choice(nodes, cpus, memory, shape.whole)


def _dealt(tasks: int, most: Sequence[int], per_task: int) -> tuple[int, ...]:
    """CPUs on each node when the tasks are dealt out in turn, no node getting more than its most."""
    got = [0] * len(most)
    while tasks:
        before = tasks
        for node, limit in enumerate(most):
            if tasks and got[node] < limit:
                got[node] += 1
                tasks -= 1
        if tasks == before:
            break
    return tuple(count * per_task for count in got)
