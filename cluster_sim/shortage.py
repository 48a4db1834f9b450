"""Why a job does not fit on what is free now, in words for the decision log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cluster_sim.placement import place, shape

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.jobs import Job
    from cluster_sim.machine import Machine

CLOSED = "fits only on nodes that an advance reservation keeps from it now"


def shortage(machine: Machine, job: Job, memory: bool = False) -> str:
    """What the job asks for and what there is of it, as a clause about the job; empty if it fits now.

    ``asks for 8 cores, no node has more than 5 free``; with ``memory`` only cores with room for its memory count.
    """
    if place(machine, job, None, memory) is not None:
        return ""
    usable = machine.is_on | machine.is_off
    free, where, widest = np.where(usable, machine.free, 0), "", machine.widest
    if machine.eligibility is not None:
        mask, widest = machine.eligibility.nodes(job), machine.eligibility.widest(job)
        free = free if mask is None else np.where(mask, free, 0)
        particular = machine.eligibility.described(job)
        where = f" on nodes{particular}" if particular else ""
        if job.exclusive:
            free = np.where(machine.free == machine.platform.node_cores, free, 0)
            where += ", on nodes where nobody else runs" if where else " on nodes where nobody else runs"
    if memory and job.memory > 0.0:
        free = np.minimum(free, machine.room(job.memory))
        where += f" with {job.memory:g} MB for each"
    wanted = shape(job) if machine.shapes else None
    missing = _missing_shape(wanted, where, free) if wanted else _missing(job.requested_cores, where, free, widest)
    if not missing:
        return CLOSED
    out_of_use = int(len(usable) - usable.sum())
    return f"{missing} ({counted(out_of_use, 'node')} cannot be used now)" if out_of_use else missing


def _missing(cores: int, where: str, free: npt.NDArray[np.integer], widest: int) -> str:
    total, most = int(free.sum()), int(free.max(initial=0))
    if total < cores:
        return f"asks for {counted(cores, 'core')}{where}, {total:,} free"
    if cores <= widest and most < cores:
        return f"asks for {counted(cores, 'core')}{where}, no node has more than {most} free"
    return ""


def _missing_shape(wanted: list[int], where: str, free: npt.NDArray[np.integer]) -> str:
    """Of the widest wishes that cannot all be met: ``asks for 3 nodes with 4 free cores, 1 like that``."""
    for cores in dict.fromkeys(wanted):
        nodes, there = sum(other >= cores for other in wanted), int((free >= cores).sum())
        if there < nodes:
            return f"asks for {counted(nodes, 'node')} with {counted(cores, 'free core')}{where}, {there:,} like that"
    return ""


def counted(count: int, noun: str) -> str:
    """``1 core``, ``8 cores``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
