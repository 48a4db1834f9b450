"""The jobs that run, by the ends of their limits, and what each of them will give back."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from schedulers.slurm.selection.node_holder import NodeHolder

if TYPE_CHECKING:
    import numpy.typing as npt


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
