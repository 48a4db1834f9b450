"""GANG with preemption by tier: jobs of several tiers share cores, and those of lower tiers are suspended meanwhile."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from schedulers.slurm.selection.best_fit import ChosenNodes, Shape, choose
from schedulers.slurm.selection.node_holder import GUESTS, NodeHolder, RunningByEnd
from schedulers.slurm.selection.node_sets import NodeSet, set_where
from schedulers.slurm.selection.nodes import FreeCpus, NodeFacts

if TYPE_CHECKING:
    import numpy.typing as npt

    from schedulers.slurm.partitions import Queue

    Busy = npt.NDArray[np.int64]
    """Number of jobs on each core, shape (nodes, cores of the widest)."""


_LAST = 1_000_000
"""Rank of a core that somebody has."""


class SharedFree(FreeCpus):
    """Free cores where jobs of several partitions may be on one core: it keeps who is on which.

    ``levels`` tells the partitions by name, lowest tier as it is now first, with whether their jobs may be suspended.
    """

    def __init__(self, facts: NodeFacts, levels: Callable[[], Mapping[str, tuple[int, bool]]]):
        super().__init__(facts)
        width = int(facts.cpus.max(initial=0))
        self._levels = levels
        self._busy: dict[str, Busy] = {name: np.zeros((facts.count, width), np.int64) for name in (*levels(), GUESTS)}
        self._missing = np.arange(width) >= facts.cpus[:, None]
        self._views: dict[frozenset[str], tuple[FreeCpus, Busy]] = {}

    def copy(self) -> SharedFree:
        """Return a copy with the same jobs."""
        other = SharedFree(self.facts, self._levels)
        other._busy = {name: busy.copy() for name, busy in self._busy.items()}
        other.memory = self.memory.copy()
        return other

    def after(self, ends: RunningByEnd, first: int, last: int) -> SharedFree:
        """Return a copy that jobs ``first`` to ``last`` of the running ones have left; the last of these is not among them."""
        other = self.copy()
        for held in ends.jobs[first:last]:
            other.release(held)
        return other

    def take(self, held: NodeHolder) -> None:
        """Put the job on its cores."""
        self._add(held, 1)
        self.memory[held.arrays[0]] -= held.arrays[2]

    def release(self, held: NodeHolder) -> None:
        """Take the job off its cores, and give its memory back."""
        self.release_cores(held)
        self.memory[held.arrays[0]] += held.arrays[2]

    def release_cores(self, held: NodeHolder) -> None:
        """Take the job off its cores; it keeps its memory."""
        self._add(held, -1)

    def _add(self, held: NodeHolder, jobs: int) -> None:
        busy = self._busy[held.partition]
        for node, cores in zip(held.nodes, held.cores, strict=True):
            busy[node, list(cores)] += jobs
        self._views.clear()

    def cores_of_guest(self, node: int, count: int, running: Iterable[NodeHolder]) -> tuple[int, ...]:
        """Return cores of a node for a guest: cores of nobody, else of jobs that do not run on them now.

        ``running`` are the jobs that do have their cores, and other guests.
        """
        rank = sum((busy[node] > 0 for busy in self._busy.values()), 2 * _LAST * self._missing[node])
        for held in running:
            for there, cores in zip(held.nodes, held.cores, strict=True):
                if there == node:
                    rank[list(cores)] = _LAST
        return tuple(rank.argsort(kind="stable")[:count].tolist())

    def choices(self, shape: Shape, within: NodeSet, queue: Queue) -> ChosenNodes | None:
        """Choose nodes and cores for a job of a partition: idle ones, else of as few, and as low, tiers as possible."""
        ignored: frozenset[str] = frozenset()
        every = [ignored]
        for name, (tier, may_stop) in self._levels().items():
            if tier < queue.tier and may_stop:
                ignored |= {name}
                every.append(ignored)
        for ignored in every:
            free, busy = self._beside(ignored)
            choice = choose(shape, free, within)
            if choice is not None:
                choice.cores = tuple(
                    tuple(np.flatnonzero(busy[node] == 0)[:cpus].tolist())
                    for node, cpus in zip(choice.nodes, choice.cpus, strict=True)
                )
                return choice
        return None

    def _beside(self, ignored: frozenset[str]) -> tuple[FreeCpus, Busy]:
        """Return what is free beside the jobs of the other partitions, and which cores those are on."""
        known = self._views.get(ignored)
        if known is None:
            busy = sum(
                (busy for name, busy in self._busy.items() if name not in ignored), self._missing.astype(np.int64)
            )
            free = FreeCpus(self.facts)
            free.cpus, free.memory = (busy == 0).sum(axis=1), self.memory
            free.empty = set_where(free.cpus == self.facts.cpus)
            known = self._views[ignored] = free, busy
        return known


def running_jobs(helds: Iterable[NodeHolder], tiers: Mapping[str, int]) -> set[int]:
    """Return the keys of the jobs that run, of all that are on cores: nobody of a higher tier runs on theirs."""
    runs: set[int] = set()
    taken: set[tuple[int, int]] = set()  # node, core
    by_tier: dict[int, list[NodeHolder]] = {}
    for held in helds:
        by_tier.setdefault(tiers[held.partition], []).append(held)
    for tier in sorted(by_tier, reverse=True):
        own: dict[int, set[tuple[int, int]]] = {}
        for held in by_tier[tier]:
            places = {(node, core) for node, cores in zip(held.nodes, held.cores, strict=True) for core in cores}
            if taken.isdisjoint(places):
                own[held.ask.key] = places
        runs.update(own)
        taken.update(*own.values())
    return runs


def turns(helds: Iterable[NodeHolder], tiers: Mapping[str, int]) -> tuple[list[NodeHolder], list[NodeHolder]]:
    """Return the jobs that run and have to stop, and those that are suspended and can go on."""
    helds = [held for held in helds if not held.ending]
    runs = running_jobs(helds, tiers)
    stop = [held for held in helds if math.isnan(held.stopped) and held.ask.key not in runs]
    return stop, [held for held in helds if held.ask.key in runs and not math.isnan(held.stopped)]
