"""Answers to clicks: functions of the desk and of what the page holds. ``app`` wires them to the page.

``given`` is what the page keeps in its store: the choices of its run, as :meth:`Choices.plain` makes them.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from dash import Patch, no_update

from analysis.explore import compared, panels
from analysis.explore.changes import Change, new_id
from analysis.explore.runs import Choices, ExploreSession, Run
from analysis.explore.scenario import FILE_NAME, Scenario
from analysis.stepping.stepping import MOST_FRAMES
from cluster_sim.errors import ClusterSimError, InputError

Given = Mapping[str, Any] | None
View = Mapping[str, Any] | None
"""Part of the run in view: ``range`` in s (None: the whole run), and ``turn``, which counts how often it was chosen."""
CURSOR = "cursor"
MOST_ABOVE = 3
"""Entries of a legend that fit above the chart."""


def start(desk: ExploreSession, given: Mapping[str, Any], kept: Given = None) -> tuple[Any, str]:
    """Answer the Run button: return the choices to keep, if there is a run of them, and what is wrong with them.

    Changes among the choices ``kept`` stay as long as the jobs are the same.
    """
    try:
        wanted, before = Choices.of(given), Choices.of(kept or given)
        same_jobs = wanted.same_jobs(before)
        wanted = replace(wanted, changes=before.changes if same_jobs else ())
        desk.run(wanted.plain())
        left = "" if same_jobs or not before.changes else "The jobs are others: changes to those before are undone."
        return wanted.plain(), left
    except ClusterSimError as error:
        return no_update, str(error)


def submitted(desk: ExploreSession, given: Given, step: int, fields: Sequence[Any]) -> tuple[Any, str]:
    """Answer the button that submits a job of one's own.

    ``fields`` are submit time (s, None: now), cores, run time, request and user. Returns the choices to keep, with the
    time from which to go on, and what is wrong.
    """
    try:
        run, choices = desk.run(given), Choices.of(given or {})
        submit, *rest = fields
        at = float(run.frames.time[_within(run, step)]) if submit in (None, "") else submit
        used_ids = [*run.result.jobs["job_id"], *(change.job_id for change in choices.changes)]
        change = Change.submission(new_id(used_ids), at, *rest)
        return _with(desk, choices, (*choices.changes, change), change.submit_time)
    except ClusterSimError as error:
        return no_update, str(error)


def cancelled(desk: ExploreSession, given: Given, job_id: str | None) -> tuple[Any, str]:
    """Answer the button that takes a job out of the workload. For a job of one's own it undoes the submission."""
    try:
        run, choices = desk.run(given), Choices.of(given or {})
        job_id = _text(job_id)
        change = Change.of({"cancel": True, "job_id": job_id})
        jobs = run.result.jobs
        times = jobs.loc[jobs["job_id"] == job_id, "submit_time"].tolist()
        if not times:
            raise InputError("cancel, job", "the id of a job of this workload", job_id)
        at = times[0] if math.isfinite(times[0]) else 0.0  # a job that was never submitted follows others
        others = tuple(each for each in choices.changes if each.job_id != job_id)
        own = len(others) < len(choices.changes)
        return _with(desk, choices, others if own else (*others, change), at)
    except ClusterSimError as error:
        return no_update, str(error)


def undone(desk: ExploreSession, given: Given, number: int) -> tuple[Any, str]:
    """Answer the button that undoes a change."""
    try:
        choices = Choices.of(given or {})
        if type(number) is not int or not 0 <= number < len(choices.changes):
            raise InputError("undo", "a change that is there", number)
        change = choices.changes[number]
        return _with(desk, choices, choices.changes[:number] + choices.changes[number + 1 :], change.submit_time)
    except ClusterSimError as error:
        return no_update, str(error)


def _with(desk: ExploreSession, choices: Choices, changes: tuple[Change, ...], at: float) -> tuple[Any, str]:
    """Return the choices with other changes, once they have been run, and the time (s) from which the page goes on."""
    wanted = replace(choices, changes=changes).plain()
    desk.run(wanted)
    return wanted | {"at": at}, ""


def changes(desk: ExploreSession, given: Given) -> list[Any]:
    """Return what was changed, and what became of it."""
    return [] if desk.saved is not None else panels.changes(desk.run(given), Choices.of(given or {}).changes)


def headlines(desk: ExploreSession, given: Given, beside: Given) -> list[Any]:
    """Return a run in a sentence and its metrics, against those of the kept run if there is one."""
    try:
        return panels.headlines(desk.run(given), desk.run(beside) if beside else None)
    except ClusterSimError:
        return []


def opened(desk: ExploreSession, given: Given) -> tuple[list[Any], int, Any]:
    """Return a new run's warnings and cautions, the step to show, and no window."""
    try:
        run = desk.run(given)
    except ClusterSimError as error:
        return [str(error)], 0, None
    warned: list[Any] = [f"Warning: {text}. " for text in run.warned]
    if not run.frames.logged:
        warned.append("This run kept no log of decisions (--explain): its steps are its starts, without reasons.")
    at = _number((given or {}).get("at"))  # when a change takes effect
    step = 0 if at is None else _within(run, int(np.searchsorted(run.frames.time, at)))
    return [*warned, *panels.cautions(run)], step, None


def chart(desk: ExploreSession, given: Given, colour_by: str, view: View, step: int, beside: Given = None) -> Any:
    """Return the chart of the run, or of the window in view, with the step marked; another run stands above it.

    Raises InputError, as all below do.
    """
    run = desk.run(given)
    window = window_in(view)
    if beside:
        figure = compared.both(desk.run(beside), run, _column(colour_by), window)
    else:
        figure = run.figure(_column(colour_by), window)
    # Whatever is zoomed by hand stays zoomed until the chart is of another run or window.
    figure.update_layout(uirevision=str((given, view, beside)), margin={"l": 110})
    # A short legend fits where the heading leaves room: the chart gets its column.
    entries = [trace for trace in figure.data if trace.showlegend]
    has_scale = any(
        trace.type == "heatmap" or (trace.type == "scatter" and trace.marker.showscale) for trace in figure.data
    )
    if len(entries) <= MOST_ABOVE and not has_scale:
        figure.update_layout(
            margin={"r": 20}, legend={"orientation": "h", "x": 1, "xanchor": "right", "y": 1.005, "yanchor": "bottom"}
        )
    figure.layout.shapes = (cursor(run, step), *figure.layout.shapes)
    return figure


def kept(given: Given, beside: Given) -> Any:
    """Answer the button that keeps the run to compare others with, or lets go of it: return its choices, or None."""
    return None if beside else Choices.of(given or {}).plain()


def moved(desk: ExploreSession, given: Given, beside: Given) -> list[Any]:
    """Say what was chosen otherwise than in the kept run, and what that moved."""
    if not beside:
        return []
    apart = compared.told_apart(Choices.of(beside), Choices.of(given or {}))
    return compared.moved(desk.run(beside), desk.run(given), apart)


def saved_scenario(given: Given, beside: Given) -> dict[str, Any]:
    """Answer the button that saves what was chosen: return a file for the browser to keep."""
    scenario = Scenario(Choices.of(given or {}), Choices.of(beside) if beside else None)
    return {"content": scenario.text(), "filename": FILE_NAME, "type": "application/json"}


def opened_scenario(desk: ExploreSession, content: Any, name: Any) -> tuple[Any, Any, str]:
    """Answer the button that opens such a file: return its choices, those of the kept run, and what is wrong."""
    return _opened(desk, lambda: Scenario.uploaded(content, name))


def address(given: Given, beside: Given) -> str | None:
    """Return what stands behind the # of the page's address while it shows these runs; None for no choices."""
    try:
        return Scenario(Choices.of(given or {}), Choices.of(beside) if beside else None).address()
    except ClusterSimError:
        return None


def opened_address(desk: ExploreSession, text: Any, given: Given, beside: Given) -> tuple[Any, Any, str]:
    """Answer an address that the page is opened with, as :func:`opened_scenario`: the one that it shows changes nothing."""
    if not _text(text).removeprefix("#") or _text(text).removeprefix("#") == address(given, beside):
        return no_update, no_update, ""
    return _opened(desk, lambda: Scenario.of_address(text))


def _opened(desk: ExploreSession, read: Callable[[], Scenario]) -> tuple[Any, Any, str]:
    try:
        scenario = read()
        beside = None if scenario.kept is None else scenario.kept.plain()
        for each in filter(None, (scenario.now.plain(), beside)):
            desk.run(each)
        return scenario.now.plain(), beside, ""
    except ClusterSimError as error:
        return no_update, no_update, str(error)


def _column(colour_by: Any) -> str:
    if not isinstance(colour_by, str):
        raise InputError("colour by", "the name of a column", colour_by)
    return colour_by


def moved_cursor(desk: ExploreSession, given: Given, step: int) -> Any:
    """Move the mark, the chart's first shape, to another step: only that travels."""
    patch = Patch()
    patch["layout"]["shapes"][0] = cursor(desk.run(given), step)
    return patch


def cursor(run: Run, step: int) -> dict[str, Any]:
    """Return a line through all panels at the time of a step."""
    at = float(run.axis.places(run.frames.time[_within(run, step)]))
    line = {"color": "#B3261E", "width": 1.5}
    return {
        "type": "line",
        "name": CURSOR,
        "xref": "x",
        "yref": "paper",
        "x0": at,
        "x1": at,
        "y0": 0,
        "y1": 1,
        "line": line,
    }


def window_in(view: View) -> tuple[float, float] | None:
    """Return the window (s) that is drawn; None: the whole run."""
    held = view.get("range") if isinstance(view, Mapping) else None
    low, high = map(_number, held) if isinstance(held, list | tuple) and len(held) == 2 else (None, None)
    return None if low is None or high is None or not low < high else (low, high)


def zoomed(desk: ExploreSession, given: Given, relayout: Mapping[str, Any] | None, view: View) -> Any:
    """Return the window to draw anew after a zoom in time, with its jobs and ticks; else no_update."""
    if not isinstance(relayout, Mapping):
        return no_update
    run = desk.run(given)
    if relayout.get("xaxis.autorange"):
        return no_update if window_in(view) is None else whole(view)
    low, high = _number(relayout.get("xaxis.range[0]")), _number(relayout.get("xaxis.range[1]"))
    if low is None or high is None or not 0 < high - low < math.inf:
        return no_update
    return {"range": [low * run.axis.seconds, high * run.axis.seconds], "turn": _turn(view) + 1}


def whole(view: View) -> dict[str, Any]:
    """Return the view of the whole run. It is drawn anew even if it was drawn: it may have been zoomed by hand."""
    return {"range": None, "turn": _turn(view) + 1}


def _turn(view: View) -> int:
    return int(_number(view.get("turn")) or 0) if isinstance(view, Mapping) else 0


def frames(desk: ExploreSession, given: Given, colour_by: str, wanted: Any) -> dict[str, Any]:
    """Return what the stepper shows: the frame nearest to ``wanted``, among those that are sent together."""
    run = desk.run(given)
    frame = _within(run, wanted)
    low = frame - frame % MOST_FRAMES
    data = run.frames.data(low, min(low + MOST_FRAMES, len(run.frames)), run.classes(_column(colour_by)))
    return data | {"begin": 0, "stop": len(run.frames), "shown": frame}


def clicked_job(run: Run, click: Mapping[str, Any] | None) -> str | None:
    """Return the id of the job whose rectangle was clicked; None for anything else."""
    try:
        said = click["points"][0]["customdata"][0]  # type: ignore[index]
    except (KeyError, IndexError, TypeError):
        return None
    job_id = html.unescape(str(said))
    return job_id if (run.result.jobs["job_id"] == job_id).any() else None


def explained(desk: ExploreSession, given: Given, job_id: str | None) -> list[Any]:
    """Say what became of a job, or that there is none of that name."""
    if not _text(job_id):
        return []
    try:
        return panels.explanation(desk.run(given), _text(job_id))
    except ClusterSimError as error:
        return [str(error)]


def _within(run: Run, step: Any) -> int:
    """Return the nearest frame to that number; the first for what is no number."""
    return int(min(max(_number(step) or 0, 0), len(run.frames) - 1))


def _number(value: Any) -> float | None:
    """Return a number that a page sent; None for anything else, and for numbers beyond all floats."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
