"""Colours, patterns, units, windows, promises and the other views of the Gantt chart."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis import GanttWindows, gantt, gantt_by_job, gantt_runs, topology, window, write_gantt
from analysis.figures.palette import SCALE, by_number
from analysis.figures.topology_chart import load_at, states_at
from analysis.gantt_chart.options import PANELS
from analysis.gantt_chart.rectangles import RunRectangles
from analysis.gantt_chart.runs_chart import differences
from analysis.pages.redrawn import carried
from cluster_sim import Platform, Simulation, Workload, make_power_policy, make_scheduler
from cluster_sim.errors import InputError, SpecError
from cluster_sim.platform import PowerTransitions
from tests.support.payloads import figures_in
from tests.support.rows import workload_of

from .conftest import FakeResult, make_result
from .test_gantt import EXPECTED, bars


def a_run(scheduler: str = "easy", explain: bool = False) -> tuple[Workload, object]:
    """Three jobs on eight cores: the wide one is promised 120 s, the small one is backfilled at 20 s by EASY."""
    workload = workload_of(
        (0.0, 6, 100.0, 120.0), (10.0, 8, 50.0, 60.0), (20.0, 2, 30.0, 30.0), job_id=["solver", "wide", "small"]
    )
    platform = Platform.homogeneous(nodes=1, cores=8)
    return workload, Simulation(platform, workload, make_scheduler(scheduler), explain=explain).run()


# ---------------------------------------------------------------- colours and patterns


def test_numbers_are_shaded_in_steps_with_a_colour_bar(small: FakeResult) -> None:
    """A column of numbers: pale for the least, dark for the most, a bar with the steps' edges and no legend."""
    figure = gantt(small, colour_by="requested_cores", labels=False)
    colours = {row[0]: trace.marker.color for trace in figure.data if trace.meta == "jobs" for row in trace.customdata}
    assert colours == {"a": SCALE[4], "b": SCALE[7], "c": SCALE[0]}
    bar = next(trace.marker.colorbar for trace in figure.data if trace.type == "scatter" and trace.marker.showscale)
    assert (bar.title.text, bar.ticktext[0], bar.ticktext[-1]) == ("Requested cores", "1", "4")  # 3 is from 3 to 4
    assert not [trace for trace in figure.data if trace.meta == "jobs" and trace.showlegend]


def test_values_over_many_orders_have_logarithmic_steps() -> None:
    """Energies of 1, 10, 100 and 100,000 J have four shades; a job without a value has another one."""
    classes = by_number("energy_j")(pd.DataFrame({"energy_j": [1.0, 10.0, 100.0, 100_000.0, np.nan]}))
    assert len(set(classes.code.tolist())) == 5
    assert classes.names[classes.code[-1]] == "no Energy"
    assert (classes.title, classes.unit) == ("Energy", "J")


def test_patterns_by_profile(small: FakeResult) -> None:
    """Each profile has its pattern whatever the colour, and the legend says which."""
    figure = gantt(small, pattern_by="profile")
    shapes = {
        row[0]: shape
        for trace in figure.data
        if trace.meta == "jobs"
        for row, shape in zip(trace.customdata, trace.marker.pattern.shape, strict=True)
    }
    assert shapes == {"a": "", "b": "/", "c": ""}
    assert [trace.name for trace in figure.data if str(trace.legendgroup).startswith("Filling")] == ["x", "y"]


def test_patterns_need_bars_and_a_column(small: FakeResult) -> None:
    """Outlines that share a path cannot have patterns of their own."""
    with pytest.raises(SpecError, match="drawing bars"):
        gantt(small, pattern_by="profile", drawing="polygons")
    with pytest.raises(SpecError, match="one of the columns"):
        gantt(small, pattern_by="moon")


def test_speedup_under_contention_by_hand() -> None:
    """A job that takes twice as long as its work alone has a speedup of one half."""
    platform = Platform.homogeneous(nodes=1, cores=2)
    rate = platform.fastest_ops_per_s
    workload = Workload({"job_id": ["a", "b"], "submit_time": [0.0, 0.0], "operations": [10 * rate, 10 * rate],
                         "requested_cores": [1, 1]})  # fmt: skip
    held = [
        ("a", "cluster0.node0", "processor0", 0, 0, 0.0, 20.0),
        ("b", "cluster0.node0", "processor0", 1, 1, 0.0, 10.0),
    ]
    assert RunRectangles.of(make_result(platform, held), "auto", workload).jobs["speedup"].tolist() == pytest.approx(
        [0.5, 1.0]
    )


# ---------------------------------------------------------------- time


@pytest.mark.parametrize(("unit", "seconds"), [("min", 60.0), ("h", 3600.0), ("d", 86400.0)])
def test_units_of_time_move_everything_alike(small: FakeResult, unit: str, seconds: float) -> None:
    """Bars, curves and the axis are in the unit; the hover says it."""
    figure = gantt(small, time_unit=unit)
    spans = [(start * seconds, end * seconds) for _, _, _, start, end in bars(figure)]
    assert np.allclose(spans, [rectangle[3:] for rectangle in EXPECTED])
    curve = next(trace for trace in figure.data if trace.name == "power")
    assert np.allclose(np.asarray(curve.x) * seconds, [0, 10, 20, 30])
    assert f"}} {unit}" in curve.hovertemplate
    assert figure.layout.xaxis.range[1] * seconds == pytest.approx(20.08)


def test_calendar_of_a_start_date(small: FakeResult) -> None:
    """Second 0 stands at the date, in milliseconds since 1970, and hovers tell dates."""
    figure = gantt(small, start_date="2026-03-01T08:00", time_unit="auto")
    zero = datetime.datetime(2026, 3, 1, 8, tzinfo=datetime.UTC).timestamp() * 1e3
    assert [(start - zero, end - zero) for _, _, _, start, end in bars(figure)] == [
        (1e3 * start, 1e3 * end) for _, _, _, start, end in EXPECTED
    ]
    assert figure.layout.xaxis.type == "date"
    assert "2026-03-01 08:00:05" in {
        text for trace in figure.data if trace.meta == "jobs" for text in trace.customdata.ravel()
    }


@pytest.mark.parametrize(
    "option", [{"time_unit": "weeks"}, {"time_unit": "calendar"}, {"start_date": "soon", "time_unit": "calendar"}]
)
def test_times_that_cannot_be(small: FakeResult, option: dict[str, str]) -> None:
    """An unknown unit, a calendar without a date and a date that is none are SpecErrors."""
    with pytest.raises(SpecError):
        gantt(small, **option)


def test_patterns_have_a_legend_on_a_calendar(small: FakeResult) -> None:
    """The entries of the legend have no time that an axis could convert."""
    figure = gantt(small, pattern_by="user", start_date="2026-03-01")
    assert figure.layout.xaxis.type == "date"
    assert any((trace.legendgroup or "").startswith("Filling") for trace in figure.data)


# ---------------------------------------------------------------- panels, slider, promises


def test_panels_are_chosen(small: FakeResult) -> None:
    """Only the curves asked for are there."""
    figure = gantt(small, panels=("busy",))
    assert {trace.name for trace in figure.data} >= {"busy cores", "capacity"}
    assert "power" not in {trace.name for trace in figure.data}
    assert gantt(small, panels=()).layout.yaxis.domain == (0.0, 1.0)
    with pytest.raises(SpecError, match="one of power"):
        gantt(small, panels=("moon",))


def test_queue_panel_counts_pending_jobs() -> None:
    """Two jobs wait from 20 s under FCFS, one from 100 s, when the wide one starts, to 150 s."""
    _, result = a_run("fcfs")
    curve = next(trace for trace in gantt(result).data if trace.name == "pending jobs")
    steps = dict(zip(curve.x.tolist(), curve.y.tolist(), strict=True))
    assert (steps[10.0], steps[20.0], steps[100.0], steps[150.0]) == (1, 2, 1, 0)


def test_power_by_state_has_the_energy_of_the_run() -> None:
    """The stack of states integrates to the run's energy."""
    _, result = a_run()
    traces = [
        trace
        for trace in gantt(result, panels=("power-by-state",)).data
        if trace.type == "scatter" and trace.stackgroup
    ]
    area = sum(float(np.sum(np.asarray(trace.y)[:-1] * np.diff(trace.x))) for trace in traces)
    assert area == pytest.approx(result.summary()["energy_j"], rel=1e-9)


def test_slider_has_the_rows_only(small: FakeResult) -> None:
    """The curves get an axis that follows; nothing overlaps."""
    figure = gantt(small, slider=True)
    assert figure.layout.xaxis.rangeslider.visible
    assert figure.layout.xaxis2.matches == "x"
    assert {trace.xaxis for trace in figure.data if trace.yaxis in (None, "y")} == {None, "x9"}
    domains = [figure.layout[name].domain for name in ("yaxis", "yaxis2", "yaxis3", "yaxis4")]
    assert all(upper[0] > lower[1] for upper, lower in pairwise(domains))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("x_range", 5),
        ("x_range", (None, 3)),
        ("x_range", (1.0, 2.0, 3.0)),
        ("panels", "power"),
        ("panels", None),
        ("colour_by", 3),
        ("start_date", 5),
        ("workload", "log.swf"),
        ("height", 0),
    ],
)
def test_an_impossible_option_is_named(small: FakeResult, option: str, value: object) -> None:
    """Whatever Python gives: one line says which option it is."""
    with pytest.raises(SpecError, match=f"^{option}: expected "):
        gantt(small, **{option: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("options", [{}, {"panels": ()}, {"start_date": "2024-01-01"}, {"x_range": (2.0, 12.0)}])
def test_slider_is_a_copy_of_the_rows_without_ids(small: FakeResult, options: dict[str, object]) -> None:
    """The slider begins and ends where the axes above do, so nothing is masked. Ids stand on another axis."""
    figure = gantt(small, slider=True, **options)
    times, rows, slider = figure.layout.xaxis, figure.layout.yaxis, figure.layout.xaxis.rangeslider
    assert list(slider.range) == list(times.range)
    assert (slider.yaxis.rangemode, list(slider.yaxis.range)) == ("fixed", list(rows.range))
    labels = [trace for trace in figure.data if trace.meta == "labels"]
    assert labels
    assert {trace.xaxis for trace in labels} == {"x9"}
    ids = figure.layout.xaxis9
    assert (ids.matches, ids.overlaying, ids.visible, list(ids.range)) == ("x", "x", False, list(times.range))
    texts = [trace for trace in figure.data if trace.type == "scatter" and trace.mode and "text" in trace.mode]
    assert all(trace.xaxis == "x9" for trace in texts)


def test_promises_of_backfilling_are_outlined() -> None:
    """EASY promised the wide job 120 s, for the 60 s that it asked for; the hover says that it started at 100 s."""
    _, result = a_run(explain=True)
    figure = gantt(result)
    outline = next(trace for trace in figure.data if trace.meta == "reservations")
    assert (np.nanmin(outline.x), np.nanmax(outline.x)) == (120.0, 180.0)
    hover = next(trace for trace in figure.data if trace.legendgroup == "reservations" and trace.customdata is not None)
    assert hover.customdata[0].tolist() == ["wide", "10 s", "120 s", "100 s"]
    assert "reservations" not in {trace.meta for trace in gantt(result, reservations=False).data}


# ---------------------------------------------------------------- windows


def test_a_window_is_exact_where_the_whole_is_a_raster(
    many: Callable[[int, int], FakeResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every job that overlaps the window is there once, at its times; too large a window is refused."""
    monkeypatch.setattr("analysis.gantt_chart.traces.MOST_BARS", 200)
    monkeypatch.setattr("analysis.gantt_chart.traces.MOST_POLYGONS", 300)
    monkeypatch.setattr("analysis.gantt_chart.gantt.MOST_POLYGONS", 300)
    run = many(1_000, 20)
    assert gantt(run).data[0].type == "heatmap"
    inside = run.jobs[(run.jobs["finish_time"] >= 95) & (run.jobs["start_time"] <= 125)]
    found = bars(window(run, 95.0, 125.0))
    assert sorted(name for name, *_ in found) == sorted(inside["job_id"])
    assert {name: (start, end) for name, _, _, start, end in found} == {
        name: pytest.approx(span)
        for name, *span in zip(inside["job_id"], inside["start_time"], inside["finish_time"], strict=True)
    }
    windows = GanttWindows(run)
    assert windows.count(0.0, 1e9) == 1_000
    with pytest.raises(InputError, match="at most 300 rectangles"):
        windows.exact(0.0, 1e9)
    assert windows.figure(0.0, 1e9).data[0].type == "heatmap"
    with pytest.raises(InputError, match="a start before its end"):
        windows.exact(5.0, 5.0)


# ---------------------------------------------------------------- a row per job, several runs


def test_a_row_per_job_grouped_by_node(small: FakeResult) -> None:
    """a and b stand under node0, c under node1; each ran once at its times and waited from 0 s."""
    figure = gantt_by_job(small)
    ran = {row[0]: (y, base, base + x) for trace in figure.data if trace.meta == "jobs"
           for row, y, base, x in zip(trace.customdata, trace.y, trace.base, trace.x, strict=True)}  # fmt: skip
    assert ran == {"a": (0, 0.0, 10.0), "b": (1, 5.0, 20.0), "c": (2, 2.0, 8.0)}
    waits = {row[0]: (base, base + x) for trace in figure.data if trace.meta == "waits"
             for row, base, x in zip(trace.customdata, trace.base, trace.x, strict=True)}  # fmt: skip
    assert waits == {"b": (0.0, 5.0), "c": (0.0, 2.0)}
    assert figure.layout.yaxis.ticktext == ("a", "b (+1 node)", "c")
    assert [note.text for note in figure.layout.annotations] == ["cluster0.node0", "cluster0.node1"]


def test_legend_and_names_of_nodes_have_their_own_places(many: Callable[[int, int], FakeResult]) -> None:
    """A legend of many users stands at the figure's edge, beside the column of names, and both have room."""
    result = many(400, 8)
    result.jobs["user"] = [f"somebody {row % 12}" for row in range(len(result.jobs))]
    layout = gantt_by_job(result, colour_by="user").layout
    legend, names = layout.legend, [note.text for note in layout.annotations]
    assert names
    assert {note.xanchor for note in layout.annotations} == {"left"}
    assert (legend.xref, legend.x, legend.xanchor) == ("container", 1, "right")
    letter = 6.5  # a mean one of this size, px
    assert layout.margin.r > letter * max(map(len, names)) + 40 + letter * len("somebody 11")
    assert gantt_by_job(result, colour_by="job").layout.margin.r < layout.margin.r  # no legend, no room for one


def test_rows_are_for_thousands_of_jobs(many: Callable[[int, int], FakeResult]) -> None:
    """Past that, the chart of resources is named as the one to use."""
    with pytest.raises(InputError, match="at most 5,000"):
        gantt_by_job(many(5_001, 10))


def test_runs_share_an_axis_and_differences_are_marked() -> None:
    """FCFS starts small at 150 s, EASY at 20 s: 130 s earlier; every job is drawn once in each run."""
    first, second = a_run("fcfs")[1], a_run("easy")[1]
    table = differences(RunRectangles.of(first), RunRectangles.of(second)).set_index("job_id")
    assert table.loc["small"].tolist() == [-130.0, "earlier"]
    assert table["kind"].tolist() == ["same", "same", "earlier"]
    figure = gantt_runs({"fcfs": first, "easy": second})
    for axis in (("y", None), ("y2",)):
        ids = [
            row[0] for trace in figure.data if trace.meta == "jobs" and trace.yaxis in axis for row in trace.customdata
        ]
        assert sorted(ids) == ["small", "solver", "wide"]
    mark = next(trace for trace in figure.data if trace.meta == "differences")
    assert (mark.name, list(mark.x), mark.yaxis) == ("easy: 1 earlier", [20.0], "y2")
    said = [
        str(text)
        for trace in figure.data
        if trace.meta == "jobs" and trace.yaxis == "y2"
        for text in trace.customdata.ravel()
    ]
    assert "2 min 10 s earlier than in the first run" in said
    assert {trace.xaxis for trace in figure.data} <= {None, "x"}


def test_what_only_a_later_run_has_is_in_the_legend() -> None:
    """The first run never switches a node off, the second does: its dots and hatches are named, once each."""
    nodes = Platform.homogeneous(nodes=2, cores=1, transitions=PowerTransitions(switch_on_s=2.0, switch_off_s=2.0))
    jobs = {"submit_time": [0.0, 20.0], "requested_cores": [1, 2], "recorded_run_time": [5.0, 5.0], "user": ["u", "v"]}
    runs = {
        policy: Simulation(nodes, Workload(jobs), make_scheduler("fcfs"), make_power_policy(policy)).run()
        for policy in ("always-on", "timeout:1", "timeout:2")
    }
    figure = gantt_runs(runs, colour_by="user", panels=())
    named = [trace.name for trace in figure.data if trace.showlegend and trace.meta != "differences"]
    assert sorted(named) == ["off", "switching off", "switching on", "u", "v"]


def test_core_time_is_what_jobs_had() -> None:
    """Worked out by hand: a job that asks for 2 cores of 4, and may have all, runs on 4 for 50 s: 200 core-seconds."""
    jobs = {
        "submit_time": [0.0],
        "requested_cores": [2],
        "recorded_run_time": [100.0],
        "min_cores": [1],
        "max_cores": [4],
    }
    platform = Platform.homogeneous(nodes=1, cores=4)
    told = [
        carried(gantt(Simulation(platform, Workload(jobs), make_scheduler(name)).run()))["layers"][0]["jobs"]
        for name in ("moldable", "fcfs")
    ]
    assert told[0]["later"]["core_s"]["values"].tolist() == [200.0]
    assert "core_s" not in told[1]["later"]  # run time × requested cores says it


def test_a_comparison_needs_two_runs(small: FakeResult) -> None:
    """One run is no comparison."""
    with pytest.raises(InputError, match="2 to 6 runs"):
        gantt_runs({"a": small})


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("job_id", "z", "run b: expected the jobs of run a, found job b in one of them only"),
        ("requested_cores", 8, "found job b of 8 cores at 0 s, not 3 at 0 s"),
        ("submit_time", 3.0, "found job b of 3 cores at 3 s, not 3 at 0 s"),
    ],
)
def test_a_comparison_is_of_the_same_jobs(small: FakeResult, column: str, value: object, said: str) -> None:
    """A job with another id, width or submission than in the first run is refused by its name."""
    jobs = small.jobs.copy()
    jobs.loc[jobs["job_id"] == "b", column] = value
    with pytest.raises(InputError, match=said):
        gantt_runs({"a": small, "b": replace(small, jobs=jobs)})


def test_jobs_that_follow_others_may_be_submitted_at_another_time(small: FakeResult) -> None:
    """Job b comes at 9 s in one run and at 12 s in the other, c having ended at 8 s: think times do that."""
    runs = {}
    for name, time in (("a", 9.0), ("b", 12.0)):
        jobs = small.jobs.copy()
        jobs.loc[jobs["job_id"] == "b", "submit_time"] = time
        runs[name] = replace(small, jobs=jobs)
    assert gantt_runs(runs).data


@pytest.mark.parametrize("window", [(0.0, math.inf), (-math.inf, 1.0), (0.0, math.nan), (2.0, 1.0)])
def test_a_window_is_finite(small: FakeResult, window: tuple[float, float]) -> None:
    """A chart of an infinite or empty window is refused."""
    with pytest.raises(InputError, match="x_range: expected a begin before the end, both finite"):
        gantt(small, x_range=window)


# ---------------------------------------------------------------- topology


def test_topology_shows_states_and_load(small: FakeResult) -> None:
    """At 21 s node1 is switching off; at 6 s node0 has four busy cores (jobs a and b) and node1 two (b and c)."""
    assert states_at(small, 21.0) == ["unknown", "SWITCHING_OFF"]
    busy, jobs = load_at(small, 6.0)
    assert (busy.tolist(), jobs) == ([4, 2], [["a", "b"], ["b", "c"]])
    figure = topology(small.platform, small, at=6.0, colour_by="load")
    nodes = next(trace for trace in figure.data if trace.meta == "nodes")
    assert nodes.marker.color.tolist() == [100.0, 50.0]
    by_state = {
        trace.name: len(trace.x) for trace in topology(small.platform, small, at=6.0).data if trace.meta == "nodes"
    }
    assert by_state == {"COMPUTING": 2}


def test_topology_of_a_platform_alone_and_its_errors(small: FakeResult) -> None:
    """Every node stands once; a time beyond the run, another platform and an unknown colouring are refused."""
    platform = Platform.homogeneous(nodes=60, cores=4)
    nodes = next(trace for trace in topology(platform).data if trace.meta == "nodes")
    assert len({(round(x, 6), round(y, 6)) for x, y in zip(nodes.x, nodes.y, strict=True)}) == 60
    with pytest.raises(InputError, match="a time of the run"):
        topology(small.platform, small, at=31.0)
    with pytest.raises(InputError, match="a run on platform"):
        topology(platform, small)
    with pytest.raises(SpecError, match="state, load"):
        topology(platform, colour_by="moon")


# ---------------------------------------------------------------- the page


def test_the_page_holds_the_figure_compressed(small: FakeResult, tmp_path: Path) -> None:
    """What the browser unpacks are the curves and states of the figure, and the jobs as columns; it is under 2.5 MB."""
    for drawing in ("bars", "polygons", "raster"):
        figure = gantt(small, drawing=drawing)
        page = write_gantt(figure, tmp_path / "g.html").read_text(encoding="utf-8")
        [found] = figures_in(page)
        others = [trace for trace in figure.data if trace.meta not in ("jobs", "hover", "labels", "colours")]
        for trace, read in zip(others, found["data"], strict=True):
            for name in ("x", "y", "z", "base", "width", "customdata"):
                if name in trace and trace[name] is not None:
                    expected = np.asarray(trace[name])
                    np.testing.assert_array_equal(np.asarray(read[name], dtype=expected.dtype), expected)
        [layer] = found["layout"]["meta"]["tool"]["layers"]
        assert layer["jobs"]["lazily"]["job_id"] == ["a", "b", "c"]
        rectangles = layer["rectangles"]
        assert list(
            zip(*(rectangles[name] for name in ("owner", "first_core", "last_core", "start", "end")), strict=True)
        ) == [
            (0, 0, 1, 0, 10),
            (1, 2, 4, 5, 20),
            (2, 7, 7, 2, 8),
        ]
        assert len(page) < 2_500_000


def test_the_page_of_twenty_thousand_jobs_is_under_six_megabytes(
    many: Callable[[int, int], FakeResult], tmp_path: Path
) -> None:
    """With users and hovers of all jobs."""
    run = many(20_000, 100)
    run.jobs["user"] = np.random.default_rng(2).integers(0, 200, 20_000).astype(str)
    assert write_gantt(run, tmp_path / "g.html", colour_by="user").stat().st_size < 6e6


def test_the_default_panels() -> None:
    """Power, use of the cores and the queue."""
    assert PANELS == ("power", "busy", "queue")
