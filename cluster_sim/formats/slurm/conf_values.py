"""Values as Slurm writes them, in sacct's output and in slurm.conf: durations, amounts, TRES, lists of nodes and of array tasks.

Every function takes one text and raises :class:`ValueError`, saying what was expected, for one that it cannot be.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

MAX_NODES_IN_LIST = 1_000_000
MAX_ARRAY_TASKS = 4_000_001
"""The largest MaxArraySize that Slurm accepts."""

_DURATION = re.compile(
    r"(?:(?P<days>[0-9]{1,9})-(?P<dh>[0-9]{1,9})(?::(?P<dm>[0-9]{1,9})(?::(?P<ds>[0-9]{1,9}(?:\.[0-9]{1,9})?))?)?"
    r"|(?:(?P<h>[0-9]{1,9}):)?(?P<m>[0-9]{1,9}):(?P<s>[0-9]{1,9}(?:\.[0-9]{1,9})?)|(?P<minutes>[0-9]{1,9}))"
)
_ENDLESS = ("unlimited", "infinite", "-1")
_NOT_SAID = ("", "partition_limit", "invalid", "unknown", "none", "n/a")
_AMOUNT = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)([KMGTPE]?)")
_MEMORY = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)([KMGTPE]?)B?([nc]?)", re.IGNORECASE)
_POWER = {unit: power for power, unit in enumerate(("", "K", "M", "G", "T", "P", "E"))}
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?(?::([0-9]{1,9}))?")
_SHORTENED = "..."
_JOB_ID = re.compile(
    r"(?P<number>[0-9]{1,18}(?:\+[0-9]{1,9})?)"
    r"(?:_(?:(?P<task>[0-9]{1,18})|\[(?P<tasks>[^\[\]]*)\]))?(?P<step>\.[^.].*)?"
)


PARTITION_STATES = ("UP", "DOWN", "DRAIN", "INACTIVE")
YES, NO = ("YES", "UP", "TRUE", "1"), ("NO", "DOWN", "FALSE", "0")


def one_of(*words: str) -> Callable[[str], str]:
    """Return a parser for one of some words, in any case; it returns the word in capitals."""
    known = {word.upper() for word in words}

    def parse(text: str) -> str:
        if text.upper() not in known:
            raise ValueError(f"one of {', '.join(words)}")
        return text.upper()

    return parse


def truth(text: str) -> bool:
    """Return whether a text is ``YES`` or its like, rather than ``NO`` or its like."""
    return one_of(*YES, *NO)(text) in YES


def duration(text: str) -> float:
    """Return the seconds of ``2-03:04:05``, ``04:05``, ``04:05.678``, ``2-03`` or ``90`` (minutes).

    No limit is inf; NaN: nothing is said.
    """
    low = text.strip().lower()
    if low in _NOT_SAID:
        return math.nan
    if low in _ENDLESS:
        return math.inf
    match = _DURATION.fullmatch(low)
    if match is None:
        raise ValueError("a duration such as 1-02:03:04, 03:04.5 or UNLIMITED")
    parts = {name: float(value) for name, value in match.groupdict().items() if value is not None}
    minutes = parts.get("dm", 0.0) + parts.get("m", 0.0) + parts.get("minutes", 0.0)
    hours = parts.get("dh", 0.0) + parts.get("h", 0.0)
    return parts.get("days", 0.0) * 86400 + hours * 3600 + minutes * 60 + parts.get("ds", 0.0) + parts.get("s", 0.0)


def whole(text: str) -> int:
    """Return the number of a text of digits alone."""
    if not re.fullmatch("[0-9]{1,10}", text):
        raise ValueError("a whole number")
    return int(text)


def count(text: str) -> int:
    """Return a whole number, 2048 for ``2K``; 0 where nothing is said."""
    text = text.strip()
    if text.lower() in _NOT_SAID:
        return 0
    match = _AMOUNT.fullmatch(text.upper())
    number = float(match[1]) * 1024 ** _POWER[match[2]] if match else math.nan
    if not (number == math.trunc(number) if math.isfinite(number) else False) or number >= 2**53:
        raise ValueError("a whole number")
    return int(number)


def memory(text: str) -> tuple[float, str]:
    """Return MB, and whose: ``n`` each node's, ``c`` each CPU's, empty the whole job's; 0 where nothing is said."""
    text = text.strip()
    if text == "?" or text.lower() in _NOT_SAID:
        return 0.0, ""
    match = _MEMORY.fullmatch(text)
    if match is None:
        raise ValueError("an amount of memory such as 4G, 4Gn or 500Mc")
    return float(match[1]) * 1024.0 ** (_POWER[match[2].upper() or "M"] - 2), match[3].lower()


def tres(text: str) -> dict[str, str]:
    """Return the parts of ``billing=4,cpu=4,mem=8G,gres/gpu:a100=2`` by name, in lower case but for types (after a colon)."""
    parts = [part.partition("=") for part in text.strip().split(",") if part.strip()]
    if not all(name.strip() and equals for name, equals, _ in parts):
        raise ValueError("trackable resources such as cpu=4,mem=8G,node=1")
    names = [name.strip().partition(":") for name, _, _ in parts]
    return {
        f"{name.lower()}{colon}{kind}": value.strip()
        for (name, colon, kind), (_, _, value) in zip(names, parts, strict=True)
    }


def gpus_of_tres(parts: dict[str, str]) -> int:
    """Return the GPUs among trackable resources: the count of all where Slurm gives it, else the sum of the types."""
    if "gres/gpu" in parts:
        return count(parts["gres/gpu"])
    return sum(count(value) for name, value in parts.items() if name.startswith("gres/gpu:"))


def gpu_types_of_tres(parts: dict[str, str]) -> str:
    """Return the types of the GPUs among trackable resources, ``a100|h100``; "" where none is named."""
    return "|".join(name.removeprefix("gres/gpu:") for name in parts if name.startswith("gres/gpu:"))


def gpus_of_gres(text: str) -> int:
    """Return the GPUs of ``gpu:2``, ``gpu:a100:2``, ``gpu`` or ``gpu:a:4(S:0-1),gpu:b:2``, on each node."""
    return sum(gpus_by_type(text).values())


def gpus_by_type(text: str) -> dict[str, int]:
    """Return the number of GPUs by type; "" where no type is given."""
    found: dict[str, int] = {}
    for part in re.sub(r"\([^)]*\)", "", text.strip()).split(","):
        name, *rest = part.strip().removeprefix("gres:").split(":")
        if name.lower() == "gpu":
            number = count(rest.pop()) if rest and rest[-1][:1].isdigit() else 1
            kind = ":".join(rest)
            found[kind] = found.get(kind, 0) + number
    return found


class JobId(NamedTuple):
    """A job's id as sacct prints it: ``123``, ``123_4``, ``123_[5-9%2]``, ``123+1`` or, of a step, ``123.batch``."""

    number: str  #: ``123``, or ``123+1`` for a part of a heterogeneous job.
    task: str  #: ``4``, the one task of an array; empty: none.
    tasks: tuple[range, ...] | None  #: The tasks of an array that share a row.
    limit: int  #: How many of these may run at once; 0: all.
    is_step: bool
    is_shortened: bool  #: Whether Slurm has cut the list of tasks off.

    @property
    def name(self) -> str:
        """Return the id without its step; for a row of several tasks the array's number."""
        return f"{self.number}_{self.task}" if self.task else self.number


def job_id(text: str) -> JobId:
    """Read a job's id."""
    match = _JOB_ID.fullmatch(text.strip())
    if match is None:
        raise ValueError("a job's id such as 123, 123_4, 123_[5-9], 123+1 or 123.batch")
    listed = match["tasks"]
    tasks = None if listed is None else tuple(array_tasks(listed))
    limit = 0 if listed is None else array_limit(listed)
    is_shortened = listed is not None and _SHORTENED in listed
    return JobId(match["number"], match["task"] or "", tasks, limit, match["step"] is not None, is_shortened)


def array_tasks(text: str) -> list[range]:
    """Return the tasks of ``5-9,12%2`` or ``0-14:2``.

    The number after % is not a task but the number that may run at once.

    Slurm shortens a long list to 64 characters, ``1,3,5,1...``. The number before the dots may have lost its end: it is
    left out, but as the last task of a range it counts, since that range is at least so long.
    """
    listed, shortened, _ = text.partition("%")[0].partition(_SHORTENED)
    parts = listed.split(",")
    if shortened and "-" not in parts[-1]:
        parts.pop()
    tasks: list[range] = []
    for part in parts:
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ValueError("array tasks such as 5-9,12%2")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or step < 1:
            raise ValueError("array tasks in rising order, such as 5-9")
        tasks.append(range(first, last + 1, step))
    if sum(map(len, tasks)) > MAX_ARRAY_TASKS:
        raise ValueError(f"at most {MAX_ARRAY_TASKS:,} array tasks")
    return tasks


def array_limit(text: str) -> int:
    """Return how many tasks of ``5-9,12%2`` may run at once; 0: all."""
    count = text.partition("%")[2].strip()
    if count and not count.isdigit():
        raise ValueError("array tasks such as 5-9,12%2")
    return int(count or 0)


def host_list(text: str) -> list[str]:
    """Return the names of ``node[01-16,20],login1`` in order; ranges keep leading zeros, several in a name multiply."""
    names: list[str] = []
    for expression in _comma_separated(text):
        found = [""]
        for literal, ranges in re.findall(r"([^\[\]]*)(?:\[([^\[\]]*)\])?", expression):
            if ranges:
                numbers = _numbers(ranges)
                if len(found) * len(numbers) > MAX_NODES_IN_LIST:
                    raise ValueError(f"at most {MAX_NODES_IN_LIST:,} nodes")
                found = [f"{name}{literal}{number}" for name in found for number in numbers]
            elif literal:
                found = [name + literal for name in found]
        names += found
        if len(names) > MAX_NODES_IN_LIST:
            raise ValueError(f"at most {MAX_NODES_IN_LIST:,} nodes")
    return names


def _comma_separated(text: str) -> list[str]:
    """Return the parts between the commas that stand in no brackets."""
    parts, inside = [""], False
    for character in text:
        if character == "[" and inside or character == "]" and not inside:
            break
        if character in "[]":
            inside = character == "["
        if character == "," and not inside:
            parts.append("")
        else:
            parts[-1] += character
    else:
        if not inside and all(part.strip() and "[]" not in part for part in parts):
            return [part.strip() for part in parts]
    raise ValueError("names of nodes such as node[01-16,20],login1")


def _numbers(ranges: str) -> list[str]:
    numbers: list[str] = []
    for part in ranges.split(","):
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", part.strip())
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise ValueError("rising ranges of numbers such as node[01-16,20]")
        if int(match[2] or match[1]) - int(match[1]) >= MAX_NODES_IN_LIST:
            raise ValueError(f"at most {MAX_NODES_IN_LIST:,} nodes")
        numbers += [str(number).zfill(len(match[1])) for number in range(int(match[1]), int(match[2] or match[1]) + 1)]
    return numbers


def folded(names: Iterable[str]) -> list[str]:
    """Return the names with neighbours by number as one list, ``node[1-16]``: :func:`host_list` reads them in this order."""
    lists: list[str] = []
    stem, first, last = "", 0, 0
    for name in (*names, ""):
        match = re.fullmatch(r"(.*?)(0|[1-9][0-9]{0,8})", name)
        if match is not None and lists and match[1] == stem and int(match[2]) == last + 1:
            last += 1
            lists[-1] = f"{stem}[{first}-{last}]"
            continue
        lists.append(name)
        stem, first = (match[1], int(match[2])) if match is not None else ("[", 0)
        last = first
    return lists[:-1]
