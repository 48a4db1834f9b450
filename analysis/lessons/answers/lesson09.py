"""Lesson 9: an agent learns experiment 1 in a minute."""

from __future__ import annotations

from analysis.lessons.checks import Choice, Exercise, Number

EXERCISES: tuple[Exercise, ...] = (
    Number(
        "9.1",
        20.1,
        20.3,
        "(3575.13 - 2852.83) / 3575.13 = 20.2 %: nothing that never waits can be better.",
        [
            "A reduction is relative to what is reduced: the heuristic's 3575.13 J.",
            "(3575.13 - 2852.83) / 3575.13, in %.",
        ],
        {25.32: "a reduction is relative to the heuristic, a gap to the optimum", 0.202: "in %, please"},
        " %",
    ),
    Choice(
        "9.2",
        "c",
        {
            "a": "it sees features of the jobs and nodes, and has no list of the schedules",
            "b": "the reward is minus the energy of each step; it is not shown the optimum",
            "c": "it has seen these six jobs, again and again, and nothing else: it may do badly on any others",
        },
        [
            "On which jobs was it trained, and on which was it tested?",
            "Would you trust a student who has seen the questions?",
        ],
    ),
    Choice(
        "9.3",
        "b",
        {
            "a": "one seed may be lucky; and the best of many always is",
            "b": "several seeds, all of them shown, say what to expect of the next training",
            "c": "the first seed is one seed: what the others would do is not known",
        },
        ["How much do the curves of two seeds differ?", "What would you get if you trained once more?"],
    ),
)
