"""A small grid, and functions that worker processes can import."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("pyarrow")

SMALL: dict[str, Any] = {
    "factors": {
        "platform": "homogeneous:nodes=4,cores=2",
        "workload": "lublin:jobs=10,nodes=8",
        "scheduler": ["fcfs", "easy"],
    },
    "replications": 3,
}

# What workers are made to do in these tests; a module of its own, because they find it by name.
ON_WORKERS = '''
import os, signal, time
from concurrent.futures import Executor
from analysis.sweep.cell import run_cell

class Through(Executor):
    """Hands tasks to another executor, with a function around theirs."""
    def __init__(self, inner, around, *more):
        self.inner, self.around, self.more = inner, around, more
    def submit(self, work, given):
        return self.inner.submit(self.around, work, given, *self.more)
    def shutdown(self, wait=True, cancel_futures=False):
        self.inner.shutdown(wait=wait)

def noted(work, given, path, pause=0.0):
    """Leave a line when a cell begins, with the process that runs it."""
    with open(path, "a") as file:
        file.write(f"{given['cell']} {os.getpid()}\\n")
    time.sleep(pause)
    return work(given)

def deadly(work, given, cell, mark):
    """Die of a cell, the first time, as a process dies that the system kills."""
    if given["cell"] == cell and not os.path.exists(mark):
        open(mark, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return work(given)
'''


@pytest.fixture
def on_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module above, which processes started by the test can import, too."""
    import importlib
    import sys

    place = tmp_path / "on-workers"
    place.mkdir()
    (place / "sweep_on_workers.py").write_text(ON_WORKERS)
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setenv("PYTHONPATH", str(place))
    sys.modules.pop("sweep_on_workers", None)
    return importlib.import_module("sweep_on_workers")
