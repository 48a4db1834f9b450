"""Small inputs in a folder of their own, in which every command of these tests runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cluster_sim.cli import main

PLATFORM = {
    "id": "lab",
    "processor_types": {
        "slow": {
            "cores": 4,
            "clock_ghz": 1.0,
            "power": {"static_w": 10.0, "dynamic_w": 2.0, "min_power": 0.5},
            "contention": {"b": -1.85e-5, "c": 32000, "da": 1, "db": 500, "dc": 25000, "dd": 500},
        },
        "fast": {"cores": 4, "clock_ghz": 2.0, "power": {"static_w": 20.0, "dynamic_w": 5.0, "min_power": 0.5}},
    },
    "node_types": {"thin": {"processors": [{"type": "slow"}]}, "quick": {"processors": [{"type": "fast"}]}},
    "clusters": [{"nodes": [{"type": "thin", "count": 2}, {"type": "quick"}]}],
}

WORKLOAD = {
    "profiles": {"A": {"req_ops": 20e9, "ipc": 1, "req_time": 30, "mem": 10, "mem_vol": 100}},
    "jobs": [{"id": f"j{i}", "subtime": 2 * i, "res": 1 + i % 4, "profile": "A"} for i in range(8)],
}

# id submit wait run procs cpu mem procs' time' mem' status user group app queue partition before think
LOG = """\
; Version: 2.2
; Computer: three jobs
; MaxProcs: 8
1   0 -1 100 4 -1 -1 4 120 -1 1 1 1 1 1 1 -1 -1
2  10 -1  50 8 -1 -1 8  60 -1 1 2 1 1 1 1 -1 -1
3  20 -1  10 1 -1 -1 1  20 -1 1 1 1 1 1 1 -1 -1
"""

Command = Callable[..., Result]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with lab.json, jobs.json and log.swf in it."""
    (tmp_path / "lab.json").write_text(json.dumps(PLATFORM))
    (tmp_path / "jobs.json").write_text(json.dumps(WORKLOAD))
    (tmp_path / "log.swf").write_text(LOG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def command(here: Path) -> Command:
    """``command("run", …)`` runs a command there, whatever its exit status."""

    def run(*words: str | Path) -> Result:
        return CliRunner().invoke(main, [str(word) for word in words])

    return run


@pytest.fixture
def done(command: Command) -> Command:
    """The same for commands that must succeed."""

    def run(*words: str | Path) -> Result:
        result = command(*words)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.stderr
        return result

    return run


@pytest.fixture
def refused(command: Command) -> Callable[..., str]:
    """The same for commands with wrong input: the one line that they leave on stderr, exit status 2 and no more."""

    def run(*words: str | Path) -> str:
        result = command(*words)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        lines = result.stderr.splitlines()
        assert (result.exit_code, len(lines)) == (2, 1), result.output
        assert lines[0].startswith("cluster-sim: ")
        return lines[0].removeprefix("cluster-sim: ")

    return run
