"""The order in which both schedulers look at jobs, and Slurm's words for why a job waits."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum
from functools import cmp_to_key

from schedulers.slurm.cluster import SlurmCluster
from schedulers.slurm.job_request import Ask, QueuedJob
from schedulers.slurm.selection.node_sets import members


class ReasonCode(StrEnum):
    """Reason for which a job waits, as ``squeue`` has it."""

    NONE = "None"
    RESOURCES = "Resources"
    PRIORITY = "Priority"
    LICENSES = "Licenses"
    PARTITION_DOWN = "PartitionDown"
    PARTITION_INACTIVE = "PartitionInactive"
    NODE_LIMIT = "PartitionNodeLimit"
    TIME_LIMIT = "PartitionTimeLimit"
    ARRAY_LIMIT = "JobArrayTaskLimit"
    BEGIN_TIME = "BeginTime"
    DEPENDENCY = "Dependency"
    NEVER = "DependencyNeverSatisfied"
    HELD = "JobHeldUser"
    RESERVATION = "Reservation"
    RESERVED = "ReqNodeNotAvail, reserved for maintenance"
    HIGHER_PARTITION = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"


def order(cluster: SlurmCluster, asks: Iterable[Ask]) -> list[QueuedJob]:
    """Return jobs as they stand in the queue: once for each partition, the first to be looked at first.

    With preemption, jobs that could take nodes from others go before these. Then the order is by reservation, tier of
    the partition, priority, submission in whole seconds, and number.
    """
    accounting = cluster.accounting
    entries = [entry for ask in asks for entry in cluster.entries(ask)]
    for entry in entries:
        entry.priority = accounting.priority(entry.ask, entry.queue.name)
    entries = [entry for entry in entries if entry.priority > 0]

    def key(entry: QueuedJob) -> tuple[bool, int, int, int, int]:
        ask = entry.ask
        return not ask.reservation, -entry.queue.tier, -entry.priority, math.floor(ask.submit_time), ask.key

    preemption = cluster.preemption
    if preemption is None:
        entries.sort(key=key)
        return entries

    def compare(first: QueuedJob, second: QueuedJob) -> int:
        if preemption.goes_before(first, second):
            return -1
        return 1 if preemption.goes_before(second, first) or key(first) > key(second) else -1

    return sorted(entries, key=cmp_to_key(compare))


def why_not_in(cluster: SlurmCluster, entry: QueuedJob) -> ReasonCode:
    """Return why a job may not start in a partition whatever is free there: its state and limits; NONE: it may."""
    queue = entry.queue
    if not queue.starts_jobs:
        return ReasonCode.PARTITION_DOWN if queue.state == "DOWN" else ReasonCode.PARTITION_INACTIVE
    return _beyond_limits(cluster, entry)


def refused_in(cluster: SlurmCluster, entry: QueuedJob) -> str:
    """Return the limit of a partition for which a job is refused, when limits are enforced at submission; empty: none."""
    queue, ask = entry.queue, entry.ask
    if not queue.starts_jobs:
        return ""
    if cluster.limit(entry) > queue.max_time:
        return ReasonCode.TIME_LIMIT
    if 0 < ask.min_nodes < queue.min_nodes or ask.cpus > cluster.facts.cpus[members(queue.nodes)].sum():
        return ReasonCode.NODE_LIMIT
    reason = _beyond_limits(cluster, entry)
    return "" if reason is ReasonCode.NONE else reason


def _beyond_limits(cluster: SlurmCluster, entry: QueuedJob) -> ReasonCode:
    """Return the limit of a partition that a job exceeds; NONE: it exceeds none."""
    queue, shape = entry.queue, cluster.shape(entry)
    if shape.most_nodes and shape.most_nodes < queue.min_nodes:
        return ReasonCode.NODE_LIMIT
    if shape.min_nodes > min(queue.max_nodes or math.inf, queue.nodes.bit_count()):
        return ReasonCode.NODE_LIMIT
    return ReasonCode.TIME_LIMIT if cluster.shortest(entry) > queue.max_time else ReasonCode.NONE
