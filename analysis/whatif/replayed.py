"""How well a replay agrees with its log, and what explains the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cluster_sim.records.metrics import bounded_slowdown
from cluster_sim.records.result import Result
from cluster_sim.workload.workload import Workload

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

CONF = "slurm.conf"
RECORDED, UNCHANGED, CHANGED = "recorded", "unchanged", "changed"
DAY, WEEK = 86_400.0, 604_800.0
SAME_S = 60.0
"""Seconds within which starts are taken for the same: Slurm starts jobs in passes, some of them every minute."""
WITHIN_S = {"1 min": 60.0, "10 min": 600.0, "1 h": 3_600.0}
_SIZES = (1, 4, 16, 64, 256, 1_024)
_LIMITS = {"up to 1 h": 3_600.0, "up to 6 h": 21_600.0, "up to 1 d": 86_400.0, "longer": math.inf}
EARLY, ROOM, BEHIND, HELD, OVERTAKEN = (
    "the log begins with other jobs on the machine, of which it says nothing (its first day)",
    "waited in the log although enough CPUs were idle: limits, licences, reservations, drained nodes, memory, room in pieces",
    "waited in the log behind other jobs, which the replay has it overtake: priorities, and what follows from the rest",
    "waits in the replay although enough CPUs are idle: room in pieces, limits of partitions",
    "waits in the replay behind other jobs, which it overtook in the log: priorities, and what follows from the rest",
)


def jobs_of(workload: Workload, runs: dict[str, Result]) -> pd.DataFrame:
    """Return the jobs of a log with what became of them, recorded and in each run.

    There is a row for each, in the order of submission. Columns: ``job_id``, ``submit_time``, ``cores``, ``run_s``;
    ``partition``, ``account``, ``user``, ``size`` and ``limit`` as classes; ``week``, counted from the first
    submission; for the log and each run ``NAME_start`` and ``NAME_wait`` (s; NaN: not known, not started) and
    ``NAME_slowdown``, bounded.
    """
    columns = workload.columns
    submit, run = columns["submit_time"].astype(float), columns["recorded_run_time"].astype(float)
    cores = columns["requested_cores"]
    weeks = max(1, round(float(np.ptp(submit)) / WEEK))
    jobs = pd.DataFrame({"job_id": columns["job_id"].astype(str), "submit_time": submit, "cores": cores, "run_s": run})
    for name in ("partition", "account", "user"):
        texts = pd.Series(columns[name]).astype(str)
        jobs[name] = texts.where(~texts.isin(["", "-1"]), "(none)")
    sizes = ["1 CPU", *(f"{low + 1:,}–{high:,} CPUs" for low, high in pairwise(_SIZES)), f"over {_SIZES[-1]:,} CPUs"]
    jobs["size"] = _classes(cores, _SIZES, sizes)
    jobs["limit"] = _classes(columns["requested_time"].astype(float), list(_LIMITS.values()), list(_LIMITS))
    jobs["week"] = np.minimum((submit - submit.min()) // WEEK, weeks - 1).astype(int)
    waits = {RECORDED: np.where(columns["recorded_wait_time"] >= 0, columns["recorded_wait_time"], np.nan)}
    for name, result in runs.items():
        table = result.jobs.set_index("job_id").reindex(jobs["job_id"])
        waits[name] = table["wait_time"].where(table["start_time"].notna()).to_numpy(dtype=float)
    for name, wait in waits.items():
        jobs[f"{name}_wait"], jobs[f"{name}_start"] = wait, submit + wait
        jobs[f"{name}_slowdown"] = bounded_slowdown(wait + run, run)
    return jobs


def _classes(values: np.ndarray, ends: Sequence[float], names: list[str]) -> pd.Series:
    """Return the class of each value: the name of the first of the ``ends`` that is not below it."""
    codes = np.searchsorted(ends, values)
    return pd.Series(pd.Categorical(np.array(names)[codes], categories=names, ordered=True))


def busy_core_s(jobs: pd.DataFrame, name: str, edges: Floats) -> Floats:
    """Return the core-seconds that the jobs computed between each two of the ``edges`` (s)."""
    started = jobs[jobs[f"{name}_start"].notna()]
    start, run = started[f"{name}_start"].to_numpy(), started["run_s"].to_numpy()
    cores = started["cores"].to_numpy(dtype=float)
    return np.diff([float(np.clip(edge - start, 0.0, run) @ cores) for edge in edges.tolist()])


def week_edges(jobs: pd.DataFrame) -> Floats:
    """Return when the weeks begin, and the last submission, s. The last week may be shorter or longer than the others."""
    first, last = float(jobs["submit_time"].min()), float(jobs["submit_time"].max())
    return np.append(first + WEEK * np.arange(jobs["week"].max() + 1), max(last, first + 1.0))


def agreement(jobs: pd.DataFrame, cores: int) -> pd.DataFrame:
    """Compare the log and its replay, in the columns ``recorded`` and ``unchanged``, with ``unit``.

    Only jobs count that started in both. The utilisation is that from the first submission to the last one.
    """
    both = jobs[jobs[f"{RECORDED}_start"].notna() & jobs[f"{UNCHANGED}_start"].notna()]
    edges = week_edges(jobs)[[0, -1]]
    rows: dict[str, tuple[Any, ...]] = {
        "started jobs": ("", *(float(jobs[f"{name}_start"].notna().sum()) for name in (RECORDED, UNCHANGED)))
    }
    waits = {name: both[f"{name}_wait"] for name in (RECORDED, UNCHANGED)}
    rows["mean wait"] = ("s", *(float(wait.mean()) for wait in waits.values()))
    for label, share in (("median wait", 0.5), ("95th percentile of wait", 0.95)):
        rows[label] = ("s", *(float(wait.quantile(share)) for wait in waits.values()))
    slowdowns = (float(both[f"{name}_slowdown"].mean()) for name in (RECORDED, UNCHANGED))
    rows["mean bounded slowdown"] = ("", *slowdowns)
    had = cores * float(edges[1] - edges[0])
    busy = (100 * float(busy_core_s(jobs, name, edges)[0]) / had for name in (RECORDED, UNCHANGED))
    rows["utilisation"] = ("%", *busy)
    return pd.DataFrame.from_dict(rows, orient="index", columns=["unit", RECORDED, UNCHANGED])


def near_starts(jobs: pd.DataFrame) -> dict[str, float]:
    """Return the share of jobs that start within so much time of their recorded start.

    Only jobs count that started in both.
    """
    apart = (jobs[f"{UNCHANGED}_start"] - jobs[f"{RECORDED}_start"]).dropna().abs()
    return {label: float((apart <= seconds).mean()) for label, seconds in WITHIN_S.items()}


def causes(jobs: pd.DataFrame, cores: int) -> pd.DataFrame:
    """Say why jobs start otherwise than recorded, as far as the log shows: a row for each cause that some job has.

    Columns: ``cause``, ``jobs``, ``share`` (of the time by which all jobs together are off) and ``mean_s`` (their mean
    shift, later above 0). A job has the first cause that fits, in the order of the constants of this module. Starts
    within a minute count as the same.
    """
    both = jobs[jobs[f"{RECORDED}_start"].notna() & jobs[f"{UNCHANGED}_start"].notna()]
    shift = (both[f"{UNCHANGED}_start"] - both[f"{RECORDED}_start"]).to_numpy()
    submit, wanted = both["submit_time"].to_numpy(), both["cores"].to_numpy()
    room = {
        name: _peaks(jobs, name, submit, both[f"{name}_start"].to_numpy()) + wanted <= cores
        for name in (RECORDED, UNCHANGED)
    }
    cause = np.select(
        [
            np.abs(shift) <= SAME_S,
            (shift < 0) & (submit < submit.min(initial=math.inf) + DAY),
            (shift < 0) & room[RECORDED],
            shift < 0,
            room[UNCHANGED],
        ],
        ["", EARLY, ROOM, BEHIND, HELD],
        OVERTAKEN,
    )
    table = pd.DataFrame({"cause": cause, "shift": shift, "off": np.abs(shift)})
    table = (
        table[table["cause"] != ""]
        .groupby("cause")
        .agg(jobs=("off", "size"), off=("off", "sum"), mean_s=("shift", "mean"))
    )
    table.insert(1, "share", table.pop("off") / max(float(np.abs(shift).sum()), 1e-9))
    return table.sort_values("share", ascending=False).reset_index()


def _levels(jobs: pd.DataFrame, name: str) -> tuple[Floats, Floats]:
    """Return the times (s) when the number of busy cores changes, and that number from then on."""
    started = jobs[jobs[f"{name}_start"].notna()]
    start, cores = started[f"{name}_start"].to_numpy(), started["cores"].to_numpy(dtype=float)
    times, which = np.unique(np.concatenate([start, start + started["run_s"].to_numpy()]), return_inverse=True)
    return times, np.cumsum(np.bincount(which, np.concatenate([cores, -cores]), len(times)))


def beyond(jobs: pd.DataFrame, cores: int) -> tuple[float, float]:
    """Return the most cores that the log's jobs had at once, and how long they had more than ``cores``, s."""
    times, level = _levels(jobs, RECORDED)
    return float(level.max()), float(np.diff(times)[level[:-1] > cores].sum())


def _peaks(jobs: pd.DataFrame, name: str, begin: Floats, end: Floats) -> Floats:
    """Return the most cores that jobs had at once from each ``begin`` until before its ``end``."""
    times, level = _levels(jobs, name)
    low = np.maximum(np.searchsorted(times, begin, side="right") - 1, 0)
    count = np.maximum(np.searchsorted(times, end, side="left") - low, 1)
    found = np.empty(len(begin))
    power, highest = 0, level
    while len(begin) and power <= int(np.log2(count.max())):  # highest[i] is the most in level[i : i + 2**power]
        mine = np.flatnonzero(np.floor(np.log2(count)).astype(int) == power)
        found[mine] = np.maximum(highest[low[mine]], highest[low[mine] + count[mine] - 2**power])
        highest = np.maximum(highest[: -(2**power)], highest[2**power :]) if len(highest) > 2**power else highest
        power += 1
    return found
