"""The callbacks as functions, the server's manners, and the page in a real browser."""

from __future__ import annotations

import base64
import builtins
import html
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from dash import dcc, no_update

from analysis.explore import app as app_module
from analysis.explore import callbacks
from analysis.explore.app import make_app
from analysis.explore.layout import page
from analysis.explore.offers import Offers
from analysis.explore.runs import Choices, ExploreSession
from analysis.explore.scenario import Scenario
from analysis.pages import serving
from analysis.pages.page import render
from analysis.pages.serving import LOCAL, server_of
from cluster_sim import InputError, Platform, Simulation, Workload, make_scheduler
from cluster_sim.cli import main
from cluster_sim.cli.commands.explore import _session_of
from tests.support.browser import browse

from .conftest import Story

CHOICES = Choices().plain()


@pytest.fixture(scope="module")
def desk() -> ExploreSession:
    """With what is built in."""
    return ExploreSession(Offers.of())


@pytest.fixture(scope="module")
def saved(story: Story) -> ExploreSession:
    """With a finished run to look at: fcfs, whose steps tests/explore/test_steps.py has."""
    return ExploreSession(Offers.of(), story("fcfs"))


def text_of(thing: Any) -> str:
    """All texts of elements, one after the other."""
    if isinstance(thing, list | tuple):
        return "".join(map(text_of, thing))
    children = getattr(thing, "children", thing)
    return "" if children is None else children if isinstance(children, str) else text_of(children)


def test_a_run_begins(desk: ExploreSession) -> None:
    """Good choices are kept; bad ones leave what was shown and say in one line what is wrong."""
    assert callbacks.start(desk, CHOICES) == (CHOICES, "")
    kept, said = callbacks.start(desk, CHOICES | {"scheduler": "moon"})
    assert kept is no_update
    assert said.startswith("scheduler: expected one of ")


def test_a_new_run_shows_its_metrics_and_first_step(saved: ExploreSession) -> None:
    """Three jobs, 180 s from the first submission to the last finish; the first step is shown.

    By hand, waits of 0, 90 and 130 s, and 600 + 400 + 60 of 1,440 core-seconds.
    """
    told = text_of(callbacks.headlines(saved, None, None))
    assert told.startswith("FCFS on equal nodes")
    assert (
        "Jobs wait 1 min 13 s on average, half of them at most 1 min 30 s, one 2 min 10 s; 74 % of the core time"
        in told
    )
    assert "3 of 3 jobs completed." in told
    assert "makespan3 min" in told
    assert callbacks.opened(saved, None)[1:] == (0, None)


def test_what_is_not_certain_is_told_by_kind(desk: ExploreSession) -> None:
    """Watts and requested times that nobody stated are assumed; a job that cannot fit is left out."""
    given = CHOICES | {"workload_options": "jobs=30,nodes=64,seed=4", "platform_options": "nodes=2,cores=4"}
    told = text_of(callbacks.opened(desk, given)[0])
    assert told.index("Assumed, because the input does not say") < told.index("watts: ") < told.index("Left out")
    assert told.index("Left out") < told.index("rejected: ")
    assert "Warning" not in told


def test_figures_against_the_kept_run_have_a_direction(tmp_path: Path, story: Story) -> None:
    """By hand: (0 + 90 + 0) / 3 s under EASY, instead of (0 + 90 + 130) / 3 s."""
    log = tmp_path / "log.csv"
    story.workload().write(log)
    desk = ExploreSession(Offers.of([str(log)], ["homogeneous:nodes=1,cores=8"], ["fcfs", "easy"]))
    fcfs = desk.first.plain()
    *_, tiles = callbacks.headlines(desk, fcfs | {"scheduler": "easy"}, fcfs)
    found = {text_of(tile.children[0]): tile for tile in tiles.children}
    assert found["mean wait"].className == "better"
    assert text_of(found["mean wait"]) == "mean wait30 s−59 % against 1 min 13 s under kept"


def test_a_run_without_a_log_says_so(story: Story) -> None:
    """Its steps are its starts, and the end."""
    bare = ExploreSession(Offers.of(), story("fcfs", explain=False))
    assert "no log of decisions" in text_of(callbacks.opened(bare, None)[0])
    assert callbacks.frames(bare, None, "job", 0)["kind"] == ["start", "start", "start", "end"]


@pytest.mark.parametrize(("wanted", "found"), [(2, 2), (99, 5), (-1, 0), (None, 0)])
def test_stepping_stays_within_the_run(saved: ExploreSession, wanted: Any, found: int) -> None:
    """Five decisions and the end are sent together, as they are to the page, and the nearest to the wanted one is shown."""
    data = callbacks.frames(saved, None, "user", wanted)
    assert (data["shown"], data["begin"], data["stop"], len(data["time"])) == (found, 0, 6, 6)
    assert data["words"][2] == "Job wide starts on 8 cores of cluster0.node0."
    assert data["legend"]["title"] == "User"


def test_of_a_long_run_a_part_is_sent() -> None:
    """350 jobs, one after the other: frame 320 comes with the 51 frames from 300 on."""
    columns = {"submit_time": [0.0] * 350, "requested_cores": [1] * 350, "recorded_run_time": [1.0] * 350}
    run = Simulation(Platform.homogeneous(1, 1), Workload(columns), make_scheduler("fcfs")).run()
    data = callbacks.frames(ExploreSession(Offers.of(), run), None, "job", 320)
    assert (data["first"], len(data["time"]), data["stop"], data["shown"]) == (300, 51, 351, 320)


def test_the_chart_has_every_job_and_the_step(saved: ExploreSession) -> None:
    """A bar for each job, and a line at the time of the step, which alone travels when that changes."""
    figure = callbacks.chart(saved, None, "job", None, 1)
    bars = [trace for trace in figure.data if trace.meta == "jobs"]
    assert sorted(str(row[0]) for bar in bars for row in bar.customdata) == ["small", "solver", "wide"]
    assert (figure.layout.shapes[0].name, figure.layout.shapes[0].x0) == ("cursor", 10.0)
    patch = callbacks.moved_cursor(saved, None, 4).to_plotly_json()
    (change,) = patch["operations"]
    assert change["location"] == ["layout", "shapes", 0]
    assert change["params"]["value"]["x1"] == 150.0


def test_a_zoom_has_ticks_of_its_own(saved: ExploreSession) -> None:
    """Also of a small run, all rectangles of which are there: those of the whole would lie outside of the window."""
    view = callbacks.zoomed(saved, None, {"xaxis.range[0]": 1.2, "xaxis.range[1]": 4.8}, None)
    axis = callbacks.chart(saved, None, "job", view, 0).layout.xaxis
    assert axis.ticktext == ("1.5 s", "2 s", "2.5 s", "3 s", "3.5 s", "4 s", "4.5 s")
    assert callbacks.whole({"range": [0, 1], "turn": 3}) == {"range": None, "turn": 4}


def test_a_large_run_is_drawn_exactly_in_a_window() -> None:
    """6,000 jobs side by side, one second each on one core: the window [0, 10] s touches those of 11 starts."""
    count = 6_000
    columns = {"submit_time": range(count), "requested_cores": [1] * count, "recorded_run_time": [1.0] * count}
    run = Simulation(Platform.homogeneous(nodes=1, cores=2), Workload(columns), make_scheduler("fcfs")).run()
    desk = ExploreSession(Offers.of(), run)
    view = callbacks.zoomed(desk, None, {"xaxis.range[0]": 0.0, "xaxis.range[1]": 10.0}, None)
    assert view == {"range": [0.0, 10.0], "turn": 1}
    bars = [trace for trace in callbacks.chart(desk, None, "job", view, 0).data if trace.meta == "jobs"]
    assert sum(len(bar.customdata) for bar in bars) == 11
    assert callbacks.zoomed(desk, None, {"xaxis.autorange": True}, view)["range"] is None
    assert callbacks.zoomed(desk, None, {"autosize": True}, view) is no_update
    assert callbacks.zoomed(desk, None, {"xaxis.range[0]": 5, "xaxis.range[1]": "x"}, view) is no_update


def test_fields_send_numbers_out_of_range(desk: ExploreSession) -> None:
    """A field with limits sends none instead: 5,000 jobs "found none", and a job submitted at -5 s was submitted now."""
    fields = [each for each in page(desk)._traverse() if isinstance(each, dcc.Input) and each.type == "number"]
    assert len(fields) == 7
    assert {(getattr(each, "min", None), getattr(each, "max", None), each.step) for each in fields} == {
        (None, None, "any")
    }


def test_a_run_is_kept_to_compare_others_with(tmp_path: Path, story: Story) -> None:
    """Under EASY small need not wait for wide: what was changed, both metrics, the job that moved, and both charts."""
    log = tmp_path / "log.csv"
    story.workload().write(log)
    desk = ExploreSession(Offers.of([str(log)], ["homogeneous:nodes=1,cores=8"], ["fcfs", "easy"]))
    fcfs = callbacks.kept(desk.first.plain(), None)
    assert fcfs == desk.first.plain()
    easy = fcfs | {"scheduler": "easy"}
    said = text_of(callbacks.moved(desk, easy, fcfs))
    assert "Changed, from the kept run to the one of now: scheduler: fcfs → easy." in said
    assert "mean wait1 min 13 s30 s−59.1 %" in said  # (0 + 90 + 130) / 3 s, (0 + 90 + 0) / 3 s
    assert "3 jobs started in both: 1 earlier than in the kept run, 0 later" in said
    assert "Furthest earlier: small by 2 min 10 s." in said
    several = text_of(callbacks.moved(desk, easy | {"seed": 3}, fcfs))
    assert "scheduler: fcfs → easy; seed: 0 → 3. Several things were changed" in several
    figure = callbacks.chart(desk, easy, "job", None, 0, fcfs)
    assert [figure.layout.yaxis.title.text, figure.layout.yaxis2.title.text] == ["kept", "now"]
    assert [trace.name for trace in figure.data if trace.meta == "differences"] == ["now: 1 earlier"]
    changed, _ = callbacks.submitted(desk, easy, 0, (5.0, 1, 10.0, None, ""))
    assert "changes to the jobs: 0 → 1" in text_of(callbacks.moved(desk, changed, easy))
    assert callbacks.chart(desk, changed, "job", None, 0, easy).layout.shapes[0].name == "cursor"
    assert callbacks.kept(easy, fcfs) is None
    assert callbacks.moved(desk, easy, None) == []


def test_a_scenario_is_kept_and_shared(tmp_path: Path, desk: ExploreSession) -> None:
    """What was chosen comes back from its file, in the page and at the start; another file is told in one line."""
    now, beside = CHOICES | {"scheduler": "fcfs", "jobs": 20}, CHOICES | {"jobs": 20}
    file = callbacks.saved_scenario(now, beside)
    (tmp_path / file["filename"]).write_text(file["content"])
    sent = f"data:application/json;base64,{base64.b64encode(file['content'].encode()).decode()}"
    assert callbacks.opened_scenario(desk, sent, file["filename"]) == (now, beside, "")
    nothing_named = dict.fromkeys(("workload", "platform", "scheduler", "power_policy"), ())
    begun = _session_of(None, nothing_named, str(tmp_path / file["filename"]))
    assert (begun.first.plain(), begun.beside and begun.beside.plain()) == (now, beside)
    for wrong in (None, "data:,?", "data:x;base64,e30=", "data:x;base64,/w=="):
        kept, other, said = callbacks.opened_scenario(desk, wrong, "<b>.json")
        assert kept is no_update
        assert other is no_update
        assert said.startswith("<b>.json: expected a scenario that the page of explore has saved")
    python = tmp_path / "python.json"
    for spec in ("lsf.py:LSF", "easy:order=lsf.py:shortest", "learned:agent,trust=yes"):
        python.write_text(file["content"].replace('"fcfs"', f'"{spec}"'))
        with pytest.raises(
            InputError, match=f"expected nothing that runs a Python file, or --scheduler {spec} as well"
        ):
            _session_of(None, nothing_named, str(python))
    hostile = file["content"].replace('"fcfs"', '"learned:agent"')
    sent = f"data:application/json;base64,{base64.b64encode(hostile.encode()).decode()}"
    assert callbacks.opened_scenario(desk, sent, "x.json")[2].startswith("scheduler: expected one of")


def test_an_address_brings_a_scenario_back(desk: ExploreSession) -> None:
    """What is not as the page begins stands in it, in words; of the one that is shown nothing changes."""
    now = CHOICES | {"scheduler": "fcfs", "jobs": 20, "seed": 3, "enforce_walltime": True}
    now, _ = callbacks.submitted(desk, now, 0, (5.0, 1, 10.0, None, "a & b #c"))
    now.pop("at")
    text = callbacks.address(now, None)
    assert text is not None
    assert text.startswith("jobs=20&scheduler=fcfs&seed=3&enforce_walltime=true&changes=")
    assert callbacks.address(CHOICES, None) == ""
    as_sent = json.loads(json.dumps(now))  # a browser knows no tuples
    opened, beside, said = callbacks.opened_address(desk, f"#{text}", CHOICES, None)
    assert (json.loads(json.dumps(opened)), beside, said) == (as_sent, None, "")
    assert callbacks.opened_address(desk, f"#{text}", as_sent, None) == (no_update, no_update, "")
    assert callbacks.opened_address(desk, "", CHOICES, None) == (no_update, no_update, "")
    both = callbacks.address(CHOICES, as_sent)
    assert callbacks.opened_address(desk, both, CHOICES, None)[1]["changes"][0]["user"] == "a & b #c"
    assert callbacks.opened_address(desk, callbacks.address(CHOICES, CHOICES), now, None)[:2] == (CHOICES, CHOICES)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("jobs=many", "jobs: expected a whole number from 1"),
        ("jobs=1e3", "jobs: expected a whole number from 1"),
        ("changes=[[[", "changes: expected a list"),
        ("moon=1", "address: expected the names of choices, found moon"),
        ("scheduler=learned:agent", "scheduler: expected one of"),
        ("scheduler=lsf.py:LSF", "scheduler: expected one of"),
        ("jobs=" + "9" * 30_000, "address: expected a text of at most 20,000 characters"),
        ("changes=" + "[" * 15_000, "changes: expected a list"),
    ],
)
def test_a_wrong_address_is_one_line(desk: ExploreSession, text: str, said: str) -> None:
    """And what is shown stays; it reads no file and runs no Python."""
    kept, beside, message = callbacks.opened_address(desk, text, CHOICES, None)
    assert (kept, beside) == (no_update, no_update)
    assert message.startswith(said)
    assert "\n" not in message


def test_a_job_explains_itself(saved: ExploreSession) -> None:
    """By its id or by a click on it, and an unknown one is told in one line."""
    assert "It waited in the queue for 130 s." in text_of(callbacks.explained(saved, None, " small "))
    assert text_of(callbacks.explained(saved, None, "x")).startswith("result.explain: expected the id of a job")
    assert callbacks.explained(saved, None, None) == []
    run = saved.run(None)
    assert callbacks.clicked_job(run, {"points": [{"customdata": ["wide", 1]}]}) == "wide"
    for click in (None, {}, {"points": []}, {"points": [{"customdata": ["cluster0.node0"]}]}, {"points": [{}]}):
        assert callbacks.clicked_job(run, click) is None


def test_foreign_hosts_and_files_are_refused(saved: ExploreSession) -> None:
    """A page under another name gets nothing, no file is served, and nothing is loaded from elsewhere."""
    client = make_app(saved).server.test_client()
    page = client.get("/", headers={"Host": "127.0.0.1:8050"})
    assert page.status_code == 200
    assert "connect-src 'self'" in page.headers["Content-Security-Policy"]
    assert re.findall(r'(?:src|href)="(?:https?:)?//', page.text) == []
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 403
    assert client.get("/", headers={"Host": "[::1]:8050"}).status_code == 200
    for path in ("/assets/app.py", "/assets/../app.py", "/assets/%2e%2e/app.py", "/_mcp", "/app.py"):
        answer = client.get(path, headers={"Host": "localhost"})
        assert answer.status_code in (404, 405) or b"react-entry-point" in answer.data
    everywhere = make_app(saved, "0.0.0.0").server.test_client()
    assert everywhere.get("/", headers={"Host": "lab.example"}).status_code == 200


def test_the_page_keeps_its_promise_about_uploads(desk: ExploreSession) -> None:
    """Plotly's button that uploads charts is off."""
    client = make_app(desk).server.test_client()
    layout = json.dumps(client.get("/_dash-layout", headers={"Host": "localhost"}).json)
    assert '"showSendToCloud": false' in layout
    assert "1 to 2,000" in layout


def test_a_defect_leaves_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The page never shows a traceback; the terminal does, unless it is the user's input that is wrong."""
    said: list[str] = []
    monkeypatch.setattr(app_module, "set_props", lambda _, props: said.append(props["children"]))
    app_module._defect(KeyError("secret"))
    assert "secret" not in said[0]
    assert "secret" in capsys.readouterr().err


def test_the_command_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saved: ExploreSession) -> None:
    """What is wrong at the start is one line and exit status 2."""

    def refused(*words: str) -> str:
        done = CliRunner().invoke(main, ["explore", "--no-browser", *words])
        assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
        return str(done.stderr)

    assert "expected the results of a run" in refused(str(tmp_path))
    assert "either DIR" in refused(str(tmp_path), "--scheduler", "fcfs")
    assert "expected one of" in refused("--scheduler", "moon")
    server = server_of(make_app(saved), "explore", LOCAL[0], 0)
    try:
        assert "an address to listen on" in refused("--port", str(server.socket.getsockname()[1]))
    finally:
        server.server_close()
    real = builtins.__import__

    def without_dash(name: str, *rest: Any) -> Any:
        if name == "dash":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_dash)
    assert "expected dash to be installed (cluster-sim[app])" in refused()


@contextmanager
def served(desk: ExploreSession, script: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The app with a script in its page, at an address."""
    page = render("explore.html").replace("</footer>", f'<pre id="found"></pre><script>{script}</script></footer>')
    monkeypatch.setattr(app_module, "render", lambda _: page)
    with serving.served(make_app(desk), "explore") as address:
        yield address


# Waits until the page says something, clicks, types, and writes down what it says then. The parts of the page change one
# after the other, each when its own callback answers, so each text that is written down is waited for.
SCRIPT = """
const pause = () => new Promise(done => setTimeout(done, 50));
const at = id => document.getElementById(id);
const until = async test => { for (let i = 0; i < 100 && !test(); i++) await pause(); };
const type = (id, text) => {
  const field = at(id), set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
  set.call(field, text); field.dispatchEvent(new Event("input", {bubbles: true})); field.blur();
};
const bars = () => document.querySelectorAll("#chart .bars path").length;
(async () => {
  const found = [];
  await until(() => at("decision") && at("decision").textContent && bars());
  found.push(bars(), at("decision").textContent);
  at("forward").click();
  await until(() => at("decision").textContent.includes("decision 2"));
  await until(() => at("queue").textContent.includes("just came"));
  found.push(at("decision").textContent, at("queue").textContent);
  document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
  await until(() => at("decision").textContent.includes("decision 3"));
  found.push(at("decision").textContent);
  const line = () => document.querySelector("#chart .js-plotly-plot").layout.shapes[0].x0;
  document.querySelector("#decision button").click();
  await until(() => at("explanation").textContent);
  found.push(at("explanation").textContent);
  document.querySelector("#explanation button").click();
  await until(() => at("decision").textContent.includes("decision 2"));
  await until(() => line() === 10);
  found.push(at("decision").textContent, line());
  document.querySelector("#queue button").click();
  await until(() => at("explanation").textContent.includes("Job wide"));
  at("last").click();
  await until(() => at("decision").textContent.includes("The end"));
  found.push(at("decision").textContent);
  type("begin_h", "7"); await pause();
  at("run").click();
  await until(() => at("message").textContent);
  found.push(at("message").textContent);
  type("begin_h", "0"); type("jobs", "2"); await pause();
  at("run").click();
  await until(() => at("headlines").textContent.includes("2 of 2 jobs"));
  await until(() => bars() == 2 && !at("message").textContent);
  found.push(at("headlines").textContent, at("message").textContent, bars());
  at("keep").click();
  await until(() => at("moved").textContent.includes("Both are the same run"));
  at("submit_job").click();
  await until(() => at("headlines").textContent.includes("3 of 3 jobs"));
  await until(() => at("moved").textContent.includes("0 → 1"));
  await until(() => bars() == 5 && at("changes").textContent.includes("waited 0 s"));
  found.push(at("changes").textContent, at("keep").textContent, bars());
  type("cancel_id", "solver"); await pause();
  at("cancel_job").click();
  await until(() => at("changes").textContent.includes("solver"));
  await until(() => at("decision").textContent.includes("Job own1 starts"));
  found.push(at("decision").textContent);
  document.querySelector("#changes td:last-child button").click();
  await until(() => !at("changes").textContent.includes("own1"));
  found.push(at("changes").textContent);
  type("cancel_id", "moon"); await pause();
  at("cancel_job").click();
  await until(() => at("message").textContent);
  found.push(at("message").textContent);
  at("found").textContent = found.join(" | ");
})();
"""


def test_the_page_in_a_browser(story: Story, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Three bars are there; a button and a key step on, a click explains a job; a wrong hour is told; two jobs are run.

    Then a job of one's own comes, another is taken out, the first change is undone, and an unknown job is told.
    """
    log = tmp_path / "log.csv"
    story.workload().write(log)
    desk = ExploreSession(Offers.of([str(log)], ["homogeneous:nodes=1,cores=8"], ["fcfs"]))
    with served(desk, SCRIPT, monkeypatch) as address:
        dom = browse(address, tmp_path)
    found = re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)
    assert found is not None
    assert found[1], dom[-3000:]
    texts = found[1].split(" | ")
    before, first, second, queue, third, explanation, linked, moved, end, wrong, metrics, message, after = texts[:13]
    assert before == "3"
    assert "Job solver starts" in first
    assert "Job wide stays in the queue, and no job behind it may start before it." in second
    assert "just came" in queue
    assert "Job wide starts" in third
    assert "Job wide was submitted at 10 s" in explanation
    assert "Job wide stays in the queue, and no job behind it may start before it." in linked
    assert moved == "10"  # s: the line in the chart
    assert "The end of the run." in end
    assert wrong == "begin: expected an hour before the last submission, at 0.01 h, found 7 h"
    assert "2 of 2 jobs completed" in metrics
    assert (message, after) == ("", "2")
    own, letting_go, compared, without, undone, unknown = texts[13:]
    assert (letting_go, compared) == ("Stop comparing", "5")  # two jobs of the kept run above three
    assert "own1submitted at 0 s: 1 core, runs for 10 min, asks for 15 min" in own
    assert "completed; waited 0 s, started at 0 s" in own
    assert "Job own1 starts" in without
    assert undone == "jobchangeoutcomesolvertaken out of the workload–undo"
    assert unknown == "cancel, job: expected the id of a job of this workload, found moon"


ADDRESS = """
const pause = () => new Promise(done => setTimeout(done, 50));
const at = id => document.getElementById(id);
const until = async test => { for (let i = 0; i < 60 && !test(); i++) await pause(); };
(async () => {
  const found = [];
  await until(() => at("headlines") && at("headlines").textContent.includes("2 of 2 jobs"));
  await until(() => at("jobs").value === "2");
  found.push(at("headlines").textContent, at("jobs").value, location.hash);
  at("scheduler").click();
  await until(() => document.activeElement.className === "dash-dropdown-search");
  found.push(document.activeElement.className, document.querySelectorAll(".dash-dropdown-option").length);
  at("found").textContent = found.join(" | ");
})();
"""


def test_an_address_and_a_search_in_a_browser(story: Story, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The page opens with the choices of its address, in the form too, and keeps it; a list opens ready to search."""
    log = tmp_path / "log.csv"
    story.workload().write(log)
    desk = ExploreSession(Offers.of([str(log)], ["homogeneous:nodes=1,cores=8"], ["fcfs"]))
    wanted = Scenario(replace(desk.first, jobs=2)).address()
    with served(desk, ADDRESS, monkeypatch) as address:
        dom = browse(f"{address}#{wanted}", tmp_path)
    found = re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)
    assert found is not None
    assert found[1], dom[-3000:]
    told, jobs, place, focus, offers = html.unescape(found[1]).split(" | ")
    assert "2 of 2 jobs completed" in told
    assert (jobs, place, focus) == ("2", f"#{wanted}", "dash-dropdown-search")
    assert int(offers) > 3
