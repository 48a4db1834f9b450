"""PCBE that chooses its configuration: forecasts, choices and ageing worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster_sim import (
    Cluster,
    NodeGroup,
    NodeType,
    Platform,
    ProcessorType,
    Simulation,
    SpecError,
    View,
    Workload,
    make_scheduler,
)
from schedulers import AdaptivePcbe, Pcbe
from schedulers.energy.adaptive_pcbe import CONFIGURATIONS, HOME, LookAhead
from schedulers.energy.pcbe import ENDS, METRICS

POWER = {"static_w": 100.0, "dynamic_w": 1.0, "min_power": 0.1}


def machine(nodes: int = 1, cores: int = 2) -> Platform:
    """Equal nodes of 100 W static, a tenth of it when idle, and 1 W a busy core."""
    return Platform.homogeneous(nodes=nodes, cores=cores, ghz=1.0, power=POWER)


def jobs(submitted: Sequence[float], seconds: Sequence[float], widths: Sequence[int] | None = None) -> Workload:
    """Jobs whose requests are exact."""
    columns = {"submit_time": submitted, "recorded_run_time": seconds, "requested_time": seconds}
    return Workload(columns | {"requested_cores": widths or [1] * len(seconds)})


class TestForecast:
    """Tasks of 10, 10 and 20 s on two cores.

    The longest first: 20 beside 10 and 10, 20 s in all. The node idles at 10 W, wakes for 90 W more, and there are 40
    core-seconds at 1 W: 10 · 20 + 90 · 20 + 40 = 2040 J. The shortest first: 10 beside 10, then 20: 30 s, 3040 J.
    """

    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize(("job", "energy", "end"), [("high", 2040.0, 20.0), ("low", 3040.0, 30.0)])
    def test_energy_and_end(self, metric: str, job: str, energy: float, end: float) -> None:
        """The order of the jobs is what matters here."""
        view, scheduler, pcbe = self.situation(metric, job)
        assert LookAhead(scheduler, view, 1.0).forecast(pcbe) == pytest.approx((energy, end))

    def test_what_has_ended_corrects_it(self) -> None:
        """If jobs took half of what was estimated, so will these: half the time, and half the energy."""
        view, scheduler, pcbe = self.situation("energy", "high")
        assert LookAhead(scheduler, view, 0.5).forecast(pcbe) == pytest.approx((1020.0, 10.0))

    def test_it_can_be_asked_again(self) -> None:
        """One look-ahead serves all configurations, in any order."""
        view, scheduler, pcbe = self.situation("energy", "high")
        ahead = LookAhead(scheduler, view, 1.0)
        assert not ahead.all_start_now(pcbe)
        assert ahead.forecast(pcbe) == ahead.forecast(pcbe)

    @staticmethod
    def situation(metric: str, job: str) -> tuple[View, AdaptivePcbe, Pcbe]:
        """The three pending, and one configuration."""
        view = View.by_hand(machine(), jobs([0.0] * 3, [10.0, 10.0, 20.0]))
        scheduler, pcbe = AdaptivePcbe(metric), Pcbe(metric, job)
        scheduler.begin(view)
        pcbe.begin(view)
        return view, scheduler, pcbe


@settings(max_examples=16, deadline=None)
@given(
    metric=st.sampled_from(METRICS),
    rows=st.lists(st.tuples(st.integers(1, 8), st.integers(1, 4)), min_size=1, max_size=7),
)
def test_it_is_no_worse_than_any_configuration_where_all_is_known(metric: str, rows: list[tuple[int, int]]) -> None:
    """One node, exact requests, everybody there at once: a rollout of heuristics beats each of them (Bertsekas 1997)."""
    platform = machine(cores=4)
    workload = jobs([0.0] * len(rows), [float(row[0]) for row in rows], [row[1] for row in rows])
    column = "energy_j" if metric == "energy" else "edp_js"
    fixed = [Simulation(platform, workload, Pcbe(*which)).run().summary()[column] for which in CONFIGURATIONS]
    chosen = Simulation(platform, workload, AdaptivePcbe(metric, hysteresis=0.0)).run().summary()[column]
    assert chosen <= min(fixed) * (1.0 + 1e-9)


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 30), st.integers(1, 2)), min_size=1, max_size=8))
def test_where_nobody_waits_it_is_the_recommended_configuration(rows: list[tuple[int, int, int]]) -> None:
    """With room for all, every job starts where PCBE with high jobs and low nodes puts it."""
    rows.sort()
    platform = Platform.read("mixed:1x64@3.0,4x8@4.2")
    workload = jobs([float(row[0]) for row in rows], [float(row[1]) for row in rows], [row[2] for row in rows])
    scheduler = AdaptivePcbe()
    mine = Simulation(platform, workload, scheduler).run()
    theirs = Simulation(platform, workload, Pcbe(*HOME)).run()
    assert mine.allocations.equals(theirs.allocations)
    assert [configuration for _, configuration in scheduler.changes] == [HOME]


def test_hysteresis_keeps_the_configuration_in_use() -> None:
    """With a hysteresis of 1 nothing is ever good enough to change."""
    scheduler = AdaptivePcbe(hysteresis=1.0)
    Simulation(machine(2), jobs([i / 4 for i in range(12)], [float(1 + i % 5) for i in range(12)]), scheduler).run()
    assert scheduler.configuration == HOME


class TestAgeing:
    """One core. Jobs of higher requested energy keep coming, so a small one would wait for ever."""

    @pytest.mark.parametrize(("goal", "start"), [("inf", 60.0), ("50", 50.0), ("20", 20.0)])
    def test_the_goal_is_when_a_job_starts(self, goal: str, start: float) -> None:
        """A core is free every 10 s: the small job starts when it has waited for the goal; without one, for 60 s."""
        stream = [(max(0.0, 10.0 * i - 1.0), 10.0) for i in range(12)]
        assert self.run([(0.0, 5.0), *stream], goal)[5.0] == [start]

    def test_the_threshold_learns_from_jobs_that_started_late(self) -> None:
        """The first small job is aged at 50 s but starts at 60, a lag of 10 s. So the second, here at 80, is aged after 40.

        A core is free at 125 (it has waited 45 s) and not again before 155.
        """
        rows = [(0.0, 5.0), (0.0, 30.0), (1.0, 30.0), (55.0, 30.0), (80.0, 6.0), (90.0, 30.0), (120.0, 30.0)]
        result = self.run(rows, "50")
        assert result[5.0] == [60.0]
        assert result[6.0] == [125.0]
        assert result[30.0] == [0.0, 30.0, 65.0, 95.0, 131.0]

    @staticmethod
    def run(rows: list[tuple[float, float]], goal: str) -> dict[float, list[float]]:
        """Starts of the jobs (submitted, seconds), by their lengths."""
        workload = jobs([row[0] for row in rows], [row[1] for row in rows])
        scheduler = make_scheduler(f"adaptive-pcbe:wait_goal={goal},hysteresis=1")
        table = Simulation(machine(cores=1), workload, scheduler).run().jobs
        starts: dict[float, list[float]] = {}
        for seconds, start in zip(table["run_time"].round(6), table["start_time"], strict=True):
            starts.setdefault(seconds, []).append(start)
        return starts


def test_the_eight_configurations() -> None:
    """Each once; the recommended one first, so that it wins ties."""
    assert CONFIGURATIONS[0] == HOME
    assert {*CONFIGURATIONS} == {(metric, job, node) for metric in METRICS for job in ENDS for node in ENDS}


@pytest.mark.parametrize("options", ["metric=power", "wait_goal=-1", "hysteresis=-0.1", "depth=0", "wait_goal=nan"])
def test_options_out_of_range(options: str) -> None:
    """Refused, and the option named."""
    with pytest.raises(SpecError, match=options.partition("=")[0]):
        make_scheduler(f"adaptive-pcbe:{options}")


def test_a_job_is_aged_as_soon_as_it_has_waited_for_so_long() -> None:
    """When the core is free at 60 s, the first that waits has waited 60 s to the second, and goes before a larger job."""
    workload = jobs([0.0, 0.0, 1.0], [60.0, 10.0, 20.0])
    assert Simulation(machine(cores=1), workload, Pcbe()).run().jobs["start_time"].tolist() == [0.0, 60.0, 70.0]
    patient = Simulation(machine(cores=1), workload, Pcbe(aging=61.0)).run()
    assert patient.jobs["start_time"].tolist() == [0.0, 80.0, 60.0]


def test_processors_that_differ_count_by_their_cores() -> None:
    """One core of 1 W and seven of 9 W are 8 W a core: who states no energy is taken for 800 J, and goes before 300 J."""
    processors = (
        ProcessorType("small", 1, 2.0, power={"static_w": 10.0, "dynamic_w": 1.0, "min_power": 0.5}),
        ProcessorType("large", 7, 2.0, power={"static_w": 10.0, "dynamic_w": 9.0, "min_power": 0.5}),
    )
    platform = Platform((Cluster("c", (NodeGroup(NodeType("n", processors), 1),)),))
    columns = {"submit_time": [0.0, 1.0, 1.0], "requested_cores": [8] * 3, "req_energy": [1.0, 300.0, float("nan")]}
    seconds = [10.0, 100.0, 100.0]
    workload = Workload(columns | {"recorded_run_time": seconds, "requested_time": seconds})
    result = Simulation(platform, workload, Pcbe(job="high", aging=1e9)).run()
    assert result.jobs["start_time"].tolist() == [0.0, 110.0, 10.0]
