"""The tables of a saved run, read from its files and checked; and allocations as text."""

from __future__ import annotations

import os
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cluster_sim.errors import FormatError, InputError
from cluster_sim.files.csv import as_numbers
from cluster_sim.files.reading import check_regular
from cluster_sim.records.attempt_tables import allocations_of, attempts_of, holds_of, last_allocations
from cluster_sim.records.clock_table import as_clock_table
from cluster_sim.run.decision_log import no_decisions
from cluster_sim.workload.fields import RESULT_TABLES, names

if TYPE_CHECKING:
    from cluster_sim.platform.platform import Platform
    from cluster_sim.records.result import Result


SUMMARY_FILE = "summary.json"


class InOnePart(ABC):
    """Tables that are small enough to be had as a whole only."""

    @abstractmethod
    def allocations(self) -> pd.DataFrame:
        """Which cores each job used."""

    @abstractmethod
    def node_states(self) -> pd.DataFrame:
        """The states of each node."""

    def allocations_in_parts(self) -> Iterator[tuple[slice, pd.DataFrame]]:
        """The allocations of all jobs."""
        yield slice(None), self.allocations()

    def node_states_in_parts(self) -> Iterator[pd.DataFrame]:
        """The states of all nodes."""
        yield self.node_states()


def seal_of(directory: Path) -> bytes | None:
    """The bytes of summary.json, by which a run is known while it lies there; None when it cannot be read."""
    path = directory / SUMMARY_FILE
    try:
        return path.read_bytes() if path.is_file() else None  # a pipe would have us wait for ever
    except OSError:
        return None


class SavedTables(InOnePart):
    """Tables read from the files of a saved result, all of the run whose summary.json is ``seal``."""

    def __init__(self, directory: Path, summary: dict[str, Any], platform: Platform, seal: bytes | None):
        self._directory = directory
        self._metrics = summary
        self._platform = platform
        self._seal = seal

    def check_unchanged(self) -> None:
        """Raise FormatError if another run has been written meanwhile; what has been read before is whole, then, and old.

        A run that is saved takes summary.json away before it replaces any other file.
        """
        if seal_of(self._directory) != self._seal:
            raise FormatError(self._directory, "the results that were there when they were loaded", "others, or none")

    def _read(self, name: str) -> pd.DataFrame:
        expected = names(RESULT_TABLES[name])
        for suffix in ("csv", "parquet"):
            path = self._directory / f"{name}.{suffix}"
            if path.exists():
                check_regular(path)
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
                self.check_unchanged()
                missing = [column for column in expected if column not in table]
                if missing:
                    raise FormatError(path, f"a column '{missing[0]}'", f"columns {', '.join(table.columns)}")
                _check_whole(table, path, power_is_known=self._metrics.get("energy_j") is not None)
                table = _with_numbers(table, name, path)
                _check_names(table, path, self._platform)
                return table
        raise FormatError(self._directory / f"{name}.csv", "a table of results", "no such file")

    def _has(self, name: str) -> bool:
        return any((self._directory / f"{name}.{suffix}").exists() for suffix in ("csv", "parquet"))

    @cached_property
    def _jobs(self) -> pd.DataFrame:
        return self._read("jobs")

    def jobs(self) -> pd.DataFrame:
        """The rows of jobs.csv, without the allocations."""
        return self._jobs[names(RESULT_TABLES["jobs"])]

    def allocations(self) -> pd.DataFrame:
        """What the allocation texts of jobs.csv say, or the holds, where there is a file of them."""
        if self._has("holds"):
            return allocations_of(self.holds(), self.attempts())
        if "allocation" not in self._jobs:
            raise FormatError(self._directory / "jobs.csv", "a column 'allocation'")
        until = float(self.power()["time"].iloc[-1])
        return parsed_allocations(self._jobs, self._directory / "jobs.csv", until, self._platform)

    def holds(self) -> pd.DataFrame:
        """The rows of holds.csv; where there is none, what the jobs held, each in one attempt."""
        if self._has("holds"):
            return self._read("holds")
        return holds_of(self.jobs(), self.allocations())

    def has_more_holds(self) -> bool:
        """Whether there is a file of them."""
        return self._has("holds")

    def allocations_in_parts(self) -> Iterator[tuple[slice, pd.DataFrame]]:
        """The allocations of all jobs, of their last attempts."""
        yield slice(None), last_allocations(self.holds()) if self._has("holds") else self.allocations()

    def attempts(self) -> pd.DataFrame:
        """The rows of attempts.csv; where there is none, one of each job that got cores."""
        if self._has("attempts"):
            return self._read("attempts")
        return attempts_of(self.jobs())

    def node_states(self) -> pd.DataFrame:
        """The rows of node_states.csv."""
        return self._read("node_states")

    def nodes(self) -> pd.DataFrame:
        """The rows of nodes.csv."""
        return self._read("nodes")

    def power(self) -> pd.DataFrame:
        """The rows of power.csv."""
        power = self._read("power")
        if power.empty:
            raise FormatError(self._directory / "power.csv", "at least one row", "none")
        back = np.diff(power["time"].to_numpy()) < 0
        if back.any():
            row = int(back.argmax()) + 1
            where = f"{self._directory / 'power.csv'}, line {row + 2}, time"
            raise FormatError(where, "a time after the one above", power["time"].iloc[row])
        return power

    def p_states(self) -> pd.DataFrame:
        """The rows of p_states.csv; none when no processor has p-states or changed its clock."""
        if not self._has("p_states"):
            self.check_unchanged()
            return as_clock_table([])
        return self._read("p_states")

    def decisions(self) -> pd.DataFrame:
        """The rows of decisions.csv; none when the run was not to explain."""
        if not self._has("decisions"):
            self.check_unchanged()
            return no_decisions()
        return self._read("decisions")[names(RESULT_TABLES["decisions"])]

    def summary(self, result: Result) -> dict[str, Any]:
        """The metrics of summary.json."""
        return self._metrics


_MAY_BE_EMPTY = set(
    "submit_time eligible_time allocation_time start_time finish_time wait_time run_time turnaround_time slowdown "
    "bounded_slowdown stretch tardiness promised_time queue_time end_time work_done".split()
)
"""Columns of results that have no value where nothing started or ended."""


_MAY_BE_INFINITE = ("requested_time", "promised_time")
_LARGEST_INTEGER = 2**53


def _check_whole(table: pd.DataFrame, path: Path, power_is_known: bool) -> None:
    """Raise FormatError for a file that was cut off: by the end of its last line, and by cells that are missing.

    Another program's result may not tell what its machine drew.
    """
    if path.suffix == ".csv":
        with path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                raise FormatError(path, "a line end after the last row", "a file that was cut off")
    for column in table:
        empty = table[column].isna().to_numpy()
        unknown = not power_is_known and str(column).endswith(("_j", "watts"))
        if column not in _MAY_BE_EMPTY and empty.any() and not unknown:
            raise FormatError(f"{path}, line {int(empty.argmax()) + 2}, {column}", "a value", "nothing")


def _with_numbers(table: pd.DataFrame, name: str, path: Path) -> pd.DataFrame:
    """The table, in which columns of numbers hold numbers; FormatError for the first cell that is none."""
    for field in RESULT_TABLES[name]:
        column = table[field.name]
        if field.kind == "str" or (field.kind == "int" and column.dtype.kind == "i"):
            continue
        numbers = as_numbers(column)
        wrong = numbers.isna() & column.notna()
        if field.unit and field.name not in _MAY_BE_INFINITE:
            wrong |= np.isinf(numbers)
        if field.kind == "int":
            wrong |= ~(np.abs(numbers) < _LARGEST_INTEGER) | (numbers != np.trunc(numbers))
        if wrong.any():
            row = int(wrong.to_numpy().argmax())
            expected = "a whole number" if field.kind == "int" else "a number"
            raise FormatError(f"{path}, line {row + 2}, {field.name}", expected, column.iloc[row])
        table = table.assign(**{field.name: numbers if field.kind == "float" else numbers.astype(np.int64)})
    return table


def _check_names(table: pd.DataFrame, path: Path, platform: Platform) -> None:
    """Raise FormatError for a job that a table of jobs has twice, and for a node that the platform does not have."""
    if path.stem == "jobs" and table["job_id"].duplicated().any():
        row = int(table["job_id"].duplicated().to_numpy().argmax())
        raise FormatError(f"{path}, line {row + 2}, job_id", "every job once", f"'{table['job_id'].iloc[row]}' again")
    if "node" in table:
        code, names = pd.factorize(table["node"])
        for number, name in enumerate(names):
            try:
                platform.node_index(str(name))
            except InputError as error:
                row = int((code == number).argmax())
                raise FormatError(f"{path}, line {row + 2}, node", error.expected, name) from None


class _CoresOf(dict[tuple[str, int], int]):
    """The number of cores of a processor, by the name of its node and its place there; 0 where there is none."""

    def __init__(self, platform: Platform):
        super().__init__()
        self._platform = platform

    def __missing__(self, place: tuple[str, int]) -> int:
        node, number = place
        try:
            index = self._platform.node_index(node)
        except InputError:
            return 0
        processor = int(self._platform.first_processor[index]) + number
        known = processor < self._platform.first_processor[index + 1]
        first = self._platform.first_core
        self[place] = int(first[processor + 1] - first[processor]) if known else 0
        return self[place]


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


_PART = re.compile(r"(.+)\.(processor([0-9]{1,9})):([0-9]{1,9})(?:-([0-9]{1,9}))?")


def parsed_allocations(jobs: pd.DataFrame, path: Path, horizon: float, platform: Platform) -> pd.DataFrame:
    """The table of allocations from jobs and their ``allocation`` texts.

    Raises FormatError for other text, for cores that the platform lacks, and for a job that started on none.
    """
    rows: list[tuple[object, ...]] = []
    cores_of = _CoresOf(platform)
    ends = np.where(jobs["finish_time"].isna(), horizon, jobs["finish_time"])
    for job, text, start, end in zip(jobs["job_id"], jobs["allocation"], jobs["start_time"], ends, strict=True):
        where = f"{path}, job {job}, allocation"
        if not text and start == start:
            raise FormatError(where, "the cores of a job that started", "nothing")
        for part in filter(None, text.split(";")):
            match = _PART.fullmatch(part)
            if match is None:
                raise FormatError(where, "node.processor:first-last;…", part)
            node, processor, number, *cores = match.groups()
            first, last = int(cores[0]), int(cores[1] or cores[0])
            if not first <= last < cores_of[node, int(number)]:
                raise FormatError(where, "cores that the platform has", part)
            rows.append((job, node, processor, first, last, start, end))
    return pd.DataFrame(rows, columns=names(RESULT_TABLES["allocations"]))
