"""Lesson 8: the exact optimum, and how far heuristics are from it."""

from __future__ import annotations

from analysis.lessons.checks import Choice, Exercise, Goal, Number, Schedule

EXERCISES: tuple[Exercise, ...] = (
    Number(
        "8.1",
        22.0,
        22.4,
        "(11 - 9) / 9 = 22.2 %.",
        ["The gap is what the heuristic needs more, relative to the optimum.", "(11 - 9) / 9, in %."],
        {
            18.18: "divide by the optimum, not by the heuristic",
            2.0: "that is in seconds; in % of the optimum, please",
            0.2222: "in %, please",
        },
        " %",
    ),
    Choice(
        "8.2",
        "b",
        {
            "a": "a bound says that nothing is below it; it does not say that something reaches it",
            "b": "27 s of work on three cores take at least 9 s, so a schedule of 9 s cannot be beaten",
            "c": "the search did end, but for this case one need not even search",
        },
        ["Add up the run times.", "What is the least that three cores need for them?"],
    ),
    Schedule(
        "8.3",
        "lpt-three",
        [Goal("makespan_s", 9.0, "makespan", "s", best=9.0)],
        "Three cores with 9 s of work each.",
        [
            "Divide 5, 5, 4, 4, 3, 3 and 3 into three groups with the same sum.",
            "The three short jobs go together: 3 + 3 + 3 = 9.",
            "Start a, b and e at 0 s; f at 3 s, c and d at 5 s, g at 6 s.",
        ],
    ),
    Number(
        "8.4",
        24.7,
        24.9,
        "(3559.99 - 2852.83) / 2852.83 = 24.8 %.",
        ["The best heuristic of the table is the one with the least energy.", "(energy - optimum) / optimum, in %."],
        {
            19.86: "divide by the optimum, not by the heuristic",
            0.248: "in %, please",
            25.32: "there is a better heuristic in the table than low_mem_ops/high_mem_bw",
        },
        " %",
    ),
)
