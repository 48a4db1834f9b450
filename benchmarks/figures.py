"""Gantt charts of many rectangles: making the figure, its page's size, and drawing and zooming it in headless Chromium.

Seconds on the clock, as a reader of the page waits for them. The browser loads the page from a server of this process,
zooms once into a tenth of the time and reports what both took.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pandas as pd

from cluster_sim import Platform

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TARGETS = {10_000: (2.0, 1.0), 100_000: (8.0, 4.0), 1_000_000: (2.0, 2.0)}
"""Seconds to draw and to zoom, by rectangles."""
NODES = 1_000
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
  const begin = performance.now(), div = document.getElementById("chart");
  while (!div.layout || !div._fullLayout) await new Promise(done => setTimeout(done, 5));
  await painted();
  const drawn = performance.now(), [low, high] = div._fullLayout.xaxis.range;
  const middle = (low + high) / 2, width = (high - low) / 20;
  await Plotly.relayout(div, { "xaxis.range": [middle - width, middle + width] });
  await painted();
  fetch(`/done?draw=${(drawn - begin) / 1e3}&zoom=${(performance.now() - drawn) / 1e3}`);
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

    def cells(self) -> list[str]:
        """The row's cells as text, under the headings of the report."""
        target = TARGETS.get(self.rectangles)
        browser = (
            "no browser" if self.draw_s is None else f"**{self.draw_s:.2f} s** drawn, **{self.zoom_s:.2f} s** zoomed"
        )
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
    allocations: pd.DataFrame
    node_states: pd.DataFrame
    power: pd.DataFrame
    queue: pd.DataFrame
    meta: dict[str, Any]


def schedule(jobs: int, nodes: int = NODES) -> Schedule:
    """So many one-core jobs, each node busy four fifths of the time; drawn with a fixed seed."""
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
        "slowdown": (wait + run) / run,
        "energy_j": 12.5 * run,
        "profile": "",
        "user": rng.integers(0, 200, jobs).astype(str).astype(object),
    }
    names = np.array([f"cluster0.node{i}" for i in range(nodes)], dtype=object)[index % nodes]
    held = {"job_id": ids, "node": names, "processor": "processor0", "first_core": 0, "last_core": 0}
    end = float((start + run).max())
    return Schedule(
        Platform.homogeneous(nodes=nodes, cores=1),
        pd.DataFrame(columns),
        pd.DataFrame(held | {"start": start, "end": start + run}),
        pd.DataFrame({"node": [], "state": [], "start": [], "end": []}),
        pd.DataFrame({"time": [0.0, end], "watts": [10.0 * nodes, 10.0 * nodes]}),
        pd.DataFrame({"time": [0.0], "pending": [0], "pending_cores": [0]}),
        {"scheduler": "made up"},
    )


def figure_row(rectangles: int, repeat: int = 1) -> FigureRow:
    """Make a chart of so many rectangles, and let a browser draw it; the least of ``repeat`` times."""
    from analysis.gantt_chart import CONFIG, gantt  # here, so that the other benchmarks do without plotly
    from analysis.packed import figure_html, scripts

    run: Any = schedule(rectangles)
    begin = time.perf_counter()
    figure = gantt(run, colour_by="user")
    made = time.perf_counter() - begin
    page = f"<!DOCTYPE html><html><head>{scripts()}</head><body>{figure_html(figure, 'chart', CONFIG)}{_TIMING}</body></html>"
    times = [found for found in (in_browser(page) for _ in range(repeat)) if found is not None]
    draw = min((found["draw"] for found in times), default=None)
    zoom = min((found["zoom"] for found in times), default=None)
    kind = next((trace.type for trace in figure.data if trace.meta == "jobs"), "heatmap")
    return FigureRow(
        rectangles, {"bar": "bars", "scatter": "polygons"}.get(kind, "raster"), made, len(page) / 1e6, draw, zoom
    )


def in_browser(page: str, patience_s: float = 120.0) -> dict[str, float] | None:
    """Seconds that a headless browser takes to draw the page and to zoom; None where there is no browser, or no answer."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return None
    found: dict[str, float] = {}
    done = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, page.encode("utf-8"), found, done))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        address = f"http://127.0.0.1:{server.server_port}/"
        command = [browser, *_FLAGS.split(), f"--user-data-dir={profile}", "--remote-debugging-port=0", address]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            done.wait(patience_s)
        finally:
            process.terminate()
            process.wait(10)
            server.shutdown()
            server.server_close()
    return found or None


class _Handler(BaseHTTPRequestHandler):
    """Hands out the page, and takes down what it reports."""

    def __init__(self, page: bytes, found: dict[str, float], done: threading.Event, *arguments: Any):
        self.page, self.found, self.done = page, found, done
        super().__init__(*arguments)

    def do_GET(self) -> None:
        """The page; under /done the report."""
        address = urlsplit(self.path)
        if address.path == "/done":
            self.found |= {name: float(value) for name, value in parse_qsl(address.query)}
            self.done.set()
        body = self.page if address.path == "/" else b""
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Keep quiet."""
