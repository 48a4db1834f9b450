"""The report of a reproduction: one HTML page that needs nothing else, every text escaped."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from analysis.pages.page import figures_html, render
from analysis.reproduce import learned
from analysis.reproduce.outcome import HEADINGS, cells, claims_csv, counts, markdown, row, slips
from cluster_sim import __version__
from cluster_sim.files.atomic import atomic_files
from cluster_sim.files.json_values import for_json

if TYPE_CHECKING:
    from analysis.reproduce.runner import Reproduction


def page(found: Reproduction, meta: Mapping[str, Any]) -> str:
    """Return the whole page."""
    cost = found.cost
    groups: dict[str, list[tuple[str, tuple[str, ...]]]] = {}  # verdict and cells of each claim
    for one in found.judged:
        groups.setdefault(one.claim.group, []).append((one.verdict.value, cells(one)))
    return render(
        "reproduce.html",
        heading=found.paper.title,
        paper=found.paper,
        counts=counts(found.judged),
        slips=slips(found.judged),
        quick=meta.get("quick"),
        columns=HEADINGS,
        groups=groups,
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


def save(found: Reproduction, out: Path, meta: Mapping[str, Any]) -> Path:
    """Leave the files in ``out``: all of them, or what was there; the path of the report is returned."""
    meta = {"paper": found.paper.name, "version": __version__, "date": datetime.now(UTC).date().isoformat(), **meta}
    document = {
        **meta,
        "title": found.paper.title,
        "citation": found.paper.citation,
        "verdicts": {kind.value: tally for kind, tally in counts(found.judged).items()},
        "untrained agents that pass": slips(found.judged),
        "cost": found.cost,
        "claims": [row(judged) for judged in found.judged],
        "values": found.values,
    }
    texts = {
        "report.html": page(found, meta),
        "results.csv": claims_csv(found.judged),
        "results.json": json.dumps(for_json(document), indent=1) + "\n",
        "results.md": markdown(found, meta),
    }
    with atomic_files(out / "report.html") as aside:
        for name, text in texts.items():
            aside(out / name).write_bytes(text.encode())
    return out / "report.html"
