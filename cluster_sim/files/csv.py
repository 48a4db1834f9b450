"""Tables as CSV: written in parts, quoted where Python's reader needs it, numbers read whatever stands there."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import pandas as pd


def write_parts(path: Path, parts: Iterable[pd.DataFrame], quoting: Literal[0, 2]) -> None:
    """Write the parts of a table as one CSV file, so that they need not all be there at once."""
    with path.open("w", encoding="utf-8", newline="") as file:
        for number, part in enumerate(parts):
            part.to_csv(file, index=False, header=not number, lineterminator="\n", quoting=quoting)


def quoting_for(table: pd.DataFrame) -> Literal[0, 2]:
    """How to quote a table as CSV: Python's csv leaves a lone carriage return unquoted, and does not read it so."""
    return csv.QUOTE_NONNUMERIC if any(_has_return(table[name]) for name in table) else csv.QUOTE_MINIMAL


def as_numbers(column: pd.Series) -> pd.Series:
    """A column of a table as floats: NaN where a cell holds no number, infinite where it is beyond all floats."""
    if column.dtype.kind in "iuf":
        return column.astype(float)
    # By way of text: whole numbers may have any length, and truth values are no numbers here.
    return pd.to_numeric(column.astype(str), errors="coerce").astype(float)


def _has_return(column: pd.Series) -> bool:
    if pd.api.types.is_numeric_dtype(column.dtype):
        return False
    return any(isinstance(text, str) and "\r" in text for text in set(column))
