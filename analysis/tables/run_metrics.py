"""Several runs beside each other: metrics with units, differences to the first run in %, and half-widths of intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from analysis.tables.wording import label_of, unit_of
from cluster_sim.amounts import NOTHING, SCALED, amount, number
from cluster_sim.errors import InputError
from cluster_sim.records.result import Result

if TYPE_CHECKING:
    from markupsafe import Markup


# In a summary for the sake of its file, but no metric: a difference in % would mean nothing.
_NO_METRICS = frozenset({"seed", "version"})
VERSUS = " vs first, %"
HALF_WIDTH = " ±"

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

Runs: TypeAlias = "Mapping[str, Result] | Sequence[Result] | Result"
"""One or several runs, by name or in a list."""


def comparison_table(results: Runs) -> pd.DataFrame:
    """Metrics of one or more runs, by name or in a list.

    Returns a frame with the summary's keys as index (in the first run's order) and the columns ``unit``, one per run
    under its name, and, from the second run on, ``NAME vs first, %``: the difference to the first run relative to
    its size, NaN where that is zero or unknown.
    """
    runs = named_runs(results)
    values = {name: metrics_of(result.summary()) for name, result in runs.items()}
    keys = list(dict.fromkeys(key for metrics in values.values() for key in metrics))
    table = pd.DataFrame({"unit": [unit_of(key) for key in keys]}, index=pd.Index(keys, name="metric"))
    names = list(values)
    for name in names:
        table[name] = [values[name].get(key, np.nan) for key in keys]
    for name in names[1:]:
        values = table[name]
        base = table[names[0]]
        change = 100 * (values - base) / base.abs().where(base != 0)
        table[name + VERSUS] = change.where(values != base, 0.0).where(values.notna() & base.notna())
    return table


def headlines(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a comparison table that most comparisons are about."""
    return table.loc[[key for key in HEADLINES if key in table.index]]


def format_table(table: pd.DataFrame) -> str:
    """A comparison table as aligned text for the terminal: amounts in units that fit, and the files' units where those differ."""
    cells = _cells(table)
    for row in cells[1:]:
        if row[1] not in SCALED:  # an amount has it with it, as it is
            row[1] = ""
    return aligned(cells, words=2)


def aligned(cells: Sequence[Sequence[str]], words: int = 1) -> str:
    """Rows of texts, the first one the header, as text for the terminal: so many columns to the left, the others to the right."""
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines = [_line(row, widths, words) for row in cells]
    return "\n".join(line.rstrip() for line in [lines[0], "  ".join("─" * width for width in widths), *lines[1:]])


def table_html(table: pd.DataFrame) -> Markup:
    """A comparison table as an HTML table; every name in it is escaped."""
    header, *body = [[row[0], *row[2:]] for row in _cells(table)]  # amounts have their units with them
    return cells_html(header, body)


def cells_html(
    header: Iterable[str],
    rows: Iterable[Sequence[str]],
    kind: str = "",
    values: Sequence[Sequence[float | None]] | None = None,
) -> Markup:
    """An HTML table of these texts, the first of each row its heading; ``kind`` are its classes in the style.

    One of the class ``sortable`` is sorted by a click on a heading: by ``values``, for each cell a number or None, else
    by its texts.
    """
    from analysis.pages.page import piece  # brings plotly, which the text tables do without

    return piece("table.html", head=header, rows=rows, kind=kind, values=values)


def named_runs(results: Runs) -> dict[str, Result]:
    """Return the runs by name; those without one are named by their schedulers: ``easy``, ``easy (2)``."""
    if isinstance(results, Mapping):
        return {str(name): result for name, result in results.items()}
    found: dict[str, Result] = {}
    for result in results if isinstance(results, Sequence) else [results]:
        if not hasattr(result, "meta"):
            raise InputError("runs", "a result, a list of results, or results by name", type(result).__name__)
        name = str(result.meta.get("scheduler") or "run")
        alike = sum(known == name or known.startswith(f"{name} (") for known in found)
        found[f"{name} ({alike + 1})" if alike else name] = result
    return found


def metrics_of(summary: Mapping[str, Any] | pd.Series) -> dict[str, float]:
    """The metrics in a summary; None, such as the mean over no jobs, becomes NaN."""
    return {
        str(key): np.nan if value is None else float(value)
        for key, value in summary.items()
        if value is None or (isinstance(value, Real) and not isinstance(value, bool) and key not in _NO_METRICS)
    }


def _cells(table: pd.DataFrame) -> list[list[str]]:
    # Half-widths stand behind their means, in one cell with them.
    names = [str(name) for name in table.columns[1:]]
    shown = [name for name in names if not (name.endswith(HALF_WIDTH) and name.removesuffix(HALF_WIDTH) in names)]
    rows = [["metric", "", *shown]]
    for (key, unit), (_, row) in zip(table["unit"].items(), table.iterrows(), strict=True):
        rows.append([label_of(str(key)), str(unit), *(_cell(row, name, str(unit)) for name in shown)])
    return rows


def _cell(row: pd.Series, name: str, unit: str) -> str:
    value, around = float(row[name]), float(row.get(name + HALF_WIDTH, np.nan))
    text = percent(value) if name.endswith(VERSUS) else amount(value, unit)
    if not (np.isfinite(around) and around) or text == NOTHING:
        return text
    # Two digits say how sure one is; the mean needs no more digits than its interval.
    if name.endswith(VERSUS):
        return f"{text.removesuffix(' %')} ± {number(around, digits=2)} %"
    return f"{text} ± {amount(around, unit) if unit else number(around, digits=2)}"


def percent(value: float) -> str:
    """A difference in %, with its sign unless two decimals show none; "–" where it is unknown."""
    if not np.isfinite(value):
        return NOTHING
    text = f"{value:+z,.2f} %" if value else "0 %"
    return "0.00 %" if text == "+0.00 %" else text


def _line(cells: Sequence[str], widths: list[int], words: int) -> str:
    left = [cell.ljust(width) for cell, width in zip(cells[:words], widths[:words], strict=True)]
    right = [cell.rjust(width) for cell, width in zip(cells[words:], widths[words:], strict=True)]
    return "  ".join(left + right)
