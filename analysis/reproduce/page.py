"""The report of a reproduction: one HTML page that needs nothing else, every text escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from analysis.gantt_chart import CONFIG
from analysis.packed import figure_html, scripts
from analysis.page import POLICY
from analysis.reproduce.claims import Judged, Verdict
from analysis.reproduce.outcome import HEADINGS, cells, counts

if TYPE_CHECKING:
    from analysis.reproduce.paper import Figure
    from analysis.reproduce.runner import Reproduction

_STYLE = """
:root { color-scheme: light; overflow-y: scroll; }
body { font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: #22303c; background: #fff;
       margin: 0 auto; padding: 24px 28px 48px; max-width: 1400px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 6px; }
h2 { font-size: 19px; margin: 34px 0 10px; border-top: 1px solid #e4e8ec; padding-top: 18px; }
.lead { color: #5a6772; margin: 0 0 12px; }
.quick { background: #fff4d6; padding: 8px 12px; border-radius: 4px; }
.counts span { display: inline-block; margin-right: 26px; }
.counts b { font-size: 24px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px; }
th, td { padding: 4px 12px; border-bottom: 1px solid #e4e8ec; text-align: left; vertical-align: top; }
thead th { border-bottom: 2px solid #9aa5b1; font-weight: 600; }
td:nth-child(n+2):nth-child(-n+4) { text-align: right; white-space: nowrap; }
td:nth-child(7) { max-width: 420px; color: #5a6772; }
tr.reproduced td:nth-child(6) { color: #00734f; }
tr.not-reproduced td:nth-child(6) { color: #b3440e; font-weight: 600; }
tr.not-reproducible td:nth-child(6), tr.not-run td:nth-child(6) { color: #5a6772; font-style: italic; }
pre { background: #f4f7f9; padding: 8px 12px; overflow-x: auto; }
footer { color: #5a6772; font-size: 13px; margin-top: 30px; }
"""


def page(found: Reproduction, meta: Mapping[str, Any]) -> str:
    """The whole page."""
    paper = found.paper
    body = [
        f"<h1>{html.escape(paper.title)}</h1>",
        f'<p class="lead">{html.escape(paper.citation)}</p>',
        _counts(found.judged),
    ]
    if meta.get("quick"):
        body.append(
            f'<p class="quick">Quick: {html.escape(paper.quick)} Run it without --quick for the full figures.</p>'
        )
    body += ["<ul>", *(f"<li>{html.escape(note)}</li>" for note in paper.notes), "</ul>"]
    body += [_table(group, judged) for group, judged in _groups(found.judged)]
    body += ["<h2>Figures</h2>" if found.figures else ""]
    body += [_figure(figure, position) for position, figure in enumerate(found.figures)]
    body += ["<h2>How it came about</h2>", _how(found, meta)]
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        '<head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(paper.title)}</title>",
        f"<style>{_STYLE}</style>",
        scripts() if found.figures else "",
        "</head><body>",
        *body,
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _counts(judged: Iterable[Judged]) -> str:
    spans = (f"<span><b>{count}</b> {html.escape(verdict)}</span>" for verdict, count in counts(judged).items())
    return f'<p class="counts">{"".join(spans)}</p>'


def _groups(judged: Iterable[Judged]) -> Iterable[tuple[str, list[Judged]]]:
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        groups.setdefault(one.claim.group, []).append(one)
    return groups.items()


def _table(group: str, judged: Iterable[Judged]) -> str:
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in HEADINGS)
    rows = "".join(
        f'<tr class="{_css(one.verdict)}">'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells(one))
        + "</tr>\n"
        for one in judged
    )
    heading = f"<h2>{html.escape(group or 'Published and reproduced')}</h2>"
    return f'{heading}<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table></div>'


def _css(verdict: Verdict) -> str:
    return verdict.value.replace(" ", "-")


def _figure(figure: Figure, position: int) -> str:
    drawn = figure_html(go.Figure(figure.plotly), f"figure{position}", CONFIG)
    caption = f'<p class="lead"><b>{html.escape(figure.name)}</b> {html.escape(figure.caption)}</p>'
    return f"{drawn}{caption}"


def _how(found: Reproduction, meta: Mapping[str, Any]) -> str:
    cost = found.cost
    spent = (
        f"{cost['runs']:.0f} simulations, {cost['computing_s']:.1f} s of computing in {cost['elapsed_s']:.1f} s; "
        f"{cost['parts']:.0f} parts, {cost['kept_parts']:.0f} of them kept from an earlier call."
    )
    maker = f"cluster-sim {meta.get('version', '')}, {meta.get('date', '')}. Times are simulated seconds."
    return (
        f"<pre>{html.escape(str(meta.get('command', '')))}</pre><p>{html.escape(spent)}</p>"
        f"<footer>{html.escape(maker)}</footer>"
    )
