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
_NO_CONF = {
    "what scontrol show config prints": r"Configuration data as of |(BOOT_TIME|SLURM_CONF|SLURM_VERSION|NEXT_JOB_ID)[ \t]+=",
    "what scontrol show node prints": r"[^#\n]*\b(Arch=\S+ CoresPerSocket=|CPUAlloc=\d|CPUTot=\d)",
    "what scontrol show partition prints": r"[^#\n]*\bTotal(CPUs|Nodes)=\d",
    "what scontrol show job prints": r"JobId=\d",
    "what scontrol show reservation prints": r"ReservationName=\S+ StartTime=",
    "what sinfo prints": r"(?-i:(PARTITION[ \t|]+(AVAIL|NODES|CPUS|STATE)|NODELIST[ \t|]+(NODES|PARTITION|STATE|CPUS)))",
    "what squeue prints": r"(?-i:JOBID[ \t|]+(PARTITION|NAME|USER|ST))",
    "a topology.conf": r"(SwitchName|BlockName|BlockSizes)[ \t]*=",
    "a gres.conf": r"(NodeName=\S+[ \t]+)?(Name|AutoDetect)[ \t]*=",
    "a cgroup.conf": r"(Cgroup(Automount|Mountpoint|Plugin)|Constrain(Cores|Devices|RAMSpace|SwapSpace)|AllowedRAM\w+)[ \t]*=",
    "a slurmdbd.conf": r"(Dbd(Host|Addr|Port)|Storage(Type|Host|Loc|Pass|User)|Purge\w+After)[ \t]*=",
    "an acct_gather.conf": r"(EnergyIPMI|EnergyXCC|ProfileHDF5|ProfileInflux|InfinibandOFED|InterconnectOFED)\w*[ \t]*=",
    "a job_container.conf": r"(AutoBasePath|(NodeName=\S+[ \t]+)?BasePath)[ \t]*=",
    "a plugstack.conf": r"(required|optional)[ \t]+\S+\.so\b",
}
"""Texts that are near a slurm.conf but are none, each with a pattern that one of its lines begins with."""
_NEAR = [(kind, re.compile(rf"^[ \t]*(?:{pattern})", re.I | re.M)) for kind, pattern in _NO_CONF.items()]
_OF_SLURM = re.compile(r"^[ \t]*(NodeName|PartitionName|ClusterName|SlurmctldHost|SchedulerType)[ \t]*=", re.I | re.M)


@dataclass(frozen=True, slots=True)
class Line:
    """Pairs of a line in their order, by keys in small letters; ``written`` are the keys as they stand there.

    Of a key that the line has more than once the last value counts, as in Slurm; ``repeated`` names these keys.
    """

    place: str
    pairs: dict[str, str]
    written: dict[str, str]
    repeated: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Return the first key, which says what the line is about."""
        return next(iter(self.pairs))


def is_slurm_conf(path: str, text: str) -> bool:
    """Return whether a file is a slurm.conf, or near one: it sets a key that every one has, or has the name of one.

    :func:`lines_of` refuses what is only near.
    """
    named = path.lower().removesuffix(".gz").endswith(".conf")
    return named or _OF_SLURM.search(text, 0, _BEGINNING) is not None or _near(text) != ""


def _near(text: str) -> str:
    """Say which other file of Slurm's, or which command's output, a text is; empty: none that is known."""
    return next((kind for kind, pattern in _NEAR if pattern.search(text, 0, _BEGINNING)), "")


def lines_of(path: str) -> list[Line]:
    """Return all lines of a file and of those that it includes.

    Raises FormatError naming file, line and column, and for what is near a slurm.conf and is none.
    """
    text = read_text(path, MAX_JSON_BYTES)
    if near := _near(text):
        expected = "the slurm.conf itself (scontrol show config names it as SLURM_CONF), which has nodes and partitions"
        raise FormatError(path, expected, near)
    return list(_lines(path, text, [0]))


def plain_lines_of(path: str) -> list[Line]:
    """Return the lines of another file of Slurm's of this form. Raises FormatError naming file, line and column."""
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
            yield _line_of(place, text)


def _line_of(place: str, text: str) -> Line:
    """Return the pairs of a text. Raises FormatError naming the column."""
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
        where = f"{place} column {match.start(1) + 1}"
        if key == next(iter(pairs), ""):
            raise FormatError(where, f"{match[1]} once on a line", "it twice")
        if key in pairs:
            repeated.append(match[1])
        if not is_plain(key) or not value.isprintable():
            raise FormatError(where, "a key and a value of printable characters", value)
        pairs[key], written[key] = value, match[1]
        position = match.end()
    return Line(place, pairs, written, tuple(repeated))


def _joined(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number of the first line, text) of lines without comments; a line that ends in a backslash goes on."""
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
