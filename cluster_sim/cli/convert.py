"""``cluster-sim convert``: workloads, platforms and results from one format to another."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cluster_sim.cli.options import setting_option
from cluster_sim.run.settings import TIME_UNITS

if TYPE_CHECKING:
    from cluster_sim.records.result import Result


@click.command(short_help="Convert a workload, a platform or results to another format.")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@setting_option("time_unit", f"what times in IN count: {', '.join(TIME_UNITS)}; s unless said otherwise")
def convert(source: str, target: str, time_unit: str | None) -> None:
    """Convert a workload, a platform or the results of a run; the name of OUT says to which format.

    \b
    workloads   .swf, .json (IRMaSim), .csv (own), each with .gz or without; IN may also be Batsim's JSON
    platforms   .yaml or .json (own); IN may also be IRMaSim's JSON, SimGrid's XML or a spec such as mixed:3x64@3.0
    results     .swf (the schedule), PREFIX_jobs.csv (Batsim's files), or a folder; IN is a folder or PREFIX_jobs.csv
    """
    from cluster_sim.cli.kinds import kind_of
    from cluster_sim.errors import FormatError, InputError
    from cluster_sim.formats.batsim_import import is_batsim_result
    from cluster_sim.platform.platform import Platform
    from cluster_sim.platform.specs import has_time_unit
    from cluster_sim.run.shortage import counted
    from cluster_sim.workload.workload import Workload

    options: dict[str, Any] = {} if time_unit is None else {"time_unit": time_unit}
    if os.path.isdir(source) or is_batsim_result(source):
        from cluster_sim.records.result import Result

        if time_unit is not None:
            raise InputError("--time-unit", "a workload, whose times it is about", "results, which count seconds")
        click.echo(_convert_result(Result.load(source), target))
        return
    kind = kind_of(source)
    if kind not in ("workload", "platform"):
        raise FormatError(source, "a workload, a platform or results", f"a {kind}".replace("a r", "r"))
    if kind == "platform":
        if time_unit is not None and not has_time_unit(source):
            raise InputError("--time-unit", "a workload, whose times it is about", "a platform")
        platform = Platform.read(source, **options)
        _check_platform_name(target)
        platform.write(target)
        size = f"{counted(platform.node_count, 'node')}, {counted(platform.core_count, 'core')}"
        click.echo(f"{target}: platform of {size}")
        return
    workload = Workload.read(source, **options)
    workload.write(target)
    click.echo(f"{target}: workload of {counted(len(workload), 'job')}")


def _convert_result(result: Result, target: str) -> str:
    """Write results in the format that the name ``target`` asks for; what to say about it."""
    from cluster_sim.errors import FormatError
    from cluster_sim.formats.batsim_results import write_outputs
    from cluster_sim.formats.swf_schedule import write_schedule
    from cluster_sim.run.shortage import counted

    count = counted(len(result.jobs), "job")
    if target.lower().removesuffix(".gz").endswith(".swf"):
        write_schedule(result, target)
        return f"{target}: schedule of {count}"
    if target.endswith("_jobs.csv"):
        written = write_outputs(result, target.removesuffix("_jobs.csv"))
        return f"{', '.join(map(str, written))}: results of {count}"
    if Path(target).suffix:
        raise FormatError(target, "a file name ending in .swf, .swf.gz or _jobs.csv, or a folder, for results")
    result.save(target)
    return f"{target}: results of {count}"


def _check_platform_name(target: str) -> None:
    from cluster_sim.errors import FormatError

    if not target.lower().removesuffix(".gz").endswith((".yaml", ".yml", ".json")):
        raise FormatError(target, "a file name ending in .yaml, .yml or .json (.gz after it) for a platform")
