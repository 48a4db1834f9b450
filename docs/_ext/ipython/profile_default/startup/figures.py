"""How figures show in the notebooks of the site: an element and the call that draws it; plotly.js once a page."""

from typing import Any

import plotly.io
from plotly.io.base_renderers import MimetypeRenderer


class OnPage(MimetypeRenderer):
    """HTML for a page one folder below the site's root, which is where all notebooks are."""

    def __init__(self) -> None:
        self._loaded = False

    def to_mimebundle(self, figure: dict[str, Any]) -> dict[str, str]:
        """The figure, after the script for the first one of a page."""
        script = False if self._loaded else "../_static/plotly.min.js"
        self._loaded = True
        config = {"showSendToCloud": False, "displaylogo": False, "responsive": True}
        text = plotly.io.to_html(figure, config, full_html=False, include_plotlyjs=script, validate=False)
        return {"text/html": f'<div class="figure-on-page">{text}</div>'}


plotly.io.renderers["on-page"] = OnPage()
plotly.io.renderers.default = "on-page"
