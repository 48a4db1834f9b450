"""Several runs one above the other on one time axis, with what differs from the first one marked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.figures.figure_style import run_styles, transparent
from analysis.figures.palette import ColourClasses, colour_strategy, jointly
from analysis.figures.time_axis import TimeAxis
from analysis.figures.timelines import BAND, CAP, MEAN
from analysis.gantt_chart.gantt import draw_rows, run_rectangles
from analysis.gantt_chart.hover import Hover, hover_of
from analysis.gantt_chart.layout import WIDTH_PX, lay_out, means_note, put_heading, y_axis
from analysis.gantt_chart.options import RunsOptions
from analysis.gantt_chart.panels import (
    GAP_PX,
    PANEL_PX,
    carried_steps,
    panel_axes,
    panel_curves,
)
from analysis.gantt_chart.rectangles import RectanglesInView, RunRectangles, time_window
from analysis.gantt_chart.still import still
from analysis.gantt_chart.tool import compared, tool
from analysis.gantt_chart.traces import chosen_drawing, raster_note
from analysis.pages.redrawn import carry
from analysis.tables.run_metrics import named_runs
from analysis.tables.wording import plotly_text, shortened, shortened_apart
from cluster_sim.amounts import number
from cluster_sim.errors import InputError, counted
from cluster_sim.options import with_options
from cluster_sim.records.result import Result

EARLIER, LATER, ELSEWHERE = "#000000", "#B3261E", "#7A8793"
MOST_RUNS = 6
MOST_MOVED = 200
_MARKS = (("earlier", EARLIER, "triangle-left"), ("later", LATER, "triangle-right"), ("elsewhere", ELSEWHERE, "circle"))


@with_options(RunsOptions)
def gantt_runs(results: Mapping[str, Result], options: RunsOptions) -> go.Figure:
    """Draw two to six runs of the same jobs above each other, and under them one line per run of each panel.

    A job that started earlier or later than in the first run, or on other cores at the same time, has a mark at its
    start there: ◂ black, ▸ red, a grey dot. Its hover says by how much. The legend counts all of them.

    Raises InputError for fewer than two runs or more than six, and for runs of other jobs than the first one's: other
    ids, cores or times of submission. These may differ where jobs are submitted after others have ended (think times).
    """
    runs = named_runs(results)
    if not 2 <= len(runs) <= MOST_RUNS:
        raise InputError("gantt_runs", f"2 to {MOST_RUNS} runs", len(runs))
    if not options.other_jobs:
        _check_same_jobs(runs)
    lower = options.panels
    windows = [time_window(result) for result in runs.values()]
    window = options.x_range or (min(start for start, _ in windows), max(end for _, end in windows))
    rectangles = [run_rectangles(result, options) for result in runs.values()]
    axis = TimeAxis.of(options.time_unit, window, options.start_date or rectangles[0].start_date)
    upper = [max(float(np.clip(180 + 4 * each.scale.height, 200, 420)), each.scale.least_px) for each in rectangles]
    inner = sum(upper) + len(lower) * PANEL_PX + (len(upper) + len(lower) - 1) * GAP_PX
    views = [
        RectanglesInView.of(each, window, WIDTH_PX, px, options.x_range is not None)
        for each, px in zip(rectangles, upper, strict=True)
    ]
    hows = [chosen_drawing(options.drawing, len(view.rectangles)) for view in views]
    figure = go.Figure()
    moved = [differences(rectangles[0], other) for other in rectangles[1:]]
    colours = [
        replace(classes, code=classes.code[view.position])
        for classes, view in zip(
            jointly(colour_strategy(options.colour_by), [each.jobs for each in rectangles]), views, strict=True
        )
    ]
    hovers = [
        _add_run(figure, view, None if place == 1 else moved[place - 2], place, name, classes, how, axis, options)
        for place, (name, view, classes, how) in enumerate(zip(runs, views, colours, hows, strict=True), start=1)
    ]
    by_run = dict(zip(runs, views, strict=True))
    means: list[tuple[str, RectanglesInView, str]] = []
    for place, name in enumerate(lower, start=len(runs) + 1):
        figure.add_traces(_lines(name, by_run, f"y{place}", name == lower[0], means))
    lay_out(figure, views, panel_axes(lower, views[0]), inner, axis, list(runs))
    notes = [_note(name, view, how) for name, view, how in zip(runs, views, hows, strict=True)]
    put_heading(figure, options.title or " vs ".join(runs), notes + means_note(figure))
    axis.convert(figure)

    def page_data() -> dict[str, Any]:
        steps = [each for mean in means for each in carried_steps(*mean)]
        tables = compared([each.jobs for each in rectangles], moved)
        found = tool(views, hovers, axis, options.colour_by, steps, list(runs), tables)
        together = [view.all_together(each) for view, each in zip(views, colours, strict=True)]
        return found | {"still": still(figure, together, found, axis)}

    carry(figure, page_data)
    return figure


def same_jobs(runs: Mapping[str, Result]) -> bool:
    """Return whether :func:`gantt_runs` can draw these runs."""
    try:
        _check_same_jobs(runs)
    except InputError:
        return False
    return True


def _check_same_jobs(runs: Mapping[str, Result]) -> None:
    (reference, first), *others = ((name, run.jobs.set_index("job_id").sort_index()) for name, run in runs.items())
    for name, jobs in others:
        if not jobs.index.equals(first.index):
            alone = jobs.index.symmetric_difference(first.index)
            found = f"job {alone[0]} in one of them only" if len(alone) else "a job twice"
            raise InputError(f"gantt_runs, run {name}", f"the jobs of run {reference}", found)
        wrong = (jobs["requested_cores"] != first["requested_cores"]) | _submitted_otherwise(first, jobs)
        if wrong.any():
            job = wrong.index[int(wrong.to_numpy().argmax())]
            (cores, time), (were, was) = (each.loc[job, ["requested_cores", "submit_time"]] for each in (jobs, first))
            told = f"job {job} of {cores:g} cores at {time:g} s, not {were:g} at {was:g} s"
            raise InputError(f"gantt_runs, run {name}", f"the jobs of run {reference}", told)


def _submitted_otherwise(first: pd.DataFrame, other: pd.DataFrame) -> pd.Series:
    """Return a mask of the jobs whose times of submission differ, and not because they follow other jobs.

    Results do not say which jobs follow others (think times), but such a job is submitted after a job has ended.
    """
    times = [jobs["submit_time"].to_numpy(dtype=float) for jobs in (first, other)]
    # Files of other programs may be rounded.
    equal = np.isclose(times[0], times[1], rtol=1e-6, atol=1e-6)
    differs = ~(equal | np.isnan(times[0]) | np.isnan(times[1]))
    ends = [float(jobs["finish_time"].min()) for jobs in (first, other)]
    early = [(time < end) | np.isnan(end) for time, end in zip(times, ends, strict=True)]
    return pd.Series(differs & (early[0] | early[1]), index=first.index)


def differences(first: RunRectangles, other: RunRectangles) -> pd.DataFrame:
    """Return how the jobs that started in both runs differ from the first run.

    Columns: ``job_id``, ``shift_s`` (start there − start in the first), ``kind``: earlier, later, elsewhere (at the same
    time on other cores) or same.
    """
    mine = first.jobs[["job_id", "start_time"]].merge(
        other.jobs[["job_id", "start_time"]], on="job_id", suffixes=("", "_there")
    )
    mine = mine.dropna()
    shift = (mine["start_time_there"] - mine["start_time"]).to_numpy(dtype=float)
    places = []
    for run in (first, other):
        table = run.rectangles.sort_values(["owner", "first_core"])
        text = table["first_core"].astype(str) + "-" + table["last_core"].astype(str)
        joined = text.groupby(table["owner"]).agg(";".join)
        cores = pd.Series(joined.to_numpy(), index=run.jobs["job_id"].to_numpy()[joined.index])
        places.append(cores.reindex(mine["job_id"]).to_numpy())
    moved = np.where(places[0] != places[1], "elsewhere", "same")
    kind = np.where(shift < 0, "earlier", np.where(shift > 0, "later", moved))
    return pd.DataFrame({"job_id": mine["job_id"].to_numpy(), "shift_s": shift, "kind": kind})


def _add_run(
    figure: go.Figure,
    view: RectanglesInView,
    moved: pd.DataFrame | None,
    place: int,
    run: str,
    classes: ColourClasses,
    how: str,
    axis: TimeAxis,
    options: RunsOptions,
) -> Hover | None:
    """Draw a run; ``moved`` are its differences to the first one, which has none."""
    yaxis = y_axis(place)
    if moved is None:
        hover = None if how == "raster" else hover_of(view, axis)
        draw_rows(figure, view, classes, how, axis, hover, yaxis=yaxis, labels=options.labels)
        return hover
    found = moved.set_index("job_id").reindex(view.jobs["job_id"])
    kind = found["kind"].fillna("").tolist()
    by = axis.durations(np.abs(found["shift_s"].to_numpy(dtype=float)))
    said = {
        "": "it did not run in the first run",
        "same": "as in the first run",
        "elsewhere": "at the same time, on other cores than in the first run",
    }
    remarks = [
        said.get(each) or f"{amount} {each} than in the first run" for each, amount in zip(kind, by, strict=True)
    ]
    hover = None if how == "raster" else hover_of(view, axis, remarks)
    draw_rows(figure, view, classes, how, axis, hover, yaxis=yaxis, legend=False, labels=options.labels)
    if how != "raster":
        figure.add_traces(_marks(view, found, yaxis, place, run, options.most_marks))
    return hover


def _marks(view: RectanglesInView, found: pd.DataFrame, yaxis: str, place: int, run: str, most: int) -> list[Any]:
    shown = view.rectangles.drop_duplicates("owner").set_index("owner")
    kind, shift = found["kind"].to_numpy(), np.abs(found["shift_s"].to_numpy(dtype=float))
    largest = set(np.argsort(-np.nan_to_num(shift), kind="stable")[:most].tolist())
    traces = []
    for name, colour, symbol in _MARKS:
        owners = np.flatnonzero(kind == name)
        if not len(owners):
            continue
        boxes = shown.loc[[owner for owner in owners.tolist() if owner in largest]]
        traces.append(
            go.Scatter(
                x=boxes["start"].to_numpy(),
                y=((boxes["low"] + boxes["high"]) / 2).to_numpy(),
                mode="markers",
                marker={
                    "symbol": symbol,
                    "size": 9 if name != "elsewhere" else 6,
                    "color": colour,
                    "line": {"width": 1, "color": "#FFFFFF"},
                },
                hoverinfo="skip",
                # Jobs that merely moved can be nearly all of them; a click on the legend shows them.
                visible="legendonly" if name == "elsewhere" and len(owners) > MOST_MOVED else True,
                name=plotly_text([f"{shortened(run, 16)}: {number(len(owners))} {name}"])[0],
                legendgroup=f"differences {place} {name}",
                legendrank=1_800 + place,
                meta="differences",
                yaxis=yaxis,
            )
        )
    return traces


def _lines(
    name: str,
    views: Mapping[str, RectanglesInView],
    yaxis: str,
    legend: bool,
    means: list[tuple[str, RectanglesInView, str]],
) -> list[Any]:
    """Return the first curve of a panel for every run, as lines without filling; ``legend`` lists them.

    ``means`` receives the curves that are means: panel, view and id.
    """
    lines = []
    short = shortened_apart(list(views), 22)
    for view, (run, colour, line), called in zip(views.values(), run_styles(list(views)), short, strict=True):
        curve, *others = panel_curves([name], view)[name] or [None]
        if curve is None:
            continue
        mean = f"{MEAN}{curve.name.partition(MEAN)[2]}" if MEAN in curve.name else ""
        style_ = curve.line.to_plotly_json() | line | {"width": 1.4}
        group = {"yaxis": yaxis, "legendgroup": f"curves of {run}", "legendrank": 1_600}
        hover = f"{run}: {curve.hovertemplate}"
        said = {"name": plotly_text([called])[0] + mean, "showlegend": legend}
        lines.append(curve.update(fill="none", line=style_, hovertemplate=hover, **said, **group))
        bands = [trace for trace in others if trace.meta == BAND]
        lines += [trace.update(line_color=colour, fillcolor=transparent(colour, 0.2), **group) for trace in bands]
        caps = [trace for trace in others if trace.legendgroup == CAP]
        if CAP not in [trace.legendgroup for trace in lines]:  # the first run's: all have the line once
            lines += [trace.update(yaxis=yaxis) for trace in caps]
        if mean:
            uid = f"{name} of {run}"
            for trace in (curve, *bands):
                trace.uid = uid + trace.uid.removeprefix(name)
            means.append((name, view, uid))
    return lines


def _note(name: str, view: RectanglesInView, how: str) -> str:
    text = f"{name}: {counted(len(view.jobs), 'job')}"
    if view.outside:
        text += f", {number(view.outside)} outside this window"
    return text + (f", {raster_note(view)}" if how == "raster" else "")
