"""Why a job does not fit on what is free now, in words for the decision log."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from cluster_sim.errors import counted
from cluster_sim.machine.free import Pool
from cluster_sim.machine.placement import shape
from cluster_sim.platform.node_state import NodeState

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.guest_requests import Departure
    from cluster_sim.machine.machine import Machine
    from cluster_sim.workload.jobs import Job


class States(Protocol):
    """The states of nodes, by position, and which a power policy withholds."""

    withheld: npt.NDArray[np.bool_]

    @property
    def state(self) -> Sequence[NodeState]:
        """Return the state of each node."""
        ...


MOST_GUESTS = 3
"""Guests that are named before the rest is counted."""
ASKS = "asks for "
LACKS = (ASKS, "does not fit ", "fits only on nodes ")
"""Beginnings of clauses that say what a job lacks, and not why its scheduler keeps it back."""
CLOSED = "fits only on nodes that an advance reservation keeps from it now"
OUT_OF_USE = {
    NodeState.SWITCHING_OFF: ("is switching off", "are switching off"),
    NodeState.SWITCHING_ON: ("is booting", "are booting"),
    NodeState.FAILED: ("has failed", "have failed"),
}
"""Words about one node, and about several, that no job can be given; in the order in which they are said."""


def shortage(machine: Machine, job: Job, memory: bool = False, policy: str = "the power policy") -> str:
    """Say what the job asks for and what there is of it, as a clause about the job; empty if it fits now.

    ``asks for 8 cores, no node has more than 5 free``; with ``memory`` only cores with room for its memory count. Nodes
    with free cores for the job that it cannot be given now are named with the reason: ``(3 of 4 nodes are withheld by
    off-reservation)``, where ``policy`` is the name of the power policy. So are guests that hold cores it might have:
    ``(backup, a guest, holds 2 cores until 10 s)``.
    """
    if machine.cores.place(job, None, memory) is not None:
        return ""
    return missing(machine.cores, machine.nodes, machine.guests.expected(), job, memory, policy)


def missing(pool: Pool, states: States, guests: Sequence[Departure], job: Job, memory: bool, policy: str) -> str:
    """Say what a job lacks that does not fit on a pool of cores, on nodes in such states, where guests hold some."""
    free, where, widest = pool.free, "", pool.widest
    mask = None
    if pool.eligibility is not None:
        mask, widest = pool.eligibility.nodes(job), pool.eligibility.widest(job)
        free = free if mask is None else np.where(mask, free, 0)
        particular = pool.eligibility.described(job)
        where = f" on nodes{particular}" if particular else ""
        if job.exclusive:
            free = np.where(pool.free == pool.platform.node_cores, free, 0)
            where += ", on nodes where nothing else runs" if where else " on nodes where nothing else runs"
    if memory and job.memory > 0.0:
        free = np.minimum(free, pool.memory.room(job.memory))
        where += f" with {job.memory:g} MB for each"
    usable = pool.is_on | pool.is_off
    beyond_reach = np.flatnonzero((free > 0) & ~usable).tolist()
    free = np.where(usable, free, 0)
    wanted = shape(job) if pool.shapes else None
    cores, total, most = job.requested_cores, int(free.sum()), int(free.max(initial=0))
    lacking = ""
    if wanted:
        # The widest of the wishes that cannot all be met.
        for wide in dict.fromkeys(wanted):
            nodes, fitting = sum(other >= wide for other in wanted), int((free >= wide).sum())
            if fitting < nodes:
                many = f"{counted(nodes, 'node')} with {counted(wide, 'free core')}"
                lacking = f"asks for {many}{where}, {fitting:,} like that"
                break
    elif total < cores:
        lacking = f"asks for {counted(cores, 'core')}{where}, {total:,} free"
    elif cores <= widest and most < cores:
        lacking = f"asks for {counted(cores, 'core')}{where}, no node has more than {most} free"
    if not lacking:
        return CLOSED
    remarks = [_why_not(states, beyond_reach, policy)] if beyond_reach else []
    remarks += _named(guests, mask, pool.now)
    return f"{lacking} ({', '.join(remarks)})" if remarks else lacking


def _why_not(states: States, nodes: list[int], policy: str) -> str:
    """Say why no job can be given these nodes: ``2 of 4 nodes are withheld by off-reservation, 1 is booting``."""
    withheld = sum(states.withheld[node] for node in nodes)
    counts = Counter(states.state[node] for node in nodes if not states.withheld[node])
    said = [(withheld, f"is withheld by {policy}", f"are withheld by {policy}")]
    said += [(counts[state], *words) for state, words in OUT_OF_USE.items()]
    (count, one, several), *others = [row for row in said if row[0]]
    first = f"{count:,} of {counted(len(states.state), 'node')} {one if count == 1 else several}"
    return ", ".join([first, *(f"{count:,} {one if count == 1 else several}" for count, one, several in others)])


def _named(guests: Sequence[Departure], mask: npt.NDArray[np.bool_] | None, now: float) -> list[str]:
    """Say for each guest how many cores it holds of the nodes that a job may use, and until when it should."""
    cores: dict[str, int] = {}
    until: dict[str, float] = {}
    for guest in guests:
        if mask is None or mask[guest.node]:
            cores[guest.owner] = cores.get(guest.owner, 0) + guest.cores
            until[guest.owner] = max(until.get(guest.owner, 0.0), guest.expected_end)
    told = [
        f"{owner}, a guest, holds {counted(count, 'core')} {expected(until[owner], now)}"
        for owner, count in cores.items()
    ]
    left = len(told) - MOST_GUESTS
    more = f"{counted(left, 'more guest')} {'holds' if left == 1 else 'hold'} cores"
    return told if left <= 0 else [*told[:MOST_GUESTS], more]


def seconds(time: float) -> str:
    """Write a time as ``1,234.5 s``; milliseconds are enough."""
    text = f"{time:,.3f}".rstrip("0").rstrip(".")
    return f"{text} s" if float(text.replace(",", "")) or not time else f"{time:.3g} s"


def expected(end: float, now: float, at: Callable[[float], str] = seconds) -> str:
    """Say until when a guest should hold its cores, to which it may not keep; ``at`` writes the time."""
    if not math.isfinite(end):
        return "for an unknown time"
    return f"until {at(end)}" if end > now else f"longer than until {at(end)}, as it had said"
