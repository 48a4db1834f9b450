"""The page that steps through a run: what it holds, and what a real browser makes of it."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from analysis import animation, write_animation
from analysis.stepping.frames import Frames
from analysis.stepping.steps import Steps
from cluster_sim import InputError, Platform, Simulation, Start, Workload, make_power_policy, make_scheduler
from cluster_sim.cli import main
from cluster_sim.platform import PowerTransitions
from cluster_sim.records import Result
from schedulers import Scheduler
from tests.support.browser import browse
from tests.support.rows import workload_of

EVIL = "<script>document.title='caught'</script>"
# Goes through the steps with the buttons, then with every other means, and writes down what the page says at each.
SCRIPT = """
<pre id="found"></pre>
<script>
const at = id => document.getElementById(id);
const key = (name, where = document.body) =>
  where.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
const cells = row => Array.from(row.cells, cell => cell.textContent);
const said = () => ({
  step: at("number").value, clock: at("clock").textContent,
  decision: Array.from(at("decision").children, each => each.textContent),
  queue: Array.from(document.querySelectorAll("#queue tbody tr"), cells),
  running: Array.from(document.querySelectorAll("#running tbody tr"), cells),
  nodes: at("nodes-heading").textContent,
  drawn: Array.from(document.querySelectorAll("#machine > g:last-child title"), each => each.textContent),
  targets: document.querySelectorAll(".target").length,
});
const found = { steps: [said()], moves: [] };
for (let i = 0; i < 5; i++) { at("forward").click(); found.steps.push(said()); }
const moved = action => { action(); found.moves.push(at("number").value + location.hash); };
moved(() => at("forward").click());
moved(() => at("back").click());
moved(() => key("ArrowLeft"));
moved(() => key("ArrowRight"));
moved(() => key("Home"));
moved(() => key("ArrowLeft"));
moved(() => key("End"));
moved(() => at("first").click());
moved(() => { at("slider").value = 3; at("slider").dispatchEvent(new Event("input")); });
moved(() => key("ArrowRight", at("slider")));
moved(() => { at("number").value = 2; at("number").dispatchEvent(new Event("change")); });
location.hash = "#4";
setTimeout(() => {
  moved(() => {});
  found.title = document.title;
  key(" ");
  found.playing = at("play").textContent;
  setTimeout(() => {
    found.moves.push(at("number").value);
    at("found").textContent = JSON.stringify(found);
  }, 5000);
}, 50);
</script>
"""


def small(explain: bool = True) -> Result:
    """4 cores on 2 nodes: a has one node for 10 s, the second job wants both for 5 s, c one core from 1 s on for 4 s."""
    workload = workload_of((0.0, 2, 10.0, 12.0), (0.0, 4, 5.0, 5.0), (1.0, 1, 4.0, 4.0), job_id=["a", EVIL, "c"])
    return Simulation(Platform.homogeneous(2, 2), workload, make_scheduler("fcfs"), explain=explain).run()


def long() -> Result:
    """350 jobs of a second each on one core, all there from the start: job i starts at i seconds."""
    columns = {"submit_time": [0.0] * 350, "requested_cores": [1] * 350, "recorded_run_time": [1.0] * 350}
    return Simulation(Platform.homogeneous(1, 1), Workload(columns), make_scheduler("fcfs")).run()


class Silent(Scheduler):
    """FCFS, without a word on who waits."""

    def schedule(self, view: Any) -> Iterable[Start]:
        """In order, until one does not fit."""
        for job in view.pending:
            placement = view.place(job)
            if placement is None:
                return
            yield Start(job, placement)


def data_of(text: str) -> dict[str, Any]:
    """What the page's script reads."""
    found = re.search(r'<script type="application/json" id="run">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


@pytest.fixture(scope="module")
def in_browser(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the script above finds on the page of the small run."""
    page = tmp_path_factory.mktemp("page") / "steps.html"
    page.write_text(animation(small()).replace("</body>", f"{SCRIPT}</body>"), encoding="utf-8")
    dom = browse(page.as_uri(), page.parent, 8_000)
    found = re.search(r'<pre id="found">([^<]+)</pre>', dom)
    assert found is not None, dom[-2000:]
    read: dict[str, Any] = json.loads(html.unescape(found[1]))
    return read


def test_reasons_are_not_made_up() -> None:
    """Who waits behind whom only a scheduler that yields Hold can say, with a log or without; what a job lacks, the records."""
    columns = {"submit_time": [0, 0], "requested_cores": [4, 4], "recorded_run_time": [5, 5]}
    silent = Simulation(Platform.homogeneous(1, 4), Workload(columns), Silent(), explain=True).run()
    assert Frames(silent).steps.logged
    lacks, enough = "it asks for 4 cores, 0 free", "enough cores are free, but"
    behind = f"{enough} job {EVIL} is before it in the queue, and no job may overtake that"
    for result, frame, said in ((silent, 1, lacks), (small(), 2, behind), (small(explain=False), 1, behind)):
        assert Frames(result).queue(frame)["because"].tolist()[-1] == said


def test_every_step_by_hand(in_browser: dict[str, Any]) -> None:
    """Clock, decision, reason, queue and nodes of five decisions and the end, as worked out by hand."""
    steps = in_browser["steps"]
    assert [step["clock"] for step in steps] == ["0 s", "0 s", "10 s", "10 s", "15 s", "19 s"]
    assert [step["decision"][1] for step in steps] == [
        "Job a starts on 2 cores of cluster0.node0.",
        f"Job {EVIL} stays in the queue, and no job behind it may start before it.",
        f"Job {EVIL} starts on 2 cores of each of cluster0.node0 to cluster0.node1.",
        "Job c stays in the queue, and no job behind it may start before it.",
        "Job c starts on 1 core of cluster0.node0.",
        "The end of the run.",
    ]
    assert steps[1]["decision"][2] == "It asks for 4 cores, 2 free."
    assert steps[2]["decision"][3] == "Since the step before: job c came; job a ended."
    assert steps[5]["decision"][2:] == ["Jobs: 3 completed.", "Since the step before: job c ended."]
    assert [[row[1] for row in step["queue"]] for step in steps] == [["a", EVIL], [EVIL], [EVIL, "c"], ["c"], ["c"], []]
    assert steps[2]["queue"] == [
        ["1", EVIL, "10 s", "4", "5 s", "this decision"],
        [
            "2",
            "c",
            "9 s",
            "1",
            "4 s",
            f"enough cores are free, but job {EVIL} is before it in the queue, and no job may overtake that",
        ],
    ]
    assert [step["nodes"] for step in steps] == [
        f"Nodes {when}: {free} free of 4"
        for when, free in zip(
            ["before it"] * 5 + ["at the end"], ["4 cores", "2 cores", "4 cores", "0 cores", "4 cores", "4 cores"], strict=True
        )
    ]  # fmt: skip
    assert [step["drawn"] for step in steps] == [
        [], ["job a: 2 cores of cluster0.node0"], [],
        [f"job {EVIL}: 2 cores of cluster0.node0", f"job {EVIL}: 2 cores of cluster0.node1"], [], [],
    ]  # fmt: skip
    assert [step["targets"] for step in steps] == [1, 0, 2, 0, 1, 0]
    assert steps[1]["running"] == [["a", "0 s", "12 s", "node0: 2"]]


def test_every_way_to_step(in_browser: dict[str, Any]) -> None:
    """Buttons, keys, slider, number and address lead to a step, never beyond; playing goes on to the end."""
    *moves, played = in_browser["moves"]
    assert moves == ["6#6", "5#5", "4#4", "5#5", "1#1", "1#1", "6#6", "1#1", "3#3", "3#3", "2#2", "4#4"]
    assert (in_browser["playing"], played) == ("❚❚ Pause", "6")
    assert EVIL in in_browser["steps"][1]["decision"][1]
    assert in_browser["title"] == "FCFS on equal nodes"


def test_a_promise_of_no_time_is_told_as_such() -> None:
    """The second job waits for the first: until 10 s, or for one that has named no time."""
    for asked, told in ((10.0, "promised 10 s"), (np.inf, "promised no time")):
        jobs = workload_of((0.0, 1, 10.0, asked), (1.0, 2, 5.0, 5.0))
        result = Simulation(Platform.homogeneous(1, 2), jobs, make_scheduler("easy"), explain=True).run()
        assert {text for _, text in Steps(result).promises(1)} == {told}


def test_texts_from_the_input_stay_texts() -> None:
    """No name of a job ends the script that the data stand in; the page may load nothing."""
    text = animation(small(), title="a </title> & b", colour_by="job_id")
    assert EVIL not in text
    assert text.count("<script") == text.count("</script>") == 3
    assert "<title>a &lt;/title&gt; &amp; b</title>" in text
    assert "default-src 'none'" in text
    assert re.findall(r'(?:src|href)="', text) == []
    assert EVIL in data_of(text)["jobs"]["job_id"]
    assert EVIL in data_of(text)["legend"]["names"]


def test_a_run_without_a_log_is_read_off_its_records() -> None:
    """The page has the three starts as steps, and says of them what the records know."""
    text = animation(small(explain=False))
    data = data_of(text)
    assert "kept no log of decisions" in text
    assert data["time"] == [0.0, 10.0, 15.0, 19.0]
    assert data["reason"][:3] == [
        "It was started as soon as it came.",
        "It had waited 10 s, until job a ended.",
        f"It had waited 14 s, until job {EVIL} ended.",
    ]


def test_an_overtaken_job_is_counted() -> None:
    """Under easy, c goes first on a core that is free; the wide job, which came earlier, still waits."""
    columns = {"submit_time": [0, 0, 1], "requested_cores": [2, 4, 1], "recorded_run_time": [10, 5, 4]}
    workload = Workload(columns | {"requested_time": [12, 5, 4]})
    result = Simulation(Platform.homogeneous(2, 2), workload, make_scheduler("easy")).run()
    assert data_of(animation(result))["reason"][1] == (
        "It was started as soon as it came. 1 job that came earlier still waits."
    )


def test_nodes_that_are_off_and_boot() -> None:
    """Idle for 5 s, a node goes off in 1 s; both boot for job 1 from 20 s to 22 s, when job 2 comes, at 21 s, to wait."""
    transitions = PowerTransitions(0.0, switch_on_s=2.0, switch_on_w=100.0, switch_off_s=1.0, switch_off_w=100.0)
    columns = workload_of((0, 1, 3), (20, 2, 4), (21, 1, 1))
    platform = Platform.homogeneous(2, 1, transitions=transitions)
    policy = make_power_policy("timeout:5")
    data = data_of(animation(Simulation(platform, columns, make_scheduler("fcfs"), policy, explain=True).run()))
    assert data["time"] == [0.0, 20.0, 21.0, 26.0, 27.0]
    assert data["states"] == [
        [0, "OFF", 1, 2],
        [0, "SWITCHING_ON", 2, 3],
        [1, "OFF", 1, 2],
        [1, "SWITCHING_ON", 2, 3],
    ]  # before its own decision at 20 s, and at 21 s
    assert data["holds"]["start_time"] == [0.0, 22.0, 26.0]


def test_a_job_killed_while_its_nodes_boot_held_cores() -> None:
    """At 510 s, job 1 waits for node 0 to boot and holds both its cores; at 520 s both nodes fail."""
    transitions = PowerTransitions(0.0, switch_on_s=60.0, switch_on_w=100.0, switch_off_s=30.0, switch_off_w=100.0)
    columns = {"submit_time": [0, 500, 510], "requested_cores": [1, 2, 2], "recorded_run_time": [5, 50, 5]}
    platform = Platform.homogeneous(2, 2, transitions=transitions)
    policy = make_power_policy("timeout:30")
    simulation = Simulation(platform, Workload(columns), make_scheduler("fcfs"), policy, explain=True)

    def failures() -> Generator[Any, Any, None]:
        yield simulation.env.timeout(520)
        for node in range(2):
            simulation.node(node).fail()

    simulation.env.process(failures())
    data = data_of(animation(simulation.run()))
    assert data["time"][:3] == [0.0, 500.0, 510.0]
    assert data["holds"]["outcome"] == ["completed", "failed", "failed"]
    assert [0, 1] in data["holds"]["places"][1]
    assert (data["holds"]["takes"][1], data["holds"]["gives"][1]) == (1, 3)


class Log:
    """The queue, held cores and nodes' states before each decision, by another way than frames: step by step off the log."""

    def __init__(self, result: Result):
        self.platform, self.states = result.platform, result.node_states
        self.jobs, self.log = result.jobs.set_index("job_id"), result.decisions
        self.starts = self.log[self.log["decision"] == "start"]

    def queue(self, step: int) -> list[str]:
        """Who is there and starts at this step or later."""
        waiting = self.jobs[self.jobs["eligible_time"] <= self.log["time"][step]]
        gone = self.starts.loc[: step - 1, "job_id"] if step else []
        return waiting.index.difference(gone, sort=False).tolist()

    def held(self, step: int) -> list[int]:
        """What jobs that started before and have not finished were given on each node, by the log's texts."""
        held = dict.fromkeys(self.platform.node_names(), 0)
        for job, text in self.starts.loc[: step - 1, ["job_id", "nodes"]].values.tolist() if step else []:
            if self.jobs.loc[job, "finish_time"] > self.log["time"][step]:
                for part in text.split(";"):
                    where, cores = part.rsplit(":", 1)
                    first, last = (list(held).index(name) for name in (where.split("..") * 2)[:2])
                    for name in list(held)[first : last + 1]:
                        held[name] += int(cores)
        return list(held.values())

    def away(self, step: int) -> dict[int, str]:
        """Nodes that cannot work; one that this instant's starts from here on boot is still off."""
        now, names = self.log["time"][step], self.platform.node_names()
        at = self.states[(self.states["start"] <= now) & (self.states["end"] > now)]
        found = {names.index(row.node): (row.state, row.start) for row in at.itertuples()}
        for row in self.starts.loc[step:].itertuples():
            if row.time == now and self.jobs.loc[row.job_id, "start_time"] > now:
                for part in row.nodes.split(";"):
                    first, last = (names.index(name) for name in (part.rsplit(":", 1)[0].split("..") * 2)[:2])
                    for node in range(first, last + 1):
                        if found[node] == ("SWITCHING_ON", now):
                            found[node] = ("OFF", now)
        return {node: state for node, (state, _) in found.items() if state not in ("IDLE", "COMPUTING")}


@pytest.mark.parametrize("spec", ["easy", "conservative", "list:smallest/first,blocking=no"])
def test_the_page_agrees_with_the_log(spec: str) -> None:
    """Queue, held cores and states at each step are those that the log gives by another way; no core is held twice."""
    transitions = PowerTransitions(0.0, switch_on_s=30.0, switch_on_w=100.0, switch_off_s=10.0, switch_off_w=100.0)
    platform = Platform.homogeneous(3, 8, transitions=transitions)
    workload = Workload.read("lublin:jobs=50,nodes=24,seed=2")
    policy = make_power_policy("timeout:60")
    result = Simulation(platform, workload, make_scheduler(spec), policy, explain=True).run()
    log, frames, data = Log(result), Frames(result), data_of(animation(result))
    stays, holds = data["stays"], data["holds"]
    for frame in range(len(log.log)):
        waiting = zip(stays["job"], stays["enters"], stays["leaves"], strict=True)
        queue = [data["jobs"]["job_id"][job] for job, enters, leaves in waiting if enters <= frame <= leaves]
        assert queue == frames.queue(frame)["job_id"].tolist() == log.queue(frame)
        cores = np.zeros(24, int)
        for takes, gives, places in zip(holds["takes"], holds["gives"], holds["places"], strict=True):
            for first, last in places:
                cores[first : last + 1] += takes < frame < gives
        assert cores.max() <= 1
        assert cores.reshape(3, 8).sum(axis=1).tolist() == frames.held(frame).tolist() == log.held(frame)
        away = {node: state for node, state, first, after in data["states"] if first <= frame < after}
        states = dict(enumerate(frames.states(frame).tolist()))
        assert away == log.away(frame)
        assert away == {node: state for node, state in states.items() if state not in ("IDLE", "COMPUTING")}
    assert {"OFF", "SWITCHING_ON"} <= {state for _, state, _, _ in data["states"]}


@pytest.mark.parametrize("explain", [True, False])
def test_who_was_killed_in_the_queue_is_not_in_it_until_it_comes_back(explain: bool, tmp_path: Path) -> None:
    """b, behind a, is killed at 5 and back at 20 s; c and d come meanwhile, each to a core of its own, and after that e."""
    columns = {"job_id": [*"abcde"], "submit_time": [0, 1, 3, 7, 21], "requested_cores": [2, 4, 1, 1, 1],
               "recorded_run_time": [40, 9, 1, 1, 1]}  # fmt: skip
    scheduler = make_scheduler("list:first/first,blocking=no")
    simulation = Simulation(Platform.homogeneous(1, 4), Workload(columns), scheduler, explain=explain)

    def wavering() -> Generator[Any, Any, None]:
        yield simulation.env.timeout(5)
        simulation.kill("b")
        yield simulation.env.timeout(15)
        simulation.requeue("b")

    simulation.env.process(wavering())
    result = simulation.run()
    result.save(tmp_path)
    for frames in (Frames(result), Frames(Result.load(tmp_path))):
        starts = [i for i, kind in enumerate(frames.steps.decisions) if kind == "start"]
        assert [frames.time[i] for i in starts] == [0, 3, 7, 21, 40]
        assert [frames.queue(i)["job_id"].tolist() for i in starts] == [["a"], ["b", "c"], ["d"], ["b", "e"], ["b"]]
        assert frames.queue(starts[3])["waited"].tolist() == [1, 0]


def test_who_is_killed_while_it_runs_is_in_the_queue_from_when_it_comes_back() -> None:
    """b is killed at 5 and back at 20 s, when a has all cores; the run is stopped at 30 s. c comes at 7 s, d at 21 s."""
    columns = {"job_id": [*"bacd"], "submit_time": [0, 5, 7, 21], "requested_cores": [4, 3, 1, 1],
               "recorded_run_time": [40, 90, 1, 1]}  # fmt: skip
    scheduler = make_scheduler("list:first/first,blocking=no")
    simulation = Simulation(Platform.homogeneous(1, 4), Workload(columns), scheduler)

    def wavering() -> Generator[Any, Any, None]:
        yield simulation.env.timeout(5)
        simulation.kill("b")
        yield simulation.env.timeout(15)
        simulation.requeue("b")

    simulation.env.process(wavering())
    frames = Frames(simulation.run(until=30))
    assert frames.time.tolist() == [0, 5, 7, 21, 30]
    assert [frames.queue(i)["job_id"].tolist() for i in range(5)] == [["b"], ["a"], ["c"], ["b", "d"], ["b"]]


def troubled(explain: bool) -> Result:
    """4 cores; a has 2 of them for 10 s, but is stopped at 4 s and begins anew; b waits for 3. A guest has one from 2 to 8 s."""
    columns = {"job_id": ["a", "b"], "submit_time": [0, 1], "requested_cores": [2, 3], "recorded_run_time": [10, 5]}
    platform = Platform.homogeneous(1, 4)
    simulation = Simulation(platform, Workload(columns), make_scheduler("fcfs"), explain=explain)

    def backup() -> Generator[Any, Any, None]:
        yield simulation.env.timeout(2)
        with simulation.node(0).processors[0].request(1, owner="<backup>") as held:
            yield held
            yield simulation.env.timeout(6)

    def operator() -> Generator[Any, Any, None]:
        yield simulation.env.timeout(4)
        simulation.requeue("a")

    simulation.env.process(backup())
    simulation.env.process(operator())
    return simulation.run()


@pytest.mark.parametrize("explain", [True, False])
def test_every_attempt_and_guest_is_there(explain: bool, tmp_path: Path) -> None:
    """At 4 s a waits again and only the guest holds a core; at 14 s its second attempt is over. So also after loading."""
    result = troubled(explain)
    result.save(tmp_path)
    for frames in (Frames(result), Frames(Result.load(tmp_path))):
        starts = [i for i, kind in enumerate(frames.steps.decisions) if kind == "start"]
        assert [(frames.time[i], frames.steps[i].job_id) for i in starts] == [(0.0, "a"), (4.0, "a"), (14.0, "b")]
        assert [int(frames.held(i)[0]) for i in starts] == [0, 1, 0]
        again = frames.queue(starts[1])
        assert again[["job_id", "waited", "cores"]].values.tolist() == [["a", 0.0, 2], ["b", 3.0, 3]]
        assert again["because"][0] == "just came back"
        assert frames.queue(starts[2])["job_id"].tolist() == ["b"]
    holds = data_of(animation(result))["holds"]
    told = zip(*(holds[name] for name in ("job_id", "attempt", "start_time", "end_time", "places")), strict=True)
    assert sorted(told, key=lambda row: row[2]) == [
        ("a", 1, 0.0, 4.0, [[0, 1]]),
        ("<backup>", 0, 2.0, 8.0, [[2, 2]]),
        ("a", 2, 4.0, 14.0, [[0, 1]]),
        ("b", 0, 14.0, 19.0, [[0, 2]]),
    ]


def test_a_stopped_job_and_a_guest_in_a_browser(tmp_path: Path) -> None:
    """At its second start, a is outlined where it goes and the guest hatched beside it; both are told in words."""
    page = tmp_path / "steps.html"
    page.write_text(animation(troubled(explain=True)), encoding="utf-8")
    dom = browse(page.as_uri() + "#3", page.parent, 8_000)
    assert "Since the step before: job a was stopped; job a waits again; guest: &lt;backup&gt; came." in dom
    assert "Running: 0 jobs, 1 guest" in dom
    assert "<title>guest: &lt;backup&gt;: 1 core of cluster0.node0</title>" in dom
    assert len(re.findall(r'<rect[^>]* fill="url\(#guest\)"', dom)) == 2  # on its node, and in the schedule
    assert "Nodes before it: 3 cores free of 4" in dom
    schedule = dom[dom.index('<div id="schedule">') :]
    assert [schedule.count(f"<title>job a, attempt {i}</title>") for i in (1, 2)] == [1, 1]


def test_a_job_that_waits_again_in_vain() -> None:
    """If its node stays broken, a requeued job is in the queue up to the end. A job killed in the queue leaves it."""
    for kills, waiting in ((False, 1), (True, 0)):
        columns = workload_of((0, 2, 10), (0, 1, 30), job_id=["a", "b"])
        simulation = Simulation(Platform.homogeneous(2, 2), columns, make_scheduler("fcfs"))

        def trouble(simulation: Simulation = simulation, kills: bool = kills) -> Generator[Any, Any, None]:
            yield simulation.env.timeout(5)
            simulation.node(0).fail()
            yield simulation.on("job_killed")
            simulation.requeue("a")
            yield simulation.env.timeout(10)
            if kills:
                simulation.kill("a")

        simulation.env.process(trouble())
        frames = Frames(simulation.run(until=20.0))
        assert frames.time.tolist() == [0.0, 0.0, 20.0]
        assert frames.queue(2)["job_id"].tolist() == ["a"] * waiting
        assert frames.queue(2)["waited"].tolist() == [15.0] * waiting
        assert frames.held(2).tolist() == [0, 1]


def test_a_long_run_is_several_pages(tmp_path: Path) -> None:
    """351 steps: 300 and 51. The address of step 320 on the first page leads to the second, whose state is right."""
    paths = write_animation(long(), tmp_path / "a b.html")
    assert [path.name for path in paths] == ["a b.html", "a b-2.html"]
    first, second = (path.read_text() for path in paths)
    assert 'href="a%20b-2.html">301–351</a>' in first
    assert (data_of(first)["time"][-1], data_of(second)["time"][0]) == (299.0, 300.0)
    dom = browse(paths[0].as_uri() + "#320", paths[0].parent, 8_000)
    assert '<b id="clock">319 s</b>' in dom
    assert "Job 319 starts on 1 core of cluster0.node0." in dom
    assert "Queue before it: 31 jobs, 31 cores" in dom


def test_a_later_page_begins_with_what_was_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows of cores: job 0 has one all the time, 340 others of 1 s the other; page 2 shows it run, and 299 that ran."""
    columns = {
        "submit_time": [0.0] * 341, "requested_cores": [1] * 341, "recorded_run_time": [1000.0, *[1.0] * 340],
    }  # fmt: skip
    result = Simulation(Platform.homogeneous(1, 2), Workload(columns), make_scheduler("fcfs")).run()
    paths = write_animation(result, tmp_path / "steps.html")
    dom = browse(paths[1].as_uri(), paths[1].parent, 8_000)
    assert re.search(r"<td[^>]*>0</td><td>4 min 59 s</td>", dom)  # in the table of what runs
    shown = re.search(r'<clipPath id="past"><rect[^>]* width="([0-9.]+)"', dom)
    assert shown is not None
    assert float(shown[1]) > 100  # of the schedule so far
    drawn = dom[dom.index('<g clip-path="url(#past)">') :]
    assert all(f"<title>job {i}</title>" in drawn for i in range(300))
    assert "The schedule so far, one row per core" in dom
    monkeypatch.setattr("analysis.stepping.frames.MOST_PAST", 10)
    late = data_of(animation(result, x_range=(200.0, 300.0)))
    assert late["holds"]["job_id"][:10] == [str(i) for i in range(199, 189, -1)]
    assert (late["since"], late["cut"]) == (189.0, True)


def test_nothing_is_left_out_in_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A window says what lies outside it; too many steps for a page, or for all pages, are refused."""
    result = long()
    text = animation(result, x_range=(100.0, 200.0))
    assert "steps 101 to 201 of 351. Not in it: 100 steps before and 150 steps after." in text
    assert data_of(text)["jobs"]["job_id"] == [str(i) for i in range(99, 350)]  # 99 ends as the window begins
    with pytest.raises(InputError, match=r"at most 300 steps in a page: .*, found 351"):
        animation(result)
    with pytest.raises(InputError, match="a window with a step in it, between 0 s and 350 s"):
        animation(result, x_range=(100.2, 100.8))
    monkeypatch.setattr("analysis.stepping.stepping.MOST_PAGES", 1)
    with pytest.raises(InputError, match="at most 300 steps: a window of the run, found 351"):
        write_animation(result, tmp_path / "steps.html")
    assert list(tmp_path.iterdir()) == []


def disturbed(seed: int, scheduler: str) -> Result:
    """Jobs on four nodes, of which one after the other breaks down; jobs are requeued or killed, and guests come and go."""
    simulation = Simulation(
        Platform.homogeneous(4, 4),
        Workload.read(f"lublin:jobs=40,nodes=16,seed={seed}"),
        make_scheduler(scheduler),
        explain=bool(seed % 2),
    )
    rng = np.random.default_rng(seed)

    def trouble() -> Generator[Any, Any, None]:
        while True:
            yield simulation.env.timeout(rng.exponential(1500.0))
            node = simulation.node(int(rng.integers(4)))
            node.fail()
            killed = yield simulation.on("job_killed") | simulation.env.timeout(100.0)
            for job in next(iter(killed.values()), None) or ():
                if rng.random() < 0.8:
                    simulation.requeue(job)
            yield node.repair()

    def guest() -> Generator[Any, Any, None]:
        while True:
            yield simulation.env.timeout(rng.exponential(1000.0))
            with simulation.node(int(rng.integers(4))).processors[0].request(2, owner="guest") as held:
                yield held | simulation.env.timeout(500.0)
                yield simulation.env.timeout(rng.exponential(2000.0))

    for process in (trouble, guest, guest):
        simulation.env.process(process())
    return simulation.run(until=200_000.0)


@pytest.mark.parametrize("scheduler", ["fcfs", "easy", "list:smallest/first,blocking=no"])
def test_whatever_users_do_frames_are_whole(scheduler: str) -> None:
    """No core is held twice, no job waits and runs at once, and a job that starts waited and finds its cores free."""
    attempts, guests = 0, 0
    for seed in range(4):
        result = disturbed(seed, scheduler)
        frames, data = Frames(result), data_of(animation(result))
        holds, stays = (
            [dict(zip(data[name], row, strict=True)) for row in zip(*data[name].values(), strict=True)]
            for name in ("holds", "stays")
        )
        for frame in range(len(frames)):
            cores = np.zeros(16, int)
            held = [hold for hold in holds if hold["takes"] < frame < hold["gives"]]
            starts = [hold for hold in holds if hold["takes"] == frame and hold["colour"] >= 0]
            for hold in held + starts:
                for first, last in hold["places"]:
                    cores[first : last + 1] += 1
            assert cores.max() <= 1
            waiting = [stay["job"] for stay in stays if stay["enters"] <= frame <= stay["leaves"]]
            assert len(waiting) == len(set(waiting))
            assert not {hold["job"] for hold in held} & set(waiting)
            assert {hold["job"] for hold in starts} <= set(waiting)
        attempts += max(hold["attempt"] for hold in holds) > 1
        guests += sum(hold["colour"] < 0 for hold in holds)
    assert attempts > 0
    assert guests > 0


@pytest.mark.parametrize("table", ["attempts", "decisions"])
def test_a_table_of_another_run_is_refused(table: str, tmp_path: Path) -> None:
    """A saved run of which one file has a job that the run did not: one line that names it."""
    troubled(explain=True).save(tmp_path)
    file = tmp_path / f"{table}.csv"
    columns = pd.read_csv(file, dtype=str, keep_default_na=False)
    columns.assign(job_id="moon").to_csv(file, index=False)
    with pytest.raises(InputError, match=rf"{table}.csv, line 2, job_id: expected a job that the table of jobs has"):
        animation(Result.load(tmp_path))


def test_a_run_without_jobs_has_an_end() -> None:
    """One frame, the end."""
    columns: dict[str, list[float]] = {"submit_time": [], "requested_cores": [], "recorded_run_time": []}
    result = Simulation(Platform.homogeneous(1, 1), Workload(columns), make_scheduler("fcfs")).run()
    data = data_of(animation(result))
    assert (data["kind"], data["reason"]) == (["end"], ["It had no jobs."])


def test_the_command(tmp_path: Path) -> None:
    """A saved run becomes the page that the run itself makes; wrong options are one line and status 2."""
    result = small()
    result.save(tmp_path)
    result.save(tmp_path / "again")
    done = CliRunner().invoke(main, ["gantt", str(tmp_path), "--view", "steps"], catch_exceptions=False)
    assert (done.exit_code, done.output) == (0, f"The page is {tmp_path / 'steps.html'}\n")
    assert data_of((tmp_path / "steps.html").read_text()) | {"pages": []} == data_of(animation(result)) | {"pages": []}
    page = str(tmp_path / "window.html")
    window = ["gantt", str(tmp_path), "--view", "steps", "--from", "10", "--out", page]
    assert CliRunner().invoke(main, window).exit_code == 0
    assert data_of(Path(page).read_text())["time"] == [10.0, 10.0, 15.0, 19.0]
    for options, said in (
        (["--rows", "core", "--slider"], "expected no options but --out, --colour-by, --from and --to, found --rows"),
        (["--from", "3", "--to", "4"], "expected a window with a step in it"),
        (["--colour-by", "moon"], "expected one of job"),
        ([str(tmp_path / "again")], "expected one DIR, found 2"),
    ):
        done = CliRunner().invoke(main, ["gantt", str(tmp_path), "--view", "steps", *options])
        assert done.exit_code == 2
        assert said in done.output
        assert len(done.output.strip().splitlines()) == 1
