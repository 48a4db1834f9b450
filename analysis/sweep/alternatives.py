"""What a sweep compares: its alternatives; those that are the same in every run count as one.

One factor makes the rows of tables and figures, in most sweeps the scheduler; each combination of the others is a *panel*.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from analysis.sweep.runs_table import DECIDERS, LARGEST_IS_BEST, POLICY, deciders, factors_of, heuristics, plain, shared
from analysis.tables.display_names import JOB_ORDERS, NODE_ORDERS, names_of_factor
from analysis.tables.wording import label_of, unit_of
from cluster_sim.amounts import scale_of
from cluster_sim.errors import counted
from cluster_sim.records.comparison import Comparison, Difference, Effect, Standing, named
from cluster_sim.records.intervals import CONFIDENCE

MOST_PANELS = 12
_LIST = re.compile(r"list:([^/,]+)/([^,]+)")


@dataclass(frozen=True, slots=True)
class Alternatives:
    """The runs of a sweep, put in order for a reader.

    ``runs`` has the columns ``row`` (the name of a group of equal alternatives), ``panel``, ``replication`` and the
    metrics: a row per group, panel and replication. ``groups`` are the members of each group, by its name. ``factor``
    makes the rows, ``facets`` make the panels. ``across`` is how many panels stand in a row: the values of the last of
    several facets, else 0. ``averaged`` are factors that would make too many panels: means are taken over them. In
    ``learned`` groups an agent decides. ``called`` are the names for people of members; others stand as their specs.
    """

    runs: pd.DataFrame
    factor: str
    facets: tuple[str, ...]
    averaged: tuple[str, ...]
    groups: dict[str, tuple[str, ...]]
    across: int = 0
    learned: frozenset[str] = frozenset()
    called: Mapping[str, str] = field(default_factory=dict)

    @property
    def panels(self) -> list[str]:
        """Return the names of the panels, in the order of the grid; one empty name if there is only one panel."""
        return list(dict.fromkeys(self.runs["panel"]))

    @property
    def replications(self) -> int:
        return int(self.runs["replication"].nunique())

    def order(self, metric: str) -> list[str]:
        """Return the groups from best to worst: by their means relative to each panel's best one, averaged over panels.

        Groups without a value in some panel come last: in the other panels they may have had the easy cases.
        """
        means = self.means(metric)
        best = self.best(metric)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio: pd.DataFrame = best / means if metric in LARGEST_IS_BEST else means / best
        apart = ratio.where(means.ne(best, axis=1), 1.0)[best.index[best.notna()]].mean(axis=1, skipna=False)
        return [str(name) for name in apart.sort_values(kind="stable").index]

    def means(self, metric: str) -> pd.DataFrame:
        """Return the means over replications: a row for each group, a column for each panel."""
        return self.runs.pivot_table(index="row", columns="panel", values=metric, sort=False, dropna=False)

    def best(self, metric: str) -> pd.Series:
        """Return the best mean of each panel."""
        means = self.means(metric)
        best: pd.Series = means.max() if metric in LARGEST_IS_BEST else means.min()
        return best

    def scale(self, metric: str) -> tuple[float, str]:
        """Return what to divide the means of a metric by, and the unit in which people then read them."""
        return scale_of(unit_of(metric), float(np.nanmax(np.abs(self.means(metric).to_numpy(dtype=float)))))

    def of(self, name: str, panel: str, metric: str) -> np.ndarray:
        """Return the values of a group in a panel, one for each replication that has one."""
        rows = self.runs[(self.runs["row"] == name) & (self.runs["panel"] == panel)]
        return rows[metric].dropna().to_numpy(dtype=float)

    def effects(self, metric: str, name: str, against: str, confidence: float = CONFIDENCE) -> list[Effect]:
        """Return what a group makes of a metric against another, in each panel where both have a value."""
        found = []
        for panel in self.panels:
            rows = self.runs[(self.runs["panel"] == panel) & self.runs["row"].isin([name, against])]
            pairs = rows.pivot_table(index="replication", columns="row", values=metric).dropna()
            if {name, against} <= set(pairs) and len(pairs):
                values = pairs[name].to_numpy(dtype=float), pairs[against].to_numpy(dtype=float)
                names = self.label(name), self.label(against)
                found.append(Effect.paired(metric, label_of(metric), unit_of(metric), names, values,
                                           block="replication", case=panel, confidence=confidence))  # fmt: skip
        return found

    def standing(
        self, metric: str, panel: str, confidence: float = CONFIDENCE, *, only_heuristics: bool = False
    ) -> Standing | None:
        """Return which groups are best in a panel, and which are not told apart from the best.

        It is None unless two groups have values.
        """
        rows = self.runs[self.runs["panel"] == panel]
        values = rows.pivot_table(index="replication", columns="row", values=metric, sort=False, dropna=False)
        known = values.dropna(axis="columns", how="all")
        arrays = {
            str(name): known[name].to_numpy(dtype=float)
            for name in known
            if not (only_heuristics and name in self.learned)
        }
        names = {name: self.label(name) for name in arrays}
        label = label_of(metric) + (", heuristics alone" if only_heuristics else "")
        return Standing.of(
            metric, label, unit_of(metric), arrays, block="replication", most=metric in LARGEST_IS_BEST, case=panel,
            called=names, confidence=confidence,
        )  # fmt: skip

    def members(self, name: str) -> list[str]:
        """Return the names of a group's members, in brief."""
        return in_brief(self.groups[name], self.called)

    def label(self, name: str, limit: int = 48) -> str:
        """Return a group's name in a figure: as many members as there is room for, and the number of the others."""
        members = self.members(name)
        text = members[0]
        for place, member in enumerate(members[1:], start=1):
            more = len(members) - place
            longer = f"{text} = {member}"
            if len(longer) + (len(f" + {more - 1} more") if more > 1 else 0) > limit:
                return f"{text} + {more} more"
            text = longer
        return text


def alternatives(runs: pd.DataFrame, metrics: Sequence[str], for_people: bool = False) -> Alternatives:
    """Lay out the runs of a sweep. Groups are equal in all of ``metrics`` in every run.

    ``for_people`` gives schedulers, power policies, platforms and workloads the names of
    ``analysis.tables.display_names``.
    """
    varying = factors_of(runs)
    settings = [name for name in varying if name.startswith("train.")]  # of agents: they belong to the scheduler
    others = [name for name in varying if name not in settings]
    # Compare the deciders, or else any factors, by the one with most values.
    deciding: list[str] = [name for name in ("scheduler", "power_policy") if name in others]
    factor = max(deciding or others or ["scheduler"], key=lambda name: count_of(runs, name))
    # The other factors make panels; if these are too many, means are taken over the factors with most values.
    facets, averaged = [name for name in others if name != factor], []
    while np.prod([count_of(runs, name) for name in facets]) > MOST_PANELS:
        averaged.append(max(facets, key=lambda name: count_of(runs, name)))
        facets.remove(averaged[-1])
    frame = runs.copy()
    frame.attrs["factors"] = [factor, *settings]
    frame["who"] = deciders(frame) if factor in DECIDERS else frame[factor].map(plain)
    frame["panel"] = ""
    if facets:
        prefix = {name: f"{name_of(name)} " if pd.api.types.is_numeric_dtype(frame[name]) else "" for name in facets}
        words = {name: names_of_factor(name, map(plain, frame[name])) if for_people else {} for name in facets}
        texts = [
            [prefix[name] + words[name].get(plain(value), plain(value)) for value in frame[name]] for name in facets
        ]
        frame["panel"] = [", ".join(parts) for parts in zip(*texts, strict=True)]
    by_who = frame.groupby(["who", "panel", "replication"], sort=False)[list(metrics)]
    values, cases = by_who.mean(), by_who.count()
    # A mean over fewer cases than others have could be one of the easy cases.
    values = values.where(cases == cases.groupby(["panel", "replication"]).transform("max")).reset_index()
    groups = _groups(values, list(metrics))
    values = values[values["who"].isin(groups)].rename(columns={"who": "row"})
    across = count_of(runs, facets[-1]) if len(facets) > 1 else 0
    by_heuristics = set(frame["who"].reindex(heuristics(frame).index))
    learned = frozenset(name for name, members in groups.items() if by_heuristics.isdisjoint(members))
    called = names_of_factor(factor, dict.fromkeys(frame["who"])) if for_people else {}
    return Alternatives(values, factor, tuple(facets), tuple(averaged), groups, across, learned, called)


def comparable(runs: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Return the runs with each metric only where all alternatives have it.

    Runs that have none of the metrics there are left out.
    """
    kept = runs.assign(**{metric: shared(runs, metric)[metric].reindex(runs.index) for metric in metrics})
    found: pd.DataFrame = kept[kept[list(metrics)].notna().any(axis=1)]
    found.attrs = runs.attrs
    return found


def compare_sweep(
    runs: pd.DataFrame,
    metrics: Sequence[str],
    confidence: float = CONFIDENCE,
    failed: int = 0,
    for_people: bool = False,
) -> Comparison:
    """Return what can be said of the runs of a sweep, by specs or ``for_people``; ``failed`` other runs have no result.

    Of each metric and each combination of the other factors it says who is best, and who is not told apart from the
    best. Only replications count that all alternatives have (:func:`analysis.sweep.runs_table.shared`).
    """
    found = comparable(runs, metrics)
    used = found if len(found) else runs
    known = [metric for metric in metrics if used[metric].notna().any()]
    sweep = alternatives(used, known, for_people)
    standings = []
    for only_heuristics in (False, True) if sweep.learned else (False,):
        for metric in known if len(found) else ():
            each = (
                sweep.standing(metric, panel, confidence, only_heuristics=only_heuristics) for panel in sweep.panels
            )
            standings += [standing for standing in each if standing is not None]
    policies: list[str] = []
    if POLICY in factors_of(runs):
        from analysis.sweep.policies import policies_sentences, power_policies  # brings plotly

        against = power_policies(runs, confidence, for_people)
        policies = [] if against is None else policies_sentences(against)
    differences = []
    for name in factors_of(runs):
        values = dict.fromkeys(plain(value) for value in runs[name])
        base, *others = names_of_factor(name, values).values() if for_people else values
        differences.append(Difference(name_of(name), base, tuple(others)))
    names = tuple(sweep.order(known[0])) if known else ()
    cautions = [f"{counted(failed, 'run')} failed."] if failed else []
    if not len(found):
        cautions.append("No replication has results of all alternatives: means are of different jobs.")
    elif len(found) < len(runs):
        left_out = f"{counted(len(runs) - len(found), 'run')} of replications in which others have no result"
        cautions.append(f"Left out: {left_out}, so that means are of the same jobs.")
    absent = [
        f"{sweep.label(name)}{f' with {panel}' if panel else ''}"
        for panel in sweep.panels
        for name in sweep.groups
        if not len(sweep.of(name, panel, known[0]))
    ]
    if len(found) and absent:
        cautions.append(f"Without a result in all of these runs, and so not compared there: {named(absent)}.")
    return Comparison(names, tuple(differences), (), (), tuple(standings), tuple(policies), tuple(cautions))


def count_of(runs: pd.DataFrame, factor: str) -> int:
    """Return the number of values of a factor."""
    return len(runs[factor].drop_duplicates())


def name_of(factor: str) -> str:
    """Return a factor's name in words."""
    return factor.removeprefix("train.").replace("_", " ")


def in_brief(members: Sequence[str], called: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return short names of equal alternatives, those for people where they are ``called`` so.

    If they are list schedulers with one order in common, all but the first are named without it.

    >>> in_brief(["fcfs", "list:first/first", "list:edf/first"])
    ['fcfs', 'list:first/first', 'edf']
    >>> in_brief(["list:saf/first", "list:saf/high_mem", "list:f1/first"])
    ['list:saf/first', 'saf/high_mem', 'f1/first']
    """
    orders = [_LIST.fullmatch(member) for member in members]
    jobs, nodes = ({order[half] for order in orders if order} for half in (1, 2))
    found, seen = [], False
    for member, order in zip(members, orders, strict=True):
        if order and seen:
            job, node = (
                (JOB_ORDERS.get(order[1], order[1]), NODE_ORDERS.get(order[2], order[2])) if called else order.groups()
            )
            found.append(job if len(nodes) == 1 else node if len(jobs) == 1 else f"{job}/{node}")
        else:
            found.append(called.get(member, member))
            seen = order is not None or seen
    return found


def in_range(metric: str, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut the ends of intervals to what the metric can be: no metric is negative, and shares are at most 1."""
    return np.maximum(low, 0.0), np.minimum(high, 1.0) if metric in SHARES else high


SHARES = frozenset({"utilisation", "share_delayed"})
"""Metrics that are at most 1."""


def better(metric: str) -> str:
    """Say which direction is better."""
    return "more is better" if metric in LARGEST_IS_BEST else "less is better"


def title_of(metric: str) -> str:
    """Return a metric's name as a heading: ``Mean wait``."""
    text = label_of(metric)
    return text[:1].upper() + text[1:]


def _groups(values: pd.DataFrame, metrics: list[str]) -> dict[str, tuple[str, ...]]:
    """Group the alternatives that have the same values in every panel and replication; the plainest names the group."""
    members: dict[Any, list[str]] = {}
    for who, part in values.groupby("who", sort=False):
        ordered = part.sort_values(["panel", "replication"])
        key = (tuple(ordered["panel"]), tuple(ordered["replication"]), ordered[metrics].to_numpy(dtype=float).tobytes())
        members.setdefault(key, []).append(str(who))
    groups = {}
    for names in members.values():
        # List scheduling comes last, and of it first come, first served is the plainest.
        names.sort(key=lambda name: (name.startswith("list:"), not name.startswith("list:first/")))
        groups[names[0]] = tuple(names)
    return groups
