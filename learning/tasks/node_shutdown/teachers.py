"""Teachers for NodeShutdown: rules on its default observation, which an agent can imitate before it learns by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Unit
from typing_extensions import Doc

from cluster_sim.errors import InputError
from cluster_sim.options import checked
from cluster_sim.registry import Registry
from learning.tasks.feature_table import bounded
from learning.tasks.node_shutdown.foresight import ActionRow
from learning.tasks.node_shutdown.observations import State
from learning.tasks.waiting_jobs import HALF_STRETCH, SUBMISSION_HALF_S

Arrays = Mapping[str, np.ndarray]
#: The action that a teacher takes, from the environment and what is observed of it.
ShutdownTeacher = Callable[[Any, Arrays], int]

shutdown_teachers: Registry[ShutdownTeacher] = Registry("teacher of node-shutdown", "cluster_sim.shutdown_teachers")


@shutdown_teachers.register("summed-stretch")
class SummedStretchTeacher:
    """Rule: boot for the most stretched job when the queue's summed stretch is high enough; else offer only nodes on.

    The threshold is ``soft``, or ``hard`` while a job has begun to run within ten minutes or waits for a boot, since
    nodes may soon be free then; a late job always passes. A node that falls idle is offered once more before it sleeps
    while a job came within the last ``linger`` seconds; with 0 it sleeps at once. For ``idle=choose`` and the default
    observation, from which the rule reads everything.
    """

    @checked
    def __init__(
        self,
        soft: Annotated[float, Ge(0), Doc("summed stretch from which nodes are booted")] = 0.2,
        hard: Annotated[float, Ge(0), Doc("the same while nodes may soon be free")] = 0.6,
        linger: Annotated[
            float, Ge(0), Unit("s"), Doc("time since a submission for which an idle node stays on")
        ] = 900.0,
    ):
        self._soft, self._hard = bounded(soft, HALF_STRETCH), bounded(hard, HALF_STRETCH)
        self._linger = bounded(linger, SUBMISSION_HALF_S)

    def __call__(self, environment: Any, observation: Arrays) -> int:
        """Return the action for an observation. Raises InputError for an observation of another form."""
        if (
            "actions" not in observation
            or len(observation["actions"]) % 2
            or observation["state"].shape != (State.size,)
        ):
            raise InputError("teacher 'summed-stretch'", "the default observation, with idle=choose")
        rows, state, mask = observation["actions"], observation["state"], observation["action_mask"]
        numbers = len(rows) // 2
        spare = bool(mask[:numbers].any()) and state[State.time_since_the_last_submission] < self._linger
        first = 0 if spare else numbers
        enough = self._hard if state[State.any_young_job_or_boot] > 0.0 else self._soft
        is_open = bool(state[State.their_stretch_summed] >= enough or state[State.cores_of_late_jobs] > 0.0)
        column = ActionRow.least_for_the_most_stretched if is_open else ActionRow.most_that_boots_nobody
        rows = rows[first : first + numbers]
        allowed = mask[first : first + numbers] > 0
        wanted = int(rows[:, column].argmax())
        return first + int(np.where(allowed, np.abs(np.arange(len(rows)) - wanted), len(rows)).argmin())
