"""The hosts that a SimGrid platform file (XML, version 3 to 4.1) describes, as Batsim sees them.

Read are ``host``, ``cluster``, ``cabinet`` and ``peer`` in zones (``zone``, once ``AS``), with their attributes
``speed`` (once ``power``; one per p-state), ``core``, ``pstate``, ``prefix``, ``radical`` and ``suffix``, and the
properties ``watt_per_state``, ``watt_off`` (once ``wattage_…``), ``sleep_pstates`` and ``role``. Links and routes
are passed over: there is no network. Other elements, attributes and properties are named in a warning. Nothing outside the
file is ever fetched.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, ParseError

import defusedxml.ElementTree
from defusedxml import DefusedXmlException

from cluster_sim.errors import FormatError
from cluster_sim.files.documents import MAX_JSON_BYTES, is_plain
from cluster_sim.files.reading import read_text
from cluster_sim.spelling import UnknownKeys

MAX_HOSTS = 1_000_000
MAX_DEPTH = 50
MAX_PSTATES = 1000

_ZONES = ("zone", "AS")
_HOSTS = ("host", "peer", "cluster", "cabinet")
_NO_HOSTS = (
    "link", "route", "zoneRoute", "ASroute", "bypassRoute", "bypassZoneRoute", "bypassASroute", "router", "host_link",
    "link_ctn", "backbone", "config", "storage", "storage_type", "mstorage", "mount", "disk", "trace", "trace_connect",
    "random", "process", "actor", "argument",
)  # fmt: skip
"""Elements that are passed over: network, storage, and what runs there."""
_ATTRIBUTES = {"host": ("id", "speed", "power", "core", "pstate"), "zone": ("id",)}
_ATTRIBUTES |= {"peer": _ATTRIBUTES["host"], "AS": _ATTRIBUTES["zone"]}
_ATTRIBUTES |= dict.fromkeys(("cluster", "cabinet"), (*_ATTRIBUTES["host"], "prefix", "suffix", "radical"))
_NO_ATTRIBUTES = (
    "routing", "coordinates", "availability", "availability_file", "speed_file", "state_file", "bw", "lat", "bw_in",
    "bw_out", "bb_bw", "bb_lat", "bb_sharing_policy", "sharing_policy", "topology", "topo_parameters", "router_id",
    "limiter_link", "loopback_bw", "loopback_lat",
)  # fmt: skip
"""Attributes that are passed over: network, and hosts whose speed changes."""
_PROPERTIES = (
    "watt_per_state", "wattage_per_state", "watt_off", "wattage_off", "sleep_pstates", "role", "excluded", "cores_per_node",
)  # fmt: skip
_SPEED = re.compile(r"([-+0-9.eE]+?)\s*(?:([kKMGTPEZY]?)f(?:lops)?|(kilo|mega|giga|tera|peta|exa|zetta|yotta)?flops)?")
_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21, "Y": 1e24}
_MASTER = re.compile(r"master_host[0-9]*")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


class Watts(NamedTuple):
    """What a host draws in a p-state: idle, with a vanishing load (``epsilon``), with all cores busy."""

    idle: float
    epsilon: float
    full: float


class SleepStates(NamedTuple):
    """P-states of sleeping and of the transitions, in the order in which ``sleep_pstates`` gives them."""

    asleep: int
    switching_off: int
    switching_on: int


@dataclass(frozen=True, slots=True)
class HostKind:
    """What equal hosts have in common. ``left_out`` says why no job runs there, if none does."""

    speeds: tuple[float, ...]  #: Operations per unit of time of one core, by p-state.
    watts: tuple[Watts, ...]  #: W by p-state; may be shorter than ``speeds``.
    cores: int
    initial: int  #: P-state at the start.
    sleep: tuple[SleepStates, ...] = ()
    watt_off: float | None = None
    left_out: str = ""

    @property
    def computing_pstates(self) -> tuple[int, ...]:
        """Return the p-states in which tasks can run: neither asleep nor a transition."""
        others = {pstate for states in self.sleep for pstate in states}
        return tuple(pstate for pstate in range(len(self.speeds)) if pstate not in others)


@dataclass(frozen=True, slots=True)
class Host:
    """A host: its name, its kind, and the zone or cluster that it stands in."""

    name: str
    kind: HostKind
    zone: Zone


@dataclass(eq=False, slots=True)
class Zone:
    """A zone, cluster or cabinet; ``properties`` are its own and those of the zones around it."""

    id: str
    properties: dict[str, str] = field(default_factory=dict)


def read_hosts(path: str | Path) -> list[Host]:
    """Read all hosts of a file, also those without jobs, in the order in which Batsim numbers them.

    Batsim sorts by name, numbers within a name as numbers: ``host2`` comes before ``host10``.
    Raises FormatError naming file and host.
    """
    root = parse(path)
    if root.tag != "platform":
        raise FormatError(path, "a SimGrid platform (<platform>)", f"<{_shown(root.tag)}>")
    keys = UnknownKeys(path)
    _look(keys, root, 0)
    keys.tell()
    hosts: list[Host] = []
    seen: set[str] = set()
    for host in _hosts_in(root, Zone("platform"), str(path), 0):
        if host.name in seen:
            raise FormatError(f"{path}: host '{host.name}'", "every host once", "it twice")
        seen.add(host.name)
        hosts.append(host)
        if len(hosts) > MAX_HOSTS:
            raise FormatError(path, f"at most {MAX_HOSTS} hosts", "more")
    return sorted(hosts, key=lambda host: batsim_order(host.name))


def _look(keys: UnknownKeys, element: Element, depth: int) -> None:
    """Note the elements, attributes and properties around hosts that are not known."""
    for child in element:
        place = f"{element.tag} '{_shown(element.get('id', ''))}'"
        keys.look([child.tag], (*_ZONES, *_HOSTS, "prop", "include"), place, _NO_HOSTS)
        if child.tag == "prop":
            keys.look(filter(None, [child.get("id")]), _PROPERTIES, place)
            keys.look(child.attrib, ("id", "value"), f"a prop of {place}")
        elif child.tag in _ATTRIBUTES:
            name = _shown(child.get("id", ""))
            keys.look(child.attrib, _ATTRIBUTES[child.tag], f"{child.tag} '{name}'", _NO_ATTRIBUTES)
            if depth < MAX_DEPTH:
                _look(keys, child, depth + 1)


def parse(path: str | Path) -> Element:
    """Return the root of an XML file, ``.gz`` too. Raises FormatError, also for entities, which no platform needs."""
    text = read_text(path, MAX_JSON_BYTES)
    try:
        root: Element = defusedxml.ElementTree.fromstring(text.lstrip(), forbid_dtd=False)
    except ParseError as error:
        line, column = error.position
        raise FormatError(f"{path}, line {line} column {column + 1}", "XML", str(error).partition(":")[0]) from None
    except DefusedXmlException as error:
        raise FormatError(path, "XML without entities", type(error).__name__) from None
    except (ValueError, LookupError) as error:  # an encoding that does not exist, or another than it says
        raise FormatError(path, "XML in UTF-8", str(error)) from None
    return root


def batsim_order(name: str) -> list[tuple[int, int]]:
    """Return the sort key of a host name: character by character, but runs of digits by their value."""
    parts = re.findall(r"[0-9]+|[^0-9]", name)
    return [(ord("0"), int(part)) if part.isascii() and part.isdigit() else (ord(part), 0) for part in parts]


# ---------------------------------------------------------------------- from elements to hosts


def _hosts_in(element: Element, zone: Zone, path: str, depth: int) -> Iterator[Host]:
    if depth > MAX_DEPTH:
        raise FormatError(f"{path}: zone '{_shown(zone.id)}'", f"at most {MAX_DEPTH} zones within each other", "more")
    for child in element:
        if child.tag in _ZONES:
            inner = Zone(_name(child, path), {**zone.properties, **_properties(child, path)})
            yield from _hosts_in(child, inner, path, depth + 1)
        elif child.tag in _HOSTS:
            yield from _hosts_of(child, zone, path)
        elif child.tag == "include":
            raise FormatError(f"{path}: include", "a platform in one file", _shown(child.get("file", "")))


def _hosts_of(element: Element, zone: Zone, path: str) -> Iterator[Host]:
    """Yield the hosts of one element: itself, or all that a cluster's or cabinet's radical counts."""
    if element.tag in ("host", "peer"):
        name = _name(element, path)
        yield Host(name, _kind(element, name, f"{path}: host '{name}'"), zone)
        return
    where = f"{path}: {element.tag} '{_name(element, path)}'"
    inner = Zone(_name(element, path), zone.properties)
    prefix, suffix = element.get("prefix", ""), element.get("suffix", "")
    numbers = _radical(element.get("radical", ""), where)
    kind = _kind(element, f"{prefix}{numbers[0]}{suffix}", where)
    if not is_plain(f"{prefix}{suffix}"):
        raise FormatError(where, "a prefix and a suffix of printable characters", _shown(prefix))
    for number in numbers:
        yield Host(f"{prefix}{number}{suffix}", kind, inner)


def _radical(text: str, where: str) -> list[int]:
    """Return the numbers of ``1-29,58,59``."""
    numbers: list[int] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise FormatError(f"{where}, radical", "numbers and ranges such as 0-31,40", _shown(text))
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first or last - first + len(numbers) >= MAX_HOSTS:
            raise FormatError(f"{where}, radical", f"rising ranges, at most {MAX_HOSTS} hosts", _shown(part))
        numbers += range(first, last + 1)
    return numbers


def _kind(element: Element, first_name: str, where: str) -> HostKind:
    properties = _properties(element, where)
    left_out = _why_left_out(properties, first_name)
    listed_speeds = element.get("speed", element.get("power"))
    if listed_speeds is None:
        raise FormatError(where, "an attribute 'speed'")
    speeds = tuple(_speed(part, where) for part in listed_speeds.split(","))
    if len(speeds) > MAX_PSTATES:
        raise FormatError(f"{where}, speed", f"at most {MAX_PSTATES} p-states", len(speeds))
    watts: list[Watts] = []
    listed_watts = properties.get("watt_per_state", properties.get("wattage_per_state", ""))
    for part in listed_watts.split(",") if listed_watts.strip() else ():
        numbers = [_number(number, f"{where}, watt_per_state") for number in part.split(":")]
        if len(numbers) not in (2, 3):
            expected = "idle:full or idle:epsilon:full for each p-state"
            raise FormatError(f"{where}, watt_per_state", expected, _shown(part))
        # Without epsilon, power rises straight from idle to full.
        watts.append(Watts(numbers[0], numbers[-2] if len(numbers) == 3 else numbers[0], numbers[-1]))
    cores = _count(element.get("core", "1"), f"{where}, core", least=1)
    initial = _pstate(element.get("pstate", "0"), f"{where}, pstate", len(speeds))
    sleep: list[SleepStates] = []
    for triple in filter(None, (part.strip() for part in properties.get("sleep_pstates", "").split(","))):
        states = triple.split(":")
        if len(states) != 3:
            raise FormatError(f"{where}, sleep_pstates", "asleep:switching off:switching on", _shown(triple))
        sleep.append(SleepStates(*(_pstate(state, f"{where}, sleep_pstates", len(speeds)) for state in states)))
    watt_off = properties.get("watt_off", properties.get("wattage_off"))
    off_w = None if watt_off is None else _number(watt_off, f"{where}, watt_off")
    return HostKind(speeds, tuple(watts), cores, initial, tuple(sleep), off_w, left_out)


def _why_left_out(properties: dict[str, str], name: str) -> str:
    roles = {role.strip() for role in properties.get("role", "").split(",")}
    if "master" in roles or _MASTER.fullmatch(name):
        return "it is the master host, on which Batsim runs its scheduler and no jobs"
    if "storage" in roles and "compute_node" not in roles:
        return "it is a storage host, and I/O is not simulated"
    if properties.get("excluded", "").strip().lower() == "true":
        return "it is marked as excluded"
    return ""


def _speed(text: str, where: str) -> float:
    match = _SPEED.fullmatch(text.strip())
    expected = "operations per second such as 100.0Mf"
    if match is None:
        raise FormatError(f"{where}, speed", expected, _shown(text))
    prefix = match[2] or (match[3] or "")[:1].upper()
    try:
        speed = float(match[1]) * _PREFIXES[prefix]
    except ValueError:
        raise FormatError(f"{where}, speed", expected, _shown(text)) from None
    if not 0 <= speed < math.inf:
        raise FormatError(f"{where}, speed", "a finite number >= 0", _shown(text))
    return speed


def _pstate(text: str, where: str, pstates: int) -> int:
    number = _count(text, where, least=0)
    if number >= pstates:
        raise FormatError(where, f"a p-state from 0 to {pstates - 1}", number)
    return number


def _count(text: str, where: str, least: int) -> int:
    text = text.strip()
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < least:
        raise FormatError(where, f"a whole number >= {least}", _shown(text))
    return int(text)


def _number(text: str, where: str) -> float:
    try:
        number = float("nan" if "_" in text else text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise FormatError(where, "a number >= 0", _shown(text))
    return number


def _properties(element: Element, where: str) -> dict[str, str]:
    properties: dict[str, str] = {}
    for child in element.findall("prop"):
        if child.get("id") is None or child.get("value") is None:
            raise FormatError(f"{where}, prop", "attributes 'id' and 'value'")
        properties[child.attrib["id"]] = child.attrib["value"]
    return properties


def _name(element: Element, path: str) -> str:
    name = element.get("id", "")
    if not name.strip() or not is_plain(name):
        raise FormatError(f"{path}: {element.tag}", "an attribute 'id' of printable characters", _shown(name) or "none")
    return name


def _shown(value: Any) -> str:
    return str(value)[:60]
