"""Solutions pass their own checks; plausible wrong answers do not, and are told why."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest

from analysis.lessons import exercise, exercises
from analysis.lessons.checks import Choice, Exercise, Number, Schedule, Verdict
from analysis.lessons.policies import Policy
from cluster_sim import Start
from cluster_sim.platform.node_state import NodeState
from cluster_sim.run.decisions import SwitchOff, WakeAt
from schedulers import ConservativeBackfilling, EasyBackfilling, Fcfs, IdleTimeout, PowerPolicy, Scheduler, Sjf

FCFS_1 = {"a": 0, "b": 0, "c": 4, "d": 6, "e": 8, "f": 10, "g": 12, "h": 13}
FCFS_2 = {"a": 0, "b": 1, "c": 11, "d": 19, "e": 19, "f": 19}
HIGH_CORES = {"a": (0, 1), "b": (0, 0), "c": (1, 1), "d": (6, 0), "e": (8, 1), "f": (8, 0)}
TOGETHER = {
    job: (0, "node0" if job.startswith("m") else "node1") for job in ("m1", "m2", "m3", "m4", "c1", "c2", "c3", "c4")
}
LPT = {"a": 0, "b": 0, "c": 0, "d": 4, "e": 5, "f": 5, "g": 8}
FAST_FIRST = {job: (0, "node0" if job in "abcd" else "node1") for job in "abcdef"}


def of_kind(kind: type[Exercise]) -> list[Any]:
    """All exercises of that kind."""
    return [one for one in exercises().values() if isinstance(one, kind)]


@pytest.mark.parametrize("number", of_kind(Number), ids=lambda one: one.name)
def test_wrong_numbers(number: Number) -> None:
    """Numbers beside the accepted range are too small or too large; known slips are called by their name."""
    width = max(abs(number.low), 1.0)
    assert number.check(number.low)
    assert number.check(number.high)
    assert number.check(number.high * (1 + 1e-12))  # as a sum of floats may come out
    assert number.check(number.low * (1 - 1e-12))
    assert not number.check(number.low - width)
    assert "too large" in number.check(number.high + 7.7 * width).text
    for wrong, slip in number.mistakes.items():
        assert number.check(wrong).text == f"{number.name}, not yet: {slip}"
    for nonsense in ("5", True, [5], float("nan")):
        assert not number.check(nonsense)


@pytest.mark.parametrize("choice", of_kind(Choice), ids=lambda one: one.name)
def test_wrong_choices(choice: Choice) -> None:
    """Exactly one letter is right, in either case; what is no letter of the question is not."""
    assert [letter for letter in choice.why if choice.check(letter)] == [choice.right]
    assert choice.check(f" {choice.right.upper()} ")
    assert choice.check(f"({choice.right})")
    assert f"one of the letters {', '.join(choice.why)}" in choice.check("e").text


@pytest.mark.parametrize(
    ("name", "plan", "told"),
    [
        ("1.3", FCFS_1, "makespan is 15 s, at most 14 s"),
        ("1.3", FCFS_1 | {"h": 12}, "1 free core on node0 at 12 s, found 0"),
        ("2.3", FCFS_2, "mean wait is 9 s, at most 3.5 s"),
        ("2.3", FCFS_2 | {"e": 4, "f": 5}, "mean wait is 4.16667 s"),  # EASY
        ("2.3", FCFS_2 | {"d": 5}, "mean wait is 6.66667 s"),  # conservative
        ("4.3", HIGH_CORES, "makespan is 13 s, at most 12 s"),
        ("4.3", HIGH_CORES | {"f": (3, 0)}, "1 free core on node0 at 3 s, found 0 (b has 2 until 6 s)"),
        ("5.3", TOGETHER, "energy is 950 J, at most 600 J"),
        ("5.3", dict.fromkeys(TOGETHER, (0, "node0")), "1 free core on node0 at 0 s, found 0"),
        ("6.4", FAST_FIRST, "energy is 1080 J, at most 960 J"),
        ("6.4", {job: (0 if job in "abcd" else 12, 1) for job in "abcdef"}, "energy is 1080 J"),  # the slow node alone
        ("8.3", LPT, "makespan is 11 s, at most 9 s"),
    ],
)
def test_wrong_schedules(name: str, plan: dict[str, Any], told: str) -> None:
    """What the lessons' own schedulers do is valid, and not good enough; what cannot be is refused."""
    verdict = exercise(name).check(plan)
    assert not verdict
    assert told in verdict.text


def test_a_schedule_has_a_score() -> None:
    """Longest first reaches 9/11 of what is possible in lesson 8."""
    assert exercise("8.3").check(LPT).score == pytest.approx(9 / 11)


class GivesUp(Scheduler):
    """Stops at the first job that does not fit, in order of requested time."""

    def schedule(self, view: Any) -> Iterable[Start]:
        """Blocking."""
        for job in sorted(view.pending, key=lambda job: job.requested_time):
            placement = view.place(job)
            if placement is None:
                return
            yield Start(job, placement)


class ShortestFirst(Scheduler):
    """As the lesson has it, before it is changed."""

    def schedule(self, view: Any) -> Iterable[Start]:
        """Shortest job first, without blocking."""
        for job in sorted(view.pending, key=lambda job: job.requested_time):
            placement = view.place(job)
            if placement:
                yield Start(job, placement)


class FirstFit(Scheduler):
    """Promises nothing."""

    def schedule(self, view: Any) -> Iterable[Start]:
        """Whatever fits."""
        for job in view.pending:
            placement = view.place(job)
            if placement:
                yield Start(job, placement)


class Lazy(Scheduler):
    """Starts nothing."""

    def schedule(self, view: Any) -> Iterable[Start]:
        """Not one."""
        return []


class Broken(Scheduler):
    """Has a slip of the pen in it."""

    def schedule(self, view: Any) -> Iterable[Start]:
        """Raises NameError."""
        return [Start(jop, view.place(jop)) for job in view.pending]  # type: ignore[name-defined] # noqa: F821


class WantsMore(FirstFit):
    """Cannot be made without an argument."""

    def __init__(self, patience: float):
        self.patience = patience


class Blames(FirstFit):
    """Raises from an error that was never raised itself."""

    def __init__(self) -> None:
        raise ValueError("no") from KeyError("other")


class Greedy(Scheduler):
    """Starts a job twice."""

    def schedule(self, view: Any) -> Iterable[Start]:
        """The same placement again."""
        for job in view.pending:
            placement = view.place(job)
            if placement:
                yield Start(job, placement)
                yield Start(job, placement)


class Careless(Scheduler):
    """Does not look whether there is room."""

    def schedule(self, view: Any) -> Iterable[Start]:
        """Places that may be None."""
        return (Start(job, view.place(job)) for job in view.pending)


class Moody(Scheduler):
    """Another order in every run."""

    runs = 0

    def begin(self, view: Any) -> None:
        """Count the runs."""
        Moody.runs += 1

    def schedule(self, view: Any) -> Iterable[Start]:
        """Forwards, then backwards."""
        for job in view.pending[:: 1 if Moody.runs % 2 else -1]:
            placement = view.place(job)
            if placement:
                yield Start(job, placement)


class NeverCalled(PowerPolicy):
    """A timeout that forgets to ask to be woken."""

    def begin(self, view: Any) -> None:
        """Nothing is idle."""
        self.since: dict[int, float] = {}

    def react(self, view: Any) -> Iterable[SwitchOff]:
        """Only when something happens."""
        for node in view.machine.nodes():
            if node.state is not NodeState.IDLE:
                self.since.pop(node.index, None)
            elif view.now >= self.since.setdefault(node.index, view.now) + 3:
                yield SwitchOff(node.index)


class AllTheTime(PowerPolicy):
    """Asks to be woken for a time that has passed."""

    def react(self, view: Any) -> Iterable[WakeAt]:
        """Yesterday."""
        yield WakeAt(view.now - 1)


@pytest.mark.parametrize(
    ("name", "answer", "told"),
    [
        ("1.4", Sjf(), "waits for 1 core, and a node has 1 free"),  # the library's blocks
        ("1.4", ShortestFirst, "longest wait is 8 s, at most 6 s"),
        ("1.4", FirstFit, "mean wait is 3.75 s, at most 3 s"),
        ("1.4", GivesUp, r"job \d waits for \d cores?, and a node has \d free"),
        ("1.4", Lazy, "job 0 is unfinished at the end"),
        ("1.4", Broken, r"it raises NameError: name 'jop' is not defined \(in (<listcomp>|schedule), line \d+\)"),
        ("1.4", WantsMore, r"'patience' \(when one is made, which is done without arguments\)"),
        ("1.4", Blames, r"it raises ValueError: no \(in __init__, line \d+\)"),
        ("1.4", Greedy, "the simulation refuses it"),
        ("1.4", Careless, "expected a placement, such as view.place finds for a job that fits"),
        ("1.4", Moody, "the same run twice gives different schedules"),
        ("1.4", sorted, "a class derived from schedulers.Scheduler is asked for, not builtin_function_or_method"),
        ("7.4", FirstFit, "a class derived from schedulers.PowerPolicy is asked for, not FirstFit"),
        ("2.4", FirstFit, r"head job \d could have started at \d+ s, and starts at \d+ s"),
        ("2.4", Fcfs(), "case two-promises, its mean wait is 9 s"),
        ("2.4", ConservativeBackfilling(), "case two-promises, its mean wait is 6.66667 s"),
        ("2.4", EasyBackfilling(), "case backfilling-hurts, its mean wait is 3.66667 s"),
        ("7.4", IdleTimeout(0), "mean wait is 0.833333 s"),
        ("7.4", IdleTimeout(2), "mean wait is"),
        ("7.4", IdleTimeout(1e6), "waste is 3040 J"),
        ("7.4", NeverCalled, "waste is 3040 J"),
        ("7.4", AllTheTime, "refuses it|raises"),
        ("7.4", Fcfs, "a class derived from schedulers.PowerPolicy is asked for"),
    ],
)
def test_wrong_policies(name: str, answer: Any, told: str) -> None:
    """Schedulers that come near, and code with a slip in it: the line says which property does not hold, and where."""
    verdict = exercise(name).check(answer)
    assert not verdict
    assert re.search(told, verdict.text), verdict.text


def test_nothing_is_right_before_it_is_answered() -> None:
    """No exercise takes None or an ellipsis for an answer, or shows the answer by being printed."""
    for one in exercises().values():
        for nothing in (None, ...):
            assert one.check(nothing).text == f"{one.name}: no answer yet"
        assert repr(one).startswith(f"Exercise {one.name}")


def test_hints_come_one_after_the_other() -> None:
    """Each exercise has some; after the last one the first comes again."""
    for one in exercises().values():
        shown = [one.hint().text for _ in range(len(one.hints) + 1)]
        assert len(set(shown)) == len(one.hints) >= 2
        assert shown[-1] == shown[0]
        assert all(text.startswith(f"{one.name}, hint ") for text in shown)


def test_there_are_all_kinds() -> None:
    """Numbers, choices, schedules and policies, three exercises a lesson at least."""
    for kind in (Number, Choice, Schedule, Policy):
        assert of_kind(kind)
    counts = [sum(name.startswith(f"{number}.") for name in exercises()) for number in range(1, 15)]
    assert min(counts) >= 3
    assert repr(Verdict(True, "as it is")) == "as it is"
