"""Energy by state, waste, switches, cycles and delays of a small day that was worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from analysis.reproduce.deepshutdown.days import DAY_S, episode, figures
from cluster_sim import Platform, Result, Simulation, Workload, make_power_policy, make_scheduler
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions, ProcessorType
from cluster_sim.records.metrics import delays
from cluster_sim.workload.fields import SUMMARY_METRICS, names

MINUTE = 60.0
OFF, IDLE, BUSY, SWITCH_ON, SWITCH_OFF = 9, 95, 190, 125, 101  # W of a core, and minutes: on 1, off 3


def taurus(nodes: int, cores: int) -> Platform:
    """Nodes as in the paper's Fig. 4, watts for each core, off at the start."""
    power = {"static_w": float(IDLE * cores), "dynamic_w": float(BUSY - IDLE), "min_power": 1.0}
    transitions = PowerTransitions(OFF * cores, MINUTE, SWITCH_ON * cores, 3 * MINUTE, SWITCH_OFF * cores)
    kind = NodeType("taurus", (ProcessorType("p", cores, 1.0, power=power),), None, transitions, initially_off=True)
    return Platform((Cluster("c", (NodeGroup(kind, nodes),)),))


def jobs(*rows: tuple[int, int, float, int]) -> Workload:
    """Jobs from (submission, cores, run time, requested time), in minutes."""
    submit, cores, run, asked = (np.array(column, float) for column in zip(*rows, strict=True))
    columns = {"submit_time": submit * MINUTE, "requested_cores": cores.astype(int)}
    columns |= {"recorded_run_time": run * MINUTE, "requested_time": asked * MINUTE}
    return Workload(columns, rebase=False)


@pytest.fixture
def day() -> Result:
    """Two nodes of four cores that are off, timeout 2 min, cut at 60 min.

    Minute 10: job 0 takes four cores of node 0, boots it, runs from 11 to 15. Minute 12: job 1 takes one core of node 1, boots
    it, runs from 13 to 23. Minute 16: job 2 takes two cores; node 0 is idle since 15, it runs there from 16 to 18. Node 0 idles
    until 20, is off from 23 on; node 1 idles from 23 to 25 and is off from 28 on. Minute 59: job 3 boots node 0, and is
    cut off before it begins.
    """
    workload = jobs((10, 4, 4, 8), (12, 1, 10, 2000), (16, 2, 2, 60), (59, 1, 5, 5))
    policy = make_power_policy("timeout:120")
    return Simulation(taurus(2, 4), workload, make_scheduler("saf-easy"), policy, until=60 * MINUTE).run()


def test_seconds_and_switches_of_each_node(day: Result) -> None:
    """Node by node what the story says; a boot at the end makes a third transition, and no second cycle."""
    nodes = day.nodes.set_index("node")
    minutes = (
        nodes[[f"{state}_s" for state in ("off", "switching_on", "idle", "computing", "switching_off", "failed")]] / 60
    )
    assert minutes.values.tolist() == [[10 + 36, 1 + 1, 1 + 2, 4 + 2, 3, 0], [12 + 32, 1, 2, 10, 3, 0]]
    assert nodes["switches_on"].tolist() == [2, 1]
    assert nodes["switches_off"].tolist() == [1, 1]
    assert nodes["on_off_cycles"].tolist() == [1, 1]
    assert (nodes["busy_core_s"] / 60).tolist() == [4 * 4 + 2 * 2, 10]


def test_waste_by_node_and_by_core(day: Result) -> None:
    """By node idle cores of a computing node are no waste; by core they are. In J, and in the paper's W min."""
    summary = day.summary()
    by_node = 4 * (5 * IDLE + 3 * SWITCH_ON + 6 * SWITCH_OFF)
    by_core = by_node + IDLE * (2 * 2 + 3 * 10)
    assert (summary["energy_waste_j"], summary["energy_waste_by_core_j"]) == (by_node * 60, by_core * 60)
    assert (summary["energy_waste_wmin"], summary["energy_waste_by_core_wmin"]) == (by_node, by_core)
    assert (summary["node_switches"], summary["on_off_cycles"]) == (5, 2)
    counted = figures(day)
    assert counted[["energy_waste", "node_waste", "nb_switches"]].tolist() == [by_core, by_node / 4, 5]
    assert counted["time_computing"] == 30
    assert counted["time_idle"] == 4 * 5 + 2 * 2 + 3 * 10


def test_every_joule_is_in_one_state(day: Result) -> None:
    """By state, by node and in all: the same sum, to the last bit; and the watts of the states, by hand."""
    summary, nodes = day.summary(), day.nodes
    states = ("off", "switching_on", "idle", "computing", "switching_off", "failed")
    assert sum(summary[f"energy_{state}_j"] for state in states) == summary["energy_j"]
    assert nodes["energy_j"].sum() == summary["energy_j"]
    idle_cores, busy_cores = 20 + 34, 30
    watt_minutes = OFF * 4 * 90 + SWITCH_ON * 12 + IDLE * idle_cores + BUSY * busy_cores + SWITCH_OFF * 24
    assert summary["energy_wmin"] == watt_minutes
    assert figures(day)["consumed_joules"] == watt_minutes


def test_stretch_and_delay(day: Result) -> None:
    """Waits of 1, 1 and 0 min for 8, 2000 and 60 requested: nobody is delayed; with another threshold job 0 is, by 36 s."""
    summary = day.summary()
    assert summary["max_stretch"] == 1 / 8
    assert summary["mean_stretch"] == pytest.approx((1 / 8 + 1 / 2000) / 3)
    assert (summary["jobs_delayed"], summary["share_delayed"], summary["total_delay_s"]) == (0, 0.0, 0.0)
    assert summary["jobs_unfinished"] == 1
    late = delays(day.jobs, theta=0.05)
    assert late.tolist()[0] == pytest.approx(60 - 0.05 * 480)
    assert late.isna().tolist() == [False, True, True, True]


def test_delay_at_the_threshold() -> None:
    """Eq. 10: at wait = theta x requested time a job counts, with a delay of nothing; without a request it never does."""
    table = pd.DataFrame(
        {"wait_time": [5.0, 4.9, 8.0, 99.0, math.nan], "requested_time": [10.0, 10.0, 10.0, math.inf, 1.0]}
    )
    assert delays(table).fillna(-1).tolist() == [0.0, -1, 3.0, -1, -1]


def test_slowdowns_on_one_core() -> None:
    """Two jobs at once on one core: turnaround over run time, and largest and mean of the kinds there are."""
    workload = Workload({"submit_time": [0, 0], "requested_cores": [1, 1], "recorded_run_time": [5, 20]})
    summary = Simulation(Platform.homogeneous(1, 1), workload, make_scheduler("fcfs")).run().summary()
    assert (summary["max_slowdown"], summary["mean_slowdown"]) == (25 / 20, (1 + 25 / 20) / 2)
    assert summary["max_bounded_slowdown"] == 25 / 20
    assert summary["max_stretch"] == 5 / 20  # waits 5 s; the run time stands in for a request
    assert set(summary.index) == set(names(SUMMARY_METRICS))


def test_waste_of_nodes_with_sockets_and_of_failed_ones() -> None:
    """Two sockets, a job on one core of one: the other socket's cores are idle ones, each with its part of idle watts."""
    power = {"static_w": 40.0, "dynamic_w": 5.0, "min_power": 0.5}
    workload = Workload({"submit_time": [0], "requested_cores": [1], "recorded_run_time": [10]})
    simulation = Simulation(Platform.homogeneous(2, 8, processors=2, power=power), workload, make_scheduler("fcfs"))
    simulation.run(until=4.0)
    simulation.node(1).fail()
    result = simulation.run()
    nodes = result.nodes
    assert nodes["energy_waste_j"].tolist() == [0.0, 4 * 2 * 20.0]
    assert nodes["energy_waste_by_core_j"].tolist() == [10 * 7 * 20.0 / 4, 4 * 2 * 20.0]
    assert (nodes["failed_s"].tolist(), nodes["failed_j"].tolist()) == ([0, 6], [0, 0])
    assert result.summary()["energy_failed_j"] == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_shape_of_table_3_on_a_made_up_day(seed: int) -> None:
    """Bursts of short jobs: waste grows with the timeout, switches shrink; every figure adds up to the paper's identity."""
    rng = np.random.default_rng(seed)
    starts = np.sort(rng.integers(0, 1300, 12))
    submit = np.sort(np.concatenate([start + rng.integers(0, 40, 8) for start in starts]))
    rows = [(int(t), int(rng.integers(1, 13)), float(rng.integers(1, 6)), 30) for t in submit]
    platform = taurus(8, 4)
    waste, switches = [], []
    for spec in ("timeout:0", "timeout:300", "timeout:1200"):
        day = episode(jobs(*rows), platform)
        run = Simulation(platform, day, make_scheduler("saf-easy"), make_power_policy(spec), until=DAY_S)
        counted = figures(run.run())
        waste.append(counted["node_waste"])
        switches.append(counted["nb_switches"])
        watts = {
            "idle": IDLE,
            "computing": BUSY,
            "switching_off": SWITCH_OFF,
            "switching_on": SWITCH_ON,
            "sleeping": OFF,
        }
        total = sum(w * counted[f"time_{state}"] for state, w in watts.items())
        assert total == pytest.approx(counted["consumed_joules"], rel=1e-12)
    assert waste == sorted(waste)
    assert switches == sorted(switches, reverse=True)
