"""Power models that follow the tasks' speeds, in runs worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from cluster_sim.errors import InputError
from cluster_sim.machine.core_ranges import Holds
from cluster_sim.machine.transition_log import TransitionLog
from cluster_sim.models.power import LinearPower, Load
from cluster_sim.platform import Cluster, NodeGroup, NodeType, Platform, PowerTransitions, ProcessorType
from cluster_sim.records import Result
from cluster_sim.records.energy_accounts import History, settle
from cluster_sim.run import Simulation
from cluster_sim.workload import Workload
from schedulers import Fcfs, IdleTimeout
from tests.support.rows import workload_of

# With k = 1, n tasks that ask for enough run at 1/n each: see test_phases.
SHARING = {"b": -1.0, "c": 1500.0, "da": 0.0, "db": 1.0, "dc": 1.0, "dd": 0.0}


def run(power: dict[str, float], model: str) -> Result:
    """Two one-core jobs of 100 s at 1000 MB/s, the second submitted at 100 s, on a 4-core node."""
    processor = ProcessorType("p", 4, 1.0, power=power, contention=SHARING)
    platform = Platform((Cluster("c", (NodeGroup(NodeType("n", (processor,)), 1),)),), power_model=model)
    jobs = workload_of((0.0, 1, 100.0), (50.0, 1, 100.0), mem_vol=[1e5, 1e5])
    return Simulation(platform, jobs, Fcfs(), contention="piecewise:k=1").run()


def integral(result: Result) -> float:
    """Energy under the power curve."""
    curve = result.power
    return float((np.diff(curve["time"]) * curve["watts"][:-1]).sum())


def test_stalled_cores_draw_less() -> None:
    """Alone a core draws all its dynamic watts; two that share the channel run at half speed and draw half."""
    result = run({"static_w": 10.0, "dynamic_w": 4.0, "min_power": 0.5}, "stall-aware")
    # 0-50 job 0 alone; 50-150 both at half speed, job 0 ends; 150-200 job 1 alone.
    assert result.jobs["finish_time"].tolist() == pytest.approx([150.0, 200.0])
    # Alone: 10 + 4 W. Together: 10 shared in halves, 2 W each. Each job: 50 s alone and 100 s together.
    assert result.jobs["energy_j"].tolist() == pytest.approx([50 * 14 + 100 * (5 + 2)] * 2)
    assert integral(result) == pytest.approx(50 * 14 + 100 * 14 + 50 * 14)
    assert result.summary()["energy_j"] == pytest.approx(integral(result))


def test_stalled_cores_may_draw_a_part() -> None:
    """With stalled=0.5 a core at half speed draws 3/4 of its dynamic watts."""
    result = run({"static_w": 10.0, "dynamic_w": 4.0, "min_power": 0.5}, "stall-aware:stalled=0.5")
    assert integral(result) == pytest.approx(50 * 14 + 100 * (10 + 2 * 3) + 50 * 14)


def test_polynomial_of_tasks_and_bandwidth() -> None:
    """One task moves 1 GB/s, two at half speed together the same; the watts follow the polynomial."""
    result = run(
        {"idle_w": 1.0, "p00": 2.0, "p10": 3.0, "p01": 5.0, "p20": 7.0, "p11": 11.0, "p02": 13.0}, "polynomial"
    )
    alone = 2 + 3 + 5 + 7 + 11 + 13
    together = 2 + 3 + 5 * 2 + 7 + 11 * 2 + 13 * 4
    assert integral(result) == pytest.approx(100 * alone + 100 * together)
    summary = result.summary()
    assert summary["energy_jobs_j"] + summary["energy_idle_j"] == pytest.approx(integral(result))


def test_idle_nodes_and_waiting_cores_are_charged() -> None:
    """A job on two processors of different speed keeps the faster one's core, which waits at full dynamic power."""
    fast = ProcessorType("fast", 1, 2.0, power={"static_w": 6.0, "dynamic_w": 2.0, "min_power": 0.5})
    slow = ProcessorType("slow", 1, 1.0, power={"static_w": 6.0, "dynamic_w": 2.0, "min_power": 0.5})
    platform = Platform((Cluster("c", (NodeGroup(NodeType("n", (fast, slow)), 2),)),), power_model="stall-aware")
    jobs = {"submit_time": [10.0], "requested_cores": [2], "operations": [1e11]}
    result = Simulation(platform, Workload(jobs), Fcfs()).run()
    assert result.jobs["finish_time"].tolist() == pytest.approx([110.0])
    # The job: two processors, 8 W each, for 100 s. Idle: two nodes for 10 s, one for 100 s, 6 W a node.
    assert result.jobs["energy_j"].tolist() == pytest.approx([1600.0])
    assert integral(result) == pytest.approx(1600.0 + 2 * 6 * 10 + 6 * 100)
    assert result.summary()["energy_j"] == pytest.approx(integral(result))


def test_whole_numbers_of_watts_are_charged() -> None:
    """Watts written as integers cost what the same watts written with a point cost, to each job and in all."""
    result = run({"static_w": 10, "dynamic_w": 4, "min_power": 1}, "stall-aware")
    assert result.jobs["energy_j"].tolist() == pytest.approx([50 * 14 + 100 * (5 + 2)] * 2)
    assert result.summary()["energy_j"] == pytest.approx(integral(result))


class Counted:
    """A user's model whose watts come as integers and as numpy's numbers: 7 W, and 6 W for each task that is not slowed."""

    follows_rates = True

    def idle_watts(self, processor: ProcessorType) -> Any:
        """3 W."""
        return np.float32(3)

    def shared_watts(self, processor: ProcessorType, busy_cores: int) -> Any:
        """7 W."""
        return np.int64(7)

    def core_watts(self, processor: ProcessorType, busy_cores: int) -> Any:
        """5 W, which no run of a model that follows speeds may use."""
        return 5

    def loaded_watts(self, processor: ProcessorType, loads: Sequence[Load]) -> Any:
        """7 W, and 6 W for each task."""
        return np.int64(7), [6 * tasks for tasks, _, _ in loads]


@pytest.mark.parametrize("follows", [True, False])
def test_a_model_may_give_any_kind_of_number(follows: bool) -> None:
    """Integers and numpy's numbers of a user's power model are charged as floats are."""
    processor = ProcessorType("p", 2, 1.0)
    model = Counted()
    model.follows_rates = follows
    node = NodeType("n", (processor,), transitions=PowerTransitions(switch_off_s=5, switch_on_s=5))
    platform = Platform((Cluster("c", (NodeGroup(node, 1),)),))
    jobs = {"submit_time": [10, 60], "requested_cores": [2, 1], "recorded_run_time": [20, 5]}
    result = Simulation(platform, Workload(jobs), Fcfs(), IdleTimeout(10), power_model=model).run()
    # Idle from 0 to 10 and from 30 to 40, then off from 45 to 60; both transitions draw the idle watts.
    each = 6 if follows else 5
    jobs_j = [20 * (7 + 2 * each), 5 * (7 + each)]
    assert result.jobs["energy_j"].tolist() == jobs_j
    assert result.summary()["energy_j"] == integral(result) == 10 * 3 + 10 * 3 + 5 * 3 + 5 * 3 + sum(jobs_j)


@pytest.mark.parametrize(
    "found", [None, (7.0,), (7.0, [1.0, 1.0, 1.0]), ("7 W", [1.0]), (np.nan, [1.0]), (-9.0, [1.0]), (99.0, [-9.0])]
)
def test_a_model_that_gives_no_watts_is_named(found: Any) -> None:
    """Of groups that run: another type, another number of them, or less than nothing."""

    class Wrong(Counted):
        def loaded_watts(self, processor: ProcessorType, loads: Sequence[Load]) -> Any:
            return found

    jobs = Workload({"submit_time": [0], "requested_cores": [2], "recorded_run_time": [20]})
    with pytest.raises(
        InputError, match=r"^power model Wrong, processor type 'processor', loaded_watts: expected finite"
    ):
        Simulation(Platform.homogeneous(nodes=1, cores=2), jobs, Fcfs(), power_model=Wrong()).run()


@pytest.mark.parametrize("found", [None, "3 W", [3.0]])
def test_a_model_that_gives_no_watts_of_idle_or_busy_cores_is_named(found: Any) -> None:
    """As soon as the run is made."""

    class Wrong(Counted):
        def core_watts(self, processor: ProcessorType, busy_cores: int) -> Any:
            return found

    jobs = Workload({"submit_time": [0], "requested_cores": [2], "recorded_run_time": [20]})
    with pytest.raises(
        InputError, match=r"^power model Wrong, processor type 'processor', 1 of 2 cores busy: expected"
    ):
        Simulation(Platform.homogeneous(nodes=1, cores=2), jobs, Fcfs(), power_model=Wrong())


def test_the_accounts_refuse_an_event_that_they_do_not_know() -> None:
    """A record that cannot be charged ends the accounting: energy that is left out would be missed by nobody."""
    platform = Platform.homogeneous(nodes=1, cores=1)
    unknown: Any = [(1.0, 0, "seven watts", {})]
    holds = Holds(*(np.array([], kind) for kind in (np.int64, np.int64, np.int64, np.float64, np.float64)))
    history = History(platform, LinearPower(), 0, holds, TransitionLog(), [], 2.0, rated_watts=unknown)
    with pytest.raises(TypeError, match="'rate', 0, 'seven watts'"):
        settle(history)
