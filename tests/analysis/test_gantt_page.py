"""The command that writes pages, and what the pages do in a real browser."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from click.testing import CliRunner
from markupsafe import Markup

from analysis import gantt, gantt_by_job, gantt_runs
from analysis.figures.time_axis import round_ticks
from analysis.figures.timelines import coarsened, ranges
from analysis.pages.page import figure_html, page
from analysis.pages.redrawn import carried, with_tool
from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.amounts import durations, moments
from cluster_sim.cli import main
from tests.support.browser import browse

from .conftest import hand_made, later, make_result

# Uses each chart as a reader would, and writes down what it shows then; of the last chart it writes down the arrays.
SCRIPT = """
<pre id="found"></pre>
<script>
const pause = () => new Promise(done => setTimeout(done, 150));
const listed = values => values && Array.from(values, each => each && each.length ? listed(each) : each);
const key = name => document.dispatchEvent(new KeyboardEvent("keydown", { key: name }));
const shownIds = tool => tool.chart.data.find(t => t.meta === "ids").text.map(text => text.split("<br>")[0]).sort();
const colours = tool => [...new Set(tool.chart.data.filter(t => t.meta === "jobs").map(t => t.marker.color))].length;
const caption = tool => tool.chart.layout.title.subtitle.text;
const rows = tool => [...tool.table.body.rows].map(row => row.cells[0].textContent);
const range = tool => tool.chart._fullLayout.xaxis.range.map(each => Math.round(each));
const marks = tool => tool.chart.layout.shapes.filter(s => s.name === "chosen").map(s => [s.type, s.x0, s.x1, s.y0, s.y1]);
const used = async tool => {
  const found = { rows: rows(tool), ids: shownIds(tool), of: tool.groups.closest(".controls").children[1].textContent };
  tool.selects.user.value = "ann"; tool.selects.user.dispatchEvent(new Event("change")); await pause();
  found.ann = { rows: rows(tool), ids: shownIds(tool), said: tool.said.textContent, hash: location.hash, caption: caption(tool) };
  key("Escape"); await pause();
  found.after = rows(tool);
  tool.table.body.rows[0].click(); await pause();
  found.chosen = { marks: marks(tool), told: tool.aside.textContent, hash: location.hash };
  key("Escape"); key("0"); await pause();
  const all = range(tool);
  key("w"); await pause();
  found.zoomed = [all, range(tool)];
  key("0"); await pause();
  tool.search.value = "zz"; tool.search.dispatchEvent(new Event("change")); await pause();
  found.missing = tool.said.textContent;
  key("Escape"); await pause();
  tool.group("user"); await pause();
  found.groups = [...tool.table.body.rows].map(row => [row.cells[0].textContent, row.cells[1].textContent]);
  tool.group(""); await pause();
  const before = colours(tool);
  tool.colours.value = tool.colourings.findIndex(each => each.name === "user");
  tool.colours.dispatchEvent(new Event("change")); await pause();
  found.colours = [before, colours(tool)];
  location.hash = `#chart=${GanttTool.all.indexOf(tool) + 1}&job=c&t=1,9`; await pause(); await pause();
  found.linked = { range: range(tool), marks: marks(tool), caption: caption(tool) };
  location.hash = `#chart=${GanttTool.all.indexOf(tool) + 1}&user=nobody&account=x&colour=mood&by=toString`;
  await pause(); await pause();
  found.nobody = { said: tool.said.textContent, rows: rows(tool), user: tool.selects.user.value, by: tool.groups.value };
  key("Escape"); key("0"); await pause();
  return found;
};
(async () => {
  await clusterSim.ready;
  const arrays = document.getElementById("arrays");
  while (GanttTool.all.length < 3 || !arrays.data) await pause();
  const found = { arrays: arrays.data.map(trace => ({
    x: listed(trace.x), y: listed(trace.y), z: listed(trace.z), rows: trace.customdata,
    type: (trace.x || trace.z[0]).constructor.name,
  })) };
  for (const id of ["bars", "two"]) {
    GanttTool.used = GanttTool.all.find(tool => tool.chart.id === id);
    found[id] = await used(GanttTool.used);
  }
  const tall = GanttTool.all.find(each => each.chart.id === "jobs");
  found.jobs = { rows: rows(tall), ticks: tall.chart._fullLayout.yaxis.ticktext };
  // Without a screen a browser makes hardly any frames, so it is told here what comes into view.
  let comesIntoView;
  window.IntersectionObserver = class {
    constructor(then) { comesIntoView = isIntersecting => then([{ isIntersecting }]); }
    observe() {}
    disconnect() {}
  };
  found.seen = [];
  for (const look of [() => comesIntoView(true), () => dispatchEvent(new Event("beforeprint"))]) {
    const tool = GanttTool.all.find(each => each.chart.id === "two");  // as if it were of very many jobs
    tool.seen = tool.filled = false; tool.table.body.replaceChildren(); tool.fillWhenSeen();
    comesIntoView(false);
    for (let i = 0; i < 4; i++) await pause();
    const before = rows(tool).length;
    look();
    const soon = rows(tool).length;
    for (let i = 0; i < 4; i++) await pause();
    found.seen.push([before, soon, rows(tool).length]);
  }
  const numbers = of => ({ wait_time: of.map(() => 0), run_time: [10, 20], requested_cores: [2, 4] });
  found.sums = [[0], [0, 1]].flatMap(rows => [{}, { core_s: [40, 7160] }].map(held =>
    toldOfJobs({ byJob: true, numbers: { ...numbers(rows), ...held } }, rows, "user", "all")[0].textContent));
  found.waits = toldOfJobs({ byJob: true, numbers: { ...numbers([0]), wait_time: [5] } }, [0], "user", "all")[0].textContent;
  const view = { start: 0, end: 40, low: -0.5, high: 7.5, width: 4, height: 16 };
  const { run } = GanttTool.all.find(each => each.chart.id === "bars");
  const shades = jobTraces(run, { colours: ["#000000"], lines: [], inks: [] }, [0, 0, 0], view,
    { paper: "#ffffff", dim: "#cccccc" }, asShades);
  found.shades = shades.traces[0].z.map(listed);
  const CURVE = 0;
  const curve = new Curve({ uid: "c", later: { time: Float64Array.from(CURVE[0]), value: Float64Array.from(CURVE[1]) } },
    [{ uid: "c", name: "power, mean of 9 s", hovertemplate: "power, mean of 9 s: %{y}" }, { uid: "c low" }, { uid: "c high" }],
    GanttTool.all[0].time);
  found.curves = [[0, CURVE[0].at(-1)], [10.5, 20.5]].map(([start, end]) => {
    curve.draw(start, end);
    return [curve.line, ...curve.band].map(trace => ({ ...trace, x: listed(trace.x), y: listed(trace.y) }));
  });
  found.ticks = WINDOWS.map(([begin, end]) => roundTicks(begin, end, 9)).map(({ places, texts }) => [places, texts]);
  found.lengths = LENGTHS_S.map(lasting);
  found.moments = LENGTHS_S.map(moment);
  const told = REASONS, some = told.map(() => 1), ids = { wide: 0, "a,b": 1 };
  const waiting = { byJob: true, row: id => ids[id], hover: { waited: { lazily: told } },
    numbers: { wait_time: some, run_time: some, requested_cores: some } };
  const list = toldOfJobs(waiting, told.map((_, row) => row), "user", "all").find(each => each.tagName === "UL");
  found.reasons = Array.from(list.children, item => item.textContent);
  const bars = document.getElementById("bars");
  await Plotly.relayout(bars, { "xaxis.range": [2, 4] }); await pause();
  found.zoomed = Array.from(bars._fullLayout.xaxis.ticktext);
  const papers = () => [...document.querySelectorAll(".js-plotly-plot:not(#arrays)")]
    .map(({ _fullLayout: full }) => [full.paper_bgcolor, full.font.color]);
  clusterSim.turn(true);
  found.grounds = [papers()];
  for (const event of ["beforeprint", "afterprint"]) { dispatchEvent(new Event(event)); found.grounds.push(papers()); }
  found.paper = range({ chart: bars });
  return found;
})().catch(error => ({ error: error.stack })).then(found => {
  document.getElementById("found").textContent = JSON.stringify(found);
});
</script>
"""
NUMBERS = (
    np.array([0.001, 12.5, -3.25]),
    np.array([1 / 3, 1e300, 2.0**52 + 1]),
    np.array([-(2**31), 2**31 - 1, 0]),
)
REASONS = [
    *(["it asks for 6 cores, 4 free", "it asks for 1 core, 0 free"] * 3),
    *(
        f"enough cores are free, but job {job} is before it in the queue, and no job may overtake that"
        for job in ("wide", "a,b")
    ),
    *(f"enough cores are free, but it must wait (job {job})" for job in ("wide", "a,b")),
    "it asks for 8 cores, 3 free (1 of 4 nodes has failed, 1 is booting)",
    "it asks for 9 cores, 3 free (2 of 4 nodes have failed, 3 are booting)",
    "its nodes had to boot",
    "it waits for Godot",
]
WINDOWS = [
    *((0.0, 30.0), (0.0, 0.037), (1.0, 5_400.0), (0.0, 1.5 * 86_400), (100.0, 1_200_000.0), (0.0, 2e7), (5e6, 2e9)),
    *((375_300.0, 375_400.0), (375_300.25, 375_301.5), (86_300.0, 90_100.0), (-50.0, 700.0), (3e6, 3e6 + 7_000)),
]
LENGTHS_S = [0.0, 8.25, 59.9, 59.96, 605.0, 3_599.0, 3_599.7, 5_400.0, 86_369.0, 86_371.0, 375_379.0, 1e8, -90.0]
CURVE = np.arange(6_001.0).tolist(), np.random.default_rng(5).integers(0, 50, 6_001).tolist()
TABLE = [[1.5, "7", "a", "01:30:00"], [2**45, "8", "a", "1,234 d 08:16:19"], [-3, "900", "a", "83.5 s"]]
OUTLINES = [1.0, 2.0, 2.0, 1.0, 1.0, 5.0, 6.0, 6.0, 5.0, 5.0, 5.0, 1.0]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Folders of two runs of the same two jobs."""
    folders = []
    for scheduler in ("fcfs", "sjf"):
        workload = Workload({"submit_time": [0.0, 0.0], "requested_cores": [2, 2], "recorded_run_time": [20.0, 10.0]})
        folder = tmp_path_factory.mktemp(scheduler)
        Simulation(Platform.homogeneous(nodes=1, cores=2), workload, make_scheduler(scheduler)).run().save(folder)
        folders.append(str(folder))
    return folders


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--colour-by", "wait", "--panels", "none", "--time-unit", "min"],
        ["--from", "5", "--to", "15", "--slider", "--pattern-by", "state"],
        ["--view", "jobs", "--start-date", "2026-03-01"],
    ],
)
def test_a_folder_becomes_a_page(runs: list[str], options: list[str], tmp_path: Path) -> None:
    """Every option leaves a page."""
    page = tmp_path / "page.html"
    done = CliRunner().invoke(main, ["gantt", runs[0], "--out", str(page), *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert page.stat().st_size > 1e6


def test_two_folders_become_a_comparison(runs: list[str]) -> None:
    """Several runs are one page, in the first folder when no other name is given."""
    done = CliRunner().invoke(main, ["gantt", *runs], catch_exceptions=False)
    assert (done.exit_code, (Path(runs[0]) / "gantt.html").exists()) == (0, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--colour-by", "moon"], "one of job, profile"),
        (["--from", "9", "--to", "5"], "a begin before the end"),
        (["--to", "inf"], "both finite, found 0 and inf"),
        (["--from", "nan"], "both finite"),
        (["--from", "1h", "--to", "0.5min"], "found 3600 and 30"),
        (["--from", "2x"], "expected seconds, or a time such as 5d, 12h or 2d12h, found 2x"),
        (["--view", "jobs", "--from", "1", "--slider"], "--time-unit and --start-date, found --from, --slider"),
        (["--view", "jobs", "--panels", "none", "--rows", "core"], "found --rows, --panels"),
        (["--view", "jobs", "--to", "1", "--pattern-by", "state"], "found --to, --pattern-by"),
        (["--panels", "moon"], "one of power"),
        (["--time-unit", "calendar"], "a start_date"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(runs: list[str], options: list[str], said: str) -> None:
    """Wrong options end with status 2 and name what was expected."""
    done = CliRunner().invoke(main, ["gantt", runs[0], *options])
    assert done.exit_code == 2
    assert said in done.output
    assert len(done.output.strip().splitlines()) == 1


@pytest.fixture(scope="module")
def in_browser(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the script above finds in a page of three charts: one browser for all, since starting it takes seconds."""
    folder = tmp_path_factory.mktemp("browser")
    charts = {"bars": gantt(hand_made()), "two": gantt_runs({"a": hand_made(), "b": later()})}
    charts["jobs"] = gantt_by_job(hand_made())
    table = np.empty((3, 4), dtype=object)
    table[:] = TABLE
    edges = np.array(OUTLINES)
    charts["arrays"] = go.Figure(
        [
            *(go.Scatter(x=numbers, y=numbers, customdata=table, mode="markers") for numbers in NUMBERS),
            go.Scatter(x=edges, y=edges.astype(np.float32)),
            go.Heatmap(z=np.array([[0.5, np.nan], [1.0, 2.0]])),
        ]
    )
    text = page(
        "charts",
        [
            *(figure_html(chart, name) for name, chart in charts.items()),
            Markup(
                SCRIPT.replace("WINDOWS", json.dumps(WINDOWS))
                .replace("LENGTHS_S", json.dumps(LENGTHS_S))
                .replace("REASONS", json.dumps(REASONS))
                .replace("const CURVE = 0", f"const CURVE = {json.dumps(CURVE)}")
            ),
        ],
    )
    (folder / "page.html").write_text(text, encoding="utf-8")
    dom = browse((folder / "page.html").as_uri(), folder, 20_000)
    found = re.search(r'<pre id="found">([^<]+)</pre>', dom)
    assert found is not None, dom[-2000:]
    read: dict[str, Any] = json.loads(html.unescape(found[1]))
    assert "error" not in read, read["error"]
    return read


def test_reasons_of_many_jobs_are_counted(in_browser: dict[str, Any]) -> None:
    """Without ids, digits in them or not, and one text for one and several; what is not listed is counted, too."""
    assert in_browser["reasons"] == [
        "6 × it asks for more cores than are free",
        "2 × enough cores are free, but job … is before it in the queue, and no job may overtake that",
        "2 × enough cores are free, but it must wait (job …)",
        "2 × it asks for more cores than are free (… of … nodes have failed, … are booting)",
        "2 × for 2 other reasons",
    ]


@pytest.mark.parametrize("chart", ["bars", "two"])
def test_a_chart_is_a_tool(in_browser: dict[str, Any], chart: str) -> None:
    """A reader filters by user, chooses a job in the table, zooms by keys, sums up by user, colours anew, opens an address.

    b waited longest and is first in the table; it has three cores from 5 s to 20 s, and waited from 0 s. With two runs all
    of this holds for both, one above the other.
    """
    found, times = in_browser[chart], 1 if chart == "bars" else 2
    assert sorted(found["rows"]) == ["a", "b", "c"] == sorted(found["after"])
    assert found["ids"] == ["a", "b", "c"]
    assert (found["of"] == "in run b") == (chart == "two")  # the run whose jobs the table has
    ann = found["ann"]
    assert sorted(ann["rows"]) == ["a", "c"]
    assert (ann["said"], "user=ann" in ann["hash"]) == ("2 of 3 jobs", True)
    of_all = {"bars": "{0} · makespan 20 s", "two": "a: {0} · b: {0}"}[chart]
    assert ann["caption"] == of_all.format("2 of 3 jobs")
    assert "b" not in ann["ids"]
    chosen = found["chosen"]
    assert chosen["marks"][:2] == [["rect", 5, 20, 1.5, 4.5], ["line", 0, 5, 3, 3]]
    assert len(chosen["marks"]) == 2 * times
    assert "job b" in chosen["told"]
    assert "job=b" in chosen["hash"]
    (begin, end), (left, right) = found["zoomed"]
    assert begin < left < right < end
    assert found["missing"] == "0 of 3 jobs"
    assert sorted(found["groups"]) == [["ann", "2"], ["bob", "1"]]
    assert found["colours"] == [3, 2]
    assert found["linked"]["range"] == [1, 9]
    assert found["linked"]["marks"][0] == ["rect", 2, 8, 6.5, 7.5]
    # An address that asks for what is not there is told so, and shows all jobs.
    assert found["nobody"]["said"] == "3 jobs · no user nobody · no account x · no colour mood · no table by toString"
    assert (sorted(found["nobody"]["rows"]), found["nobody"]["user"], found["nobody"]["by"]) == (
        ["a", "b", "c"],
        "*",
        "",
    )


def test_dark_charts_are_printed_on_white(in_browser: dict[str, Any]) -> None:
    """Every chart of a page, each at once: dark on a dark screen, light for the printer, and as the screen is afterwards."""
    dark, printed, after = in_browser["grounds"]
    assert {tuple(each) for each in dark} == {("#15191d", "#e3e8ec")}
    assert printed == after
    assert ({tuple(each) for each in printed}, len(printed)) == ({("#ffffff", "#22303c")}, 3)
    assert in_browser["paper"] == [2, 4]  # a window that was chosen stays


def test_a_chart_of_a_row_per_job_is_a_tool_too(in_browser: dict[str, Any]) -> None:
    """The chart is drawn with a name for each row, and has its table."""
    assert sorted(in_browser["jobs"]["rows"]) == ["a", "b", "c"]
    assert len(in_browser["jobs"]["ticks"]) == 3


def test_several_jobs_are_summed_up(in_browser: dict[str, Any]) -> None:
    """Core time is what they had, by default run time × requested cores; who did not wait is not told half of it."""
    assert in_browser["sums"] == [
        "all: 1 job, 20 core-s. It did not wait.",
        "all: 1 job, 40 core-s. It did not wait.",
        "all: 2 jobs, 100 core-s. None of them waited.",
        "all: 2 jobs, 2 core h. None of them waited.",
    ]
    assert in_browser["waits"] == "all: 1 job, 20 core-s. It waited 5 s."


def test_the_legend_has_the_title_of_its_colours() -> None:
    """A page has the title with the colours that a reader chooses, and so not that of the figure beside it."""
    figure = gantt_runs({"a": hand_made(), "b": later()}, colour_by="user")
    assert figure.layout.legend.title.text == "User"
    assert "title" not in with_tool(figure, carried(figure))["layout"]["legend"]
    assert carried(figure)["colourings"][0]["legend"][0]["legendgrouptitle"]["text"] == "User"


def test_no_colours_are_offered_twice(two_nodes: Platform) -> None:
    """Many jobs are coloured by wait unasked: then the list has no other entry for it. A few jobs are coloured by job."""
    held = [(str(i), "cluster0.node0", "processor0", 0, 1, 10.0 * i, 10.0 * i + 10.0) for i in range(120)]
    many, few = (carried(gantt(make_result(two_nodes, held[:count])))["colourings"] for count in (120, 20))
    assert ([each["title"] for each in many].count("Wait time"), many[0]["name"]) == (1, "auto")
    assert "wait" in [each["name"] for each in few]


def test_a_long_table_is_filled_when_it_is_looked_at(in_browser: dict[str, Any]) -> None:
    """Rows before, at once and later: none out of sight, all soon after it comes into view, and when printed."""
    assert in_browser["seen"] == [[0, 0, 3], [0, 3, 3]]


def test_shades_are_of_all_that_is_held(in_browser: dict[str, Any]) -> None:
    """Four bins of 10 s of eight cores, worked out by hand: three shades from pale to full, nothing where nothing is held."""
    full, none = 2.5, None
    assert in_browser["shades"] == [
        *[[full, none, none, none]] * 2,  # a: 0 to 10 s
        *[[1.5, full, none, none]] * 3,  # b: 5 to 20 s
        *[[none, none, none, none]] * 2,
        [1.5, none, none, none],  # c: 2 to 8 s, six tenths of the bin
    ]


def test_a_curve_of_many_steps_is_exact_where_few_are_in_view(in_browser: dict[str, Any]) -> None:
    """The whole of 6,000 steps is drawn as 1,500 means with their range. If ten steps are in view, they are drawn themselves.

    :mod:`analysis.figures.timelines` makes the means; the name of the curve speaks of them only where they are drawn.
    """
    time, value = (np.array(each) for each in CURVE)
    (mean, low, high), (exact, *no_band) = in_browser["curves"]
    edges, expected = coarsened(time, value, 1_500)
    assert mean["x"] == edges.tolist()
    np.testing.assert_allclose(mean["y"][:-1], expected[:-1], rtol=1e-12)
    np.testing.assert_array_equal([low["y"][:-1], high["y"][:-1]], [side[:-1] for side in ranges(time, value, edges)])
    assert (mean["name"], mean["hovertemplate"]) == ("power, mean of 4 s", "power, mean of 4 s: %{y}")
    assert exact["x"] == [*range(10, 21), 20.5]
    assert exact["y"] == [*value[10:21], value[20]]
    assert (exact["name"], exact["hovertemplate"]) == ("power", "power: %{y}")
    assert [band["x"] for band in no_band] == [[], []]


def test_a_page_tells_times_as_the_tables_do(in_browser: dict[str, Any]) -> None:
    """Lengths and times of a run as cluster_sim.amounts writes them."""
    assert in_browser["lengths"] == durations(LENGTHS_S)
    assert in_browser["moments"] == moments(LENGTHS_S)


def test_a_browser_reads_the_arrays_that_were_written(in_browser: dict[str, Any]) -> None:
    """The page's own code makes the numbers, the types and the table that went in; NaN is null in JSON."""
    *clouds, outline, heat = in_browser["arrays"]
    for values, cloud in zip(NUMBERS, clouds, strict=True):
        assert cloud["x"] == cloud["y"] == values.tolist()
        assert cloud["rows"] == TABLE
    assert [trace["type"] for trace in (*clouds, heat)] == [
        "Float64Array",
        "Float64Array",
        "Int32Array",
        "Float64Array",
    ]
    assert outline["x"] == outline["y"] == OUTLINES
    assert heat["z"] == [[0.5, None], [1.0, 2.0]]


def test_ticks_follow_the_zoom_of_a_page(in_browser: dict[str, Any]) -> None:
    """The page makes the ticks of a window as the figure's own are made, and makes them anew when it is zoomed."""
    for window, (places, texts) in zip(WINDOWS, in_browser["ticks"], strict=True):
        expected = round_ticks(*window)
        assert texts == expected[1], window
        assert places == pytest.approx(expected[0], abs=1e-6)
    assert in_browser["zoomed"] == round_ticks(2.0, 4.0)[1]


def test_marks_of_what_moved_are_all_there_or_none(tmp_path: Path) -> None:
    """Ten long jobs before 400 short ones: under sjf the short start earlier, too many to be marked, and the long later.

    Then none has a mark, which the legend says; the marks of the ten would pass for all. From 250 s on there are few enough.
    """
    times = [100.0] * 10 + [1.0] * 400
    jobs = {
        "submit_time": [0.0] * 410,
        "requested_cores": [1] * 410,
        "recorded_run_time": times,
        "requested_time": times,
    }
    runs = {
        name: Simulation(Platform.homogeneous(1, 1), Workload(jobs), make_scheduler(name)).run()
        for name in ("fcfs", "sjf")
    }
    script = """<pre id="found"></pre><script>
    const pause = () => new Promise(done => setTimeout(done, 200)), found = [];
    (async () => {
      while (!GanttTool.all.length || !GanttTool.all[0].chart._fullLayout) await pause();
      const [tool] = GanttTool.all, names = () => [...tool.chart.querySelectorAll(".legendtext")].map(text => text.textContent);
      const told = () => tool.chart.data.filter(trace => trace.meta === "differences")
        .map(({ name, x }) => [name, x.filter(each => each !== null).length, names().includes(name)]);
      found.push(told());
      await tool.zoom(250, 1450); await pause();
      found.push(told());
      document.getElementById("found").textContent = JSON.stringify(found);
    })();
    </script></body>"""
    text = page("moved", [figure_html(gantt_runs(runs), "moved")])
    (tmp_path / "page.html").write_text(text.replace("</body>", script), encoding="utf-8")
    found = re.search(r'<pre id="found">([^<]+)</pre>', browse((tmp_path / "page.html").as_uri(), tmp_path))
    assert found is not None
    assert json.loads(html.unescape(found[1])) == [
        [["sjf: 400 earlier (zoom in)", 0, True], ["sjf: 10 later (zoom in)", 0, True]],
        [["sjf: 400 earlier", 400, True], ["sjf: 10 later", 10, True]],
    ]


def test_a_slider_shows_all_jobs_and_no_ids_wherever_one_zooms(tmp_path: Path) -> None:
    """From 11 to 19 s only job b is in view; the small copy has the outlines of all three."""
    script = """<pre id="found"></pre><script>
    (async () => {
      const found = [], pause = () => new Promise(done => setTimeout(done, 200));
      while (!GanttTool.all.length || !GanttTool.all[0].chart._fullLayout) await pause();
      const [tool] = GanttTool.all;
      const told = () => {
        const jobs = tool.chart.data.filter(trace => trace.meta === "jobs");
        const copy = tool.chart.querySelector(".rangeslider-container"), texts = tool.chart.querySelectorAll(".textpoint text");
        const count = jobs.reduce((sum, trace) => sum + (trace.type === "bar" ? trace.x.length : trace.x.length / 6), 0);
        const box = name => Number(copy.querySelector(`.rangeslider-mask-${name}`).getAttribute("width"));
        const texts_in_copy = copy.querySelectorAll("text").length, masked = Math.round(box("min") + box("max")) > 0;
        return [count, tool.drawn.count, texts_in_copy, texts.length, masked];
      };
      await pause();
      found.push(told());
      await tool.zoom(11, 19); await pause();
      found.push(told());
      document.getElementById("found").textContent = JSON.stringify(found);
    })();
    </script></body>"""
    text = page("slider", [figure_html(gantt(hand_made(), slider=True), "slider")])
    (tmp_path / "page.html").write_text(text.replace("</body>", script), encoding="utf-8")
    found = re.search(r'<pre id="found">([^<]+)</pre>', browse((tmp_path / "page.html").as_uri(), tmp_path))
    assert found is not None
    assert json.loads(html.unescape(found[1])) == [[3, 3, 0, 3, False], [3, 1, 0, 1, True]]


def test_a_brush_sums_up_the_jobs_in_it(tmp_path: Path) -> None:
    """Worked out by hand: of rows 0 to 2 from 1 to 4 s only job a; from 6 to 9 s on all rows a, b and c; a click lets go.

    a has 2 cores for 10 s, b 3 for 15 s after 5 s of waiting, c one for 6 s after 2 s: 20, 45 and 6 core-seconds; each has
    used a joule.
    """
    script = """<pre id="found"></pre><script>
    (async () => {
      const found = [], pause = () => new Promise(done => setTimeout(done, 200));
      while (!GanttTool.all.length) await pause();
      const [tool] = GanttTool.all, { brush, chart } = tool;
      document.dispatchEvent(new KeyboardEvent("keydown", { key: "b" })); await pause();
      const place = (name, time, row, axis) => {
        const { left, top } = chart.getBoundingClientRect(), { xaxis, [axis]: y } = chart._fullLayout;
        const at = { clientX: left + xaxis._offset + xaxis.l2p(time), clientY: top + y._offset + y.l2p(row) };
        brush.cover.dispatchEvent(new PointerEvent(name, at));
      };
      const drag = async (from, to, axis) => {
        place("pointerdown", ...from, axis); place("pointermove", ...to, axis); place("pointerup", ...to, axis); await pause();
        const shapes = chart.layout.shapes.filter(shape => shape.name === "brush").length;
        found.push([tool.said.textContent, tool.aside.querySelector("p").textContent, shapes]);
      };
      await drag([1, -0.3], [4, 1.3], "yaxis");
      await drag([6, 20], [9, 60], "yaxis2");
      found.push([...tool.aside.querySelectorAll("p")].at(-1).textContent);
      await drag([6, 20], [6, 20], "yaxis2");
      document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" })); await pause();
      found.push(brush.cover.hidden);
      document.getElementById("found").textContent = JSON.stringify(found);
    })().catch(error => { document.getElementById("found").textContent = JSON.stringify(error.stack); });
    </script></body>"""
    text = page("brush", [figure_html(gantt(hand_made()), "brush")])
    (tmp_path / "page.html").write_text(text.replace("</body>", script), encoding="utf-8")
    found = re.search(r'<pre id="found">([^<]+)</pre>', browse((tmp_path / "page.html").as_uri(), tmp_path))
    assert found is not None
    rows, curves, waits, nothing, hidden = json.loads(html.unescape(found[1]))
    assert (rows[0], rows[1].partition(".")[0], rows[2]) == ("1 of 3 jobs", "Selected: 1 job, 20 core-s, 1 J", 1)
    assert (curves[0], curves[1].partition(".")[0], curves[2]) == ("3 jobs", "Selected: 3 jobs, 71 core-s, 3 J", 1)
    assert waits == "Mean waits, by user (most core time first): bob 5 s, ann 1 s."
    assert (nothing[0], nothing[1].partition(":")[0], nothing[2]) == ("3 jobs", "All of these jobs", 0)
    assert hidden
