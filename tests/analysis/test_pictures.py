"""Figures as PNG files."""

from __future__ import annotations

import struct
from pathlib import Path

import plotly.graph_objects as go
import pytest

from analysis.figures import pictures
from analysis.figures.pictures import write_pictures
from cluster_sim.errors import InputError


@pytest.mark.skipif(pictures.browser() is None, reason="needs a Chromium")
def test_figures_become_pictures_of_their_size(tmp_path: Path) -> None:
    """One file for each, as wide as asked and as high as the figure (PNG holds both in bytes 16 to 24)."""
    figures = {
        name: go.Figure(go.Bar(y=[1, 2])).update_layout(height=height) for name, height in (("a", 200), ("b", 320))
    }
    written = write_pictures(figures, tmp_path / "new", width=400)
    assert [path.name for path in written] == ["a.png", "b.png"]
    sizes = [struct.unpack(">II", path.read_bytes()[16:24]) for path in written]
    assert sizes == [(400, 200), (400, 320)]


def test_without_a_browser_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is expected is named."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="chromium"):
        write_pictures({"a": go.Figure()}, tmp_path)
