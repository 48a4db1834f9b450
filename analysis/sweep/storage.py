"""The rows of a sweep in its folder: nothing that was finished is lost, whenever the program is killed.

::

    runs.parquet              the rows, one per cell, in the order of the cells: what parts become when a session ends
    parts/part-00007.parquet  rows in the order in which they came
    parts/part-00008.jsonl    the journal: rows that are in no part yet, one a line, written as each run ends

A row is in the journal before the next one is looked at; every so many rows the journal becomes a part, in one move. What is
found twice is the same row, or a later attempt at a cell that had failed: the last one counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from analysis.sweep.statuses import DONE, FAILED
from cluster_sim.errors import FormatError
from cluster_sim.extras import needed
from cluster_sim.files.atomic import atomic_path
from cluster_sim.workload.fields import SUMMARY_METRICS, names

if TYPE_CHECKING:
    import pyarrow as pa

RUNS, PARTS = "runs.parquet", "parts"
PART_ROWS = 1_000
_CHUNK = 20_000
_TRIES = 5
_MOST_CELLS = 2**40
STATUS = {DONE: 1, FAILED: 2}
_BEFORE = {"cell": "int64", "replication": "int32", "workload_seed": "int64", "seed": "int64"}
_AFTER = {"status": "string", "error": "string", "elapsed_s": "float64", "cpu_s": "float64", "worker": "string"}


class Storage:
    """Storage of rows in a folder. It knows which cells have one.

    ``factors`` are the columns of the factors with their values, from which their types follow.
    """

    def __init__(
        self, folder: str | Path, factors: Mapping[str, Sequence[Any]], cells: int, part_rows: int = PART_ROWS
    ):
        self.folder = Path(folder)
        self.schema = schema_of(factors)
        self.state = np.zeros(cells, np.uint8)  #: Of each cell: 0 no row yet, 1 done, 2 failed.
        self._part_rows = part_rows
        self._rows: list[dict[str, Any]] = []
        self._journal: IO[bytes] | None = None
        parts = self.folder / PARTS
        parts.mkdir(parents=True, exist_ok=True)  # removed again when it is empty at the end
        self._number = 1 + max((int(path.stem[5:]) for path in parts.glob("part-*")), default=0)
        self._recover(parts)

    def append(self, row: dict[str, Any]) -> None:
        """Keep a row: when this returns it outlives the program."""
        if self._journal is None:
            self._journal = self._place("jsonl").open("ab", buffering=0)
        # Numpy's numbers and paths are no JSON.
        text = json.dumps(
            row, default=lambda value: value.item() if isinstance(value, np.generic) else os.fspath(value)
        )
        self._journal.write(text.encode() + b"\n")
        self._rows.append(row)
        self.state[row["cell"]] = STATUS[row["status"]]
        if len(self._rows) >= self._part_rows:
            self.flush()

    def flush(self) -> None:
        """Make a part of what is in the journal."""
        if self._rows:
            with atomic_path(self._place("parquet")) as aside:
                _write(self._rows, self.schema, aside)
            self._rows.clear()
        if self._journal is not None:
            self._journal.close()
            self._journal = None
            self._place("jsonl").unlink()
            self._number += 1

    def compact(self) -> None:
        """Make one file of all parts, in the order of the cells, in memory that does not grow with them."""
        import pyarrow.parquet as pq

        self.flush()
        parts = sorted((self.folder / PARTS).glob("part-*.parquet"))
        if not parts:
            return
        with (
            atomic_path(self.folder / RUNS) as aside,
            pq.ParquetWriter(aside, self.schema, compression="zstd") as writer,
        ):
            for chunk in self.chunks():
                writer.write_table(chunk)
        for path in parts:
            path.unlink()
        with suppress(OSError):
            (self.folder / PARTS).rmdir()

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield the last row of each cell, in the order of the cells, so many cells at a time."""
        files = _files(self.folder)
        for begin in range(0, len(self.state), _CHUNK) if files else ():
            yield _last_rows(files, self.schema, columns, (begin, begin + _CHUNK))

    def _place(self, suffix: str) -> Path:
        return self.folder / PARTS / f"part-{self._number:05d}.{suffix}"

    def _recover(self, parts: Path) -> None:
        """Make parts of the journals that a killed program left, and see which cells have rows."""
        import pyarrow.parquet as pq

        for journal in sorted(parts.glob("part-*.jsonl")):
            part = journal.with_suffix(".parquet")
            rows = [] if part.exists() else list(_lines(journal))
            if rows:
                with atomic_path(part) as aside, _told_as_rows(journal):
                    _write(rows, self.schema, aside)
            journal.unlink()
        for aside in (*parts.glob(".*.parquet"), *self.folder.glob(f".*.{RUNS}")):
            aside.unlink()  # what was being written when the program was killed
        for path in _files(self.folder):
            with _told_as_rows(path):
                table = pq.read_table(path, columns=["cell", "status"], partitioning=None)
                cells = cells_of(table)
            if len(cells) and not 0 <= cells.min() <= cells.max() < len(self.state):
                raise FormatError(path, f"rows of {len(self.state)} cells", f"cells {cells.min()} to {cells.max()}")
            self.state[cells] = np.where(table["status"].to_numpy() == DONE, STATUS[DONE], STATUS[FAILED])


class Memory:
    """Storage of rows in this process, for a sweep without a folder."""

    def __init__(self, factors: Mapping[str, Sequence[Any]], cells: int):
        self.schema = schema_of(factors)
        self.state = np.zeros(cells, np.uint8)
        self._rows: dict[int, dict[str, Any]] = {}

    def append(self, row: dict[str, Any]) -> None:
        """Keep a row."""
        self._rows[row["cell"]] = row
        self.state[row["cell"]] = STATUS[row["status"]]

    def compact(self) -> None:
        """Put the rows in the order of the cells."""
        self._rows = dict(sorted(self._rows.items()))

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """Yield all rows at once."""
        table = _table(list(self._rows.values()), self.schema)
        yield table if columns is None else table.select(list(columns))


def read_runs(folder: str | Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Return the rows of a sweep, finished or not, one per cell in the order of the cells.

    If ``columns`` are given, the rows have only these. The journal of a program that was killed, or still runs, is
    read, too. Raises FormatError where there are no rows.
    """
    folder = Path(folder)
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):  # a sweep that still runs may join files meanwhile
            frames = _frames(folder, columns)
            break
    else:
        raise FormatError(folder, "the results of a sweep", "files that come and go")
    if not frames:
        raise FormatError(folder, "the results of a sweep", "no runs yet" if folder.is_dir() else "no such folder")
    frame = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    frame = frame.drop_duplicates("cell", keep="last").sort_values("cell", ignore_index=True)
    return frame if columns is None or "cell" in columns else frame.drop(columns="cell")


def _frames(folder: Path, columns: Sequence[str] | None) -> list[pd.DataFrame]:
    """Read the rows of all files, the oldest first."""
    # The journal is read first: it becomes a part, and a part never becomes a journal.
    frames: list[pd.DataFrame] = []
    for journal in sorted((folder / PARTS).glob("part-*.jsonl")):
        with _told_as_rows(journal):
            lines = pd.DataFrame(list(_lines(journal)))
        if len(lines):
            wanted = [name for name in columns or lines.columns if name in lines]
            frames.append(lines[list(dict.fromkeys(["cell", *wanted]))])
    if files := _files(folder):
        frames.insert(0, _last_rows(files, None, columns).to_pandas())
    return frames


def schema_of(factors: Mapping[str, Sequence[Any]]) -> pa.Schema:
    """Return the columns of the rows: numbers and seeds, the factors, how the run went, its metrics.

    Raises InputError where pyarrow is not installed.
    """
    with needed("sweep", "pyarrow"):
        import pyarrow as pa
    kinds = dict(_BEFORE)
    for name, values in factors.items():
        types = {type(value) for value in values if value is not None}
        if types and types <= {int, float}:
            kinds[name] = "float64" if float in types else "int64"
        else:
            kinds[name] = "bool" if types == {bool} else "string"
    kinds |= _AFTER | dict.fromkeys(names(SUMMARY_METRICS), "float64")
    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in kinds.items()])


def _table(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    columns = []
    for field in schema:
        values = [row.get(field.name) for row in rows]
        if pa.types.is_string(field.type):
            values = [None if value is None else str(value) for value in values]
        columns.append(pa.array(values, field.type, from_pandas=True))
    return pa.Table.from_arrays(columns, schema=schema)


def _write(rows: list[dict[str, Any]], schema: pa.Schema, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(_table(rows, schema), path, compression="zstd")


def _files(folder: Path) -> list[Path]:
    """Return the files with rows, the oldest first."""
    parts = sorted((folder / PARTS).glob("part-*.parquet"))  # listed first: when parts go, the joined file is there
    joined = folder / RUNS
    return [*([joined] if joined.exists() else []), *parts]


def _last_rows(
    files: Sequence[Path],
    schema: pa.Schema | None,
    columns: Sequence[str] | None,
    between: tuple[int, int] | None = None,
) -> pa.Table:
    """Return the last row of each cell with a number in a range; ``cell`` is always among the columns."""
    with needed("analysis.sweep", "pyarrow"):
        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq

    wanted = None if columns is None else list(dict.fromkeys(["cell", *columns]))
    filters = None if between is None else (pc.field("cell") >= between[0]) & (pc.field("cell") < between[1])
    tables = []
    for path in files:
        with _told_as_rows(path):
            table = pq.read_table(path, columns=wanted, filters=filters, partitioning=None)
            tables.append(table if schema is None or wanted is not None else table.cast(schema))
            cells_of(table)
    with _told_as_rows(files[0]):
        table = pa.concat_tables(tables, promote_options="permissive")
    cells = cells_of(table)
    # The first of each number in the reversed order is its last row; np.unique leaves them sorted by number.
    _, first = np.unique(cells[::-1], return_index=True)
    return table.take(len(cells) - 1 - first)


def _lines(journal: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a journal. The last line may be torn, if the program was killed while it wrote."""
    with journal.open("rb") as file:
        for line in file:
            with suppress(ValueError, RecursionError):
                row = json.loads(line)
                if isinstance(row, dict) and type(row.get("cell")) is int and 0 <= row["cell"] < _MOST_CELLS:
                    yield row


def cells_of(table: pa.Table) -> np.ndarray:
    """Return the numbers of the cells that the rows of a table are about. Raises ValueError if there are none."""
    cells: np.ndarray = table["cell"].to_numpy()
    if cells.dtype.kind != "i":
        raise ValueError("cells that are no numbers")
    return cells


@contextmanager
def _told_as_rows(path: Path) -> Iterator[None]:
    """Raise what pyarrow finds wrong with a file as a FormatError; that a file has gone is told as it is."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, ValueError, KeyError, TypeError, OverflowError, pa.ArrowException) as error:
        raise FormatError(path, "rows of a sweep", str(error).partition("\n")[0]) from None
