"""Observation of an agent that starts jobs and puts idle nodes to sleep: a row for each action, and queue and machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cluster_sim.machine.placement import Placement
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from learning.tasks import choice_rows
from learning.tasks.choice_rows import ChoiceRow, ChoiceState
from learning.tasks.cores_by_state import CoresByState, cores_by_state
from learning.tasks.feature_table import FeatureTable, bounded, feature, part
from learning.tasks.waiting_jobs import HALF_STRETCH, SUBMISSION_HALF_S, WaitingJobs

HALF_AGE_S = 300.0
"""Idle time of a node at which its feature is 0.5, s."""


class StartOrRest(FeatureTable):
    """Row of an action. All in [0, 1]; a start has zeros in the columns of the other kind, and the other way round."""

    job = part(ChoiceRow)
    starts = feature("1 if the action starts a job")
    booted = feature("nodes that would boot for the job", "over all")
    boots = feature("1 if any would")
    delays_oldest = feature("1 if the start would delay the oldest waiting job, by requests")
    delays_smallest = feature("1 if it would delay the waiting job of least requested time · cores")
    stay = feature("idle nodes that stay on", "over all nodes")
    sleep = feature("idle nodes that go to sleep", "over all nodes")
    sleeps = feature("1 if any does")
    age_of_stay = feature("longest idle time of the nodes that stay on, s", "t / (t + HALF_AGE_S), 0 if none stays")
    age_of_sleep = feature("shortest idle time of the nodes that go to sleep, s", "the same, 1 if none goes")
    holds = feature("1 if the action holds back a job that could start")
    held_stretch = feature("summed wait / requested time of the jobs held back", "s / (s + HALF_STRETCH)")


class QueueAndNodes(FeatureTable):
    """Queue and machine. All in [0, 1]."""

    queue = part(ChoiceState)
    cores_by_state = part(CoresByState)
    idle_nodes = feature("nodes that are on with all cores free", "over all")
    startable = feature("visible jobs that could start", "over the visible ones")
    since_submission = feature("time since the last submission, s", "t / (t + SUBMISSION_HALF_S), 1 before any")
    submissions = feature("jobs submitted in the last hour", "j / (j + 20)")


class StartsAndIdleNodes(Protocol):
    """Protocol of the decision-maker, as far as the observation reads it."""

    num_jobs: int
    idle_since: dict[int, float]  #: s
    submissions: list[float]  #: s

    def visible(self, view: View) -> Sequence[Job]:
        """Return the jobs that an action can name."""
        ...

    def placements(self, view: View) -> Mapping[int, Placement]:
        """Return the places of jobs that can start, by action."""
        ...

    def idle_nodes(self, view: View) -> list[int]:
        """Return the idle nodes, the last to fall idle first."""
        ...

    def waiting(self, view: View) -> WaitingJobs:
        """Return the queue as columns."""
        ...


def observed(view: View, maker: StartsAndIdleNodes) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return the rows, shape (actions, columns), and the state."""
    nodes, first = view.platform.node_count, maker.num_jobs
    rows = np.zeros((first + nodes + 1, StartOrRest.size), np.float32)
    jobs, placements = maker.visible(view), maker.placements(view)
    starts = choice_rows.earliest_starts(view, jobs)
    of_jobs, queue = choice_rows.observed(view, jobs, starts)
    if placements:
        able = list(placements)
        rows[: len(jobs), StartOrRest.job] = of_jobs
        off = view.machine.powered_off
        booted = [np.count_nonzero(off[placement.nodes]) for placement in placements.values()]
        rows[able, StartOrRest.starts] = 1.0
        rows[able, StartOrRest.booted] = np.array(booted) / nodes
        rows[able, StartOrRest.boots] = np.array(booted) > 0
        smallest = int((starts.times * starts.cores).argmin())
        for column, head in ((StartOrRest.delays_oldest, 0), (StartOrRest.delays_smallest, smallest)):
            in_time, beside = starts.times <= starts.delays[head], starts.cores <= starts.left[head]
            rows[able, column] = (~(in_time | beside))[able]
            rows[head, column] = 0.0

    idle = maker.idle_nodes(view)
    ages = np.array([view.now - maker.idle_since[node] for node in idle])
    rest, stay = rows[first : first + len(idle) + 1], np.arange(len(idle) + 1)
    rest[:, StartOrRest.stay] = stay / nodes
    rest[:, StartOrRest.sleep] = stay[::-1] / nodes
    rest[:-1, StartOrRest.sleeps] = 1.0
    rest[1:, StartOrRest.age_of_stay] = bounded(ages, HALF_AGE_S)
    rest[:-1, StartOrRest.age_of_sleep] = bounded(ages, HALF_AGE_S)
    rest[-1, StartOrRest.age_of_sleep] = 1.0
    if placements:
        rest[:, StartOrRest.holds] = 1.0
        stretch = maker.waiting(view).stretches(view.now)[list(placements)]
        rest[:, StartOrRest.held_stretch] = bounded(float(stretch.sum()), HALF_STRETCH)

    state = np.zeros(QueueAndNodes.size, np.float32)
    state[QueueAndNodes.queue] = queue
    state[QueueAndNodes.cores_by_state] = np.array(cores_by_state(view)) / view.platform.core_count
    state[QueueAndNodes.idle_nodes] = len(idle) / nodes
    state[QueueAndNodes.startable] = len(placements) / max(len(jobs), 1)
    came = maker.submissions
    state[QueueAndNodes.since_submission] = bounded(view.now - came[-1], SUBMISSION_HALF_S) if came else 1.0
    recent = len(came) - int(np.searchsorted(came, view.now - 3600.0))
    state[QueueAndNodes.submissions] = bounded(float(recent), 20.0)
    return rows, state
