"""A run's metrics, the story of a job and what was changed as elements of the page. Dash escapes every text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dash import html

from analysis.tables.run_metrics import comparison_table
from analysis.tables.wording import label_of, shortened, unit_of
from cluster_sim.amounts import NOTHING, amount, in_seconds
from cluster_sim.errors import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.explore.changes import Change
    from analysis.explore.runs import Run

SHOWN_STEPS = 12
HEADLINES = ("jobs_completed", "makespan_s", "mean_wait_s", "mean_bounded_slowdown", "utilisation", "energy_j")
_MEANING = {"start": "start", "reserve": "promise", "hold": "wait", "block": "wait", "reject": "refusal"}


def headlines(run: Run) -> list[Any]:
    """Return the metrics that say most, with their units."""
    table = comparison_table({"run": run.result})
    known = [key for key in HEADLINES if key in table.index]
    summary = run.result.summary()
    return [html.Div([html.Span(label_of(key)), html.B(metric(summary[key], unit_of(key)))]) for key in known]


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
            f"{_MEANING[steps.decisions[i]]} at {in_seconds(steps.time[i])}",
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
    asked = "names no time" if change.requested_time is None else f"asks for {in_seconds(change.requested_time)}"
    user = f" by {change.user}" if change.user else ""
    size = f"{counted(change.cores, 'core')}, runs for {in_seconds(change.run_time)}"
    text = f"submitted{user} at {in_seconds(change.submit_time)}: {size}, {asked}"
    jobs = run.result.jobs
    job = jobs[jobs["job_id"] == change.job_id].iloc[0]
    outcome = str(job["state"])
    if not math.isnan(job["start_time"]):
        outcome += f"; waited {in_seconds(job['wait_time'])}, started at {in_seconds(job['start_time'])}"
    return text, outcome


def job_link(job_id: str) -> html.Button:
    """Return a job's id that shows what became of it when it is clicked."""
    return html.Button(shortened(job_id, 24), id={"kind": "job", "job": job_id}, className="link")
