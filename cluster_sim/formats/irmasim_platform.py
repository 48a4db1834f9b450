"""IRMaSim's platform JSON: clusters of nodes, whose types stand in the same file or in library files beside it.

::

    {"platform":  {ID: {"clusters": [{"id", "nodes": [{"type", "number"}]}], "model_name": "modelV1"}},
     "node":      {TYPE: {"processors": [{"type", "number"}], "memory": {"capacity": GB}}},
     "processor": {TYPE: {"cores", "clock_rate": GHz, "dpflops_per_cycle", "static_power": W, "dynamic_power": W per
                          core, "min_power": fraction, "b", "c", "da", "db", "dc", "dd"}}}

A type's name is its key; the ``id`` inside it may say something else and does not count. Types that the file does not
have are looked up in ``node_types.json`` and ``processor_types.json`` in the same folder. ``number`` may be called
``count`` and defaults to 1. Keys that this toolkit has no use for (networks, links, caches, TDP) are left aside; those
that IRMaSim does not know are named in a warning.

The older form (Herrera et al. 2021) has ``pa``·n + ``pb`` W instead: ``pa`` is the dynamic, ``pb`` the static power,
which an idle processor draws in full.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field

from cluster_sim.errors import FormatError, InputError, ModelWarning, warn_user
from cluster_sim.files.documents import read_document
from cluster_sim.formats.native_platform import Text, lookup, validated
from cluster_sim.platform.hardware import (
    MAX_NODES,
    MAX_PROCESSORS_PER_NODE,
    PIECEWISE_CONTENTION,
    Cluster,
    NodeGroup,
    NodeType,
    ProcessorType,
    check_count,
    check_parameters,
)
from cluster_sim.platform.platform import Platform
from cluster_sim.spelling import UnknownKeys

MAX_CLUSTERS = 10_000

_OWN_WORDS = {
    "clock_ghz": "clock_rate",
    "flops_per_cycle": "dpflops_per_cycle",
    "power.static_w": "static_power",
    "power.dynamic_w": "dynamic_power",
    "power.min_power": "min_power",
    **{f"contention.{parameter}": parameter for parameter in PIECEWISE_CONTENTION},
    "memory_gb": "memory.capacity",
}
_PREFIXES = {"": 1e-9, "k": 1e-6, "m": 1e-3, "g": 1.0, "t": 1e3}


def _not_truth(value: Any) -> Any:
    """Refuse JSON's true as a number, though pydantic would read it as 1."""
    return repr(value) if isinstance(value, bool) else value


def _gigahertz(value: Any) -> Any:
    """Convert the ``"2.6GHz"`` or ``"500MHz"`` of old files."""
    match = re.fullmatch(r"\s*([-+.0-9eE]+)\s*([kmgtKMGT]?)[hH][zZ]\s*", value) if isinstance(value, str) else None
    if match is None:
        return _not_truth(value)
    try:
        return float(match[1]) * _PREFIXES[match[2].lower()]
    except ValueError:
        return value


Number = Annotated[float, BeforeValidator(_not_truth)]
Count = Annotated[int, BeforeValidator(_not_truth)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, protected_namespaces=())


class _Some(_Entry):
    type: Text
    number: Count = Field(default=1, validation_alias=AliasChoices("number", "count"))
    model: Any = None


class _Cluster(_Entry):
    id: Text | None = None
    number: Count = 1
    nodes: list[_Some]


class _Description(_Entry):
    clusters: list[_Cluster]
    model_name: Text | None = None


class _Memory(_Entry):
    capacity: Number | None = None


class _Node(_Entry):
    processors: list[_Some]
    memory: _Memory = _Memory()


class _Processor(_Entry):
    cores: Count
    clock_rate: Annotated[float, BeforeValidator(_gigahertz)]
    dpflops_per_cycle: Number = 1.0
    static_power: Number | None = None
    dynamic_power: Number | None = None
    min_power: Number | None = None
    pa: Number | None = None
    pb: Number | None = None
    b: Number | None = None
    c: Number | None = None
    da: Number | None = None
    db: Number | None = None
    dc: Number | None = None
    dd: Number | None = None
    profile_version: Any = None


_INNER: dict[type[_Entry], dict[str, type[_Entry]]] = {
    _Description: {"clusters": _Cluster},
    _Cluster: {"nodes": _Some},
    _Node: {"processors": _Some, "memory": _Memory},
}
_IGNORED: dict[type[_Entry], tuple[str, ...]] = {
    _Description: ("id", "global_links", "networks", "platform", "node", "processor"),
    _Cluster: ("local_links", "networks"),
    _Some: ("count",),  # the other name of number
    _Node: ("id", "memory_gib", "network_interfaces"),
    _Memory: ("type",),
    _Processor: ("id", "type", "uarch", "llc_size", "power", "mem_bw"),
}
"""Keys that IRMaSim knows and this toolkit has no use for: networks, links, caches, TDP."""


def _look(keys: UnknownKeys, model: type[_Entry], data: Any, place: str) -> None:
    """Note the keys of a mapping, and of those in it, that IRMaSim does not know."""
    if not isinstance(data, dict):
        return  # which validation refuses
    keys.look(data, model.model_fields, place or "the file", _IGNORED[model])
    for key, inner in _INNER.get(model, {}).items():
        value = data.get(key)
        for number, entry in enumerate(value if isinstance(value, list) else [value]):
            index = f"[{number}]" if isinstance(value, list) else ""
            _look(keys, inner, entry, f"{place}.{key}{index}".lstrip("."))


def is_irmasim(document: object) -> bool:
    """Return whether a parsed document is laid out as IRMaSim's platforms are."""
    if not isinstance(document, dict):
        return False
    described_by_id = isinstance(document.get("platform"), dict)
    bare = "clusters" in document and not {"node_types", "processor_types"} & document.keys()
    return described_by_id or bare


def platform_from(data: object, path: str | Path, name: str | None = None) -> Platform:
    """Make the platform that a parsed IRMaSim document describes; library files are looked for beside ``path``."""
    if not isinstance(data, dict):
        raise FormatError(path, "an object with the key 'platform'", type(data).__name__)
    if "clusters" in data:
        name, description = name or "platform", data
    else:
        described = _types(data.get("platform"), f"{path}: platform")
        if name is None and len(described) != 1:
            found = ", ".join(described) or "none"
            raise FormatError(f"{path}: platform", "one platform, or a name to choose by", found)
        name = next(iter(described)) if name is None else name
        if name not in described:
            raise FormatError(f"{path}: platform", f"one of the platforms {', '.join(described)}", name)
        description = described[name]
    key = f"platform.{name}" if "platform" in data else ""
    document = validated(_Description, description, path, key)
    if document.model_name not in (None, "modelV1"):
        raise FormatError(f"{path}: {key}.model_name", "modelV1, the only supported one", document.model_name)
    library = _Library(data, path)
    if key:
        library.keys(path).look(data, ("platform", "node", "processor"), "the file")
    _look(library.keys(path), _Description, description, key)
    try:
        with _errors_of(path, key):
            clusters: list[Cluster] = []
            for i, entry in enumerate(document.clusters):
                place = f"{key}.clusters[{i}]".lstrip(".")
                check_count(f"{place}.number", entry.number, MAX_CLUSTERS, least=0)
                groups = []
                for j, some in enumerate(entry.nodes):
                    check_count(f"{place}.nodes[{j}].number", some.number, MAX_NODES, least=0)
                    groups.append(NodeGroup(library.node(some.type, f"{place}.nodes[{j}].type"), some.number))
                for _ in range(entry.number):
                    cluster_id = f"cluster{len(clusters)}" if entry.id is None else entry.id
                    clusters.append(Cluster(cluster_id, tuple(groups)))
            return Platform(tuple(clusters), name)
    finally:  # what is missing may be misspelt
        library.tell_unknown()


@contextmanager
def _errors_of(path: str | Path, key: str) -> Iterator[None]:
    """Tell of wrong values by file and key, in IRMaSim's words: the user will look into that file."""
    try:
        yield
    except FormatError:
        raise
    except InputError as error:
        _, comma, word = error.where.rpartition(", ")
        place = f"{key}.{_OWN_WORDS.get(word, word)}" if comma else error.where
        raise FormatError(f"{path}: {place}", error.expected, error.found) from None


def _types(data: object, where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise FormatError(where, "an object that maps names to descriptions", type(data).__name__)
    for name in data:
        if not isinstance(name, str):
            raise FormatError(where, "names that are text", f"a name of type {type(name).__name__}")
    return {name: entry for name, entry in data.items() if not name.startswith("_")}


class _Library:
    """Node and processor types by name, made when first asked for: what no node uses need not be right."""

    def __init__(self, data: Mapping[str, Any], path: str | Path):
        self._data = data
        self._path = Path(path)
        self._entries: dict[str, dict[str, tuple[Path, Any]]] = {}
        self._nodes: dict[str, NodeType] = {}
        self._processors: dict[str, ProcessorType] = {}
        self._keys: dict[str, UnknownKeys] = {}

    def keys(self, path: str | Path) -> UnknownKeys:
        """Return the unknown keys of a file: the platform's, or one beside it."""
        return self._keys.setdefault(str(path), UnknownKeys(path))

    def tell_unknown(self) -> None:
        """Warn of them."""
        for keys in self._keys.values():
            keys.tell()

    def node(self, name: str, key: str) -> NodeType:
        """Return the node type that ``key`` of the platform refers to. Raises InputError that lists the known names."""
        if name not in self._nodes:
            path, data = self._find("node", name, key)
            _look(self.keys(path), _Node, data, f"node.{name}")
            with _errors_of(path, f"node.{name}"):
                entry = validated(_Node, data, path, f"node.{name}")
                processors: list[ProcessorType] = []
                for i, some in enumerate(entry.processors):
                    key = f"node.{name}.processors[{i}]"
                    if some.model is not None:
                        expected = "IRMaSim's layout (Batsim's heterogeneous one is not supported yet)"
                        raise InputError(f"{key}.model", expected)
                    check_count(f"{key}.number", some.number, MAX_PROCESSORS_PER_NODE, least=0)
                    processors += [self._processor(some.type, f"{key}.type")] * some.number
                    check_count(f"node.{name}.processors", len(processors), MAX_PROCESSORS_PER_NODE, least=0)
                self._nodes[name] = NodeType(name, tuple(processors), entry.memory.capacity)
        return self._nodes[name]

    def _find(self, kind: str, name: str, key: str) -> tuple[Path, Any]:
        if kind not in self._entries:
            own = _types(self._data.get(kind, {}), f"{self._path}: {kind}")
            self._entries[kind] = {key: (self._path, entry) for key, entry in own.items()}
        entries = self._entries[kind]
        beside = self._path.parent / f"{kind}_types.json"
        if name not in entries and beside.is_file():
            for other, entry in _types(read_document(beside), str(beside)).items():
                entries.setdefault(other, (beside, entry))
        return lookup(key, kind, name, entries)  # type: ignore[no-any-return]

    def _processor(self, name: str, key: str) -> ProcessorType:
        if name not in self._processors:
            path, data = self._find("processor", name, key)
            place = f"processor.{name}"
            _look(self.keys(path), _Processor, data, place)
            with _errors_of(path, place):
                entry = validated(_Processor, data, path, place)
                where = f"{path}: {place}"
                # Files of the successor's second model often leave model_name out; their processors tell.
                if entry.profile_version not in (None, 1):
                    raise FormatError(f"{where}.profile_version", "1 or none (modelV1)", entry.profile_version)
                parameters = {key: getattr(entry, key) for key in PIECEWISE_CONTENTION}
                static = entry.static_power if entry.static_power is not None else entry.pb
                dynamic = entry.dynamic_power if entry.dynamic_power is not None else entry.pa
                power: dict[str, float] = {}
                if static is not None or dynamic is not None:
                    least = 1.0 if entry.min_power is None else entry.min_power
                    power = {"static_w": static or 0.0, "dynamic_w": dynamic or 0.0, "min_power": least}
                if entry.min_power is None and entry.static_power is not None:
                    warn_user(ModelWarning(f"{where}: no min_power; idle, it draws all its static power"))
                self._processors[name] = ProcessorType(
                    name,
                    entry.cores,
                    entry.clock_rate,
                    entry.dpflops_per_cycle,
                    power=power,
                    contention={key: value for key, value in parameters.items() if value is not None},
                )
                check_parameters(self._processors[name], "piecewise", "linear")
        return self._processors[name]
