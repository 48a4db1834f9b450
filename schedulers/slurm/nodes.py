"""The nodes as Slurm sees them: sets of nodes as the bits of a whole number, what is free on them, who holds it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from schedulers.slurm.asks import Ask

NodeSet = int
"""Bit i stands for node i, by its position in the platform."""


def set_of(nodes: Sequence[int]) -> NodeSet:
    """The set of some nodes."""
    mask = 0
    for node in nodes:
        mask |= 1 << node
    return mask


def members(mask: NodeSet) -> Iterator[int]:
    """The nodes of a set, rising."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def runs(mask: NodeSet) -> Iterator[tuple[int, int]]:
    """First node and length of each run of consecutive nodes of a set."""
    base = 0
    while mask:
        gap = (mask & -mask).bit_length() - 1
        mask >>= gap
        length = (~mask & (mask + 1)).bit_length() - 1
        yield base + gap, length
        base += gap + length
        mask >>= length


class NodeFacts:
    """What does not change about the nodes: CPUs, memory (MB; inf where unknown), weights, features."""

    def __init__(
        self,
        cpus: Sequence[int],
        memory: Sequence[float] = (),
        weights: Sequence[int] = (),
        features: Sequence[frozenset[str]] = (),
    ):
        self.count = len(cpus)
        self.cpus = list(cpus)
        self.memory = list(memory) or [math.inf] * self.count
        self.all: NodeSet = (1 << self.count) - 1
        self._with_cpus: dict[int, NodeSet] = {}
        by_weight: dict[int, NodeSet] = {}
        for node, weight in enumerate(weights):
            by_weight[weight] = by_weight.get(weight, 0) | 1 << node
        #: Sets of nodes of one weight, low weights first.
        self.tiers = [by_weight[weight] for weight in sorted(by_weight)] or [self.all]
        self._features = list(features)

    @cached_property
    def cpus_before(self) -> list[int]:
        """CPUs of the nodes before each, and of all."""
        return [0, *np.cumsum(self.cpus).tolist()]

    def with_cpus(self, cpus: int) -> NodeSet:
        """Nodes that have so many CPUs."""
        if cpus not in self._with_cpus:
            self._with_cpus[cpus] = set_of([node for node, has in enumerate(self.cpus) if has >= cpus])
        return self._with_cpus[cpus]

    def with_features(self, expression: str) -> NodeSet:
        """Nodes that have the features of ``a&b`` (all) or ``a|b`` (one of them)."""
        if not expression:
            return self.all
        choices = [frozenset(choice.split("&")) for choice in expression.split("|")]
        return set_of([n for n, has in enumerate(self._features) if any(choice <= has for choice in choices)])


@dataclass(slots=True, eq=False)
class Held:
    """A job that holds nodes: CPUs and memory (MB) on each, and when its limit ends it."""

    ask: Ask
    partition: str
    tier: int
    nodes: tuple[int, ...]  #: Rising.
    cpus: tuple[int, ...]  #: On each of them.
    memory: tuple[float, ...]
    start: float  #: s
    end: float  #: By its limit, s.
    whole: bool = False  #: Whether nobody else may be on its nodes.
    ending: bool = False  #: Its end has come, its nodes are not yet cleaned up.
    suspended: bool = False
    mask: NodeSet = 0

    def __post_init__(self) -> None:
        self.mask = set_of(self.nodes)


class Free:
    """What is free on each node. Taking and releasing change it; a copy can be tried out."""

    def __init__(self, facts: NodeFacts):
        self.facts = facts
        self.cpus = list(facts.cpus)
        self.memory = list(facts.memory)
        self.empty: NodeSet = facts.all  #: Nodes with no job.
        self._jobs = [0] * facts.count
        self._masks: dict[int, NodeSet] = {}

    def copy(self) -> Free:
        """Another with the same free."""
        other = Free.__new__(Free)
        other.facts, other.empty = self.facts, self.empty
        other.cpus, other.memory, other._jobs = self.cpus[:], self.memory[:], self._jobs[:]
        other._masks = {}
        return other

    def take(self, held: Held) -> None:
        """The job has its CPUs and memory."""
        self._change(held, -1)
        self.empty &= ~held.mask

    def release(self, held: Held) -> None:
        """The job gives them back."""
        self._change(held, 1)
        for node in held.nodes:
            if not self._jobs[node]:
                self.empty |= 1 << node

    def _change(self, held: Held, sign: int) -> None:
        cpus, memory, jobs = self.cpus, self.memory, self._jobs
        for node, taken, mb in zip(held.nodes, held.cpus, held.memory, strict=True):
            cpus[node] += sign * taken
            memory[node] += sign * mb
            jobs[node] -= sign
        self._masks.clear()

    def at_least(self, cpus: int) -> NodeSet:
        """Nodes with so many free CPUs."""
        mask = self._masks.get(cpus)
        if mask is None:
            enough = np.packbits(np.array(self.cpus) >= cpus, bitorder="little")
            mask = self._masks[cpus] = int.from_bytes(enough.tobytes(), "little")
        return mask

    def emptied(self, nodes: NodeSet) -> Free:
        """Another in which these nodes are empty, too: good for jobs that want whole nodes only."""
        other = Free.__new__(Free)
        other.facts, other.empty = self.facts, self.empty | nodes
        other.cpus, other.memory, other._jobs, other._masks = self.cpus, self.memory, self._jobs, {}
        return other
