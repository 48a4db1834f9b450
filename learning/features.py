"""The default observation of JobNode: features of each pair, each scaled on its own, contention and waiting among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from learning.observations import chosen, observations

if TYPE_CHECKING:
    from cluster_sim.platform import Platform
    from cluster_sim.view import View
    from learning.pairs import PairFinder, PairOptions, Pairs
    from learning.predictions import Estimates, Predictions

Floats = npt.NDArray[np.float64]

PAIR_FEATURES = {
    "cores": "job: cores asked for, over those of the widest node",
    "time": "job: log(1 + requested time) / log(1 + 10⁶ s)",
    "age": "job: wait / (wait + its least time)",
    "oldest_rank": "job: place in the queue, over num_jobs",
    "smallest_rank": "job: place by cores asked for, over num_jobs",
    "shortest_rank": "job: place by requested time, over num_jobs",
    "work": "job: cores · time, over the most of all eligible jobs",
    "node_share": "pair: cores asked for, over those of the node",
    "left": "pair: cores of the node still free afterwards, over all of its",
    "bandwidth": "pair: memory bandwidth asked for, against the node's threshold",
    "rate": "node: its cores' rate, over that of the fastest node",
    "watts": "node: watts of all cores busy per operation, over the most of all nodes",
    "load": "node: memory bandwidth in use, against its threshold",
    "jobs": "node: jobs on it, j / (j + 1)",
    "idle": "node: 1 if nothing runs on it",
    "on": "node: 1 if it is on",
    "contended": "pair: 1 if tasks would slow each other",
    "slowed": "pair: 1 - uncontended time / expected time of the job",
    "others": "pair: delay of the node's other jobs, over itself and the job's expected time",
    "finish": "pair: 1 - least time of the job on any idle node / expected time",
    "energy": "pair: 1 - least energy of the job on any idle node / expected energy (below 0: shared watts)",
    "delay_regret": "pair: 1 - least delay of the job's pairs / delay; delay = expected time + others' delay",
    "energy_regret": "pair: 1 - least energy of the job's pairs / energy",
    "edp_regret": "pair: the same of energy · sqrt(delay)",
    "least_delay": "pair: 1 for the first of the job's pairs with the least delay",
    "least_energy": "pair: 1 for the first of the job's pairs with the least energy",
    "least_edp": "pair: 1 for the first of the job's pairs with the least energy · sqrt(delay)",
    "extends": "pair: time by which the job would end after all that runs, over its expected time",
    "machine_regret": "pair: as energy_regret, with the idle watts of the machine for that time added to the energy",
    "gain_delay": "job: 1 - least time on any idle node / least delay of its pairs; waiting: the most of all jobs",
    "gain_energy": "job: 1 - least energy on any idle node / least energy of its pairs; waiting: the most of all jobs",
    "wait": "1 for waiting",
    "next_end": "waiting: time to the next expected end, over itself and the mean least time of eligible jobs",
}
"""Columns of ``actions``: what each is of, all in [-1, 1]."""

STATE_FEATURES = {
    "pending": "pending jobs, n / (n + num_jobs)",
    "eligible": "eligible jobs over num_jobs",
    "pending_cores": "cores of eligible jobs, c / (c + cores of the machine)",
    "running": "running jobs, n / (n + nodes)",
    "free": "free cores over all cores",
    "idle_nodes": "nodes on which nothing runs, over all",
    "power": "watts over the most that the machine can draw",
    "bandwidth_in_use": "memory bandwidth in use against thresholds, mean over nodes",
    "contended_nodes": "nodes whose tasks slow each other, over all",
    "soonest": "time to the next expected end, over itself and the mean least time of eligible jobs",
    "latest": "time to the last expected end, over itself and the mean least time of eligible jobs",
    "oldest": "longest wait in the queue, over itself and the mean least time of eligible jobs",
}
"""Entries of ``state``, all in [0, 1]."""

_LOG_LONGEST = float(np.log1p(1e6))
_EQUAL = 1e-9


@observations.register("default")
class PairFeatures:
    """One row of features per action, and features of the whole situation.

    ``actions`` (actions, F) has a row for every allowed action and zeros for the others, ``state`` is of shape (S,);
    their columns are :data:`PAIR_FEATURES` and :data:`STATE_FEATURES`. All predictions are made from requests, with the
    contention and power models of the run. Ratios of what has no bound, x against y, are x / (x + y). The ranks and the
    ``least_…`` marks let a scorer that only adds up weighted features decide as contention-aware greedy does, or as any
    list of jobs by age, width or time. ``features`` picks columns of both tables, ``a+b+c``. Raises SpecError for others.
    """

    merges_equal = True

    def __init__(self, features: str = ""):
        known = (*PAIR_FEATURES, *STATE_FEATURES)
        wanted = chosen(features, known, "observation 'default', option features")
        self.features = tuple(name for name in wanted if name in PAIR_FEATURES)
        self.state_features = tuple(name for name in wanted if name in STATE_FEATURES)
        self._columns = [list(PAIR_FEATURES).index(name) for name in self.features]
        self._entries = [list(STATE_FEATURES).index(name) for name in self.state_features]

    def space(self, platform: Platform, options: PairOptions) -> dict[str, spaces.Space]:
        """``actions`` in [-1, 1] and ``state`` in [0, 1]."""
        rows = options.num_jobs * platform.node_count + options.wait
        return {
            "actions": spaces.Box(-1.0, 1.0, (rows, len(self._columns)), np.float32),
            "state": spaces.Box(0.0, 1.0, (len(self._entries),), np.float32),
        }

    def begin(self, view: View, finder: PairFinder) -> None:
        """What does not change during a run."""
        self._options = finder.options
        self._finder = finder
        self._predictions: Predictions = finder.predictions(view)
        platform, p = view.platform, self._predictions
        self._node_cores = platform.node_cores.astype(np.float64)
        self._widest, self._cores = float(platform.widest_node), float(platform.core_count)
        self._rate = view.node_gflops / view.node_gflops.max()
        cost = view.node_max_watts / (view.node_gflops * self._node_cores)
        self._watts = cost / cost.max() if cost.max() > 0.0 else np.zeros(len(cost))
        self._most_watts = max(float(view.node_max_watts.sum()), p.idle.idle_total_w)

    def observe(self, view: View, pairs: Pairs) -> dict[str, npt.NDArray[np.float32]]:
        """Rows by action, and the state."""
        p = self._predictions
        p.update(view)
        columns = np.zeros((len(PAIR_FEATURES), len(pairs)))
        jobs, nodes = _Jobs(view, pairs, p), self._nodes_now(view)
        gains = 0.0, 0.0
        if len(pairs):  # there may be none where a run is cut short
            self._of_jobs(columns, jobs, pairs)
            self._of_nodes(columns, nodes, pairs)
            gains = self._predicted(columns, view, pairs, p.estimates(view, pairs), jobs)
        actions = np.zeros((len(pairs.mask), len(self._columns)), np.float32)
        whole = len(self._columns) == len(PAIR_FEATURES)
        actions[pairs.actions] = columns.T if whole else columns[self._columns].T
        state = self._state(view, pairs, jobs, nodes)
        if pairs.may_wait:
            row = np.zeros(len(PAIR_FEATURES))
            row[-4:] = (*gains, 1.0, state[9])
            actions[-1] = row if whole else row[self._columns]
        return {"actions": actions, "state": state[self._entries].astype(np.float32)}

    def _of_jobs(self, columns: Floats, jobs: _Jobs, pairs: Pairs) -> None:
        cores, times, most = pairs.cores, pairs.times, self._options.num_jobs
        of_job = np.empty((7, len(pairs.jobs)))
        of_job[0] = np.minimum(cores / self._widest, 1.0)
        of_job[1] = np.minimum(np.log1p(times) / _LOG_LONGEST, 1.0)
        of_job[2] = _against(jobs.ages, jobs.least)
        of_job[3] = np.arange(len(pairs.jobs)) / most
        of_job[4] = _ranks(cores) / most
        of_job[5] = _ranks(times) / most
        work = cores * jobs.least
        of_job[6] = work / max(float(work.max()), 1e-300)
        columns[:7] = of_job.take(pairs.job_of, axis=1)

    def _nodes_now(self, view: View) -> Floats:
        """Shape (7, nodes): free cores over all, and the six features of a node."""
        p, count = self._predictions, self._finder.occupancy.job_count
        of_node = np.empty((7, len(count)))
        of_node[0] = view.free_cores / self._node_cores
        of_node[1], of_node[2] = self._rate, self._watts
        of_node[3] = _against(p.demand, p.idle.threshold)
        of_node[4] = count / (count + 1.0)
        of_node[5] = count == 0
        of_node[6] = view.is_on
        return of_node

    def _of_nodes(self, columns: Floats, of_node: Floats, pairs: Pairs) -> None:
        there = of_node.take(pairs.node_of, axis=1)
        asked = pairs.cores.take(pairs.job_of) / self._node_cores.take(pairs.node_of)
        columns[7] = share = np.minimum(asked, 1.0)
        columns[8] = np.maximum(there[0] - share, 0.0)
        columns[10:16] = there[1:]

    def _predicted(
        self, columns: Floats, view: View, pairs: Pairs, estimates: Estimates, jobs: _Jobs
    ) -> tuple[float, float]:
        p, of = self._predictions, pairs.job_of
        own, finish, others, energy, contended, asked, threshold = estimates
        starts = np.empty(len(of), np.bool_)  # pairs are sorted by job
        starts[0] = True
        np.not_equal(of[1:], of[:-1], out=starts[1:])
        firsts, place = starts.nonzero()[0], starts.cumsum() - 1
        beyond = np.maximum(finish - (p.last_end(view.now) - view.now), 0.0)
        delay = finish + others
        # One array for all that is compared with something, since a call costs more than what it works out.
        values, least = np.empty((8, len(of))), np.empty((8, len(of)))
        values[:3], values[3], costs = finish, energy, values[4:]
        costs[0], costs[1], costs[2] = delay, energy, energy * np.sqrt(delay)
        costs[3] = energy + p.idle.idle_total_w * beyond
        least_of_job = np.minimum.reduceat(costs, firsts, axis=1)
        least[0], least[1], least[2] = own, jobs.least.take(of), beyond
        least[3], least[4:] = jobs.least_energy.take(of), least_of_job.take(place, axis=1)
        short = _short_of(least, values)
        columns[9] = _against(asked, threshold)
        columns[16] = contended
        columns[17] = short[0]
        columns[18] = _against(others, finish)
        columns[19] = short[1]
        columns[20] = np.maximum(short[3], -1.0)
        columns[21:24] = short[4:7]
        columns[24:27] = _first_least(short[4:7], firsts, place)
        columns[27] = 1.0 - short[2]
        columns[28] = short[7]
        best = jobs.least_figures.take(of[firsts], axis=1)
        gains = np.maximum(_short_of(best, least_of_job[:2]), 0.0)
        columns[29:31] = gains.take(place, axis=1)
        return float(gains[0].max()), float(gains[1].max())

    def _state(self, view: View, pairs: Pairs, jobs: _Jobs, of_node: Floats) -> Floats:
        p, now, most = self._predictions, view.now, self._options.num_jobs
        pending, running, nodes = view.pending_count, view.running_count, of_node.shape[1]
        asked = float(pairs.cores.sum())
        mean = float(jobs.least.sum()) / len(pairs.jobs) if pairs.jobs else 0.0
        soonest, latest = p.next_end(now) - now, p.last_end(now) - now
        return np.array(
            (
                pending / (pending + most),
                len(pairs.jobs) / most,
                asked / (asked + self._cores),
                running / (running + nodes),
                view.free_total / self._cores,
                np.count_nonzero(of_node[5]) / nodes,
                min(view.watts / self._most_watts, 1.0) if self._most_watts > 0.0 else 0.0,
                float(of_node[3].sum()) / nodes,
                np.count_nonzero((p.demand >= p.idle.threshold) & (p.demand > 0.0)) / nodes,
                _ratio(soonest, mean) if soonest < np.inf else 0.0,
                _ratio(latest, mean),
                _ratio(float(jobs.ages.max(initial=0.0)), mean),
            )
        )


class _Jobs:
    """What else there is to know of the eligible jobs, arrays of shape (jobs,)."""

    def __init__(self, view: View, pairs: Pairs, predictions: Predictions):
        self.ages = view.now - pairs.submitted  #: s.
        self.least_figures = predictions.least(pairs.requests)  #: Both of the next, shape (2, jobs).
        self.least, self.least_energy = self.least_figures  #: Least time (s) and energy (J) on an idle node.


def _against(x: Floats, y: Floats) -> Floats:
    """x / (x + y); 0 where x is 0 or y infinite."""
    total = x + y
    return np.divide(x, total, out=np.zeros(len(x)), where=(total > 0.0) & (total < np.inf))


def _ratio(x: float, y: float) -> float:
    return x / (x + y) if x + y > 0.0 else 0.0


def _short_of(least: Floats, values: Floats) -> Floats:
    """1 - least / value; 0 where the value is 0."""
    return 1.0 - np.divide(least, values, out=np.ones(values.shape), where=values > 0.0)


def _first_least(regrets: Floats, firsts: npt.NDArray[np.int64], place: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Marks the first row of each job that has no regret; what differs by rounding is equal, as for the scheduler."""
    least = regrets <= _EQUAL
    counted = least.cumsum(axis=1)
    before = counted[:, firsts] - least[:, firsts]
    first: npt.NDArray[np.bool_] = least & (counted - before[:, place] == 1)
    return first


def _ranks(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Places in ascending order; of equal values the first comes first."""
    ranks = np.empty(len(values), np.int64)
    ranks[values.argsort(kind="stable")] = np.arange(len(values))
    return ranks
