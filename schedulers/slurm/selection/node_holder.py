"""Jobs and guests that hold nodes, and the order in which the ends of their limits free these."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from schedulers.slurm.job_request import Ask
from schedulers.slurm.selection.node_sets import NodeSet, set_of

GUESTS = "(guests)"
"""Name in the place of a partition where a guest holds cores of a node."""


@dataclass(slots=True, eq=False)
class NodeHolder:
    """A job, or a guest, that holds nodes: CPUs and memory (MB) on each, and when its limit ends it."""

    ask: Ask
    nodes: tuple[int, ...]  #: Positions of its nodes, rising.
    cpus: tuple[int, ...]  #: CPUs on each of them.
    memory: tuple[float, ...]
    start: float  #: s
    end: float  #: End by its limit, s.
    ending: bool = False  #: Its end has come, its nodes are not yet cleaned up.
    made: float = math.nan  #: When Slurm made its record, s: at its submission, or when the task before it was started.
    partition: str = ""
    cores: tuple[tuple[int, ...], ...] = ()  #: Which on each of its nodes, where jobs of several tiers share them.
    preemptor: int = -1  #: The job that has last asked for its nodes; -1: none.
    is_told: bool = False  #: Whether it has to leave them.
    stopped: float = math.nan  #: Since when it is suspended, s; NaN: it runs.
    mask: NodeSet = 0
    arrays: tuple[npt.NDArray[Any], ...] = ()

    @property
    def is_guest(self) -> bool:
        """Return whether a process of a user's own holds them, not a job: it has no limit, and cannot be preempted."""
        return self.partition == GUESTS

    def __post_init__(self) -> None:
        self.made = self.ask.submit_time if math.isnan(self.made) else self.made
        self.mask = set_of(self.nodes)
        self.arrays = (np.array(self.nodes), np.array(self.cpus), np.array(self.memory))


def _place(held: NodeHolder) -> tuple[float, float, int]:
    """Return the key by which jobs are sorted: those that end together are as they stand in Slurm's list of jobs."""
    return held.end, held.made, held.ask.key


class RunningByEnd:
    """Jobs in the order in which their limits end them.

    Arrays in this order have what the jobs hold, so that what many jobs give back is added up in one step. They are
    made when first asked for, and then kept up to date. A job's end must not change while it is here.
    """

    def __init__(self, jobs: Iterable[NodeHolder] = ()):
        self.jobs = sorted(jobs, key=_place)
        self._arrays: list[npt.NDArray[Any]] | None = None  # ends, nodes, CPUs, memory: an entry for each job's node

    @property
    def first(self) -> float:
        """Return the first end, s; inf where nobody runs."""
        return self.jobs[0].end if self.jobs else float("inf")

    def add(self, held: NodeHolder) -> None:
        """Add a job that runs."""
        insort(self.jobs, held, key=_place)
        if self._arrays is not None:
            place = self._offset(bisect_left(self.jobs, _place(held), key=_place))
            pieces = np.full(len(held.nodes), held.end), *held.arrays
            self._arrays = [
                np.concatenate((old[:place], piece, old[place:]))
                for old, piece in zip(self._arrays, pieces, strict=True)
            ]

    def remove(self, held: NodeHolder) -> None:
        """Remove a job that runs no more."""
        index = bisect_left(self.jobs, _place(held), key=_place)
        if self._arrays is not None:
            place, more = self._offset(index), len(held.nodes)
            self._arrays = [np.concatenate((old[:place], old[place + more :])) for old in self._arrays]
        del self.jobs[index]

    def given_back(self, first: int, last: int) -> list[npt.NDArray[Any]]:
        """Return what jobs ``first`` to ``last``, this one left out, hold, an entry for each job's node.

        The arrays are nodes, CPUs and memory (MB).
        """
        if self._arrays is None:
            ends, sizes = np.array([one.end for one in self.jobs], float), [len(one.nodes) for one in self.jobs]
            empty = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
            pieces = [np.concatenate((empty[i], *(one.arrays[i] for one in self.jobs))) for i in range(3)]
            self._arrays = [np.repeat(ends, np.array(sizes, np.int64)), *pieces]
        begin, end = self._offset(first), self._offset(last)
        return [array[begin:end] for array in self._arrays[1:]]

    def _offset(self, index: int) -> int:
        """Return where in the arrays the job at this index begins."""
        assert self._arrays is not None
        if not index:
            return 0
        end = self.jobs[index - 1].end
        tied = bisect_left(self.jobs, end, key=attrgetter("end"))
        return int(self._arrays[0].searchsorted(end)) + sum(len(held.nodes) for held in self.jobs[tied:index])
