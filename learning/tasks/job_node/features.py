"""Default observation of JobNode: features of each pair and of waiting, each scaled on its own; with contention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from typing_extensions import Doc

from cluster_sim.options import checked
from cluster_sim.platform.platform import Platform
from cluster_sim.run.view import View
from learning.tasks.feature_table import ONE, ZERO, FeatureTable, chosen, feature, logarithmic, part, ranks, span
from learning.tasks.idle_nodes import NodeColumns, OfNode, OnIdleNodes, PairFigure
from learning.tasks.job_node.actions import PairFinder
from learning.tasks.job_node.decision_batch import DecisionBatch, estimates, joined
from learning.tasks.job_node.pairs import PairOptions, Pairs
from learning.tasks.occupancy import Asked

Floats = npt.NDArray[np.float64]


class OfJob(FeatureTable):
    """Request of a job, and its place among the eligible jobs."""

    cores = feature("job: cores asked for", "over those of the widest node")
    time = feature("job: requested time, s", "log(1 + time) / log(1 + 10⁶ s)")
    age = feature("job: wait, s", "over itself and the job's least time")
    oldest_rank = feature("job: place in the queue", "over num_jobs")
    smallest_rank = feature("job: place by cores asked for", "over num_jobs")
    shortest_rank = feature("job: place by requested time", "over num_jobs")
    work = feature("job: cores · least time, s", "over the most of all eligible jobs")


class Gain(FeatureTable):
    """Possible gain of a job on another node."""

    gain_delay = feature(
        "job: 1 - least time on any idle node / least delay of its pairs; waiting: the most of all jobs", "at least 0"
    )
    gain_energy = feature(
        "job: 1 - least energy on any idle node / least energy of its pairs; waiting: the most of all jobs",
        "at least 0",
    )


class PairRow(FeatureTable):
    """Row of ``actions``, of a pair or of waiting: all in [-1, 1]."""

    of_job = part(OfJob)
    node_share = feature("pair: cores asked for", "over those of the node")
    left = feature("pair: cores of the node still free afterwards", "over all of its")
    bandwidth = feature("pair: memory bandwidth asked for, MB/s", "over itself and the node's threshold")
    of_node = part(OfNode)
    contended = feature("pair: 1 if tasks would slow each other")
    slowed = feature("pair: 1 - uncontended time / expected time of the job")
    others = feature("pair: delay of the node's other jobs, s", "over itself and the job's expected time")
    finish = feature("pair: 1 - least time of the job on any idle node / expected time")
    energy = feature("pair: 1 - least energy of the job on any idle node / expected energy", "below 0: shared watts")
    delay_regret = feature("pair: 1 - least delay of the job's pairs / delay; delay = expected time + others' delay")
    energy_regret = feature("pair: 1 - least energy of the job's pairs / energy")
    edp_regret = feature("pair: the same of energy · sqrt(delay)")
    least_delay = feature("pair: 1 for the first of the job's pairs with the least delay")
    least_energy = feature("pair: 1 for the first of the job's pairs with the least energy")
    least_edp = feature("pair: 1 for the first of the job's pairs with the least energy · sqrt(delay)")
    extends = feature("pair: time by which the job would end after all that runs, s", "over its expected time")
    machine_regret = feature(
        "pair: as energy_regret, with the idle watts of the machine for that time added to the energy"
    )
    gain = part(Gain)
    wait = feature("1 for waiting")
    next_end = feature(
        "waiting: time to the next expected end, s", "over itself and the mean least time of eligible jobs"
    )


class PairState(FeatureTable):
    """Entries of ``state``: all in [0, 1]."""

    pending = feature("pending jobs", "n / (n + num_jobs)")
    eligible = feature("eligible jobs", "over num_jobs")
    pending_cores = feature("cores of eligible jobs", "c / (c + cores of the machine)")
    running = feature("running jobs", "n / (n + nodes)")
    free = feature("free cores", "over all cores")
    idle_nodes = feature("nodes on which nothing runs", "over all")
    power = feature("what the machine draws, W", "over the most that it can draw")
    bandwidth_in_use = feature("memory bandwidth in use against thresholds, mean over nodes")
    contended_nodes = feature("nodes whose tasks slow each other", "over all")
    soonest = feature("time to the next expected end, s", "over itself and the mean least time of eligible jobs")
    latest = feature("time to the last expected end, s", "over itself and the mean least time of eligible jobs")
    oldest = feature("longest wait in the queue, s", "over itself and the mean least time of eligible jobs")


PAIR_FEATURES = PairRow.names
"""Names of the columns of ``actions``."""
STATE_FEATURES = PairState.names
"""Names of the entries of ``state``."""


_COMPARED = slice(PairRow.slowed, PairRow.gain.stop)
"""Columns that are mostly shares by which a least value falls short of the pair's own."""
_ON_IDLE, _LEAST_OF_JOB = span(PairRow.finish, PairRow.energy), span(PairFigure.least_time, PairFigure.least_energy)
_COSTS, _REGRETS = span(PairRow.delay_regret, PairRow.machine_regret), span(PairRow.delay_regret, PairRow.edp_regret)
_OF_GAIN, _LEAST = span(PairRow.delay_regret, PairRow.energy_regret), span(PairRow.least_delay, PairRow.least_edp)

_EQUAL = np.array(1e-9)
_AT_LEAST = np.full((PairRow.gain.stop - PairRow.slowed, 1), -np.inf)
"""Least value of each of the columns that are compared."""
_AT_LEAST[PairRow.energy - PairRow.slowed], _AT_LEAST[-Gain.size :] = -1.0, 0.0


Features = Annotated[str, Doc("columns that are observed, joined by +; all unless given")]


class PairFeatures:
    """One row of features per action, and features of the whole situation.

    ``actions`` (actions, F) has a row for every allowed action and zeros for the others, ``state`` is of shape (S,);
    their columns are :class:`PairRow` and :class:`PairState`. All predictions are made from requests, with the
    contention and power models of the run. Ratios of what has no bound, x against y, are x / (x + y). The ranks and the
    ``least_…`` marks let a scorer that only adds up weighted features decide as contention-aware greedy does, or as any
    list of jobs by age, width or time. ``features`` picks columns of both tables, ``a+b+c``. Raises SpecError for others.
    """

    merges_equal = True

    @checked
    def __init__(self, features: Features = ""):
        known = (*PAIR_FEATURES, *STATE_FEATURES)
        wanted = chosen(features, known, "observation 'default', option features")
        self.features = tuple(name for name in wanted if name in PAIR_FEATURES)
        self.state_features = tuple(name for name in wanted if name in STATE_FEATURES)
        self.names = {"actions": self.features, "state": self.state_features}
        self._columns = [PAIR_FEATURES.index(name) for name in self.features]
        self._entries = [STATE_FEATURES.index(name) for name in self.state_features]
        self._is_whole = (len(self._columns), len(self._entries)) == (PairRow.size, PairState.size)

    def space(self, platform: Platform, options: PairOptions) -> dict[str, spaces.Space]:
        """Return the boxes: ``actions`` in [-1, 1] and ``state`` in [0, 1]."""
        rows = options.num_jobs * platform.node_count + options.wait
        return {
            "actions": spaces.Box(-1.0, 1.0, (rows, len(self._columns)), np.float32),
            "state": spaces.Box(0.0, 1.0, (len(self._entries),), np.float32),
        }

    def begin(self, view: View, finder: PairFinder) -> None:
        self._options, self._finder = finder.options, finder
        self._predictions = finder.predictions(view)
        self._widest, self._cores = float(view.platform.widest_node), float(view.platform.core_count)

    def observe(self, view: View, pairs: Pairs) -> dict[str, npt.NDArray[np.float32]]:
        """Return rows by action, and the state."""
        return self.observe_together([self], [view], [pairs])[0]

    def observe_together(
        self, observers: Sequence[PairFeatures], views: Sequence[View], pairs: Sequence[Pairs]
    ) -> list[dict[str, npt.NDArray[np.float32]]]:
        """Observe several runs on such machines, each with its observer."""
        at = DecisionBatch([one._finder for one in observers], views, pairs)
        jobs = [one._jobs(its.asked) for one, its in zip(observers, pairs, strict=True)]
        columns = np.zeros((PairRow.size, len(at.job_of)))
        if len(at.job_of):  # there may be none where a run is cut short
            joined([one.columns for one in jobs]).take(at.job_of, 1, columns[PairRow.of_job], "clip")
            np.divide(at.ages, at.ages + at.of_pair[PairFigure.least_time], out=columns[OfJob.age])
            columns[PairRow.of_node] = at.of_node[NodeColumns.shown]
            share = columns[PairRow.node_share] = at.of_pair[PairFigure.node_share]
            free = at.of_node[NodeColumns.free] / at.of_node[NodeColumns.cores]
            np.maximum(free - share, ZERO, out=columns[PairRow.left])
            _predicted(columns, at)
        rows = (columns if self._is_whole else columns[self._columns]).T
        states = self._states(at, jobs)
        found = []
        for its, state, (begin, end) in zip(pairs, states, pairwise(at.first_pair), strict=True):
            actions = np.zeros((len(its.mask), len(self._columns)), np.float32)
            actions[its.actions] = rows[begin:end]
            if its.may_wait:
                # The row of waiting, where the pairs have these gains.
                row = np.zeros(PairRow.size)
                row[PairRow.gain], row[PairRow.wait] = columns[PairRow.gain, begin:end].max(axis=1, initial=0.0), 1.0
                row[PairRow.next_end] = state[PairState.soonest]
                actions[-1] = row[self._columns]
            shown = np.array(state, np.float32)
            found.append({"actions": actions, "state": shown if self._is_whole else shown[self._entries]})
        return found

    def _jobs(self, asked: Asked) -> _Jobs:
        """Return the features of the eligible jobs' requests, computed once for a list of requests here."""
        alone, jobs = self._predictions.on_idle_nodes(asked), asked.seen
        if jobs is None or jobs.alone is not alone:
            jobs = asked.seen = _Jobs(asked, alone, self._widest, self._options.num_jobs)
        found: _Jobs = jobs
        return found

    def _states(self, at: DecisionBatch, jobs: Sequence[_Jobs]) -> Iterator[list[float]]:
        """Yield the state at each decision, all of its entries."""
        most, nodes = self._options.num_jobs, len(at.idle.types)
        most_watts = at.idle.most_watts
        for view, p, its, of in zip(at.views, at.predictions, at.pairs, jobs, strict=True):
            now, pending, running, mean = view.now, view.pending_count, view.running_count, of.mean
            idle, load, contended = p.loads()
            soonest, latest = p.next_end(now) - now, p.last_end(now) - now
            oldest = now - min(its.submitted.tolist(), default=now)
            state = [0.0] * PairState.size
            state[PairState.pending] = pending / (pending + most)
            state[PairState.eligible] = len(its.jobs) / most
            state[PairState.pending_cores] = of.cores / (of.cores + self._cores)
            state[PairState.running] = running / (running + nodes)
            state[PairState.free] = view.free_total / self._cores
            state[PairState.idle_nodes] = idle / nodes
            state[PairState.power] = min(view.watts / most_watts, 1.0) if most_watts > 0.0 else 0.0
            state[PairState.bandwidth_in_use] = load / nodes
            state[PairState.contended_nodes] = contended / nodes
            state[PairState.soonest] = _ratio(soonest, mean) if soonest < np.inf else 0.0
            state[PairState.latest] = _ratio(latest, mean)
            state[PairState.oldest] = _ratio(oldest, mean)
            yield state


def _predicted(columns: Floats, at: DecisionBatch) -> None:
    """Set the predicted columns."""
    own, finish, others, energy, contended, asked = estimates(at)
    job_of = at.job_of
    # Pairs are sorted by job. For a job without pairs this is the next job's first pair; no pair reads what is found for it.
    firsts = job_of.searchsorted(np.arange(job_of.item(-1) + 1))
    left = [p.last_end(view.now) - view.now for p, view in zip(at.predictions, at.views, strict=True)]
    beyond, delay = np.maximum(finish - at.of_pairs(left), ZERO), finish + others
    least, values = np.zeros(columns.shape), np.zeros(columns.shape)
    values[PairRow.slowed] = values[PairRow.finish] = values[PairRow.extends] = finish
    values[PairRow.energy] = values[PairRow.energy_regret] = energy
    values[PairRow.delay_regret] = delay
    np.multiply(energy, np.sqrt(delay), out=values[PairRow.edp_regret])
    np.add(energy, at.idle.idle_total_w * beyond, out=values[PairRow.machine_regret])
    least[_COSTS] = np.minimum.reduceat(values[_COSTS], firsts, axis=1).take(job_of, axis=1)
    values[PairRow.gain] = least[_OF_GAIN]
    least[PairRow.slowed], least[PairRow.extends] = own, beyond
    least[_ON_IDLE] = least[PairRow.gain] = at.of_pair[_LEAST_OF_JOB]
    shares_short = columns[_COMPARED]
    shares_short.fill(1.0)
    np.divide(least[_COMPARED], values[_COMPARED], out=shares_short, where=values[_COMPARED] > ZERO)
    np.subtract(ONE, shares_short, out=shares_short)
    np.maximum(shares_short, _AT_LEAST, out=shares_short)
    np.divide(asked, asked + at.of_node[NodeColumns.contended_from], out=columns[PairRow.bandwidth])
    columns[PairRow.contended] = contended
    np.divide(others, delay, out=columns[PairRow.others], where=others > ZERO)
    # Mark the first pair of each job without regret; values that differ by rounding are equal, as for the scheduler.
    places = np.where(columns[_REGRETS] <= _EQUAL, np.arange(len(job_of)), len(job_of))
    columns[_LEAST] = places == np.minimum.reduceat(places, firsts, axis=1).take(job_of, axis=1)
    np.subtract(ONE, columns[PairRow.extends], out=columns[PairRow.extends])


class _Jobs:
    """Features of the eligible jobs from their requests, on this machine."""

    def __init__(self, asked: Asked, alone: OnIdleNodes, widest: float, most: int):
        cores, times, count = asked.cores, asked.times, len(asked.cores)
        self.alone = alone
        seconds = alone.least[0]
        self.cores = float(cores.sum())  #: Of all of them.
        self.mean = float(seconds.sum()) / count if count else 0.0  #: Mean of their least times, s.
        self.columns = columns = np.zeros((OfJob.size, count))  #: All but the ages.
        if count:
            columns[OfJob.cores] = np.minimum(cores / widest, 1.0)
            columns[OfJob.time] = logarithmic(times)
            columns[OfJob.oldest_rank] = np.arange(count) / most
            columns[OfJob.smallest_rank] = ranks(cores) / most
            columns[OfJob.shortest_rank] = ranks(times) / most
            work = cores * seconds
            columns[OfJob.work] = work / max(float(work.max()), 1e-300)


def _ratio(x: float, y: float) -> float:
    return x / (x + y) if x + y > 0.0 else 0.0
