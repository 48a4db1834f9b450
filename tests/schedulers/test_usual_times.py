"""What users' jobs usually take, worked out by hand, and orders that learn it in a run."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

from cluster_sim import Platform, Simulation, View, Workload, make_scheduler
from cluster_sim.run.decisions import Decision
from schedulers.backfilling.easy import EasyBackfilling
from schedulers.queue.power_law_orders import Powers
from schedulers.queue.usual_times import KEPT, LAST, UsualTimes
from tests.support.contract import chaos

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


def jobs() -> Workload:
    """b submits two jobs of an hour of which the first runs for a minute; a's job of 50 min came before the second."""
    columns = {
        "submit_time": [0.0, 1.0, 2.0, 3.0],
        "requested_cores": [1, 4, 4, 4],
        "requested_time": [3600.0, 3600.0, 3000.0, 3600.0],
        "recorded_run_time": [60.0, 3600.0, 3000.0, 60.0],
        "user": ["b", "a", "a", "b"],
    }
    return Workload(columns)


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


class Noted(UsualTimes):
    """Notes what it learns, too."""

    def __init__(self) -> None:
        super().__init__()
        self.learned: list[tuple[str, float]] = []

    def add(self, user: str, seconds: float) -> None:
        """Note it."""
        self.learned.append((user, seconds))
        super().add(user, seconds)


class Follows(chaos.Chaos):
    """Does what it likes to jobs, and follows them."""

    def begin(self, view: View) -> None:
        """Nothing is known yet."""
        super().begin(view)
        self.known = Noted()

    def schedule(self, view: View) -> Iterator[Decision]:
        """Learn, then go on."""
        self.known.follow(view)
        self.last = view.now
        yield from super().schedule(view)


@pytest.mark.parametrize("seed", range(24))
def test_each_job_is_learned_once_from_its_last_start_to_its_end_whatever_is_done_to_it(seed: int) -> None:
    """Preempted, suspended, resumed, resized, requeued, failed, with grace and while nodes boot."""
    scheduler = Follows()
    _, result = chaos.run(chaos.draw(Random(seed)), scheduler)
    users = result.jobs.set_index("job_id")["user"]
    last = result.attempts.groupby("job_id").tail(1).set_index("job_id")
    over = last[
        (last["end_time"] <= scheduler.last)
        & last["start_time"].notna()
        & ~last["outcome"].isin(["preempted", "requeued"])
    ]
    took = over["end_time"] - over["start_time"]
    expected = sorted(zip(users[over.index], took, strict=True))
    learned = sorted(scheduler.known.learned)
    assert [user for user, _ in learned] == [user for user, _ in expected]
    assert [seconds for _, seconds in learned] == pytest.approx([seconds for _, seconds in expected])


def test_who_names_no_user_is_unknown() -> None:
    """Else all of them would be one."""
    known = UsualTimes()
    known.add("", 60.0)
    assert usual(known, "", 3600.0) == pytest.approx(3600.0)


def test_all_who_ask_in_a_run_learn_the_same() -> None:
    """A scheduler that asks twice, or begins again because a late job asks for something new, keeps what was learned."""
    platform = Platform.homogeneous(nodes=1, cores=4)
    scheduler = EasyBackfilling(order=Powers(0.0, 1.0, 0.0, 1.0))
    simulation = Simulation(platform, jobs(), scheduler)
    simulation.run(until=100.0)
    order = scheduler._job_order.in_run(simulation.view)  # type: ignore[attr-defined]
    assert order is scheduler._job_order.in_run(simulation.view)  # type: ignore[attr-defined]
    assert len(simulation.view.planning.followers) == 1
    simulation.submit(
        {"requested_cores": 4, "requested_time": 3600, "recorded_run_time": 60, "user": "b", "exclusive": True}
    )
    simulation.run(until=130.0)
    assert scheduler._job_order.in_run(simulation.view)._known.count("b") == 2  # type: ignore[attr-defined]


def test_people_are_told_what_is_expected() -> None:
    """The reason of a job's place in the queue."""
    platform = Platform.homogeneous(nodes=1, cores=4)
    result = Simulation(platform, jobs(), make_scheduler("easy:order=powers:0:1:0:1"), explain=True).run()
    assert "expected to take 3,000 s, by its request and 0 jobs of its user's" in result.explain("2")
