"""Published tables typed in as text: a header, then rows of a label and numbers."""

from __future__ import annotations

from collections.abc import Iterator


def cells_of(table: str) -> Iterator[tuple[str, str, str]]:
    """Yield (row, column, number as printed) of each cell. ``|`` separates columns, and a cell ``-`` is empty."""
    head, *rows = (line.split("|") for line in table.strip().splitlines())
    columns = [name.strip() for name in head[1:]]
    for row in rows:
        for column, cell in zip(columns, row[1:], strict=True):
            if cell.strip() != "-":
                yield row[0].strip(), column, cell.strip()
