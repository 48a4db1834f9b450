"""``cluster-sim explore``: choose, run and step through decisions, in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cluster_sim.cli.group import Invocation, say
from cluster_sim.cli.options import specs_option
from cluster_sim.errors import InputError
from cluster_sim.extras import needed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from analysis.explore.runs import ExploreSession


@click.command(short_help="Try schedulers in a browser, and step through their decisions.")
@click.argument("directory", type=click.Path(), required=False, metavar="[DIR]")
@specs_option("--workload", "-w", of="workload", metavar="W", help="Offer this file or spec, too.")
@specs_option("--platform", "-p", of="platform", metavar="P", help="Offer this file or spec, too.")
@specs_option("--scheduler", "-s", of="scheduler", metavar="S", help="Offer it, such as learned:agent.")
@specs_option("--power-policy", of="power_policy", metavar="Q", help="Offer it, such as learned:agent.")
@click.option("--scenario", type=click.Path(), metavar="FILE", help="Begin with a scenario that the page has saved.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="H", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8050, show_default=True, metavar="N",
              help="Port to listen on; 0 takes a free one.")  # fmt: skip
@click.option("--no-browser", is_flag=True, help="Do not open a browser, only say where the page is.")
@click.pass_obj
def explore(
    invocation: Invocation,
    directory: str | None,
    scenario: str | None,
    host: str,
    port: int,
    no_browser: bool,
    **offered: tuple[str, ...],
) -> None:
    """Open a page in the browser: choose a workload, a platform, a scheduler and a power policy, run, and look.

    Beside the chart it goes through the scheduler's decisions one by one, each with its reason, the queue and the nodes
    before it. With DIR, a folder in which ``run`` left its results, it shows that run. Ctrl-C ends it.
    """
    with needed("explore", "dash"):
        import dash  # noqa: F401
    from analysis.explore.app import make_app
    from analysis.pages.serving import LOCAL, address_of, server_of

    if directory is not None and (any(offered.values()) or scenario):
        raise InputError("explore", "either DIR, a run to look at, or what to offer for runs", "both")
    named = {kind: offered[kind] for kind in ("workload", "platform", "scheduler", "power_policy")}
    server = server_of(make_app(_session_of(directory, named, scenario), host), "explore", host, port)
    invocation.tell_warnings()
    address = address_of(server, host)
    click.echo(f"The page is {address} (Ctrl-C ends it)")
    if host not in LOCAL:
        say("warning: anyone who reaches this address can look at the page and run simulations in it")
    if not no_browser:
        import webbrowser

        webbrowser.open(address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        click.echo("")
    finally:
        server.server_close()


def _session_of(directory: str | None, named: Mapping[str, Sequence[str]], scenario: str | None) -> ExploreSession:
    """Return what the page shows: a saved run, or all that is built in, was named, or is in the scenario."""
    from analysis.explore.offers import Offers
    from analysis.explore.runs import ExploreSession
    from analysis.explore.scenario import Scenario
    from cluster_sim.files.source import runs_python
    from cluster_sim.records.result import Result

    if directory is not None:
        return ExploreSession(Offers.of(), Result.load(directory))
    if scenario is None:
        return ExploreSession(Offers.of(*named.values()))
    begun, built_in = Scenario.read(scenario), Offers.of().by_kind()
    for kind, names in begun.named().items():
        for name in names:
            if runs_python(name) and name not in named[kind]:  # a scenario from elsewhere runs nothing
                option = f"--{kind.replace('_', '-')} {name}"
                expected = f"nothing that runs a Python file, or {option} as well"
                raise InputError(f"{scenario}, {kind.replace('_', ' ')}", expected, name)
    wanted = [
        [*dict.fromkeys([*given, *(name for name in begun.named()[kind] if name not in built_in[kind][0])])]
        for kind, given in named.items()
    ]
    session = ExploreSession(Offers.of(*wanted), first=begun.now, beside=begun.kept)
    for choices in filter(None, (begun.now, begun.kept)):
        session.run(choices.plain())
    return session
