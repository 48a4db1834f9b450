"""What a job asks for: cores, or, in a workload of Batsim's, hosts."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from cluster_sim.errors import ModelWarning

if TYPE_CHECKING:
    from cluster_sim.platform.platform import Platform
    from cluster_sim.workload.workload import Workload


def as_counted(platform: Platform, workload: Workload) -> Platform:
    """``platform`` with a core for each thing that ``workload`` counts: its cores, or its hosts.

    Warns (ModelWarning) when hosts of several cores count as one, and when the workload of hosts is as large as the
    platform has nodes, of which nothing says that they are hosts.
    """
    if not workload.counts_hosts:
        return platform
    counted = platform.of_hosts
    if counted is not platform:
        text = (
            f"{platform.core_count:,} cores count as {counted.core_count:,}: in a workload of Batsim's a resource is a "
            "host, and a job computes on one core of each of its hosts"
        )
        warnings.warn(f"platform '{platform.id}': {text}", ModelWarning, stacklevel=3)
    elif workload.max_procs == platform.node_count < platform.core_count:
        text = (
            f"it counts {workload.max_procs:,} hosts, as many as platform '{platform.id}' has nodes; "
            f"each of the {platform.core_count:,} cores is taken for a host"
        )
        warnings.warn(f"workload {workload.name}: {text}", ModelWarning, stacklevel=3)
    return counted
