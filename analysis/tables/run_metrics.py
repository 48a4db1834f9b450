"""Comparison of several runs: metrics with units, differences from the first run in %, half-widths of intervals.

Replication r of every scheduler has the same seed, hence the same workload and the same luck. So the difference between
two schedulers is taken within each replication, and the interval is that of the mean difference. It is far narrower
than the two schedulers' own intervals suggest (Law 2015, ch. 10.2.1: common random numbers).

Intervals are Student's, mean ± t · s/√n with n - 1 degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from analysis.tables.tiles import sense
from analysis.tables.wording import label_of, unit_of
from cluster_sim.amounts import NOTHING, amount, number
from cluster_sim.errors import InputError
from cluster_sim.records.comparison import LEAST_CHANGE
from cluster_sim.records.intervals import CONFIDENCE, half_width, mean_of, paired_change
from cluster_sim.records.result import Result

if TYPE_CHECKING:
    from markupsafe import Markup


# Keys of a summary that are no metrics: a difference in % would mean nothing.
_NO_METRICS = frozenset({"seed", "version"})
VERSUS = " vs first, %"
HALF_WIDTH = " ±"

# Metrics that most comparisons are about; the other metrics explain them.
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
"""Type of one or several runs, by name or in a list."""


def comparison_table(results: Runs) -> pd.DataFrame:
    """Return the metrics of one or more runs, by name or in a list.

    The index has the summary's keys, in the first run's order. The columns are ``unit``, one per run under its name,
    and from the second run on ``NAME vs first, %``: the difference from the first run's value, relative to it; NaN if
    that is zero or unknown.
    """
    runs = named_runs(results)
    values = {name: metrics_of(result.summary()) for name, result in runs.items()}
    keys = list(dict.fromkeys(key for metrics in values.values() for key in metrics))
    table = pd.DataFrame({"unit": [unit_of(key) for key in keys]}, index=pd.Index(keys, name="metric"))
    names = list(values)
    for name in names:
        table[name] = [values[name].get(key, np.nan) for key in keys]
    for name in names[1:]:
        own, base = table[name], table[names[0]]
        change = 100 * (own - base) / base.abs().where(base != 0)
        table[name + VERSUS] = change.where(own != base, 0.0).where(own.notna() & base.notna())
    return table


def renamed(table: pd.DataFrame, names: Mapping[str, str]) -> pd.DataFrame:
    """Return a comparison or replication table whose runs have other names."""
    endings = ("", HALF_WIDTH, VERSUS, VERSUS + HALF_WIDTH)
    found = table.rename(columns={old + end: new + end for old, new in names.items() for end in endings})
    if REPLICATIONS in table.attrs:
        values = {
            key: {names.get(name, name): each for name, each in row.items()}
            for key, row in table.attrs[REPLICATIONS].items()
        }
        found.attrs = table.attrs | {REPLICATIONS: values}
    return found


def headlines(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a comparison table that most comparisons are about."""
    return table.loc[[key for key in HEADLINES if key in table.index]]


def format_table(table: pd.DataFrame) -> str:
    """Return a comparison table as text for the terminal: amounts with units that fit, others as in the files."""
    return aligned([[row[0], *row[2:]] for row in _cells(table)])


def aligned(cells: Sequence[Sequence[str]], words: int = 1) -> str:
    """Return rows of texts, the header first, as aligned text: ``words`` columns to the left, others to the right."""
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines = []
    for row in cells:
        left = [cell.ljust(width) for cell, width in zip(row[:words], widths[:words], strict=True)]
        right = [cell.rjust(width) for cell, width in zip(row[words:], widths[words:], strict=True)]
        lines.append("  ".join(left + right).rstrip())
    return "\n".join([lines[0], "  ".join("─" * width for width in widths), *lines[1:]])


def table_html(table: pd.DataFrame) -> Markup:
    """Return a comparison table as an HTML table; every name in it is escaped, and changes are marked better or worse."""
    header, *body = [[row[0], *row[2:]] for row in _cells(table)]  # amounts have their units with them
    versus = {place: name for place, name in enumerate(header) if name.endswith(VERSUS)}
    header = [name.replace(VERSUS, f" against {header[1]}") for name in header]
    marks = [
        [_mark(str(key), row, versus.get(place, "")) for place in range(len(header))] for key, row in table.iterrows()
    ]
    return cells_html(header, body, marks=marks)


def _mark(metric: str, row: pd.Series, versus: str) -> str:
    """Return "better" or "worse" for a change of a metric that matters and that chance does not explain, else nothing."""
    change, around = float(row.get(versus, np.nan)), float(row.get(versus + HALF_WIDTH, 0.0))
    if np.isnan(around) or not abs(change) >= max(LEAST_CHANGE, around) or metric not in HEADLINES:
        return ""
    return sense(metric, change)


def cells_html(
    header: Iterable[str],
    rows: Iterable[Sequence[str]],
    kind: str = "",
    values: Sequence[Sequence[float | None]] | None = None,
    marks: Sequence[Sequence[str]] | None = None,
) -> Markup:
    """Return an HTML table of texts, the first of each row its heading; ``kind`` are its classes in the style.

    A click on a heading sorts a table of the class ``sortable``: by ``values``, for each cell a number or None, else by
    its texts. ``marks`` has the class of each cell, or nothing.
    """
    from analysis.pages.page import piece  # imports plotly, which text tables do not need

    return piece("table.html", head=header, rows=rows, kind=kind, values=values, marks=marks)


def named_runs(results: Runs) -> dict[str, Result]:
    """Return the runs by name; runs without a name get their scheduler's: ``easy``, ``easy (2)``."""
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
    """Return the metrics in a summary; None, such as the mean over no jobs, becomes NaN."""
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
    for (key, unit), (_, row) in zip(table["unit"].astype(str).items(), table.iterrows(), strict=True):
        cells = [label_of(str(key)), unit]
        for name in shown:
            value, around = float(row[name]), float(row.get(name + HALF_WIDTH, np.nan))
            text = percent(value) if name.endswith(VERSUS) else amount(value, unit)
            if np.isfinite(around) and around and text != NOTHING:
                # Two digits say how sure one is; the mean needs no more digits than its interval.
                if name.endswith(VERSUS):
                    text = f"{text.removesuffix(' %')} ± {number(around, digits=2)} %"
                else:
                    text += f" ± {amount(around, unit) if unit else number(around, digits=2)}"
            cells.append(text)
        rows.append(cells)
    return rows


def percent(value: float) -> str:
    """Return a difference in %, to three digits, with its sign unless it rounds to 0; "–" if it is unknown."""
    if not np.isfinite(value):
        return NOTHING
    sign = "−" if value < 0 else "+"
    return f"{sign}{number(abs(value), 3)} %" if abs(value) >= 0.005 else "0 %"


REPLICATIONS = "replications"
Summary = Mapping[str, Any] | pd.Series


def replication_table(runs: Mapping[str, Sequence[Summary]], confidence: float = CONFIDENCE) -> pd.DataFrame:
    """Return means over replications as a comparison table with half-widths of the confidence intervals.

    ``runs`` has for each scheduler the summaries of its replications, with the same seeds in the same order. The index
    is the metric; the columns are ``unit``, and for each run ``NAME`` (mean) and ``NAME ±``. From the second run on
    there are also ``NAME vs first, %``, the mean difference relative to the first run's mean, and ``NAME vs first, %
    ±``. Half-widths are NaN for a single replication. A metric that lacks a value in some replication has none.
    ``attrs["replications"]`` has the values behind the means, metric → run → list.

    Raises InputError for different numbers of replications, none, or a ``confidence`` outside of (0, 1).
    """
    counts = {name: len(summaries) for name, summaries in runs.items()}
    if not counts or 0 in counts.values() or len(set(counts.values())) > 1:
        raise InputError("replications", "the same number of replications of each run, at least one", counts)
    frames = {name: pd.DataFrame([metrics_of(one) for one in several]) for name, several in runs.items()}
    keys = list(dict.fromkeys(key for frame in frames.values() for key in frame.columns))
    values = {name: frame.reindex(columns=keys).to_numpy(dtype=float) for name, frame in frames.items()}
    table = pd.DataFrame({"unit": [unit_of(key) for key in keys]}, index=pd.Index(keys, name="metric"))
    for name, several in values.items():
        table[name], table[name + HALF_WIDTH] = mean_of(several), half_width(several, confidence)
    table.attrs[REPLICATIONS] = {
        key: {name: several[:, column].tolist() for name, several in values.items()} for column, key in enumerate(keys)
    }
    first = next(iter(values.values()))
    for name, several in list(values.items())[1:]:
        table[name + VERSUS], table[name + VERSUS + HALF_WIDTH] = paired_change(several, first, confidence)
    return table
