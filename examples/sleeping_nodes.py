"""Nodes switched off and on by hand: what it costs, and what it saves."""

from collections.abc import Generator
from typing import Any

from cluster_sim import Platform, PowerTransitions, Simulation, Workload
from schedulers import Fcfs

transitions = PowerTransitions(off_w=5.0, switch_on_s=60.0, switch_on_w=125.0, switch_off_s=180.0, switch_off_w=101.0)
platform = Platform.homogeneous(nodes=2, cores=4, transitions=transitions)
workload = Workload({"submit_time": [0.0, 3600.0], "requested_cores": [8, 8], "recorded_run_time": [300.0, 300.0]})


def run(sleep: bool) -> None:
    """One run; with ``sleep``, the second node is off between the two jobs."""
    simulation = Simulation(platform, workload, Fcfs())

    def doze() -> Generator[Any, Any, None]:
        yield simulation.on("job_completed")
        node = simulation.node("cluster0.node1")
        yield node.switch_off()
        yield simulation.env.timeout(2400.0)
        yield node.switch_on()

    if sleep:
        simulation.env.process(doze())
    result = simulation.run()
    energy = [name for name in result.summary().index if name.startswith("energy")]
    print(f"sleep: {sleep}\n{result.summary()[energy].to_string()}\n")


run(sleep=False)
run(sleep=True)
