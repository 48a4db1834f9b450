"""The report of a reproduction: one HTML page that needs nothing else, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from analysis.pages.page import figures_html, render
from analysis.reproduce import learned
from analysis.reproduce.claims import Judged
from analysis.reproduce.outcome import HEADINGS, cells, counts, slips

if TYPE_CHECKING:
    from analysis.reproduce.runner import Reproduction


def page(found: Reproduction, meta: Mapping[str, Any]) -> str:
    """The whole page."""
    cost = found.cost
    return render(
        "reproduce.html",
        heading=found.paper.title,
        paper=found.paper,
        counts=counts(found.judged),
        slips=slips(found.judged),
        quick=meta.get("quick"),
        columns=HEADINGS,
        groups=_groups(found.judged),
        learned=list(learned.lines(found.paper.rows, found.values)),
        learned_columns=learned.HEADINGS,
        learned_title=learned.TITLE,
        learned_lead=learned.LEAD,
        figures=list(zip(figures_html(go.Figure(each.plotly) for each in found.figures), found.figures, strict=True)),
        command=str(meta.get("command", "")),
        spent=(
            f"{cost['runs']:.0f} simulations, {cost['computing_s']:.1f} s of computing in {cost['elapsed_s']:.1f} s; "
            f"{cost['parts']:.0f} parts, {cost['kept_parts']:.0f} of them kept from an earlier call."
        ),
        maker=f"cluster-sim {meta.get('version', '')}, {meta.get('date', '')}.",
    )


def _groups(judged: Iterable[Judged]) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
    """Verdict and cells of each claim, by group."""
    groups: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for one in judged:
        groups.setdefault(one.claim.group, []).append((one.verdict.value, cells(one)))
    return groups
