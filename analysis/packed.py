"""Figures as HTML that is small: data and plotly.js travel compressed and are unpacked by the browser.

A chart of 20,000 jobs is some 7 MB of text, and plotly.js another 4.8; packed as :mod:`analysis.payload` does, deflated
and in base64 they are a fifth and two fifths of that. Nothing is fetched: browsers since 2023 inflate by themselves
(DecompressionStream). Older ones, which cannot, are told so in place of the figure.
"""

from __future__ import annotations

import base64
import json
import zlib
from functools import cache
from importlib.resources import files
from typing import Any

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from analysis.payload import payload

_FIGURE = """\
<div id="{div}" class="plotly-graph-div" style="height:{height}px"></div>
<script>clusterSim.figure("{data}").then(async figure => {{
  const div = document.getElementById("{div}");
  await clusterSim.ready;
  await Plotly.newPlot(div, figure.data, figure.layout, {config});
  clusterSim.addControls(div);
}}).catch(clusterSim.failed("{div}"));</script>
"""


def figure_html(figure: go.Figure, div_id: str, config: dict[str, Any]) -> str:
    """A figure as a piece of a page that has :func:`scripts` in its head; ``div_id`` is a plain word.

    A chart of jobs also gets a line of controls: search for a job, filters by user and profile.
    """
    return _FIGURE.format(
        div=div_id, height=figure.layout.height or 450, data=packed(payload(figure)), config=json.dumps(config)
    )


def packed(content: bytes) -> str:
    """``content`` deflated, in base64: no character of it can end a script or a string."""
    return base64.b64encode(zlib.compress(content, 9)).decode("ascii")


@cache
def scripts() -> str:
    """plotly.js and the code of the controls, as script elements for the head of a page."""
    own = (files("analysis") / "controls.js").read_text(encoding="utf-8")
    return f'<script>{own}</script>\n<script>clusterSim.load("{packed(get_plotlyjs().encode("utf-8"))}");</script>'
