"""What the stories share: a small machine whose watts are easy to add up, and jobs in a line each."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import pytest

from cluster_sim import Platform, ProcessorType, Simulation
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions
from tests.support.rows import workload_of

jobs = workload_of

# 10 W with any core busy and 2 W per busy core; 5 W idle.
WATTS = {"static_w": 10.0, "dynamic_w": 2.0, "min_power": 0.5}
# Off 1 W; boots 4 s at 20 W; shuts down 3 s at 8 W.
SWITCHING = PowerTransitions(off_w=1.0, switch_on_s=4.0, switch_on_w=20.0, switch_off_s=3.0, switch_off_w=8.0)


def machine(nodes: int = 1, cores: int = 2, off: int = 0, switching: PowerTransitions = SWITCHING) -> Platform:
    """Nodes of one processor at 3 GHz, and after them ``off`` that are off at the start."""
    processor = ProcessorType("processor", cores, 3.0, power=WATTS)
    groups = [NodeGroup(NodeType("on", (processor,), transitions=switching), nodes)]
    groups.append(NodeGroup(NodeType("off", (processor,), transitions=switching, initially_off=True), off))
    return Platform((Cluster("cluster0", tuple(groups)),))


Story = Generator[Any, Any, None]
Log = list[Any]


@pytest.fixture
def log() -> Log:
    """What happened, in order."""
    return []


@pytest.fixture
def at() -> Callable[[Simulation, float, Callable[[], Any]], None]:
    """``at(simulation, time, action)``: a process of the user's own that does something at a time."""

    def plan(simulation: Simulation, time: float, action: Callable[[], Any]) -> None:
        def story() -> Story:
            yield simulation.env.timeout(time)
            action()

        simulation.env.process(story())

    return plan


At = Callable[[Simulation, float, Callable[[], Any]], None]
