"""Recorded runs of the real Slurm, replayed: ``python -m studies.slurm_study FOLDER [RUN…]``.

FOLDER has a folder for each run. A row says how many of the recorded backfill passes we compute exactly from the state of
their instant; and, of the jobs that both recordings share, how many have their nodes, and start in time, in a free replay
with recorded run times: by slurm, and, beside it, by easy. In time is within 1.5 s, of a backfilled job bf_interval more.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import click

from benchmarks.slurm_passes import passes_that_agree
from benchmarks.slurm_runs import Recording, Replay, replay, slurm_for
from cluster_sim.errors import ClusterSimError
from schedulers import make_scheduler

_HEADER = "| run | passes exact | jobs | nodes | in time | largest deviation, s | easy: nodes | in time |"


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("runs", nargs=-1)
def main(folder: Path, runs: tuple[str, ...]) -> None:
    """Print the table, as Markdown."""
    warnings.simplefilter("ignore")
    click.echo(_HEADER)
    click.echo("|---" * (_HEADER.count("|") - 1) + "|")
    for name in runs or sorted(path.parent.name for path in folder.glob("*/plans.json")):
        click.echo(row(folder / name))


def row(folder: Path) -> str:
    """The row of one run; what is refused stands in it."""
    try:
        recording = Recording.read(folder)
        # Priorities of the instant are not recorded: passes can be compared where they are the order of submission.
        passes = "" if recording.accounts else " of ".join(map(str, passes_that_agree(recording)))
        ours, easy = replay(recording, slurm_for(recording)), replay(recording, make_scheduler("easy"))
    except ClusterSimError as error:
        return f"| {folder.name} | {error} |"
    return f"| {folder.name} | {passes} | {ours.jobs} | {_counts(ours)} | {ours.largest:.2f} | {_counts(easy)} |"


def _counts(found: Replay) -> str:
    return f"{found.nodes} | {found.within}"


if __name__ == "__main__":
    main()
