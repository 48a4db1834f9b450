"""What an agent that reserves nodes sees: as Casagrande et al. (2022, §4.1.1) published it, and the default."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np
from gymnasium import spaces

from cluster_sim.days import DAY_S
from cluster_sim.jobs import JobColumns
from cluster_sim.node import NodeState
from cluster_sim.registry import Registry
from learning.foresight import Foresight
from learning.waste import state_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.jobs import Job
    from cluster_sim.view import View
    from learning.reservations import Reservations
    from learning.waiting_jobs import WaitingJobs

    Arrays = dict[str, npt.NDArray[np.float32]]

SUBMISSION_HALF_S = 900.0
"""Time since the last submission at which its feature is 0.5, s."""
MOST = 100.0
"""Greatest value of a published feature: greater ones, of endless queues and waits, are cut off there."""


class ShutdownObservation(Protocol):
    """To write one: its spaces, and what it shows. Register it in :data:`shutdown_observations`."""

    def spaces(self, maker: Reservations) -> dict[str, spaces.Box]:
        """Its parts, without the mask."""
        ...

    def begin(self, view: View) -> None:
        """A run begins."""
        ...

    def observe(self, view: View) -> Arrays:
        """What there is to see in a step."""
        ...


shutdown_observations: Registry[ShutdownObservation] = Registry(
    "observation of node-shutdown", "cluster_sim.shutdown_observations"
)


def cores_by_state(view: View) -> tuple[float, float, float, float, float]:
    """Cores that are off, booting, idle (on nodes that are on), computing and shutting down."""
    cores, free = view.platform.node_cores, view.free_cores
    on, off = view.powered_on, view.powered_off
    booting = closing = 0
    for node in view.transition_ends:
        if view.node(node).state is NodeState.SWITCHING_ON:
            booting += int(cores[node])
        else:
            closing += int(cores[node])
    idle = int(free[on].sum())
    return float(cores[off].sum()), float(booting), float(idle), float(cores[on].sum()) - idle, float(closing)


class _CoresByState:
    """Cores by state, worked out once for a state of the machine."""

    def __init__(self) -> None:
        self._state: object = None
        self._values = (0.0,) * 5

    def of(self, view: View) -> tuple[float, ...]:
        state = state_of(view)
        if state != self._state:
            self._state, self._values = state, cores_by_state(view)
        return self._values


@shutdown_observations.register("as-published")
class AsPublished:
    """The last ``history`` (20) looks at the cluster, oldest first: 8 numbers and 4 for each of the first ``jobs`` (10).

    Cores by state (5, as shares of all), jobs in the queue (in hundreds), the promise of the head job (days from now) and
    the time (days), then for each job q (share of all cores), requested time (days), stretch, and jobs of the same user
    in the system (in tens). The paper names the features and no scale; these scales are ours. The promise is when
    enough cores should be free by the requested times of what runs, as EASY counts it.
    """

    def __init__(self, history: int = 20, jobs: int = 10):
        self._history = history
        self._jobs = jobs

    def spaces(self, maker: Reservations) -> dict[str, spaces.Box]:
        """``observation``, shape (history, 8 + 4 · jobs)."""
        self._maker = maker
        self._shape = (self._history, 8 + 4 * self._jobs)
        return {"observation": spaces.Box(0.0, MOST, self._shape, np.float32)}

    def begin(self, view: View) -> None:
        """Nothing has been looked at."""
        self._rows = np.zeros(self._shape, np.float32)
        self._states = _CoresByState()
        self._key: object = None
        self._cores = float(view.platform.core_count)

    def observe(self, view: View) -> Arrays:
        """Look once more."""
        rows = self._rows
        rows[:-1] = rows[1:]
        row = rows[-1]
        pending, now = view.pending, view.now
        key = state_of(view), pending
        if key != self._key:
            self._key = key
            self._look(view, pending)
        row[:] = self._row
        row[6] = (_promise(view, pending[0], self._ends) - now) / DAY_S if pending else 0.0
        row[7] = now / DAY_S
        count = min(len(pending), self._jobs)
        if count:
            row[10 : 8 + 4 * count : 4] = self._maker.waiting(view).stretches(now)[:count]
        np.minimum(row, MOST, out=row)
        return {"observation": rows.copy()}

    def _look(self, view: View, pending: tuple[Job, ...]) -> None:
        """Work out what changes only with the queue and the machine."""
        row = self._row = np.zeros(self._shape[1], np.float32)
        row[:5] = np.array(self._states.of(view)) / self._cores
        row[5] = len(pending) / 100.0
        self._ends = sorted((running.expected_end, running.placement.cores) for running in view.running)
        waiting, count = self._maker.waiting(view), min(len(pending), self._jobs)
        if not count:
            return
        present = [*(job.index for job in pending), *(running.job.index for running in view.running)]
        users = JobColumns(pending[0], np.array(present)).user.tolist()  # the queue's first
        counts = Counter(users)
        stop = 8 + 4 * count
        row[8:stop:4] = waiting.cores[:count] / self._cores
        row[9:stop:4] = waiting.limits[:count] / DAY_S
        row[11:stop:4] = np.array([counts[user] for user in users[:count]]) / 10.0


def _promise(view: View, head: Job, ends: list[tuple[float, int]]) -> float:
    """When enough cores should be free for the head of the queue, by the requests of what runs, s; a day ahead at most."""
    missing, latest = head.requested_cores - view.free_total, view.now + DAY_S
    if missing <= 0:
        return view.now
    for end, cores in ends:
        missing -= cores
        if missing <= 0:
            return min(max(end, view.now), latest)
    return latest


def bounded(value: float, half: float) -> float:
    """From 0 or more to [0, 1): 0.5 at ``half``."""
    return value / (value + half)


STRETCH_STEPS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.2)
"""Between two of these each, a feature rises from 0 to 1 with the summed stretch: where to boot is easily learned then."""
_LOW, _WIDTH = np.array(STRETCH_STEPS[:-1]), np.diff(STRETCH_STEPS)

STATE = (
    "off",
    "booting",
    "idle cores",
    "computing",
    "shutting down",
    "reserved",
    "jobs waiting",
    "cores waiting",
    "their stretch, summed",
    "the greatest of them",
    "time to the next late job",
    "cores of late jobs",
    "jobs running",
    "cores of young jobs",
    "jobs waiting for boots",
    "time since the last submission",
    "submissions of the last hour",
    "nodes just fallen idle",
    "growth of the summed stretch",
    "any young job or boot",
    "time of day",
    "sine of it",
    "cosine of it",
    *(f"summed stretch, {low:g} to {high:g}" for low, high in pairwise(STRETCH_STEPS)),
)
"""Features of the state, in order."""


@shutdown_observations.register("default")
class Default:
    """A row for each action: what reserving so many nodes would mean now; and the state of cluster and queue.

    ``actions``: see :data:`~learning.foresight.ROW`; ``state``: :data:`STATE`. All are in [0, 1], but sine and cosine.
    """

    def spaces(self, maker: Reservations) -> dict[str, spaces.Box]:
        """``actions``, shape (actions, features), and ``state``."""
        from learning.foresight import ROW

        self._maker = maker
        actions = (maker.platform.node_count + 1) * (2 if maker.idle == "choose" else 1)
        return {
            "actions": spaces.Box(0.0, 1.0, (actions, len(ROW)), np.float32),
            "state": spaces.Box(-1.0, 1.0, (len(STATE),), np.float32),
        }

    def begin(self, view: View) -> None:
        """Nobody has come yet."""
        self._foresight = Foresight(view, self._maker)
        self._states = _CoresByState()
        self._waiting: WaitingJobs | None = None
        self._arrivals: list[float] = []
        self._newest = -1

    def observe(self, view: View) -> Arrays:
        """Of every action, and of the state."""
        rows = self._foresight.rows(view)
        return {"actions": rows, "state": np.array(self._state(view), np.float32)}

    def _state(self, view: View) -> list[float]:
        pending, now, cores = view.pending, view.now, float(view.platform.core_count)
        waiting = self._maker.waiting(view)
        if waiting is not self._waiting:
            self._waiting = waiting
            self._growth = sum((self._maker.step_s / waiting.limits).tolist())  # of the summed stretch in a step
        self._note_arrivals(pending, now)
        stretch = waiting.stretches(now).tolist()
        summed = sum(stretch)
        is_late = now >= waiting.late_from
        ahead = waiting.late_from.min(initial=math.inf, where=~is_late) - now
        running = view.running
        young = sum(r.job.requested_cores for r in running if now - r.start_time < 600.0)
        booting = sum(r.start_time > now for r in running)
        day = now % DAY_S / DAY_S
        return [
            *(count / cores for count in self._states.of(view)),
            self._maker.reserved / view.platform.node_count,
            bounded(len(pending), 10.0),
            bounded(waiting.cores.sum(), cores),
            bounded(summed, 0.3),
            min(max(stretch, default=0.0), 1.0),
            1.0 - bounded(ahead, 1800.0) if ahead < math.inf else 0.0,
            bounded(waiting.cores.sum(where=is_late), cores),
            bounded(len(running), 10.0),
            young / cores,
            bounded(booting, 3.0),
            bounded(now - self._arrivals[-1], SUBMISSION_HALF_S) if self._arrivals else 1.0,
            bounded(len(self._arrivals), 20.0),
            len(self._maker.fresh()) / view.platform.node_count,
            bounded(self._growth, 0.1),
            float(young > 0 or booting > 0),
            day,
            math.sin(2.0 * math.pi * day),
            math.cos(2.0 * math.pi * day),
            *((summed - _LOW) / _WIDTH).clip(0.0, 1.0).tolist(),
        ]

    def _note_arrivals(self, pending: tuple[Job, ...], now: float) -> None:
        """Keep the submissions of the last hour, of jobs that were still waiting when they were looked for."""
        arrivals = self._arrivals
        arrivals += [job.submit_time for job in pending if job.index > self._newest]
        if pending:
            self._newest = max(self._newest, pending[-1].index)
        while len(arrivals) > 1 and arrivals[0] < now - 3600.0:
            del arrivals[0]
