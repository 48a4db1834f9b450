"""Power in a stack, energy, use of the cores, queue: the figures' data against the run's own books and by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis import (
    energy_timeline,
    power_table,
    power_timeline,
    queue_timeline,
    utilisation_table,
    utilisation_timeline,
)
from cluster_sim.errors import SpecError
from cluster_sim.platform import Cluster, NodeGroup, Platform, PowerTransitions
from cluster_sim.records import Result
from cluster_sim.run import Simulation
from cluster_sim.workload import Workload
from schedulers import make_power_policy, make_scheduler
from tests.support.rows import workload_of

POWER = {"static_w": 10.0, "dynamic_w": 5.0, "min_power": 0.4}


@pytest.fixture
def sleepy() -> Result:
    """Two nodes of two cores that sleep after 5 s, 40 random jobs."""
    costs = PowerTransitions(off_w=1.0, switch_on_s=4.0, switch_on_w=20.0, switch_off_s=3.0, switch_off_w=12.0)
    node = Platform.homogeneous(1, 4, processors=2, power=POWER, transitions=costs).node_types[0]
    faster = replace(node.processors[0], name="faster", clock_ghz=2.0 * node.processors[0].clock_ghz)
    other = replace(node, name="other", processors=(faster, faster))
    platform = Platform((Cluster("a", (NodeGroup(node, 2),)), Cluster("b", (NodeGroup(other, 1),))))
    rng = np.random.default_rng(5)
    jobs = {
        "submit_time": np.cumsum(rng.exponential(12.0, 40)),
        "requested_cores": rng.integers(1, 6, 40),
        "recorded_run_time": rng.uniform(1.0, 30.0, 40),
    }
    return Simulation(platform, Workload(jobs), make_scheduler("easy"), make_power_policy("timeout:5")).run()


@pytest.fixture
def by_hand() -> Result:
    """One node of two cores: a holds both for 0-10 s; b (one core, 5 s) and c (two, 4 s) come at 2 s and wait."""
    jobs = workload_of((0.0, 2, 10.0), (2.0, 1, 5.0), (2.0, 2, 4.0), job_id=["a", "b", "c"])
    return Simulation(Platform.homogeneous(1, 2, power=POWER), jobs, make_scheduler("fcfs")).run()


def integral(x: np.ndarray, y: np.ndarray) -> float:
    """Return the integral of a step function."""
    return float((np.asarray(y, float)[:-1] * np.diff(np.asarray(x, float))).sum())


@pytest.mark.parametrize("by", ["state", "node", "cluster"])
@pytest.mark.parametrize("most_points", [20_000, 7])
def test_the_power_stack_integrates_to_the_energy(sleepy: Result, by: str, most_points: int) -> None:
    """The sum of the traces' integrals is the run's energy, to nine digits, also when the curves are thinned."""
    figure = power_timeline(sleepy, by, most_points=most_points)
    assert all(len(trace.x) <= most_points for trace in figure.data)
    energy = sum(integral(trace.x, trace.y) for trace in figure.data if trace.stackgroup == "power")
    assert energy == pytest.approx(sleepy.summary()["energy_j"], rel=1e-9)


@pytest.mark.parametrize("by", ["state", "node", "cluster"])
def test_the_stack_is_the_power_curve(sleepy: Result, by: str) -> None:
    """At every time the layers sum to the platform's power."""
    table = power_table(sleepy, by)
    edges, watts = sleepy.power["time"].to_numpy(), sleepy.power["watts"].to_numpy()
    total = watts[np.searchsorted(edges, table["time"], side="right") - 1]
    np.testing.assert_allclose(table.drop(columns="time").sum(axis=1)[:-1], total[:-1], rtol=1e-9)
    assert (table.drop(columns="time") >= 0).all(axis=None)


def test_every_state_integrates_to_its_account(sleepy: Result) -> None:
    """The layers are the accounts that the simulation keeps of each state."""
    table, said = power_table(sleepy), sleepy.summary()
    assert set(table.columns) == {"time", "OFF", "SWITCHING_ON", "SWITCHING_OFF", "IDLE", "COMPUTING"}
    for state in table.columns[1:]:
        assert integral(table["time"], table[state]) == pytest.approx(said[f"energy_{state.lower()}_j"], rel=1e-9)


def test_every_node_integrates_to_its_account(sleepy: Result) -> None:
    """By node, too, and the nodes beyond the first few share a layer."""
    nodes = sleepy.nodes.set_index("node")["energy_j"]
    table = power_table(sleepy, "node")
    for name, energy in nodes.items():
        assert integral(table["time"], table[name]) == pytest.approx(energy, rel=1e-9)
    few = power_table(sleepy, "node", most=1)
    assert list(few.columns) == ["time", "other nodes", nodes.idxmax()]
    rest = nodes.sum() - nodes.max()
    assert integral(few["time"], few["other nodes"]) == pytest.approx(rest, rel=1e-9)


def test_what_guests_draw_is_their_nodes() -> None:
    """Two nodes of 10 W and 5 W a core, 4 W when idle: a job on four cores of one to 20 s, and a guest on each.

    That of node 1 holds three cores from 2 to 12 s and loads two of them from 5 to 8; that of node 0 a core from 3 to 6 s.
    """
    platform = Platform.homogeneous(2, 5, power=POWER)
    jobs = Workload({"submit_time": [0.0], "requested_cores": [4], "recorded_run_time": [20.0]})
    simulation = Simulation(platform, jobs, make_scheduler("fcfs"))

    def guest(node: int, cores: int, busy: int, comes: float, loads: float, leaves: float) -> Iterator[object]:
        processor = simulation.node(node).processors[0]
        yield simulation.env.timeout(comes)
        with processor.request(cores, owner=f"guest {node}") as held:
            yield held
            yield simulation.env.timeout(loads - comes)
            yield processor.load(busy, seconds=3.0, owner=f"guest {node}")
            yield simulation.env.timeout(leaves - loads - 3.0)

    simulation.env.process(guest(0, 1, 1, 3.0, 3.0, 6.0))
    simulation.env.process(guest(1, 3, 2, 2.0, 5.0, 12.0))
    table = power_table(simulation.run(), "node").set_index("time").loc[[0.0, 3.0, 5.0, 6.0, 8.0, 20.0]]
    assert table["cluster0.node0"].tolist() == pytest.approx([30.0, 35.0, 35.0, 30.0, 30.0, 30.0])
    assert table["cluster0.node1"].tolist() == pytest.approx([4.0, 4.0, 20.0, 20.0, 4.0, 4.0])


def test_power_by_hand(by_hand: Result) -> None:
    """10 W static and 5 W a busy core: 20 W to 10 s, 15 W to 15 s, 20 W to 19 s, all of it computing."""
    figure = power_timeline(by_hand)
    (trace,) = figure.data
    assert trace.name == "computing"
    assert trace.x.tolist() == [0.0, 10.0, 15.0, 19.0]
    assert trace.y.tolist()[:-1] == [20.0, 15.0, 20.0]


def test_an_unknown_part_is_told(by_hand: Result) -> None:
    """A SpecError that lists what there is."""
    with pytest.raises(SpecError, match="state, node or cluster"):
        power_timeline(by_hand, "rack")  # type: ignore[arg-type]


def test_energy_ends_at_the_total(sleepy: Result, by_hand: Result) -> None:
    """The last point of each line is the run's energy, thinned or not; by hand 200 J after 10 s and 275 J after 15 s."""
    for most in (20_000, 4):
        figure = energy_timeline({"a": sleepy, "<b>": by_hand}, most_points=most)
        assert [trace.name for trace in figure.data] == ["a", "&lt;b&gt;"]
        for trace, result in zip(figure.data, (sleepy, by_hand), strict=True):
            assert trace.y[-1] * 1e3 == pytest.approx(result.summary()["energy_j"], rel=1e-9)
        assert figure.layout.yaxis.title.text == "Energy [kJ]"
    assert energy_timeline(by_hand).data[0].y.tolist() == [0.0, 200.0, 275.0, 355.0]


def test_use_of_the_cores(sleepy: Result, by_hand: Result) -> None:
    """By hand: both, one, both; over a run its integral is the books' core-seconds, and never more than is on."""
    figure = utilisation_timeline(by_hand)
    assert figure.data[0].x.tolist() == [0.0, 10.0, 15.0, 19.0]
    assert figure.data[0].y.tolist() == [1.0, 0.5, 1.0, 0.0]
    table = utilisation_table(sleepy)
    assert integral(table["time"], table["busy_cores"]) == pytest.approx(sleepy.nodes["busy_core_s"].sum(), rel=1e-9)
    assert (table["busy_cores"] <= table["available_cores"]).all()
    assert table["available_cores"].min() < sleepy.platform.core_count


def test_queue_by_hand(by_hand: Result) -> None:
    """Two wait from 2 s, one from 10 s, none from 15 s on."""
    for unit, expected in (("jobs", [0, 2, 1, 0, 0]), ("cores", [0, 3, 2, 0, 0])):
        (trace,) = queue_timeline(by_hand, unit).data
        assert trace.x.tolist() == [0.0, 2.0, 10.0, 15.0, 19.0]
        assert trace.y.tolist() == expected


def test_a_queue_is_of_jobs_or_cores(by_hand: Result) -> None:
    """Nothing else is drawn under another name."""
    with pytest.raises(SpecError, match="queue_timeline, unit: expected jobs or cores, found job"):
        queue_timeline(by_hand, "job")  # type: ignore[arg-type]


def test_figures_of_an_empty_run() -> None:
    """No jobs, no time: figures without content, and no error."""
    workload = Workload(pd.DataFrame({"submit_time": [], "requested_cores": [], "recorded_run_time": []}))
    result = Simulation(Platform.homogeneous(2, 2, power=POWER), workload, make_scheduler("fcfs")).run()
    for figure in (
        power_timeline(result),
        energy_timeline(result),
        utilisation_timeline(result),
        queue_timeline(result),
    ):
        figure.to_json()
