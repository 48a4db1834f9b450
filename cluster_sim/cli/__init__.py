"""The command line ``cluster-sim``: one module per command, and what they share.

Modules of commands import only click when they load, so that ``--help`` and ``list`` answer at once; what a command
needs, it imports when it runs, and what declares its options when these are asked for. This is also the one package
that may use all others.

| module | holds |
|---|---|
| ``group`` | how any command ends: exit status, errors and warnings in one line each |
| ``options`` | options made from settings of a run, or from what a function declares |
| ``config`` | settings of a run, from options and from a file |
| ``own_config`` | what configuration files say, the toolkit's own and IRMaSim's ``options.json`` |
| ``simulate`` | from settings to a finished run and its files |
| ``comparisons`` | the runs of a comparison |
| ``file_facts`` | what a file holds |
| ``kinds`` | what a file is: a workload, a platform or a configuration |
| others | the command of that name |
"""

from __future__ import annotations

import click

from cluster_sim.cli.commands.compare import compare
from cluster_sim.cli.commands.convert import convert
from cluster_sim.cli.commands.demo import demo
from cluster_sim.cli.commands.evaluate import evaluate
from cluster_sim.cli.commands.explain import explain
from cluster_sim.cli.commands.explore import explore
from cluster_sim.cli.commands.gantt import gantt
from cluster_sim.cli.commands.lesson import lesson
from cluster_sim.cli.commands.listing import list_names
from cluster_sim.cli.commands.optimum import optimum
from cluster_sim.cli.commands.reproduce import reproduce
from cluster_sim.cli.commands.run import run
from cluster_sim.cli.commands.sweep import sweep
from cluster_sim.cli.commands.topology import topology
from cluster_sim.cli.commands.train import train
from cluster_sim.cli.commands.validate import validate
from cluster_sim.cli.commands.whatif import whatif
from cluster_sim.cli.group import CommandLine, show_version


@click.group(
    cls=CommandLine,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=show_version, help="Say which.")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Simulate how jobs are scheduled on a heterogeneous HPC cluster.

    \b
    cluster-sim demo                                    a real week under two schedulers, with a report
    cluster-sim run --workload log.swf.gz --out out     a log on a machine of the size that it came from
    cluster-sim list schedulers                         what --scheduler takes

    Results go to stdout; progress, warnings and errors to stderr. Exit status: 0 done, 2 the input is wrong (one line
    says where), 1 a defect of the program.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


for command in (
    demo,
    run,
    compare,
    whatif,
    sweep,
    train,
    evaluate,
    reproduce,
    optimum,
    gantt,
    explain,
    explore,
    lesson,
    convert,
    topology,
    validate,
    list_names,
):
    main.add_command(command)
