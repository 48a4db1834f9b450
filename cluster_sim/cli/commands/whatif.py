"""``cluster-sim whatif``: a log of Slurm's under its configuration, and under a changed one."""

from __future__ import annotations

from typing import Any

import click

from cluster_sim.cli.completion import Named
from cluster_sim.cli.group import Invocation, json_option, say, tell_json
from cluster_sim.cli.options import DeclaringCommand, given, out_option, setting_options


@click.command(
    cls=DeclaringCommand,
    declared_by="analysis.whatif.what_if:what_if",
    declared={
        "changes": {"flags": ("--change",), "metavar": "KEY=VALUE"},
        "scheduler": {"flags": ("--scheduler", "-s"), "metavar": "S"},
        "nodes": {"metavar": "+N|-N"},
        "power_policy": {"metavar": "Q"},
        "baseline": {"type": Named("scheduler"), "metavar": "S"},
        "accounts": {"type": click.Path(), "metavar": "FILE"},
    },
    short_help="Replay a Slurm log under its slurm.conf, and under a changed one.",
)
@click.argument("sacct", type=click.Path(), metavar="SACCT")
@click.option("--conf", required=True, type=click.Path(), metavar="FILE", help="The slurm.conf of the machine.")
@setting_options("time_zone", "anonymise", "ignore_gpus")
@out_option()
@json_option
@click.pass_obj
def whatif(invocation: Invocation, sacct: str, conf: str, out: str, as_json: bool, **options: Any) -> None:
    """Say what a change of a Slurm cluster's configuration would have made of its past.

    SACCT is what `sacct --parsable2` printed. First the log is replayed with the configuration as it is, and compared with
    what happened; then with the change. The folder receives whatif.html, both configurations and runs, replay.csv (job by
    job) and effects.csv (mean waits of partitions, accounts, users, sizes and limits, with intervals).
    """
    from analysis import what_if
    from analysis.tables.run_metrics import aligned
    from analysis.whatif.study import agreement_rows, overall_rows
    from cluster_sim.cli.simulate import prepare

    prepare(out)
    study = what_if(sacct, conf, out, progress=True, **given(options))
    for run in study.runs.values():
        run.meta["command"] = invocation.command
    page = study.save()
    invocation.tell_all()
    is_changed = len(study.runs) > 1
    if as_json:
        tables = {"agreement": study.agreement} | ({"overall": study.overall} if is_changed else {})
        document = {
            **{name: table.to_dict("index") for name, table in tables.items()},
            "near_starts": study.near_starts,
            "causes": study.causes.to_dict("records"),
            "effects": study.effects.to_dict("records") if is_changed else [],
            "remarks": study.remarks,
            "comparison": study.comparison.to_dict(),
        }
        tell_json(document)
    else:
        lines = [*study.comparison.sentences, "", aligned(agreement_rows(study))]
        if is_changed:
            lines += [f"\nWhat if {'; '.join(study.changes)}?", aligned(overall_rows(study))]
        click.echo("\n".join([*lines, ""]))
    (say if as_json else click.echo)(f"The page is {page}")
