"""The chart of a notebook: every zoom draws the jobs that are in view."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import pytest

from analysis.gantt_chart.notebook import GanttZoom, gantt_widget
from cluster_sim.errors import InputError, SpecError

from .conftest import FakeResult

Many = Callable[[int, int], FakeResult]


def kinds(zoom: GanttZoom) -> set[str]:
    """How the jobs are drawn: types of the traces on the rows."""
    return {trace.type for trace in zoom.figure.data if trace.type == "heatmap" or trace.meta == "jobs"}


def drawn(zoom: GanttZoom) -> set[str]:
    """The jobs that have a bar."""
    return {str(row[0]) for trace in zoom.figure.data if trace.meta == "jobs" for row in trace.customdata}


def test_a_zoom_draws_the_jobs_in_view(many: Many) -> None:
    """Of 5,100 jobs side by side the whole is outlines, 20 s of it bars of the jobs that touch them, and back again."""
    run = many(5_100, 51)
    zoom = GanttZoom(run, labels=False)
    assert kinds(zoom) == {"scatter"}
    zoom.zoomed(None, [105.0, 125.0])
    jobs = run.jobs
    inside = jobs[(jobs["finish_time"] >= 105.0) & (jobs["start_time"] <= 125.0)]
    assert kinds(zoom) == {"bar"}
    assert drawn(zoom) == set(inside["job_id"])
    assert zoom.figure.layout.xaxis.range == (105.0, 125.0)
    assert "outside" in zoom.figure.layout.title.subtitle.text
    zoom.zoomed(None, None)
    assert kinds(zoom) == {"scatter"}


def test_the_range_is_in_the_unit_of_the_axis(many: Many) -> None:
    """Minutes 1 to 2 are seconds 60 to 120."""
    zoom = GanttZoom(many(200, 10), time_unit="min")
    zoom.zoomed(None, [1.0, 2.0])
    jobs = zoom.windows.rectangles.jobs
    inside = jobs[(jobs["finish_time"] >= 60.0) & (jobs["start_time"] <= 120.0)]
    assert drawn(zoom) == set(inside["job_id"])


def test_what_a_notebook_cannot_show_is_said(many: Many) -> None:
    """A calendar, a slider and an empty window are refused."""
    run = many(4, 2)
    for options in ({"time_unit": "calendar"}, {"slider": True}):
        with pytest.raises(SpecError, match="notebook"):
            GanttZoom(run, **options)
    with pytest.raises(InputError, match="a start before its end"):
        GanttZoom(run).show(5.0, 5.0)


def test_the_widget_answers_a_zoom_from_the_browser(many: Many) -> None:
    """A FigureWidget whose range is set draws that window; without anywidget one line says what is missing."""
    run = many(60, 3)
    if find_spec("anywidget") is None:
        with pytest.raises(InputError, match=r"cluster-sim\[notebook\]"):
            gantt_widget(run)
        return
    widget = gantt_widget(run, labels=False)
    widget.layout.xaxis.range = [0.0, 5.0]
    jobs = [row for trace in widget.data if trace.meta == "jobs" for row in trace.customdata]
    assert {str(row[0]) for row in jobs} == {"0", "1", "2"}
