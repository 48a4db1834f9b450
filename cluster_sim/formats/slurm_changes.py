"""Changes of a slurm.conf, as texts: what if a key had another value, a partition another limit, the machine more nodes?

| change | sets |
|---|---|
| ``PriorityWeightAge=5000`` | a key of the whole machine |
| ``SchedulerParameters:bf_interval=60`` | one option of several; ``SchedulerParameters:bf_continue`` one without a value |
| ``PartitionName=batch:MaxTime=1-00:00:00`` | a key of a partition |
| ``NodeName=node[01-04]:Weight=10`` | a key of nodes, all of a line or some |

An empty value takes a key or an option away, so that Slurm's default holds. Keys count in any case. Nodes come and go by
:func:`with_nodes`; :func:`written` gives the text of the changed file.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cluster_sim.errors import InputError
from cluster_sim.formats.slurm_keys import (
    FOLLOWED,
    FOLLOWED_OF_NODES,
    FOLLOWED_OF_PARTITIONS,
    NODES_NOT_SIMULATED,
    NOT_SIMULATED,
    OPTIONS,
    PARTITIONS_NOT_SIMULATED,
    Options,
)
from cluster_sim.formats.slurm_lines import Line
from cluster_sim.formats.slurm_values import host_list
from cluster_sim.spelling import nearest

_FOLLOWED = {"": FOLLOWED, "nodename": FOLLOWED_OF_NODES, "partitionname": FOLLOWED_OF_PARTITIONS}
_NOT_SIMULATED = {
    "": NOT_SIMULATED,
    "nodename": NODES_NOT_SIMULATED,
    "partitionname": PARTITIONS_NOT_SIMULATED,
}
_WITH_OPTIONS = ("schedulerparameters", "priorityflags", "preemptparameters")
_OF_MACHINE = ("nodename", "partitionname", "nodeset", "downnodes")
_CHANGE = re.compile(
    r"(?:(?P<kind>NodeName|PartitionName)=(?P<names>[^:=\s]+):)?(?P<key>[A-Za-z]\w*)(?::(?P<option>\w+))?(?:=(?P<value>.*))?",
    re.IGNORECASE | re.DOTALL,
)
_NODES = re.compile(r"(?P<sign>[+-])(?P<count>[0-9]{1,6})(?::(?P<like>\S+))?")
_OF_PEOPLE = (
    *("allowaccounts", "allowgroups", "denyaccounts", "reason", "slurmuser", "slurmduser", "mcsparameters"),
    *("accountingstorageuser", "accountingstoragepass", "jobcompuser", "jobcomppass"),
)
_ONE_OF_ITS_NODES = ("nodeaddr", "nodehostname", "port", "bcastaddr", "state", "reason")


class _Change(NamedTuple):
    """A change, taken apart; ``kind`` and ``key`` in small letters, ``written`` as the user wrote the key."""

    text: str
    kind: str
    names: str
    key: str
    written: str
    option: str
    value: str


def with_changes(lines: Sequence[Line], changes: Iterable[str]) -> list[Line]:
    """The lines of a slurm.conf after these changes, one after the other; lines that are changed name the change as their place.

    Raises InputError, naming the change, for one that is written otherwise than the table of this module shows, for a key that
    Slurm does not have or that is not simulated, and for a partition or node that there is not.
    """
    found = list(lines)
    for text in changes:
        change = _understood(text)
        if change.kind:
            found = list(_with_machine_key(found, change))
        elif change.option:
            found = _with_global_key(found, change, _with_option(_value_of(found, change.key), change))
        else:
            found = _with_global_key(found, change, change.value)
    return found


def _understood(text: str) -> _Change:
    where = f"change {text}"
    match = _CHANGE.fullmatch(text.strip())
    if match is None or (match["option"] and match["kind"]) or (match["value"] is None and not match["option"]):
        expected = "KEY=VALUE, KEY:OPTION=VALUE, PartitionName=NAME:KEY=VALUE or NodeName=NAMES:KEY=VALUE"
        raise InputError(where, expected)
    kind, key, value = (match["kind"] or "").lower(), match["key"], match["value"]
    if not (value or "").isprintable() or '"' in (value or ""):
        raise InputError(where, "a value of printable characters without quotes", value)
    if key.lower() in _NOT_SIMULATED[kind]:
        raise InputError(where, "a key that is simulated", f"{key}: {_NOT_SIMULATED[kind][key.lower()]}")
    _check_name(where, key, _FOLLOWED[kind])
    if match["option"] and key.lower() not in _WITH_OPTIONS:
        raise InputError(where, "SchedulerParameters, PriorityFlags or PreemptParameters before the option", key)
    if not kind and key.lower() in OPTIONS:
        _check_options(where, OPTIONS[key.lower()], match["option"] or value or "")
    return _Change(text, kind, match["names"] or "", key.lower(), key, match["option"] or "", _said(value))


def _check_options(where: str, options: Options, value: str) -> None:
    unused, unknown = options.apart(value)
    if unused:
        raise InputError(where, "an option that is simulated", unused[0])
    for name in unknown:
        _check_name(where, name, sorted(options.followed))


_FLAG = "\0"


def _said(value: str | None) -> str:
    """The value, or the mark of an option that stands alone."""
    return _FLAG if value is None else value.strip()


def _check_name(where: str, name: str, known: Sequence[str]) -> None:
    spelled = {each.lower(): each for each in known}
    if name.lower() not in spelled:
        raise InputError(where, nearest(name.lower(), spelled), name)


# ---------------------------------------------------------------------- keys of the whole machine


def _value_of(lines: Iterable[Line], key: str) -> str:
    """What a key of the whole machine says last."""
    said = [line.pairs[key] for line in lines if line.key not in _OF_MACHINE and key in line.pairs]
    return said[-1] if said else ""


def _with_option(value: str, change: _Change) -> str:
    """A list of options with one of them set, in the place where it stands, or taken away."""
    name = change.option.lower()
    wanted = [] if not change.value else [change.option + ("" if change.value == _FLAG else f"={change.value}")]
    parts = [part for part in value.split(",") if part.strip()]
    places = [place for place, part in enumerate(parts) if part.partition("=")[0].strip().lower() == name]
    kept = [part for place, part in enumerate(parts) if place not in places]
    at = places[0] if places else len(kept)
    return ",".join([*kept[:at], *wanted, *kept[at:]])


def _with_global_key(lines: list[Line], change: _Change, value: str) -> list[Line]:
    place = f"change {change.text}"
    found, done = [], not value
    for line in lines:
        if line.key in _OF_MACHINE or change.key not in line.pairs:
            found.append(line)
            continue
        pairs = line.pairs | {change.key: value} if value else _without(line.pairs, change.key)
        done = True
        if pairs:
            found.append(Line(place, pairs, line.written))
    return found if done else [*found, Line(place, {change.key: value}, {change.key: change.written})]


def _without(pairs: dict[str, str], *keys: str) -> dict[str, str]:
    return {key: value for key, value in pairs.items() if key not in keys}


# ---------------------------------------------------------------------- partitions and nodes


def _with_machine_key(lines: list[Line], change: _Change) -> Iterator[Line]:
    """The lines, those about the named partition or nodes changed; a line is cut in two if only some of its nodes are."""
    where = f"change {change.text}"
    wanted = dict.fromkeys(_names(where, change.names) if change.kind == "nodename" else [change.names])
    for line in lines:
        if line.key != change.kind:
            yield line
            continue
        names = _names(line.place, line.pairs[change.kind]) if change.kind == "nodename" else [line.pairs[change.kind]]
        mine = [name for name in names if name in wanted]
        for name in mine:
            wanted.pop(name)
        if not mine:
            yield line
            continue
        if len(mine) < len(names):
            if any("," in line.pairs.get(key, "") or "[" in line.pairs.get(key, "") for key in _ONE_OF_ITS_NODES):
                raise InputError(where, "all nodes of a line that has a list of addresses", change.names)
            yield Line(line.place, line.pairs | {"nodename": ",".join(n for n in names if n not in mine)}, line.written)
        pairs = line.pairs | ({} if len(mine) == len(names) else {"nodename": ",".join(mine)})
        pairs = pairs | {change.key: change.value} if change.value else _without(pairs, change.key)
        yield Line(where, pairs, {**line.written, change.key: change.written})
    if wanted:
        what = "a partition" if change.kind == "partitionname" else "nodes"
        known = [line.pairs[change.kind] for line in lines if line.key == change.kind]
        raise InputError(where, f"{what} of the configuration ({', '.join(known)})", next(iter(wanted)))


def _names(where: str, text: str) -> list[str]:
    try:
        return host_list(text)
    except ValueError as error:
        raise InputError(where, str(error), text) from None


def with_nodes(lines: Sequence[Line], text: str) -> list[Line]:
    """The lines with more nodes (``+10``) or fewer (``-4``), alike those of the line with the most nodes, or ``+10:node07``.

    New nodes join every partition and node set of those that they are like. Nodes are taken away from the end of their line:
    they are DOWN. Raises InputError for another text, a node that there is not, and where no node of the line would be left.
    """
    where = f"nodes {text}"
    match = _NODES.fullmatch(text.strip())
    if match is None or not int(match["count"]):
        raise InputError(where, "such as +10, -4 or +10:node07 (alike this node)")
    count = int(match["count"])
    by_line = {
        place: _names(line.place, line.pairs["nodename"])
        for place, line in enumerate(lines)
        if line.key == "nodename" and line.pairs["nodename"].upper() != "DEFAULT"
    }
    taken = {re.sub(r"[0-9]+$", "", name) for names in by_line.values() for name in names}
    if match["like"]:
        by_line = {place: names for place, names in by_line.items() if match["like"] in names}
    if not by_line:
        raise InputError(where, "a node that NodeName describes", match["like"] or "none")
    place = max(by_line, key=lambda at: len(by_line[at]))
    line, names = lines[place], by_line[place]
    if match["sign"] == "-":
        if count >= len(names):
            raise InputError(where, f"fewer than the {len(names):,} nodes of {line.pairs['nodename']}", count)
        down = {"downnodes": ",".join(names[-count:]), "state": "DOWN"}
        return [*lines, Line(where, down, {"downnodes": "DownNodes", "state": "State"})]
    prefix = next(name for number in itertools.count(1) if (name := f"added{number}-") not in taken)
    added = f"{prefix}[{'1'.zfill(len(str(count)))}-{count}]"
    alike = Line(where, {**_without(line.pairs, *_ONE_OF_ITS_NODES), "nodename": added}, line.written)
    found = [_joined(each, set(names), added, where) for each in lines]
    return [*found[: place + 1], alike, *found[place + 1 :]]


def _joined(line: Line, names: set[str], added: str, where: str) -> Line:
    """A partition or a set that names some of the nodes, with those that are added."""
    nodes = line.pairs.get("nodes", "")
    if line.key not in ("partitionname", "nodeset") or nodes.lower() in ("", "all", "(null)"):
        return line
    return (
        Line(where, line.pairs | {"nodes": f"{nodes},{added}"}, line.written)
        if names & set(_names(line.place, nodes))
        else line
    )


def without_people(lines: Iterable[Line]) -> list[Line]:
    """The lines without the keys that name users, groups or accounts, or may; none of them changes a run."""
    kept = ((line, _without(line.pairs, *_OF_PEOPLE)) for line in lines)
    return [Line(line.place, pairs, line.written) for line, pairs in kept if pairs]


def written(lines: Iterable[Line]) -> str:
    """The text of a slurm.conf with these lines, which reads as they do; included files are part of it."""
    return "".join(
        " ".join(f"{line.written.get(key, key)}={_quoted(value)}" for key, value in line.pairs.items()) + "\n"
        for line in lines
    )


def _quoted(value: str) -> str:
    escaped = value.replace("#", "\\#")
    return f'"{escaped}"' if not value or re.search(r"[\s\\]", value) else escaped
