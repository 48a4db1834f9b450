"""Ways to spread a job over nodes of which some are interchangeable, one of each set of equivalent ways."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from schedulers.optimum.position import Cores

Alike = tuple[int, list[int]]
"""Interchangeable nodes: free cores of each, and the nodes."""


def wide(alike: list[Alike], wanted: int) -> Iterator[Cores]:
    """Yield the ways of the width rule: all free cores of some nodes, and what is left of the job on one more."""
    for counts in _counts([len(nodes) for _, nodes in alike]):
        left = wanted - sum(count * free for count, (free, _) in zip(counts, alike, strict=True))
        if left < 0:
            continue
        full = tuple((node, free) for count, (free, nodes) in zip(counts, alike, strict=True) for node in nodes[:count])
        if not left:
            yield full
        for count, (free, nodes) in zip(counts, alike, strict=True):
            if 0 < left < free and count < len(nodes):
                yield (*full, (nodes[count], left))


def shaped(alike: list[Alike], wishes: list[int]) -> Iterator[Cores]:
    """Yield the ways to give each wish, widest first, a node of its own."""
    if not wishes:
        yield ()
        return
    width, wanted = wishes[0], wishes.count(wishes[0])
    for counts in _counts([len(nodes) if free >= width else 0 for free, nodes in alike]):
        if sum(counts) != wanted:
            continue
        chosen = tuple((node, width) for count, (_, nodes) in zip(counts, alike, strict=True) for node in nodes[:count])
        remaining = [(free, nodes[count:]) for count, (free, nodes) in zip(counts, alike, strict=True) if nodes[count:]]
        for rest in shaped(remaining, wishes[wanted:]):
            yield chosen + rest


def _counts(most: list[int]) -> Iterator[tuple[int, ...]]:
    """Return every way to take up to so many of each."""
    return product(*(range(count, -1, -1) for count in most))
