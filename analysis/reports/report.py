"""One HTML page that needs nothing else: settings, comparison, and the figures of one or several runs.

Each section is a function that returns what stands in it; what cannot be drawn for these runs (no users, no energy) is
left out. The page itself is the template ``report.html``.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from markupsafe import Markup

from analysis.figures.distributions import arrivals, ecdf
from analysis.figures.fairness import fairness_index, user_fairness, user_table
from analysis.figures.time_axis import start_date_of
from analysis.figures.timelines import energy_timeline, power_timeline, queue_timeline, utilisation_timeline
from analysis.gantt_chart.gantt import gantt
from analysis.gantt_chart.layout import deciders_of, run_title
from analysis.gantt_chart.options import RunsOptions
from analysis.gantt_chart.rectangles import time_window
from analysis.gantt_chart.runs_chart import MOST_RUNS, gantt_runs, same_jobs
from analysis.pages.page import figure_html, figures_html, page, render, write_whole
from analysis.reports.restarts import HEADINGS, cautions_of, restarted
from analysis.reports.restarts import cells as restart_cells
from analysis.reports.verdict import compare, run_sentence, standing_of, values_of
from analysis.tables.display_names import POWER_POLICIES, WORKLOADS, display_name, display_names
from analysis.tables.run_metrics import (
    REPLICATIONS,
    Runs,
    cells_html,
    comparison_table,
    headlines,
    named_runs,
    renamed,
    table_html,
)
from analysis.tables.tiles import Tile
from analysis.tables.wording import label_of, setting, shortened, unit_of
from cluster_sim.amounts import amount, number
from cluster_sim.errors import InputError, counted
from cluster_sim.options import options_of
from cluster_sim.records.cautions import Cautions
from cluster_sim.records.comparison import Comparison
from cluster_sim.records.intervals import FEWEST_BLOCKS
from cluster_sim.records.result import Result
from cluster_sim.workload.workload import Workload

# Points of a curve: more than a screen is wide, and few enough for a page with many runs of 20,000 jobs.
_POINTS = 3_000
_MOST_USERS = 200
_MOST_RESTARTS = 500
_USER_COLUMNS = {
    "user": "user",
    "run": "run",
    "jobs": "jobs",
    "core_s": "core time",
    "share_of_core_s": "share of it",
    "mean_wait_s": "mean wait",
    "mean_bounded_slowdown": "mean bounded slowdown",
    "energy_j": "energy",
}
_USER_UNITS = {"core_s": "s", "mean_wait_s": "s", "energy_j": "J"}

_TILES = ("mean_wait_s", "mean_bounded_slowdown", "utilisation", "makespan_s", "energy_j")
"""Metrics at the head of a page."""
_OF_SEVERAL = options_of(RunsOptions).keys()
"""Options that a chart of several runs also has."""

# Settings with a name of their own, in this order; the others of `meta` follow under their keys.
_SETTINGS = {
    "scheduler": "Scheduler",
    "power_policy": "Power policy",
    "workload": "Workload",
    "platform": "Platform",
    "contention_model": "Contention model",
    "power_model": "Power model",
    "seed": "Seed",
    "enforce_walltime": "Walltime enforced",
    "quirks": "Quirks",
    "until_s": "Stopped at (s)",
    "origin_s": "Time 0 in the input (s)",
    "start_date": "Date at time 0",
    "version": "Version",
    "made_with": "Made with",
}


def write_report(
    results: Runs,
    path: str | Path,
    *,
    title: str | None = None,
    workload: Workload | None = None,
    replications: pd.DataFrame | None = None,
    **options: Any,
) -> Path:
    """Write the page that compares ``results`` (name → run, or one run) and return its path.

    It begins with how long jobs waited, or which run's jobs waited least. A summary with differences to the first run
    and the Gantt charts follow. Then come power, use of the cores and queue over time, distributions of waits and
    slowdowns, waits by user, inputs and settings. The charts share one window of time, so that they can be compared by
    eye.

    ``workload``, the runs' own, says by its header when the jobs came, by the calendar. ``replications`` is a table of
    :func:`analysis.replication_table` that takes the summary's place. ``options`` go to :func:`analysis.gantt`. The
    file appears whole or not at all. Raises InputError when there is no run or the file cannot be written.
    """
    given = named_runs(results)
    if not given:
        raise InputError("report", "at least one run", "none")
    called = display_names(given)
    runs = {called[name]: result for name, result in given.items()}
    if replications is not None:
        replications = renamed(replications, called)
    windows = [time_window(result) for result in runs.values()]
    options.setdefault("x_range", (min(start for start, _ in windows), max(end for _, end in windows)))
    first = next(iter(runs.values()))
    heading = run_title(first)
    if len(runs) > 1:
        heading = " vs ".join(runs) + (
            f" — {display_name(first.meta['workload'], titles=WORKLOADS)}" if first.meta.get("workload") else ""
        )
    comparison = None if len(runs) == 1 and replications is None else compare(runs, replications, for_people=True)
    sentences = (run_sentence(first),) if comparison is None else comparison.sentences
    figures = Figures()
    sections = {
        **_schedules(runs, figures, options),
        "Summary" if len(runs) == 1 else "Comparison": _summary(runs, replications),
        "Jobs started again": _restarts(runs),
        "Over time": _over_time(runs, figures),
        "Jobs": _distributions(runs, workload, figures),
        "Users": _users(runs, figures),
        "Inputs and settings": Section(table=_settings_html(runs)),
    }
    platform = first.platform
    size = f"{counted(platform.node_count, 'node')}, {counted(platform.core_count, 'core')}"
    text = render(
        "report.html",
        heading=title or heading,
        specs={display_name(name): name for name in given if called[name] != name} if len(runs) > 1 else _specs(first),
        sentences=[line for line in sentences if line],
        tiles=_tiles_of_run(first) if comparison is None else _tiles(comparison, runs, replications),
        lead=f"{counted(len(first.jobs), 'job')} on platform {platform.id}: {size}{_power_in_common(runs)}",
        cautions=Cautions.of_runs({name: cautions_of(run) for name, run in runs.items()}).by_kind(),
        sections={name: section for name, section in sections.items() if section is not None},
        maker=f"cluster-sim {first.meta.get('version', '')}".strip(),
        again=str(first.meta.get("command", "")),
    )
    return write_whole(path, text)


def write_gantt(figure: go.Figure | Result, path: str | Path, **options: Any) -> Path:
    """Write one chart, or the chart of a run, as a page of its own and return its path.

    ``options`` go to :func:`analysis.gantt` when a run is given. Raises InputError when the file cannot be
    written.
    """
    chart = figure if isinstance(figure, go.Figure) else gantt(figure, **options)
    heading = html.unescape(chart.layout.title.text or "Gantt chart")
    return write_whole(path, page(heading, figures_html([chart])))


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page: what stands under a heading, in this order. ``folded`` is a table that the reader unfolds."""

    text: str = ""
    figures: Sequence[Markup] = ()
    table: Markup | None = None
    folded: Markup | None = None
    unfolds: str = ""
    left_out: str = ""


class Figures:
    """Maker of pieces of the page from figures, each with an id of its own."""

    def __init__(self) -> None:
        self._count = 0

    def html(self, figure: go.Figure) -> Markup:
        """Return the figure as HTML."""
        self._count += 1
        return figure_html(figure, f"figure{self._count}")


def _power_in_common(runs: Mapping[str, Result]) -> str:
    """Return the power policy of several runs, which their names leave out, if all have one that is not the usual."""
    specs = {str(run.meta.get("power_policy")) for run in runs.values()}
    if len(runs) < 2 or len(specs) > 1 or specs <= {"None", "none", "always-on"}:
        return ""
    return f", {display_name(specs.pop(), titles=POWER_POLICIES)}"


def _specs(result: Result) -> dict[str, str]:
    """Return what a run's title names in words, as specs."""
    said = deciders_of(result)
    return {display_name(said): said} if display_name(said) != said else {}


def _tiles(comparison: Comparison, runs: Mapping[str, Result], replications: pd.DataFrame | None) -> list[Tile]:
    """Return the figures of a comparison: of two runs what became of each metric, of more which has the best."""
    if len(comparison.names) == 2:
        known = [each for each in comparison.effects if each.metric in _TILES and not math.isnan(each.difference)]
        return [Tile.of_effect(effect) for effect in known]
    block, values = values_of(runs, replications)
    found = [standing_of(key, values[key], block) for key in _TILES if key in values]
    return [Tile.of_standing(standing) for standing in found if standing is not None]


def _tiles_of_run(result: Result) -> list[Tile]:
    """Return the figures of one run."""
    summary = result.summary()
    known = {key: float(summary[key]) for key in _TILES if summary.get(key) is not None}
    shown = {key: value for key, value in known.items() if math.isfinite(value) and (value or key != "energy_j")}
    return [Tile(label_of(key), amount(value, unit_of(key))) for key, value in shown.items()]


def _summary(runs: Mapping[str, Result], replications: pd.DataFrame | None) -> Section:
    """Return the headlines and all metrics.

    If ``replications`` is a table, it stands in the place of that of the runs.
    """
    if replications is None:
        text, table = "", comparison_table(runs)
    else:
        table = replications
        values = [each for row in table.attrs[REPLICATIONS].values() for each in row.values()]
        count = max(map(len, values), default=0)
        around = " ± half of the 95 % confidence interval" if count >= FEWEST_BLOCKS else ""
        text = f"Means over {counted(count, 'replication')}{around}; differences are paired by seed. "
        text += "The figures below are of the first seed."
    rows = headlines(table)
    # Without rows of zeros: no run has such jobs.
    counts = [key for key in ("jobs_killed", "jobs_rejected", "jobs_unfinished") if key in rows.index]
    rows = rows.drop(index=[key for key in counts if not rows.loc[key].drop("unit").astype(float).fillna(0).any()])
    return Section(text, table=table_html(rows), folded=table_html(table), unfolds="All metrics")


def _schedules(runs: Mapping[str, Result], figures: Figures, options: dict[str, Any]) -> dict[str, Section]:
    """Return the charts of the runs: one chart, with what differs marked, if they are of the same jobs."""
    if 2 <= len(runs) <= MOST_RUNS and options.keys() <= _OF_SEVERAL and same_jobs(runs):
        chart = gantt_runs(runs, other_jobs=True, **options)  # same_jobs has just looked at them
        return {"Schedules": Section(figures=[figures.html(chart)])}
    charts = [gantt(result, **options) for result in runs.values()]
    # All have the same room at the right, so that equal times stand above each other.
    room = max(chart.layout.margin.r for chart in charts)
    # The prefix keeps a run whose name is that of a section apart.
    return {
        f"Schedule: {name}": Section(figures=[figures.html(chart.update_layout(margin={"r": room}))])
        for name, chart in zip(runs, charts, strict=True)
    }


def _restarts(runs: Mapping[str, Result]) -> Section | None:
    """Return the jobs that were stopped and started again: when they started first, how often, and what was lost."""
    rows = [
        cells if len(runs) == 1 else [cells[0], name, *cells[1:]]
        for name, run in runs.items()
        for cells in restart_cells(restarted(run), start_date_of(run))
    ]
    if not rows:
        return None
    first, *others = HEADINGS
    head = [first, *([] if len(runs) == 1 else ["run"]), *others]
    left = len(rows) - _MOST_RESTARTS
    return Section(
        "Run time counts all attempts, and wait time only the times in which none ran.",
        folded=cells_html(head, rows[:_MOST_RESTARTS], "restarts sortable"),
        unfolds=counted(len(rows), "job") if len(runs) == 1 else counted(len(rows), "row"),
        left_out=f"{left:,} more rows are not shown." if left > 0 else "",
    )


def _over_time(runs: Mapping[str, Result], figures: Figures) -> Section | None:
    drawn = []
    if len(runs) > 1:  # a single run has them under its Gantt chart
        drawn += [utilisation_timeline(runs, most_points=_POINTS), queue_timeline(runs, most_points=_POINTS)]
    powered = {name: result for name, result in runs.items() if not result.nodes["energy_j"].isna().any()}
    powered = {name: result for name, result in powered.items() if result.power["watts"].to_numpy().any()}
    if len(powered) > 1:
        drawn.append(energy_timeline(powered, most_points=_POINTS))
    for name, result in powered.items():
        title = "Power by state" + (f": {shortened(name, 60)}" if len(runs) > 1 else "")
        drawn.append(power_timeline(result, most_points=_POINTS, title=title))
    return Section(figures=[figures.html(figure) for figure in drawn]) if drawn else None


def _distributions(runs: Mapping[str, Result], workload: Workload | None, figures: Figures) -> Section | None:
    if not any(result.jobs["start_time"].notna().any() for result in runs.values()):
        return None
    drawn = [ecdf(runs, column, most_points=_POINTS) for column in ("wait_time", "bounded_slowdown")]
    if workload is not None and workload.unix_start_time is not None:
        drawn += [arrivals(workload, by) for by in ("hour", "weekday")]
    return Section(figures=[figures.html(figure) for figure in drawn])


def _users(runs: Mapping[str, Result], figures: Figures) -> Section | None:
    table = user_table(runs)
    if table["user"].nunique() < 2:
        return None
    slowdowns = {name: table.loc[table["run"] == name, "mean_bounded_slowdown"] for name in runs}
    index = "; ".join(f"{name}: {number(fairness_index(values), digits=3)}" for name, values in slowdowns.items())
    text = f"Jain's index of fairness over the users' mean bounded slowdowns (1: all equal): {index}."
    # If there are very many users, those with the most core-seconds are shown.
    shown = table[table.groupby("run").cumcount() < _MOST_USERS]
    left = len(table) - len(shown)
    amounts = list(_USER_COLUMNS)[2:]
    rows, values = [], []
    for row in shown.to_dict("records"):
        texts = [amount(row[name], _USER_UNITS.get(name, "")) for name in amounts]
        rows.append([str(row["user"]), str(row["run"]), *texts])
        values.append([None, None, *(float(row[name]) for name in amounts)])
    return Section(
        text,
        [figures.html(user_fairness(runs))],
        folded=cells_html(_USER_COLUMNS.values(), rows, "users sortable", values),
        unfolds="By user",
        left_out=f"{left:,} more rows are not shown." if left else "",
    )


def _settings_html(runs: Mapping[str, Result]) -> Markup:
    keys = [key for key in _SETTINGS if any(key in result.meta for result in runs.values())]
    keys += sorted({key for result in runs.values() for key in result.meta} - {*keys, "command"})
    rows = [
        [_SETTINGS.get(key, str(key)), *(setting(result.meta.get(key)) for result in runs.values())] for key in keys
    ]
    return cells_html(("setting", *runs), rows, "settings")
