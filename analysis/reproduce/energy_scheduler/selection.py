"""The most promising of several trainings: what a training is worth that was chosen among K.

The thesis says of experiment 2 that several executions were run before the most promising one was selected, and not how many.
Here the training whose test runs reduce most on average is the most promising one. From a number of trainings every choice
of K is looked at: the middle of what is chosen is what a reader may expect of the best of K.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

from analysis.reproduce.agents import SUMMARIES, reductions
from analysis.reproduce.claims import Claim, Values
from analysis.reproduce.controls import UNSEEN, UNTRAINED
from analysis.reproduce.paper import AgentRow

AMONG = (1, 3, 5, 10)
"""Trainings that the most promising one is chosen from."""


def best_of_claims(
    row: AgentRow, case: str, against: str, metric: str, published: Sequence[str], source: str
) -> list[Claim]:
    """Return the claims of a row's three reductions (min, avg, max) of ``metric`` for the best of several trainings.

    It is also what they are chosen by. Controls are as many untrained agents, chosen in the same way.
    """
    group = f"{row.group}; the most promising of several trainings"
    found = []
    for count in AMONG:
        for summary, claim in zip(SUMMARIES, reductions(row, case, against, metric, published, source), strict=True):
            what = f"{row.name}/{case}/{against}/{metric}"
            by, reached = f"{what}/{SUMMARIES[1]}", f"{what}/{summary}"
            found.append(
                replace(
                    claim,
                    key=f"best of {count}/{claim.key}",
                    what=f"best of {count}: {claim.what}",
                    measure=partial(_best_of, count, f"agent/{by}", f"agent/{reached}"),
                    controls={UNTRAINED: partial(_best_of_untrained, count, f"control/{by}", f"control/{reached}")},
                    unseen="",
                    group=group,
                    several=f"choices of {count}",
                )
            )
    return found


def best_of(count: int, by: Sequence[float], reached: Sequence[float]) -> list[float]:
    """Return what the greatest by ``by`` has reached, for every choice of ``count``."""
    return [reached[max(chosen, key=by.__getitem__)] for chosen in combinations(range(len(by)), count)]


def _best_of(count: int, by: str, reached: str, values: Values) -> list[float]:
    if len(values[by]) < count:
        raise KeyError(f"{reached} of {count} trainings")
    return best_of(count, values[by], values[reached])


def _best_of_untrained(count: int, by: str, reached: str, values: Values) -> list[float]:
    both = [[*values[f"{name}/{UNTRAINED}"], *values[f"{name}/{UNSEEN}"]] for name in (by, reached)]
    return best_of(count, *both)
