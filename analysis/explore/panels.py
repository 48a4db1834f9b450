"""A run's metrics, the story of a job and what was changed as elements of the page. Dash escapes every text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dash import html

from analysis.gantt_chart.layout import run_title
from analysis.reports.restarts import cautions_of
from analysis.reports.verdict import compare, run_sentence
from analysis.tables.tiles import Tile
from analysis.tables.wording import label_of, shortened, unit_of
from cluster_sim.amounts import NOTHING, amount, at_time, duration
from cluster_sim.errors import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.explore.changes import Change
    from analysis.explore.runs import Run

SHOWN_STEPS = 12
HEADLINES = ("mean_wait_s", "mean_bounded_slowdown", "utilisation", "makespan_s", "energy_j")
NOW, KEPT = "now", "kept"
_MEANING = {"start": "start", "reserve": "promise", "hold": "wait", "block": "wait", "reject": "refusal"}


def headlines(run: Run, kept: Run | None = None) -> list[Any]:
    """Return what was run, a sentence of it, and the metrics that say most; of two runs what became of each metric."""
    jobs = run.result.jobs
    done = f"{int((jobs['state'] == 'completed').sum()):,} of {len(jobs):,} jobs completed"
    return [
        html.H2(run_title(run.result)),
        html.P(f"{run_sentence(run.result)} {done}.".lstrip(), className="answer"),
        html.Ul([_tile(tile) for tile in _tiles(run, kept)], className="tiles"),
    ]


def _tiles(run: Run, kept: Run | None) -> list[Tile]:
    if kept is not None:
        effects = compare({KEPT: kept.result, NOW: run.result}).effects
        known = {each.metric: each for each in effects if not math.isnan(each.difference)}
        return [Tile.of_effect(known[key]) for key in HEADLINES if key in known]
    summary = run.result.summary()
    return [Tile(label_of(key), metric(summary[key], unit_of(key))) for key in HEADLINES if key in summary]


def _tile(tile: Tile) -> html.Li:
    parts = [html.Span(tile.name), html.B(tile.value), *([html.Small(tile.note)] if tile.note else [])]
    return html.Li(parts, className=tile.kind)


def cautions(run: Run) -> list[Any]:
    """Return what was assumed, left out, and happened, each kind with its heading, to be unfolded."""
    kinds = cautions_of(run.result).by_kind()
    if not kinds:
        return []
    lists = [
        each for title, lines in kinds.items() for each in (html.B(title), html.Ul([html.Li(line) for line in lines]))
    ]
    count = sum(map(len, kinds.values()))
    return [
        html.Details([html.Summary(f"{counted(count, 'caution')}: what was assumed, left out, or happened"), *lists])
    ]


def metric(value: float | None, unit: str) -> str:
    """Return a metric with its unit, or a dash for one that is unknown."""
    return NOTHING if value is None or math.isnan(value) else amount(float(value), unit)


def explanation(run: Run, job_id: str) -> list[Any]:
    """Say what became of a job and why, with the steps about it. Raises InputError for an unknown id."""
    text = run.result.explain(job_id)
    steps = run.frames.steps
    about = steps.of_job(job_id)
    links = [
        html.Button(
            f"{_MEANING[steps.decisions[i]]} at {at_time(steps.time[i])}",
            id={"kind": "step", "step": i},
            className="link",
        )
        for i in about[-SHOWN_STEPS:]
    ]
    left_out = len(about) - len(links)
    head = f"Decisions about it{f' (the last {SHOWN_STEPS} of {len(about):,})' if left_out else ''}: "
    return [html.Pre(text), html.P([head, *links]) if links else html.P("No decision was made about it.")]


def changes(run: Run, made: Sequence[Change]) -> list[Any]:
    """Return a table of what was changed, what became of each job of one's own, and a button to undo each."""
    if not made:
        return []
    rows = []
    for i, change in enumerate(made):
        job, (text, outcome) = job_link(change.job_id), _change_and_outcome(run, change)
        undo = html.Button("undo", id={"kind": "undo", "change": i}, className="link")
        cells = [
            html.Td(shortened(change.job_id, 24) if change.cancel else job),
            html.Td(text, className="text"),
            html.Td(outcome, className="text"),
            html.Td(undo),
        ]
        rows.append(html.Tr(cells))
    head = html.Thead(html.Tr([html.Th(name) for name in ("job", "change", "outcome", "")]))
    return [html.Table([head, html.Tbody(rows)])]


def _change_and_outcome(run: Run, change: Change) -> tuple[str, str]:
    """Say what was changed, and what became of the job."""
    if change.cancel:
        return "taken out of the workload", "–"
    asked = "names no time" if change.requested_time is None else f"asks for {duration(change.requested_time)}"
    user = f" by {change.user}" if change.user else ""
    size = f"{counted(change.cores, 'core')}, runs for {duration(change.run_time)}"
    text = f"submitted{user} at {at_time(change.submit_time)}: {size}, {asked}"
    jobs = run.result.jobs
    job = jobs[jobs["job_id"] == change.job_id].iloc[0]
    outcome = str(job["state"])
    if not math.isnan(job["start_time"]):
        outcome += f"; waited {duration(job['wait_time'])}, started at {at_time(job['start_time'])}"
    return text, outcome


def job_link(job_id: str) -> html.Button:
    """Return a job's id that shows what became of it when it is clicked."""
    return html.Button(shortened(job_id, 24), id={"kind": "job", "job": job_id}, className="link")
