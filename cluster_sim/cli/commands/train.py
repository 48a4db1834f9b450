"""``cluster-sim train``: agents that learn to schedule."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cluster_sim.cli.group import Invocation
from cluster_sim.cli.options import DeclaringCommand, given, out_option
from cluster_sim.errors import naming

if TYPE_CHECKING:
    from learning.training.training import TrainingSummary


@click.command(
    cls=DeclaringCommand,
    declared_by="learning.training.configuration:Config",
    declared={name: {"default": None, "metavar": "N"} for name in ("iterations", "seed", "seeds", "workers")},
    short_help="Train an agent that schedules.",
)
@click.argument("config", type=click.Path(), metavar="CONFIG")
@out_option("Folder for the agent.")
@click.option("--resume", is_flag=True, help="Go on from the last checkpoint in the folder, if there is one.")
@click.option("--report", is_flag=True, help="Leave a report.html, too: what the agents reach, curves, settings.")
@click.pass_obj
def train(invocation: Invocation, config: str, out: str, resume: bool, report: bool, **keys: Any) -> None:
    """Train an agent as a YAML file says, and leave it in a folder.

    The folder receives config.yaml, metrics.csv, TensorBoard's events, the last checkpoint and the best agent, which
    is then a scheduler like any other: --scheduler learned:DIR. A training that was killed goes on with --resume, to
    the same weights as one that was not. --iterations, --seed, --seeds and --workers replace the file's keys.
    """
    from cluster_sim.cli.simulate import prepare
    from learning.training.configuration import read_config
    from learning.training.training import check
    from learning.training.training_seeds import check_folder
    from learning.training.training_seeds import train as learn

    settings = read_config(config).model_copy(update=given(keys))
    with naming(config):
        assumptions = check(settings)
    check_folder(settings, out, resume)
    prepare(out)
    invocation.assume(assumptions)
    invocation.tell_all()
    summaries = learn(settings, out, resume=resume, progress=True)
    for summary in summaries:
        click.echo(_told(summary))
    click.echo(f"\nThe agent is a scheduler now: learned:{out}")
    if report:
        from analysis.reports.training_report import write_training_report

        page = write_training_report(
            summaries, Path(out) / "report.html", assumptions=assumptions, command=invocation.command
        )
        click.echo(f"The report is {page}")


def _told(summary: TrainingSummary) -> str:
    """Return a line about a training: what the best agent reaches, when it was found, and against what."""
    from analysis.tables.wording import change, label_of
    from learning.training.heuristics import REWARD

    found = f"after {summary.best_iteration} of {summary.iterations} iterations"
    objective = label_of(REWARD) if summary.objective == REWARD else summary.objective
    line = f"seed {summary.seed}: {objective} {summary.value:.6g} {found}"
    if summary.baseline:
        line += f", {change(summary.reduction)} than {summary.baseline} ({summary.baseline_value:.6g})"
        line += f": {summary.certainty}" if summary.certainty else ""
        if abs(summary.reduction_by_episode - summary.reduction) > 0.005:
            line += f"; mean over validation episodes, with the best baseline of each: {change(summary.reduction_by_episode)}"
    if summary.over > 0.0:
        line += f"; no agent kept the limit: the mean cost of this one is {summary.over:.3g} above it"
    if summary.broken:
        line += f"; it breaks the limits: {summary.broken}"
    return line + (f"; {summary.unlike}" if summary.unlike else "")
