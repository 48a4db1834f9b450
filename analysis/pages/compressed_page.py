"""Figures and plotly.js made small: they travel compressed in a page and are unpacked by the browser.

A chart of 20,000 jobs is some 7 MB of text, and plotly.js another 4.8. Packed as :mod:`analysis.pages.payload` does,
deflated and in base64, they are a fifth and two fifths of that. Nothing is fetched: browsers since 2023 inflate by
themselves (DecompressionStream). Older browsers show a message in place of the figure.
"""

from __future__ import annotations

import base64
import zlib
from functools import cache

from plotly.offline import get_plotlyjs


def packed(content: bytes, level: int = 7) -> str:
    """Return ``content`` deflated, in base64: no character of it can end a script or a string.

    Beyond level 7 a chart of 20,000 jobs takes four times as long, and a hundredth of its bytes less.
    """
    return base64.b64encode(zlib.compress(content, level)).decode("ascii")


@cache
def plotly_js() -> str:
    """Return plotly.js, :func:`packed`."""
    return packed(get_plotlyjs().encode("utf-8"), 9)
