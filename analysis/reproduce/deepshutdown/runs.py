"""What the reproduction of DeepShutdown runs: days of Taurus, synthetic stand-ins of other clusters, and logs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from analysis.reproduce.deepshutdown.days import DAY_S, episode, figures, group_of
from analysis.reproduce.deepshutdown.stand_ins import CLUSTERS, stand_in_day, stand_in_platform
from analysis.reproduce.paper import Measured
from cluster_sim import ModelWarning, Simulation, make_power_policy, make_scheduler
from cluster_sim.platform.platform import Platform
from cluster_sim.records.metrics import delays, utilisation
from cluster_sim.records.result import Result
from cluster_sim.workload.workload import Workload

if TYPE_CHECKING:
    import pandas as pd


FOLDER = "cases/deepshutdown"
BUSY_DAYS = (f"{FOLDER}/train_days",)
"""The 48 days of Taurus that the authors released with a benchmark; most are busy. The authors trained on them."""
ORDINARY_DAYS = {part: tuple(f"{FOLDER}/more_days/lyon_{i}_{part}" for i in range(1, 5)) for part in ("train", "test")}
"""Folders of 1,357 others from the history of their repository, those to train on and those to test on."""
ALL_DAYS = (*BUSY_DAYS, *ORDINARY_DAYS["train"], *ORDINARY_DAYS["test"])
"""Folders of 1,405 of the 2,152 days that the paper simulates; those to train on come first."""
POLICIES = {
    "OR*": "off-reservation:0.5",
    "T(0)": "timeout:0",
    "T(1)": "timeout:60",
    "T(5)": "timeout:300",
    "random": "random",
}
LOGS = {
    "KTH-SP2": "KTH-SP2-1996-2.1-cln.swf.gz",
    "SDSC-SP2": "SDSC-SP2-1998_pyss_5K_sample.swf.gz",
    "KIT-FH2": "KIT-FH2-2016-1.first25326.derived.swf.gz",
    "NASA-iPSC": "NASA-iPSC-1993-3.1-cln.swf.gz",
}
GAPS = {"0-5 min": (0, 300), "5-60 min": (300, 3600), "> 60 min": (3600, float("inf"))}
THETA = 0.5
SLOWEST = 10_000 / 81_925
"""Share of the jobs of Taurus that Fig. 8 shows: the 10,000 most slowed-down ones (Table 1 has how many there are)."""
_OF_A_JOB = ("start_time", "wait_time", "requested_time", "run_time", "stretch", "slowdown", "gap")
BOX = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles of the boxes of Figs. 7 and 8: ends of the whiskers, of the box, and the median."""


def taurus(inputs: Path) -> Platform:
    """Return the authors' platform: 168 one-core hosts in 14 nodes."""
    return Platform.read(inputs / FOLDER / "platform_taurus_168cores.xml", time_unit="minutes")


def released_days(
    inputs: Path, folders: Sequence[str], platform: Platform, most: int | None = None, every: int = 1
) -> list[Workload]:
    """Return days in these folders as episodes: every ``every``-th, and of these at most ``most``, evenly spread."""
    paths = day_files(inputs, folders)[::every]
    count = len(paths) if most is None else min(most, len(paths))
    chosen = [paths[i * len(paths) // count] for i in range(count)]
    return [episode(Workload.read(path, time_unit="minutes"), platform) for path in chosen]


def day_files(inputs: Path, folders: Iterable[str]) -> list[Path]:
    """Return the files of the days in these folders, by the numbers at the ends of their names."""
    files: list[Path] = []
    for folder in folders:
        files += sorted((inputs / folder).glob("*.json"), key=lambda day: int(day.stem.rpartition("_")[2]))
    return files


def run_day(platform: Platform, day: Workload, power: str, seed: int) -> Result:
    """Run a day under saf-easy and the power policy of a spec."""
    policy = make_power_policy(power)
    return Simulation(platform, day, make_scheduler("saf-easy"), policy, seed, enforce_walltime=True, until=DAY_S).run(
        warn=False
    )


def on_days(inputs: Path, label: str, policy: str, folders: Sequence[str], days: int | None) -> Measured:
    """Measure a policy on the released days of Taurus in these folders, on at most ``days`` of them."""
    platform = taurus(inputs)
    workloads = released_days(inputs, folders, platform, days)
    found = _measured(label, policy, platform, workloads)
    groups = [group_of(day.share_of_sequential_jobs()) for day in workloads]
    start = f"{label}/{policy}"
    # A group of days counts as much as it has days in Table 2; groups without a day here are left out.
    weights = {group: days for group, days in enumerate(CLUSTERS["Taurus"][2], start=1) if group in groups}
    for name in ("waste", "switches"):
        daily = np.array(found.values[f"{start}/daily {name}"])
        means = {group: float(daily[np.array(groups) == group].mean()) for group in weights}
        weighted = sum(days * means[group] for group, days in weights.items()) / sum(weights.values())
        found.values[f"{start}/{name} avg, groups as in Table 2"] = weighted
        found.values |= {f"{start}/{name} group {group}": mean for group, mean in means.items()}
    if policy == "T(0)":
        found.values |= {f"{label}/group {i}": groups.count(i) for i in range(1, 6)}
        found.values[f"{label}/groups"] = groups
        found.values[f"{label}/tested"] = ["test" in day.name for day in workloads]
    return found


def on_stand_in(inputs: Path, cluster: str, policy: str, days: int) -> Measured:
    """Measure a policy on synthetic days of a cluster whose log is not public."""
    platform = stand_in_platform(*CLUSTERS[cluster][0])
    return _measured(cluster, policy, platform, [stand_in_day(cluster, day) for day in range(days)])


def _measured(cluster: str, policy: str, platform: Platform, days: Sequence[Workload]) -> Measured:
    """Return Table 3's columns of a policy over days, and what Figs. 6 to 9 show.

    Delays and stretches are of jobs, the rest of days.
    """
    rows, tables, late = [], [], []
    for seed, day in enumerate(days):  # no run is kept: a thousand of them would fill the memory
        result = run_day(platform, day, POLICIES[policy], seed)
        rows.append(figures(result))
        tables.append(with_gaps(result.jobs)[list(_OF_A_JOB)])
        # A day's score counts service (Eq. 5): core-minutes in which jobs wait beyond half their requested time.
        of_day = result.jobs
        limit = of_day["submit_time"] + THETA * of_day["requested_time"]
        until = of_day["start_time"].fillna(DAY_S).clip(upper=DAY_S)
        late.append(float(((until - limit).clip(lower=0.0) * of_day["requested_cores"]).sum()) / 60.0)
    counted, jobs = pd.DataFrame(rows), pd.concat(tables)
    ran = jobs[jobs["start_time"].notna()]
    columns = {
        "delay": delays(ran, THETA).dropna() / 60.0,
        "waste": counted["node_waste"],
        "core waste": counted["energy_waste"],
        "switches": counted["nb_switches"],
        "stretch": ran["stretch"][ran["requested_time"] > 0],
        "score": -(counted["node_waste"] + np.array(late)),
    }
    start = f"{cluster}/{policy}"
    found = Measured(runs=len(rows))
    for name, column in columns.items():
        summary = {"avg": column.mean(), "std": column.std(), "min": column.min(), "max": column.max()}
        found.values |= {f"{start}/{name} {what}": float(value) for what, value in summary.items()}
    found.values[f"{start}/daily waste"] = counted["node_waste"].round(1).tolist()
    found.values[f"{start}/daily switches"] = counted["nb_switches"].tolist()
    found.values |= {f"{start}/{name}": value for name, value in of_jobs(ran).items()}
    if policy == "T(0)":
        gaps = jobs["gap"].dropna()
        minutes = 1_440.0 * len(rows)
        busy = utilisation(float(counted["time_computing"].sum()), platform.core_count, minutes)
        found.values |= {f"{cluster}/sequential jobs, %": 100.0 * float((gaps < 300.0).mean())}
        found.values |= {f"{cluster}/utilisation, %": 100.0 * busy}
    return found


def with_gaps(jobs: pd.DataFrame) -> pd.DataFrame:
    """Return the jobs of a day with ``gap``, the time since the submission before."""
    ordered = jobs.sort_values("submit_time", kind="stable")
    return ordered.assign(gap=ordered["submit_time"].diff())


def of_jobs(ran: pd.DataFrame) -> Mapping[str, float | list[float]]:
    """Return what Figs. 7 and 8 show of jobs that started: slowdowns by gap, and run times of the slowest jobs.

    ``slowdown GAP`` is a mean of log10, ``slowdown GAP box`` has the quantiles :data:`BOX`. ``run time`` and ``run time
    of the slowest``, the share :data:`SLOWEST` of the jobs, are log10 of minutes likewise. Run times are whole minutes,
    so medians would tie.
    """
    done = ran[ran["run_time"] > 0].reset_index(drop=True)
    slowdown, minutes = done["slowdown"], done["run_time"] / 60.0
    found: dict[str, float | list[float]] = {}
    for name, (low, high) in GAPS.items():
        logs = np.log10(slowdown[(done["gap"] >= low) & (done["gap"] < high)])
        found[f"slowdown {name}"] = float(logs.mean())
        found[f"slowdown {name} box"] = logs.quantile(BOX).tolist()
    slowest = slowdown.nlargest(max(1, round(SLOWEST * len(done)))).index
    for name, chosen in (("run time of the slowest", minutes[slowest]), ("run time", minutes)):
        found[name] = float(np.log10(chosen).mean())
        found[f"{name} box"] = np.log10(chosen).quantile(BOX).tolist()
    return found


def released(inputs: Path) -> Measured:
    """Return means of the rows that the authors released, by policy, over all days and by group of the day."""
    rows = pd.read_csv(inputs / FOLDER / "train_benchmark.csv")
    group = {}
    for path in (inputs / FOLDER / "train_days").iterdir():
        day = Workload.read(path, time_unit="minutes")
        group[int(path.stem.removeprefix("train_"))] = group_of(day.share_of_sequential_jobs())
    rows["group"] = rows["week"].map(group)
    found = Measured()
    for policy, of in rows.groupby("policy"):
        for column, name in (("energy_waste", "waste"), ("nb_switches", "switches")):
            found.values[f"released/{policy}/{name} all"] = float(of[column].mean())
            means = of.groupby("group")[column].mean()
            found.values |= {f"released/{policy}/{name} {number}": float(mean) for number, mean in means.items()}
    return found


def sequential_by_part(inputs: Path, parts: Mapping[str, Sequence[str]], days: int | None) -> Measured:
    """Measure the share of sequential jobs (%) in each part of the released days (name → folders), for Fig. 3."""
    platform = taurus(inputs)
    found = Measured()
    for name, folders in parts.items():
        workloads = released_days(inputs, folders, platform, days)
        gaps = np.concatenate([np.diff(np.sort(day.jobs["submit_time"])) for day in workloads])
        found.values[f"Fig. 3/{name}"] = 100.0 * float((gaps < 300.0).mean())
    return found


def sequential_jobs(inputs: Path, label: str, log: str) -> Measured:
    """Measure the share of sequential jobs of a log, %."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ModelWarning
        )  # about jobs that cannot be simulated: they were submitted all the same
        share = Workload.read(inputs / log).share_of_sequential_jobs()
    return Measured({f"sequential/{label}": 100.0 * share})
