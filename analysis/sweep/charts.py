"""Figures of a sweep: alternatives as a sorted dot plot, a metric over a factor, two factors as a heatmap; curves of one run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analysis.figures.figure_style import GRID, MOST_TICKS, run_styles, show_log, styled
from analysis.figures.palette import OKABE_ITO
from analysis.sweep.alternatives import Alternatives, in_range, name_of
from analysis.sweep.runs_table import LARGEST_IS_BEST, factors_of, sweep_table
from analysis.tables.run_metrics import HALF_WIDTH
from analysis.tables.wording import axis_of, label_of, listing, plotly_text, shortened, unit_of
from cluster_sim.amounts import number, scale_of
from cluster_sim.errors import InputError
from cluster_sim.records.intervals import CONFIDENCE, FEWEST_BLOCKS, ComparisonVerdict, bootstrap_interval
from cluster_sim.records.result import Result

MOST_LINES = 7
"""Number of lines for which there are colours to tell them apart."""
SINGLE_DOTS = FEWEST_BLOCKS - 1
"""Number of replications up to which each is a dot of its own, and no interval is drawn."""
_PANELS_BESIDE = 4
_BEST, _OTHERS = OKABE_ITO[0], "#7A8691"
JOB_ORDER, NODE_ORDER = "job_order", "node_order"


def factor_plot(
    runs: pd.DataFrame, metric: str, x: str, colour: str | None = None, confidence: float = CONFIDENCE
) -> go.Figure:
    """Draw the mean of a metric over the values of a factor, with intervals; a line for each value of ``colour``.

    Over all other factors the mean is taken within each replication first, and the title says so; so these factors
    should be complete. Lines join numbers on the x axis, but not names. No interval goes beyond what the metric can be.
    Raises InputError for unknown columns or too many lines.
    """
    lines = [None] if colour is None else list(dict.fromkeys(runs[colour])) if colour in runs else []
    if len(lines) > MOST_LINES:
        raise InputError(f"factor_plot, {colour}", f"at most {MOST_LINES} values", len(lines))
    table = sweep_table(runs, [metric], [x] if colour is None else [colour, x], confidence)
    numeric = pd.api.types.is_numeric_dtype(table[x]) and table[x].dtype != bool
    figure = go.Figure()
    for value, (name, shade, line) in zip(lines, run_styles([str(value) for value in lines]), strict=True):
        rows = table if colour is None else table[table[colour] == value]
        rows = rows.sort_values(x) if numeric else rows
        mean, half = rows[metric].to_numpy(), rows[metric + HALF_WIDTH].fillna(0.0).to_numpy()
        low, high = in_range(metric, mean - half, mean + half)
        figure.add_trace(
            go.Scatter(
                x=rows[x] if numeric else plotly_text(rows[x]),
                y=rows[metric],
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": high - mean,
                    "arrayminus": mean - low,
                    "thickness": 1.2,
                    "width": 4,
                },
                mode="lines+markers" if numeric else "markers",
                marker={"color": shade, "size": 8},
                line=line,
                name=name if colour is not None else label_of(metric),
                showlegend=colour is not None,
            )
        )
    legend = {"title": {"text": plotly_text([colour])[0]}} if colour is not None else {}
    # Marks of one name stand beside each other.
    figure.update_layout(legend=legend, scattermode="overlay" if numeric else "group")
    figure.update_xaxes(exponentformat="none")
    around = f" ± {confidence:.0%} interval" if table[metric + HALF_WIDTH].notna().any() else ""
    title = f"{label_of(metric)}, mean{around}{_means_over(runs, (x, colour))}"
    return styled(figure, title, x, axis_of(metric), height=440)


def dot_plot(sweep: Alternatives, metric: str, confidence: float = CONFIDENCE, most: int | None = None) -> go.Figure:
    """Draw a metric of every alternative, a row each, the best on top; a panel for each value of the other factors.

    Up to four replications are dots, with a line at their mean. For more, the mean has its bootstrap interval. An
    alternative that is told apart from all others in its panel is coloured. Those that are not told apart from the best
    are open circles. All panels have one scale. ``most`` is how many of the best are drawn; None: all.
    """
    order, panels = sweep.order(metric)[:most], sweep.panels
    is_grid = 1 < sweep.across <= _PANELS_BESIDE and len(panels) % sweep.across == 0
    across = sweep.across if is_grid else min(len(panels), _PANELS_BESIDE)
    down = -(-len(panels) // across)
    height = 26 * len(order) + (30 if down > 1 or len(panels) > 1 else 0)
    figure = make_subplots(
        rows=down,
        cols=across,
        shared_yaxes=True,
        shared_xaxes="all",
        subplot_titles=plotly_text(shortened(panel, 40) for panel in panels) if len(panels) > 1 else None,
        horizontal_spacing=0.025,
        vertical_spacing=min(0.2, 60 / (down * height + 60)),
    )
    divisor, unit = sweep.scale(metric)
    labels = dict(zip(order, plotly_text(sweep.label(name) for name in order), strict=True))
    for place, panel in enumerate(panels):
        standing = sweep.standing(metric, panel, confidence)
        winners = standing.winners if standing is not None else ()
        is_tie = standing is not None and standing.verdict is ComparisonVerdict.TIE
        tied = (*standing.best, *standing.tied) if standing is not None and is_tie else ()
        for look, names in (
            ({"color": _OTHERS}, [name for name in order if name not in winners and name not in tied]),
            (
                {"color": _OTHERS, "symbol": "circle-open", "line": {"width": 2}},
                [name for name in order if name in tied],
            ),
            ({"color": _BEST}, [name for name in order if name in winners]),
        ):
            for trace in _dots(sweep, metric, panel, names, labels, divisor, confidence, look):
                figure.add_trace(trace, place // across + 1, place % across + 1)
    title = label_of(metric) + (f" [{unit}]" if unit else "")
    styled(figure, "", "", "", height=down * height + 90)
    figure.update_layout(margin={"l": 20, "r": 20, "t": 52 if len(panels) > 1 else 36, "b": 50}, showlegend=False)
    low, high = _drawn(figure)
    is_wide = 0.0 < low < high / _WIDE
    figure.update_xaxes(
        type="log" if is_wide else "linear", gridcolor=GRID, showline=True, linecolor="#9AA5B1", zeroline=False, ticks="outside",
        exponentformat="none", title_text="",
    )  # fmt: skip
    figure.update_annotations(font_size=13)
    if is_wide:
        show_log(figure, low, high, MOST_TICKS // across)
    else:
        figure.update_xaxes(rangemode="tozero" if low < high / 2 else "normal")
    axis = plotly_text([title + (", logarithmic" if is_wide else "")])[0]
    figure.update_xaxes(title={"text": axis, "standoff": 8}, row=down)
    return figure.update_yaxes(
        categoryorder="array", categoryarray=[labels[name] for name in reversed(order)], type="category",
        automargin=True, showgrid=True, gridcolor="#F0F2F4", ticks="", range=[-0.6, len(order) - 0.4],
    )  # fmt: skip


_WIDE = 30.0
"""Ratio of the largest to the least value from which on a scale is logarithmic."""


def _drawn(figure: go.Figure) -> tuple[float, float]:
    """Return the least and the largest value that a figure's dots and intervals reach; 0 for a figure without dots."""
    found = [np.zeros(0)]
    for trace in figure.data:
        values = np.asarray(trace.x, dtype=float)
        found += [values - _length(trace.error_x.arrayminus), values + _length(trace.error_x.array)]
    drawn = np.concatenate(found)
    return (float(drawn.min()), float(drawn.max())) if len(drawn) else (0.0, 0.0)


def _length(bars: Any) -> Any:
    """Return the lengths of error bars, 0 if there are none."""
    return 0.0 if bars is None else np.asarray(bars, dtype=float)


def _dots(
    sweep: Alternatives,
    metric: str,
    panel: str,
    names: Sequence[str],
    labels: Mapping[str, str],
    divisor: float,
    confidence: float,
    look: Mapping[str, Any],
) -> list[go.Scatter]:
    """Return the traces of some of the alternatives in a panel."""
    known = {name: sweep.of(name, panel, metric) / divisor for name in names}
    known = {name: values for name, values in known.items() if len(values)}
    if not known:
        return []
    rows = [labels[name] for name in known]
    mean = np.array([values.mean() for values in known.values()])
    ends = np.array([bootstrap_interval(values, confidence) for values in known.values()])
    told = [
        f"{label}<br>{number(one, 3)}" + (f" ({number(low, 3)} to {number(high, 3)})" if np.isfinite(low) else "")
        for label, one, (low, high) in zip(rows, mean, ends, strict=True)
    ]
    colour, look = look["color"], {**look, "size": 9}
    if sweep.replications > SINGLE_DOTS:
        bars = {"type": "data", "symmetric": False, "array": ends[:, 1] - mean, "arrayminus": mean - ends[:, 0]}
        return [
            go.Scatter(
                x=mean, y=rows, mode="markers", marker=look, hovertext=told, hoverinfo="text",
                error_x=bars | {"thickness": 2, "width": 0, "color": colour},
            )
        ]  # fmt: skip
    single = [(label, value) for label, values in zip(rows, known.values(), strict=True) for value in values.tolist()]
    dots = go.Scatter(
        x=[value for _, value in single], y=[label for label, _ in single], mode="markers",
        marker=look | {"opacity": 0.55}, hovertext=[f"{label}<br>{number(value, 3)}" for label, value in single],
        hoverinfo="text",
    )  # fmt: skip
    line = {"symbol": "line-ns", "size": 13, "line": {"width": 2, "color": colour}}
    mark = go.Scatter(x=mean, y=rows, mode="markers", marker=line, hovertext=told, hoverinfo="text")
    return [dots] if sweep.replications == 1 else [dots, mark]


def factor_heatmap(runs: pd.DataFrame, metric: str, rows: str, columns: str) -> go.Figure:
    """Draw the mean of a metric for each pair of values of two factors.

    The colour says by how many % a pair is worse than the best. ``job_order`` and ``node_order`` are the halves of
    ``list:JOB/NODE``: then only list schedulers are shown. Over other factors that vary the mean is taken, and the
    title says so. Raises InputError for unknown columns.
    """
    if {rows, columns} & {JOB_ORDER, NODE_ORDER}:
        runs = with_orders(runs)
    for name in (rows, columns, metric):
        if name not in runs.columns:
            raise InputError("factor_heatmap", f"a column of the runs ({', '.join(factors_of(runs))})", name)
    values = runs.pivot_table(index=rows, columns=columns, values=metric, sort=False, dropna=False)
    numbers = values.to_numpy(dtype=float)
    best = np.nanmax(numbers) if metric in LARGEST_IS_BEST else np.nanmin(numbers)
    with np.errstate(divide="ignore", invalid="ignore"):
        worse = 100 * np.abs(numbers - best) / abs(best) if best else np.abs(numbers)
    divisor, unit = scale_of(unit_of(metric), float(np.nanmax(np.abs(numbers))))
    text = [[number(value / divisor, 4) for value in row] for row in numbers]
    figure = go.Figure(
        go.Heatmap(
            z=worse,
            x=plotly_text(values.columns),
            y=plotly_text(values.index),
            text=text,
            texttemplate="%{text}",
            colorscale="Cividis",
            reversescale=True,
            colorbar={"title": {"text": "worse than the best" + (", %" if best else "")}},
            hovertemplate="%{y} / %{x}: %{text}<extra></extra>",
            xgap=1,
            ygap=1,
        )
    )
    figure.update_xaxes(type="category", tickangle=-35, automargin=True)
    figure.update_yaxes(type="category", automargin=True, autorange="reversed")
    shown = {rows, columns} | ({"scheduler"} if {rows, columns} & {JOB_ORDER, NODE_ORDER} else set())
    title = f"{label_of(metric)}{f' [{unit}]' if unit else ''}, means{_means_over(runs, shown)}"
    return styled(figure, title, columns, rows, height=max(340, 120 + 26 * len(values)))


def with_orders(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of list scheduling, with its two orders as the columns ``job_order`` and ``node_order``."""
    halves = runs["scheduler"].astype(str).str.extract(r"^list:([^/,]+)/([^,]+)")
    found = runs.assign(**{JOB_ORDER: halves[0], NODE_ORDER: halves[1]})[halves[0].notna()]
    if found.empty:
        raise InputError("factor_heatmap", "runs of list:JOB/NODE", "none")
    found.attrs = dict(runs.attrs)
    return found


def write_charts(result: Result, path: str | Path, title: str) -> Path:
    """Write a page with the power, the use of the cores and the queue of one run over time."""
    from analysis.figures.timelines import power_timeline, queue_timeline, utilisation_timeline
    from analysis.pages.page import figures_html, page, write_whole

    figures = [utilisation_timeline(result), queue_timeline(result), power_timeline(result)]
    return write_whole(path, page(title, figures_html(figures)))


def _means_over(runs: pd.DataFrame, shown: Iterable[str | None]) -> str:
    """Say over which factors a figure takes means if it shows ``shown``."""
    others = [name for name in factors_of(runs) if name not in shown and name not in (JOB_ORDER, NODE_ORDER)]
    return f", over all values of {listing([name_of(name) for name in others])}" if others else ""
