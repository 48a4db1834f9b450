"""What users' jobs usually take, worked out by hand, and orders that learn it in a run."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cluster_sim import Platform, Simulation, Workload, make_scheduler
from schedulers.easy import EasyBackfilling
from schedulers.powers import Powers
from schedulers.usual_times import KEPT, LAST, UsualTimes

WHOLE = (1.0 - KEPT**LAST) / (1.0 - KEPT)


def usual(known: UsualTimes, user: str, requested: float) -> float:
    """Of one job."""
    return float(known.of([user], np.array([requested])).item())


def test_who_has_run_nothing_is_expected_to_take_what_is_requested() -> None:
    """At least ten seconds, as all times count."""
    known = UsualTimes()
    assert usual(known, "a", 3600.0) == pytest.approx(3600.0)
    assert usual(known, "a", 5.0) == pytest.approx(10.0)


def test_the_last_job_counts_most() -> None:
    """100 s and then 1,000 s: ten powers of 0.7, of which eight are for the request."""
    known = UsualTimes()
    known.add("a", 100.0)
    known.add("a", 1000.0)
    rest = WHOLE - 1.0 - KEPT
    expected = math.exp((math.log(1000.0) + KEPT * math.log(100.0) + rest * math.log(10000.0)) / WHOLE)
    assert usual(known, "a", 10000.0) == pytest.approx(expected)
    assert usual(known, "b", 10000.0) == pytest.approx(10000.0)
    several = known.of(["b", "a"], np.array([10000.0, 10000.0]))
    assert several.tolist() == pytest.approx([10000.0, expected])


def test_no_job_counts_as_longer_than_the_request_and_ten_are_remembered() -> None:
    """After ten jobs of a minute nothing is left of the hour before, and a request of 20 s is believed."""
    known = UsualTimes()
    known.add("a", 3600.0)
    for _ in range(LAST):
        known.add("a", 60.0)
    assert usual(known, "a", 7200.0) == pytest.approx(60.0)
    assert usual(known, "a", 20.0) == pytest.approx(20.0)


def test_a_log_tells_what_had_ended() -> None:
    """By submission, wait and run time; in the order of their ends, not of their submission."""
    log = Workload(
        {
            "submit_time": [0.0, 10.0, 20.0, 30.0],
            "recorded_wait_time": [500.0, 0.0, -1.0, 0.0],
            "recorded_run_time": [100.0, 50.0, 4000.0, 20.0],
            "requested_cores": [1] * 4,
            "user": ["a", "a", "a", "b"],
        }
    )
    by_hand = UsualTimes()
    by_hand.add("a", 50.0)
    by_hand.add("a", 100.0)
    assert usual(UsualTimes(log, until=600.0), "a", 1e4) == pytest.approx(usual(by_hand, "a", 1e4))
    by_hand.add("a", 4000.0)
    assert usual(UsualTimes(log), "a", 1e4) == pytest.approx(usual(by_hand, "a", 1e4))
    assert usual(UsualTimes(log, until=40.0), "b", 1e4) == pytest.approx(1e4)
    assert usual(UsualTimes(log, until=50.0), "b", 1e4) < 1e4


def jobs(**more: list[float]) -> Workload:
    """b submits two jobs of an hour of which the first runs for a minute; a's job of 50 min came before the second."""
    columns = {
        "submit_time": [0.0, 1.0, 2.0, 3.0],
        "requested_cores": [1, 4, 4, 4],
        "requested_time": [3600.0, 3600.0, 3000.0, 3600.0],
        "recorded_run_time": [60.0, 3600.0, 3000.0, 60.0],
        "user": ["b", "a", "a", "b"],
    }
    return Workload(columns | more)


def test_an_order_learns_in_a_run_what_users_jobs_take() -> None:
    """b's first job ends after a minute: then its second comes before a's, which request as much or less."""
    platform = Platform.homogeneous(nodes=1, cores=4)
    by_request = Simulation(platform, jobs(), make_scheduler("easy:order=powers:1:1")).run().jobs["start_time"]
    assert by_request.tolist() == [0.0, 3060.0, 60.0, 6660.0]
    learned = Simulation(platform, jobs(), make_scheduler("easy:order=powers:0:1:0:1")).run()
    assert learned.jobs["start_time"].tolist() == [0.0, 3120.0, 120.0, 60.0]
    # Where waits count, too, keys change in every pass; so little changes nothing here.
    waits = Simulation(platform, jobs(), make_scheduler("easy:order=powers:0:1:-0.001:1")).run()
    assert waits.jobs["start_time"].tolist() == [0.0, 3120.0, 120.0, 60.0]


def test_what_was_known_before_counts_from_the_start_and_in_every_run_anew() -> None:
    """a's jobs were over at once in the log before: a goes first, again and again."""
    platform = Platform.homogeneous(nodes=1, cores=4)
    known = UsualTimes()
    for _ in range(LAST):
        known.add("a", 10.0)
    scheduler = EasyBackfilling(order=Powers(0.0, 1.0, 0.0, 1.0, known))
    for _ in range(2):
        starts = Simulation(platform, jobs(), scheduler).run().jobs["start_time"].tolist()
        assert starts == [0.0, 60.0, 3660.0, 6660.0]
    assert usual(known, "b", 3600.0) == pytest.approx(3600.0)


def test_a_job_that_is_put_back_in_the_queue_has_not_ended() -> None:
    """b's first job is requeued after 30 s: nothing is learned of it, and the shortest request goes first."""
    platform = Platform.homogeneous(nodes=1, cores=4)
    simulation = Simulation(platform, jobs(), make_scheduler("easy:order=powers:0:1:0:1"))
    simulation.run(until=30.0)
    simulation.requeue("0")
    simulation.run(until=40.0)
    assert [one.job.job_id for one in simulation.view.running] == [
        "0"
    ]  # one core: it is backfilled no more than before
    assert simulation.run().jobs["start_time"].iloc[3] == 90.0


def test_people_are_told_what_is_expected() -> None:
    """The reason of a job's place in the queue."""
    platform = Platform.homogeneous(nodes=1, cores=4)
    result = Simulation(platform, jobs(), make_scheduler("easy:order=powers:0:1:0:1"), explain=True).run()
    assert "its user's jobs take 3,000 s of late" in result.explain("2")
