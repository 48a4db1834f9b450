"""What the tasks of ElastiSim's applications do, on each number of nodes that a job can have."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cluster_sim.errors import FormatError
from cluster_sim.formats.formulas import Values, evaluate
from cluster_sim.spelling import UnknownKeys

_DELAYS = ("idle", "busy_wait")
_NOT_SIMULATED = ("gpu", "pfs_read", "pfs_write", "bb_read", "bb_write")
_PATTERNS = ("uniform", "all_ranks", "total", "root_only", "even_ranks", "odd_ranks")


_KEYS = ("type", "iterations", "tasks", "flops", "bytes", "delay", "pattern", "computation_pattern")
_IGNORED = ("name", "synchronized", "communication_pattern", "coupled", "intra_node_pattern")
"""Keys of tasks that say how they communicate, or what they are called."""


class Amount(NamedTuple):
    """What the first, the other even and the odd nodes of a job do: (3, sizes) floating-point operations, and s of delays."""

    flops: Values
    seconds: Values


def look_at_tasks(given: Any, keys: UnknownKeys, where: str) -> None:
    """Note the keys of the tasks of a list, or of an object with ``tasks``, that ElastiSim does not know."""
    tasks = given.get("tasks") if isinstance(given, dict) else given
    for number, task in enumerate(tasks if isinstance(tasks, list) else ()):
        if isinstance(task, dict):
            place = f"{where}.tasks[{number}]"
            keys.look(task, _KEYS, place, _IGNORED)
            look_at_tasks(task.get("tasks"), keys, place)


def amount_of(given: Any, sized: dict[str, Any], where: str, left_out: set[str]) -> Amount:
    """Return what the tasks of a list, or of an object with ``tasks``, do together, by number of nodes (``sized``).

    What of them has no time here is added to ``left_out``. Raises FormatError.
    """
    total = Amount(*np.zeros((2, 3, len(sized["num_nodes"]))))
    is_list = isinstance(given, list)
    for number, task in enumerate(given if is_list else list_in(object_in(given, where).get("tasks", []), where)):
        place = f"{where}.tasks[{number}]"
        kind = str(object_in(task, place).get("type", "nothing")).lower()
        times = evaluate(task.get("iterations", 1), sized, f"{place}.iterations")
        if kind == "sequence":
            amount = amount_of(task.get("tasks", []), sized, place, left_out)
            total = Amount(*(whole + times * part for whole, part in zip(total, amount, strict=True)))
        elif kind in _DELAYS:
            total.seconds[:] += times * _on_ranks(task, "delay", "pattern", sized, place)
        elif kind == "cpu":
            if "bytes" in task:
                left_out.add("bytes of cpu tasks")
            if "flops" in task:
                total.flops[:] += times * _on_ranks(task, "flops", "computation_pattern", sized, place)
        elif kind in _NOT_SIMULATED:
            left_out.add(f"{kind} tasks")
        else:
            known = ", ".join(("cpu", *_DELAYS, "sequence", *_NOT_SIMULATED))
            raise FormatError(f"{place}.type", f"one of {known}", kind)
    return total


def _on_ranks(task: dict[str, Any], key: str, pattern: str, sized: dict[str, Any], where: str) -> Values:
    """Return the amount of a task on the first, the other even and the odd nodes of a job, shape (3, sizes)."""
    how = str(task.get(pattern, "nothing")).lower()
    if how not in _PATTERNS:
        raise FormatError(f"{where}.{pattern}", f"one of {', '.join(_PATTERNS)}", how)
    nodes = sized["num_nodes"]
    amount = np.broadcast_to(evaluate(task.get(key), sized, f"{where}.{key}"), nodes.shape)
    if (amount < 0.0).any():
        raise FormatError(f"{where}.{key}", "an amount >= 0 on any number of nodes", task.get(key))
    none = np.zeros(nodes.shape)
    if how == "uniform":
        return np.array([amount] * 3)
    if how == "root_only":
        return np.array([amount, none, none])
    if how == "even_ranks":
        return np.array([amount / np.ceil(nodes / 2)] * 2 + [none])
    if how == "odd_ranks":
        return np.array([none, none, np.where(nodes > 1, amount / np.maximum(nodes // 2, 1), 0.0)])
    return np.array([amount / nodes] * 3)


def slowest(amount: Amount, nodes: Values, rate: float) -> Values:
    """Return the work of the node that has most of it, for each number of nodes."""
    there = np.array([nodes >= 1, nodes >= 3, nodes >= 2])
    return np.asarray(np.where(there, amount.flops / rate + amount.seconds, 0.0).max(axis=0))


def object_in(value: Any, where: str) -> dict[str, Any]:
    """Return a value that must be an object of a JSON document. Raises FormatError if it is not."""
    if not isinstance(value, dict):
        raise FormatError(where, "an object", "nothing" if value is None else value)
    return value


def list_in(value: Any, where: str) -> list[Any]:
    """Return a value that must be a list of a JSON document. Raises FormatError if it is not."""
    if not isinstance(value, list):
        raise FormatError(where, "a list", value)
    return value
