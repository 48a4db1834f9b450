"""The data that make a page of a Gantt chart a tool: the table of jobs, their rectangles and the choice of colours.

A figure makes them when a page of it is written, which has them in ``layout.meta["tool"]``. The page draws the jobs from
them, for any window, colour and filter (``templates/gantt_*.js``). Texts and colours come from the modules that figures
use: a page and a figure say the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.figures.palette import (
    COMPARED,
    ColourClasses,
    ColourStrategy,
    by_named,
    colour_strategy,
    jointly,
)
from analysis.figures.time_axis import CALENDAR, ELAPSED, TimeAxis
from analysis.gantt_chart.hover import Hover, hover_of
from analysis.gantt_chart.rectangles import RectanglesInView
from analysis.gantt_chart.traces import class_legend, colour_bar
from analysis.tables.wording import plotly_text, shortened
from cluster_sim.engine import latest
from cluster_sim.records.reasons.chain import Predecessors
from cluster_sim.records.result import Result

MOST_CHAINED = 20_000
"""Number of jobs up to which a page knows whom each waited for; ``explain --chain`` tells it for any number."""
MOST_TOLD = 200_000
"""Number of jobs up to which hovers are made beforehand; for more jobs a page shows their row of the table."""
_COLOURINGS = ("wait", "slowdown", "state", "user", "account", "group", "queue", "partition", "qos", "profile",
               "requested_cores", "energy", "speedup", "compared", "job")  # fmt: skip
_COLUMNS = {"wait": "wait_time", "energy": "energy_j", "job": "job_id"}
TEXTS = ("user", "account", "group", "queue", "partition", "qos", "profile", "state", "compared")
"""Columns whose values a page can filter and group by."""
_NUMBERS = ("submit_time", "start_time", "finish_time", "wait_time", "run_time", "requested_time", "requested_cores",
            "slowdown", "energy_j", "shift_s", "core_s", "attempts")  # fmt: skip
_TOLD_ALIKE = ("submit_time", "start_time", "finish_time", "wait_time", "run_time", "requested_time")
_SMALLEST_S, _LONG_S = 3, 1e4  # places of a second that matter in a run of that length


def tool(
    views: Sequence[RectanglesInView],
    hovers: Sequence[Hover | None],
    axis: TimeAxis,
    colour_by: str | ColourStrategy,
    curves: Sequence[dict[str, Any]] = (),
    names: Sequence[str] = (),
    tables: Sequence[pd.DataFrame] = (),
) -> dict[str, Any]:
    """Return the tool of a chart of one run, or of several runs (``names``) above each other.

    Args:
        views: what is in view of each run.
        hovers: the hovers of each run, for the jobs of its view; None where none were made yet.
        axis: the axis that writes times.
        colour_by: the first choice of colours.
        curves: all steps of the curves that show means.
        names: the names of the runs.
        tables: each run's jobs table, with columns that only the tool has; by default the views' tables.
    """
    jobs = list(tables) or [view.run.jobs for view in views]
    rows = [_listed(view, table) for view, table in zip(views, jobs, strict=True)]
    seen = [table.iloc[row] for table, row in zip(jobs, rows, strict=True)]
    return {
        "colourings": list(_colourings(jobs, rows, colour_by)),
        "time": axis.scale(),
        "layers": [
            {
                "name": name,
                "yaxis": f"y{place}" if place > 1 else "y",
                "jobs": _jobs(table),
                "hover": _hover_of(view, hover, table, axis),
                "chains": _chains(view.run.result, row),
                **_rows(view),
            }
            for place, (view, row, table, hover, name) in enumerate(
                zip(views, rows, seen, hovers, names or [""] * len(views), strict=True), start=1
            )
        ],
        "fixed": False,
        "notes": [],
        "curves": list(curves),
    }


def _hover_of(view: RectanglesInView, made: Hover | None, jobs: pd.DataFrame, axis: TimeAxis) -> dict[str, Any] | None:
    """Return the hovers of a view's jobs, the first of ``jobs``; None for very many jobs without a hover."""
    hover = hover_of(view, axis) if made is None and len(view.jobs) <= MOST_TOLD else made
    return None if hover is None else _hover(hover, jobs.iloc[: len(hover.data)], axis)


def row_tool(
    jobs: pd.DataFrame,
    hover: Hover,
    axis: TimeAxis,
    colour_by: str | ColourStrategy,
    names: Sequence[str],
    spans: Mapping[str, np.ndarray],
) -> dict[str, Any]:
    """Return the tool of a chart with a row per job; ``spans`` are ``owner``, ``start`` and ``end`` of its bars."""
    places = np.arange(len(jobs) + 1)
    rectangles = {**spans, "first_core": spans["owner"], "last_core": spans["owner"]}
    rows = {"rectangles": rectangles, "edge": places - 0.5, "first": places, "nodes": plotly_text(names)}
    layer = {"name": "", "yaxis": "y", "by_job": True, "jobs": _jobs(jobs), "hover": _hover(hover, jobs, axis), **rows}
    colourings = list(_colourings([jobs], [places[:-1]], colour_by))[:1]
    return {"colourings": colourings, "time": axis.scale(), "layers": [layer], "fixed": True}


def _listed(view: RectanglesInView, jobs: pd.DataFrame) -> np.ndarray:
    """Return the rows of ``jobs`` that the table lists: the jobs in view, then jobs that never started."""
    never = jobs["start_time"].isna().to_numpy(copy=True)
    if view.part:
        submit = jobs["submit_time"].to_numpy(dtype=float)
        never &= (submit >= view.canvas.start) & (submit <= view.canvas.end)
    never[view.position] = False
    return np.concatenate([view.position, np.flatnonzero(never)])


def _colourings(
    tables: Sequence[pd.DataFrame], rows: Sequence[np.ndarray], chosen: str | ColourStrategy
) -> Iterator[dict[str, Any]]:
    """Yield the ``chosen`` colouring, and the others by columns in which these jobs differ."""
    names: list[str | ColourStrategy] = [chosen]
    for other in _COLOURINGS:
        column = _COLUMNS.get(other, other)
        if other == chosen or column not in tables[-1]:
            continue
        values = tables[-1][column].dropna()
        if len(values) > 1 and (values != values.iloc[0]).any():
            names.append(other)
    first: list[ColourClasses] = []
    for name in names:
        strategy = by_named("compared", COMPARED) if name == "compared" else colour_strategy(name)
        classes = jointly(strategy, tables)
        if first and classes[0].names == first[0].names and classes[0].title == first[0].title:
            continue  # what the first choice has found out to mean most
        first = first or classes
        few = np.min_scalar_type(max(len(classes[0].names), 1))
        legend: list[Any] = [colour_bar(classes[0])] if classes[0].edges else []
        legend += class_legend(classes[0])
        yield {
            "name": name if isinstance(name, str) else classes[0].title or "as given",
            "title": classes[0].title,
            "names": [shortened(each, 40) for each in classes[0].names],
            "colours": list(classes[0].colours),
            "legend": [trace.to_plotly_json() for trace in legend],
            "later": {"codes": [each.code[row].astype(few) for each, row in zip(classes, rows, strict=True)]},
        }


def compared(tables: Sequence[pd.DataFrame], differences: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """Return the jobs tables of several runs, with each job's difference from the first run.

    ``differences`` are of the second run and the following ones. If there are two runs, the first one's jobs have
    the same differences, so that a page marks them in both.
    """
    others = [_with(table, found) for table, found in zip(tables[1:], differences, strict=True)]
    return [_with(tables[0], differences[0]) if len(tables) == 2 else tables[0], *others]


def _with(jobs: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    by_job = found.set_index("job_id").reindex(jobs["job_id"])
    return jobs.assign(compared=by_job["kind"].fillna("").to_numpy(), shift_s=by_job["shift_s"].to_numpy(dtype=float))


def _jobs(jobs: pd.DataFrame) -> dict[str, Any]:
    """Return the table's columns: numbers, and texts that the page reads when it needs them."""
    texts = [name for name in TEXTS if name in jobs and bool((jobs[name].fillna("").astype(str) != "").any())]
    return {
        "later": {name: _plain(jobs[name].to_numpy(dtype=float)) for name in _NUMBERS if name in jobs},
        "lazily": {name: jobs[name].fillna("").astype(str).to_numpy(dtype=object) for name in ("job_id", *texts)},
        "count": len(jobs),
    }


def _plain(values: np.ndarray) -> dict[str, Any]:
    """Return numbers to the millisecond, and the places of those that are not finite, as a payload cannot hold them."""
    missing = np.flatnonzero(~np.isfinite(values))
    finite = np.nan_to_num(values, posinf=0.0, neginf=0.0)
    places = _SMALLEST_S if np.abs(finite).max(initial=0.0) > _LONG_S else 2 * _SMALLEST_S
    return {"values": np.round(finite, places), "missing": missing}


def _chains(result: Result, rows: np.ndarray) -> dict[str, Any] | None:
    """Return whom the jobs of these rows waited for: steps, each of a job that got cores, and the step before it.

    ``of`` is the last step of each job, or -1 if it did not wait for an end; ``row`` is a place in ``rows``, -1 outside
    them. A page follows the steps back to ``since``, when the job began to wait: its blocking chain.
    """
    if not hasattr(result, "blocking_chain") or not 0 < len(rows) <= MOST_CHAINED:
        return None
    predecessors, place = Predecessors(result), np.full(len(result.jobs), -1)
    place[rows] = np.arange(len(rows))
    last = result.attempts.drop_duplicates("job_id", keep="last").set_index("job_id")
    own = last.reindex(result.jobs["job_id"].iloc[rows])
    times, since = (own[name].to_numpy(dtype=float) for name in ("allocation_time", "queue_time"))
    waited = np.array([time > latest(queued) for time, queued in zip(times.tolist(), since.tolist(), strict=True)])
    known: dict[tuple[int, float], int] = {}
    steps: list[tuple[int, float, int, int]] = []
    for row, time in zip(rows[waited].tolist(), times[waited].tolist(), strict=True):
        key = (row, time)
        while key not in known:
            known[key] = len(steps)
            before = predecessors.of(*key)
            steps.append((int(place[key[0]]), key[1], len(steps) + 1 if before else -1, before.cores if before else 0))
            if before is None:
                break
            key = (before.row, before.start)
            if key in known:
                steps[-1] = (*steps[-1][:2], known[key], before.cores)
    if not any(cores for *_, cores in steps):
        return None
    own_row, start, before_step, cores = zip(*steps, strict=True)
    of = np.full(len(rows), -1)
    of[waited] = [known[key] for key in zip(rows[waited].tolist(), times[waited].tolist(), strict=True)]
    columns = {"of": of, "row": np.array(own_row), "before": np.array(before_step), "cores": np.array(cores)}
    return {"later": columns | {"start": np.round(start, 6), "since": np.round(np.nan_to_num(since), 6)}}


def _rows(view: RectanglesInView) -> dict[str, Any]:
    """Return the rectangles by their cores, and the places of cores on the axis."""
    scale, shown, platform = view.run.scale, view.rectangles, view.run.result.platform
    rectangles: dict[str, Any] = {name: shown[name].to_numpy() for name in ("owner", "first_core", "last_core")}
    rectangles |= {name: np.round(shown[name].to_numpy(dtype=float), 6) for name in ("start", "end")}
    if "said" in shown:
        rectangles["said"] = shown["said"].to_numpy()
    cores = np.diff(scale.node_first_core)
    found = {
        "rectangles": rectangles,
        "edge": np.append(0.0, np.cumsum(cores if scale.unit == "core" else np.ones(len(cores)))) + scale.ends[0],
        "first": scale.node_first_core.astype(np.int64),
        "nodes": plotly_text(platform.node_names(), 18),
    }
    if scale.group is not None:
        names = plotly_text([group.name for group in scale.groups], 18)
        rows = [{"name": name, "folded": group.folded} for name, group in zip(names, scale.groups, strict=True)]
        found["groups"] = {"rows": rows, "of": scale.group.astype(np.int32), "law": scale.law}
    return found


def _hover(hover: Hover, jobs: pd.DataFrame, axis: TimeAxis) -> dict[str, Any]:
    """Return the hovers by column; a time that a page can write from the table is only named."""
    alike = [name for name in _TOLD_ALIKE if name in jobs and axis.unit in (ELAPSED, CALENDAR)]
    same = {
        place: name
        for name, place in hover.columns.items()
        if name in alike and np.isfinite(jobs[name].to_numpy(dtype=float)).all()
    }
    columns = {place: hover.data[:, place] for place in range(hover.data.shape[1]) if place not in same}
    pieces = None if hover.pieces is None else list(hover.pieces)
    waited = None if hover.waited is None else {"lazily": np.array(hover.waited, dtype=object)}
    return {"template": hover.template, "lazily": columns, "same": same, "pieces": pieces, "waited": waited}
