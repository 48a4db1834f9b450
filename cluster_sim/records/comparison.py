"""A comparison of runs: what differs in the inputs, what became of each metric, the verdicts, and the cautions.

Terminal, pages, JSON and Python all print :attr:`Comparison.sentences`. Whether an effect is shown is decided by the laws of
:mod:`cluster_sim.records.intervals`; the words for it are made here and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from types import MappingProxyType
from typing import Any

import numpy as np

from cluster_sim.amounts import amount, duration, number
from cluster_sim.errors import counted
from cluster_sim.records.intervals import (
    CONFIDENCE,
    FEWEST_BLOCKS,
    ComparisonVerdict,
    blocks_of,
    half_width,
    mean_of,
    told_apart,
    verdict_of,
)

LEAST_CHANGE = 1.0
"""Change in % of the base below which it is too little to matter."""
LEAST_TIME = 10.0
"""Change of a wait in seconds below which it is too little to matter: the bound of the bounded slowdown."""
_MOST_NAMED = 6
_MOST_CASES = 3
_NOT_SET = "not set"


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of the inputs: ``base`` and ``changed`` are the values (empty: not set).

    Of several alternatives ``changed`` has a value each. ``stays`` are the options beside it in a list that remain.
    """

    what: str
    base: str
    changed: str | tuple[str, ...]
    stays: tuple[str, ...] = ()

    def __str__(self) -> str:
        if isinstance(self.changed, tuple):
            values = [text or _NOT_SET for text in dict.fromkeys([self.base, *self.changed])]
            more = f", … ({len(values)} values)" if len(values) > _MOST_NAMED else ""
            return f"{self.what} ({_separator(values).join(values[:_MOST_NAMED])}{more})"
        if not self.changed:
            return f"{self.what} removed (it was {self.base})"
        return f"{self.what} {self.changed} (it was {self.base or _NOT_SET})"


@dataclass(frozen=True, slots=True)
class Effect:
    """The difference of a metric between ``name`` and ``against``, from ``base`` to ``value``.

    ``low`` and ``high`` are the ends of the interval of the difference, paired by ``blocks`` blocks of the kind ``block``
    (NaN: none); ``differences`` has the difference of each block. ``case`` says of which part of the runs. ``floor`` is the
    least difference, in the metric's unit, that matters.
    """

    metric: str
    label: str
    unit: str
    name: str
    against: str
    base: float
    value: float
    low: float = math.nan
    high: float = math.nan
    blocks: int = 1
    block: str = "workload"
    method: str = ""
    differences: tuple[float, ...] = ()
    case: str = ""
    floor: float = 0.0
    confidence: float = CONFIDENCE

    @classmethod
    def paired(
        cls,
        metric: str,
        label: str,
        unit: str,
        names: tuple[str, str],
        values: tuple[np.ndarray, np.ndarray],
        *,
        block: str,
        case: str = "",
        confidence: float = CONFIDENCE,
    ) -> Effect:
        """Return the effect of the first of two ``names`` against the second, each with a value for each block.

        The interval is Student's, of the paired differences. Values that are the same in all blocks are of one block.
        """
        apart = values[0] - values[1]
        value, base = (float(mean_of(each[:, None])[0]) for each in values)
        blocks = blocks_of(dict(enumerate(values)))
        half = float(half_width(apart[:, None], confidence)[0]) if blocks > 1 else math.nan
        mean = float(mean_of(apart[:, None])[0])
        method = "Student, paired" if math.isfinite(half) else ""
        return cls(metric, label, unit, *names, base, value, mean - half, mean + half, blocks, block, method,
                   tuple(apart.tolist()), case, confidence=confidence)  # fmt: skip

    @property
    def difference(self) -> float:
        """Return ``value - base``."""
        return self.value - self.base

    @property
    def relative(self) -> float:
        """Return the difference in % of the base; NaN where that is 0."""
        return 0.0 if self.value == self.base else 100 * self.difference / abs(self.base) if self.base else math.nan

    @property
    def verdict(self) -> ComparisonVerdict:
        """Return whether the metric is less or more, beyond chance."""
        return verdict_of(self.low, self.high, self.blocks)

    @property
    def matters(self) -> bool:
        """Return whether the difference is large enough to be worth a word."""
        return abs(self.difference) >= self.floor and not abs(self.relative) < LEAST_CHANGE

    @property
    def shown(self) -> ComparisonVerdict | None:
        """Return LESS or MORE if that is beyond chance and large enough to matter: it may be coloured."""
        return (
            self.verdict if self.verdict in (ComparisonVerdict.LESS, ComparisonVerdict.MORE) and self.matters else None
        )

    def change(self) -> str:
        """Return the difference with its sign and, if there is one, its interval: ``−10 min (−15 min to −5 min)``."""
        ends = f" ({self._signed(self.low)} to {self._signed(self.high)})" if math.isfinite(self.low) else ""
        return self._signed(self.difference) + ends

    def in_percent(self) -> str:
        """Return the relative difference with its sign and, if there is one, half of its interval: ``+14 ± 21 %``."""
        if not math.isfinite(self.relative):
            return self._signed(self.difference)
        if not math.isfinite(self.low) and self.value >= 10 * self.base > 0:
            return change_in_words(self.value, self.base)
        sign = "−" if self.relative < 0 else "+" if self.relative > 0 else ""
        half = 50 * (self.high - self.low) / abs(self.base) if self.base else math.nan
        around = f" ± {number(half, 2)}" if half > 0 else ""
        return f"{sign}{number(abs(self.relative), 2)}{around} %"

    def text(self, value: float) -> str:
        """Write a value of the metric: times in whole seconds where parts of a second do not matter."""
        return amount(self._rounded(value), self.unit)

    def _rounded(self, value: float) -> float:
        return float(np.rint(value)) if self.floor >= 1 else value

    def _signed(self, value: float) -> str:
        value = self._rounded(value)
        sign = "−" if value < 0 else "+" if value > 0 else ""
        if self.unit == "s":
            return sign + duration(abs(value))
        if self.unit == "%":
            return f"{sign}{number(round(abs(value), 1), 3)} points"
        return sign + (amount(abs(value), self.unit) if self.unit else number(abs(value), 2))

    def sentence(self) -> str:
        """Return the effect and its verdict in words."""
        label = self.label[:1].upper() + self.label[1:]
        before, after = self.text(self.base), self.text(self.value)
        if math.isnan(self.difference):
            return f"{label}: no value in both, so nothing to compare."
        if self.value == self.base and not any(self.differences):
            return f"{label}: {after}, the same."
        if not self.matters:
            least = f"less than {duration(self.floor)} or " if self.floor else "less than "
            return f"{label}: {after} instead of {before}, too little to matter ({least}{LEAST_CHANGE:g} %)."
        parts = f"{after} instead of {before}, {change_in_words(self.value, self.base)}"
        if self.verdict is ComparisonVerdict.VALUES:
            return f"{label}: {parts}{self._too_few()}."
        interval = (
            f"{100 * self.confidence:g} % interval of the change {self._signed(self.low)} to {self._signed(self.high)}"
        )
        interval += f", paired over {counted(self.blocks, self.block)}"
        no_difference = f"{ComparisonVerdict.TIE}; " if self.verdict is ComparisonVerdict.TIE else ""
        return f"{label}: {no_difference}{parts} ({interval})."

    def _too_few(self) -> str:
        if self.blocks == 1:
            return f", in this one {_single(self.block)}"
        values = " and ".join(
            filter(None, [", ".join(map(self._signed, self.differences[:-1])), self._signed(self.differences[-1])])
        )
        return f"; {self.block} by {self.block} {values}: {too_few(self.blocks, self.block)}"


@dataclass(frozen=True, slots=True)
class Standing:
    """The alternatives that have the least of a metric (the most, if that is better), as far as the runs tell.

    ``means`` has all alternatives, the best mean first. ``best`` are those with that mean, ``tied`` the others that are not
    told apart from it. ``following`` is the effect of the next one that is neither, ``values`` what each has in each block.
    """

    metric: str
    label: str
    unit: str
    means: Mapping[str, float]
    best: tuple[str, ...]
    tied: tuple[str, ...]
    following: Effect | None
    blocks: int
    block: str
    most: bool = False
    case: str = ""
    values: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        metric: str,
        label: str,
        unit: str,
        values: Mapping[str, np.ndarray],
        *,
        block: str,
        most: bool = False,
        case: str = "",
        called: Mapping[str, str] = MappingProxyType({}),
        confidence: float = CONFIDENCE,
    ) -> Standing | None:
        """Return how alternatives stand that have a value for each block; None where fewer than two have a mean."""
        best, tied, behind = told_apart(values, most, confidence)
        ordered = [*best, *sorted([*tied, *behind], key=lambda name: (-1 if most else 1) * float(values[name].mean()))]
        if len(ordered) < 2:
            return None
        means = {name: float(mean_of(values[name][:, None])[0]) for name in ordered}
        following = None
        if behind:
            pair = behind[0], best[0]
            following = Effect.paired(metric, label, unit, pair, (values[pair[0]], values[pair[1]]),
                                      block=block, case=case, confidence=confidence)  # fmt: skip
        each = {name: tuple(values[name].tolist()) for name in ordered}
        blocks = blocks_of(values)
        return cls(
            metric, label, unit, means, tuple(best), tuple(tied), following, blocks, block, most, case, each, called
        )

    @property
    def verdict(self) -> ComparisonVerdict:
        """Return VALUES for too few blocks, TIE if others are not told apart from the best, else LESS or MORE."""
        if self.blocks < FEWEST_BLOCKS:
            return ComparisonVerdict.VALUES
        return ComparisonVerdict.TIE if self.tied else ComparisonVerdict.MORE if self.most else ComparisonVerdict.LESS

    @property
    def winners(self) -> tuple[str, ...]:
        """Return who may be marked as best: nobody unless all others are told apart from them."""
        is_shown = self.verdict in (ComparisonVerdict.LESS, ComparisonVerdict.MORE) and self.following is not None
        return self.best if is_shown else ()

    def name(self, name: str) -> str:
        """Return an alternative as a reader knows it."""
        return self.called.get(name, name)

    def sentence(self, most: int = _MOST_NAMED) -> str:
        """Say who stands where, without the metric; ``most`` names stand in a list."""
        least = "most" if self.most else "least"
        among = [*self.best, *self.tied]
        if len(self.means) == len(self.best):
            return f"the same under {self._named(self.best, most)}, {self._amount(self.best[0])}"
        if self.verdict is ComparisonVerdict.TIE:
            told = f"{ComparisonVerdict.TIE} between {self._named(among, most, amounts=True)}"
            told += f", over {counted(self.blocks, self.block)}"
            return told + (f"; {self._next()}" if self.following is not None else "")
        text = f"{least} under {self._named(self.best, most)}, {self._amount(self.best[0])}"
        if self.following is not None:
            text += f"; {self._next()}"
        if self.verdict is ComparisonVerdict.VALUES:
            if self.blocks == 1:
                return f"{text}, in this one {_single(self.block)}"
            shown = [self.best[0], *([self.following.name] if self.following is not None else [])]
            each = "; ".join(
                f"{self.name(name)} {', '.join(amount(v, self.unit) for v in self.values[name])}" for name in shown
            )
            return f"{text}, {self.block} by {self.block} {each}: {too_few(self.blocks, self.block)}"
        return text

    def _next(self) -> str:
        assert self.following is not None
        return f"next {self.name(self.following.name)}, {self.following.in_percent()}"

    def _amount(self, name: str) -> str:
        return amount(self.means[name], self.unit)

    def _named(self, names: Sequence[str], most: int, amounts: bool = False) -> str:
        return named([self.name(name) + (f" ({self._amount(name)})" if amounts else "") for name in names], most)


@dataclass(frozen=True)
class Comparison:
    """Runs compared: what every output says of them.

    Attributes
    ----------
    names : the alternatives, the base first.
    differences : what differs in the inputs.
    soundness : how far the runs can be believed at all, such as how well a replay fits, in sentences.
    effects : what becomes of each metric, with its interval and verdict.
    standings : of several alternatives, which have the least of a metric and which are not told apart from these.
    cautions : what else a reader has to know, in sentences.
    """

    names: tuple[str, ...]
    differences: tuple[Difference, ...] = ()
    soundness: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()
    standings: tuple[Standing, ...] = ()
    remarks: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """Say everything: what differs, how sound it is, the verdicts, the cautions."""
        verdicts = [*standing_sentences(self.standings), *self.remarks]
        if not self.standings:
            are_named = any(isinstance(each.changed, tuple) for each in self.differences)
            verdicts += effect_sentences(self.effects, are_named)
        return (*difference_sentences(self.differences, len(self.names)), *self.soundness, *verdicts, *self.cautions)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for JSON."""
        of_effects = "metric case unit name against base value difference relative low high blocks block method".split()
        return {
            "names": list(self.names),
            "sentences": list(self.sentences),
            "differences": [
                {
                    "what": each.what,
                    "base": each.base or None,
                    "changed": list(each.changed) if isinstance(each.changed, tuple) else each.changed or None,
                    "stays": list(each.stays),
                }
                for each in self.differences
            ],
            "effects": [
                {
                    **{name: getattr(each, name) for name in of_effects},
                    "verdict": str(each.verdict),
                    "matters": each.matters,
                    "differences": list(each.differences),
                }
                for each in self.effects
            ],
            "standings": [
                {
                    **{name: getattr(each, name) for name in ("metric", "case", "unit", "blocks", "block")},
                    "means": dict(each.means),
                    "best": list(each.best),
                    "tied": list(each.tied),
                    "verdict": str(each.verdict),
                }
                for each in self.standings
            ],
            "cautions": [*self.soundness, *self.cautions],
        }

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        return f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in self.sentences)}</ul>"


def difference_sentences(differences: Sequence[Difference], names: int = 2) -> list[str]:
    """Say what differs in the inputs; of lists of options say also what stays."""
    if not differences:
        return ["Nothing differs in the inputs."] if names > 1 else []
    told = [f"What differs: {'; '.join(map(str, differences))}."]
    for stays, group in groupby((each for each in differences if each.stays), key=lambda each: each.stays):
        key = next(group).what.partition(":")[0]
        told.append(f"{key} keeps {', '.join(stays)}.")
    return told


def effect_sentences(effects: Iterable[Effect], are_named: bool) -> list[str]:
    """Return a sentence for each effect; where the alternatives ``are_named`` one for each metric, ordered by verdicts."""
    if not are_named:
        return [effect.sentence() for effect in effects]
    told = []
    without: dict[str, list[str]] = {}
    for (_, name), group in groupby(effects, key=lambda each: (each.metric, each.name)):
        several = list(group)
        known = [each for each in several if not math.isnan(each.difference)]
        if not known:
            without.setdefault(name, []).append(several[0].label)
            continue
        first = known[0]
        parts = []
        for word, belongs in _VERDICTS_IN_WORDS.items():
            chosen = [each for each in known if belongs(each)]
            if chosen:
                are_equal = [not (each.difference or any(each.differences)) for each in chosen]
                pairs = zip(chosen, are_equal, strict=True)
                names = [each.against if equal else f"{each.against} ({each.in_percent()})" for each, equal in pairs]
                parts.append(f"{word} {named(names)}")
        if first.verdict is ComparisonVerdict.VALUES:
            of = f"in this one {_single(first.block)}" if first.blocks == 1 else too_few(first.blocks, first.block)
        else:
            of = f"over {counted(first.blocks, first.block)}, {100 * first.confidence:g} % intervals"
        label = first.label[:1].upper() + first.label[1:]
        told.append(f"{label} under {first.name}, {amount(first.value, first.unit)}: {'; '.join(parts)} ({of}).")
    for name, labels in without.items():
        told.append(f"Not compared under {name}, for want of a value in both runs: {named(labels)}.")
    return told


_VERDICTS_IN_WORDS: Mapping[str, Callable[[Effect], bool]] = {
    "less than under": lambda each: (
        each.verdict is ComparisonVerdict.LESS or each.verdict is ComparisonVerdict.VALUES and each.difference < 0
    ),
    f"{ComparisonVerdict.TIE} from": lambda each: each.verdict is ComparisonVerdict.TIE,
    "the same as under": lambda each: each.verdict is ComparisonVerdict.VALUES and not each.difference,
    "more than under": lambda each: (
        each.verdict is ComparisonVerdict.MORE or each.verdict is ComparisonVerdict.VALUES and each.difference > 0
    ),
}


def standing_sentences(standings: Iterable[Standing]) -> list[str]:
    """Make a sentence for each metric; if there are many cases it counts them."""
    told = []
    for (label, _), group in groupby(standings, key=lambda each: (each.label, each.metric)):
        cases = list(group)
        title = label[:1].upper() + label[1:]
        if len(cases) <= _MOST_CASES:
            told.append(
                f"{title}: {'; '.join(f'with {e.case}, {e.sentence()}' if e.case else e.sentence() for e in cases)}."
            )
            continue
        few_blocks = min(each.blocks for each in cases)
        if any(each.verdict is ComparisonVerdict.VALUES for each in cases):
            alone = _counts(cases, [each.best for each in cases])
            reason = (
                f" ({too_few(few_blocks, cases[0].block)})"
                if few_blocks > 1
                else f" (one {_single(cases[0].block)} each)"
            )
            told.append(f"{title}: {'most' if cases[0].most else 'least'} under {alone} of {len(cases)} cases{reason}.")
            continue
        winners = [each.winners for each in cases]
        open_cases = sum(not each for each in winners)
        alone = _counts(cases, winners)
        parts = [f"{'most' if cases[0].most else 'least'} under {alone} of {len(cases)} cases"] if alone else []
        if open_cases:
            among = _counts(
                cases, [(*each.best, *each.tied) if not won else () for each, won in zip(cases, winners, strict=True)]
            )
            parts.append(
                f"{ComparisonVerdict.TIE} between the best means in {open_cases} of {len(cases)} cases ({among})"
            )
        told.append(f"{title}: {'; '.join(parts)}.")
    return told


def _counts(cases: Sequence[Standing], names: Iterable[Sequence[str]]) -> str:
    """Count in how many cases each name is, the most frequent first: ``a in 3, b in 1``."""
    counts: dict[str, int] = {}
    for each in names:
        for name in each:
            counts[name] = counts.get(name, 0) + 1
    ordered = sorted(counts, key=lambda name: -counts[name])
    shown = [f"{cases[0].name(name)} in {counts[name]}" for name in ordered[:_MOST_NAMED]]
    return ", ".join(shown) + (f" and {len(ordered) - _MOST_NAMED} more" if len(ordered) > _MOST_NAMED else "")


def named(names: Sequence[str], most: int = _MOST_NAMED) -> str:
    """Return a few names as a phrase, and how many more there are: "a, b and 3 more"."""
    shown = list(names[:most]) + ([f"{len(names) - most} more"] if len(names) > most else [])
    if len(shown) < 2:
        return "".join(shown)
    apart = _separator(shown)
    return f"{apart.join(shown[:-1])}{';' if apart == '; ' else ''} and {shown[-1]}"


def _separator(names: Iterable[str]) -> str:
    """Return what stands between names: semicolons where a name has a comma itself."""
    return "; " if any(", " in name for name in names) else ", "


def too_few(blocks: int, block: str) -> str:
    """Say why there is no interval: ``too few weeks (2) for an interval``."""
    return f"too few {block}s ({blocks}) for an interval"


def _single(block: str) -> str:
    """Return the noun for a single block, of which nothing tells how others would be."""
    return "workload" if block == "replication" else block


def change_in_words(value: float, base: float) -> str:
    """Write a change: ``94 % less``; ``3.2 times as much`` from twice on; ``more`` where the base is nothing."""
    if value == base:
        return "the same"
    if value >= 2 * base > 0:
        return f"{number(value / base, 2)} times as much"
    share = f"{number(abs(100 * (value - base) / base), 2)} % " if base else ""
    return f"{share}{'less' if value < base else 'more'}"
