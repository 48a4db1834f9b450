"""IRMaSim's ``options.json`` as settings of a run.

::

    {"platform_file": "platform.json", "platform_name": "lab", "workload_file": "workload.json", "seed": 0,
     "workload_manager": {"type": "Heuristic", "job_selection": "smallest", "resource_selection": "high_mem"}}

Workload managers: ``Minimal`` (the default there) is first come, first served; ``Heuristic`` is list scheduling; so is
``Policy`` when its environment offers a single action, and the older ``agent`` of type CLASSIC with its
``policy_pair``. Those that learn or backfill are refused. What concerns IRMaSim's own logs and training is left aside.

Names mean what they mean here, but for ``high_mem``: IRMaSim sorts by the memory *in use*, our ``most_used_mem``. Its
other deviations are quirks, to be asked for.
"""

from __future__ import annotations

import warnings
from typing import Any

from cluster_sim.errors import FormatError, ModelWarning
from cluster_sim.spelling import UnknownKeys

_KEYS = (
    "platform_file", "platform_name", "workload_file", "seed", "workload_manager", "agent", "trajectory_origin",
    "trajectory_length", "nbtrajectories",
)  # fmt: skip
_IGNORED = ("output_prefix", "output_dir", "debug", "verbose", "log_level", "statistics", "options_file", "environment")
_MANAGER_KEYS = ("type", "job_selection", "resource_selection", "environment", "agent")


def is_options(document: object) -> bool:
    """Return whether a parsed document is laid out as IRMaSim's options are."""
    return isinstance(document, dict) and bool({"platform_file", "workload_file"} & document.keys())


def settings(document: dict[str, Any], path: str) -> dict[str, Any]:
    """Return the settings that an options file gives, with its names of files. Raises FormatError naming file and key."""
    keys = UnknownKeys(path)
    keys.look(document, _KEYS, "the file", _IGNORED)
    if isinstance(manager := document.get("workload_manager"), dict):
        keys.look(manager, _MANAGER_KEYS, "workload_manager")
    keys.tell()
    # IRMaSim can run excerpts of a workload, chosen at random; a run here takes the whole workload.
    for key, whole in (("trajectory_origin", 0), ("trajectory_length", 0), ("nbtrajectories", 1)):
        value = document.get(key, whole)
        if str(value) != str(whole):
            raise FormatError(f"{path}: {key}", f"{whole} or none (choose jobs with --first)", value)
    values: dict[str, Any] = {
        "platform": _text(document, "platform_file", path),
        "workload": _text(document, "workload_file", path),
        "scheduler": _scheduler(document, path),
        "seed": document.get("seed", 0),
    }
    if type(values["seed"]) is not int or values["seed"] < 0:
        raise FormatError(f"{path}: seed", "an integer >= 0", values["seed"])
    if "platform_name" in document:
        values["platform_name"] = _text(document, "platform_name", path)
    return values


def _scheduler(document: dict[str, Any], path: str) -> str:
    agent = document.get("agent")
    if isinstance(agent, dict) and "policy_pair" in agent:
        pair = _text(agent, "policy_pair", path, "agent.")
        job, dash, node = pair.partition("-")
        if not dash:
            raise FormatError(f"{path}: agent.policy_pair", "a pair such as shortest-high_gflops", pair)
        return _list_scheduler(job, node, path)
    manager = document.get("workload_manager", {})
    if not isinstance(manager, dict):
        raise FormatError(f"{path}: workload_manager", "an object", manager)
    kind = manager.get("type", "Minimal")
    if kind == "Minimal":
        text = "workload manager Minimal runs as fcfs, which keeps a job on one node if it fits one"
        warnings.warn(f"{path}: {text}", ModelWarning, stacklevel=2)
        return "fcfs"
    if kind == "Heuristic":
        manager = {"job_selection": "first", "resource_selection": "first", **manager}
        job, node = (_text(manager, key, path, "workload_manager.") for key in ("job_selection", "resource_selection"))
        return _list_scheduler(job, node, path)
    if kind == "Policy":
        try:
            # A policy selector runs only if it has a single pair to select.
            selection = manager["environment"]["actions"]["selection"]
            ((job, nodes),) = [pair for action in selection for pair in action.items()]
            (node,) = nodes
        except (KeyError, TypeError, ValueError, AttributeError):
            where = f"{path}: workload_manager.environment.actions.selection"
            raise FormatError(where, 'one action such as [{"first": ["high_gflops"]}]') from None
        return _list_scheduler(str(job), str(node), path)
    raise FormatError(f"{path}: workload_manager.type", "Minimal, Heuristic or Policy (with one action)", kind)


def _list_scheduler(job: str, node: str, path: str) -> str:
    if node == "high_mem":
        text = "high_mem is run as most_used_mem, which is what IRMaSim does under that name"
        warnings.warn(f"{path}: {text}", ModelWarning, stacklevel=3)
        node = "most_used_mem"
    return f"list:{job}/{node}"


def _text(mapping: dict[str, Any], key: str, path: str, above: str = "") -> str:
    value = mapping.get(key)
    if not isinstance(value, str) or not value:
        raise FormatError(f"{path}: {above}{key}", "text", "nothing" if value is None else value)
    return value
