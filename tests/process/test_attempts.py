"""Jobs that are run again, and jobs that a process submits: stories worked out by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from cluster_sim import Platform, Result, Simulation, Start, View, Workload
from cluster_sim.errors import FormatError, InputError, SimulationError
from cluster_sim.machine.reason import Reason, ReasonKind, sentence
from cluster_sim.platform.accounts import Accounts, Association
from cluster_sim.run.decisions import Decision, Hold
from cluster_sim.workload.advance_reservations import AdvanceReservation
from schedulers import EasyBackfilling, Scheduler, make_scheduler
from tests.support.rows import workload_of


def simulation(rows: list[tuple[float, int, float]], cores: int = 2, scheduler: Scheduler | None = None) -> Simulation:
    """One node; jobs as (submission, cores, run time)."""
    workload = workload_of(*rows, requested_time=[1000.0] * len(rows))
    return Simulation(Platform.homogeneous(1, cores), workload, scheduler or make_scheduler("fcfs"))


def at(sim: Simulation, time: float, act: Any) -> None:
    """Have a process do something at a time."""

    def process() -> Generator[Any, Any, None]:
        yield sim.env.timeout(time)
        act()

    sim.env.process(process())


def attempts(result: Result) -> list[tuple[object, ...]]:
    """(job, attempt, queued, start, end, outcome, done, lost) of each attempt."""
    columns = ["job_id", "attempt", "queue_time", "start_time", "end_time", "outcome", "work_done", "lost_core_s"]
    return [tuple(row) for row in result.attempts[columns].itertuples(index=False)]


def test_a_job_that_is_requeued_waits_in_its_old_place_and_begins_anew() -> None:
    """a is stopped at 4 of 10 s; b, submitted before c, is behind it again: a 4-14, b 14-16, c 16-17; 4 s on 2 cores lost."""
    sim = simulation([(0.0, 2, 10.0), (1.0, 2, 2.0), (2.0, 2, 1.0)])
    at(sim, 4.0, lambda: sim.requeue("0", "as a test"))
    result = sim.run()
    assert attempts(result) == [
        ("0", 1, 0.0, 0.0, 4.0, "requeued", 0.4, 8.0),
        ("0", 2, 4.0, 4.0, 14.0, "completed", 1.0, 0.0),
        ("1", 1, 1.0, 14.0, 16.0, "completed", 1.0, 0.0),
        ("2", 1, 2.0, 16.0, 17.0, "completed", 1.0, 0.0),
    ]
    first = result.jobs.iloc[0]
    assert first[["start_time", "finish_time", "run_time", "wait_time", "turnaround_time"]].tolist() == [
        0,
        14,
        14,
        0,
        14,
    ]
    assert first["slowdown"] == 1.4  # of the 10 s of its last attempt
    summary = result.summary()
    assert (summary["jobs_requeued"], summary["lost_core_s"], summary["jobs_completed"]) == (1, 8.0, 3)
    assert summary["utilisation"] == 1.0


def test_time_between_two_attempts_is_wait() -> None:
    """a runs 0-3, is stopped while a wider job of higher rank starts, and runs again 8-18: of 18 s it ran 13."""
    sim = simulation(
        [(0.0, 1, 10.0), (1.0, 2, 5.0)], scheduler=EasyBackfilling(order=lambda job, now: -job.requested_cores)
    )
    at(sim, 3.0, lambda: sim.requeue("0"))
    result = sim.run()
    assert result.jobs["wait_time"].tolist() == [5.0, 2.0]
    assert result.jobs["run_time"].tolist() == [13.0, 5.0]
    queue = result.queue.set_index("time")["pending"].to_dict()
    assert queue == {0.0: 0, 1.0: 1, 3.0: 1, 8.0: 0}


def test_a_job_that_failed_can_be_run_again_in_the_same_instant() -> None:
    """The node breaks at 4 and is repaired at 6; a process that hears of it has the job wait again: 6-16."""
    sim = simulation([(0.0, 2, 10.0)])

    def breakdown() -> Generator[Any, Any, None]:
        yield sim.env.timeout(4.0)
        sim.node(0).fail()
        yield sim.env.timeout(2.0)
        yield sim.node(0).repair()

    def resubmit() -> Generator[Any, Any, None]:
        for job in (yield sim.on("job_killed")):
            sim.requeue(job)

    sim.env.process(breakdown())
    sim.env.process(resubmit())
    result = sim.run()
    assert [row[4:6] for row in attempts(result)] == [(4.0, "failed"), (16.0, "completed")]
    assert result.attempts["reason"].tolist() == ["cluster0.node0 failed", ""]
    assert result.jobs[["state", "reason", "finish_time"]].iloc[0].tolist() == ["completed", "", 16.0]
    states = result.node_states[["state", "start", "end"]].to_numpy().tolist()
    assert states == [["COMPUTING", 0.0, 4.0], ["FAILED", 4.0, 6.0], ["COMPUTING", 6.0, 16.0]]


def test_a_process_submits_jobs() -> None:
    """Now and for later, before the run and in it: all run, the last after everything of the workload is over."""
    sim = simulation([(0.0, 2, 3.0)])
    early = sim.submit({"requested_cores": 1, "recorded_run_time": 2.0, "job_id": "early"}, at=1.0)
    at(sim, 2.0, lambda: sim.submit({"requested_cores": 2, "recorded_run_time": 1.0}, at=20.0))
    result = sim.run()
    assert early.job_id == "early"
    assert result.jobs["job_id"].tolist() == ["0", "early", "2"]
    assert result.jobs["start_time"].tolist() == [0.0, 3.0, 20.0]
    assert result.jobs["finish_time"].tolist() == [3.0, 5.0, 21.0]
    assert len(sim.workload) == 1, "the workload is somebody else's, and stays as it was"


def test_many_submissions_find_room() -> None:
    """A chain of forty jobs, each submitted when the one before is over."""
    sim = simulation([(0.0, 2, 1.0)])

    def user() -> Generator[Any, Any, None]:
        for _ in range(40):
            yield sim.on("job_completed")
            sim.submit({"requested_cores": 2, "recorded_run_time": 1.0})

    sim.env.process(user())
    result = sim.run()
    assert result.jobs["start_time"].tolist() == [float(i) for i in range(41)]


def test_a_submitted_job_may_ask_for_what_no_other_did() -> None:
    """Memory, a whole node, a certain number of nodes: schedulers that only counted cores take note."""
    platform = Platform.homogeneous(2, 4, memory_gb=1)
    workload = Workload({"submit_time": [0.0] * 2, "requested_cores": [1, 1], "recorded_run_time": [9.0, 5.0]})
    sim = Simulation(platform, workload, make_scheduler("easy:memory=yes"))
    wishes: list[dict[str, Any]] = [{"exclusive": True}, {"nodes": 2, "requested_cores": 2}, {"memory": 1000.0}]
    for fields in wishes:
        sim.submit({"requested_cores": 1, "recorded_run_time": 2.0, "requested_time": 3.0, **fields}, at=1.0)
    result = sim.run()
    assert (result.jobs["state"] == "completed").all()
    held = result.allocations.groupby("job_id")["node"].nunique()
    assert held["3"] == 2
    assert result.jobs["start_time"].iloc[2] == 1.0  # on node 1, by itself
    too_large = Simulation(platform, workload, make_scheduler("easy:memory=yes"))
    too_large.submit({"requested_cores": 1, "recorded_run_time": 1.0, "memory": 5000.0})
    assert too_large.run().jobs["state"].tolist() == ["completed", "completed", "rejected"]


def test_a_run_can_be_held_open() -> None:
    """With the last job over at 3 the run goes on until the process that holds it open lets it end, at 10."""
    sim = simulation([(0.0, 1, 3.0)])
    sim.hold_open()

    def later() -> Generator[Any, Any, None]:
        yield sim.env.timeout(9.0)
        sim.submit({"requested_cores": 1, "recorded_run_time": 1.0})
        sim.release()

    sim.env.process(later())
    assert sim.run().jobs["finish_time"].tolist() == [3.0, 10.0]
    with pytest.raises(SimulationError, match="nobody holds"):
        sim.release()


@pytest.mark.parametrize(
    ("fields", "at", "expected"),
    [
        ({"requested_cores": 0, "recorded_run_time": 1.0}, None, "requested_cores"),
        ({"requested_cores": 1}, None, "operations or recorded_run_time"),
        ({"requested_cores": 1, "recorded_run_time": 1.0, "cores": 3}, None, "cores"),
        ({"requested_cores": 1, "recorded_run_time": 1.0, "job_id": "0"}, None, "an id that no other job"),
        ({"requested_cores": 1, "recorded_run_time": 1.0, "after": "0"}, None, "no other jobs to wait for"),
        ({"requested_cores": 1, "recorded_run_time": 1.0}, -1.0, "a time from now on"),
        ({"requested_cores": 1, "recorded_run_time": 1.0}, float("inf"), "a time from now on"),
    ],
)
def test_what_cannot_be_submitted(fields: dict[str, Any], at: float | None, expected: str) -> None:
    """One line names the field, and nothing has changed."""
    sim = simulation([(0.0, 1, 3.0)])
    with pytest.raises((FormatError, InputError), match=expected):
        sim.submit(fields, at)
    assert len(sim.run().jobs) == 1


def test_what_cannot_be_requeued() -> None:
    """A job that has completed, and one that nobody knows; one that waits is left alone."""
    sim = simulation([(0.0, 2, 3.0), (0.0, 2, 3.0)])
    at(sim, 1.0, lambda: sim.requeue("1"))
    result = sim.run()
    assert len(result.attempts) == 2
    with pytest.raises(InputError, match="completed job 0"):
        sim.requeue("0")
    with pytest.raises(InputError, match="the id of a job"):
        sim.requeue("7")


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_results_with_several_attempts_are_saved_and_loaded(tmp_path: Path, file_format: Any) -> None:
    """All tables come back as they were, holds and attempts among them."""
    sim = simulation(
        [(0.0, 1, 10.0), (1.0, 2, 5.0)], scheduler=EasyBackfilling(order=lambda job, now: -job.requested_cores)
    )
    at(sim, 3.0, lambda: sim.requeue("0"))
    result = sim.run()
    result.save(tmp_path, file_format)
    loaded = Result.load(tmp_path)
    for name in ("jobs", "attempts", "holds", "allocations", "queue"):
        assert getattr(loaded, name).equals(getattr(result, name)), name


def test_a_breakdown_stops_attempts_not_jobs_that_wait() -> None:
    """The node breaks at 4, and in the same breath the job that ran there is requeued: it waits, and runs again from 6."""
    sim = simulation([(0.0, 2, 10.0)])

    def breakdown() -> Generator[Any, Any, None]:
        yield sim.env.timeout(4.0)
        sim.node(0).fail()
        sim.requeue("0")
        yield sim.env.timeout(2.0)
        yield sim.node(0).repair()

    sim.env.process(breakdown())
    result = sim.run()
    assert [row[4:6] for row in attempts(result)] == [(4.0, "requeued"), (16.0, "completed")]
    assert result.jobs["state"].tolist() == ["completed"]


@pytest.mark.parametrize("scheduler", ["fcfs", "sjf", "list:first/first,blocking=no", "pcbe", "easy", "conservative"])
@pytest.mark.parametrize("pause", [0.0, 1.0])
def test_a_job_that_is_killed_in_the_queue_can_wait_again(scheduler: str, pause: float) -> None:
    """Behind another, in the instant of the kill or later: it runs once, after the one that runs to 10 and the head, to 15."""
    sim = simulation([(0.0, 2, 10.0), (1.0, 2, 5.0), (2.0, 2, 5.0)], scheduler=make_scheduler(scheduler))

    def wavers() -> Generator[Any, Any, None]:
        yield sim.env.timeout(2.0)
        for _ in range(2):
            sim.kill("2")
            yield sim.env.timeout(0.0)
            yield sim.env.timeout(pause)
            sim.requeue("2")
            yield sim.env.timeout(pause)

    sim.env.process(wavers())
    result = sim.run()
    assert [row[3:6] for row in attempts(result)] == [
        (0.0, 10.0, "completed"),
        (10.0, 15.0, "completed"),
        (15.0, 20.0, "completed"),
    ]


@pytest.mark.parametrize("saved", [False, True])
def test_a_job_that_is_killed_in_the_queue_waits_until_then_and_from_when_it_joins_it_again(
    saved: bool, tmp_path: Path
) -> None:
    """b waits for a from 0 to 5 s, and from 20 s on to 30; c waits from 6 s on, behind nobody until b is back."""
    sim = simulation([(0.0, 2, 30.0), (0.0, 2, 10.0), (6.0, 2, 1.0)])
    at(sim, 5.0, lambda: sim.kill("1"))
    at(sim, 20.0, lambda: sim.requeue("1"))
    result = sim.run()
    if saved:
        result.save(tmp_path)
        result = Result.load(tmp_path)
    assert result.queue[["time", "pending"]].values.tolist() == [[0, 1], [5, 0], [6, 1], [20, 2], [30, 1], [40, 0]]
    assert result.summary()["mean_queue_length"] == pytest.approx((5 + 14 + 2 * 10 + 10) / 41)
    told = result.explain("1").splitlines()
    assert told[1] == "It waited in the queue for 15 s."
    assert "  from 5 s to 20 s: it had been killed, and was not in the queue" in told
    first, second = (line for line in result.explain("2").splitlines() if line.startswith("  from"))
    assert first.endswith("but at times 1 job submitted before it waits, too")
    assert "submitted before" not in second


def held_by_its_account(
    until: float | None = None, saved: Path | None = None, again: Sequence[tuple[float, float]] = ()
) -> Result:
    """a's first job is killed in the queue at 5 s and back at 20 s, when a's other one holds it, to 70 s.

    ``again``: when it is killed again and comes back, s.
    """
    users = [Association("acc", "a", max_jobs=1), Association("acc", "b")]
    accounts = Accounts((Association("root", shares=0), Association("acc", parent="root"), *users))
    jobs = workload_of(
        (0.0, 1, 30.0, 1000.0),
        (1.0, 2, 10.0, 1000.0),
        (2.0, 1, 65.0, 1000.0),
        user=["b", "a", "a"],
        account=["acc"] * 3,
    )
    sim = Simulation(Platform.homogeneous(1, 2), jobs, make_scheduler("fcfs"), accounts=accounts)
    at(sim, 5.0, lambda: sim.kill("1"))
    at(sim, 20.0, lambda: sim.requeue("1"))
    for kill, back in again:
        at(sim, kill, lambda: sim.kill("1"))
        at(sim, back, lambda: sim.requeue("1"))
    result = sim.run(until=until)
    if saved is None:
        return result
    result.save(saved)
    return Result.load(saved)


def test_a_job_that_its_account_holds_when_it_comes_back_is_in_the_queue_before_and_after() -> None:
    """It waits from 1 to 5 s, and at 70 s, when its account lets it in, it starts."""
    result = held_by_its_account()
    assert result.queue[["time", "pending"]].values.tolist() == [[0, 0], [1, 1], [5, 0], [70, 0]]
    assert result.summary()["mean_queue_length"] == pytest.approx(4 / 80)
    assert result.jobs["eligible_time"].tolist() == [0, 1, 5]
    told = result.explain("1")
    assert "It waited in the queue for 4 s." in told
    assert "  from 5 s to 20 s: it had been killed, and was not in the queue" in told
    assert "  from 20 s to 70 s: it had come back, and was not yet in the queue: other jobs had to be over" in told


@pytest.mark.parametrize("saved", [False, True])
def test_a_job_that_is_killed_again_while_it_is_held_is_told_with_every_return(saved: bool, tmp_path: Path) -> None:
    """Killed at 5 s and back at 20, killed at 30 and back at 45, killed at 50 and back at 60; in the queue at 70 s."""
    result = held_by_its_account(saved=tmp_path if saved else None, again=[(30.0, 45.0), (50.0, 60.0)])
    told = [line.strip() for line in result.explain("1").splitlines() if ": it had " in line]
    killed, held = "it had been killed", "it had come back"
    assert [line.partition(",")[0] for line in told] == [
        f"from 5 s to 20 s: {killed}", f"from 20 s to 30 s: {held}", f"from 30 s to 45 s: {killed}",
        f"from 45 s to 50 s: {held}", f"from 50 s to 60 s: {killed}", f"from 60 s to 70 s: {held}",
    ]  # fmt: skip
    assert result.summary()["mean_queue_length"] == pytest.approx(4 / 80)
    assert result.queue[["time", "pending"]].to_numpy().tolist()[-1] == [70, 0]


@pytest.mark.parametrize("saved", [False, True])
def test_a_job_that_is_still_held_when_the_run_is_stopped_has_left_the_queue(saved: bool, tmp_path: Path) -> None:
    """Stopped at 40 s: it waited from 1 to 5 s."""
    result = held_by_its_account(40.0, tmp_path if saved else None)
    assert result.queue[["time", "pending"]].values.tolist() == [[0, 0], [1, 1], [5, 0]]
    assert result.summary()["mean_queue_length"] == pytest.approx(4 / 40)
    told = result.explain("1")
    assert "It waited in the queue for 4 s." in told
    assert "  from 5 s to 20 s: it had been killed, and was not in the queue" in told
    held = "other jobs had to be over, or its reservation to begin, or it was over a limit of its account"
    assert f"  from 20 s to 40 s: it had come back, and was not yet in the queue: {held}" in told


@pytest.mark.parametrize("saved", [False, True])
def test_a_job_that_is_killed_while_it_runs_waits_from_when_it_comes_back(saved: bool, tmp_path: Path) -> None:
    """a runs from 0, is killed at 4 s and back at 9, behind b, which has both cores; the run is stopped at 12 s."""
    sim = simulation([(0.0, 2, 10.0), (1.0, 2, 50.0)])
    at(sim, 4.0, lambda: sim.kill("0"))
    at(sim, 9.0, lambda: sim.requeue("0"))
    result = sim.run(until=12.0)
    if saved:
        result.save(tmp_path)
        result = Result.load(tmp_path)
    assert result.queue[["time", "pending"]].values.tolist() == [[0, 0], [1, 1], [4, 0], [9, 1]]
    assert result.summary()["mean_queue_length"] == pytest.approx((3 + 3) / 12)
    told = result.explain("0")
    assert "It joined the queue again at 9 s and waited for 3 s." in told
    assert "  from 9 s to 12 s: it " in told


def test_a_job_that_is_killed_while_it_runs_and_starts_again_has_one_wait_after_it_came_back() -> None:
    """a is killed at 4 s, back at 9, and runs again from 11 s on, when b has ended."""
    sim = simulation([(0.0, 2, 10.0), (1.0, 2, 7.0)])
    at(sim, 4.0, lambda: sim.kill("0"))
    at(sim, 9.0, lambda: sim.requeue("0"))
    result = sim.run()
    assert result.queue[["time", "pending"]].values.tolist() == [[0, 0], [1, 1], [4, 0], [9, 1], [11, 0]]
    assert result.attempts["queue_time"].tolist() == [0, 1, 9]
    assert "It joined the queue again at 9 s and waited for 2 s." in result.explain("0")


def test_a_job_that_is_killed_while_it_is_held_is_eligible_when_it_first_joins_the_queue() -> None:
    """a names a reservation from 10 s on, is killed at 2 s and back at 12 s; b begins at 13 s."""
    window = AdvanceReservation("mine", 10.0, 100.0, [0])
    jobs = Workload({"submit_time": [0.0, 13.0], "requested_cores": [1, 1], "recorded_run_time": [5.0, 5.0],
                     "requested_time": [9.0, 9.0], "reservation": ["mine", "mine"]})  # fmt: skip
    sim = Simulation(Platform.homogeneous(1, 2), jobs, make_scheduler("fcfs"), reservations=[window])
    at(sim, 2.0, lambda: sim.kill("0"))
    at(sim, 12.0, lambda: sim.requeue("0"))
    result = sim.run()
    assert result.jobs["eligible_time"].tolist() == result.attempts["queue_time"].tolist() == [12, 13]
    assert result.queue[["time", "pending"]].values.tolist() == [[12, 0], [13, 0]]


def test_a_job_that_ran_and_is_killed_in_the_queue_keeps_both_waits() -> None:
    """a is requeued at 4 s, behind b, which is smaller, killed at 6 and back at 8 s, and runs again at 9, when b has ended."""
    sim = simulation([(0.0, 2, 10.0), (1.0, 1, 5.0)], scheduler=make_scheduler("list:smallest/first"))
    at(sim, 4.0, lambda: sim.requeue("0"))
    at(sim, 6.0, lambda: sim.kill("0"))
    at(sim, 8.0, lambda: sim.requeue("0"))
    result = sim.run()
    assert result.queue[["time", "pending"]].values.tolist() == [[0, 0], [1, 1], [4, 1], [6, 0], [8, 1], [9, 0]]
    assert result.attempts["queue_time"].tolist() == [0, 1, 4]
    told = result.explain("0")
    assert "It joined the queue again at 4 s and waited for 3 s." in told
    assert "  from 6 s to 8 s: it had been killed, and was not in the queue" in told


def test_a_job_that_was_killed_in_the_queue_and_ran_then_waits_for_its_next_attempt_from_its_requeue() -> None:
    """a waits from 0 to 5 and from 7 to 10 s, runs to 13, is requeued, and waits behind b, which runs to 18."""
    sim = simulation([(0.0, 2, 10.0), (0.0, 2, 10.0), (11.0, 1, 5.0)], scheduler=make_scheduler("list:smallest/first"))
    at(sim, 5.0, lambda: sim.kill("1"))
    at(sim, 7.0, lambda: sim.requeue("1"))
    at(sim, 13.0, lambda: sim.requeue("1"))
    result = sim.run()
    assert result.attempts["queue_time"].tolist() == [0, 0, 11, 13]
    steps = [[0, 1], [5, 0], [7, 1], [10, 0], [11, 1], [13, 1], [18, 0]]
    assert result.queue[["time", "pending"]].values.tolist() == steps


@pytest.mark.parametrize(
    "row", [[1, 20.0, 5.0], [1, math.nan, 20.0], [1, 5.0, math.nan], [1, None, 20.0], [1, -1.0, 20.0], [3, 5.0, 20.0],
            [-1, 5.0, 20.0], [0.5, 5.0, 20.0], [1, "5", 20.0], [1, 5.0], "gap", [1, 5.0, 20.0, 4.0], [1, 5.0, 20.0, 21.0],
            [1, 5.0, 20.0, None], [1, 5.0, 20.0, 6.0, 7.0]]
)  # fmt: skip
def test_a_saved_gap_that_is_none_is_refused(row: object, tmp_path: Path) -> None:
    """One line names the file, what was expected (three members, or four), and what is there."""
    sim = simulation([(0.0, 2, 30.0), (0.0, 2, 10.0), (6.0, 2, 1.0)])
    at(sim, 5.0, lambda: sim.kill("1"))
    at(sim, 20.0, lambda: sim.requeue("1"))
    sim.run().save(tmp_path)
    document = json.loads((tmp_path / "conditions.json").read_text())
    assert document["absences"] == [[1, 5.0, 20.0]]
    (tmp_path / "conditions.json").write_text(json.dumps(document | {"absences": [row]}))
    with pytest.raises(FormatError) as error:
        Result.load(tmp_path).explain("1")
    expected = (
        "expected [a job by its position, 0 to 2; from when and until when it was not in the queue, s; "
        "and, if it was held on its way there, when between these it came back], found"
    )
    assert str(error.value).endswith(f"conditions.json, absences: {expected} {row}")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("by_request", "false", "true or false"),
        ("by_request", [0], "true or false"),
        ("counts_memory", "no", "true or false"),
        ("power_policy", 7, "text"),
        ("withheld", [[5.0, [0], "no"]], "[when, s; its nodes, by their positions; true if they are kept"),
        ("withheld", [["5", [0], True]], "[when, s; its nodes, by their positions; true if they are kept"),
        ("withheld", [[True, [0], True]], "[when, s; its nodes, by their positions; true if they are kept"),
        ("guests", [["a", 0, True, 7.0, None, 0.0]], "[a guest's name; its node by its position; from when and until"),
        ("withheld", [[math.nan, [0], True]], "[when, s; its nodes, by their positions; true if they are kept"),
        ("guests", [[7, 0, 0.0, 1.0, None, 0.0]], "[a guest's name; its node by its position; from when and until"),
        ("guests", [["a", 0, "0", 1.0, None, 0.0]], "[a guest's name; its node by its position; from when and until"),
        ("guests", [["a", 0, 3.0, 1.0, None, 0.0]], "[a guest's name; its node by its position; from when and until"),
        ("guests", [["a", 0, 0.0, 1.0]], "[a guest's name; its node by its position; from when and until"),
        ("power_caps", None, "a list, found null"),
        ("reservations", "lab", "a list, found lab"),
    ],
)
def test_saved_conditions_of_another_type_are_refused(key: str, value: object, expected: str, tmp_path: Path) -> None:
    """Any text counted as true, and a time in quotes as a time."""
    sim = simulation([(0.0, 2, 30.0), (0.0, 2, 10.0)])
    at(sim, 5.0, lambda: sim.kill("1"))
    at(sim, 20.0, lambda: sim.requeue("1"))
    sim.run().save(tmp_path)
    document = json.loads((tmp_path / "conditions.json").read_text())
    (tmp_path / "conditions.json").write_text(json.dumps(document | {key: value}))
    with pytest.raises(FormatError) as error:
        Result.load(tmp_path).explain("1")
    assert f"conditions.json, {key}: expected {expected}" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("key", ["requests", "reservations", "withheld", "guests"])
def test_saved_conditions_without_a_key_are_refused(key: str, tmp_path: Path) -> None:
    """A lost table is not taken for an empty one."""
    sim = simulation([(0.0, 2, 30.0), (0.0, 2, 10.0)])
    at(sim, 5.0, lambda: sim.kill("1"))
    at(sim, 20.0, lambda: sim.requeue("1"))
    sim.run().save(tmp_path)
    document = json.loads((tmp_path / "conditions.json").read_text())
    del document[key]
    (tmp_path / "conditions.json").write_text(json.dumps(document))
    with pytest.raises(FormatError, match=f"KeyError: '{key}'"):
        Result.load(tmp_path).explain("1")


class Polite(Scheduler):
    """Starts nothing before 10 s, and says at 1 s that b lets a go first."""

    def schedule(self, view: View) -> Iterable[Decision]:
        """One pass."""
        jobs = {job.job_id: job for job in view.pending}
        if view.now == 1.0:
            yield Hold(jobs["1"], "lets another go first", behind=jobs["0"])
        if view.now >= 10.0:
            for job in jobs.values():
                yield Start(job, view.place(job))


def test_a_job_that_was_killed_in_the_queue_keeps_nobody_back_meanwhile() -> None:
    """a and b wait, b behind a from 1 s on; a is killed at 4 and back at 6 s."""
    jobs = Workload({"submit_time": [0.0, 1.0, 10.0], "requested_cores": [1] * 3, "recorded_run_time": [5.0] * 3})
    sim = Simulation(Platform.homogeneous(1, 4), jobs, Polite(), explain=True)
    at(sim, 4.0, lambda: sim.kill("0"))
    at(sim, 6.0, lambda: sim.requeue("0"))
    behind = "enough cores are free, but it lets another go first (job 0)"
    told = [(one.start, one.end, one.because) for one in sim.run().waits.stretches("1", 1.0, 10.0)]
    assert told == [(1.0, 4.0, behind), (4.0, 6.0, sentence([Reason(ReasonKind.NO_REASON)])), (6.0, 10.0, behind)]
