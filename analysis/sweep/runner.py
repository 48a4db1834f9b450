"""The runner: it submits tasks, and tries those again whose worker died.

Tasks are submitted as others end, a bounded number at a time, so that nothing grows with how many there are. A worker
that dies takes the tasks with it that were under way, and it cannot be told which of them is to blame. So each is tried
again. A task that was there twice is put off to the end and then tried alone. A task that is alone when a worker dies
has failed.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from typing import Any

from analysis.sweep.statuses import FAILED
from cluster_sim.errors import InputError
from cluster_sim.executors import UNDER_MAIN, end_processes, is_worker_death

TOGETHER = 2
"""Deaths of workers that a task may be near before it is tried alone."""
_FRUITLESS = 5  # pools that break one after the other before anything has ended


@dataclass(slots=True)
class SweepTask:
    """A function of a worker, what it is given, and the ``deaths`` of workers that it was near."""

    work: Callable[[dict[str, Any]], dict[str, Any]]
    given: dict[str, Any]
    deaths: int = 0


class Runner:
    """Runner of tasks on executors.

    ``make`` makes an executor, once at first and again when that one is broken. ``own`` says that it is for this object to
    end. ``in_flight`` says how many tasks may be under way; it is asked again and again, for a cluster may grow.
    """

    def __init__(self, make: Callable[[], Executor], own: bool, in_flight: Callable[[], int]):
        self._make, self._own, self._in_flight = make, own, in_flight
        self._executor = make()
        self._flying: dict[Future[dict[str, Any]], SweepTask] = {}
        self._again: deque[SweepTask] = deque()
        self._alone: deque[SweepTask] = deque()
        self._fruitless = 0
        self._lived = False  # whether a worker has answered

    def run(self, tasks: Iterable[SweepTask], ended: Callable[[SweepTask, dict[str, Any]], object]) -> None:
        """Run all tasks; ``ended`` gets each with its answer, in this thread, as they end.

        An answer says at least ``status`` and ``error``. Raises InputError when executors break and nothing comes of it.
        """
        source = iter(tasks)
        while True:
            self._submit(source)
            if not self._flying:
                if self._again or self._alone:  # the executor broke as they were submitted
                    continue
                return
            done = wait(self._flying, return_when=FIRST_COMPLETED).done
            while done:  # not kept: when a worker dies, dask computes its ended tasks again if they are still held
                self._collect(done.pop(), ended)

    def close(self) -> None:
        """Let go of the executor; what is still under way is called off."""
        for future in self._flying:
            future.cancel()
        if self._own:
            if self._flying:
                end_processes(self._executor)
            else:
                self._executor.shutdown()
        self._flying.clear()

    def _submit(self, source: Iterator[SweepTask]) -> None:
        limit = max(1, self._in_flight())
        while len(self._flying) < limit:
            task = self._again.popleft() if self._again else next(source, None)
            if task is None:
                if self._alone and not self._flying:
                    self._send(self._alone.popleft())
                return
            self._send(task)

    def _send(self, task: SweepTask) -> None:
        try:
            # An executor may know tasks by what they are given: a task that is tried again gets its attempt.
            given = task.given | ({"attempt": task.deaths} if task.deaths else {})
            self._flying[self._executor.submit(task.work, given)] = task
        except (BrokenExecutor, RuntimeError) as error:
            self._again.appendleft(task)
            self._replace(error)

    def _collect(self, future: Future[dict[str, Any]], ended: Callable[[SweepTask, dict[str, Any]], object]) -> None:
        task = self._flying.pop(future, None)
        if task is None:
            return
        error = None if future.cancelled() else future.exception()
        if future.cancelled() or (error is not None and is_worker_death(error)):
            self._died(task, ended)
            if isinstance(error, BrokenExecutor):
                # All that was submitted to a broken pool ends at once, some of it well.
                others, self._flying = self._flying, {}
                wait(others)
                for other, its_task in others.items():
                    if other.cancelled() or other.exception() is not None:
                        self._died(its_task, ended)
                    else:
                        self._fruitless, self._lived = 0, True
                        ended(its_task, other.result())
                self._replace(error)
        elif error is not None:
            text = "".join(traceback.format_exception(error))
            ended(task, {"status": FAILED, "error": f"The worker could not run it.\n{text}"})
        else:
            self._fruitless, self._lived = 0, True
            ended(task, future.result())

    def _died(self, task: SweepTask, ended: Callable[[SweepTask, dict[str, Any]], object]) -> None:
        task.deaths += 1
        if task.deaths > TOGETHER:
            hint = "" if self._lived else f" None has lived so far: {UNDER_MAIN}"
            told = f"Its worker died, {task.deaths} times; at last nothing else ran.{hint}"
            ended(task, {"status": FAILED, "error": told})
        elif task.deaths == TOGETHER:
            self._alone.append(task)
        else:
            self._again.append(task)

    def _replace(self, error: BaseException) -> None:
        """Put another executor in place of the broken one."""
        self._fruitless += 1
        if self._fruitless >= _FRUITLESS:
            expected = f"workers that live ({UNDER_MAIN})"
            raise InputError("sweep", expected, f"{_FRUITLESS} times in a row: {error}") from None
        if self._own:
            end_processes(self._executor)
        self._executor = self._make()
