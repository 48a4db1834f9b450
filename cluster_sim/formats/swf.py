"""Standard Workload Format, the format of the Parallel Workloads Archive (Feitelson, Tsafrir, Krakov 2014).

A line is a job, its 18 fields separated by white space, -1 for what is unknown; lines that begin with ";" are
comments, those at the top hold directives such as ``; MaxProcs: 128``. Defined at
https://www.cs.huji.ac.il/labs/parallel/workload/swf.html.

Logs take liberties, and these are read without complaint: numbers with decimals, any order of submission, blank lines,
run times above the requested time. A line that has lost or gained a field cannot say which one, so it is refused. If all
lines have more than 18 fields, the first 18 are read, and a ModelWarning says so.
"""

from __future__ import annotations

import io
import math
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from cluster_sim.errors import FormatError, ModelWarning, SpecError, few, warn_user
from cluster_sim.files.atomic import write_bytes
from cluster_sim.files.reading import read_bytes
from cluster_sim.spelling import UnknownKeys
from cluster_sim.workload.fields import UNKNOWN, whole_number
from cluster_sim.workload.job_table import (
    Columns,
    as_columns,
    constant,
    first_submission,
    shift,
    take,
    texts,
    to_seconds,
    unshifted,
)
from cluster_sim.workload.workload import Workload

FIELDS = 18
_NAMED_LINES = 5
"""Lines without 18 fields that a message names."""
_PARTIAL_EXECUTIONS = (2, 3, 4)  # status of lines that repeat a swapped-out job piece by piece
_CANCELLED = 5
_LARGEST_EXACT = 2.0**53
_DIRECTIVE_LINE = re.compile(r";\s*([A-Z][A-Za-z]+):")
_DIRECTIVES = (
    "Version Computer Installation Acknowledge Information Conversion MaxJobs MaxRecords Preemption UnixStartTime TimeZone "
    "TimeZoneString StartTime EndTime MaxNodes MaxProcs MaxRuntime MaxMemory AllowOveruse MaxQueues Queues Queue "
    "MaxPartitions Partitions Partition Note Resource User Group Executable SWFversion Copyright"
).split()
_STATUSES = (-1, 0, 1, 2, 3, 4, 5)
_IDS = {11: "user", 12: "group", 15: "partition"}
"""Fields that may hold a whole number of any size: they are names, with which nobody calculates."""

# Fields kept as they are, by their position from 0; the others need a decision.
_AS_LOGGED = {
    2: "recorded_wait_time",
    4: "used_cores",
    5: "avg_cpu_time",
    6: "used_memory",
    9: "requested_memory",
    10: "status",
    13: "executable",
    14: "queue",
    15: "partition",
    16: "preceding_job",
    17: "think_time",
}

KEPT = frozenset(
    {"job_id", "submit_time", "requested_cores", "requested_time", "operations", "recorded_run_time", "memory", "user"}
    | {"group", "requested_cores_assumed", "requested_time_assumed", "header", *_AS_LOGGED.values()}
)
"""Columns that are written, operations as run times; and the header."""


def read(
    path: str,
    *,
    requested_time: Literal["recorded", "none"] = "recorded",
    cancelled: Literal["ran", "keep", "drop"] = "ran",
    failed: Literal["keep", "drop"] = "keep",
    zero_length: Literal["keep", "drop"] = "keep",
    time_unit: str = "seconds",
    reference_gflops: float | None = None,
) -> Workload:
    """Read an SWF log, gzipped or not.

    A job without requested processors asked for those it used. Jobs that cannot be simulated are dropped, and a
    ModelWarning counts them: those with no processors, no run time (mostly cancelled before they started) or an unknown
    submission. Lines of partial executions (status 2 to 4) are dropped too, as they repeat a job that has its own line.
    Times are shifted so that the first job left is submitted at 0 (``workload.origin_s`` keeps the shift).

    Parameters
    ----------
    requested_time : for jobs that have none: "recorded", their recorded run time (a perfect estimate), or "none",
        infinite.
    cancelled : of the jobs with status 5 keep those that "ran" for some time, "keep" or "drop" all.
    failed : jobs with status 0; they did use their processors.
    zero_length : jobs that ran for 0 s (shorter than the log's clock tick).
    time_unit : what the file's times count.
    reference_gflops : rate of one of the machine's cores, if known.

    Raises FormatError naming the line, SpecError for an unknown option value.
    """

    for option, value, choices in (
        ("requested_time", requested_time, ("recorded", "none")),
        ("cancelled", cancelled, ("ran", "keep", "drop")),
        ("failed", failed, ("keep", "drop")),
        ("zero_length", zero_length, ("keep", "drop")),
    ):
        if value not in choices:
            raise SpecError(f"{path}, option {option}", f"one of {', '.join(choices)}", value)
    data = read_bytes(path)
    header, start = _header(data, path)
    log = _parse(data, path, start)
    _clear_impossible(log, path)
    rows = _kept_rows(log, path, cancelled, failed, zero_length)
    columns = _columns(log, requested_time == "recorded")
    if len(rows) < len(log.ids):
        columns = take(columns, rows)
    to_seconds(columns, time_unit)
    origin_s = first_submission(columns)
    shift(columns, origin_s)
    return Workload(
        columns,
        name=path.replace("\\", "/").rpartition("/")[2].removesuffix(".gz").removesuffix(".swf"),
        origin_s=origin_s,
        header=header,
        reference_gflops=reference_gflops,
        locate=lambda row: f"{path} line {log.line_of(int(rows[row]))}",
    )


def write(workload: Workload, path: str) -> None:
    """Write an SWF log; reading it again gives the same jobs.

    The header is the workload's own, or a minimal one. Times are in seconds, moved back by ``origin_s``. SWF knows only
    whole numbers as ids: where a column of names (jobs, users, groups, partitions) holds other text, it is
    numbered from 1 in order of appearance, and a ModelWarning says so. Jobs given in operations get the run time at
    ``reference_gflops``; without that, at 1 Gflop/s, and a ModelWarning says so. What SWF has no field for (after,
    profile, mem_vol, energies, …) is lost: all but ``KEPT``, of which ``Workload.write`` tells.
    """
    jobs = as_columns(workload.jobs)
    warn_of_names({name: jobs[name] for name in ("job_id", "user", "group", "partition")}, path)
    table: Columns = {name: jobs[name] for name in _AS_LOGGED.values()}
    if jobs["partition"].dtype == object:
        table["partition"] = numbers_of_names(jobs["partition"])
    table["job_id"] = numbers_of_names(jobs["job_id"])
    number_of = dict(zip(jobs["job_id"].tolist(), table["job_id"].tolist(), strict=True))
    if (jobs["preceding_job"] >= 0).any() and any(job != str(number) for job, number in number_of.items()):
        preceding = jobs["preceding_job"].tolist()
        table["preceding_job"] = np.array([number_of.get(str(job), UNKNOWN) for job in preceding])
    table["submit_time"] = unshifted(jobs["submit_time"], workload.origin_s)
    table["run_time"] = recorded = workload.jobs["recorded_run_time"].to_numpy()
    unrecorded = np.isnan(recorded)
    if unrecorded.any():
        gflops = workload.reference_gflops
        if gflops is None:
            gflops = 1.0
            text = f"{path}: run times of jobs given in operations are written for cores of 1 Gflop/s (no reference_gflops)"
            warn_user(ModelWarning(text))
        table["run_time"] = np.where(unrecorded, workload.jobs["operations"].to_numpy() / (gflops * 1e9), recorded)
    table["cores"] = np.where(jobs["requested_cores_assumed"], UNKNOWN, jobs["requested_cores"])
    asked = np.isfinite(jobs["requested_time"]) & ~jobs["requested_time_assumed"]
    unsayable = int(((~asked | (jobs["requested_time"] == 0.0)) & ~jobs["requested_time_assumed"]).sum())
    if unsayable:
        text = f"{unsayable:,} of {len(asked):,} jobs requested no time, or 0 s, which SWF cannot say"
        warn_user(ModelWarning(f"{path}: {text}: readers, ours too, take the run time, a perfect estimate"))
    table["requested_time"] = np.where(asked, jobs["requested_time"], UNKNOWN)
    unlogged = (jobs["requested_memory"] == UNKNOWN) & (jobs["memory"] > 0)
    table["requested_memory"] = np.where(unlogged, jobs["memory"] * 1024, jobs["requested_memory"])
    table["user"] = numbers_of_names(jobs["user"])
    table["group"] = numbers_of_names(jobs["group"])
    own = {0: "job_id", 1: "submit_time", 3: "run_time", 7: "cores", 8: "requested_time", 11: "user", 12: "group"}
    order = [(_AS_LOGGED | own)[position] for position in range(FIELDS)]
    lines = pd.DataFrame({name: whole_where_possible(table[name]) for name in order})
    text = lines.to_csv(sep=" ", header=False, index=False, lineterminator="\n")
    header = workload.header or _minimal_header(workload)
    write_bytes(path, ("".join(f"{line}\n" for line in header) + text).encode())


# -- reading ----------------------------------------------------------------------------------------------------------


def _header(data: bytes, path: str) -> tuple[list[str], int]:
    """Return the comment lines before the first job, and where they end.

    Warns of directives that look misspelt: without MaxProcs, say, the machine is another one.
    """
    header: list[str] = []
    position = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    while position < len(data):
        end = data.find(b"\n", position)
        end = len(data) if end < 0 else end
        text = data[position:end].strip()
        if text and not text.startswith(b";"):
            break
        if text:
            # Old logs have names in Latin-1, where every byte is a character.
            try:
                header.append(text.decode("utf-8"))
            except UnicodeDecodeError:
                header.append(text.decode("latin-1"))
        position = end + 1
    keys = UnknownKeys(path)
    for number, line in enumerate(header, start=1):
        if match := _DIRECTIVE_LINE.match(line):
            keys.look([match[1]], _DIRECTIVES, f"line {number} of the header", takes_others=True)
    keys.tell()
    return header, min(position, len(data))


class _Log(NamedTuple):
    """Jobs of a log as its lines say them."""

    ids: np.ndarray  #: Text.
    fields: np.ndarray  #: (jobs, 18) floats, -1 for what is unknown.
    names: dict[int, np.ndarray]  #: Text of the fields in _IDS that hold numbers which a float would change.
    data: bytes

    def line_of(self, row: int) -> int:
        """Return the line of a job; looked up only when something is wrong with it."""
        return next(islice(_job_lines(self.data), row, None))[0]


def _parse(data: bytes, path: str, start: int) -> _Log:
    """Parse the jobs of a log. Raises FormatError if no line is a job, and for text that is no number."""
    if not data[start:].strip():
        raise FormatError(path, "at least one job line", "none")
    if b"\0" in data:
        raise FormatError(f"{path} line {data.count(10, 0, data.index(0)) + 1}", "text", "binary data")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.ParserWarning)  # of a 20th field; the 19th says enough
            # "nan" and words raise ValueError.
            fields = pd.read_csv(
                io.BytesIO(data[start:]),
                sep=r"\s+",
                comment=";",
                header=None,
                names=range(FIELDS + 1),
                index_col=False,
                dtype=np.float64,
                keep_default_na=False,
                na_values=[""],
                quoting=3,
            ).to_numpy()
    except (ValueError, OverflowError):
        return _parse_carefully(data, path)
    fields, further = fields[:, :FIELDS], fields[:, FIELDS]
    ids = fields[:, [0, *_IDS]]
    plain_ids = (np.abs(ids) < _LARGEST_EXACT) & (ids == np.trunc(ids))
    if not (len(fields) and np.isnan(further).all() and np.isfinite(fields).all() and plain_ids.all()):
        return _parse_carefully(data, path)
    return _Log(texts(fields[:, 0].astype(np.int64)), fields, {}, data)


def _parse_carefully(data: bytes, path: str) -> _Log:
    """Parse line by line. This is slower, but it keeps every digit of an id and knows where an error is."""
    counts = [(number, len(fields)) for number, fields in _job_lines(data)]
    if not counts:
        raise FormatError(path, "at least one job line", "none")
    if all(count > FIELDS for _, count in counts):
        text = f"all lines have more than the {FIELDS} fields of SWF (line {counts[0][0]} has {counts[0][1]})"
        warn_user(ModelWarning(f"{path}: {text}; the first {FIELDS} are read, the others ignored"))
    elif others := [(number, count) for number, count in counts if count != FIELDS]:
        (number, count), *more = others
        rest = f" (others without {FIELDS}: lines {few((line for line, _ in more), _NAMED_LINES)})" if more else ""
        raise FormatError(
            f"{path} line {number}", f"the {FIELDS} fields of SWF, -1 for what is unknown", f"{count}{rest}"
        )
    ids: list[str] = []
    rows: list[list[float]] = []
    names: dict[int, list[str]] = {position: [] for position in _IDS}
    for number, fields in _job_lines(data):
        values = [0.0, *map(_as_float, fields[1:FIELDS])]
        for position in range(FIELDS):
            if not math.isfinite(values[position]):
                found = fields[position].decode("utf-8", "backslashreplace")
                raise FormatError(f"{path} line {number}, field {position + 1}", "a finite number", found)
        ids.append(_id_of(fields[0]))
        rows.append(values)
        for position, column in names.items():
            column.append(_id_of(fields[position]))
    table = np.array(rows)
    beyond = [position for position in _IDS if (np.abs(table[:, position]) >= _LARGEST_EXACT).any()]
    kept = {position: np.array(names[position], dtype=object) for position in beyond}
    return _Log(np.array(ids, dtype=object), table, kept, data)


def _id_of(text: bytes) -> str:
    """Return an id as text: a whole number without superfluous zeros or decimals, anything else as it is."""
    number = _as_float(text)
    if number.is_integer() and abs(number) < _LARGEST_EXACT:
        return str(int(number))
    return text.decode("utf-8", "replace")


def _as_float(text: bytes) -> float:
    """Return the number that a text is; NaN if it is none."""
    try:
        return math.nan if b"_" in text else float(text)
    except ValueError:
        return math.nan


def _job_lines(data: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Yield (line number from 1, fields) of each line that holds a job."""
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), start=1):
        fields = line.partition(b";")[0].split()
        if fields:
            yield number, fields


def _clear_impossible(log: _Log, path: str) -> None:
    """Make unknown, and tell of, what no field of SWF can hold: numbers below -1, and a status without a meaning.

    Submissions and run times are left to the checks that refuse and drop jobs.
    """
    wrong = log.fields < UNKNOWN
    wrong[:, [0, 1, 3]] = False
    wrong[:, 10] |= ~np.isin(log.fields[:, 10], _STATUSES)
    if not wrong.any():
        return
    row, position = (int(place[0]) for place in np.nonzero(wrong))
    first = f"line {log.line_of(row)}, field {position + 1}: {log.fields[row, position]:g}"
    text = f"{int(wrong.sum()):,} numbers below -1, or of no status, count as unknown (first in {first})"
    warn_user(ModelWarning(f"{path}: {text}"))
    log.fields[wrong] = UNKNOWN
    for column, names in log.names.items():
        names[wrong[:, column]] = str(UNKNOWN)


def _kept_rows(log: _Log, path: str, cancelled: str, failed: str, zero_length: str) -> np.ndarray:
    """Return the rows of the jobs that can be simulated; warn of the others, with the first line of each reason.

    A job counts under the first reason that applies. Raises FormatError if no job is left.
    """
    submit, run, used, requested, status = (log.fields[:, position] for position in (1, 3, 4, 7, 10))
    reasons = {
        "partial executions": np.isin(status, _PARTIAL_EXECUTIONS),
        "unknown submission": submit == UNKNOWN,
        "no processors": np.where(requested > 0, requested, used) <= 0,
        "no run time": run < 0,
    }
    if cancelled != "keep":
        reasons["cancelled"] = (status == _CANCELLED) & ((run == 0) | (cancelled == "drop"))
    if failed == "drop":
        reasons["failed"] = status == 0
    if zero_length == "drop":
        reasons["zero length"] = run == 0
    counted: list[str] = []
    dropped = np.zeros(len(log.ids), dtype=bool)
    for reason, mask in reasons.items():
        mask = mask & ~dropped
        dropped |= mask
        if mask.any():
            counted.append(f"{mask.sum()} {reason} (first in line {log.line_of(int(mask.argmax()))})")
    if counted:
        summary = f"{dropped.sum()} of {len(dropped)} jobs dropped: {', '.join(counted)}"
        if dropped.all():
            raise FormatError(path, "at least one job that can be simulated", summary)
        warn_user(ModelWarning(f"{path}: {summary}"))
    return np.flatnonzero(~dropped)


def _columns(log: _Log, assume_recorded: bool) -> Columns:
    """Return the columns of the job schema."""
    fields = log.fields
    columns: Columns = {name: _compact(fields[:, position]) for position, name in _AS_LOGGED.items()}
    columns["job_id"] = log.ids
    columns["submit_time"] = fields[:, 1]
    columns["recorded_run_time"] = run = fields[:, 3]
    no_request = fields[:, 7] <= 0
    columns["requested_cores"] = np.where(no_request, fields[:, 4], fields[:, 7])
    columns["requested_cores_assumed"] = _compact(no_request)
    no_time = fields[:, 8] <= 0
    columns["requested_time"] = np.where(no_time, run if assume_recorded else np.inf, fields[:, 8])
    columns["requested_time_assumed"] = _compact(no_time & assume_recorded)
    # SWF counts memory in KB per processor, our jobs in MB per task.
    columns["memory"] = _compact(np.maximum(fields[:, 9], 0.0) / 1024)
    columns["user"] = _names(fields[:, 11])
    columns["group"] = _names(fields[:, 12])
    for position, names in log.names.items():
        columns[_IDS[position]] = np.where(names == str(UNKNOWN), "", names)
    return columns


def _compact(values: np.ndarray) -> np.ndarray:
    """Return a column; if it holds one value throughout, in the memory of one."""
    return constant(values[0], len(values)) if (values == values[0]).all() else values


def _names(numbers: np.ndarray) -> np.ndarray:
    """Return numbers of users or groups as text; unknown ones as empty text."""
    if (numbers == numbers[0]).all():
        return constant(_name_of(float(numbers[0])), len(numbers))
    distinct, positions = np.unique(numbers, return_inverse=True)
    return np.array([_name_of(number) for number in distinct.tolist()], dtype=object)[positions]


def _name_of(number: float) -> str:
    if number == UNKNOWN:
        return ""
    return str(int(number)) if number.is_integer() else str(number)


# -- writing ----------------------------------------------------------------------------------------------------------


def numbers_of_names(names: np.ndarray) -> np.ndarray:
    """Return names as whole numbers: themselves if all of them are, else numbered by appearance; -1 where empty."""
    distinct = dict.fromkeys(names.tolist(), UNKNOWN)
    is_number = _are_numbers(distinct)
    for order, name in enumerate((name for name in distinct if name), start=1):
        distinct[name] = int(name) if is_number else order
    return np.array([distinct[name] for name in names.tolist()], dtype=object)


def _are_numbers(names: Iterable[str]) -> bool:
    """Return whether names are whole numbers as SWF writes them, or unknown."""
    return all(name == "" or name == str(whole_number(name)) for name in names)


def warn_of_names(columns: Columns, path: str | os.PathLike[str]) -> None:
    """Tell which of these columns hold names, in the place of which the file has numbers."""
    named = [
        name for name, values in columns.items() if values.dtype == object and not _are_numbers(set(values.tolist()))
    ]
    if named:
        text = f"{path}: SWF has numbers only: names are numbered from 1 in order of appearance in {', '.join(named)}"
        warn_user(ModelWarning(text))


def whole_where_possible(values: np.ndarray) -> np.ndarray:
    """Return a column for printing: 12 rather than 12.0, and other floats with all the digits they need."""
    if values.dtype != np.float64:
        return values
    is_whole = (values == np.trunc(values)) & (np.abs(values) < _LARGEST_EXACT)
    if is_whole.all():
        return values.astype(np.int64)
    return np.array([int(v) if w else v for v, w in zip(values.tolist(), is_whole.tolist(), strict=True)], dtype=object)


def _minimal_header(workload: Workload) -> list[str]:
    return [
        "; Version: 2.2",
        f"; Computer: {workload.name}",
        f"; MaxJobs: {len(workload)}",
        f"; MaxRecords: {len(workload)}",
        f"; MaxProcs: {workload.max_procs}",
    ]
