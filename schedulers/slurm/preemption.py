"""Preemption: which jobs may lose their nodes to which, in what order they are taken, and how they are stopped (Slurm 22.05)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cluster_sim.errors import InputError
from cluster_sim.platform.accounts import QualityOfService
from schedulers.slurm.selection.best_fit import ChosenNodes, Shape, choose

if TYPE_CHECKING:
    from schedulers.slurm.job_request import Ask, QueuedJob
    from schedulers.slurm.partitions import Queue
    from schedulers.slurm.selection.node_holder import NodeHolder
    from schedulers.slurm.selection.node_sets import NodeSet
    from schedulers.slurm.selection.nodes import FreeCpus
    from schedulers.slurm.settings import PreemptSettings

_MOST = 0xFFFF
"""Limit up to which nodes, and priorities of qualities of service, count."""
_LAST = 99_999


@dataclass(slots=True)
class Preempted:
    """A job takes the nodes of others that run: these end now; it starts when they are cleaned up."""

    entry: QueuedJob
    victims: Sequence[NodeHolder]


class Preemption:
    """The rules of preempt/partition_prio and preempt/qos, and who has lately taken nodes from others.

    ``quality`` gives the quality of service of a job, ``whole_nodes`` says that select/linear chooses.
    """

    def __init__(
        self,
        settings: PreemptSettings,
        queues: Mapping[str, Queue],
        quality: Callable[[Ask], QualityOfService | None],
        whole_nodes: bool,
    ):
        self.gang = settings.gang
        self._settings = settings
        self._queues = queues
        self._quality = quality
        self._whole_nodes = whole_nodes
        self._since: dict[int, float] = {}  # when a job last took nodes from others, s

    @property
    def because(self) -> str:
        """Return why a job loses its nodes, in words."""
        above = "a better quality of service" if self._settings.by_qos else "a higher tier"
        return f"a job of {above} needs its nodes"

    def tiers(self) -> dict[str, int]:
        """Return the tier of each partition."""
        return {queue.name: queue.tier for queue in self._queues.values()}

    def levels(self) -> dict[str, tuple[int, bool]]:
        """Return the tiers of the partitions, the lowest first, and whether jobs of higher ones may be on their jobs' cores."""
        queues = sorted(self._queues.values(), key=lambda queue: queue.tier)
        settings = self._settings
        return {queue.name: (queue.tier, settings.modes.get(queue.name, settings.mode) != "OFF") for queue in queues}

    # ------------------------------------------------------------------ who from whom

    def goes_before(self, first: QueuedJob, second: QueuedJob) -> bool:
        """Return whether the first job could take nodes from the second if that ran: then it goes first."""
        if not first.queue.nodes & second.queue.nodes:
            return False
        if self._settings.by_qos:
            return self._is_above(first.ask, second.ask)
        return first.queue.tier > second.queue.tier

    def candidates(self, entry: QueuedJob, helds: Iterable[NodeHolder], now: float) -> list[NodeHolder]:
        """Return the jobs from which a job may take nodes: the first are taken first."""
        found = [held for held in helds if not held.ending and self._may_take(entry, held, now)]
        if self._settings.youngest_first:
            found.sort(key=lambda held: (-math.floor(held.start), held.made, held.ask.key))
        elif found:
            found.sort(key=lambda held: (self._rank(held), min(len(held.nodes), _MOST), held.made, held.ask.key))
        return found

    def mode(self, held: NodeHolder) -> str:
        """Return what is done to a job that loses its nodes: OFF, REQUEUE, CANCEL or SUSPEND."""
        settings = self._settings
        if settings.by_qos:
            quality = self._quality(held.ask)
            mode = (quality.preempt_mode if quality is not None else "") or settings.mode
        else:
            mode = settings.modes.get(held.partition, settings.mode)
        return "CANCEL" if mode == "REQUEUE" and not settings.may_requeue else mode

    def check(self, qualities: Iterable[QualityOfService]) -> None:
        """Raise InputError for a quality of service with a mode that is not simulated."""
        for quality in qualities if self._settings.by_qos else ():
            if quality.preempt_mode not in ("", "OFF", "REQUEUE", "CANCEL"):
                where = f"scheduler 'slurm', QOS {quality.name}, PreemptMode"
                raise InputError(where, "REQUEUE or CANCEL: others are not simulated", quality.preempt_mode)

    def _may_take(self, entry: QueuedJob, held: NodeHolder, now: float) -> bool:
        if not held.mask & entry.queue.nodes:
            return False
        if self._settings.by_qos:
            if not self._is_above(entry.ask, held.ask):
                return False
        elif entry.queue.tier <= self._tier(held):
            return False
        mode = self.mode(held)
        if mode in ("OFF", "SUSPEND"):
            return mode == "SUSPEND"
        return not self._is_exempt(held, now)

    def _is_exempt(self, held: NodeHolder, now: float) -> bool:
        """Return whether a job has run too short to lose its nodes."""
        quality = self._quality(held.ask)
        own = None if quality is None else quality.preempt_exempt_s
        return math.floor(held.start) + (self._settings.exempt_time if own is None else own) > math.floor(now)

    def _is_above(self, first: Ask, second: Ask) -> bool:
        above, below = self._quality(first), self._quality(second)
        return above is not None and below is not None and below.name in above.preempts

    def _tier(self, held: NodeHolder) -> int:
        queue = self._queues.get(held.partition)
        return 0 if queue is None else queue.tier

    def _rank(self, held: NodeHolder) -> int:
        if not self._settings.by_qos:
            return self._tier(held)
        quality = self._quality(held.ask)
        return 0 if quality is None else min(quality.priority, _MOST)

    # ------------------------------------------------------------------ whom a job takes

    def victims(
        self, shape: Shape, free: FreeCpus, within: NodeSet, candidates: Sequence[NodeHolder]
    ) -> tuple[ChosenNodes, list[NodeHolder]] | None:
        """Return nodes of a set for a job, and the jobs that have to leave them; None if it could never fit.

        Jobs are taken out one by one until it fits; then they are put in another order, by how many of the chosen nodes
        each has, the last that was taken first, and taken out anew.
        """
        some = [held for held in candidates if self.mode(held) != "SUSPEND" and held.mask & within]
        orders = 1 if self._whole_nodes else self._settings.reorder_count + 1
        rounds = 0
        while True:
            future, gone, choice = free.copy(), 0, None
            while choice is None:
                if gone == len(some):
                    return None
                future.release(some[gone])
                gone += 1
                choice = choose(shape, future, within)
            rounds += 1
            if rounds > orders or len(candidates) <= rounds:
                return choice, [held for held in some[:gone] if held.mask & choice.mask]
            some = self._reordered(some, gone, choice, within)

    def _reordered(self, some: list[NodeHolder], gone: int, choice: ChosenNodes, within: NodeSet) -> list[NodeHolder]:
        last = some[gone - 1]
        if self._settings.strict_order and not self._whole_nodes:
            return [last, *some[: gone - 1], *some[gone:]]
        wanted = within if self._whole_nodes else choice.mask
        frees = {id(held): (held.mask & wanted).bit_count() for held in some[: gone - 1]} | {id(last): _LAST}
        return sorted(some, key=lambda held: -frees.get(id(held), 0))

    # ------------------------------------------------------------------ stopping them

    def stop(self, preemptor: int, victims: Iterable[NodeHolder], now: float) -> list[NodeHolder] | None:
        """Tell jobs to leave for another; return those that have to be gone at once. The others have their grace.

        Return None if the job has just taken nodes: it takes none from more jobs until that should be over.
        """
        second = math.floor(now)
        if self._since.get(preemptor, -math.inf) > second - self._settings.pause:
            return None
        self._since[preemptor] = second
        gone = []
        for held in victims:
            held.preemptor = preemptor
            if not held.is_told:
                held.is_told = True
                if not self._settings.by_qos:
                    grace = self._settings.grace.get(held.partition, 0.0)
                else:
                    quality = self._quality(held.ask)
                    grace = 0.0 if quality is None else quality.grace_time_s
                held.end = min(held.end, second + grace)
                if grace:
                    continue
            if second >= held.end:
                gone.append(held)
        return gone

    def may_change(self, now: float, helds: Iterable[NodeHolder]) -> bool:
        """Return whether time alone may let a job take nodes: from jobs that run, but not long enough."""
        self._since = {key: time for key, time in self._since.items() if time > now - 2.0 * self._settings.pause}
        return bool(self._since) or any(self._is_exempt(held, now) for held in helds)
