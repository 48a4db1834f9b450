"""``cluster-sim list``: the names that options take."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from cluster_sim.cli.group import json_option, tell_json
from cluster_sim.errors import InputError
from cluster_sim.spelling import hint

if TYPE_CHECKING:
    from cluster_sim.options import Option
    from cluster_sim.registry import Registry

REGISTRIES = {
    "schedulers": "schedulers.policy.policy:schedulers",
    "job-orders": "schedulers.queue.orders:job_orders",
    "node-orders": "schedulers.queue.orders:node_orders",
    "power-policies": "schedulers.policy.policy:power_policies",
    "contention-models": "cluster_sim.models.contention:contention_models",
    "power-models": "cluster_sim.models.power:power_models",
    "network-models": "cluster_sim.models.network:network_models",
    "failure-models": "cluster_sim.run.failures:failure_models",
    "workload-generators": "cluster_sim.workload.workload:WORKLOAD_GENERATORS",
    "speedups": "cluster_sim.workload.speedup:speedups",
    "platforms": "cluster_sim.platform.specs:platforms",
    "machines": "cluster_sim.platform.library:machines",
    "observations": "learning.tasks.job_node.observations:observations",
    "rewards": "learning.tasks.job_node.rewards:rewards",
    "choice-rewards": "learning.tasks.job_choice.rewards:choice_rewards",
    "selection-observations": "learning.tasks.policy_selection.observations:selection_observations",
    "selection-rewards": "learning.tasks.policy_selection.rewards:selection_rewards",
    "shutdown-observations": "learning.tasks.node_shutdown.observations:shutdown_observations",
    "shutdown-rewards": "learning.tasks.node_shutdown.rewards:shutdown_rewards",
    "shutdown-teachers": "learning.tasks.node_shutdown.teachers:shutdown_teachers",
    "joint-rewards": "learning.tasks.jobs_and_nodes.rewards:joint_rewards",
    "networks": "learning.networks.network:networks",
}
"""Where each registry is, by the kind of what it has: its module is imported when it is asked for."""
_BESIDE = {
    "schedulers": "schedulers",
    "power-policies": "schedulers",
    "job-orders": "schedulers",
    "networks": "learning.networks.published_networks learning.networks.scorer",
}
"""Modules that add to a registry, besides the one that has it."""
CONFIGURATIONS = {
    "run": ("cluster_sim.cli.own_config", "the file that `run` takes: its options as keys"),
    "sweep": ("analysis.sweep.config", "the file that `sweep` takes: factors, each with its values"),
    "training": ("learning.training.configuration", "the file that `train` takes"),
}
"""Files of settings: the module whose ``SECTIONS`` declare their keys, and what they are."""
ENVIRONMENTS, ALGORITHMS, AGENTS, COMMANDS, FILES = (
    "environments", "algorithms", "agents", "commands", "configurations",
)  # fmt: skip
KINDS = (*REGISTRIES, ENVIRONMENTS, ALGORITHMS, AGENTS, COMMANDS, FILES)


@click.command("list", short_help="Say which schedulers, policies and models there are, and what options they have.")
@click.argument("kind", metavar="KIND|NAME")
@click.argument("name", required=False)
@json_option
def list_names(kind: str, name: str | None, as_json: bool) -> None:
    """Print the names of a KIND, one a line, each with what it means; with a NAME, its options.

    KIND is schedulers, job-orders, node-orders, power-policies, contention-models, power-models,
    network-models, failure-models, workload-generators, speedups, platforms, machines, environments, algorithms,
    networks, agents, commands, configurations, observations, rewards, or those of another environment: choice-rewards,
    selection-observations, selection-rewards, shutdown-observations, shutdown-rewards, shutdown-teachers and joint-rewards.

    \b
    cluster-sim list schedulers          the names
    cluster-sim list schedulers easy     the options of one: type, default, meaning
    cluster-sim list easy                the same, of every kind that has the name

    Job orders and node orders are the two halves of the scheduler list:JOB/NODE; platforms and workload generators
    are the specs that --platform and --workload take beside files. Agents are those that come ready, for learned:NAME.
    Configurations are the files of run, sweep and train.
    """
    if kind in KINDS and name is None:
        rows = rows_of(kind)
        if as_json:
            tell_json([{"name": name, "meaning": meaning} for name, meaning in rows])
        else:
            _tell_table(rows)
        return
    kinds, name = ((kind,), name) if name is not None else (KINDS, kind)
    things = []
    for kind in kinds:
        with suppress(*[ImportError] * (len(kinds) > 1)):  # a library of an extra that is not installed
            things += _things(kind, name)
    if not things:
        known = KINDS if kinds is KINDS else [name for name, _ in rows_of(kind)]
        also = ", or a name of one of them" if kinds is KINDS else ""
        raise InputError("list", f"one of {', '.join(known)}{hint(name, known)}{also}", name)
    if as_json:
        tell_json(things)
        return
    for number, thing in enumerate(things):
        click.echo("\n" * bool(number) + f"{thing['kind']} {thing['name']}: {thing['meaning']}")
        _tell_table(
            [("option", "value", "default", "meaning"), *map(_row, thing["options"])] if thing["options"] else []
        )


def _things(kind: str, name: str) -> list[dict[str, Any]]:
    """Return what has that name among the things of a kind, with its options: one, or none."""
    if kind not in KINDS:
        raise InputError("list", f"one of {', '.join(KINDS)}{hint(kind, KINDS)}", kind)
    meaning = dict(rows_of(kind)).get(name)
    if meaning is None:
        return []
    return [{"kind": kind, "name": name, "meaning": meaning, "options": list(_options(kind, name))}]


def _options(kind: str, name: str) -> Iterator[dict[str, Any]]:
    """Yield the options of a thing: name, value, unit, default and meaning."""
    from cluster_sim.options import options_of

    if kind == COMMANDS:
        yield from map(_typed, _commands()[name].params)
    elif kind == FILES:
        for section, keys in import_module(CONFIGURATIONS[name][0]).SECTIONS:
            for option in options_of(keys).values():
                yield _told(option, f"{section}." * bool(section) + option.name)
    elif kind != AGENTS:
        for option in options_of(_maker(kind, name)).values():
            yield _told(option, option.name)


def _told(option: Option, name: str) -> dict[str, Any]:
    from cluster_sim.options import REQUIRED

    default = None if option.default is REQUIRED else option.in_spec(option.default)
    return {
        "name": name,
        "value": option.kind_text,
        "unit": option.unit,
        "default": default,
        "meaning": option.meaning,
    }


def _typed(parameter: click.Parameter) -> dict[str, Any]:
    """Return what is to say of an option, or of an argument, of a command."""
    name = ", ".join(parameter.opts) if isinstance(parameter, click.Option) else parameter.human_readable_name
    declared: Option | None = getattr(parameter, "declared", None)
    if declared is not None:
        return _told(declared, name)
    kind, default = parameter.type, parameter.default
    value = "yes or no" if kind.name == click.BOOL.name else str(parameter.metavar or "text")
    if isinstance(kind, click.Choice):
        value = " or ".join(kind.choices)
    if isinstance(default, bool):
        default = "yes" if default else "no"
    given = str(default) if isinstance(default, str | int | float) else ""
    help_text = getattr(parameter, "help", None) or "argument"
    return {
        "name": name,
        "value": value,
        "unit": "",
        "default": None if parameter.required else given,
        "meaning": f"{help_text[0].lower()}{help_text[1:]}".removesuffix("."),
    }


def _commands() -> dict[str, click.Command]:
    """Return the commands of the program that runs, by name, those beside others among them, as ``lesson grade``."""
    group = click.get_current_context().find_root().command
    found = dict(group.commands) if isinstance(group, click.Group) else {}
    for name, command in tuple(found.items()):
        found |= {f"{name} {each.name}": each for each in getattr(command, "beside", ())}
    return found


def _maker(kind: str, name: str) -> Callable[..., Any]:
    """Return the class or the function that makes a thing."""
    if kind == ENVIRONMENTS:
        module, _, attribute = import_module("learning").ENVIRONMENTS[name].partition(":")
        return getattr(import_module(module), attribute)  # type: ignore[no-any-return]
    if kind == ALGORITHMS:
        return import_module("learning.training.algorithms").ALGORITHMS[name][1]  # type: ignore[no-any-return]
    place, _, machine = name.rpartition(":")
    return registry_of("machines" if place == "machine" else kind).factory(machine)


def registry_of(kind: str) -> Registry[Any]:
    """Return the registry of a kind, with all of ours in it."""
    for module in _BESIDE.get(kind, "").split():
        import_module(module)
    module, _, attribute = REGISTRIES[kind].partition(":")
    registry: Registry[Any] = getattr(import_module(module), attribute)
    return registry


def _row(option: dict[str, Any]) -> tuple[str, ...]:
    value = f"{option['value']} ({option['unit']})" if option["unit"] else option["value"]
    default = "(must be given)" if option["default"] is None else option["default"]
    return f"  {option['name']}", value, default, option["meaning"]


def _tell_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def rows_of(kind: str) -> list[tuple[str, str]]:
    """Return the names of a KIND, each with what it means."""
    if kind == AGENTS:
        return list(import_module("learning.training.agent").ready_agents().items())
    if kind == ALGORITHMS:
        known = import_module("learning.training.algorithms").ALGORITHMS
        return [(name, (inspect.getdoc(made) or "").partition("\n")[0]) for name, (made, _) in known.items()]
    if kind == ENVIRONMENTS:
        # Gymnasium's ids, each with the first line of its class's docstring.
        rows = []
        for name, place in import_module("learning").ENVIRONMENTS.items():
            module, _, attribute = place.partition(":")
            meaning = inspect.getdoc(getattr(import_module(module), attribute)) or ""
            rows.append((name, meaning.partition("\n")[0]))
        return rows
    if kind == COMMANDS:
        return [(name, command.short_help or "") for name, command in _commands().items()]
    if kind == FILES:
        return [(name, meaning) for name, (_, meaning) in CONFIGURATIONS.items()]
    registry = registry_of(kind)
    rows = [(name, registry.help(name).replace("``", "")) for name in registry]
    if kind == "platforms":
        rows += [(f"machine:{name}", meaning) for name, meaning in rows_of("machines")]
    return rows
