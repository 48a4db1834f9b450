"""HTML pages that need nothing else: they work offline, and nothing in them comes from anywhere.

The templates stand in the folder ``templates``, with the styles and scripts that become part of a page. All pages extend
``base.html``: plotly.js stands in it once, and a content security policy keeps the browser from loading or sending
anything. Every value that a template shows is escaped unless it is Markup, which is what :func:`piece` returns.

A chart of 20,000 jobs is some 7 MB of text, and plotly.js another 4.8. Packed as :mod:`analysis.pages.payload` does,
deflated and in base64, they are a fifth and two fifths of that. Nothing is fetched: browsers since 2023 inflate by
themselves (DecompressionStream). Older browsers show a message in place of the figure.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from analysis.pages.payload import payload
from analysis.pages.redrawn import carried, with_tool
from cluster_sim.errors import InputError
from cluster_sim.files.atomic import atomic_path

# Passed wherever a figure is shown or written. Without the first, plotly 7 offers to upload the chart.
CONFIG: dict[str, Any] = {
    "showSendToCloud": False,
    "displaylogo": False,
    "responsive": True,
    "modeBarButtonsToRemove": ["select2d", "lasso2d"],
}


def render(template: str, **values: Any) -> str:
    """Return the text of a page: a template with these values."""
    return _environment().get_template(template).render(values)


def piece(template: str, **values: Any) -> Markup:
    """Return a part of a page, which other templates take as it is."""
    return Markup(render(template, **values))


def page(heading: str, figures: Iterable[Markup]) -> str:
    """Return a page of figures, or of other pieces."""
    return render("figures.html", heading=heading, figures=figures)


def figure_html(figure: go.Figure, div_id: str) -> Markup:
    """Return a figure as a piece of a page; ``div_id`` is a plain word.

    A Gantt chart becomes a tool, with a table of its jobs beside it (:mod:`analysis.gantt_chart.tool`).
    """
    height = figure.layout.height or 450
    tool = carried(figure)
    still = "" if tool is None else tool.pop("still")
    content = figure.to_dict() if tool is None else with_tool(figure, tool)
    data = packed(payload(content))
    return piece("figure.html", div=div_id, height=height, still=still, data=data, config=CONFIG)


def figures_html(figures: Iterable[go.Figure]) -> list[Markup]:
    """Return :func:`figure_html` of each figure, for a page that has no others."""
    return [figure_html(figure, f"figure{place}") for place, figure in enumerate(figures)]


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


@cache
def _environment() -> Environment:
    loader = PackageLoader("analysis")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False}  # and keys in their own order
    # Styles and scripts are ours and go into a page as they stand.
    environment.globals["source"] = lambda name: Markup(loader.get_source(environment, name)[0])
    environment.globals["plotly_js"] = plotly_js
    return environment


def packed(content: bytes, level: int = 7) -> str:
    """Return ``content`` deflated, in base64: no character of it can end a script or a string.

    Beyond level 7 a chart of 20,000 jobs takes four times as long, and a hundredth of its bytes less.
    """
    return base64.b64encode(zlib.compress(content, level)).decode("ascii")


@cache
def plotly_js() -> str:
    """Return plotly.js, :func:`packed`."""
    return packed(get_plotlyjs().encode("utf-8"), 9)
