"""What the stories share: a processor with four p-states whose energies can be worked out by hand."""

from __future__ import annotations

from typing import Any

from cluster_sim import Platform, ProcessorType, PState, Workload
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions

# 54 W while a core is busy, f³/8 W for each busy core at f GHz: of eight busy cores 55, 62, 81 and 118 W. Idle 27 W.
STATES = tuple(PState(f, {"static_w": 54.0, "dynamic_w": f**3 / 8.0, "min_power": 0.5}) for f in (1.0, 2.0, 3.0, 4.0))


def scaling(cores: int = 8, start: int = 3, **options: Any) -> ProcessorType:
    """A processor with those p-states, that starts in one of them (by default at 4 GHz)."""
    state = STATES[start]
    assert state.power is not None
    return ProcessorType("scaling", cores, state.clock_ghz, power=state.power, p_states=STATES, **options)


def machine(
    processor: ProcessorType, nodes: int = 1, switching: PowerTransitions | None = None, off: int = 0, **options: Any
) -> Platform:
    """Nodes of one processor, and after them ``off`` that are off at the start."""
    transitions = switching or PowerTransitions()
    groups = [NodeGroup(NodeType("on", (processor,), transitions=transitions), nodes)]
    groups.append(NodeGroup(NodeType("off", (processor,), transitions=transitions, initially_off=True), off))
    return Platform((Cluster("cluster0", tuple(groups)),), **options)


def jobs(*rows: tuple[float, int, float], **columns: Any) -> Workload:
    """Jobs from (submission s, cores, operations of each task in 10⁹); further columns by name."""
    submit, cores, work = zip(*rows, strict=True)
    table = {"submit_time": list(submit), "requested_cores": list(cores), "operations": [1e9 * w for w in work]}
    return Workload(table | columns)
