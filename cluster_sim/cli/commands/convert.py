"""``cluster-sim convert``: workloads, platforms and results from one format to another."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from cluster_sim.cli.group import say
from cluster_sim.cli.options import setting_option
from cluster_sim.errors import FormatError, InputError, counted
from cluster_sim.files.reading import STDIN

FORMATS = ("swf", "json", "csv", "yaml")


@click.command(short_help="Convert a workload, a platform or results to another format.")
@click.argument("source", type=click.Path(), metavar="IN")
@click.argument("target", type=click.Path(), metavar="OUT")
@setting_option("time_unit")
@setting_option("time_zone")
@setting_option("anonymise")
@click.option(
    "--format", "text_format", type=click.Choice(FORMATS), help="What to write where OUT is -, standard output."
)
def convert(
    source: str,
    target: str,
    time_unit: str | None,
    time_zone: str | None,
    anonymise: bool | None,
    text_format: str | None,
) -> None:
    """Convert a workload, a platform or the results of a run; the name of OUT says to which format.

    \b
    workloads   .swf, .json (IRMaSim), .csv (own), each also .gz; IN may be Batsim's, ElastiSim's, Likwid's or sacct's, too
    platforms   .yaml or .json (own); IN may also be IRMaSim's JSON, SimGrid's XML, a slurm.conf, or a spec such as mixed:3x64@3.0
    results     .swf (the schedule), PREFIX_jobs.csv (Batsim's files), or a folder; IN is a folder or PREFIX_jobs.csv

    IN may be -, standard input, for a workload; OUT may be -, standard output, with --format.
    """
    if (target == STDIN) != (text_format is not None):
        expected = "--format with OUT -, standard output; a name of OUT says the format itself"
        raise InputError(
            "convert", expected, f"OUT {target}" + (f" with --format {text_format}" if text_format else "")
        )
    options = {name: value for name, value in (("time_unit", time_unit), ("time_zone", time_zone)) if value is not None}
    if text_format is None:
        click.echo(f"{target}: {_convert(source, target, options, bool(anonymise))}")
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{STDIN}.{text_format}"

        def told_of(text: str) -> str:
            return text.replace(str(path), f"{STDIN} with --format {text_format}")

        with warnings.catch_warnings(record=True) as noted:
            warnings.simplefilter("always")
            try:
                told = _convert(source, str(path), options, bool(anonymise))
            except InputError as error:
                raise InputError(told_of(error.where), error.expected, error.found) from None
        for each in noted:
            warnings.warn(told_of(str(each.message)), each.category, stacklevel=2)
        click.echo(path.read_bytes(), nl=False)
    say(told)


def _convert(source: str, target: str, options: dict[str, str], anonymise: bool) -> str:
    """Read IN with the options of its format and write it to ``target``; return in words what it was."""
    from cluster_sim.cli.kinds import kind_of
    from cluster_sim.formats.batsim_import import is_batsim_result
    from cluster_sim.formats.platform_files import has_time_unit
    from cluster_sim.platform.platform import Platform
    from cluster_sim.workload.workload import Workload

    given = [*options, *["anonymise"] * anonymise]
    if os.path.isdir(source) or is_batsim_result(source):
        _refuse(given, "results, which count seconds")
        return _convert_result(source, target)
    kind = kind_of(source)
    if kind not in ("workload", "platform"):
        raise FormatError(source, "a workload, a platform or results", f"a {kind}".replace("a r", "r"))
    if kind == "platform":
        _refuse([name for name in given if name != "time_unit" or not has_time_unit(source)], "a platform")
        platform = Platform.read(source, **options)
        if not target.lower().removesuffix(".gz").endswith((".yaml", ".yml", ".json")):
            raise FormatError(target, "a file name ending in .yaml, .yml or .json (.gz after it) for a platform")
        platform.write(target)
        size = f"{counted(platform.node_count, 'node')}, {counted(platform.core_count, 'core')}"
        return f"platform of {size}"
    workload = Workload.read(source, **options)
    if anonymise:
        workload = workload.anonymised()
    workload.write(target)
    return f"workload of {counted(len(workload), 'job')}"


def _refuse(options: list[str], found: str) -> None:
    """Raise InputError if there are ``options``: they suit a workload only."""
    for name in options:
        about = "a workload, whose users it is about" if name == "anonymise" else "a workload, whose times it is about"
        raise InputError(f"--{name.replace('_', '-')}", about, found)


def _convert_result(source: str, target: str) -> str:
    """Write the results in ``source`` in the format that the name ``target`` asks for; return in words what was written."""
    from cluster_sim.formats.batsim_results import write_outputs
    from cluster_sim.formats.swf_schedule import write_schedule
    from cluster_sim.records.result import Result

    result = Result.load(source)
    count = counted(len(result.jobs), "job")
    if target.lower().removesuffix(".gz").endswith(".swf"):
        write_schedule(result, target)
        return f"schedule of {count}"
    if target.endswith("_jobs.csv"):
        written = write_outputs(result, target.removesuffix("_jobs.csv"))
        return f"results of {count} in {', '.join(map(str, written))}"
    if Path(target).suffix:
        raise FormatError(target, "a file name ending in .swf, .swf.gz or _jobs.csv, or a folder, for results")
    result.save(target)
    return f"results of {count}"
