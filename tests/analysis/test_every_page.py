"""Every kind of page on a phone, a laptop and a projector, on light and on dark ground, and on paper, in a real browser."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis.explore.app import make_app
from analysis.explore.offers import Offers
from analysis.explore.runs import ExploreSession
from analysis.figures.pictures import browser
from analysis.pages.serving import served
from analysis.reproduce.outcome import save
from analysis.reproduce.paper import ReproductionSetting
from analysis.reproduce.runner import reproduce
from cluster_sim.cli import main
from tests.support.chromium import Chromium
from tests.support.made_up import make

CHECKS = (Path(__file__).parents[1] / "support" / "page_checks.js").read_text(encoding="utf-8")
EXAMPLES = Path(__file__).parents[2] / "examples"
PAPER_PX = 974
"""Width of paper: as wide as charts are made for it, and its margins."""
LOOKS = (
    (390, False, ""),
    (1_280, False, ""),
    (1_920, False, ""),
    (390, True, ""),
    (1_280, True, ""),
    (PAPER_PX, False, "print"),
)
DRAWN = """
new Promise(async done => {
  const charts = () => [...document.querySelectorAll(".plotly-graph-div, .js-plotly-plot")], begun = Date.now();
  const has = (each, part) => each.querySelector(part) !== null;
  const isDrawn = each => !each.clientWidth || each._fullLayout && has(each, ".main-svg") && !has(each, ".still");
  while (Date.now() - begun < 30000 && (!charts().every(isDrawn) || document.querySelector("#page ._dash-loading")))
    await new Promise(next => setTimeout(next, 50));
  setTimeout(() => done(charts().length), 300);
})"""
LAB = "-p homogeneous:nodes=4,cores=4 -w lublin:jobs=60,nodes=16,seed=2"
SWEEP = """
factors:
  workload: ["lublin:jobs=40,nodes=16"]
  platform: ["homogeneous:nodes=4,cores=4"]
  scheduler: [fcfs, easy, "list:sjf/low_power"]
  power_policy: [always-on, "timeout:300"]
  load: [0.7, 0.9, 1.1]
replications: 4
"""
TRAINING = """
environment: {platform: "homogeneous:nodes=2,cores=4", workload: "lublin:jobs=12,nodes=8,seed=2"}
network: scorer:hidden=8
iterations: 3
episodes: 2
seeds: 2
baselines: [fcfs, sjf, easy]
"""


def command(words: str, folder: Path) -> None:
    """Run a command; paths in it are of the folder."""
    done = CliRunner().invoke(main, words.replace("@", f"{folder}/").split())
    assert done.exit_code == 0, done.output


def of_run(folder: Path, words: str, page: str) -> Path:
    """Run under EASY, with nodes that are switched off, and then a command on the result."""
    command(f"run {LAB} -s easy --power-policy timeout:600 --explain --report --out @run", folder)
    if words:
        command(words, folder)
    return folder / page


def compared(folder: Path) -> Path:
    """Compare two schedulers by one of their runs."""
    command(f"compare {LAB} -s fcfs -s easy:nodes=free_mem_bw --report --out @both", folder)
    return folder / "both" / "report.html"


def the_demo(folder: Path) -> Path:
    """Write the page of the demo: a real week, by the calendar, with users."""
    command("demo --out @demo", folder)
    return folder / "demo" / "report.html"


def swept(folder: Path) -> Path:
    """Write the page of a sweep over three factors."""
    (folder / "sweep.yaml").write_text(SWEEP)
    command("sweep @sweep.yaml --out @sweep --report --workers 1", folder)
    return folder / "sweep" / "report.html"


def trained(folder: Path) -> Path:
    """Write the page of two short trainings."""
    (folder / "training.yaml").write_text(TRAINING)
    command("train @training.yaml --out @agent --report --workers 1", folder)
    return folder / "agent" / "report.html"


def reproduced(folder: Path) -> Path:
    """Write the page of a made-up paper, of which a number is not reproduced."""
    (folder / "number.txt").write_text("7")
    found = reproduce(make(folder / "log"), ReproductionSetting(False, folder), folder / "out", workers=1)
    return save(found, folder / "out", {"command": "cluster-sim reproduce", "quick": True})


def what_if(folder: Path) -> Path:
    """Write the page of a synthetic cluster with more nodes."""
    example = [sys.executable, "-W", "ignore", str(EXAMPLES / "synthetic_cluster.py"), "--weeks", "3"]
    subprocess.run([*example, "--out", str(folder / "log")], capture_output=True, check=True)
    command("whatif @log/jobs.txt --conf @log/slurm.conf --nodes +4 --out @more", folder)
    return folder / "more" / "whatif.html"


def lesson(folder: Path) -> Path:
    """Write the page of the first lesson."""
    command("lesson 1 --run --out @lesson.html", folder)
    return folder / "lesson.html"


PAGES: dict[str, Callable[[Path], Path]] = {
    "run": partial(of_run, words="", page="run/report.html"),
    "gantt": partial(of_run, words="gantt @run --out @gantt.html", page="gantt.html"),
    "gantt, folded": partial(
        of_run, words="gantt @run --out @gantt.html --group-by kind --folded all", page="gantt.html"
    ),
    "gantt by job": partial(of_run, words="gantt @run --view jobs --out @jobs.html", page="jobs.html"),
    "steps": partial(of_run, words="gantt @run --view steps --out @steps.html", page="steps.html"),
    "compare": compared,
    "demo": the_demo,
    "sweep": swept,
    "train": trained,
    "reproduce": reproduced,
    "what-if": what_if,
    "lesson": lesson,
}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    """One browser for all pages."""
    program = browser()
    if program is None:
        pytest.skip("needs a Chromium")
    with Chromium(program) as started:
        yield started


def wrongs(chromium: Chromium, address: str, width: int, dark: bool, media: str) -> tuple[int, list[str]]:
    """Open a page at a width; return how many charts it has, and what is wrong with it."""
    chromium.look(width, dark=dark, media=media)
    chromium.open("about:blank")
    chromium.open(address)
    charts = chromium.run(DRAWN)
    if media:
        chromium.run("dispatchEvent(new Event('beforeprint'))")
    found = chromium.run(CHECKS)
    ground = chromium.run("getComputedStyle(document.body).backgroundColor")
    if (ground == "rgb(21, 25, 29)") is not dark:
        found.append(f"its ground is {ground}")
    return charts, found


@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_read_everywhere(chromium: Chromium, name: str, tmp_path: Path) -> None:
    """It begins with a heading; nothing is wider than the window, no chart is empty, no text lies on another."""
    address = PAGES[name](tmp_path).as_uri()
    for look in LOOKS:
        charts, found = wrongs(chromium, address, *look)
        assert (look, found) == (look, [])
        assert charts or name == "steps"


def test_the_page_of_explore_can_be_read_everywhere(chromium: Chromium) -> None:
    """The form, the first run and its steps."""
    with served(make_app(ExploreSession(Offers.of())), "explore") as address:
        for look in LOOKS[:-1]:
            _, found = wrongs(chromium, address, *look)
            assert (look, found) == (look, [])


def test_a_page_with_faults_is_found_out(chromium: Chromium, tmp_path: Path) -> None:
    """A wide table, no heading, a chart without a mark, a name on another: each is told."""
    import plotly.graph_objects as go

    from analysis.pages.page import figure_html, page

    note = {"x": 0.5, "y": 0.5, "xref": "paper", "yref": "paper", "showarrow": False}
    crowded = go.Figure(go.Bar(y=[1, 2])).update_layout(annotations=[note | {"text": "one"}, note | {"text": "two"}])
    figures = [figure_html(crowded, "crowded"), figure_html(go.Figure(), "nothing")]
    text = page("faults", figures).replace('<h1 class="unseen">faults</h1>', "<p style='width: 2000px'>wide</p>")
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    _, found = wrongs(chromium, (tmp_path / "page.html").as_uri(), 1_280, False, "")
    for words in (
        "px wide in a window of 1280 px",
        "begins with P",
        "nothing is empty",
        "crowded: “one” lies on “two”",
    ):
        assert any(words in each for each in found), words
