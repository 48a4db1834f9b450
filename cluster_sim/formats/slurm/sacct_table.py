"""The table that ``sacct --parsable2`` prints, as columns of text: from its output, from CSV, Parquet or sacct's JSON.

The header names the columns in any order and case; dumps put together may have several. sacct escapes neither its separator
nor a line break in what users wrote, such as a job's name: a row with too many cells, or over several lines, is put together
as its other cells (ids, times, states) allow. A row of which they do not say how is left out, as is one with a cell that
cannot be understood.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import pandas as pd

from cluster_sim.errors import FormatError
from cluster_sim.extras import needed
from cluster_sim.files.reading import read_bytes, read_text
from cluster_sim.formats.slurm.sacct_columns import FREE_TEXT, READ, known_state

_IDS = ("jobid", "jobidraw")
_FEWEST_CELLS = 3
_MOST_LINES = 100
"""Lines that one row may have."""
HEADER = "a header line of sacct's with JobID and Submit (--parsable2, no --noheader)"
_PARQUET_MAGIC = b"PAR1"
_QUOTED = ",;\t"
"""Delimiters of tables that programs write with quotes around a cell; sacct writes none."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A row that cannot be understood."""

    place: int
    column: str  #: Empty: the row as a whole.
    expected: str
    found: object


@dataclass(slots=True)
class SacctTable:
    """Cells by the column's name in small letters; ``names`` as the header writes them; ``places`` of the rows in the file."""

    columns: dict[str, list[str]]
    names: dict[str, str]
    places: list[int]
    counted_in: str  #: What the places count: ``line``, ``row`` or ``job``.
    left_out: list[LeftOut] = field(default_factory=list)
    joined: int = 0  #: Rows put together because a text held the separator or a line break.
    emptied: dict[str, int] = field(default_factory=dict)  #: Texts whose ends cannot be told, by column.

    def __len__(self) -> int:
        return len(self.places)

    def keep_understood(self, path: str) -> None:
        """Move the rows with a cell that cannot be understood to ``left_out``. Raises FormatError where none is left."""
        ids = [self.columns[name] for name in _IDS if name in self.columns]
        if len(ids) > 1:
            self.columns["jobid"] = [first.strip() or second for first, second in zip(*ids, strict=True)]
        elif "jobid" not in self.columns:
            self.columns["jobid"] = self.columns["jobidraw"]
            self.names["jobid"] = self.names["jobidraw"]
        bad: dict[int, LeftOut] = {}
        for name, parse in READ.items():
            wrong: dict[str, str] = {}
            for text in set(self.columns.get(name, ())):
                try:
                    parse(text.strip())
                except ValueError as error:
                    wrong[text] = str(error)
            for row, text in enumerate(self.columns[name] if wrong else ()):
                if text in wrong and row not in bad:
                    bad[row] = LeftOut(self.places[row], self.names[name], wrong[text], text)
        if bad:
            for name, column in self.columns.items():
                self.columns[name] = [text for row, text in enumerate(column) if row not in bad]
            self.places = [place for row, place in enumerate(self.places) if row not in bad]
            self.left_out = sorted([*self.left_out, *bad.values()], key=lambda each: each.place)
        if self.left_out and not self.places:
            first = self.left_out[0]
            raise FormatError(self.place_of(path, first), first.expected, first.found)

    def place_of(self, path: str, row: LeftOut) -> str:
        """Say where a row that was left out stands, and which of its cells is wrong."""
        return f"{path} {self.counted_in} {row.place}" + (f", {row.column}" if row.column else "")


def delimiter_of(start: str) -> str:
    """Return what separates the cells, if a text begins with a header of sacct's; empty if it does not."""
    header = next((line for line in start.split("\n") if line.strip()), "").strip(" \r")
    candidates: list[str] = ["|", *_QUOTED]
    if match := re.match(r"(?:\w+([^\w\s\"]+))?jobid(?:raw)?([^\w \"]{1,8})\w", header, re.IGNORECASE):
        candidates.append(str(match[1] or match[2]))  # sacct --delimiter takes any text
    for delimiter in candidates:
        names = {name.strip().strip('"').lower() for name in header.split(delimiter)}
        if names & set(_IDS) and (delimiter == "|" or "submit" in names):
            return delimiter
    return ""


def is_near(start: str) -> bool:
    """Return whether a text without sacct's header is like its output without --parsable2, or with --noheader."""
    line = next((line for line in start.splitlines() if line.strip()), "")
    return "jobid" in line.lower().split() or line.count("|") >= _FEWEST_CELLS


def read_table(path: str) -> SacctTable:
    """Read all rows of a file that can be understood. Raises FormatError naming the line if there is none."""
    if read_bytes(path).startswith(_PARQUET_MAGIC) or PurePath(path.removesuffix(".gz")).suffix.lower() == ".parquet":
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
    text = read_text(path)
    delimiter = delimiter_of(text)
    if not delimiter:
        found = next((line for line in text.splitlines() if line.strip()), "nothing")
        raise FormatError(path, HEADER, found)
    return _Rows(text, delimiter, path).table()


def table_of(rows: Iterable[tuple[int, Mapping[str, str]]], counted_in: str) -> SacctTable:
    """Return the table of rows that are given by place and column, with the names as sacct writes them."""
    listed = list(rows)
    written = dict.fromkeys(name for _, cells in listed for name in cells)
    columns = {name.lower(): [cells.get(name, "") for _, cells in listed] for name in written}
    return SacctTable(columns, {name.lower(): name for name in written}, [place for place, _ in listed], counted_in)


@dataclass(slots=True)
class _Part:
    """The rows below one header."""

    header: list[str]
    names: list[str]  #: The header in small letters.
    id_at: int  #: Which of the columns has the job's id.
    places: list[int] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    def add(self, place: int, cells: list[str]) -> None:
        self.places.append(place)
        self.rows.append(cells)


class _Rows:
    """The rows of a text, put together from its lines."""

    def __init__(self, text: str, delimiter: str, path: str):
        self._lines = [line.rstrip("\r") for line in text.split("\n")]
        self._delimiter, self._path = delimiter, path
        self._parts: list[_Part] = []
        self._left_out: list[LeftOut] = []
        self._joined: set[int] = set()
        self._emptied: dict[str, int] = {}
        self._at = next(at for at, line in enumerate(self._lines) if line.strip())
        self._begin_part(self._header_cells(self._lines[self._at]))

    def table(self) -> SacctTable:
        """Return every row, or the place of one that cannot be put together."""
        while self._at + 1 < len(self._lines):
            self._at += 1
            if self._lines[self._at].strip():
                self._take_row(self._at)
        names = {low: name for part in reversed(self._parts) for low, name in zip(part.names, part.header, strict=True)}
        columns: dict[str, list[str]] = {low: [] for low in names}
        for part in self._parts:
            cells = dict(zip(part.names, zip(*part.rows, strict=True), strict=True)) if part.rows else {}
            for low, column in columns.items():
                column.extend(cells.get(low, [""] * len(part.rows)))
        places = [place for part in self._parts for place in part.places]
        return SacctTable(columns, names, places, "line", self._left_out, len(self._joined), self._emptied)

    def _begin_part(self, header: list[str]) -> None:
        names = _names(header, f"{self._path} line {self._at + 1}")
        self._parts.append(_Part(header, names, next(names.index(name) for name in _IDS if name in names)))

    def _header_cells(self, line: str) -> list[str]:
        cells = [cell.strip() for cell in self._cells(line) or ()]
        return cells if not cells or cells[-1] else cells[:-1]  # --parsable ends every line with a separator

    def _header_in(self, line: str) -> list[str]:
        """Return the names in a header; empty where a line is none."""
        cells = self._header_cells(line)
        is_header = {cell.lower() for cell in cells} & set(_IDS) and all(re.fullmatch(r"\w+", cell) for cell in cells)
        return cells if is_header else []

    def _cells(self, text: str) -> list[str] | None:
        """Return the cells of a row; None where a quoted one does not end."""
        if self._delimiter not in _QUOTED or '"' not in text:
            return text.split(self._delimiter)
        try:
            return next(csv.reader(io.StringIO(text), delimiter=self._delimiter, strict=True))
        except csv.Error:
            return None

    def _take_row(self, first: int) -> None:
        """Take the row that begins in a line, with as many of the next lines as it needs."""
        part, text = self._parts[-1], self._lines[first]
        width, cells = len(part.names), self._cells(text)
        if cells is not None and len(cells) == width + 1 and not cells[-1]:
            cells.pop()
        if cells is not None and len(cells) == width:
            if [cell.strip().lower() for cell in cells] != part.names:
                part.add(first + 1, cells)
            return
        if header := self._header_in(text):
            self._begin_part(header)
            return
        if cells is not None and not self._begins(cells):
            last_left_out = self._left_out[-1].place if self._left_out else 0
            if part.names[-1] in FREE_TEXT and part.rows and part.places[-1] > last_left_out:
                part.rows[-1][-1] += "\n" + text
                self._joined.add(part.places[-1])
            else:
                self._leave_out(first)
            return
        for last in range(first, min(len(self._lines), first + _MOST_LINES)):
            if last > first:
                line = self._lines[last]
                own_cells = self._cells(line) or []
                if self._header_in(line) or (len(own_cells) >= width and self._begins(own_cells)):
                    break  # another row or header begins there
                text += "\n" + line
            pieces = self._cells(text) or []
            if len(pieces) >= width and (fitted := self._fitted(pieces, part)):
                self._at = last
                self._joined.add(first + 1)
                part.add(first + 1, fitted)
                return
        self._leave_out(first)

    def _begins(self, cells: Sequence[str]) -> bool:
        """Return whether a row can begin with these cells: a job's id stands where the header has it."""
        at = self._parts[-1].id_at
        return len(cells) > at and _allows(READ["jobid"], cells[at])

    def _leave_out(self, first: int) -> None:
        found = len(self._lines[first].split(self._delimiter))
        expected = f"{len(self._parts[-1].names)} cells, as in the header"
        self._left_out.append(LeftOut(first + 1, "", expected, found))

    def _fitted(self, pieces: list[str], part: _Part) -> list[str]:
        """Return pieces between separators as cells, where only texts hold separators.

        The list is empty unless all other cells are certain.

        A text whose ends cannot be told from those of another text is empty, and counted.
        """
        width, excess = len(part.names), len(pieces) - len(part.names)

        parsers = READ | {"state": known_state}

        def spans(column: int, start: int) -> Iterator[int]:
            """Return where a column that begins at a piece may end."""
            name = part.names[column]
            if name in FREE_TEXT:
                yield from range(start + 1, min(start + 1 + excess, len(pieces)) + 1)
            elif start < len(pieces) and "\n" not in pieces[start] and _allows(parsers.get(name, str), pieces[start]):
                yield start + 1

        reached: list[set[int]] = [{0}]
        for column in range(width):
            reached.append({end for start in reached[-1] for end in spans(column, start)})
        if len(pieces) not in reached[-1]:
            return []
        ends, cells, unsure = {len(pieces)}, [""] * width, []
        for column in reversed(range(width)):
            found = [(start, end) for start in reached[column] for end in spans(column, start) if end in ends]
            ends = {start for start, _ in found}
            if len(found) == 1:
                cells[column] = self._delimiter.join(pieces[slice(*found[0])])
            else:
                unsure.append(column)
        if any(part.names[column] not in FREE_TEXT and part.names[column] in READ for column in unsure):
            return []
        for column in unsure:
            name = part.header[column]
            self._emptied[name] = self._emptied.get(name, 0) + 1
        return cells


def _allows(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text.strip())
    except ValueError:
        return False
    return True


def _names(header: list[str], where: str) -> list[str]:
    names = [name.strip().lower() for name in header]
    for name in names:
        if not name or names.count(name) > 1:
            raise FormatError(where, "a header with every column once", name or "a column without a name")
    return names


def _text(value: Any) -> str:
    """Return a cell as sacct would print it."""
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
