"""A sweep as one table of runs: means with confidence intervals, what is best, differences paired by replication, figures.

A table of runs has one row per run: ``cell``, ``replication``, the seeds, a column for each factor, ``status`` and the metrics.
Intervals are Student's over replications (:mod:`analysis.tables.run_metrics`). Replication r has the same seeds under every
scheduler, policy and model, so differences are taken within it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.sweep.manifest import read_manifest
from analysis.sweep.statuses import DONE, TRAINED
from analysis.sweep.storage import read_runs
from analysis.tables.run_metrics import HALF_WIDTH, percent
from analysis.tables.wording import label_of, unit_of
from cluster_sim.amounts import NOTHING, number, scale_of
from cluster_sim.errors import FormatError, InputError
from cluster_sim.records.intervals import CONFIDENCE, FEWEST_BLOCKS, half_width, mean_of, student_quantile, told_apart
from cluster_sim.workload.fields import MORE_IS_BETTER, SUMMARY_METRICS, names

LARGEST_IS_BEST = frozenset(MORE_IS_BETTER)
"""Metrics whose largest value is best; for all others the least is."""

DECIDERS = ("power_policy", "scheduler")
_METRICS = tuple(names(SUMMARY_METRICS))
_NO_FACTORS = frozenset(
    {"cell", "replication", "workload_seed", "seed", "status", "error", "elapsed_s", "cpu_s", "worker"}
)


def read_sweep(folder: str | Path, *, failed: bool = False) -> pd.DataFrame:
    """Return the runs of a sweep, finished or not, one row each, in the order of the cells.

    Runs that failed are there only if ``failed``. ``frame.attrs["factors"]`` names the columns of the factors. Raises
    FormatError where there is no sweep, or no run yet.
    """
    factors = list(read_manifest(folder)["factors"])
    frame = read_runs(folder)
    for name in ("status", *factors):
        if name not in frame:
            raise FormatError(folder, f"rows with a column '{name}'", f"columns {', '.join(map(str, frame.columns))}")
    if not failed:
        frame = frame[frame["status"] == DONE].reset_index(drop=True)
    frame.attrs["factors"] = factors
    return frame


def factors_of(runs: pd.DataFrame, varying: bool = True) -> list[str]:
    """Return the columns of the factors, only those with more than one value unless ``varying`` is False."""
    factors = runs.attrs.get("factors")
    if factors is None:
        factors = [name for name in runs.columns if name not in _NO_FACTORS and name not in _METRICS]
    return [name for name in factors if not varying or runs[name].nunique(dropna=False) > 1]


def sweep_table(
    runs: pd.DataFrame,
    metrics: Sequence[str],
    by: Sequence[str] | None = None,
    confidence: float = CONFIDENCE,
) -> pd.DataFrame:
    """Return the means over replications, a row for each combination of factors.

    Columns: the factors, ``runs``, and for each metric its mean and ``METRIC ±``. The factors are those that vary, or
    ``by``; over others the mean is taken first, within each replication. ``METRIC ±`` is half of the confidence
    interval, NaN for a single replication. Raises InputError for names that the runs do not have.
    """
    by = factors_of(runs) if by is None else list(by)
    _check(runs, [*by, *metrics])
    frame, keys = (runs, by) if by else (runs.assign(all=""), ["all"])
    values = frame.groupby([*keys, "replication"], dropna=False, sort=False)[list(metrics)].mean().reset_index()
    groups = values.groupby(keys, dropna=False, sort=False)
    table = groups.size().rename("runs").reset_index()
    (means, spreads), counts = _mean_and_deviation(groups[list(metrics)]), groups[list(metrics)].count()
    for metric in metrics:
        table[metric] = means[metric].to_numpy()
        table[metric + HALF_WIDTH] = _half(spreads[metric].to_numpy(), counts[metric].to_numpy(), confidence)
    return table if by else table.drop(columns=keys)


def shared(runs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the runs that may be compared: in each combination of the other factors, the replications that all have.

    A scheduler that fails where there is much to do would otherwise be judged by the easy cases. An alternative without
    any value in a combination keeps out no other there.
    """
    _check(runs, [metric, "replication"])
    found: pd.DataFrame = runs[_is_shared(runs, metric)]
    found.attrs = runs.attrs
    return found


def best_table(runs: pd.DataFrame, metric: str, confidence: float = CONFIDENCE) -> pd.DataFrame:
    """Return who decides best in each combination of the other factors, over the :func:`shared` replications.

    Columns are those other factors that vary, and:

    ``best``: the scheduler (with policy or training settings, if they vary) with the best mean over replications;
    ``mean``, ``mean ±``: that mean and its interval; ``tied``: the others that are not told apart from it
    (:func:`cluster_sim.records.intervals.told_apart`); ``next``: the second best; ``next vs best, %``, ``next vs best,
    % ±``: its paired difference to the best one, relative to that.
    """
    _check(runs, [metric, "replication"])
    others = _other_factors(runs)
    frame = runs.assign(best=deciders(runs))[_is_shared(runs, metric)]
    rows = []
    for key, context in frame.groupby(others, dropna=False, sort=False) if others else [((), frame)]:
        values = context.pivot_table(index="replication", columns="best", values=metric, sort=False, dropna=False)
        mean = values.mean().dropna()
        if mean.empty:
            continue
        order = mean.sort_values(ascending=metric not in LARGEST_IS_BEST, kind="stable").index
        best = values[order[0]]
        row = dict(zip(others, key, strict=True)) | {"best": order[0]}
        row |= dict(zip(("mean", "mean" + HALF_WIDTH), _mean(best, confidence), strict=True))
        known = {str(name): values[name].to_numpy(dtype=float) for name in order}
        row["tied"] = ", ".join(told_apart(known, metric in LARGEST_IS_BEST, confidence)[1])
        if len(order) > 1:
            apart, around = _mean(values[order[1]] - best, confidence)
            base = abs(float(best.mean())) / 100 or np.nan
            row |= {"next": order[1], "next vs best, %": apart / base, "next vs best, %" + HALF_WIDTH: around / base}
        rows.append(row)
    return pd.DataFrame(rows)


def ranking(runs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return which scheduler (and policy) decides best over all: ``who``, ``ratio``, ``wins``, ``equals``.

    The best one is first. ``ratio`` is a mean over the combinations of the other factors, of the mean over replications
    relative to the best one in that combination. It is 1 for one that is best everywhere. It is NaN, and so among the
    last, for one without a value in a combination in which others have one. ``wins`` counts the combinations in which
    its mean is the best (equals share them). ``equals`` counts the others that have the same value in every run. Only
    replications count that all have (:func:`shared`).
    """
    _check(runs, [metric, "replication"])
    others = _other_factors(runs)
    filled = _filled(runs[others], others)
    keys: list[Any] = [filled[name] for name in others] or [np.zeros(len(runs))]
    compared = runs[metric].where(_is_shared(runs, metric))
    each = (
        compared.groupby([*keys, runs["replication"], deciders(runs).rename("who")], sort=False).mean().unstack("who")
    )
    values = each.groupby(level=list(range(len(keys))), sort=False).mean()
    values = values[values.notna().any(axis=1)]
    largest = metric in LARGEST_IS_BEST
    best = values.max(axis=1) if largest else values.min(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = values.rdiv(best, axis=0) if largest else values.div(best, axis=0)
    ratio = ratio.where(values.ne(best, axis=0), 1.0)
    table = pd.DataFrame({"ratio": ratio.mean(skipna=False), "wins": values.eq(best, axis=0).sum()})
    same = {name: each[name].to_numpy(dtype=float).tobytes() for name in each}
    alike = Counter(same.values())
    table["equals"] = [alike[same[name]] - 1 for name in table.index]
    return table.sort_values(["ratio", "wins"], ascending=[True, False], kind="stable").rename_axis("who").reset_index()


def paired_table(
    runs: pd.DataFrame,
    metric: str,
    factor: str = "scheduler",
    reference: Any = None,
    confidence: float = CONFIDENCE,
) -> pd.DataFrame:
    """Return the differences between a factor's levels, paired by replication and the other factors.

    Columns: the other factors that vary, ``factor``, ``pairs``, ``difference`` to the ``reference`` level (the first
    one unless given), ``difference ±``, and both relative to the reference's mean, in %. Raises InputError for an
    unknown level.
    """
    _check(runs, [metric, factor])
    levels = list(dict.fromkeys(runs[factor]))
    reference = levels[0] if reference is None else reference
    if reference not in levels:
        raise InputError(f"paired_table, {factor}", f"one of {', '.join(map(str, levels))}", reference)
    others = [name for name in factors_of(runs) if name != factor]
    keys = [*others, "replication"]
    base = runs.loc[runs[factor] == reference, [*keys, metric]].rename(columns={metric: "base"})
    # A heuristic has no training settings, and is compared with the agents of all of them.
    shared = [name for name in keys if not (name.startswith("train.") and base[name].isna().all())]
    base = base[[*shared, "base"]]
    # Text of absent factors, so that a merge finds them.
    pairs = _filled(runs[[*keys, factor, metric]], others).merge(_filled(base, shared), on=shared)
    pairs["base"] = pairs["base"].where(pairs[metric].notna())
    pairs["difference"] = pairs[metric] - pairs["base"]
    groups = pairs.groupby([*others, factor], sort=False)
    table = groups["difference"].count().rename("pairs").reset_index()
    means, spreads = _mean_and_deviation(groups["difference"])
    table["difference"] = means.to_numpy()
    table["difference" + HALF_WIDTH] = _half(spreads.to_numpy(), table["pairs"].to_numpy(), confidence)
    size = groups["base"].mean().abs().to_numpy() / 100
    with np.errstate(divide="ignore", invalid="ignore"):
        for name in ("difference", "difference" + HALF_WIDTH):
            table[name.replace("difference", "difference, %")] = table[name] / size
    others_only: pd.DataFrame = table[table[factor] != reference]
    return others_only.reset_index(drop=True)


def deciders(runs: pd.DataFrame) -> pd.Series:
    """Return who decides in each run, as text: the scheduler, and power policy and training settings if these vary."""
    columns = [name for name in _decider_columns(runs) if runs[name].nunique(dropna=False) > 1] or ["scheduler"]
    columns.sort(key=lambda name: name != "scheduler")
    parts = []
    for name in columns:
        label = f"{name.removeprefix('train.')}=" if name.startswith("train.") else ""
        parts.append([label + plain(value) for value in runs[name]] if label else runs[name])
    texts = [
        " + ".join(str(value) for value in values if not (value is None or str(value).endswith(("=None", "=nan"))))
        for values in zip(*parts, strict=True)
    ]
    return pd.Series(texts, index=runs.index, name="who", dtype=object)


def heuristics(runs: pd.DataFrame) -> pd.DataFrame:
    """Return only the runs in which no learned agent decides."""
    learned = np.zeros(len(runs), bool)
    for name in set(DECIDERS) & set(runs):
        learned |= runs[name].astype(str).str.match(f"{TRAINED}$|learned:").to_numpy(dtype=bool)
    found: pd.DataFrame = runs[~learned]
    found.attrs = runs.attrs
    return found


def table_text(table: pd.DataFrame, most: int = 40) -> str:
    """Return a table of :func:`sweep_table` or the others as aligned text, with at most so many rows.

    Means stand with their intervals. The heading of a metric has the unit of its column, the one in which people read
    amounts of that size.
    """
    headings = {}
    for name in [str(name) for name in table.columns if not str(name).endswith(HALF_WIDTH)]:
        headings[name] = name
        if name in _METRICS:
            sizes = table[name].astype(float).abs()
            finite = sizes[sizes < np.inf]
            divisor, unit = scale_of(unit_of(name), float(finite.max()) if len(finite) else 0.0)
            columns = [column for column in (name, name + HALF_WIDTH) if column in table]
            table = table.assign(**{column: table[column] / divisor for column in columns})
            headings[name] = f"{label_of(name)} [{unit}]" if unit else label_of(name)
    shown = list(headings)
    rows = [list(headings.values())]
    rows += [[_cell(row, name) for name in shown] for row in table.head(most).to_dict("records")]
    widths = [max(len(row[i]) for row in rows) for i in range(len(shown))]
    right = [
        pd.api.types.is_numeric_dtype(table[name]) and name in (*_METRICS, "runs", "wins", "ratio") for name in shown
    ]
    lines = [
        "  ".join(cell.rjust(width) if to_right else cell.ljust(width)
                  for cell, width, to_right in zip(row, widths, right, strict=True)).rstrip()
        for row in rows
    ]  # fmt: skip
    lines.insert(1, "  ".join("─" * width for width in widths))
    if len(table) > most:
        lines.append(f"… and {len(table) - most} more")
    return "\n".join(lines)


def _cell(row: Mapping[Hashable, Any], name: str) -> str:
    value = row[name]
    if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
        return NOTHING
    if isinstance(value, bool | str):
        return str(value)
    around = row.get(name + HALF_WIDTH, np.nan)
    if name.endswith("%"):
        return percent(float(value)) + (f" ± {around:.2f}" if np.isfinite(around) else "")
    if not (np.isfinite(around) and around):
        return number(value)
    # Mean and interval have the same last digit: two digits of the interval, at least four of the mean.
    scale, unit = 1.0, ""
    if max(abs(value), around) >= 1e9:
        power = int(np.floor(np.log10(max(abs(value), around))))
        scale, unit = 10.0**power, f"e{power}"
    value, around = value / scale, around / scale
    decimals = 1 - int(np.floor(np.log10(around)))
    decimals = max(decimals, 3 - int(np.floor(np.log10(abs(value))))) if value else decimals
    places = max(decimals, 0)
    text = f"{round(value, decimals):,.{places}f} ± {round(around, decimals):,.{places}f}"
    return f"({text}){unit}" if unit else text


def plain(value: Any) -> str:
    """Return a setting as it was written: a column that some rows leave empty holds 2 as 2.0."""
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _decider_columns(runs: pd.DataFrame) -> list[str]:
    return [name for name in factors_of(runs, varying=False) if name in DECIDERS or name.startswith("train.")]


def _other_factors(runs: pd.DataFrame) -> list[str]:
    """Return the factors that vary and do not decide: deciders are compared within each combination of them."""
    return [name for name in factors_of(runs) if name not in _decider_columns(runs)]


def _filled(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    return frame.assign(**{name: frame[name].astype(object).where(frame[name].notna(), NOTHING) for name in columns})


def _is_shared(runs: pd.DataFrame, metric: str) -> np.ndarray:
    """Tell for each run whether it is one of :func:`shared`."""
    others = _other_factors(runs)
    keys = _filled(runs[[*others, "replication"]], others).assign(case="", who=deciders(runs))
    keys["who"] = keys["who"].where(runs[metric].notna())
    case = ["case", *others]
    competing, here = (
        keys.groupby(by, sort=False)["who"].transform("nunique") for by in (case, [*case, "replication"])
    )
    return np.asarray(runs[metric].notna() & (here == competing))


def _mean(values: pd.Series, confidence: float) -> tuple[float, float]:
    known = values.dropna().to_numpy(dtype=float)[:, None]
    return float(mean_of(known)[0]), float(half_width(known, confidence)[0])


def _mean_and_deviation(groups: Any) -> tuple[Any, Any]:
    """Return the mean and the standard deviation of each group.

    For equal values these are that value and 0, not what rounding makes of them.
    """
    least = groups.min()
    differ = least != groups.max()
    return groups.mean().where(differ, least), groups.std(ddof=1).where(differ, 0.0)


def _half(spread: np.ndarray, count: np.ndarray, confidence: float) -> np.ndarray:
    """Return the half-widths of intervals of means of ``count`` values; NaN for too few."""
    distinct, place = np.unique(count, return_inverse=True)
    quantiles = [student_quantile(int(n) - 1, confidence) if n >= FEWEST_BLOCKS else np.nan for n in distinct]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.array(quantiles)[place] * spread / np.sqrt(count))


def _check(runs: pd.DataFrame, columns: Sequence[str]) -> None:
    for name in columns:
        if name not in runs.columns:
            raise InputError("sweep", "a column of the runs", name)


POLICY = "power_policy"
