"""The toolkit's own platform format, YAML or JSON: ``docs/reference/platform-format.md`` describes it key by key.

The document holds types by name (``processor_types``, ``node_types``) and the clusters that are made of them. Keys
that the format does not know are refused, so that a misspelt option never goes unnoticed. What comes in is checked
in two steps: pydantic checks structure and kinds of values here, the hardware classes check the values themselves.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from annotated_types import Ge
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from cluster_sim.errors import FormatError, InputError, ModelWarning, told_apart, warn_user
from cluster_sim.files.atomic import write_bytes
from cluster_sim.files.documents import MAX_JSON_BYTES, MAX_NAME, MAX_YAML_BYTES, is_plain, is_yaml_name
from cluster_sim.files.source import may_run
from cluster_sim.formats.slurm.conf_values import folded, host_list
from cluster_sim.models.contention import contention_models
from cluster_sim.models.power import power_models
from cluster_sim.platform.hardware import (
    CONTENTION_PARAMETERS,
    LINEAR_POWER,
    MAX_PROCESSORS_PER_NODE,
    POWER_NAMES,
    POWER_PARAMETERS,
    Cluster,
    NodeGroup,
    NodeType,
    PowerTransitions,
    ProcessorType,
    PState,
    Resource,
    check_count,
)
from cluster_sim.platform.platform import Platform
from cluster_sim.platform.switches import Switch, switches_of
from cluster_sim.registry import Spec
from cluster_sim.spelling import near, nearest

Entry = TypeVar("Entry", bound=BaseModel)

# A processor may have parameters for several models: one file, compared under each.
_CONTENTION = tuple(name for names in CONTENTION_PARAMETERS.values() for name in names)
_PARAMETERS = {
    **dict.fromkeys(POWER_PARAMETERS, POWER_NAMES),
    **dict.fromkeys(("none", *CONTENTION_PARAMETERS), _CONTENTION),
}

# Words for messages in which pydantic would speak of Python's classes.
_WORDS = {
    "model_type": "a mapping",
    "dict_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
    "too_short": "at least one entry",
}


def _plain(text: str) -> str:
    if not is_plain(text):
        raise ValueError(f"at most {MAX_NAME} printable characters")
    return text


Text = Annotated[str, AfterValidator(_plain)]


Count = Annotated[int, Ge(1)]
Whole = Annotated[int, Ge(0)]


class OwnKeys(BaseModel):
    """A mapping of a document that has only its own keys and values of the right kind. For :func:`validated`."""

    model_config = ConfigDict(strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        # A misspelt key must not go unnoticed, and the nearest name helps more than all of them.
        for key in data if isinstance(data, dict) else ():
            if key not in cls.model_fields:
                raise PydanticCustomError("unknown_key", "{expected}", cls._hint(key))
        return data

    @classmethod
    def _hint(cls, key: object) -> dict[str, Any]:
        """Return what was expected in the place of a key that the mapping does not have."""
        return {"expected": nearest(str(key), cls.model_fields), "key": str(key)}


def key_field(meaning: Any, default: Any = None, **more: Any) -> Any:
    """Declare a key with its meaning, for the manual; without a default it may be left out and is None."""
    return Field(description=meaning, **({"default": default} if "default_factory" not in more else {}), **more)


class _Entry(OwnKeys):
    model_config = ConfigDict(frozen=True)

    @classmethod
    def _hint(cls, key: object) -> dict[str, Any]:
        return _unknown(key, cls.model_fields)


class _Transitions(_Entry):
    off_w: float = 0.0
    switch_on_s: float = 0.0
    switch_on_w: float | None = None
    switch_off_s: float = 0.0
    switch_off_w: float | None = None
    switch_on_distribution: Text = ""
    failed_w: float = 0.0
    switch_on_j: float | None = None
    switch_off_j: float | None = None
    per: Literal["node", "core"] = "node"


class _PState(_Entry):
    clock_ghz: float
    power: dict[str, float] | None = None


class _Processor(_Entry):
    cores: int
    clock_ghz: float
    flops_per_cycle: float = 1.0
    power: dict[str, float] = {}
    contention: dict[str, float] = {}
    p_states: list[_PState] = []


class _Some(_Entry):
    """``count`` things of a type."""

    type: Text
    count: int = 1


class _Resource(_Entry):
    count: int
    type: Text = ""
    memory_gb: float | None = None
    idle_w: float = 0.0
    max_w: float | None = None
    cap_w: float | None = None


class _Node(_Entry):
    processors: list[_Some]
    memory_gb: float | None = None
    transitions: _Transitions = _Transitions()
    initially_off: bool = False
    tags: list[Text] = []
    hosts: int = 0
    resources: dict[str, int | _Resource] = {}


class _Cluster(_Entry):
    id: Text | None = None
    nodes: list[_Some]


class _Pools(_Entry):
    licenses: dict[str, int] = {}


class _Document(_Entry):
    id: Text = "platform"
    contention_model: Text = "piecewise"
    power_model: Text = "linear"
    processor_types: dict[str, _Processor] = Field(min_length=1)
    node_types: dict[str, _Node] = Field(min_length=1)
    clusters: list[_Cluster] = Field(min_length=1)
    pools: _Pools = _Pools()
    topology: dict[str, list[Text]] = {}


def platform_from(data: object, path: str | Path) -> Platform:
    """Make the platform that a parsed document describes; ``path`` is for messages."""
    document = validated(_Document, data, path)
    try:
        for models, spec in ((contention_models, document.contention_model), (power_models, document.power_model)):
            if may_run(spec):
                models.make(spec)
        processors: dict[str, ProcessorType] = {}
        for name, entry in document.processor_types.items():
            where = f"processor_types.{name}"
            _check_parameters(f"{where}.contention", entry.contention, document.contention_model)
            _check_parameters(f"{where}.power", entry.power, document.power_model, whole=True)
            for i, state in enumerate(entry.p_states):
                _check_parameters(f"{where}.p_states[{i}].power", state.power or {}, document.power_model, whole=True)
            states = tuple(PState(state.clock_ghz, state.power) for state in entry.p_states)
            cores, clock, flops = entry.cores, entry.clock_ghz, entry.flops_per_cycle
            processors[name] = ProcessorType(name, cores, clock, flops, entry.power, entry.contention, states)
        nodes = {name: _node_type(name, node, processors) for name, node in document.node_types.items()}
        clusters: list[Cluster] = []
        for i, cluster in enumerate(document.clusters):
            groups = [
                NodeGroup(lookup(f"clusters[{i}].nodes[{j}].type", "node", some.type, nodes), some.count)
                for j, some in enumerate(cluster.nodes)
            ]
            clusters.append(Cluster(f"cluster{i}" if cluster.id is None else cluster.id, tuple(groups)))
        platform = Platform(
            tuple(clusters), document.id, document.contention_model, document.power_model, pools=document.pools.licenses
        )
        return replace(platform, switches=_switches(document.topology, platform)) if document.topology else platform
    except InputError as error:
        raise FormatError(f"{path}: {error.where}", error.expected, error.found) from None


def _switches(given: Mapping[str, list[str]], platform: Platform) -> tuple[Switch, ...]:
    """Return the switches of ``topology``, in which nodes may be listed as ``cluster0.node[0-7]``."""
    members: dict[str, list[str]] = {}
    for name, listed in given.items():
        if not listed:
            raise InputError(f"topology, {name}", "at least one node, or another switch", "an empty list")
        try:
            members[name] = [member for text in listed for member in ([text] if text in given else host_list(text))]
        except ValueError as error:
            raise InputError(f"topology, {name}", str(error), ", ".join(listed)) from None
    return switches_of(members, {name: node for node, name in enumerate(platform.node_names())})


def validated(model: type[Entry], data: object, path: str | Path, key: str = "") -> Entry:
    """Return ``data``, which stands under ``key`` in the file, as an instance of a pydantic model.

    Raises FormatError for the first thing that does not fit.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first, *others = error.errors(include_url=False)
        location, found = first["loc"], first["input"]
        place = _in_file(location, data)
        if first["type"] == "missing":
            name = location[-1]
            place = _in_file(location[:-1], data)
            expected, found = f"key '{name}'" if isinstance(name, str) else f"at least {name + 1} values", None
        elif first["type"] == "unknown_key":
            expected, found = first["msg"], first["ctx"]["key"]
        else:
            same = [first, *(other for other in others if _in_file(other["loc"], data) == place)]
            # Name all kinds of values that may stand there, but do not say that a number is no text.
            told = [each for each in same if each["type"] != "string_type"] or same
            expected = " or ".join(dict.fromkeys(_expected(each) for each in told))
            if first["type"] not in _WORDS and isinstance(found, dict):
                found = None  # what its keys say together does not fit
        # A whole mapping or list is not worth printing; a text must look different from a number.
        if isinstance(found, dict | list):
            found = "a mapping" if isinstance(found, dict) else "a list" if found else "an empty list"
        else:
            found = told_apart(found)
        parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in place if part != "[key]")
        where = f"{key}{''.join(parts)}".lstrip(".")
        raise FormatError(f"{path}: {where}" if where else path, expected, found) from None


def _expected(error: ErrorDetails) -> str:
    """Return what was expected, as one of pydantic's errors says."""
    if error["type"] == "too_long":
        return f"at most {error['ctx']['max_length']} values"
    if error["type"] == "string_pattern_mismatch":
        return f"text of the form {error['ctx']['pattern']}"
    told = error["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return _WORDS.get(error["type"], told)


def _in_file(location: Sequence[int | str], data: Any) -> tuple[int | str, ...]:
    """Return a place as the file has it, without pydantic's names for the branches of a union."""
    kept: list[int | str] = []
    for part in location:
        if isinstance(part, int):  # of a list, or of one value that may stand in the place of a list
            kept.append(part)
            data = data[part] if isinstance(data, list) and part < len(data) else data
        elif isinstance(data, dict) and part in data:
            kept.append(part)
            data = data[part]
    return tuple(kept)


def lookup(where: str, kind: str, name: str, known: Mapping[str, Entry] | Mapping[str, Any]) -> Any:
    """Return ``known[name]``. Raises InputError that lists the known names."""
    if name not in known:
        shown = near(name, known, 3) or list(itertools.islice(known, 8)) or ["(there are none)"]
        ellipsis = ", …" if known and len(shown) < len(known) else ""
        raise InputError(where, f"one of the {kind} types {', '.join(shown)}{ellipsis}", name)
    return known[name]


def write_native(platform: Platform, path: str | Path) -> None:
    """Write a platform in the own format; reading it back gives an equal platform. Raises as :func:`native_bytes` does.

    Of a platform from a slurm.conf, a ModelWarning tells that its partitions, weights and names of nodes are lost.
    """
    if platform.slurm is not None:
        text = "the own format has no place for the partitions, weights and names of nodes of a slurm.conf"
        warn_user(ModelWarning(f"{path}: {text}"))
    write_bytes(path, native_bytes(platform, path))


def native_bytes(platform: Platform, path: str | Path) -> bytes:
    """Return the content of a file with that name. Raises InputError if it is longer than the reader accepts."""
    document = document_of(platform)
    if is_yaml_name(path):
        text = yaml.dump(
            document, Dumper=_Dumper, sort_keys=False, default_flow_style=None, allow_unicode=True, width=110
        )
        limit = MAX_YAML_BYTES
    else:
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        limit = MAX_JSON_BYTES
    if len(text.encode()) > limit:
        raise InputError(path, f"a description of at most {limit} bytes", f"{len(text.encode())} bytes")
    return text.encode()


def document_of(platform: Platform) -> dict[str, Any]:
    """Return the platform as plain dictionaries, lists and numbers, without defaults."""
    groups = [group for cluster in platform.clusters for group in cluster.groups]
    nodes = dict.fromkeys(group.type for group in groups)
    processors = dict.fromkeys(processor for node in nodes for processor in node.processors)
    return {
        "id": platform.id,
        "contention_model": platform.contention_model,
        "power_model": platform.power_model,
        "processor_types": {
            processor.name: _processor_entry(processor, _is_linear(platform.power_model)) for processor in processors
        },
        "node_types": {node.name: _node_entry(node) for node in nodes},
        "clusters": [
            {"id": c.id, "nodes": [{"type": g.type.name, "count": int(g.count)} for g in c.groups]}
            for c in platform.clusters
        ],
        **({"pools": {"licenses": dict(platform.pools)}} if platform.pools else {}),
        **({"topology": _topology_entry(platform)} if platform.switches else {}),
    }


def _topology_entry(platform: Platform) -> dict[str, list[str]]:
    names = platform.node_names()
    return {each.name: list(each.switches) or folded(names[node] for node in each.nodes) for each in platform.switches}


class _Dumper(yaml.SafeDumper):
    """A dumper that writes equal values out each time, since the reader refuses aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _check_parameters(where: str, given: Mapping[str, float], spec: str, whole: bool = False) -> None:
    """Refuse parameters that a model of our own does not know, and, if they are to be ``whole``, that some are left out."""
    known = _PARAMETERS.get(Spec.parse(spec).name)
    for parameter in given:
        if known is not None and parameter not in known:
            raise InputError(where, _unknown(parameter, known)["expected"], parameter)
    if whole and given and _is_linear(spec):
        for parameter in LINEAR_POWER:
            if parameter not in given:
                raise InputError(where, f"key '{parameter}'")


def _is_linear(power_model: str) -> bool:
    """Return whether a power model needs all of the linear parameters or none."""
    return POWER_PARAMETERS.get(Spec.parse(power_model).name) is LINEAR_POWER


def _node_type(name: str, entry: _Node, types: Mapping[str, ProcessorType]) -> NodeType:
    processors: list[ProcessorType] = []
    for i, some in enumerate(entry.processors):
        where = f"node_types.{name}.processors[{i}]"
        check_count(f"{where}.count", some.count, MAX_PROCESSORS_PER_NODE)
        processors += [lookup(f"{where}.type", "processor", some.type, types)] * some.count
        check_count(f"node_types.{name}.processors", len(processors), MAX_PROCESSORS_PER_NODE)
    try:
        transitions = PowerTransitions(**entry.transitions.model_dump(exclude={"per"}))
        if entry.transitions.per == "core":
            transitions = transitions.scaled(sum(processor.cores for processor in processors))
    except InputError as error:
        key = error.where.rpartition(", ")[2]
        raise InputError(f"node_types.{name}.transitions.{key}", error.expected, error.found) from None
    resources = {}
    for resource, units in entry.resources.items():
        try:
            resources[resource] = Resource(units) if isinstance(units, int) else Resource(**units.model_dump())
        except InputError as error:
            key = error.where.rpartition(", ")[2]
            raise InputError(f"node_types.{name}.resources.{resource}.{key}", error.expected, error.found) from None
    return NodeType(
        name,
        tuple(processors),
        entry.memory_gb,
        transitions,
        entry.initially_off,
        frozenset(entry.tags),
        entry.hosts,
        resources,
    )


def _processor_entry(processor: ProcessorType, linear: bool) -> dict[str, Any]:
    """Return a processor's entry.

    With ``linear`` power, parameters that are left out are written as 0, as the reader wants.
    """

    def watts(parameters: Mapping[str, float]) -> dict[str, float]:
        whole = dict.fromkeys(LINEAR_POWER, 0.0) if linear and parameters else {}
        return whole | {name: float(value) for name, value in parameters.items()}

    entry: dict[str, Any] = {"cores": int(processor.cores), "clock_ghz": float(processor.clock_ghz)}
    if processor.flops_per_cycle != 1:
        entry["flops_per_cycle"] = float(processor.flops_per_cycle)
    if processor.power:
        entry["power"] = watts(processor.power)
    if processor.contention:
        entry["contention"] = {name: float(value) for name, value in processor.contention.items()}
    if processor.p_states:
        entry["p_states"] = [
            {"clock_ghz": float(state.clock_ghz), "power": watts(state.power or {})} for state in processor.p_states
        ]
    return entry


def _node_entry(node: NodeType) -> dict[str, Any]:
    # Equal neighbours are counted; the order stays, because a job fills the processors of a node in order.
    runs = itertools.groupby(processor.name for processor in node.processors)
    entry: dict[str, Any] = {"processors": [{"type": name, "count": sum(1 for _ in run)} for name, run in runs]}
    if node.memory_gb is not None:
        entry["memory_gb"] = float(node.memory_gb)
    switching = node.transitions
    if switching != PowerTransitions():
        watts_and_seconds = ["off_w", "switch_on_s", "switch_on_w", "switch_off_s", "switch_off_w"]
        if switching.switch_on_distribution:
            watts_and_seconds.remove("switch_on_s")  # its mean
        if switching.failed_w:
            watts_and_seconds.append("failed_w")
        given = {name: getattr(switching, name) for name in watts_and_seconds}
        entry["transitions"] = {name: float(value) for name, value in given.items() if value is not None}
        if switching.switch_on_distribution:
            entry["transitions"]["switch_on_distribution"] = switching.switch_on_distribution
    if node.initially_off:
        entry["initially_off"] = True
    if node.tags:
        entry["tags"] = sorted(node.tags)
    if node.hosts:
        entry["hosts"] = node.hosts
    if node.resources:
        entry["resources"] = {name: _resource_entry(each) for name, each in node.resources.items()}
    return entry


def _resource_entry(resource: Resource) -> int | dict[str, Any]:
    """Return a resource's entry: a number where it says no more."""
    given = {field.name: getattr(resource, field.name) for field in fields(Resource)}
    said = {name: value for name, value in given.items() if value not in (None, "", 0.0) or name == "count"}
    return resource.count if len(said) == 1 else said


def _unknown(key: object, known: Iterable[str]) -> dict[str, Any]:
    names = list(known)
    close = near(str(key), names, 2)
    expected = "key " + " or ".join(f"'{name}'" for name in close) if close else f"one of the keys {', '.join(names)}"
    return {"expected": expected, "key": str(key)}
