"""The table ``result.nodes``: for each node its seconds, joules and switches, and what its idle cores come to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cluster_sim.fields import RESULT_TABLES, names
from cluster_sim.node import NodeState
from cluster_sim.transition_log import CODES

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.accounting import Accounts, History
    from cluster_sim.occupancy import Floats, Ints

WASTED = (NodeState.IDLE, NodeState.SWITCHING_ON, NodeState.SWITCHING_OFF)
"""States in which a node draws power and neither computes nor saves energy (Casagrande et al. 2022, Eq. 4)."""


def node_table(
    history: History, accounts: Accounts, intervals: tuple[Ints, npt.NDArray[np.object_], Floats, Floats]
) -> pd.DataFrame:
    """One row per node, in platform order; ``intervals`` are (node, state, start, end) without gaps."""
    platform = history.platform
    count = platform.node_count
    node, state, start, end = intervals
    seconds: dict[NodeState, Floats] = {
        s: np.bincount(node[state == s], (end - start)[state == s], count).astype(np.float64) for s in NodeState
    }
    joules = accounts.nodes
    at, codes = history.transitions.nodes, history.transitions.codes
    switches = {s: np.bincount(at[codes == CODES[s]], minlength=count) for s in WASTED[1:]}
    on, off = switches[NodeState.SWITCHING_ON], switches[NodeState.SWITCHING_OFF]
    waste: Floats = sum((joules[s] for s in WASTED), np.zeros(count))
    columns: dict[str, object] = {"node": np.array(platform.node_names(), object)}
    columns |= {f"{s.lower()}_s": seconds[s] for s in NodeState}
    columns |= {f"{s.lower()}_j": joules[s] for s in NodeState}
    columns |= {
        "energy_j": sum(joules.values(), np.zeros(count)),
        "energy_waste_j": waste,
        "energy_waste_by_core_j": waste
        + _idle_cores_of_computing_nodes(history, accounts, seconds[NodeState.COMPUTING]),
        "busy_core_s": _sum_over_processors(history, accounts.core_s),
        "switches_on": on,
        "switches_off": off,
        "on_off_cycles": (on + off) // 2,
    }
    return pd.DataFrame(columns, columns=names(RESULT_TABLES["nodes"]))


def _idle_cores_of_computing_nodes(history: History, accounts: Accounts, computing_s: Floats) -> Floats:
    """J that idle cores of computing nodes draw, each its part of its processor's idle watts, shape (nodes,)."""
    platform = history.platform
    kind, kinds = platform.type_of_processor, platform.processor_types
    cores = np.array([k.cores for k in kinds])[kind]
    watts_of_core = np.array([history.power.idle_watts(k) / k.cores for k in kinds])[kind]
    node_of = np.repeat(np.arange(platform.node_count), np.diff(platform.first_processor))
    idle_core_s = np.maximum(computing_s[node_of] * cores - accounts.core_s, 0.0)  # both are sums, and rounded
    return _sum_over_processors(history, watts_of_core * idle_core_s)


def _sum_over_processors(history: History, values: Floats) -> Floats:
    summed: Floats = np.add.reduceat(values, history.platform.first_processor[:-1])
    return summed
