"""Checks of what a file or a mapping says of a job's request, by the kind of each field of Ask."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from cluster_sim.errors import InputError
from cluster_sim.formats.slurm.conf_values import host_list
from schedulers.slurm.job_request import Ask

_MOST = 2**53
_KINDS = {f.name: str(f.type) for f in fields(Ask) if f.name not in ("key", "job_id", "submit_time", "cores")}
_MAY_BE_ENDLESS = ("limit_s", "deadline_s", "begin_time", "switch_wait_s")
_MAY_BE_NEGATIVE = ("nice", "begin_time", "exit_code")


def check(where: str, given: Mapping[str, Any], node_count: int | None = None) -> None:
    """Raise InputError for a name that is no field of a request, and for a value that its field cannot have."""
    for name, value in given.items():
        if name not in _KINDS:
            raise InputError(where, f"one of {', '.join(sorted(_KINDS))}", name)
        expected, is_good = _EXPECTED[_KINDS[name]]
        if not is_good(name, value):
            raise InputError(f"{where}, {name}", expected, repr(value))
        if name.endswith("_nodes") and node_count is not None and isinstance(value, list | tuple):
            beyond = [node for node in value if node >= node_count]
            if beyond:
                raise InputError(f"{where}, {name}", f"positions of nodes below {node_count}", str(beyond[0]))
        if name == "cpus_per_task" and value < 1:
            raise InputError(f"{where}, {name}", "a whole number >= 1", str(value))


def with_positions(where: str, given: Mapping[str, Any], positions: Mapping[str, int]) -> dict[str, Any]:
    """Return the fields of a job, with positions for the names of its nodes. Raises InputError for unknown names."""
    found = dict(given)
    for field in ("required_nodes", "excluded_nodes"):
        value = found.get(field)
        if isinstance(value, str):
            try:
                value = host_list(value)
            except ValueError as error:
                raise InputError(f"{where}, {field}", str(error), value) from None
        if not isinstance(value, list | tuple):
            continue
        for name in value:
            if isinstance(name, str) and name not in positions:
                raise InputError(f"{where}, {field}", f"one of {', '.join(list(positions)[:20])}", name)
        found[field] = [positions[name] if isinstance(name, str) else name for name in value]
    return found


def _is_text(name: str, value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(name: str, value: Any) -> bool:
    least = -_MOST if name in _MAY_BE_NEGATIVE else 0
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= _MOST


def _is_number(name: str, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if name in _MAY_BE_ENDLESS and not math.isfinite(value):
        return name == "limit_s" or not math.isnan(value)
    return math.isfinite(value) and (value >= 0.0 or name in _MAY_BE_NEGATIVE)


def _many(is_one: Callable[[str, Any], bool]) -> Callable[[str, Any], bool]:
    return lambda name, value: isinstance(value, list | tuple) and all(is_one(name, one) for one in value)


def _are_counts(name: str, value: Any) -> bool:
    return isinstance(value, Mapping) and all(_is_text(name, key) and _is_whole(name, n) for key, n in value.items())


_EXPECTED: dict[str, tuple[str, Callable[[str, Any], bool]]] = {
    "str": ("a text", _is_text),
    "int": ("a whole number, not negative unless it is a nice value", _is_whole),
    "float": ("a number of seconds or MB, not negative", _is_number),
    "bool": ("true or false", lambda name, value: isinstance(value, bool)),
    "tuple[str, ...]": (
        "a list of at least one name",
        lambda name, value: bool(value) and _many(_is_text)(name, value),
    ),
    "tuple[int, ...]": ("names of nodes, or a list of their positions", _many(_is_whole)),
    "tuple[float, ...]": ("a list of numbers >= 0", _many(_is_number)),
    "Mapping[str, int]": ("an object with a whole number for each name", _are_counts),
}
