"""Exercises of the later lessons: functions, weights of priorities, rewards; and policies that preempt or choose cores."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest

from analysis.lessons import exercise, fair_share
from cluster_sim import examples
from schedulers import Fcfs, Preemptive, make_scheduler


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (3600, "a function is asked for, not 3600"),
        (lambda checkpoint_s, mtbf_s, nodes: None, "it gives None; a number is asked for"),
        (lambda checkpoint_s, mtbf_s, nodes: float("nan"), "it gives nan; a number is asked for"),
        (lambda checkpoint_s, mtbf_s, nodes: 10**400, "it raises OverflowError"),
        (lambda checkpoint_s, mtbf_s: 1.0, "it raises TypeError"),
        (
            lambda checkpoint_s, mtbf_s, nodes: sqrt(2 * checkpoint_s * mtbf_s),
            "with checkpoint_s=60, mtbf_s=1.5768e+08, nodes=1000 it gives 137556, which is too large",
        ),
        (lambda checkpoint_s, mtbf_s, nodes: sqrt(checkpoint_s * mtbf_s / nodes), "2545.58, which is too small"),
    ],
)
def test_wrong_functions(answer: Any, told: str) -> None:
    """The line says with which arguments, and what came out; a function without the nodes is right on one node only."""
    verdict = exercise("12.4").check(answer)
    assert not verdict
    assert told in verdict.text


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"PriorityWeightAge": 1000}, "job e waits for 100 min, at most 40"),
        ({"PriorityWeightFairshare": 1000}, "job d waits for 237 min, at most 215"),
        ({"PriorityWeightAge": 1060, "PriorityWeightFairshare": 100}, "job e waits"),
        ({"PriorityWeightAge": 450, "PriorityWeightFairshare": 100}, "job d waits"),
        (
            {"PriorityWeightAge": 7, "PriorityWeightFairshare": 1},
            "the ratio is right, but priorities are whole numbers",
        ),
        ({"PriorityWeightAge": 11, "PriorityWeightFairshare": 1}, "job e waits"),
        ({"PriorityWeight": 1}, "expected keys of PriorityWeightAge"),
        ({"PriorityWeightAge": -1}, "expected a whole number"),
        (7, "expected weights by key"),
    ],
)
def test_wrong_weights(answer: Any, told: str) -> None:
    """Just beside 50/11 and 10.5, which come out by hand, the weights of age and fair share are wrong."""
    verdict = exercise("14.4").check(answer)
    assert not verdict
    assert told in verdict.text
    assert exercise("14.4").check({"PriorityWeightAge": 460, "PriorityWeightFairshare": 100})
    assert exercise("14.4").check({"PriorityWeightAge": np.int64(1040), "PriorityWeightFairshare": 100})


def test_the_parts_of_a_priority() -> None:
    """Age 40 of 300 minutes, rank 3 of 3, and half plus half of two of four CPUs, times 1000, 2000 and 500."""
    result = fair_share.run(dict(zip(fair_share.WEIGHTS, (1000, 2000, 500), strict=True)))
    assert "priority 2508 (age 133, fairshare 2000, jobsize 375)" in result.explain("e")


class SoFar:
    """The energy so far, each time: early joules count again and again."""

    def begin(self, simulation: Any, maker: Any) -> None:
        """Nothing to note."""

    def leave(self, view: Any) -> None:
        """Nothing to note."""

    def passed(self, view: Any) -> None:
        """Nothing to note."""

    def value(self, view: Any, terminated: bool) -> float:
        """The energy since the beginning, kJ."""
        return float(-view.energy_j / 1000)


class Points(SoFar):
    """A point for each decision."""

    def value(self, view: Any, terminated: bool) -> float:
        """Always the same."""
        return 1.0


class Broken(SoFar):
    """Divides by zero."""

    def value(self, view: Any, terminated: bool) -> float:
        """Never a number."""
        return 1 / 0


def test_wrong_rewards() -> None:
    """What does not add up to minus the energy is told with both sums; what fails, with the line."""
    for answer, told in (
        (SoFar, "in random episode 1 it adds up to"),
        (Points, "kJ"),
        (Broken, "it raises ZeroDivisionError: division by zero (in value, line"),
        (7, "a class with begin, leave, passed and value is asked for"),
        (int, "not one without begin, leave, passed, value"),
    ):
        verdict = exercise("9.5").check(answer)
        assert not verdict
        assert told in verdict.text


class ByRequest(Preemptive):
    """As lesson 11 has it, before it is changed."""

    def __init__(self) -> None:
        super().__init__("suspend")

    def urgency(self, job: Any) -> float:
        """The shorter, the more urgent."""
        return -float(job.requested_time)


@pytest.mark.parametrize(
    ("name", "answer", "told"),
    [
        ("11.4", ByRequest, "mean wait is 2.25 s, at most 2 s"),
        ("11.4", Fcfs, "mean wait is 5.25 s"),
        ("13.4", Fcfs, "mean turnaround is 10.3333 s, at most 10 s"),
        ("13.4", make_scheduler("moldable"), "mean turnaround is 12 s"),
    ],
)
def test_wrong_policies(name: str, answer: Any, told: str) -> None:
    """What the lessons begin with is not good enough."""
    verdict = exercise(name).check(answer)
    assert not verdict
    assert told in verdict.text


def test_shortest_remaining_time_in_the_textbook() -> None:
    """Silberschatz, Galvin and Gagne find a mean wait of 6.5 (and 7.75 without preemption, which the case itself checks)."""
    from examples.shortest_remaining import ShortestRemaining

    assert examples.case("silberschatz-preemptive").run(ShortestRemaining()).summary()["mean_wait_s"] == 6.5
    assert exercise("11.4").check(ShortestRemaining)
