"""The chart shows the run: looked up in `fig.data`, for each way of drawing."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis import gantt, topology
from analysis.figures.palette import OKABE_ITO, ColourClasses
from cluster_sim import Result, Simulation, Workload, make_scheduler
from cluster_sim.errors import SpecError
from cluster_sim.platform import Platform
from tests.support.sources import PACKAGES, ROOT

from .conftest import FakeResult, make_result

Rectangle = tuple[str, float, float, float, float]
OURS = tuple(f"{ROOT / package}/" for package in PACKAGES)


def bars(figure: object) -> list[Rectangle]:
    """(job, low, high, start, end) of every job bar, gaps between rows rounded away (rows are half numbers here)."""
    found = []
    for trace in figure.data:  # type: ignore[attr-defined]
        if trace.type == "bar" and "job" in trace.hovertemplate:
            edges = zip(trace.customdata, trace.y, trace.width, trace.base, trace.x, strict=True)
            found += [
                (str(texts[0]), round(y - width / 2, 1), round(y + width / 2, 1), float(base), float(base + length))
                for texts, y, width, base, length in edges
            ]
    return sorted(found)


def polygons(figure: object) -> list[tuple[float, float, float, float]]:
    """(low, high, start, end) of every outline of jobs; each ends where it began, and a way leads back over them all."""
    found = []
    for trace in figure.data:  # type: ignore[attr-defined]
        if trace.type == "scatter" and trace.fill == "toself":
            ways = [np.split(np.asarray(trace[name]), [5 * len(trace[name]) // 6]) for name in "xy"]
            x, y = (around.reshape(-1, 5) for around, _ in ways)
            for around, (_, back) in zip((x, y), ways, strict=True):
                assert around[:, 0].tolist() == around[:, 4].tolist() == back[::-1].tolist()
            found += zip(y.min(axis=1), y.max(axis=1), x.min(axis=1), x.max(axis=1), strict=True)
    return sorted(tuple(map(float, outline)) for outline in found)


EXPECTED = [
    ("a", -0.5, 1.5, 0.0, 10.0),  # cores 0-1
    ("b", 1.5, 4.5, 5.0, 20.0),  # cores 2-4, three rows of the table, one rectangle across two nodes
    ("c", 6.5, 7.5, 2.0, 8.0),  # core 7
]


def test_every_job_is_one_rectangle_on_its_cores_at_its_times(small: FakeResult) -> None:
    """Neighbouring cores merge, also across processors and nodes; rows are cores when there are few."""
    assert bars(gantt(small)) == EXPECTED


def test_polygons_draw_the_same_rectangles(small: FakeResult) -> None:
    """The drawing for many jobs has the same outlines, and one hover point per job."""
    figure = gantt(small, drawing="polygons")
    assert polygons(figure) == sorted(rectangle[1:] for rectangle in EXPECTED)
    points = [trace for trace in figure.data if trace.type == "scattergl"]
    assert sorted(str(row[0]) for trace in points for row in trace.customdata) == ["a", "b", "c"]


def test_node_rows_are_divided_among_their_cores(small: FakeResult) -> None:
    """With nodes as rows, jobs that share a node lie beside each other in its row."""
    figure = gantt(small, rows="node", drawing="polygons")
    assert polygons(figure) == [(-0.5, 0.0, 0.0, 10.0), (0.0, 0.75, 5.0, 20.0), (1.25, 1.5, 2.0, 8.0)]


def test_unequal_nodes_keep_their_cores_apart() -> None:
    """A node with many cores and one with few: every job inside its own node's row."""
    from cluster_sim.platform import Cluster, NodeGroup, NodeType, ProcessorType

    def node(cores: int) -> NodeGroup:
        return NodeGroup(NodeType(f"n{cores}", (ProcessorType(f"p{cores}", cores, 3.0),)), 1)

    platform = Platform((Cluster("big", (node(64),)), Cluster("tiny", (node(2),))))
    held = [("wide", "big.node0", "processor0", 0, 63, 0.0, 1.0), ("one", "tiny.node0", "processor0", 1, 1, 0.0, 1.0)]
    figure = gantt(make_result(platform, held), drawing="polygons")
    assert polygons(figure) == [(-0.5, 0.5, 0.0, 1.0), (1.0, 1.5, 0.0, 1.0)]


def test_separate_cores_of_a_job_are_separate_rectangles(two_nodes: Platform) -> None:
    """A job on cores that do not touch has a rectangle for each interval."""
    held = [
        ("a", "cluster0.node0", "processor0", 0, 0, 0.0, 1.0),
        ("a", "cluster0.node1", "processor0", 0, 0, 0.0, 1.0),
    ]
    assert bars(gantt(make_result(two_nodes, held))) == [("a", -0.5, 0.5, 0.0, 1.0), ("a", 3.5, 4.5, 0.0, 1.0)]


def test_drawing_follows_the_number_of_rectangles(
    many: Callable[[int, int], FakeResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bars, then polygons, then a raster; no drawing needs more traces for more jobs."""
    monkeypatch.setattr("analysis.gantt_chart.traces.MOST_BARS", 50)
    monkeypatch.setattr("analysis.gantt_chart.traces.MOST_POLYGONS", 100)
    kinds = []
    for jobs in (50, 100, 101):
        figure = gantt(many(jobs, 5), labels=False)
        kinds.append(figure.data[0].type if figure.data[0].type != "scatter" else figure.data[0].fill)
        assert len(figure.data) <= 2 * len(OKABE_ITO) + 4
    assert kinds == ["bar", "toself", "heatmap"]


def test_large_runs_lose_no_job(many: Callable[[int, int], FakeResult]) -> None:
    """20,000 jobs: as many outlines, at the same times, and a hover point each."""
    run = many(20_000, 100)
    figure = gantt(run)
    outlines = np.array(polygons(figure))
    assert len(outlines) == 20_000
    assert np.array_equal(np.sort(outlines[:, 3]), np.sort(run.jobs["finish_time"]))
    assert sum(len(trace.x) for trace in figure.data if trace.type == "scattergl") == 20_000


def test_raster_keeps_the_busy_core_seconds(many: Callable[[int, int], FakeResult]) -> None:
    """The shades of the raster, summed over its cells, are the core-seconds of the jobs, and the figure says so."""
    run = many(3_000, 700)
    figure = gantt(run, drawing="raster")
    heatmap = figure.data[0]
    cells = np.nan_to_num(np.asarray(heatmap.z, dtype=float)) / 100
    held = (run.allocations["end"] - run.allocations["start"]).sum()
    # Shades are rounded to 0.1 %.
    assert cells.sum() * heatmap.dx * heatmap.dy == pytest.approx(held, rel=1e-3)
    assert "3,000 rectangles, shown together" in figure.layout.title.subtitle.text


def test_power_curve_integrates_to_the_energy_of_the_run(small: FakeResult) -> None:
    """The drawn step curve has the area of the power table: 10 s × 100 W + 10 s × 50 W + 10 s × 20 W."""
    curve = next(trace for trace in gantt(small).data if (trace.name or "").startswith("power"))
    assert curve.line.shape == "hv"
    assert np.sum(curve.y[:-1] * np.diff(curve.x)) == 1700.0


def test_coarse_power_curve_keeps_the_energy(small: FakeResult) -> None:
    """A curve of 50,000 steps is drawn as means over equal times, which have the same integral."""
    rng = np.random.default_rng(3)
    time = np.cumsum(rng.exponential(1.0, 50_000))
    small.power = pd.DataFrame({"time": time, "watts": rng.uniform(0, 500, len(time))})
    energy = np.sum(small.power["watts"].to_numpy()[:-1] * np.diff(time))
    curve = next(trace for trace in gantt(small).data if (trace.name or "").startswith("power"))
    assert len(curve.x) < 5_000
    assert np.sum(curve.y[:-1] * np.diff(curve.x)) == pytest.approx(energy, rel=1e-9)
    assert "power, mean of 12.5 s" in curve.hovertemplate


def test_busy_cores_and_their_capacity(small: FakeResult) -> None:
    """Busy cores by hand: 2, then 3, 6, 5, 3 and none; the platform has 8."""
    traces = {trace.name: trace for trace in gantt(small).data}
    assert traces["busy cores"].x.tolist() == [0, 2, 5, 8, 10, 20]
    assert traces["busy cores"].y.tolist() == [2, 3, 6, 5, 3, 0]
    assert list(traces["capacity"].y) == [8, 8]


def test_all_panels_share_the_time_axis(small: FakeResult) -> None:
    """Zooming one panel zooms all: every trace is on the one x axis, which has its unit."""
    figure = gantt(small)
    assert {trace.xaxis for trace in figure.data} <= {None, "x"}
    assert figure.layout.xaxis.title.text == "Time from the start"
    assert gantt(small, time_unit="s").layout.xaxis.title.text == "Time (simulated seconds)"
    assert (figure.layout.yaxis2.title.text, figure.layout.yaxis2.ticksuffix) == ("Power", "W")
    domains = [figure.layout[axis].domain for axis in ("yaxis", "yaxis2", "yaxis3")]
    assert domains[0][0] > domains[1][1] > domains[1][0] > domains[2][1]


def test_nodes_that_cannot_work_are_marked(small: FakeResult) -> None:
    """The shutdown and the time off of node1 are bands over its four cores; working nodes have none."""
    bands = {trace.name: trace for trace in gantt(small, x_range=(0.0, 30.0)).data if trace.legendrank}
    assert sorted(bands) == ["off", "switching off"]
    band = bands["switching off"]
    assert (band.base[0], band.x[0], band.y[0], round(band.width[0])) == (20.0, 2.0, 5.5, 4)
    assert band.marker.pattern.shape


def test_hover_tells_the_wait(small: FakeResult) -> None:
    """The hover has the id, state, user, times, wait and cores of the job."""
    trace = next(trace for trace in gantt(small).data if trace.customdata is not None and trace.customdata[0][0] == "b")
    text = trace.hovertemplate
    for position, value in enumerate(trace.customdata[0]):
        text = re.sub(rf"%\{{customdata\[{position}\](:,)?\}}", str(value), text)
    assert text.startswith("<b>job b</b> · completed<br>user bob · profile y<br>submitted 0 s · started 5 s")
    assert "waited 5 s · ran 15 s · requested nothing" in text
    assert "on cluster0.node0.processor1:0-1; cluster0.node1.processor0:0" in text


@pytest.mark.parametrize("drawing", ["bars", "polygons"])
def test_text_from_input_cannot_mark_up_the_figure(two_nodes: Platform, drawing: str) -> None:
    """Plotly reads tags in hovers, labels and legends: names from files arrive there escaped."""
    evil = "<a href='javascript:alert(1)'>x</a>"
    held = [(evil, "cluster0.node0", "processor0", 0, 1, 0.0, 10.0)]
    run = make_result(two_nodes, held, user=[evil], profile=[evil], reason=[evil])
    run.meta["workload"] = evil
    figure = gantt(run, colour_by="user", drawing=drawing)
    shown = [figure.layout.title.text, figure.layout.title.subtitle.text, *(trace.name for trace in figure.data)]
    for trace in figure.data:
        rows = trace.customdata if trace.customdata is not None and np.ndim(trace.customdata) == 2 else []
        shown += [str(text) for row in rows for text in row]
        shown += list(trace.text) if isinstance(trace.text, list | tuple | np.ndarray) else []
    assert not [text for text in shown if "<" in text]
    assert any("&lt;a href" in text for text in shown)


def test_colours_by_user_have_a_legend_and_one_trace_each(small: FakeResult) -> None:
    """The user with most core-seconds comes first; every class is one trace in its colour."""
    figure = gantt(small, colour_by="user", labels=False)
    named = [(trace.name, trace.marker.color, len(trace.x)) for trace in figure.data if trace.name in ("ann", "bob")]
    assert named == [("bob", OKABE_ITO[0], 1), ("ann", OKABE_ITO[1], 2)]
    assert all(trace.showlegend for trace in figure.data if trace.name in ("ann", "bob"))


def test_a_function_can_choose_the_colours(small: FakeResult) -> None:
    """A colour strategy of one's own is a function of the jobs table."""

    def by_width(jobs: pd.DataFrame) -> ColourClasses:
        return ColourClasses(
            (jobs["requested_cores"] > 1).to_numpy().astype(int), ("one", "more"), OKABE_ITO[:2], "Width"
        )

    figure = gantt(small, colour_by=by_width, labels=False)
    assert {trace.name: len(trace.x) for trace in figure.data if trace.name in ("one", "more")} == {"one": 1, "more": 2}


def test_labels_only_where_there_is_room(many: Callable[[int, int], FakeResult]) -> None:
    """At most 200 ids are written, in traces of their own."""
    texts = [trace.text for trace in gantt(many(4_000, 16)).data if trace.type == "scatter" and trace.mode == "text"]
    assert sum(len(text) for text in texts) <= 200
    few = gantt(many(4, 2))
    assert sorted(
        label for trace in few.data if trace.type == "scatter" and trace.mode == "text" for label in trace.text
    ) == ["0", "1", "2", "3"]


def test_one_core_nodes_are_numbered(many: Callable[[int, int], FakeResult]) -> None:
    """Nodes of one core are numbers on a plain axis; others are named, not more than fit."""
    assert gantt(many(10, 65)).layout.yaxis.ticktext is None
    named = make_result(
        Platform.homogeneous(nodes=1_000, cores=16), [("a", "cluster0.node7", "processor0", 0, 0, 0.0, 1.0)]
    )
    axis = gantt(named).layout.yaxis
    assert axis.ticktext[0] == "cluster0.node0"
    assert len(axis.ticktext) == len(axis.tickvals) <= 60


def test_jobs_that_never_started_are_counted_in_the_figure(small: FakeResult) -> None:
    """Rejected jobs have no rectangle; the subtitle says how many."""
    lost = small.jobs.iloc[[0]].assign(job_id="z", state="rejected", start_time=np.nan, finish_time=np.nan)
    small.jobs = pd.concat([small.jobs, lost], ignore_index=True)
    subtitle = gantt(small).layout.title.subtitle.text
    assert subtitle == "3 jobs · makespan 20 s · never started: 1 rejected"


def test_a_window_shows_a_part_and_says_so(small: FakeResult) -> None:
    """Only what overlaps the window is drawn, and the figure counts the rest."""
    figure = gantt(small, x_range=(12.0, 15.0))
    assert [rectangle[0] for rectangle in bars(figure)] == ["b"]
    assert figure.layout.title.subtitle.text.startswith("1 job in this window, 2 outside it")


def test_a_job_that_still_runs_ends_where_the_run_stopped(two_nodes: Platform) -> None:
    """An allocation without end reaches to the end of the power curve."""
    held = [("a", "cluster0.node0", "processor0", 0, 0, 1.0, np.nan)]
    run = make_result(two_nodes, held, power=[(0.0, 5.0), (40.0, 5.0)], finish_time=np.nan)
    figure = gantt(run)
    assert bars(figure) == [("a", -0.5, 0.5, 1.0, 40.0)]
    assert figure.layout.xaxis.range[1] >= 40.0


def test_a_run_without_jobs_is_still_a_figure(two_nodes: Platform) -> None:
    """The figure says amid its rows that nothing ran. Every panel has a trace; without one it would not be drawn."""
    run = make_result(two_nodes, [], power=[(0.0, 0.0)])
    figure = gantt(run)
    (said,) = figure.layout.annotations
    low, high = figure.layout.yaxis.domain
    assert (said.text, said.y) == ("no job ran", pytest.approx((low + high) / 2))
    assert {trace.yaxis for trace in figure.data} >= {"y2", "y3", "y4"}
    assert figure.layout.xaxis.anchor == "y4"


@pytest.mark.parametrize("option", [{"colour_by": "moon"}, {"rows": "rack"}, {"drawing": "oil"}])
def test_unknown_options_name_the_known_ones(small: FakeResult, option: dict[str, str]) -> None:
    """A wrong name is a SpecError that lists what there is."""
    with pytest.raises(SpecError, match="expected one of"):
        gantt(small, **option)


def test_a_low_chart_is_raised_to_what_its_panels_need() -> None:
    """200 px hold no rows above two panels; the chart is drawn all the same, higher, and every panel within it."""
    platform = Platform.homogeneous(nodes=2, cores=2)
    workload = Workload({"submit_time": [0.0, 1.0], "requested_cores": [1, 2], "recorded_run_time": [3.0, 4.0]})
    figure = gantt(Simulation(platform, workload, make_scheduler("fcfs")).run(), height=200)
    assert figure.layout.height > 200
    domains = [axis.domain for axis in figure.select_yaxes()]
    assert all(0.0 <= low < high <= 1.0 for low, high in domains)


def test_a_few_nodes_of_one_core_are_named() -> None:
    """Three of them have their names on the axis, not numbers between."""
    workload = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [3.0]})
    run = Simulation(Platform.homogeneous(nodes=3, cores=1), workload, make_scheduler("fcfs")).run()
    assert len(gantt(run).layout.yaxis.ticktext) == 3


def shared_run() -> Result:
    """A guest holds core 0 to 10; the job on the other three is stopped at 4 and runs again from 4 to 14."""
    workload = Workload({"job_id": ["a"], "submit_time": [0.0], "requested_cores": [3], "recorded_run_time": [10.0]})
    simulation = Simulation(Platform.homogeneous(1, 4), workload, make_scheduler("fcfs"))

    def guest() -> Iterator[object]:
        with simulation.node(0).request(1, owner="back<up>") as held:
            yield held
            yield simulation.env.timeout(10.0)

    def stop() -> Iterator[object]:
        yield simulation.env.timeout(4.0)
        simulation.requeue("a", "as a test")

    simulation.env.process(guest())
    simulation.env.process(stop())
    return simulation.run()


def test_guests_are_hatched_and_named() -> None:
    """Grey, with their name in legend and hover, on their cores for as long as they held them; in every drawing."""
    result = shared_run()
    for drawing in ("bars", "polygons", "raster"):
        (trace,) = [trace for trace in gantt(result, drawing=drawing).data if (trace.name or "").startswith("guest")]
        assert trace.name == "guest: back&lt;up&gt;"
        assert trace.showlegend
        assert trace.marker.pattern.shape == "-"
        assert "guest: back&lt;up&gt;" in trace.hovertemplate
        assert trace.customdata.tolist() == [["cluster0.node0", "0 s", "10 s"]]
        assert (trace.base.tolist(), trace.x.tolist(), trace.y.round().tolist()) == ([0.0], [10.0], [0.0])


def test_cores_of_guests_are_not_busy_with_jobs() -> None:
    """The curve is of the job's three cores, and is called so; the platform's tree names the guest beside them."""
    result = shared_run()
    chart = gantt(result)
    (curve,) = [trace for trace in chart.data if trace.name == "cores of jobs"]
    assert curve.y.tolist() == [3.0, 3.0, 0.0]
    assert [chart.layout[name].title.text for name in ("yaxis2", "yaxis3", "yaxis4")].count("Cores of jobs") == 1
    (nodes,) = [
        trace for trace in topology(result.platform, result, at=5.0, colour_by="load").data if trace.meta == "nodes"
    ]
    assert nodes.marker.color.tolist() == [75.0]
    assert nodes.customdata[0].endswith("4 cores, 3 busy · COMPUTING<br>jobs: a<br>1 held by guests: back&lt;up&gt;")


@pytest.mark.parametrize("drawing", ["bars", "polygons"])
def test_every_attempt_has_its_piece(drawing: str) -> None:
    """Two rectangles of one job, whose hovers say which attempt it was and how it ended."""
    figure = gantt(shared_run(), drawing=drawing)
    kind = "bar" if drawing == "bars" else "scattergl"
    (trace,) = [trace for trace in figure.data if trace.type == kind and trace.meta in ("jobs", "hover")]
    assert sorted(row[-1] for row in trace.customdata) == [
        "<br>attempt 1 of 2: requeued (as a test), 12 s of core time lost<br>goes on at 4 s on cluster0.node0",
        "<br>attempt 2 of 2: completed",
    ]
    assert trace.hovertemplate.endswith(f"%{{customdata[{len(trace.customdata[0]) - 1}]}}<extra></extra>")


def test_a_chart_of_a_saved_run_is_the_same(tmp_path: Path) -> None:
    """With its guests and attempts."""
    result = shared_run()
    result.save(tmp_path)
    assert gantt(Result.load(tmp_path), title="one").data == gantt(result, title="one").data


def test_a_chart_of_two_jobs_is_a_short_way() -> None:
    """At most 900 calls of our functions, and 160 from one module to another; those of the run's tables count."""
    platform = Platform.homogeneous(nodes=1, cores=8)
    jobs = {"submit_time": [0, 1], "requested_cores": [4, 8], "recorded_run_time": [10, 10], "requested_time": [20, 20]}
    for _ in range(2):  # the first one makes what is kept
        result = Simulation(platform, Workload(jobs), make_scheduler("easy")).run()
        calls: list[str] = []

        def profile(frame: Any, event: str, _: object, calls: list[str] = calls) -> None:
            code = frame.f_code
            if event == "call" and code.co_filename.startswith(OURS) and not code.co_name.startswith("<module"):
                calls.append(code.co_filename)

        sys.setprofile(profile)
        try:
            gantt(result)
        finally:
            sys.setprofile(None)
    assert len(calls) <= 900
    assert sum(one != other for one, other in pairwise(calls)) <= 160


def test_cores_that_are_idle_while_jobs_wait_are_shaded() -> None:
    """Worked out by hand: of 8 cores 4 are busy up to 10 s, and the second job waits from 1 s on: 4 idle cores for 9 s."""
    jobs = {"submit_time": [0, 1], "requested_cores": [4, 8], "recorded_run_time": [10, 10]}
    result = Simulation(Platform.homogeneous(nodes=1, cores=8), Workload(jobs), make_scheduler("fcfs")).run()
    [shown] = [trace for trace in gantt(result).data if trace.meta == "idle while jobs wait"]
    area = np.diff(shown.x) * (8 - np.asarray(shown.y)[:-1])
    assert area.sum() == 4 * 9
    assert (shown.x[np.argmin(shown.y)], shown.yaxis) == (1.0, "y3")
    alone = {name: values[:1] for name, values in jobs.items()}
    without = Simulation(Platform.homogeneous(nodes=1, cores=8), Workload(alone), make_scheduler("fcfs")).run()
    assert not [trace for trace in gantt(without).data if trace.meta == "idle while jobs wait"]
