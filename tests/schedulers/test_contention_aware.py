"""Contention-aware greedy: decisions worked out by hand, and predictions that come true."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cluster_sim import CautionWarning, Platform, Simulation, SpecError, View, Workload, make_scheduler
from cluster_sim.models.contention import contention_models
from cluster_sim.models.power import power_models
from cluster_sim.platform import Cluster, NodeGroup, NodeType, ProcessorType
from cluster_sim.platform.hardware import GOMPERTZ_CONTENTION
from cluster_sim.run.decisions import Decision
from schedulers import ContentionAware

from .conftest import Queue, decide

POWER = {"static_w": 100.0, "dynamic_w": 1.0, "min_power": 0.1}


def platform(
    *processors: tuple[int, float], nodes: int = 1, contention: str = "roofline", power: str = "linear"
) -> Platform:
    """``nodes`` of each kind of node with one processor, (cores, GHz), of 100 MB/s."""
    kinds = [
        ProcessorType(f"p{i}", cores, ghz, power=POWER, contention={"bandwidth": 100.0})
        for i, (cores, ghz) in enumerate(processors)
    ]
    groups = tuple(NodeGroup(NodeType(f"n{i}", (kind,)), nodes) for i, kind in enumerate(kinds))
    return Platform((Cluster("cluster0", groups),), "small", contention, power)


def jobs(queue: Queue, *widths: int, seconds: float = 10.0, mem_vol: float = 800.0) -> Workload:
    """Jobs alike; alone on a core of 1 GHz each task takes 10 s and asks for 80 MB/s."""
    count = len(widths)
    return queue(widths, requested_time=[seconds] * count, mem_vol=[mem_vol] * count)


class TestTwoJobs:
    """Two nodes, each of two cores and 100 MB/s, and two jobs of one task that asks for 80 MB/s for 10 s.

    The first takes node 0. For the second: beside it both tasks run at 50/80 and end after 16 s, so D = 16 + 6 = 22 s;
    the node's energy is 16 · 102 with it, and 10 · 101 + 6 · 10 without: E = 1632 - 1070 = 562 J. On the empty node 1:
    D = 10 s, E = 10 · 101 - 10 · 10 = 910 J.
    """

    @pytest.mark.parametrize(
        ("options", "node"),
        [
            ("metric=delay", 1),  # 10 < 22
            ("metric=energy", 0),  # 562 < 910
            ("metric=edp,weight=1", 1),  # 910 · 10 = 9100 < 562 · 22 = 12364
            ("metric=edp,weight=0.5", 0),  # 562 · √22 = 2636 < 910 · √10 = 2878
            ("metric=edp,weight=0", 0),
        ],
    )
    def test_decision(self, queue: Queue, options: str, node: int) -> None:
        """The second job goes where the metric says."""
        view = View.by_hand(platform((2, 1.0), nodes=2), jobs(queue, 1, 1))
        assert decide(make_scheduler(f"contention-aware:{options}"), view) == [("0", {0: 1}), ("1", {node: 1})]

    @pytest.mark.parametrize(
        ("options", "estimates"),
        [
            ("metric=delay", [22.0, 10.0]),
            ("metric=energy", [562.0, 910.0]),
            ("metric=edp,weight=1", [12364.0, 9100.0]),
            ("metric=edp,weight=0.5", [562 * math.sqrt(22), 910 * math.sqrt(10)]),
        ],
    )
    def test_estimates(self, queue: Queue, options: str, estimates: list[float]) -> None:
        """The figures behind the decision."""
        view = View.by_hand(platform((2, 1.0), nodes=2), jobs(queue, 1, 1))
        scheduler = make_scheduler(f"contention-aware:{options},placements=one")
        assert isinstance(scheduler, ContentionAware)
        decide(scheduler, view)
        job = view.pending[0]
        list(scheduler.schedule(view))  # brings the account up to date; its decision is not carried out
        assert [scheduler.estimate(job, node, 1) for node in (0, 1)] == pytest.approx(estimates)

    def test_one_placement_in_a_pass(self, queue: Queue) -> None:
        """placements=one starts a single job."""
        view = View.by_hand(platform((2, 1.0), nodes=2), jobs(queue, 1, 1))
        assert decide(make_scheduler("contention-aware:placements=one"), view) == [("0", {0: 1})]


def test_a_faster_core_ends_earlier_and_asks_for_more(queue: Queue) -> None:
    """Requested time is at the slowest clock: on 2 GHz the 10 s are 5, at 160 MB/s of 100 they are 8, still the least."""
    view = View.by_hand(platform((1, 1.0), (1, 2.0)), jobs(queue, 1))
    assert decide(make_scheduler("contention-aware:metric=delay"), view) == [("0", {1: 1})]
    # With 1600 MB they are 16 s on both, by the memory alone: a tie, which the platform's order breaks.
    view = View.by_hand(platform((1, 1.0), (1, 2.0)), jobs(queue, 1, mem_vol=1600.0))
    assert decide(make_scheduler("contention-aware:metric=delay"), view) == [("0", {0: 1})]


def test_reference_of_the_request(queue: Queue) -> None:
    """reference=fastest reads the request as the time on the fastest core, which is twice as much on the slow one."""
    for reference, seconds in (("slowest", 10.0), ("fastest", 20.0)):
        view = View.by_hand(platform((1, 1.0), (1, 2.0)), jobs(queue, 1, mem_vol=0.0))
        scheduler = make_scheduler(f"contention-aware:metric=delay,reference={reference},placements=one")
        assert isinstance(scheduler, ContentionAware)
        scheduler.begin(view)
        list(scheduler.schedule(view))
        assert [scheduler.estimate(view.pending[0], node, 1) for node in (0, 1)] == [seconds, seconds / 2]


def test_jobs_that_do_not_fit_are_skipped_or_block(queue: Queue) -> None:
    """By default others overtake; with blocking nobody does."""
    for blocking, started in (("no", ["0", "2"]), ("yes", ["0"])):
        view = View.by_hand(platform((4, 1.0)), jobs(queue, 3, 2, 1))
        scheduler = make_scheduler(f"contention-aware:order=first,blocking={blocking}")
        assert [job for job, _ in decide(scheduler, view)] == started


def test_without_watts_the_metric_is_delay(queue: Queue) -> None:
    """On a platform that draws nothing, energies are all 0 and would say nothing."""
    kind = ProcessorType("p", 2, 1.0, contention={"bandwidth": 100.0})
    dark = Platform((Cluster("c", (NodeGroup(NodeType("n", (kind,)), 2),)),), "dark", "roofline")
    view = View.by_hand(dark, jobs(queue, 1, 1))
    assert decide(make_scheduler("contention-aware"), view) == [("0", {0: 1}), ("1", {1: 1})]


def test_wide_jobs_span_nodes(queue: Queue) -> None:
    """A job wider than any node takes the better node in full first."""
    view = View.by_hand(platform((2, 1.0), (2, 2.0)), jobs(queue, 3, mem_vol=0.0))
    assert decide(make_scheduler("contention-aware:metric=delay"), view) == [("0", {1: 2, 0: 1})]


@pytest.mark.parametrize(
    "options", ["metric=power", "placements=two", "reference=mean", "weight=-1", "overrun=inf", "order=none", "aging=3"]
)
def test_wrong_options(options: str) -> None:
    """Each ends in a SpecError."""
    with pytest.raises(SpecError):
        make_scheduler(f"contention-aware:{options}")


class Told(ContentionAware):
    """Writes down, after the last pass in which jobs came, when every running job will end and how much energy it takes."""

    def begin(self, view: View) -> None:
        """Nothing promised yet."""
        super().begin(view)
        self.ends: dict[str, float] = {}
        self.passes: list[tuple[float, dict[str, float]]] = []

    def schedule(self, view: View) -> Iterable[Decision]:
        """The usual pass, and then a look at what is expected."""
        came = bool(view.submitted)
        yield from super().schedule(view)
        self._expected.update()
        nodes = range(view.platform.node_count)
        forecasts = [self._expected.outlook(node) for node in nodes]
        ids = {running.job.index: running.job.job_id for running in view.running}
        ends = {ids[job]: view.now + end for forecast in forecasts for job, end in forecast.ends.items()}
        self.passes.append((view.now, ends))
        if came:
            stop = max(ends.values(), default=view.now) - view.now
            self.ends, self.everything_started = ends, not view.pending
            self.energy = view.energy_j + sum(forecast.energy(0.0, stop) for forecast in forecasts)


GOMPERTZ = dict.fromkeys(GOMPERTZ_CONTENTION, 0.0) | {"abb": -0.01, "bbb": 0.95, "ccb": 0.2, "dbb": 80.0, "aba": -1e-3}
CURVES = {
    "none": {},
    "piecewise": {"b": -0.002, "c": 50.0, "da": 1.0, "db": 100.0, "dc": 900.0, "dd": 10.0},
    "roofline": {"bandwidth": 120.0},
    "gompertz": GOMPERTZ,
}
WATTS = POWER | {"idle_w": 7.0, "p00": 5.0, "p10": 100.0, "p01": 3.0, "p02": 0.5}


@st.composite
def situations(draw: st.DrawFn) -> tuple[Platform, dict[str, list[Any]]]:
    """Up to four nodes of up to two types with one to three processors, and jobs that request exactly what they need."""
    contention = draw(st.sampled_from(sorted(CURVES)))
    kinds = [
        ProcessorType(f"p{i}", draw(st.integers(1, 4)), ghz, power=WATTS, contention=CURVES[contention])
        for i, ghz in enumerate((1.0, draw(st.sampled_from([1.0, 1.7]))))
    ]
    types = [NodeType(f"n{i}", tuple(draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3)))) for i in range(2)]
    groups = tuple(NodeGroup(kind, draw(st.integers(1, 2))) for kind in types)
    spec = "gompertz:unit=1" if contention == "gompertz" else contention
    power = draw(st.sampled_from(["linear", "baseline", "idle", "stall-aware:0.25", "polynomial"]))
    machine = Platform((Cluster("c", groups),), "random", spec, power)
    rates = [kind.ops_per_s for kind in machine.processor_types]
    row = st.tuples(st.integers(0, 3), st.integers(1, 6), st.floats(0.5, 30.0), st.sampled_from([0.0, 300.0, 3000.0]))
    rows = sorted(draw(st.lists(row, min_size=1, max_size=8)), key=lambda row: row[0])
    return machine, {
        "submit_time": [float(row[0]) for row in rows],
        "requested_cores": [min(row[1], machine.core_count) for row in rows],
        "recorded_run_time": [row[2] for row in rows],
        "requested_time": [row[2] * (max(rates) / min(rates)) for row in rows],
        "mem_vol": [row[3] for row in rows],
    }


@given(situation=situations(), metric=st.sampled_from(["delay", "energy", "edp"]))
def test_predictions_come_true(situation: tuple[Platform, dict[str, list[Any]]], metric: str) -> None:
    """With exact requests and nobody else to come, every job ends when predicted, and the energy is as predicted."""
    machine, columns = situation
    scheduler = Told(metric)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CautionWarning)
        result = Simulation(machine, Workload(columns), scheduler).run()
    assume(scheduler.everything_started)
    finishes = result.jobs.set_index("job_id")["finish_time"]
    assert scheduler.ends
    for job, end in scheduler.ends.items():
        assert end == pytest.approx(finishes[job], rel=1e-9, abs=1e-9)
    if max(scheduler.ends.values()) >= finishes.max():
        assert scheduler.energy == pytest.approx(result.summary()["energy_j"], rel=1e-9)


def test_the_situations_cover_every_model() -> None:
    """No registered model of this project is left out above."""
    ours = {name for name in contention_models if contention_models.factory(name).__module__.startswith("cluster_sim.")}
    assert ours == set(CURVES)
    ours = {name for name in power_models if power_models.factory(name).__module__.startswith("cluster_sim.")}
    assert ours == {"linear", "baseline", "idle", "stall-aware", "polynomial"}


def expected_at(
    workload: dict[str, list[Any]], changes: dict[float, float] | None = None
) -> dict[float, dict[str, float]]:
    """What is expected in each pass of a run on one node of four cores at 1 GHz; ``changes`` of the clock by time."""
    scheduler = Told("delay", overrun=0.1)
    simulation = Simulation(platform((4, 1.0)), Workload(workload), scheduler)
    for time, ghz in (changes or {}).items():
        simulation.env.timeout(time).callbacks.append(
            lambda event, ghz=ghz: simulation.node(0).processors[0].set_clock(ghz)
        )
    simulation.run()
    return dict(scheduler.passes)


def test_a_job_that_outlives_its_request_is_expected_a_tenth_longer() -> None:
    """At 7 s and at 12 s the job of 5 s still runs: each time another 0.5 s is expected."""
    passes = expected_at(
        {
            "submit_time": [0, 7, 12],
            "requested_cores": [1] * 3,
            "recorded_run_time": [20, 1, 1],
            "requested_time": [5, 1, 1],
        }
    )
    assert passes[0.0] == {"0": 5.0}
    assert passes[7.0] == pytest.approx({"0": 7.5, "1": 8.0})
    assert passes[12.0] == pytest.approx({"0": 12.5, "2": 13.0})


def test_a_job_that_ends_early_is_struck_off() -> None:
    """Its end is a pass of its own, after which only the other is expected."""
    passes = expected_at(
        {"submit_time": [0, 0], "requested_cores": [1] * 2, "recorded_run_time": [2, 6], "requested_time": [6, 6]}
    )
    assert passes[2.0] == {"1": 6.0}


def test_a_changed_clock_counts_from_when_it_changes() -> None:
    """Half done at 5 s, the rest at half the clock takes until 15 s; nothing wakes the scheduler when clocks change."""
    passes = expected_at(
        {"submit_time": [0, 8], "requested_cores": [1] * 2, "recorded_run_time": [10, 1], "requested_time": [10, 1]},
        changes={5.0: 0.5},
    )
    assert passes[8.0] == pytest.approx({"0": 15.0, "1": 10.0})


def test_true_work_on_request() -> None:
    """clairvoyant=yes predicts what really happens where requests are wrong."""
    columns = {"submit_time": [0], "requested_cores": [1], "recorded_run_time": [3], "requested_time": [100]}
    for clairvoyant, end in ((False, 100.0), (True, 3.0)):
        scheduler = Told("delay", clairvoyant=clairvoyant)
        Simulation(platform((4, 1.0)), Workload(columns), scheduler).run()
        assert scheduler.ends == {"0": end}
