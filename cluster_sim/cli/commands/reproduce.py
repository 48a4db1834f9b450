"""``cluster-sim reproduce``: a paper's tables and figures, published and measured side by side."""

from __future__ import annotations

from pathlib import Path

import click

from cluster_sim.cli.group import Invocation, say
from cluster_sim.cli.options import DeclaringCommand, out_option
from cluster_sim.errors import InputError, printable

ALL = "all"


@click.command(
    cls=DeclaringCommand,
    declared_by="analysis.reproduce.paper:ReproductionSetting analysis.reproduce.runner:reproduce",
    declared={
        "quick": {},
        "inputs": {"default": None, "metavar": "FOLDER"},
        "agents": {"type": click.Path(file_okay=False, exists=True), "metavar": "FOLDER"},
        "seeds": {"metavar": "N"},
        "parts": {"metavar": "TEXT"},
        "workers": {"metavar": "N"},
    },
    short_help="Reproduce a published paper's tables and figures.",
)
@click.argument("name", metavar="NAME")
@out_option("Folder for the results.")
@click.option("--no-training", is_flag=True, help="Do not train the agents that are not in --agents.")
@click.option("--pictures", is_flag=True, help="Leave every figure as a PNG, too, drawn by a Chromium on the PATH.")
@click.pass_obj
def reproduce(
    invocation: Invocation,
    name: str,
    out: str,
    quick: bool,
    inputs: str | None,
    agents: str | None,
    no_training: bool,
    seeds: int | None,
    parts: str,
    pictures: bool,
    workers: int | None,
) -> None:
    """Reproduce a paper: irmasim, energy-scheduler-1 to -4, ineps, pcbe, deepshutdown, or all.

    Every published number is printed beside the measured one, with a verdict: reproduced, not reproduced, or not
    reproducible and why. The folder receives report.html, results.csv, results.json and results.md, and keeps what is
    finished of an interrupted call, which the same command then goes on from. Agents are trained in DIR/agents, as
    examples/training says; with --quick for a few iterations only.
    """
    from analysis.reproduce import MODULES, paper_of
    from analysis.reproduce.inputs import inputs_folder
    from analysis.reproduce.outcome import save, save_pictures, text
    from analysis.reproduce.paper import ReproductionSetting
    from analysis.reproduce.runner import reproduce as run
    from cluster_sim.cli.options import check_out
    from cluster_sim.cli.simulate import prepare

    check_out("--out", out)
    ran = 0
    papers = [paper_of(each) for each in (MODULES if name == ALL else [name])]
    trainings = None if no_training else Path(out).resolve() / "agents"
    setting = ReproductionSetting(
        quick, inputs_folder(inputs), Path(agents).resolve() if agents else None, trainings, seeds, parts
    )
    for each in papers:
        folder = Path(out) / each.name if name == ALL else Path(out)
        prepare(str(folder))
        try:
            found = run(each, setting, folder, workers, tell=say, progress=True)
        except InputError as error:
            if name != ALL:
                raise
            say(str(error))
            continue
        ran += 1
        invocation.tell_warnings()
        click.echo(plain_lines(text(found)))
        if quick:
            click.echo(f"quick: {each.quick}")
        report = save(found, folder, {"command": invocation.command, "quick": quick, "pictures": pictures})
        if pictures:
            drawn = save_pictures(found, folder)
            click.echo(f"{len(drawn)} pictures are in {folder}")
        click.echo(f"The report is {report}\n")
    if not ran:
        raise InputError(f"reproduce all, --inputs {setting.inputs}", "the inputs of one paper at least", "none")


def plain_lines(text: str) -> str:
    """Return ``text`` with what could steer a terminal escaped, line by line."""
    return "\n".join(printable(line) for line in text.splitlines())
