"""A step, its queue and its nodes as elements of the page. Dash escapes every text that it is given."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from dash import html

from analysis.tables import comparison_table
from analysis.wording import label_of, number, shortened, unit_of
from cluster_sim.run.shortage import counted, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from analysis.explore.changes import Change
    from analysis.explore.runs import Run
    from analysis.steps import Step

SHOWN_JOBS = 25
"""Rows of the queue that are shown; the rest is counted."""
MOST_CELLS = 240
"""Nodes that get a cell of their own; of more, neighbours share one."""
SHOWN_STEPS = 12
HEADLINES = ("jobs_completed", "makespan_s", "mean_wait_s", "mean_bounded_slowdown", "utilisation", "energy_j")
_MEANING = {"start": "start", "reserve": "promise", "hold": "wait", "reject": "refusal"}
_OFF = {"OFF": "off", "SWITCHING_ON": "booting", "SWITCHING_OFF": "shutting down", "FAILED": "failed"}


def headlines(run: Run) -> list[Any]:
    """The metrics that say most, with their units."""
    table = comparison_table({"run": run.result})
    known = [key for key in HEADLINES if key in table.index]
    summary = run.result.summary()
    return [
        html.Div([html.Span(label_of(key)), html.B(f"{_metric(summary[key])} {unit_of(key)}".strip())]) for key in known
    ]


def _metric(value: Any) -> str:
    return "–" if value is None else number(float(value), 4)


def decision(run: Run, step: Step) -> list[Any]:
    """What was decided, when, and why."""
    return [
        html.P(
            [
                html.Span(_MEANING.get(step.decision, step.decision), className=f"kind {step.decision}"),
                f" at {seconds(step.time)}",
                html.Span(f" · decision {step.number + 1:,} of {len(run.steps):,}", className="soft"),
            ]
        ),
        html.P([step.words(), " ", job_link(step.job_id, "why?")], className="words"),
        html.P(step.reason()),
    ]


def queue(run: Run, step: Step) -> list[Any]:
    """Who waits before the step, for how long, for what, and what was last said of each."""
    table = run.steps.queue(step.number)
    heading = html.H3(f"Queue before it: {counted(len(table), 'job')}, {counted(int(table['cores'].sum()), 'core')}")
    if table.empty:
        return [heading]
    shown = table.head(SHOWN_JOBS)
    said = run.steps.reasons(step.number, shown["job_id"].tolist())
    rows = [
        html.Tr(
            [
                html.Td(job_link(job_id)),
                html.Td(seconds(waited)),
                html.Td(f"{cores:,}"),
                html.Td(seconds(asked) if math.isfinite(asked) else "–"),
                html.Td(_reason(run, step, job_id, waited, said), className="text"),
            ],
            className="now" if job_id == step.job_id else "",
        )
        for job_id, waited, cores, asked in zip(*(shown[name].tolist() for name in shown), strict=True)
    ]
    names = ("job", "waits", "cores", "asks for", "because")
    head = html.Thead(html.Tr([html.Th(name) for name in names]))
    left_out = len(table) - len(shown)
    more = [html.P(f"and {left_out:,} more", className="soft")] if left_out else []
    return [heading, html.Table([head, html.Tbody(rows)]), *more]


def _reason(run: Run, step: Step, job_id: str, waited: float, said: dict[str, str]) -> str:
    if job_id == step.job_id and step.decision in ("start", "reject"):
        return "this decision"
    if job_id in said:
        return said[job_id]
    if waited == 0.0:
        return "just came"
    # The log says nothing of jobs whose only reason is the queue's head; a run without a log says nothing at all, nor
    # does a scheduler that gives no reasons.
    return "behind the head of the queue" if run.steps.tells_of_waiting else "–"


def nodes(run: Run, step: Step) -> list[Any]:
    """What was free before the step: one cell for each node, filled as far as its cores are busy."""
    platform = run.result.platform
    held, states = run.steps.held(step.number), run.steps.states(step.number)
    cores = platform.node_cores
    away = {state: int((states == state).sum()) for state in _OFF}
    usable = ~np.isin(states.astype(str), list(_OFF))
    free = int((cores - held)[usable].sum())
    words = [f"{counted(free, 'core')} free of {platform.core_count:,}"]
    words += [f"{counted(count, 'node')} {_OFF[state]}" for state, count in away.items() if count]
    size = math.ceil(platform.node_count / MOST_CELLS)
    names = platform.node_names()
    cells = [
        _cell(names, held, states, cores, slice(i, min(i + size, platform.node_count)))
        for i in range(0, platform.node_count, size)
    ]
    note = [html.P(f"each cell is {size} nodes", className="soft")] if size > 1 else []
    return [html.H3(f"Nodes before it: {', '.join(words)}"), html.Div(cells, className="nodes"), *note]


def _cell(names: list[str], held: Any, states: Any, cores: Any, part: slice) -> html.Div:
    busy, total = int(held[part].sum()), int(cores[part].sum())
    state = str(states[part][0])
    who = names[part.start] if part.stop - part.start == 1 else f"{names[part.start]} to {names[part.stop - 1]}"
    doing = f", {_OFF[state]}" if state in _OFF else ""
    share = f"{100 * busy / total:.0f}%"
    filled = {} if state in _OFF else {"background": f"linear-gradient(to top, #0072b2 {share}, #e4e8ec {share})"}
    return html.Div(title=f"{who}: {busy:,} of {total:,} cores held{doing}", className=f"cell {state}", style=filled)


def explanation(run: Run, job_id: str) -> list[Any]:
    """What became of a job and why, and the steps about it. Raises InputError for an unknown id."""
    text = run.result.explain(job_id)
    about = run.steps.of_job(job_id)
    links = [
        html.Button(
            f"{_MEANING[run.steps[i].decision]} at {seconds(run.steps.time[i])}",
            id={"kind": "step", "step": i},
            className="link",
        )
        for i in about[-SHOWN_STEPS:]
    ]
    left_out = len(about) - len(links)
    head = f"Decisions about it{f' (the last {SHOWN_STEPS} of {len(about):,})' if left_out else ''}: "
    return [html.Pre(text), html.P([head, *links]) if links else html.P("No decision was made about it.")]


def changes(run: Run, made: Sequence[Change]) -> list[Any]:
    """What was changed in the workload, what became of each job of one's own, and a button to undo each."""
    if not made:
        return []
    rows = [
        html.Tr(
            [
                html.Td(shortened(change.job_id, 24) if change.cancel else job_link(change.job_id)),
                html.Td(_change(change), className="text"),
                html.Td("–" if change.cancel else _outcome(run, change.job_id), className="text"),
                html.Td(html.Button("undo", id={"kind": "undo", "change": i}, className="link")),
            ]
        )
        for i, change in enumerate(made)
    ]
    head = html.Thead(html.Tr([html.Th(name) for name in ("job", "change", "outcome", "")]))
    return [html.Table([head, html.Tbody(rows)])]


def _change(change: Change) -> str:
    if change.cancel:
        return "taken out of the workload"
    asked = "names no time" if change.requested_time is None else f"asks for {seconds(change.requested_time)}"
    user = f" by {change.user}" if change.user else ""
    cores = counted(change.cores, "core")
    return f"submitted{user} at {seconds(change.submit_time)}: {cores}, runs for {seconds(change.run_time)}, {asked}"


def _outcome(run: Run, job_id: str) -> str:
    jobs = run.result.jobs
    job = jobs[jobs["job_id"] == job_id].iloc[0]
    if math.isnan(job["start_time"]):
        return str(job["state"])
    return f"{job['state']}; waited {seconds(job['wait_time'])}, started at {seconds(job['start_time'])}"


def job_link(job_id: str, text: str = "") -> html.Button:
    """A job's id that shows what became of it when it is clicked."""
    return html.Button(text or shortened(job_id, 24), id={"kind": "job", "job": job_id, "as": text}, className="link")
