"""Power policies that reserve nodes to keep them off: off-reservation, and one that reserves at random.

*Off-reservation* (Casagrande et al. 2022, §2.1 and Fig. 2) withholds nodes from the scheduler so that jobs wait for
nodes that are on, instead of having others booted. It decides before the scheduler does (their Fig. 5).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from annotated_types import Ge, Le, Unit
from typing_extensions import Doc

from cluster_sim.engine import latest
from cluster_sim.options import checked
from cluster_sim.run.decisions import Offer, PowerDecision, SwitchOff, WakeAt, Withhold
from cluster_sim.run.view import ClairvoyantView, View
from schedulers.policy.policy import PowerPolicy, power_policies
from schedulers.power.idle_timeout import idle_nodes, unused_nodes, waits_in_window

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.workload.jobs import Job

    Mask = npt.NDArray[np.bool_]

EVERYBODY = math.inf
"""Index of a job behind all others."""


@power_policies.register("off-reservation")
class OffReservation(PowerPolicy):
    """Clairvoyant: keeps nodes reserved and off as long as each job's wait stays below tau times its requested time.

    OR* of Casagrande et al. (2022, §5.2). The latest start of a job is ``submit_time + tau · requested_time`` less the
    slowest boot. The job may be *delayed* while jobs that run now will really end by then, and give back as many cores
    as it asks for (or all that they have). A job that may not be delayed is *let through*: the nodes it needs are
    offered, first those that run something, then idle ones, then OFF ones. All other nodes that run nothing are
    withheld and switched off. The jobs that waited for a node that has just been left have their chance before that.
    Jobs that request no time, and jobs for which no running job makes room, are never delayed.

    All nodes are offered while a job that has reached its latest start does not fit, or waits in its advance reservation.
    With ``head=starts`` the head of the queue is never delayed. (``waits-for-jobs``: it is delayed like the others, and so, like
    them, only while a job runs.)

    If the scheduler does not start a job that was let through, first the jobs before it are let through too, then all.
    So no job waits longer for the policy than until its latest start; from then on the policy is a timeout of 0 to it.
    """

    clairvoyant = True

    @checked
    def __init__(
        self,
        tau: Annotated[float, Ge(0), Doc("longest wait of a job, as a share of its requested time")] = 0.5,
        head: Annotated[Literal["waits-for-jobs", "starts"], Doc("may the head be delayed?")] = "waits-for-jobs",
    ):
        self._tau = tau
        self._head_starts = head == "starts"

    def begin(self, view: View) -> None:
        """Begin a run with a stream of random numbers of its own.

        The scheduler's draws are the same with and without the policy.
        """
        self._boot_s = max(kind.transitions.switch_on_s for kind in view.platform.node_types)
        self._let_through: list[Job] = []
        # (s, up to which job index all are let through in that instant)
        self._retry: tuple[float, float] = -1.0, -1.0
        self._wakes_at = -1.0

    def reserve(self, view: View) -> Iterator[PowerDecision]:
        """Offer the nodes that are needed now, withhold the others and switch them off."""
        now, up_to = self._retry
        offered = self._offered(view, up_to if now == view.now else -1.0)
        yield from self._change(view, offered)
        yield SwitchOff(np.flatnonzero(idle_nodes(view) & ~offered).tolist())

    def react(self, view: View) -> Iterator[PowerDecision]:
        """Help the jobs that the scheduler did not start on what was offered; switch off what it left idle."""
        stuck = [job.index for job in self._let_through if view.is_pending(job)]
        while stuck and self._retry != (view.now, EVERYBODY):
            is_second = self._retry[0] == view.now
            self._retry = (view.now, EVERYBODY if is_second else max(stuck))
            changes = list(self._change(view, self._offered(view, self._retry[1])))
            yield from changes
            if any(isinstance(change, Offer) for change in changes):
                return  # the scheduler has another pass
        yield SwitchOff(np.flatnonzero(idle_nodes(view)).tolist())
        turns = [self._latest_start(job) for job in view.pending]
        wake = min((time for time in turns if latest(view.now) < time < math.inf), default=math.inf)
        if wake < math.inf and wake != self._wakes_at:
            self._wakes_at = wake
            yield WakeAt(wake)

    @staticmethod
    def _change(view: View, offered: Mask) -> Iterator[PowerDecision]:
        for node in np.flatnonzero(offered & view.machine.withheld).tolist():
            yield Offer(node)
        for node in np.flatnonzero(~offered & ~view.machine.withheld).tolist():
            yield Withhold(node)

    def _latest_start(self, job: Job) -> float:
        """Return until when the job may be held back, s; with a boot after it, it still starts within the bound."""
        return job.submit_time + self._tau * job.requested_time - self._boot_s

    def _offered(self, view: View, up_to: float) -> Mask:
        """Return which nodes the scheduler may use now, when all jobs up to that index are let through."""
        assert isinstance(view, ClairvoyantView)
        self._let_through = []
        # A node that has just been left is offered once more, to the jobs that waited for it: react switches it off.
        in_use = ~unused_nodes(view) | view.machine.is_on
        offered = in_use.copy()
        if up_to == EVERYBODY or waits_in_window(view):
            return np.ones_like(offered)
        preference = np.where(in_use, 0.0, np.where(view.machine.powered_on, 1.0, 2.0))
        outlook = view.planning.outlook(withheld=True)
        ends = sorted((view.true_end(running), running.placement.cores) for running in view.running)
        for place, job in enumerate(view.pending):
            may_wait = not (self._head_starts and place == 0)
            if may_wait and job.index > up_to and self._can_wait(view, job, ends):
                continue
            placement = outlook.place(job, preference, time=view.now)
            if placement is None and job.min_cores < job.requested_cores:
                placement = outlook.place(job.on_cores(job.min_cores), preference, time=view.now)
            if placement is not None:
                outlook.take(job, placement)
                offered[placement.nodes] = True
                self._let_through.append(job)
                ends = sorted([*ends, (view.now + job.requested_time, job.requested_cores)])
            elif latest(view.now) >= self._latest_start(job):
                return np.ones_like(offered)
        return offered

    def _can_wait(self, view: View, job: Job, ends: list[tuple[float, int]]) -> bool:
        """Return whether jobs that run should make room for it early enough."""
        turn = self._latest_start(job)
        if turn == math.inf or latest(view.now) >= turn or not ends:
            return False
        cores, expected = 0, view.now
        for end, given_back in ends:
            expected = end
            cores += given_back
            if cores >= job.requested_cores:
                break
        return latest(expected) < turn


@power_policies.register("random")
class RandomReservation(PowerPolicy):
    """Every period (s) reserves a random number of nodes and keeps them off, until a job has waited for ten periods.

    The number is uniform over 0 … all nodes, as an agent's first actions are in Casagrande et al. (2022, Fig. 9). Only
    nodes that run nothing are withheld, OFF ones first, then the last of the platform; there may be fewer than drawn.
    While the oldest job has waited ``patience`` periods or more, or a job waits in its advance reservation, nothing is
    withheld, so that none waits for ever.
    """

    @checked
    def __init__(
        self,
        period: Annotated[float, Ge(1e-3), Unit("s"), Doc("time between two draws")] = 60.0,
        patience: Annotated[int, Ge(1), Le(10**9), Unit("periods"), Doc("wait of a job that ends a reservation")] = 10,
    ):
        self._period = period
        self._patience = patience

    def begin(self, view: View) -> None:
        """Begin a run with a stream of random numbers of its own.

        The scheduler's draws are the same with and without the policy.
        """
        self._rng = view.rng.spawn(1)[0]
        self._size = 0
        self._next_draw = -1.0
        self._wakes_at = -1.0

    def reserve(self, view: View) -> Iterator[PowerDecision]:
        """Draw if it is time to, and make the reservation as large as was drawn."""
        if view.now >= self._next_draw:
            self._size = int(self._rng.integers(0, view.platform.node_count + 1))
            self._next_draw = view.now + self._period
        waited = view.now - view.pending[0].submit_time if view.pending_count else 0.0
        size = 0 if waited >= self._patience * self._period or waits_in_window(view) else self._size
        withheld = np.flatnonzero(view.machine.withheld).tolist()
        if len(withheld) >= size:
            yield from [Offer(node) for node in withheld[: len(withheld) - size]]
        else:
            unused = np.flatnonzero(unused_nodes(view) & ~view.machine.withheld)[::-1]
            chosen = unused[np.argsort(~view.machine.powered_off[unused], kind="stable")]
            yield from [Withhold(node) for node in chosen[: size - len(withheld)].tolist()]
        yield SwitchOff(np.flatnonzero(idle_nodes(view) & view.machine.withheld).tolist())
        if (view.pending_count or view.running_count) and self._wakes_at != self._next_draw:
            self._wakes_at = self._next_draw
            yield WakeAt(self._next_draw)
