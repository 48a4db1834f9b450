"""Batches of decisions of JobNode as columns: all their jobs, nodes and pairs, one decision after the other.

A call of numpy takes as long for a few pairs as for a thousand. So the episodes that a process plays at one time are
observed together, and a single decision is a batch of one. No column mixes decisions: the results of a decision are the
same, to the last bit, in any batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cluster_sim.run.view import View
from learning.tasks.idle_nodes import IdleFigure
from learning.tasks.job_node.columns import joined, stacked

if TYPE_CHECKING:
    from learning.tasks.job_node.actions import PairFinder
    from learning.tasks.job_node.pairs import Pairs

Floats = npt.NDArray[np.float64]


class DecisionBatch:
    """State at several decisions, on machines that are alike.

    ``finders``, ``views`` and ``pairs`` have one entry for each decision; ``predictions`` are up to date.

    Of shape (pairs,), all pairs of the first decision first: ``job_of`` and ``node_of``, what a pair consists of, by
    places in the columns of jobs and in the tables of nodes, and ``node``, the latter's place in the platform.

    Of shape (jobs,): ``cores`` asked for, ``ages``, the time since submission (s).

    Of shape (decisions, nodes): ``free`` cores, ``is_on``, ``job_count``, ``demand``, the bandwidth in use (MB/s), and
    ``left``, the time until the last job of a node should be over (s).
    """

    def __init__(self, finders: Sequence[PairFinder], views: Sequence[View], pairs: Sequence[Pairs]):
        self.finders, self.views, self.pairs = finders, views, pairs
        self.predictions = [finder.predictions(view) for finder, view in zip(finders, views, strict=True)]
        for prediction, view in zip(self.predictions, views, strict=True):
            prediction.update(view)
        self.idle = self.predictions[0].idle
        self._pairs, self._jobs = [len(one) for one in pairs], [len(one.jobs) for one in pairs]
        self.first_pair = [0, *accumulate(self._pairs)]  #: Where the pairs of each decision begin, and where all end.
        self.first_job = [0, *accumulate(self._jobs)]  #: Where the jobs of each decision begin, and where all end.
        self.free = stacked([view.free_cores for view in views])
        self.is_on = stacked([view.is_on for view in views])
        self.job_count = stacked([finder.occupancy.job_count for finder in finders])
        self.demand = stacked([prediction.demand for prediction in self.predictions])
        now = [view.now for view in views]
        horizon = stacked([prediction.horizon for prediction in self.predictions])
        self.left = np.maximum(horizon - np.array(now)[:, None], 0.0)
        self.cores = joined([one.cores for one in pairs])
        self.ages = _spread(now, self._jobs) - joined([one.submitted for one in pairs])
        self.node = joined([one.node_of for one in pairs])
        self.job_of, self.node_of = joined([one.job_of for one in pairs]), self.node
        if len(pairs) > 1:
            self.job_of = self.job_of + self.of_pairs(self.first_job[:-1])
            self.node_of = self.node + self.of_pairs(range(0, self.free.size, self.free.shape[1]))

    def of_pairs(self, values: Sequence[Any]) -> Any:
        """Return a number of each decision for each of its pairs."""
        return _spread(values, self._pairs)

    def pair_at(self, place: int) -> tuple[int, int]:
        """Return the decision that a pair belongs to, and the pair's number there."""
        decision = int(self.node_of[place]) // self.free.shape[1]
        return decision, place - self.first_pair[decision]


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
    idle, node, node_of = at.idle, at.node, at.node_of
    alone = joined([p.alone_on_types(pairs.asked) for p, pairs in zip(at.predictions, at.pairs, strict=True)])
    alone = alone.take(at.job_of * len(idle.kinds) + idle.types.take(node), axis=1)
    own, finish, energy = alone[IdleFigure.uncontended], alone[IdleFigure.finish], alone[IdleFigure.energy]
    wanted = at.cores.take(at.job_of)
    tasks = np.minimum(wanted, at.free.take(node_of))
    asked, threshold = tasks * alone[IdleFigure.bandwidth], idle.threshold.take(node)
    total = at.demand.take(node_of) + asked
    contended = (total >= threshold) & (total > 0.0)
    busy = (at.job_count > 0).take(node_of)
    others = np.zeros(len(node))
    beyond = np.maximum(own - at.left.take(node_of), 0.0)
    shared = idle.dynamic_w.take(node) * tasks * own + idle.rise_w.take(node) * beyond
    finish, energy = np.where(busy, own, finish), np.where(busy, shared, energy)
    for i in (busy & (contended | ~idle.closed_form.take(node))).nonzero()[0].tolist():
        decision, pair = at.pair_at(i)
        finish[i], others[i], energy[i] = at.predictions[decision].forecast(at.pairs[decision], pair, int(tasks[i]))
    for i in (tasks < wanted).nonzero()[0].tolist():
        decision, pair = at.pair_at(i)
        finish[i], energy[i] = at.predictions[decision].spread(at.views[decision], at.pairs[decision], pair)
    return Estimates(own, finish, others, energy, contended, asked, threshold)
