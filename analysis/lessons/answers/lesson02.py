"""Lesson 2: EASY and conservative backfilling."""

from __future__ import annotations

from analysis.lessons.checks import Choice, Exercise, Goal, Number, Schedule
from analysis.lessons.policies import Policy, everybody_runs, promises_are_kept

EXERCISES: tuple[Exercise, ...] = (
    Number(
        "2.1",
        11.0,
        11.0,
        "b ends at 11 s; a has ended before, so all four cores are free then.",
        [
            "The shadow time is when enough running jobs have ended for the head job.",
            "c asks for all four cores. Which of a and b ends last?",
        ],
        {5.0: "at 5 s a ends, but b still has two cores, and c asks for four", 19.0: "that is when c ends"},
        " s",
    ),
    Choice(
        "2.2",
        "b",
        {
            "a": "e would end at 10 s, before the shadow time 11 s: it delays no job that has a promise",
            "b": "d asks for 2 cores: they are free from 10 s on, but it would run until 13 s, past the shadow time, and c needs "
            "all four cores at 11 s",
            "c": "f would end at 9 s, before the shadow time 11 s: it delays no job that has a promise",
        },
        ["The head job c is promised four cores at 11 s.", "Which job would still run at 11 s?"],
    ),
    Schedule(
        "2.3",
        "two-promises",
        [Goal("mean_wait_s", 3.5, "mean wait", "s"), Goal("makespan_s", 22.0, "makespan", "s")],
        "c gives up its turn; shortest job first does the same here. Neither EASY nor conservative may do that.",
        [
            "Both backfilling schedulers start c at 11 s. What if it waits a little?",
            "d needs two cores for 3 s. At 5 s a ends: start d then.",
            "Start d at 5 s, e and f at 8 s, when d ends, and c when all of them are done.",
        ],
    ),
    Policy(
        "2.4",
        {
            "two-promises": [Goal("mean_wait_s", 4.2, "mean wait", "s")],
            "backfilling-hurts": [Goal("mean_wait_s", 3.5, "mean wait", "s")],
        },
        "it starts what ends before the shadow time, and e is too long for that: no job is delayed by it, here.",
        [
            "Let the first job that does not fit be the head. Its shadow time: go through view.running, by expected_end, "
            "and add up their cores until the head fits.",
            "running.job.requested_cores, running.expected_end and view.free_total are what you need.",
            "Then start each later job for which view.now + job.requested_time <= shadow, and no other.",
        ],
        properties=(everybody_runs, promises_are_kept),
        one_node=True,
    ),
)
