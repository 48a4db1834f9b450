"""Any executor gives the same rows; workers that die, and the program that is killed, lose nothing that was finished."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from analysis.sweep import Grid, read_runs, sweep
from cluster_sim.errors import InputError
from cluster_sim.executors import Serial, make_processes

from .conftest import SMALL

OF_THE_RUN = ["elapsed_s", "cpu_s", "worker"]
GONE = BrokenProcessPool("gone")


def same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """Fail unless both have the same rows, but for how long they took and where."""
    pd.testing.assert_frame_equal(one.drop(columns=OF_THE_RUN), other.drop(columns=OF_THE_RUN))


def begun(path: Path) -> Counter[int]:
    """How often each cell was begun."""
    return Counter(int(line.split()[0]) for line in path.read_text().splitlines())


def failed_with(error: Exception) -> Future[Any]:
    """A future that has ended so."""
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


def test_threads_and_this_process() -> None:
    """One executor after another, the same rows, in the order of the cells."""
    grid = Grid.of(SMALL)
    here = sweep(grid, workers=1).runs()
    assert here["cell"].tolist() == list(range(6))
    with ThreadPoolExecutor(2) as threads:
        same(sweep(grid, executor=threads).runs(), here)


def test_a_worker_is_killed(tmp_path: Path, on_workers: ModuleType) -> None:
    """What it had under way is run by the next one; the rows are those of a sweep in which nobody died."""
    pools: list[Any] = []

    def make() -> Any:
        pools.append(make_processes(1))
        return on_workers.Through(pools[-1], on_workers.deadly, 2, str(tmp_path / "dead"))

    grid = Grid.of(SMALL)
    outcome = sweep(grid, executor=make, in_flight=2)
    assert (outcome.done, outcome.failed, len(pools)) == (6, 0, 2)
    same(outcome.runs(), sweep(grid, workers=1).runs())


def test_a_cell_that_kills_its_workers_is_recorded() -> None:
    """It is tried three times, at last alone, and is a failed row; those that were under way beside it are done."""
    made: list[Executor] = []

    class Pool(Serial):
        """Breaks of cell 2, and is of no use from then on."""

        def __init__(self) -> None:
            made.append(self)
            self.broken = False

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            self.broken = self.broken or args[0]["cell"] == 2
            return failed_with(GONE) if self.broken else super().submit(fn, *args, **kwargs)

    grid = Grid.of(SMALL)
    outcome = sweep(grid, executor=Pool, in_flight=2)
    assert (outcome.done, outcome.failed, len(made)) == (5, 1, 4)
    failure = outcome.failures().iloc[0]
    assert (failure["cell"], failure["error"]) == (2, "Its worker died, 3 times; at last nothing else ran.")
    runs, here = outcome.runs(), sweep(grid, workers=1).runs()
    for column in ("energy_j", "mean_wait_s"):
        assert runs[column].drop(2).tolist() == here[column].drop(2).tolist()


def test_workers_that_never_live(tmp_path: Path) -> None:
    """Pools that break before anything ends are given up, with a hint at the usual reason."""

    class Broken(Serial):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            raise GONE

    with pytest.raises(InputError, match=r"workers that live .*__main__.* found 5 times in a row: gone"):
        sweep(Grid.of(SMALL), executor=Broken)
    with pytest.raises(InputError, match="an executor that lives, or a function that makes another"):
        sweep(Grid.of(SMALL), executor=Broken())


def test_a_small_sweep_whose_workers_never_live_has_the_hint_in_its_rows() -> None:
    """Two cells fail before the pools are given up."""

    class Dead(Serial):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            return failed_with(GONE)

    outcome = sweep(
        Grid.of(SMALL | {"factors": SMALL["factors"] | {"scheduler": "fcfs"}, "replications": 2}), executor=Dead
    )
    assert outcome.failed == 2
    hint = "None has lived so far: in a script, what starts them belongs under: if __name__ == '__main__'"
    assert all(error.endswith(hint) for error in outcome.failures()["error"])


def test_an_executor_that_breaks_as_it_is_given_the_last_task() -> None:
    """The task that was to be tried alone is tried on the next one."""
    submits = iter(["ends", "ends", "refuses", "works"])

    class Frail(Serial):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            how = next(submits)
            if how == "refuses":
                raise GONE
            future = super().submit(fn, *args, **kwargs)
            return future if how == "works" else failed_with(GONE)

    outcome = sweep(
        Grid.of(SMALL | {"factors": SMALL["factors"] | {"scheduler": "fcfs"}, "replications": 1}), executor=Frail
    )
    assert (outcome.done, outcome.failed) == (1, 0)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_kill_9_and_resume(tmp_path: Path) -> None:
    """The whole program is killed while it runs: what it had finished is there, and only the rest is run then."""
    (tmp_path / "grid.yaml").write_text(
        "factors: {platform: 'homogeneous:nodes=4,cores=2', workload: 'lublin:jobs=150,nodes=8', scheduler: [fcfs, easy]}\n"
        "replications: 8\n"
    )
    out = tmp_path / "out"
    command = [sys.executable, "-m", "cluster_sim", "sweep", "grid.yaml", "--out", "out", "--workers", "1"]
    journal = out / "parts" / "part-00001.jsonl"
    program = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    try:
        while program.poll() is None and not (journal.exists() and journal.read_bytes().count(b"\n") >= 3):
            time.sleep(0.01)
    finally:
        program.kill()
        program.wait()
    with journal.open("ab") as file:
        file.write(b'{"cell": 15, "status": "do')  # as if it had been killed while it wrote
    before = read_runs(out)
    assert 3 <= len(before) < 16
    grid = Grid.read(tmp_path / "grid.yaml")
    outcome = sweep(grid, out, workers=1, resume=True)
    assert (outcome.done, outcome.ran) == (16, 16 - len(before))
    after = outcome.runs()
    kept = after[after["cell"].isin(before["cell"])].reset_index(drop=True)
    # Even how long they took: these are the rows of the first program.
    assert kept["elapsed_s"].tolist() == before["elapsed_s"].tolist()
    assert kept["energy_j"].tolist() == before["energy_j"].tolist()
    same(after, sweep(grid, workers=1).runs())


def test_a_dask_worker_is_killed(tmp_path: Path, on_workers: ModuleType) -> None:
    """On a cluster of two processes, one of which is killed midway: complete, the same rows, nothing finished run again."""
    distributed = pytest.importorskip("distributed")
    grid = Grid.of(SMALL | {"replications": 6})
    log, out = tmp_path / "log", tmp_path / "out"
    recorded: set[int] = set()

    def kill_one() -> None:
        """When some rows are there, kill the process that began the last cell."""
        parts = out / "parts"
        while sum(path.read_bytes().count(b"\n") for path in parts.glob("*.jsonl")) < 5:
            time.sleep(0.01)
        recorded.update(read_runs(out)["cell"])
        time.sleep(0.1)  # until dask has heard that nobody holds the last of them any more
        os.kill(int(log.read_text().splitlines()[-1].split()[1]), signal.SIGKILL)

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        executor = on_workers.Through(client.get_executor(pure=False), on_workers.noted, str(log), 0.1)
        killer = threading.Thread(target=kill_one)
        killer.start()
        outcome = sweep(grid, out, executor=executor, in_flight=4)
        killer.join()
    assert (outcome.done, outcome.failed) == (12, 0)
    same(outcome.runs(), sweep(grid, workers=1).runs())
    times = begun(log)
    assert len({line.split()[1] for line in log.read_text().splitlines()}) >= 2
    assert recorded
    assert [times[cell] for cell in recorded] == [1] * len(recorded)
    assert sum(times.values()) >= 12
