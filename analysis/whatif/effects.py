"""What a change makes of the waits, by class of jobs, with intervals over the weeks of the log.

Both runs have the same jobs, so differences are taken job by job. An interval says how far the mean difference would
change if the log had other weeks of the same kind. For it, weeks with all their jobs are drawn from those of the log (a
block bootstrap). It says nothing of how well the simulation is like the machine: for that there is the replay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.whatif.replayed import CHANGED, RECORDED, UNCHANGED, busy_core_s, week_edges
from cluster_sim.records.comparison import LEAST_TIME, Effect
from cluster_sim.records.intervals import FEWEST_BLOCKS, bootstrap_ratios
from cluster_sim.records.result import Result

ALL = "all jobs"
CLASSES = ("partition", "account", "size", "limit", "user")


def by_class(jobs: pd.DataFrame, by: str = "", names: Sequence[str] = (RECORDED, UNCHANGED, CHANGED)) -> pd.DataFrame:
    """Return the mean waits of the classes of jobs, those with the most core-seconds first.

    Sizes and limits keep their order. Only jobs count that started in all the ``names``. Columns: ``by``, ``group``,
    ``jobs``, ``share`` of core-seconds, for each name ``NAME_s`` (mean wait, s), and, of both runs, ``change_s``,
    ``low_s`` and ``high_s``: the mean difference and its 95 % interval (NaN with fewer than five weeks). Without ``by``
    it is one row, of all jobs.
    """
    jobs = jobs[np.logical_and.reduce([jobs[f"{name}_wait"].notna() for name in names])]
    groups = jobs[by] if by else pd.Series(ALL, jobs.index)
    core_s = jobs["cores"] * jobs["run_s"]
    table = pd.DataFrame({"jobs": groups.groupby(groups, observed=True).size()})
    table["share"] = core_s.groupby(groups, observed=True).sum() / max(float(core_s.sum()), 1e-9)
    for name in names:
        table[f"{name}_s"] = jobs[f"{name}_wait"].groupby(groups, observed=True).mean()
    if CHANGED in names:
        table = table.join(_differences(jobs, groups, f"{CHANGED}_wait", f"{UNCHANGED}_wait").add_suffix("_s"))
    if by not in ("size", "limit"):
        table = table.sort_values("share", ascending=False, kind="stable")
    table = table.rename_axis("group").reset_index()
    table["group"] = table["group"].astype(str)
    table.insert(0, "by", by or "all")
    return table


def _differences(jobs: pd.DataFrame, groups: pd.Series, after: str, before: str) -> pd.DataFrame:
    """Return the mean difference of two columns in each group, with its interval."""
    apart = pd.DataFrame({"week": jobs["week"], "group": groups, "apart": jobs[after] - jobs[before]})
    if apart.empty:
        return pd.DataFrame(np.nan, index=[ALL], columns=["change", "low", "high"])
    weekly = (
        apart.groupby(["week", "group"], observed=True)["apart"].agg(["sum", "size"]).unstack("group", fill_value=0.0)
    )
    sums, counts = weekly["sum"], weekly["size"]
    table = pd.DataFrame({"change": sums.sum() / counts.sum()})
    table[["low", "high"]] = bootstrap_ratios(sums.to_numpy(dtype=float), counts.to_numpy(dtype=float))
    return table


def effects_of(jobs: pd.DataFrame, runs: Mapping[str, Result]) -> list[Effect]:
    """Return the effects on mean wait, mean bounded slowdown, utilisation and energy, paired by week.

    Only jobs count that started in the log and in both runs. The utilisation is that of each run's own cores from the
    first submission to the last. The energy is of the whole runs. It is left out if the change hardly moves it and both
    runs have the same nodes and power policy.
    """
    names = (RECORDED, UNCHANGED, CHANGED)
    both = jobs[np.logical_and.reduce([jobs[f"{name}_wait"].notna() for name in names])]
    everyone = pd.Series(ALL, both.index)
    found = []
    for metric, label, kind, unit, floor in (
        ("mean_wait_s", "mean wait", "wait", "s", LEAST_TIME),
        ("mean_bounded_slowdown", "mean bounded slowdown", "slowdown", "", 0.0),
    ):
        means = (float(both[f"{UNCHANGED}_{kind}"].mean()), float(both[f"{CHANGED}_{kind}"].mean()))
        row = _differences(both, everyone, f"{CHANGED}_{kind}", f"{UNCHANGED}_{kind}").iloc[0]
        apart = both[f"{CHANGED}_{kind}"] - both[f"{UNCHANGED}_{kind}"]
        weeks = apart.groupby(both["week"]).mean()
        found.append(_weekly(metric, label, unit, means, (row["low"], row["high"]), weeks, floor))
    length = np.diff(week_edges(jobs))
    busy = {name: 100 * busy_core_s(jobs, name, week_edges(jobs)) / runs[name].platform.core_count for name in runs}
    means = (float(busy[UNCHANGED].sum() / length.sum()), float(busy[CHANGED].sum() / length.sum()))
    more_busy = busy[CHANGED] - busy[UNCHANGED]
    low, high = bootstrap_ratios(more_busy[:, None], length[:, None])[0].tolist()
    found.append(_weekly("utilisation", "utilisation", "%", means, (low, high), more_busy / length))
    before, after = (float(runs[name].summary()["energy_j"]) for name in (UNCHANGED, CHANGED))
    energy = Effect("energy_j", "energy", "J", CHANGED, UNCHANGED, before, after, block="log")
    machines = {(run.platform.core_count, run.meta.get("power_policy")) for run in runs.values()}
    return [*found, *([energy] if before > 0 and (len(machines) > 1 or energy.matters) else [])]


def _weekly(
    metric: str,
    label: str,
    unit: str,
    means: tuple[float, float],
    ends: tuple[float, float],
    weeks: pd.Series | np.ndarray,
    floor: float = 0.0,
) -> Effect:
    """Return an effect: ``means`` without and with the change, ends of the interval, and the differences by week."""
    how = ("week", "95 % bootstrap over weeks")
    differences = tuple(weeks.tolist())
    return Effect(metric, label, unit, CHANGED, UNCHANGED, *means, *ends, len(weeks), *how, differences, floor=floor)


def effect_of_class(row: Mapping[Any, Any]) -> Effect:
    """Return the effect on the mean wait in a row of :func:`by_class`."""
    low, high = float(row["low_s"]), float(row["high_s"])
    blocks = FEWEST_BLOCKS if np.isfinite(low) else 1  # at least
    base, value = float(row[f"{UNCHANGED}_s"]), float(row[f"{CHANGED}_s"])
    group = str(row["group"])
    return Effect("mean_wait_s", "mean wait", "s", CHANGED, UNCHANGED, base, value, low, high, blocks, "week", case=group,
                  floor=LEAST_TIME)  # fmt: skip


def overall(jobs: pd.DataFrame, effects: Sequence[Effect], cores: int) -> pd.DataFrame:
    """Return what becomes of all jobs: rows of measures for the log and each run, and the ``change``.

    ``unit`` is the unit of a row. ``low`` and ``high`` are the ends of the interval of the change; medians and
    percentiles have none. Only jobs count that started in all three, but for the started jobs and the utilisation (%):
    see :func:`effects_of`. The log's machine has ``cores`` cores.
    """
    names = (RECORDED, UNCHANGED, CHANGED)
    both = jobs[np.logical_and.reduce([jobs[f"{name}_wait"].notna() for name in names])]
    edges = week_edges(jobs)
    recorded = {
        "mean wait": float(both[f"{RECORDED}_wait"].mean()),
        "mean bounded slowdown": float(both[f"{RECORDED}_slowdown"].mean()),
        "utilisation": 100 * float(busy_core_s(jobs, RECORDED, edges).sum()) / (cores * float(edges[-1] - edges[0])),
    }
    rows: dict[str, dict[str, Any]] = {
        each.label: {"unit": each.unit, RECORDED: recorded[each.label], UNCHANGED: each.base, CHANGED: each.value}
        | {"low": each.low, "high": each.high}
        for each in effects
        if each.label in recorded
    }
    for label, share in (("median wait", 0.5), ("95th percentile of wait", 0.95)):
        rows[label] = {"unit": "s", **{n: float(both[f"{n}_wait"].quantile(share)) for n in names}}
    rows["started jobs"] = {"unit": "", **{n: float(jobs[f"{n}_start"].notna().sum()) for n in names}}
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("measure")
    table["change"] = table[CHANGED] - table[UNCHANGED]
    return table[["unit", *names, "change", "low", "high"]]


def most_moved(jobs: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return the ``most`` jobs that gain and the ``most`` that lose most wait by the change, the gains first.

    Columns: ``job_id`` and ``shift_s``.
    """
    shift = (jobs[f"{CHANGED}_wait"] - jobs[f"{UNCHANGED}_wait"]).rename("shift_s")
    table = pd.concat([jobs["job_id"], shift], axis=1).dropna().sort_values("shift_s", kind="stable")
    return pd.concat([table[table["shift_s"] < 0].head(most), table[table["shift_s"] > 0].iloc[::-1].head(most)])
