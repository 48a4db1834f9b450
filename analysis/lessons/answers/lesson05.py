"""Lesson 5: memory contention, against the baseline model."""

from __future__ import annotations

from analysis.lessons.checks import Choice, Exercise, Goal, Number, Schedule

EXERCISES: tuple[Exercise, ...] = (
    Number(
        "5.1",
        15.0,
        15.0,
        "they ask for 30 GB/s and get 20: two thirds each, so 10 s / (2/3) = 15 s.",
        [
            "How much bandwidth do three ask for, and how much is there?",
            "Speedup = what they get / what they ask for. Time = 10 s / speedup.",
        ],
        {
            20.0: "that is for four jobs, each at half speed",
            10.0: "three jobs ask for 30 GB/s; the node has 20",
            6.666667: "contention makes a job slower: divide by the speedup",
        },
        " s",
    ),
    Choice(
        "5.2",
        "a",
        {
            "a": "both placements take 10 s and 600 J in the baseline, so nothing in it could tell a scheduler which is better",
            "b": "the baseline has different clocks, too; what it lacks is that tasks on one processor slow each other",
            "c": "it is too optimistic: 10 s in place of 20, 600 J in place of 950",
        },
        ["Look at the columns of the baseline: what differs?", "Why would one simulate at all?"],
    ),
    Schedule(
        "5.3",
        "memory-and-compute",
        [Goal("energy_j", 600.0, "energy", "J", best=600.0)],
        "Two memory jobs per node ask for just what it has.",
        [
            "How many memory jobs can share a node without being slowed?",
            'Two per node: (0, "node0") for m1 and m2, (0, "node1") for m3 and m4. Each node has room for two more.',
        ],
    ),
    Number(
        "5.4",
        1.16,
        1.18,
        "1051.3 s / 899.2 s = 1.17: most of what the faster clock gains is lost to the memory.",
        [
            "Take the run times of lu0 (fast node) and lu4 (slow node) in the table with contention.",
            "Divide the time on the slow node by the time on the fast node.",
        ],
        {
            2.0: "that is what the baseline says: twice the clock",
            0.855: "divide the other way round: how many times as fast is the fast node",
        },
    ),
)
