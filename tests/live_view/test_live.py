"""A run that is shown while it goes on is the same run, and each picture is what had happened by then."""

from __future__ import annotations

import threading
import time
import warnings
import webbrowser
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from click.testing import CliRunner

from analysis import live
from analysis.figures.pictures import browser
from analysis.live_view import page as page_module
from analysis.live_view import watch
from analysis.live_view.page import LivePage, live_app
from analysis.live_view.picture import state_of
from analysis.live_view.widget import LiveWidget
from cluster_sim import Platform, Result, Simulation, Workload
from cluster_sim.cli import main
from cluster_sim.errors import InputError, ModelWarning, SpecError, StallWarning
from cluster_sim.run.own_processes import Process
from cluster_sim.run.policies import Scheduler
from cluster_sim.run.view import View
from tests.support.browser import browse
from tests.support.contract import full
from tests.support.contract.runs import Case

TABLES = ("jobs", "attempts", "nodes", "node_states", "power")


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look in every instant, or after every thousandth part of a second."""
    monkeypatch.setattr(watch, "FRAME_S", 0.001)
    monkeypatch.setattr(watch, "SHARE", 0.0)


class NeverStarts(Scheduler):
    """It starts no job."""

    def schedule(self, view: View) -> tuple[()]:
        """Nothing."""
        return ()


def simulation_of(jobs: int = 40, scheduler: str = "easy") -> Simulation:
    """Lublin's jobs on 64 cores."""
    return Simulation(
        Platform.homogeneous(nodes=8, cores=8), Workload.read(f"lublin:jobs={jobs},nodes=64,seed=4"), scheduler
    )


class Seen:
    """The tables and times at which somebody looked."""

    def __init__(self, pace: float | None = None):
        self.pace = pace
        self.times: list[float] = []
        self.jobs: list[pd.DataFrame] = []

    def look(self, result: Result, now: float) -> None:
        """Read what a chart reads."""
        self.times.append(now)
        self.jobs.append(result.jobs)
        for name in TABLES:
            getattr(result, name)

    def process(self, simulation: Any) -> Any:
        """The process that looks."""
        return watch.watching(simulation, self.look, self.pace)


def run(case: Case, *processes: Process) -> Result:
    """The run of a case, with processes that look at it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return full.run(replace(case, options=case.options | {"processes": list(processes)}))


@pytest.mark.parametrize("seed", range(25))
def test_who_looks_changes_nothing(often: None, seed: int) -> None:
    """Whatever decides and whoever disturbs, all records are the same in every bit."""
    case = replace(full.full_case(seed), stops=())
    try:
        alone = run(case)
    except full.NotACase as reason:
        pytest.skip(str(reason))
    seen = Seen()
    shown = run(case, seen.process)
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(alone, name), getattr(shown, name), check_exact=True, obj=name)
    assert seen.times or shown.jobs["start_time"].isna().all()
    assert seen.times == sorted(seen.times)


@pytest.mark.parametrize("pace", [None, 2e6])
def test_a_picture_is_what_had_happened_by_then(often: None, pace: float | None) -> None:
    """Jobs arrive, run and end from picture to picture, each as the records of the whole run say."""
    seen, simulation = Seen(pace), simulation_of()
    simulation.env.process(seen.process(simulation))
    whole = simulation.run(warn=False).jobs
    assert len(seen.times) > 5
    counts = []
    for now, jobs in zip(seen.times, seen.jobs, strict=True):
        begun = jobs["start_time"].notna().to_numpy()
        assert ((whole["start_time"] < now) <= begun).all()
        assert (begun <= (whole["start_time"] <= now)).all()
        assert np.array_equal(jobs["start_time"][begun], whole["start_time"][begun])
        over = jobs["state"] == "completed"
        assert (whole["finish_time"][over] <= now).all()
        counts.append(int(over.sum()))
    assert counts == sorted(counts)
    assert 0 < counts[len(counts) // 2] < len(whole)


def test_a_pace_holds_the_run_back(often: None) -> None:
    """So many simulated seconds take a second at least."""
    simulation = simulation_of(10)
    pace = 2.0 * simulation_of(10).run(warn=False).summary()["makespan_s"]
    began = time.monotonic()
    simulation.env.process(watch.watching(simulation, lambda result, now: None, pace))
    simulation.run(warn=False)
    assert time.monotonic() - began >= simulation.env.now / pace - watch.FRAME_S


@pytest.mark.parametrize("pace", [None, 1e9])
def test_a_run_that_stalls_ends(pace: float | None) -> None:
    """The process that looks does not keep it going."""
    simulation = Simulation(
        Platform.homogeneous(nodes=1, cores=4), Workload.read("lublin:jobs=3,nodes=4,seed=1"), NeverStarts()
    )
    simulation.env.process(watch.watching(simulation, lambda result, now: None, pace))
    with pytest.warns(StallWarning, match="3 jobs are unfinished"):
        simulation.run()


def test_the_caption_counts_jobs() -> None:
    """Over, running and waiting, of those that have come."""
    simulation = simulation_of()
    result = simulation.run(until=20_000.0, warn=False)
    jobs = result.jobs
    over, come = int((jobs["state"] == "completed").sum()), int((jobs["submit_time"] <= 20_000.0).sum())
    runs = int(jobs["start_time"].notna().sum()) - over
    expected = f"05:33:20 · {over} of 40 jobs over, {runs} running, {come - over - runs} waiting"
    assert state_of(result, 20_000.0) == expected


# ---------------------------------------------------------------------- the page


def test_the_page_asks_for_what_it_has_not_shown() -> None:
    """A picture is sent once; that the last one is there ends the questions, and lets the run end."""
    page = LivePage({}, open_browser=False)
    client = live_app(page).server.test_client()
    outputs = [("drawn", "data"), ("state", "children"), ("number", "data"), ("clock", "disabled")]
    changed = {
        "output": "..{}..".format("...".join(f"{name}.{prop}" for name, prop in outputs)),
        "outputs": [{"id": name, "property": prop} for name, prop in outputs],
        "inputs": [{"id": "clock", "property": "n_intervals", "value": 1}],
        "changedPropIds": ["clock.n_intervals"],
    }

    def ask(number: int) -> dict[str, Any] | None:
        state = [{"id": "number", "property": "data", "value": number}]
        answer = client.post("/_dash-update-component", json=changed | {"state": state})
        return answer.get_json()["response"] or None

    assert ask(0) == {"clock": {"disabled": False}}
    simulation = simulation_of()
    page.show(simulation.run(until=20_000.0, warn=False), 20_000.0)
    first = ask(0)
    assert first is not None
    assert (first["number"]["data"], first["clock"]["disabled"]) == (1, False)
    assert "running" in first["drawn"]["data"]["layout"]["title"]["subtitle"]["text"]
    assert ask(1) == {"clock": {"disabled": False}}
    ended = threading.Thread(target=page.finish, args=[simulation.run(warn=False)])
    ended.start()
    while page.picture.number == 1:
        time.sleep(0.01)
    last = ask(1)
    assert last is not None
    assert (last["state"]["children"], last["number"]["data"]) == ("It is over.", 2)
    assert ended.is_alive()
    assert ask(2) == {"clock": {"disabled": True}}
    ended.join()
    assert client.get("/", headers={"Host": "elsewhere.org"}).status_code == 403


def test_the_browser_shows_the_run_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser that comes during the run draws bars; the run waits for it, and goes on when it has seen the end."""
    found: list[str] = []
    readers = []

    def open_page(address: str) -> bool:
        readers.append(threading.Thread(target=lambda: found.append(browse(address, tmp_path))))
        readers[-1].start()
        return True

    monkeypatch.setattr(webbrowser, "open", open_page)
    monkeypatch.setattr(page_module, "READER_COMES_S", 60.0)
    if browser() is None:
        pytest.skip("needs a Chromium")
    result = simulation_of().live(where="browser")
    readers[0].join()
    assert len(result.jobs) == 40
    assert 'class="trace bars"' in found[0]
    assert "It is over." in found[0]


def test_run_shows_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``--live`` says where the page is and leaves the same results; --pace alone is refused."""
    monkeypatch.setattr(webbrowser, "open", lambda address: True)
    monkeypatch.setattr(page_module, "READER_COMES_S", 0.0)
    words = [
        "run",
        "-w",
        "lublin:jobs=20,nodes=4,seed=4",
        "-p",
        "homogeneous:nodes=4,cores=1",
        "--format",
        "csv",
        "--out",
    ]
    done = CliRunner().invoke(main, [*words, str(tmp_path / "live"), "--live", "--pace", "1000d"])
    assert done.exit_code == 0, done.stderr
    assert "The page is http://127.0.0.1:" in done.stderr
    assert CliRunner().invoke(main, [*words, str(tmp_path / "alone")]).exit_code == 0
    shown, alone = ((tmp_path / name / "jobs.csv").read_bytes() for name in ("live", "alone"))
    assert shown == alone
    done = CliRunner().invoke(main, [*words, str(tmp_path / "other"), "--pace", "5"])
    assert (done.exit_code, done.stderr) == (
        2,
        "cluster-sim: run: expected --live beside --pace and --port, found none\n",
    )


def test_wrong_options_are_refused_before_the_run() -> None:
    """Of the chart, and of live itself."""
    simulation = simulation_of()
    with pytest.raises(SpecError, match="pace"):
        live(simulation, pace=0.0)
    with pytest.raises(SpecError, match="rows"):
        live(simulation, rows="all")
    assert simulation.env.now == 0.0


# ---------------------------------------------------------------------- the notebook


def test_the_widget_is_drawn_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its data grow, and in the end it answers a zoom; without anywidget one line says what is missing."""
    pytest.importorskip("IPython")
    if find_spec("anywidget") is None:
        with pytest.raises(InputError, match=r"cluster-sim\[notebook\]"):
            LiveWidget({})
        monkeypatch.setattr(go, "FigureWidget", go.Figure)
        monkeypatch.setattr(go.Layout, "on_change", lambda *arguments: None)
    widget, simulation = LiveWidget({"colour_by": "job"}), simulation_of()
    bars = []
    for until in (5_000.0, 15_000.0, None):
        result = simulation.run(until=until, warn=False)
        if until is None:
            widget.finish(result)
        else:
            widget.show(result, until)
            assert "running" in widget.figure.layout.title.subtitle.text
        bars.append(sum(len(trace.x) for trace in widget.figure.data if trace.meta == "jobs"))
    assert 0 < bars[0] < bars[1] < bars[2]
