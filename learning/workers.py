"""Processes to work in: as many as are wanted, each with one thread, or none where one would do."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from cluster_sim.siblings import sibling

Task = TypeVar("Task")
Answer = TypeVar("Answer")


def cores() -> int:
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def processes(wanted: int | None, tasks: int, executor: Executor | None = None) -> Iterator[Executor | None]:
    """An executor for that many tasks at once: the given one, or processes of our own; None where one process will do.

    ``wanted`` None is as many as there are cores. Our processes are spawned, not forked: a fork of a process with threads
    may hang. They leave Ctrl-C to this one, and are gone when the block ends, also by an exception.
    """
    count = min(cores() if wanted is None else wanted, tasks)
    if executor is not None or count <= 1:
        yield executor
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=begin_worker)
    try:
        yield pool
    except BaseException:
        # What still runs is not worth waiting for; it writes nothing, or writes it whole.
        children = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for child in children:
            child.terminate()
        raise
    pool.shutdown()


def begin_worker() -> None:
    """Prepare a spawned process: one thread, our packages and not a user's of the same name, no Ctrl-C of its own."""
    import signal

    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for package in ("schedulers", "learning"):
        sibling(package)
    import torch

    torch.set_num_threads(1)


def _end_with_parent() -> None:
    """A worker whose parent was killed would go on for as long as its task takes, with nobody to tell."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def map_in_order(
    work: Callable[[Task], Answer], tasks: Sequence[Task], executor: Executor | None, done: Callable[[Answer], object]
) -> list[Answer]:
    """The answers to all tasks, in their order; ``done`` is called with each as it is collected."""
    if executor is None:
        answers = []
        for task in tasks:
            answers.append(work(task))
            done(answers[-1])
        return answers
    futures = [executor.submit(work, task) for task in tasks]
    answers = []
    for future in futures:
        answers.append(future.result())
        done(answers[-1])
    return answers
