"""The capacity that is left over in each rack."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cluster_sim import Simulation, make_scheduler
from tests.requests.conftest import jobs, machine
from tests.requests.test_switches import racks


def test_what_is_left_in_each_rack() -> None:
    """Two racks of two nodes of two cores: a job of one core for 10 s, and one of four on the two nodes of the second rack."""
    workload = jobs((0, 1, 10), (2, 4, 4), nodes=[0, 2])
    result = Simulation(racks(2, 2, cores=2), workload, make_scheduler("fcfs:nodes=fewest-switches")).run()
    assert result.free_by_switch().to_numpy().tolist() == [
        [0.0, "rack0", 3, 1],
        [0.0, "rack1", 4, 2],
        [2.0, "rack1", 0, 0],
        [6.0, "rack1", 4, 2],
        [10.0, "rack0", 4, 2],
    ]


def test_it_adds_up_to_what_is_free_on_the_machine(tmp_path: Path) -> None:
    """At every change; a saved result says the same, and without a topology there is one rack."""
    rows = [(float(i), 1 + i % 3, 3.0 + i % 5) for i in range(40)]
    for name, platform in (("racks", racks(2, 3, 1, cores=2)), ("plain", machine((4, 2, "")))):
        result = Simulation(platform, jobs(*rows), make_scheduler("easy")).run()
        table = result.free_by_switch()
        free = table.pivot(index="time", columns="switch", values="free_cores").ffill().sum(axis=1)
        held = result.allocations
        for time, cores in free.items():
            now = held[(held["start"] <= time) & (held["end"] > time)]
            assert cores == platform.core_count - (now["last_core"] - now["first_core"] + 1).sum()
        result.save(tmp_path / name)
        assert type(result).load(tmp_path / name).free_by_switch().equals(table)
        assert np.array_equal(np.unique(table["switch"]), np.unique(platform.switch_tree.leaves))
