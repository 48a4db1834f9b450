"""Which counted resources were whose, from when to when: the table ``resource_holds``, and what became of the GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from cluster_sim.machine.core_ranges import cut
from cluster_sim.machine.units.fragmentation import TypicalJobs
from cluster_sim.machine.units.unit_hold import ANYWHERE
from cluster_sim.records.attempt_tables import JOB
from cluster_sim.records.empty_table import no_rows
from cluster_sim.records.energy_accounts import node_bounds
from cluster_sim.workload.fields import RESULT_COLUMNS
from cluster_sim.workload.resource_request import GPU, GPU_COLUMNS, WHOLE

if TYPE_CHECKING:
    from cluster_sim.machine.core_ranges import Floats, Ints
    from cluster_sim.machine.ledger import TimedUnits
    from cluster_sim.platform.platform import Platform
    from cluster_sim.records.core_holds import CoreHolds

AT_ONCE = 20_000
"""States of nodes whose fragmentation is worked out together: each takes a number for every typical job and GPU."""


def resource_table(platform: Platform, units: Sequence[TimedUnits], cores: CoreHolds) -> pd.DataFrame:
    """Return the table of counted resources in order of time; ``cores`` says who the tenants are."""
    rows: list[tuple[Any, ...]] = []
    owners, attempts = cores.owners, cores.attempts
    for tenant, hold, start, _, end in units:
        node = "" if hold.node == ANYWHERE else platform.node_name(hold.node)
        who = owners[tenant], JOB, int(attempts[tenant])
        for _, run in groupby(enumerate(hold.which), lambda pair: pair[1] - pair[0]):
            numbers = [number for _, number in run]
            rows.append((*who, node, hold.resource, numbers[0], numbers[-1], hold.share / WHOLE, start, end))
    if not rows:
        return no_rows("resource_holds")
    rows.sort(key=lambda row: row[-2])
    return pd.DataFrame(rows, columns=RESULT_COLUMNS["resource_holds"])


def busy_gpu_s(units: Sequence[TimedUnits]) -> float:
    """Return the GPU-seconds in which tasks had GPUs, by shares."""
    return float(
        sum(
            hold.number * hold.share / WHOLE * (end - loaded)
            for _, hold, _, loaded, end in units
            if hold.resource == GPU and end > loaded
        )
    )


class NodeSpells(NamedTuple):
    """Times in which nothing changed on a node: one row each, by node and time."""

    node: Ints
    start: Floats
    seconds: Floats
    free_cores: Ints
    left: Ints  #: Of each of its GPUs, parts of WHOLE, shape (rows, GPUs of the node with most).


def gpu_steps(
    platform: Platform, cores: CoreHolds, holds: pd.DataFrame, requests: Mapping[str, Any], horizon: float
) -> pd.DataFrame:
    """Return the table ``gpus``: how many GPUs were held, stranded and fragmented from each time on.

    ``holds`` is the table of counted resources, ``requests`` are columns of what jobs asked for.
    """
    spells = _spells(platform, cores, holds, horizon)
    total = int(platform.units_of(GPU).sum())
    free = spells.left.sum(axis=1) / WHOLE
    stranded = np.where(spells.free_cores == 0, free, 0.0)
    fragmented = np.full(len(free), np.nan)
    if any((requests[name] > 0).any() for name in GPU_COLUMNS):
        typical = TypicalJobs(requests)
        accepted = typical.accepted_on(platform)
        for first in range(0, len(free), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            node = spells.node[part]
            found = typical.fragmentation(spells.free_cores[part], spells.left[part], accepted[node])
            fragmented[part] = found / 1000.0
    ends = spells.start + spells.seconds
    times, inverse = np.unique(np.concatenate([spells.start, ends]), return_inverse=True)
    columns = {}
    for name, each in (("free", free), ("stranded", stranded), ("fragmented", fragmented)):
        steps = np.bincount(inverse, np.concatenate([each, -each]), len(times))
        columns[name] = np.cumsum(steps)[:-1].clip(0.0).round(9)
    lasting = {"time": times[:-1], "held": total - columns["free"], **columns}
    return pd.DataFrame(lasting, columns=RESULT_COLUMNS["gpus"])


def _spells(platform: Platform, cores: CoreHolds, holds: pd.DataFrame, horizon: float) -> NodeSpells:
    """Return the times in which nothing changed on nodes with GPUs."""
    counts = platform.units_of(GPU)
    width = int(counts.max(initial=0))
    runs, pieces = cut(cores.held, node_bounds(platform))
    _, whole, since, until = runs.expanded()
    of_gpus = holds[holds["resource"] == GPU]
    length = (of_gpus["last"] - of_gpus["first"] + 1).to_numpy()
    row = np.repeat(np.arange(len(of_gpus)), length)
    gpu = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length) + of_gpus["first"].to_numpy()[row]
    node_of_row = platform.node_indices(of_gpus["node"])[row]
    parts = np.rint(of_gpus["share"].to_numpy() * WHOLE).astype(np.int64)[row]
    begin, end = (of_gpus[name].to_numpy()[row] for name in ("start", "end"))
    every = np.flatnonzero(counts)
    # Each row changes, on a node and at a time, how many cores and how much of which GPU is held; the first rows nothing.
    node = np.concatenate([every, whole, pieces.unit, node_of_row])
    core_change = np.concatenate([0 * every, platform.node_cores[whole], pieces.cores, 0 * row])
    first = np.concatenate([np.zeros(len(every)), since, pieces.start, begin])
    last = np.minimum(np.concatenate([np.zeros(len(every)), until, pieces.end, end]), horizon)
    gpu_change = np.concatenate([np.zeros(len(node) - len(row), np.int64), parts])
    which = np.concatenate([np.zeros(len(node) - len(row), np.int64), gpu])
    node, time = np.concatenate([node, node]), np.concatenate([first, last])
    core_change, gpu_change = np.concatenate([core_change, -core_change]), np.concatenate([gpu_change, -gpu_change])
    which = np.concatenate([which, which])
    order = np.lexsort((time, node))
    order = order[counts[node[order]] > 0]
    node, time = node[order], time[order]
    held_cores = np.cumsum(core_change[order])  # all is given back on every node
    held = np.zeros((len(order), width), np.int64)
    held[np.arange(len(order)), which[order]] = gpu_change[order]
    np.cumsum(held, axis=0, out=held)
    seconds = np.append(time[1:], horizon)[: len(time)] - time
    ends = np.append(node[1:] != node[:-1], True)[: len(node)]
    seconds[ends] = horizon - time[ends]
    lasts = seconds > 0.0
    node, time, seconds = node[lasts], time[lasts], seconds[lasts]
    there = np.arange(width) < counts[node][:, np.newaxis]
    left = np.where(there, WHOLE - held[lasts], 0)
    return NodeSpells(node, time, seconds, platform.node_cores[node] - held_cores[lasts], left)
