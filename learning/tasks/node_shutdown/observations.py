"""Observations of an agent that reserves nodes: as published by Casagrande et al. (2022, §4.1.1), and the default."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Unit
from gymnasium import spaces
from typing_extensions import Doc

from cluster_sim.options import checked
from cluster_sim.registry import Registry
from cluster_sim.run.view import View
from cluster_sim.workload.days import DAY_S
from cluster_sim.workload.jobs import Job, JobColumns
from learning.tasks.cores_by_state import CoresByState, cores_by_state
from learning.tasks.feature_table import FeatureTable, block, bounded, feature, part
from learning.tasks.node_shutdown.foresight import ActionRow, Foresight, NodesKeptOff
from learning.tasks.waiting_jobs import HALF_STRETCH, SUBMISSION_HALF_S, WaitingJobs
from learning.tasks.waste_meter import state_of

Arrays = dict[str, npt.NDArray[np.float32]]


LATE_SHARE = 0.5
"""Share of its requested time at which a job's stretch is 1 in the features of the authors' program."""
MOST = 100.0
"""Greatest value of a published feature; greater ones, of endless queues and waits, become this value."""


class ShutdownObservation(Protocol):
    """Protocol of observations. To write one, write all of these and register it in :data:`shutdown_observations`."""

    def spaces(self, maker: NodesKeptOff) -> dict[str, spaces.Box]:
        """Return the parts of the observation, without the mask."""
        ...

    def begin(self, view: View) -> None:
        """Begin a run."""
        ...

    def observe(self, view: View) -> Arrays:
        """Return the observation of a step."""
        ...


shutdown_observations: Registry[ShutdownObservation] = Registry(
    "observation of node-shutdown", "cluster_sim.shutdown_observations"
)


class PublishedLook(FeatureTable):
    """Features of the cluster as published, without the jobs. The paper gives no scales; these are ours."""

    cores_by_state = part(CoresByState)
    queue = feature("jobs in the queue", "in hundreds")
    promise = feature("promise of the head of the queue, from now", "days")
    time = feature("time of the run", "days")


class PublishedJob(FeatureTable):
    """Features of a waiting job, as published."""

    cores = feature("cores asked for (q)", "over all")
    requested_time = feature("requested time", "days")
    stretch = feature("wait over requested time")
    of_the_user = feature("jobs of the same user in the system", "in tens")


class _CoresByState:
    """Cache of the cores by state, for a state of the machine."""

    def __init__(self) -> None:
        self._state: object = None
        self._values: tuple[float, ...] = (0.0,) * CoresByState.size

    def of(self, view: View) -> tuple[float, ...]:
        state = state_of(view)
        if state != self._state:
            self._state, self._values = state, cores_by_state(view)
        return self._values


@shutdown_observations.register("as-published")
class PublishedHistory:
    """Observation of the last ``history`` (20) decisions, oldest first, each with the first ``jobs`` (10) waiting jobs.

    Each row is a :class:`PublishedLook` and a :class:`PublishedJob` for each job. The promise is the time at which
    enough cores should be free by the running jobs' requested times, as in EASY.

    With ``features=as-run`` they are those of the authors' program (DeepShutdown, ``main.py`` of August 2020). The queue
    counts in units of 4500 jobs. The jobs behind the head stand by area. A job's stretch is counted up to half its requested
    time: min(1, wait / (0.5 · requested time)). Its user has, in units of 50 and up to 1, one for each job in sight and one for
    each core in use. The promise is always 0, since the program takes the lesser of it and 0.
    """

    @checked
    def __init__(
        self,
        history: Annotated[int, Ge(1), Unit("decisions"), Doc("last decisions that are observed")] = 20,
        jobs: Annotated[int, Ge(0), Unit("jobs"), Doc("waiting jobs that are observed")] = 10,
        features: Annotated[Literal["as-written", "as-run"], Doc("scales of the features")] = "as-written",
    ):
        self._history = history
        self._jobs = jobs
        self._is_as_run = features == "as-run"

    def spaces(self, maker: NodesKeptOff) -> dict[str, spaces.Box]:
        """Return ``observation``, shape (history, 8 + 4 · jobs)."""
        self._maker = maker
        self._shape = (self._history, PublishedLook.size + PublishedJob.size * self._jobs)
        return {"observation": spaces.Box(0.0, MOST, self._shape, np.float32)}

    def begin(self, view: View) -> None:
        """Begin a run in which nothing has been looked at."""
        self._rows = np.zeros(self._shape, np.float32)
        self._states = _CoresByState()
        self._key: object = None
        self._cores = float(view.platform.core_count)

    def observe(self, view: View) -> Arrays:
        """Add the newest row, and return the history."""
        rows = self._rows
        rows[:-1] = rows[1:]
        row = rows[-1]
        pending, now = view.pending, view.now
        key = state_of(view), pending
        if key != self._key:
            self._key = key
            self._look(view, pending)
        row[:] = self._row
        row[PublishedLook.time] = now / DAY_S
        if pending and not self._is_as_run:
            row[PublishedLook.promise] = (_promise(view, pending[0], self._ends) - now) / DAY_S
        if len(self._places):
            stretches = self._maker.waiting(view).stretches(now)[self._places]
            if self._is_as_run:
                stretches = np.minimum(stretches / LATE_SHARE, 1.0)
            row[_of_jobs(PublishedJob.stretch, len(self._places))] = stretches
        np.minimum(row, MOST, out=row)
        return {"observation": rows.copy()}

    def _look(self, view: View, pending: tuple[Job, ...]) -> None:
        """Compute the features that change only with the queue and the machine."""
        row = self._row = np.zeros(self._shape[1], np.float32)
        row[PublishedLook.cores_by_state] = np.array(self._states.of(view)) / self._cores
        row[PublishedLook.queue] = len(pending) / (4500.0 if self._is_as_run else 100.0)
        self._ends = sorted((running.expected_end, running.placement.cores) for running in view.running)
        waiting = self._maker.waiting(view)
        places = waiting.by_area(self._jobs) if self._is_as_run else list(range(min(len(pending), self._jobs)))
        self._places, count = places, len(places)
        if not count:
            return
        row[_of_jobs(PublishedJob.cores, count)] = waiting.cores[places] / self._cores
        row[_of_jobs(PublishedJob.requested_time, count)] = waiting.limits[places] / DAY_S
        row[_of_jobs(PublishedJob.of_the_user, count)] = self._of_users(view, pending, places)

    def _of_users(self, view: View, pending: tuple[Job, ...], places: list[int]) -> npt.NDArray[np.float64]:
        """Return how much the users of the jobs at these places of the queue have in the system."""
        in_sight = [pending[place] for place in places] if self._is_as_run else pending
        present = [*(job.index for job in in_sight), *(running.job.index for running in view.running)]
        users = JobColumns(pending[0], np.array(present)).user.tolist()  # the queue's first
        if not self._is_as_run:
            counts = Counter(users)
            return np.array([counts[user] for user in users[: len(places)]]) / 10.0
        shares: Counter[object] = Counter(users[: len(places)])
        for user, running in zip(users[len(places) :], view.running, strict=True):
            shares[user] += running.placement.cores
        return np.minimum(np.array([shares[user] for user in users[: len(places)]]) / 50.0, 1.0)


def _of_jobs(column: int, count: int) -> slice:
    """Return where a feature of the first ``count`` jobs stands in a look."""
    stop = PublishedLook.size + PublishedJob.size * count
    return slice(PublishedLook.size + column, stop, PublishedJob.size)


def _promise(view: View, head: Job, ends: list[tuple[float, int]]) -> float:
    """Return when enough cores for the head of the queue are free, by requested times, s; at most a day ahead."""
    missing, latest = head.requested_cores - view.free_total, view.now + DAY_S
    if missing <= 0:
        return view.now
    for end, cores in ends:
        missing -= cores
        if missing <= 0:
            return min(max(end, view.now), latest)
    return latest


STRETCH_STEPS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.2)
"""Limits between which features rise from 0 to 1 with the summed stretch; they ease learning where to boot."""
_STEPS = [(low, high - low) for low, high in pairwise(STRETCH_STEPS)]


class State(FeatureTable):
    """Cluster and queue: all in [0, 1], but sine and cosine."""

    cores_by_state = part(CoresByState)
    reserved = feature("nodes that are reserved", "over all")
    jobs_waiting = feature("jobs in the queue", "j / (j + 10)")
    cores_waiting = feature("cores of the queue", "c / (c + cores of the machine)")
    their_stretch_summed = feature(
        "sum over the queue of wait / requested time", "s / (s + 0.3)", "their stretch, summed"
    )
    the_greatest_of_them = feature("greatest of them", "at most 1")
    time_to_the_next_late_job = feature("time until a job becomes late, s", "1 - t / (t + 1800 s), 0 for none")
    cores_of_late_jobs = feature("cores of jobs that are late", "c / (c + cores of the machine)")
    jobs_running = feature("jobs that hold cores", "j / (j + 10)")
    cores_of_young_jobs = feature("cores of jobs that began to run in the last 600 s", "over all")
    jobs_waiting_for_boots = feature("jobs that hold cores and wait for a boot", "j / (j + 3)")
    time_since_the_last_submission = feature("s", "t / (t + SUBMISSION_HALF_S), 1 before any")
    submissions_of_the_last_hour = feature("jobs", "j / (j + 20)")
    nodes_just_fallen_idle = feature("nodes that fell idle since the last decision", "over all")
    growth_of_the_summed_stretch = feature("what a step adds to the summed stretch", "g / (g + 0.1)")
    any_young_job_or_boot = feature("1 if there is one")
    time_of_day = feature("time of the run", "days, without the whole ones")
    sine_of_it = feature("sine of the time of day")
    cosine_of_it = feature("cosine of the time of day")
    by_steps = block(
        [f"summed stretch, {low:g} to {high:g}" for low, high in pairwise(STRETCH_STEPS)],
        "sum over the queue of wait / requested time",
        "from 0 to 1 between the two",
    )


STATE = tuple(name.replace("_", " ") for name in State.names)
"""Names of the features of the state, in order, in words."""


@shutdown_observations.register("default")
class ActionTable:
    """Observation with a row for each action, its effect now; and the state of cluster and queue.

    ``actions``: see :class:`~learning.tasks.node_shutdown.foresight.ActionRow`; ``state``: :class:`State`. All are in [0, 1],
    but sine and cosine.
    """

    names: ClassVar[dict[str, tuple[str, ...]]] = {"actions": ActionRow.names, "state": State.names}

    def spaces(self, maker: NodesKeptOff) -> dict[str, spaces.Box]:
        """Return the boxes: ``actions``, shape (actions, features), and ``state``."""
        self._maker = maker
        actions = (maker.platform.node_count + 1) * (2 if maker.idle == "choose" else 1)
        return {
            "actions": spaces.Box(0.0, 1.0, (actions, ActionRow.size), np.float32),
            "state": spaces.Box(-1.0, 1.0, (State.size,), np.float32),
        }

    def begin(self, view: View) -> None:
        self._foresight = Foresight(view, self._maker)
        self._states = _CoresByState()
        self._waiting: WaitingJobs | None = None
        self._cores = float(view.platform.core_count)
        self._arrivals: list[float] = []
        self._newest = -1

    def observe(self, view: View) -> Arrays:
        rows = self._foresight.rows(view)
        return {"actions": rows, "state": self._state(view)}

    def _state(self, view: View) -> npt.NDArray[np.float32]:
        pending, now, cores = view.pending, view.now, self._cores
        nodes, waiting = view.platform.node_count, self._maker.waiting(view)
        if waiting is not self._waiting:
            self._waiting, self._turns_at = waiting, -math.inf
            self._cores_waiting = sum(waiting.cores.tolist())
            self._growth = sum((self._maker.step_s / waiting.limits).tolist())  # of the summed stretch in a step
            self._arrivals += [job.submit_time for job in pending if job.index > self._newest]
            self._newest = max(self._newest, pending[-1].index if pending else -1)
        if now >= self._turns_at:  # another job has become late
            late_from = waiting.late_from.tolist()
            self._turns_at = min([time for time in late_from if now < time], default=math.inf)
            jobs = zip(late_from, waiting.cores.tolist(), strict=True)
            self._cores_late = sum([asked for time, asked in jobs if now >= time])
        arrivals = self._arrivals  # of the last hour, of jobs that were still waiting when they were looked for
        while len(arrivals) > 1 and arrivals[0] < now - 3600.0:
            del arrivals[0]
        stretch = waiting.stretches(now).tolist()
        summed, ahead = sum(stretch), self._turns_at - now
        running = view.running
        young = sum([r.job.requested_cores for r in running if now - r.start_time < 600.0])
        booting = sum([r.start_time > now for r in running])
        since = bounded(now - arrivals[-1], SUBMISSION_HALF_S) if arrivals else 1.0
        day = now % DAY_S / DAY_S
        state = [0.0] * State.size
        state[State.cores_by_state] = [count / cores for count in self._states.of(view)]
        state[State.reserved] = self._maker.reserved / nodes
        state[State.jobs_waiting] = bounded(len(pending), 10.0)
        state[State.cores_waiting] = bounded(self._cores_waiting, cores)
        state[State.their_stretch_summed] = bounded(summed, HALF_STRETCH)
        state[State.the_greatest_of_them] = min(max(stretch, default=0.0), 1.0)
        state[State.time_to_the_next_late_job] = 1.0 - bounded(ahead, 1800.0) if ahead < math.inf else 0.0
        state[State.cores_of_late_jobs] = bounded(self._cores_late, cores)
        state[State.jobs_running] = bounded(len(running), 10.0)
        state[State.cores_of_young_jobs] = young / cores
        state[State.jobs_waiting_for_boots] = bounded(booting, 3.0)
        state[State.time_since_the_last_submission] = since
        state[State.submissions_of_the_last_hour] = bounded(len(arrivals), 20.0)
        state[State.nodes_just_fallen_idle] = len(self._maker.fresh()) / nodes
        state[State.growth_of_the_summed_stretch] = bounded(self._growth, 0.1)
        state[State.any_young_job_or_boot] = young > 0 or booting > 0
        state[State.time_of_day] = day
        state[State.sine_of_it] = math.sin(2.0 * math.pi * day)
        state[State.cosine_of_it] = math.cos(2.0 * math.pi * day)
        state[State.by_steps] = [min(max((summed - low) / width, 0.0), 1.0) for low, width in _STEPS]
        return np.array(state, np.float32)
