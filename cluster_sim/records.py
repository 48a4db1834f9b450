"""The result of a run: its tables, its summary, and its files."""

from __future__ import annotations

import json
import os
import warnings
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from cluster_sim.accounting import Accounts, History, node_bounds, off_intervals, settle
from cluster_sim.errors import FormatError, InputError
from cluster_sim.fields import RESULT_TABLES, SUMMARY_METRICS, names
from cluster_sim.formats.atomic import atomic_path
from cluster_sim.formats.tables import quoting_for
from cluster_sim.metrics import queue_steps, summarise
from cluster_sim.node import NodeState
from cluster_sim.occupancy import Holds, busy_intervals, spread
from cluster_sim.platform import Platform
from cluster_sim.recorder import STATES

if TYPE_CHECKING:
    from cluster_sim.simulation import Simulation

FileFormat = Literal["csv", "parquet"]
PLATFORM_FILE = "platform.json"
_METRICS = frozenset(names(SUMMARY_METRICS))


class Result:
    """What a run left: tables as pandas DataFrames, with the columns of ``cluster_sim.fields``; times in s.

    ``jobs`` has one row per job of the workload, in order of submission; ``allocations`` one per job, processor and run
    of neighbouring cores; ``node_states`` one per node and interval; ``power`` and ``queue`` are step functions.
    ``meta`` says what was run: scheduler, models, seed, version and so on.
    """

    def __init__(self, platform: Platform, meta: dict[str, Any], tables: _Tables):
        self.platform = platform
        self.meta = meta
        self._tables = tables

    @classmethod
    def of(cls, simulation: Simulation) -> Result:
        """The result of a simulation as it stands."""
        from cluster_sim import __version__

        meta = {
            "version": __version__,
            "scheduler": describe(simulation.scheduler),
            "power_policy": describe(simulation.power_policy) or "none",
            "contention_model": describe(simulation.contention),
            "power_model": describe(simulation.power_model),
            "network_model": describe(simulation.network_model),
            "platform": simulation.platform.id,
            "workload": simulation.workload.name,
            "origin_s": simulation.workload.origin_s,
            "seed": simulation.seed,
            "enforce_walltime": simulation.enforce_walltime,
            "quirks": sorted(simulation.quirks),
            "until_s": simulation.until,
        }
        return cls(simulation.platform, meta, _RunTables(simulation))

    # ------------------------------------------------------------------ tables

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """One row per job: times, state, cores, metrics, energy."""
        return self._tables.jobs()

    @cached_property
    def allocations(self) -> pd.DataFrame:
        """Which cores each job's tasks used, from when to when."""
        return self._tables.allocations()

    @cached_property
    def node_states(self) -> pd.DataFrame:
        """The states of each node, without gaps."""
        return self._tables.node_states()

    @cached_property
    def power(self) -> pd.DataFrame:
        """Power of the whole platform as a step function; the last row closes it."""
        return self._tables.power()

    @cached_property
    def queue(self) -> pd.DataFrame:
        """Jobs that wait, and the cores they ask for, as a step function."""
        steps = queue_steps(self.jobs)
        seen: pd.DataFrame = steps[steps["time"] <= self.power["time"].iloc[-1]]  # not what would come after the end
        return seen

    def jobs_with_allocation(self) -> pd.DataFrame:
        """``jobs`` with the column ``allocation``: ``cluster0.node1.processor0:0-3;…``."""
        return self.jobs.assign(allocation=allocation_texts(self.jobs, self.allocations))

    def summary(self) -> pd.Series:
        """The metrics of the run, units in their names (``cluster_sim.fields.SUMMARY_METRICS``)."""
        return pd.Series(self._summary, name=str(self.meta.get("scheduler", "")), dtype=object)

    @cached_property
    def _summary(self) -> dict[str, Any]:
        return self._tables.summary(self)

    # ------------------------------------------------------------------ files

    def save(self, directory: str | Path, file_format: FileFormat = "csv") -> None:
        """Write summary.json, the platform, and jobs, node_states and power as CSV (or parquet) into ``directory``.

        Every file is written aside and renamed, so that one is either whole or not there.
        """
        if file_format not in ("csv", "parquet"):
            raise InputError("Result.save, file_format", "csv or parquet", file_format)
        directory = Path(directory)
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise InputError(directory, "a directory for the results", "a file") from None
        tables = {"jobs": self.jobs_with_allocation(), "node_states": self.node_states, "power": self.power}
        for name, table in tables.items():
            with atomic_path(directory / f"{name}.{file_format}") as path:
                if file_format == "parquet":
                    table.to_parquet(path, index=False, compression="zstd")
                else:
                    table.to_csv(path, index=False, lineterminator="\n", quoting=quoting_for(table))
            # The folder may hold an older result in the other format, which would be read instead.
            (directory / f"{name}.{'csv' if file_format == 'parquet' else 'parquet'}").unlink(missing_ok=True)
        self.platform.write(directory / PLATFORM_FILE)
        with atomic_path(directory / "summary.json") as path:
            path.write_text(json.dumps({**self._summary, **self.meta}, indent=2, default=_plain) + "\n")

    @classmethod
    def load(cls, directory: str | Path) -> Result:
        """Read what :meth:`save` wrote. Raises FormatError naming the file that is missing or wrong."""
        directory = Path(directory)
        path = directory / "summary.json"
        try:
            content = json.loads(path.read_text())
        except OSError as error:
            found = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
            raise FormatError(path, "the results of a run", found) from None
        except (ValueError, UnicodeDecodeError) as error:
            raise FormatError(path, "JSON", str(error)) from None
        if not isinstance(content, dict):
            raise FormatError(path, "an object", type(content).__name__)
        tables = _SavedTables(directory, {key: value for key, value in content.items() if key in _METRICS})
        meta = {key: value for key, value in content.items() if key not in _METRICS}
        return cls(Platform.read(directory / PLATFORM_FILE), meta, tables)

    def __repr__(self) -> str:
        return f"<Result of {self.meta.get('scheduler')} on {self.meta.get('workload')!r}: {len(self.jobs)} jobs>"


def describe(thing: object) -> str:
    """A spec-like name of a scheduler, policy or model for the records."""
    if thing is None:
        return ""
    return str(getattr(thing, "spec", "")) or type(thing).__name__


class _Tables:
    """Where a result's tables come from."""

    def jobs(self) -> pd.DataFrame:
        raise NotImplementedError

    def allocations(self) -> pd.DataFrame:
        raise NotImplementedError

    def node_states(self) -> pd.DataFrame:
        raise NotImplementedError

    def power(self) -> pd.DataFrame:
        raise NotImplementedError

    def summary(self, result: Result) -> dict[str, Any]:
        raise NotImplementedError


class _RunTables(_Tables):
    """Tables made from the columns that the recorder and the machine kept, as they were at that moment."""

    def __init__(self, simulation: Simulation):
        recorder, machine = simulation.recorder, simulation.machine
        self._platform = simulation.platform
        self._horizon = simulation.env.now
        self._workload = simulation.workload.jobs
        self._allocated = np.array(recorder.allocation_time)
        self._started = np.array(recorder.start_time)
        self._finished = np.array(recorder.finish_time)
        self._codes = np.frombuffer(bytes(recorder.state), np.uint8)
        self._reasons = dict(recorder.reason)
        self._ranges = tuple(np.array(c) for c in (recorder.range_job, recorder.range_first, recorder.range_last))
        self._power = (np.array(machine.power_times), np.array(machine.power_watts))
        self._history = History(
            simulation.platform,
            simulation.power_model,
            len(self._workload),
            self._holds(),
            list(machine.transitions),
            list(machine.clock_changes),
            self._horizon,
            "unused-processors-draw-nothing" in simulation.quirks,
            list(machine.rate_log),
        )

    def _holds(self) -> Holds:
        """The cores in use, from the start of the tasks to the release, or to the horizon if they still run."""
        job, first, last = self._ranges
        start, end = self._started[job], self._finished[job]
        holds = Holds(job, first, last, start, np.where(np.isnan(end), self._horizon, end))
        return holds.where(~np.isnan(start))

    @cached_property
    def accounts(self) -> Accounts:
        """Where the energy went."""
        return settle(self._history)

    def jobs(self) -> pd.DataFrame:
        table = self._workload
        submit = table["submit_time"].to_numpy()
        requested = table["requested_time"].to_numpy()
        start, finish = self._started, self._finished
        run = np.where(np.isnan(start), np.nan, finish - start)
        wait, turnaround = start - submit, np.where(np.isnan(start), np.nan, finish - submit)
        reason = np.full(len(table), "", object)
        reason[list(self._reasons)] = list(self._reasons.values())
        with np.errstate(divide="ignore", invalid="ignore"):
            columns = {
                "job_id": table["job_id"].to_numpy(),
                "submit_time": submit,
                "allocation_time": self._allocated,
                "start_time": start,
                "finish_time": finish,
                "state": np.array([str(state) for state in STATES], object)[self._codes],
                "reason": reason,
                "requested_cores": table["requested_cores"].to_numpy(),
                "requested_time": requested,
                "wait_time": wait,
                "run_time": run,
                "turnaround_time": turnaround,
                "slowdown": np.where(run > 0.0, turnaround / run, np.nan),
                "bounded_slowdown": np.maximum(1.0, turnaround / np.maximum(run, 10.0)),
                "stretch": np.where(requested > 0.0, wait / requested, np.nan),
                "energy_j": self.accounts.jobs,
                "profile": table["profile"].to_numpy(),
                "user": table["user"].to_numpy(),
            }
        return pd.DataFrame(columns, columns=names(RESULT_TABLES["jobs"]), copy=False)

    def allocations(self) -> pd.DataFrame:
        holds, platform = self._history.holds, self._platform
        bounds = platform.first_core
        first_unit = np.searchsorted(bounds, holds.first, side="right") - 1
        count = np.searchsorted(bounds, holds.last, side="right") - first_unit
        unit = spread(first_unit, count)
        node = np.searchsorted(platform.first_processor, unit, side="right") - 1
        job = np.repeat(holds.job, count)
        within = unit - platform.first_processor[node]
        processors = np.array([f"processor{i}" for i in range(int(within.max(initial=0)) + 1)], object)
        columns = {
            "job_id": self._workload["job_id"].to_numpy()[job],
            "node": np.array(platform.node_names(), object)[node],
            "processor": processors[within],
            "first_core": np.maximum(np.repeat(holds.first, count), bounds[unit]) - bounds[unit],
            "last_core": np.minimum(np.repeat(holds.last, count), bounds[unit + 1] - 1) - bounds[unit],
            "start": np.repeat(holds.start, count),
            "end": np.repeat(holds.end, count),
        }
        return pd.DataFrame(columns, columns=names(RESULT_TABLES["allocations"]))

    def node_states(self) -> pd.DataFrame:
        platform, horizon = self._platform, self._horizon
        node, start, end = busy_intervals(self._history.holds, node_bounds(platform))
        state = np.full(len(node), str(NodeState.COMPUTING), object)
        off = [(number, *row) for number, rows in off_intervals(self._history).items() for row in rows]
        if off:
            node = np.concatenate([node, [row[0] for row in off]])
            state = np.concatenate([state, np.array([str(row[1]) for row in off], object)])
            start = np.concatenate([start, [row[2] for row in off]])
            end = np.concatenate([end, [row[3] for row in off]])
            order = np.lexsort((start, node))
            node, state, start, end = node[order], state[order], start[order], end[order]
        gaps = _gaps(node, start, end, platform.node_count, horizon)
        node = np.concatenate([node, gaps[0]])
        state = np.concatenate([state, np.full(len(gaps[0]), str(NodeState.IDLE), object)])
        start, end = np.concatenate([start, gaps[1]]), np.concatenate([end, gaps[2]])
        order = np.lexsort((start, node))
        columns = {
            "node": np.array(platform.node_names(), object)[node[order]],
            "state": state[order],
            "start": start[order],
            "end": end[order],
        }
        return pd.DataFrame(columns, columns=names(RESULT_TABLES["node_states"]))

    def power(self) -> pd.DataFrame:
        times, watts = self._power
        if times[-1] < self._horizon:
            times, watts = np.append(times, self._horizon), np.append(watts, watts[-1])
        return pd.DataFrame({"time": times, "watts": watts})

    def summary(self, result: Result) -> dict[str, Any]:
        return summarise(result, self.accounts, self._history.transitions, self._horizon)


class _SavedTables(_Tables):
    """Tables read from the files of a saved result."""

    def __init__(self, directory: Path, summary: dict[str, Any]):
        self._directory = directory
        self._metrics = summary

    def _read(self, name: str) -> pd.DataFrame:
        expected = names(RESULT_TABLES[name])
        for suffix in ("csv", "parquet"):
            path = self._directory / f"{name}.{suffix}"
            if path.exists():
                try:
                    text = {f.name: str for f in RESULT_TABLES[name] if f.kind == "str"} | {"allocation": str}
                    with warnings.catch_warnings():
                        warnings.simplefilter("error", pd.errors.ParserWarning)  # of rows longer than the header
                        table = (
                            pd.read_parquet(path)
                            if suffix == "parquet"
                            else pd.read_csv(
                                path,
                                dtype=text,
                                keep_default_na=False,
                                na_values={c: [""] for c in expected if c not in text},
                                index_col=False,
                            )
                        )
                except Exception as error:  # pandas and pyarrow have errors of many kinds for a broken file
                    raise FormatError(path, "a table of results", str(error)) from None
                missing = [column for column in expected if column not in table]
                if missing:
                    raise FormatError(path, f"a column '{missing[0]}'", f"columns {', '.join(table.columns)}")
                _check_whole(table, path)
                return _with_numbers(table, name, path)
        raise FormatError(self._directory / f"{name}.csv", "a table of results", "no such file")

    @cached_property
    def _jobs(self) -> pd.DataFrame:
        return self._read("jobs")

    def jobs(self) -> pd.DataFrame:
        return self._jobs[names(RESULT_TABLES["jobs"])]

    def allocations(self) -> pd.DataFrame:
        if "allocation" not in self._jobs:
            raise FormatError(self._directory / "jobs.csv", "a column 'allocation'")
        return parsed_allocations(self._jobs, self._directory / "jobs.csv", float(self.power()["time"].iloc[-1]))

    def node_states(self) -> pd.DataFrame:
        return self._read("node_states")

    def power(self) -> pd.DataFrame:
        power = self._read("power")
        if power.empty:
            raise FormatError(self._directory / "power.csv", "at least one row", "none")
        return power

    def summary(self, result: Result) -> dict[str, Any]:
        return self._metrics


_MAY_BE_EMPTY = set(
    "allocation_time start_time finish_time wait_time run_time turnaround_time slowdown bounded_slowdown stretch".split()
)
"""Columns of results that have no value where nothing started or ended."""


def _check_whole(table: pd.DataFrame, path: Path) -> None:
    """Raise FormatError for a file that was cut off: by the end of its last line, and by cells that are missing."""
    if path.suffix == ".csv":
        with path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                raise FormatError(path, "a line end after the last row", "a file that was cut off")
    for column in table:
        empty = table[column].isna().to_numpy()
        if column not in _MAY_BE_EMPTY and empty.any():
            raise FormatError(f"{path}, line {int(empty.argmax()) + 2}, {column}", "a value", "nothing")


def _with_numbers(table: pd.DataFrame, name: str, path: Path) -> pd.DataFrame:
    """The table, in which columns of numbers hold numbers; FormatError for the first cell that is none."""
    for field in RESULT_TABLES[name]:
        column = table[field.name]
        if field.kind == "str" or column.dtype.kind in "iuf":
            continue
        numbers = pd.to_numeric(column, errors="coerce") if column.dtype.kind != "b" else column.map({})
        wrong = (numbers.isna() & column.notna()).to_numpy()
        if wrong.any():
            row = int(wrong.argmax())
            raise FormatError(f"{path}, line {row + 2}, {field.name}", "a number", column.iloc[row])
        table = table.assign(**{field.name: numbers.astype(float if field.kind == "float" else int)})
    return table


def _gaps(
    node: np.ndarray, start: np.ndarray, end: np.ndarray, nodes: int, horizon: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What intervals sorted by node and start leave free of [0, horizon] on each of ``nodes`` nodes."""
    everyone = np.arange(nodes)
    # Each gap begins at 0 or where an interval ends, and ends where the node's next interval begins, or at the horizon.
    owner = np.concatenate([everyone, node])
    begin = np.concatenate([np.zeros(nodes), end])
    order = np.lexsort((begin, owner))
    owner, begin = owner[order], begin[order]
    stop_owner = np.concatenate([node, everyone])
    stop = np.concatenate([start, np.full(nodes, horizon)])
    stop = stop[np.lexsort((stop, stop_owner))]
    wide = stop > begin
    return owner[wide], begin[wide], stop[wide]


def allocation_texts(jobs: pd.DataFrame, allocations: pd.DataFrame) -> np.ndarray:
    """For each job, its cores as text: ``cluster0.node1.processor0:0-3;…``; empty if it never started."""
    first = allocations["first_core"].to_numpy().astype(str).astype(object)
    last = allocations["last_core"].to_numpy().astype(str).astype(object)
    parts = allocations["node"].to_numpy() + "." + allocations["processor"].to_numpy() + ":" + first + "-" + last
    texts: dict[str, str] = {}
    ids = allocations["job_id"].to_numpy()
    # The rows of a job stand together.
    breaks = np.flatnonzero(ids[1:] != ids[:-1]) + 1 if len(ids) else np.array([], int)
    for begin, stop in zip([0, *breaks.tolist()], [*breaks.tolist(), len(ids)], strict=True):
        if stop > begin:
            texts[ids[begin]] = ";".join(parts[begin:stop])
    return np.array([texts.get(job, "") for job in jobs["job_id"]], object)


def parsed_allocations(jobs: pd.DataFrame, path: Path, horizon: float) -> pd.DataFrame:
    """The table of allocations from jobs and their ``allocation`` texts. Raises FormatError."""
    rows: list[tuple[object, ...]] = []
    ends = np.where(jobs["finish_time"].isna(), horizon, jobs["finish_time"])
    for job, text, start, end in zip(jobs["job_id"], jobs["allocation"], jobs["start_time"], ends, strict=True):
        for part in filter(None, str(text).split(";")):
            where, colon, cores = part.rpartition(":")
            node, dot, processor = where.rpartition(".")
            first, _, last = cores.partition("-")
            if not (colon and dot and first.isdecimal() and (last or first).isdecimal()):
                raise FormatError(f"{path}, job {job}, allocation", "node.processor:first-last;…", part)
            rows.append((job, node, processor, int(first), int(last or first), start, end))
    return pd.DataFrame(rows, columns=names(RESULT_TABLES["allocations"]))


def _plain(value: Any) -> Any:
    """Numpy's scalars as JSON knows them."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
