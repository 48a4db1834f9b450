"""A slurm.conf as a platform: its nodes, and what schedulers need of its partitions, weights and parameters.

One core of the platform is one CPU as Slurm counts it. The clock is taken as 3 GHz and watts by the law of
:func:`cluster_sim.platform.processor_table.power_at`, for Slurm states neither.
docs/guides/slurm.md says what becomes of each key.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple, TypeVar

from cluster_sim.errors import FormatError, InputError, ModelWarning, SchedulerWarning, counted, few, warn_user
from cluster_sim.formats.slurm import conf_values as values
from cluster_sim.formats.slurm.conf_keys import (
    ADMINISTRATION,
    FOLLOWED,
    FOLLOWED_OF_NODES,
    FOLLOWED_OF_PARTITIONS,
    NODES_ADMINISTRATION,
    NODES_NOT_SIMULATED,
    NOT_SIMULATED,
    OPTIONS,
    PARTITIONS_ADMINISTRATION,
    PARTITIONS_NOT_SIMULATED,
    Switches,
)
from cluster_sim.formats.slurm.conf_lines import Line, lines_of
from cluster_sim.formats.slurm.gres_conf import ALL, gpus_beside, typed
from cluster_sim.formats.slurm.topology_conf import switches_beside
from cluster_sim.platform.hardware import Cluster, NodeGroup, NodeType, ProcessorType, Resource, Resources
from cluster_sim.platform.platform import Platform
from cluster_sim.platform.processor_table import power_at
from cluster_sim.platform.slurm import Partition, SlurmMachine
from cluster_sim.spelling import near
from cluster_sim.workload.resource_request import GPU

Value = TypeVar("Value")

CLOCK_GHZ = 3.0
PARTITION_KEYS = frozenset(key.lower() for key in ("PartitionName", *FOLLOWED_OF_PARTITIONS))
_NOT_INHERITED = {
    "nodename": ("nodeaddr", "nodehostname", "bcastaddr"),
    "partitionname": ("disablerootjobs", "exclusiveuser", "selecttypeparameters", "suspendtime"),
}
"""Keys that Slurm 22.05 does not take from a DEFAULT line."""
_BY_SLURM = frozenset(map(str.lower, FOLLOWED)) - {"accountingstoragetype", "accountingstorageenforce"}
"""Keys for schedulers of Slurm's kind alone; limits of accounts hold under any scheduler."""
_LEFT_OUT = ("DOWN", "DRAIN", "FAIL", "FAILING", "FUTURE")
_STATES = (*_LEFT_OUT, "UNKNOWN", "IDLE", "CLOUD", "UP", "RESUME", "ALLOCATED", "MIXED", "POWER_DOWN", "UNDRAIN")
_OVERSUBSCRIBE = ("NO", "YES", "FORCE", "EXCLUSIVE")
_PREEMPT_MODES = ("OFF", "REQUEUE", "CANCEL", "SUSPEND", "GANG", "WITHIN", "PRIORITY", "CHECKPOINT", "CLUSTER", "ON")
"""Modes of any version of Slurm; the scheduler ``slurm`` refuses by name those that it does not simulate."""
_SELECT = ("linear", "cons_tres", "cons_res", "cray_aries", "cray", "alps", "serial", "bluegene")
_WORDS: Mapping[str, Callable[[str], str]] = {
    "selecttype": values.one_of(*(f"select/{name}" for name in _SELECT)),
    "schedulertype": values.one_of(*(f"sched/{name}" for name in ("backfill", "builtin", "hold", "wiki", "wiki2"))),
    "prioritytype": values.one_of("priority/basic", "priority/multifactor"),
    "priorityfavorsmall": values.one_of(*values.YES, *values.NO),
    "enforcepartlimits": values.one_of("NO", "ANY", "ALL", *values.YES, *values.NO),
}
"""Parsers of values that must be one of some words: a misspelt one would change nothing, and nobody would know."""
_PRIORITY = re.compile("priority.*|fairsharedampeningfactor")
_KNOWN = {each.lower(): each for each in (*NOT_SIMULATED, *FOLLOWED, *ADMINISTRATION)}
_OF_NODES = {
    each.lower(): each for each in (*NODES_NOT_SIMULATED, *NODES_ADMINISTRATION, "NodeName", *FOLLOWED_OF_NODES)
}
_OF_PARTITIONS = {
    each.lower(): each
    for each in (*PARTITIONS_NOT_SIMULATED, *PARTITIONS_ADMINISTRATION, "PartitionName", *FOLLOWED_OF_PARTITIONS)
}
_SEVERAL = ("slurmctldhost", "frontendname", "downnodes", "nodeset")
"""Keys that a file may have on several lines, beside nodes and partitions; for all others the last line counts."""


@dataclass(slots=True)
class _Node:
    name: str
    type: NodeType
    threads: int
    weight: int
    gres: str
    state: str


@dataclass(slots=True)
class _Configuration:
    """What has been read so far.

    ``unused`` are reasons by key, of what is not simulated. ``corrected`` are names by what Slurm corrects of them.
    """

    nodes: dict[str, _Node] = field(default_factory=dict)
    sets: dict[str, list[str]] = field(default_factory=dict)
    parameters: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    unused: dict[str, str] = field(default_factory=dict)
    scheduling: dict[str, None] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    repeated: dict[str, None] = field(default_factory=dict)
    corrected: dict[str, list[str]] = field(default_factory=dict)
    types: dict[tuple[object, ...], NodeType] = field(default_factory=dict)
    gpus: dict[str, dict[str, int]] = field(default_factory=dict)


def read_slurm_conf(path: str) -> Platform:
    """Read the platform of a slurm.conf and the files it includes; ``platform.slurm`` keeps what is no hardware.

    Nodes that are DOWN, DRAIN, FAIL or FUTURE are left out, and those that no partition has. Warns in one line (ModelWarning)
    of these and of what is not simulated, and in another (SchedulerWarning) of what only the scheduler ``slurm`` follows: see
    :func:`read_for`. Raises FormatError naming file, line and key.
    """
    return platform_of(lines_of(path), path)


def platform_of(lines: list[Line], path: str) -> Platform:
    """Make the platform of the lines of a slurm.conf, read from ``path`` or changed since.

    See :func:`read_slurm_conf`.
    """
    found = _Configuration(gpus=gpus_beside(path))
    for line in lines:
        found.repeated |= dict.fromkeys(line.repeated)
        if line.key not in ("nodename", "partitionname", *_SEVERAL):
            _add_parameters(line, found)
    of_partitions = list(_with_defaults(lines, "partitionname"))
    switches = Switches(found.parameters, [line.pairs for line in of_partitions])
    for line in _with_defaults(lines, "nodename"):
        _add_nodes(line, found, switches)
    _follow_states_and_sets(lines, found)
    members: list[list[str]] = []
    for line in of_partitions:
        listed = ",".join(line.pairs.get("nodes", "").split())  # Slurm takes blanks for commas
        with_commas = replace(line, pairs=line.pairs | {"nodes": listed})
        members.append([] if listed.lower() in ("", "(null)") else _named(with_commas, "nodes", found))
    up = [node for node in found.nodes.values() if node.state not in _LEFT_OUT]
    inside = {name for names in members for name in names} if members else found.nodes.keys()
    kept = [node for node in up if node.name in inside]
    if not kept:
        raise FormatError(
            path, "at least one node (NodeName=…) that is up and in a partition", counted(len(found.nodes), "node")
        )
    position = {node.name: index for index, node in enumerate(kept)}
    partitions = [
        _partition(line, found, switches, tuple(sorted({position[name] for name in names if name in position})))
        for line, names in zip(of_partitions, members, strict=True)
    ]
    for name in (names_of_all := [partition.name for partition in partitions]):
        if names_of_all.count(name) > 1:
            raise FormatError(f"{path}, PartitionName={name}", "every partition once", "it twice")
    if len(defaults := [partition.name for partition in partitions if partition.default]) > 1:
        found.corrected["Default=YES: Slurm takes the last"] = defaults
        partitions = [replace(each, default=each.name == defaults[-1]) for each in partitions]
    slurm = SlurmMachine(
        tuple(position),
        tuple(n.weight for n in kept),
        tuple(n.gres for n in kept),
        tuple(partitions),
        found.parameters,
        found.places,
        tuple(n.threads for n in kept),
        len(up),
        sum(n.type.cores for n in up),
    )
    _note_parameters(found, switches)
    _warn(path, found, switches, slurm, [node.name for node in up if node.name not in inside])
    groups = [NodeGroup(kind, sum(1 for _ in some)) for kind, some in groupby(kept, key=lambda node: node.type)]
    name = found.parameters.get("clustername") or "cluster0"
    above = switches_beside(path, position, found.nodes)
    try:
        clusters = (Cluster(name, tuple(groups)),)
        return Platform(clusters, id=name, watts_assumed=True, slurm=slurm, switches=above)
    except InputError as error:
        raise FormatError(f"{path}: {error.where}", error.expected, error.found) from None


@contextmanager
def read_for(schedulers: Iterable[str]) -> Iterator[None]:
    """Leave out, in this context, the warnings that do not concern runs under these schedulers (specs)."""
    with warnings.catch_warnings():
        if {spec.strip().partition(":")[0] for spec in schedulers} == {"slurm"}:
            warnings.simplefilter("ignore", SchedulerWarning)
        yield


def _with_defaults(lines: list[Line], key: str) -> Iterator[Line]:
    """Yield the lines about ``key``, filled up from the DEFAULT lines before them."""
    defaults: dict[str, str] = {}
    written: dict[str, str] = {}
    for line in lines:
        if line.key != key:
            continue
        if line.pairs[key].upper() == "DEFAULT":
            defaults |= {name: value for name, value in line.pairs.items() if name not in _NOT_INHERITED[key]}
            written |= line.written
            continue
        hidden = ("feature", "features") if {"feature", "features"} & line.pairs.keys() else ()
        inherited = {name: value for name, value in defaults.items() if name not in hidden}
        yield Line(line.place, {**inherited, **line.pairs}, {**written, **line.written})


def _value(line: Line, parse: Callable[[str], Value], default: Value, *keys: str) -> Value:
    """Return the value of the first of the keys that the line has.

    Raises FormatError for what ``parse`` does not understand.
    """
    key = next((key for key in keys if key in line.pairs), "")
    if not key:
        return default
    try:
        return parse(line.pairs[key])
    except ValueError as error:
        raise FormatError(f"{line.place}, {line.written.get(key, key)}", str(error), line.pairs[key]) from None


# ---------------------------------------------------------------------- nodes


def _add_nodes(line: Line, found: _Configuration, switches: Switches) -> None:
    names = _value(line, values.host_list, list[str](), "nodename")
    given = {key: _value(line, values.whole, 1, key.lower()) for key in HARDWARE_KEYS if key.lower() in line.pairs}
    if "CPUs" not in given and "procs" in line.pairs:
        given["CPUs"] = _value(line, values.whole, 1, "procs")
    (cpus, sockets, threads), notes = hardware_of(given)
    for note in notes:
        found.corrected.setdefault(note, []).append(line.pairs["nodename"])
    if given.keys().isdisjoint(("Sockets", "SocketsPerBoard", "CoresPerSocket")) or cpus % sockets:
        sockets = 1
    memory_mb = _value(line, values.whole, 1, "realmemory")  # 1 is what Slurm takes if nothing is said
    tags = frozenset(filter(None, re.split(r"[,\s]+", line.pairs.get("feature", line.pairs.get("features", "")))))
    gpus = _value(line, values.gpus_by_type, dict[str, int](), "gres")
    weight = _value(line, values.whole, 1, "weight")
    state = _value(line, _state, "UNKNOWN", "state")
    kinds: dict[str, NodeType] = {}
    for name in names:
        gres = typed(line.pairs.get("gres", ""), found.gpus.get(name) or found.gpus.get(ALL, {}), gpus)
        if gres not in kinds:
            # Which GPUs a job gets on a node of several types is not simulated, so that none are given.
            units = [Resource(count, kind) for kind, count in values.gpus_by_type(gres).items() if count]
            resources = Resources({GPU: units[0]} if len(units) == 1 else {})
            key = (cpus, sockets, memory_mb, tags, resources)
            if key not in found.types:  # nodes that are alike share a type
                title = line.pairs["nodename"]
                title = f"type {len(found.types) + 1}" if len(title) > 60 or kinds else title
                found.types[key] = _node_type(line, title, cpus, sockets, memory_mb, tags, resources)
            kinds[gres] = found.types[key]
        if name in found.nodes:
            raise FormatError(f"{line.place}, NodeName", "every node once", f"{name} twice")
        found.nodes[name] = _Node(name, kinds[gres], threads, weight, gres, state)
    if len(found.nodes) > values.MAX_NODES_IN_LIST:
        raise FormatError(f"{line.place}, NodeName", f"at most {values.MAX_NODES_IN_LIST:,} nodes", len(found.nodes))
    _note_keys(line, _OF_NODES, NODES_NOT_SIMULATED, found, switches)


def _node_type(
    line: Line, name: str, cpus: int, sockets: int, memory_mb: int, tags: frozenset[str], resources: Resources
) -> NodeType:
    try:
        processor = ProcessorType(f"{cpus // sockets} CPUs", cpus // sockets, CLOCK_GHZ, power=power_at(CLOCK_GHZ))
        memory_gb = None if memory_mb <= 1 else memory_mb / 1024
        return NodeType(name, (processor,) * sockets, memory_gb, tags=tags, resources=resources)
    except InputError as error:
        raise FormatError(f"{line.place}, {error.where}", error.expected, error.found) from None


def _sharing(text: str) -> str:
    kind, colon, rows = text.upper().partition(":")
    if kind not in _OVERSUBSCRIBE or (colon and not rows.isdigit()):
        raise ValueError(f"one of {', '.join(_OVERSUBSCRIBE)}, YES and FORCE perhaps with a number, FORCE:4")
    return text.upper()


def _preempt_mode(text: str) -> str:
    if text.lower() == "(null)":
        return ""
    words = [word.strip() for word in text.upper().split(",")]
    if not set(words) <= set(_PREEMPT_MODES):
        raise ValueError(f"one of {', '.join(_PREEMPT_MODES)}, or two with a comma")
    return text.upper()


def _state(text: str) -> str:
    state = text.upper().split("+")[0].rstrip("*~#%$@^!-")
    if state not in _STATES:
        raise ValueError(f"a state ({', '.join(_STATES[:7])})")
    return state


def _follow_states_and_sets(lines: list[Line], found: _Configuration) -> None:
    """Follow lines such as ``DownNodes=n[1-2] State=DOWN`` and ``NodeSet=big Feature=bigmem Nodes=n7``."""
    for line in lines:
        if line.key == "downnodes":
            state = _value(line, _state, "DOWN", "state")
            for name in _named(line, "downnodes", found):
                found.nodes[name].state = state
        elif line.key == "nodeset":
            feature = line.pairs.get("feature", "")
            tagged = [node.name for node in found.nodes.values() if feature in node.type.tags]
            named = _named(line, "nodes", found) if "nodes" in line.pairs else []
            found.sets[line.pairs["nodeset"].lower()] = list(dict.fromkeys([*tagged, *named]))


def _named(line: Line, key: str, found: _Configuration) -> list[str]:
    """Return the nodes that a value names, one by one, by ALL, or by the name of a set."""
    if line.pairs.get(key, "").upper() == "ALL":
        return list(found.nodes)
    names: list[str] = []
    for name in _value(line, values.host_list, list[str](), key):
        some = found.sets.get(name.lower(), [name] if name in found.nodes else None)
        if some is None:
            raise FormatError(f"{line.place}, {line.written.get(key, key)}", "a node that NodeName describes", name)
        names += some
    return names


# ---------------------------------------------------------------------- partitions and parameters


def _partition(line: Line, found: _Configuration, switches: Switches, nodes: tuple[int, ...]) -> Partition:
    name = line.pairs["partitionname"]
    _note_keys(line, _OF_PARTITIONS, PARTITIONS_NOT_SIMULATED, found, switches)
    max_time = _value(line, values.duration, math.inf, "maxtime")
    max_time = math.inf if math.isnan(max_time) else max_time
    default_time = _value(line, values.duration, math.nan, "defaulttime")
    if default_time > max_time:
        found.corrected.setdefault("DefaultTime beyond MaxTime: Slurm takes MaxTime", []).append(name)
        default_time = math.nan
    return Partition(
        name,
        nodes,
        default=_value(line, values.truth, False, "default"),
        max_time_s=max_time,
        default_time_s=None if math.isnan(default_time) else default_time,
        min_nodes=_value(line, values.whole, 0, "minnodes"),
        max_nodes=_value(
            line, lambda text: 0 if text.lower() in ("unlimited", "infinite") else values.whole(text), 0, "maxnodes"
        ),
        priority_tier=_value(line, values.whole, 1, "priority", "prioritytier"),
        priority_job_factor=_value(line, values.whole, 1, "priority", "priorityjobfactor"),
        over_subscribe=_value(line, _sharing, "NO", "oversubscribe", "shared"),
        preempt_mode=_value(line, _preempt_mode, "", "preemptmode"),
        grace_time_s=float(_value(line, values.whole, 0, "gracetime")),
        state=_value(line, _partition_state, "UP", "state"),
        alternate=line.pairs.get("alternate", ""),
        def_memory_per_cpu=0 if (of_a_node := _memory_in(line, "defmempernode")) else _memory_in(line, "defmempercpu"),
        def_memory_per_node=of_a_node,
        options={key: value for key, value in line.pairs.items() if key not in PARTITION_KEYS},
        place=line.place,
    )


def _memory_in(line: Line, key: str) -> int:
    """Return a default of memory, MB; 0 where there is none, or no limit."""
    return _value(
        line, lambda text: 0 if text.upper() in ("UNLIMITED", "INFINITE", "(NULL)") else values.whole(text), 0, key
    )


def _partition_state(text: str) -> str:
    """Return the state that a text begins with, as Slurm has it: ``DRAINED`` is DRAIN."""
    known = next((state for state in values.PARTITION_STATES if text.upper().startswith(state)), text)
    return values.one_of(*values.PARTITION_STATES)(known)


def _note_keys(
    line: Line, known: Mapping[str, str], unused: Mapping[str, str], found: _Configuration, switches: Switches
) -> None:
    """Keep in mind which keys of a line are not simulated, or not known at all."""
    for key, value in line.pairs.items():
        if key in unused:
            if switches.acts(key, value):
                found.unused[line.written[key]] = unused[key]
        elif key not in known:
            found.unknown[f"{line.written[key]}{_meant(key, known)}"] = None


def _meant(key: str, known: Mapping[str, str]) -> str:
    """Say which key one that is not known is near; empty: none."""
    close = near(key, known, least=0.8)
    return f" (perhaps {known[close[0]]})" if close else ""


def _add_parameters(line: Line, found: _Configuration) -> None:
    for key, value in line.pairs.items():
        if key in _WORDS and value.lower() not in ("", "(null)"):
            _value(line, _WORDS[key], "", key)
        if key in found.parameters:
            found.repeated[line.written[key]] = None
        found.parameters[key], found.places[key], found.written[key] = value, line.place, line.written[key]


def _note_parameters(found: _Configuration, switches: Switches) -> None:
    """Keep in mind which keys of the whole machine are not simulated, which only ``slurm`` follows, and which nobody knows."""
    for key, value in found.parameters.items():
        written = found.written[key]
        if key in NOT_SIMULATED:
            if switches.acts(key, value):
                found.unused[written] = NOT_SIMULATED[key]
        elif key in _BY_SLURM:
            if switches.is_on(key) and (key not in OPTIONS or OPTIONS[key].are_followed(value)):
                found.scheduling[written] = None
        elif key not in _KNOWN:
            found.unknown[f"{written}{_meant(key, _KNOWN)}"] = None


def _warn(path: str, found: _Configuration, switches: Switches, slurm: SlurmMachine, outside: list[str]) -> None:
    """Warn in one line of what a run does otherwise than the machine, and in one of what only some schedulers do."""
    parts = []
    out = [f"{node.name} ({node.state})" for node in found.nodes.values() if node.state in _LEFT_OUT]
    if out:
        parts.append(f"{len(out):,} of {len(found.nodes):,} nodes left out: {few(out, 5)}")
    if outside:
        parts.append(
            f"{counted(len(outside), 'node')} of no partition left out, since no job may run there: {few(outside, 5)}"
        )
    if found.repeated:
        parts.append(f"written more than once, of which the last counts, as in Slurm: {', '.join(found.repeated)}")
    parts += [f"{few(names, 5)}, {note}" for note, names in found.corrected.items()]
    keys_by_reason: dict[str, list[str]] = {}
    for key, why in found.unused.items():
        keys_by_reason.setdefault(why, []).append(key)
    parts += [f"{', '.join(keys)}: {why}" for why, keys in keys_by_reason.items()]
    gres = {part.partition(":")[0].strip() for of_node in slurm.gres for part in of_node.split(",")}
    if other_gres := gres - {"gpu", "gres", ""}:
        parts.append(f"Gres {', '.join(sorted(other_gres))}: not simulated")
    if several := sum(len(values.gpus_by_type(of_node)) > 1 for of_node in slurm.gres):
        parts.append(f"GPUs of {counted(several, 'node')}, which have several types on a node: not simulated")
    unknown = list(found.unknown)
    for key, options in OPTIONS.items():
        not_simulated, not_known = options.apart(found.parameters.get(key, "")) if switches.is_on(key) else ([], [])
        if not_simulated:
            parts.append(f"{options.key} {', '.join(not_simulated)}: not simulated")
        if not_known:
            unknown.append(f"{options.key} {', '.join(not_known)}")
    if unknown:
        parts.append(f"not known: {', '.join(unknown)}")
    if parts:
        warn_user(ModelWarning(f"{path}: {'; '.join(parts)}"))
    # What the scheduler `slurm` does as the machine, and others do not.
    parts = []
    if any(_restricts(partition, len(slurm.node_names)) for partition in slurm.partitions):
        parts.append("nodes, limits, tiers and states of partitions: only the scheduler slurm:conf=FILE follows them")
    priorities = [key for key in found.scheduling if _PRIORITY.fullmatch(key.lower())]
    others = [key for key in found.scheduling if key not in priorities]
    if priorities:
        parts.append(
            f"{', '.join(priorities)}: only the scheduler slurm:conf=FILE and the order multifactor follow them"
        )
    if others:
        parts.append(f"{', '.join(others)}: only the scheduler slurm:conf=FILE follows them")
    if parts:
        warn_user(SchedulerWarning(f"{path}: {'; '.join(parts)}"))


def _restricts(partition: Partition, node_count: int) -> bool:
    """Return whether what is followed of a partition makes it more than a name for all nodes."""
    plain = Partition(
        partition.name,
        partition.nodes,
        partition.default,
        default_time_s=partition.default_time_s,
        options=partition.options,
    )
    return len(partition.nodes) < node_count or partition != plain


HARDWARE_KEYS = ("CPUs", "Boards", "Sockets", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore")


class Hardware(NamedTuple):
    """CPUs of a node, its sockets, and how many of its CPUs are threads of one core."""

    cpus: int
    sockets: int
    threads: int


def hardware_of(given: Mapping[str, int]) -> tuple[Hardware, list[str]]:
    """Return the hardware for the given keys of :data:`HARDWARE_KEYS`, and a sentence for each value that Slurm corrects.

    A number that is missing is 1, but for two. Sockets that are missing are ``Boards`` times ``SocketsPerBoard``, or else what
    ``CPUs`` need if these fill sockets exactly, or else one on each board. CPUs that are missing are all threads. ``Boards``
    count for nothing else. CPUs may be as many as sockets, cores or threads; others are corrected to all threads.
    """
    notes = [f"{key}=0: Slurm takes 1" for key, number in given.items() if not number]
    found = {key: max(number, 1) for key, number in given.items()}
    boards, cores, threads = (found.get(key, 1) for key in ("Boards", "CoresPerSocket", "ThreadsPerCore"))
    if "SocketsPerBoard" in found:
        sockets = boards * found["SocketsPerBoard"]
        if "Sockets" in found:
            notes.append("Sockets beside SocketsPerBoard: Slurm takes SocketsPerBoard")
    elif "Sockets" in found:
        sockets = found["Sockets"]
    elif "CPUs" in found and not found["CPUs"] % (cores * threads):
        sockets = found["CPUs"] // (cores * threads)
    else:
        sockets = boards
    all_cores = sockets * cores
    cpus = found.get("CPUs", all_cores * threads)
    if cpus not in (sockets, all_cores, all_cores * threads):
        has = f"{counted(sockets, 'socket')}, {counted(all_cores, 'core')} and {counted(all_cores * threads, 'thread')}"
        notes.append(f"CPUs={cpus} of nodes with {has}: Slurm takes all threads")
        cpus = all_cores * threads
    return Hardware(cpus, sockets, 1 if all_cores >= cpus else threads), notes
