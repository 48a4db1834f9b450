"""The lives of jobs: killed, timed out, refused, cut off by the end of the run."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable

import numpy as np
import pytest

from cluster_sim import (
    CautionWarning,
    InputError,
    ModelWarning,
    Placement,
    Platform,
    Reject,
    Simulation,
    SimulationError,
    Start,
    View,
    WakeAt,
)
from cluster_sim.engine import latest
from cluster_sim.errors import PlacementError
from cluster_sim.run.decisions import Decision
from schedulers import Fcfs, Scheduler

from .conftest import At, jobs, machine

# ---------------------------------------------------------------------- killing


def test_killing_a_running_job_frees_its_cores_at_once(at: At) -> None:
    """Job 1 starts in the instant in which job 0 is killed; the victim pays for what it used."""
    simulation = Simulation(machine(), jobs((0, 2, 10), (1, 2, 5)), Fcfs())
    at(simulation, 3.0, lambda: simulation.kill("0", "too hot"))
    jobs_table = simulation.run().jobs
    assert jobs_table["state"].tolist() == ["killed", "completed"]
    assert jobs_table["reason"].tolist() == ["too hot", ""]
    assert jobs_table["start_time"].tolist() == [0.0, 3.0]
    assert jobs_table["finish_time"].tolist() == [3.0, 8.0]
    assert jobs_table["energy_j"].tolist() == [3 * 14, 5 * 14]


def test_killing_a_job_that_waits(at: At) -> None:
    """It never starts; the queue behind it moves up in that instant."""
    simulation = Simulation(machine(), jobs((0, 1, 10), (1, 2, 10), (2, 1, 1)), Fcfs())
    at(simulation, 4.0, lambda: simulation.kill("1"))
    result = simulation.run()
    assert result.jobs["state"].tolist() == ["completed", "killed", "completed"]
    assert result.jobs["start_time"].fillna(-1).tolist() == [0.0, -1.0, 4.0]
    assert result.jobs["finish_time"].tolist() == [10.0, 4.0, 5.0]
    assert result.queue.values.tolist() == [[0, 0, 0], [1, 1, 2], [2, 2, 3], [4, 0, 0]]


def test_killed_twice_in_one_instant_is_killed_once(at: At) -> None:
    """The first reason stands."""
    simulation = Simulation(machine(), jobs((0, 2, 10), (0, 2, 5)), Fcfs())
    for reason in ("first", "second"):
        at(simulation, 3.0, lambda reason=reason: simulation.kill("0", reason))  # type: ignore[misc]
        at(simulation, 3.0, lambda reason=reason: simulation.kill("1", reason))  # type: ignore[misc]
    result = simulation.run().jobs
    assert result["reason"].tolist() == ["first", "first"]
    assert result["finish_time"].tolist() == [3.0, 3.0]


def test_killing_a_job_that_is_over_does_nothing(at: At) -> None:
    """Nor does killing it in the instant in which it ends: it had ended."""
    simulation = Simulation(machine(), jobs((0, 2, 3), (0, 2, 5)), Fcfs())
    at(simulation, 3.0, lambda: simulation.kill("0"))
    at(simulation, 4.0, lambda: simulation.kill("0"))
    result = simulation.run().jobs
    assert result["state"].tolist() == ["completed", "completed"]


def test_killing_a_job_that_nobody_knows() -> None:
    """One line, with the id."""
    simulation = Simulation(machine(), jobs((0, 2, 3)), Fcfs())
    with pytest.raises(InputError, match="the id of a job of the workload, found 7"):
        simulation.kill("7")


# ---------------------------------------------------------------------- walltime


@pytest.mark.parametrize("submit", [0.0, 0.1, 0.3, 1e6 + 0.7])
def test_requested_time_is_enforced_to_the_instant(submit: float) -> None:
    """A run time equal to the request completes; one that is more by an instant is killed when the request is used up."""
    times, longer = [0.2, 0.2, 0.2, 0.0], latest(latest(submit + 0.2)) - submit
    workload = jobs((submit, 1, 0.2), (submit, 1, longer), (submit, 1, 0.1), (submit, 1, 0.0), requested_time=times)
    result = Simulation(machine(cores=4), workload, Fcfs(), enforce_walltime=True).run().jobs
    assert result["state"].tolist() == ["completed", "killed", "completed", "completed"]
    assert result["finish_time"].tolist() == [submit + 0.2, submit + 0.2, submit + 0.1, submit]


@pytest.mark.parametrize("submit", [0.0, 0.1, 0.3, 1e6 + 0.7])
def test_a_job_that_is_longer_than_its_request_by_rounding_completes(submit: float) -> None:
    """One unit in the last place of a float is no time."""
    workload = jobs((submit, 1, np.nextafter(0.2, 1)), requested_time=[0.2])
    result = Simulation(machine(), workload, Fcfs(), enforce_walltime=True).run().jobs
    assert result["state"].tolist() == ["completed"]


def test_walltime_counts_from_the_start_of_the_tasks() -> None:
    """Neither waiting nor booting uses it up."""
    workload = jobs((0, 2, 10), (0, 2, 10), requested_time=[6.0, 10.0])
    result = Simulation(machine(nodes=0, off=1), workload, Fcfs(), enforce_walltime=True).run().jobs
    assert result["state"].tolist() == ["killed", "completed"]
    assert result["reason"].tolist() == ["walltime", ""]
    assert result["start_time"].tolist() == [4.0, 10.0]
    assert result["finish_time"].tolist() == [10.0, 20.0]


def test_walltime_and_a_completion_that_was_planned_anew() -> None:
    """Two tasks share their memory until 2 s; the first then ends at 3 s, just as its time is over: it completes."""
    curve = {"b": -1.0, "c": 1.0, "da": 0.0, "db": 0.0, "dc": 1.0, "dd": 0.0}
    platform = Platform.homogeneous(1, 2, contention=curve).with_models("piecewise:k=1")
    workload = jobs((0, 1, 2), (0, 1, 1), requested_time=[3.0, 1.5], mem_vol=[2000.0, 1000.0])
    result = Simulation(platform, workload, Fcfs(), enforce_walltime=True).run().jobs
    # Job 1, at half speed, is killed at 1.5 s; of the first 1.25 s are left then.
    assert result["state"].tolist() == ["completed", "killed"]
    assert result["finish_time"].tolist() == [2.75, 1.5]
    workload = jobs((0, 1, 2), (0, 1, 1), requested_time=[3.0, 2.0], mem_vol=[2000.0, 1000.0])
    result = Simulation(platform, workload, Fcfs(), enforce_walltime=True).run().jobs
    assert result["state"].tolist() == ["completed", "completed"]
    assert result["finish_time"].tolist() == [3.0, 2.0]


def test_walltime_is_only_a_request_unless_enforced() -> None:
    """Without enforcement a job runs as long as it runs."""
    result = Simulation(machine(), jobs((0, 2, 10), requested_time=[6.0]), Fcfs()).run().jobs
    assert (result["state"][0], result["finish_time"][0]) == ("completed", 10.0)


def test_walltime_of_a_job_that_was_killed_before(at: At) -> None:
    """The limit of a job that is over kills nobody, in particular not who has its cores now."""
    workload = jobs((0, 2, 10), (0, 2, 10), requested_time=[6.0, 20.0])
    simulation = Simulation(machine(), workload, Fcfs(), enforce_walltime=True)
    at(simulation, 3.0, lambda: simulation.kill("0", "enough"))
    result = simulation.run().jobs
    assert result["reason"].tolist() == ["enough", ""]
    assert result["finish_time"].tolist() == [3.0, 13.0]


# ---------------------------------------------------------------------- jobs that cannot run


def test_jobs_that_can_never_fit_are_refused_when_submitted() -> None:
    """Each with the reason in its record; nobody waits for them."""
    workload = jobs(
        (1, 5, 1), (1, 4, 1), (1, 3, 1), (1, 4, 1), (1, 2, 1),
        nodes=[0, 3, 2, 0, 0], ntasks_per_node=[0, 0, 1, 3, 0],
    )  # fmt: skip
    result = Simulation(machine(nodes=2), workload, Fcfs()).run().jobs
    assert result["state"].tolist() == ["rejected"] * 4 + ["completed"]
    assert result["finish_time"].isna().tolist() == [True] * 4 + [False]
    for reason, words in zip(
        result["reason"],
        ["asks for 5 cores, the platform has 4", "3 nodes", "2 nodes", "nodes of 3 cores", ""],
        strict=True,
    ):
        assert words in reason
        assert "\n" not in reason


def test_memory_refuses_only_where_the_scheduler_looks_at_it() -> None:
    """One task of 2000 MB on nodes of 1 GB: refused by a scheduler that honours memory, run by one that does not."""
    platform = Platform.homogeneous(2, 4, memory_gb=1.0)
    for memory, state in ((True, "rejected"), (False, "completed")):
        result = Simulation(platform, jobs((0, 1, 1), memory=[2000.0]), Fcfs(memory=memory)).run().jobs
        assert result["state"].tolist() == [state]


class RefusesWide(Scheduler):
    """Starts narrow jobs; after 3 s of waiting it refuses the others."""

    def schedule(self, view: View) -> Iterable[Decision]:
        for job in view.pending:
            if job.requested_cores == 1:
                placement = view.place(job)
                assert placement is not None
                yield Start(job, placement)
            elif view.now >= job.submit_time + 3:
                yield Reject(job, "too wide for me")
            else:
                yield WakeAt(job.submit_time + 3)


def test_a_scheduler_can_refuse_a_job_and_wake_itself() -> None:
    """The record says when and why; WakeAt makes a pass in an instant in which nothing else happens."""
    result = Simulation(machine(), jobs((1, 2, 5), (2, 1, 9)), RefusesWide()).run()
    assert result.jobs["state"].tolist() == ["rejected", "completed"]
    assert result.jobs["reason"].tolist() == ["too wide for me", ""]
    assert result.jobs["finish_time"].tolist() == [4.0, 11.0]
    assert result.jobs["start_time"].isna().tolist() == [True, False]
    assert result.queue.values.tolist() == [[1, 1, 2], [2, 1, 2], [4, 0, 0]]


class Decides(Scheduler):
    """Yields what it was given, at its first pass."""

    def __init__(self, decide: object):
        self.decide = decide

    def schedule(self, view: View) -> Iterable[Decision]:
        yield from self.decide(view, view.pending)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("decide", "error", "words"),
    [
        (lambda view, jobs: [WakeAt(view.now)], SimulationError, "lies not after now"),
        (
            lambda view, jobs: ["start job 0"],
            SimulationError,
            "decides Start, Reserve, Hold, Reject, WakeAt, Preempt, Resume or Resize, not 'start job 0'",
        ),
        (lambda view, jobs: [Start(jobs[0], Placement.on({0: 1}))], PlacementError, "asks for 2 cores"),
        (lambda view, jobs: [Start(jobs[0], Placement([]))], PlacementError, "asks for 2 cores"),
        (lambda view, jobs: [Start(jobs[0], Placement.on({9: 2}))], PlacementError, "no such nodes"),
        (lambda view, jobs: [Start(jobs[0], Placement.on({-1: 2}))], PlacementError, "no such nodes"),
        (
            lambda view, jobs: [Start(jobs[0], Placement([(0, 1, 1), (0, 1, 1)]))],
            PlacementError,
            "a node appears twice",
        ),
        (lambda view, jobs: [Start(jobs[2], Placement.on({0: 3}))], PlacementError, "fewer cores are free"),
        (lambda view, jobs: [Start(jobs[0], Placement.on({0: 2}))] * 2, PlacementError, "job 0 is not pending"),
        (lambda view, jobs: [Start(j, Placement.on({0: 2})) for j in jobs], PlacementError, "fewer cores are free"),
        (
            lambda view, jobs: [Start(jobs[0].on_cores(1), Placement.on({0: 1}))],
            PlacementError,
            "job 0 is a copy of the one that waits: decide on the job of view.pending",
        ),
        (lambda view, jobs: [Reject(jobs[0], ""), Reject(jobs[0], "")], PlacementError, "job 0 is not pending"),
    ],
)
def test_decisions_that_cannot_be_carried_out(decide: object, error: type[Exception], words: str) -> None:
    """A wrong decision stops the run with an error that says what is wrong with it."""
    simulation = Simulation(machine(nodes=2), jobs((0, 2, 1), (0, 2, 1), (0, 3, 1)), Decides(decide))
    with pytest.raises(error, match=words):
        simulation.run()


def test_an_error_in_somebodys_own_code_comes_through() -> None:
    """A RuntimeError of a scheduler is not taken for the end of the events."""

    def fail(view: View, jobs: object) -> None:
        raise RuntimeError("my own mistake")

    with pytest.raises(RuntimeError, match="my own mistake"):
        Simulation(machine(), jobs((0, 1, 1)), Decides(fail)).run()


# ---------------------------------------------------------------------- the end of a run


def test_jobs_that_nobody_starts_are_left_with_a_warning() -> None:
    """The run ends when nothing can happen any more, and says how many jobs it leaves."""
    simulation = Simulation(machine(), jobs((0, 2, 5), (7, 1, 5)), Decides(lambda view, jobs: ()))
    with pytest.warns(ModelWarning, match="2 jobs are unfinished") as caught:
        result = simulation.run()
    assert caught[0].filename == __file__
    assert result.jobs["state"].tolist() == ["unfinished", "unfinished"]
    assert result.summary()["jobs_unfinished"] == 2


def test_until_cuts_the_run() -> None:
    """Done, running, waiting and not yet submitted at 7 s; energy and power cover [0, 7]."""
    workload = jobs((0, 2, 5), (1, 1, 5), (2, 2, 5), (9, 1, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", CautionWarning)
        result = Simulation(machine(), workload, Fcfs(), until=7.0).run()
    assert result.jobs["state"].tolist() == ["completed", "unfinished", "unfinished", "unfinished"]
    assert result.jobs["start_time"].fillna(-1).tolist() == [0.0, 5.0, -1.0, -1.0]
    assert result.jobs["finish_time"].fillna(-1).tolist() == [5.0, -1.0, -1.0, -1.0]
    assert result.jobs["energy_j"].tolist() == [5 * 14, 2 * 12, 0.0, 0.0]
    assert result.power.values.tolist() == [[0, 14], [5, 12], [7, 12]]
    assert result.allocations[["job_id", "start", "end"]].values.tolist() == [["0", 0.0, 5.0], ["1", 5.0, 7.0]]
    assert result.queue.values.tolist() == [[0, 0, 0], [1, 1, 1], [2, 2, 3], [5, 1, 2]]
    summary = result.summary()
    assert summary["energy_j"] == 5 * 14 + 2 * 12
    assert (summary["jobs_submitted"], summary["jobs_unfinished"], summary["makespan_s"]) == (3, 3, 5.0)
    assert summary["utilisation"] == pytest.approx((2 * 5 + 1 * 2) / (2 * 7))
    assert summary["mean_watts"] == pytest.approx(94 / 7)


def test_an_end_after_the_last_job_is_waited_for() -> None:
    """With ``until`` the energy covers [0, until], though the last job is done before."""
    result = Simulation(machine(), jobs((0, 2, 5)), Fcfs(), until=20.0).run()
    assert result.summary()["energy_j"] == 5 * 14 + 15 * 5
    assert result.summary()["makespan_s"] == 5.0


def test_without_jobs_nothing_happens() -> None:
    """An empty workload is a run of no length."""
    empty = jobs((0, 1, 1)).first(0)
    result = Simulation(machine(), empty, Fcfs()).run()
    assert len(result.jobs) == 0
    assert result.summary()["energy_j"] == 0.0
    assert math.isnan(result.summary()["mean_wait_s"])
    assert result.node_states.empty


def test_running_again_is_the_same_result() -> None:
    """One simulation is one run: asked again, it answers again."""
    simulation = Simulation(machine(), jobs((0, 2, 5)), Fcfs())
    first, second = simulation.run(), simulation.run()
    assert first.jobs.equals(second.jobs)
    assert simulation.run(until=2.0).jobs.equals(first.jobs)


def test_unknown_quirks_and_models_are_refused_in_one_line() -> None:
    """The errors name what there is."""
    for options, words in (
        ({"quirks": ["no-such-quirk"]}, "contention-at-job-boundaries.*found no-such-quirk"),
        ({"contention": "smooth"}, "one of .*none, piecewise.*found smooth"),
        ({"power_model": "cubic"}, "one of baseline.*linear.*found cubic"),
    ):
        with pytest.raises(InputError, match=words) as error:
            Simulation(machine(), jobs((0, 1, 1)), Fcfs(), **options)  # type: ignore[arg-type]
        assert "\n" not in str(error.value)


def test_progress_is_shown_on_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing on stderr when it is a file; a bar that has counted the jobs when it is a terminal; the same result."""
    workload = jobs((0, 2, 5), (1, 2, 5), (2, 2, 5))
    plain = Simulation(machine(), workload, Fcfs()).run()
    piped = Simulation(machine(), workload, Fcfs()).run(progress=True)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    shown = Simulation(machine(), workload, Fcfs()).run(progress=True)
    assert "0/3" in capsys.readouterr().err
    assert plain.jobs.equals(piped.jobs)
    assert plain.jobs.equals(shown.jobs)
