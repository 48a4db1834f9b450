"""The machine that a workload speaks of: how large its log says it was, and whether jobs ask for its cores or its hosts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cluster_sim.errors import FormatError, InputError, ModelWarning, warn_user

if TYPE_CHECKING:
    from cluster_sim.platform.platform import Platform
    from cluster_sim.workload.workload import Workload


def as_counted(platform: Platform, workload: Workload) -> Platform:
    """Return ``platform`` with a core for each thing that ``workload`` counts: its cores, or its hosts.

    Warns (ModelWarning) when hosts of several cores count as one. Warns also when the workload has as many hosts as the
    platform has nodes, and nothing says that the nodes are hosts.
    """
    if not workload.counts_hosts:
        return platform
    counted = platform.of_hosts
    if counted is not platform:
        text = (
            f"{platform.core_count:,} cores count as {counted.core_count:,}: in a workload of Batsim's a resource is a "
            "host, and a job computes on one core of each of its hosts"
        )
        warn_user(ModelWarning(f"platform '{platform.id}': {text}"))
    elif workload.max_procs == platform.node_count < platform.core_count:
        text = (
            f"it counts {workload.max_procs:,} hosts, as many as platform '{platform.id}' has nodes; "
            f"each of the {platform.core_count:,} cores is taken for a host"
        )
        warn_user(ModelWarning(f"workload {workload.name}: {text}"))
    return counted


def platform_of_log(workload: Workload, source: str) -> Platform:
    """Make a platform of one-core nodes, as many as the log says. Raises InputError if it cannot say so."""
    from cluster_sim.platform.platform import Platform

    if not (workload.header or source.lower().removesuffix(".gz").endswith(".swf")):
        raise InputError(
            source, "--platform P with it: only an SWF log, or a workload of Batsim's, says how large its machine was"
        )
    if workload.stated_procs is None:
        text = "the platform gets as many cores as the widest job asks for"
        warn_user(ModelWarning(f"{source}: {unstated_size(workload)}: {text}"))
    try:
        return replace(Platform.homogeneous(nodes=workload.max_procs, cores=1), watts_assumed=True)
    except InputError as error:
        raise FormatError(f"{source}: header, MaxProcs", error.expected, error.found) from None


def unstated_size(workload: Workload) -> str:
    """Say why the header of a log does not tell how large its machine was."""
    for name in ("MaxProcs", "MaxNodes"):
        found = workload.directive(name)
        if found is not None:
            return f"{name} in the header is no number of cores ({found or 'empty'})"
    return "no MaxProcs in the header"
