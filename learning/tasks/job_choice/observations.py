"""Observations of an agent that chooses the next job: a row for each waiting job, and the machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from learning.tasks.choice_rows import ChoiceRow, Floats, observed
from learning.tasks.feature_table import FeatureTable, feature
from schedulers.backfilling.timeline import planned_time

PUBLISHED_LONGEST_S = 43_200.0
"""Divisor of waits in RLScheduler's program, s: 12 hours."""


class RLSchedulerRow(FeatureTable):
    """Row of a waiting job as in RLScheduler's program: the four of its eight numbers with a meaning on other logs.

    All in [0, 1]. The others are memory, user, group and program, by their numbers in the log. r, w, n as in :class:`ChoiceRow`.
    """

    wait = feature("w, s", "w / PUBLISHED_LONGEST_S, 1 at most")
    time = feature("r, s", "the same; there over the longest of the log")
    cores = feature("n", "over all cores")
    fits = feature("1 if it could start now")


def _without_ranks(view: View, jobs: Sequence[Job]) -> tuple[Floats, npt.NDArray[np.float32]]:
    rows, state = observed(view, jobs)
    return rows[:, : ChoiceRow.oldest_rank], state


def _published(view: View, jobs: Sequence[Job]) -> tuple[Floats, npt.NDArray[np.float32]]:
    full, state = observed(view, jobs)
    rows = np.zeros((len(jobs), RLSchedulerRow.size))
    times = np.array([(view.now - job.submit_time, planned_time(job)) for job in jobs]).reshape(-1, 2)
    rows[:, [RLSchedulerRow.wait, RLSchedulerRow.time]] = np.minimum(times / PUBLISHED_LONGEST_S, 1.0)
    rows[:, RLSchedulerRow.cores] = full[:, ChoiceRow.cores]
    rows[:, RLSchedulerRow.fits] = full[:, ChoiceRow.fits]
    return rows, state


class Look(NamedTuple):
    """Observation: the names of a row's columns, and the function that makes rows and state."""

    names: Sequence[str]
    observed: Callable[[View, Sequence[Job]], tuple[Floats, npt.NDArray[np.float32]]]


LOOKS: Mapping[str, Look] = {
    "default": Look(ChoiceRow.names, observed),
    "without-ranks": Look(ChoiceRow.names[: ChoiceRow.oldest_rank], _without_ranks),
    "rlscheduler": Look(RLSchedulerRow.names, _published),
}
"""Observations of JobChoice, by name; the state is the same in all."""
