"""Lesson 1: FCFS, SJF and what a metric hides."""

from __future__ import annotations

from analysis.lessons.checks import Choice, Exercise, Goal, Number, Schedule
from analysis.lessons.policies import Policy, everybody_runs, nothing_idles

EXERCISES: tuple[Exercise, ...] = (
    Number(
        "1.1",
        5.0,
        5.0,
        "at 13 s both cores are free; h takes one, the ninth job the other: 13 - 8 = 5 s.",
        [
            "Under FCFS the jobs before it start when they did: go on from the table of the worked case.",
            "h starts at 13 s on the core that f gives back or g gives back. The other one is free at the same time.",
        ],
        {
            13.0: "13 s is when it starts; the wait is start minus submission",
            6.0: "that is its turnaround time: wait plus 1 s of running",
        },
        " s",
    ),
    Choice(
        "1.2",
        "c",
        {
            "a": "the mean wait is 3.75 s under FCFS and 2.125 s under SJF: SJF is better by it",
            "b": "the mean slowdown is 2.98 under FCFS and 1.60 under SJF: SJF is better by it",
            "c": "8 s under SJF, 6 s under FCFS: one job pays for all the others, and a mean does not show it",
        },
        ["Look for a number that is larger in the column of SJF.", "Two of the three are means."],
    ),
    Schedule(
        "1.3",
        "short-jobs-first",
        [Goal("makespan_s", 14.0, "makespan", "s", best=14.0)],
        "There are 28 core-seconds of work for two cores, so no schedule ends before 14 s.",
        [
            "28 core-seconds of work and two cores: neither core may idle before 14 s.",
            "The long job c has to start early. One core can run a, c and h one after the other: 4 + 8 + 2 = 14 s.",
            "Start c at 4 s and h at 12 s. The other jobs follow b without a gap, in order of submission.",
        ],
    ),
    Policy(
        "1.4",
        {
            "short-jobs-first": [
                Goal("max_wait_s", 6.0, "longest wait", "s"),
                Goal("mean_wait_s", 3.0, "mean wait", "s"),
            ]
        },
        "short jobs go first, and the longest wait is no longer than under FCFS.",
        [
            "Sort view.pending by a key, and start each job for which view.place finds room.",
            "The key may be a pair: first whether a job has waited too long, then its requested time.",
            "view.now - job.submit_time is the wait so far. In Python, False comes before True.",
        ],
        properties=(everybody_runs, nothing_idles),
    ),
)
