"""The power cap: stories by hand, and under every scheduler the draw stays below it and no job is lost."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cluster_sim import (
    CautionWarning,
    Platform,
    ProcessorType,
    PState,
    Result,
    Simulation,
    Workload,
    make_power_policy,
    make_scheduler,
)
from cluster_sim.errors import InputError, PlacementError, SpecError
from cluster_sim.machine.placement import Placement
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions
from cluster_sim.run import Start, View
from schedulers import Fcfs, IdleTimeout, InertialShutdown, PowerCap, Scheduler, schedulers

from .conftest import jobs, machine, scaling

SCHEDULERS = [
    *(
        name
        for name in schedulers
        if name != "list"
        and all(
            p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
            for p in inspect.signature(schedulers.factory(name)).parameters.values()
        )
    ),
    "list:smallest/high_cores,blocking=no",
    "easy:depth=0",
    "easy:depth=3",
    "easy:reservation=pinned",
    "conservative:reservation=pinned",
]


def times(result: Result) -> list[tuple[float, float]]:
    """(start, finish) of every job."""
    return list(zip(result.jobs["start_time"], result.jobs["finish_time"], strict=True))


# ---------------------------------------------------------------------- stories
# Two nodes of 27 W idle; eight busy cores draw 118 W at 4 GHz, 81 at 3, 62 at 2 and 55 at 1.


def test_a_job_waits_until_there_are_watts_for_it() -> None:
    """118 + 27 = 145 W fit under 160 W, 236 W do not: the second job starts when the first has ended."""
    result = Simulation(machine(scaling(), 2), jobs((0, 8, 400), (0, 8, 400)), Fcfs(), PowerCap(160)).run()
    assert times(result) == [(0, 100), (100, 200)]
    assert result.power.values.tolist() == [[0, 145], [100, 145], [200, 54]]


def test_a_job_is_counted_on_the_cores_that_it_takes_of_each_processor() -> None:
    """Two processors of two cores draw 10 W and 5 W for each busy core: three cores are 35 W, and fit under that cap."""
    half = ProcessorType("half", 2, 1.0, power={"static_w": 10.0, "dynamic_w": 5.0, "min_power": 1.0})
    platform = Platform((Cluster("cluster0", (NodeGroup(NodeType("node", (half, half)), 1),)),))
    result = Simulation(platform, jobs((0, 3, 10), (0, 1, 10)), Fcfs(), PowerCap(35)).run()
    assert times(result) == [(0, 10), (10, 20)]


def test_processors_that_draw_most_run_slower_and_faster_again() -> None:
    """Down in turns, 4-4, 3-4, 3-3, 2-3 GHz, until 62 + 81 W fit under 160 W; when one job has ended, up again.

    The second job, at 3 GHz, takes 100 s. The first has done 200 of 400 by then, and the rest at 4 GHz in 50 s.
    """
    workload = jobs((0, 8, 400), (0, 8, 300))
    result = Simulation(machine(scaling(), 2), workload, Fcfs(), PowerCap(160, how="slow")).run()
    assert times(result) == [(0, 150), (0, 100)]
    assert result.power.values.tolist() == [[0, 143], [100, 145], [150, 54]]


@pytest.mark.parametrize("how", ["wait", "slow"])
def test_the_repair_of_a_node_that_was_off_keeps_the_cap(tmp_path: Path, how: str) -> None:
    """Node 1 is OFF at 9 W, fails at 10 s and is so again from 20 s: its boot would break the cap, its idling keep job 1 out."""
    failures = tmp_path / "failures.csv"
    failures.write_text("time,node,event\n10,1,fail\n20,1,repair\n")
    platform = machine(scaling(), 1, PowerTransitions(off_w=9.0, switch_on_s=10.0), off=1)
    workload, cap = jobs((0, 8, 400), (120, 8, 400)), PowerCap(130, how=how)
    result = Simulation(platform, workload, Fcfs(), cap, failures=f"trace:{failures}").run()
    assert times(result) == [(0, 100), (120, 220)]
    assert result.power.values.tolist() == [[0, 127], [10, 118], [20, 127], [100, 36], [120, 127], [220, 36]]


def test_watts_of_a_failed_node_that_was_off_are_not_lent_out(tmp_path: Path) -> None:
    """118 + 118 W fit under 240 W only while node 2 has failed and its 9 W are not drawn: job 1 waits all the same."""
    failures = tmp_path / "failures.csv"
    failures.write_text("time,node,event\n10,2,fail\n20,2,repair\n")
    platform = machine(scaling(), 2, PowerTransitions(off_w=9.0), off=1)
    workload = jobs((0, 8, 400), (0, 8, 400))
    result = Simulation(platform, workload, Fcfs(), PowerCap(240), failures=f"trace:{failures}").run()
    assert times(result) == [(0, 100), (100, 200)]


@pytest.mark.parametrize(
    ("fails", "repaired", "peak"),
    [
        (0, "OFF", 118 + 118),  # before anybody boots it
        (3, "SWITCHING_ON", 118 + 118 + 50),  # while it boots for job 0
        (15, "SWITCHING_ON", 118 + 118 + 50),  # while it computes
    ],
)
def test_what_a_repaired_node_boots_is_not_held_up(tmp_path: Path, fails: int, repaired: str, peak: float) -> None:
    """Job 1 starts while node 2 has failed; if that was on, or booting, it boots when it is repaired, beyond the cap of 270 W.

    If it was OFF it is OFF again. Job 0, for which only node 2 will do, waits until job 1 has ended.
    """
    failures = tmp_path / "failures.csv"
    failures.write_text(f"time,node,event\n{fails},2,fail\n40,2,repair\n")
    kind, switching = scaling(), PowerTransitions(switch_on_s=10.0, switch_on_w=50.0, off_w=0.0)
    groups = (
        NodeGroup(NodeType("on", (kind,), transitions=switching), 2),
        NodeGroup(NodeType("off", (kind,), transitions=switching, initially_off=True, tags=frozenset({"dear"})), 1),
    )
    workload = jobs((1, 8, 400), (20, 16, 400), requires=["dear", ""], requested_time=[100.0, 100.0])
    platform = Platform((Cluster("cluster0", groups),))
    scheduler = make_scheduler("list:first/first,blocking=no")
    result = Simulation(platform, workload, scheduler, PowerCap(270), failures=f"trace:{failures}").run()
    states = result.node_states[result.node_states["node"] == "cluster0.node2"]
    assert states["state"][states["start"] == 40.0].tolist() == [repaired]
    assert result.power["watts"].max() == peak
    assert result.jobs["finish_time"].tolist() == [230.0 if repaired == "OFF" else 220.0, 120.0]


def test_a_job_goes_where_there_are_watts_for_it() -> None:
    """The node order likes the node that draws 118 W, the cap of 100 W lets the job go to the one that draws 81 W."""
    fast, slow = scaling(), ProcessorType("slow", 8, 3.0, power={"static_w": 54, "dynamic_w": 3.375, "min_power": 0.5})
    groups = (NodeGroup(NodeType("a", (fast,)), 1), NodeGroup(NodeType("b", (slow,)), 1))
    platform = Platform((Cluster("c", groups),))
    result = Simulation(platform, jobs((0, 8, 300)), Fcfs(), PowerCap(108)).run()
    assert times(result) == [(0, 100)]
    assert result.allocations["node"].tolist() == ["c.node1"]


def test_watts_of_booting_count() -> None:
    """A node that boots at 150 W beside one that computes at 118 W is too much for 260 W, though 236 W would do."""
    switching = PowerTransitions(switch_on_s=10.0, switch_on_w=150.0)
    workload = jobs((0, 8, 400), (1, 8, 400))
    platform = machine(scaling(), 1, switching, off=1)
    assert times(Simulation(platform, workload, Fcfs(), PowerCap(260)).run()) == [(0, 100), (100, 200)]
    assert times(Simulation(platform, workload, Fcfs(), PowerCap(268)).run()) == [(0, 100), (11, 111)]


def test_what_a_booting_node_will_draw_is_set_aside() -> None:
    """While a node boots for a job at 1 W, nobody else takes the 118 W that it will draw."""
    switching = PowerTransitions(switch_on_s=10.0, switch_on_w=1.0)
    platform = machine(scaling(), 0, switching, off=2)
    result = Simulation(platform, jobs((0, 8, 400), (1, 8, 400)), Fcfs(), PowerCap(200)).run()
    assert times(result) == [(10, 110), (110, 210)]
    assert result.power["watts"].max() == 118


def test_a_job_that_can_never_fit_is_rejected_when_it_comes() -> None:
    """118 W beside 27 W of the other node are 145 W: with a cap of 140 W the job is told so, the next one runs."""
    platform = machine(scaling(), 2)
    result = Simulation(platform, jobs((0, 8, 400), (3, 8, 400), (5, 1, 4)), Fcfs(), PowerCap(140)).run()
    reason = "with nothing else running, the machine would draw 145 W, the power cap is 140 W"
    assert result.jobs["reason"].tolist() == [reason, reason, ""]
    assert result.jobs["finish_time"][2] == 6


def test_a_machine_that_draws_too_much_idle() -> None:
    """Two idle nodes draw 54 W: a cap of 50 W is refused at the start."""
    with pytest.raises(InputError, match="power cap: expected at least the 54 W of the idle machine, found 50"):
        Simulation(machine(scaling(), 2), jobs((0, 1, 1)), Fcfs(), PowerCap(50)).run()


def test_a_power_model_that_cannot_be_bounded() -> None:
    """Watts that follow the memory traffic are not known before the tasks run."""
    platform = machine(ProcessorType("p", 2, 1.0, power={"p10": 3.0}), power_model="polynomial")
    with pytest.raises(InputError, match="power cap: expected a power model whose watts grow with the busy cores"):
        Simulation(platform, jobs((0, 1, 1)), Fcfs(), PowerCap(50)).run()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("power-cap", r"power policy 'power-cap': expected other arguments \(missing a required argument: 'watts'\)"),
        ("power-cap:how=slow", "missing a required argument: 'watts'"),
        ("power-cap:0", "watts: expected watts above 0, found 0"),
        ("power-cap:nan", "found nan"),
        ("power-cap:inf", "watts: expected finite watts above 0, found inf"),
        ("power-cap:watts=5kW", "option watts: expected watts above 0, found 5kW"),
        ("power-cap:100,how=hope", "wait or slow"),
    ],
)
def test_caps_that_mean_nothing(spec: str, message: str) -> None:
    """No watts, no number of them, no limit, no such way."""
    with pytest.raises(SpecError, match=message):
        make_power_policy(spec)


@pytest.mark.parametrize("watts", ["100", None, True, np.True_, [100], pytest.param(10**9000, id="huge"), np.nan, 0])
def test_watts_in_python_that_are_no_number(watts: Any) -> None:
    """One line that names what is wrong, as for a spec, whatever is given; it fits on a screen."""
    with pytest.raises(SpecError, match=r"^PowerCap, watts: expected watts above 0, found ") as error:
        PowerCap(watts)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize("seconds", ["100", None, True, pytest.param(10**9000, id="huge")])
def test_seconds_in_python_that_are_no_number(seconds: Any) -> None:
    """Times of other policies are refused in the same way."""
    with pytest.raises(SpecError, match=r"^IdleTimeout, seconds: expected seconds, 0 or more, found "):
        IdleTimeout(seconds)
    with pytest.raises(SpecError, match=r"^InertialShutdown, period: expected seconds, 0.001 or more, found "):
        InertialShutdown(seconds)


@pytest.mark.parametrize("watts", [240, 240.0, np.float64(240), np.int64(240), np.float32(240)])
def test_watts_in_python(watts: Any) -> None:
    """Any number of them, numpy's too."""
    assert (PowerCap(watts).watts, PowerCap(watts).spec) == (240.0, "power-cap:240")


def test_a_placement_beyond_the_cap_is_refused() -> None:
    """Who takes the scheduler's place is told, and nothing has changed."""
    simulation = Simulation(machine(scaling(), 2), jobs((0, 8, 400), (0, 8, 400)), None, PowerCap(160))
    view = simulation.step_to_decision()
    assert view is not None
    first, second = view.pending
    simulation.decide((first, Placement.on({0: 8})))
    with pytest.raises(PlacementError, match="would have the machine draw more than the power cap of 160 W"):
        simulation.decide((second, Placement.on({1: 8})))
    assert (view.watts, view.pending) == (145, (second,))
    assert str(view.shortage(second)) == "would have the machine draw more than the power cap of 160 W"


def test_the_head_is_not_overtaken_for_ever() -> None:
    """Small jobs keep coming; each of them would take watts that the wide head job waits for."""
    rows = [(0.0, 1, 40.0), (1.0, 8, 40.0), *((float(t), 1, 40.0) for t in range(2, 60))]
    workload = jobs(*rows, requested_time=[10.0] * len(rows))
    for scheduler in ("easy", "conservative"):
        simulation = Simulation(machine(scaling(), 2), workload, make_scheduler(scheduler), PowerCap(150))
        assert simulation.run().jobs["start_time"].tolist()[1] == 10


# ---------------------------------------------------------------------- over everything registered


@st.composite
def capped(draw: st.DrawFn) -> tuple[Platform, Workload, float, str]:
    """Up to six nodes of processors with p-states, some of them off, up to ten jobs, and a cap."""
    watts = st.sampled_from([0.0, 10.0, 35.25])

    def processor(number: int) -> ProcessorType:
        states = tuple(
            PState(
                f,
                {
                    "static_w": draw(watts),
                    "dynamic_w": draw(watts),
                    "min_power": draw(st.sampled_from([0.0, 0.5, 1.0])),
                },
            )
            for f in draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=1, max_size=3, unique=True))
        )
        return ProcessorType(
            f"p{number}", draw(st.integers(1, 3)), states[0].clock_ghz, power=states[0].power or {}, p_states=states
        )

    kinds = [processor(0), processor(1)]
    seconds, switching = st.sampled_from([0.0, 1.0, 2.5]), st.sampled_from([None, 0.0, 60.0])
    groups = [
        NodeGroup(
            NodeType(
                f"n{i}",
                tuple(draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=2))),
                None,
                PowerTransitions(draw(st.sampled_from([0.0, 3.0])), draw(seconds), draw(switching)),
                draw(st.booleans()),
            ),
            draw(st.integers(1, 3)),
        )
        for i in range(2)
    ]
    platform = Platform(
        (Cluster("c", tuple(groups)),), power_model=draw(st.sampled_from(["linear", "stall-aware:0.25"]))
    )
    count = draw(st.integers(1, 10))

    def column(values: list[float]) -> list[float]:
        return draw(st.lists(st.sampled_from(values), min_size=count, max_size=count))

    widths = draw(st.lists(st.integers(1, 8), min_size=count, max_size=count))
    workload = Workload(
        {
            "submit_time": sorted(column([0.0, 1.0, 2.0, 5.0])),
            "requested_cores": widths,
            "operations": [1e9 * work for work in column([0.0, 1.0, 2.0, 5.0])],
            "requested_time": column([1.0, 3.0, 5.0, np.inf]),
            "mem_vol": column([0.0, 40.0]),
        }
    )
    return (
        platform,
        workload,
        draw(st.sampled_from([40.0, 75.0, 120.0, 200.0])),
        draw(st.sampled_from(["wait", "slow"])),
    )


def runs_under(scheduler: Scheduler, case: tuple[Platform, Workload, float, str]) -> Result | None:
    """The run, unless the machine draws too much before any job."""
    platform, workload, limit, how = case
    simulation = Simulation(platform, workload, scheduler, PowerCap(limit, how))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", CautionWarning)
            return simulation.run()
    except InputError as error:
        assert "of the idle machine" in str(error)
        return None


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@settings(max_examples=8, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(case=capped())
def test_the_draw_stays_below_the_cap_and_no_job_is_lost(
    scheduler: str, case: tuple[Platform, Workload, float, str]
) -> None:
    """Every row of the power curve is at most the cap; every job is completed, or rejected with a reason."""
    result = runs_under(make_scheduler(scheduler), case)
    if result is None:
        return
    assert result.power["watts"].max() <= case[2] * (1 + 1e-9)
    assert set(result.jobs["state"]) <= {"completed", "rejected"}
    refused = result.jobs[result.jobs["state"] == "rejected"]
    assert all("power cap" in reason or "it asks for" in reason for reason in refused["reason"])
    summary = result.summary()
    assert summary["energy_j"] == pytest.approx(np.trapezoid(*_steps(result)), rel=1e-9, abs=1e-9)


@settings(max_examples=30, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(case=capped())
def test_a_cap_beyond_reach_changes_nothing(case: tuple[Platform, Workload, float, str]) -> None:
    """Under a limit that nothing can come near, every time is what it is without the policy."""
    platform, workload, _, how = case
    free = Simulation(platform, workload, Fcfs()).run()
    limited = Simulation(platform, workload, Fcfs(), PowerCap(1e12, how=how)).run()
    assert np.array(times(limited)) == pytest.approx(np.array(times(free)), nan_ok=True)


def _steps(result: Result) -> tuple[np.ndarray, np.ndarray]:
    """The power curve as a polygon: (W, s)."""
    time, watts = result.power["time"].to_numpy(), result.power["watts"].to_numpy()
    return np.repeat(watts, 2)[:-1], np.repeat(time, 2)[1:]


class AnyState(Scheduler):
    """Starts whatever fits, in a p-state drawn at random where a job has its processors for itself."""

    def schedule(self, view: View) -> Iterator[Start]:
        """One pass."""
        for job in view.pending:
            placement = view.place(job)
            if placement is None:
                continue
            p_state = int(view.rng.integers(0, 3))
            nodes = [view.machine.node(node) for node in placement.nodes]
            whole = all(
                node.free_cores == cores for node, cores in zip(nodes, placement.cores_by_node().values(), strict=True)
            )
            alone = whole and all(node.free_cores == node.cores for node in nodes)
            possible = alone and all(p_state < len(p.type.p_states) for node in nodes for p in node.processors)
            if possible and view.planning.allows(job, placement, p_state):
                yield Start(job, placement, p_state=p_state)
            else:
                yield Start(job, placement)


@settings(max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(case=capped())
def test_p_states_of_jobs_count(case: tuple[Platform, Workload, float, str]) -> None:
    """So it is when jobs run in p-states of their own, and their processors go back to faster ones."""
    result = runs_under(AnyState(), case)
    if result is not None:
        assert result.power["watts"].max() <= case[2] * (1 + 1e-9)
        assert set(result.jobs["state"]) <= {"completed", "rejected"}


def unequal(cap: float, quirks: tuple[str, ...] = ()) -> Simulation:
    """Two cheap nodes, and a dear one, tagged big, for the first of two jobs: alone it draws 208 W with the machine."""
    dear = ProcessorType("dear", 2, 1.0, power={"static_w": 54.0, "dynamic_w": 100.0, "min_power": 0.5})
    groups = (
        NodeGroup(NodeType("cheap", (scaling(),)), 2),
        NodeGroup(NodeType("dear", (dear,), tags=frozenset({"big"})), 1),
    )
    workload = jobs((10, 1, 10), (20, 1, 40), requires=["big", ""])
    return Simulation(Platform((Cluster("cluster0", groups),)), workload, Fcfs(), PowerCap(cap), quirks=quirks)


@pytest.mark.parametrize("quirks", [(), ("pass-after-each-event",)])
@pytest.mark.parametrize("fails", [False, True])
def test_a_failed_node_does_not_keep_a_job_that_cannot_fit_in_the_queue(fails: bool, quirks: tuple[str, ...]) -> None:
    """Refused with nothing else running, it is rejected, whether another node has failed for good or not."""
    simulation = unequal(150.0, quirks)
    if fails:
        simulation.env.at(1.0).callbacks.append(lambda event: simulation.node(1).fail())
    result = simulation.run(until=1000)
    assert result.jobs["state"].tolist() == ["rejected", "completed"]
    assert result.jobs["start_time"][1] == 20.0


def test_what_was_refused_while_another_job_ran_may_start_when_none_does() -> None:
    """At 5 s somebody looks whether 2 could start beside 0. When 1 is refused at 10, alone, 2 is not."""
    platform = unequal(120.0).platform
    workload = jobs((0, 1, 40), (1, 1, 5), (2, 1, 5), requires=["", "big", ""])
    simulation = Simulation(platform, workload, Fcfs(), PowerCap(120.0))
    simulation.run(until=5)
    (last,) = (job for job in simulation.view.pending if job.index == 2)
    assert simulation.view.place(last) is None
    assert simulation.run(until=500).jobs["state"].tolist() == ["completed", "rejected", "completed"]


def test_a_refused_start_slows_nobody() -> None:
    """Room is made only for a start that nothing else forbids: here, a p-state for half of a processor."""
    simulation = Simulation(
        machine(scaling(), 3), jobs((0, 8, 400), (0, 4, 400)), power=PowerCap(200, "slow"), contention="none"
    )
    view = simulation.step_to_decision()
    assert view is not None
    first, second = view.pending
    simulation.apply(Start(first, Placement.on({0: 8})))
    with pytest.raises(PlacementError, match="cannot have p-state 2"):
        simulation.apply(Start(second, Placement.on({1: 4}), p_state=2))
    assert [p.type.p_state for node in view.machine.nodes() for p in node.processors] == [3, 3, 3]
    simulation.apply(Start(second, Placement.on({1: 4})))  # 118 + 86 + 27 W with all at 4 GHz
    assert view.watts <= 200 < 118 + 86 + 27
    assert [p.type.p_state for node in view.machine.nodes() for p in node.processors] == [2, 3, 3]


@pytest.mark.parametrize("cap", [None, 1000.0])
def test_a_p_state_that_a_processor_lacks(cap: float | None) -> None:
    """With and without a cap that is a placement that cannot be."""
    power = None if cap is None else PowerCap(cap)
    simulation = Simulation(machine(ProcessorType("plain", 2, 1.0)), jobs((0, 2, 1)), power=power)
    view = simulation.step_to_decision()
    assert view is not None
    (job,), there = view.pending, Placement.on({0: 2})
    with pytest.raises(PlacementError, match="p-state: expected a number from 0 to 0, found 1"):
        simulation.apply(Start(job, there, p_state=1))
    if cap is not None:
        with pytest.raises(PlacementError, match="p-state: expected a number from 0 to 0, found 1"):
            view.planning.allows(job, there, p_state=1)
    assert view.is_pending(job)
