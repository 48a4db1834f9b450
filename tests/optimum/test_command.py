"""``cluster-sim optimum``: what it prints, leaves and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cluster_sim.cli import main

PLATFORM = "homogeneous:nodes=1,cores=2"


@pytest.fixture
def workload(tmp_path: Path) -> str:
    """Three jobs on two cores: 4 s alone on one of them, 2 s on both, 4 s on one."""
    path = tmp_path / "jobs.csv"
    path.write_text("submit_time,requested_cores,recorded_run_time\n0,1,4\n0,2,2\n0,1,4\n")
    return str(path)


def call(*words: str) -> Result:
    """The command with these words."""
    return CliRunner().invoke(main, ["optimum", "--platform", PLATFORM, *words])


def test_what_it_prints(workload: str) -> None:
    """The value, that it is proven, each start, and how far the scheduler that blocks is from it: 6 s against 10 s."""
    result = call("--workload", workload, "--objective", "makespan", "--against", "fcfs")
    lines = result.stdout.splitlines()
    assert result.exit_code == 0, result.stderr
    assert lines[0] == "optimum (makespan, without waiting): 6 s"
    assert lines[1].startswith("proven, ")
    assert sum("cluster0.node0: " in line for line in lines) == 3
    assert lines[-1].split() == ["fcfs", "10", "s", "+66.7", "%"]


def test_a_limit_is_told(tmp_path: Path) -> None:
    """A search that had to stop says by how much it may be wrong: three jobs of 3, 3 and 2 s on two cores need 5, not 4."""
    path = tmp_path / "jobs.csv"
    path.write_text("submit_time,requested_cores,recorded_run_time\n0,1,3\n0,1,3\n0,1,2\n")
    result = call("--workload", str(path), "--waiting", "--max-nodes", "1")
    assert result.stdout.startswith("best found (energy, with waiting): ")
    assert "not proven after 1 positions: the optimum is at least" in result.stdout


def test_results_of_its_run(workload: str, tmp_path: Path) -> None:
    """The folder holds the run that follows the schedule."""
    out = tmp_path / "out"
    result = call("--workload", workload, "--objective", "makespan", "--out", str(out))
    assert result.exit_code == 0, result.stderr
    summary = json.loads((out / "summary.json").read_text())
    assert summary["makespan_s"] == 6.0
    assert summary["scheduler"] == "optimum of makespan"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--against", "nobody"], "nobody"),
        (["--objective", "time"], "time"),
        (["--max-seconds", "0"], "a number above 0"),
        (["--power-model", "nothing"], "nothing"),
        (["--first", "0"], "0"),
    ],
)
def test_wrong_input_ends_in_one_line(workload: str, words: list[str], said: str) -> None:
    """Exit status 2, and a line that names the option or value."""
    result = call("--workload", workload, *words)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert said in result.stderr


def test_without_a_workload() -> None:
    """There is nothing to search."""
    result = call()
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
