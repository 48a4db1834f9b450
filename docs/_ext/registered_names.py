"""Directive ``registered``: what can be named in a spec, from the registries themselves."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx

REGISTRIES = {
    "schedulers": "schedulers.policy.policy:schedulers",
    "job orders": "schedulers.queue.orders:job_orders",
    "node orders": "schedulers.queue.orders:node_orders",
    "power policies": "schedulers.policy.policy:power_policies",
    "contention models": "cluster_sim.models.contention:contention_models",
    "power models": "cluster_sim.models.power:power_models",
    "network models": "cluster_sim.models.network:network_models",
    "workload generators": "cluster_sim.workload.workload:WORKLOAD_GENERATORS",
    "speedups": "cluster_sim.workload.speedup:speedups",
    "failure models": "cluster_sim.run.failures:failure_models",
    "platforms": "cluster_sim.platform.specs:platforms",
    "machines": "cluster_sim.platform.library:machines",
    "observations of JobNode": "learning.tasks.job_node.observations:observations",
    "rewards of JobNode": "learning.tasks.job_node.rewards:rewards",
    "observations of PolicySelection": "learning.tasks.policy_selection.observations:selection_observations",
    "rewards of PolicySelection": "learning.tasks.policy_selection.rewards:selection_rewards",
    "rewards of JobChoice": "learning.tasks.job_choice.rewards:choice_rewards",
    "observations of NodeShutdown": "learning.tasks.node_shutdown.observations:shutdown_observations",
    "rewards of NodeShutdown": "learning.tasks.node_shutdown.rewards:shutdown_rewards",
    "teachers of NodeShutdown": "learning.tasks.node_shutdown.teachers:shutdown_teachers",
    "networks": "learning.networks.network:networks",
}
"""Where each registry is. A module that only registers things comes with its registry's."""
ALSO = {
    "networks": ("learning.networks.scorer", "learning.networks.published_networks"),
    "contention models": ("cluster_sim.models.gompertz", "cluster_sim.models.roofline"),
    "workload generators": ("cluster_sim.workload.generators",),
    "platforms": ("cluster_sim.platform.library",),
}
"""Modules whose things a registry loads when they are asked for."""


def registry(kind: str) -> Any:
    """The registry of that kind, with everything of ours in it."""
    import_module("schedulers")
    for module in ALSO.get(kind, ()):
        import_module(module)
    module, _, name = REGISTRIES[kind].partition(":")
    return getattr(import_module(module), name)


def options_of(registry: Any, name: str) -> str:
    """The options of a spec with their defaults, ``k=0.6``."""
    if name in registry._later and name not in registry._factories:
        return ""
    parameters = inspect.signature(registry.factory(name)).parameters.values()
    options = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return ", ".join(f"`{p.name}`" if p.default is p.empty else f"`{p.name}={_shown(p.default)}`" for p in options)


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    return getattr(default, "__name__", str(default))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


class Registered(SphinxDirective):
    """``{registered}``: a heading and a table for each registry."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Written in Markdown, for the parser of the page that it stands on."""
        found = registry(kind := self.content[0])
        head = [f"Entry-point group `{found.group}`.", "", "| name | options | what it is |", "|---|---|---|"]
        lines = head + [f"| `{name}` | {options_of(found, name)} | {_cell(found.help(name))} |" for name in found]
        container = nodes.container(classes=["fields"], ids=[nodes.make_id(kind)])
        self.state.nested_parse(StringList(lines, source="registered"), self.content_offset, container)
        return [container]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("registered", Registered)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
