"""The page of a reproduction: counts, a picture of published against measured, what failed, what is open, the rest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from analysis.figures.figure_style import GRID, LEGEND_ABOVE, styled
from analysis.figures.palette import OKABE_ITO
from analysis.pages.page import figure_html, render
from analysis.reproduce import learned
from analysis.reproduce.claims import VERDICTS, ClaimVerdict, Judged, Kind, as_printed
from analysis.reproduce.words import controls_in_words, difference_in_words, shown, slips
from analysis.tables.run_metrics import cells_html
from analysis.tables.tiles import Tile
from analysis.tables.wording import listing, plotly_text
from cluster_sim.amounts import NOTHING, number
from cluster_sim.errors import counted

if TYPE_CHECKING:
    from analysis.reproduce.runner import Reproduction

FAILED = frozenset(differs for _, differs in VERDICTS.values())
AGREES = frozenset(agrees for agrees, _ in VERDICTS.values())
_LOOKS = {
    ClaimVerdict.REPRODUCED: (OKABE_ITO[0], "circle"),
    ClaimVerdict.NOT_REPRODUCED: (OKABE_ITO[5], "x"),
    ClaimVerdict.NOT_DISCRIMINATING: (OKABE_ITO[1], "diamond"),
    ClaimVerdict.NOT_REPRODUCIBLE: ("#7A8691", "square-open"),
    ClaimVerdict.BEATS: (OKABE_ITO[2], "triangle-up"),
    ClaimVerdict.DOES_NOT_BEAT: (OKABE_ITO[3], "triangle-down"),
    ClaimVerdict.CONSISTENT: (OKABE_ITO[4], "square"),
    ClaimVerdict.INCONSISTENT: ("#22303C", "cross"),
    ClaimVerdict.NOT_RUN: ("#B8B8B8", "circle-open"),
}
"""Colour and shape of each verdict on what is published."""
_EDGE = 1.6
"""Largest value that the picture has room for, in parts of the largest published one."""
_BOUNDS = frozenset({"at-least", "at-most", "more", "holds"})
_HEADINGS = ("what", "published", "measured", "difference", "may differ by", "verdict", "why")


@dataclass(frozen=True, slots=True)
class _Row:
    """A claim as the page shows it: ``source`` stands beneath what it is about, ``cells`` follow."""

    what: str
    source: str
    verdict: str
    cells: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Part:
    """Claims of some verdicts by their group, under a heading. The reader unfolds what is ``folded``."""

    title: str
    text: str
    folded: bool
    groups: Mapping[str, Sequence[_Row]]


def page(found: Reproduction, meta: Mapping[str, Any]) -> str:
    """Return the whole page."""
    cost = found.cost
    parts = [
        _part("Not reproduced", found.judged, FAILED, False),
        _part("Open", found.judged, frozenset(ClaimVerdict) - FAILED - AGREES, True),
        _part("Reproduced", found.judged, AGREES, True),
    ]
    drawn = parity(found.judged)
    agents = list(learned.lines(found.paper.rows, found.values))
    return render(
        "reproduce.html",
        heading=found.paper.title,
        paper=found.paper,
        sentences=[*sentences(found.judged), *filter(None, [slips(found.judged)])],
        tiles=tiles(found.judged),
        parity=None if drawn is None else figure_html(drawn, "parity"),
        caption=parity_caption(found.judged),
        quick=meta.get("quick"),
        headings=_HEADINGS,
        parts=[part for part in parts if part.groups],
        learned=cells_html(learned.HEADINGS, agents, "learned") if agents else None,
        learned_title=learned.TITLE,
        learned_lead=learned.LEAD,
        figures=[
            (figure_html(go.Figure(each.plotly), f"figure{place}"), each) for place, each in enumerate(found.figures)
        ],
        command=str(meta.get("command", "")),
        spent=(
            f"{number(cost['runs'])} simulations, {number(cost['computing_s'], 3)} s of CPU in {number(cost['elapsed_s'], 3)} s; "
            f"{cost['parts']:.0f} parts, {cost['kept_parts']:.0f} of them kept from an earlier call."
        ),
        maker=f"cluster-sim {meta.get('version', '')}, {meta.get('date', '')}.",
    )


def sentences(judged: Iterable[Judged]) -> list[str]:
    """Say of each kind of claims how many agree, how many do not, and how many are open and why."""
    told = []
    by_kind: dict[Kind, list[ClaimVerdict]] = {kind: [] for kind in Kind}
    for one in judged:
        by_kind[one.claim.kind].append(one.verdict)
    for kind, verdicts in by_kind.items():
        if verdicts:
            agrees, differs = VERDICTS[kind]
            tally = {verdict: verdicts.count(verdict) for verdict in ClaimVerdict}
            open_ones = [_some(n, v) for v, n in tally.items() if n and v not in (agrees, differs)]
            left = f"; {listing(open_ones)}" if open_ones else ""
            said = f"{_some(tally[agrees], agrees)}, {_some(tally[differs], differs)}{left}"
            told.append(f"{_SUBJECTS[kind].format(len(verdicts))}: {said}.")
    return told


def _some(count: int, verdict: ClaimVerdict) -> str:
    """Return a number with a verdict: ``1 holds``, ``6 hold``, ``2 do not hold``."""
    words = str(verdict)
    if count != 1:
        words = words.replace("holds", "hold").replace("beats", "beat").replace("does not", "do not")
    return f"{count} {words}"


_SUBJECTS = {
    Kind.PAPER: "Numbers and statements of the paper ({})",
    Kind.OUR_AGENT: "Our default agent against the published one ({})",
    Kind.PRINTED: "Printed numbers that follow from other printed ones ({})",
    Kind.OURS: "Statements made here, not in the paper ({})",
}


def tiles(judged: Sequence[Judged]) -> list[Tile]:
    """Return the figures at the head: the paper's claims by verdict, and how far its numbers are from ours."""
    of_paper = [one for one in judged if one.claim.kind is Kind.PAPER]
    count = {verdict: sum(one.verdict is verdict for one in of_paper) for verdict in ClaimVerdict}
    reproduced, failed = count[ClaimVerdict.REPRODUCED], count[ClaimVerdict.NOT_REPRODUCED]
    alike = count[ClaimVerdict.NOT_DISCRIMINATING]
    waiting = {each: count[each] for each in (ClaimVerdict.NOT_RUN, ClaimVerdict.NOT_REPRODUCIBLE) if count[each]}
    found = [
        Tile("reproduced", str(reproduced), f"of {len(of_paper)} in the paper", "better" if reproduced else ""),
        Tile("not reproduced", str(failed), "see below" if failed else "none", "worse" if failed else ""),
    ]
    if alike:
        found.append(Tile("not discriminating", str(alike), "who has learned nothing agrees as well", "unsure"))
    if waiting:
        found.append(
            Tile("open", str(sum(waiting.values())), listing([f"{n} {v}" for v, n in waiting.items()]), "unsure")
        )
    apart = [abs(place[1] / place[0] - 1) for one in of_paper if (place := _place(one)) and place[0] and _is_run(one)]
    if apart:
        middle = 100 * median(apart)
        text = "below 0.1 %" if 0 < middle < 0.1 else f"{number(middle, 2)} %"
        found.append(Tile("distance from print", text, f"half of {counted(len(apart), 'number')} are nearer"))
    return found


def _is_run(one: Judged) -> bool:
    return one.verdict is not ClaimVerdict.NOT_RUN


def _place(one: Judged) -> tuple[float, float] | None:
    """Return what is published and what is measured; None for statements, bounds, and what was not measured.

    Of a published range it is the end that is nearer, or what is measured if that lies within.
    """
    if one.claim.tolerance.kind in _BOUNDS or one.claim.kind is Kind.OURS:
        return None
    if one.difference is None or one.measured is None or not math.isfinite(one.measured):
        return None
    return one.measured - one.difference, float(one.measured)


def parity(judged: Iterable[Judged]) -> go.Figure | None:
    """Draw published numbers against measured ones; None where nothing is measured.

    Both are in parts of the largest published value of the same group and unit, so that all stand in one picture. What is
    measured beyond the picture stands at its edge.
    """
    places = {id(one): (one, place) for one in judged if (place := _place(one)) is not None}
    if not places:
        return None
    largest: dict[tuple[str, str], float] = {}
    for one, place in places.values():
        key = one.claim.group, one.claim.unit
        largest[key] = max(largest.get(key, 0.0), abs(place[0]))
    figure = go.Figure()
    ends = [0.0, 1.0]
    for verdict, (colour, shape) in _LOOKS.items():
        x, y, texts = [], [], []
        for one, (published, measured) in places.values():
            scale = largest[one.claim.group, one.claim.unit]
            if one.verdict is verdict and scale:
                x.append(published / scale)
                y.append(min(max(measured / scale, -_EDGE), _EDGE))
                texts.append(_hover(one))
        if x:
            ends += [*x, *y]
            mark = {
                "color": colour,
                "symbol": shape,
                "size": 9,
                "line": {"width": 1.5 if "open" in shape else 0},
            }
            name = plotly_text([f"{verdict} ({len(x)})"])[0]
            figure.add_trace(go.Scatter(x=x, y=y, mode="markers", name=name, marker=mark, text=texts, hoverinfo="text"))
    low, high = min(ends) - 0.06, max(ends) + 0.06
    line = {"color": "#5A6772", "width": 1, "dash": "dot"}
    figure.add_shape(type="line", x0=low, y0=low, x1=high, y1=high, line=line, layer="below")
    styled(figure, "", "published, relative to the largest of its part", "measured, on the same scale", height=460)
    figure.update_layout(
        legend=LEGEND_ABOVE | {"xanchor": "left", "x": 0.0},
        margin={"l": 70, "r": 20, "t": 40, "b": 56},
        showlegend=True,
    )
    figure.update_xaxes(range=[low, 1.06], tickformat=".1~f", zeroline=True, zerolinecolor=GRID)
    return figure.update_yaxes(
        range=[low, high], tickformat=".1~f", exponentformat="none", zeroline=True, zerolinecolor=GRID
    )


def _hover(one: Judged) -> str:
    claim = one.claim
    what, group, source, unit = plotly_text([claim.what, claim.group, claim.source, claim.unit])
    published, measured = plotly_text([_published(claim.published), _measured(one)])
    said = f"published {published} {unit}, measured {measured} {unit}".replace(" ,", ",").rstrip()
    return "<br>".join(filter(None, [f"<b>{what}</b>", group, said, f"{one.verdict} · {source}"]))


def parity_caption(judged: Sequence[Judged]) -> str:
    """Say what the picture shows, and what is not in it."""
    published = [one for one in judged if one.claim.kind is not Kind.OURS]
    left = sum(_place(one) is None for one in published)
    told = "On the dotted line: measured as published. Each number is relative to the largest published one of its part and unit."
    if left:
        told += f" {left} others are statements, bounds or not measured, and have no place here."
    return told


def _part(title: str, judged: Iterable[Judged], verdicts: frozenset[ClaimVerdict], folded: bool) -> _Part:
    groups: dict[str, list[_Row]] = {}
    reasons: dict[str, int] = {}
    for one in judged:
        if one.verdict in verdicts:
            groups.setdefault(one.claim.group, []).append(_row(one))
            reasons[one.verdict.value] = reasons.get(one.verdict.value, 0) + 1
    count = sum(reasons.values())
    text = listing([f"{n} {reason}" for reason, n in reasons.items()]) if len(reasons) > 1 else ""
    return _Part(f"{title} ({count})", text, folded, groups)


def _row(one: Judged) -> _Row:
    claim = one.claim
    unit = f" {claim.unit}" if claim.unit else ""
    measured = _measured(one)
    why = [claim.how, one.why, controls_in_words(one)]
    cells = (
        _published(claim.published) + unit,
        measured + (unit if measured != NOTHING else ""),
        difference_in_words(one),
        claim.tolerance.text(),
        one.verdict.value,
        "; ".join(filter(None, why)),
    )
    return _Row(claim.what, claim.source, one.verdict.value.replace(" ", "-"), cells)


def _published(text: str) -> str:
    return text.replace("..", " to ")


def _measured(one: Judged) -> str:
    """Return the measured value in the form in which the paper prints its own, with one more digit."""
    if one.measured is None or isinstance(one.measured, bool):
        return shown(one.measured)
    printed = one.claim.published.partition("..")[0]
    text = as_printed(one.measured, printed)
    if len(one.several) > 1:
        low, high = (as_printed(value, printed) for value in (min(one.several), max(one.several)))
        text += f" ({len(one.several)} {one.claim.several}: {low} to {high})"
    return text
