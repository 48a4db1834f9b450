"""Experiment 1 of López (2023): its optima, found by others with the thesis' own program."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster_sim import Platform, Simulation, Workload
from cluster_sim.platform import Cluster, NodeGroup, NodeType, ProcessorType
from schedulers.optimum import optimum

from .test_optimum import replayed

Instance = tuple[Platform, Workload]

# (objective, value as printed, tolerance by its last digit)
FIGURES = [  # without waiting
    ("energy", 2852.83, 0.005),
    ("makespan", 70.12, 0.005),
    ("edp", 200_050, 0.5),
]


@pytest.fixture(scope="module")
def written_out() -> Instance:
    """Two nodes of 4 and 8 cores; four jobs A of 4 cores, two jobs B of 2 cores that contend for memory."""
    kinds = [
        ProcessorType(
            f"p{cores}",
            cores,
            2.5,
            power={"static_w": 24.38, "dynamic_w": 2.3, "min_power": 0.05},
            contention={"b": -1.85e-5, "c": 32000, "da": 1.75, "db": 2000, "dc": 50000, "dd": 6000},
        )
        for cores in (4, 8)
    ]
    platform = Platform((Cluster("c", tuple(NodeGroup(NodeType(f"n{k.cores}", (k,)), 1) for k in kinds)),))
    profile = {"A": (4, 12.5e9, 1.0), "B": (2, 62.5e9, 1e6)}
    cores, operations, volume = zip(*(profile[letter] for letter in "AABABA"), strict=True)
    columns = {"requested_cores": cores, "operations": operations, "mem_vol": volume}
    return platform, Workload({"submit_time": [round(0.05 * i, 2) for i in range(6)], **columns})


@pytest.mark.parametrize(("objective", "value", "tolerance"), FIGURES)
def test_optima_without_waiting(written_out: Instance, objective: str, value: float, tolerance: float) -> None:
    """Each optimum to the last digit printed, and again in a simulation that follows its schedule."""
    found = optimum(*written_out, objective)
    assert found.proven
    assert found.value == pytest.approx(value, abs=tolerance)
    assert replayed(found, *written_out) == pytest.approx(found.value, rel=1e-9)


def test_the_least_edp_takes_as_long_as_printed(written_out: Instance) -> None:
    """The schedule of the least EDP ends after 49.67 s, and is the one of the least energy, 2736.40 J."""
    found = optimum(*written_out, "edp", waiting=True)
    summary = Simulation(*written_out, found.scheduler()).run().summary()
    assert found.proven
    assert found.value == pytest.approx(135_912, abs=0.5)
    assert summary["edp_js"] == pytest.approx(found.value, rel=1e-9)
    assert summary["makespan_s"] == pytest.approx(49.67, abs=0.01)
    assert summary["energy_j"] == pytest.approx(2736.40, abs=0.005)


def test_from_the_files(shared: Path) -> None:
    """The case's own files say the same as what is written out here."""
    folder = shared / "cases" / "irmasim" / "experiment1"
    platform, workload = Platform.read(folder / "platform.json"), Workload.read(folder / "workload.json")
    assert optimum(platform, workload, "energy").value == pytest.approx(2852.83, abs=0.005)
