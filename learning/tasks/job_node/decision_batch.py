"""Batches of decisions of JobNode as columns: all their jobs, nodes and pairs, one decision after the other.

A call of numpy takes as long for a few pairs as for a thousand. So the episodes that a process plays at one time are
observed together, and a single decision is a batch of one. No column mixes decisions: the results of a decision are the
same, to the last bit, in any batch.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cluster_sim.run.view import View
from learning.tasks.feature_table import ZERO
from learning.tasks.idle_nodes import IdleFigure, NodeColumns, OfNode, PairFigure
from learning.tasks.job_node.actions import PairFinder
from learning.tasks.job_node.pairs import Pairs

Floats = npt.NDArray[np.float64]


class DecisionBatch:
    """State at several decisions, on machines that are alike.

    ``views`` and ``pairs`` have one entry for each decision; ``predictions`` are up to date.

    All pairs of the first decision come first. Of shape (pairs,): ``job_of``, places in the columns of jobs, and ``ages``,
    the time since submission (s). ``of_node`` are :class:`~learning.tasks.idle_nodes.NodeColumns`, shape (columns, pairs),
    and ``of_pair`` :class:`~learning.tasks.idle_nodes.PairFigure`, shape (figures, pairs). ``now`` is a number (s), or of
    shape (pairs,).
    """

    def __init__(self, finders: Sequence[PairFinder], views: Sequence[View], pairs: Sequence[Pairs]):
        self.views, self.pairs = views, pairs
        self.predictions = [finder.predictions(view) for finder, view in zip(finders, views, strict=True)]
        for prediction, view in zip(self.predictions, views, strict=True):
            prediction.update(view)
        self.idle = self.predictions[0].idle
        self._pairs = [len(one) for one in pairs]
        self.first_pair = [0, *accumulate(self._pairs)]  #: Where the pairs of each decision begin, and where all end.
        node_of, self.job_of = joined([one.node_of for one in pairs]), joined([one.job_of for one in pairs])
        figures = [p.on_idle_nodes(one.asked).figures for p, one in zip(self.predictions, pairs, strict=True)]
        type_of = self.idle.types.take(node_of)
        if len(pairs) > 1:
            first_job = accumulate([len(one.jobs) for one in pairs[:-1]], initial=0)
            self.job_of = self.job_of + self.of_pairs(list(first_job))
            nodes = len(self.idle.types)
            node_of = node_of + self.of_pairs(range(0, nodes * len(pairs), nodes))
        self.of_node = joined([prediction.nodes for prediction in self.predictions]).take(node_of, axis=1)
        self.of_pair = joined(figures).take(self.job_of * len(self.idle.kinds) + type_of, axis=1)
        self.now = self.of_pairs([view.now for view in views])
        self.ages = self.now - joined([one.submitted for one in pairs]).take(self.job_of)

    def of_pairs(self, values: Sequence[Any]) -> Any:
        """Return a number of each decision for each of its pairs; that of a single decision itself."""
        return values[0] if len(values) == 1 else np.repeat(values, self._pairs)

    def pair_at(self, place: int) -> tuple[int, int]:
        """Return the decision that a pair belongs to, and the pair's number there."""
        decision = bisect_right(self.first_pair, place) - 1
        return decision, place - self.first_pair[decision]


def joined(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Join the columns, or tables of them, of each decision; those of a single decision are not copied."""
    return columns[0] if len(columns) == 1 else np.concatenate(columns, axis=-1)


class Estimates(NamedTuple):
    """Expected outcome of each allowed pair, arrays of shape (pairs,)."""

    uncontended: Floats  #: The job's own time if nothing slowed it, s.
    finish: Floats  #: Its own time, s.
    others: Floats  #: By how much it delays the jobs on the node, summed, s.
    energy: Floats  #: By how much it raises the node's energy, to the end of all that runs there, J.
    contended: npt.NDArray[np.bool_]  #: Whether tasks would slow each other.
    asked: Floats  #: Bandwidth that the job asks for there, MB/s.


def estimates(at: DecisionBatch) -> Estimates:
    """Return the expected outcome of each pair, if it is started now."""
    pair, node = at.of_pair, at.of_node
    own, finish, energy = pair[IdleFigure.uncontended], pair[IdleFigure.finish], pair[IdleFigure.energy]
    tasks = np.minimum(pair[PairFigure.cores], node[NodeColumns.free])
    asked = tasks * pair[IdleFigure.bandwidth]
    total = node[NodeColumns.demand] + asked
    beyond = np.maximum(own - np.maximum(node[NodeColumns.horizon] - at.now, ZERO), ZERO)
    shared = node[NodeColumns.dynamic_w] * tasks * own + node[NodeColumns.rise_w] * beyond
    busy, others = node[OfNode.idle] == ZERO, np.zeros(len(own))
    np.copyto(finish, own, where=busy)
    np.copyto(energy, shared, where=busy)
    for i in (total >= node[NodeColumns.forecast_from]).nonzero()[0].tolist():
        decision, place = at.pair_at(i)
        finish[i], others[i], energy[i] = at.predictions[decision].forecast(at.pairs[decision], place, int(tasks[i]))
    for i in (tasks < pair[PairFigure.cores]).nonzero()[0].tolist():
        decision, place = at.pair_at(i)
        finish[i], energy[i] = at.predictions[decision].spread(at.views[decision], at.pairs[decision], place)
    return Estimates(own, finish, others, energy, total >= node[NodeColumns.contended_from], asked)
