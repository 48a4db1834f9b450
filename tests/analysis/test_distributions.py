"""Distribution functions, arrivals, heatmaps and fairness, by hand."""

from __future__ import annotations

import datetime
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from simpy.events import Event

from analysis import (
    arrival_table,
    arrivals,
    ecdf,
    ecdf_table,
    fairness_index,
    memory_pressure,
    occupancy_grid,
    occupancy_heatmap,
    pressure_grid,
    user_fairness,
    user_table,
)
from analysis.pages.page import figure_html, page
from cluster_sim.errors import InputError, SpecError
from cluster_sim.platform import Platform, PowerTransitions
from cluster_sim.records import Result
from cluster_sim.run import Simulation
from cluster_sim.workload import Workload
from schedulers import make_power_policy, make_scheduler
from tests.support.browser import browse
from tests.support.rows import workload_of


@pytest.fixture
def result() -> Result:
    """One node of two cores. Waits: a 0 s, b 8 s, c 8 s, d 18 s; runs of 10, 5, 10, 2 s."""
    jobs = {
        "job_id": list("abcd"), "submit_time": [0.0, 2.0, 2.0, 2.0], "requested_cores": [2, 1, 1, 2],
        "recorded_run_time": [10.0, 5.0, 10.0, 2.0], "user": ["ann", "bob", "", "ann"],
    }  # fmt: skip
    return Simulation(Platform.homogeneous(1, 2), Workload(jobs), make_scheduler("fcfs")).run()


def test_ecdf_by_hand(result: Result) -> None:
    """A quarter of the jobs waited 0 s, three quarters 8 s or less, all of them 18 s or less."""
    table = ecdf_table(result)
    assert table["value"].tolist() == [0.0, 8.0, 18.0]
    assert table["share"].tolist() == [0.25, 0.75, 1.0]
    (trace,) = ecdf(result).data
    assert trace.x.tolist() == [0.0, 0.0, 8.0, 18.0, 18.0]
    assert trace.y.tolist() == [0.0, 0.25, 0.75, 1.0, 1.0]
    assert trace.line.shape == "hv"


def test_a_thinned_ecdf_lies_on_the_curve() -> None:
    """The thinned curve keeps 50 of 1,000 steps, each a step of the whole curve, and the last one is among them."""
    jobs = {"submit_time": np.zeros(1000), "requested_cores": np.ones(1000, int), "recorded_run_time": np.ones(1000)}
    many = Simulation(Platform.homogeneous(1, 1), Workload(jobs), make_scheduler("fcfs")).run()
    (trace,) = ecdf(many, most_points=50).data
    x, y = np.array(trace.x)[1:-1], np.array(trace.y)[1:-1]
    assert len(x) <= 50
    np.testing.assert_allclose(y, (x + 1) / 1000)  # waits are 0, 1, … 999 s
    assert y[-1] == 1.0


def test_an_ecdf_needs_numbers(result: Result) -> None:
    """A column of text is refused with a list of those that are not."""
    with pytest.raises(SpecError, match="wait_time"):
        ecdf(result, "user")


def test_arrivals_by_the_calendar(result: Result) -> None:
    """Three hours after a Sunday's 22:00 it is 1:00 on Monday."""
    jobs = {"submit_time": [0.0, 3_600.0, 10_800.0, 10_801.0]}
    columns = {"requested_cores": [1] * 4, "recorded_run_time": [1.0] * 4}
    workload = Workload(jobs | columns)
    start = datetime.datetime(2026, 3, 1, 22, tzinfo=datetime.UTC)  # a Sunday
    hours = arrival_table(workload, "hour", start).set_index("hour")["jobs"]
    assert hours[hours > 0].to_dict() == {22: 1, 23: 1, 1: 2}
    days = arrival_table(workload, "weekday", start).set_index("weekday")["jobs"]
    assert days[days > 0].to_dict() == {"Sunday": 2, "Monday": 2}
    logged = Workload(jobs | columns, header=[f"; UnixStartTime: {int(start.timestamp())}"])
    assert arrival_table(logged, "hour")["jobs"].tolist() == hours.tolist()
    assert sum(arrivals(result, "weekday").data[0].y) == 4


def test_heatmap_by_hand(result: Result) -> None:
    """Core by core: both 0-10 s, then 10-15 and 10-20 s, then both to 22 s; in bins of 11 s, exact parts."""
    grid = occupancy_grid(result, "core", bins=2)
    assert grid.edges.tolist() == [0.0, 11.0, 22.0]
    np.testing.assert_allclose(grid.values, [[1.0, 6 / 11], [1.0, 1.0]])
    nodes = occupancy_grid(result, "node", bins=1)
    np.testing.assert_allclose(nodes.values, [[(20 + 5 + 10 + 4) / 44]])
    assert occupancy_heatmap(result, bins=2).data[0].z.shape == (2, 2)


def test_pressure_by_hand() -> None:
    """Two tasks that move 1,000 MB in 10 s ask for 200 MB/s: half of a bandwidth of 400 MB/s, for all of the run."""
    power, limit = {"static_w": 1.0}, {"bandwidth": 400.0}
    platform = Platform.homogeneous(1, 4, power=power, contention=limit, contention_model="roofline")
    jobs = {"submit_time": [0.0], "requested_cores": [2], "recorded_run_time": [10.0], "mem_vol": [1000.0]}
    workload = Workload(jobs)
    result = Simulation(platform, workload, make_scheduler("fcfs")).run()
    np.testing.assert_allclose(pressure_grid(result, workload, bins=4).values, [[0.5] * 4])
    assert memory_pressure(result, workload).data[0].zmid == 1.0
    with pytest.raises(InputError, match="no such job"):
        pressure_grid(result, Workload(jobs | {"job_id": ["x"]}))


def test_pressure_needs_contention(result: Result) -> None:
    """Cores that never slow each other have no threshold to be compared with."""
    with pytest.raises(InputError, match="none that contends"):
        memory_pressure(result, Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [1.0]}))


def test_users_by_hand(result: Result) -> None:
    """Ann has 24 of 39 core-seconds and waited 9 s on average; who has no name is a user, too."""
    table = user_table(result).set_index("user")
    assert table.index.tolist() == ["ann", "(no user)", "bob"]
    assert table["core_s"].tolist() == [24.0, 10.0, 5.0]
    assert table["mean_wait_s"].tolist() == [9.0, 8.0, 8.0]
    assert table["share_of_core_s"].sum() == pytest.approx(1.0)
    figure = user_fairness({"<i>": result}, "mean_wait_s", most=2)
    assert figure.data[0].y.tolist() == [9.0, 8.0]
    assert figure.data[0].name.startswith("&lt;i&gt; · Jain's index")
    assert "2 of 3 users" in figure.layout.title.text


def test_users_of_very_different_slowdowns_have_labelled_ticks(tmp_path: Path) -> None:
    """Slowdowns of 1, 12 and 1001: two values at least are labelled, also where the figure is zoomed to one user."""
    jobs = workload_of((0.0, 1, 1e4), (0.0, 1, 10.0), (9_900.0, 1, 10.0), user=["ann", "bob", "eve"])
    made = Simulation(Platform.homogeneous(1, 1), jobs, make_scheduler("fcfs")).run()
    figure = user_fairness(made)
    assert user_table(made).set_index("user")["mean_bounded_slowdown"].to_dict() == {
        "ann": 1.0,
        "bob": 1001.0,
        "eve": 12.0,
    }
    axis = figure.layout.yaxis
    assert (axis.type, axis.ticktext) == ("log", ("1", "3", "10", "30", "100", "300", "1,000"))
    assert user_fairness(made, "energy_j").layout.yaxis.dtick is None
    script = """<pre id="found"></pre><script>
    const pause = () => new Promise(done => setTimeout(done, 50));
    (async () => {
      const chart = document.getElementById("users");
      while (!chart.data) await pause();
      await Plotly.relayout(chart, { "yaxis.range": [Math.log10(11), Math.log10(14)] }); await pause();
      document.getElementById("found").textContent = JSON.stringify(chart._fullLayout.yaxis.ticktext);
    })();
    </script></body>"""
    (tmp_path / "page.html").write_text(page("zoomed", [figure_html(figure, "users")]).replace("</body>", script))
    found = re.search(r'<pre id="found">([^<]+)</pre>', browse((tmp_path / "page.html").as_uri(), tmp_path))
    assert found is not None
    assert json.loads(html.unescape(found[1]))[:2] == ["11", "11.5"]


def test_core_seconds_are_those_that_a_job_had() -> None:
    """Job a requests 2 cores, runs on 6 for 33 s; b loses an attempt of 40 s, which its user had, too, and waits for a boot."""
    jobs = {
        "submit_time": [0.0, 0.0], "requested_cores": [2, 2], "recorded_run_time": [100.0] * 2,
        "min_cores": [1, 0], "max_cores": [6, 0], "user": ["a", "b"],
    }  # fmt: skip
    platform = Platform.homogeneous(nodes=2, cores=4)
    moldable = Simulation(platform, Workload(jobs), make_scheduler("moldable")).run()
    assert user_table(moldable).set_index("user")["core_s"].to_dict() == pytest.approx({"a": 200.0, "b": 200.0})
    simulation = Simulation(platform, Workload(jobs), make_scheduler("fcfs"))
    simulation.env.process(requeued(simulation, "1", 40.0))
    again = simulation.run()
    assert user_table(again).set_index("user")["core_s"].to_dict() == pytest.approx({"a": 200.0, "b": 280.0})
    assert again.nodes["busy_core_s"].sum() == pytest.approx(480.0)
    boots = Platform.homogeneous(nodes=1, cores=2, transitions=PowerTransitions(switch_on_s=60.0))
    late = Workload({"submit_time": [50.0], "requested_cores": [2], "recorded_run_time": [100.0], "user": ["a"]})
    woken = Simulation(boots, late, make_scheduler("fcfs"), make_power_policy("timeout:1")).run()
    assert woken.jobs["start_time"].tolist() == [110.0]
    assert user_table(woken)["core_s"].tolist() == [200.0]


def requeued(simulation: Simulation, job_id: str, at: float) -> Iterator[Event]:
    """Stop a job at a time; it joins the queue again."""
    yield simulation.env.at(at)
    simulation.requeue(job_id)


def test_arrivals_of_a_workload_on_a_clock_of_its_own() -> None:
    """Submitted at 13 h and at 26 h of a clock that was cut at 12 h; a run has it from its workload."""
    whole = workload_of((0.0, 1, 1.0), (46800.0, 1, 1.0), (93600.0, 1, 1.0))
    cut = Workload(whole.jobs[1:].assign(submit_time=lambda jobs: jobs["submit_time"] - 43200.0), origin_s=43200.0)
    run = Simulation(Platform.homogeneous(1, 2), cut, make_scheduler("fcfs")).run()
    for source in (cut, run):
        assert np.flatnonzero(arrival_table(source)["jobs"]).tolist() == [2, 13]
        assert arrival_table(source, "weekday")["jobs"].tolist() == [1, 1, 0, 0, 0, 0, 0]


def test_jains_index() -> None:
    """1 for equal shares, 1/n for one who has all."""
    assert fairness_index([3.0, 3.0, 3.0]) == 1.0
    assert fairness_index([5.0, 0.0, 0.0, 0.0]) == 0.25
    assert fairness_index([1.0, 2.0, 3.0]) == pytest.approx(36 / 42)
    assert np.isnan(fairness_index([]))
