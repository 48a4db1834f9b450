"""The lines of a slurm.conf: ``Key=Value`` pairs, with comments, continuations and included files.

Keys count in any case. A value in double quotes may hold spaces; ``\\#`` is no comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cluster_sim.errors import FormatError, naming
from cluster_sim.files.documents import MAX_JSON_BYTES, is_plain
from cluster_sim.files.reading import absolute, read_text

MAX_INCLUDES = 100

_BEGINNING = 100_000  # characters in which one of the keys is looked for: workloads are long

_PAIR = re.compile(r'\s*([A-Za-z0-9_./-]+)\s*=\s*(?:"([^"]*)"(?=\s|$)|([^\s"]*)(?=\s|$))\s*')
_INCLUDE = re.compile(r"\s*include\s+(\S+)\s*", re.IGNORECASE)
_COMMENT = re.compile(r"(?<!\\)#.*")
_OF_SLURM = re.compile(r"^[ \t]*(NodeName|PartitionName|ClusterName|SlurmctldHost|SchedulerType)[ \t]*=", re.I | re.M)


@dataclass(frozen=True, slots=True)
class Line:
    """The pairs of a line in their order, by keys in small letters; ``written`` are the keys as they stand there.

    Of a key that the line has more than once the last value counts, as in Slurm; ``repeated`` names these keys.
    """

    place: str
    pairs: dict[str, str]
    written: dict[str, str]
    repeated: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The first key, which says what the line is about."""
        return next(iter(self.pairs))


def is_slurm_conf(path: str, text: str) -> bool:
    """Whether a file is a slurm.conf: it sets one of the keys that every one has, or is called so."""
    return path.lower().removesuffix(".gz").endswith(".conf") or _OF_SLURM.search(text, 0, _BEGINNING) is not None


def lines_of(path: str) -> list[Line]:
    """All lines of a file and of those that it includes. Raises FormatError naming file, line and column."""
    return list(_lines(path, read_text(path, MAX_JSON_BYTES), [0]))


def _lines(path: str, content: str, included: list[int]) -> Iterator[Line]:
    for number, text in _joined(content):
        place = f"{path} line {number}"
        include = _INCLUDE.fullmatch(text)
        if include:
            included[0] += 1
            if included[0] > MAX_INCLUDES or not is_plain(include[1]):
                raise FormatError(f"{place}, Include", f"at most {MAX_INCLUDES} files with plain names", include[1])
            other = absolute(Path(path).parent, include[1])
            with naming(place):
                content_of_other = read_text(other, MAX_JSON_BYTES)
            yield from _lines(other, content_of_other, included)
        elif text.strip():
            yield _line(text, place)


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """(number of the first line, text) of lines without comments, those that end in a backslash put together."""
    started, so_far = 0, ""
    for number, line in enumerate(text.split("\n"), start=1):
        line = _COMMENT.sub("", line.rstrip("\r")).replace("\\#", "#")
        started = started or number
        if line.rstrip().endswith("\\"):
            so_far += line.rstrip()[:-1]
            continue
        yield started, so_far + line
        started, so_far = 0, ""
    if so_far:
        yield started, so_far


def _line(text: str, place: str) -> Line:
    pairs: dict[str, str] = {}
    written: dict[str, str] = {}
    repeated: list[str] = []
    position = 0
    while position < len(text):
        match = _PAIR.match(text, position)
        if match is None:
            column = position + len(text[position:]) - len(text[position:].lstrip()) + 1
            raise FormatError(f"{place} column {column}", "Key=Value", text[position:].strip())
        key, value = match[1].lower(), match[3] if match[2] is None else match[2]
        if key == next(iter(pairs), ""):
            raise FormatError(f"{place} column {match.start(1) + 1}", f"{match[1]} once on a line", "it twice")
        if key in pairs:
            repeated.append(match[1])
        if not is_plain(key) or not value.isprintable():
            raise FormatError(
                f"{place} column {match.start(1) + 1}", "a key and a value of printable characters", value
            )
        pairs[key], written[key] = value, match[1]
        position = match.end()
    return Line(place, pairs, written, tuple(repeated))
