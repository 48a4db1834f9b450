"""No stated reason contradicts what was free at that time: random runs, and one of many jobs. More: benchmarks/reasons.py."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cluster_sim import Platform, PowerTransitions, Result, Simulation, Workload, make_power_policy, make_scheduler
from cluster_sim.machine.reason import ReasonKind
from cluster_sim.platform import Cluster, NodeGroup, NodeType, ProcessorType
from cluster_sim.run.decisions import LimitPower, Start, WakeAt
from cluster_sim.run.policies import PowerPolicy, Scheduler
from cluster_sim.run.view import View
from cluster_sim.workload.advance_reservations import AdvanceReservation
from tests.support.contract.full import NotACase, full_case
from tests.support.contract.runs import Case
from tests.support.rows import workload_of
from tests.support.truth import Watched, _waits, check, checked, watched


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_every_reason_is_true(first: int) -> None:
    """Ten random runs, with guests, failures, reservations and power policies, watched from instant to instant."""
    counts: Counter[str] = Counter()
    for seed in range(first, first + 10):
        try:
            counts += checked(seed)
            counts += checked(seed, explain=False)
        except NotACase:
            continue
    assert counts["looks"] > 0


def test_reasons_without_a_log_are_those_with_one() -> None:
    """With several promises, too: nobody overtakes a job that a power cap keeps back, and only a log names who is delayed."""
    case = replace(full_case(900120, ("easy",)), scheduler="easy:depth=3")
    (plain, _), (logged, _) = watched(case, explain=False), watched(case, explain=True)
    kinds, different = Counter[ReasonKind](), []
    for job, since, until in _waits(plain, float(plain.power["time"].iloc[-1])):
        for stretch in plain.waits.stretches(job, since, until):
            for told in logged.waits.stretches(job, stretch.start, stretch.end):
                kinds[stretch.reason.kind] += 1
                is_unnamed = (stretch.reason.kind, told.reason.kind) == (ReasonKind.DELAYS, ReasonKind.DELAYS_PROMISED)
                if str(stretch.reason) != str(told.reason) and not is_unnamed:
                    different.append((job, stretch.start, stretch.because, told.because))
    assert kinds[ReasonKind.BEHIND] == 4
    assert different == []


@pytest.mark.parametrize("scheduler", ["easy", "easy:depth=3", "conservative", "fcfs"])
def test_reasons_of_a_long_queue(scheduler: str) -> None:
    """200 jobs of a model on 8 nodes: all reasons are true, and under backfilling some say which promise is protected."""
    workload = Workload.read("lublin:jobs=200,nodes=128,seed=1")
    platform = Platform.homogeneous(8, 16)
    simulation = Simulation(platform, workload, make_scheduler(scheduler), explain=True)
    seen = Watched()
    seen.watch(simulation)
    result = simulation.run()
    counts = check(Case(platform, {}, scheduler=scheduler), result, seen, explained=10)
    assert counts["short"] > 90
    assert counts["no reason"] == 0
    assert counts["behind" if scheduler == "fcfs" else "delays"] > 10


def test_a_promise_that_is_protected() -> None:
    """b needs both cores at 10; c, for one core until 13, would delay it from 1 on, which is known without a log, too."""
    told = "  from 1 s to 10 s: enough cores are free, but it would delay job b, which was promised a start at 10 s"
    for explain in (True, False):
        assert told in backfilled(explain).explain("c").splitlines()


def backfilled(explain: bool) -> Result:
    """Two cores under EASY: a holds one to 10, b waits for both, c for one."""
    workload = workload_of((0.0, 1, 10.0, 10.0), (0.0, 2, 5.0, 5.0), (1.0, 1, 12.0, 12.0), job_id=["a", "b", "c"])
    return Simulation(Platform.homogeneous(1, 2), workload, make_scheduler("easy"), explain=explain).run()


CAPPED_AT_16_W = "enough cores are free, but it would have the machine draw more than the power cap of 16 W"


def two_cores_of_5_w() -> Platform:
    """Make a node that draws 10 W, and 5 W more for each of its two cores that is busy."""
    kind = NodeType("n", (ProcessorType("p", 2, 1.0, power={"static_w": 10.0, "dynamic_w": 5.0, "min_power": 1.0}),))
    return Platform((Cluster("c", (NodeGroup(kind, 1),)),))


def test_a_power_cap_is_a_reason() -> None:
    """Under a cap of 16 W, the machine runs one job at a time."""
    workload = workload_of((0.0, 1, 10.0, 10.0), (0.0, 1, 10.0, 10.0))
    cap = make_power_policy("power-cap:16")
    for explain in (True, False):
        result = Simulation(two_cores_of_5_w(), workload, make_scheduler("fcfs"), cap, explain=explain).run()
        assert f"  from 0 s to 10 s: {CAPPED_AT_16_W}" in result.explain("1").splitlines()


class LiftedAt5(PowerPolicy):
    """Caps the machine at 16 W until 5 s."""

    def react(self, view: View) -> Iterator[LimitPower | WakeAt]:
        """Set the cap, and lift it."""
        if view.now < 5.0:
            yield LimitPower(16.0)
            yield WakeAt(5.0)
        elif view.now == 5.0:
            yield LimitPower(math.inf)


class IdleFrom5To10(Scheduler):
    """Starts what fits, but nothing between 5 s and 10 s."""

    def schedule(self, view: View) -> Iterator[Start]:
        """Start what fits."""
        for job in list(view.pending):
            if not 5.0 <= view.now < 10.0 and (placement := view.place(job)):
                yield Start(job, placement)


def test_a_cap_that_was_lifted_is_no_reason(tmp_path: Path) -> None:
    """Until 5 s the cap keeps job 1 from starting; from then on the scheduler does."""
    workload = workload_of((0.0, 1, 10.0, 10.0), (1.0, 1, 8.0, 8.0))
    result = Simulation(two_cores_of_5_w(), workload, IdleFrom5To10(), LiftedAt5()).run()
    result.save(str(tmp_path))
    for shown in (result, Result.load(str(tmp_path))):
        lines = shown.explain("1").splitlines()
        assert f"  from 1 s to 5 s: {CAPPED_AT_16_W}" in lines
        kept_back = "enough cores are free, but the scheduler kept it back (only a run with --explain knows why)"
        assert f"  from 5 s to 10 s: {kept_back}" in lines


@pytest.mark.parametrize("turn", ["reserve", "react"])
@pytest.mark.parametrize("explain", [True, False])
def test_a_lifted_cap_lets_a_job_start(turn: str, explain: bool) -> None:
    """A job starts as soon as the cap is lifted, at 5 s, and no line blames the cap after that."""
    workload = workload_of((0.0, 1, 10.0, 10.0), (1.0, 1, 8.0, 8.0))
    policy = LiftedAt5()
    if turn == "reserve":
        policy.reserve, policy.react = policy.react, lambda view: ()  # type: ignore[method-assign, assignment]
    result = Simulation(two_cores_of_5_w(), workload, make_scheduler("fcfs"), policy, explain=explain).run()
    lines = result.explain("1").splitlines()
    assert f"  from 1 s to 5 s: {CAPPED_AT_16_W}" in lines
    assert result.jobs["start_time"].tolist() == [0.0, 5.0]


@pytest.mark.parametrize("explain", [True, False])
def test_reservations_and_boots_are_reasons(explain: bool) -> None:
    """A job of 10 s would run into the maintenance at 5; another asks for a node that is still switching off."""
    workload = workload_of((0.0, 1, 9.0, 10.0))
    maintenance = AdvanceReservation("maintenance", 5.0, 8.0, "all")
    result = Simulation(
        Platform.homogeneous(1, 1), workload, make_scheduler("fcfs"), reservations=[maintenance], explain=explain
    ).run()
    closed = "it fits only on nodes that an advance reservation keeps from it now"
    assert f"  from 0 s to 8 s: {closed}" in result.explain("0").splitlines()
    off = PowerTransitions(off_w=1.0, switch_on_s=10.0, switch_off_s=60.0)
    late = workload_of((20.0, 1, 9.0, 10.0))
    platform = Platform.homogeneous(nodes=1, cores=1, transitions=off)
    sleepy = Simulation(platform, late, make_scheduler("fcfs"), make_power_policy("timeout:0"), explain=explain).run()
    lacking = "it asks for 1 core, 0 free (1 of 1 node is switching off)"
    assert f"  from 20 s to 60 s: {lacking}" in sleepy.explain("0").splitlines()


def test_tags_and_memory_are_reasons_of_a_saved_run(tmp_path: object) -> None:
    """What jobs asked for beside cores is saved with the run: the same words when it is loaded, log or no log."""
    workload = workload_of((0.0, 1, 9.0, 9.0), (0.0, 1, 9.0, 9.0), exclusive=[False, True])
    result = Simulation(Platform.homogeneous(1, 2), workload, make_scheduler("fcfs")).run()
    lacking = "it asks for 1 core on nodes where nothing else runs, 0 free"
    assert result.explain("1").splitlines()[2].startswith(f"  from 0 s to 9 s: {lacking}; job 0 holds 1 core")
    result.save(str(tmp_path))
    assert Result.load(str(tmp_path)).explain("1") == result.explain("1")
