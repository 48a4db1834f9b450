"""The table that ``sacct --parsable2`` prints, as columns of text: from its output, from CSV, or from Parquet.

The header names the columns in any order and case. A job's name may hold the separator: where a row has more cells than
the header and one column only is free text, the cells in excess belong to that. Headers in between, as in dumps put
together, are passed over.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import pandas as pd

from cluster_sim.errors import FormatError
from cluster_sim.extras import needed
from cluster_sim.files.reading import read_bytes, read_text

_IDS = ("jobid", "jobidraw")
_FREE_TEXT = ("jobname", "comment", "admincomment", "systemcomment", "submitline", "workdir", "extra", "reason")
_FEWEST_CELLS = 3
HEADER = "a header line of sacct's with JobID and Submit (--parsable2, no --noheader)"
_PARQUET_MAGIC = b"PAR1"


@dataclass(frozen=True, slots=True)
class SacctTable:
    """Cells by the column's name in small letters; ``names`` as the header writes them; ``places`` of the rows in the file."""

    columns: dict[str, list[str]]
    names: dict[str, str]
    places: list[int]
    counted_in: str  #: What the places count: ``line`` or ``row``.

    def __len__(self) -> int:
        return len(self.places)


def delimiter_of(start: str) -> str:
    """What separates the cells, if a text begins with a header of sacct's; empty if it does not."""
    header = next((line for line in start.splitlines() if line.strip()), "")
    for delimiter in "|,;\t":
        names = {name.strip().strip('"').lower() for name in header.split(delimiter)}
        if names & set(_IDS) and (delimiter == "|" or "submit" in names):
            return delimiter
    return ""


def is_near(start: str) -> bool:
    """Whether a text that begins with no header of sacct's is like its output without --parsable2, or with --noheader."""
    line = next((line for line in start.splitlines() if line.strip()), "")
    return "jobid" in line.lower().split() or line.count("|") >= _FEWEST_CELLS


def read_table(path: str) -> SacctTable:
    """All rows of a file. Raises FormatError naming the line."""
    if read_bytes(path).startswith(_PARQUET_MAGIC) or PurePath(path.removesuffix(".gz")).suffix.lower() == ".parquet":
        return _from_parquet(path)
    text = read_text(path)
    delimiter = delimiter_of(text)
    if not delimiter:
        found = next((line for line in text.splitlines() if line.strip()), "nothing")
        raise FormatError(path, HEADER, found)
    rows = _split(text) if delimiter == "|" else _csv_rows(text, delimiter, path)
    _, header = next(rows)
    if header and not header[-1].strip():  # --parsable ends every line with a separator
        header = header[:-1]
    names = _names(header, path)
    free = [position for position, name in enumerate(names) if name in _FREE_TEXT]
    places: list[int] = []
    kept: list[list[str]] = []
    for line, cells in rows:
        if len(cells) != len(names):
            cells = _mended(cells, len(names), free, f"{path} line {line}", delimiter)
        if cells != header:
            places.append(line)
            kept.append(cells)
    columns = (
        dict(zip(names, map(list, zip(*kept, strict=True)), strict=True)) if kept else {name: [] for name in names}
    )
    return SacctTable(columns, dict(zip(names, header, strict=True)), places, "line")


def _names(header: list[str], path: str) -> list[str]:
    names = [name.strip().lower() for name in header]
    for name in names:
        if not name or names.count(name) > 1:
            raise FormatError(f"{path} line 1", "a header with every column once", name or "a column without a name")
    return names


def _mended(cells: list[str], width: int, free: list[int], where: str, delimiter: str) -> list[str]:
    """A row of as many cells as the header."""
    if len(cells) == width + 1 and not cells[-1]:
        return cells[:-1]
    excess = len(cells) - width
    if excess > 0 and len(free) == 1:
        first = free[0]
        return [*cells[:first], delimiter.join(cells[first : first + excess + 1]), *cells[first + excess + 1 :]]
    raise FormatError(where, f"{width} cells, as in the header", len(cells))


def _split(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line.rstrip("\r").split("|")


def _csv_rows(text: str, delimiter: str, path: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    line = 0
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line + 1, cells
            line = reader.line_num
    except csv.Error as error:
        raise FormatError(f"{path} line {line + 1}", "a CSV table", str(error)) from None


def _from_parquet(path: str) -> SacctTable:
    with needed(path, "pyarrow"):
        import pyarrow  # noqa: F401
    try:
        frame = pd.read_parquet(io.BytesIO(read_bytes(path)))
    except Exception as error:  # Arrow's errors are of many kinds
        raise FormatError(path, "a Parquet file", str(error)) from None
    names = _names([str(name) for name in frame.columns], path)
    if not set(names) & set(_IDS):
        raise FormatError(path, "a column JobID, as sacct has", ", ".join(names) or "none")
    columns = {name: [_text(value) for value in frame.iloc[:, i].tolist()] for i, name in enumerate(names)}
    written = dict(zip(names, map(str, frame.columns), strict=True))
    return SacctTable(columns, written, list(range(1, len(frame) + 1)), "row")


def _text(value: Any) -> str:
    """A cell as sacct would print it."""
    if isinstance(value, str):
        return value
    if value is None or value is pd.NaT or value is pd.NA or value != value:
        return ""
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    if isinstance(value, pd.Timedelta):
        days, rest = divmod(value.total_seconds(), 86400)
        return f"{days:.0f}-{rest // 3600:02.0f}:{rest % 3600 // 60:02.0f}:{rest % 60:06.3f}"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
