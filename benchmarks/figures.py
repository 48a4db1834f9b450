"""Pages of Gantt charts of many rectangles in headless Chromium, beside a plain page of plotly with 20 bars in the same run.

Each page is opened by a browser of its own: when it first paints, when its plot is there, and how long a zoom into a tenth of
the time takes, in seconds on the clock since it was opened, and in seconds of CPU of the page's renderer, which do not grow
when others compute. Pages alternate with the plain one, and only ratios to that are judged.
"""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd

from cluster_sim import Platform
from cluster_sim.machine.core_ranges import Holds
from cluster_sim.records.core_holds import CoreHolds
from cluster_sim.records.metrics import slowdown
from tests.support.chromium import Chromium

TARGETS = {10_000: (1.5, 0.4), 100_000: (2.0, 0.8)}
"""First plot as a multiple of the plain page's, and seconds of a zoom, by rectangles."""
PAINT_TARGET = 0.3
"""First paint as a share of the time of the first plot."""
NODES = 1_000
BARS = 20  #: Of the plain page.
MOST_OUTLINES = 15_000  #: As in analysis/templates/gantt_traces.js.
WINDOW_PX = (1_400, 900)
# Two animation frames after plotly says that it is done, the picture is on the screen.
_TIMING = """
<script>
window.timing = {};
const painted = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
const until = async test => { while (!test()) await new Promise(done => setTimeout(done, 5)); };
(async () => {
  const div = () => document.querySelector(".plotly-graph-div");
  await until(() => div() && div()._fullLayout && div().querySelector(".main-svg"));
  await painted();
  timing.plot = performance.now() / 1000;
  timing.paint = (performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? performance.now()) / 1000;
  await until(() => timing.zoom && (typeof GanttTool === "undefined" || GanttTool.all.length));
  const [low, high] = div()._fullLayout.xaxis.range.map(each => div()._fullLayout.xaxis.r2l(each));
  const middle = (low + high) / 2, width = (high - low) / 20, begun = performance.now();
  const drawn = typeof GanttTool !== "undefined" ? new Promise(done => div().once("gantt_drawn", done)) : null;
  await Plotly.relayout(div(), { "xaxis.range": [middle - width, middle + width] });
  await drawn;
  await painted();
  timing.zoomed = (performance.now() - begun) / 1000;
})();
</script>
"""


@dataclass(frozen=True, slots=True)
class PageTimes:
    """Seconds that a page took, on the clock and of CPU."""

    paint_s: float
    plot_s: float
    zoom_s: float
    plot_cpu_s: float | None  #: None where the system does not tell (no /proc).
    zoom_cpu_s: float | None

    @classmethod
    def of(cls, page: Path, program: str) -> PageTimes:
        """Open a page with a browser of its own and zoom in it."""
        with Chromium(program) as browser:
            browser.look(*WINDOW_PX)
            browser.open(page.as_uri())
            wait = "new Promise(async done => { while (!(TEST)) await new Promise(next => setTimeout(next, 5)); done(timing); })"
            browser.run(wait.replace("TEST", "window.timing && timing.plot"))
            drawn = renderer_cpu_s(browser.pid)
            browser.run("timing.zoom = true")
            told = browser.run(wait.replace("TEST", "timing.zoomed"))
            zoomed = renderer_cpu_s(browser.pid)
        of_zoom = None if zoomed is None or drawn is None else zoomed - drawn
        return cls(told["paint"], told["plot"], told["zoomed"], drawn, of_zoom)

    @classmethod
    def median(cls, several: list[PageTimes]) -> PageTimes:
        """Return the median of each time."""
        rows = [list(asdict(each).values()) for each in several]
        return cls(*(None if None in column else median(column) for column in zip(*rows, strict=True)))


@dataclass(frozen=True, slots=True)
class FigureRow:
    """What the page of a chart of so many rectangles costs."""

    rectangles: int
    kind: str  #: How a page draws them.
    make_s: float
    page_mb: float
    times: PageTimes | None = None  #: None without a browser.
    plain: PageTimes | None = None  #: Of the plain page, in the same run.

    def cells(self) -> list[str]:
        """The row's cells as text, under the headings of the report."""
        made = f"{self.make_s:.2f} s to make, page of {self.page_mb:.1f} MB"
        row = ["figures", f"{self.rectangles:,} rectangles as {self.kind}", made]
        if self.times is None or self.plain is None:
            return [*row, "", "no browser", ""]
        own, plain = self.times, self.plain
        told = (
            f"plotted in **{own.plot_s / plain.plot_s:.2f}** × ({own.plot_s:.2f} s), zoomed in **{own.zoom_s:.2f} s**, "
        )
        told += f"first paint at **{own.paint_s / own.plot_s:.2f}** of that"
        beside = f"{BARS} bars by plotly alone, {plain.plot_s:.2f} s, zoomed in {plain.zoom_s:.2f} s"
        if own.plot_cpu_s and plain.plot_cpu_s:
            told += (
                f"; CPU {own.plot_cpu_s / plain.plot_cpu_s:.2f} × ({own.plot_cpu_s:.2f} s), zoom {own.zoom_cpu_s:.2f} s"
            )
            beside += f"; CPU {plain.plot_cpu_s:.2f} s"
        target = TARGETS.get(self.rectangles)
        aim = "" if target is None else f"≤ {target[0]:g} ×, ≤ {target[1]:g} s, ≤ {PAINT_TARGET:g}"
        return [*row, beside, told, aim]

    def as_json(self) -> dict[str, Any]:
        """Everything."""
        return asdict(self)


@dataclass
class Schedule:
    """The tables of a made-up run, as `analysis` reads them: jobs side by side on one-core nodes."""

    platform: Platform
    jobs: pd.DataFrame
    core_holds: CoreHolds
    off_states: pd.DataFrame
    power: pd.DataFrame
    queue: pd.DataFrame
    meta: dict[str, Any]


def schedule(jobs: int, nodes: int = NODES) -> Schedule:
    """Make a schedule of one-core jobs in which each node is busy four fifths of the time; drawn with a fixed seed."""
    nodes = min(nodes, jobs)
    rng = np.random.default_rng(0)
    index = np.arange(jobs)
    start = (index // nodes) * 1_000.0 + rng.integers(0, 200, jobs)
    run, wait = rng.integers(600, 800, jobs).astype(float), rng.integers(0, 5_000, jobs).astype(float)
    ids = index.astype(str).astype(object)
    columns = {
        "job_id": ids,
        "submit_time": start - wait,
        "start_time": start,
        "finish_time": start + run,
        "state": "completed",
        "reason": "",
        "requested_cores": 1,
        "requested_time": 3_600.0,
        "wait_time": wait,
        "run_time": run,
        "slowdown": slowdown(wait + run, run),
        "energy_j": 12.5 * run,
        "profile": "",
        "user": rng.integers(0, 200, jobs).astype(str).astype(object),
    }
    used = Holds(index, index % nodes, index % nodes, start, start + run)
    end = float((start + run).max())
    return Schedule(
        Platform.homogeneous(nodes=nodes, cores=1),
        pd.DataFrame(columns),
        CoreHolds(ids, index, np.ones(jobs, np.int64), (), used, used.start),
        pd.DataFrame({"node": [], "state": [], "start": [], "end": []}),
        pd.DataFrame({"time": [0.0, end], "watts": [10.0 * nodes, 10.0 * nodes]}),
        pd.DataFrame({"time": [0.0], "pending": [0], "pending_cores": [0]}),
        {"scheduler": "made up"},
    )


def figure_row(rectangles: int, repeat: int = 1) -> FigureRow:
    """Make a chart of so many rectangles, and let a browser draw it and a plain page; the medians of ``repeat`` times."""
    import plotly.graph_objects as go  # here, so that the other benchmarks do without plotly

    from analysis import gantt, write_gantt
    from analysis.figures.pictures import browser

    run: Any = schedule(rectangles)
    begin = time.perf_counter()
    figure = gantt(run)
    made = time.perf_counter() - begin
    drawing = "outlines" if rectangles <= MOST_OUTLINES else "shades"
    program = browser()
    with tempfile.TemporaryDirectory() as folder:
        page, plain = Path(folder, "page.html"), Path(folder, "plain.html")
        write_gantt(figure, page)
        go.Figure(go.Bar(x=list(range(BARS)), y=list(range(BARS)))).write_html(plain, include_plotlyjs=True)
        size = page.stat().st_size / 1e6
        if program is None:
            return FigureRow(rectangles, drawing, made, size)
        for each in (page, plain):
            each.write_text(each.read_text(encoding="utf-8").replace("</body>", f"{_TIMING}</body>"), encoding="utf-8")
        times = [(PageTimes.of(page, program), PageTimes.of(plain, program)) for _ in range(repeat)]
    return FigureRow(rectangles, drawing, made, size, *(PageTimes.median([*each]) for each in zip(*times, strict=True)))


def renderer_cpu_s(browser: int) -> float | None:
    """Seconds of CPU that the processes below ``browser`` took which render pages; None where /proc does not tell."""
    parents: dict[int, int] = {}
    cpu_s: dict[int, float] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            # After the name, which may hold anything: state, parent, …, and at 11 and 12 the ticks of user and system.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        parents[int(folder.name)] = int(fields[1])
        if b"--type=renderer" in command:
            cpu_s[int(folder.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return sum(cpu_s[process] for process in cpu_s if _is_below(process, browser, parents)) if cpu_s else None


def _is_below(process: int, ancestor: int, parents: dict[int, int]) -> bool:
    while process in parents and process != ancestor:
        process = parents[process]
    return process == ancestor
