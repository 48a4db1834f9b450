"""``sweep``: it runs a grid on any executor and keeps the rows; a sweep that was killed goes on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from typing_extensions import Doc

from analysis.sweep import manifest as manifests
from analysis.sweep.agents import AGENTS
from analysis.sweep.cell import FINISHED, run_cell, train_agent
from analysis.sweep.checks import check, share_workloads
from analysis.sweep.grid import Grid, source_key
from analysis.sweep.runner import Runner, SweepTask
from analysis.sweep.statuses import DONE
from analysis.sweep.storage import STATUS, Memory, Storage
from cluster_sim.errors import InputError, UnfamiliarWarning
from cluster_sim.executors import Serial, Workers, cores, make_processes, single_threaded_children
from cluster_sim.run.progress import Progress

if TYPE_CHECKING:
    import pandas as pd

AnyExecutor = Executor | Callable[[], Executor]
_OTHERS_IN_FLIGHT = 32  # for an executor that does not say how many workers it has


@dataclass(frozen=True, slots=True)
class Outcome:
    """State of a sweep: its cells, how many are done and failed, how many this call has run, and its folder.

    ``assumptions``: what its runs assume where their inputs say nothing (:mod:`cluster_sim.records.assumptions`).
    """

    grid: Grid
    cells: int
    done: int
    failed: int
    ran: int
    folder: Path | None
    store: Storage | Memory
    assumptions: tuple[str, ...] = ()

    def runs(self, columns: Iterable[str] | None = None) -> pd.DataFrame:
        """Return one row per run, in the order of the cells: numbers, factors, how it went, metrics.

        If ``columns`` are given, the rows have only these.
        """
        import pyarrow as pa

        chunks = list(self.store.chunks(None if columns is None else list(columns)))
        frame: pd.DataFrame = (pa.concat_tables(chunks) if chunks else self.store.schema.empty_table()).to_pandas()
        frame.attrs["factors"] = list(self.grid.factors)
        return frame

    def failures(self) -> pd.DataFrame:
        """Return the runs that failed: their cells, factors, and tracebacks in ``error``."""
        frame = self.runs(["cell", "replication", *self.grid.factors, "status", "error"])
        return frame[frame["status"] != DONE].drop(columns="status")


def sweep(
    grid: Grid,
    out: str | Path | None = None,
    *,
    executor: AnyExecutor | None = None,
    workers: Workers = None,
    in_flight: int | Callable[[], int] | None = None,
    resume: Annotated[bool, Doc("run only what is missing in the folder, and what failed")] = False,
    progress: bool = False,
    command: str = "",
) -> Outcome:
    """Run every cell of a grid that has no row yet, and keep the rows.

    Parameters
    ----------
    grid : what is to be run.
    out : folder for the rows; without one they stay in memory.
    executor : any ``concurrent.futures.Executor``, which is left as it is; or a function that makes one, called again where
        the first breaks. Without it ``workers`` processes of our own; with one worker, this process.
    in_flight : most runs under way, or a function that says so from time to time; by default twice the workers, or 32 where
        the executor does not say how many it has.
    progress : show on stderr how far it is: a bar on a terminal, else a line now and then.

    A run that fails is a row with its traceback. Raises InputError for wrong inputs, before any run; and where the folder holds
    a sweep and ``resume`` was not asked for, or another one.
    """
    folder = None if out is None else Path(out).resolve()
    if folder is None and (grid.config.train is not None or any(grid.config.outputs.model_dump().values())):
        raise InputError("sweep", "a folder (out=…): agents or files beside the metrics are wanted")
    assumptions = check(grid)
    with ExitStack() as stack:
        manifest: dict[str, Any] = {}
        store: Storage | Memory
        if folder is None:
            store = Memory(grid.factors, len(grid))
        else:
            folder.mkdir(parents=True, exist_ok=True)
            stack.enter_context(manifests.held(folder, "sweep"))
            manifest = manifests.begin(grid, folder, resume, command)
            store = Storage(folder, grid.factors, len(grid))
        session = _Session(grid, folder, store, progress)
        stack.enter_context(single_threaded_children())
        ran = session.run(*_resources(executor, workers, in_flight, session.left))
        session.tell_unfamiliar()
        store.compact()
        done, failed = (int((store.state == STATUS[status]).sum()) for status in STATUS)
        if folder is not None:
            manifests.end(manifest, folder, done, failed)
        return Outcome(grid, len(grid), done, failed, ran, folder, store, tuple(assumptions))


def _resources(
    executor: AnyExecutor | None, workers: int | None, in_flight: int | Callable[[], int] | None, left: int
) -> tuple[Callable[[], Executor], bool, Callable[[], int]]:
    """Return a maker of executors, whether these are ours to end, and how many runs may be under way."""
    make: Callable[[], Executor]
    own, most = False, _OTHERS_IN_FLIGHT
    if executor is None:
        count = max(1, min(cores() if workers is None else workers, left))
        make, own, most = (Serial, False, 1) if count == 1 else (partial(make_processes, count), True, 2 * count)
    elif isinstance(executor, Executor):
        make = _Once(executor)
        most = 1 if isinstance(executor, Serial) else 2 * int(getattr(executor, "_max_workers", _OTHERS_IN_FLIGHT // 2))
    else:
        make, own = executor, True
    if in_flight is None:
        return make, own, lambda: most
    return make, own, in_flight if callable(in_flight) else lambda: in_flight


class _Once:
    """Maker that hands out the executor that was given. When that is broken, there is no other."""

    def __init__(self, executor: Executor):
        self._executor: Executor | None = executor

    def __call__(self) -> Executor:
        executor, self._executor = self._executor, None
        if executor is None:
            raise InputError(
                "sweep, executor", "an executor that lives, or a function that makes another", "a broken one"
            )
        return executor


class _Session:
    """One call of ``sweep``: it makes tasks of cells, and rows of answers."""

    def __init__(self, grid: Grid, folder: Path | None, store: Storage | Memory, progress: bool):
        self._grid, self._folder, self._store, self._progress = grid, folder, store, progress
        self._columns = {} if folder is None else share_workloads(grid, folder)
        self._todo = np.flatnonzero(store.state != STATUS[DONE])
        # Trainings that have not ended yet, and whose agents play in cells that are left to do.
        self._trainings: dict[str, SweepTask] = {}
        if grid.config.train is not None and folder is not None:
            for index in self._todo:
                key, document = grid.training(int(index)) or ("", {})
                place = folder / AGENTS / key
                if key and not (place / FINISHED).exists():
                    given = {"agent": key, "document": document, "folder": str(place)}
                    self._trainings[key] = SweepTask(train_agent, given)
        self._lost: dict[str, str] = {}
        self.left = len(self._todo)
        self._failed = 0
        self._unfamiliar: dict[tuple[str, str], tuple[int, UnfamiliarWarning]] = {}

    def tell_unfamiliar(self) -> None:
        """Warn of each agent that met, in a workload, what it has not learned from: with the first such run, and once."""
        for (_, source), (_, one) in sorted(self._unfamiliar.items(), key=lambda each: each[1][0]):
            warnings.warn(UnfamiliarWarning(f"{source}: {one}", one.agent, source), stacklevel=3)

    def run(self, make: Callable[[], Executor], own: bool, in_flight: Callable[[], int]) -> int:
        """Run what is left to do, and return how many cells that were."""
        if not self.left:
            return 0
        runner = Runner(make, own, in_flight)
        cells = len(self._grid)
        with Progress("sweep", cells, "runs", done=cells - self.left, shown=self._progress) as progress:
            try:
                # Agents are trained first, and meanwhile the cells without agents run.
                first = chain(self._trainings.values(), self._tasks(with_agents=False))
                runner.run(first, partial(self._ended, progress))
                runner.run(self._tasks(with_agents=True), partial(self._ended, progress))
            finally:
                runner.close()
        return self.left

    def _tasks(self, with_agents: bool) -> Iterator[SweepTask]:
        if with_agents and self._grid.config.train is None:
            return
        for index in self._todo:
            cell = self._grid[int(index)]
            if (cell["agent"] is not None) == with_agents:
                # A worker also needs to know where files go, and where the workload's columns are.
                cell["outputs"] = self._grid.config.outputs.model_dump()
                cell["out"] = None if self._folder is None else str(self._folder)
                columns = self._columns.get(source_key(cell["workload"]))
                if columns is not None:
                    cell["workload"] = cell["workload"] | {"columns": columns}
                if cell["agent"] in self._lost:
                    cell["lost"] = self._lost[cell["agent"]]
                yield SweepTask(run_cell, cell)

    def _ended(self, progress: Progress, task: SweepTask, answer: dict[str, Any]) -> None:
        if task.work is train_agent:
            if answer["status"] != DONE:
                self._lost[task.given["agent"]] = str(answer["error"])
            return
        index = task.given["cell"]
        for one in answer.pop("unfamiliar", ()):
            key = (one.agent, str(self._grid.labels(index)["workload"]))
            self._unfamiliar[key] = min(self._unfamiliar.get(key, (index, one)), (index, one), key=lambda each: each[0])
        self._store.append(self._grid.labels(index) | answer | {"cell": index})
        self._failed += answer["status"] != DONE
        progress.reach(progress.done + 1, **({"failed": str(self._failed)} if self._failed else {}))
