"""What is kept of a run: a digest of every column of its tables, and of joules and watts also figures to compare.

A column's digest is of its exact values. What is added up in another order may differ in its last digits without being
another result: so columns of energy, power, rewards and observations (:func:`is_measured`) also keep weighted sums over
up to sixteen blocks of their rows, which show how large a difference is. A summary has one row: its values are kept as
they are. Columns and tables that are new are no difference; ones that are gone are.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

Table = Mapping[str, Any]
"""Columns by name; each anything that makes a numpy array of one dimension."""
Kept = dict[str, dict[str, Any]]
"""What is kept of a run: by table, then by column."""

ROUNDING = 1e-12
"""Up to this relative difference joules and watts count as the same, but for rounding."""
BLOCKS = 16
_DIGITS = 12  # of a digest, hexadecimal
_MEASURED = ("_j", "_js", "_wmin", "watts", "reward")


def is_measured(table: str, column: str) -> bool:
    """Whether a column holds what may differ by rounding: joules, watts, and what an agent sees and earns."""
    return column.endswith(_MEASURED) or table == "observations"


def is_summary(table: str) -> bool:
    """Whether a table has one row, of which the values themselves are kept."""
    return table.startswith(("summary", "error"))


@dataclass(frozen=True)
class Difference:
    """Where two records of one case differ, and how."""

    case: str
    where: str  #: table.column
    what: str
    is_rounding: bool = False  #: Of joules and watts: within :data:`ROUNDING`.

    def __str__(self) -> str:
        return f"{self.case}: {self.where}: {self.what}"


def keep(tables: Mapping[str, Table]) -> Kept:
    """What is kept of a run's tables."""
    return {
        name: {column: _keep_column(name, column, table[column]) for column in table} for name, table in tables.items()
    }


def _keep_column(table: str, column: str, values: Any) -> Any:
    if is_summary(table):
        return _plain(values[0])
    array = canonical(values)
    kept: Any = digest(array)
    if is_measured(table, column):
        kept = [kept, *(repr(block) for block in block_sums(array))]
    return kept


def _plain(value: Any) -> Any:
    """A value of a summary as JSON keeps it, every digit of it."""
    value = value.item() if isinstance(value, np.generic) else value
    return repr(value) if isinstance(value, float) else value


def canonical(values: Any) -> np.ndarray:
    """One form for equal values: bytes (0, 1), 64-bit integers, doubles with one NaN and one zero, or text."""
    array = np.asarray(values).ravel()
    if array.dtype.kind == "b":
        return array.astype("u1")
    if array.dtype.kind in "iu":
        return array.astype("<i8")
    if array.dtype.kind == "f":
        doubles = array.astype("<f8") + 0.0  # -0.0 becomes 0.0
        doubles[np.isnan(doubles)] = math.nan
        return doubles
    return np.array(["\0" if pd.isna(value) else str(value) for value in array.tolist()], dtype=object)


def digest(array: np.ndarray) -> str:
    """A short digest of a canonical array."""
    if array.dtype.kind == "O":
        content = b"".join(b"%d:%s" % (len(text), text) for text in (value.encode() for value in array))
    else:
        content = array.tobytes()
    kind = array.dtype.kind if len(array) else ""  # what type a column without rows has tells nothing
    return hashlib.sha256(f"{kind}{len(array)};".encode() + content).hexdigest()[:_DIGITS]


def block_sums(array: np.ndarray) -> list[float]:
    """Sums over up to sixteen blocks of rows, the first row of a block counting once, the last nearly twice.

    With equal weights an exchange of two rows would not show.
    """
    blocks = np.array_split(array, min(BLOCKS, len(array))) if len(array) else []
    return [math.fsum(value * (1.0 + i / len(block)) for i, value in enumerate(block.tolist())) for block in blocks]


def differences(case: str, recorded: Kept, found: Kept) -> Iterator[Difference]:
    """Where what is found is not what was recorded."""
    for table, columns in recorded.items():
        if table not in found:
            yield Difference(case, table, "the table is gone")
            continue
        for column, kept in columns.items():
            where = f"{table}.{column}"
            if column not in found[table]:
                yield Difference(case, where, "the column is gone")
            elif (now := found[table][column]) != kept:
                yield _difference(case, where, kept, now, is_summary(table), is_measured(table, column))
    for table in found.keys() - recorded.keys():
        if table == "error":
            yield Difference(case, table, f"it ends in {found[table]}")


def _difference(case: str, where: str, kept: Any, now: Any, is_value: bool, measured: bool) -> Difference:
    if is_value and not measured:
        return Difference(case, where, f"{kept} recorded, {now} found")
    if not measured:
        return Difference(case, where, "other values")
    before, after = ([kept], [now]) if is_value else (kept[1:], now[1:])
    if len(before) != len(after):
        return Difference(case, where, f"{len(before)} blocks of rows recorded, {len(after)} found")
    largest = max(map(_relative, before, after), default=0.0)
    if largest <= ROUNDING:
        return Difference(case, where, f"differs by rounding, {largest:.1e} (within {ROUNDING:g})", is_rounding=True)
    return Difference(case, where, f"differs by {largest:.1e}, beyond {ROUNDING:g}")


def _relative(before: Any, after: Any) -> float:
    if before is None or after is None:
        return 0.0 if before is after else math.inf
    one, other = float(before), float(after)
    if one == other or (math.isnan(one) and math.isnan(other)):
        return 0.0
    difference = abs(one - other) / max(abs(one), abs(other))
    return math.inf if math.isnan(difference) else difference
