"""The tables of a saved run, read from its files and checked; the one place where names of cores become numbers."""

from __future__ import annotations

import os
import re
import warnings
from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cluster_sim.errors import FormatError, InputError, counted
from cluster_sim.files.csv import as_numbers, check_lengths
from cluster_sim.files.reading import check_regular, read_own_json
from cluster_sim.machine.core_ranges import Holds
from cluster_sim.platform.node_state import NodeState
from cluster_sim.records.attempt_tables import JOB, attempts_of, with_over_time
from cluster_sim.records.clock_table import as_clock_table
from cluster_sim.records.core_holds import CoreHolds
from cluster_sim.records.empty_table import no_rows
from cluster_sim.records.job_labels import JOB_LABELS
from cluster_sim.records.reasons.conditions import Conditions
from cluster_sim.records.reasons.spells import reserved
from cluster_sim.records.resource_holds import gpu_steps
from cluster_sim.records.saved_checks import check_values
from cluster_sim.spelling import UnknownKeys
from cluster_sim.workload.fields import RESULT_COLUMNS, RESULT_TABLES
from cluster_sim.workload.resource_request import GPU

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.core_ranges import Ints
    from cluster_sim.machine.placement import Span
    from cluster_sim.platform.platform import Platform
    from cluster_sim.records.contracts import RunRecords


SUMMARY_FILE = "summary.json"
CONDITIONS_FILE = "conditions.json"


class InOnePart(ABC):
    """Tables that are small enough to be had as a whole only."""

    @abstractmethod
    def node_states(self) -> pd.DataFrame:
        """Return the states of each node."""

    def node_states_in_parts(self) -> Iterator[pd.DataFrame]:
        """Return the states of all nodes."""
        yield self.node_states()

    def off_states(self, result: RunRecords) -> pd.DataFrame:
        """Return the rows of nodes that are not on."""
        states = result.node_states
        off: pd.DataFrame = states[~states["state"].isin([NodeState.IDLE, NodeState.COMPUTING])]
        return off.reset_index(drop=True)


def seal_of(directory: Path) -> bytes | None:
    """Return the bytes of summary.json, by which a saved run is known again; None if it cannot be read."""
    path = directory / SUMMARY_FILE
    try:
        return path.read_bytes() if path.is_file() else None  # a pipe would have us wait for ever
    except OSError:
        return None


class SavedTables(InOnePart):
    """Tables read from the files of a saved result, all of the run whose summary.json is ``seal``."""

    def __init__(
        self,
        directory: Path,
        summary: dict[str, Any],
        platform: Platform,
        seal: bytes | None,
        assumptions: Sequence[str] = (),
    ):
        self._directory = directory
        self._metrics = summary
        self._assumptions = list(assumptions)
        self._platform = platform
        self._seal = seal

    def check_unchanged(self) -> None:
        """Raise FormatError if another run has been written meanwhile; what has been read before is whole, then, and old.

        A run that is saved takes summary.json away before it replaces any other file.
        """
        if seal_of(self._directory) != self._seal:
            raise FormatError(self._directory, "the results that were there when they were loaded", "others, or none")

    def _read(self, name: str) -> pd.DataFrame:
        expected = RESULT_COLUMNS[name]
        for suffix in ("csv", "parquet"):
            path = self._directory / f"{name}.{suffix}"
            if path.exists():
                check_regular(path)
                if suffix == "csv":
                    check_lengths(path.read_bytes().decode(errors="replace"), path)
                try:
                    text = {f.name: str for f in RESULT_TABLES[name] if f.kind == "str"}
                    text |= dict.fromkeys(("allocation", *JOB_LABELS), str)
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
                keys = UnknownKeys(path)
                keys.look(map(str, table.columns), (*expected, "allocation", *JOB_LABELS), "its header")
                keys.tell()
                missing = [column for column in expected if column not in table and column not in _MAY_LACK]
                if missing:
                    raise FormatError(path, f"a column '{missing[0]}'", f"columns {', '.join(table.columns)}")
                # Another program's result may know what the machine took, and not what each node did.
                energy = "energy_idle_j" if name == "nodes" else "energy_j"
                _check_whole(table, path, power_is_known=self._metrics.get(energy) is not None)
                table = _with_numbers(table, name, path)
                check_values(table, name, path)
                _check_names(table, path, self._platform, self._jobs if name in _OF_JOBS else None)
                return table
        raise FormatError(self._directory / f"{name}.csv", "a table of results", "no such file")

    def _has(self, name: str) -> bool:
        return self._path(name).exists()

    def _path(self, name: str) -> Path:
        """Return the file of a table; if there is none, the name that the CSV would have."""
        csv, parquet = (self._directory / f"{name}.{suffix}" for suffix in ("csv", "parquet"))
        return parquet if parquet.exists() and not csv.exists() else csv

    @cached_property
    def _jobs(self) -> pd.DataFrame:
        return self._read("jobs")

    def jobs(self) -> pd.DataFrame:
        """Return the rows of jobs.csv, without the allocations."""
        labels = [name for name in JOB_LABELS if name in self._jobs]
        return self._jobs[[*RESULT_COLUMNS["jobs"], *labels]]

    def core_holds(self) -> CoreHolds:
        """Return what holds.csv says; without it, the allocation texts of jobs.csv, each job in one attempt."""
        if self._has("holds"):
            return holds_of_table(self._read("holds"), self._jobs, self.attempts(), self._platform, self._path("holds"))
        path = self._path("jobs")
        if "allocation" not in self._jobs:
            raise FormatError(path, "a column 'allocation'")
        until = float(self.power()["time"].iloc[-1])
        return holds_of_texts(self._jobs, self.attempts(), path, until, self._platform)

    def attempts(self) -> pd.DataFrame:
        """Return the rows of attempts.csv; without it, one for each job that got cores."""
        if not self._has("attempts"):
            return attempts_of(self.jobs())
        table = self._read("attempts")
        return table if "over_time" in table else with_over_time(table, self.jobs())

    def stages(self) -> pd.DataFrame:
        """Return the rows of stages.csv; none if jobs did nothing beside their work."""
        if not self._has("stages"):
            self.check_unchanged()
            return no_rows("stages")
        return self._read("stages")

    def resource_holds(self) -> pd.DataFrame:
        """Return the rows of resource_holds.csv; none if jobs had no counted resources."""
        if not self._has("resource_holds"):
            self.check_unchanged()
            return no_rows("resource_holds")
        table, path, index = self._read("resource_holds"), self._path("resource_holds"), self._platform.node_index
        kinds, type_of_node = self._platform.node_types, self._platform.type_of_node
        columns = (table[name].tolist() for name in ("node", "resource", "first", "last"))
        for line, (node, name, first, last) in enumerate(zip(*columns, strict=True), 2):
            count = self._platform.pools.get(name, 0)
            if node:
                resource = kinds[type_of_node[index(node)]].resources.get(name)
                count = 0 if resource is None else resource.count
            if not 0 <= first <= last < count:
                expected = f"units of the {count} of {node or 'the platform'}"
                raise FormatError(f"{path}, line {line}", expected, f"{name} {first} to {last}")
        return table

    def gpus(self) -> pd.DataFrame:
        """Return what became of the GPUs, as the other tables tell it."""
        if GPU not in self._platform.resource_names:
            return no_rows("gpus")
        asked = self.conditions().columns(len(self._jobs)) | {
            "requested_cores": self._jobs["requested_cores"].to_numpy()
        }
        until = float(self.power()["time"].iloc[-1])
        return gpu_steps(self._platform, self.core_holds(), self.resource_holds(), asked, until)

    def node_states(self) -> pd.DataFrame:
        """Return the rows of node_states.csv."""
        return self._read("node_states")

    def nodes(self) -> pd.DataFrame:
        """Return the rows of nodes.csv, one for each node of the platform."""
        nodes, count = self._read("nodes"), self._platform.node_count
        here = nodes["node"].nunique()
        if not here == len(nodes) == count:
            found = f"{counted(here, 'node')} in {counted(len(nodes), 'row')}"
            raise FormatError(self._path("nodes"), f"a row for each node of the platform ({count:,})", found)
        return nodes

    def power(self) -> pd.DataFrame:
        """Return the rows of power.csv."""
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
        """Return the rows of p_states.csv; none when no processor has p-states or changed its clock."""
        if not self._has("p_states"):
            self.check_unchanged()
            return as_clock_table([])
        return self._read("p_states")

    def decisions(self) -> pd.DataFrame:
        """Return the rows of decisions.csv; none when the run was not to explain."""
        if not self._has("decisions"):
            self.check_unchanged()
            return no_rows("decisions")
        return self._read("decisions")[RESULT_COLUMNS["decisions"]]

    def decision_spans(self) -> Sequence[tuple[Span, ...]]:
        """Return what the column ``nodes`` of decisions.csv says. Raises FormatError for other text."""
        path, index = self._path("decisions"), self._platform.node_index
        known: dict[str, tuple[Span, ...]] = {}
        texts = self.decisions()["nodes"].tolist()
        for row, text in enumerate(texts):
            if text not in known:
                found = [_SPAN.fullmatch(part) for part in text.split(";")] if text else []
                try:
                    known[text] = tuple(
                        (index(match["first"]), index(match["last"] or match["first"]) + 1, int(match["cores"]))
                        for match in found
                        if match is not None
                    )
                except InputError as error:
                    raise FormatError(f"{path}, line {row + 2}, nodes", error.expected, error.found) from None
                if None in found:
                    raise FormatError(f"{path}, line {row + 2}, nodes", "node:cores or node..node:cores;…", text)
        return [known[text] for text in texts]

    def conditions(self) -> Conditions:
        """Return what conditions.json says; where there is none, only cores counted."""
        path = self._directory / CONDITIONS_FILE
        if not path.exists():
            self.check_unchanged()
            return Conditions()
        document = read_own_json(path, "the conditions of a run")
        self.check_unchanged()
        return Conditions.read(document, path, len(self._jobs), self._platform)

    def summary(self, result: RunRecords) -> dict[str, Any]:
        """Return the metrics of summary.json."""
        return self._metrics

    def assumptions(self, result: RunRecords) -> list[str]:
        """Return the list in summary.json."""
        return self._assumptions


_MAY_BE_EMPTY = set(
    "submit_time eligible_time allocation_time start_time finish_time wait_time run_time turnaround_time slowdown "
    "bounded_slowdown stretch tardiness promised_time queue_time end_time over_time work_done used_from".split()
)
"""Columns of results that have no value where nothing started or ended."""
_MAY_LACK = ("over_time", "used_from")
"""Columns that older results lack."""


_MAY_BE_INFINITE = ("requested_time", "promised_time")
_LARGEST_INTEGER = 2**53
_OF_JOBS = ("attempts", "stages", "decisions")
"""Tables whose rows are about jobs, each of which the table of jobs has."""


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
        unknown = str(column).endswith(("_j", "watts")) and not power_is_known
        if column not in _MAY_BE_EMPTY and empty.any() and not unknown:
            raise FormatError(f"{path}, line {int(empty.argmax()) + 2}, {column}", "a value", "nothing")


def _with_numbers(table: pd.DataFrame, name: str, path: Path) -> pd.DataFrame:
    """Return the table with numbers in its columns of numbers; raise FormatError for the first cell that holds none."""
    for field in RESULT_TABLES[name]:
        if field.name not in table:
            continue
        column = table[field.name]
        if field.kind == "str" and not (is_text := column.map(lambda cell: isinstance(cell, str)).to_numpy(bool)).all():
            row = int((~is_text).argmax())
            raise FormatError(f"{path}, line {row + 2}, {field.name}", "text", str(column.iloc[row]))
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


def _check_names(table: pd.DataFrame, path: Path, platform: Platform, jobs: pd.DataFrame | None) -> None:
    """Raise FormatError for a job that the table of jobs has twice, and for nodes and ``jobs`` that there are not."""
    if path.stem == "jobs" and table["job_id"].duplicated().any():
        row = int(table["job_id"].duplicated().to_numpy().argmax())
        raise FormatError(f"{path}, line {row + 2}, job_id", "every job once", f"'{table['job_id'].iloc[row]}' again")
    if "node" in table:
        code, names = pd.factorize(table["node"])
        for number, name in enumerate(names):
            if path.stem == "resource_holds" and not name:
                continue  # a licence
            try:
                platform.node_index(str(name))
            except InputError as error:
                row = int((code == number).argmax())
                raise FormatError(f"{path}, line {row + 2}, node", error.expected, name) from None
    if jobs is None:
        return
    for column in table.columns.intersection(["job_id", "behind"]):  # behind may be empty
        known = (table[column].isin(jobs["job_id"]) | ((table[column] == "") & (column == "behind"))).to_numpy()
        if not known.all():
            row = int((~known).argmax())
            found = table[column].iloc[row]
            raise FormatError(f"{path}, line {row + 2}, {column}", "a job that the table of jobs has", f"'{found}'")


class _Processors(dict[tuple[str, str], tuple[int, int]]):
    """First core and number of cores of a processor, by the names of its node and itself; (0, 0) if there is none."""

    def __init__(self, platform: Platform):
        super().__init__()
        self._platform = platform

    def __missing__(self, place: tuple[str, str]) -> tuple[int, int]:
        node, processor = place
        number = _PROCESSOR.fullmatch(processor)
        self[place] = 0, 0
        with suppress(InputError):
            index = self._platform.node_index(node)
            unit = int(self._platform.first_processor[index]) + (int(number[1]) if number else _LARGEST_INTEGER)
            if unit < self._platform.first_processor[index + 1]:
                first = self._platform.first_core
                self[place] = int(first[unit]), int(first[unit + 1] - first[unit])
        return self[place]


class _Parts(dict[str, int]):
    """Numbers of the parts of allocation texts, which come again and again: ``cores[number]`` are a part's first and last.

    Raises InputError for a part that is none, and for cores that the platform lacks.
    """

    def __init__(self, platform: Platform):
        super().__init__()
        self._processors = _Processors(platform)
        self.cores: list[tuple[int, int]] = []

    def __missing__(self, part: str) -> int:
        match = _PART.fullmatch(part)
        if match is None:
            raise InputError("allocation", "node.processor:first-last;…", part)
        node, processor, low, high = match.groups()
        base, cores = self._processors[node, processor]
        begin, end = int(low), int(high or low)
        if not begin <= end < cores:
            raise InputError("allocation", "cores that the platform has", part)
        self[part] = len(self.cores)
        self.cores.append((base + begin, base + end))
        return self[part]


_SPAN = re.compile(r"(?P<first>.+?)(?:\.\.(?P<last>.+))?:(?P<cores>[0-9]{1,9})")
_PROCESSOR = re.compile(r"processor([0-9]{1,9})")
_PART = re.compile(r"(.+)\.(processor[0-9]{1,9}):([0-9]{1,9})(?:-([0-9]{1,9}))?")


def holds_of_texts(
    jobs: pd.DataFrame, attempts: pd.DataFrame, path: Path, horizon: float, platform: Platform
) -> CoreHolds:
    """Return who held which cores by jobs and their ``allocation`` texts, each job in one of the ``attempts``.

    Raises FormatError for other text, for cores that the platform lacks, and for a job that started on none.
    """
    count, code = array("q"), array("q")
    parts = _Parts(platform)
    started = jobs["start_time"].notna()
    for name, text, ran in zip(jobs["job_id"], jobs["allocation"], started, strict=True):
        if not text and ran:
            raise FormatError(f"{path}, job {name}, allocation", "the cores of a job that started", "nothing")
        before = len(code)
        try:
            code.extend(map(parts.__getitem__, filter(None, text.split(";"))))
        except InputError as error:
            raise FormatError(f"{path}, job {name}, allocation", error.expected, error.found) from None
        count.append(len(code) - before)
    allocated, began = (jobs[column].to_numpy(dtype=np.float64) for column in ("allocation_time", "start_time"))
    # Not the finish of the job: one that is killed while it is suspended gave its cores back before.
    last = attempts.drop_duplicates("job_id", keep="last").set_index("job_id")
    finished = last["end_time"].reindex(jobs["job_id"]).to_numpy(dtype=np.float64)
    owner = np.repeat(np.arange(len(jobs)), np.array(count, np.int64))
    first, last = np.array(parts.cores, np.int64).reshape(-1, 2)[np.array(code, np.int64)].T
    ended = np.where(np.isnan(finished), horizon, finished)
    held = Holds(owner, first, last, allocated[owner], ended[owner]).joined()
    return CoreHolds(_ids(jobs), np.arange(len(jobs)), np.ones(len(jobs), np.int64), (), held, began[held.tenant])


def holds_of_table(
    table: pd.DataFrame, jobs: pd.DataFrame, attempts: pd.DataFrame, platform: Platform, path: Path
) -> CoreHolds:
    """Return who held which cores by the table ``holds``, and since when its tasks used them.

    An older table does not say the latter: then an attempt used its cores since it began by the table of attempts, but for
    those that look as if they were kept for its next part. Raises FormatError for an owner that is no job, and for cores
    that the platform lacks.
    """
    first, last = core_numbers(table, platform, path)
    of_job, number = (table["kind"] == JOB).to_numpy(), table["attempt"].to_numpy(dtype=np.int64)
    index = pd.Index(jobs["job_id"])
    row = index.get_indexer(pd.Index(table["owner"]))
    if (of_job & (row < 0)).any():
        line = int((of_job & (row < 0)).argmax())
        raise FormatError(f"{path}, line {line + 2}, owner", "a job of jobs.csv", table["owner"].iloc[line])
    guest, guests = pd.factorize(table["owner"][~of_job])
    pairs, of_row = np.unique(np.column_stack([row, number])[of_job], axis=0, return_inverse=True)
    tenant = np.empty(len(table), np.int64)
    tenant[of_job], tenant[~of_job] = of_row.ravel(), len(pairs) + guest
    start, end = (table[name].to_numpy(dtype=np.float64) for name in ("start", "end"))
    held = Holds(tenant, first, last, start, end)
    if "used_from" in table:
        used_from = table["used_from"].to_numpy(dtype=np.float64)
    else:
        known = zip(index.get_indexer(pd.Index(attempts["job_id"])).tolist(), attempts["attempt"].tolist(), strict=True)
        began_of = dict(zip(known, attempts["start_time"].tolist(), strict=True))
        began = np.array([began_of.get((job, which), np.nan) for job, which in pairs.tolist()], np.float64)
        began = np.append(began, np.full(len(guests), np.nan))
        since = np.maximum(held.start, began[held.tenant])
        used_from = np.where(reserved(held) | (since > held.end), np.nan, since)
    # Join again what the table had to cut at the bounds of processors, and no more.
    apart = np.ones(len(table), bool)
    after, before = used_from[1:], used_from[:-1]
    alike = (after == before) | (np.isnan(after) & np.isnan(before))
    apart[1:] = ~alike | ~np.isin(first[1:], platform.first_core)
    ids, names = _ids(jobs), [str(name) for name in guests]
    used_from = used_from[held.beginnings(apart)]
    return CoreHolds(ids, pairs[:, 0], pairs[:, 1], names, held.joined(apart), used_from)


def core_numbers(table: pd.DataFrame, platform: Platform, where: str | Path) -> tuple[Ints, Ints]:
    """Return the first and last core of each row of ``holds`` or ``allocations``, counted through the platform.

    Raises FormatError for cores that it lacks.
    """
    processors = _Processors(platform)
    pairs = zip(table["node"].astype(str), table["processor"].astype(str), strict=True)
    base, cores = np.array([processors[pair] for pair in pairs], np.int64).reshape(-1, 2).T
    first, last = (table[name].to_numpy(dtype=np.int64) for name in ("first_core", "last_core"))
    wrong = (first < 0) | (first > last) | (last >= cores)
    if wrong.any():
        row = int(wrong.argmax())
        node, processor, low, high = table[["node", "processor", "first_core", "last_core"]].iloc[row]
        raise FormatError(f"{where}, line {row + 2}", "cores that the platform has", f"{node}.{processor}:{low}-{high}")
    return base + first, base + last


def _ids(jobs: pd.DataFrame) -> npt.NDArray[np.object_]:
    return jobs["job_id"].to_numpy(dtype=object)
