"""What these stories share: a small machine with tags, and jobs in a line each."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

from cluster_sim import Cluster, NodeGroup, NodeType, Platform, ProcessorType, Workload
from tests.support.rows import workload_of

settings.register_profile("requests", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

# 10 W with any core busy and 2 W per busy core; 5 W idle.
WATTS = {"static_w": 10.0, "dynamic_w": 2.0, "min_power": 0.5}


def machine(*nodes: tuple[int, int, str], processors: int = 1) -> Platform:
    """Nodes in groups of (count, cores of each processor, tags)."""
    groups = []
    for number, (count, cores, tags) in enumerate(nodes):
        processor = ProcessorType(f"p{number}", cores, 3.0, power=WATTS)
        kind = NodeType(f"n{number}", (processor,) * processors, tags=frozenset(tags.split()))
        groups.append(NodeGroup(kind, count))
    return Platform((Cluster("lab", tuple(groups)),))


def jobs(*rows: tuple[float, int, float], **columns: Any) -> Workload:
    """Jobs from (submission s, cores, run time s), which is what they request, too; further columns by name."""
    return workload_of(*((*row, row[2]) for row in rows), **columns)
