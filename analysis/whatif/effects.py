"""What a change makes of the waits, by class of jobs, with intervals over the weeks of the log.

Both runs have the same jobs, so differences are taken job by job. An interval says how far the mean difference would be another
one had the log other weeks of the same kind: weeks, with all their jobs, are drawn from those that there are (a block
bootstrap). It says nothing of how well the simulation is like the machine: for that there is the replay.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.whatif.replayed import CHANGED, RECORDED, UNCHANGED, busy_core_s, week_edges
from cluster_sim.records.intervals import bootstrap_ratios

ALL = "all jobs"
CLASSES = ("partition", "account", "size", "limit", "user")
FEWEST_WEEKS = 2


def by_class(jobs: pd.DataFrame, by: str = "", names: Sequence[str] = (RECORDED, UNCHANGED, CHANGED)) -> pd.DataFrame:
    """Mean waits of the classes of jobs, those with the most core-seconds first (sizes and limits in their order).

    Of jobs that started in all the ``names``. Columns: ``by``, ``group``, ``jobs``, ``share`` of core-seconds, for each name
    ``NAME_s`` (mean wait, s), and, of both runs, ``change_s``, ``low_s`` and ``high_s``: the mean difference and its 95 %
    interval (NaN with fewer than two weeks). Without ``by`` it is one row, of all jobs.
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
    """The mean difference of a column from another in each group, with its interval, by group."""
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


def overall(jobs: pd.DataFrame, cores: dict[str, int]) -> pd.DataFrame:
    """What becomes of all jobs: rows of measures with a ``unit``, for the log and each run, and the ``change``.

    ``low`` and ``high`` are the ends of its interval; medians and percentiles have none. Of jobs that started in all three, but
    for the started jobs and the utilisation (%), which is that of each run's own ``cores`` from the first submission to the last.
    """
    names = (RECORDED, UNCHANGED, CHANGED)
    both = jobs[np.logical_and.reduce([jobs[f"{name}_wait"].notna() for name in names])]
    everyone = pd.Series(ALL, both.index)
    rows: list[dict[str, object]] = []
    for label, kind, unit in (("mean wait", "wait", "s"), ("mean bounded slowdown", "slowdown", "")):
        means = {name: float(both[f"{name}_{kind}"].mean()) for name in names}
        apart = _differences(both, everyone, f"{CHANGED}_{kind}", f"{UNCHANGED}_{kind}").iloc[0]
        rows.append({"measure": label, "unit": unit, **means, **apart})
    for label, share in (("median wait", 0.5), ("95th percentile of wait", 0.95)):
        rows.append({"measure": label, "unit": "s", **{n: float(both[f"{n}_wait"].quantile(share)) for n in names}})
    edges = week_edges(jobs)
    length = np.diff(edges)
    busy = {name: 100 * busy_core_s(jobs, name, edges) / cores[name] for name in names}
    shares = {name: float(busy[name].sum() / length.sum()) for name in names}
    low, high = bootstrap_ratios((busy[CHANGED] - busy[UNCHANGED])[:, None], length[:, None])[0].tolist()
    rows.append({"measure": "utilisation", "unit": "%", **shares, "low": low, "high": high})
    rows.append({"measure": "started jobs", "unit": "", **{n: float(jobs[f"{n}_start"].notna().sum()) for n in names}})
    table = pd.DataFrame(rows).set_index("measure")
    table["change"] = table[CHANGED] - table[UNCHANGED]
    return table[["unit", *names, "change", "low", "high"]]


def most_moved(jobs: pd.DataFrame, most: int) -> pd.DataFrame:
    """The jobs that gain and lose most wait by the change, ``most`` of each: ``job_id`` and ``shift_s``, the gains first."""
    shift = (jobs[f"{CHANGED}_wait"] - jobs[f"{UNCHANGED}_wait"]).rename("shift_s")
    table = pd.concat([jobs["job_id"], shift], axis=1).dropna().sort_values("shift_s", kind="stable")
    return pd.concat([table[table["shift_s"] < 0].head(most), table[table["shift_s"] > 0].iloc[::-1].head(most)])
