"""Commands of an administrator that are played while a run goes on: ``scontrol`` and ``scancel``, as they are typed."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cluster_sim.errors import FormatError, InputError
from cluster_sim.files.reading import read_text
from cluster_sim.formats.slurm import conf_values as values
from schedulers.slurm.dependencies import Dependency

NODE_STATES = ("DOWN", "DRAIN", "FAIL", "RESUME", "UNDRAIN")


@dataclass(frozen=True, slots=True)
class Command:
    """Command of an administrator: when (s on the run's clock), what, and to which nodes, partitions, jobs …

    ``action`` is a command's words, ``update node``, ``create reservation``, ``hold`` …; ``options`` are values, by keys in
    small letters, with times in s.
    """

    time: float
    action: str
    names: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    where: str = field(default="", compare=False)  #: The file and line, or the time, to be named in messages.


def read_commands(given: str | Iterable[tuple[float, str]]) -> list[Command]:
    """Read commands in order of time, from pairs or from a file.

    Lines of a file are such as ``37.2 scontrol update NodeName=n2 State=DOWN``.

    Raises InputError naming the line for what is no command, or one that is not simulated.
    """
    entries = []
    if not isinstance(given, str):
        entries = [(f"scheduler 'slurm', commands, {time:g} s", float(time), text) for time, text in given]
    elif given:
        for number, line in enumerate(read_text(given).splitlines(), 1):
            if not line.partition("#")[0].strip():
                continue
            where = f"{given} line {number}"
            first, _, text = line.strip().partition(" ")
            try:
                time = float(first)
            except ValueError:
                time = math.nan
            if not math.isfinite(time):
                raise FormatError(where, "seconds and a command, such as 60 scancel 7", line)
            entries.append((where, time, text))
    commands = []
    for where, time, text in entries:
        try:
            commands.append(replace(_parsed(time, text), where=where))
        except ValueError as error:
            raise InputError(where, str(error) if not isinstance(error, InputError) else error.expected, text) from None
    return sorted(commands, key=lambda command: command.time)


def _parsed(time: float, text: str) -> Command:
    """Return a command. Raises ValueError saying what was expected."""
    try:
        words = shlex.split(text, comments=True) or [""]
    except ValueError:
        raise ValueError("quotation marks in pairs, and a character after each backslash") from None
    if words[0] == "scancel" and len(words) > 1:
        return Command(time, "cancel", _ids(words[1:]))
    if words[0] == "scontrol" and len(words) > 2:
        verb = words[1].lower()
        if verb in ("hold", "uhold", "release", "requeue"):
            return Command(time, verb.removeprefix("u"), _ids(words[2:]))
        if verb in ("update", "create", "delete"):
            return _change(time, verb, [word for word in words[2:] if word.lower() != "reservation"])
    raise ValueError(_KNOWN)


_KNOWN = "scancel JOB, or scontrol hold, release, requeue JOB, update Node-, PartitionName, JobId=, create or delete reservation"


def _ids(words: Iterable[str]) -> tuple[str, ...]:
    found = tuple(job for word in words for job in word.split(",") if job)
    if not found:
        raise ValueError("at least one job")
    return found


def _change(time: float, verb: str, words: list[str]) -> Command:
    options = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise ValueError("KEY=VALUE after scontrol " + verb)
        options[key.lower()] = value
    kind = next((kind for kind in _KINDS if kind + "name" in options or kind + "id" in options), "")
    action = f"{verb} {kind}"
    if action not in _OPTIONS:
        raise ValueError(_KNOWN)
    name = options.pop(kind + "name", "") or options.pop(kind + "id", "")
    names = _ids([name]) if kind == "job" else (name,) if kind == "reservation" else tuple(values.host_list(name))
    parsed = {}
    for key, value in options.items():
        if key not in _OPTIONS[action]:
            raise ValueError(f"of {action} {', '.join(_OPTIONS[action])} (others are not simulated)")
        parsed[key] = _OPTIONS[action][key](value)
    if action == "create reservation":
        relative, start = parsed.get("starttime", (True, 0.0))
        start = math.floor(time) + start if relative else start
        end = start + parsed.get("duration", math.inf)
        if "endtime" in parsed:
            relative, end = parsed["endtime"]
            end = math.floor(time) + end if relative else end
        if not end > start or end == math.inf or not parsed.get("nodes"):
            raise ValueError("a reservation with StartTime, Duration or EndTime, and Nodes")
        parsed |= {"starttime": start, "endtime": end}
    return Command(time, action, names, parsed)


def _time(text: str) -> tuple[bool, float]:
    """Return whether a time counts from now, and s: ``now``, ``now+130``, ``now+2minutes``, or s of the run's clock."""
    match = re.fullmatch(r"(now)?\+?([0-9]+(?:\.[0-9]*)?)?(seconds?|minutes?|hours?|days?)?", text)
    if match is None or not (match[1] or match[2]):
        raise ValueError("a time such as now+130, now+2minutes, or seconds of the run's clock")
    unit = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}[(match[3] or "s")[0]]
    return bool(match[1]), float(match[2] or 0.0) * unit


def _limit(text: str) -> float:
    seconds = values.duration(text)
    if math.isnan(seconds):
        raise ValueError("a duration such as 3 (minutes), 1:30:00 or UNLIMITED")
    return seconds


def _count(text: str) -> int:
    return 0 if text.upper() in ("UNLIMITED", "INFINITE") else values.count(text)


def _whole(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,15}", text):
        raise ValueError("a whole number, negative ones too")
    return int(text)


def _nodes(text: str) -> tuple[int, int]:
    least, _, most = text.partition("-")
    found = values.count(least), values.count(most)
    if found[1] and found[1] < found[0]:
        raise ValueError("NumNodes=LEAST or NumNodes=LEAST-MOST")
    return found


def _checked(parse: Callable[[str], object], empty: bool) -> Callable[[str], str]:
    """Return a parser that leaves the text as it is, once ``parse`` has accepted it; with ``empty`` no text is right, too."""

    def check(text: str) -> str:
        if text or not empty:
            parse(text)
        return text

    return check


_KINDS = ("node", "partition", "job", "reservation")
_OPTIONS: Mapping[str, Mapping[str, Callable[[str], Any]]] = {
    "update node": {"state": values.one_of(*NODE_STATES), "reason": str},
    "update partition": {
        "state": values.one_of(*values.PARTITION_STATES),
        "maxtime": _limit,
        "defaulttime": _limit,
        "minnodes": _count,
        "maxnodes": _count,
        "prioritytier": _count,
    },
    "update job": {
        "priority": _count,
        "nice": _whole,
        "timelimit": _limit,
        "numnodes": _nodes,
        "partition": str,
        "qos": str,
        "dependency": _checked(Dependency.parse, empty=True),
    },
    "create reservation": {
        "starttime": _time,
        "endtime": _time,
        "duration": _limit,
        "nodes": _checked(values.host_list, empty=False),
        "users": lambda text: tuple(text.split(",")),
        "flags": str,
    },
    "delete reservation": {},
}
