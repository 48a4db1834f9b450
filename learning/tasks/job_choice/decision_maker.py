"""Decision-maker of :class:`~learning.tasks.job_choice.environment.JobChoice`: chooses the next waiting job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le, Unit
from gymnasium import spaces
from typing_extensions import Doc

from cluster_sim.errors import SpecError
from cluster_sim.options import checked
from cluster_sim.platform.platform import Platform
from cluster_sim.run.decisions import Decision
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from learning.tasks.choice_rows import ChoiceState
from learning.tasks.decision_maker import MOST_JOBS, OneByOne
from learning.tasks.environment import ObservationSpec
from learning.tasks.job_choice.observations import LOOKS
from schedulers.backfilling.committed import CommittedBackfilling

ChoosableJobs = Annotated[int, Ge(2), Le(MOST_JOBS), Unit("jobs"), Doc("oldest waiting jobs that can be chosen")]
TakesExtra = Annotated[bool, Doc("jobs are backfilled on cores that the chosen job leaves free")]


class JobChoices:
    """Decision-maker that asks which waiting job is next, and stays with it until it has started.

    The agent is asked when no job is next and at least two jobs wait; a single job is next without a question. The next
    job starts at once if it fits. Otherwise other jobs are backfilled behind it in every pass until it starts. The
    ``num_jobs`` oldest are visible. An agent cannot wait, so it cannot stall.
    ``observation`` is one of :data:`~learning.tasks.job_choice.observations.LOOKS`.
    """

    kind: Literal["scheduler", "power", "both"] = "scheduler"
    memory = False
    on_any_machine = True  # observations and actions are the same there

    @checked
    def __init__(
        self,
        platform: Platform,
        num_jobs: ChoosableJobs = 128,
        extra: TakesExtra = False,
        observation: ObservationSpec = "default",
    ):
        if not isinstance(observation, str) or observation not in LOOKS:
            raise SpecError("observation of job-choice", " or ".join(LOOKS), observation)
        self.num_jobs = num_jobs
        self._look = LOOKS[observation]
        self._backfilling = CommittedBackfilling(extra)
        self.action_space = spaces.Discrete(num_jobs)
        self.feature_names: Mapping[str, Sequence[str]] = {"actions": self._look.names, "state": ChoiceState.names}
        self.observation_space = spaces.Dict(
            {
                "actions": spaces.Box(0.0, 1.0, (num_jobs, len(self._look.names)), np.float32),
                "state": spaces.Box(0.0, 1.0, (ChoiceState.size,), np.float32),
                "action_mask": spaces.Box(0, 1, (num_jobs,), np.int8),
            }
        )

    def begin(self, view: View) -> None:
        """Begin a run without a job that is waited for."""
        self._backfilling.begin(view)
        self._next: Job | None = None

    def visible(self, view: View) -> Sequence[Job]:
        """Return the jobs to choose from, the oldest first: action i is the i-th of them."""
        return view.pending[: self.num_jobs]

    def attend(self, view: View) -> Sequence[Decision]:
        """Begin a pass: go on with the job that is next, if there is one."""
        self._backfilling.follow(view)
        return OneByOne(self._proceed(view))  # type: ignore[return-value]

    def goes_on(self, view: View) -> bool:
        """Return whether a job is to be chosen."""
        return self._next is None and view.pending_count > 1

    def observe(self, view: View) -> dict[str, np.ndarray]:
        """Return the observation of the visible jobs and the machine."""
        jobs = self.visible(view)
        rows = np.zeros((self.num_jobs, len(self._look.names)), np.float32)
        rows[: len(jobs)], state = self._look.observed(view, jobs)
        mask = np.zeros(self.num_jobs, np.int8)
        mask[: len(jobs)] = 1
        return {"actions": rows, "state": state, "action_mask": mask}

    def decisions(self, view: View, action: int) -> Sequence[Decision]:
        """Commit to a job, and return its start if it fits."""
        self._next = self.visible(view)[int(action)]
        return OneByOne(self._proceed(view))  # type: ignore[return-value]

    def _proceed(self, view: View) -> Iterator[Any]:
        """Proceed with the next job; a single waiting job is next."""
        while True:
            if self._next is not None and not view.is_pending(self._next):
                self._next = None
            if self._next is None and view.pending_count == 1:
                self._next = view.pending[0]
            if self._next is None:
                return
            yield from self._backfilling.go_for(view, self._next)
            if view.is_pending(self._next):
                return
