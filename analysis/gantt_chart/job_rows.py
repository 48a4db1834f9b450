"""Schedules with a row per job, grouped by node, and pale waits, as in López (2023), Figs. 4.3 to 4.7."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.figures.figure_style import AXIS, GRID
from analysis.figures.palette import ColourClasses, colour_strategy, darker
from analysis.figures.time_axis import TimeAxis, start_date_of
from analysis.gantt_chart.hover import Hover, job_hover, last_reasons, place_texts, reasons
from analysis.gantt_chart.layout import run_title, style, time_axis_layout
from analysis.gantt_chart.options import JobRowsOptions
from analysis.gantt_chart.rectangles import time_window
from analysis.gantt_chart.still import still
from analysis.gantt_chart.tool import row_tool
from analysis.gantt_chart.traces import MOST_BARS
from analysis.pages.redrawn import JOBS, carry
from analysis.tables.wording import plotly_text, shortened
from cluster_sim.amounts import number
from cluster_sim.errors import InputError
from cluster_sim.machine.core_ranges import by_unit
from cluster_sim.options import with_options
from cluster_sim.records.reasons.spells import Spell
from cluster_sim.records.result import Result

MOST_NAMED = 120
CHARACTER_PX, KEY_PX = 7.5, 60  # of a legend's entry, beside its name
WAIT_OPACITY = 0.3


@with_options(JobRowsOptions)
def gantt_by_job(result: Result, options: JobRowsOptions) -> go.Figure:
    """Draw a row per job, from submission to finish, the wait faded; jobs stand together by the node that ran them.

    A job on several nodes has its row under the first, and its name says how many more there are. Jobs that never
    started come last, waiting to the end of the run. For up to 5,000 jobs; raises InputError for more, of which
    :func:`analysis.gantt` shows any number.
    """
    if len(result.jobs) > MOST_BARS:
        raise InputError("gantt_by_job", f"at most {number(MOST_BARS)} jobs", number(len(result.jobs)))
    strategy = colour_strategy(options.colour_by)
    window = time_window(result)
    axis = TimeAxis.of(options.time_unit, window, options.start_date or start_date_of(result))
    rows = job_rows(result)
    jobs = result.jobs.iloc[rows["job"]].reset_index(drop=True)
    of_job = place_texts(result.core_holds.used_by_job, result.platform, len(jobs))
    places = [of_job[job] for job in rows["job"]]
    why = reasons(result, jobs["job_id"], last_reasons(result, jobs["job_id"]))
    hover = job_hover(jobs, places, why, axis)
    spells = getattr(result, "spells", {})
    figure = go.Figure(_bars(rows, jobs, strategy(result.jobs), hover, window[1], spells))
    inner = max(220.0, min(26.0 * len(rows) + 10, 4_000.0))
    style(figure, inner)
    names = []
    for job_id, nodes in zip(jobs["job_id"], rows["nodes"].tolist(), strict=True):
        more = f" (+{nodes - 1} node{'s' * (nodes > 2)})" if nodes > 1 else ""
        names.append(shortened(str(job_id), 14) + more)
    figure.update_layout(
        title={
            "text": plotly_text([options.title or run_title(result)])[0],
            "x": 0.01,
            "xanchor": "left",
            "subtitle": {
                "text": "pale: from submission to start; a row per job, by node",
                "font": {"size": 12, "color": "#5A6772"},
            },
        },
        xaxis=time_axis_layout(axis, window, "y"),
        yaxis=AXIS
        | {
            "range": [len(rows) - 0.5, -0.5],
            "showgrid": False,
            "automargin": True,
            "tickvals": np.arange(len(rows)) if len(rows) <= MOST_NAMED else None,
            "ticktext": plotly_text(names) if len(rows) <= MOST_NAMED else None,
        },
    )
    _name_groups(figure, rows)
    axis.convert(figure)
    spans = _spans(rows, jobs, window[1], spells)

    def page_data() -> dict[str, Any]:
        found = row_tool(jobs, hover, axis, options.colour_by, names, spans)
        table = pd.DataFrame(spans | {"low": spans["owner"] - 0.36, "high": spans["owner"] + 0.36})
        return found | {"still": still(figure, [table], found, axis)}

    carry(figure, page_data)
    return figure


def job_rows(result: Result) -> pd.DataFrame:
    """Return the rows, top to bottom: ``job`` (row in ``result.jobs``), ``node`` (its first; "" if none), ``nodes``.

    They are sorted by node in platform order, within a node by start and submission.
    """
    jobs, platform = result.jobs, result.platform
    used, node = by_unit(result.core_holds.used_by_job, platform.first_core[platform.first_processor])
    first = np.full(len(jobs), platform.node_count)
    np.minimum.at(first, used.tenant, node)
    pairs = np.unique(np.column_stack([used.tenant, node]), axis=0)
    count = np.bincount(pairs[:, 0], minlength=len(jobs))
    order = np.lexsort((np.arange(len(jobs)), jobs["start_time"].to_numpy(dtype=float), first))
    node_names = np.array([*platform.node_names(), ""], dtype=object)
    return pd.DataFrame({"job": order, "node": node_names[first[order]], "nodes": count[order]})


def _bars(
    rows: pd.DataFrame,
    jobs: pd.DataFrame,
    classes: ColourClasses,
    hover: Hover,
    until: float,
    spells: Mapping[int, Sequence[Spell]],
) -> list[go.Bar]:
    """Return the bars of waits and runs; a job that had cores more than once is drawn in pieces, its ``spells``."""
    submit, start, finish = (jobs[name].to_numpy(dtype=float) for name in ("submit_time", "start_time", "finish_time"))
    begun = np.where(np.isnan(start), until, start)
    code = classes.code[rows["job"]]
    job, end = rows["job"].to_numpy(), np.where(np.isnan(finish), until, finish)
    traces = []

    def bar(row: np.ndarray, begin: np.ndarray, end: np.ndarray, **look: Any) -> go.Bar:
        return go.Bar(base=begin, x=end - begin, y=row, customdata=hover.data[row], **look)

    for position in np.unique(code).tolist():
        ran, waited = (code == position) & ~np.isnan(start), (code == position) & (begun > submit)
        common: dict[str, Any] = {
            "orientation": "h",
            "width": 0.72,
            "hovertemplate": hover.template,
            "name": plotly_text([shortened(classes.names[position], 18)])[0],
            "legendgroup": str(position),
        }
        colour = classes.colours[position]
        pale = {"color": colour, "opacity": WAIT_OPACITY}
        full = {"color": colour, "line": {"width": 1, "color": darker(colour)}}
        waits = common | {"marker": pale, "meta": "waits", "showlegend": False}
        traces.append(bar(np.flatnonzero(waited), submit[waited], begun[waited], **waits))
        gaps = _pieces(np.flatnonzero(ran), job, start, end, spells, between=True)
        if len(gaps[0]):
            traces.append(bar(*gaps, **waits))
        runs = common | {"marker": full, "meta": JOBS, "showlegend": bool(classes.title)}
        traces.append(bar(*_pieces(np.flatnonzero(ran), job, start, end, spells), **runs))
    return traces


def _pieces(
    shown: np.ndarray,
    job: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    spells: Mapping[int, Sequence[Spell]],
    between: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return row, begin and end (s) of each piece of the jobs in these rows, or of the times ``between`` pieces."""
    found: list[tuple[int, float, float]] = []
    for row in shown.tolist():
        own = [(spell.start, spell.end) for spell in spells.get(int(job[row]), ())] or [(start[row], end[row])]
        if between:
            own = [(before[1], after[0]) for before, after in pairwise(own) if before[1] < after[0]]
        found += [(row, *each) for each in own]
    table = np.array(found, np.float64).reshape(-1, 3)
    return table[:, 0].astype(np.int64), table[:, 1], table[:, 2]


def _spans(
    rows: pd.DataFrame, jobs: pd.DataFrame, until: float, spells: Mapping[int, Sequence[Spell]]
) -> dict[str, np.ndarray]:
    """Return the pieces of all jobs that ran."""
    start, finish = (jobs[name].to_numpy(dtype=float) for name in ("start_time", "finish_time"))
    end = np.where(np.isnan(finish), until, finish)
    row, begin, stop = _pieces(np.flatnonzero(~np.isnan(start)), rows["job"].to_numpy(), start, end, spells)
    return {"owner": row, "start": begin, "end": stop}


def _name_groups(figure: go.Figure, rows: pd.DataFrame) -> None:
    """Draw lines between the nodes' groups, and the nodes' names and the legend at the right, with room for both."""
    node = rows["node"].to_numpy()
    begins = np.flatnonzero(np.append(True, node[1:] != node[:-1])) if len(node) else np.zeros(0, dtype=np.int64)
    groups = pairwise([*begins.tolist(), len(node)]) if len(begins) <= MOST_NAMED else ()
    for first, stop in groups:
        if first:
            figure.add_hline(y=first - 0.5, line={"color": GRID, "width": 1.5})
        figure.add_annotation(
            text=plotly_text([shortened(node[first] or "never started", 22)])[0],
            x=1.005,
            xref="paper",
            xanchor="left",
            y=(first + stop - 1) / 2,
            showarrow=False,
        )
    names = [note.text for note in figure.layout.annotations]
    entries = [trace.name for trace in figure.data if trace.showlegend]
    room = 0.0
    for texts, beside in ((names, 16), (entries, KEY_PX)):
        if texts:
            room += beside + CHARACTER_PX * max(len(html.unescape(text)) for text in texts)
    figure.update_layout(margin={"r": max(30, round(room))}, legend={"xref": "container", "x": 1, "xanchor": "right"})
