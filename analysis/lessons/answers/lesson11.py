"""Lesson 11: time slices and preemption."""

from __future__ import annotations

from analysis.lessons.checks import Choice, Exercise, Goal, Number
from analysis.lessons.policies import Policy, everybody_runs

EXERCISES: tuple[Exercise, ...] = (
    Number(
        "11.1",
        4,
        4,
        "a has the core until 5 s, then b: 5 - 1.",
        ["Who runs first, and until when?", "b comes at 1 s, and its turn comes when a's quantum is over."],
        {
            5: "that is when it starts; it came at 1 s",
            6: "that is its turnaround time",
            9: "a has the core for 5 s only",
        },
        " s",
    ),
    Number(
        "11.2",
        20,
        20,
        "1 ms of every 5.",
        ["After each quantum comes a switch: 4 ms + 1 ms.", "What share of these 5 ms is the switch?"],
        {25: "that is the switch over the quantum; a round takes both", 0.2: "in %, please"},
        " %",
    ),
    Choice(
        "11.3",
        "b",
        {
            "a": "they run for seconds or for days: the more there would be to gain",
            "b": "memory for all that are suspended, and all nodes of a job switched at the same time",
            "c": "preemption creates no time, and a switch that costs nothing takes none either",
        },
        ["What does a suspended job still hold?", "What do 99 tasks of a job do while the 100th is suspended?"],
    ),
    Policy(
        "11.4",
        {
            "nearly-done": [
                Goal("mean_wait_s", 2.0, "mean wait", "s"),
                Goal("mean_turnaround_s", 6.5, "mean turnaround", "s"),
            ]
        },
        "no order of one core has a smaller mean wait.",
        [
            "A job that has not run yet has all of its requested time left: self.left.get(job.index, job.requested_time).",
            "running = self.view.running_by_index.get(job.index): what has it left, if it is not None?",
            "Store that in self.left before you return it, negated: the job may be suspended next.",
        ],
        properties=(everybody_runs,),
    ),
)
