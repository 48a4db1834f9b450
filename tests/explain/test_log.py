"""The log of decisions, over random workloads: it changes nothing, is not longer than it must be, and is true."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cluster_sim import Platform, Result, Simulation, View, Workload
from cluster_sim.errors import FormatError, PlacementError
from cluster_sim.records.reasons.conditions import Conditions
from cluster_sim.run.decisions import Hold, Reserve, Start, WakeAt
from schedulers import make_scheduler

SCHEDULERS = ["fcfs", "sjf", "list:smallest/first,blocking=no", "pcbe:aging=5", "easy", "conservative"]
OF_RANDOM_NODES = ["easy:nodes=random,depth=3", "conservative:nodes=random,reservation=pinned"]
"""A look at why a job waits draws none of the run's random numbers."""
JOBS = st.lists(
    st.tuples(st.integers(0, 12), st.integers(1, 6), st.integers(1, 9), st.integers(0, 4)), min_size=1, max_size=14
)


def workload(rows: list[tuple[int, int, int, int]]) -> Workload:
    """Jobs from (submission, cores, run time, how much more is requested)."""
    return Workload(
        {
            "submit_time": [float(row[0]) for row in rows],
            "requested_cores": [row[1] for row in rows],
            "recorded_run_time": [float(row[2]) for row in rows],
            "requested_time": [float(row[2] + row[3]) for row in rows],
        }
    )


def run(scheduler: str, rows: list[tuple[int, int, int, int]], explain: bool) -> Result:
    """On three nodes of two cores."""
    return Simulation(Platform.homogeneous(3, 2), workload(rows), make_scheduler(scheduler), explain=explain).run()


@pytest.mark.parametrize("scheduler", [*SCHEDULERS, *OF_RANDOM_NODES])
@settings(max_examples=15, deadline=None)
@given(rows=JOBS)
def test_the_log_changes_nothing_and_says_what_happened(scheduler: str, rows: list[tuple[int, int, int, int]]) -> None:
    """A log leaves the schedule as it is. It has one start for each job, with its time and cores, and repeats no row."""
    with_log, without = run(scheduler, rows, True), run(scheduler, rows, False)
    pd.testing.assert_frame_equal(with_log.jobs, without.jobs)
    log, jobs = with_log.decisions, with_log.jobs
    assert without.decisions.empty
    assert log["time"].is_monotonic_increasing
    starts = log[log["decision"] == "start"].set_index("job_id")
    assert starts["time"].to_dict() == jobs.set_index("job_id")["allocation_time"].dropna().to_dict()
    cores = dict(zip(jobs["job_id"], jobs["requested_cores"], strict=True))
    assert {job: _cores(nodes) for job, nodes in starts["nodes"].items()} == {job: cores[job] for job in starts.index}
    said = log.drop(columns="time").fillna(-1.0)
    for _, rows_of_one in said.groupby(["job_id", "decision"]):
        assert not (rows_of_one == rows_of_one.shift()).all(axis=1).any()


def _cores(nodes: str) -> int:
    """Cores of ``cluster0.node0:2;cluster0.node1..cluster0.node2:2``."""
    total = 0
    for part in nodes.split(";"):
        names, _, each = part.rpartition(":")
        ends = [int(name.rpartition("node")[2]) for name in names.split("..")]
        total += (ends[-1] - ends[0] + 1) * int(each)
    return total


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@settings(max_examples=15, deadline=None)
@given(rows=JOBS)
@example(rows=[(5, 1, 2, 1), (2, 3, 3, 2), (2, 5, 4, 1), (2, 3, 4, 0), (0, 1, 3, 2), (0, 2, 4, 2), (2, 2, 2, 1)])
def test_every_wait_is_explained(scheduler: str, rows: list[tuple[int, int, int, int]]) -> None:
    """The reasons of a job cover its wait without gap or overlap; under FCFS one with enough is behind the first, by then."""
    result = run(scheduler, rows, True)
    jobs = result.jobs
    for job in jobs.itertuples():
        if not job.allocation_time > job.submit_time:
            continue
        found = result.waits.stretches(job.job_id, job.submit_time, job.allocation_time)
        assert [found[0].start, found[-1].end] == [job.submit_time, job.allocation_time]
        assert all(one.end == other.start for one, other in pairwise(found))
        for stretch in found if scheduler == "fcfs" else ():
            first = _first_waiting(jobs, (stretch.start + stretch.end) / 2)
            assert stretch.reason.lacks or stretch.reason.behind == first != job.job_id


def _first_waiting(jobs: pd.DataFrame, time: float) -> str:
    return str(jobs[(jobs["submit_time"] <= time) & (jobs["allocation_time"] > time)]["job_id"].iloc[0])


class Scripted:
    """A scheduler that yields what it is told to."""

    memory = clairvoyant = False

    def __init__(self, decide: Any):
        self._decide = decide

    def attend(self, simulation: Simulation) -> Any:
        """As ``schedulers.Scheduler`` does."""
        while True:
            yield simulation.pass_due()
            for decision in self._decide(simulation.view):
                simulation.apply(decision)


def test_what_was_said_already_takes_no_row() -> None:
    """A reason that is told in every pass makes one row. A new reason, a new job to blame or a new promise makes another."""
    rows = [(time, 1, 1, 0) for time in range(6)]
    seen: dict[str, Any] = {}

    def decide(view: View) -> Any:
        jobs = {job.job_id: job for job in view.pending}
        seen.update(jobs)
        first, now = seen["0"], view.now
        if now < 5.0:
            yield Hold(first, "waits for tea" if now < 2.0 else "waits for rain", seen["3"] if now >= 3.0 else None)
            yield Reserve(first, 9.0 if now < 4.0 else 8.0)
        else:
            yield Start(first, view.place(first), "it rained")

    simulation = Simulation(Platform.homogeneous(1, 1), workload(rows), Scripted(decide), explain=True, until=5.0)
    simulation.run()
    log = simulation.result().decisions
    assert log[["time", "decision", "because", "behind"]].to_numpy().tolist() == [
        [0.0, "hold", "waits for tea", ""],
        [0.0, "reserve", "", ""],
        [2.0, "hold", "waits for rain", ""],
        [3.0, "hold", "waits for rain", "3"],
        [4.0, "reserve", "", ""],
    ]
    assert log["promised_time"].dropna().tolist() == [9.0, 8.0]


def test_what_is_told_without_a_log_is_kept_once() -> None:
    """The clause of a scheduler that says it in every pass; promises are no reasons where several jobs have one."""

    def decide(view: View) -> Any:
        for job in view.pending:
            yield Hold(job, "waits for tea" if view.now < 2.0 else "waits for rain")
            yield Reserve(job, 9.0)

    rows = [(time, 1, 1, 0) for time in range(5)]
    simulation = Simulation(Platform.homogeneous(1, 1), workload(rows), Scripted(decide), until=4.0)
    told = simulation.run().explain("0").splitlines()
    assert "  from 0 s to 2 s: enough cores are free, but it waits for tea" in told
    assert "  from 2 s to 4 s: enough cores are free, but it waits for rain" in told
    of_first = [(time, str(reason)) for time, job, reason in simulation.kept_back.told if job == 0]
    assert of_first == [(0.0, "waits for tea"), (2.0, "waits for rain")]
    assert not simulation.kept_back.rows


def test_a_run_without_a_log_takes_reasons_and_decides_the_same() -> None:
    """Hold and Reserve change nothing, log or no log; of a job that does not wait they are refused."""
    view = View.by_hand(Platform.homogeneous(1, 2), workload([(0, 1, 1, 0)]))
    (job,) = view.pending
    view.apply(Hold(job, "waits for tea"))
    view.apply(Reserve(job, 3.0))
    assert view.pending == (job,)
    assert not view.explains
    simulation = Simulation(Platform.homogeneous(1, 2), workload([(0, 1, 1, 0)]))
    state = simulation.step_to_decision()
    assert state is not None
    (job,) = state.pending
    simulation.apply(Hold(job, "waits for tea"))
    simulation.apply(Reserve(job, math.inf))
    placement = state.place(job)
    assert placement is not None
    simulation.decide((job, placement))
    with pytest.raises(PlacementError, match="job 0 is not pending"):
        simulation.apply(Hold(job, "waits for tea"))
    assert simulation.result().decisions.empty


def test_a_clause_holds_until_another_is_told_at_whatever_time() -> None:
    """Told anew at a time at which nothing else happens; and it outlasts another job at the head of the queue."""
    rows = [(0, 2, 9, 0), (0, 2, 9, 0), (0, 1, 9, 0)]

    def decide(view: View) -> Any:
        first, second, third = view.pending
        yield Hold(first if view.now < 5.0 else second, "", blocks=True)
        yield Hold(third, "has used up its quota" if view.now < 7.0 else "is of the night queue")
        yield from (WakeAt(time) for time in (5.0, 7.0, 9.0) if time > view.now)

    simulation = Simulation(Platform.homogeneous(1, 2), workload(rows), Scripted(decide), until=8.0)
    told = simulation.run().explain("2").splitlines()
    assert "  from 0 s to 7 s: enough cores are free, but it has used up its quota" in told
    assert "  from 7 s to 8 s: enough cores are free, but it is of the night queue" in told


def test_a_damaged_reason_of_a_scheduler_is_refused() -> None:
    """A kind of reason that needs more than its name would be told with holes."""
    platform = Platform.homogeneous(1, 2)
    document = Simulation(platform, workload([(0, 1, 1, 0)])).run().conditions.document()
    assert Conditions.read(document, "conditions.json", 1, platform).document() == document
    with pytest.raises(FormatError, match=r"conditions\.json, keeps_back: expected one of FITS, .*, found CORES"):
        Conditions.read(document | {"keeps_back": "CORES"}, "conditions.json", 1, platform)


@pytest.mark.parametrize("explain", [False, True])
@settings(max_examples=15, deadline=None)
@given(rows=JOBS)
def test_reasons_are_saved_as_data(explain: bool, rows: list[tuple[int, int, int, int]]) -> None:
    """What a run has told comes back from its document as it was, and each row of a log has its reason."""
    result = run("easy:order=sjf,depth=3", rows, explain)
    document = json.loads(json.dumps(result.conditions.document()))
    read = Conditions.read(document, "conditions.json", len(rows), result.platform)
    assert read == result.conditions
    assert not any(isinstance(value, str) for row in document["told"] for value in row)
    texts = [str(reason) for reason in result.decision_reasons if not reason.lacks]
    rows_of_log = zip(result.decisions["because"], result.decision_reasons, strict=True)
    assert texts == [because for because, reason in rows_of_log if not reason.lacks]


@pytest.mark.parametrize(
    "broken",
    [
        {"reasons": [{"kind": "TEA"}]},
        {"reasons": [{"kind": "SAID", "said": 3}]},
        {"reasons": [{"kind": "CAPPED", "watts": 300.0}]},
        {"reasons": ["waits for tea"]},
        {"reasons": [{"kind": "PUT_OFF", "losses": ["TEA"]}]},
        {"log": [0]},
        {"told": [[0.0, 0, 0]]},
        {"promises": [[0.0, 7, 1.0]]},
    ],
)
def test_damaged_reasons_are_refused(broken: dict[str, Any]) -> None:
    """Unknown kinds, values of other types, and numbers that no reason has."""
    platform = Platform.homogeneous(1, 2)
    document = Simulation(platform, workload([(0, 1, 1, 0)])).run().conditions.document()
    with pytest.raises(FormatError, match=r"conditions\.json"):
        Conditions.read(document | broken, "conditions.json", 1, platform)


def test_clauses_of_an_earlier_version_are_told_as_they_are() -> None:
    """Files of the first versions have a clause in words where there is the number of a reason now."""
    platform = Platform.homogeneous(1, 2)
    document = Simulation(platform, workload([(0, 1, 1, 0)])).run().conditions.document()
    read = Conditions.read(document | {"told": [[0.0, 0, "waits for tea"], [1.0, 0, ""]]}, "file", 1, platform)
    assert [(time, job, str(reason)) for time, job, reason in read.told] == [(0.0, 0, "waits for tea"), (1.0, 0, "")]


@pytest.mark.parametrize("scheduler", ["fcfs", "easy", "conservative"])
@settings(max_examples=15, deadline=None)
@given(rows=JOBS)
def test_a_log_in_words_only_explains_the_same(scheduler: str, rows: list[tuple[int, int, int, int]]) -> None:
    """The log of an earlier version has no reasons as data: what a job lacked, the machine of that time shows."""
    result = run(scheduler, rows, True)
    with TemporaryDirectory() as folder:
        result.save(folder)
        path = Path(folder, "conditions.json")
        document = json.loads(path.read_text())
        path.write_text(json.dumps(document | {"reasons": [], "log": []}) + "\n")
        older = Result.load(folder)
        assert [older.explain(job) for job in older.jobs["job_id"]] == [
            result.explain(job) for job in result.jobs["job_id"]
        ]
