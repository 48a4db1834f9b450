"""A judged claim in words: what was measured, how far it is from print, what its controls reach."""

from __future__ import annotations

from collections.abc import Iterable

from analysis.reproduce.claims import VERDICTS, Judged
from cluster_sim.amounts import NOTHING, number
from cluster_sim.errors import counted

_NOT_RELATIVE = frozenset({"points", "runs", "range", "at-least", "at-most", "more", "among"})


def shown(value: float | bool | None) -> str:
    """Return a measured value as people read it."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value, 7)


def difference_in_words(judged: Judged) -> str:
    """Return measured − published, and in % of the published value where the tolerance is relative to it."""
    if judged.difference is None:
        return NOTHING
    text = f"{judged.difference:+.3g}"
    if judged.claim.tolerance.kind not in _NOT_RELATIVE and isinstance(judged.measured, float):
        published = judged.measured - judged.difference
        if published:
            text += f" ({100.0 * judged.difference / abs(published):+.2g} %)"
    return text.replace("-", "−")


def controls_in_words(judged: Judged) -> str:
    """Say what the controls reach, and which of them agree with the paper as well."""
    told = []
    for control in judged.controls:
        if control.values:
            low, high = (number(value, 4) for value in (min(control.values), max(control.values)))
            reached = low if len(control.values) == 1 else f"{low} to {high}"
            passing = f", {control.agreeing} of {len(control.values)} pass" if control.agreeing else ""
            told.append(f"{control.name} {reached}{passing}")
    return "; ".join(told)


def slips(judged: Iterable[Judged]) -> str:
    """Say how often untrained agents would have had a verdict that speaks for an agent.

    These are untrained agents whom no verdict has asked.
    """
    tried = [one.unseen for one in judged if one.unseen is not None and one.verdict is VERDICTS[one.claim.kind][0]]
    tries = sum(len(each.values) for each in tried)
    passed = sum(each.agreeing for each in tried)
    if not tries:
        return ""
    return (
        f"{counted(len(tried), 'row')} of agents reproduced, or better than published: untrained agents whom no verdict has "
        f"asked would have had as much in {passed} of {tries} tries ({100.0 * passed / tries:.2g} %)"
    )
