"""Style of the figures other than the Gantt chart: fonts, axes, colours of runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import cycle
from typing import Any, Literal

import plotly.graph_objects as go

from analysis.figures.palette import OKABE_ITO
from analysis.tables.wording import plotly_text, shortened_apart
from cluster_sim.amounts import number

GRID = "#E4E8EC"
MOST_TICKS = 9
LOOK: dict[str, Any] = {
    "plot_bgcolor": "#FFFFFF",
    "paper_bgcolor": "#FFFFFF",
    "font": {"family": "system-ui, Segoe UI, Helvetica, Arial, sans-serif", "size": 12, "color": "#22303C"},
    "hoverlabel": {"align": "left", "font": {"size": 12}},
}
AXIS = {"gridcolor": GRID, "zeroline": False, "linecolor": "#9AA5B1", "showline": True, "ticks": "outside"}
LEGEND_ABOVE = {"orientation": "h", "yanchor": "bottom", "y": 1.0, "xanchor": "right", "x": 1.0}
"""Legend above the plot: figures below each other then have the same width."""
# Runs differ by colour and, past six, by dash.
_DASHES = ("solid", "dash", "dot", "dashdot")


def styled(figure: go.Figure, title: str, x: str, y: str, height: int = 340, **layout: Any) -> go.Figure:
    """Give a figure the common look, and titles to the figure and its axes, which are escaped here."""
    heading, x_title, y_title = plotly_text([title, x, y])
    figure.update_layout(
        title={"text": heading, "x": 0.01, "xanchor": "left", "font": {"size": 16}},
        height=height,
        margin={"l": 80, "r": 30, "t": 56, "b": 56},
        legend={"tracegroupgap": 0, "itemsizing": "constant"},
        xaxis=AXIS | {"title": {"text": x_title}, "exponentformat": "none", "separatethousands": True},
        yaxis=AXIS | {"title": {"text": y_title}, "exponentformat": "SI", "separatethousands": True},
        **LOOK,
    )
    return figure.update_layout(layout)


def run_styles(names: Sequence[str]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield for each run its name for a legend, its colour, and its line."""
    styles = cycle((colour, dash) for dash in _DASHES for colour in OKABE_ITO[:6])
    for name, (colour, dash) in zip(plotly_text(shortened_apart(names, 40)), styles, strict=False):
        yield name, colour, {"color": colour, "dash": dash}


@cache
def transparent(colour: str, share: float) -> str:
    """Return ``#rrggbb`` as a colour that lets the background through; ``share`` is its opacity, 0 to 1."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{share:g})"


def show_log(figure: go.Figure, low: float, high: float, most: int = MOST_TICKS, side: Literal["x", "y"] = "x") -> None:
    """Make the x axes, or the y axes, logarithmic from ``low`` to ``high``, with the ticks of :func:`log_ticks`.

    ``charts.js`` does the same when a page is zoomed.
    """
    update = figure.update_xaxes if side == "x" else figure.update_yaxes
    update(log_ticks(low, high, most))
    figure.layout.meta = {**(figure.layout.meta or {}), "log_ticks": most, "log_side": side}


def log_ticks(low: float, high: float, most: int = MOST_TICKS) -> dict[str, Any]:
    """Return settings of a logarithmic axis of numbers above 0, with ticks that are written in full, unlike plotly's.

    Ticks are 1, 2 and 5 times powers of ten, or 1 and 3 times, if these are at most ``most``; else powers alone.
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for times in ((1, 2, 5), (1, 3), (1,)):
        places = [float(f"{each}e{power}") for power in powers for each in times]
        places = [place for place in places if low / 2 <= place <= high * 2]
        if len(places) <= most:
            break
    return {"tickmode": "array", "tickvals": places, "ticktext": [number(place) for place in places]}
