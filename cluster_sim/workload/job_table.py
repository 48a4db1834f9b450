"""The table of a workload's jobs: filled with defaults, checked, sorted; all of it column by column.

Errors name the first offending row: where it stands in its file (when a reader passes ``locate``), the job, the column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pandas as pd

from cluster_sim.errors import FormatError, InputError, SpecError
from cluster_sim.spelling import nearest
from cluster_sim.workload.dependencies import check_after
from cluster_sim.workload.fields import JOB_FIELDS, REQUIRED, UNKNOWN, Field
from cluster_sim.workload.parts import MOST_CHECKPOINTS, checkpoints_in, parse_interval, parse_parts
from cluster_sim.workload.phases import parse_phases
from cluster_sim.workload.resource_request import GPU_COLUMNS, parse_units
from cluster_sim.workload.speedup import parse_speedup

Columns = dict[str, Any]
Locate = Callable[[int], str]

JOB_FIELD = {field.name: field for field in JOB_FIELDS}
TRUTH = {"True": True, "true": True, "1": True, "False": False, "false": False, "0": False}
"""Words for true and false in tables."""
TIME_UNITS = {"milliseconds": 1e-3, "seconds": 1.0, "minutes": 60.0, "hours": 3600.0, "days": 86400.0}

_WHOLE = re.compile(r"(-?[0-9]{1,18}(\.0*)?)?")
_LARGEST_INTEGER = 2**53  # beyond it a float column would silently hold another number
_BOUNDS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "> 0": lambda values: values > 0,
    ">= 0": lambda values: values >= 0,
    ">= 1": lambda values: values >= 1,
}


def checked_columns(columns: Mapping[str, Any], source: str = "jobs", locate: Locate | None = None) -> Columns:
    """Return the complete, checked columns of a job table, sorted by submission (equal times keep their order).

    ``columns`` maps names of JOB_FIELDS to arrays of equal length. ``locate`` turns a row's position into its place in
    the file. Raises FormatError for an unknown name, and for a required column that is absent. Columns of another
    length, and values of the wrong type or out of range, raise it too.
    """
    where = locate or (lambda row: f"{source} row {row}")
    for name in columns:
        if name not in JOB_FIELD:
            raise FormatError(f"{source}, column '{name}'", nearest(str(name), JOB_FIELD), name)
    for field in JOB_FIELDS:
        if field.default is REQUIRED and field.name != "job_id" and field.name not in columns:
            raise FormatError(source, f"a column {field.name}", f"only {', '.join(map(str, columns)) or 'none'}")
    if not {"operations", "recorded_run_time"} & columns.keys():
        raise FormatError(source, "a column operations or recorded_run_time", f"only {', '.join(columns)}")
    count = _length(columns, "submit_time", source)
    for name in columns:
        length = _length(columns, name, source)
        if length != count:
            raise FormatError(f"{source}, {name}", f"as many values as submit_time has, {count:,}", f"{length:,}")
    ids = _job_ids(columns.get("job_id"), count, where)

    def place(row: int, column: str) -> str:
        return f"{where(row)}, job {ids[row]}, {column}"

    table: Columns = {}
    columns = _with_requested_times(columns, count)
    for field in JOB_FIELDS:
        if field.name == "job_id":
            table["job_id"] = ids
        elif field.name in columns:
            table[field.name] = _checked(columns[field.name], field, place)
        else:
            table[field.name] = constant(field.default, count)
    workless = np.isnan(table["operations"]) & np.isnan(table["recorded_run_time"])
    if workless.any():
        raise FormatError(place(int(workless.argmax()), "operations"), "operations or recorded_run_time", "neither")
    for name, parse in _READ_AS.items():
        values = table[name]
        if len(values) and not any(values.strides):
            values = values[:1]
        texts = values.tolist()
        for text in dict.fromkeys(texts):
            try:
                parse(text)
            except InputError as error:
                raise FormatError(place(texts.index(text), name), error.expected, text) from None
    _check_gpus(table, place)
    _check_widths(table, place)
    _check_checkpoints(table, place)
    check_after(table, place)
    submit = table["submit_time"]
    if (submit[1:] < submit[:-1]).any():
        table = take(table, np.argsort(submit, kind="stable"))
    return table


def _with_requested_times(columns: Mapping[str, Any], count: int) -> Mapping[str, Any]:
    """Return the columns with the run time in place of a requested time that is not given; inf is given: no limit.

    A job of which only the work is known has no run time before it runs: it has no limit.
    """
    try:
        asked = np.array(columns.get("requested_time", np.full(count, math.nan)), dtype=np.float64)
        run = np.array(columns.get("recorded_run_time", np.full(count, math.nan)), dtype=np.float64)
        assumed = np.array(columns.get("requested_time_assumed", np.zeros(count)), dtype=np.bool_)
    except (TypeError, ValueError):
        return columns  # text in numbers, of which the check of each column tells the place
    missing = np.isnan(asked)
    if not missing.any() or asked.shape != run.shape:
        return columns
    stands_in = missing & (run >= 0.0) & np.isfinite(run)
    asked[missing] = np.where(stands_in, run, math.inf)[missing]
    return {**columns, "requested_time": asked, "requested_time_assumed": assumed | stands_in}


def _length(columns: Mapping[str, Any], name: str, source: str) -> int:
    values = columns[name]
    if isinstance(values, str) or np.ndim(values) == 0:
        raise FormatError(f"{source}, {name}", "a value for each job", values)
    return len(values)


@contextmanager
def in_words(words: Mapping[str, str]) -> Iterator[None]:
    """Tell of a wrong value by another program's word for its column beside ours: the user will look into that file."""
    try:
        yield
    except FormatError as error:
        column = error.where.rpartition(", ")[2]
        if words.get(column, column) == column:
            raise
        raise FormatError(error.where, error.expected, f"{error.found} in '{words[column]}'") from None


def constant(value: object, count: int) -> np.ndarray:
    """Return ``count`` times ``value`` in the memory of one: most columns of a log hold nothing but their default."""
    single = np.array(value, dtype=object) if isinstance(value, str) else np.array(value)
    return np.broadcast_to(single, count)


def take(table: Mapping[str, np.ndarray], rows: np.ndarray) -> Columns:
    """Return the rows at positions ``rows``; constant columns stay constant."""
    return {
        name: np.broadcast_to(values[:1], len(rows)) if len(rows) and not any(values.strides) else values[rows]
        for name, values in table.items()
    }


def as_frame(table: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Return columns as a DataFrame that shares their memory.

    Text stays Python objects, the quickest to hand out again.
    """
    index = pd.RangeIndex(len(table["submit_time"]))
    series = {
        name: pd.Series(values, index=index, dtype=object, copy=False) if values.dtype == object else values
        for name, values in table.items()
    }
    return pd.DataFrame(series, index=index, copy=False)


def read_only(table: Mapping[str, np.ndarray]) -> Columns:
    """Return the columns as arrays that cannot be written to; text as Python objects, as in a DataFrame."""
    views = {
        name: values.astype(object) if values.dtype.kind in "US" else values.view() for name, values in table.items()
    }
    for values in views.values():
        values.flags.writeable = False
    return views


def as_one_table(jobs: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a mapping for each job as a table; where some jobs say nothing of a field, its default stands."""
    names = dict.fromkeys(name for job in jobs for name in job)
    defaults = {name: JOB_FIELD[name].default for name in names if name in JOB_FIELD}
    told = {name: default for name, default in defaults.items() if default is not REQUIRED}
    return pd.DataFrame([told | dict(job) for job in jobs], columns=list(names))


def as_columns(jobs: pd.DataFrame) -> Columns:
    """Return the columns of a job table as arrays (read-only views)."""
    return {str(name): jobs[name].to_numpy() for name in jobs.columns}


def to_seconds(columns: Columns, time_unit: str) -> None:
    """Convert the times in ``columns`` from ``time_unit`` to seconds, in place; what is unknown stays so."""
    if time_unit not in TIME_UNITS:
        raise SpecError("time_unit", f"one of {', '.join(TIME_UNITS)}", time_unit)
    factor = TIME_UNITS[time_unit]
    if factor == 1.0:
        return
    if "checkpoint_interval" in columns:  # numbers as text
        intervals = columns["checkpoint_interval"].tolist()
        for row, text in enumerate(intervals):
            with suppress(TypeError, ValueError):  # a word, for the checks of the table
                intervals[row] = repr(float(text) * factor)
        columns["checkpoint_interval"] = np.array(intervals, dtype=object)
    for name in columns.keys() & {field.name for field in JOB_FIELDS if field.unit == "s"}:
        times = columns[name]
        marked_unknown = JOB_FIELD[name].default == UNKNOWN
        columns[name] = np.where(times == UNKNOWN, times, times * factor) if marked_unknown else times * factor


def first_submission(columns: Columns) -> float:
    """Return the earliest submission, as the zero of a shifted clock; 0 if it is a bad one, which the checks refuse."""
    earliest = float(columns["submit_time"].min())
    return earliest if 0 <= earliest < math.inf else 0.0


def shift(columns: Columns, by_s: float) -> None:
    """Move the clock: ``by_s`` becomes time 0. Changes submissions and deadlines in place."""
    if by_s:
        columns["submit_time"] = columns["submit_time"] - by_s
        if "deadline" in columns:
            columns["deadline"] = columns["deadline"] - by_s


def unshifted(times: np.ndarray, origin_s: float) -> np.ndarray:
    """Return ``times + origin_s`` so that subtracting ``origin_s`` gives exactly ``times`` again wherever floats allow.

    A submission that was read as fl(a - origin) may come out of the addition as a neighbour of a; try both sides.
    """
    if not origin_s:
        return times
    moved = times + origin_s
    for side in (-math.inf, math.inf):
        neighbour = np.nextafter(moved, side)
        better = (moved - origin_s != times) & (neighbour - origin_s == times)
        moved = np.where(better, neighbour, moved)
    return moved


def texts(numbers: np.ndarray) -> np.ndarray:
    """Return whole numbers as text objects."""
    return np.array(list(map(str, numbers.tolist())), dtype=object)


_READ_AS: dict[str, Callable[[str], object]] = {
    "phases": parse_phases,
    "parts": parse_parts,
    "speedup": parse_speedup,
    "checkpoint_interval": parse_interval,
    "resources": parse_units,
}
"""Parsers of the columns of text that have a syntax."""


def _check_gpus(table: Columns, place: Callable[[int, str], str]) -> None:
    """Check that each job asks for GPUs in one way: in all, for each node, or for each task."""
    asked = [table[name] > 0 for name in GPU_COLUMNS if any(table[name].strides) or table[name][:1].any()]
    if len(asked) > 1 and (several := sum(asked) > 1).any():
        row = int(several.argmax())
        found = " and ".join(f"{name} {table[name][row]}" for name in GPU_COLUMNS if table[name][row])
        raise FormatError(place(row, GPU_COLUMNS[0]), f"one of {', '.join(GPU_COLUMNS)}", found)


def _check_widths(table: Columns, place: Callable[[int, str], str]) -> None:
    """Check that each job requests no fewer cores than ``min_cores`` and no more than ``max_cores``."""
    requested = table["requested_cores"]
    for name, wrong in (("min_cores", np.greater), ("max_cores", np.less)):
        bound = table[name]
        if any(bound.strides) or (len(bound) and bound[0]):
            bad = (bound > 0) & wrong(bound, requested)
            if bad.any():
                row = int(bad.argmax())
                side = "at most" if name == "min_cores" else "at least"
                expected = f"{side} requested_cores ({requested[row]}), or 0"
                raise FormatError(place(row, name), expected, bound[row])


def _check_checkpoints(table: Columns, place: Callable[[int, str], str]) -> None:
    """Check that jobs of a recorded run time make no more checkpoints in it than a run can take.

    Of jobs in operations, and of intervals that become shorter, the run tells: by the machine, and by the time limit.
    """
    intervals, run_times, growth = (
        table[name] for name in ("checkpoint_interval", "recorded_run_time", "checkpoint_growth")
    )
    if not any(intervals.strides) and not any(intervals[:1]):
        return
    for row in np.flatnonzero(np.isnan(table["operations"])).tolist():
        interval = parse_interval(intervals[row])
        if isinstance(interval, float) and growth.item(row) >= 1.0:
            count = checkpoints_in(run_times.item(row), interval, growth.item(row))
            if count > MOST_CHECKPOINTS:
                expected = (
                    f"a time so that at most {MOST_CHECKPOINTS:,} checkpoints are made in {run_times[row]:g} s of work"
                )
                raise FormatError(place(row, "checkpoint_interval"), expected, intervals[row])


def _job_ids(values: Any, count: int, where: Locate) -> np.ndarray:
    """Return ids as text, unique; positions from 0 when there are none."""
    if values is None:
        return texts(np.arange(count))
    array = np.asarray(values)
    if array.ndim != 1:
        raise FormatError(f"{where(0)}, job_id", "text or a number", repr(values[0]))
    if array.dtype.kind in "iu":
        array = texts(array)
    items = array.tolist()
    if set(map(type, items)) - {str}:
        for at, value in enumerate(items):
            if isinstance(value, bool) or not (isinstance(value, str | int | float) or value is None or value is pd.NA):
                raise FormatError(f"{where(at)}, job_id", "text or a number", repr(value))
        items = [value if isinstance(value, str) else _id_text(value) for value in items]
    row = _first_unwritable(items)
    if row is not None:
        raise FormatError(f"{where(row)}, job_id", "text that can be written as UTF-8, without NUL", items[row])
    distinct = set(items)
    if "" in distinct:
        raise FormatError(f"{where(items.index(''))}, job_id", "an id", "nothing")
    if len(distinct) < len(items):
        again = int(pd.Index(items, dtype=object).duplicated().argmax())
        first = where(items.index(items[again]))
        raise FormatError(f"{where(again)}, job {items[again]}, job_id", f"an id not yet used ({first})", items[again])
    return np.array(items, dtype=object)


def _first_unwritable(items: Sequence[str] | np.ndarray) -> int | None:
    """Return the position of the first text that no file can hold: it has NUL, or half a surrogate pair (JSON may)."""
    try:
        if b"\0" not in "".join(items).encode():
            return None
    except UnicodeEncodeError:
        pass  # which one is found below
    return next(row for row, text in enumerate(items) if "\0" in text or text.encode(errors="ignore").decode() != text)


def _id_text(value: object) -> str:
    """Return the text of an id that is not text; empty when it is none."""
    absent = value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))
    return "" if absent else str(value)


def _checked(values: Any, field: Field, place: Callable[[int, str], str]) -> np.ndarray:
    """Return ``values`` in the type of ``field``. Raises FormatError for the first value that it may not hold."""

    def refuse(row: int, expected: str) -> FormatError:
        return FormatError(place(row, field.name), expected, array[row])

    array = np.asarray(values)
    if len(array) > 1 and not any(array.strides):
        return np.broadcast_to(_checked(array[:1], field, place), len(array))
    if field.or_name:
        array = _labels(array)
    if field.kind == "str" or (field.or_name and array.dtype == object):
        texts = _as_text(array, "" if field.or_name else str(field.default))
        row = _first_unwritable(texts)
        if row is not None:
            raise refuse(row, "text that can be written as UTF-8, without NUL")
        return texts
    if array.dtype.kind not in "iufb":
        array, bad = _as_numbers(array)
        if bad is not None:
            raise refuse(bad, "a number")
    elif array.dtype.kind == "b" and field.kind != "bool" and len(array):
        raise refuse(0, "a number")
    allowed = np.isfinite(array)
    if field.kind == "float":
        if field.default is not REQUIRED and not math.isfinite(float(str(field.default))):
            allowed |= np.isnan(array) if math.isnan(float(str(field.default))) else array == field.default
    else:
        numbers = array.astype(np.float64, copy=False)
        allowed &= (np.trunc(numbers) == numbers) & (np.abs(numbers) < _LARGEST_INTEGER)
        if field.kind == "bool":
            allowed &= (numbers == 0) | (numbers == 1)
    if field.allowed:
        with np.errstate(invalid="ignore"):
            allowed &= _BOUNDS[field.allowed](array) | np.isnan(array)
    if field.most < math.inf:
        allowed &= ~(array > field.most)
    if not allowed.all():
        row = int((~allowed).argmax())
        is_too_large = field.most < array[row] < math.inf
        nouns = {"float": "a finite number", "int": f"a whole number below {_LARGEST_INTEGER}", "bool": "0 or 1"}
        bounds = field.range_text if is_too_large else field.allowed
        raise refuse(row, f"{nouns[field.kind]} {bounds}".rstrip())
    return array.astype({"float": np.float64, "int": np.int64, "bool": np.bool_}[field.kind], copy=False)


def label_names(labels: np.ndarray) -> np.ndarray:
    """Return labels as text, unknown ones as empty text."""
    names = ["" if label == UNKNOWN else str(label) for label in labels.tolist()]
    return np.array(names, dtype=object)


def _labels(array: np.ndarray) -> np.ndarray:
    """Return labels as numbers if all of them are, else as text; unknown ones as -1, or as empty text."""
    if array.dtype.kind in "iuf":
        return array
    texts = _as_text(array, "").tolist()
    if all(_WHOLE.fullmatch(text) and abs(float(text or UNKNOWN)) < _LARGEST_INTEGER for text in set(texts)):
        return np.array([float(text or UNKNOWN) for text in texts])
    return np.array(["" if text == str(UNKNOWN) else text for text in texts], dtype=object)


def _as_numbers(array: np.ndarray) -> tuple[np.ndarray, int | None]:
    """Return Python objects as floats (too large a one as inf), or the position of the first that is not a number."""
    numbers: list[float] = []
    for row, value in enumerate(array.tolist()):
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            return array, row
        try:
            numbers.append(float(value))
        except OverflowError:
            numbers.append(math.copysign(math.inf, value))
    return np.array(numbers, dtype=np.float64), None


def _as_text(array: np.ndarray, default: str) -> np.ndarray:
    values: Sequence[object] = array.tolist()
    return np.array([v if isinstance(v, str) else _id_text(v) or default for v in values], dtype=object)
