"""Slips that everybody makes once end in one clear line."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from cluster_sim import make_power_policy
from cluster_sim.errors import InputError, SimulationError
from cluster_sim.machine.placement import Placement
from cluster_sim.platform import Platform
from cluster_sim.run import Simulation, View, passes
from cluster_sim.run.decisions import (
    Hold,
    LimitPower,
    Offer,
    PowerDecision,
    Reject,
    Reserve,
    SetPState,
    Start,
    SwitchOff,
    SwitchOn,
    WakeAt,
    Withhold,
)
from cluster_sim.workload import Workload
from schedulers import Fcfs, PowerPolicy, Scheduler

PLATFORM = Platform.homogeneous(nodes=2, cores=2)
WORKLOAD = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [10.0]})


@pytest.mark.parametrize("scheduler", [Fcfs, 7, PowerPolicy()])
def test_a_scheduler_is_an_object(scheduler: Any) -> None:
    """A class or a power policy in place of a scheduler is refused, with an example."""
    with pytest.raises(InputError, match=r"Simulation, scheduler: expected an object such as Fcfs\(\)"):
        Simulation(PLATFORM, WORKLOAD, scheduler)


@pytest.mark.parametrize("power", [PowerPolicy, Fcfs()])
def test_a_power_policy_is_an_object(power: Any) -> None:
    """The same for power policies, where a scheduler is none."""
    with pytest.raises(InputError, match="Simulation, power: expected an object such as AlwaysOn"):
        Simulation(PLATFORM, WORKLOAD, Fcfs(), power)


@pytest.mark.parametrize(
    ("model", "method"),
    [("contention", "on"), ("power_model", "idle_watts"), ("network", "on"), ("failures", "inject")],
)
def test_models_are_objects(model: str, method: str) -> None:
    """A class that was not called, or something else, in place of a model."""
    for wrong in (PowerPolicy, 7):
        with pytest.raises(InputError, match=f"Simulation, {model}: expected an object with {method}"):
            Simulation(PLATFORM, WORKLOAD, Fcfs(), **{model: wrong})


@pytest.mark.parametrize(
    ("network", "told"),
    [
        (None, r"^network model Own, what on\(…\) returns: expected an object with transfer, cancel, found None"),
        ("shared", r"^network model Own, what on\(…\) returns: expected an object with transfer, cancel, found 'shared'"),
        (type("Net", (), {"transfer": lambda *_: 5.0, "cancel": print})(), "^network model Net, transfer: expected an event"),
    ],
)  # fmt: skip
def test_a_network_of_ones_own_that_is_none_is_named(network: Any, told: str) -> None:
    """Nothing, or a number of seconds in place of the event of the end."""
    own = type("Own", (), {"on": lambda *_: network})()
    jobs = Workload({"submit_time": [0.0], "requested_cores": [4], "recorded_run_time": [10.0], "comm_vol": [5.0]})
    with pytest.raises(InputError, match=told):
        Simulation(PLATFORM, jobs, Fcfs(), network=own).run()


def test_a_platform_and_a_workload_are_objects() -> None:
    """Specs, which the command line takes, and the two in the wrong order; and a seed is a number that can be one."""
    for platform, workload, told in (
        ("homogeneous:nodes=2,cores=2", WORKLOAD, r"Simulation, platform: expected a Platform, such as Platform\.read"),
        (PLATFORM, {"submit_time": [0.0]}, r"Simulation, workload: expected a Workload, such as Workload\.read"),
        (WORKLOAD, PLATFORM, "Simulation, platform"),
    ):
        with pytest.raises(InputError, match=told):
            Simulation(platform, workload, Fcfs())  # type: ignore[arg-type]
    for seed in (-1, 1.5, "a", True):
        with pytest.raises(InputError, match="Simulation, seed: expected a whole number >= 0"):
            Simulation(PLATFORM, WORKLOAD, Fcfs(), seed=seed)  # type: ignore[arg-type]
    assert Simulation(PLATFORM, WORKLOAD, Fcfs(), seed=np.int64(3)).seed == 3


@pytest.mark.parametrize("time", [1.0, float("nan"), -3.0])
def test_time_goes_on(time: float) -> None:
    """A process of the user's own that plans something for before now is told, and the clock stays."""
    simulation = Simulation(PLATFORM, WORKLOAD, Fcfs())

    def late() -> Iterable[Any]:
        yield simulation.env.timeout(5.0)
        with pytest.raises(InputError, match=r"env\.at: expected a time from now on, 5 s"):
            simulation.env.at(time)
        yield simulation.env.at(5.0)
        assert simulation.env.now == 5.0

    simulation.env.process(late())  # type: ignore[arg-type]
    assert simulation.run().jobs["finish_time"].tolist() == [10.0]


def test_a_slice_is_between_two_times() -> None:
    """In order, and numbers."""
    for start, stop in (("0", 5.0), (float("nan"), 5.0), (5.0, 1.0)):
        with pytest.raises(InputError, match="slice: expected two times in s"):
            WORKLOAD.slice(start, stop)  # type: ignore[arg-type]
    assert len(WORKLOAD.slice(0, 0)) == 0
    assert len(WORKLOAD.slice(0, float("inf"))) == 1


def test_one_quirk_may_be_given_as_text() -> None:
    """A single quirk needs no list."""
    assert Simulation(PLATFORM, WORKLOAD, Fcfs(), quirks="textual-node-order").quirks == {"textual-node-order"}


def test_a_pass_that_returns_nothing_is_told() -> None:
    """A schedule method that forgets to yield is named."""

    class Forgetful(Scheduler):
        def schedule(self, view: View) -> Any:
            view.place(view.pending[0])

    with pytest.raises(SimulationError, match=r"Forgetful\.schedule returned None"):
        Simulation(PLATFORM, WORKLOAD, Forgetful()).run()


def test_a_decision_that_is_returned_is_told() -> None:
    """In place of being yielded, or in a list."""

    class Returns(Scheduler):
        def schedule(self, view: View) -> Any:
            return Start(view.pending[0], view.place(view.pending[0]))

    with pytest.raises(
        SimulationError, match=r"Returns\.schedule returned one Start: yield decisions, or return a list"
    ):
        Simulation(PLATFORM, WORKLOAD, Returns()).run()


@pytest.mark.parametrize("wakes", [(1.0,), (10.0, 20.0)])
@pytest.mark.parametrize("power", ["", "timeout:10"])
@pytest.mark.parametrize("later", [False, True])
def test_a_scheduler_that_only_wants_to_be_woken_is_stopped(
    later: bool, power: str, wakes: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """When nothing else is to happen; while another job is to come it may ask as often as it likes."""
    monkeypatch.setattr(passes, "MOST_FRUITLESS_PASSES", 50)

    class Sleepy(Scheduler):
        def schedule(self, view: View) -> Any:
            for job in view.pending if later and view.now >= 200.0 else ():
                yield Start(job, view.place(job))
            for seconds in wakes:
                yield WakeAt(view.now + seconds)

    jobs = {"submit_time": [0.0, 200.0], "requested_cores": [1, 1], "recorded_run_time": [5.0, 100.0]}
    policy = make_power_policy(power) if power else None
    simulation = Simulation(PLATFORM, Workload(jobs), Sleepy(), policy)
    if later:
        assert simulation.run().jobs["start_time"].tolist() == [200.0, 200.0]
        return
    told = "Sleepy starts no job, and asks again and again to be woken: 2 jobs wait and none runs, nothing else is to happen"
    with pytest.raises(SimulationError, match=told):
        simulation.run()
    assert 200.0 < simulation.env.now <= 800.0


def test_who_starts_a_job_now_and_then_may_ask_as_often_as_it_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eleven wakes, then a job, which runs alone and during which it asks for none."""
    monkeypatch.setattr(passes, "MOST_FRUITLESS_PASSES", 50)

    class Polls(Scheduler):
        def begin(self, view: View) -> None:
            self.times = 0

        def schedule(self, view: View) -> Any:
            if view.running_count or not view.pending_count:
                return
            self.times += 1
            if self.times % 12:
                yield WakeAt(view.now + 1.0)
            else:
                yield Start(view.pending[0], view.place(view.pending[0]))

    jobs = {"submit_time": [0.0] * 20, "requested_cores": [1] * 20, "recorded_run_time": [5.0] * 20}
    result = Simulation(PLATFORM, Workload(jobs), Polls()).run()
    assert result.jobs["start_time"].tolist() == [11.0 + 16.0 * i for i in range(20)]


def test_a_policy_that_goes_in_circles_is_stopped() -> None:
    """Nodes switched off and on in no time would hold the clock for ever."""

    class Circles(PowerPolicy):
        def reserve(self, view: View) -> Iterable[PowerDecision]:
            return [SwitchOff(node) for node in np.flatnonzero(view.machine.is_on & (view.free_cores == 2)).tolist()]

        def react(self, view: View) -> Iterable[PowerDecision]:
            return [SwitchOn(node) for node in np.flatnonzero(view.machine.is_off).tolist()]

    with pytest.raises(SimulationError, match="Circles switches nodes in circles"):
        Simulation(PLATFORM, WORKLOAD, Fcfs(), power=Circles()).run()


@pytest.mark.parametrize("clock", [0.0, -1.0, float("nan"), float("inf"), "3"])
def test_impossible_clocks_are_refused(clock: Any) -> None:
    """A clock is a positive number."""
    processor = Simulation(PLATFORM, WORKLOAD, Fcfs()).node(0).processors[0]
    with pytest.raises(InputError, match="expected a positive clock"):
        processor.set_clock(clock)
    with pytest.raises(InputError, match="expected watts, 0 or more"):
        processor.set_clock(2.0, static_w=-5.0)


class Once(Scheduler):
    """Decides in its first pass what it was made with."""

    def __init__(self, make: Callable[[View], Any]):
        self.make = make

    def schedule(self, view: View) -> Iterable[Any]:
        """The decision, if the job still waits."""
        return [self.make(view)] if view.pending else []


@pytest.mark.parametrize("explain", [False, True])
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda view: Start(view.pending[0], None), "Start, placement: expected a placement, .* found None"),
        (lambda view: Start(view.pending[0], {0: 1}), r"Start, placement: expected a placement, .* found \{0: 1\}"),
        (lambda view: Start(None, Placement.on({0: 1})), "Start, job: expected a job, .* found None"),
        (lambda view: Start("0", Placement.on({0: 1})), "Start, job: expected a job, .* found 0"),
        (lambda view: Reject(None, "why"), "Reject, job: expected a job, .* found None"),
        (lambda view: Reject(view.pending[0], None), "Reject, reason: expected a clause in words, found None"),
        (lambda view: Hold(7, "why"), "Hold, job: expected a job, .* found 7"),
        (
            lambda view: Hold(view.pending[0], None),
            "Hold, because: expected a reason, or a clause in words, found None",
        ),
        (lambda view: Hold(view.pending[0], "why", "0"), "Hold, behind: expected a job, or None, found 0"),
        (lambda view: Reserve("0", 5.0), "Reserve, job: expected a job, .* found 0"),
        (lambda view: Reserve(view.pending[0], None), "Reserve, time: expected a time in s, found None"),
        (lambda view: Reserve(view.pending[0], 5.0, [0]), r"Reserve, placement: expected a placement, .* found \[0\]"),
        (lambda view: WakeAt(None), "WakeAt, time: expected a time in s, found None"),
        (lambda view: Reserve(view.pending[0], float("nan")), "Reserve, time: expected a time in s, found nan"),
        (lambda view: WakeAt("5"), "WakeAt, time: expected a time in s, found 5"),
    ],
)
def test_a_decision_with_a_wrong_value_is_told(make: Callable[[View], Any], message: str, explain: bool) -> None:
    """Decision and value are named, with what was expected: ``Start(job, view.place(job))`` where nothing fits, above all."""
    with pytest.raises(InputError, match=message):
        Simulation(PLATFORM, WORKLOAD, Once(make), explain=explain).run()


@pytest.mark.parametrize("name", ["requested_time", "requested_cores", "submit_time", "index", "job_id", "predicted"])
def test_a_job_is_not_written_to(name: str) -> None:
    """What a policy predicts of a job would else count as what its user asked for, and the machine would go by it."""

    def write(view: View) -> WakeAt:
        setattr(view.pending[0], name, 1)
        return WakeAt(1.0)

    with pytest.raises(
        InputError, match=f"job 0, {name}: expected no assignment: jobs are read-only; keep what you predict"
    ):
        Simulation(PLATFORM, WORKLOAD, Once(write), enforce_walltime=True).run()
    job = View.by_hand(PLATFORM, WORKLOAD).pending[0]
    with pytest.raises(InputError, match=f"job 0, {name}"):
        delattr(job, name)
    again = copy.deepcopy(job)
    assert (again.index, again.job_id, again.requested_cores, again.memory) == (0, "0", 1, 0.0)


def test_so_is_one_on_a_view_made_by_hand() -> None:
    """The slip that a test of one's own policy would find."""
    view = View.by_hand(PLATFORM, WORKLOAD)
    with pytest.raises(InputError, match=r"Start, placement: expected a placement, .* found None"):
        view.apply(Start(view.pending[0], None))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (
            SwitchOn([0, 1]),
            r"SwitchOn, node: expected a node by its position, from 0 to 1, or its name, found \[0, 1\]",
        ),  # type: ignore[arg-type]
        (SwitchOn(None), "SwitchOn, node: expected a node by its position, from 0 to 1, or its name, found None"),  # type: ignore[arg-type]
        (SwitchOn(2), "SwitchOn, node: expected .* found 2"),
        (SwitchOn(-1), "SwitchOn, node: expected .* found -1"),
        (SwitchOff((0, 1)), r"SwitchOff, node: expected .*, or a list of nodes, found \(0, 1\)"),  # type: ignore[arg-type]
        (SwitchOff(np.array([0, 1])), "SwitchOff, node: expected .*, or a list of nodes, found array"),  # type: ignore[arg-type]
        (SwitchOff([0, None]), "SwitchOff, node: expected .*, or a list of nodes, found None"),  # type: ignore[list-item]
        (SwitchOff([0, 2]), "SwitchOff, node: expected .*, or a list of nodes, found 2"),
        (SwitchOff(True), "SwitchOff, node: expected .*, or a list of nodes, found True"),
        (SwitchOff("cluster0.node7"), r"expected a node name such as cluster0\.node0, found cluster0\.node7"),  # type: ignore[arg-type]
        (Withhold(0.0), r"Withhold, node: expected .*, or a list of nodes, found 0\.0"),  # type: ignore[arg-type]
        (Offer([[0]]), r"Offer, node: expected .*, or a list of nodes, found \[0\]"),  # type: ignore[list-item]
        (SetPState(2, 0), "SetPState, processor: expected a processor by its position, from 0 to 1, found 2"),
        (SetPState(-1, 0), "SetPState, processor: expected a processor by its position, from 0 to 1, found -1"),
        (SetPState(0, None), "p-state: expected a number from 0 to 0"),  # type: ignore[arg-type]
        (LimitPower(None), "LimitPower, watts: expected W, 0 or more, inf for no limit, found None"),  # type: ignore[arg-type]
        (LimitPower(float("nan")), "LimitPower, watts: expected W, 0 or more, inf for no limit, found nan"),
        (LimitPower(-1.0), "LimitPower, watts: expected W, 0 or more"),
        (LimitPower(500.0, slow="yes"), "LimitPower, slow: expected True or False, found yes"),  # type: ignore[arg-type]
        (Reject(None, "why"), "Reject, job: expected a job, .* found None"),  # type: ignore[arg-type]
        (WakeAt(None), "WakeAt, time: expected a time in s, found None"),  # type: ignore[arg-type]
    ],
)
def test_a_power_decision_with_a_wrong_value_is_told(decision: PowerDecision, message: str) -> None:
    """The same of power policies: a node that is none, a list where there is one node, no number."""

    class Slip(PowerPolicy):
        def reserve(self, view: View) -> Iterable[PowerDecision]:
            return [decision]

    with pytest.raises(InputError, match=message):
        Simulation(PLATFORM, WORKLOAD, Fcfs(), Slip()).run()
