"""Lesson 12: failures, checkpoints and Daly."""

from __future__ import annotations

from analysis.lessons.checks import Choice, Exercise, Function, Number
from cluster_sim.workload.parts import YOUNG, optimum_interval

EXERCISES: tuple[Exercise, ...] = (
    Number(
        "12.1",
        28,
        28,
        "10 s of work are saved at 11 s; restart from 16 to 18 s, and 10 s of work.",
        [
            "What is saved at 14 s, and when was the checkpoint done?",
            "From 16 s: a restart, and what is left. The last work needs no checkpoint.",
        ],
        {
            36: "the 10 s of work that were saved at 11 s are not lost",
            26: "going on from a checkpoint takes 2 s, too",
            29: "there is no checkpoint when the work is done",
        },
        " s",
    ),
    Number(
        "12.2",
        43.8,
        43.8,
        "5 · 365 · 24 / 1000.",
        ["M = MTBF of a node / n.", "How many hours have five years?"],
        {1.825: "that is in days", 43800: "that is the MTBF of one node; a thousand fail a thousand times as often"},
        " h",
    ),
    Choice(
        "12.3",
        "b",
        {
            "a": "√(2 δ M) has δ under the root",
            "b": "√(1/4) = 1/2: twice as many checkpoints, each of a quarter of the time",
            "c": "a checkpoint that costs less is worth making more often",
        },
        ["Put δ / 4 in the place of δ in Young's formula.", "What is the root of 1/4?"],
    ),
    Function(
        "12.4",
        lambda checkpoint_s, mtbf_s, nodes: optimum_interval(YOUNG, checkpoint_s, mtbf_s / nodes),
        [
            {"checkpoint_s": 300, "mtbf_s": 21600, "nodes": 1},
            {"checkpoint_s": 60, "mtbf_s": 157680000, "nodes": 1000},
            {"checkpoint_s": 600, "mtbf_s": 86400, "nodes": 4},
        ],
        "√(2 δ M) with M = MTBF / nodes.",
        ["First the job's own MTBF: mtbf_s / nodes.", "from math import sqrt; sqrt(2 * checkpoint_s * …)"],
    ),
)
