"""``cluster-sim list``: the names that options take."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from cluster_sim.registry import Registry

# Where each registry is: its module is imported when it is asked for.
REGISTRIES = {
    "schedulers": ("schedulers", "schedulers"),
    "job-orders": ("schedulers", "job_orders"),
    "node-orders": ("schedulers", "node_orders"),
    "power-policies": ("schedulers", "power_policies"),
    "contention-models": ("cluster_sim.contention", "contention_models"),
    "power-models": ("cluster_sim.power", "power_models"),
    "network-models": ("cluster_sim.network", "network_models"),
    "workload-generators": ("cluster_sim.generators", "WORKLOAD_GENERATORS"),
    "platforms": ("cluster_sim.formats.platform_specs", "platforms"),
}


@click.command("list", short_help="Say which schedulers, policies and models there are.")
@click.argument("kind", type=click.Choice(list(REGISTRIES)), metavar="KIND")
def list_names(kind: str) -> None:
    """Print the names of a KIND, one a line, each with what it means.

    KIND is schedulers, job-orders, node-orders, power-policies, contention-models, power-models,
    network-models, workload-generators or platforms.
    Job orders and node orders are the two halves of the scheduler list:JOB/NODE; platforms and workload generators
    are the specs that --platform and --workload take beside files.
    """
    rows = _rows(*REGISTRIES[kind])
    if kind == "platforms":
        rows += [(f"machine:{name}", meaning) for name, meaning in _rows("cluster_sim.machines", "machines")]
    width = max(len(name) for name, _ in rows)
    for name, meaning in rows:
        click.echo(f"{name:<{width}}  {meaning}".rstrip())


def _rows(module: str, attribute: str) -> list[tuple[str, str]]:
    registry: Registry[object] = getattr(import_module(module), attribute)
    return [(name, registry.help(name).replace("``", "")) for name in registry]
