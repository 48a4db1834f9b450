"""The nodes as Slurm sees them: sets of nodes as the bits of a whole number, what is free on them, who holds it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from cluster_sim.platform.switches import SwitchTree
from schedulers.slurm.selection.node_holder import NodeHolder, RunningByEnd
from schedulers.slurm.selection.node_sets import Counts, NodeSet, edges, set_of, set_where


class Capacities:
    """CPUs that a job could have on each node, :attr:`of`, shape (nodes,)."""

    def __init__(self, of: Counts):
        self.of = of
        self._before: Counts | None = None
        self._larger: dict[int, NodeSet | None] | None = None

    @property
    def before(self) -> Counts:
        """Return the CPUs of all nodes before each, and last of all, shape (nodes + 1,)."""
        if self._before is None:
            self._before = np.zeros(len(self.of) + 1, np.int64)
            np.cumsum(self.of, out=self._before[1:])
        return self._before

    def total(self, nodes: NodeSet) -> int:
        """Return the CPUs of all nodes of a set."""
        firsts, ends = edges(nodes)
        before = self.before
        return int((before[ends] - before[firsts]).sum())

    def ever_larger(self) -> Iterator[NodeSet]:
        """Return for each number of CPUs that there is, rising, the nodes that have more."""
        if self._larger is None:
            self._larger = dict.fromkeys(np.bincount(self.of).nonzero()[0].tolist())
        for size, nodes in self._larger.items():
            if nodes is None:
                nodes = self._larger[size] = set_where(self.of > size)
            yield nodes


class NodeFacts:
    """Fixed facts about the nodes: CPUs, memory (MB; inf where unknown), weights, features, GPUs of one type on each.

    ``threads`` are how many CPUs of each make a core; empty: 1. A core is never shared, so jobs hold all threads of theirs.
    ``tree`` are the switches by which nodes are chosen, if they are; with ``spreads`` as on a dragonfly.
    """

    def __init__(
        self,
        cpus: Sequence[int],
        memory: Sequence[float] = (),
        weights: Sequence[int] = (),
        features: Sequence[frozenset[str]] = (),
        gpus: Sequence[tuple[str, int]] = (),
        threads: Sequence[int] = (),
        tree: SwitchTree | None = None,
        spreads: bool = False,
    ):
        self.count = len(cpus)
        self.tree, self.spreads = tree, spreads
        self.threads = np.array(threads, np.int64) if max(threads, default=1) > 1 else None
        self.cpus = np.array(cpus, np.int64)
        self.memory = np.array(memory if len(memory) else [math.inf] * self.count, np.float64)
        self.capacities = Capacities(self.cpus)
        alike = self.count and (self.cpus == self.cpus[0]).all()
        self.cpus_of_each = self.cpus.item(0) if alike else 0  #: CPUs of every node; 0: they differ.
        self.most_cpus = int(self.cpus.max(initial=1))  #: CPUs of the widest node.
        self.least_cpus = self.cpus.min(initial=self.most_cpus).item()  #: CPUs of the narrowest node.
        self.all: NodeSet = (1 << self.count) - 1
        self._at_least: dict[tuple[int, float], NodeSet] = {}
        by_weight: dict[int, NodeSet] = {}
        for node, weight in enumerate(weights):
            by_weight[weight] = by_weight.get(weight, 0) | 1 << node
        #: Sets of nodes of one weight, low weights first.
        self.tiers = [by_weight[weight] for weight in sorted(by_weight)] or [self.all]
        self._features = list(features)
        self.gpus = np.array([count for _, count in gpus], np.int64) if any(count for _, count in gpus) else None
        self._gpu_types = [kind for kind, _ in gpus]

    def at_least(self, cpus: int, mb: float) -> NodeSet:
        """Return the nodes that have so many CPUs, and so much memory."""
        if (cpus, mb) not in self._at_least:
            self._at_least[cpus, mb] = set_where((self.cpus >= cpus) & (self.memory >= mb))
        return self._at_least[cpus, mb]

    def in_whole_cores(self, nodes: Sequence[int], cpus: Sequence[int]) -> tuple[int, ...]:
        """Return what a job holds on its nodes that needs so many CPUs there."""
        if self.threads is None:
            return tuple(cpus)
        threads = self.threads[list(nodes)]
        return tuple((-(-np.array(cpus, np.int64) // threads) * threads).tolist())

    def with_gpus(self, count: int, kind: str) -> NodeSet:
        """Return the nodes that have so many GPUs, of a type if it is named."""
        if not count:
            return self.all
        if self.gpus is None:
            return 0
        return set_of([n for n in np.flatnonzero(self.gpus >= count).tolist() if kind in ("", self._gpu_types[n])])

    def with_features(self, expression: str) -> NodeSet:
        """Return the nodes that have the features of ``a&b`` (all) or ``a|b`` (one of them)."""
        if not expression:
            return self.all
        choices = [frozenset(choice.split("&")) for choice in expression.split("|")]
        return set_of([n for n, has in enumerate(self._features) if any(choice <= has for choice in choices)])


class FreeCpus:
    """Free CPUs, memory and GPUs of each node. Taking and releasing change it; a copy can be tried out."""

    def __init__(self, facts: NodeFacts):
        self.facts = facts
        self.cpus = np.array(facts.cpus)
        self.memory = np.array(facts.memory)
        self._gpus = None if facts.gpus is None else facts.gpus.copy()
        self._empty: NodeSet | None = facts.all
        self._jobs = np.zeros(facts.count, np.int64)
        self._masks: dict[tuple[float, int], NodeSet] = {}
        self._capacities: dict[tuple[float, int, int], Capacities] = {}

    @property
    def empty(self) -> NodeSet:
        """Return the nodes with no job, and no guest."""
        if self._empty is None:
            self._empty = set_where(self._jobs == 0)
        return self._empty

    @empty.setter
    def empty(self, nodes: NodeSet) -> None:
        self._empty = nodes

    def copy(self) -> FreeCpus:
        """Return a copy with the same free resources."""
        other = FreeCpus.__new__(FreeCpus)
        other.facts, other._empty = self.facts, self._empty
        other._masks, other._capacities = {}, {}
        other.cpus, other.memory, other._jobs = self.cpus.copy(), self.memory.copy(), self._jobs.copy()
        other._gpus = None if self._gpus is None else self._gpus.copy()
        return other

    def after(self, ends: RunningByEnd, first: int, last: int) -> FreeCpus:
        """Return a copy to which jobs ``first`` to ``last`` of the running ones have given back what they hold.

        Job ``last`` is not among them.
        """
        other = self.copy()
        nodes, cpus, memory = ends.given_back(first, last)
        np.add.at(other.cpus, nodes, cpus)
        np.add.at(other.memory, nodes, memory)
        np.subtract.at(other._jobs, nodes, 1)
        if other._gpus is not None:
            for held in ends.jobs[first:last]:
                other._gpus[held.arrays[0]] += held.ask.gpus_per_node
        other._empty = None
        return other

    def take(self, held: NodeHolder) -> None:
        """Take the job's CPUs and memory."""
        nodes, cpus, memory = held.arrays
        self.cpus[nodes] -= cpus
        self.memory[nodes] -= memory
        if self._gpus is not None:
            self._gpus[nodes] -= held.ask.gpus_per_node
        self._jobs[nodes] += 1
        self._empty = self.empty & ~held.mask
        self._forget()

    def release(self, held: NodeHolder) -> None:
        """Give the job's CPUs and memory back."""
        nodes, cpus, memory = held.arrays
        self.cpus[nodes] += cpus
        self.memory[nodes] += memory
        if self._gpus is not None:
            self._gpus[nodes] += held.ask.gpus_per_node
        self._jobs[nodes] -= 1
        self._empty = None
        self._forget()

    def with_gpus(self, count: int) -> NodeSet:
        """Return the nodes with so many free GPUs."""
        return 0 if self._gpus is None else set_where(self._gpus >= count)

    def _forget(self) -> None:
        self._masks.clear()
        self._capacities.clear()

    def at_least(self, cpus: int, mb: float = 0.0) -> NodeSet:
        """Return the nodes with so many free CPUs, and so much free memory."""
        mask = self._masks.get((mb, cpus))
        if mask is None:
            enough = self.cpus >= cpus
            mask = self._masks[mb, cpus] = set_where(enough & (self.memory >= mb) if mb else enough)
        return mask

    def capacities(self, mb_per_cpu: float, unit: int, most: int = 0) -> Capacities:
        """Free CPUs of each node that have memory, in whole units; ``most`` at the most, or if that is 0 any number."""
        known = self._capacities.get((mb_per_cpu, unit, most))
        if known is None:
            cpus = self.cpus
            if mb_per_cpu:
                with np.errstate(invalid="ignore"):
                    cpus = np.minimum(cpus, np.maximum(self.memory, 0.0) / mb_per_cpu + 1e-9).astype(np.int64)
                if self.facts.threads is not None:
                    cpus -= cpus % self.facts.threads
            cpus = np.minimum(cpus, most) if most else cpus
            known = self._capacities[mb_per_cpu, unit, most] = Capacities(cpus - cpus % unit if unit > 1 else cpus)
        return known
