"""Batches of decisions of JobNode as columns: all their jobs, nodes and pairs, one decision after the other.

A call of numpy takes as long for a few pairs as for a thousand. So the episodes that a process plays at one time are
observed together, and a single decision is a batch of one. No column mixes decisions: the results of a decision are the
same, to the last bit, in any batch.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cluster_sim.run.view import View
from learning.tasks.idle_nodes import IdleFigure, NodeColumns, OfNode

if TYPE_CHECKING:
    from learning.tasks.job_node.actions import PairFinder
    from learning.tasks.job_node.pairs import Pairs

Floats = npt.NDArray[np.float64]


class DecisionBatch:
    """State at several decisions, on machines that are alike.

    ``views`` and ``pairs`` have one entry for each decision; ``predictions`` are up to date.

    Of shape (pairs,), all pairs of the first decision first: ``job_of``, places in the columns of jobs; ``type_of``, of the
    node; ``cores`` that the job asks for; and ``of_node``, the node's
    :class:`~learning.tasks.idle_nodes.NodeColumns`, shape (columns, pairs). ``now`` is a number (s), or of shape (pairs,).

    Of shape (jobs,): ``ages``, the time since submission (s).
    """

    def __init__(self, finders: Sequence[PairFinder], views: Sequence[View], pairs: Sequence[Pairs]):
        self.views, self.pairs = views, pairs
        self.predictions = [finder.predictions(view) for finder, view in zip(finders, views, strict=True)]
        for prediction, view in zip(self.predictions, views, strict=True):
            prediction.update(view)
        self.idle = self.predictions[0].idle
        self._pairs, self._jobs = [len(one) for one in pairs], [len(one.jobs) for one in pairs]
        self.first_pair = [0, *accumulate(self._pairs)]  #: Where the pairs of each decision begin, and where all end.
        self.first_job = [0, *accumulate(self._jobs)]  #: Where the jobs of each decision begin, and where all end.
        now = [view.now for view in views]
        self.ages = _spread(now, self._jobs) - joined([one.submitted for one in pairs])
        node_of, self.job_of = joined([one.node_of for one in pairs]), joined([one.job_of for one in pairs])
        self.type_of = self.idle.types.take(node_of)
        if len(pairs) > 1:
            self.job_of = self.job_of + self.of_pairs(self.first_job[:-1])
            nodes = len(self.idle.types)
            node_of = node_of + self.of_pairs(range(0, nodes * len(pairs), nodes))
        self.of_node = joined([prediction.nodes for prediction in self.predictions]).take(node_of, axis=1)
        self.cores = joined([one.cores for one in pairs]).take(self.job_of)
        self.now = self.of_pairs(now)

    def of_pairs(self, values: Sequence[Any]) -> Any:
        """Return a number of each decision for each of its pairs."""
        return _spread(values, self._pairs)

    def pair_at(self, place: int) -> tuple[int, int]:
        """Return the decision that a pair belongs to, and the pair's number there."""
        decision = bisect_right(self.first_pair, place) - 1
        return decision, place - self.first_pair[decision]


def joined(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Join the columns, or tables of them, of each decision; those of a single decision are not copied."""
    return columns[0] if len(columns) == 1 else np.concatenate(columns, axis=-1)


def _spread(values: Sequence[Any], counts: Sequence[int]) -> Any:
    """Repeat each value as often as its count; return a single value itself."""
    return values[0] if len(values) == 1 else np.repeat(values, counts)


class Estimates(NamedTuple):
    """Expected outcome of each allowed pair, arrays of shape (pairs,)."""

    uncontended: Floats  #: The job's own time if nothing slowed it, s.
    finish: Floats  #: Its own time, s.
    others: Floats  #: By how much it delays the jobs on the node, summed, s.
    energy: Floats  #: By how much it raises the node's energy, to the end of all that runs there, J.
    contended: npt.NDArray[np.bool_]  #: Whether tasks would slow each other.
    asked: Floats  #: Bandwidth that the job asks for there, MB/s.
    threshold: Floats  #: Bandwidth of the node below which nothing slows, MB/s.


def estimates(at: DecisionBatch) -> Estimates:
    """Return the expected outcome of each pair, if it is started now."""
    figures = joined([p.on_idle_nodes(pairs.asked).figures for p, pairs in zip(at.predictions, at.pairs, strict=True)])
    alone, nodes = figures.take(at.job_of * len(at.idle.kinds) + at.type_of, axis=1), at.of_node
    own, finish, energy = alone[IdleFigure.uncontended], alone[IdleFigure.finish], alone[IdleFigure.energy]
    tasks = np.minimum(at.cores, nodes[NodeColumns.free])
    asked, threshold = tasks * alone[IdleFigure.bandwidth], nodes[NodeColumns.threshold]
    total = nodes[NodeColumns.demand] + asked
    contended = (total >= threshold) & (total > 0.0)
    busy, others = nodes[OfNode.idle] == 0.0, np.zeros(len(own))
    left = np.maximum(nodes[NodeColumns.horizon] - at.now, 0.0)
    beyond = np.maximum(own - left, 0.0)
    shared = nodes[NodeColumns.dynamic_w] * tasks * own + nodes[NodeColumns.rise_w] * beyond
    np.copyto(finish, own, where=busy)
    np.copyto(energy, shared, where=busy)
    for i in (busy & (contended | (nodes[NodeColumns.closed_form] == 0.0))).nonzero()[0].tolist():
        decision, pair = at.pair_at(i)
        finish[i], others[i], energy[i] = at.predictions[decision].forecast(at.pairs[decision], pair, int(tasks[i]))
    for i in (tasks < at.cores).nonzero()[0].tolist():
        decision, pair = at.pair_at(i)
        finish[i], energy[i] = at.predictions[decision].spread(at.views[decision], at.pairs[decision], pair)
    return Estimates(own, finish, others, energy, contended, asked, threshold)
