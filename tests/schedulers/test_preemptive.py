"""Preemptive priorities: who takes whose cores, worked out by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from simpy.events import Event

from cluster_sim import AdvanceReservation, Platform, Result, Simulation, Workload
from cluster_sim.errors import ModelWarning, SpecError
from schedulers import make_scheduler
from tests.support.rows import workload_of

Row = tuple[float, int, float, float]
"""Submission (s), cores, run time (s), priority."""


def run(spec: str, rows: list[Row], platform: Platform | None = None, **columns: Any) -> Result:
    """Four nodes of one core, unless there is a platform."""
    names = ("submit_time", "requested_cores", "recorded_run_time", "priority")
    table: dict[str, Any] = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    table["requested_time"] = table["recorded_run_time"]
    reservations = columns.pop("reservations", ())
    power = columns.pop("power", None)
    return Simulation(
        platform or Platform.homogeneous(4, 1),
        Workload(table | columns),
        make_scheduler(spec),
        power,
        explain=True,
        reservations=reservations,
    ).run()


def spans(result: Result) -> dict[str, list[tuple[float, float]]]:
    """Per job from when to when (s) it held cores."""
    found: dict[str, set[tuple[float, float]]] = {}
    for row in result.holds.itertuples():
        found.setdefault(row.owner, set()).add((row.start, row.end))
    return {job: sorted(times) for job, times in found.items()}


def test_queues_most_urgent_first() -> None:
    """Queue 3 before 1 before any other: at 1 the job of queue 1 takes the node of queue 7, at 2 that of queue 3 takes it."""
    rows = [(0.0, 1, 10.0, 0.0), (1.0, 1, 10.0, 0.0), (2.0, 1, 10.0, 0.0)]
    platform = Platform.homogeneous(1, 1)
    result = run("preemptive:suspend,queues=3/1", rows, platform, queue=[7, 1, 3])
    assert spans(result) == {"0": [(0, 1), (21, 30)], "1": [(1, 2), (12, 21)], "2": [(2, 12)]}


def test_a_queue_without_jobs_is_told() -> None:
    """A slip in ``queues`` leaves all jobs equally urgent."""
    rows = [(0.0, 1, 10.0, 0.0), (1.0, 1, 10.0, 0.0)]
    expected = "option queues: no job is in queue 3, 9; the queues of the jobs are 1, 7"
    with pytest.warns(ModelWarning, match=expected) as caught:
        run("preemptive:queues=3/1/9", rows, Platform.homogeneous(1, 1), queue=[7, 1])
    assert [one.filename for one in caught] == [__file__]  # the line that runs it


@pytest.mark.filterwarnings("error", "ignore::cluster_sim.errors.CautionWarning")
def test_queues_of_jobs_that_come_later_are_no_slips() -> None:
    """Jobs that are submitted before the run, or by a process that holds it open, are not known when it is made."""
    jobs = {"submit_time": [0.0], "requested_cores": [1], "recorded_run_time": [10.0], "queue": [1]}
    late = {"requested_cores": 1, "recorded_run_time": 5.0, "queue": 3}

    def simulation() -> Simulation:
        return Simulation(Platform.homogeneous(1, 1), Workload(jobs), make_scheduler("preemptive:queues=3/1"))

    before, meanwhile = simulation(), simulation()
    before.submit(late, at=2.0)

    def submits() -> Iterator[Event]:
        meanwhile.hold_open()
        yield meanwhile.env.timeout(2.0)
        meanwhile.submit(late)
        meanwhile.release()

    meanwhile.env.process(submits())
    assert [len(each.run().jobs) for each in (before, meanwhile)] == [2, 2]


def test_no_more_jobs_leave_than_needed() -> None:
    """3 needs a whole node. 2 started last, but beside the urgent 0: that 1 leaves its node is enough, and 2 stays."""
    rows = [(0.0, 1, 10.0, 5.0), (0.0, 2, 10.0, 0.0), (1.0, 1, 10.0, 0.0), (2.0, 2, 4.0, 1.0)]
    result = run("preemptive", rows, Platform.homogeneous(2, 2))
    assert spans(result) == {"0": [(0, 10)], "1": [(0, 2), (6, 16)], "2": [(1, 11)], "3": [(2, 6)]}


def test_nobody_leaves_where_all_would_not_be_enough() -> None:
    """1 needs four nodes, of which an equally urgent job has one: it waits, and 2, less urgent, may not pass it."""
    rows = [(0.0, 1, 10.0, 1.0), (0.0, 2, 10.0, 0.0), (1.0, 4, 2.0, 1.0), (2.0, 1, 1.0, 0.0)]
    result = run("preemptive", rows)
    assert result.summary()["jobs_preempted"] == 0
    assert spans(result) == {"0": [(0, 10)], "1": [(0, 10)], "2": [(10, 12)], "3": [(12, 13)]}


def test_a_job_that_has_its_node_for_itself_leaves_all_of_it() -> None:
    """0 has one core and keeps three others from all: 1, which wants four, takes its node at 5."""
    rows = [(0.0, 1, 100.0, 0.0), (5.0, 4, 10.0, 9.0)]
    result = run("preemptive", rows, Platform.homogeneous(1, 4), exclusive=[True, False])
    assert result.jobs["start_time"].tolist() == [0.0, 5.0]


def stopped(**what: Any) -> Result:
    """0 has the machine from 0 to 50 s, is suspended for 1, and stopped while it is: by hand, or with its window."""
    platform, columns = Platform.homogeneous(4, 1), {}
    if "reservations" in what:
        columns["reservation"] = ["c", "c"]
    table = {
        "job_id": ["0", "1"], "submit_time": [0.0, 50.0], "requested_cores": [4, 4], "recorded_run_time": [100.0, 60.0],
        "requested_time": [120.0, 60.0], "priority": [0.0, 5.0], **columns,
    }  # fmt: skip
    simulation = Simulation(platform, Workload(table), make_scheduler("preemptive:suspend"), explain=True, **what)
    if not columns:
        simulation.env.at(60.0).callbacks.append(lambda event: simulation.kill("0", "by hand"))
    return simulation.run()


@pytest.mark.parametrize(
    ("what", "finish"), [({}, 60.0), ({"reservations": [AdvanceReservation("c", 0.0, 130.0, [0, 1, 2, 3])]}, 130.0)]
)
def test_a_job_that_is_stopped_while_it_is_suspended_has_waited_since(what: dict[str, Any], finish: float) -> None:
    """It ran for 50 s. It lost its cores to the scheduler once, and never joined the queue again."""
    result = stopped(**what)
    job = result.jobs.iloc[0]
    assert (job["state"], job["finish_time"]) == ("killed", finish)
    assert (job["run_time"], job["wait_time"], job["slowdown"]) == (50.0, finish - 50.0, finish / 50.0)
    summary = result.summary()
    assert (summary["jobs_requeued"], summary["jobs_preempted"]) == (0, 1)
    assert f"from 0 s to 50 s.\nIt was suspended from 50 s to {finish:g} s" in result.explain("0")


def test_a_job_that_is_killed_after_it_was_requeued_has_waited_since() -> None:
    """0 ran for 5 s, joined the queue again, and was killed there at 8."""
    table = workload_of((0.0, 4, 100.0), (5.0, 4, 10.0), priority=[0.0, 9.0])
    simulation = Simulation(Platform.homogeneous(4, 1), table, make_scheduler("preemptive"))
    simulation.env.at(8.0).callbacks.append(lambda event: simulation.kill("0", "by hand"))
    result = simulation.run()
    assert result.jobs[["run_time", "wait_time"]].iloc[0].tolist() == [5.0, 3.0]
    assert result.summary()["jobs_requeued"] == 1


@pytest.mark.parametrize("mode", ["suspend", "requeue"])
def test_a_job_that_leaves_after_its_grace_is_said_to_leave_for_whom(mode: str) -> None:
    """Told at 5, it leaves at 7."""
    rows = [(0.0, 4, 100.0, 0.0), (5.0, 4, 10.0, 9.0)]
    told = run(f"preemptive:{mode},grace=2", rows).explain("0")
    left = "suspended from 7 s to 17 s (10 s)" if mode == "suspend" else "from 0 s to 7 s and was stopped"
    assert f"{left} for job 1: a more urgent job needs its cores" in told


def test_jobs_leave_when_their_grace_is_over_or_before() -> None:
    """At 1 two jobs are told to leave until 4; one ends at 3; the other is requeued; the third keeps its nodes."""
    rows = [(0.0, 2, 10.0, 0.0), (0.0, 1, 3.0, 0.0), (0.0, 1, 9.0, 0.0), (1.0, 2, 5.0, 1.0)]
    result = run("preemptive:grace=3", rows)
    assert spans(result) == {"0": [(0, 10)], "1": [(0, 3)], "2": [(0, 4), (9, 18)], "3": [(4, 9)]}
    waiting = result.decisions[result.decisions["decision"] == "block"].iloc[0]
    assert waiting[["time", "job_id"]].tolist() == [1.0, "3"]
    assert "told to leave" in waiting["because"]


def test_who_waits_for_those_that_leave_takes_no_others() -> None:
    """2 has 1 leave until 4; at 2 the more urgent 3 needs two nodes: it gets that one, and has 0 leave until 5.

    At 10 comes 2, on node 0, for which 0 then waits, and 1 behind it.
    """
    rows = [(0.0, 1, 20.0, 0.0), (0.0, 1, 20.0, 0.0), (1.0, 1, 5.0, 1.0), (2.0, 2, 5.0, 2.0)]
    result = run("preemptive:suspend,grace=3", rows, Platform.homogeneous(2, 1))
    taken = result.decisions[result.decisions["decision"] == "preempt"]
    assert taken[["time", "job_id", "behind"]].to_numpy().tolist() == [[1.0, "1", "2"], [2.0, "0", "3"]]
    assert spans(result) == {"0": [(0, 5), (15, 30)], "1": [(0, 4), (15, 31)], "2": [(10, 15)], "3": [(5, 10)]}


def test_a_job_that_has_to_leave_and_ends_in_that_instant_has_ended() -> None:
    """Its grace is over at 4, and so is its work."""
    result = run("preemptive:cancel,grace=3", [(0.0, 4, 4.0, 0.0), (1.0, 1, 1.0, 1.0)])
    assert result.attempts["outcome"].tolist() == ["completed", "completed"]


def test_a_suspended_job_takes_its_own_cores_back() -> None:
    """1 leaves node 1 for 2 at 2, and has it again at 5, before 3, which came meanwhile and is less urgent."""
    rows = [(0.0, 1, 20.0, 3.0), (0.0, 1, 10.0, 1.0), (2.0, 1, 3.0, 2.0), (3.0, 1, 9.0, 0.0)]
    result = run("preemptive:suspend", rows, Platform.homogeneous(2, 1))
    assert spans(result) == {"0": [(0, 20)], "1": [(0, 2), (5, 13)], "2": [(2, 5)], "3": [(13, 22)]}


def test_cancelled_jobs_are_over() -> None:
    """The less urgent job is killed, for the reason that stands in its record and in what explains it."""
    result = run("preemptive:cancel", [(0.0, 3, 10.0, 0.0), (1.0, 2, 5.0, 1.0)])
    assert result.jobs[["state", "reason"]].iloc[0].tolist() == ["killed", "a more urgent job needs its cores"]
    assert result.attempts["outcome"].tolist() == ["cancelled", "completed"]
    assert "a more urgent job needs its cores" in result.explain("0")


def test_sleeping_nodes_and_reservations() -> None:
    """A job is suspended on a node that then goes OFF, which is booted when it goes on; one that no node may have takes none."""
    from cluster_sim.platform import Cluster, NodeGroup, NodeType, PowerTransitions, ProcessorType
    from schedulers import make_power_policy

    kind = NodeType("n", (ProcessorType("p", 2, 1.0),), None, PowerTransitions(0.0, 1.0, None, 1.0))
    platform = Platform((Cluster("c", (NodeGroup(kind, 1),)),))
    rows = [(0.0, 2, 10.0, 0.0), (1.0, 1, 5.0, 1.0)]
    result = run("preemptive:suspend", rows, platform, power=make_power_policy("timeout:0"))
    assert spans(result) == {"0": [(0, 1), (6, 15)], "1": [(1, 6)]}
    window = AdvanceReservation("maintenance", 4.0, 30.0, [0])
    result = run(
        "preemptive", [(0.0, 1, 4.0, 0.0), (1.0, 1, 5.0, 1.0)], Platform.homogeneous(1, 1), reservations=[window]
    )
    assert spans(result) == {"0": [(0, 4)], "1": [(30, 35)]}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("preemptive:kill", "requeue, suspend or cancel, found"),
        ("preemptive:mode=timeout", "requeue, suspend or cancel, found"),
        ("preemptive:grace=-1", "seconds, 0 or more"),
        ("preemptive:queues=1/x", "numbers of queues"),
        ("preemptive:queues=1/1", "numbers of queues"),
    ],
)
def test_options_that_mean_nothing(spec: str, expected: str) -> None:
    """One line says what was expected."""
    with pytest.raises(SpecError, match=expected):
        make_scheduler(spec)


def test_jobs_that_name_no_queue_are_told_as_such() -> None:
    """Not by the number that stands for none."""
    with pytest.warns(ModelWarning, match="no job is in queue 3, 1; the jobs name no queue"):
        run("preemptive:queues=3/1", [(0.0, 1, 10.0, 0.0)], Platform.homogeneous(1, 1))
