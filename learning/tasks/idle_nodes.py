"""Figures of idle nodes: watts, and times and energies of requests on them; the same in every run on a machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cluster_sim.models.prediction import Group, Share, predict
from cluster_sim.platform.platform import NodeType
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from learning.tasks.feature_table import FeatureTable, feature, part, span
from learning.tasks.occupancy import Asked, JobRequest, JobRequests
from schedulers.energy.expectations import expected_seconds

Floats = npt.NDArray[np.float64]


class OfNode(FeatureTable):
    """Properties and state of a node."""

    rate = feature("node: rate of its cores", "over that of the fastest node")
    watts = feature("node: watts of all cores busy, per operation", "over the most of all nodes")
    load = feature("node: memory bandwidth in use, MB/s", "over itself and the node's threshold")
    jobs = feature("node: jobs on it", "j / (j + 1)")
    idle = feature("node: 1 if nothing runs on it")
    on = feature("node: 1 if it is on")


class NodeColumns(FeatureTable):
    """Columns of nodes: what an agent sees of them, and what predictions for pairs are made from."""

    shown = part(OfNode)
    free = feature("free cores")
    demand = feature("bandwidth in use", "MB/s")
    horizon = feature("when the last job should be over, on the run's clock; 0 when idle", "s")
    cores = feature("cores, free or not")
    contended_from = feature("bandwidth from which on tasks slow each other, above 0", "MB/s")
    forecast_from = feature("bandwidth from which on no formula serves; inf when idle", "MB/s")
    dynamic_w = feature("dynamic watts of one busy core", "W")
    rise_w = feature("static watts when computing, beyond the idle watts", "W")


class IdleFigure(FeatureTable):
    """Figures of a request on an idle node of a type. Times and energies are inf if it does not fit."""

    uncontended = feature("its time if nothing slows it, not even its own tasks", "s")
    finish = feature("its time", "s")
    energy = feature("what it adds to the idle node's energy", "J")
    bandwidth = feature("what one task asks for", "MB/s")
    shared_energy = feature(
        "what it would add if others had all the other cores and paid their share of the static watts", "J"
    )


class PairFigure(FeatureTable):
    """Figures of a pair of a request and a type of node, on whichever of its nodes it starts."""

    alone = part(IdleFigure)
    cores = feature("cores asked for")
    node_share = feature("cores asked for, over those of the node, at most 1")
    least_time = feature("least time on an idle node of any type, above 0", "s")
    least_energy = feature("least energy on an idle node of any type", "J")


_LEAST = span(PairFigure.least_time, PairFigure.least_energy)
ABOVE_0 = math.ulp(0.0)
"""Least number above 0. In place of y = 0, it makes x / (x + y) 0 also where x is 0."""


class Alone(NamedTuple):
    """Figures of a request on idle nodes.

    A request that needs several nodes counts as its cores over those of a node of the type, not rounded.
    """

    figures: Floats  #: Columns of :class:`IdleFigure`, shape (node types, figures).
    best_finish: float  #: The least time, s.
    best_energy: float  #: The least energy, J.
    best_shared_energy: float  #: The least energy if others pay their share, J.


class IdleNodes:
    """Figures of a machine's nodes under its models, by requests alone; worth keeping from one run to the next.

    ``columns`` are :class:`NodeColumns`, shape (columns, nodes). Arrays of shape (nodes,): ``static_w`` when computing,
    ``idle_w``, ``dynamic_w`` of one busy core (W), and ``rise_w`` = static - idle.
    """

    def __init__(self, view: View):
        platform = view.platform
        self._of = platform, view.machine.processor_models
        self._models = view.machine.processor_models
        self._reference = min(kind.ops_per_s for kind in platform.processor_types)
        self.kinds: Sequence[NodeType] = platform.node_types
        self._alone: dict[object, Alone] = {}
        self.types = platform.type_of_node
        by_type = [self._figures(kind) for kind in platform.node_types]
        self.static_w, self.idle_w, self.dynamic_w, threshold, closed = np.array(by_type).T[:, self.types]
        self.rise_w = self.static_w - self.idle_w
        self.idle_total_w = float(self.idle_w.sum())
        self.most_watts = max(
            float(view.machine.node_max_watts.sum()), self.idle_total_w
        )  #: That the machine can draw.
        self.columns = columns = np.zeros((NodeColumns.size, platform.node_count))
        columns[NodeColumns.cores] = columns[NodeColumns.free] = platform.node_cores
        cost = view.machine.node_max_watts / (view.machine.node_gflops * columns[NodeColumns.cores])
        columns[OfNode.rate] = view.machine.node_gflops / view.machine.node_gflops.max()
        columns[OfNode.watts] = cost / cost.max() if cost.max() > 0.0 else 0.0
        columns[OfNode.idle] = 1.0
        columns[NodeColumns.contended_from], columns[NodeColumns.forecast_from] = np.maximum(threshold, ABOVE_0), np.inf
        columns[NodeColumns.dynamic_w], columns[NodeColumns.rise_w] = self.dynamic_w, self.rise_w
        #: :attr:`NodeColumns.forecast_from` of each node while it is busy.
        self.forecast_from = np.where(closed > 0.0, columns[NodeColumns.contended_from], 0.0)

    def is_of(self, view: View) -> bool:
        """Return whether these figures are of the view's machine and models, and need not be made again."""
        platform, models = self._of
        return view.platform is platform and view.machine.processor_models is models

    def _figures(self, kind: NodeType) -> tuple[float, float, float, float, bool]:
        """Return (static W, idle W, W per busy core, MB/s before contention, closed form holds) of a type."""
        models = [self._models.of(processor) for processor in kind.processors]
        model = models[0]
        cores = model.kind.cores
        dynamic = (model.watts[cores] - model.watts[1]) / (cores - 1) if cores > 1 else 0.0
        static = model.watts[1] - dynamic
        straight = all(abs(w - static - dynamic * n) <= 1e-9 * (1.0 + abs(w)) for n, w in enumerate(model.watts) if n)
        idle = sum(m.watts[0] for m in models)
        threshold = min(m.contention.threshold for m in models)
        return len(models) * static, idle, dynamic, threshold, straight and len(models) == 1 and not model.follows_rates

    def seconds_of(self, job: Job, ops_per_s: float) -> float:
        """Return the expected time of a job on cores of that rate, s."""
        return expected_seconds(job.requested_time, self._reference / ops_per_s)

    def alone(self, request: JobRequest) -> Alone:
        """Return times and energies of a request on an idle node of each type."""
        known = self._alone.get(request.key)
        if known is None:
            figures = np.array([self._alone_on(request, kind) for kind in self.kinds])
            best = figures.min(axis=0).tolist()
            least = (best[column] for column in (IdleFigure.finish, IdleFigure.energy, IdleFigure.shared_energy))
            known = self._alone[request.key] = Alone(figures, *least)
        return known

    def _alone_on(self, request: JobRequest, kind: NodeType) -> Floats:
        """Return a row of :class:`IdleFigure`."""
        row = np.full(IdleFigure.size, np.inf)
        on_one_node = not request.shaped and request.cores <= max(t.cores for t in self.kinds)
        if request.cores > kind.cores and on_one_node:
            row[IdleFigure.bandwidth] = 0.0
            return row
        shares, left, seconds, bandwidth = [], min(request.cores, kind.cores), 0.0, 0.0
        for processor in kind.processors:
            model, taken = self._models.of(processor), min(left, processor.cores)
            own = expected_seconds(request.requested_time, self._reference / processor.ops_per_s)
            asked = request.mem_vol / own if own > 0.0 else 0.0
            if taken:
                seconds, bandwidth = max(seconds, own), max(bandwidth, asked)
            shares.append(Share(model, (Group(0, taken, own, asked),) if taken else ()))
            left -= taken
        forecast = predict(shares)
        idle_w = sum(share.model.watts[0] for share in shares)
        finish = forecast.horizon
        energy = max(forecast.energy(0.0, finish) - idle_w * finish, 0.0)
        static, idle, *_ = self._figures(kind)
        tasks = min(request.cores, kind.cores)
        others = max(static - idle, 0.0) * finish * (1.0 - tasks / kind.cores)
        nodes = request.cores / tasks  # more than one where a job needs several
        row[IdleFigure.uncontended], row[IdleFigure.finish], row[IdleFigure.bandwidth] = seconds, finish, bandwidth
        row[IdleFigure.energy], row[IdleFigure.shared_energy] = energy * nodes, max(energy - others, 0.0) * nodes
        return row


class OnIdleNodes(NamedTuple):
    """Figures of a list of requests."""

    idle: IdleNodes
    least: Floats  #: Least time (s) and least energy (J), shape (2, requests).
    figures: Floats  #: Rows of :class:`PairFigure`, shape (figures, requests · types): request by request.


class RequestTable:
    """Table of the figures of a run's requests by number: those of many pairs are taken in one call."""

    def __init__(self, idle: IdleNodes, requests: JobRequests):
        self._idle, self._requests = idle, requests
        self._figures, self._least = np.empty((IdleFigure.size, 0, len(idle.kinds))), np.empty((2, 0))
        self._known: list[JobRequest] = []
        self._entered = 0  # how many of them are in the table

    def of(self, asked: Asked) -> OnIdleNodes:
        """Return the figures of a list of requests."""
        known: OnIdleNodes | None = asked.on_idle_nodes
        if known is None or known.idle is not self._idle:
            self._enter()
            numbers = np.array([request.number for request in asked.requests], np.int64)
            least = self._least.take(numbers, axis=1)
            figures = np.empty((PairFigure.size, len(numbers), len(self._idle.kinds)))
            figures[PairFigure.alone] = self._figures.take(numbers, axis=1)
            cores = figures[PairFigure.cores] = asked.cores[:, None]
            np.minimum(cores / [kind.cores for kind in self._idle.kinds], 1.0, out=figures[PairFigure.node_share])
            figures[_LEAST] = np.maximum(least, [[ABOVE_0], [0.0]])[:, :, None]
            known = asked.on_idle_nodes = OnIdleNodes(self._idle, least, figures.reshape(PairFigure.size, -1))
        return known

    def _enter(self) -> None:
        """Take in the requests that have been asked for."""
        known = self._requests.numbered
        if known is not self._known:  # another workload began
            self._known, self._entered = known, 0
        more = 2 * len(known) - self._least.shape[1]  # room for twice as many: thousands may come, one by one
        if more > len(known):
            self._least = np.hstack((self._least, np.empty((2, more))))
            self._figures = np.hstack((self._figures, np.empty((IdleFigure.size, more, len(self._idle.kinds)))))
        for request in known[self._entered :]:
            alone = self._idle.alone(request)
            self._figures[:, request.number] = alone.figures.T
            self._least[:, request.number] = alone.best_finish, alone.best_energy
        self._entered = len(known)
