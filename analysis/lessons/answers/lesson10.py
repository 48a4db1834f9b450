"""Lesson 10: an honest experiment."""

from __future__ import annotations

from analysis.lessons.checks import Choice, Exercise, Number

EXERCISES: tuple[Exercise, ...] = (
    Number(
        "10.1",
        1.7,
        1.8,
        "mean -4; squares of the deviations 4 + 0 + 4 + 0 + 0 = 8; s = √(8/4) = 1.414; 2.776 · 1.414 / √5 = 1.756.",
        [
            "The mean is -4. Square what each difference is away from it, and add up.",
            "s² is that sum divided by n - 1 = 4. The half-width is 2.776 · s / √5.",
        ],
        {
            1.57: "divide the sum of squares by n - 1 = 4, not by 5",
            3.926: "the spread of a mean is s / √n: divide by √5",
            0.632: "that is s / √5; multiply by the t of four degrees of freedom, 2.776",
        },
        " s",
    ),
    Number(
        "10.2",
        16,
        22,
        "the width falls with √n, so half the width takes about four times as many: 20 (a few less, since t falls, too).",
        ["The half-width is t · s / √n.", "Half the width: √n twice as large."],
        {10: "twice as many make it narrower by √2 only", 7: "the width falls with the square root of n"},
    ),
    Choice(
        "10.3",
        "a",
        {
            "a": "each workload is easy or hard for both schedulers; the difference within it leaves that out",
            "b": "they have the same number of runs",
            "c": "confidence is 95 % in both; another confidence would make both narrower",
        },
        ["What makes the waits of one scheduler differ so much from run to run?", "Look at the table, row by row."],
    ),
    Choice(
        "10.4",
        "d",
        {
            "a": "best of several seeds for one, a single run for the other: the comparison is not fair",
            "b": "jobs that still wait at the end are in no mean wait: a scheduler that starves jobs looks good",
            "c": "the empty machine at the beginning lets the first jobs start at once; with few jobs that weighs much",
            "d": "each of them can turn a result round",
        },
        [
            "Think of each one: could it make a worse scheduler look better?",
            "There is an answer that includes the others.",
        ],
    ),
)
