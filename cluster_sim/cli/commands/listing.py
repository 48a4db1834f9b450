"""``cluster-sim list``: the names that options take."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import TYPE_CHECKING

import click

from cluster_sim.cli.group import json_option, tell_json
from cluster_sim.spelling import hint

if TYPE_CHECKING:
    from cluster_sim.registry import Registry

# Where each registry is: its module is imported when it is asked for.
REGISTRIES = {
    "schedulers": ("schedulers", "schedulers"),
    "job-orders": ("schedulers", "job_orders"),
    "node-orders": ("schedulers", "node_orders"),
    "power-policies": ("schedulers", "power_policies"),
    "contention-models": ("cluster_sim.models.contention", "contention_models"),
    "power-models": ("cluster_sim.models.power", "power_models"),
    "network-models": ("cluster_sim.models.network", "network_models"),
    "failure-models": ("cluster_sim.run.failures", "failure_models"),
    "workload-generators": ("cluster_sim.workload.generators", "WORKLOAD_GENERATORS"),
    "platforms": ("cluster_sim.platform.specs", "platforms"),
    "observations": ("learning.tasks.job_node.observations", "observations"),
    "rewards": ("learning.tasks.job_node.rewards", "rewards"),
    "networks": ("learning.networks.network", "networks"),
}
_BESIDE = {"networks": ("learning.networks.published_networks", "learning.networks.scorer")}
"""Modules that add to a registry, besides the one that has it."""
ENVIRONMENTS, AGENTS = "environments", "agents"


class _Kinds(click.Choice[str]):
    """The kinds; of a name that is none, the message says which is the nearest."""

    def get_invalid_choice_message(self, value: object, ctx: click.Context | None) -> str:
        return super().get_invalid_choice_message(value, ctx) + hint(str(value), map(str, self.choices))


@click.command("list", short_help="Say which schedulers, policies and models there are.")
@click.argument("kind", type=_Kinds([*REGISTRIES, ENVIRONMENTS, AGENTS]), metavar="KIND")
@json_option
def list_names(kind: str, as_json: bool) -> None:
    """Print the names of a KIND, one a line, each with what it means.

    KIND is schedulers, job-orders, node-orders, power-policies, contention-models, power-models,
    network-models, failure-models, workload-generators, platforms, environments, observations, rewards,
    networks or agents.
    Job orders and node orders are the two halves of the scheduler list:JOB/NODE; platforms and workload generators
    are the specs that --platform and --workload take beside files. Agents are those that come ready, for learned:NAME;
    the four before are what agents learn with, observations and rewards those of job-node.
    """
    rows = rows_of(kind)
    if as_json:
        tell_json([{"name": name, "meaning": meaning} for name, meaning in rows])
        return
    width = max(len(name) for name, _ in rows)
    for name, meaning in rows:
        click.echo(f"{name:<{width}}  {meaning}".rstrip())


def rows_of(kind: str) -> list[tuple[str, str]]:
    """Return the names of a KIND, each with what it means."""
    if kind == AGENTS:
        return list(import_module("learning.training.agent").ready_agents().items())
    for module in _BESIDE.get(kind, ()):
        import_module(module)
    if kind == ENVIRONMENTS:
        # Gymnasium's ids, each with the first line of its class's docstring.
        rows = []
        for name, place in import_module("learning").ENVIRONMENTS.items():
            module, _, attribute = place.partition(":")
            meaning = inspect.getdoc(getattr(import_module(module), attribute)) or ""
            rows.append((name, meaning.partition("\n")[0]))
        return rows
    rows = _rows(*REGISTRIES[kind])
    if kind == "platforms":
        rows += [(f"machine:{name}", meaning) for name, meaning in _rows("cluster_sim.platform.library", "machines")]
    return rows


def _rows(module: str, attribute: str) -> list[tuple[str, str]]:
    registry: Registry[object] = getattr(import_module(module), attribute)
    return [(name, registry.help(name).replace("``", "")) for name in registry]
