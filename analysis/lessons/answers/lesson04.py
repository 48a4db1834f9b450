"""Lesson 4: heterogeneous nodes."""

from __future__ import annotations

from analysis.lessons.checks import Choice, Exercise, Goal, Number, Schedule

EXERCISES: tuple[Exercise, ...] = (
    Number(
        "4.1",
        10.0,
        10.0,
        "5 s at 2 GHz are 10e9 operations; at 1 GHz they take 10 s.",
        ["How many operations does f have? Rate times time.", "Half the clock, twice the time."],
        {2.5: "the slow node takes longer, not less", 5.0: "5 s are meant for the fast node"},
        " s",
    ),
    Choice(
        "4.2",
        "b",
        {
            "a": "d runs on the fast node under both, and for 2 s",
            "b": "b takes 12 s there in place of 6, and e, which only the slow node can hold, waits for it until 12 s",
            "c": "c runs on the slow node from 1 to 7 s under both",
        },
        [
            "Who is the last to start, and what does it wait for?",
            "e asks for four cores. Which job holds some of the slow node's for longest?",
        ],
    ),
    Schedule(
        "4.3",
        "fast-and-slow",
        [Goal("makespan_s", 12.0, "makespan", "s", best=12.0)],
        "No schedule that starts jobs at submissions and ends is shorter (lesson 8 says how one knows).",
        [
            "e needs the whole slow node for 4 s. When must it start, to end at 12 s, and what may run there before?",
            "Put b on the fast node, a on the slow one, both at 0 s. d fits beside a on the slow node: 4 s.",
            "Then c and f can go to the fast node at 6 s, when b ends, and e to the slow one at 8 s, when a ends.",
        ],
    ),
)
