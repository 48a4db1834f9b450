"""The command that writes pages, and what the pages do in a real browser."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis import gantt, write_gantt
from cluster_sim import Platform, Simulation, Workload, make_scheduler
from cluster_sim.cli import main

from .conftest import FakeResult

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# Chooses a user, then looks for a job, and writes down what the chart has then.
SCRIPT = """
<pre id="found"></pre>
<script>
const shown = chart => chart._fullData.filter(t => t.meta === "jobs")
  .map(t => t.type === "bar" ? t.customdata.length : Math.floor((t.x || []).length / 5)).reduce((a, b) => a + b, 0);
const pause = () => new Promise(done => setTimeout(done, 200));
(async () => {
  await clusterSim.ready;
  while (!document.querySelector(".controls")) await pause();
  const chart = document.getElementById("figure0"), said = document.querySelector("output"), found = [shown(chart)];
  const user = document.querySelector("select[name=user]"), job = document.querySelector("input");
  user.value = "ann"; user.dispatchEvent(new Event("change")); await pause();
  found.push(shown(chart), said.textContent);
  user.value = ""; user.dispatchEvent(new Event("change")); await pause();
  found.push(shown(chart));
  job.value = "c"; job.dispatchEvent(new Event("change")); await pause();
  found.push(chart.layout.shapes.filter(s => s.name === "found").map(s => [s.x0, s.x1, s.y0, s.y1]).join());
  job.value = "zz"; job.dispatchEvent(new Event("change")); await pause();
  found.push(said.textContent);
  document.getElementById("found").textContent = found.join(" | ");
})();
</script>
"""


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


@pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium")
@pytest.mark.parametrize("drawing", ["bars", "polygons"])
def test_filters_and_search_in_a_browser(small: FakeResult, drawing: str, tmp_path: Path) -> None:
    """ann has two of three jobs; job c is marked on core 7 from 2 s to 8 s; there is no job zz."""
    page = write_gantt(gantt(small, drawing=drawing), tmp_path / "g.html")
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", SCRIPT + "</body>"), encoding="utf-8")
    command = [
        str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}",
        "--virtual-time-budget=20000", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    found = re.search(r'<pre id="found">([^<]*)</pre>', done.stdout)
    assert found is not None, done.stderr[-2000:]
    before, ann, said, after, marked, missing = found[1].split(" | ")
    assert (before, ann, said, after) == ("3", "2", "2 of 3 jobs shown", "3")
    assert [round(float(edge), 1) for edge in marked.split(",")] == pytest.approx([2.0, 8.0, 6.5, 7.5], abs=0.05)
    assert missing == "no such job among those drawn"
