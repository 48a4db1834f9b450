"""Figures as PNG files, drawn by an installed Chromium: nothing is downloaded, and one start draws all figures."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import plotly.graph_objects as go

from analysis.pages.page import figures_html, render
from cluster_sim.errors import InputError
from cluster_sim.files.atomic import write_bytes

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --dump-dom --virtual-time-budget=600000"
)
_PATIENCE_S = 300.0


def browser() -> str | None:
    """Return the first Chromium on the PATH; None without one."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def write_pictures(
    figures: Mapping[str, go.Figure], folder: str | Path, width: int = 1000, scale: float = 1.0
) -> list[Path]:
    """Write ``NAME.png`` for each figure (name → figure) into ``folder``, ``width`` pixels wide times ``scale``.

    Raises InputError if there is no browser, or if it draws nothing.
    """
    program = browser()
    if program is None:
        raise InputError("pictures", f"one of {', '.join(BROWSERS)} on the PATH", "none")
    charts = figures_html(figures.values())
    text = render("pictures.html", heading="pictures", figures=charts, width=width, scale=scale)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        path = Path(scratch, "page.html")
        path.write_text(text, encoding="utf-8")
        command = [program, *_FLAGS.split(), f"--user-data-dir={scratch}/profile", path.as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
        except subprocess.TimeoutExpired:
            raise InputError("pictures", f"pictures from {program} within {_PATIENCE_S:g} s", "none") from None
    drawn = re.search(r'<pre id="pictures">([^<]+)</pre>', done.stdout)
    if drawn is None:
        raise InputError("pictures", f"pictures from {program}", "none")
    written = []
    for name, address in zip(figures, json.loads(drawn[1]), strict=True):
        written.append(Path(folder, f"{name}.png"))
        written[-1].parent.mkdir(parents=True, exist_ok=True)
        write_bytes(written[-1], base64.b64decode(address.partition(",")[2]))
    return written
