"""A power cap that takes the place of another one counts what the other counted, and remembers what it slowed."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from cluster_sim import (
    Platform,
    PowerTransitions,
    ProcessorType,
    PState,
    Simulation,
    View,
    Workload,
    make_power_policy,
    make_scheduler,
)
from cluster_sim.platform import Cluster, NodeGroup, NodeType
from cluster_sim.run.decisions import LimitPower, PowerDecision, WakeAt
from schedulers import PowerPolicy
from schedulers.power.power_cap import PowerCap

Plan = list[tuple[float, float]]


class Plans(PowerPolicy):
    """Limits the machine to so many W from each time of a plan on."""

    switches = False

    def __init__(self, plan: Plan, slow: bool):
        self.plan, self.slow = plan, slow

    def begin(self, view: View) -> None:
        """Nothing is limited yet."""
        self._left = list(self.plan)

    def reserve(self, view: View) -> Iterable[PowerDecision]:
        """The limits that are due."""
        while self._left and self._left[0][0] <= view.now:
            yield LimitPower(self._left.pop(0)[1], self.slow)
        if self._left:
            yield WakeAt(self._left[0][0])

    react = PowerCap.react


def platform(nodes: int, node: NodeType) -> Platform:
    """Some nodes of that type."""
    return Platform((Cluster("c", (NodeGroup(node, nodes),)),))


@pytest.mark.parametrize("plan", [[(0, 1000), (30, 300)], [(30, 300)], [(0, 300)]])
def test_jobs_whose_nodes_boot_count_under_a_new_cap(plan: Plan) -> None:
    """Of two jobs of 200 W, the first boots its node from 0 to 60 s; the second, at 40 s, has no room until the first ends."""
    processor = ProcessorType("p", 1, 1.0, power={"static_w": 100, "dynamic_w": 100, "min_power": 0.5})
    boots = PowerTransitions(switch_on_s=60, switch_on_w=80, switch_off_s=30, switch_off_w=60)
    machine = platform(3, NodeType("n", (processor,), transitions=boots, initially_off=True))
    jobs = Workload({"submit_time": [0, 40], "requested_cores": [1, 1], "recorded_run_time": [100, 100]})
    result = Simulation(machine, jobs, make_scheduler("fcfs"), Plans(plan, False)).run()
    assert result.power["watts"].max() == 200.0
    assert result.jobs["start_time"].tolist() == [60.0, 160.0]


@pytest.mark.parametrize(
    ("plan", "ends"),
    [
        ([(0, 650)], [150, 100, 1100]),
        ([(0, 650), (50, 650)], [150, 100, 1100]),
        ([(0, 650), (50, 5000)], [125, 100, 1100]),
    ],
)
def test_processors_that_were_slowed_under_the_last_cap_speed_up_again(plan: Plan, ends: list[float]) -> None:
    """Two jobs of 450 W at 2 GHz, 150 W at 1 GHz: one is slow until the other ends, or until the cap is raised at 50 s."""
    states = tuple(PState(ghz, {"static_w": 50, "dynamic_w": 100 * ghz * ghz, "min_power": 1.0}) for ghz in (1, 2))
    node = NodeType("n", (ProcessorType("p", 1, 2.0, power=states[1].power, p_states=states),))
    jobs = Workload({"submit_time": [0, 0, 1000], "requested_cores": [1] * 3, "operations": [200e9] * 3})
    result = Simulation(platform(2, node), jobs, make_scheduler("fcfs"), Plans(plan, True)).run()
    assert result.jobs["finish_time"].tolist() == ends


def test_the_most_watts_are_drawn_for_some_time() -> None:
    """Four nodes begin to switch off when the last job ends, in the run's last instant: nothing was drawn for it."""
    boots = PowerTransitions(off_w=9, switch_on_s=60, switch_on_w=125, switch_off_s=180, switch_off_w=101)
    jobs = Workload({"submit_time": [0.0, 0.0], "requested_cores": [4, 4], "recorded_run_time": [100.0, 100.0]})
    machine = Platform.homogeneous(nodes=4, cores=1, transitions=boots)
    result = Simulation(machine, jobs, make_scheduler("easy"), make_power_policy("timeout:0")).run()
    assert result.power["watts"].iloc[-1] == 404.0
    assert result.summary()["max_watts"] == pytest.approx(result.summary()["mean_watts"], rel=1e-12)


def test_processors_that_draw_nothing_waste_nothing() -> None:
    """By the quirk, of four processors of a node only that draws something which has been used."""
    processor = ProcessorType("p", 1, 1.0, power={"static_w": 100, "dynamic_w": 1, "min_power": 1.0})
    jobs = Workload({"submit_time": [0, 50], "requested_cores": [1, 1], "recorded_run_time": [10, 10]})
    quirks = ["unused-processors-draw-nothing"]
    machine = platform(2, NodeType("n", (processor,) * 4))
    summary = Simulation(machine, jobs, make_scheduler("fcfs"), quirks=quirks).run().summary()
    # 20 s of 101 W, 40 s of 100 W of the processor that was used; its node's others waste nothing.
    assert (summary["energy_j"], summary["energy_waste_by_core_j"]) == (6020.0, 4000.0)
