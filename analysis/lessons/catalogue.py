"""Catalogue of the lessons: their files, titles and exercises."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files

from analysis.lessons.checks import Exercise
from cluster_sim.errors import InputError
from cluster_sim.files.source import load

_TEXTS = files("analysis.lessons") / "texts"
_NAME = re.compile(r"lesson-(\d\d)\.md")
_TITLE = re.compile(r"^# Lesson \d+ · (.+)$", re.MULTILINE)
_OBJECTIVE = re.compile(r"^\*\*Objective\.\*\* (.+?)\n\n", re.MULTILINE | re.DOTALL)
_MINUTES = re.compile(r"^\*\*Time\.\*\* (\d+) minutes", re.MULTILINE)


@dataclass(frozen=True)
class Lesson:
    """Lesson, a MyST Markdown notebook whose cells run as they stand."""

    number: int
    title: str
    objective: str
    minutes: int
    text: str

    @property
    def stem(self) -> str:
        """Return the name of its file without the suffix."""
        return f"lesson-{self.number:02}"


@cache
def lessons() -> dict[int, Lesson]:
    """Return all lessons by number."""
    found = {}
    for entry in sorted(_TEXTS.iterdir(), key=lambda entry: entry.name):
        name = _NAME.fullmatch(entry.name)
        if name:
            number = int(name[1])
            text = entry.read_text(encoding="utf-8")
            title, objective, minutes = (pattern.search(text) for pattern in (_TITLE, _OBJECTIVE, _MINUTES))
            if title is None or objective is None or minutes is None:
                raise InputError(f"lesson {number}", "a title, an objective and a time", text[:40])
            found[number] = Lesson(number, title[1], " ".join(objective[1].split()), int(minutes[1]), text)
    return found


def lesson(number: int) -> Lesson:
    """Return the lesson of that number. Raises InputError when there is none."""
    if number not in lessons():
        raise InputError("lesson", f"a number from {min(lessons())} to {max(lessons())}", number)
    return lessons()[number]


_own: dict[str, Exercise] = {}


@cache
def _built_in() -> dict[str, Exercise]:
    return {
        exercise.name: exercise
        for number in lessons()
        for exercise in import_module(f"analysis.lessons.answers.lesson{number:02}").EXERCISES
    }


def exercises() -> dict[str, Exercise]:
    """Return all exercises by name, ``1.1``, ``1.2``, …, and then the exercises that :func:`add_exercises` added."""
    return _built_in() | _own


def add_exercises(path: str) -> list[str]:
    """Add the exercises of a Python file, its list ``EXERCISES``, and return their names.

    Raises InputError for a file that does not run, lacks the list, or uses the name of a lesson's exercise.
    """
    found = getattr(load(path), "EXERCISES", None)
    if not isinstance(found, list | tuple) or not all(isinstance(one, Exercise) for one in found) or not found:
        raise InputError(path, "EXERCISES, a list of exercises such as Number(…)", found)
    for one in found:
        if one.name in _built_in():
            raise InputError(path, "exercises with names that no lesson has", one.name)
    _own.update({one.name: one for one in found})
    return [one.name for one in found]


def exercise(name: str) -> Exercise:
    """Return the exercise of that name, such as ``1.2``. Raises InputError, which lists the names."""
    if name not in exercises():
        raise InputError("exercise", f"one of {', '.join(exercises())}", name)
    return exercises()[name]
