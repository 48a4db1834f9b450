"""Exercises that check themselves: numbers, choices, functions, schedules made by hand; see also
:mod:`analysis.lessons.policies`.

``check(answer)`` returns a :class:`Verdict`; it never raises, and never tells the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.lessons.plan import play
from cluster_sim.errors import InputError
from cluster_sim.examples import case

NO_ANSWER = "no answer yet"
ROUNDING = 1e-9  # relative


@dataclass(frozen=True)
class Verdict:
    """Verdict of a check: shown as its text, true when the answer is right."""

    right: bool
    text: str
    score: float | None = None  #: Best possible value over the schedule's, 1 at best; only of schedules.
    answered: bool = True  #: False: there was no answer to judge.

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return self.text


class Exercise:
    """Exercise of a lesson. A kind of your own overrides ``_judge``, which returns the verdict."""

    def __init__(self, name: str, hints: Sequence[str]):
        self.name = name
        self.hints = tuple(hints)
        self._shown = 0

    def hint(self) -> Verdict:
        """Return the next hint; after the last one, the first again."""
        number = self._shown % len(self.hints)
        self._shown += 1
        return Verdict(False, f"{self.name}, hint {number + 1} of {len(self.hints)}: {self.hints[number]}")

    def check(self, answer: Any = None) -> Verdict:
        """Return the verdict: whether the answer is right, and if not, what is wrong with it."""
        if answer is None or answer is Ellipsis:
            return Verdict(False, f"{self.name}: {NO_ANSWER}", answered=False)
        verdict = self._judge(answer)
        word = "right" if verdict.right else "not yet"
        return Verdict(verdict.right, f"{self.name}, {word}: {verdict.text}", verdict.score)

    def _judge(self, answer: Any) -> Verdict:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"Exercise {self.name}: answer with .check(…), ask for help with .hint()"


class Number(Exercise):
    """Exercise for a number from ``low`` to ``high``; rounding errors do not count.

    ``mistakes`` are wrong numbers that known slips lead to, each with its slip.
    """

    def __init__(
        self,
        name: str,
        low: float,
        high: float,
        why: str,
        hints: Sequence[str],
        mistakes: Mapping[float, str] | None = None,
        unit: str = "",
    ):
        super().__init__(name, hints)
        self.low, self.high, self.why, self.unit = low, high, why, unit
        self.mistakes = dict(mistakes or {})

    def _judge(self, answer: Any) -> Verdict:
        if isinstance(answer, bool | str) or not isinstance(answer, int | float | np.number):
            return Verdict(False, f"a number is asked for, not {answer!r}")
        value = float(answer)
        if math.isnan(value):
            return Verdict(False, "a number is asked for, not nan")
        if self.low - ROUNDING * abs(self.low) <= value <= self.high + ROUNDING * abs(self.high):
            return Verdict(True, self.why)
        for wrong, slip in self.mistakes.items():
            if math.isclose(value, wrong, rel_tol=1e-3):
                return Verdict(False, slip)
        return Verdict(False, f"{value:g}{self.unit} is too {'small' if value < self.low else 'large'}")


class Choice(Exercise):
    """Exercise for one of several answers, by its letter; ``why`` says of each letter why it is right or wrong."""

    def __init__(self, name: str, right: str, why: Mapping[str, str], hints: Sequence[str]):
        super().__init__(name, hints)
        self.right, self.why = right, dict(why)

    def _judge(self, answer: Any) -> Verdict:
        letter = str(answer).strip(" ().").lower()  # "(b)" is how the lessons write it
        if letter not in self.why:
            return Verdict(False, f"one of the letters {', '.join(self.why)} is asked for, not {answer!r}")
        return Verdict(letter == self.right, self.why[letter])


class Function(Exercise):
    """Exercise for a function of numbers, which must equal ``right`` for each of ``arguments``, to three digits."""

    def __init__(
        self,
        name: str,
        right: Callable[..., float],
        arguments: Sequence[Mapping[str, float]],
        why: str,
        hints: Sequence[str],
    ):
        super().__init__(name, hints)
        self.right, self.arguments, self.why = right, tuple(arguments), why

    def _judge(self, answer: Any) -> Verdict:
        if not callable(answer):
            return Verdict(False, f"a function is asked for, not {answer!r}")
        for arguments in self.arguments:
            call = f"with {', '.join(f'{name}={value:g}' for name, value in arguments.items())}"
            try:
                found = answer(**arguments)
                is_number = isinstance(found, int | float | np.number) and not isinstance(found, bool)
                value = float(found) if is_number else math.nan
            except Exception as error:
                # A student's code may raise anything: the verdict tells it.
                return Verdict(False, f"{call} it raises {type(error).__name__}: {error}")
            if math.isnan(value):
                return Verdict(False, f"{call} it gives {found!r}; a number is asked for")
            if not math.isclose(value, self.right(**arguments), rel_tol=1e-3):
                size = "small" if value < self.right(**arguments) else "large"
                return Verdict(False, f"{call} it gives {value:g}, which is too {size}")
        return Verdict(True, self.why)


@dataclass(frozen=True)
class Goal:
    """Goal for a metric of the summary: ``at_most`` this value; no schedule goes below ``best``, if known."""

    metric: str
    at_most: float
    words: str
    unit: str
    best: float | None = None

    def met(self, value: float) -> bool:
        """Return whether a value is good enough, rounding errors allowed."""
        return value <= self.at_most * (1 + ROUNDING)

    def told(self, value: float) -> str:
        """Return a sentence with the value and the goal."""
        return f"{self.words} is {value:.6g} {self.unit}, at most {self.at_most:.6g} {self.unit} is asked for"


class Schedule(Exercise):
    """Exercise for a schedule of a textbook case, made by hand: a start for each job, and a node if it matters."""

    def __init__(
        self,
        name: str,
        case_name: str,
        goals: Sequence[Goal],
        why: str,
        hints: Sequence[str],
        settings: Mapping[str, Any] | None = None,
    ):
        super().__init__(name, hints)
        self.case_name, self.goals, self.why = case_name, tuple(goals), why
        self.settings: dict[str, Any] = dict(settings or {})

    def _judge(self, answer: Any) -> Verdict:
        try:
            summary = play(case(self.case_name), answer, **self.settings).summary()
        except InputError as error:
            return Verdict(False, str(error))
        for goal in self.goals:
            value = float(summary[goal.metric])
            if not goal.met(value):
                return Verdict(False, f"a valid schedule, but its {goal.told(value)}", _score(goal, value))
        goal = self.goals[0]
        value = float(summary[goal.metric])
        return Verdict(True, f"{goal.words} {value:.6g} {goal.unit}. {self.why}", _score(goal, value))


def _score(goal: Goal, value: float) -> float | None:
    return None if goal.best is None or not value else goal.best / value
