"""What the scheduler ``slurm`` costs: ``python -m benchmarks.slurm_speed [--rows 100000] [--nodes 1000]``.

The first table is of whole replays: a generated log of weeks, written as sacct prints it and read back, under select/linear
and select/cons_tres. The second is of single backfill passes that test every job of queues of several lengths, on a full
machine of which a few jobs have just ended. All times are CPU times; those of a tested job are of backfill passes alone,
without what the simulation does to carry decisions out.
"""

from __future__ import annotations

import datetime
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar
from unittest.mock import patch

import click
import numpy as np
import numpy.typing as npt
import pandas as pd

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from schedulers.slurm.backfill import BackfillPass, Outcome

MONDAY = datetime.datetime(2026, 3, 2)
WEEK = 604_800.0
CORES = 32
CONF = """\
ClusterName=speed
AccountingStorageType=accounting_storage/slurmdbd
SchedulerType=sched/backfill
SchedulerParameters={parameters}
SelectType=select/{select}
{select_parameters}
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightFairshare=2000
PriorityWeightJobSize=500
NodeName=node[0001-{nodes}] Sockets=2 CoresPerSocket=16
PartitionName=batch Nodes=ALL Default=YES MaxTime=2-00:00:00
"""
LIMITS_S = np.array([600, 1_800, 3_600, 7_200, 14_400, 28_800, 43_200, 86_400, 172_800])
BY_HOUR = np.array([6, 5, 5, 5, 5, 5, 6, 7, 9, 10, 10, 10, 9, 10, 10, 10, 10, 9, 8, 7, 7, 6, 6, 6], dtype=float)
LOAD = {"linear": 0.87, "cons_tres": 0.93}
"""Work that is asked for over what the machine can do: some 25 jobs are tested in a pass of a day, and 50 in one of weeks."""


@dataclass
class PassTimes:
    """Passes of a run, jobs that they tested, and the CPU time that these took, s."""

    passes: int = 0
    tested: int = 0
    spent: float = 0.0

    @property
    def us(self) -> float:
        """CPU time of a tested job, µs."""
        return self.spent / self.tested * 1e6 if self.tested else 0.0


class TimedPass(BackfillPass):
    """A backfill pass that adds what it costs to :attr:`times`."""

    times: ClassVar = PassTimes()

    def decisions(self) -> Iterator[Outcome]:
        """The decisions; carrying them out is not timed."""
        times, begin = self.times, time.process_time()
        for outcome in super().decisions():
            times.spent += time.process_time() - begin
            yield outcome
            begin = time.process_time()
        times.spent += time.process_time() - begin
        times.passes += 1
        times.tested += self.tested


def configuration(folder: Path, select: str, nodes: int, parameters: str = "bf_interval=30") -> Path:
    """A slurm.conf of nodes that are all alike."""
    whole = select == "linear"
    text = CONF.format(
        parameters=parameters,
        select=select,
        select_parameters="" if whole else "SelectTypeParameters=CR_Core",
        nodes=f"{nodes:04}",
    )
    path = folder / f"{select}.conf"
    path.write_text(text)
    return path


def requests(rng: np.random.Generator, count: int) -> pd.DataFrame:
    """Jobs: a third ask for a few cores, the others for 1 to 64 whole nodes; limits are round numbers above the run times."""
    small = rng.random(count) < 0.35
    nodes = np.where(small, 0, np.floor(2.0 ** rng.triangular(0.0, 0.5, 6.0, count))).astype(int)
    cores = np.where(small, rng.integers(1, 17, count), nodes * CORES)
    run = np.clip(rng.lognormal(8.2, 1.3, count), 20.0, 172_800.0).round()
    limit = LIMITS_S[np.minimum(np.searchsorted(LIMITS_S, run * rng.uniform(1.0, 4.0, count)), len(LIMITS_S) - 1)]
    user = np.minimum(rng.zipf(1.5, count), 120)
    return pd.DataFrame({"nodes": nodes, "cores": cores, "run": run, "limit": limit, "user": user})


def submissions(rng: np.random.Generator, count: int, length: float) -> npt.NDArray[np.float64]:
    """Times of submission within ``length`` (s): more by day than by night."""
    hours = np.arange(max(int(length // 3_600), 1))
    rate = BY_HOUR[hours % 24]
    chosen = rng.choice(hours, count, p=rate / rate.sum())
    return np.sort((chosen + rng.random(count)) * 3_600.0).round()


def log(rows: int, nodes: int, select: str, seed: int, load: float) -> pd.DataFrame:
    """A log of so many jobs, as long as the machine takes for them at that load."""
    rng = np.random.default_rng(seed)
    jobs = requests(rng, rows)
    held = np.maximum(jobs["nodes"], 1) if select == "linear" else jobs["cores"] / CORES
    length = float((held * jobs["run"]).sum()) / nodes / load
    return jobs.assign(submit=submissions(rng, rows, length))


def sacct(jobs: pd.DataFrame) -> str:
    """The table as sacct prints it; jobs are said to have started when they were submitted."""
    lines = [
        "JobID|User|Account|Partition|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|ReqCPUS|AllocCPUS|ReqNodes|NNodes"
    ]
    for number, job in enumerate(jobs.itertuples(), start=1):
        start, end = (MONDAY + datetime.timedelta(seconds=float(s)) for s in (job.submit, job.submit + job.run))
        who = f"{number}|user{job.user}|account{job.user % 7}|batch"
        times = f"{start.isoformat()}|{start.isoformat()}|{end.isoformat()}|{job.run:.0f}|{job.limit // 60}"
        on = max(job.nodes, 1)
        lines.append(f"{who}|{times}|COMPLETED|{job.cores}|{job.cores}|{on}|{on}")
    return "\n".join(lines) + "\n"


def replay_row(folder: Path, select: str, rows: int, nodes: int, seed: int, load: float) -> str:
    """A row of the first table."""
    jobs = log(rows, nodes, select, seed, load)
    dump = folder / "jobs.txt"
    dump.write_text(sacct(jobs))
    conf = configuration(folder, select, nodes)
    TimedPass.times = times = PassTimes()
    begin = time.process_time()
    platform, workload = Platform.read(conf), Workload.read(str(dump))
    with patch("schedulers.slurm.scheduler.BackfillPass", TimedPass):
        result = Simulation(platform, workload, make_scheduler(f"slurm:conf={conf}")).run()
    spent = time.process_time() - begin
    waits = result.jobs["start_time"] - result.jobs["submit_time"]
    weeks = float(jobs["submit"].iloc[-1]) / WEEK
    share = f"{times.tested / max(times.passes, 1):.1f}"
    costs = f"{times.us:.1f} | {times.spent / max(times.passes, 1) * 1e6:.0f}"
    return (
        f"| {select} | {rows:,} | {weeks:.1f} | {waits.mean() / 60:.0f} | {times.passes:,} | {times.tested:,} | {share} | "
        f"{costs} | {times.spent:.1f} | {spent:.1f} |"
    )


def queue_row(folder: Path, select: str, nodes: int, waiting: int, seed: int) -> str:
    """A row of the second table: seven passes over that many jobs that wait; between two of them a few jobs end."""
    rng = np.random.default_rng(seed)
    running = requests(rng, 20 * nodes)
    held = np.maximum(running["nodes"], 1).cumsum()
    running = running[held <= 1.02 * nodes].sort_values("nodes", ascending=False)
    left = np.maximum(running["run"] * rng.random(len(running)), 300.0)
    left[rng.random(len(running)) < 0.1] = rng.uniform(60.0, 240.0)
    running = running.assign(run=left.round())
    queue = requests(rng, waiting).assign(nodes=lambda jobs: np.maximum(jobs["nodes"], 1))
    jobs = pd.concat([running, queue], ignore_index=True)
    workload = Workload({
        "submit_time": np.where(np.arange(len(jobs)) < len(running), 0.0, 10.0), "nodes": jobs["nodes"].to_numpy(),
        "requested_cores": jobs["cores"].to_numpy(), "requested_time": np.maximum(jobs["limit"], jobs["run"]).to_numpy(float),
        "recorded_run_time": jobs["run"].to_numpy(float),
    })  # fmt: skip
    conf = configuration(
        folder, select, nodes, "bf_interval=30,bf_max_job_test=1000000,bf_node_space_size=1000000,sched_interval=1000"
    )
    TimedPass.times = times = PassTimes()
    with patch("schedulers.slurm.scheduler.BackfillPass", TimedPass):
        Simulation(Platform.read(conf), workload, make_scheduler(f"slurm:conf={conf}"), until=240.0).run()
    each = times.spent / max(times.passes, 1) * 1e3
    return f"| {select} | {waiting:,} | {times.passes} | {times.tested:,} | {times.us:.1f} | {each:.2f} |"


@click.command()
@click.option("--rows", default=100_000, show_default=True, help="Rows of the log.")
@click.option("--nodes", default=1_000, show_default=True)
@click.option("--waiting", default="10,100,1000", show_default=True, help="Lengths of queues, of the second table.")
@click.option("--select", default="linear,cons_tres", show_default=True, help="Plugins of selection.")
@click.option("--seed", default=1, show_default=True)
@click.option(
    "--load", type=click.FloatRange(0.1, 2.0), help="Work over what the machine can do, in place of the plugin's."
)
def main(rows: int, nodes: int, waiting: str, select: str, seed: int, load: float | None) -> None:
    """Print both tables, as Markdown."""
    warnings.simplefilter("ignore")
    plugins = select.split(",")
    with TemporaryDirectory() as name:
        folder = Path(name)
        if rows:
            click.echo(
                "| select | rows | weeks | mean wait, min | passes | tested jobs | a pass | µs a tested job | µs a pass | "
                "passes, CPU s | all, CPU s |\n|" + "---|" * 11
            )
        for plugin in plugins if rows else ():
            click.echo(replay_row(folder, plugin, rows, nodes, seed, load or LOAD[plugin]))
        lengths = [int(length) for length in waiting.split(",") if length]
        if lengths:
            click.echo("\n| select | waiting | passes | tested jobs | µs a tested job | ms a pass |\n|" + "---|" * 6)
        for plugin in plugins:
            for length in lengths:
                click.echo(queue_row(folder, plugin, nodes, length, seed))


if __name__ == "__main__":
    main()
