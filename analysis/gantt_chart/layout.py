"""Layout of a Gantt chart's page: axes, panels, heading and captions of what is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from analysis.figures.figure_style import AXIS, GRID, LOOK
from analysis.figures.time_axis import TimeAxis
from analysis.figures.timelines import MEAN
from analysis.gantt_chart.panels import GAP_PX, PANEL_PX
from analysis.gantt_chart.rectangles import RectanglesInView
from analysis.gantt_chart.traces import raster_note
from analysis.pages.redrawn import LABELS
from analysis.tables.display_names import PLATFORMS, WORKLOADS, display_name
from analysis.tables.wording import listing, plotly_text, shortened_apart
from cluster_sim.amounts import number
from cluster_sim.files.source import PLUS
from cluster_sim.records.result import Result

WIDTH_PX = 1_050
MARGIN = {"l": 130, "r": 30, "t": 76, "b": 56}
LEGEND_PX = 185
SLIDER_PX = 70
IDS_AXIS = "x9"
"""Name of the x axis of the jobs' ids in charts with a slider; ``gantt_traces.js`` uses the same name."""
LEAST_ROOM_PX = 120.0  # for the rows
MOST_NAMED = 64  # nodes of one core that are named; beyond, their axis has numbers


def lay_out(
    figure: go.Figure,
    views: Sequence[RectanglesInView],
    panels: Sequence[dict[str, Any]],
    inner: float,
    axis: TimeAxis,
    names: Sequence[str] = (),
) -> None:
    """Set the axes of the rows of each view, which ``names`` name if there are several, and of the ``panels`` under them."""
    style(figure, inner)
    canvas = views[0].canvas
    pad = 0.004 * (canvas.end - canvas.start)
    domains = stacked_domains([view.canvas.height_px for view in views], len(panels), inner)
    window = canvas.start - pad, canvas.end + pad
    figure.update_layout(xaxis=time_axis_layout(axis, window, y_axis(len(domains))))
    begins = views[0].run.scale.node_low
    rows = [row_axis(view) for view in views]
    short = plotly_text(shortened_apart(names, 30)) if names else []
    for place, (settings, domain) in enumerate(zip([*rows, *panels], domains, strict=True), start=1):
        layout = AXIS | settings | {"domain": domain, "ticklabeloverflow": "allow"}  # else plotly measures each label
        if place <= len(names):
            layout["title"] = {"text": short[place - 1], "standoff": 8}
        if 1 < place <= len(views) and np.array_equal(views[place - 1].run.scale.node_low, begins):
            layout["matches"] = "y"  # one zoom for all
        figure.update_layout({f"yaxis{place if place > 1 else ''}": layout})


def y_axis(place: int) -> str:
    """Return plotly's name of the y axis at a place from the top, from 1."""
    return f"y{place}" if place > 1 else "y"


def add_slider(figure: go.Figure, lower: int, inner: float) -> None:
    """Put a range slider between the rows and the curves.

    A slider shows everything that is drawn on its axis, one over the other. So the curves and the jobs' ids get x axes
    of their own, which follow the axis of the rows. The slider shows the whole chart, even if only a part is in view.
    """
    taller = inner + SLIDER_PX
    for layout_axis in figure.select_yaxes():
        moved = 0.0 if layout_axis.anchor == "x" and layout_axis.domain[1] < 1 else SLIDER_PX / taller
        low, high = (edge * inner / taller + moved for edge in layout_axis.domain)
        layout_axis.domain = (low, min(high, 1.0))
    figure.update_layout(height=figure.layout.height + SLIDER_PX)
    rows, times = figure.layout.yaxis, figure.layout.xaxis
    look = {
        "visible": True,
        "thickness": 0.6 * SLIDER_PX / taller,
        "bgcolor": "#F4F7F9",
        "bordercolor": AXIS["linecolor"],
        "borderwidth": 1,
        "range": times.range,  # else plotly makes room at both ends, for the widest of whatever is drawn
        "yaxis": {"rangemode": "fixed", "range": rows.range},
    }
    ids = {"matches": "x", "overlaying": "x", "anchor": "y", "visible": False, "range": times.range, "type": times.type}
    figure.update_layout({IDS_AXIS.replace("x", "xaxis"): ids})
    figure.update_traces(xaxis=IDS_AXIS, selector={"meta": LABELS})
    if lower:
        figure.layout.xaxis2 = figure.layout.xaxis
        figure.update_layout(xaxis2={"matches": "x"}, xaxis={"anchor": "y", "title": {"text": ""}})
        for trace in figure.data:
            if trace.yaxis not in (None, "y"):
                trace.xaxis = "x2"
        for position in range(2, lower + 2):
            figure.update_layout({f"yaxis{position}": {"anchor": "x2"}})
    figure.update_layout(xaxis={"rangeslider": look})


def style(figure: go.Figure, inner: float) -> None:
    """Set fonts, colours and margins of a chart; ``inner`` is its height within the margins, px."""
    colour_bar_shown = needs_room = False
    for trace in figure.data:
        colour_bar_shown |= trace.type == "scatter" and bool(trace.marker.showscale)
        needs_room |= trace.type == "heatmap" or bool(trace.showlegend) or trace.legendgroup == "reservations"
    needs_room |= colour_bar_shown
    figure.update_layout(
        height=round(inner) + MARGIN["t"] + MARGIN["b"],
        margin=MARGIN | ({"r": LEGEND_PX} if needs_room else {}),
        barmode="overlay",
        bargap=0,
        hovermode="closest",
        legend={"groupclick": "togglegroup", "itemsizing": "constant", "tracegroupgap": 0, "yanchor": "top", "y": 1},
        **LOOK,
    )
    if colour_bar_shown:
        figure.update_layout(legend={"y": 0.45})


def time_axis_layout(axis: TimeAxis, window: tuple[float, float], anchor: str) -> dict[str, Any]:
    """Return the x axis that all panels share, drawn under the panel of ``anchor``; ``window`` in s."""
    places = axis.places(np.array(window)).tolist()
    return (
        AXIS
        | axis.layout(window)
        | {
            "range": places,
            "anchor": anchor,
            # The line under the mouse runs through all panels.
            "showspikes": True,
            "spikemode": "across",
            "spikesnap": "cursor",
            "spikethickness": 1,
            "spikecolor": "#7A8793",
            "spikedash": "dot",
        }
    )


def row_axis(view: RectanglesInView) -> dict[str, Any]:
    """Return the y axis of the rows: nodes by name, as many as there is room for."""
    scale, platform = view.run.scale, view.run.result.platform
    axis: dict[str, Any] = {
        "anchor": "x",
        # Listed from top to bottom, as one reads.
        "range": list(scale.ends[::-1]),
        "showgrid": False,
    }
    if platform.core_count == platform.node_count > MOST_NAMED and not scale.groups:  # names would only be numbers
        return axis | {"title": {"text": "Node"}, "exponentformat": "none", "separatethousands": True}
    step = max(1, int(np.ceil(platform.node_count / (view.canvas.height_px / 15))))
    nodes = np.arange(platform.node_count)
    named = (nodes[~scale.is_folded(scale.node_first_core[:-1])] if scale.groups else nodes)[::step]
    names = platform.node_names()
    texts = [f"{'▸' if group.folded else '▾'} {group.name}" for group in scale.groups]
    centres = [(group.low + group.high) / 2 for group in scale.groups]
    centres += ((scale.node_low + scale.node_high) / 2)[named].tolist()
    ticks = {"tickvals": centres, "ticktext": plotly_text([*texts, *(names[node] for node in named)], 18)}
    what = "Cores, by node" if scale.unit == "core" and platform.core_count > platform.node_count else "Nodes"
    return axis | ticks | {"title": {"text": what, "standoff": 8}, "automargin": True}


def put_heading(figure: go.Figure, title: str, notes: Sequence[str]) -> None:
    """Give a chart its title, and under it the notes in one line."""
    heading, note = plotly_text([title, " · ".join(notes)])
    figure.update_layout(
        title={
            "text": heading,
            "x": 0.01,
            "xanchor": "left",
            "y": 1,
            "yanchor": "top",
            "pad": {"t": 16},
            "subtitle": {"text": note, "font": {"size": 12, "color": "#5A6772"}},
        }
    )


def put_head(figure: go.Figure, view: RectanglesInView, how: str, title: str | None, axis: TimeAxis) -> list[str]:
    """Write the heading: title, number of jobs, makespan; and draw lines between the nodes.

    Returns the notes that hold for every part of the chart; pages make the others of what they draw.
    """
    result, ran = view.run.result, len(view.jobs)
    if not ran:
        text = "no job ran" + (" in this window" if view.outside else "")
        middle = sum(figure.layout.yaxis.domain) / 2
        figure.add_annotation(text=text, x=0.5, y=middle, xref="paper", yref="paper", showarrow=False)
    jobs, notes = result.jobs, []
    finished = jobs[jobs["start_time"].notna() & jobs["finish_time"].notna()]
    if len(finished):
        makespan = axis.durations(finished["finish_time"].max() - jobs["submit_time"].min())[0]
        notes.append(f"makespan {makespan}")
    never = jobs[jobs["start_time"].isna()]
    if len(never):
        counts = never["state"].value_counts()
        notes.append("never started: " + listing([f"{number(n)} {state}" for state, n in counts.items()]))
    count = f"{number(ran)} {'job' if ran == 1 else 'jobs'}"
    outside = f" in this window, {number(view.outside)} outside it" if view.outside else ""
    drawn = [raster_note(view)] if how == "raster" else []
    scale = view.run.scale
    edges = np.array([group.low for group in scale.groups]) if scale.groups else scale.node_low[1:]
    if scale.groups or (result.platform.core_count > result.platform.node_count and len(edges) <= 64):
        # One path for all separators: a shape each would be slow.
        path = "".join([f"M0,{y}L1,{y}" for y in edges.tolist()])
        figure.add_shape(
            type="path",
            path=path,
            name="groups" if scale.groups else None,
            xref="paper",
            yref="y",
            layer="below",
            line={"color": GRID, "width": 1},
        )
    put_heading(figure, title or run_title(result), [count + outside, *notes, *drawn, *means_note(figure)])
    return [f"{number(view.outside)} outside this window", *notes] if view.outside else notes


def run_title(result: Result) -> str:
    """Return a run's title from its settings, in words: scheduler, power policy, workload, platform."""
    meta = result.meta
    workload = f" — {display_name(str(meta['workload']), titles=WORKLOADS)}" if meta.get("workload") else ""
    return f"{display_name(deciders_of(result)) or 'Schedule'}{workload} on {display_name(result.platform.id, titles=PLATFORMS)}"


def deciders_of(result: Result) -> str:
    """Return the spec of a run's scheduler and, if it has one, of its power policy: ``easy + timeout:300``."""
    told = [result.meta.get(key) for key in ("scheduler", "power_policy")]
    return PLUS.join([str(spec) for spec in told if spec not in (None, "", "none")])


def means_note(figure: go.Figure) -> list[str]:
    """Return a note that names the curves of means and their intervals; an empty list without such curves."""
    means: dict[str, list[str]] = {}
    for trace in figure.data:
        name, is_mean, each = str(trace.name or "").partition(MEAN)
        if is_mean:
            means.setdefault(each, []).append(name)
    told = [f"{listing(list(dict.fromkeys(names)))} of {each}" for each, names in means.items()]
    return [f"means, shaded from least to greatest: {', '.join(told)}"] if told else []


def stacked_domains(upper_px: Sequence[float], lower: int, inner_px: float) -> list[tuple[float, float]]:
    """Return each panel's share of the height, from the top: panels of ``upper_px``, then ``lower`` small ones."""
    domains, top = [], 1.0
    for height in [*upper_px, *[float(PANEL_PX)] * lower]:
        share = height / inner_px
        domains.append((max(0.0, top - share), top))
        top -= share + GAP_PX / inner_px
    return domains
