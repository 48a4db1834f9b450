"""Lesson 3: wrong walltimes."""

from __future__ import annotations

from analysis.lessons.checks import Choice, Exercise, Number

EXERCISES: tuple[Exercise, ...] = (
    Number(
        "3.1",
        21.0,
        21.0,
        "b started at 1 s and asks for 20 s: all four cores are expected to be free at 21 s.",
        [
            "The scheduler counts on what jobs ask for, not on how long they run.",
            "b is the running job that is expected to end last. When did it start, and how long does it ask for?",
        ],
        {11.0: "that is when b really ends, which the scheduler cannot know", 20.0: "b started at 1 s, not at 0"},
        " s",
    ),
    Choice(
        "3.2",
        "b",
        {
            "a": "EASY goes through the queue in order of submission; a job that asks for more is harder to backfill",
            "b": "e and f end early, c is promised 21 s, and d, which asks until 16 s, fits into the hole from 10 s on",
            "c": "the run times are the same; only what the users ask for is different",
        },
        [
            "Look at when c was promised a start, and at which jobs could go before it.",
            "Did a job run for less time than before?",
        ],
    ),
    Number(
        "3.3",
        2.0,
        2.0,
        "d and b: d would run 3 s and asks for 2 s, b would run 10 s and asks for 9 s.",
        [
            "A job is killed when it has run for as long as it asked for and is not done.",
            "Compare what each job asks for with what it would run, job by job.",
        ],
        {3.0: "a, c and f ask for exactly what they need: they are done in time"},
    ),
    Choice(
        "3.4",
        "c",
        {
            "a": "the mean wait falls from 4.17 to 3 s here, but the head job c waits 2 s longer",
            "b": "exact walltimes gave 4.17 s here, and requests of twice the run time 3 s",
            "c": "twice the run time was good here, the same for all was as bad as FCFS. It depends on the workload, so measure",
        },
        ["Compare all three rows of the table.", "What did the third row do to EASY?"],
    ),
)
