"""Lesson 13: malleable jobs."""

from __future__ import annotations

from analysis.lessons.checks import Choice, Exercise, Goal, Number
from analysis.lessons.policies import Policy, everybody_runs

EXERCISES: tuple[Exercise, ...] = (
    Number(
        "13.1",
        18,
        18,
        "36 of work at a rate of 2.",
        ["Work = rate × time: how much is it?", "The rate on two cores is 2."],
        {24: "half of the cores, but the rate falls from 3 to 2, not to 1.5", 6: "fewer cores make it slower"},
        " s",
    ),
    Number(
        "13.2",
        4.7,
        4.71,
        "1 / (0.1 + 0.9 / 8) = 4.71.",
        ["S(n) = 1 / (s + (1 - s) / n).", "s is 0.1, n is 8."],
        {
            8: "that would be without serial work",
            7.2: "the serial tenth is not free: it takes a tenth of the time alone",
        },
    ),
    Choice(
        "13.3",
        "b",
        {
            "a": "no core is ever idle in it",
            "b": "eight cores work at a rate of 4; two jobs on four cores each would work at 3 + 3",
            "c": "a moldable job has its size chosen once, when it starts",
        },
        ["Look for a core that is idle: is there one?", "What is the rate of eight cores? Of four and four?"],
    ),
    Policy(
        "13.4",
        {"three-widths": [Goal("mean_turnaround_s", 10.0, "mean turnaround", "s")]},
        "cores are left for those that come next.",
        [
            "How many cores would you give a, if you knew that b comes?",
            "min(job.max_cores, view.free_total, …): a third bound.",
            "A third bound of four cores does it; a job whose min_cores is more needs at least these.",
        ],
        properties=(everybody_runs,),
    ),
)
