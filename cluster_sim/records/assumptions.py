"""What a run assumes where its inputs say nothing: a line for each kind of thing, with how often.

A line begins with its kind, ``requested time: 83 of 299 jobs have none …``. :func:`of_inputs` tells what can be known
before a run, :func:`of_run` what came of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.models.power import PowerModel, power_models, watts

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.platform.platform import Platform
    from cluster_sim.records.contracts import RecordedRun, RunRecords
    from cluster_sim.workload.workload import Workload

    Mask = npt.NDArray[np.bool_]


def kind_of(line: str) -> str:
    """Return what a line is about: ``requested time`` in the example above."""
    return line.partition(":")[0]


def of_jobs(columns: Mapping[str, Any], memory: bool = False) -> list[str]:
    """List what is assumed of jobs.

    Times and cores that they do not request, or cannot have, and memory where the scheduler respects it.
    """
    if not len(columns["requested_time"]):
        return []
    kinds = [
        (columns["requested_cores_assumed"], "requested cores", "jobs have none; those they used stand in"),
        (_in_vain(columns), "parts", "jobs ask for cores (@) and keep theirs: they are not malleable, or exclusive"),
    ]
    if memory:
        kinds.append((columns["memory"] <= 0, "memory", "jobs state none, and count as needing none"))
    return _requested_times(columns["requested_time"], columns["requested_time_assumed"]) + _some(*kinds)


def of_platform(platform: Platform, power_model: PowerModel | None = None) -> list[str]:
    """List the watts that a platform does not state."""
    model = power_models.make(platform.power_model) if power_model is None else power_model
    if platform.watts_assumed:
        kind = platform.processor_types[0]  # the others have the same clock and watts
        static, dynamic = kind.power["static_w"], kind.power["dynamic_w"]
        idle = watts(model, kind, 0)
        return [
            f"watts: the platform states none; those of a {kind.clock_ghz:g} GHz processor "
            f"({idle:.1f} W idle, else {static:.1f} W + {dynamic:.1f} W a busy core) stand in"
        ]
    powered = [kind for kind in platform.processor_types if watts(model, kind, kind.cores)]
    if len(powered) == len(platform.processor_types):
        return []
    none = [not any(kind in powered for kind in node.processors) for node in platform.node_types]
    return _nodes(platform, none, "watts", "nodes state none, and draw 0 W; energies count without them")


def of_inputs(
    platform: Platform,
    workload: Workload,
    power_model: PowerModel | None = None,
    switches: bool = False,
    memory: bool = False,
) -> list[str]:
    """Return what a run of these will assume, before it runs.

    ``switches``: the power policy may switch nodes; ``memory``: the scheduler respects it.
    """
    found = of_jobs(workload.columns, memory) + of_platform(platform, power_model)
    wide = workload.too_wide(platform)
    if wide:
        cores = (platform.of_hosts if workload.counts_hosts else platform).core_count
        found.append(
            f"rejected: {wide:,} of {len(workload):,} jobs will be, too wide for the platform: "
            f"the widest asks for {workload.widest_job:,} cores, the platform has {cores:,}{_hint(workload, cores)}"
        )
    if switches:
        free = _switch_for_nothing(platform)
        found += _nodes(
            platform, free, "transitions", f"nodes state none; they switch in 0 s for 0 J{_off(platform, free)}"
        )
    return found


def of_simulation(simulation: RecordedRun, workload: Workload | None = None) -> list[str]:
    """List what a simulation that has not run assumes; ``workload`` stands in place of its own, which may be without jobs."""
    return of_inputs(
        simulation.platform,
        simulation.workload if workload is None else workload,
        simulation.power_model,
        switches=simulation.power_policy is not None and simulation.power_traits.switches,
        memory=simulation.scheduler is not None and simulation.scheduler.memory,
    )


def of_run(
    result: RunRecords,
    columns: Mapping[str, Any],
    workload: Workload,
    power_model: PowerModel,
    memory: bool,
    has_refused: bool,
    has_switched: bool,
) -> list[str]:
    """Return what a run assumed, by its records; ``columns`` are those of all its jobs.

    ``has_refused``: jobs were rejected; ``has_switched``: nodes changed their state. Only then are tables made to look.
    """
    platform = result.platform
    found = of_jobs(columns, memory) + of_platform(platform, power_model)
    if has_refused:
        rejected = np.flatnonzero(result.jobs["state"] == "rejected")
        first = result.jobs.iloc[rejected[0]]
        hint = _hint(workload, platform.core_count)
        if "GPU" in first["reason"]:
            hint = "; --ignore-gpus runs jobs as if they needed none"
        none = "; no job ran" if result.jobs["start_time"].isna().all() else ""
        found.append(
            f"rejected: {len(rejected):,} of {len(result.jobs):,} jobs{none}, the first is job {first['job_id']}: "
            f"{first['reason']}{hint}"
        )
    if has_switched:
        of_type = _switch_for_nothing(platform)
        free = np.array(of_type)[platform.type_of_node]
        switches = int(result.nodes.loc[free, ["switches_on", "switches_off"]].to_numpy().sum()) if free.any() else 0
        if switches:
            found.append(
                f"transitions: {switches:,} switches took 0 s and 0 J, for {int(free.sum()):,} of "
                f"{len(free):,} nodes state none{_off(platform, of_type)}"
            )
    return found


def merged(several: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of several runs or inputs: the first of each kind, and how many others are of the kind."""
    first: dict[str, str] = {}
    others: dict[str, set[str]] = {}
    for lines in several:
        for line in lines:
            first.setdefault(kind_of(line), line)
            others.setdefault(kind_of(line), set()).add(line)
    return [
        line + (f" ({len(others[kind]) - 1:,} more like this)" if len(others[kind]) > 1 else "")
        for kind, line in first.items()
    ]


def _requested_times(requested: npt.NDArray[np.float64], assumed: Mask) -> list[str]:
    endless = np.isinf(requested)
    lines = _some(
        (assumed, "requested time", "jobs have none; their run time stands in, a perfect estimate"),
        (endless, "requested time", "jobs have none, and count as endless"),
    )
    if len(lines) > 1:
        return [f"{lines[0]}; {int(endless.sum()):,} more have none, and count as endless"]
    return lines


def _in_vain(columns: Mapping[str, Any]) -> Mask:
    """Return a mask of the jobs that ask for other cores as they run, and whose cores cannot change."""
    parts = columns["parts"]
    texts = (parts if any(parts.strides) else parts[:1]).tolist()
    asks = np.array(["@" in text for text in texts], np.bool_)
    return np.asarray(asks & (~columns["malleable"] | columns["exclusive"]))


def _some(*kinds: tuple[Mask, str, str]) -> list[str]:
    """Return a line for each mask of which some are true, with its kind and the words about it."""
    lines = []
    for which, kind, what in kinds:
        if number := int(np.count_nonzero(which)):
            lines.append(f"{kind}: {number:,} of {len(which):,} {what}")
    return lines


def _nodes(platform: Platform, of_type: list[bool], kind: str, what: str) -> list[str]:
    return _some((np.array(of_type)[platform.type_of_node], kind, what))


def _switch_for_nothing(platform: Platform) -> list[bool]:
    """Tell for each type of node whether switching it off and on takes no time, and so no energy either."""
    return [not (node.transitions.switch_on_s or node.transitions.switch_off_s) for node in platform.node_types]


def _off(platform: Platform, of_type: list[bool]) -> str:
    """Say which of these types of nodes draw nothing while they are off."""
    drawing = any(node.transitions.off_w for node, free in zip(platform.node_types, of_type, strict=True) if free)
    return "" if drawing else ", and draw 0 W while off"


def _hint(workload: Workload, cores: int) -> str:
    """Return a hint for a workload that names the size of its machine, if that is not the platform's."""
    stated = workload.stated_procs
    if stated is None or stated <= cores:
        return ""
    counts = " (nodes= of lublin counts cores)" if workload.name == "lublin" else ""
    return f"; the workload is one for {stated:,} cores{counts}"
