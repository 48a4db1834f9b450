"""Chart of the platform as a tree, with nodes coloured by their state or load at a time."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import plotly.graph_objects as go

from analysis.figures.figure_style import LOOK
from analysis.figures.palette import ALL_STATES
from analysis.tables.wording import plotly_text, shortened
from cluster_sim.amounts import moment, number
from cluster_sim.errors import InputError, SpecError
from cluster_sim.machine.core_ranges import Holds, by_unit
from cluster_sim.platform.platform import Platform
from cluster_sim.records.result import Result

COLOURINGS = ("state", "load")
_LOAD_SCALE = "Cividis"
_UNKNOWN = "#9AA5B1"
_FEW_NAMED = 40


def topology(
    platform: Platform, result: Result | None = None, at: float | None = None, colour_by: str = "state"
) -> go.Figure:
    """Draw platform > cluster (or switches) > node, the nodes on rings around theirs, larger with more cores.

    Args:
        platform: the platform.
        result: a run on it; without one the nodes have one colour.
        at: simulated second to show; the middle of the run when None.
        colour_by: "state" (of the run's node states), or "load" (the share of a node's cores that jobs hold).

    Hovers name the node, its cores, state, load and the jobs and guests on it. Raises SpecError for another ``colour_by``,
    InputError for a ``result`` of another platform or a time that the run does not cover.
    """
    if colour_by not in COLOURINGS:
        raise SpecError("colour_by", f"one of {', '.join(COLOURINGS)}", colour_by)
    graph, names = platform.topology("node"), platform.node_names()
    places = _places(graph)
    figure = go.Figure(_tree(graph, places, set(names)))
    heading = f"{platform.id}: {number(platform.node_count)} nodes, {number(platform.core_count)} cores"
    if result is None:
        colour = {"color": _UNKNOWN}
        figure.add_trace(_nodes(platform, places, np.arange(len(names)), "nodes", colour, _texts(platform)))
    else:
        if result.platform.node_names() != names:
            raise InputError("topology", f"a run on platform {platform.id}", f"one on {result.platform.id}")
        end = float(result.power["time"].max())
        when = end / 2 if at is None else float(at)
        if not 0 <= when <= end:
            raise InputError("topology, at", f"a time of the run, 0 to {number(end)} s", f"{number(when)} s")
        figure.add_traces(_looked_at(platform, result, when, colour_by, places))
        heading += f", at {moment(when)}"
    figure.update_layout(
        title={"text": plotly_text([heading])[0], "x": 0.01, "xanchor": "left"},
        height=640,
        margin={"l": 20, "r": 20, "t": 60, "b": 20},
        hovermode="closest",
        xaxis={"visible": False},
        yaxis={"visible": False, "scaleanchor": "x"},
        **LOOK | {"hoverlabel": {"align": "left"}},
    )
    return figure


def states_at(result: Result, at: float) -> list[str]:
    """Return the state of each node at ``at`` (s), in platform order; a state holds from its start up to its end.

    At the very end of the run, this is each node's last state.
    """
    states = result.node_states
    end = states["end"].fillna(np.inf)
    last = at >= end[np.isfinite(end)].max() if np.isfinite(end).any() else False
    now = states[(states["start"] < at) & (end >= at)] if last else states[(states["start"] <= at) & (end > at)]
    held = dict(zip(now["node"].astype(str), now["state"].astype(str), strict=True))
    return [held.get(name, "unknown") for name in result.platform.node_names()]


def load_at(result: Result, at: float) -> tuple[np.ndarray, list[list[str]]]:
    """Return the cores of each node that jobs hold at ``at`` (s), in platform order, and these jobs."""
    cores = result.core_holds
    return _holders(result.platform, cores.used_by_job, at, cores.job_ids)


def _holders(platform: Platform, held: Holds, at: float, names: Any) -> tuple[np.ndarray, list[list[str]]]:
    """Return the cores of each node that tenants hold at ``at`` (s), and the tenants; ``names`` are by number."""
    now, nodes = by_unit(
        held.where((held.start <= at) & (held.end > at)), platform.first_core[platform.first_processor]
    )
    cores = np.bincount(nodes, now.last - now.first + 1, platform.node_count).astype(np.int64)
    found: list[list[str]] = [[] for _ in range(platform.node_count)]
    for node, tenant in dict.fromkeys(zip(nodes.tolist(), now.tenant.tolist(), strict=True)):
        found[node].append(str(names[tenant]))
    return cores, found


def _places(graph: nx.Graph) -> dict[str, tuple[float, float]]:
    """Return the places of clusters or leaf switches, side by side, of nodes in rings around each, and of the rest above."""
    root = graph.graph["root"]
    places: dict[str, tuple[float, float]] = {}
    left = 0.0
    top = 0.0
    inner = [name for name in nx.dfs_preorder_nodes(graph, root) if graph.nodes[name]["kind"] != "node"]
    below = {name: [other for other in graph.neighbors(name) if graph.nodes[other]["kind"] == "node"] for name in inner}
    for cluster, members in below.items():
        if not members:
            continue
        rings: list[int] = []  # nodes of each ring, from the inside: eight more than the ring within it
        while sum(rings) < len(members):
            rings.append(min(len(members) - sum(rings), 8 * (len(rings) + 1)))
        radius = float(len(rings) + 1)
        centre = left + radius
        places[cluster] = (centre, 0.0)
        position = 0
        for ring, count in enumerate(rings, start=1):
            for angle in np.linspace(0, 2 * np.pi, count, endpoint=False) + 0.5 * np.pi / max(count, 1):
                places[members[position]] = (centre + (ring + 0.4) * np.cos(angle), (ring + 0.4) * np.sin(angle))
                position += 1
        left, top = left + 2 * radius, max(top, radius)
    depths = nx.single_source_shortest_path_length(graph, root)
    lowest = max(depths[name] for name in inner)
    for name in reversed(inner):  # after those below it
        if name not in places and name != root:
            under = [places[other][0] for other in graph.neighbors(name) if other in places]
            places[name] = (sum(under) / max(len(under), 1), top + 1.2 * (lowest - depths[name]))
    places[root] = (left / 2, top + 1.2 * max(lowest, 1))
    return places


def _tree(graph: nx.Graph, places: dict[str, tuple[float, float]], nodes: set[str]) -> list[go.Scatter]:
    """Return the traces of the tree without its nodes: edges, clusters and the platform."""
    ends = [(places[a], places[b]) for a, b in graph.edges if a in places and b in places]
    x = [value for (ax, _), (bx, _) in ends for value in (ax, bx, None)]
    y = [value for (_, ay), (_, by) in ends for value in (ay, by, None)]
    line = {"color": "#D5DBE1", "width": 1}
    edges = go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", showlegend=False)
    names = [name for name in places if name not in nodes]
    inner = go.Scatter(
        x=[places[name][0] for name in names],
        y=[places[name][1] for name in names],
        mode="markers+text",
        marker={"symbol": "square", "size": 16, "color": "#22303C"},
        text=plotly_text(shortened(str(name).removeprefix("platform:").removeprefix("switch:"), 24) for name in names),
        textposition="top center",
        hoverinfo="skip",
        showlegend=False,
    )
    return [edges, inner]


def _looked_at(
    platform: Platform, result: Result, at: float, colour_by: str, places: dict[str, tuple[float, float]]
) -> list[Any]:
    states, (busy, jobs) = states_at(result, at), load_at(result, at)
    texts = _texts(platform, states, busy, jobs)
    cores = result.core_holds
    count, guests = _holders(platform, cores.of_guests(), at, cores.guests)
    for node in np.flatnonzero(count).tolist():
        names = plotly_text([shortened(", ".join(guests[node]), 60)])[0]
        texts[node] += f"<br>{count[node]} held by guests: {names}"
    if colour_by == "load":
        bar = {"title": {"text": "cores busy with jobs, %", "side": "right"}, "thickness": 14}
        marker = {"color": 100 * busy / platform.node_cores, "cmin": 0, "cmax": 100, "colorscale": _LOAD_SCALE}
        marker |= {"showscale": True, "colorbar": bar}
        return [_nodes(platform, places, np.arange(len(states)), "nodes", marker, texts)]
    return [
        _nodes(
            platform,
            places,
            np.flatnonzero(np.array(states) == state),
            state,
            {"color": ALL_STATES.get(state, _UNKNOWN)},
            texts,
        )
        for state in dict.fromkeys([*ALL_STATES, "unknown"])
        if state in states
    ]


def _nodes(
    platform: Platform,
    places: dict[str, tuple[float, float]],
    which: np.ndarray,
    name: str,
    marker: dict[str, Any],
    texts: list[str],
) -> go.Scatter:
    names = platform.node_names()
    shown = [names[i] for i in which.tolist()]
    # The area grows with the cores, between limits that stay visible and do not cover their neighbours.
    size = np.clip(9 + 2 * np.sqrt(platform.node_cores[which]), 9, 26)
    marker = marker | {"size": size, "line": {"width": 1, "color": "#22303C"}}
    if "showscale" in marker:
        marker["color"] = np.asarray(marker["color"])[which]
    few = len(names) <= _FEW_NAMED
    return go.Scatter(
        x=[places[each][0] for each in shown],
        y=[places[each][1] for each in shown],
        mode="markers+text" if few else "markers",
        text=plotly_text(each.rpartition(".")[2] for each in shown) if few else None,
        textposition="bottom center",
        marker=marker,
        customdata=[texts[i] for i in which.tolist()],
        hovertemplate="%{customdata}<extra></extra>",
        name=name,
        showlegend=name != "nodes",
        meta="nodes",
    )


def _texts(
    platform: Platform,
    states: list[str] | None = None,
    busy: np.ndarray | None = None,
    jobs: list[list[str]] | None = None,
) -> list[str]:
    names = plotly_text(platform.node_names())
    texts = []
    for node, (name, cores) in enumerate(zip(names, platform.node_cores.tolist(), strict=True)):
        text = f"<b>{name}</b><br>{cores} core{'s' * (cores > 1)}"
        if states is not None and busy is not None and jobs is not None:
            held = plotly_text([shortened(", ".join(jobs[node]), 60)])[0]
            text += f", {busy[node]} busy · {states[node]}" + (f"<br>jobs: {held}" if held else "")
        texts.append(text)
    return texts
