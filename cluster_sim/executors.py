"""Executors of runs: processes of our own, one thread each, or this process.

Any other ``concurrent.futures.Executor`` will do as well: dask's ``Client.get_executor()``, ``mpi4py.futures``, threads.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Annotated, Any

from annotated_types import Ge
from typing_extensions import Doc

WORKERS = "processes, as many as there are cores unless given; the result does not depend on them"
Workers = Annotated[int | None, Ge(1), Doc(WORKERS)]

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")

# By name, so that dask need not be there: a worker died too often under a task, or the cluster went away.
_WORKER_DIED = ("KilledWorker", "CancelledError", "FutureCancelledError")


UNDER_MAIN = "in a script, what starts them belongs under: if __name__ == '__main__'"
"""A hint for processes that die: each spawned process runs the user's script again, up to that line."""


class Serial(Executor):
    """An executor that runs what is submitted at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run ``fn`` and return a future that is done."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def begin_worker() -> None:
    """Prepare a spawned process: it has one thread, ignores Ctrl-C, and ends with its parent."""
    one_thread_each()
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_parent() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)  # else it would finish a task whose result nothing reads

    threading.Thread(target=end_with_parent, daemon=True).start()


def make_processes(count: int, begin: Callable[[], None] = begin_worker) -> ProcessPoolExecutor:
    """Make ``count`` processes, each of which runs ``begin`` first.

    They are spawned: a fork of a process with threads may hang. They have one thread each, leave Ctrl-C to this
    process, and end when it is killed.
    """
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), begin)


def end_processes(pool: Executor) -> None:
    """End processes of our own at once, whatever they do: they write nothing, or write it whole."""
    processes = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()


@contextmanager
def single_threaded_children() -> Iterator[None]:
    """Give processes started in here one thread for numbers, also those that load numpy before anything of ours."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def one_thread_each() -> None:
    """Use one thread for numbers in this process, if it is a worker: there is a worker for each core.

    Libraries that are loaded already do not read the environment again, so torch is told directly. A user's own process
    stays as it is.
    """
    if multiprocessing.parent_process() is None and "mpi4py" not in sys.modules:
        return
    if "torch" in sys.modules and sys.modules["torch"].get_num_threads() != 1:
        sys.modules["torch"].set_num_threads(1)
    for name in THREADS:
        os.environ.setdefault(name, "1")


def is_worker_death(error: BaseException) -> bool:
    """Return whether the process of a task has died, for which the task may be to blame."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ in _WORKER_DIED
