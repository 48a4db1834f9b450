"""Pages made from templates: texts are escaped, and a template gets all that it asks for."""

from __future__ import annotations

import html
import json
import re
from importlib.resources import files
from pathlib import Path

import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from analysis import ecdf
from analysis.pages.page import figure_html, page, piece, render
from analysis.tables.run_metrics import cells_html
from cluster_sim import Platform, Simulation, Workload
from schedulers import make_scheduler
from tests.support.browser import browse

EVIL = "</script><script>alert('1')</script> {{ 6 * 7 }}"


def test_a_text_is_escaped_and_a_piece_is_not() -> None:
    """In the heading and among the figures; what looks like a template's own marks is text, too."""
    told = page(EVIL, [Markup("<i>mine</i>"), "<i>foreign</i>"])  # type: ignore[list-item]
    assert "<script>alert" not in told
    assert "<title>&lt;/script&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; {{ 6 * 7 }}</title>" in told
    assert "<i>mine</i>" in told
    assert "&lt;i&gt;foreign&lt;/i&gt;" in told


def test_a_page_is_plain_text() -> None:
    """A caller may replace a part of it: Markup would escape what is put in."""
    assert type(page("a", [])) is str
    assert page("a", []).replace("</body>", "<p>b</p></body>").count("<p>b</p>") == 1


def test_a_value_in_a_script_cannot_end_it() -> None:
    """Words handed to a script are JSON without angle brackets, in their own order."""
    told = piece("figure.html", div="a", height=1, still="", data="", config={"z": "</script>", "a": 1})
    assert '{"z": "\\u003c/script\\u003e", "a": 1}' in told


def test_a_value_that_is_missing_is_an_error() -> None:
    """A slip in a template does not leave a gap in the page."""
    with pytest.raises(UndefinedError, match="heading"):
        render("figures.html", figures=[])


def test_no_template_turns_escaping_off() -> None:
    """Only code says what is Markup, never a template."""
    templates = [path for path in (files("analysis") / "templates").iterdir() if path.name.endswith(".html")]
    assert {"base.html", "report.html"} <= {path.name for path in templates}
    off = re.compile(r"\|\s*safe\b|autoescape")
    assert [path.name for path in templates if off.search(path.read_text(encoding="utf-8"))] == []


def test_a_table_is_sorted_by_its_headings(tmp_path: Path) -> None:
    """By the numbers behind the texts where they are given, up and then down; what is unknown comes last."""
    rows = [["b", "2 h", "1,000"], ["a", "3 min", "–"], ["c", "1 d", "20"]]
    table = cells_html(
        ["user", "wait", "jobs"], rows, "sortable", [[None, 7200.0, None], [None, 180.0, None], [None, 86400.0, None]]
    )
    script = """<pre id="found"></pre><script>
    const heads = document.querySelectorAll("th[scope=col]"), orders = [];
    for (const column of [0, 1, 1, 2, 2]) {
      heads[column].click();
      orders.push([...document.querySelectorAll("tbody th")].map(cell => cell.textContent).join(""));
    }
    document.getElementById("found").textContent = orders.join(" ");
    </script></body>"""
    (tmp_path / "page.html").write_text(page("sorted", [table]).replace("</body>", script))
    dom = browse((tmp_path / "page.html").as_uri(), tmp_path)
    assert '<pre id="found">abc abc cba cba bca</pre>' in dom


def test_an_axis_of_waits_has_round_ticks_wherever_it_is_zoomed_to(tmp_path: Path) -> None:
    """Between two powers of ten of a logarithmic axis there are others; where lengths read alike, to the second."""
    jobs = {"submit_time": [0.0] * 4, "requested_cores": [1] * 4, "recorded_run_time": [1.0, 30.0, 4_000.0, 300_000.0]}
    result = Simulation(Platform.homogeneous(1, 4), Workload(jobs), make_scheduler("fcfs")).run()
    charts = [figure_html(ecdf(result, "run_time", log=log), f"log-{log}".lower()) for log in (True, False)]
    script = """<pre id="found"></pre><script>
    const pause = () => new Promise(done => setTimeout(done, 50)), found = [];
    (async () => {
      for (const [id, range] of [["log-true", [2, 2.5]], ["log-true", [0.5, 5]], ["log-false", [3600, 3620]]]) {
        const chart = document.getElementById(id);
        while (!chart.data) await pause();
        await Plotly.relayout(chart, { "xaxis.range": range }); await pause();
        found.push(chart._fullLayout.xaxis.ticktext);
      }
      document.getElementById("found").textContent = JSON.stringify(found);
    })();
    </script></body>"""
    (tmp_path / "page.html").write_text(page("zoomed", charts).replace("</body>", script))
    found = re.search(r'<pre id="found">([^<]+)</pre>', browse((tmp_path / "page.html").as_uri(), tmp_path))
    assert found is not None
    near, far, seconds = json.loads(html.unescape(found[1]))
    assert near == ["2 min", "2 min 30 s", "3 min", "3 min 30 s", "4 min", "4 min 30 s", "5 min"]
    assert far == ["10 s", "1 min", "10 min", "1 h", "6 h", "1 d"]
    assert seconds == [f"01:00:{place:02}" for place in range(0, 21, 5)]
