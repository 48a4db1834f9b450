"""The HTML pages: self-contained, whole, and safe with any input."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

from analysis import gantt, replication_table, write_gantt, write_report
from cluster_sim.errors import InputError
from cluster_sim.platform import Platform
from cluster_sim.records import Result
from cluster_sim.run import Simulation
from cluster_sim.workload import Workload
from schedulers import make_scheduler
from tests.support.payloads import figures_in

from .conftest import FakeResult

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    """``run(scheduler)``: six jobs of two users on two nodes that draw power."""

    def simulate(scheduler: str = "fcfs", name: str = "six jobs", **columns: list[str]) -> Result:
        power = {"static_w": 10.0, "dynamic_w": 5.0, "min_power": 0.4}
        jobs = {
            "submit_time": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], "requested_cores": [2, 4, 1, 1, 3, 2],
            "recorded_run_time": [30.0, 20.0, 10.0, 5.0, 10.0, 8.0], "user": ["ann", "bob"] * 3,
        }  # fmt: skip
        workload = Workload(jobs | columns, name=name, header=["; UnixStartTime: 1000000"])
        result = Simulation(Platform.homogeneous(2, 2, power=power), workload, make_scheduler(scheduler)).run()
        result.meta["inputs"] = {"w.swf": "0123abc"}
        return result

    return simulate


def charts(page: str) -> list[go.Figure]:
    """The figures in a page, unpacked."""
    return [go.Figure(figure) for figure in figures_in(page)]


def titles(page: str) -> list[str]:
    """Return the titles of the figures in a page."""
    return [figure.layout.title.text for figure in charts(page)]


def test_a_report_of_two_runs(run: Run, tmp_path: Path) -> None:
    """Summary, one chart of both runs, curves, distributions, users, inputs; plotly.js once, and nothing from elsewhere."""
    first = run()
    jobs = first.jobs[["submit_time", "requested_cores"]].assign(recorded_run_time=1.0)
    workload = Workload(jobs, header=["; UnixStartTime: 1000000"])
    runs = {"fcfs": first, "easy": run("easy")}
    page = write_report(runs, tmp_path / "new" / "report.html", workload=workload).read_text(encoding="utf-8")
    assert titles(page) == [
        "FCFS vs EASY backfilling", "Cores in use", "Jobs that wait", "Energy used so far",
        "Power by state: FCFS", "Power by state: EASY backfilling", "Distribution of the wait time",
        "Distribution of the bounded slowdown", "Jobs submitted, by hour of the day", "Jobs submitted, by weekday",
        "Mean bounded slowdown by user",
    ]  # fmt: skip
    assert page.count("clusterSim.load(") == 1
    assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=", page)
    assert page.count('"showSendToCloud": false') == 11
    for text in (
        "<code>easy</code>",
        '<ul class="tiles">',
        "makespan",
        "0123abc",
        "2 nodes, 4 cores",
        "Jain&#39;s index",
        ">bob<",
    ):
        assert text in page
    assert charts(page)[3].data[0].y[-1] == pytest.approx(first.summary()["energy_j"])


def test_a_report_of_one_run(run: Run, tmp_path: Path) -> None:
    """What stands under the chart is not drawn twice; a run without users has no such section."""
    page = write_report(run(user=[""] * 6), tmp_path / "report.html").read_text(encoding="utf-8")
    assert titles(page)[1:] == [
        "Power by state",
        "Distribution of the wait time",
        "Distribution of the bounded slowdown",
    ]
    assert "Users</h2>" not in page


def test_a_report_over_replications(run: Run, tmp_path: Path) -> None:
    """The table of intervals stands in place of the single runs' metrics."""
    table = replication_table({"fcfs": [{"makespan_s": each} for each in (10.0, 12.0, 10.0, 12.0, 11.0)]})
    page = write_report({"fcfs": run()}, tmp_path / "r.html", replications=table).read_text(encoding="utf-8")
    assert ">11 s ± 1.24 s</td>" in page  # 2.776 / √5
    assert "paired by seed" in page


def test_charts_of_a_report_have_the_same_time_axis(run: Run, tmp_path: Path) -> None:
    """The window is the union of the runs' windows, of one chart of the same jobs, and of a chart each of others."""
    short = run()
    long = run(recorded_run_time=[500.0] * 6)
    [both, *_] = charts(write_report({"short": short, "long": long}, tmp_path / "r.html").read_text(encoding="utf-8"))
    assert both.layout.xaxis.range[1] >= 1000.0
    long = run(recorded_run_time=[500.0] * 6, requested_cores=[1] * 6)
    figures = charts(write_report({"short": short, "long": long}, tmp_path / "r.html").read_text(encoding="utf-8"))
    assert figures[0].layout.xaxis.range == figures[1].layout.xaxis.range
    assert figures[0].layout.xaxis.range[1] >= 1000.0


def test_scripts_in_the_input_do_not_run(run: Run, tmp_path: Path) -> None:
    """No text from a file reaches the page as markup, be it job, user, profile, workload, setting or the run's name.

    In the figures, plotly would take some tags for its own: there they are escaped, too.
    """
    evil = "</script><script>alert(1)</script><a href='javascript:alert(2)'>x</a><img src=y>"
    others = [f"{evil}{i}" for i in range(6)]
    result = run(name=evil, job_id=others, user=others, profile=others)
    result.meta |= {"scheduler": evil, evil: evil, "inputs": {evil: evil}}
    path = write_report({evil: result, "b": result}, tmp_path / "r.html", colour_by="user")
    page = path.read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)" in page
    for tag in ("<script>alert", "</script><script>alert", "<a href='", "<img"):
        assert tag not in page
    for figure in charts(page):
        data = figure.to_dict()
        # Traces keep bare texts for the page's own search field, which puts them in as text.
        for trace in data["data"]:
            for key in ("name", "text", "hovertemplate"):
                assert "<a href=" not in str(trace.get(key)), (figure.layout.title.text, key)
        assert "<a href=" not in str(data["layout"].get("title")) + str(data["layout"].get("xaxis"))


def test_two_runs_of_5_000_jobs_are_less_than_three_and_a_half_megabytes(tmp_path: Path) -> None:
    """A page that compares runs with as many jobs on 32 cores; 2.6 MB are plotly.js and what stands around the jobs."""
    rng = np.random.default_rng(1)
    count = 5_000
    jobs = {
        "submit_time": np.cumsum(rng.exponential(30.0, count)).round(), "requested_cores": rng.integers(1, 5, count),
        "recorded_run_time": rng.integers(1, 600, count), "user": rng.integers(1, 90, count).astype(str),
    }  # fmt: skip
    power = {"static_w": 10.0, "dynamic_w": 5.0, "min_power": 0.4}
    result = Simulation(Platform.homogeneous(2, 16, power=power), Workload(jobs), make_scheduler("fcfs")).run()
    page = write_report({"one": result, "other": result}, tmp_path / "report.html")
    assert page.stat().st_size < 3_450_000


def test_one_chart_as_a_page(small: FakeResult, tmp_path: Path) -> None:
    """A figure or a run becomes a page with one chart."""
    for thing in (small, gantt(small)):
        page = write_gantt(thing, tmp_path / "gantt.html").read_text(encoding="utf-8")
        assert len(charts(page)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["gantt.html"]


def test_a_page_that_cannot_be_written_is_named(small: FakeResult, tmp_path: Path) -> None:
    """A folder in the way, or a file where the folder should be: an InputError, and nothing left behind."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "folder", tmp_path / "file" / "gantt.html"):
        with pytest.raises(InputError, match="can be written"):
            write_gantt(small, path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_report_needs_a_run(tmp_path: Path) -> None:
    """No runs, no page."""
    with pytest.raises(InputError, match="at least one run"):
        write_report({}, tmp_path / "r.html")


def test_plotly_loads_only_when_a_figure_is_made() -> None:
    """Importing the package and printing tables leave plotly alone; no module hides the function `gantt`."""
    code = (
        "import sys, analysis; from analysis import comparison_table, format_table; "
        "assert 'plotly' not in sys.modules; "
        "import analysis.reports.report; assert callable(analysis.gantt) and 'plotly' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
