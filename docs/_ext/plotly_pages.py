"""Interactive figures on pages, without the network: plotly.js stands once in the site, and pages with figures load it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from plotly.offline import get_plotlyjs

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def _write_script(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        (Path(app.outdir) / "_static" / "plotly.min.js").write_text(get_plotlyjs(), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("build-finished", _write_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
