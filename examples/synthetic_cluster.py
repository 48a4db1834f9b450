"""The log of a Slurm cluster that never was: jobs.txt, as ``sacct --parsable2`` prints it, and the slurm.conf of its machine.

    python examples/synthetic_cluster.py --out synthetic --weeks 4 --seed 1

18 nodes of 32 cores, three partitions, 36 users in six accounts. Users submit by day rather than at night, single jobs, arrays
and wide jobs, with time limits rounded as people round them; jobs complete, fail, run into their limit and are cancelled.
Starts come from a simulation that knows more than the two files say: four nodes are taken away for a day of maintenance,
and cores are free some seconds after a job's end. So a replay of the log comes near it without being it, as with a real one.
"""

from __future__ import annotations

import argparse
import datetime
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from cluster_sim import AdvanceReservation, Platform, Simulation, Workload, make_scheduler
from cluster_sim.errors import SchedulerWarning

MONDAY = datetime.datetime(2026, 3, 2)
DAY, WEEK = 86_400, 604_800
CONF = """\
# Synthetic: no machine has this configuration.
ClusterName=synthetic
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=300,bf_resolution=300,bf_window=2880,bf_max_job_test=500,bf_continue
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/slurmdbd
PriorityType=priority/multifactor
PriorityMaxAge=7-0
PriorityWeightAge=1000
PriorityWeightJobSize=200
PriorityWeightPartition=500
NodeName=DEFAULT Sockets=2 CoresPerSocket=16
NodeName=node[01-16] RealMemory=128000 Weight=1 Feature=thin
NodeName=fat[1-2] RealMemory=1024000 Weight=10 Feature=fat
PartitionName=batch Nodes=node[01-16] Default=YES MaxTime=2-00:00:00 PriorityJobFactor=10
PartitionName=short Nodes=ALL MaxTime=2:00:00 PriorityJobFactor=30
PartitionName=fat Nodes=fat[1-2] MaxTime=7-00:00:00 PriorityJobFactor=10
"""
ACCOUNTS = ("astro", "bio", "chem", "climate", "eng", "phys")
HABITS = ("serial", "threads", "mpi", "wide", "test")
CORES = {
    "serial": ((1, 2, 4), (0.7, 0.2, 0.1)),
    "threads": ((8, 16, 32), (0.4, 0.3, 0.3)),
    "mpi": ((32, 64, 128), (0.3, 0.4, 0.3)),
    "wide": ((256, 512), (0.9, 0.1)),
    "test": ((1, 4, 32, 64), (0.4, 0.3, 0.2, 0.1)),
}
RUN_S = {"serial": 9_000, "threads": 12_000, "mpi": 15_000, "wide": 18_000, "test": 500}
ROUND_S = np.array([600, 1_800, 3_600, 7_200, 14_400, 28_800, 43_200, 86_400, 172_800])
BY_HOUR = np.array([2, 1, 1, 1, 1, 1, 2, 4, 8, 11, 12, 11, 9, 10, 12, 12, 11, 9, 6, 5, 4, 4, 3, 3], dtype=float)
BY_WEEKDAY = np.array([1.0, 1.1, 1.1, 1.0, 0.9, 0.35, 0.3])


def submissions(weeks: int, per_week: float, rng: np.random.Generator) -> np.ndarray:
    """Times of submission, s from Monday: a Poisson process whose rate goes with the hour and the day of the week."""
    rate = np.tile(np.outer(BY_WEEKDAY, BY_HOUR).ravel(), weeks)
    counts = rng.poisson(rate * per_week * weeks / rate.sum())
    hours = np.repeat(np.arange(len(rate)), counts)
    return np.sort((hours + rng.random(len(hours))) * 3_600).round()


def rounded_limit(run: float, rng: np.random.Generator) -> float:
    """The limit that somebody asks for who expects ``run`` seconds: with a margin, at the next round number, or the longest."""
    longest = rng.random() < 0.25
    return float(ROUND_S[-1] if longest else ROUND_S[min(np.searchsorted(ROUND_S, run * rng.uniform(1, 4)), 8)])


def jobs_of(weeks: int, per_week: float, seed: int) -> pd.DataFrame:
    """All jobs that are submitted, a row each; the tasks of an array have its number."""
    rng = np.random.default_rng(seed)
    activity = 1 / np.arange(1, 37)
    habits = rng.choice(HABITS, 36, p=(0.3, 0.25, 0.2, 0.05, 0.2))
    rows = []
    users = rng.choice(36, len(times := submissions(weeks, per_week, rng)), p=activity / activity.sum())
    for number, (time, user) in enumerate(zip(times, users, strict=True), start=1_000):
        habit = habits[user] if rng.random() < 0.8 else rng.choice(HABITS)
        cores = int(rng.choice(CORES[habit][0], p=CORES[habit][1]))
        tasks = int(rng.integers(4, 40)) if habit == "serial" and rng.random() < 0.12 else 1
        expected = RUN_S[habit] * rng.lognormal(0, 0.9)
        limit = rounded_limit(expected, rng)
        partition = "short" if limit <= 7_200 and rng.random() < 0.6 else "fat" if rng.random() < 0.02 else "batch"
        held = float(rng.integers(1, 12) * 3_600) if rng.random() < 0.04 else 0.0
        for task in range(tasks):
            state = str(rng.choice(("COMPLETED", "FAILED", "CANCELLED", "never"), p=(0.87, 0.06, 0.04, 0.03)))
            run = min(expected * rng.lognormal(0, 0.25), 1.3 * limit)
            run = run * rng.uniform(0.01, 0.9) if state in ("FAILED", "CANCELLED") else run
            state, run = ("TIMEOUT", limit) if run >= limit else (state, max(5.0, round(run)))
            rows.append({
                "id": f"{number}_{task}" if tasks > 1 else str(number), "user": f"user{user + 1:02}",
                "account": ACCOUNTS[user % 6], "partition": partition, "submit": time, "eligible": time + held,
                "cores": min(cores, 32) if partition == "fat" else cores, "limit": limit, "run": run, "state": state,
            })  # fmt: skip
    return pd.DataFrame(rows)


def starts_of(jobs: pd.DataFrame, conf: Path, seed: int) -> pd.Series:
    """When each job that ran started, s from Monday, by id."""
    ran = jobs[jobs["state"] != "never"]
    cleaned_up = ran["run"] + np.random.default_rng(seed).integers(1, 25, len(ran))
    columns = {
        "job_id": ran["id"], "submit_time": ran["eligible"], "requested_cores": ran["cores"],
        "nodes": np.where(ran["cores"] >= 32, -(-ran["cores"] // 32), 0), "requested_time": ran["limit"],
        "recorded_run_time": cleaned_up, "requires": ran["partition"].map({"batch": "thin", "fat": "fat"}).fillna(""),
    }  # fmt: skip
    maintenance = AdvanceReservation(
        "maintenance", 2 * WEEK + DAY + 28_800, 2 * WEEK + DAY + 64_800, nodes=range(12, 16)
    )
    workload = Workload({name: np.asarray(column) for name, column in columns.items()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SchedulerWarning)  # the starts are EASY's, whatever the configuration asks for
        machine = Platform.read(conf)
    result = Simulation(machine, workload, make_scheduler("easy"), reservations=[maintenance]).run()
    return (result.jobs.set_index("job_id")["start_time"].dropna() + result.meta["origin_s"]).round()


def clock(seconds: float) -> str:
    """A time as sacct prints it."""
    return "Unknown" if np.isnan(seconds) else (MONDAY + datetime.timedelta(seconds=float(seconds))).isoformat()


def length(seconds: float) -> str:
    """A duration as sacct prints it."""
    days, rest = divmod(int(seconds), DAY)
    return f"{f'{days}-' * (days > 0)}{rest // 3600:02}:{rest % 3600 // 60:02}:{rest % 60:02}"


def sacct(jobs: pd.DataFrame, starts: pd.Series) -> str:
    """The table that sacct would print: a line of a job, and one of its batch step if it ran."""
    lines = [
        "JobID|User|Account|Partition|Submit|Eligible|Start|End|Elapsed|Timelimit|State|ReqCPUS|AllocCPUS|ReqNodes|NNodes"
    ]
    for job in jobs.itertuples():
        start = float(starts.get(job.id, np.nan))
        ran = not np.isnan(start)
        nodes, end = -(-job.cores // 32), start + job.run if ran else job.eligible + 600
        state = "CANCELLED by 1000" if job.state in ("CANCELLED", "never") else job.state
        times = f"{clock(start)}|{clock(end)}|{length(job.run if ran else 0)}"
        got = f"{job.cores * ran}|{nodes}|{nodes * ran}"
        head = f"{job.id}|{job.user}|{job.account}|{job.partition}|{clock(job.submit)}|{clock(job.eligible)}"
        lines.append(f"{head}|{times}|{length(job.limit)}|{state}|{job.cores}|{got}")
        if ran:
            lines.append(
                f"{job.id}.batch||{job.account}||{clock(start)}|{clock(start)}|{times}||{state}|{job.cores}|{got}"
            )
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> None:
    """Write the two files and say what is in them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("synthetic"), help="folder for jobs.txt and slurm.conf")
    parser.add_argument("--weeks", type=int, default=4)
    parser.add_argument("--per-week", type=float, default=200, help="submissions a week; an array is one")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "slurm.conf").write_text(CONF)
    jobs = jobs_of(given.weeks, given.per_week, given.seed)
    starts = starts_of(jobs, given.out / "slurm.conf", given.seed)
    (given.out / "jobs.txt").write_text(sacct(jobs, starts))
    print(
        f"{len(jobs):,} synthetic jobs of {jobs['user'].nunique()} users in {given.weeks} weeks: {given.out / 'jobs.txt'}"
    )


if __name__ == "__main__":
    main()
