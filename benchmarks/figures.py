"""Gantt charts of many rectangles: making the figure, its page's size, and drawing and zooming it in headless Chromium.

The browser loads the page from a server of this process, zooms once into a tenth of the time and tells the server when it
begins and ends. Seconds on the clock are what a reader of the page waits on a computer with nothing else to do; beside
them stand the seconds of CPU that the page's renderer took in all its threads, which do not grow when others compute.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

from cluster_sim import Platform
from cluster_sim.machine.core_ranges import Holds
from cluster_sim.records.core_holds import CoreHolds
from cluster_sim.records.metrics import slowdown

TARGETS = {10_000: (1.5, 0.5), 100_000: (3.0, 1.0), 1_000_000: (1.5, 0.8)}
"""Seconds to draw and to zoom, by rectangles."""
NODES = 1_000
MOST_OUTLINES = 15_000  #: As in analysis/templates/gantt_traces.js.
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1400,900"
)
# Two animation frames after plotly says that it is done, the picture is on the screen.
_TIMING = """
<script>
const painted = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
(async () => {
  await clusterSim.ready;
  await fetch("/mark?begin");
  const div = document.getElementById("chart");
  while (!div.layout || !div._fullLayout) await new Promise(done => setTimeout(done, 5));
  await painted();
  await fetch("/mark?drawn");
  const [low, high] = div._fullLayout.xaxis.range;
  const middle = (low + high) / 2, width = (high - low) / 20;
  const drawn = new Promise(done => div.once("gantt_drawn", done));
  await Plotly.relayout(div, { "xaxis.range": [middle - width, middle + width] });
  await drawn;
  await painted();
  await fetch("/mark?zoomed");
})();
</script>
"""


@dataclass(frozen=True, slots=True)
class FigureRow:
    """What a chart of so many rectangles costs."""

    rectangles: int
    kind: str  #: Type of the first trace of jobs.
    make_s: float
    page_mb: float
    draw_s: float | None  #: None without a browser.
    zoom_s: float | None
    draw_cpu_s: float | None  #: None, too, where the system does not tell (no /proc).
    zoom_cpu_s: float | None

    def cells(self) -> list[str]:
        """The row's cells as text, under the headings of the report."""
        target = TARGETS.get(self.rectangles)
        browser = "no browser"
        if self.draw_s is not None:
            browser = f"**{self.draw_s:.2f} s** drawn, **{self.zoom_s:.2f} s** zoomed"
        if self.draw_cpu_s is not None:
            browser += f" (CPU {self.draw_cpu_s:.2f} s, {self.zoom_cpu_s:.2f} s)"
        made = f"{self.make_s:.2f} s to make, page of {self.page_mb:.1f} MB"
        aim = "" if target is None else f"≤ {target[0]:g} s, ≤ {target[1]:g} s"
        return ["figures", f"{self.rectangles:,} rectangles as {self.kind}", made, "", browser, aim]

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
    """Make a chart of so many rectangles, and let a browser draw it; the medians of ``repeat`` times."""
    from analysis.gantt_chart.gantt import gantt  # here, so that the other benchmarks do without plotly
    from analysis.pages.page import figure_html, render

    run: Any = schedule(rectangles)
    begin = time.perf_counter()
    figure = gantt(run)
    made = time.perf_counter() - begin
    chart = figure_html(figure, "chart")
    page = f"<!DOCTYPE html><html><head>{render('scripts.html')}</head><body>{chart}{_TIMING}</body></html>"
    times = [found for found in (in_browser(page) for _ in range(repeat)) if found is not None]
    medians = [_median(found[name] for found in times) for name in ("draw", "zoom", "draw_cpu", "zoom_cpu")]
    drawing = "outlines" if rectangles <= MOST_OUTLINES else "shades"
    return FigureRow(rectangles, drawing, made, len(page) / 1e6, *medians)


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def in_browser(page: str, patience_s: float = 120.0) -> dict[str, float | None] | None:
    """Seconds that a headless browser takes to draw the page and to zoom, on the clock and of CPU.

    None where there is no browser, or no answer.
    """
    from analysis.figures.pictures import browser as found_browser

    browser = found_browser()
    if browser is None:
        return None
    marks: dict[str, tuple[float, float | None]] = {}
    running: list[int] = []
    done = threading.Event()

    def mark(name: str) -> None:
        marks[name] = time.perf_counter(), renderer_cpu_s(running[0]) if running else None
        if name == "zoomed":
            done.set()

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, page.encode("utf-8"), mark))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        address = f"http://127.0.0.1:{server.server_port}/"
        command = [browser, *_FLAGS.split(), f"--user-data-dir={profile}", "--remote-debugging-port=0", address]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        running.append(process.pid)
        try:
            done.wait(patience_s)
        finally:
            process.terminate()
            process.wait(10)
            server.shutdown()
            server.server_close()
    if not done.is_set():
        return None
    begin, drawn, zoomed = (marks[name] for name in ("begin", "drawn", "zoomed"))
    return {
        "draw": drawn[0] - begin[0],
        "zoom": zoomed[0] - drawn[0],
        "draw_cpu": None if drawn[1] is None or begin[1] is None else drawn[1] - begin[1],
        "zoom_cpu": None if zoomed[1] is None or drawn[1] is None else zoomed[1] - drawn[1],
    }


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


class _Handler(BaseHTTPRequestHandler):
    """Hands out the page, and takes down when it reports something."""

    def __init__(self, page: bytes, mark: Callable[[str], None], *arguments: Any):
        self.page, self.mark = page, mark
        super().__init__(*arguments)

    def do_GET(self) -> None:
        """The page; /mark?NAME is a report."""
        address = urlsplit(self.path)
        if address.path == "/mark":
            self.mark(address.query)
        body = self.page if address.path == "/" else b""
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Keep quiet."""
