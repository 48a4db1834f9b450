"""Lesson 6: energy, EDP, idle power."""

from __future__ import annotations

from analysis.lessons.checks import Choice, Exercise, Goal, Number, Schedule

EXERCISES: tuple[Exercise, ...] = (
    Number(
        "6.1",
        100.0,
        100.0,
        "40 W for the processor and 3 · 20 W for its cores.",
        ["A busy processor draws its static power once, however many cores are busy.", "40 W + 3 · 20 W."],
        {
            60.0: "the static power counts, too, as soon as one core is busy",
            180.0: "the static power counts once, not for each core",
        },
        " W",
    ),
    Choice(
        "6.2",
        "b",
        {
            "a": "without idle power the slow node alone needs 600 J, both together 840 J",
            "b": "600 J against 840 J in energy, but 600 · 24 = 14 400 J s against 840 · 12 = 10 080 J s in EDP",
            "c": "the slow node alone takes 24 s, both together 12 s",
        },
        ["Look at the row without idle power.", "EDP = energy × makespan."],
    ),
    Number(
        "6.3",
        13.3,
        13.4,
        "600 + 24 x = 840 + 6 x gives x = 240 / 18 = 13.33 W.",
        [
            "Call the idle watts of the fast node x, and write the energy of both schedules with it.",
            "Alone: the fast node idles for 24 s. Together: for 6 s, from 6 to 12 s.",
        ],
        {10.0: "together, too, the fast node idles: for 6 s", 20.0: "with 20 W both together are better by 120 J"},
        " W",
    ),
    Schedule(
        "6.4",
        "energy-or-edp",
        [Goal("energy_j", 960.0, "energy", "J", best=960.0), Goal("makespan_s", 12.0, "makespan", "s")],
        "As much as possible goes to the node with few watts, as long as that makes nothing later.",
        [
            "With 12 s, the slow node can run four of the jobs, and no more.",
            "Which is cheaper on the fast node: two jobs together, or one after the other? Count its busy seconds.",
            'Start all six at 0 s: four on "node1", two on "node0".',
        ],
    ),
)
