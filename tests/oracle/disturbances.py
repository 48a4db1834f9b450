"""Processes of a user that disturb a run from outside: kills, failures, repairs, switching, clocks."""

from __future__ import annotations

from collections.abc import Generator
from random import Random
from typing import Any

from cluster_sim import ClusterSimError, Simulation

ORDERS = ("kill", "fail", "repair", "switch_off", "switch_on", "set_clock", "set_p_state")


def disturb(simulation: Simulation, orders: tuple[str, ...], seed: int) -> Generator[Any, Any, None]:
    """Gives orders of these kinds at times of the seed; what the machine refuses is refused. In the end all is repaired."""
    rng = Random(seed)
    names = simulation.platform.node_names()
    broken = set()
    for _ in range(12):
        yield simulation.env.timeout(rng.choice([0.0, 0.5, 1.0, 2.0, 3.25]))
        what, name = rng.choice(orders), rng.choice(names)
        node = simulation.node(name)
        try:
            if what == "kill":
                simulation.kill(str(rng.randrange(len(simulation.workload))), "by hand")
            elif what == "set_clock":
                processor = rng.choice(node.processors)
                processor.set_clock(processor.type.clock_ghz * rng.choice([0.5, 1.0, 1.25]))
            elif what == "set_p_state":
                node.set_p_state(rng.randrange(3))
            else:
                getattr(node, what)()
                broken |= {name} if what == "fail" else set()
        except ClusterSimError:
            continue
    yield simulation.env.timeout(10.0)
    for name in sorted(broken):
        try:
            simulation.node(name).repair()
        except ClusterSimError:
            continue  # it has been repaired


def watch(simulation: Simulation, seen: list[tuple[float, str, str]]) -> Generator[Any, Any, None]:
    """Notes what every instant brought: (time, what, of which job or node)."""
    while True:
        batch = yield simulation.on("instant")
        for what in ("submitted", "started", "completed", "killed", "rejected"):
            seen += [(batch.time, what, job.job_id) for job in getattr(batch, what)]
        seen += [(batch.time, str(state), node.name) for node, state in batch.node_states]
