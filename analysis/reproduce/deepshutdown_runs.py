"""What the reproduction of DeepShutdown runs: days of Taurus, synthetic stand-ins of other clusters, and logs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.reproduce.paper import Measured

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from cluster_sim.platform.platform import Platform
    from cluster_sim.records.result import Result
    from cluster_sim.workload.workload import Workload

FOLDER = "cases/deepshutdown"
BUSY_DAYS = (f"{FOLDER}/train_days",)
"""The 48 days of Taurus that the authors released with a benchmark; most are busy."""
ALL_DAYS = (*BUSY_DAYS, *(f"{FOLDER}/more_days/lyon_{i}_{half}" for i in range(1, 5) for half in ("train", "test")))
"""These, and 1,357 others from the history of their repository: two thirds of the 2,152 days that the paper simulates."""
POLICIES = {
    "OR*": "off-reservation:0.5",
    "T(0)": "timeout:0",
    "T(1)": "timeout:60",
    "T(5)": "timeout:300",
    "random": "random",
}
# (nodes, cores of a node), jobs, days with two jobs or more in groups 1 to 5, utilisation: §5.2 and Tables 1 and 2.
CLUSTERS: dict[str, tuple[tuple[int, int], int, tuple[int, ...], float]] = {
    "Econome": ((22, 16), 66_557, (259, 520, 504, 271, 39), 0.576),
    "Graphite": ((4, 16), 60_786, (487, 705, 427, 149, 24), 0.473),
    "Orion": ((4, 12), 66_005, (659, 777, 496, 129, 28), 0.627),
    "Taurus": ((14, 12), 81_925, (441, 947, 612, 130, 22), 0.517),
}
LOGS = {
    "KTH-SP2": "KTH-SP2-1996-2.1-cln.swf.gz",
    "SDSC-SP2": "SDSC-SP2-1998_pyss_5K_sample.swf.gz",
    "KIT-FH2": "KIT-FH2-2016-1.first25326.derived.swf.gz",
    "NASA-iPSC": "NASA-iPSC-1993-3.1-cln.swf.gz",
}
GAPS = {"0-5 min": (0, 300), "5-60 min": (300, 3600), "> 60 min": (3600, float("inf"))}
THETA = 0.5


def taurus(inputs: Path) -> Platform:
    """The authors' platform: 168 one-core hosts in 14 nodes."""
    from cluster_sim import Platform

    return Platform.read(inputs / FOLDER / "platform_taurus_168cores.xml", time_unit="minutes")


def released_days(inputs: Path, folders: Sequence[str], platform: Platform, most: int | None) -> list[Workload]:
    """At most so many of the days in these folders as episodes, spread evenly over them where not all are taken."""
    from analysis.deepshutdown import episode
    from cluster_sim import Workload

    paths = [path for folder in folders for path in sorted((inputs / folder).glob("*.json"), key=_number_of)]
    count = len(paths) if most is None else min(most, len(paths))
    chosen = [paths[i * len(paths) // count] for i in range(count)]
    return [episode(Workload.read(path, time_unit="minutes"), platform) for path in chosen]


def _number_of(day: Path) -> int:
    """The last number in the name of a day's file: which day of its part of the log it is."""
    return int(day.stem.rpartition("_")[2])


def _run(platform: Platform, day: Workload, policy: str, seed: int) -> Result:
    from analysis.deepshutdown import DAY_S
    from cluster_sim import Simulation, make_power_policy, make_scheduler

    power = make_power_policy(POLICIES[policy])
    simulation = Simulation(platform, day, make_scheduler("saf-easy"), power, seed, enforce_walltime=True, until=DAY_S)
    return simulation.run()


def on_days(inputs: Path, label: str, policy: str, folders: Sequence[str], days: int | None) -> Measured:
    """At most so many of the days of Taurus that were released in these folders, under a policy."""
    import numpy as np

    from analysis.deepshutdown import days_per_group, group_of

    platform = taurus(inputs)
    workloads = released_days(inputs, folders, platform, days)
    found = _measured(label, policy, platform, workloads)
    groups = [group_of(day.share_of_sequential_jobs()) for day in workloads]
    for name in ("waste", "switches"):
        daily = np.array(found.values[f"{label}/{policy}/daily {name}"])
        found.values[f"{label}/{policy}/{name} avg, groups as in Table 2"] = _as_in_table_2(daily, np.array(groups))
    if policy == "T(0)":
        found.values |= {f"{label}/group {i}": int(n) for i, n in enumerate(days_per_group(workloads), start=1)}
    return found


def _as_in_table_2(daily: np.ndarray[Any, Any], groups: np.ndarray[Any, Any]) -> float:
    """The mean over days, each group of days counting as much as it has days in Table 2; those that are not here left out."""
    there = {group: days for group, days in enumerate(CLUSTERS["Taurus"][2], start=1) if (groups == group).any()}
    return sum(days * float(daily[groups == group].mean()) for group, days in there.items()) / sum(there.values())


def on_stand_in(inputs: Path, cluster: str, policy: str, days: int) -> Measured:
    """Synthetic days of a cluster whose log is not public, under a policy."""
    platform = stand_in_platform(*CLUSTERS[cluster][0])
    return _measured(cluster, policy, platform, [stand_in_day(cluster, day) for day in range(days)])


def stand_in_platform(nodes: int, cores: int) -> Platform:
    """Nodes with the paper's watts and transitions (Fig. 4), each for every core; off at the start, as Taurus' are."""
    from cluster_sim.platform.hardware import PowerTransitions
    from cluster_sim.platform.platform import Cluster, NodeGroup, NodeType, Platform, ProcessorType

    power = {"static_w": 95.0 * cores, "dynamic_w": 95.0, "min_power": 1.0}
    processor = ProcessorType("core-by-core", cores, 1.0, power=power)
    transitions = PowerTransitions(
        off_w=0.0, switch_on_s=60.0, switch_on_w=125.0 * cores, switch_off_s=180.0, switch_off_w=101.0 * cores
    )
    kind = NodeType("node", (processor,), transitions=transitions, initially_off=True)
    return Platform((Cluster("cluster0", (NodeGroup(kind, nodes),)),))


def stand_in_day(cluster: str, day: int) -> Workload:
    """A synthetic day: as many jobs, as many of them sequential, and as much load as Tables 1 and 2 say, on average.

    The day's group is drawn by Table 2, its share of sequential jobs within the group, its number of jobs from a lognormal
    distribution; bursts begin at any time of the day. Most jobs take whole nodes. Run times are lognormal, in whole minutes.
    """
    import numpy as np

    from cluster_sim import Workload

    (nodes, width), jobs, groups, utilisation = CLUSTERS[cluster]
    rng = np.random.default_rng([2022, list(CLUSTERS).index(cluster), day])
    group = int(rng.choice(5, p=np.array(groups) / sum(groups)))
    share = 1.0 if group == 4 else 0.25 * (group + rng.random())
    a_day = jobs / sum(groups)
    count = max(2, round(float(rng.lognormal(np.log(a_day) - 0.5, 1.0))))
    submit = _submissions(rng, count, share)
    node_counts = np.minimum(rng.geometric(0.5, count), nodes)
    cores = np.where(rng.random(count) < 0.7, node_counts * width, rng.integers(1, width + 1, count))
    mean_s = utilisation * nodes * width * 86_400.0 / (a_day * float(cores.mean()))
    run = np.clip(60.0 * np.ceil(rng.lognormal(np.log(mean_s) - 0.5 * 1.5**2, 1.5, count) / 60.0), 60.0, 86_400.0)
    wall = 60.0 * np.ceil(run * rng.uniform(1.0, 3.0, count) / 60.0)
    columns = {"submit_time": submit, "requested_cores": cores, "recorded_run_time": run, "requested_time": wall}
    return Workload(columns | {"fixed_run_time": np.full(count, True)}, f"{cluster}, synthetic day {day}")


def _submissions(rng: np.random.Generator, count: int, share: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Submission times in whole minutes: bursts, whose jobs follow each other within four minutes."""
    import numpy as np

    bursts = count - round(share * (count - 1))
    begins = np.sort(rng.uniform(0.0, 1_380.0, bursts))
    of = np.sort(np.concatenate([np.arange(bursts), rng.integers(0, bursts, count - bursts)]))
    gaps = np.where(np.diff(of, prepend=-1) > 0, 0.0, rng.integers(0, 4, count))
    within = np.cumsum(gaps) - np.maximum.accumulate(np.where(np.diff(of, prepend=-1) > 0, np.cumsum(gaps), 0.0))
    return np.sort(60.0 * np.minimum(np.floor(begins[of] + within), 1_439.0))


def _measured(cluster: str, policy: str, platform: Platform, days: Sequence[Workload]) -> Measured:
    """Table 3's columns of a policy over days, and what Figs. 6 to 9 show. Delays and stretches are of jobs, the rest of days."""
    import numpy as np
    import pandas as pd

    from analysis.deepshutdown import figures
    from cluster_sim.records.metrics import delays, utilisation

    results = [_run(platform, day, policy, seed) for seed, day in enumerate(days)]
    counted = pd.DataFrame([figures(result) for result in results])
    jobs = pd.concat([_with_gaps(result.jobs) for result in results])
    ran = jobs[jobs["start_time"].notna()]
    late = np.array([_late_core_minutes(result.jobs) for result in results])
    columns = {
        "delay": delays(ran, THETA).dropna() / 60.0,
        "waste": counted["node_waste"],
        "core waste": counted["energy_waste"],
        "switches": counted["nb_switches"],
        "stretch": ran["stretch"][ran["requested_time"] > 0],
        "score": -(counted["node_waste"] + late),
    }
    start = f"{cluster}/{policy}"
    found = Measured(runs=len(results))
    for name, column in columns.items():
        summary = {"avg": column.mean(), "std": column.std(), "min": column.min(), "max": column.max()}
        found.values |= {f"{start}/{name} {what}": float(value) for what, value in summary.items()}
    found.values[f"{start}/daily waste"] = counted["node_waste"].round(1).tolist()
    found.values[f"{start}/daily switches"] = counted["nb_switches"].tolist()
    found.values |= {f"{start}/{name}": value for name, value in _of_jobs(ran).items()}
    if policy == "T(0)":
        gaps = jobs["gap"].dropna()
        minutes = 1_440.0 * len(results)
        busy = utilisation(float(counted["time_computing"].sum()), platform.core_count, minutes)
        found.values |= {f"{cluster}/sequential jobs, %": 100.0 * float((gaps < 300.0).mean())}
        found.values |= {f"{cluster}/utilisation, %": 100.0 * busy}
    return found


def _with_gaps(jobs: pd.DataFrame) -> pd.DataFrame:
    """The jobs of a day with ``gap``, the time since the submission before."""
    ordered = jobs.sort_values("submit_time", kind="stable")
    return ordered.assign(gap=ordered["submit_time"].diff())


def _of_jobs(ran: pd.DataFrame) -> dict[str, float]:
    """What Figs. 7 and 8 show: log10 of the slowdown by gap, and run times of the most slowed-down tenth."""
    import numpy as np

    done = ran[ran["run_time"] > 0]
    slowdown = done["slowdown"]
    found = {}
    for name, (low, high) in GAPS.items():
        chosen = slowdown[(done["gap"] >= low) & (done["gap"] < high)]
        found[f"slowdown {name}"] = float(np.log10(chosen).mean())
    slowest = slowdown.nlargest(max(1, len(done) // 10)).index
    found["run time of the slowest"] = float(done.loc[slowest, "run_time"].median()) / 60.0
    found["run time"] = float(done["run_time"].median()) / 60.0
    return found


def _late_core_minutes(jobs: pd.DataFrame) -> float:
    """The QoS term of a day's score (Eq. 5): cores of jobs waiting beyond half their requested time, over all minutes."""
    from analysis.deepshutdown import DAY_S

    limit = jobs["submit_time"] + THETA * jobs["requested_time"]
    until = jobs["start_time"].fillna(DAY_S).clip(upper=DAY_S)
    return float(((until - limit).clip(lower=0.0) * jobs["requested_cores"]).sum()) / 60.0


def released(inputs: Path) -> Measured:
    """Means of the rows that the authors released, by policy, over all days and by group of the day."""
    import pandas as pd

    from analysis.deepshutdown import group_of
    from cluster_sim import Workload

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


def sequential_jobs(inputs: Path, label: str, log: str) -> Measured:
    """Share of sequential jobs of a log, %."""
    from cluster_sim import ModelWarning, Workload

    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ModelWarning
        )  # of jobs that cannot be simulated; they were submitted all the same
        share = Workload.read(inputs / log).share_of_sequential_jobs()
    return Measured({f"sequential/{label}": 100.0 * share})
