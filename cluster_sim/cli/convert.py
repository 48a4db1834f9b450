"""``cluster-sim convert``: workloads and platforms from one format to another."""

from __future__ import annotations

from typing import Any

import click

from cluster_sim.cli.options import TIME_UNITS, TimeUnit


@click.command(short_help="Convert a workload or a platform to another format.")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option("--time-unit", type=TimeUnit(), metavar="UNIT",
              help=f"What times in IN count: {', '.join(TIME_UNITS)}. [default: s]")  # fmt: skip
def convert(source: str, target: str, time_unit: str | None) -> None:
    """Convert a workload or a platform; the name of OUT says to which format.

    \b
    workloads   .swf, .json (IRMaSim), .csv (own), each with .gz or without; IN may also be Batsim's JSON
    platforms   .yaml or .json (own); IN may also be IRMaSim's JSON, SimGrid's XML or a spec such as mixed:3x64@3.0
    """
    from cluster_sim.cli.kinds import kind_of
    from cluster_sim.errors import FormatError, InputError
    from cluster_sim.formats.platform_specs import has_time_unit
    from cluster_sim.platform import Platform
    from cluster_sim.workload import Workload

    options: dict[str, Any] = {} if time_unit is None else {"time_unit": time_unit}
    kind = kind_of(source)
    if kind == "configuration":
        raise FormatError(source, "a workload or a platform", "a configuration")
    if kind == "platform":
        if time_unit is not None and not has_time_unit(source):
            raise InputError("--time-unit", "a workload, whose times it is about", "a platform")
        platform = Platform.read(source, **options)
        _check_platform_name(target)
        platform.write(target)
        click.echo(f"{target}: platform of {platform.node_count:,} nodes, {platform.core_count:,} cores")
        return
    workload = Workload.read(source, **options)
    workload.write(target)
    click.echo(f"{target}: workload of {len(workload):,} jobs")


def _check_platform_name(target: str) -> None:
    from cluster_sim.errors import FormatError

    if not target.lower().removesuffix(".gz").endswith((".yaml", ".yml", ".json")):
        raise FormatError(target, "a file name ending in .yaml, .yml or .json (.gz after it) for a platform")
