"""Changes of a slurm.conf, as texts: what if a key had another value, a partition another limit, the machine more nodes?

| change | sets |
|---|---|
| ``PriorityWeightAge=5000`` | a key of the whole machine |
| ``SchedulerParameters=bf_interval=60,bf_continue`` | these options of several, as slurm.conf spells it; the other options stay |
| ``SchedulerParameters:bf_interval=60`` or ``bf_interval=60`` | one option of several; ``bf_continue`` one without a value |
| ``SchedulerParameters:=bf_interval=60`` | the whole list: options that it does not name go |
| ``PartitionName=batch:MaxTime=1-0`` | a key of a partition; also ``batch:MaxTime=1-0``, ``PartitionName=batch MaxTime=1-0`` |
| ``NodeName=node[01-04]:Weight=10`` | a key of nodes, all of a line or some |

An empty value takes a key or an option away, so that Slurm's default holds. Keys count in any case. A name that stands alone is
looked for in all of these; one that could mean several is refused. Nodes come and go by :func:`with_nodes`;
:func:`written` gives the text of the changed file, and :func:`differences` what became of it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cluster_sim.errors import InputError, few
from cluster_sim.formats.slurm.conf_keys import (
    FOLLOWED,
    FOLLOWED_OF_NODES,
    FOLLOWED_OF_PARTITIONS,
    NODES_NOT_SIMULATED,
    NOT_SIMULATED,
    OPTIONS,
    PARTITIONS_NOT_SIMULATED,
)
from cluster_sim.formats.slurm.conf_lines import Line
from cluster_sim.formats.slurm.conf_values import host_list
from cluster_sim.records.comparison import Difference
from cluster_sim.spelling import nearest

_KINDS = {"nodename": "NodeName", "partitionname": "PartitionName"}
_FOLLOWED = {"": FOLLOWED, "nodename": FOLLOWED_OF_NODES, "partitionname": FOLLOWED_OF_PARTITIONS}
_NOT_SIMULATED = {
    "": NOT_SIMULATED,
    "nodename": NODES_NOT_SIMULATED,
    "partitionname": PARTITIONS_NOT_SIMULATED,
}
LISTS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    **{key: (options.key, options.spelling) for key, options in OPTIONS.items()},
    "accountingstorageenforce": (
        "AccountingStorageEnforce",
        {each: each for each in "associations limits nojobs nosteps qos safe wckeys all".split()},
    ),
    "licenses": ("Licenses", {}),
}
"""Keys with a list of options for a value, by the key in small letters: Slurm's spelling of the key and of its options."""
_EXCLUSIVE = (
    frozenset("cr_cpu cr_cpu_memory cr_core cr_core_memory cr_memory cr_socket cr_socket_memory".split()),
    frozenset(["fair_tree", "no_fair_tree"]),
)
"""Groups of options of which one takes the place of another."""
_NO_OPTIONS = ("", "0", "none", "n/a", "(null)")
"""Values of a whole list that name none."""
_OF_MACHINE = ("nodename", "partitionname", "nodeset", "downnodes")
_CHANGE = re.compile(
    r"(?:(?P<kind>NodeName|PartitionName)=(?P<names>[^:=\s]+):)?"
    r"(?P<key>[A-Za-z]\w*)(?::(?P<option>\w+))?(?:(?P<whole>:)?=(?P<value>.*))?",
    re.IGNORECASE | re.DOTALL,
)
_LINE = re.compile(r"(?P<head>(?:NodeName|PartitionName)=[^:=\s]+)\s+(?P<pairs>\S.*)", re.IGNORECASE | re.DOTALL)
_OF_NAMES = re.compile(r"(?P<names>[^:=\s]+):(?P<key>[A-Za-z]\w*)=.*", re.DOTALL)
_NODES = re.compile(r"(?P<sign>[+-])(?P<count>[0-9]{1,6})(?::(?P<like>\S+))?")
_OF_PEOPLE = (
    *("allowaccounts", "allowgroups", "denyaccounts", "reason", "slurmuser", "slurmduser", "mcsparameters"),
    *("accountingstorageuser", "accountingstoragepass", "jobcompuser", "jobcomppass"),
)
_ONE_OF_ITS_NODES = ("nodeaddr", "nodehostname", "port", "bcastaddr", "state", "reason")
_MOST_NAMED = 4


class _Change(NamedTuple):
    """A change, taken apart; ``kind`` and ``key`` in small letters, ``written`` as the user wrote the key."""

    text: str
    kind: str
    names: str
    key: str
    written: str
    option: str
    value: str
    whole: bool = False


def with_changes(lines: Sequence[Line], changes: Iterable[str]) -> list[Line]:
    """Return the lines of a slurm.conf after these changes, one after the other.

    A changed line names the change as its place. Raises InputError, naming the change, if it is not as the table of this
    module shows. Keys that Slurm lacks or that are not simulated, and unknown partitions and nodes, raise it too.
    """
    found = list(lines)
    for text in changes:
        where, parts = f"change {text}", [text.strip()]
        if line := _LINE.fullmatch(text.strip()):
            parts = [f"{line['head']}:{pair}" for pair in line["pairs"].split()]
        for change in [_one(where, part, found) for part in parts]:
            if change.kind:
                found = list(_with_machine_key(found, change))
            elif change.option:
                found = _with_global_key(found, change, _with_option(_value_of(found, change.key), change))
            elif change.key in LISTS and not change.whole and change.value.lower() not in _NO_OPTIONS:
                value = _value_of(found, change.key)
                for option in _parts(change.value):
                    name, sign, rest = _taken_apart(option)
                    said = _FLAG if not sign else f"{sign}{rest}" if rest else ""
                    value = _with_option(value, change._replace(option=name, value=said))
                found = _with_global_key(found, change, value)
            else:
                found = _with_global_key(found, change, change.value)
    return found


def _one(where: str, text: str, lines: Sequence[Line]) -> _Change:
    text = _in_full(where, text, lines)
    match = _CHANGE.fullmatch(text)
    if match is None or (match["option"] and match["kind"]) or (match["value"] is None and not match["option"]):
        expected = "KEY=VALUE, KEY:OPTION=VALUE, PartitionName=NAME:KEY=VALUE or NodeName=NAMES:KEY=VALUE"
        raise InputError(where, expected)
    kind, key, value = (match["kind"] or "").lower(), match["key"], match["value"]
    if not (value or "").isprintable() or '"' in (value or ""):
        raise InputError(where, "a value of printable characters without quotes", value)
    if key.lower() in _NOT_SIMULATED[kind]:
        raise InputError(where, "a key that is simulated", f"{key}: {_NOT_SIMULATED[kind][key.lower()]}")
    options_of_lists = [name for _, options in LISTS.values() for name in options.values()]
    _check_name(where, key, _FOLLOWED[kind] if kind else [*FOLLOWED, *options_of_lists])
    if (match["option"] or match["whole"]) and (kind or key.lower() not in LISTS):
        expected = ", ".join(spelled for spelled, _ in LISTS.values())
        raise InputError(where, f"a key with a list of options before the colon ({expected})", key)
    if not kind and key.lower() in OPTIONS:
        options = OPTIONS[key.lower()]
        unused, unknown = options.apart(match["option"] or value or "")
        if unused:
            raise InputError(where, "an option that is simulated", unused[0])
        for name in unknown:
            if name.lower() not in _NO_OPTIONS:
                _check_name(where, name, sorted(options.spelling[each] for each in options.followed))
    elif not kind and key.lower() == "accountingstorageenforce":
        for part in _parts(match["option"] or value or ""):
            if part.lower() not in (*_NO_OPTIONS, "1"):
                _check_name(where, part, list(LISTS[key.lower()][1]))
    option = match["option"] or ""
    said = _FLAG if value is None else f"={value.strip()}" if option and value.strip() else value.strip()
    text = where.removeprefix("change ")
    return _Change(text, kind, match["names"] or "", key.lower(), key, option, said, bool(match["whole"]))


def _in_full(where: str, text: str, lines: Sequence[Line]) -> str:
    """Return a change with the kind of thing, or the list, that it means; unchanged where it says so itself.

    Raises InputError where it could mean several.
    """
    match = _OF_NAMES.fullmatch(text)
    if match is not None and match["names"].lower() not in (*LISTS, *map(str.lower, FOLLOWED)):
        for kind, spelled in _KINDS.items():
            try:
                names = host_list(match["names"]) if kind == "nodename" else [match["names"]]
            except ValueError:
                continue
            if set(names) <= set(_named(lines, kind)):
                return f"{spelled}={text}"
    match = _CHANGE.fullmatch(text)
    if match is None or match["kind"] or match["option"] or match["whole"]:
        return text
    name, rest = match["key"].lower(), "" if match["value"] is None else f"={match['value']}"
    if name in {*map(str.lower, FOLLOWED), *NOT_SIMULATED}:
        return text
    meant = [f"{key}:{options[name]}" for key, options in LISTS.values() if name in options]
    for kind, spelled in _KINDS.items() if rest else ():
        own = {key.lower(): key for key in _FOLLOWED[kind]} | dict.fromkeys(_NOT_SIMULATED[kind], match["key"])
        if name in own:
            meant += [f"{spelled}={each}:{own[name]}" for each in _named(lines, kind, whole=True)]
    if len(meant) > 1:
        raise InputError(where, f"which one: {few((f'{each}{rest}' for each in meant), _MOST_NAMED)}", match["key"])
    return f"{meant[0]}{rest}" if meant else text


def _named(lines: Iterable[Line], kind: str, whole: bool = False) -> list[str]:
    """Return the names of the partitions or nodes of a configuration; of nodes as each line has them if ``whole``."""
    texts = [line.pairs[kind] for line in lines if line.key == kind and line.pairs[kind].upper() != "DEFAULT"]
    if kind == "partitionname" or whole:
        return texts
    return [name for text in texts for name in _names("NodeName", text)]


_FLAG = "\0"
"""The value of an option that stands alone."""


def _check_name(where: str, name: str, known: Sequence[str]) -> None:
    if name.lower() not in map(str.lower, known):
        raise InputError(where, nearest(name, known), name)


# ---------------------------------------------------------------------- keys of the whole machine


def _value_of(lines: Iterable[Line], key: str) -> str:
    """Return the last value of a key of the whole machine."""
    said = [line.pairs[key] for line in lines if line.key not in _OF_MACHINE and key in line.pairs]
    return said[-1] if said else ""


def _parts(value: str) -> list[str]:
    """Return the options of a list."""
    return [part.strip() for part in re.split("[,;]", value) if part.strip()]


def _taken_apart(part: str) -> tuple[str, str, str]:
    """Return an option's name, the sign behind it (``:`` in licences), and its value."""
    match = re.fullmatch(r"([^=:]*)([=:]?)(.*)", part, re.DOTALL)
    assert match is not None  # of any text
    return match[1].strip(), match[2], match[3].strip()


def _with_option(value: str, change: _Change) -> str:
    """Return a list of options with one of them set, in the place where it stands, or taken away."""
    name = change.option.lower()
    wanted = [] if not change.value else [change.option + ("" if change.value == _FLAG else change.value)]
    if wanted and change.key == "licenses":
        wanted = [wanted[0].replace("=", ":", 1)]
    rivals = next((each for each in _EXCLUSIVE if name in each), frozenset([name])) if wanted else {name}
    parts = [part for part in _parts(value) if part.lower() not in _NO_OPTIONS]
    places = [place for place, part in enumerate(parts) if _taken_apart(part)[0].lower() in rivals]
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
    """Yield the lines, those of the named partition or nodes changed.

    A line is cut in two if only some of its nodes are meant.
    """
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
    """Return the lines with more nodes (``+10``) or fewer (``-4``), like those of the line with most nodes.

    ``+10:node07`` adds nodes like node07.

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
    found: list[Line] = []
    for each in lines:
        nodes = each.pairs.get("nodes", "")
        is_group = each.key in ("partitionname", "nodeset") and nodes.lower() not in ("", "all", "(null)")
        if is_group and set(names) & set(_names(each.place, nodes)):
            each = Line(where, each.pairs | {"nodes": f"{nodes},{added}"}, each.written)
        found.append(each)
    return [*found[: place + 1], alike, *found[place + 1 :]]


def differences(before: Sequence[Line], after: Sequence[Line]) -> list[Difference]:
    """Return how two configurations differ, key by key; an option of a list with those that stay."""
    found = [*_of_the_machine(before, after), *_of_partitions_and_nodes(before, after)]
    counts: list[int] = []
    for lines in (before, after):
        down = [
            name for each in lines if each.key == "downnodes" for name in _names(each.place, each.pairs["downnodes"])
        ]
        counts.append(len(set(_named(lines, "nodename")) - set(down)))
    if counts[0] != counts[1]:
        found.append(Difference("number of nodes", f"{counts[0]:,}", f"{counts[1]:,}"))
    return found


def _of_the_machine(before: Sequence[Line], after: Sequence[Line]) -> Iterator[Difference]:
    spelled = {key: name for lines in (before, after) for line in lines for key, name in line.written.items()}
    spelled |= {key: name for key, (name, _) in LISTS.items()} | {key.lower(): key for key in FOLLOWED}
    keys = [key for line in (*before, *after) if line.key not in _OF_MACHINE for key in line.pairs]
    for key in dict.fromkeys(keys):
        was, now = _value_of(before, key), _value_of(after, key)
        if was == now:
            continue
        if key not in LISTS:
            yield Difference(spelled[key], was, now)
            continue
        options = [{_taken_apart(part)[0]: _taken_apart(part) for part in _parts(value)} for value in (was, now)]
        names = {name.lower(): name for one in reversed(options) for name in one}
        lowered = [{name.lower(): part for name, part in one.items()} for one in options]
        stays = [part for part in _parts(was) if part in _parts(now)]
        for name in dict.fromkeys(name for one in lowered for name in one):
            base, changed = ((one[name][2] or "set") if name in one else "" for one in lowered)
            if base != changed:
                yield Difference(f"{spelled[key]}: {names[name]}", base, changed, tuple(stays))


def _of_partitions_and_nodes(before: Sequence[Line], after: Sequence[Line]) -> Iterator[Difference]:
    for kind, spelled in _KINDS.items():
        was, now = _pairs_by_name(before, kind), _pairs_by_name(after, kind)
        moved: dict[tuple[str, str, str], list[str]] = {}
        for name in (name for name in was if name in now):
            for key in dict.fromkeys([*was[name], *now[name]]):
                values = was[name].get(key, ("", key))[0], now[name].get(key, ("", key))[0]
                if values[0] != values[1] and not (key == "nodes" and values[1].startswith(f"{values[0]},added")):
                    written = {each.lower(): each for each in _FOLLOWED[kind]}.get(key, key)
                    moved.setdefault((written, *values), []).append(name)
        for (key, base, changed), names in moved.items():
            yield Difference(f"{spelled}={few(names, _MOST_NAMED)}: {key}", base, changed)


def _pairs_by_name(lines: Sequence[Line], kind: str) -> dict[str, dict[str, tuple[str, str]]]:
    """Return the pairs of each partition or node, DEFAULT among them, with the keys as they are written."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for line in lines:
        if line.key == kind:
            pairs = {key: (value, line.written[key]) for key, value in line.pairs.items() if key != kind}
            for name in _names(line.place, line.pairs[kind]) if kind == "nodename" else [line.pairs[kind]]:
                found[name] = found.get(name, {}) | pairs
    return found


def without_people(lines: Iterable[Line]) -> list[Line]:
    """Return the lines without the keys that name users, groups or accounts, or may; none of them changes a run."""
    kept = ((line, _without(line.pairs, *_OF_PEOPLE)) for line in lines)
    return [Line(line.place, pairs, line.written) for line, pairs in kept if pairs]


def written(lines: Iterable[Line]) -> str:
    """Return the text of a slurm.conf that reads as these lines do, those of included files among them."""
    text = ""
    for line in lines:
        pairs: list[str] = []
        for key, value in line.pairs.items():
            escaped = value.replace("#", "\\#")
            has_quotes = not value or re.search(r"[\s\\]", value)
            pairs.append(f"{line.written.get(key, key)}=" + (f'"{escaped}"' if has_quotes else escaped))
        text += " ".join(pairs) + "\n"
    return text
