"""The scheduler slurm where nodes hang on switches: which nodes jobs get, and how long they wait for few switches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cluster_sim import Platform, Result, Simulation, Workload, make_scheduler

CONF = """
ClusterName=lab
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PriorityType=priority/basic
TopologyPlugin=topology/tree
SchedulerParameters=bf_interval=1,bf_resolution=1,batch_sched_delay=0,sched_interval=1{more}
NodeName=n[1-5] CPUs=2
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=EXCLUSIVE
"""
SWITCHES = "SwitchName=s1 Nodes=n[1-3]\nSwitchName=s2 Nodes=n[4-5]\nSwitchName=top Switches=s[1-2]\n"

pytestmark = pytest.mark.filterwarnings("ignore::cluster_sim.errors.ModelWarning")


def run(folder: Path, jobs: dict[str, list[Any]], more: str = "", keys: str = "", asks: str = "") -> Result:
    """Jobs on racks of three nodes and two, each of as many cores as its nodes have."""
    conf = folder / "slurm.conf"
    conf.write_text(CONF.format(more=more) + keys)
    (folder / "topology.conf").write_text(SWITCHES)
    count = len(jobs["nodes"])
    table = {"submit_time": [float(i) for i in range(count)], "requested_cores": [2 * nodes for nodes in jobs["nodes"]]}
    table |= {"requested_time": [600.0] * count, "recorded_run_time": [400.0] * count}
    spec = f"slurm:conf={conf}" + (f",asks={asks}" if asks else "")
    return Simulation(Platform.read(conf), Workload(table | jobs), make_scheduler(spec)).run()


def nodes_of(result: Result) -> list[list[int]]:
    """The nodes of each job, by the numbers in their names."""
    held = result.allocations
    jobs = [held[held["job_id"] == job]["node"] for job in result.jobs["job_id"]]
    return [sorted(int(name.rpartition("node")[2]) + 1 for name in names) for names in jobs]


def test_jobs_fill_leaves(tmp_path: Path) -> None:
    """Two nodes go under the switch that has two, and one node to what is left of the other."""
    result = run(tmp_path, {"nodes": [2, 1, 2]})
    assert nodes_of(result) == [[4, 5], [1], [2, 3]]


def test_a_dragonfly_is_filled_from_its_widest_leaf(tmp_path: Path) -> None:
    """Two nodes go where most are free; four go to all leaves, and stand in the way of nobody before them."""
    assert nodes_of(run(tmp_path, {"nodes": [2, 3]}, keys="TopologyParam=Dragonfly\n")) == [[1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    ("wait", "more", "start"),
    [
        (50.0, "", 53.0),
        (400.0, "", 303.0),  # no job waits longer than the configuration lets it
        (400.0, ",max_switch_wait=100", 103.0),
        (float("inf"), "", 303.0),
    ],
)
def test_a_job_waits_so_long_for_one_switch(tmp_path: Path, wait: float, more: str, start: float) -> None:
    """One node is free under each switch, from 3 s on, when the job comes that wants two."""
    wishes = {"switches": [0, 0, 1], "switch_wait": [0.0, 0.0, wait]}
    result = run(tmp_path, {"nodes": [1, 2, 2], "submit_time": [0.0, 1.0, 3.0], **wishes}, more)
    free = {1, 2, 3, 4, 5} - {node for nodes in nodes_of(result)[:2] for node in nodes}
    assert len(free) == 2
    assert set(nodes_of(result)[2]) == free
    assert start <= result.jobs["start_time"][2] <= start + 3.0


def test_what_is_not_simulated_is_rejected_by_name(tmp_path: Path) -> None:
    """Certain nodes, and nodes all over the machine."""
    asks = tmp_path / "asks.json"
    asks.write_text('{"0": {"required_nodes": "n2"}, "1": {"spread": true}}')
    result = run(tmp_path, {"nodes": [1, 1, 1]}, asks=str(asks))
    assert result.jobs["state"].tolist() == ["rejected", "rejected", "completed"]
    assert [reason.partition(",")[0] for reason in result.jobs["reason"][:2]] == [
        "it asks for certain nodes",
        "it asks for nodes all over the machine",
    ]
