"""Tables as CSV: written in parts, quoted where Python's reader needs it, numbers read whatever stands there."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import pandas as pd

from cluster_sim.errors import FormatError


def write_parts(path: Path, parts: Iterable[pd.DataFrame], quoting: Literal[0, 2]) -> None:
    """Write the parts of a table as one CSV file, so that they need not all be there at once."""
    with path.open("w", encoding="utf-8", newline="") as file:
        for number, part in enumerate(parts):
            part.to_csv(file, index=False, header=not number, lineterminator="\n", quoting=quoting)


def quoting_for(table: pd.DataFrame) -> Literal[0, 2]:
    """Return how to quote a table as CSV: Python's csv leaves a lone carriage return unquoted, but cannot read it."""
    for name in table:
        texts = () if pd.api.types.is_numeric_dtype(table[name].dtype) else set(table[name])
        if any(isinstance(text, str) and "\r" in text for text in texts):
            return csv.QUOTE_NONNUMERIC
    return csv.QUOTE_MINIMAL


def check_lengths(text: str, path: object) -> None:
    """Raise FormatError for the first row of a table that has another number of cells than its header.

    Nobody can say which cell is lost or one too many, and the cells behind it would stand under wrong columns.
    """
    if '"' not in text:  # counting commas is enough, and quick
        lines = text.split("\n")
        if all(line.count(",") == lines[0].count(",") for line in lines if line.strip()):
            return
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        header = next(reader, [])
        for cells in filter(None, reader):
            if len(cells) != len(header):
                expected = f"{len(header)} cells, as in the header"
                raise FormatError(f"{path} line {reader.line_num}", expected, f"{len(cells)}")
    except csv.Error as error:
        raise FormatError(path, "a CSV table", str(error)) from None


def as_numbers(column: pd.Series) -> pd.Series:
    """Return a column of a table as floats: NaN for a cell without a number, infinity for one beyond all floats."""
    if column.dtype.kind in "iuf":
        return column.astype(float)
    # By way of text: whole numbers may have any length, and truth values are no numbers here.
    return pd.to_numeric(column.astype(str), errors="coerce").astype(float)
