"""``cluster-sim gantt``: the chart of finished runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cluster_sim.cli.options import RunTime, check_out
from cluster_sim.errors import InputError

if TYPE_CHECKING:
    from cluster_sim.records.result import Result

VIEWS = ("resources", "jobs", "steps")
PANELS = "power,busy,queue"


@click.command(short_help="Draw the Gantt chart of finished runs.")
@click.argument("directories", type=click.Path(), nargs=-1, required=True, metavar="DIR...")
@click.option("--out", metavar="FILE.html",
              help="The page to write. [default: gantt.html, or steps.html, in the first DIR]")  # fmt: skip
@click.option("--colour-by", "--color-by", "colour_by", default="auto", show_default=True, metavar="NAME",
              help="auto (few jobs by job, many by wait), job, profile, user, state, wait, energy, speedup (with --workload), or "
                   "any column of jobs.csv.")  # fmt: skip
@click.option("--rows", type=click.Choice(["auto", "node", "core"]), default="auto", show_default=True)
@click.option("--view", type=click.Choice(VIEWS), default="resources", show_default=True,
              help="Resources x time, a row per job with its wait faded, or the scheduler's decisions step by step.")  # fmt: skip
@click.option("--pattern-by", metavar="COLUMN", help="Fill bars with a pattern by this column, such as profile.")
@click.option("--panels", default=PANELS, show_default=True, metavar="A,B,...",
              help="Curves under the chart: power, power-by-state, busy, queue; none for no curves.")  # fmt: skip
@click.option(
    "--from",
    "begin",
    type=RunTime(),
    metavar="T",
    help="Begin of the window: seconds from the start, or 5d, 12h, 2d12h.",
)
@click.option("--to", "end", type=RunTime(), metavar="T", help="End of the window, likewise.")
@click.option("--time-unit", type=click.Choice(["auto", "calendar", "elapsed", "s", "min", "h", "d"]), default="auto",
              show_default=True)  # fmt: skip
@click.option("--start-date", metavar="DATE", help="Date and time of simulated second 0, for a calendar.")
@click.option(
    "--workload",
    type=click.Path(),
    metavar="W",
    help="The runs' workload: its header has the date, its jobs their speedups.",
)
@click.option("--slider", is_flag=True, help="A small copy of the chart under it, to move the window with.")
def gantt(directories: tuple[str, ...], out: str | None, workload: str | None, panels: str, **options: Any) -> None:
    """Draw the Gantt chart of a finished run, from the folder in which ``run`` left its results.

    Several DIRs of the same jobs are drawn one above the other, with what differs from the first one marked.
    The page is interactive, needs nothing else and works offline. --view steps goes through the scheduler's decisions,
    forwards and backwards, each with its reason if the run was to --explain, the queue and the nodes.
    """
    from analysis import write_animation, write_gantt
    from analysis.gantt_chart.gantt import time_window
    from cluster_sim.records.result import Result
    from cluster_sim.workload.workload import Workload

    check_out("gantt, --out", out)
    if out is not None and not out.lower().endswith((".html", ".htm")):
        raise InputError("gantt, --out", "a name ending in .html", out)
    # Runs go by the name of their folder, or by its path where two folders have the same name.
    names = [Path(directory).resolve().name for directory in directories]
    labels = [name if names.count(name) == 1 else path for name, path in zip(names, directories, strict=True)]
    results = {label: Result.load(directory) for label, directory in zip(labels, directories, strict=True)}
    options["panels"] = () if panels == "none" else tuple(panels.split(","))
    options["workload"] = None if workload is None else Workload.read(workload)
    if options["view"] == "steps":
        result = _only(results, "steps")
        _refuse_what_lacks("steps", options, "--out", "--colour-by", "--from", "--to")
        window = _window(options["begin"], options["end"], [time_window(result)])
        target = out or _folder(directories[0]) / "steps.html"
        pages = write_animation(result, target, window, options["colour_by"])
        click.echo(f"The {'page' if len(pages) == 1 else f'first of {len(pages)} pages'} is {pages[0]}")
        return
    path = write_gantt(_figure(results, options), out or _folder(directories[0]) / "gantt.html")
    click.echo(f"The chart is {path}")


def _figure(results: dict[str, Result], options: dict[str, Any]) -> Any:
    from analysis import gantt_by_job, gantt_runs
    from analysis.gantt_chart.gantt import time_window, tool_chart

    view = options.pop("view")
    if view == "jobs":
        result = _only(results, view)
        _refuse_what_lacks(view, options, "--out", "--colour-by", "--time-unit", "--start-date")
        names = ("colour_by", "time_unit", "start_date")
        return gantt_by_job(result, **{name: options[name] for name in names})
    options["x_range"] = _window(options.pop("begin"), options.pop("end"), [time_window(r) for r in results.values()])
    if len(results) == 1:
        return tool_chart(next(iter(results.values())), **options)
    for name in ("pattern_by", "slider"):
        if options.pop(name):
            raise InputError(f"gantt, --{name.replace('_', '-')}", "one DIR", f"{len(results)}")
    return gantt_runs(results, carry=True, **options)


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


def _refuse_what_lacks(view: str, options: dict[str, Any], *known: str) -> None:
    """Raise InputError for options that were given but that the view does not have."""
    given = {
        "--from": options["begin"] is not None,
        "--to": options["end"] is not None,
        "--rows": options["rows"] != "auto",
        "--panels": options["panels"] != tuple(PANELS.split(",")),
        "--pattern-by": bool(options["pattern_by"]),
        "--time-unit": options["time_unit"] != "auto",
        "--start-date": options["start_date"] is not None,
        "--workload": options["workload"] is not None,
        "--slider": options["slider"],
    }
    found = [name for name, is_given in given.items() if is_given and name not in known]
    if found:
        allowed = f"no options but {', '.join(known[:-1])} and {known[-1]}"
        raise InputError(f"gantt, --view {view}", allowed, ", ".join(found))


def _folder(directory: str) -> Path:
    """Return where a page goes: into the run's folder, or beside the files that Batsim left."""
    path = Path(directory)
    return path if path.is_dir() else path.parent
