"""The page of a Gantt chart marks the jobs that the chosen one waited for, as ``result.blocking_chain`` has them."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from markupsafe import Markup

from analysis import gantt
from analysis.pages.page import figure_html, page
from cluster_sim import Platform, Result, Simulation, Workload
from cluster_sim.platform.hardware import PowerTransitions
from tests.support.browser import browse

SCRIPT = """
<pre id="found"></pre>
<script>
addEventListener("load", async () => {
  const pause = () => new Promise(done => setTimeout(done, 100)), chains = {}, marks = {};
  while (GanttTool.all.length < 3) await pause();
  for (const tool of GanttTool.all) {
    const { run, chart } = tool, own = {};
    for (let row = 0; row < run.count; row++)
      own[run.id(row)] = run.chain(row).map(({ row, start, end, cores, ofWait }) => [run.id(row), cores, start, end, ofWait]);
    chains[chart.id] = own;
    const [id] = Object.entries(own).sort(([, a], [, b]) => b.length - a.length)[0];
    await tool.choose(id);
    const boxes = chart.layout.shapes.filter(each => each.name === "chain" && each.type === "rect");
    marks[chart.id] = { id, boxes: boxes.map(({ x0, x1 }) => [x0, x1]) };
    marks[chart.id].links = [...tool.aside.querySelectorAll("ol a")].map(each => each.textContent);
  }
  document.getElementById("found").textContent = JSON.stringify({ chains, marks });
});
</script>
"""


def test_chains_are_those_of_the_result(tmp_path: Path) -> None:
    """Of every job: under FCFS, with jobs that are stopped and run again, and where nodes boot while jobs hold them."""
    boots = PowerTransitions(switch_on_s=300.0, switch_off_s=60.0)
    runs: dict[str, Result] = {}
    for name, policy in (("fcfs", None), ("preemptive", None), ("easy", "timeout:60")):
        platform = Platform.homogeneous(nodes=4, cores=2, transitions=boots if policy else None)
        workload = Workload.read("lublin:jobs=60,nodes=8,seed=1")
        runs[name] = Simulation(platform, workload, name, **({"power_policy": policy} if policy else {})).run(
            warn=False
        )
    charts = [figure_html(gantt(run, time_unit="s"), name) for name, run in runs.items()]
    (tmp_path / "page.html").write_text(page("chains", [*charts, Markup(SCRIPT)]), encoding="utf-8")
    match = re.search(r'<pre id="found">([^<]+)</pre>', browse((tmp_path / "page.html").as_uri(), tmp_path, 30_000))
    assert match is not None
    told = json.loads(html.unescape(match[1]))
    for name, run in runs.items():
        expected = {job: run.blocking_chain(job) for job in run.jobs["job_id"]}
        columns = ["job_id", "cores", "start", "end", "of_wait_s"]
        assert set(told["chains"][name]) == set(expected)
        for job, chain in expected.items():
            links = told["chains"][name][job]
            assert [link[:2] for link in links] == chain[columns[:2]].to_numpy().tolist(), (name, job)
            assert [x for link in links for x in link[2:]] == pytest.approx(
                chain[columns[2:]].to_numpy().ravel(), abs=1e-5
            )
        marks = told["marks"][name]
        longest = expected[marks["id"]]
        assert len(longest) > 3
        assert marks["links"] == [f"job {job}" for job in longest["job_id"]][-8:]
        ends = {round(x1, 3) for _, x1 in marks["boxes"]}
        assert {round(end, 3) for end in longest["end"]} == ends
