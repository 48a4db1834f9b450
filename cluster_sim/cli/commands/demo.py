"""``cluster-sim demo``: a real week on a real, heterogeneous machine, under two schedulers."""

from __future__ import annotations

from pathlib import Path

import click

from cluster_sim.cli.group import Invocation
from cluster_sim.cli.options import out_option

DATA = Path(__file__).resolve().parents[2] / "data"
PLATFORM = DATA / "gaia.yaml"
WORKLOAD = DATA / "unilu-gaia-2014-week.swf.gz"

SCHEDULERS = ("fcfs", "easy:nodes=free_mem_bw")

# The log does not say which cores a job ran on: the mean rate of the machine's.
REFERENCE_GFLOPS = 2.6

# Nor does it say how much memory traffic jobs made. Assumed, as (share of the jobs, MB/s per task): most of it light,
# but a processor full of memory-bound tasks saturates its memory channel.
PROFILES = {"compute": (0.5, 500.0), "balanced": (0.3, 4000.0), "memory": (0.2, 9000.0)}

INTRODUCTION = """\
A week of the log of the Gaia cluster, University of Luxembourg, May 2014: {jobs:,} jobs.
The machine: {nodes:,} nodes, {cores:,} cores of {types} kinds, which differ in clock, watts and memory.
Assumed: how much memory traffic the jobs make ({profiles}), and some of the
processors' parameters (see {platform}).
The log was provided by Joseph Emeras, SnT, through the Parallel Workloads Archive.
"""


@click.command(short_help="A real week under two schedulers, with a report.")
@out_option(default="cluster-sim-demo", required=False, show_default=True)
@click.pass_obj
def demo(invocation: Invocation, out: str) -> None:
    """Simulate a week of a real job log on its heterogeneous machine, under two schedulers.

    First come, first served waits for its head job. EASY backfilling lets jobs overtake that do not delay the head, and
    places them, here, where most memory bandwidth is left. Prints how they compare and leaves an interactive report with
    the Gantt charts of both.
    """
    from analysis import compare
    from cluster_sim.cli.comparisons import run_all
    from cluster_sim.cli.simulate import prepare, summary_text
    from cluster_sim.platform.platform import Platform
    from cluster_sim.run.settings import RunSettings
    from cluster_sim.workload.workload import Workload

    platform = Platform.read(PLATFORM)
    log = Workload.read(WORKLOAD, reference_gflops=REFERENCE_GFLOPS)
    workload = log.with_profiles(PROFILES, seed=0)
    prepare(out)
    introduction = INTRODUCTION.format(
        jobs=len(workload),
        nodes=platform.node_count,
        cores=platform.core_count,
        types=len(platform.processor_types),
        profiles=", ".join(f"{share:.0%} {name}" for name, (share, _) in PROFILES.items()),
        platform=PLATFORM,
    )
    click.echo(introduction)
    settings = RunSettings(workload=str(WORKLOAD), platform=str(PLATFORM), report=True)
    runs = run_all(settings, SCHEDULERS, platform, workload, out, invocation)
    invocation.tell_all()
    click.echo(f"{compare(runs)}\n\n{summary_text(runs)}")
    click.echo(f"\nOpen {Path(out) / 'report.html'} in a browser: the Gantt charts of both. The tables are in {out}.")
