"""``cluster-sim topology``: the clusters, nodes, processors, cores and switches of a platform."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import click

from cluster_sim.cli.options import check_out
from cluster_sim.errors import InputError, counted, few, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cluster_sim.platform.platform import NodeType, Platform


@click.command(short_help="Show the clusters, nodes, processors, cores and switches of a platform.")
@click.argument("platform", metavar="P")
@click.option("--out", metavar="FILE.html", help="A page with the platform as boxes within boxes, down to its cores.")
def topology(platform: str, out: str | None) -> None:
    """Show the clusters, nodes, processors, cores and switches of a platform.

    P is a file, a machine of the library, or homogeneous:nodes=N,cores=C. Alike nodes stand in one line.
    """
    from cluster_sim.platform.platform import Platform

    check_out("topology, --out", out)
    if out is not None and not out.lower().endswith((".html", ".htm")):
        raise InputError("topology, --out", "a name ending in .html", out)
    machine = Platform.read(platform)
    lines = list(lines_of(machine))
    for line in lines:
        click.echo(printable(line))
    if out is not None:
        from analysis import platform_tree
        from analysis.pages.page import figures_html, page, write_whole

        click.echo(f"The page is {write_whole(out, page(lines[0], figures_html([platform_tree(machine)])))}")


def lines_of(platform: Platform) -> Iterator[str]:
    """Yield the tree in lines: the platform, its clusters, their nodes by type, and the processors of these."""
    yield f"{platform.id}: {counted(platform.node_count, 'node')}, {counted(platform.core_count, 'core')}"
    for cluster in platform.clusters:
        cores = sum(group.count * group.type.cores for group in cluster.groups)
        yield f"  {cluster.id}: {counted(cluster.node_count, 'node')}, {counted(cores, 'core')}"
        first = 0
        for group in cluster.groups:
            if group.count:
                last = first + group.count - 1
                names = f"node{first}" if last == first else f"node{first} to node{last}"
                yield f"    {names}: type {group.type.name}, {_inside(group.type)}"
                first = last + 1
    if platform.switches:
        yield from _switches(platform)


def _switches(platform: Platform) -> Iterator[str]:
    """Yield the switches in lines, each below the one on which it hangs."""
    import numpy as np

    from cluster_sim.formats.slurm.conf_values import folded
    from cluster_sim.platform.switches import TOP

    tree = platform.switch_tree
    nodes = tree.sums_of_all(tree.sums(np.ones(platform.node_count, np.int64))).tolist()
    names = platform.node_names() if platform.slurm is None else platform.slurm.node_names
    yield f"  switches: {len(tree.switches)}, of which {len(tree.leaves)} have nodes"
    under: dict[int, list[int]] = {}
    for switch, above in enumerate(tree.parents):
        under.setdefault(above, []).append(switch)
    left = [(switch, 2) for switch in reversed(under[TOP])]
    while left:
        switch, depth = left.pop()
        line = f"{'  ' * depth}{tree.switches[switch]}: {counted(nodes[switch], 'node')}"
        if switch < len(tree.leaves):
            listed = folded(names[node] for node in np.flatnonzero(tree.leaf_of_node == switch).tolist())
            line += f", {few(listed, 8)}"
        yield line
        left += [(below, depth + 1) for below in reversed(under.get(switch, ()))]


def _inside(kind: NodeType) -> str:
    memory = "" if kind.memory_gb is None else f", {kind.memory_gb:g} GB"
    alike = [(processor, len(list(group))) for processor, group in groupby(kind.processors)]
    processors = [
        f"{many} × {processor.name} of {counted(processor.cores, 'core')} at {processor.clock_ghz:g} GHz"
        for processor, many in alike
    ]
    return " and ".join(processors) + memory
