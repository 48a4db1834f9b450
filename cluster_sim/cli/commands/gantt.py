"""``cluster-sim gantt``: the chart of finished runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cluster_sim.cli.options import DeclaringCommand, RunTime, check_out
from cluster_sim.errors import InputError
from cluster_sim.options import options_of

if TYPE_CHECKING:
    from cluster_sim.records.result import Result

VIEWS = ("resources", "jobs", "steps")


@click.command(
    cls=DeclaringCommand,
    declared_by="analysis.gantt_chart.options:GanttOptions",
    declared={
        "colour_by": {"flags": ("--colour-by", "--color-by"), "metavar": "NAME"},
        "rows": {},
        "group_by": {"metavar": "NAME"},
        "folded": {},
        "pattern_by": {"metavar": "COLUMN"},
        "panels": {"metavar": "A,B,..."},
        "time_unit": {},
        "start_date": {"metavar": "DATE"},
        "workload": {"type": click.Path(), "metavar": "W"},
        "slider": {},
    },
    short_help="Draw the Gantt chart of finished runs.",
)
@click.argument("directories", type=click.Path(), nargs=-1, required=True, metavar="DIR...")
@click.option("--out", metavar="FILE.html",
              help="The page to write. [default: gantt.html, or steps.html, in the first DIR]")  # fmt: skip
@click.option("--view", type=click.Choice(VIEWS), default="resources", show_default=True,
              help="Resources x time, a row per job with its wait faded, or the scheduler's decisions step by step.")  # fmt: skip
@click.option(
    "--from",
    "begin",
    type=RunTime(),
    metavar="T",
    help="Begin of the window: seconds from the start, or 5d, 12h, 2d12h.",
)
@click.option("--to", "end", type=RunTime(), metavar="T", help="End of the window, likewise.")
@click.pass_context
def gantt(
    ctx: click.Context,
    directories: tuple[str, ...],
    out: str | None,
    view: str,
    begin: float | None,
    end: float | None,
    workload: str | None,
    **options: Any,
) -> None:
    """Draw the Gantt chart of a finished run, from the folder in which ``run`` left its results.

    Several DIRs of the same jobs are drawn one above the other, with what differs from the first one marked.
    The page is interactive, needs nothing else and works offline. --view steps goes through the scheduler's decisions,
    forwards and backwards, each with its reason if the run was to --explain, the queue and the nodes.
    """
    from analysis import gantt as chart_of
    from analysis import gantt_by_job, gantt_runs, write_animation, write_gantt
    from analysis.gantt_chart.options import JobRowsOptions
    from analysis.gantt_chart.rectangles import time_window
    from cluster_sim.records.result import Result
    from cluster_sim.workload.workload import Workload

    check_out("gantt, --out", out)
    if out is not None and not out.lower().endswith((".html", ".htm")):
        raise InputError("gantt, --out", "a name ending in .html", out)
    # Runs go by the name of their folder, or by its path where two folders have the same name.
    names = [Path(directory).resolve().name for directory in directories]
    labels = [name if names.count(name) == 1 else path for name, path in zip(names, directories, strict=True)]
    results = {label: Result.load(directory) for label, directory in zip(labels, directories, strict=True)}
    options["workload"] = None if workload is None else Workload.read(workload)
    options["x_range"] = _window(begin, end, [time_window(result) for result in results.values()])
    folder = _folder(directories[0])
    if view == "steps":
        _refuse_others(ctx, "--out", "--colour-by", "--from", "--to")
        result, target = _only(results, view), out or folder / "steps.html"
        pages = write_animation(result, target, options["x_range"], options["colour_by"])
        click.echo(f"The {'page' if len(pages) == 1 else f'first of {len(pages)} pages'} is {pages[0]}")
        return
    if view == "jobs":
        _refuse_others(ctx, "--out", "--colour-by", "--time-unit", "--start-date")
        own = options.keys() & options_of(JobRowsOptions).keys()
        figure = gantt_by_job(_only(results, view), **{name: options[name] for name in own})
    elif len(results) == 1:
        figure = chart_of(_only(results, view), **options)
    else:
        for name in ("pattern_by", "slider"):
            if options.pop(name):
                raise InputError(f"gantt, --{name.replace('_', '-')}", "one DIR", f"{len(results)}")
        figure = gantt_runs(results, **options)
    click.echo(f"The chart is {write_gantt(figure, out or folder / 'gantt.html')}")


def _only(results: dict[str, Result], view: str) -> Result:
    if len(results) > 1:
        raise InputError(f"gantt, --view {view}", "one DIR", f"{len(results)}")
    return next(iter(results.values()))


def _window(begin: float | None, end: float | None, runs: list[tuple[float, float]]) -> tuple[float, float] | None:
    """Return the window from --from to --to (s), each by default that of the runs; None if neither is given."""
    if begin is None and end is None:
        return None
    begin = min(start for start, _ in runs) if begin is None else begin
    end = max(stop for _, stop in runs) if end is None else end
    if not -math.inf < begin < end < math.inf:
        raise InputError("gantt, --from and --to", "a begin before the end, both finite", f"{begin:g} and {end:g}")
    return begin, end


def _refuse_others(ctx: click.Context, *known: str) -> None:
    """Raise InputError for options that were given but that the view does not have."""
    from analysis.gantt_chart.options import GanttOptions

    default = {name: option.default for name, option in options_of(GanttOptions).items()}
    options = [each for each in ctx.command.params if isinstance(each, click.Option) and each.name in ctx.params]
    given = [each.opts[0] for each in options if ctx.params[str(each.name)] != default.get(str(each.name))]
    found = [flag for flag in given if flag not in ("--view", *known)]
    if found:
        allowed = f"no options but {', '.join(known[:-1])} and {known[-1]}"
        raise InputError(f"gantt, --view {ctx.params['view']}", allowed, ", ".join(found))


def _folder(directory: str) -> Path:
    """Return where a page goes: into the run's folder, or beside the files that Batsim left."""
    path = Path(directory)
    return path if path.is_dir() else path.parent
