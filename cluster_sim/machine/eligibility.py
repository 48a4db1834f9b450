"""Which nodes are eligible for a job: by its tags, by the advance reservations, and as a set by its switches.

What a job may never use and what is only closed to it for a time are two questions: the first says which jobs are
impossible, the second which have to wait. Whether cores are free there is a third, and the machine's.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from cluster_sim.engine import SAME_INSTANT, latest
from cluster_sim.workload.advance_reservations import AdvanceReservation, windows_on
from cluster_sim.workload.jobs import Job, any_asks

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.platform.platform import Platform
    from cluster_sim.workload.advance_reservations import Window

    Mask = npt.NDArray[np.bool_]
    """One entry per node, in platform order."""

INF = float("inf")


class Eligibility:
    """The eligible nodes of a platform: here all, for every job and at any time, and no job has its nodes for itself.

    None stands for all nodes; masks are not written to.
    """

    restricts = False  #: Whether it can matter to a job which nodes it gets.
    by_request = (
        True  #: Whether a job takes its requested time; else the scheduler says how long, on a clock of its own.
    )
    windows: Sequence[Window] = ()  #: The advance reservations, by start.
    #: When windows begin or end, s: then a job may be able to start, though nothing else has happened.
    turning_times: Sequence[float] = ()
    #: Whether time alone may open nodes to a job: windows end, or it has waited long enough for its switches.
    turns = False

    def __init__(self, platform: Platform):
        self._platform = platform

    # ------------------------------------------------------------------ for ever

    def nodes(self, job: Job) -> Mask | None:
        """Return the nodes that the job may ever use: they have its tags and are in the reservation that it names."""
        return None

    def widest(self, job: Job) -> int:
        """Return the cores of the widest node that the job may ever use; 0 when there is none."""
        return self._platform.widest_node

    def why_never(self, job: Job, now: float) -> str:
        """Return why no node at all will be eligible for the job from now on; empty when some will."""
        return ""

    def described(self, job: Job) -> str:
        """Return what is particular about the nodes that the job may use, in words: after "8 cores on nodes"."""
        return ""

    # ------------------------------------------------------------------ for a time

    def open_at(self, job: Job, time: float) -> Mask | None:
        """Return the nodes on which a job that starts at ``time``, s, ends by its request before they are closed to it.

        Jobs that name a reservation: its nodes, if they start and end within its window.
        """
        return None

    def why_closed(self, job: Job, node: int, time: float) -> str:
        """Return why the job may not start on a node at ``time`` (s); empty when it may."""
        return ""

    def earliest_start(self, job: Job) -> float:
        """Return when the window of the reservation that the job names begins, s; -inf when it names none."""
        return -INF

    def latest_start(self, job: Job) -> float:
        """Return the latest start, s, with which the job ends by its request in its reservation; inf: has none."""
        return INF

    def end_for(self, job: Job) -> float:
        """Return when the job's own advance reservation ends, s; inf if it is in none."""
        return INF

    def leaf_limit(self, job: Job, time: float) -> int:
        """Return on how many leaf switches the nodes of a job may hang that starts at ``time`` (s); 0: on any number."""
        return 0

    def switches_until(self, job: Job) -> float:
        """Return until when the job waits for few leaf switches, s; -inf: it does not, inf: for ever."""
        return -INF


class Restrictions(Eligibility):
    """The eligible nodes where jobs ask for tags, whole nodes or advance reservations, or some nodes are reserved.

    Unless it goes ``by_request``, nodes are closed only while they are reserved for others.
    """

    restricts = True

    def __init__(
        self,
        platform: Platform,
        reservations: Iterable[AdvanceReservation] = (),
        *,
        by_request: bool = True,
        waits_for_switches: bool = False,
    ):
        super().__init__(platform)
        self.by_request = by_request
        self.windows = windows_on(platform, reservations)
        self.turning_times = tuple(sorted({time for window in self.windows for time in (window.start, window.end)}))
        self.turns = bool(self.windows) or waits_for_switches
        self._counts_switches = by_request and bool(platform.switches)
        self._by_name = {window.name: window for window in self.windows}
        self._ends = sorted(window.end for window in self.windows)
        self._masks: dict[tuple[frozenset[str], str], Mask | None] = {}
        self._widest: dict[tuple[frozenset[str], str], int] = {}
        self._nowhere: Mask = np.zeros(platform.node_count, bool)
        self._nowhere.flags.writeable = False
        self._closing = lru_cache(maxsize=16)(self._closing_after)

    # ------------------------------------------------------------------ for ever

    def nodes(self, job: Job) -> Mask | None:
        key = (job.requires, job.reservation)
        if key not in self._masks:
            mask: Mask | None = None
            if job.requires:
                tagged = np.array([job.requires <= node_type.tags for node_type in self._platform.node_types])
                mask = tagged[self._platform.type_of_node]
            if job.reservation:
                window = self._by_name.get(job.reservation)
                reserved = self._nowhere if window is None else window.nodes
                mask = reserved if mask is None else mask & reserved
            if mask is not None:
                mask.flags.writeable = False
            self._masks[key] = None if mask is None or mask.all() else mask
        return self._masks[key]

    def widest(self, job: Job) -> int:
        key = (job.requires, job.reservation)
        if key not in self._widest:
            mask = self.nodes(job)
            cores = self._platform.node_cores if mask is None else self._platform.node_cores[mask]
            self._widest[key] = int(cores.max(initial=0))
        return self._widest[key]

    def why_never(self, job: Job, now: float) -> str:
        if job.reservation:
            window = self._by_name.get(job.reservation)
            if window is None:
                return f"there is no advance reservation '{job.reservation}'"
            begins = max(window.start, now)
            if latest(begins) >= window.end:
                return f"advance reservation '{window.name}' was over at {window.end:g} s"
            if begins + self._counted_time(job) > latest(window.end):
                asked = "which requests no time" if job.requested_time == INF else f"of {job.requested_time:g} s"
                return f"advance reservation '{window.name}', until {window.end:g} s, is too short for a job {asked}"
        if job.requires and not self.widest(job):
            within = f" of advance reservation '{job.reservation}'" if job.reservation else ""
            return f"no node{within} has {_tags(job)}"
        return ""

    def described(self, job: Job) -> str:
        parts = [f" with {_tags(job)}"] if job.requires else []
        if job.reservation:
            parts.append(f" in advance reservation '{job.reservation}'")
        return "".join(parts)

    # ------------------------------------------------------------------ for a time

    def _counted_time(self, job: Job) -> float:
        """Return how long a start is taken to last, s: as requested; 0 if the scheduler says when jobs end."""
        return job.requested_time if self.by_request else 0.0

    def earliest_start(self, job: Job) -> float:
        window = self._by_name.get(job.reservation)
        return -INF if window is None else window.start

    def latest_start(self, job: Job) -> float:
        window = self._by_name.get(job.reservation)
        return INF if window is None else window.end - self._counted_time(job)

    def end_for(self, job: Job) -> float:
        window = self._by_name.get(job.reservation)
        return INF if window is None else window.end

    def leaf_limit(self, job: Job, time: float) -> int:
        until = self.switches_until(job)
        return job.switches if latest(time) < until or until == INF else 0

    def switches_until(self, job: Job) -> float:
        # A scheduler with a clock of its own counts the wait itself.
        return job.submit_time + job.switch_wait if self._counts_switches and job.switches else -INF

    def waiting_for_switches(self) -> Restrictions:
        """Return the same where jobs wait for few switches, and not for ever."""
        other = copy(self)
        other.turns = True
        return other

    def open_at(self, job: Job, time: float) -> Mask | None:
        mask = self.nodes(job)
        if not self.windows:
            return mask
        window = self._by_name.get(job.reservation)
        end = time + self._counted_time(job)
        if window is not None:
            within = window.start <= latest(time) < window.end and end <= latest(window.end)
            return mask_of_all(mask, self._platform) if within else self._nowhere
        over = bisect_right(self._ends, latest(time))
        if over == len(self._ends):
            return mask
        first, closing = self._closing(over)
        if end <= latest(first) and latest(time) < first:
            return mask
        still_open = (closing > latest(time)) & (closing >= end / SAME_INSTANT)
        return still_open if mask is None else still_open & mask

    def _closing_after(self, over: int) -> tuple[float, npt.NDArray[np.float64]]:
        """Return from when each node is closed once ``over`` windows have ended, and the earliest of these times."""
        closing = np.full(self._platform.node_count, INF)
        since = self._ends[over - 1] if over else -INF
        for window in reversed(self.windows):  # a node's windows do not overlap, so the earliest is written last
            if window.end > since:
                closing[window.nodes] = window.start
        return float(closing.min()), closing

    def why_closed(self, job: Job, node: int, time: float) -> str:
        mask = self.nodes(job)
        if mask is not None and not mask[node]:
            return f"it may run only on nodes{self.described(job)}"
        allowed = self.open_at(job, time)
        if allowed is None or allowed[node]:
            return ""
        if job.reservation:
            window = self._by_name[job.reservation]
            return f"its advance reservation lasts from {window.start:g} s to {window.end:g} s"
        window = next(w for w in self.windows if w.nodes[node] and w.end > time)
        return f"advance reservation '{window.name}' has that node from {window.start:g} s to {window.end:g} s"


def eligibility_of(
    platform: Platform,
    columns: Mapping[str, Any],
    reservations: Iterable[AdvanceReservation],
    *,
    by_request: bool = True,
) -> Eligibility:
    """Return which nodes are eligible for the jobs of a workload's columns; all if none asks and nothing is reserved."""
    reservations = tuple(reservations)
    few_switches = by_request and bool(platform.switches) and any_asks(columns, "switches")
    if reservations or few_switches or any_asks(columns, "requires", "reservation", "exclusive"):
        waits = few_switches and bool((columns["switch_wait"][columns["switches"] > 0] < INF).any())
        return Restrictions(platform, reservations, by_request=by_request, waits_for_switches=waits)
    return Eligibility(platform)


def mask_of_all(mask: Mask | None, platform: Platform) -> Mask:
    """Return the mask, or one of all nodes for None."""
    return np.ones(platform.node_count, bool) if mask is None else mask


def _tags(job: Job) -> str:
    names = sorted(job.requires)
    return f"the tag{'s' * (len(names) > 1)} {', '.join(names)}"
