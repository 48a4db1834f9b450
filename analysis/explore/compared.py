"""Two runs of the page beside each other: what was chosen otherwise, and what moved."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dash import html

from analysis.explore.panels import HEADLINES, KEPT, NOW, job_link, metric
from analysis.gantt_chart.runs_chart import differences, gantt_runs
from analysis.tables.run_metrics import VERSUS, comparison_table
from analysis.tables.run_metrics import percent as percent_text
from analysis.tables.wording import label_of, unit_of
from cluster_sim.amounts import duration, number
from cluster_sim.errors import counted

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from analysis.explore.runs import Choices, Run

_KINDS = {
    "earlier": "earlier than in the kept run",
    "later": "later",
    "elsewhere": "at the same time on other cores",
    "same": "as before",
}
SHOWN_JOBS = 5
"""Jobs that are named: of those that start earlier, and of those that start later."""


def told_apart(kept: Choices, now: Choices) -> list[str]:
    """Say what was chosen otherwise, each in words; an empty list for the same run."""
    before, after = asdict(kept), asdict(now)
    found = []
    for name, value in before.items():
        if name == "changes":
            if kept.changes != now.changes:
                found.append(f"changes to the jobs: {len(kept.changes)} → {len(now.changes)}")
        elif value != after[name]:
            found.append(f"{name.replace('_', ' ')}: {_said(value)} → {_said(after[name])}")
    return found


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value == "" else f"{value:g}" if isinstance(value, float) else str(value)


def both(kept: Run, now: Run, colour_by: str, window: tuple[float, float] | None) -> go.Figure:
    """Draw the kept run above the one of now, on one axis; marks stand at jobs of now that start at another time."""
    runs = {KEPT: kept.result, NOW: now.result}
    return gantt_runs(runs, colour_by, x_range=window, time_unit=now.axis.unit, other_jobs=True)


def moved(kept: Run, now: Run, apart: list[str]) -> list[Any]:
    """Show what was chosen otherwise, both runs' metrics, and the jobs that start at a much other time."""
    found = differences(kept.rectangles, now.rectangles)
    counts = found["kind"].value_counts().reindex(["earlier", "later", "elsewhere", "same"], fill_value=0)
    said = [f"{number(counts[kind])} {words}" for kind, words in _KINDS.items()]
    if not apart:
        cause = "Both are the same run. Choose another scheduler, policy or job, and press Run."
    else:
        several = "" if len(apart) == 1 else ". Several things were changed: what moved may be due to any of them"
        cause = f"Changed, from the kept run to the one of now: {'; '.join(apart)}{several}."
    metrics = comparison_table({KEPT: kept.result, NOW: now.result})
    rows = []
    for key in (key for key in ("jobs_completed", *HEADLINES) if key in metrics.index):
        before, after, percent = metrics.loc[[key], [KEPT, NOW, NOW + VERSUS]].to_numpy(dtype=float)[0].tolist()
        texts = [metric(before, unit_of(key)), metric(after, unit_of(key)), percent_text(percent)]
        rows.append(html.Tr([html.Td(label_of(key)), *(html.Td(text, className="amount") for text in texts)]))
    head = html.Thead(html.Tr([html.Th(name) for name in ("", KEPT, NOW, "difference")]))
    return [
        html.H3("What moved"),
        html.P(cause),
        html.Table([head, html.Tbody(rows)], className="compared"),
        html.P(f"{counted(len(found), 'job')} started in both: {', '.join(said)}."),
        *_jobs(found),
    ]


def _jobs(found: pd.DataFrame) -> list[Any]:
    """Return the jobs that moved furthest, as links to their stories."""
    lines = []
    for kind in ("earlier", "later"):
        of_kind = found[found["kind"] == kind]
        furthest = of_kind.reindex(of_kind["shift_s"].abs().sort_values(ascending=False, kind="stable").index)
        items: list[Any] = []
        for job, shift in zip(furthest["job_id"][:SHOWN_JOBS], furthest["shift_s"], strict=False):
            items += [job_link(str(job)), f" by {duration(abs(shift))}; "]
        if items:
            items[-1] = items[-1].removesuffix("; ") + "."
            lines.append(html.P([f"Furthest {kind}: ", *items]))
    return lines
