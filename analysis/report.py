"""One HTML page that needs nothing else: settings, comparison table, and a Gantt chart per run.

The page works offline. plotly.js stands in it once; a content security policy keeps the browser from loading or
sending anything; and every text that came from input files is escaped.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
from plotly.io import to_html
from plotly.offline import get_plotlyjs

from analysis.gantt_chart import CONFIG, gantt, run_title, time_window
from analysis.tables import comparison_table, headlines, named_runs, table_html
from cluster_sim.errors import InputError
from cluster_sim.formats.atomic import atomic_path

if TYPE_CHECKING:
    from cluster_sim.records import Result

# The settings worth a row, in this order; what else `meta` holds follows under its own key.
_SETTINGS = {
    "scheduler": "Scheduler",
    "power_policy": "Power policy",
    "workload": "Workload",
    "platform": "Platform",
    "contention_model": "Contention model",
    "power_model": "Power model",
    "seed": "Seed",
    "enforce_walltime": "Walltime enforced",
    "quirks": "Quirks",
    "until_s": "Stopped at (s)",
    "origin_s": "Time 0 in the input (s)",
    "command": "Command",
    "version": "Version",
}

# WebGL code in plotly.js is compiled when it runs, hence unsafe-eval; nothing may be fetched from anywhere.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)

_STYLE = """
:root { color-scheme: light; overflow-y: scroll; } /* a bar that comes late would make later charts narrower */
body { font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: #22303c; background: #fff;
       margin: 0 auto; padding: 24px 28px 48px; max-width: 1500px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 6px; }
h2 { font-size: 19px; margin: 34px 0 10px; border-top: 1px solid #e4e8ec; padding-top: 18px; }
.lead { color: #5a6772; margin: 0 0 18px; }
nav a { margin-right: 16px; color: #0072b2; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 14px; border-bottom: 1px solid #e4e8ec; text-align: right; white-space: nowrap; }
thead th { border-bottom: 2px solid #9aa5b1; }
th[scope=row], td:nth-child(2), thead th:first-child { text-align: left; font-weight: 500; }
table.settings td { text-align: left; white-space: normal; overflow-wrap: anywhere; max-width: 560px; }
table.settings thead th { text-align: left; }
details { margin-top: 10px; }
summary { cursor: pointer; color: #0072b2; margin-bottom: 6px; }
tbody tr:hover { background: #f4f7f9; }
footer { color: #5a6772; font-size: 13px; margin-top: 30px; }
"""


def write_report(
    results: Mapping[str, Result] | Result,
    path: str | Path,
    *,
    title: str | None = None,
    **options: Any,
) -> Path:
    """Write the page that compares ``results`` (name → run, or one run) and return its path.

    The charts share one window of time, so that they can be compared by eye. ``options`` go to
    :func:`analysis.gantt`. The file appears whole or not at all. Raises InputError when there is no run or the
    file cannot be written.
    """
    runs = named_runs(results)
    if not runs:
        raise InputError("report", "at least one run", "none")
    windows = [time_window(result) for result in runs.values()]
    options.setdefault("x_range", (min(start for start, _ in windows), max(end for _, end in windows)))
    first = next(iter(runs.values()))
    heading = title or (run_title(first) if len(runs) == 1 else _comparison_title(runs))
    body = [f"<h1>{html.escape(heading)}</h1>", f'<p class="lead">{html.escape(_platform_line(first))}</p>']
    if len(runs) > 1:
        links = "".join(f'<a href="#run{i}">{html.escape(name)}</a>' for i, name in enumerate(runs))
        body.append(f"<nav>Schedules: {links}</nav>")
    table = comparison_table(runs)
    body += [
        f"<h2>{'Summary' if len(runs) == 1 else 'Comparison'}</h2>",
        f'<div class="scroll">{table_html(headlines(table))}</div>',
        f'<details><summary>All metrics</summary><div class="scroll">{table_html(table)}</div></details>',
    ]
    figures = _aligned([gantt(result, **options) for result in runs.values()])
    for position, (name, figure) in enumerate(zip(runs, figures, strict=True)):
        body.append(f'<h2 id="run{position}">{html.escape(name)}</h2>')
        body.append(_figure_html(figure, position))
    body += ["<h2>Settings</h2>", f'<div class="scroll">{_settings_html(runs)}</div>']
    body.append(f"<footer>{html.escape(_maker(first))}. Times are simulated seconds.</footer>")
    return _write_whole(path, _page(heading, body))


def write_gantt(figure: go.Figure | Result, path: str | Path, **options: Any) -> Path:
    """Write one chart, or the chart of a run, as a page of its own and return its path.

    ``options`` go to :func:`analysis.gantt` when a run is given. Raises InputError when the file cannot be
    written.
    """
    chart = figure if isinstance(figure, go.Figure) else gantt(figure, **options)
    heading = "Gantt chart" if isinstance(figure, go.Figure) else run_title(figure)
    return _write_whole(path, _page(heading, [_figure_html(chart, 0)]))


def _aligned(figures: list[go.Figure]) -> list[go.Figure]:
    """Give all charts the same room at the right, so that equal times stand above each other."""
    room = max(figure.layout.margin.r for figure in figures)
    return [figure.update_layout(margin={"r": room}) for figure in figures]


def _comparison_title(runs: Mapping[str, Result]) -> str:
    workload = next(iter(runs.values())).meta.get("workload")
    return " vs ".join(runs) + (f" — {workload}" if workload else "")


def _platform_line(result: Result) -> str:
    platform = result.platform
    return (
        f"{len(result.jobs):,} jobs on platform {platform.id}: "
        f"{platform.node_count:,} nodes, {platform.core_count:,} cores"
    )


def _maker(result: Result) -> str:
    return f"cluster-sim {result.meta.get('version', '')}".strip()


def _settings_html(runs: Mapping[str, Result]) -> str:
    keys = [key for key in _SETTINGS if any(key in result.meta for result in runs.values())]
    keys += sorted({key for result in runs.values() for key in result.meta} - set(keys))
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in ("setting", *runs))
    rows = "".join(
        f'<tr><th scope="row">{html.escape(_SETTINGS.get(key, str(key)))}</th>'
        + "".join(f"<td>{html.escape(_setting(result.meta.get(key)))}</td>" for result in runs.values())
        + "</tr>\n"
        for key in keys
    )
    return f'<table class="settings">\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>'


def _setting(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_setting(item)}" for key, item in value.items()) or "none"
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(_setting(item) for item in value) or "none"
    return str(value)


def _figure_html(figure: go.Figure, position: int) -> str:
    # Plotly writes <, > and / of the data as JavaScript escapes, so no text can end the script.
    return str(to_html(figure, config=CONFIG, include_plotlyjs=False, full_html=False, div_id=f"gantt{position}"))


def _page(heading: str, body: list[str]) -> str:
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        '<head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(heading)}</title>",
        f"<style>{_STYLE}</style>",
        f"<script>{get_plotlyjs()}</script>",
        "</head><body>",
        *body,
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _write_whole(path: str | Path, text: str) -> Path:
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(target.parent, "a folder that files can be written to", error.strerror) from None
    with atomic_path(target) as aside:
        aside.write_text(text, encoding="utf-8")
    return target
