"""Contention-aware greedy: every job where its predicted delay, energy or energy-delay product is least."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from annotated_types import Ge
from typing_extensions import Doc

from cluster_sim.machine.placement import Placement, shape
from cluster_sim.machine.reason import Reason, ReasonKind
from cluster_sim.options import checked
from cluster_sim.run.decisions import Decision, Hold, Start
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from schedulers.energy.expectations import Expectations, seconds_of_work
from schedulers.policy.policy import Scheduler, blocks, schedulers
from schedulers.queue.orders import AnyJobOrder, Memory, job_orders, order_in

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.workload.jobs import Job

Metric = Annotated[Literal["delay", "energy", "edp"], Doc("what a placement should cost least of")]
Reference = Annotated[Literal["slowest", "fastest"], Doc("the core that requested times are of")]
Clairvoyant = Annotated[bool, Doc("look at the true work of jobs, not at what they request")]
Weight = Annotated[float, Ge(0), Doc("exponent of the delay in edp")]

KEPT_BACK = Reason(ReasonKind.KEPT_FREE)
"""Reason for which a job waits that fits, for ``Hold``; see :class:`~schedulers.energy.patient_greedy.Patient`."""
_EQUAL = 1e-9


@schedulers.register("contention-aware")
class ContentionAware(Scheduler):
    """Contention-aware greedy: jobs in some order, each to the node where it costs least by the contention model.

    For every node that has room, the scheduler predicts with the run's contention and power models when everything on
    the node ends, with the job and without it. It takes the node with the least::

        delay   D = (own finish - now) + sum over the node's other jobs of (finish with - finish without)
        energy  E = energy of the node with - without, both to the last of these finishes, an idle node idling
        edp     E · D^weight

    Estimates that differ by less than 10⁻⁹ are equal, and the first node of the platform wins. Where nothing draws power
    every metric is ``delay``. A job that does not fit is skipped; with ``blocking`` no job overtakes it.

    ``order`` is any job order. ``placements=one`` starts one job in a pass, as the published agents do, ``all`` whatever
    fits. The work of a job is what was requested: ``requested_time`` is taken to be its time alone on a core of the
    platform's ``reference``, the slowest (as in :class:`~schedulers.energy.pcbe.Pcbe`) or the fastest; ``clairvoyant=yes`` looks
    at the true work instead, and is no fair competitor. ``overrun`` is what a job that outlives its prediction is
    expected to need more, as a fraction of its whole work. With ``memory``, nodes must have room for the job's memory.

    Beyond one node: jobs that span nodes take them in order of the estimate for what each node would get, per task.
    Off nodes come after those that are on, as for every scheduler, and booting is not predicted; nor are phases,
    communication, or the quirk ``contention-at-job-boundaries``.
    """

    keeps_back = KEPT_BACK

    @checked
    def __init__(
        self,
        metric: Metric = "edp",
        order: AnyJobOrder = "smallest",
        placements: Annotated[Literal["all", "one"], Doc("jobs that start in a pass")] = "all",
        weight: Weight = 0.5,
        reference: Reference = "slowest",
        overrun: Annotated[float, Ge(0), Doc("share of its work that a job needs which outlives its prediction")] = 0.1,
        blocking: Annotated[bool, Doc("no job overtakes one that does not fit")] = False,
        memory: Memory = False,
        clairvoyant: Clairvoyant = False,
    ):
        self._job_order = job_orders.make(order) if isinstance(order, str) else order
        self.metric, self.placements, self.weight, self.reference = metric, placements, weight, reference
        self.overrun, self.blocking, self.memory, self.clairvoyant = overrun, blocking, memory, clairvoyant

    def begin(self, view: View) -> None:
        """Begin a run in which nothing runs yet."""
        self._view = view
        self._order = order_in(view, self._job_order)
        self._seconds = seconds_of_work(view, self.reference, self.clairvoyant)
        self._expected = Expectations(view, self._seconds, self.overrun)
        draws_power = any(max(model.watts) > 0.0 for model in {id(m): m for m in self._expected.models}.values())
        self._metric = self.metric if draws_power else "delay"
        self._numbers: dict[Hashable, int] = {}

    def schedule(self, view: View) -> Iterable[Decision]:
        """Hold a pass: jobs in order, each to the best node that it fits now."""
        pending = [job for job in view.pending if job.requested_cores <= view.free_total]
        if not view.free_total or not (pending or self.blocking):
            return
        self._expected.update()
        self._estimates: dict[Hashable, dict[int, float]] = {}
        self._state_of = np.full(view.platform.node_count, -1)
        self._numbers.clear()
        self._most_free = int(view.free_cores.max())
        for job in sorted(view.pending, key=lambda job: (self._order(job, view.now), job.index)):
            on_one_node = job.requested_cores <= view.machine.widest_node(job) and not job.is_shaped
            may_fit = job.requested_cores <= (self._most_free if on_one_node else view.free_total)
            placement = self._place(view, job) if may_fit else None
            if placement is None:
                if self.blocking:
                    yield blocks(view, job, KEPT_BACK, self.memory)
                    return
                if view.explains:
                    yield Hold(job, view.shortage(job, self.memory) or KEPT_BACK)
                continue
            yield Start(job, placement)
            if self.placements == "one":
                return
            self._expected.enter(job)
            self._state_of[placement.nodes] = -1
            self._most_free = int(view.free_cores.max())

    def _place(self, view: View, job: Job) -> Placement | None:
        """Look for a placement of a job; a scheduler derived from this one may have it wait."""
        return view.place(job, self.ranks(view, job), self.memory)

    # ------------------------------------------------------------------ estimates

    def ranks(self, view: View, job: Job) -> npt.NDArray[np.float64] | None:
        """Return the rank of each node for the job, shape (nodes,), least first; equal where the estimates are."""
        wanted = job.requested_cores
        if wanted > view.platform.widest_node or job.is_shaped:
            wanted = min(max(shape(job) or [wanted]), view.platform.widest_node)
            candidates = np.flatnonzero(view.free_cores >= 1)
        else:
            candidates = np.flatnonzero(view.free_cores >= wanted)
        if len(candidates) < 2:
            return None
        estimates = np.full(view.platform.node_count, np.inf)
        # Nodes in the same state get the same number, so that only one of them has to be looked at.
        for node in candidates[self._state_of[candidates] < 0].tolist():
            state = self._expected.state(node)
            self._state_of[node] = self._numbers.setdefault(state, len(self._numbers))
        states, inverse = np.unique(self._state_of[candidates], return_inverse=True)
        work: tuple[float, ...] = job.requested_time, job.mem_vol  # equal for jobs that would take as long everywhere
        if self.clairvoyant:
            work = self._seconds(job, view.platform.fastest_ops_per_s), self._seconds(job, 1.0), job.mem_vol
        known = self._estimates.setdefault((wanted, work), {})
        first = np.full(len(states), -1)
        first[inverse[::-1]] = candidates[::-1]
        for state, node in zip(states.tolist(), first.tolist(), strict=True):
            if state not in known:
                tasks = min(wanted, int(view.free_cores[node]))
                known[state] = self.estimate(job, node, tasks) / tasks
        estimates[candidates] = np.array([known[state] for state in states.tolist()])[inverse]
        # Estimates that differ only by rounding have equal ranks.
        by_estimate = np.argsort(estimates, kind="stable")
        ordered = estimates[by_estimate]
        with np.errstate(invalid="ignore"):  # inf - inf
            rises = np.diff(ordered) > _EQUAL * np.abs(ordered[1:])
        ranks = np.empty(len(estimates))
        ranks[by_estimate] = np.concatenate(([0.0], np.cumsum(rises)))
        return ranks

    def estimate(self, job: Job, node: int, tasks: int) -> float:
        """Return what it costs by the metric to start that many tasks of the job on the node now."""
        before, after = self._expected.outlook(node), self._expected.joined(node, job, tasks)
        delay = after.ends[job.index] + sum([after.ends[other] - end for other, end in before.ends.items()])
        if self._metric == "delay":
            return delay
        stop = max(before.horizon, after.horizon)
        energy = max(after.energy(0.0, stop) - before.energy(0.0, stop), 0.0)
        return energy * max(delay, 0.0) ** self.weight if self._metric == "edp" else energy
