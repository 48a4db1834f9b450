"""Predictions for an agent: when nodes fall idle, and time and energy of a job on each node.

They use requests and the run's contention and power models, as
:class:`schedulers.energy.contention_aware.ContentionAware` does. Most pairs meet no contention; for them the prediction
is a formula, computed for all pairs at once. A forecast is made only if tasks slow each other. :func:`estimates` puts
both together.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cluster_sim.machine.running import Running
from cluster_sim.run.view import View
from learning.tasks.feature_table import ZERO
from learning.tasks.idle_nodes import IdleFigure, IdleNodes, NodeColumns, OfNode, OnIdleNodes, RequestTable
from learning.tasks.job_node.pairs import Pairs
from learning.tasks.occupancy import Asked, JobRequests, Occupancy
from schedulers.energy.expectations import Expectations

Floats = npt.NDArray[np.float64]

OVERRUN = 0.1
"""Share of its whole work that a job is expected to need longer if it outlives its prediction."""


class Predictions:
    """Predictions of a run, kept up to date.

    ``nodes`` are :class:`~learning.tasks.idle_nodes.NodeColumns`, shape (columns, nodes).
    """

    def __init__(self, view: View, requests: JobRequests, occupancy: Occupancy, idle: IdleNodes):
        platform = view.platform
        self._occupancy = occupancy
        self.idle, self.alone = idle, idle.alone
        self._requests = RequestTable(idle, requests)
        self._expected = Expectations(view, idle.seconds_of, OVERRUN)
        self._types = platform.type_of_node
        nodes = platform.node_count
        self.nodes = idle.columns.copy()
        self._horizon, self._contended = self.nodes[NodeColumns.horizon], np.zeros(nodes, np.bool_)
        self._known_horizon = np.zeros(nodes)  # horizon of the jobs that requested a time
        self._dynamic_w, self._dynamic_ws = np.zeros(nodes), np.zeros(nodes)
        self._soonest = np.full(nodes, np.inf)
        self._ends: list[dict[int, float]] = [{} for _ in range(nodes)]
        self._at: tuple[float, object] = (-1.0, None)
        self._first, self._last = np.inf, 0.0  # least of the soonest ends, most of the horizons
        self._seen = 0
        self._forecasts: dict[tuple[int, int, int], tuple[float, float, float]] = {}

    # ------------------------------------------------------------------ keeping up

    def update(self, view: View) -> None:
        """Bring everything up to now; done once for every instant and state of the machine."""
        if self._at == (view.now, view.machine.version):
            return
        if self._at[0] != view.now:
            self._forecasts.clear()
        self._at = view.now, view.machine.version
        self._occupancy.update(view)
        self._expected.update()
        self.nodes[OfNode.on], self.nodes[NodeColumns.free] = view.machine.is_on, view.free_cores
        log = self._occupancy.changes
        stale = set(log[self._seen :])
        self._seen = len(log)
        if self._first <= view.now:
            stale.update((self._soonest <= view.now).nonzero()[0].tolist())
        for node in stale:
            self._refresh(node, view.now)
        if stale:
            self._first = float(np.minimum.reduce(self._soonest))
            self._last = float(np.maximum.reduce(self._horizon))

    def _refresh(self, node: int, now: float) -> None:
        for key in [key for key in self._forecasts if key[1] == node]:
            del self._forecasts[key]
        tenants, nodes = self._occupancy.tenants[node], self.nodes
        nodes[OfNode.jobs, node], nodes[OfNode.idle, node] = len(tenants) / (len(tenants) + 1.0), not tenants
        nodes[NodeColumns.forecast_from, node] = self.idle.forecast_from.item(node) if tenants else np.inf
        if not tenants:
            nodes[OfNode.load, node] = nodes[NodeColumns.demand, node] = nodes[NodeColumns.horizon, node] = 0.0
            self._contended[node] = False
            self._dynamic_w[node] = self._dynamic_ws[node] = self._known_horizon[node] = 0.0
            self._soonest[node] = np.inf
            self._ends[node] = {}
            return
        ends = self._expected.outlook(node).ends
        kind, dynamic = self._types.item(node), self.idle.dynamic_w.item(node)
        demand = watts = joules = known = 0.0
        until: dict[int, float] = {}
        for index, tenant in tenants.items():
            end = until[index] = now + ends.get(index, 0.0)
            demand += tenant.cores * self.alone(tenant.request).figures.item(kind, IdleFigure.bandwidth)
            if tenant.request.requested_time < np.inf:
                watts += tenant.cores * dynamic
                joules += tenant.cores * dynamic * end
                known = max(known, end)
        self._ends[node] = until
        self._known_horizon[node] = known
        self._horizon[node], self._soonest[node] = max(until.values()), min(until.values())
        self._dynamic_w[node], self._dynamic_ws[node] = watts, joules
        contended_from = nodes.item(NodeColumns.contended_from, node)
        nodes[NodeColumns.demand, node] = demand
        nodes[OfNode.load, node] = demand / (demand + contended_from)
        self._contended[node] = demand >= contended_from

    # ------------------------------------------------------------------ asking

    def on_idle_nodes(self, asked: Asked) -> OnIdleNodes:
        """Return what a list of requests takes on idle nodes."""
        return self._requests.of(asked)

    def loads(self) -> tuple[int, float, int]:
        """Return how many nodes are idle, the sum of the nodes' loads, and on how many nodes tasks slow each other."""
        idle = len(self._contended) - int(np.count_nonzero(self._occupancy.job_count))
        load = float(np.add.reduce(self.nodes[OfNode.load]))
        return idle, load, int(np.count_nonzero(self._contended))

    def spread(self, view: View, pairs: Pairs, pair: int) -> tuple[float, float]:
        """Return (own finish s, energy J) of a pair whose job spans nodes, without contention by other jobs."""
        _, placement = pairs.at(pair)
        nodes = np.array(placement.nodes)
        cores_on = np.array([cores for first, stop, cores in placement.spans for _ in range(first, stop)])
        figures = self.alone(pairs.requests[pairs.job_of[pair]]).figures
        finish = float(figures[self._types[nodes], IdleFigure.finish].max())
        beyond = np.maximum(finish - np.maximum(self._horizon[nodes] - view.now, 0.0), 0.0)
        return finish, float(self.idle.dynamic_w[nodes] @ cores_on * finish + self.idle.rise_w[nodes] @ beyond)

    def forecast(self, pairs: Pairs, pair: int, tasks: int) -> tuple[float, float, float]:
        """Return (own finish s, delay of the others s, energy J) of a pair with contention, for ``tasks`` tasks."""
        row, node = int(pairs.job_of[pair]), int(pairs.node_of[pair])
        key = pairs.requests[row].number, node, tasks
        known = self._forecasts.get(key)
        if known is None:
            job = pairs.jobs[row]
            before, after = self._expected.outlook(node), self._expected.joined(node, job, tasks)
            own = after.ends[job.index]
            delay = sum([after.ends[other] - end for other, end in before.ends.items()])
            stop = max(before.horizon, after.horizon)
            energy = max(after.energy(0.0, stop) - before.energy(0.0, stop), 0.0)
            known = self._forecasts[key] = own, max(delay, 0.0), energy
        return known

    def end_of(self, running: Running, now: float) -> float:
        """Return the expected end of a running job, s on the run's clock."""
        ends = [self._ends[node].get(running.job.index, now) for node in running.placement.nodes]
        return max(now, *ends)

    def active_energy(self, now: float) -> float:
        """Return the energy that running jobs should still add to that of idle nodes, J; watts are a straight line.

        Jobs that requested no time count for nothing, here and in :meth:`last_known_end`.
        """
        left = np.maximum(self._known_horizon - now, ZERO) @ self.idle.rise_w
        return float(left + np.add.reduce(self._dynamic_ws) - np.add.reduce(self._dynamic_w) * now)

    def last_end(self, now: float) -> float:
        """Return the expected end of the last running job, s on the run's clock; now without running jobs."""
        return max(self._last, now)

    def last_known_end(self, now: float) -> float:
        """Return the expected end of the last running job that requested a time, s on the run's clock; else now."""
        return max(float(np.maximum.reduce(self._known_horizon)), now)

    def next_end(self, now: float) -> float:
        """Return the first expected end of a running job, s on the run's clock; inf without running jobs."""
        return max(self._first, now)
