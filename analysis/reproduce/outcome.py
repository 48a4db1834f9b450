"""A reproduction as files: results.csv, results.json, results.md and report.html; and as text for the terminal."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from analysis.figures.pictures import write_pictures
from analysis.reproduce import learned
from analysis.reproduce.claims import VERDICTS, Judged, Kind
from analysis.reproduce.page import page
from analysis.reproduce.words import controls_in_words, difference_in_words, shown, slips
from cluster_sim import __version__
from cluster_sim.amounts import number
from cluster_sim.files.atomic import atomic_files
from cluster_sim.files.json_values import for_json

if TYPE_CHECKING:
    from analysis.reproduce.paper import Paper, PaperFigure
    from analysis.reproduce.runner import Reproduction


def save_pictures(found: Reproduction, out: Path) -> list[Path]:
    """Leave each figure as ``PAPER-FIGURE.png`` in ``out``. Raises InputError where there is no browser to draw it."""
    return write_pictures({picture(found.paper, figure): go.Figure(figure.plotly) for figure in found.figures}, out)


def picture(paper: Paper, figure: PaperFigure) -> str:
    """Name of a figure's file, without its ending."""
    return re.sub(r"[^a-z0-9]+", "-", f"{paper.name} {figure.name}".lower()).strip("-")


def counts(judged: Iterable[Judged]) -> dict[Kind, dict[str, int]]:
    """Count the claims of each kind with each of its verdicts. Only claims of the first kind are reproductions."""
    found: dict[Kind, dict[str, int]] = {}
    for one in sorted(judged, key=lambda one: list(Kind).index(one.claim.kind)):
        tally = found.setdefault(one.claim.kind, dict.fromkeys(map(str, VERDICTS[one.claim.kind]), 0))
        tally[one.verdict.value] = tally.get(one.verdict.value, 0) + 1
    return found


def row(judged: Judged) -> dict[str, Any]:
    """Return a claim as a row of results.csv."""
    claim = judged.claim
    return {
        "key": claim.key,
        "group": claim.group,
        "what": claim.what,
        "published": claim.published,
        "measured": judged.measured,
        "difference": judged.difference,
        "unit": claim.unit,
        "tolerance": claim.tolerance.text(),
        "kind": claim.kind.name.lower().replace("_", " "),
        "controls": controls_in_words(judged),
        "verdict": judged.verdict.value,
        "why": judged.why,
        "source": claim.source,
        "how": claim.how,
    }


def cells(judged: Judged) -> tuple[str, ...]:
    """Return a claim as people read it, under :data:`HEADINGS`."""
    claim = judged.claim
    measured = shown(judged.measured)
    if len(judged.several) > 1:
        low, high = (number(value, 4) for value in (min(judged.several), max(judged.several)))
        measured += f" ({len(judged.several)} {claim.several}: {low} to {high})"
    return (
        claim.what,
        claim.published.replace("..", " to "),
        measured,
        difference_in_words(judged),
        claim.unit,
        claim.tolerance.text(),
        controls_in_words(judged),
        judged.verdict.value,
        "; ".join(text for text in (claim.how, judged.why) if text),
        claim.source,
    )


def text(found: Reproduction) -> str:
    """Return the text for the terminal: published and measured side by side, then the counts of the verdicts."""
    lines = []
    group = None
    for judged in found.judged:
        if judged.claim.group != group:
            group = judged.claim.group
            lines += ["", group or found.paper.title]
        what, published, measured, difference, unit, _, controls, verdict, _, source = cells(judged)
        beside = f"{published} → {measured} {unit}".rstrip()
        lines.append(f"  {source:<18.18} {what:<52.52} {beside:<38} {difference:>20}  {verdict}")
        if controls:
            lines.append(f"  {'':<18} beside it: {controls}")
    lines.append("")
    for kind, tally in counts(found.judged).items():
        lines.append(f"{kind.value}: " + ", ".join(f"{count} {verdict}" for verdict, count in tally.items()))
    lines += filter(None, [slips(found.judged)])
    cost = found.cost
    spent = f"{cost['computing_s']:.0f} s of CPU in {cost['elapsed_s']:.0f} s, {cost['runs']:.0f} runs"
    return "\n".join([*lines, spent])


def markdown(found: Reproduction, meta: Mapping[str, Any]) -> str:
    """Return the tables for the manual, with command, version and date."""
    cost = found.cost
    lines = [
        f"# {found.paper.title}",
        "",
        f"{found.paper.citation}",
        "",
        f"    {meta.get('command', '')}",
        "",
        f"cluster-sim {meta['version']}, {meta['date']}. {cost['runs']:.0f} runs, {cost['computing_s']:.0f} s of CPU.",
        "",
        "| claims | verdict | how many |",
        "|---|---|---|",
        *(
            f"| {kind.value} | {verdict} | {count} |"
            for kind, tally in counts(found.judged).items()
            for verdict, count in tally.items()
        ),
    ]
    if said := slips(found.judged):
        lines += ["", f"{said}."]
    if meta.get("quick"):
        lines += ["", f"Quick: {found.paper.quick}"]
    lines += ["", *(f"- {note}" for note in found.paper.notes)]
    group: str | None = None
    for judged in found.judged:
        if judged.claim.group != group or group is None:
            group = judged.claim.group
            lines += ["", f"## {group}" if group else "", "", *_table_head(HEADINGS)]
        lines.append(_table_row(cells(judged)))
    if rows := list(learned.lines(found.paper.rows, found.values)):
        lines += ["", f"## {learned.TITLE}", "", learned.LEAD, ""]
        lines += [*_table_head(learned.HEADINGS), *map(_table_row, rows)]
    if meta.get("pictures"):
        lines += ["", "## Figures"]
        for figure in found.figures:
            if figure.name in found.paper.shown:
                lines += ["", f"**{figure.name}** {figure.caption}"]
                lines += ["", f"![{figure.name}]({picture(found.paper, figure)}.png)"]
    return "\n".join(lines) + "\n"


def _table_head(headings: Sequence[str]) -> list[str]:
    return ["| " + " | ".join(headings) + " |", "|---" * len(headings) + "|"]


def _table_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


HEADINGS = (
    "what",
    "published",
    "measured",
    "difference",
    "unit",
    "tolerance",
    "controls",
    "verdict",
    "how, why",
    "source",
)


def claims_csv(judged: Iterable[Judged]) -> str:
    """Return the claims as CSV, a row each."""
    stream = io.StringIO()
    rows = [row(one) for one in judged]
    writer = csv.DictWriter(
        stream, [name for name in rows[0] if name != "how"], extrasaction="ignore", lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


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
