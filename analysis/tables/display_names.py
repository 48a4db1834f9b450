"""Names for people of what specs name: ``easy:nodes=free_mem_bw`` is "EASY backfilling, nodes: most free memory bandwidth".

A title stands here for everything that the toolkit brings; what a user registers has the words of its own name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import PurePath

from cluster_sim.amounts import amount
from cluster_sim.errors import SpecError
from cluster_sim.files.source import FILE_OPTIONS, PLUS
from cluster_sim.registry import Spec

SCHEDULERS = {
    "adaptive-pcbe": "Adaptive PCBE",
    "conservative": "Conservative backfilling",
    "contention-aware": "Contention-aware greedy",
    "easy": "EASY backfilling",
    "equipartition": "Equal shares of the cores",
    "fcfs": "FCFS",
    "las": "Least attained service",
    "learned": "Agent {}",
    "list": "List scheduling",
    "ljf": "Longest job first",
    "malleable": "Malleable jobs in order",
    "moldable": "Moldable jobs in order",
    "patient": "Patient greedy",
    "pcbe": "PCBE",
    "preemptive": "Preemptive scheduling",
    "preemptive-list": "Preemptive list scheduling",
    "replay": "Recorded schedule {}",
    "saf-easy": "EASY backfilling of the smallest area",
    "search": "Search for the best end",
    "shrink-expand": "Shrink and expand",
    "sjf": "Shortest job first",
    "slurm": "Slurm",
}
POWER_POLICIES = {
    "always-on": "all nodes on",
    "inertial": "inertial shutdown",
    "keep-ready": "{nodes} idle nodes kept on",
    "learned": "agent {}",
    "off-reservation": "reservations that keep nodes off",
    "power-cap": "at most {watts:W}",
    "random": "nodes off at random",
    "summed-stretch": "nodes on by summed stretch",
    "timeout": "idle nodes off after {seconds:s}",
}
JOB_ORDERS = {
    "edf": "earliest deadline first",
    "expansion-factor": "largest expansion factor first",
    "f1": "order F1",
    "fcfs": "first come first",
    "first": "first come first",
    "ljf": "longest first",
    "longest": "longest first",
    "low_mem": "least memory first",
    "low_mem_bw": "least memory bandwidth first",
    "low_mem_ops": "least memory volume first",
    "multifactor": "Slurm's priority",
    "powers": "order of powers",
    "priority": "highest priority first",
    "random": "in random order",
    "saf": "smallest area first",
    "shortest": "shortest first",
    "sjf": "shortest first",
    "smallest": "smallest first",
    "unicef": "order UNICEF",
    "wfp": "order WFP3",
}
NODE_ORDERS = {
    "best-fit": "least cores and GPUs left",
    "clustering": "jobs with as many GPUs",
    "current_gflops": "highest rate now",
    "current_watts": "least power now",
    "first": "as the platform lists them",
    "dot-product": "least of what is asked for free",
    "fewest-switches": "few switches",
    "fgd": "least fragmentation of GPUs",
    "free_mem_bw": "most free memory bandwidth",
    "group-packing": "few groups of switches",
    "high_cores": "most free cores",
    "high_gflops": "fastest cores",
    "high_mem": "most free memory",
    "high_mem_bw": "least bandwidth in use",
    "in-a-row": "neighbours",
    "low_cores": "fewest free cores",
    "low_power": "least power",
    "most_used_mem": "most memory in use",
    "one-switch-or-all": "one switch or all",
    "packing": "GPUs in use first",
    "random": "at random",
    "total_mem": "most memory",
}
PLATFORMS = {
    "homogeneous": "equal nodes",
}
WORKLOADS = {
    "cruz": "Jobs of Cruz (2023)",
    "lopez-mixed": "Jobs of López (2023)",
    "lublin": "Lublin's model",
    "npb": "NAS benchmarks",
}


OF_FACTORS = {
    "scheduler": SCHEDULERS,
    "power_policy": POWER_POLICIES,
    "platform": PLATFORMS,
    "workload": WORKLOADS,
}
"""Titles of what a factor of a sweep takes."""
_PAIR = re.compile(r"list:([^/,]+)/([^,]+)")


def display_name(text: str, with_options: bool = True, titles: Mapping[str, str] = SCHEDULERS) -> str:
    """Return the name for people of a scheduler's spec, or of that and a power policy's, ``easy + timeout:300``.

    With other ``titles``, :data:`PLATFORMS` or :data:`WORKLOADS`, the text is a spec of that kind. A number in brackets that
    tells equal names apart stays. Any other text, such as the name of a file, is returned as it is.
    """
    said, number = re.fullmatch(r"(.*?)( \(\d+\))?", text, re.DOTALL).groups()  # type: ignore[union-attr]
    first, plus, power = said.partition(PLUS)
    named = [_named(first, with_options, titles)]
    if plus:
        named.append(_named(power, with_options, POWER_POLICIES))
    return PLUS.join(named) + (number or "")


def display_names(texts: Iterable[str], titles: Mapping[str, str] = SCHEDULERS) -> dict[str, str]:
    """Return the shortest name for people by which each text is told apart: without options, with them, or the text."""
    found = dict.fromkeys(texts, "")
    for with_options in (False, True):
        names = {text: display_name(text, with_options, titles) for text in found}
        taken = Counter(found.values()) + Counter(names.values())
        found |= {text: name for text, name in names.items() if not found[text] and taken[name] == 1}
    return {text: name or text for text, name in found.items()}


def names_of_factor(factor: str, values: Iterable[str]) -> dict[str, str]:
    """Return the names for people of what a factor takes. Of several list schedulers only the orders are named."""
    found = display_names(values, OF_FACTORS.get(factor, {}))
    pairs = {text: order for text in found if (order := _PAIR.fullmatch(text))}
    if len(pairs) > 1 and factor == "scheduler":
        for text, (job, node) in ((text, order.groups()) for text, order in pairs.items()):
            words = JOB_ORDERS.get(job, job)
            words += f" ({job})" if found[text] == text and words != job else ""  # orders of one name
            found[text] = f"{words[:1].upper() + words[1:]}, nodes: {NODE_ORDERS.get(node, node)}"
    return found


def _named(text: str, with_options: bool, titles: Mapping[str, str]) -> str:
    try:
        spec = Spec.parse(text)
    except SpecError:
        return text
    title = titles.get(spec.name)
    if title is None:
        return text
    positional, options = list(spec.positional), dict(spec.options)
    parts = [_filled(title, positional, options) or spec.name.replace("-", " ")]
    if spec.name == "list" and positional:
        jobs, _, nodes = positional.pop(0).partition("/")
        parts += [JOB_ORDERS.get(jobs, jobs), f"nodes: {NODE_ORDERS.get(nodes, nodes)}" if nodes else ""]
    parts += [*positional, *(_option(key, value) for key, value in options.items())]
    return ", ".join(filter(None, parts)) if with_options else parts[0]


def _filled(title: str, positional: list[str], options: dict[str, str]) -> str:
    """Return the title with its value in place: the first of ``positional``, or an option, which is taken from there."""
    place = re.search(r"\{(\w*):?(\w*)\}", title)
    if place is None:
        return title
    value = positional.pop(0) if positional else options.pop(place[1], "")
    if not value:
        return re.sub(r" ?(after |at most )?\{.*?\} ?", "", title)
    if place[2]:
        with suppress(ValueError):
            value = amount(float(value), place[2])
    filled = title.replace(place[0], _file_name(value) if not place[1] else value)
    return filled.replace("after 0 s", "at once")


def _file_name(path: str) -> str:
    """Return the last part of a path, without the quotation marks that may stand around it."""
    return PurePath(path.strip("\"'")).name


def _option(key: str, value: str) -> str:
    words = key.replace("_", " ")
    if key in FILE_OPTIONS:
        return f"{words}: {_file_name(value)}"
    if key == "order" and value in JOB_ORDERS:
        return JOB_ORDERS[value]
    if key == "backfill" and value in JOB_ORDERS:
        return f"backfilled {JOB_ORDERS[value]}"
    if value in ("yes", "no"):
        return words if value == "yes" else f"no {words}"
    return f"{words}: {NODE_ORDERS.get(value, value) if key == 'nodes' else value}"
