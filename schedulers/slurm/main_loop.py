"""A pass of the main scheduler: first come, first served in each partition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from schedulers.slurm.backfill import JobStarted
from schedulers.slurm.cluster import SlurmCluster
from schedulers.slurm.job_request import QueuedJob
from schedulers.slurm.preemption import Preempted
from schedulers.slurm.queue import ReasonCode, why_not_in


class MainPass:
    """A walk through the first jobs of a queue. A job that does not fit blocks its partition, and its nodes for all others.

    :attr:`reasons` has why the jobs that were looked at wait, by their keys.
    """

    def __init__(self, cluster: SlurmCluster, queue: Sequence[QueuedJob], now: float, depth: int):
        self._cluster = cluster
        self._queue = queue
        self._now = now
        self._depth = depth
        self._open = cluster.up & ~cluster.completing
        self._taken = 0  # nodes of the partitions that are blocked
        self._blocked: set[str] = set()
        self._reservations: set[str] = set()
        self.reasons: dict[int, str] = {}

    def decisions(self) -> Iterator[JobStarted | Preempted]:
        """Yield the jobs that start, or take nodes from others; these are started, or ended, on the cluster first."""
        done: set[int] = set()
        looked_at = 0
        for entry in self._queue:
            key = entry.ask.key
            if key in done:
                continue
            if looked_at >= self._depth:
                break
            looked_at += 1
            reason = self._why_skipped(entry)
            if reason is None:
                cluster, now, limit = self._cluster, self._now, self._cluster.limit(entry)
                choice = cluster.choose(entry, self._open & ~self._taken, now, limit)
                if choice is None:
                    preempted = cluster.preempt(entry, self._open & ~self._taken, now, limit)
                    if preempted is not None:
                        done.add(key)
                        yield preempted
                    reason = self._block(entry)
                else:
                    reason = cluster.accounting.refusal_on(entry.ask, choice.nodes, sum(choice.cpus), now)
                    if not reason:
                        cluster.start(entry, choice, limit, now)
                        done.add(key)
                        self.reasons.pop(key, None)
                        yield JobStarted(entry, choice, limit)
                        continue
            self.reasons.setdefault(key, reason)
            if reason == ReasonCode.LICENSES and self._cluster.settings.bf_licenses:
                break

    def _why_skipped(self, entry: QueuedJob) -> str | None:
        """Return why the job is not tested; None: it is."""
        cluster, ask = self._cluster, entry.ask
        never = why_not_in(cluster, entry)
        if never is not ReasonCode.NONE:
            return never
        if cluster.is_throttled(ask):
            return ReasonCode.ARRAY_LIMIT
        refusal = cluster.accounting.refusal(ask, self._now)
        if refusal:
            return refusal
        if ask.reservation:
            if ask.reservation in self._reservations:
                return ReasonCode.RESERVATION
        elif entry.queue.name in self._blocked:
            return ReasonCode.PRIORITY
        if not cluster.has_licences(ask):
            return ReasonCode.LICENSES
        if cluster.windows and not ask.reservation:
            unreserved = cluster.open_now(ask, self._now, cluster.limit(entry))
            if unreserved.bit_count() < cluster.shape(entry).min_nodes:  # nobody has to wait behind it
                return ReasonCode.RESERVED
        return None

    def _block(self, entry: QueuedJob) -> str:
        """Let others wait behind a job that does not fit; return why that job waits."""
        cluster, ask, queue = self._cluster, entry.ask, entry.queue
        needed = cluster.shape(entry).min_nodes
        mine = queue.nodes & cluster.nodes_for(ask) & cluster.up & ~self._taken
        if not cluster.is_young(entry, self._now):
            if ask.reservation:
                self._reservations.add(ask.reservation)
            elif ask.required_nodes:
                self._taken |= cluster.shape(entry).required
            else:
                self._blocked.add(queue.name)
                self._taken |= queue.nodes
        if mine.bit_count() < needed:
            return ReasonCode.HIGHER_PARTITION
        return ReasonCode.RESERVATION if ask.reservation else ReasonCode.RESOURCES
