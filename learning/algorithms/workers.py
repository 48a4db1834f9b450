"""Worker processes: as many as are wanted, each with one thread, or none if one process is enough."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TypeVar

from cluster_sim import executors
from cluster_sim.errors import InputError, ModelWarning

Task = TypeVar("Task")
Answer = TypeVar("Answer")


@contextmanager
def processes(wanted: int | None, tasks: int, executor: Executor | None = None) -> Iterator[Executor | None]:
    """Yield an executor for that many tasks at once: the given one, or new processes; None if one process is enough.

    ``wanted`` None is as many as there are cores. New processes leave Ctrl-C to this one, and end with the block, also
    by an exception. Raises InputError if one of them has died, such as for lack of memory, or because it ran the user's
    script again.
    """
    count = min(executors.cores() if wanted is None else wanted, tasks)
    if executor is not None or count <= 1:
        yield executor
        return
    with executors.single_threaded_children():
        pool = executors.make_processes(count, begin_worker)
        try:
            yield pool
        except BaseException as error:
            executors.end_processes(pool)  # running tasks are not worth waiting for
            if executors.is_worker_death(error):
                expected = (
                    "each to live to its end: fewer of them need less memory (workers), and trainings go on (resume); "
                    f"{executors.UNDER_MAIN}"
                )
                raise InputError("processes", expected, "one that was killed or did not come up") from None
            raise
        pool.shutdown()


def begin_worker() -> None:
    """Prepare a spawned process like any worker, and give torch one thread.

    Assumptions about inputs are shown by the main process, since every worker reads the files again.
    """
    executors.begin_worker()
    warnings.simplefilter("ignore", ModelWarning)
    import torch

    torch.set_num_threads(1)


def map_in_order(
    work: Callable[[Task], Answer], tasks: Sequence[Task], executor: Executor | None, done: Callable[[Answer], object]
) -> list[Answer]:
    """Return the answers to all tasks, in their order; ``done`` is called with each as it is collected."""
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
