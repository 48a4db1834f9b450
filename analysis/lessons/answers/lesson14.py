"""Lesson 14: fair share and priorities, as Slurm has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.lessons.checks import Choice, Exercise, Number, Verdict
from analysis.lessons.fair_share import LARGEST, run
from cluster_sim.errors import InputError

LATEST_MIN = {"e": 40.0}
LONGEST_MIN = 215.0


class Weights(Exercise):
    """Weights of Slurm's priorities: with them ``e`` and everybody of ``three-users`` wait no longer than is asked for."""

    def _judge(self, answer: Any) -> Verdict:
        try:
            late = self._late(answer)
        except InputError as error:
            return Verdict(False, str(error))
        if late:
            times = LARGEST // max([*answer.values(), 1])
            if times > 1 and not self._late({key: weight * times for key, weight in answer.items()}):
                late = "the ratio is right, but priorities are whole numbers, and these weights so small that rounding decides"
            return Verdict(False, late)
        return Verdict(
            True, "eve's fair share passes ann's age, and bob's does not: age weighs 4.5 to 10.5 times as much."
        )

    def _late(self, weights: Mapping[str, int]) -> str:
        """Return which job waits for too long with these weights; empty: none."""
        waits = run(weights).jobs.set_index("job_id")["wait_time"] / 60
        for job, latest in LATEST_MIN.items():
            if waits[job] > latest:
                return f"job {job} waits for {waits[job]:g} min, at most {latest:g} are asked for"
        if waits.max() > LONGEST_MIN:
            return f"job {waits.idxmax()} waits for {waits.max():g} min, at most {LONGEST_MIN:g} are asked for"
        return ""


EXERCISES: tuple[Exercise, ...] = (
    Number(
        "14.1",
        300,
        300,
        "1000 · 90 / 300.",
        ["The factor is the wait over PriorityMaxAge, both in the same unit.", "90 min of 300 min, times the weight."],
        {0.3: "that is the factor; the weight is 1000", 18000: "5 hours are 300 minutes"},
    ),
    Number(
        "14.2",
        0.25,
        0.25,
        "2^-(0.5 / 0.25) = 2^-2.",
        ["Usage over shares is 0.5 / 0.25.", "2 to the power of minus that."],
        {
            0.5: "that would be for exactly the share",
            4: "minus: who has used more gets less",
            2: "that is the exponent",
        },
    ),
    Choice(
        "14.3",
        "a",
        {
            "a": "the account is the same, so they are ranked within it: ann has used all of it, bob nothing",
            "b": "both want four cores, and size has no weight there",
            "c": "b came 24 minutes earlier; and age has no weight there",
        },
        ["Only the fair share has a weight there.", "How does Fair Tree rank users of one account?"],
    ),
    Weights(
        "14.4",
        [
            "At 60 min: b has waited for 59 min of 300, e for 40. Ranks: e 3/3, b 1/3. For e: 2/3 F > 19/300 A.",
            "At 120 min: b 119, f 95; ranks f 3/3, b 2/3. For b: 24/300 A > 1/3 F. So A > 4.2 F, and A < 10.5 F.",
            "At 180 min d and f are 22 min apart: for d, 22/300 A > 1/3 F.",
        ],
    ),
)
