"""``cluster-sim run``: one simulation."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cluster_sim.cli.group import Invocation, json_option, say, tell_json
from cluster_sim.cli.options import Seconds, given, setting_option, simulation_options
from cluster_sim.errors import InputError

if TYPE_CHECKING:
    from cluster_sim.records.result import Result
    from cluster_sim.run.simulation import Simulation


def _only_one(ctx: click.Context, option: click.Parameter, schedulers: tuple[str, ...]) -> str | None:
    """Return the scheduler that was given, if any; of several none is meant more than another."""
    if len(set(schedulers)) > 1:
        expected = "expected one scheduler (cluster-sim compare takes several)"
        raise click.BadParameter(f"{expected}, found {' and '.join(schedulers)}", ctx, option)
    return schedulers[0] if schedulers else None


@click.command(short_help="Simulate a workload on a platform.")
@click.argument("config", type=click.Path(), required=False, metavar="[CONFIG]")
@simulation_options(setting_option("scheduler", multiple=True, callback=_only_one))
@click.option("--live", is_flag=True, help="Show the run in a browser while it goes on.")
@click.option("--pace", type=Seconds(), metavar="S",
              help="With --live: simulated time that passes in a second, at most, such as 600 or 1h.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), metavar="N",
              help="With --live: port of the page; any free one unless given.")  # fmt: skip
@json_option
@click.pass_obj
def run(
    invocation: Invocation,
    config: str | None,
    out: str,
    live: bool,
    pace: float | None,
    port: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Simulate a workload on a platform, print a summary and leave the results in a folder.

    CONFIG is a YAML or JSON file with the options as its keys (or IRMaSim's options.json); options given as well
    override it. The folder receives summary.json, platform.json, and jobs, node_states and power as tables.
    """
    from cluster_sim.cli.config import settings_of
    from cluster_sim.cli.simulate import REPORT, check, load, prepare, simulate, summary_text, whereabouts
    from cluster_sim.records.saved_tables import SUMMARY_FILE

    if not live and (pace is not None or port is not None):
        raise InputError("run", "--live beside --pace and --port", "none")
    settings = settings_of(config, given(options))
    platform, workload = load(settings, [settings.scheduler])
    check(settings, [settings.scheduler], platform, workload)
    prepare(out, settings.file_format)
    show = partial(_shown, pace=pace, port=port or 0) if live else None
    result = simulate(settings, settings.scheduler, platform, workload, invocation, show)
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


def _shown(simulation: Simulation, pace: float | None, port: int) -> Result:
    return simulation.live(pace=pace, where="browser", port=port)
