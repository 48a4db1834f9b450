"""Observations of an agent that selects policies: the three levels of Herrera et al. (2021), and the default."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from typing_extensions import Doc

from cluster_sim.options import checked
from cluster_sim.platform.platform import Platform
from cluster_sim.registry import Registry
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from learning.tasks.episode_metrics import quantiles
from learning.tasks.feature_table import FeatureTable, block, bounded, feature, part

Arrays = dict[str, npt.NDArray[np.float32]]
Floats = npt.NDArray[np.float64]


HALF_S, HALF_MB, HALF_VOLUME_MB = 3600.0, 1000.0, 1e5
"""Requested time, memory and memory volume of a job whose features are 0.5."""


class PoliciesToChoose(Protocol):
    """Protocol of PolicySelection's decision-maker, as far as observations read it."""

    platform: Platform
    policies: tuple[str, ...]
    orders: list[Any]  #: Of each policy its orders of jobs and of nodes; None: it starts nothing.
    memory: bool


class SelectionObservation(Protocol):
    """Protocol of observations. To write one, write all of these and register it in :data:`selection_observations`."""

    def spaces(self, maker: PoliciesToChoose) -> dict[str, spaces.Box]:
        """Return the parts of the observation, without the mask."""
        ...

    def begin(self, view: View) -> None:
        """Begin a run."""
        ...

    def observe(self, view: View) -> Arrays:
        """Return the observation of this moment."""
        ...


selection_observations: Registry[SelectionObservation] = Registry(
    "observation of policy-selection", "cluster_sim.selection_observations"
)


class Requested(FeatureTable):
    """Request of a job: all in [0, 1]."""

    time = feature("requested time, s", "t / (t + HALF_S), 1 for none")
    cores = feature("cores asked for", "over all, at most 1")
    memory = feature("memory of a task, MB", "m / (m + HALF_MB)")
    volume = feature("memory volume of a task, MB", "v / (v + HALF_VOLUME_MB)")


class CoreNow(FeatureTable):
    """State of a core in the published observation: its processor's numbers, busy cores first."""

    rate = feature("its rate", "over the fastest core's")
    draw = feature("what it draws, W", "over what its processor draws with all cores busy, by core")
    work = feature("what is left of the requested time of its task", "over all of it")


STATISTICS = {"least": 0.0, "first quartile": 0.25, "median": 0.5, "third quartile": 0.75, "most": 1.0}
"""Statistics of each request over the queue, and the shares of their quantiles."""


class QueueNow(FeatureTable):
    """State of the queue: statistics of its requests, and the change of its length. All in [0, 1]."""

    requests = block(
        [f"{statistic} of {request}" for request in Requested.names for statistic in STATISTICS],
        "over the jobs of the queue",
        "as a request",
    )
    change = feature("(length - length before) / the longer of both", "moved from [-1, 1] to [0, 1]")


class PolicyRow(FeatureTable):
    """Effect of a policy now, after the policy itself: its first job and its first node. All in [0, 1]."""

    requested = part(Requested)
    fits = feature("1 if the job fits now; if not, what is said of the node is 0")
    rate = feature("the node's rate", "over that of the fastest")
    free = feature("the node's free cores", "over all of its")
    bandwidth = feature("bandwidth that is asked for on the node, MB/s", "over itself and what it serves")
    draw = feature("what the node draws, W", "over its most")
    on = feature("1 if the node is on")


class SelectionState(FeatureTable):
    """Queue and machine: all in [0, 1]."""

    queue = part(QueueNow)
    free = feature("free cores", "over all")
    power = feature("what the machine draws, W", "over its most")
    running = feature("running jobs", "j / (j + 10)")
    waiting = feature("waiting jobs", "j / (j + 10)")
    bandwidth = feature("bandwidth that all tasks ask for, MB/s", "over itself and what the machine serves")


class _Queue:
    """Queue as it is now, and its length at the last observation."""

    def begin(self, view: View) -> None:
        self._length = 0
        self._requested: dict[int, tuple[float, ...]] = {}
        self._cores = view.platform.core_count

    def requested(self, job: Job) -> tuple[float, ...]:
        """Return :func:`scaled_requests`, computed once for a job."""
        known = self._requested.get(job.index)
        if known is None:
            known = self._requested[job.index] = scaled_requests(job, self._cores)
        return known

    def of(self, view: View) -> Floats:
        pending = view.pending
        before, self._length = self._length, len(pending)
        values = np.zeros(QueueNow.size)
        values[QueueNow.change] = 0.5 + 0.5 * (len(pending) - before) / max(len(pending), before, 1)
        if pending:
            requests = np.array([self.requested(job) for job in pending])
            values[QueueNow.requests] = np.array(quantiles(requests, STATISTICS.values())).T.ravel()
        return values


def scaled_requests(job: Job, cores: int) -> tuple[float, float, float, float]:
    """Return the :class:`Requested` of a job."""
    time = job.requested_time
    return (
        time / (time + HALF_S) if time < math.inf else 1.0,
        min(job.requested_cores / cores, 1.0),
        job.memory / (job.memory + HALF_MB),
        job.mem_vol / (job.mem_vol + HALF_VOLUME_MB),
    )


@selection_observations.register("as-published")
class PublishedVector:
    """One vector in [0, 1], at a level of detail: as-published:normal, small or minimal.

    normal: for each node the share of memory that is free; for each core :class:`CoreNow`; then :class:`QueueNow`. small:
    without the cores. minimal: the queue only. The paper's own formula for the size adds the number of processors, for
    which it names no feature: left out. A core's numbers are its processor's, for tasks are not told apart by core.
    """

    @checked
    def __init__(self, level: Annotated[Literal["normal", "small", "minimal"], Doc("how much is observed")] = "normal"):
        self._level = level
        self._queue = _Queue()

    def spaces(self, maker: PoliciesToChoose) -> dict[str, spaces.Box]:
        """Return ``observation``, shape (nodes + 3 · cores + 21,), (nodes + 21,) or (21,)."""
        platform, size = maker.platform, QueueNow.size
        if self._level != "minimal":
            size += platform.node_count
        if self._level == "normal":
            size += CoreNow.size * platform.core_count
        return {"observation": spaces.Box(0.0, 1.0, (size,), np.float32)}

    def begin(self, view: View) -> None:
        self._queue.begin(view)

    def observe(self, view: View) -> Arrays:
        parts = [self._queue.of(view)]
        if self._level != "minimal":
            parts.insert(0, free_memory(view))
        if self._level == "normal":
            parts.insert(1, _cores(view))
        return {"observation": np.clip(np.concatenate(parts), 0.0, 1.0).astype(np.float32)}


def free_memory(view: View) -> Floats:
    """Return the share of each node's memory that is free, 1 for unlimited memory, shape (nodes,)."""
    capacity = view.machine.memory_capacity
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(capacity), 1.0 - view.machine.memory_used / capacity, 1.0)


def _cores(view: View) -> Floats:
    """Return :class:`CoreNow` of every core, shape (3 · cores,)."""
    platform = view.platform
    left: dict[int, list[float]] = {}
    for running in view.running:
        elapsed, wall = max(view.now - running.start_time, 0.0), running.job.requested_time
        share = max(1.0 - elapsed / wall, 0.0) if 0.0 < wall < math.inf else 1.0
        for processor, cores in view.planning.held_cores(running.job):
            left.setdefault(processor, []).extend([share] * cores)
    rows = []
    for node in view.machine.nodes():
        for here in node.processors:
            kind, works = here.type, left.get(here.index, [])
            power = view.machine.power_model
            most = power.shared_watts(kind, kind.cores) + kind.cores * power.core_watts(kind, kind.cores)
            rate = kind.ops_per_s / platform.fastest_ops_per_s
            draw = here.watts / most if most else 0.0
            works = works + [0.0] * (kind.cores - len(works))
            rows += [(rate, draw, work) for work in works]
    return np.array(rows, np.float64).ravel()


@selection_observations.register("default")
class PolicyTable:
    """Observation with a row for each policy, its orders and its first job and node; and the state.

    ``actions``, shape (policies, job orders + node orders + 11): a column for each order, 1 if the policy is made of it, one
    that is 1 if it is void, and :class:`PolicyRow`. ``state``: :class:`SelectionState`. Orders that draw at random are not
    drawn for it.
    """

    def __init__(self) -> None:
        self._queue = _Queue()

    def spaces(self, maker: PoliciesToChoose) -> dict[str, spaces.Box]:
        """Return ``actions`` and ``state``."""
        self._maker = maker
        pairs = [policy.partition("/") for policy in maker.policies]
        jobs = sorted({job for job, slash, _ in pairs if slash})
        nodes = sorted({node for _, slash, node in pairs if slash})
        self._identity = np.zeros((len(pairs), len(jobs) + len(nodes) + 1))
        for row, (job, slash, node) in zip(self._identity, pairs, strict=True):
            if slash:
                row[jobs.index(job)] = row[len(jobs) + nodes.index(node)] = 1.0
            else:
                row[len(jobs) + len(nodes)] = 1.0
        self._is_random = [("random" in (job, node), job, node) for job, _, node in pairs]
        identity = self._identity.shape[1]
        self._what_follows_in = slice(identity, identity + PolicyRow.size)
        self._shape = len(pairs), identity + PolicyRow.size
        return {
            "actions": spaces.Box(0.0, 1.0, self._shape, np.float32),
            "state": spaces.Box(0.0, 1.0, (SelectionState.size,), np.float32),
        }

    def begin(self, view: View) -> None:
        self._queue.begin(view)
        self._most_watts = float(view.machine.node_max_watts.sum()) or 1.0
        self._rates = view.machine.node_gflops / view.machine.node_gflops.max()

    def observe(self, view: View) -> Arrays:
        """Return the features of every policy, and of the state."""
        rows = np.zeros(self._shape)
        rows[:, : self._what_follows_in.start] = self._identity
        waiting = view.pending
        first_jobs: dict[str, Job] = {}
        seen: dict[tuple[int, str], Floats] = {}
        for row, orders, (is_random, job_name, node_name) in zip(
            rows, self._maker.orders, self._is_random, strict=True
        ):
            if orders is None or is_random or not waiting:
                continue
            job = first_jobs.get(job_name)
            if job is None:
                job = first_jobs[job_name] = min(waiting, key=lambda j: (orders[0](j, view.now), j.index))
            key = job.index, node_name
            if key not in seen:
                seen[key] = self._row(view, job, orders[1])
            row[self._what_follows_in] = seen[key]
        state = np.empty(SelectionState.size)
        state[SelectionState.queue] = self._queue.of(view)
        state[SelectionState.free] = view.free_total / view.platform.core_count
        state[SelectionState.power] = min(view.watts / self._most_watts, 1.0)
        state[SelectionState.running] = bounded(view.running_count, 10.0)
        state[SelectionState.waiting] = bounded(len(waiting), 10.0)
        state[SelectionState.bandwidth] = _asked(
            float(view.machine.demand.sum()), float(view.machine.node_bandwidth.sum())
        )
        return {"actions": rows.astype(np.float32), "state": np.clip(state, 0.0, 1.0).astype(np.float32)}

    def _row(self, view: View, job: Job, node_order: Any) -> Floats:
        """Return the :class:`PolicyRow` of a job and the node that it would go to."""
        values = np.zeros(PolicyRow.size)
        values[PolicyRow.requested] = self._queue.requested(job)
        order = node_order(view, job)
        placement = view.place(job, order, self._maker.memory) if job.requested_cores <= view.free_total else None
        if placement is None:
            return values
        node = placement.nodes[0]
        most = float(view.machine.node_max_watts[node])
        values[PolicyRow.fits] = 1.0
        values[PolicyRow.rate] = self._rates[node]
        values[PolicyRow.free] = view.free_cores[node] / view.platform.node_cores[node]
        values[PolicyRow.bandwidth] = _asked(float(view.machine.demand[node]), float(view.machine.node_bandwidth[node]))
        values[PolicyRow.draw] = min(view.machine.node(node).watts / most, 1.0) if most else 0.0
        values[PolicyRow.on] = view.machine.is_on[node]
        return values


def _asked(asked: float, served: float) -> float:
    """Return the asked bandwidth over itself and the served one; 0 if the latter has no bound."""
    return asked / (asked + served) if served < math.inf and asked + served > 0.0 else 0.0
