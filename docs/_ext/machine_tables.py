"""Directive ``machines``: a table of the machines of the library, from where the program has their figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from cluster_sim.models.power import power_models, watts
from cluster_sim.platform.library import machines, server_fit
from cluster_sim.platform.library_table import (
    GRID5000_SOURCE,
    MACHINES,
    RAPS_SOURCE,
    MachineEntry,
    MixedEntry,
    ServerEntry,
)
from cluster_sim.platform.platform import Platform

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def mixed() -> Iterator[tuple[str, ...]]:
    """Yield the head and the rows of the papers' clusters."""
    yield ("name", "what", "idle / full", "source")
    for entry in MACHINES:
        if isinstance(entry, MixedEntry):
            yield (f"`{entry.name}`", entry.title, _both(entry.name), entry.source)


def alike() -> Iterator[tuple[str, ...]]:
    """Yield the head and the rows of clusters of equal nodes."""
    yield ("name", "what", "nodes × cores", "idle / full", "on / off", "source")
    for entry in MACHINES:
        if isinstance(entry, MachineEntry):
            platform = machines.factory(entry.name)()
            groups = [group for cluster in platform.clusters for group in cluster.groups]
            cores = " + ".join(f"{group.count:,} × {group.type.cores}" for group in groups)
            switching = platform.node_types[0].transitions
            seconds = f"{switching.switch_on_s:g} / {switching.switch_off_s:g} s" if switching.switch_on_s else "–"
            source = entry.source.replace(GRID5000_SOURCE, "Grid'5000").replace(RAPS_SOURCE, "RAPS watts")
            source = source.replace("its cpu_peak_flops is", "peak")
            title = entry.title.removesuffix(", nodes that can be switched off")
            yield (f"`{entry.name}`", title, cores, _both(entry.name), seconds, source)


def servers() -> Iterator[tuple[str, ...]]:
    """Yield the head and the rows of servers."""
    yield ("name", "what", "cores", "idle W", "line from W", "to W", "largest error W", "SPEC result")
    for entry in MACHINES:
        if isinstance(entry, ServerEntry):
            idle, start, full, error = server_fit(entry.watts)
            share = f"{error:.1f} ({error / entry.watts[-1]:.0%})"
            figures = (f"{entry.sockets * entry.cores}", f"{idle:g}", f"{start:.1f}", f"{full:.1f}", share)
            yield (f"`{entry.name}`", entry.title, *figures, entry.result)


TABLES = {"mixed": mixed, "nodes": alike, "servers": servers}


def _both(name: str) -> str:
    platform = machines.factory(name)()
    return f"{_power(_watts(platform, busy=False))} / {_power(_watts(platform, busy=True))}"


def _watts(platform: Platform, busy: bool) -> float:
    """Return the watts of the whole machine, idle or with every core busy."""
    model = power_models.make(platform.power_model)
    counts = np.bincount(platform.type_of_processor, minlength=len(platform.processor_types))
    each = [watts(model, kind, kind.cores if busy else 0) for kind in platform.processor_types]
    return float(counts @ np.array(each))


def _power(value: float) -> str:
    return f"{value:,.0f} W" if value < 10_000.0 else f"{value / 1000.0:,.0f} kW"


class Machines(SphinxDirective):
    """``{machines} mixed``, ``nodes`` or ``servers``: a table of the machines of that kind."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Written in Markdown, for the parser of the page that it stands on."""
        head, *rows = TABLES[self.arguments[0]]()
        lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
        container = nodes.container(classes=["fields"])
        self.state.nested_parse(StringList(lines, source="machines"), self.content_offset, container)
        return [container]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("machines", Machines)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
