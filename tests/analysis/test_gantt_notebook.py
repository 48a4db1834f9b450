"""The chart of a notebook: every zoom draws the jobs that are in view."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

from analysis.gantt_chart.notebook import PALE, GanttFilter, GanttZoom, gantt_filter, gantt_widget
from cluster_sim import Platform, Result, Simulation, Workload
from cluster_sim.errors import InputError, SpecError
from tests.support.rows import workload_of

from .conftest import FakeResult

Many = Callable[[int, int], FakeResult]


def kinds(zoom: GanttZoom) -> set[str]:
    """How the jobs are drawn: types of the traces on the rows."""
    return {trace.type for trace in zoom.figure.data if trace.type == "heatmap" or trace.meta == "jobs"}


def drawn(zoom: GanttZoom) -> set[str]:
    """The jobs that have a bar."""
    return {str(row[0]) for trace in zoom.figure.data if trace.meta == "jobs" for row in trace.customdata}


def test_a_zoom_draws_the_jobs_in_view(many: Many) -> None:
    """The whole of 5,100 jobs is outlines; a window of 20 s is bars of the jobs in it; the whole is outlines again."""
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


def test_a_condition_leaves_other_jobs_pale() -> None:
    """Chosen jobs keep their colours, and a line sums them up. The window stays. A slip is told in pandas' words."""
    result = story()
    chart = GanttFilter(result, colour_by="job", time_unit="s")
    chart.zoom.zoomed(None, [10.0, 170.0])
    chart.show("requested_cores > 2", "job")
    pale = {str(row[0]) for trace in chart.zoom.figure.data if _is_pale(trace) for row in trace.customdata}
    assert pale == {"small"}
    assert chart.zoom.figure.layout.xaxis.range == (10.0, 170.0)
    hours = (6 * 100 + 8 * 50) / 3600
    assert chart.told.startswith(f"2 of 3 jobs · {hours:.4g} core-hours · mean wait 45 s · ")
    chart.show("requested_cores >", "user")
    assert chart.told.startswith("expected a condition such as wait_time > 3600")
    assert (chart.condition, chart.colour_by) == ("requested_cores > 2", "job")
    chart.show("job_id == 'nobody'", "job")
    assert chart.told == "none of 3 jobs"
    chart.show(" ", "job")
    assert not any(map(_is_pale, chart.zoom.figure.data))


def _is_pale(trace: Any) -> bool:
    return bool(trace.meta == "jobs" and trace.marker.color == PALE)


def test_the_filter_is_a_widget() -> None:
    """What is typed is drawn; without anywidget one line says what is missing."""
    if find_spec("anywidget") is None:
        with pytest.raises(InputError, match=r"gantt_filter.*cluster-sim\[notebook\]"):
            gantt_filter(story())
        return
    fields, told, figure = gantt_filter(story(), time_unit="s").children
    fields.children[0].value = "requested_cores > 2"
    assert told.value.startswith("2 of 3 jobs")
    assert any(map(_is_pale, figure.data))


def test_a_result_shows_itself() -> None:
    """A still chart and the metrics that matter; names are escaped; a run without jobs has no chart."""
    result = story()
    text = result._repr_html_()
    assert text.count("<path") >= 3
    assert "mean wait" in text
    assert "<script" not in text
    result.meta["workload"] = "<b>log</b>"
    assert "<b>log" not in result._repr_html_()
    empty = Simulation(result.platform, Workload.read("lublin:jobs=3,nodes=4").first(0), "fcfs").run()
    assert "<path" not in empty._repr_html_()


def story() -> Result:
    """8 cores; solver takes 6 for 100 s, wide wants all from 10 s on, small wants 2 from 20 s on."""
    rows = [(0.0, 6, 100.0, 120.0), (10.0, 8, 50.0, 60.0), (20.0, 2, 30.0, 30.0)]
    workload = workload_of(*rows, job_id=["solver", "wide", "small"])
    return Simulation(Platform.homogeneous(nodes=1, cores=8), workload, "fcfs").run(warn=False)
