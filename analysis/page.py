"""An HTML page that needs nothing else: it works offline, and nothing in it comes from anywhere.

plotly.js stands in it once; a content security policy keeps the browser from loading or sending anything; and every text
that came from input files is escaped by those who hand it over.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from analysis.packed import scripts
from cluster_sim.errors import InputError
from cluster_sim.formats.atomic import atomic_path

# WebGL code in plotly.js is compiled when it runs, hence unsafe-eval; nothing may be fetched from anywhere.
POLICY = (
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


def page(heading: str, body: Sequence[str]) -> str:
    """The page with these pieces of HTML; ``heading`` is plain text."""
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        '<head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(heading)}</title>",
        f"<style>{_STYLE}</style>",
        scripts(),
        "</head><body>",
        *body,
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def write_whole(path: str | Path, text: str) -> Path:
    """Write ``text`` in one move, making the folder. Raises InputError when it cannot be written."""
    target = Path(path)
    make_folder(target.parent)
    with atomic_path(target) as aside:
        aside.write_text(text, encoding="utf-8")
    return target


def make_folder(folder: Path) -> None:
    """Make a folder, where there is none yet. Raises InputError when that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(folder, "a folder that files can be written to", error.strerror) from None
