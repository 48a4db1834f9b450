"""Damaged files of every format: read, or refused in one line that names the file; never anything else.

The long form is ``python -m benchmarks.damaged --cases 50000``.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # the package of benchmarks is not installed
damaged = importlib.import_module("benchmarks.damaged")
sys.path.remove(str(ROOT))

CASES = dict.fromkeys(("result", "result parquet", "batsim results", "evalys table", "sweep"), 6) | {"what if": 12}
"""Fewer where each takes a tenth of a second: results are read whole, explained and drawn, logs of Slurm's replayed."""


@pytest.mark.parametrize("name", damaged.samples())
def test_damaged_files_are_read_or_refused(name: str) -> None:
    """Some damaged files of each format: no traceback, no waiting, no message without a file."""
    found = damaged.try_cases(name, range(CASES.get(name, 20)), seed=0)
    assert found == {}


@pytest.mark.parametrize("name", damaged.samples())
def test_whole_samples_are_used(tmp_path: Path, name: str) -> None:
    """Undamaged, each sample is read, and used to the end."""
    sample = damaged.samples()[name]
    for place, content in sample.files.items():
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_bytes(content)
    sample.use(str(tmp_path / sample.given))


def test_faults_are_found(tmp_path: Path) -> None:
    """A reader that dies, waits, or speaks of no file is a fault, and none that refuses."""
    from cluster_sim.errors import FormatError

    def refuse(path: str) -> None:
        raise FormatError(path, "something else")

    def speak_of_nothing(path: str) -> None:
        raise FormatError("a file", "something else")

    def wait(path: str) -> None:
        while True:
            Path(path).exists()

    for use, said in (
        (refuse, ""),
        (speak_of_nothing, "a message that names no file: a file: expected something else"),
        (wait, "more than 0.2 s"),
        (lambda path: int(path), "ValueError at test_damaged.py"),
    ):
        assert damaged.fault(damaged.Sample({}, "x", use), tmp_path, limit_s=0.2).startswith(said)
        assert bool(said) == bool(damaged.fault(damaged.Sample({}, "x", use), tmp_path, limit_s=0.2))
