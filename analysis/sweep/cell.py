"""The work of a worker: a cell in, a row out. A run that fails is a row as well, with its traceback.

A worker keeps what it has read, a few workloads and platforms, for the cells that follow.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import traceback
import warnings
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from analysis.sweep.columns import mapped
from analysis.sweep.statuses import DONE, FAILED, TRAINED
from cluster_sim.errors import InputError, naming, unfamiliar_to
from cluster_sim.executors import one_thread_each
from cluster_sim.files.atomic import atomic_path
from cluster_sim.platform.platform import Platform
from cluster_sim.records.result import Result
from cluster_sim.run import making, settings
from cluster_sim.run.hosts import platform_of_log
from cluster_sim.run.own_processes import process_of
from cluster_sim.run.simulation import Simulation
from cluster_sim.workload.workload import Workload
from schedulers import make_power_policy, make_scheduler

Thing = TypeVar("Thing")

FINISHED = "finished"
"""Name of the file that says that a training has reached its end."""

_KEPT = 8
_LONGEST_TRACEBACK = 20_000


def run_cell(cell: dict[str, Any]) -> dict[str, Any]:
    """Run a cell of a grid and return its row: ``cell, status, error, elapsed_s, cpu_s, worker`` and its metrics.

    The answer also has ``unfamiliar``, which is no part of the row: warnings of agents that met what they have not
    learned from. If something goes wrong in the run, nothing is raised: ``status`` is failed and ``error`` has the
    traceback.
    """
    begin, cpu = time.perf_counter(), time.process_time()
    if cell.get("lost"):
        return {"cell": cell["cell"], "status": FAILED, "error": f"Its agent could not be trained.\n{cell['lost']}"}
    row: dict[str, Any] = {"cell": cell["cell"], "status": DONE, "error": None}
    one_thread_each()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # told once, when the sweep began
            simulation = simulation_of(cell)
            result = simulation.run(warn=False)
            row["unfamiliar"] = unfamiliar_to(simulation.scheduler, simulation.power_policy)
            metrics = result.metrics
            _write_outputs(result, cell)
    except Exception:
        row |= {"status": FAILED, "error": traceback.format_exc()[-_LONGEST_TRACEBACK:]}
    else:
        row |= metrics
    row["elapsed_s"], row["cpu_s"] = time.perf_counter() - begin, time.process_time() - cpu
    row["worker"] = f"{socket.gethostname()}:{os.getpid()}"
    return row


def train_agent(task: dict[str, Any]) -> dict[str, Any]:
    """Train the agent of ``task["document"]`` in ``task["folder"]``, going on where an earlier attempt ended.

    Returns ``status`` and ``error``, as a cell does.
    """
    one_thread_each()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from learning.training import Config, train

            config = Config.model_validate(task["document"])
            one_thread_each()  # now that torch is there
            train(config, task["folder"], resume=True)
        (Path(task["folder"]) / FINISHED).touch()
    except Exception:
        return {"status": FAILED, "error": traceback.format_exc()[-_LONGEST_TRACEBACK:]}
    return {"status": DONE, "error": None}


def simulation_of(cell: dict[str, Any], empty: bool = False) -> Simulation:
    """Return the simulation of a cell; if ``empty``, without jobs, to try whether it can be made. Raises InputError."""
    platform, workload = inputs_of(cell)
    agent = None if cell.get("agent") is None else f"learned:{Path(cell['out']) / 'agents' / cell['agent']}"
    scheduler, power = (
        agent if spec == TRAINED and agent else spec for spec in (cell["scheduler"], cell["power_policy"])
    )
    made = make_scheduler(scheduler), make_power_policy(power)
    if "torch" in sys.modules:
        one_thread_each()
    if empty:
        for each in cell.get("process", ()):
            process_of(each)
        cell = cell | {"process": ()}  # a process may hold open a run without jobs
    return making.simulation_of(cell, platform, workload.first(0) if empty else workload, *made)


def inputs_of(cell: dict[str, Any]) -> tuple[Platform, Workload]:
    """Return the platform and the workload of a cell, read now or kept from an earlier cell. Raises InputError."""
    says, source = cell["workload"], cell["platform"]
    read = {key: says[key] for key in ("source", "columns", "time_unit", "think_times") if key in says}
    log = (*_key(read), _stamp(says.get("columns") or says["source"]))
    workload = _kept(("workload", log), lambda: read_workload(says))
    if source is None:
        platform: Platform = _kept(("platform of", log), lambda: platform_of_log(workload, says["source"]))
    else:
        platform = _kept(("platform", source, _stamp(source)), lambda: Platform.read(source))
    key = ("cut", log, *_key(says), cell["load"], (source, _stamp(source or "")) if says.get("fit") else None)
    return platform, _kept(key, lambda: _cut(workload, says, cell["load"], platform))


def read_workload(says: dict[str, Any]) -> Workload:
    """Return the workload of a cell before it is cut: from a file, a generator, or columns mapped into memory."""
    if says.get("columns") and Path(says["columns"]).exists():
        return mapped(says["columns"])
    options = {"time_unit": settings.TIME_UNITS[says["time_unit"]]} if says.get("time_unit") else {}
    workload = Workload.read(says["source"], **options)
    return workload.with_think_times() if says.get("think_times") else workload


def _cut(workload: Workload, says: dict[str, Any], load: float, platform: Platform) -> Workload:
    """Return the part of the workload that is played, at its load. Raises InputError if the part has no jobs."""
    import numpy as np

    with naming(says["source"]):
        workload = settings.part_of(workload, says.get("slice"), says.get("first"))
    length = says.get("window")
    if length:
        if length > len(workload):
            raise InputError(f"{says['source']}, window", f"at most {len(workload)} jobs, its length", length)
        start = int(np.random.default_rng(says["drawn_seed"]).integers(len(workload) - length + 1))
        workload = workload[start : start + length]
    if not len(workload):
        raise InputError(says["source"], "at least one job")
    if load != 1.0:
        workload = workload.scale_load(load)
    if says.get("shake"):
        workload = workload.shaken(says["shake"], says["drawn_seed"])
    return workload.fit_to(platform, says["fit"]) if says.get("fit") else workload


def _write_outputs(result: Result, cell: dict[str, Any]) -> None:
    """Write the files that are wanted of a run beside its metrics, each whole or not at all."""
    wanted = cell.get("outputs") or {}
    if not any(wanted.values()):
        return
    out, name = Path(cell["out"]), f"{cell['cell']:07d}"
    if wanted["jobs"]:
        path = out / "jobs" / f"{name}.parquet"
        path.parent.mkdir(exist_ok=True)
        with atomic_path(path) as aside:
            result.jobs.to_parquet(aside, index=False, compression="zstd")
    if 0 < len(result.jobs) <= wanted["gantt"]:
        from analysis.reports.report import write_gantt

        write_gantt(result, out / "gantt" / f"{name}.html")
    if wanted["charts"]:
        from analysis.sweep.charts import write_charts

        write_charts(result, out / "charts" / f"{name}.html", f"cell {cell['cell']}")


_cache: OrderedDict[Any, Any] = OrderedDict()
_guard = threading.Lock()  # the executor may be one of threads


def _kept(key: Any, make: Callable[[], Thing]) -> Thing:
    """Return what was made for this key before, or make it.

    If too many things are kept, the least recently used goes.
    """
    with _guard:
        if key in _cache:
            _cache.move_to_end(key)
            known: Thing = _cache[key]
            return known
    thing = make()
    with _guard:
        _cache[key] = thing
        if len(_cache) > _KEPT:
            _cache.popitem(last=False)
    return thing


def _stamp(place: str) -> tuple[int, int] | None:
    """Return what differs when a file has been written anew, since a process may see several sweeps; None for specs."""
    try:
        found = os.stat(place)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size


def _key(says: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted((key, tuple(value) if isinstance(value, list) else value) for key, value in says.items()))
