"""Same input, same seed: the same bytes, also in another process with other hashes; another seed: another schedule."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cluster_sim import Platform, ProcessorType, Result, Simulation, Workload, make_power_policy, make_scheduler
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions

TABLES = ("jobs.csv", "node_states.csv", "power.csv")
SCHEDULERS = ("list:random/random", "list:smallest/high_mem_bw,blocking=no", "fcfs")


def contended_run(scheduler: str, seed: int) -> Result:
    """A crowded run on two kinds of nodes: contention, several processors a node, boots, users and profiles."""
    contention = {"b": -1.85e-5, "c": 2000.0, "da": 1.0, "db": 500.0, "dc": 25000.0, "dd": 500.0}
    fast = ProcessorType(
        "fast", 8, 4.2, power={"static_w": 68.8, "dynamic_w": 6.5, "min_power": 0.4}, contention=contention
    )
    slow = ProcessorType(
        "slow", 12, 3.0, power={"static_w": 35.1, "dynamic_w": 3.3, "min_power": 0.4}, contention=contention
    )
    boots = PowerTransitions(off_w=9.0, switch_on_s=60.0, switch_on_w=125.0)
    kinds = (
        NodeGroup(NodeType("wide", (slow, slow), 64.0, boots, initially_off=True), 3),
        NodeGroup(NodeType("quick", (fast,)), 4),
    )
    platform = Platform((Cluster("cluster0", kinds),))
    count = 120
    workload = Workload(
        {
            "submit_time": [float(7 * i // 10) for i in range(count)],
            "requested_cores": [1 + 5 * i % 30 for i in range(count)],
            "recorded_run_time": [10.0 + 37 * i % 300 for i in range(count)],
            "requested_time": [20.0 + 37 * i % 300 for i in range(count)],
            "mem_vol": [1000.0 * (i % 3) * (10.0 + 37 * i % 300) for i in range(count)],
            "memory": [100.0 + i for i in range(count)],
            "user": [f"user{i % 5}" for i in range(count)],
        }
    )
    power = make_power_policy("always-on")
    return Simulation(platform, workload, make_scheduler(scheduler), power, seed, enforce_walltime=True).run()


def save_all(folder: Path) -> None:
    """Every scheduler's run into its own folder."""
    for i, scheduler in enumerate(SCHEDULERS):
        contended_run(scheduler, seed=7).save(folder / str(i))


@pytest.fixture
def two_processes(tmp_path: Path) -> list[Path]:
    """The folders that this process and one with other hashes filled."""
    program = (
        "import importlib.util, pathlib, sys\n"
        "spec = importlib.util.spec_from_file_location('runs', sys.argv[1])\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "module.save_all(pathlib.Path(sys.argv[2]))\n"
    )
    folders = [tmp_path / "one", tmp_path / "two"]
    save_all(folders[0])
    environment = os.environ | {"PYTHONHASHSEED": "1" if os.environ.get("PYTHONHASHSEED") == "4242" else "4242"}
    subprocess.run([sys.executable, "-c", program, __file__, str(folders[1])], check=True, env=environment)
    return folders


def test_two_processes_write_the_same_bytes(two_processes: list[Path]) -> None:
    """The CSV records of the same run are byte-identical across processes."""
    one, two = two_processes
    for i in range(len(SCHEDULERS)):
        for table in TABLES:
            content = (one / str(i) / table).read_bytes()
            assert content.count(b"\n") > 7
            assert content == (two / str(i) / table).read_bytes(), (SCHEDULERS[i], table)


def test_another_seed_is_another_schedule() -> None:
    """What is random follows the seed, and only the seed; what is not random does not."""
    drawn = [contended_run("list:random/random", seed).jobs_with_allocation() for seed in (1, 1, 2)]
    assert drawn[0].equals(drawn[1])
    assert not drawn[0].equals(drawn[2])
    fixed = [contended_run("fcfs", seed).jobs for seed in (1, 2)]
    assert fixed[0].equals(fixed[1])
