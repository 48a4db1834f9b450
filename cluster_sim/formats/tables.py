"""The native CSV format: the job schema, a column each, a row a job.

The header names columns of docs/reference/job-schema.md in any order; what is left out, or an empty cell, takes its default.
Lines ``# name: …``, ``# origin_s: …``, ``# reference_gflops: …`` and ``# header: …`` may come before it. Times are on
the run's clock: they are not shifted, and a first submission long after 0 (seconds since 1970, say) is told in a warning.
"""

from __future__ import annotations

import csv
import io
import math
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from cluster_sim.errors import FormatError, few
from cluster_sim.files.atomic import write_bytes
from cluster_sim.files.csv import quoting_for
from cluster_sim.files.reading import read_text
from cluster_sim.spelling import UnknownKeys, nearest
from cluster_sim.workload.fields import FASTEST_GFLOPS, JOB_FIELDS, LONGEST_S, REQUIRED, SLOWEST_GFLOPS, Field
from cluster_sim.workload.job_table import JOB_FIELD, TRUTH, as_columns, to_seconds
from cluster_sim.workload.workload import Workload


def read(path: str, *, time_unit: str = "seconds") -> Workload:
    """Read a native CSV file, gzipped or not; ``time_unit`` is what its times count.

    Raises FormatError naming line and column.
    """

    text = read_text(path)
    attributes, start = _attributes(text, path)
    table, lines_above = text[start:], text.count("\n", 0, start)
    name = path.replace("\\", "/").rpartition("/")[2].removesuffix(".gz").removesuffix(".csv")
    try:
        columns = _columns(table, path, lines_above)
        to_seconds(columns, time_unit)
        return Workload(
            columns,
            **{"name": name, **attributes},
            locate=lambda row: f"{path} line {_line_of(table, lines_above, row)}",
        )
    except csv.Error as error:  # also when a line is looked up only to be named in an error
        raise FormatError(path, "a CSV table", str(error)) from None


def write(workload: Workload, path: str) -> None:
    """Write a native CSV file. Reading it again gives exactly the same workload; columns of defaults are left out."""
    attributes: list[tuple[str, object]] = [("name", " ".join(workload.name.split())), ("origin_s", workload.origin_s)]
    if workload.reference_gflops is not None:
        attributes.append(("reference_gflops", workload.reference_gflops))
    attributes += [("header", line) for line in workload.header]
    above = "".join(f"# {key}: {value}\n" for key, value in attributes)
    jobs = workload.jobs[[field.name for field in JOB_FIELDS if has_content(workload.jobs, field)]]
    table = jobs.to_csv(index=False, na_rep="", lineterminator="\n", quoting=quoting_for(jobs))
    write_bytes(path, (above + table).encode())


def has_content(jobs: pd.DataFrame, field: Field) -> bool:
    """Return whether a column says more than its default."""
    values = as_columns(jobs)[field.name]
    if field.default is REQUIRED or field.name == "requested_time":
        return True  # without it the run time would be the request
    differs = values != field.default
    if field.kind == "float":
        differs &= ~(np.isnan(values) & np.isnan(float(str(field.default))))
    return bool(differs.any()) or field.name in ("operations", "recorded_run_time")


_MOST_MISSPELT = 2
"""Unknown columns that are taken for misspelt; a table with more of them is another program's."""
_RANGES = {"origin_s": (-LONGEST_S, LONGEST_S), "reference_gflops": (SLOWEST_GFLOPS, FASTEST_GFLOPS)}
"""Bounds of the numbers above the table."""


def _attributes(text: str, path: str) -> tuple[dict[str, Any], int]:
    """Return what the lines above the table say about the workload, and where the table starts."""
    attributes: dict[str, Any] = {}
    keys = UnknownKeys(path)
    start = 0
    for number, line in enumerate(io.StringIO(text), start=1):
        if line.strip() and not line.startswith("#"):
            break
        start += len(line)
        key, colon, value = line[1:].strip().partition(":")
        if not colon:
            continue
        if key in _RANGES:
            least, most = _RANGES[key]
            try:
                attributes[key] = math.nan if "_" in value else float(value)
            except ValueError:
                attributes[key] = math.nan
            if not least <= attributes[key] <= most:
                raise FormatError(f"{path} line {number}, {key}", f"a number from {least:g} to {most:g}", value.strip())
        elif key == "name":
            attributes[key] = value.strip()
        elif key == "header":
            attributes.setdefault(key, []).append(value.strip())
        else:
            keys.look([key], ("name", "header", *_RANGES), f"line {number}", takes_others=True)
    keys.tell()
    return attributes, start


def _columns(table: str, path: str, start_line: int) -> dict[str, Any]:
    header = next(csv.reader(io.StringIO(table)), [])
    where = f"{path} line {start_line + 1}"
    unknown = [name for name in header if name not in JOB_FIELD]
    missing = [
        field.name for field in JOB_FIELDS if field.default is REQUIRED and field.name not in (*header, "job_id")
    ]
    if not {"operations", "recorded_run_time", "fixed_run_time"} & set(header):
        missing.append("recorded_run_time")
    if len(unknown) > _MOST_MISSPELT and missing:
        expected = (
            "the columns of docs/reference/job-schema.md, "
            "of a job that is over submit_time, requested_cores, recorded_run_time"
        )
        found = f"a table of another program without {' and '.join(missing)}, with {few(unknown, 5)}"
        raise FormatError(where, expected, found)
    for name in header:
        if name not in JOB_FIELD:
            raise FormatError(f"{where}, column '{name}'", nearest(name, JOB_FIELD), name)
        if header.count(name) > 1:
            raise FormatError(f"{where}, column '{name}'", "each column once", f"it {header.count(name)} times")
    text_columns = {name for name in header if JOB_FIELD[name].kind in ("str", "bool") or JOB_FIELD[name].or_name}
    try:
        with warnings.catch_warnings():
            # pandas warns of rows longer than the header; the check below names the line.
            warnings.simplefilter("ignore", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.StringIO(table),
                dtype={name: object if name in text_columns else np.float64 for name in header},
                keep_default_na=False,
                na_values=[""],
                index_col=False,
                on_bad_lines="error",
            )
    except (ValueError, OverflowError) as error:
        raise _first_error(table, path, start_line, header) or FormatError(path, "a table", str(error)) from None
    if frame.empty:
        raise FormatError(path, "at least one job", "none")
    # Without quotes, counting commas is enough to see that every row fits, and quick.
    counts = (line.count(",") for line in table.split("\n") if line.strip())
    if len(header) > 1 and ('"' in table or any(count != len(header) - 1 for count in counts)):
        misfit = _first_error(table, path, start_line, header, in_cells=False)
        if misfit:
            raise misfit

    def line_of(row: int) -> int:
        return _line_of(table, start_line, row)

    return {name: _filled(frame[name].to_numpy(), JOB_FIELD[name], path, line_of) for name in header}


def _filled(values: np.ndarray, field: Field, path: str, line_of: Callable[[int], int]) -> np.ndarray:
    """Return a column with the default in empty cells.

    The check of the table refuses empty cells of required columns.
    """
    empty = pd.isna(values)
    if field.kind == "bool":
        # A spreadsheet writes TRUE. There are few words, and many rows.
        truths = {value: TRUTH.get(str(value).capitalize()) for value in set(values[~empty].tolist())}
        if None in truths.values():
            row = next(row for row, value in enumerate(values.tolist()) if truths.get(value, False) is None)
            raise FormatError(f"{path} line {line_of(row)}, {field.name}", "True or False", values[row])
        return np.array([truths.get(value, field.default) for value in values.tolist()], dtype=float)
    if field.default is REQUIRED or field.name == "requested_time" or not empty.any():
        return values  # the job table says what stands in for a requested time
    filled = values.copy()
    filled[empty] = field.default
    return filled


def _rows(table: str, start_line: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number in the file, cells) of each row below the header."""
    reader = csv.reader(io.StringIO(table))
    next(reader, None)
    line = reader.line_num
    for cells in reader:
        if cells:
            yield start_line + line + 1, cells
        line = reader.line_num


def _line_of(table: str, start_line: int, row: int) -> int:
    """Return the line of the ``row``-th job; looked up only when something is wrong with it."""
    return next(islice(_rows(table, start_line), row, None))[0]


def _first_error(
    table: str, path: str, start_line: int, header: list[str], in_cells: bool = True
) -> FormatError | None:
    """Return an error for the first row of the wrong length, or, ``in_cells``, with a cell that must be a number."""
    for line, cells in _rows(table, start_line):
        if len(cells) != len(header):
            return FormatError(f"{path} line {line}", f"{len(header)} cells, as in the header", f"{len(cells)}")
        for name, cell in zip(header, cells, strict=True) if in_cells else ():
            if JOB_FIELD[name].kind in ("float", "int") and not JOB_FIELD[name].or_name and cell:
                try:
                    float("nan" if "_" in cell else cell)
                except ValueError:
                    return FormatError(f"{path} line {line}, {name}", "a number", cell)
                if "_" in cell or cell.strip().lower().endswith("nan"):
                    return FormatError(f"{path} line {line}, {name}", "a number", cell)
    return None
