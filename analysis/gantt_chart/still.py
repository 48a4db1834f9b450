"""The still picture of a Gantt chart: what a page shows until plotly has drawn, as SVG of the same rectangles.

Few rectangles are drawn one by one; of many, a cell of rows and time has the colour of the jobs that hold most of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from markupsafe import Markup

from analysis.figures.time_axis import TimeAxis
from analysis.gantt_chart.rectangles import busy_fraction
from analysis.pages.page import piece

MOST_EXACT = 4_000
"""Number of rectangles up to which each of them is drawn."""
MOST_CHARACTERS = 130_000
"""Length of the picture of a run's rows; a finer grid than it allows is not tried."""
_GRIDS = ((480, 160), (320, 120), (280, 100), (240, 90), (200, 80), (160, 60), (80, 40))  # columns and rows
_SHADES = (0.4, 0.7, 1.0)  # by the share of a cell that is held, as in gantt_traces.js
_LEAST = 0.02  # share of a cell that is held, below which it stays empty
_WIDE, _HIGH = 3_000, 1_000  # units of the picture
_POINTS = 300  # of a curve
_OFF = "#E6E6E6"

Path = dict[str, Any]


def still(figure: go.Figure, tables: Sequence[pd.DataFrame], tool: dict[str, Any], axis: TimeAxis) -> Markup:
    """Return the picture of a chart that is drawn.

    ``tables`` are the rectangles of each of the page's layers, in s, of jobs by their place in the tool's tables; an owner
    below 0 is a node that cannot work.
    """
    layout, scale, classes = figure.layout, tool["time"], tool["colourings"][0]
    window = tuple((place - scale["offset"]) / scale["factor"] for place in layout.xaxis.range)
    panels = []
    for layer, table, codes in zip(tool["layers"], tables, classes["later"]["codes"], strict=True):
        rows = layout[layer["yaxis"].replace("y", "yaxis")]
        shown = _rows(table, codes, classes["colours"], window, rows.range)
        panels.append(_panel(rows) | {"rows": shown, "names": _names(rows)})
    for trace in figure.data:
        if trace.type == "scatter" and trace.fill == "tozeroy":
            own = layout[trace.yaxis.replace("y", "yaxis")]
            panels.append(_panel(own) | {"curve": _curve(trace, own, layout.xaxis.range), "title": own.title.text})
    begin, end = layout.xaxis.range
    places, texts = layout.xaxis.tickvals, layout.xaxis.ticktext
    if places is None:
        places, texts = (begin, end), axis.texts(np.array(window))
    shares = [((place - begin) / (end - begin), Markup(text)) for place, text in zip(places, texts, strict=True)]
    return piece(
        "still.html",
        margin=layout.margin,
        heading=Markup(layout.title.text or ""),
        note=Markup(layout.title.subtitle.text or ""),
        panels=panels,
        times=[(share, text) for share, text in shares if 0 <= share <= 1],
        box=f"0 0 {_WIDE} {_HIGH}",
    )


def _panel(axis: go.layout.YAxis) -> dict[str, Any]:
    low, high = axis.domain or (0, 1)
    return {"top": 1 - high, "height": high - low, "rows": [], "names": [], "curve": None, "title": ""}


def _names(axis: go.layout.YAxis) -> list[tuple[float, Markup]]:
    bottom, top = axis.range
    if axis.tickvals is None:
        return []
    return [
        ((place - top) / (bottom - top), Markup(text)) for place, text in zip(axis.tickvals, axis.ticktext, strict=True)
    ]


def _rows(
    table: pd.DataFrame,
    codes: np.ndarray,
    colours: Sequence[str],
    window: Sequence[float],
    ends: Sequence[float],
) -> list[Path]:
    """Return the paths of rectangles, by colour; nodes that cannot work are below."""
    bottom, top = ends
    owner = table["owner"].to_numpy()
    code = np.where(owner < 0, len(colours), np.asarray(codes, dtype=np.int64)[np.maximum(owner, 0)])
    if len(table) > MOST_EXACT:
        return _cells(table, code, [*colours, _OFF], window, (top, bottom))
    edges: list[np.ndarray] = [
        np.clip((table[side].to_numpy(dtype=float) - first) / (last - first), 0, 1) * size
        for side, (first, last), size in (
            ("start", window, _WIDE), ("end", window, _WIDE), ("low", (top, bottom), _HIGH), ("high", (top, bottom), _HIGH)
        )
    ]  # fmt: skip
    begin, stop, low, high = edges
    x, y = np.rint(begin).astype(int), np.rint(low).astype(int)
    # A gap of less than a pixel separates neighbours.
    wide, tall = (np.maximum(np.rint(each - np.minimum(2, 0.2 * each)).astype(int), 1) for each in (stop - x, high - y))
    paths = []
    for place in np.unique(code)[::-1].tolist():
        some = code == place
        boxes = zip(*(each[some].tolist() for each in (x, y, wide, tall)), strict=True)
        d = "".join([f"M{a} {b}h{c}v{e}h-{c}z" for a, b, c, e in boxes])
        paths.append({"colour": [*colours, _OFF][place], "scale": "", "d": d})
    return paths


def _cells(
    table: pd.DataFrame,
    code: np.ndarray,
    colours: Sequence[str],
    window: Sequence[float],
    rows: tuple[float, float],
) -> list[Path]:
    """Return the paths of a grid's cells: runs of equal cells in a row are one line, as high as a row."""
    paths: list[Path] = []
    for columns, most in _GRIDS:
        count = min(most, max(1, round(rows[1] - rows[0])))
        x, y = np.linspace(window[0], window[1], columns + 1), np.linspace(rows[0], rows[1], count + 1)
        most_held, held, which = (np.zeros((count, columns)) for _ in range(3))
        for place in np.unique(code).tolist():
            share = busy_fraction(table[code == place], x, y)
            held += share
            which[share > most_held] = place
            most_held = np.maximum(most_held, share)
        shade = np.minimum(len(_SHADES) - 1, np.floor(held * len(_SHADES)))
        key = np.where(held < _LEAST, -1, which * len(_SHADES) + shade).astype(int)
        paths = list(_lines(key, colours))
        if sum(len(path["d"]) for path in paths) <= MOST_CHARACTERS:
            break
    return paths


def _lines(key: np.ndarray, colours: Sequence[str]) -> Iterator[Path]:
    """Yield the path of each key: lines through the middle of rows."""
    rows, columns = key.shape
    begins = np.ones(key.shape, dtype=bool)
    begins[:, 1:] = key[:, 1:] != key[:, :-1]
    place = np.flatnonzero(begins)
    length = np.diff(np.append(place, key.size))
    row, column, own = place // columns, place % columns, key.ravel()[place]
    for each in np.unique(own[own >= 0]).tolist():
        some = own == each
        runs = zip(column[some].tolist(), row[some].tolist(), length[some].tolist(), strict=True)
        yield {
            "colour": colours[each // len(_SHADES)],
            "opacity": _SHADES[each % len(_SHADES)],
            "scale": f"scale({_WIDE / columns:.6g} {_HIGH / rows:.6g}) translate(0 .5)",
            "d": "".join([f"M{a} {b}h{c}" for a, b, c in runs]),
        }


def _curve(trace: go.Scatter, axis: go.layout.YAxis, window: Sequence[float]) -> Path:
    """Return the path of a step curve, at so many times of the window as are seen."""
    at = np.linspace(window[0], window[1], _POINTS)
    x, y = (np.asarray(values, dtype=float) for values in (trace.x, trace.y))
    place = np.searchsorted(x, at, side="right") - 1
    value = np.where(place < 0, 0.0, y[np.maximum(place, 0)])
    top = axis.range[1] if axis.range else 1.05 * max(float(value.max()), 1e-9)
    steps = zip((np.arange(_POINTS) * _WIDE / (_POINTS - 1)).round().astype(int).tolist(),
                ((1 - value / top) * _HIGH).round().astype(int).tolist(), strict=True)  # fmt: skip
    return {"colour": trace.line.color, "d": f"M0 {_HIGH}" + "".join([f"V{y}H{x}" for x, y in steps]) + f"V{_HIGH}z"}
