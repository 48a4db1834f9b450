"""What policies see cannot be changed by looking at it."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from functools import partial
from itertools import cycle, islice
from typing import Any

import numpy as np
import pytest
from simpy.events import Event

from cluster_sim import AdvanceReservation, Platform, Result, Simulation, View, Workload
from cluster_sim.errors import InputError, ModelWarning, SimulationError
from cluster_sim.machine.free import Free
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions, ProcessorType
from cluster_sim.platform.accounts import ROOT, Accounts, Association
from cluster_sim.run.decisions import LimitPower, Start
from cluster_sim.run.view import MOVED, _tell_new_name
from cluster_sim.spelling import Guess
from schedulers import AlwaysOn, EasyBackfilling, Fcfs, IdleTimeout, make_power_policy, make_scheduler

PLATFORM = Platform.homogeneous(2, 4)
ARRAYS = (
    "free_cores usable_cores memory_used memory_capacity demand is_on is_off powered_on powered_off withheld".split()
)
REFUSALS = AttributeError, TypeError, InputError
SWITCHES = "switch_off switch_on fail repair request set_p_state ready".split()


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_of_a_view_cannot_be_written_to(name: str) -> None:
    """Nobody takes cores by writing a number."""
    array = getattr(View.by_hand(PLATFORM).machine, name)
    with pytest.raises(ValueError, match="read-only"):
        array[:] = 0


def test_arrays_of_a_view_follow_the_machine() -> None:
    """They are the machine's own numbers, not copies."""
    simulation = Simulation(
        PLATFORM, Workload({"submit_time": [0.0], "requested_cores": [3], "recorded_run_time": [9.0]}), Fcfs()
    )
    free = simulation.view.free_cores
    simulation.run(until=5.0)
    assert free.tolist() == [1, 4]


def test_nodes_of_a_view_can_only_be_looked_at() -> None:
    """Neither they nor their processors have anything that would switch, break or hold them."""
    view = View.by_hand(PLATFORM)
    node = view.machine.node(1)
    assert (node.name, node.free_cores, node.state) == ("cluster0.node1", 4, "IDLE")
    assert [n.index for n in view.machine.nodes()] == [0, 1]
    assert not [name for name in SWITCHES if hasattr(node, name)]
    assert not [name for name in (*SWITCHES, "load", "set_clock", "node") if hasattr(node.processors[0], name)]


def test_nobody_decides_for_a_power_policy_that_decides_itself() -> None:
    """decide_power is for steered runs; elsewhere it says so, and no limit is set."""
    workload = Workload({"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [1.0]})
    for policy in (None, AlwaysOn()):
        simulation = Simulation(PLATFORM, workload, Fcfs(), power=policy)
        with pytest.raises(SimulationError, match="Steered"):
            simulation.decide_power(LimitPower(1.0))
        assert not simulation.machine.budget.is_set
    assert np.isfinite(simulation.run().summary()["energy_j"])


def test_a_view_has_some_twenty_members() -> None:
    """The rest is in its two parts; an old name that the manual had works, and says the new one, once."""
    view = View.by_hand(PLATFORM)
    members = {name for name in dir(view) if not name.startswith("_")}
    assert len(members) <= 24, members
    with pytest.warns(ModelWarning, match=r"^view\.memory_used is view\.machine\.memory_used now$"):
        assert view.memory_used is view.machine.memory_used
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert view.memory_used is view.machine.memory_used
    for name, part in MOVED.items():
        assert hasattr(getattr(view, part), name)
    with pytest.raises(AttributeError, match=r"expected view\.machine\.powered_on"):
        view.powered_on  # noqa: B018
    with pytest.raises(AttributeError, match="expected pending"):
        view.pendin  # noqa: B018


@pytest.mark.parametrize("name", MOVED)
def test_every_old_name_is_told_once(name: str) -> None:
    """It gives what the new one gives, at the first look with a warning, then without."""
    _tell_new_name.cache_clear()
    view = View.by_hand(PLATFORM)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        first, again = getattr(view, name), getattr(view, name)
    assert [str(one.message) for one in told] == [f"view.{name} is view.{MOVED[name]}.{name} now"]
    new = getattr(getattr(view, MOVED[name]), name)
    assert all(one is new or one == new for one in (first, again))


# ---------------------------------------------------------------------- whatever a policy tries


class Vandal:
    """Has a policy try to set, and to change, all that it is shown, before it decides as it would."""

    def __init__(self, policy: Any, decide: str):
        self.members = set[str]()
        self.shown = set[str]()
        self.kinds = set[str]()  # of objects whose attributes it has tried to set
        self._decide = getattr(policy, decide)
        setattr(policy, decide, self.decide)

    def decide(self, view: View) -> Any:
        """Leave nothing untried, then hold a pass."""
        for part in (view, view.machine, view.planning):
            for name in dir(part):
                if not name.startswith("_") and not isinstance(inspect.getattr_static(part, name), classmethod):
                    self.members.add(name)
                    self._try(view, part, name)
        return self._decide(view)

    def _try(self, view: View, part: Any, name: str) -> None:
        for change in (partial(setattr, part, name, None), partial(delattr, part, name)):
            with pytest.raises(AttributeError):
                change()
        value = getattr(part, name)
        for read in self._calls(view, value) if callable(value) else [partial(getattr, part, name)]:
            with suppress(KeyError, SimulationError):  # of a job that does not run; what only views made by hand do
                before = _copied(read())
                _spoil(read())
                assert _same(_copied(read()), before), name
                self.kinds |= _set_all(read())
                self.shown.add(name)

    def _calls(self, view: View, member: Callable[..., Any]) -> list[Callable[[], Any]]:
        """Return calls of a member, with the jobs that wait and that run; what a new one takes stands here, too."""
        waiting, running = view.pending[:1], view.running
        known: dict[str, list[Any]] = {
            "job": [*waiting, *(one.job for one in running)],
            "running": [*running],
            "placement": [one.placement for one in running],
            "time": [view.now],
            "cores": [1],
            "resource": ["gpu"],
            **{name: [0] for name in ("index", "node", "processor")},
            "decision": [Start(job, one.placement) for job in waiting for one in running],
            "follower": [],  # that it can be told of passes, is meant
        }
        parameters = inspect.signature(member).parameters.values()
        given = {one.name: known[one.name] for one in parameters if one.default is one.empty}
        if not all(given.values()):
            return []
        count = max(map(len, given.values()), default=1)
        columns = {name: list(islice(cycle(values), count)) for name, values in given.items()}
        return [partial(member, **{name: column[row] for name, column in columns.items()}) for row in range(count)]


def _spoil(value: Any) -> None:
    """Write to a container, and to what is in it, in every way there is; one that cannot be written to raises."""
    for one in (
        [*value.values()] if isinstance(value, Mapping) else [*value] if isinstance(value, (list, tuple)) else ()
    ):
        _spoil(one)
    ways: list[Callable[[], Any]] = []
    if isinstance(value, np.ndarray):
        ways = [partial(value.fill, 7), partial(value.__setitem__, slice(None), 7)]
    elif isinstance(value, (list, set, bytearray, Mapping)):
        calls = {
            **dict.fromkeys(("clear", "pop", "popitem", "reverse", "sort"), ()),
            **dict.fromkeys(("append", "add", "discard", "remove"), (None,)),
            **dict.fromkeys(("extend", "__iadd__"), ([None],)),
            "update": ({0: None},),
            "insert": (0, None),
            "__setitem__": (0, None),
            "__delitem__": (0,),
        }
        ways = [partial(getattr(value, name), *given) for name, given in calls.items() if hasattr(value, name)]
    for way in ways:
        with suppress(TypeError, ValueError, KeyError, IndexError):
            way()


def _set_all(value: Any) -> set[str]:
    """Try to set every public attribute of all objects that can be reached from one; return what kinds these are.

    Neither a copy to try things out with nor a generator is meant to stay as it is.
    """
    waiting, known, kinds = [value], dict[int, Any](), set[str]()
    while waiting:
        thing = waiting.pop()
        if id(thing) in known or isinstance(thing, (Free, np.random.Generator)):
            continue
        known[id(thing)] = thing  # also so that no other gets its id
        if isinstance(thing, Mapping):
            waiting += [*islice(thing, 9), *islice(thing.values(), 9)]
        elif isinstance(thing, (tuple, list, set, frozenset)):
            waiting += islice(thing, 9)
        if not type(thing).__module__.startswith("cluster_sim") or isinstance(thing, Enum):
            continue
        kinds.add(type(thing).__name__)
        for name in dir(thing):
            member = inspect.getattr_static(thing, name)
            if name.startswith("_") or callable(member) or isinstance(member, (classmethod, Guess)):
                continue
            for change in (partial(setattr, thing, name, None), partial(delattr, thing, name)):
                with suppress(*REFUSALS):
                    change()
                    raise AssertionError(f"{type(thing).__name__}.{name} is not read-only")
            before = _copied(getattr(thing, name))
            _spoil(getattr(thing, name))
            assert _same(_copied(getattr(thing, name)), before), f"{type(thing).__name__}.{name}"
            waiting.append(getattr(thing, name))
    return kinds


def _copied(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Mapping):
        return dict(value)
    return [_copied(one) for one in value] if isinstance(value, (list, tuple)) else value


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and (one == other or one != one or not isinstance(one, (int, float, str, dict)))


def test_no_policy_changes_a_run_by_what_it_is_shown() -> None:
    """Every member of a view and of its parts, of a machine that boots, with an advance reservation."""
    costs = PowerTransitions(switch_on_s=5.0, switch_off_s=2.0)
    node = NodeType("node", (ProcessorType("processor", 2, 1.0),), memory_gb=4.0, transitions=costs)
    platform = Platform((Cluster("c", (NodeGroup(node, 3),)),))
    rows = [(0.0, 2, 9.0), (0.0, 2, 20.0), (1.0, 2, 4.0), (2.0, 1, 30.0), (8.0, 2, 5.0), (90.0, 2, 9.0)]
    times, cores, seconds = (list(column) for column in zip(*rows, strict=True))
    workload = {"submit_time": times, "requested_cores": cores, "recorded_run_time": seconds, "requested_time": seconds}
    wishes = {"memory": [300.0] * len(rows), "reservation": ["", "", "", "", "r", ""]}
    window = AdvanceReservation("r", 0.0, 60.0, [2])
    vandals = list[Vandal]()

    def run(tries: bool) -> Result:
        scheduler, power = EasyBackfilling(), IdleTimeout(3.0)
        scheduler.clairvoyant = True  # type: ignore[misc]  # of this one
        if tries:
            vandals[:] = Vandal(scheduler, "schedule"), Vandal(power, "react")
        return Simulation(platform, Workload({**workload, **wishes}), scheduler, power, reservations=[window]).run()

    changed, plain = run(tries=True), run(tries=False)
    assert changed.jobs.equals(plain.jobs)
    assert changed.summary().equals(plain.summary())
    for vandal in vandals:
        assert vandal.members - vandal.shown == {"apply", "follow"}, "what the others take is to be told above"
        assert {
            "Running",
            "Placement",
            "Job",
            "NodeView",
            "ProcessorView",
            "CoreView",
            "ProcessorModels",
        } < vandal.kinds


def test_no_policy_changes_a_run_with_models_a_cap_and_accounts() -> None:
    """Objects that are there only if a run has a power cap, other models, accounts, guests, or suspended jobs."""
    kind = ProcessorType("p", 4, 1.0, power={"static_w": 9.0, "dynamic_w": 5.0}, contention={"bandwidth": 3000.0})
    platform = Platform((Cluster("c", (NodeGroup(NodeType("node", (kind,)), 2),)),), contention_model="roofline")
    rows = [(0.0, 8, 50.0, 0), (1.0, 2, 5.0, 5), (2.0, 2, 5.0, 0), (3.0, 4, 9.0, 9)]
    times, cores, seconds, priority = (list(column) for column in zip(*rows, strict=True))
    columns = {"submit_time": times, "requested_cores": cores, "recorded_run_time": seconds, "requested_time": seconds}
    columns |= {"priority": priority, "mem_vol": [60_000.0] * len(rows), "user": ["ann"] * len(rows)}

    def guest(sim: Simulation) -> Iterator[Event]:
        yield sim.env.timeout(70.0)
        with sim.node(1).request(2, expected_s=3.0) as held:
            yield held
            yield sim.env.timeout(3.0)

    def run(tries: bool) -> tuple[Result, set[str]]:
        scheduler, power = make_scheduler("preemptive:mode=suspend"), make_power_policy("power-cap:90")
        kinds = set[str]()
        vandals = [Vandal(scheduler, "schedule"), Vandal(power, "react")] if tries else []
        accounts = Accounts((ROOT, Association("a", parent="root"), Association("a", user="ann")))
        models = {"power_model": "stall-aware:stalled=0.5"}
        sim = Simulation(platform, Workload(columns), scheduler, power, accounts=accounts, processes=[guest], **models)
        result = sim.run()
        return result, kinds.union(*(vandal.kinds for vandal in vandals))

    (changed, kinds), (plain, _) = run(tries=True), run(tries=False)
    assert changed.jobs.equals(plain.jobs)
    assert changed.summary().equals(plain.summary())
    shown = {"RooflineContention", "StallAwarePower", "BudgetView", "Accounts", "Association", "Suspended", "Spared"}
    assert shown < kinds, shown - kinds
