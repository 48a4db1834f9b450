"""Agents that have learned nothing: a paper's rows of agents need some that have."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from cluster_sim.cli import main

pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("paper", "training"), [("energy-scheduler-1", "experiment1-energy"), ("irmasim", "irmasim-selection")]
)
def test_an_agent_of_no_iteration_is_refused(shared: Path, tmp_path: Path, paper: str, training: str) -> None:
    """In one line that names its configuration, before anything is computed."""
    config = Path(__file__).resolve().parents[2] / "examples" / "training" / f"{training}.yaml"
    folder = tmp_path / "agents" / training
    made = CliRunner().invoke(main, ["train", str(config), "--iterations", "0", "--seeds", "1", "--out", str(folder)])
    assert made.exit_code == 0, made.output
    words = ["--quick", "--agents", str(tmp_path / "agents"), "--no-training", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(main, ["reproduce", paper, "--inputs", str(shared), *words])
    assert (result.exit_code, result.stderr.splitlines()) == (
        2,
        [f"cluster-sim: {folder}/config.yaml, iterations: expected at least 1: agents that have learned, found 0"],
    )
    assert not (tmp_path / "out").exists()
