"""Slurm's gres.conf: the types of the GPUs that a slurm.conf only counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from cluster_sim.errors import FormatError
from cluster_sim.formats.slurm.conf_lines import Line, plain_lines_of
from cluster_sim.formats.slurm.conf_values import count, host_list
from cluster_sim.spelling import nearest

Value = TypeVar("Value")

_KEYS = "NodeName Name Type Count File MultipleFiles AutoDetect Cores CPUs Flags Links".split()
ALL = ""
"""Stands for the nodes of lines that name none."""


def gpus_beside(conf: str) -> dict[str, dict[str, int]]:
    """Return the GPUs of nodes by type, as the gres.conf beside a slurm.conf has them; nothing if there is none.

    Lines without ``NodeName`` are those of :data:`ALL`. Lines of ``AutoDetect`` alone say nothing. Raises FormatError.
    """
    path = Path(conf).parent / "gres.conf"
    found: dict[str, dict[str, int]] = {}
    for line in plain_lines_of(str(path)) if path.exists() else ():
        for written in line.written.values():
            if written.lower() not in map(str.lower, _KEYS):
                raise FormatError(f"{line.place}, {written}", nearest(written, _KEYS), written)
        if line.pairs.get("name", "").lower() != "gpu":
            continue
        files = len(_value(line, "file", host_list) or _value(line, "multiplefiles", host_list) or ())
        number = _value(line, "count", count)
        if number is not None and files > 0 and number != files:
            raise FormatError(f"{line.place}, Count", f"as many as File names, {files}", number)
        for node in _value(line, "nodename", host_list) or [ALL]:
            of_node, kind = found.setdefault(node, {}), line.pairs.get("type", "")
            of_node[kind] = of_node.get(kind, 0) + (files or (1 if number is None else number))
    return found


def _value(line: Line, key: str, parse: Callable[[str], Value]) -> Value | None:
    if key not in line.pairs:
        return None
    try:
        return parse(line.pairs[key])
    except ValueError as error:
        raise FormatError(f"{line.place}, {line.written[key]}", str(error), line.pairs[key]) from None


def typed(gres: str, gpus: dict[str, int], counted: dict[str, int]) -> str:
    """Return a node's Gres with the types of its GPUs, where the slurm.conf says only how many of them there are."""
    if counted.keys() != {""} or not gpus or "" in gpus or sum(gpus.values()) != counted[""]:
        return gres
    others = [part for part in gres.split(",") if part.strip().partition(":")[0].lower() != "gpu"]
    return ",".join([*(f"gpu:{kind}:{number}" for kind, number in gpus.items()), *others])
