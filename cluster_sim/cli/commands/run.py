"""``cluster-sim run``: one simulation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from cluster_sim.cli.group import Invocation, json_option, say, tell_json
from cluster_sim.cli.options import given, setting_option, simulation_options


def _only_one(ctx: click.Context, option: click.Parameter, schedulers: tuple[str, ...]) -> str | None:
    """Return the scheduler that was given, if any; of several none is meant more than another."""
    if len(set(schedulers)) > 1:
        expected = "expected one scheduler (cluster-sim compare takes several)"
        raise click.BadParameter(f"{expected}, found {' and '.join(schedulers)}", ctx, option)
    return schedulers[0] if schedulers else None


@click.command(short_help="Simulate a workload on a platform.")
@click.argument("config", type=click.Path(), required=False, metavar="[CONFIG]")
@simulation_options(setting_option("scheduler", multiple=True, callback=_only_one))
@json_option
@click.pass_obj
def run(invocation: Invocation, config: str | None, out: str, as_json: bool, **options: Any) -> None:
    """Simulate a workload on a platform, print a summary and leave the results in a folder.

    CONFIG is a YAML or JSON file with the options as its keys (or IRMaSim's options.json); options given as well
    override it. The folder receives summary.json, platform.json, and jobs, node_states and power as tables.
    """
    from cluster_sim.cli.config import settings_of
    from cluster_sim.cli.simulate import REPORT, check, load, prepare, simulate, summary_text, whereabouts
    from cluster_sim.records.saved_tables import SUMMARY_FILE

    settings = settings_of(config, given(options))
    platform, workload = load(settings, [settings.scheduler])
    check(settings, [settings.scheduler], platform, workload)
    prepare(out, settings.file_format)
    result = simulate(settings, settings.scheduler, platform, workload, invocation)
    (Path(out) / REPORT).unlink(missing_ok=True)  # of the run that was there before
    result.save(out, settings.file_format)
    if settings.report:
        from analysis import write_report

        write_report(result, Path(out) / REPORT)
    invocation.tell_all()
    if as_json:
        tell_json(json.loads((Path(out) / SUMMARY_FILE).read_text()))
        say(whereabouts(out, settings))
        return
    click.echo(summary_text({settings.scheduler: result}))
    click.echo(whereabouts(out, settings))
