"""The HTML pages: self-contained, whole, and safe with any input."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from analysis import gantt, write_gantt, write_report
from cluster_sim.errors import InputError
from cluster_sim.platform import Platform

from .conftest import FakeResult, make_result


def test_report_has_settings_table_and_a_chart_per_run(small: FakeResult, tmp_path: Path) -> None:
    """Everything is on the page, plotly.js once, and nothing is fetched from elsewhere."""
    small.metrics = {"makespan_s": 20.0, "energy_j": 1700.0}
    small.meta |= {"contention_model": "piecewise:k=0.6", "quirks": (), "inputs": {"w.swf": "abc"}}
    page = write_report({"one": small, "two": small}, tmp_path / "new" / "report.html").read_text(encoding="utf-8")
    assert page.count("Plotly.newPlot(") == 2
    assert len(re.findall(r"plotly\.js v\d", page)) == 1
    assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=", page)
    assert page.count('"showSendToCloud": false') == 2
    for text in ("one vs two", "piecewise:k=0.6", "makespan", "1,700", "w.swf: abc", "2 nodes, 8 cores"):
        assert text in page


def test_charts_of_a_report_have_the_same_time_axis(small: FakeResult, two_nodes: Platform, tmp_path: Path) -> None:
    """The window is the union of the runs' windows."""
    longer = make_result(two_nodes, [("a", "cluster0.node0", "processor0", 0, 0, 0.0, 500.0)])
    page = write_report({"short": small, "long": longer}, tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count('"range":[-2.0,502.0]') == 2


def test_scripts_in_the_input_do_not_run(two_nodes: Platform, tmp_path: Path) -> None:
    """No text from a file reaches the page as markup, be it job, user, workload, setting or the run's name."""
    evil = "</script><script>alert(1)</script>"
    held = [(evil, "cluster0.node0", "processor0", 0, 1, 0.0, 10.0)]
    run = make_result(two_nodes, held, user=[evil], profile=[evil], reason=[evil])
    run.meta |= {"workload": evil, "scheduler": evil, evil: evil}
    run.metrics = {evil: 1.0}
    page = write_report({evil: run, "b": run}, tmp_path / "r.html", colour_by="user").read_text(encoding="utf-8")
    assert "alert(1)" in page
    assert "<script>alert" not in page
    assert "</script><script>" not in page


def test_one_chart_as_a_page(small: FakeResult, tmp_path: Path) -> None:
    """A figure or a run becomes a page with one chart."""
    for thing in (small, gantt(small)):
        page = write_gantt(thing, tmp_path / "gantt.html").read_text(encoding="utf-8")
        assert page.count("Plotly.newPlot(") == 1
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
        "import analysis.report; assert callable(analysis.gantt) and 'plotly' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
