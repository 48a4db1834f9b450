"""Several runs beside each other: metrics with units, and differences to the first run in %."""

from __future__ import annotations

import html
from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from analysis.wording import NOTHING, label_of, number, unit_of

if TYPE_CHECKING:
    from cluster_sim.records import Result

# In a summary for the sake of its file, but no metric: a difference in % would mean nothing.
_NO_METRICS = frozenset({"seed", "version"})
_VERSUS = " vs first, %"

# What most comparisons are about; the other metrics say where these come from.
HEADLINES = (
    "jobs_completed",
    "jobs_killed",
    "jobs_rejected",
    "jobs_unfinished",
    "makespan_s",
    "utilisation",
    "mean_wait_s",
    "mean_bounded_slowdown",
    "energy_j",
    "energy_waste_j",
    "edp_js",
)


def comparison_table(results: Mapping[str, Result] | Result) -> pd.DataFrame:
    """Metrics of one or more runs.

    Returns a frame with the summary's keys as index (in the first run's order) and the columns ``unit``, one per run
    under its name, and, from the second run on, ``NAME vs first, %``: the difference to the first run relative to
    its size, NaN where that is zero or unknown.
    """
    runs = named_runs(results)
    values = {name: _metrics(result) for name, result in runs.items()}
    keys = list(dict.fromkeys(key for metrics in values.values() for key in metrics))
    table = pd.DataFrame({"unit": [unit_of(key) for key in keys]}, index=pd.Index(keys, name="metric"))
    names = list(values)
    for name in names:
        table[name] = [values[name].get(key, np.nan) for key in keys]
    for name in names[1:]:
        table[name + _VERSUS] = _difference(table[name], table[names[0]])
    return table


def headlines(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a comparison table that most comparisons are about."""
    return table.loc[[key for key in HEADLINES if key in table.index]]


def format_table(table: pd.DataFrame) -> str:
    """A comparison table as aligned text for the terminal."""
    cells = _cells(table)
    header, body = cells[0], cells[1:]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = [_line(header, widths), "  ".join("─" * width for width in widths)]
    return "\n".join(line.rstrip() for line in [*lines, *(_line(row, widths) for row in body)])


def table_html(table: pd.DataFrame) -> str:
    """A comparison table as an HTML table; every name in it is escaped."""
    header, *body = _cells(table)
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in header)
    rows = "".join(
        f'<tr><th scope="row">{html.escape(row[0])}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in row[1:])
        + "</tr>\n"
        for row in body
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>"


def named_runs(results: Mapping[str, Result] | Result) -> dict[str, Result]:
    """The runs by name; a single one is named by its scheduler."""
    if isinstance(results, Mapping):
        return {str(name): result for name, result in results.items()}
    return {str(results.meta.get("scheduler") or "run"): results}


def _metrics(result: Result) -> dict[str, float]:
    # None stands for a metric without a value, such as a mean over no jobs.
    return {
        str(key): np.nan if value is None else float(value)
        for key, value in result.summary().items()
        if value is None or (isinstance(value, Real) and not isinstance(value, bool) and key not in _NO_METRICS)
    }


def _difference(values: pd.Series, base: pd.Series) -> pd.Series:
    change = 100 * (values - base) / base.abs().where(base != 0)
    return change.where(values != base, 0.0).where(values.notna() & base.notna())


def _cells(table: pd.DataFrame) -> list[list[str]]:
    rows = [["metric", *map(str, table.columns)]]
    rows[0][1] = ""
    for key, row in zip(table.index, table.itertuples(index=False), strict=True):
        cells = [label_of(str(key)), str(row[0])]
        for column, value in zip(table.columns[1:], row[1:], strict=True):
            cells.append(_percent(value) if str(column).endswith(_VERSUS) else number(value))
        rows.append(cells)
    return rows


def _percent(value: float) -> str:
    if not np.isfinite(value):
        return NOTHING
    return f"{value:+,.2f} %" if value else "0 %"


def _line(cells: list[str], widths: list[int]) -> str:
    words = [cell.ljust(width) for cell, width in zip(cells[:2], widths[:2], strict=True)]
    figures = [cell.rjust(width) for cell, width in zip(cells[2:], widths[2:], strict=True)]
    return "  ".join(words + figures)
