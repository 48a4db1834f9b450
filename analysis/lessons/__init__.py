"""Lessons on scheduling: exercises that check themselves, and schedules made by hand.

The lessons are notebooks in MyST Markdown, in the folder ``texts``; ``cluster-sim lesson`` lists, opens and runs them::

    from cluster_sim import examples
    from analysis.lessons import exercise, play

    play(examples.case("short-jobs-first"), {"a": 0, "b": 0, "c": 4, …})   # a schedule made by hand, as a result
    exercise("1.1").check(5)                                               # right, or what is wrong with it
    exercise("1.1").hint()

| module | holds |
|---|---|
| ``catalogue`` | the lessons and exercises |
| ``checks`` | exercises: a number, a choice, a function, a schedule |
| ``policies`` | exercises: a policy that must have properties |
| ``plan`` | schedules made by hand: checked, and played |
| ``fair_share`` | the runs of lesson 14 |
| ``notebook`` | running a lesson's cells; as a notebook file, as a page |
| ``grading``, ``handed_in`` | a class's files: run in processes of their own, points by student and exercise |
| ``answers`` | the exercises of each lesson: the right answers, and why |
"""

from analysis.lessons.catalogue import add_exercises, exercise, exercises, lesson, lessons
from analysis.lessons.checks import Verdict
from analysis.lessons.plan import play

__all__ = ["Verdict", "add_exercises", "exercise", "exercises", "lesson", "lessons", "play"]
