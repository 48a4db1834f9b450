"""What was free under each leaf switch over time: how wide a job one rack could have held."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cluster_sim.records.reasons.machine_then import MachineHistory

if TYPE_CHECKING:
    from cluster_sim.records.contracts import RunRecords


def free_by_switch(result: RunRecords) -> pd.DataFrame:
    """Return the free cores and the wholly free nodes under each leaf switch: see the method of Result."""
    history, tree = MachineHistory(result), result.platform.switch_tree
    horizon, width = float(result.power["time"].iloc[-1]), result.platform.node_cores
    changes = history.times
    times = np.unique(np.concatenate(([0.0], changes[(changes > 0.0) & (changes <= horizon)])))
    machine = history.at(0.0)
    before = np.full((len(tree.leaves), 2), -1)
    parts: list[tuple[np.ndarray, ...]] = []
    for time in times.tolist():
        machine.go_on(time)
        free = machine.usable_free
        now = np.stack((tree.sums(free), tree.sums((free == width).astype(np.int64))), axis=1)
        leaves = np.flatnonzero((now != before).any(axis=1))
        parts.append((np.full(len(leaves), time), leaves, now[leaves, 0], now[leaves, 1]))
        before = now
    time, leaf, cores, nodes = (np.concatenate(column) for column in zip(*parts, strict=True))
    names = np.array(tree.leaves, object)[leaf]
    return pd.DataFrame({"time": time, "switch": names, "free_cores": cores, "free_nodes": nodes})
