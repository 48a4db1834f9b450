"""What all tests share: the way to the cases of other programs, and the settings of random tests."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from cluster_sim import executors

# Before torch is imported, here and in the processes that tests start: its threads cost more than they bring for small networks.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same examples in every run, and no limit on the time of one: a slow machine is no failure. Long forms that try many more
# are in benchmarks/.
settings.register_profile(
    "project",
    max_examples=50,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("project")


def pytest_collection_finish() -> None:
    """Spare the garbage collector what stays until the end: modules and collected tests, a million objects."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give all tests of a file to one process, so that what they share is made once."""
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log) if config.getvalue("dist") == "load" else None


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork worker processes from this one, which spares each the imports; how they start is tested elsewhere."""
    if "fork" not in multiprocessing.get_all_start_methods():
        return

    def make(count: int, begin: Callable[[], None] = executors.begin_worker) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(count, multiprocessing.get_context("fork"), begin)

    monkeypatch.setattr(executors, "make_processes", make)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of logs and of other programs' results beside the repository; tests that need it skip without it."""
    folder = Path(__file__).resolve().parents[1].parent / "shared"
    if not folder.is_dir():
        pytest.skip("../shared, with logs and other programs' results, is not there")
    return folder
