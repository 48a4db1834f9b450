"""``cluster-sim validate``: checks a file, and says what is in it."""

from __future__ import annotations

import click

from cluster_sim.cli.group import json_option, tell_json
from cluster_sim.cli.options import setting_option
from cluster_sim.errors import printable


@click.command(short_help="Check a workload, a platform, a configuration, results or an agent.")
@click.argument("source", type=click.Path(), metavar="FILE")
@setting_option("time_unit")
@json_option
def validate(source: str, time_unit: str | None, as_json: bool) -> None:
    """Check a file, or a folder that run or train left, and tell in a few lines what it holds.

    FILE is a workload, a platform, advance reservations, the configuration of a run, a sweep or a training, the results
    of a run, or an agent, also a ready one by its name. A configuration is checked with everything that it names. What is
    wrong is told in one line, with exit status 2; what runs with a substitute for what it asks, in warnings.
    """
    from cluster_sim.cli.file_facts import CAUTIONS, facts_of
    from cluster_sim.cli.kinds import kind_of

    kind = kind_of(source)
    facts = facts_of(source, kind, {} if time_unit is None else {"time_unit": time_unit})
    if as_json:
        known = {name: value for name, value in facts if name not in CAUTIONS}
        cautions = {of: [value for name, value in facts if name == of] for of in CAUTIONS}
        tell_json({"file": source, "kind": kind, "facts": known, **cautions})
        return
    click.echo(f"{printable(source)}: {kind}, valid")
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        click.echo(f"  {name:<{width}}  {printable(value)}".rstrip())
