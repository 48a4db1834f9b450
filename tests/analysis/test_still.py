"""The still picture of a Gantt chart, which its page shows until plotly has drawn."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis import gantt, gantt_by_job, gantt_runs, write_gantt
from analysis.gantt_chart.still import MOST_CHARACTERS
from analysis.pages.page import figure_html, page
from analysis.pages.redrawn import carried
from cluster_sim import Platform, Simulation, Workload, make_scheduler
from tests.support.browser import browse

from .conftest import FakeResult, later

BOX = re.compile(r"M(\d+) (\d+)h(\d+)v(\d+)h-\d+z")


def boxes(text: str) -> dict[str, list[tuple[int, ...]]]:
    """Left, top, width and height of a picture's rectangles, by colour."""
    paths = re.findall(r'<path d="([^"]*)" fill="(#\w+)"/>', text)
    return {colour: [tuple(map(int, box)) for box in BOX.findall(d)] for d, colour in paths}


def test_rectangles_stand_where_the_chart_has_them(small: FakeResult) -> None:
    """Worked out by hand: of 8 rows and 20 s, with 0.08 s at either side, job a has rows 0 and 1 up to 10 s.

    The picture has 3,000 × 1,000 units; a gap of two of them is left beside and under each rectangle.
    """
    found = carried(gantt(small))
    assert found is not None
    drawn = boxes(found["still"])
    colours = found["colourings"][0]["colours"]
    [(x, y, wide, tall)] = drawn[colours[0]]
    assert (x, y) == (round(3_000 * 0.08 / 20.16), 0)
    assert (wide, tall) == (round(3_000 * 10 / 20.16) - 2, 250 - 2)
    assert [len(drawn[colour]) for colour in colours[:3]] == [1, 1, 1]
    assert set(drawn) == {*colours[:3], "#E6E6E6"}  # node1 switches off as the last job ends


@pytest.mark.parametrize("chart", [gantt, gantt_by_job, lambda run: gantt_runs({"a": run, "b": later()})])
def test_heading_and_picture_stand_in_the_page_before_plotly(
    small: FakeResult, tmp_path: Path, chart: Callable[[FakeResult], object]
) -> None:
    """The heading, its notes, names of nodes or jobs, and times; plotly.js comes after them."""
    text = write_gantt(chart(small), tmp_path / "g.html").read_text(encoding="utf-8")
    first, plotly = text.index('<div class="still"'), text.index("clusterSim.load(")
    still = text[first : text.index("clusterSim.figure(")]
    assert first < plotly
    assert "<small>" in still
    assert still.count("<i ") >= 2
    assert ">10 s<" in still
    assert len(boxes(still)) >= 3 - 1


@pytest.mark.parametrize("jobs", [300, 30_000])
def test_a_picture_is_small(many: Callable[[int, int], FakeResult], jobs: int) -> None:
    """Many jobs are drawn as cells of rows and time; a cell's shade says how much of it is held."""
    found = carried(gantt(many(jobs, 100)))
    assert found is not None
    still = str(found["still"])
    assert len(still) < MOST_CHARACTERS + 20_000
    assert ("scale(" in still) == (jobs > 4_000)
    if jobs > 4_000:
        columns = 3_000 / float(re.findall(r"scale\(([\d.]+)", still)[0])
        rows = 1_000 / float(re.findall(r"scale\([\d.]+ ([\d.]+)", still)[0])
        paths = re.findall(r'<path d="([^"]*)" transform="[^"]*" stroke="#\w+" stroke-opacity="([\d.]+)"', still)
        middle = {"0.4": 1 / 6, "0.7": 1 / 2, "1.0": 5 / 6}
        drawn = sum(middle[shade] * sum(map(int, re.findall(r"h(\d+)", d))) for d, shade in paths)
        [layer] = found["layers"]
        rectangles = layer["rectangles"]
        held = (rectangles["end"] - rectangles["start"]).sum() / (1.008 * rectangles["end"].max() * 100)
        assert drawn / (columns * rows) == pytest.approx(held, rel=0.05)


def test_the_chart_takes_the_place_of_its_picture(small: FakeResult, tmp_path: Path) -> None:
    """Once plotly has drawn, nothing is left of the picture. On dark ground its greys are dark."""
    script = """<pre id="found"></pre><script>
    (async () => {
      const before = document.querySelectorAll(".still").length;
      while (!GanttTool.all.length) await new Promise(done => setTimeout(done, 50));
      document.getElementById("found").textContent = JSON.stringify([before, document.querySelectorAll(".still").length]);
    })();
    </script></body>"""
    text = page("still", [figure_html(gantt(small), "still")])
    (tmp_path / "page.html").write_text(text.replace("</body>", script), encoding="utf-8")
    found = re.search(r'<pre id="found">([^<]+)</pre>', browse((tmp_path / "page.html").as_uri(), tmp_path))
    assert found is not None
    assert json.loads(html.unescape(found[1])) == [1, 0]


def test_the_small_copy_and_bands_of_nights_follow_the_window(tmp_path: Path) -> None:
    """Twelve days from Wednesday, 4 March 2026, 12:00 on: the copy shows the window and moves it; the line counts its jobs.

    Whole, both weekends and twelve nights are shaded; in the second Sunday's noon nothing is that the weekend does not hold.
    """
    day = 86_400.0
    jobs = {"submit_time": [0.0, 2 * day, 11 * day], "requested_cores": [1, 1, 1], "recorded_run_time": [day] * 3}
    result = Simulation(Platform.homogeneous(nodes=2, cores=1), Workload(jobs), make_scheduler("fcfs")).run()
    script = """<pre id="found"></pre><script>
    (async () => {
      const found = [], pause = () => new Promise(done => setTimeout(done, 300));
      while (!GanttTool.all.length) await pause();
      const [tool] = GanttTool.all, map = tool.map, told = () => {
        const bands = tool.chart.layout.shapes.filter(shape => shape.name === "rest").map(({ x0, x1 }) => (x1 - x0) / 36e5);
        const { left, right } = map.window.style, whole = map.box.classList.contains("whole");
        return [whole, ...[left, right].map(each => Math.round(parseFloat(each))), bands.length,
          Math.round(Math.max(0, ...bands)), tool.chart.layout.title.subtitle.text.split(" · ")[0]];
      };
      await pause(); found.push(told());
      await tool.zoom(DAY * 9, DAY * 12); await pause(); found.push(told());
      const box = map.box.getBoundingClientRect();
      const point = (name, share) => map.box.dispatchEvent(new PointerEvent(name, { clientX: box.left + share * box.width }));
      point("pointerdown", 0.125); point("pointerup", 0.125); await pause(); await pause(); found.push(told());
      tool.calmed.click(); await pause(); found.push(told()[3]);
      document.getElementById("found").textContent = JSON.stringify(found);
    })().catch(error => { document.getElementById("found").textContent = JSON.stringify(error.stack); });
    </script></body>"""
    figure = gantt(result, start_date="2026-03-04T12:00")
    text = page("window", [figure_html(figure, "window")])
    (tmp_path / "page.html").write_text(text.replace("</body>", script), encoding="utf-8")
    found = re.search(r'<pre id="found">([^<]+)</pre>', browse((tmp_path / "page.html").as_uri(), tmp_path))
    assert found is not None
    whole, late, early, off = json.loads(html.unescape(found[1]))
    assert whole == [True, 0, 0, 12 + 2, 48, "3 jobs"]
    assert late == [False, 75, 0, 3 + 1, 48, "1 of 3 jobs"]  # Friday noon to Monday noon: Saturday and Sunday are whole
    assert early[:3] == [False, 0, 75]
    assert early[5] == "2 of 3 jobs"
    assert off == 0
