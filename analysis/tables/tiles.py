"""The figures that matter most, as tiles at the head of a page: a name, a value, and what it is compared with."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.tables.wording import listing
from cluster_sim.amounts import amount
from cluster_sim.records.comparison import Effect, Standing
from cluster_sim.workload.fields import MORE_IS_BETTER


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure: ``kind`` is "better", "worse", "unsure" where a change is not shown, or "" where nothing is compared."""

    name: str
    value: str
    note: str = ""
    kind: str = ""

    @classmethod
    def of_effect(cls, effect: Effect) -> Tile:
        """Return the tile of what became of a metric."""
        if effect.value == effect.base and not any(effect.differences):
            return cls(effect.label, effect.text(effect.value), f"the same under {effect.against}")
        value, base = (effect.text(each) for each in (effect.value, effect.base))
        return cls(
            effect.label, value, f"{effect.in_percent()} against {base} under {effect.against}", direction(effect)
        )

    @classmethod
    def of_standing(cls, standing: Standing) -> Tile:
        """Return the tile of the best of several alternatives."""
        value = amount(standing.means[standing.best[0]], standing.unit)
        if standing.following is None and not standing.tied:
            return cls(standing.label, value, "the same under all")
        tied = (
            f", not told apart from {listing([standing.name(name) for name in standing.tied])}" if standing.tied else ""
        )
        behind = standing.following
        following = f"; next {standing.name(behind.name)}, {behind.in_percent()}" if behind is not None else ""
        names = listing([standing.name(name) for name in standing.best])
        return cls(standing.label, value, f"under {names}{tied}{following}")


def direction(effect: Effect) -> str:
    """Return whether an effect is "better", "worse" or "unsure": too small to matter, or not shown by its interval.

    The difference of two runs of one workload is what it is, and needs no interval.
    """
    is_fact = effect.block == "workload" and effect.matters and effect.difference
    if effect.shown is None and not is_fact:
        return "unsure"
    return sense(effect.metric, effect.difference)


def sense(metric: str, change: float) -> str:
    """Return whether a change of a metric, which is not 0, is "better" or "worse"."""
    return "better" if (change > 0) == (metric in MORE_IS_BETTER) else "worse"
