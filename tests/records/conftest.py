"""One schedule that was worked out by hand, and one with something of everything in it."""

from __future__ import annotations

import pytest

from cluster_sim import Platform, Result, Simulation, Workload
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions, ProcessorType
from schedulers import Fcfs

WATTS = {"static_w": 10.0, "dynamic_w": 2.0, "min_power": 0.5}


@pytest.fixture
def worked_by_hand() -> Result:
    """Five jobs on two cores that draw 10 W when any is busy and 2 W each, 5 W when idle.

    0 runs alone from 10 to 30. 1 and 2 wait for it; 1 runs from 30 to 35, 2 from 30 to 70. 3 is too wide. 4 takes the core
    of 1 at 35, and is killed at 43, when its 8 s are over.
    """
    workload = Workload(
        {
            "submit_time": [10.0, 12.0, 15.0, 16.0, 20.0],
            "requested_cores": [2, 1, 1, 3, 1],
            "recorded_run_time": [20.0, 5.0, 40.0, 1.0, 10.0],
            "requested_time": [40.0, 10.0, float("inf"), 5.0, 8.0],
        }
    )
    return Simulation(Platform.homogeneous(1, 2, power=WATTS), workload, Fcfs(), enforce_walltime=True).run()


@pytest.fixture
def something_of_everything() -> Result:
    """Jobs done, killed, refused, running and waiting at the end, with awkward ids; sockets, boots, times of many digits."""
    processor = ProcessorType("p", 2, 3.0, power=WATTS)
    sleepy = PowerTransitions(off_w=1.0, switch_on_s=1.7, switch_on_w=20.0)
    groups = (
        NodeGroup(NodeType("on", (processor, processor)), 2),
        NodeGroup(NodeType("off", (processor,), transitions=sleepy, initially_off=True), 1),
    )
    names = ["007", "NA", "1e5", 'a "b", c', "", "nan", "é", "0.10"]
    names[4] = "None"
    count = len(names)
    workload = Workload(
        {
            "job_id": names,
            "submit_time": [i / 3 for i in range(count)],
            "requested_cores": [4, 3, 99, 6, 2, 1, 1, 10],
            "recorded_run_time": [1.1, 2.2 / 7, 1.0, 0.1 + 0.2, 1e-7, 20.0, 100.0, 1.0],
            "requested_time": [2.0, 0.1, 5.0, float("inf"), 1.0, 20.0, float("inf"), 3.0],
            "user": ["ann", "", "NA", "bob", "null", "ann", "1", "é"],
            "profile": ["x", "y", "", "x", "x", "y", "z", ""],
        },
        name="everything",
    )
    platform = Platform((Cluster("left", groups[:1]), Cluster("right", groups)), id="odd one")
    simulation = Simulation(platform, workload, Fcfs(), enforce_walltime=True, until=11 / 3, seed=5)
    return simulation.run()
