"""What the machine should have free later: now, and after some of the running jobs have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.machine.intervals import IntervalSet
from cluster_sim.machine.placement import Placement, place

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.machine import Machine
    from cluster_sim.machine.running import Running
    from cluster_sim.workload.jobs import Job


class Outlook:
    """A copy of what placements look at, on which jobs can be released and held without anything happening.

    Nodes that are on, or off and bootable, count as usable; a node in transition does once a job that holds it ends, or
    the transition does. Nodes that the power policy withholds stay out of it, unless it is made ``withheld``: as if none
    were.
    It stands in for the machine in :func:`~cluster_sim.machine.placement.place`.
    """

    def __init__(self, machine: Machine, empty: bool = False, withheld: bool = False):
        cores, states = machine.cores, machine.nodes
        self.now = machine.env.now
        self.platform = machine.platform
        self.widest = cores.widest
        self.shapes = cores.shapes
        self.eligibility = cores.eligibility
        self.memory = cores.memory.copy(empty)
        nodes = self.platform.node_count
        self._withheld = states.withheld if states.withheld_count and not withheld else None
        usable = states.powered_on | states.powered_off if withheld else states.is_on | states.is_off
        self.is_on = np.ones(nodes, bool) if empty else usable
        self.is_off = np.zeros(nodes, bool)
        self.all_on = False  #: Nobody looks for free cores in sets of nodes here, and these are empty.
        self.available, self.asleep = IntervalSet(), IntervalSet()
        #: Free cores of each node, shape (nodes,).
        self.free = self.platform.node_cores.astype(np.int64) if empty else np.where(usable, cores.free, 0)
        self.free_total = int(self.free.sum())

    def release(self, running: Running) -> None:
        """Free what a job holds, as if it had ended."""
        placement = offered(running.placement, self._withheld)
        for first, stop, _ in placement.spans:
            self.is_on[first:stop] = True
        self.give_back(running.job, placement, running.memory_mb)

    def held_by(self, running: Running) -> int:
        """Return how many cores :meth:`release` frees: all of its nodes where a job has these for itself."""
        spans = offered(running.placement, self._withheld).spans
        return sum(
            _total(self.cores_held(running.job, first, stop, cores), stop - first) for first, stop, cores in spans
        )

    def leave(self, node: int, cores: int) -> None:
        """Take ``cores`` of a node, which no job holds, out of reach until it comes back."""
        self.free[node] -= cores
        self.free_total -= cores

    def come_back(self, node: int, cores: int) -> None:
        """Make a node usable whose transition ends: it is not withheld, and no job holds ``cores`` of it."""
        self.is_on[node] = True
        self.free[node] += cores
        self.free_total += cores

    def hold(self, job: Job, placement: Placement, memory: float = 0.0) -> None:
        """Hold cores as if the job, of that memory per task (MB), had started there. What is free may fall below 0."""
        self._add(job, placement, memory, -1)

    def give_back(self, job: Job, placement: Placement, memory: float = 0.0) -> None:
        """Undo :meth:`hold`."""
        self._add(job, placement, memory, 1)

    def _add(self, job: Job, placement: Placement, memory: float, sign: int) -> None:
        for first, stop, cores in placement.spans:
            if memory:
                self.memory.used[first:stop] -= sign * memory * cores
            held = self.cores_held(job, first, stop, cores)
            self.free[first:stop] += sign * held
            self.free_total += sign * _total(held, stop - first)

    def cores_held(self, job: Job, first: int, stop: int, cores: int) -> int | npt.NDArray[np.int32]:
        """Return cores of each of some nodes that no other job gets while this one has ``cores`` on them."""
        if self.eligibility is not None and job.exclusive:
            return self.platform.node_cores[first:stop]
        return cores

    def place(
        self,
        job: Job,
        order: npt.NDArray[np.float64] | None = None,
        memory: bool = False,
        time: float | None = None,
        within: npt.NDArray[np.integer] | None = None,
    ) -> Placement | None:
        """Return a placement of the job on cores that should be free at ``time`` (s, by default now), or None.

        ``time`` says which advance reservations are open to it; for the rest see ``View.place``.
        """
        return place(self, job, order, memory, self.free if within is None else within, time)

    def fits(self, job: Job, placement: Placement, time: float | None = None) -> bool:
        """Return whether the job could have just these cores at ``time`` (s, by default now)."""
        time = self.now if time is None else time
        allowed = None if self.eligibility is None else self.eligibility.open_at(job, time)
        return all(
            bool(self.is_on[first:stop].all())
            and bool((self.free[first:stop] >= self.cores_held(job, first, stop, cores)).all())
            and (allowed is None or bool(allowed[first:stop].all()))
            for first, stop, cores in placement.spans
        )


def _total(held: int | npt.NDArray[np.int32], nodes: int) -> int:
    """Sum cores, of so many held on each of some nodes."""
    return held * nodes if isinstance(held, int) else int(held.sum())


def offered(placement: Placement, withheld: npt.NDArray[np.bool_] | None) -> Placement:
    """Return what of a placement is on nodes that are not withheld (None: none is)."""
    # Among the few nodes of a job, bytes are found faster than numpy says whether there are any.
    if withheld is None or not any(b"\1" in withheld[first:stop].tobytes() for first, stop, _ in placement.spans):
        return placement
    return Placement.on({node: cores for node, cores in placement.cores_by_node().items() if not withheld[node]})
