"""Promises of the backfilling schedulers where nodes are off, boot, fail and are switched: they are kept, or the log says why."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Generator, Iterator
from itertools import pairwise
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.promises import Case, judge, main, random_case
from cluster_sim import AdvanceReservation, Platform, Result, Simulation, Workload, make_power_policy, make_scheduler
from cluster_sim.machine.reason import Loss
from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions, ProcessorType
from cluster_sim.run.decisions import Decision, Reserve, Start
from cluster_sim.run.view import View
from schedulers.policy.policy import Scheduler

Rows = list[tuple[float, int, float, float]]
"""(submission, cores, requested time, run time) of each job."""
Process = Callable[[Simulation], Generator[Any, Any, None]]

FAILED, LATE_JOB, LATE_NODE, SWITCHED_OFF, LATE_BOOT = (
    loss.value for loss in (Loss.FAILED, Loss.LATE_JOB, Loss.LATE_NODE, Loss.SWITCHED_OFF, Loss.LATE_BOOT)
)
EVERY = ["easy", "easy:reservation=pinned", "easy:depth=2", "conservative", "conservative:reservation=pinned"]


def switching(nodes: int, cores: int = 1, off: bool = False, **times: Any) -> Platform:
    """Equal nodes that take some time to boot, 60 s if nothing else is said, and to switch off."""
    costs = PowerTransitions(**({"switch_on_s": 60.0} | times))
    node = NodeType("node", (ProcessorType("processor", cores, 1.0),), transitions=costs, initially_off=off)
    return Platform((Cluster("c", (NodeGroup(node, nodes),)),))


def run(
    scheduler: str, rows: Rows, platform: Platform, power: str = "", beside: Process | None = None, **columns: Any
) -> Result:
    """Jobs named a, b, c, …, with a log of decisions; ``beside`` is a process of the user's own."""
    names = ("submit_time", "requested_cores", "requested_time", "recorded_run_time")
    table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    jobs = Workload({"job_id": [chr(97 + i) for i in range(len(rows))], **table, **columns})
    policy = make_power_policy(power) if power else None
    simulation = Simulation(platform, jobs, make_scheduler(scheduler), policy, explain=True)
    if beside is not None:
        simulation.env.process(beside(simulation))
    return simulation.run()


def starts(result: Result) -> list[float]:
    """When each job starts."""
    return [float(time) for time in result.jobs["start_time"]]


def promises(result: Result, job: str) -> list[tuple[float, float, str]]:
    """(when, for when, why if it is later) a job was promised a start."""
    log = result.decisions
    rows = log[(log["decision"] == "reserve") & (log["job_id"] == job)]
    return list(zip(rows["time"], rows["promised_time"], rows["because"], strict=True))


# ---------------------------------------------------------------------- boots


@pytest.mark.parametrize("cores", [1, 4])
@pytest.mark.parametrize("scheduler", EVERY)
def test_a_promise_counts_the_boot_of_its_own_nodes(scheduler: str, cores: int) -> None:
    """a runs until 160 on the only node that is on; b, which wants all three, has two booted then, and starts at 220.

    c would be on until 210 if it had one of them booted at 130: it has to wait until b is over.
    """
    rows: Rows = [(0, cores, 100, 100), (1, 3 * cores, 50, 50), (130, cores, 20, 20)]
    result = run(scheduler, rows, switching(3, cores, off=True))
    assert starts(result) == [60.0, 220.0, 270.0]
    assert promises(result, "b") == [(1.0, 220.0, "")]
    assert promises(result, "c")[-1][1:] == (270.0, "")


@pytest.mark.parametrize("scheduler", EVERY)
def test_a_job_behind_has_not_the_cores_of_a_node_that_boots(scheduler: str) -> None:
    """b waits for a, until 20, and has two cores to spare on the second node, which takes 12 s to boot.

    c may have it booted from 2 to 14, and not from 10 to 22: at 20 it would be in transition. Then both boot it together.
    """
    nodes = [
        NodeType(name, (ProcessorType("p", 4, 1.0),), transitions=PowerTransitions(switch_on_s=12.0), initially_off=off)
        for name, off in (("on", False), ("off", True))
    ]
    platform = Platform((Cluster("c", tuple(NodeGroup(node, 1) for node in nodes)),))
    for submitted, begin in ((2.0, [0.0, 20.0, 14.0]), (10.0, [0.0, 32.0, 32.0])):
        rows: Rows = [(0, 3, 20, 20), (1, 6, 5, 5), (submitted, 2, 100, 100)]
        result = run(scheduler, rows, platform)
        assert starts(result) == begin
        assert promises(result, "b")[0] == (1.0, 32.0, "")
        assert not any(because for _, _, because in promises(result, "b"))


@pytest.mark.parametrize("scheduler", EVERY)
def test_a_boot_that_is_late_is_the_cause(scheduler: str) -> None:
    """Each boot takes 60 s on average, or 20 or 100; what it makes late is said to be late for that."""
    platform = switching(2, off=True, switch_on_s=0.0, switch_on_distribution="uniform:20,100")
    rows: Rows = [(0, 1, 100, 100), (1, 2, 50, 50), (2, 2, 50, 50)]
    late = 0
    for seed in range(6):
        jobs = [(at + seed * 0.25, *rest) for at, *rest in rows]
        result = run(scheduler, jobs, platform)  # type: ignore[arg-type]
        for job, start in zip("bc", starts(result)[1:], strict=True):
            told = promises(result, job)
            assert start <= told[-1][1]
            for before, after in pairwise(told):
                if after[1] > before[1]:
                    late += 1
                    assert after[2] in (
                        LATE_BOOT,
                        LATE_JOB,
                        LATE_NODE,
                        f"{LATE_NODE} and {LATE_JOB}",
                    )
    assert late


# ---------------------------------------------------------------------- what puts a promise off


@pytest.mark.parametrize("scheduler", EVERY)
def test_a_job_that_lasts_longer_is_the_cause(scheduler: str) -> None:
    """a requests 10 s and takes 100. Whoever looks at 12 expects it a minute later; before b starts, the log says when."""
    rows: Rows = [(0, 2, 10, 100), (1, 2, 5, 5), (12, 1, 5, 5)]
    told = promises(run(scheduler, rows, switching(2)), "b")
    assert told[0] == (1.0, 10.0, "")
    assert told[1][1:] == (70.0, LATE_JOB)
    assert told[-1][1] >= 100.0
    assert told[-1][2] == LATE_JOB


@pytest.mark.parametrize("scheduler", EVERY)
def test_a_node_that_fails_or_is_switched_off_is_the_cause(scheduler: str) -> None:
    """b is promised both nodes at 10. One fails and is repaired, on again at 80; or is switched off, from 5 to 15, and boots."""
    rows: Rows = [(0, 1, 10, 10), (1, 2, 5, 5), (6, 2, 1, 1)]

    def fail(simulation: Simulation) -> Generator[Any, Any, None]:
        yield simulation.env.timeout(5.0)
        simulation.node(1).fail()
        yield simulation.env.timeout(15.0)
        simulation.node(1).repair()

    def switch_off(simulation: Simulation) -> Generator[Any, Any, None]:
        yield simulation.env.timeout(5.0)
        simulation.node(1).switch_off()

    result = run(scheduler, rows, switching(2), beside=fail)
    assert promises(result, "b") == [(1.0, 10.0, ""), (5.0, math.inf, FAILED)]
    assert starts(result)[1] == 80.0

    result = run(scheduler, rows, switching(2, switch_off_s=10.0), beside=switch_off)
    assert promises(result, "b") == [(1.0, 10.0, ""), (6.0, 75.0, SWITCHED_OFF)]
    assert starts(result)[1] == 75.0


@pytest.mark.parametrize("scheduler", ["conservative", "easy:depth=all", "easy"])
def test_a_node_that_fails_while_it_boots_for_a_job(scheduler: str) -> None:
    """The node is OFF at 115 and boots for a until it fails at 130; repaired at 180, it is on at 240, for b."""

    def fail(simulation: Simulation) -> Generator[Any, Any, None]:
        yield simulation.env.timeout(130.0)
        simulation.node(0).fail()
        yield simulation.env.timeout(50.0)
        simulation.node(0).repair()

    rows: Rows = [(100, 2, 10, 10), (101, 2, 10, 10)]
    result = run(scheduler, rows, switching(1, 2, switch_off_s=10.0), "timeout:5", fail)
    assert result.jobs["state"].tolist() == ["killed", "completed"]
    assert starts(result)[1] == 240.0


@pytest.mark.parametrize("scheduler", EVERY)
def test_a_promise_allows_for_a_node_that_is_off_when_it_is_repaired(scheduler: str) -> None:
    """Node 1 fails while it is OFF. It is repaired before a ends at 160: b has it booted and is on at 190, or it waits for a.

    EASY finds b's place anew in every pass; so it promises the boot, too.
    """

    def fail(simulation: Simulation) -> Generator[Any, Any, None]:
        yield simulation.env.timeout(5.0)
        simulation.node(1).fail()
        yield simulation.env.timeout(125.0)
        simulation.node(1).repair()

    result = run(scheduler, [(0, 1, 100, 100), (10, 1, 50, 50)], switching(2, off=True), beside=fail)
    waits_for_a = scheduler.startswith("conservative")
    assert promises(result, "b") == [(10.0, 160.0 if waits_for_a else 220.0, "")]
    assert starts(result) == [60.0, 160.0 if waits_for_a else 190.0]


@pytest.mark.parametrize("scheduler", ["conservative", "conservative:replan=yes", "easy"])
def test_a_job_that_is_killed_while_its_nodes_boot(scheduler: str) -> None:
    """a is killed at 20: its node boots on until 60, and b can have it then."""

    def kill(simulation: Simulation) -> Generator[Any, Any, None]:
        yield simulation.env.timeout(20.0)
        simulation.kill("a")

    result = run(scheduler, [(0, 2, 100, 100), (1, 2, 10, 10)], switching(1, 2, off=True), beside=kill)
    assert starts(result)[1] == 60.0


# ---------------------------------------------------------------------- corners


@pytest.mark.parametrize("scheduler", ["easy:memory=yes", "conservative:memory=yes", "easy:depth=2,memory=yes"])
@pytest.mark.parametrize("tasks", [48, 7, 3])
def test_memory_is_not_rounded(scheduler: str, tasks: int) -> None:
    """A job that takes all memory of a node in parts that are no whole MB fits, beside another on the other node."""
    platform = Platform.homogeneous(nodes=2, cores=48, memory_gb=64)
    rows: Rows = [(0, tasks, 10, 10), (1, 1, 5, 5), (2, tasks, 10, 10)]
    result = run(scheduler, rows, platform, memory=[65536 / tasks, 1.0, 65536 / tasks])
    assert starts(result) == [0.0, 1.0, 6.0]


@pytest.mark.parametrize("scheduler", ["easy:memory=yes", "conservative:memory=yes"])
def test_one_core_nodes_are_not_alike_where_memory_counts(scheduler: str) -> None:
    """Only the first node has memory for b: it is promised the end of a, and c may not have that node."""
    kinds = [NodeType(f"n{gb}", (ProcessorType("p", 1, 1.0),), memory_gb=gb) for gb in (4.0, 1.0)]
    platform = Platform((Cluster("c", tuple(NodeGroup(kind, 1) for kind in kinds)),))
    rows: Rows = [(0, 1, 10, 10), (1, 1, 5, 5), (2, 1, 20, 20)]
    result = run(scheduler, rows, platform, memory=[2000.0, 2000.0, 100.0])
    assert promises(result, "b") == [(1.0, 10.0, "")]
    assert starts(result) == [0.0, 10.0, 2.0]


@pytest.mark.parametrize(
    "scheduler", ["conservative", "conservative:order=smallest", "conservative:order=longest", "easy:depth=all"]
)
def test_of_jobs_without_a_time_none_waits_for_ever(scheduler: str) -> None:
    """b keeps room for itself while a runs, so c has no time either; when b has one, so has c, whatever the order."""
    rows: Rows = [(0, 1, math.inf, 20), (1, 2, 10, 10), (2, 1, math.inf, 3)]
    assert starts(run(scheduler, rows, Platform.homogeneous(nodes=1, cores=2))) == [0.0, 20.0, 30.0]


@pytest.mark.parametrize("scheduler", EVERY)
def test_a_request_shorter_than_the_clock_can_tell(scheduler: str) -> None:
    """At 1.7e9 s the clock has steps of 2.4e-7 s. Of a request of 1e-7 s nothing is left, but the job is there."""
    at = 1.7e9
    for lasts in (1e-7, 5.0):
        rows: Rows = [(at, 2, 1e-7, lasts), (at, 2, 1, 1), (at, 1, 1e-7, 1)]
        assert starts(run(scheduler, rows, Platform.homogeneous(nodes=2, cores=1)))[:2] == [at, at + lasts]


@pytest.mark.parametrize("scheduler", EVERY)
def test_a_request_of_no_time_is_put_off_again_and_again(scheduler: str) -> None:
    """a requests 0 s and lasts 500: at first it is planned with a minute, from 60 on with five more: c is over by then."""
    rows: Rows = [(0, 3, 0.0, 500), (1, 4, math.inf, 10), (61, 1, 290, 290)]
    result = run(scheduler, rows, Platform.homogeneous(nodes=1, cores=4))
    assert [promised for _, promised, _ in promises(result, "b")][:2] == [60.0, 360.0]
    assert starts(result) == [0.0, 500.0, 61.0]


def test_backfilling_in_random_order() -> None:
    """c, d and e would all fit beside a; which goes first is drawn, the same with the log and without, and not always c."""
    rows: Rows = [(0, 3, 40, 40), (1, 4, 5, 5), (2, 1, 15, 15), (2, 1, 15, 15), (2, 1, 15, 15)]
    table = list(zip(*rows, strict=True))
    jobs = Workload(
        dict(
            zip(
                ("submit_time", "requested_cores", "requested_time", "recorded_run_time"), map(list, table), strict=True
            )
        )
    )
    firsts = set()
    for seed in range(8):
        runs = [
            Simulation(
                Platform.homogeneous(nodes=4, cores=1),
                jobs,
                make_scheduler("easy:backfill=random"),
                seed=seed,
                explain=log,
            ).run()
            for log in (False, True)
        ]
        times = [starts(result) for result in runs]
        assert times[0] == times[1]
        assert sorted(times[0][2:])[:2] == [2.0, 17.0]
        firsts.add(times[0].index(2.0))
    assert len(firsts) > 1


# ---------------------------------------------------------------------- any run


def test_an_attempt_that_ends_as_it_begins_is_judged_by_what_was_told_of_it() -> None:
    """The job requests 0 s, which are enforced, on a node that boots for longer than the 3 s that it takes on average."""
    platform = switching(1, off=True, switch_on_s=0.0, switch_on_distribution="uniform:1,5")
    jobs = {
        "job_id": ["0"],
        "submit_time": [0.0],
        "requested_cores": [1],
        "requested_time": [0.0],
        "recorded_run_time": [1.0],
    }
    window = AdvanceReservation("r", 0.0, 5.0, range(1))
    case = Case(platform, jobs, "easy", reservations=(window,), options={"enforce_walltime": True})
    simulation = case.run()
    promised, late = promises(simulation.result(), "0")
    assert promised[1:] == (8.0, "")
    assert late[0] == late[1] > 8.0
    assert late[2] == LATE_BOOT
    verdict = judge(case, simulation)
    assert verdict.broken == []
    assert verdict.causes == {Loss.LATE_BOOT: 1}


class StartsLate(Scheduler):
    """Promises each job a start at 1 s, and starts none before 2 s."""

    def schedule(self, view: View) -> Iterator[Decision]:
        """Promise once, in the beginning; start later."""
        for job in view.pending:
            if view.now == 0.0:
                yield Reserve(job, 1.0)
            elif view.now >= 2.0 and (placement := view.place(job)):
                yield Start(job, placement)


@pytest.mark.parametrize(("killed", "broken"), [(1.0, []), (1.5, ["job 0 was promised 1 and started at 2.5"])])
def test_a_promise_ends_when_its_job_is_killed_in_the_queue(
    killed: float, broken: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job comes back at 2.5 s and starts at once: that breaks a promise only if it was due before the job was killed."""
    monkeypatch.setattr("benchmarks.promises.make_scheduler", lambda spec: StartsLate())
    columns = {"requested_cores": [1, 1], "requested_time": [1.0, 1.0], "recorded_run_time": [1.0, 1.0]}
    jobs = {"job_id": ["0", "1"], "submit_time": [0.0, 9.0], **columns}
    case = Case(switching(1), jobs, "late", disturbances=((killed, "kill", 0), (2.5, "requeue", 0)))
    simulation = case.run()
    assert starts(simulation.result()) == [2.5, 9.0]
    assert judge(case, simulation).broken == broken


@given(rng=st.randoms(use_true_random=False))
def test_any_promise_is_kept_or_put_off_for_a_cause(rng: random.Random) -> None:
    """Any platform, workload, power policy and disturbance: what ``python -m benchmarks.promises`` looks at, and more."""
    case = random_case(rng)
    assert judge(case, case.run()).broken == []


def test_the_long_form() -> None:
    """It counts what it has seen, and says which causes there were."""
    result = CliRunner().invoke(main, ["--runs", "25", "--seed", "100"])
    assert result.exit_code == 0, result.output
    assert "25 runs" in result.output
    assert " 0 broken" in result.output


def test_a_job_that_has_given_up_a_core_is_counted_with_those_that_it_still_has() -> None:
    """Job a goes on with one of its two cores from 1 s to 5 s; of d's two the second is b's, free at 6 s."""
    rows = [(0.0, 2, 3.0, 3.0), (0.0, 1, 6.0, 6.0), (0.0, 1, 10.0, 10.0), (0.0, 2, 5.0, 5.0)]
    shapes = {"parts": ["1 2@1", "", "", ""], "malleable": [True, False, False, False], "min_cores": [1, 1, 1, 2]}
    result = run("easy:depth=2", rows, Platform.homogeneous(nodes=3, cores=1), **shapes)
    assert starts(result) == [0.0, 0.0, 1.0, 6.0]
    assert {time for _, time, _ in promises(result, "d")} == {6.0}
