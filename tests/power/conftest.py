"""What the stories share: nodes with the watts of Casagrande et al. (2022), jobs in a line each, and who was in what state."""

from __future__ import annotations

from cluster_sim import Platform, ProcessorType, Result
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions
from tests.support.rows import workload_of

jobs = workload_of

# Their Fig. 4 and Figs. 1-2: 95 W idle, 190 W computing; 2 units of time at 101 W to switch off, 1 at 125 W to boot.
WATTS = {"static_w": 190.0, "min_power": 0.5}
SWITCHING = PowerTransitions(0.0, switch_on_s=1.0, switch_on_w=125.0, switch_off_s=2.0, switch_off_w=101.0)


def nodes(on: int, off: int = 0, cores: int = 1, switching: PowerTransitions = SWITCHING) -> Platform:
    """Equal nodes of one processor, and after them ``off`` that are OFF at the start."""
    processor = ProcessorType("processor", cores, 1.0, power=WATTS)
    groups = [NodeGroup(NodeType("on", (processor,), transitions=switching), on)]
    groups.append(NodeGroup(NodeType("off", (processor,), transitions=switching, initially_off=True), off))
    return Platform((Cluster("cluster0", tuple(groups)),))


def states(result: Result, node: int) -> list[tuple[str, float, float]]:
    """A node's rows (state, start, end)."""
    table = result.node_states
    rows = table[table["node"] == f"cluster0.node{node}"]
    return list(zip(rows["state"], rows["start"], rows["end"], strict=True))
