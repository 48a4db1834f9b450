"""What is drawn of a run that goes on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from analysis.figures.time_axis import start_date_of
from analysis.gantt_chart.gantt import gantt
from cluster_sim.amounts import at_time
from cluster_sim.records.result import Result


def so_far(result: Result, now: float, options: Mapping[str, Any]) -> go.Figure:
    """Draw what has happened up to ``now`` (s): the Gantt chart, whose caption says how far the run is."""
    figure = gantt(result, **options)
    figure.layout.title.subtitle.text = state_of(result, now)
    return figure


def state_of(result: Result, now: float) -> str:
    """Return the time, and how many jobs are over, run and wait."""
    jobs = result.jobs
    over = jobs["state"] != "unfinished"
    started = jobs["start_time"].notna()
    running = int((started & ~over).sum())
    waiting = int((~started & ~over & (jobs["submit_time"] <= now)).sum())
    counts = f"{int(over.sum()):,} of {len(jobs):,} jobs over, {running:,} running, {waiting:,} waiting"
    return f"{at_time(now, start_date_of(result))} · {counts}"
