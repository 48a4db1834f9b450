"""Pages on a phone, in a real browser: the plot has the width, the legend stands above it."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import plotly.graph_objects as go
import pytest
from markupsafe import Markup

from analysis import gantt
from analysis.pages.page import figure_html, page
from cluster_sim import Platform
from tests.support.browser import browse

from .conftest import make_result

SCRIPT = """
<pre id="found"></pre>
<script>
addEventListener("load", async () => {
  const found = {};
  for (const chart of document.querySelectorAll(".plotly-graph-div")) {
    while (!chart._fullLayout || !chart._fullLayout.xaxis._length) await new Promise(done => setTimeout(done, 50));
    const { xaxis, yaxis, legend, height } = chart._fullLayout, box = chart.querySelector(".legend").getBoundingClientRect();
    const plot = chart.querySelector(".nsewdrag").getBoundingClientRect();
    found[chart.id] = { place: chart.clientWidth, plot: xaxis._length, legend: legend.orientation, ticks: yaxis.ticktext,
      height: [height, chart.clientHeight], above: box.bottom <= plot.top + 2 };
  }
  document.getElementById("found").textContent = JSON.stringify(found);
});
</script>
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What the script measures of a Gantt chart and of curves, in a place of 366 px and in one of 1,200 px."""
    folder = tmp_path_factory.mktemp("narrow")
    platform = Platform.homogeneous(nodes=2, cores=2)
    names = platform.node_names()
    held = [(str(i), names[i % 2], "processor0", 0, 1, 100.0 * i, 100.0 * i + 90.0) for i in range(120)]
    charts = {"jobs": gantt(make_result(platform, held, user=[f"user {i % 4}" for i in range(120)]), colour_by="user")}
    curves = [go.Scatter(x=[0, 1], y=[place, 1], name=f"a scheduler, number {place}") for place in range(4)]
    charts["curves"] = go.Figure(curves).update_layout(
        height=400, title={"text": "A heading of a good many words, for a phone"}
    )
    told = {}
    for width in (366, 1_200):
        text = page("charts", [*(figure_html(chart, name) for name, chart in charts.items()), Markup(SCRIPT)])
        text = text.replace("<body>", f'<body style="width: {width}px; box-sizing: border-box">')
        (folder / f"{width}.html").write_text(text, encoding="utf-8")
        shown = browse(f"file://{folder / f'{width}.html'}", folder, 20_000)
        match = re.search(r'<pre id="found">(.*?)</pre>', shown, re.DOTALL)
        assert match is not None
        told |= {f"{name} {width}": each for name, each in json.loads(html.unescape(match[1])).items()}
    return told


@pytest.mark.parametrize("name", ["jobs", "curves"])
def test_on_a_phone_the_plot_has_the_width(found: dict[str, dict[str, Any]], name: str) -> None:
    """Two thirds of the place, under a legend that lies; on a screen the legend of a Gantt chart stands beside it."""
    phone, screen = found[f"{name} 366"], found[f"{name} 1200"]
    assert phone["place"] < 400
    assert phone["plot"] > 0.66 * phone["place"]
    assert (phone["legend"], phone["above"]) == ("h", True)
    assert phone["height"][0] == phone["height"][1]
    assert screen["legend"] != "h"


def test_names_of_nodes_lose_what_all_begin_with(found: dict[str, dict[str, Any]]) -> None:
    """A phone shows node0 where a screen shows cluster0.node0."""
    assert set(found["jobs 366"]["ticks"]) == {name.rpartition(".")[2] for name in found["jobs 1200"]["ticks"]}
    assert all("." in name for name in found["jobs 1200"]["ticks"])
