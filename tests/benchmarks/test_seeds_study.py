"""The study of how far trainings lie apart: what stands on a line, and who plays beside the agents."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from analysis.reproduce.plays import Played
from benchmarks.seeds_study import agents_line, case_of, table
from cluster_sim import Platform, Workload
from learning.config import Config


def test_a_line_by_hand() -> None:
    """Against 100 J: two agents that need 90 and 70 J, and with drawn actions 80 and 100, 110 and 130 J."""
    played = [
        Played([{"energy_j": 80.0}, {"energy_j": 100.0}], {"energy_j": 90.0}),
        Played([{"energy_j": 110.0}, {"energy_j": 130.0}], {"energy_j": 70.0}),
    ]
    line = agents_line("two", played, lambda reached: 100.0 - reached["energy_j"])
    assert line == "| two | 10.00, 30.00 | 20.00 ± 14.14 | 10.00, -20.00 | -5.00 |"


def test_random_search_and_untrained_agents_stand_beside_a_rule(tmp_path: Path) -> None:
    """One job on one node: whoever plays needs what the heuristic needs, in as many episodes as the training would have."""
    Platform.homogeneous(nodes=1, cores=1).write(tmp_path / "platform.json")
    Workload(
        {"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [60.0], "requested_time": [60.0]}
    ).write(tmp_path / "workload.json")
    files = {"platform": str(tmp_path / "platform.json"), "workload": str(tmp_path / "workload.json")}
    config = Config(environment=files, iterations=2, episodes=3, seeds=2)
    lines = table(config, case_of(config, files["workload"]), [], "fcfs", ["easy"], "energy_j", 1)
    assert [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[3:]] == [
        ["untrained", "0.00, 0.00", "0.00 ± 0.00", "0.00, 0.00", "0.00"],
        ["random search, best of 6", "0.00", "", "", "0.00"],
        ["`easy`", "0.00", "", "", ""],
    ]
