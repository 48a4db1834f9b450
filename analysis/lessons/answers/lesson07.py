"""Lesson 7: sleeping nodes, and when not to."""

from __future__ import annotations

from analysis.lessons.checks import Choice, Exercise, Goal, Number
from analysis.lessons.policies import Policy, everybody_runs
from schedulers import Fcfs

EXERCISES: tuple[Exercise, ...] = (
    Number(
        "7.1",
        3.4,
        3.5,
        "327 J / 95 W = 3.44 s.",
        [
            "What does a cycle cost: 2 s of switching off at 101 W and 1 s of booting at 125 W?",
            "For how many seconds can the node idle at 95 W for the same energy?",
        ],
        {
            3.0: "that is how long the cycle takes; the question is when it costs less than idling",
            1.72: "an idle node draws 95 W; 190 W is what it draws while it computes",
        },
        " s",
    ),
    Number(
        "7.2",
        7,
        7,
        "timeout:3 wastes 4 · 285 + 285 + 327 = 1752 J however long the last pause is; always-on 95 · (12 + 7) = 1805 J.",
        [
            "What does timeout:3 waste in a last pause of 6 s or more? It idles for 3 s, and then there is one cycle.",
            "always-on wastes 95 · (12 + g) J with a last pause of g s. Compare with 1752 J.",
        ],
        {
            6: "95 · 18 = 1710 J is still less than 1752 J",
            4: "3.44 s is when a cycle at once would pay; the timeout first idles for 3 s",
        },
        " s",
    ),
    Choice(
        "7.3",
        "c",
        {
            "a": "it starts at 3 in both",
            "b": "two nodes go off in either case, those that run job1",
            "c": "job1 gives two nodes back at 3, just when the booted ones are ready; they idle, and go off for nothing",
        },
        [
            "When does job2 start in each of the two schedules?",
            "What do node0 and node1 do from 3 on under the timeout?",
        ],
    ),
    Policy(
        "7.4",
        {"a-long-pause": [Goal("energy_waste_j", 1850.0, "waste", "J"), Goal("mean_wait_s", 0.2, "mean wait", "s")]},
        "it sleeps through the long pause, and stays awake in the short ones.",
        [
            "Note in a dictionary since when each node is idle, and forget it when the node is busy.",
            "view.machine.nodes() gives the nodes; node.index, node.state and view.now are what you need.",
            "Ask to be called again when the time is up: yield WakeAt(since + seconds). Then yield SwitchOff(node.index).",
            "How many seconds? More than the short pauses, so at least 3.",
        ],
        properties=(everybody_runs,),
        power=True,
        scheduler=Fcfs,
    ),
)
