"""The platform as boxes within boxes: clusters or switches, their nodes, and the processors and cores in these."""

from __future__ import annotations

import plotly.graph_objects as go

from analysis.tables.wording import plotly_text
from cluster_sim.amounts import number
from cluster_sim.platform.platform import Platform

MOST_BOXES = 20_000
"""Boxes of a chart that a browser still moves smoothly; a platform with more cores is drawn down to its nodes."""
FEW_BOXES = 1_000
"""Up to so many boxes all are shown at once; of more, the clusters and nodes, until one is clicked."""
_COLOURS = {
    "platform": "#E9EDF1",
    "cluster": "#CFD8E1",
    "switch": "#CFD8E1",
    "node": "#9CC3E6",
    "processor": "#56B4E9",
    "core": "#F0C987",
}


def platform_tree(platform: Platform) -> go.Figure:
    """Draw a platform as nested boxes, each as large as its number of cores. A click on a box opens it.

    Hovers say how many cores a box has, their peak rate (GFLOPS), and the type of a node or a processor. A platform of
    more than 20,000 boxes ends at its processors, or at its nodes.
    """
    inner = {"processor": platform.processor_count, "core": platform.processor_count + platform.core_count}
    reached = [level for level, boxes in inner.items() if platform.node_count + boxes <= MOST_BOXES]
    graph = platform.topology(reached[-1] if reached else "node")
    root = graph.graph["root"]
    parents = {root: ""}
    for name in graph:  # a box comes after what it is in
        parents |= {inside: name for inside in graph.neighbors(name) if inside not in parents}
    boxes = [graph.nodes[name] for name in parents]
    names = [platform.id, *(name.removeprefix("switch:") for name in list(parents)[1:])]
    labels = [
        name if box["kind"] in ("platform", "cluster", "switch") else name.rpartition(".")[2]
        for name, box in zip(names, boxes, strict=True)
    ]
    hovers = [
        f"{name}: {box['kind']}{' of type ' + box['type'] if 'type' in box else ''}, {number(box['cores'])} "
        f"core{'s' * (box['cores'] != 1)}, {number(box['gflops'])} GFLOPS"
        for name, box in zip(names, boxes, strict=True)
    ]
    figure = go.Figure(
        go.Treemap(
            ids=list(parents),
            labels=plotly_text(labels),
            parents=list(parents.values()),
            values=[box["cores"] for box in boxes],
            hovertext=plotly_text(hovers),
            hovertemplate="%{hovertext}<extra></extra>",
            branchvalues="total",
            maxdepth=-1 if len(boxes) <= FEW_BOXES else 3,
            marker={"colors": [_COLOURS[box["kind"]] for box in boxes], "line": {"color": "#FFFFFF", "width": 1}},
            tiling={"packing": "squarify"},
            textfont={"color": "#22303C"},
        )
    )
    heading = f"{platform.id}: {number(platform.node_count)} nodes, {number(platform.core_count)} cores"
    figure.update_layout(
        title={"text": plotly_text([heading])[0], "x": 0.01, "xanchor": "left"},
        height=640,
        margin={"l": 20, "r": 20, "t": 60, "b": 20},
        font={"family": "system-ui, Segoe UI, Helvetica, Arial, sans-serif", "size": 13, "color": "#22303C"},
    )
    return figure
