"""Rows of a Gantt chart grouped by what their nodes have in common, folded and unfolded."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import Markup

from analysis import gantt, gantt_runs
from analysis.gantt_chart.groups import group_names
from analysis.gantt_chart.rows import RowScale
from analysis.pages.page import figure_html, page
from cluster_sim.errors import InputError, SpecError
from cluster_sim.platform import Platform, Switch
from tests.support.browser import browse

from .conftest import FakeResult, make_result

PLATFORM = Platform.homogeneous(nodes=4, cores=4)
NAMES = PLATFORM.node_names()


def by_turns(node: str) -> str:
    """Group the nodes 0 and 2, and the nodes 1 and 3."""
    return "even" if int(node[-1]) % 2 == 0 else "odd"


def three_jobs() -> FakeResult:
    """Job a has all of nodes 0 and 1 for the first half, b a core of node 2 throughout, c node 3 for the second half."""
    node = [(name, "processor0", 0, 3) for name in NAMES]
    held = [("a", *node[0], 0.0, 50.0), ("a", *node[1], 0.0, 50.0), ("b", NAMES[2], "processor0", 0, 0, 0.0, 100.0)]
    return make_result(PLATFORM, [*held, ("c", *node[3], 50.0, 100.0)], [(NAMES[3], "OFF", 0.0, 50.0)])


def test_the_axis_is_as_long_however_groups_are_folded() -> None:
    """Rows of groups, and of nodes of open groups, follow one another; folded nodes share the row of their group."""
    for folded in ("all", "none"):
        scale = RowScale.of(PLATFORM, "node", by_turns, folded)
        assert scale.ends == (-0.5, 3.5)
        even, odd = scale.groups
        assert (even.name, odd.name, even.low, scale.group.tolist()) == ("even", "odd", -0.5, [0, 1, 0, 1])
        assert scale.node_low[2] == pytest.approx(scale.node_high[0])
        assert odd.low == pytest.approx(scale.node_high[2])
        assert scale.node_high[3] == pytest.approx(3.5)
        assert scale.node_low[0] == pytest.approx(even.low if folded == "all" else even.high)
    assert np.ptp(scale.node_high - scale.node_low) == pytest.approx(0.0)


def test_many_nodes_are_folded_at_first() -> None:
    """Beyond 64 nodes; 2 nodes are not."""
    for nodes, is_folded in ((2, False), (64, False), (1_000, True)):
        scale = RowScale.of(Platform.homogeneous(nodes=nodes, cores=2), group_by=lambda name: name[-1])
        assert {group.folded for group in scale.groups} == {is_folded}


def test_a_job_on_nodes_of_two_groups_has_a_rectangle_in_each() -> None:
    """Neighbours of different groups do not stand together, and no rectangle reaches into another group."""
    figure = gantt(three_jobs(), group_by=by_turns)
    bars = [trace for trace in figure.data if trace.type == "bar" and trace.meta == "jobs"]
    assert sum(len(trace.y) for trace in bars) == 4
    assert [text for text in figure.layout.yaxis.ticktext if text[0] in "▾▸"] == ["▾ even", "▾ odd"]


def test_the_row_of_a_folded_group_is_as_full_as_its_cores_are_in_use() -> None:
    """Of 8 cores the even nodes have 5 in use, then 1; the odd ones 4, then 4 others."""
    from analysis.gantt_chart.rectangles import RectanglesInView, RunRectangles

    run = RunRectangles.of(three_jobs(), "node", None, by_turns, "all")
    view = RectanglesInView.of(run, (0.0, 100.0), 1_000, 400)
    use = view.group_use(view.classes("job"))
    for group, shares in zip(run.scale.groups, ((5 / 8, 1 / 8), (4 / 8, 4 / 8)), strict=True):
        for time, share in zip((20.0, 80.0), shares, strict=True):
            now = use[
                (use["start"] <= time) & (use["end"] > time) & (use["low"] >= group.low) & (use["high"] <= group.high)
            ]
            assert (now["high"] - now["low"]).sum() == pytest.approx(share * (group.high - group.low))
            assert now["high"].max() == pytest.approx(group.high)
    assert not len(view.unfolded().rectangles)


def test_wrong_groups_are_one_line() -> None:
    """Raise SpecError for an unknown name or an empty one, and InputError where no partitions are known."""
    with pytest.raises(SpecError, match="kind, cluster, partition"):
        gantt(three_jobs(), group_by="colour")
    with pytest.raises(SpecError, match="name for the group"):
        gantt(three_jobs(), group_by=lambda node: "")
    with pytest.raises(InputError, match="partitions"):
        gantt(three_jobs(), group_by="partition")


def test_partitions_of_a_slurm_conf_are_groups(tmp_path: Path) -> None:
    """A node of two partitions is in a group of both."""
    (tmp_path / "slurm.conf").write_text(
        "NodeName=n[0-2] CPUs=4\nPartitionName=short Nodes=n[0-1] Default=YES\nPartitionName=long Nodes=n[1-2]\n"
    )
    platform = Platform.read(tmp_path / "slurm.conf")
    assert group_names(platform, "partition") == ["short", "short + long", "long"]
    assert set(group_names(platform, "cluster")) == {platform.clusters[0].id}
    assert set(group_names(platform, "kind")) == {platform.node_types[0].name}


SCRIPT = """
<pre id="found"></pre>
<script>
addEventListener("load", async () => {
  const pause = () => new Promise(done => setTimeout(done, 100));
  while (GanttTool.all.length < 2) await pause();
  await pause();
  const found = [], tool = GanttTool.all.find(({ runs }) => runs.length === 1), { chart } = tool, { groups } = tool.run;
  // The share of each group's row that areas cover at a time, and where nodes that are off are drawn.
  const note = name => {
    const jobs = chart.data.filter(each => each.meta === "jobs"), traces = jobs.filter(each => each.fill === "toself");
    const covers = [20, 80].map(time => groups.rows.map(({ low, high, folded }) => {
      let all = 0;
      for (const { x, y } of traces)
        for (let i = 0; 6 * i < x.length; i++)
          if (x[5 * i] <= time && time < x[5 * i + 1] && y[5 * i] <= high + 1e-9 && y[5 * i + 2] >= low - 1e-9)
            all += y[5 * i] - y[5 * i + 2];
      return folded ? all / (high - low) : null;
    }));
    const off = chart.data.find(each => each.name === "off"), bars = jobs.filter(each => each.type === "bar");
    found.push({ name, covers, off: [off.y[0], off.width[0]], node: [tool.run.low[3], tool.run.high[3]],
      bars: bars.reduce((sum, { y }) => sum + y.length, 0), ticks: chart.layout.yaxis.ticktext,
      jobs: tool.run.drawn.jobs, hash: location.hash });
  };
  const click = async row => {
    const axis = chart._fullLayout.yaxis, { left, top } = chart.getBoundingClientRect(), { low, high } = groups.rows[row];
    const clientX = left + chart._fullLayout.xaxis._offset + 50, clientY = top + axis._offset + axis.l2p((low + high) / 2);
    const at = { clientX, clientY, bubbles: true };
    const plot = chart.querySelector(".nsewdrag");
    plot.dispatchEvent(new MouseEvent("mousemove", at));
    const hint = tool.hint.textContent;
    for (const type of ["mousedown", "click"]) plot.dispatchEvent(new MouseEvent(type, at));
    await pause();
    return hint;
  };
  note("open");
  const hint = await click(0);
  note("even folded");
  await tool.fold(() => true);
  note("all folded");
  await click(1);
  note("odd open");
  document.getElementById("found").textContent = JSON.stringify({ found, hint });
});
</script>
"""


def test_a_click_folds_a_group_and_unfolds_it(tmp_path: Path) -> None:
    """A page draws the use that the run has, puts nodes that are off where their rows are, and has it in its address."""
    chart = gantt(three_jobs(), group_by=by_turns)
    two = gantt_runs({"a": three_jobs(), "b": three_jobs()}, group_by=by_turns, folded="all")
    content = [figure_html(chart, "one"), figure_html(two, "two"), Markup(SCRIPT)]
    (tmp_path / "page.html").write_text(page("groups", content), encoding="utf-8")
    match = re.search(r'<pre id="found">([^<]+)</pre>', browse((tmp_path / "page.html").as_uri(), tmp_path, 20_000))
    assert match is not None
    told: dict[str, Any] = json.loads(html.unescape(match[1]))
    opened, even, both, odd = told["found"]
    assert told["hint"].startswith("even2 nodes, 8 cores5 of them (62.5 %) in use at")
    assert [each["bars"] for each in told["found"]] == [4, 2, 0, 2]
    assert [each["jobs"] for each in told["found"]] == [3, 3, 3, 3]
    assert even["covers"] == [[pytest.approx(5 / 8, abs=1e-3), None], [pytest.approx(1 / 8, abs=1e-3), None]]
    assert both["covers"] == [[pytest.approx(5 / 8, abs=1e-3), pytest.approx(0.5, abs=1e-3)],
                              [pytest.approx(1 / 8, abs=1e-3), pytest.approx(0.5, abs=1e-3)]]  # fmt: skip
    for each in (opened, even, odd):
        low, high = each["node"]
        assert each["off"] == [pytest.approx((low + high) / 2), pytest.approx(high - low, rel=0.1)]
    assert both["off"] == [None, 0]
    assert [[tick for tick in each["ticks"] if tick[0] in "▾▸"] for each in told["found"]] == [
        ["▾ even", "▾ odd"], ["▸ even", "▾ odd"], ["▸ even", "▸ odd"], ["▸ even", "▾ odd"],
    ]  # fmt: skip
    assert [each["hash"] for each in told["found"]] == ["", "#turned=1", "#turned=1,2", "#turned=1"]


def test_nodes_stand_together_by_rack() -> None:
    """By the leaf switches of the platform; one without a topology has none."""
    racks = replace(PLATFORM, switches=(Switch("left", (0, 2)), Switch("right", (1, 3))))
    assert group_names(racks, "rack") == ["left", "right", "left", "right"]
    with pytest.raises(InputError, match="group_by rack: expected a platform with a topology"):
        group_names(PLATFORM, "rack")
