"""The table ``result.nodes``: for each node its seconds, joules and switches, and what its idle cores come to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.machine.node import NodeState
from cluster_sim.machine.transition_log import CODES
from cluster_sim.records.energy_accounts import EnergyAccounts, History, computing_seconds
from cluster_sim.records.metrics import energy_waste, on_off_cycles
from cluster_sim.workload.fields import RESULT_COLUMNS

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.core_ranges import Floats, Ints


def seconds_by_state(history: History) -> dict[NodeState, Floats]:
    """Return how long each node was in each state, s, shape (nodes,), without making the millions of intervals."""
    count = history.platform.node_count
    seconds = {state: np.zeros(count) for state in NodeState}
    seconds[NodeState.COMPUTING] = computing_seconds(history.holds, history.platform)
    node, code, start, end, _ = history.off_intervals
    for state in NodeState:
        if state in CODES and state not in (NodeState.COMPUTING, NodeState.IDLE):
            chosen = code == CODES[state]
            seconds[state] = np.bincount(node[chosen], (end - start)[chosen], count).astype(np.float64)
    spent: Floats = sum((seconds[state] for state in NodeState), np.zeros(count))
    seconds[NodeState.IDLE] = np.maximum(history.horizon - spent, 0.0)
    return seconds


def _switches(history: History) -> tuple[Ints, Ints]:
    """Return how often each node began to switch on, and off, before the end.

    What begins in the last instant is in no second of the run, nor is what a failure undoes in the instant in which it began.
    """
    log = history.transitions
    nodes, codes, times = log.nodes, log.codes, log.times
    counted = times < history.horizon
    if (codes == CODES[NodeState.FAILED]).any():
        rows = np.argsort(nodes, kind="stable")  # by node and time
        before, after = rows[:-1], rows[1:]
        undone = (nodes[before] == nodes[after]) & (times[before] == times[after])
        counted[before[undone & (codes[after] == CODES[NodeState.FAILED])]] = False
    on, off = (
        np.bincount(nodes[counted & (codes == CODES[state])], minlength=history.platform.node_count)
        for state in (NodeState.SWITCHING_ON, NodeState.SWITCHING_OFF)
    )
    return on, off


def waste_by_core(history: History, accounts: EnergyAccounts, computing_s: Floats) -> Floats:
    """Return J that nodes and the idle cores of computing nodes wasted, shape (nodes,).

    An idle core of a computing node wastes its part of its processor's idle watts. This sums in bulk over the run. If a
    clock changed, ``accounting.sweep`` has summed from change to change, by the same law but with other rounding.
    """
    platform = history.platform
    kind, kinds = platform.type_of_processor, platform.processor_types
    cores = np.array([k.cores for k in kinds])[kind]
    watts_of_core = np.array([history.power.idle_watts(k) / k.cores for k in kinds])[kind]
    node_of = np.repeat(np.arange(platform.node_count), np.diff(platform.first_processor))
    drawing_s = computing_s[node_of] if accounts.used_s is None else accounts.used_s
    idle_core_s = np.maximum(drawing_s * cores - accounts.core_s, 0.0)  # both are sums, and rounded
    joules = _sum_over_processors(history, watts_of_core * idle_core_s)
    for node, at_its_clocks in accounts.idle_cores.items():  # nodes whose clocks may have changed
        joules[node] = at_its_clocks
    return energy_waste(accounts.nodes) + joules


def node_columns(history: History, accounts: EnergyAccounts) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of the table, one row per node, in platform order."""
    platform = history.platform
    count = platform.node_count
    seconds = seconds_by_state(history)
    joules = accounts.nodes
    on, off = _switches(history)
    columns: dict[str, npt.NDArray[Any]] = {"node": np.array(platform.node_names(), object)}
    columns |= {f"{s.lower()}_s": seconds[s] for s in NodeState}
    columns |= {f"{s.lower()}_j": joules[s] for s in NodeState}
    columns |= {
        "energy_j": sum(joules.values(), np.zeros(count)),
        "energy_waste_j": energy_waste(joules),
        "energy_waste_by_core_j": waste_by_core(history, accounts, seconds[NodeState.COMPUTING]),
        "busy_core_s": _sum_over_processors(history, accounts.core_s),
        "switches_on": on,
        "switches_off": off,
        "on_off_cycles": on_off_cycles(on, off),
    }
    return {name: columns[name] for name in RESULT_COLUMNS["nodes"]}


def _sum_over_processors(history: History, values: Floats) -> Floats:
    summed: Floats = np.add.reduceat(values, history.platform.first_processor[:-1])
    return summed
