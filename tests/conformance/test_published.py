"""Figures of López (2023) that need no agent, from inputs as their reproduction has them."""

from __future__ import annotations

import pytest

from analysis.reproduce.energy_scheduler.lopez import experiment
from cluster_sim import Simulation, make_scheduler
from cluster_sim.records import Result

# (experiment, job order/node order, energy J, makespan s, EDP J·s): published, and measured again with the thesis' own
# program to the digits given; None where nothing is given. The thesis' "high_mem" is most_used_mem.
FIGURES = [
    ("1", "low_mem_ops/high_mem_bw", 3575.13, 86.146, 307_983),
    ("1", "smallest/high_gflops", 3564.94, 81.845, 291_773),  # "configuration 2"
    ("1", "smallest/most_used_mem", 3564.94, 81.845, 291_773),
    ("1", "smallest/high_cores", 3559.99, None, None),
    ("2", "smallest/most_used_mem", 32_090.88, 158.036, 5_071_504.8),
    ("2", "smallest/high_mem_bw", 32_101.93, None, None),
    ("3", "smallest/most_used_mem", 315_245, 158.126, 49_848_416),
    ("4-mem", "first/high_gflops", 1_854_390, None, None),
    ("4-mem", "first/high_cores", 1_912_653, None, None),
    ("4-mem", "first/high_mem_bw", 2_075_854, None, None),
    ("4-comp", "first/high_gflops", 291_368, None, None),
    ("4-comp", "first/high_cores", 228_525, None, None),
    ("4-comp", "first/high_mem_bw", 291_368, None, None),
]


def run(name: str, orders: str) -> Result:
    """One experiment under one list scheduler."""
    platform, workload = experiment(name)
    return Simulation(platform, workload, make_scheduler(f"list:{orders}")).run()


@pytest.mark.parametrize(("name", "orders", "energy", "makespan", "edp"), FIGURES)
def test_published_figures(name: str, orders: str, energy: float, makespan: float | None, edp: float | None) -> None:
    """Energy, makespan and EDP of the thesis, to the last digit that was printed."""
    summary = run(name, orders).summary()
    assert summary["energy_j"] == pytest.approx(energy, rel=2e-6)
    if makespan is not None:
        assert summary["makespan_s"] == pytest.approx(makespan, abs=5e-4)
    if edp is not None:
        assert summary["edp_js"] == pytest.approx(edp, abs=0.5)


def test_the_best_published_heuristics_of_experiment_1_are_beaten_by_the_smallest_first() -> None:
    """The five smallest-first pairs need less energy than the heuristic the thesis calls the best."""
    best = run("1", "low_mem_ops/high_mem_bw").summary()["energy_j"]
    nodes = ("high_gflops", "high_cores", "most_used_mem", "high_mem_bw", "low_power")
    assert all(run("1", f"smallest/{order}").summary()["energy_j"] < best - 10 for order in nodes)
