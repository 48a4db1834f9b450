"""JobNode: the agent chooses a job and a node, or waits (López 2023; López, Stafford and Bosque 2025)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Unit
from gymnasium import spaces
from typing_extensions import Doc

from cluster_sim.errors import InputError, counted
from cluster_sim.options import checked
from cluster_sim.platform.hardware import check_count
from cluster_sim.platform.platform import Platform
from cluster_sim.run.decisions import Decision, Reject, Start, WakeAt
from cluster_sim.run.hosts import as_counted
from cluster_sim.run.view import View
from cluster_sim.workload.jobs import Job
from cluster_sim.workload.workload import Workload
from learning.tasks.built_in_cases import job_node_case
from learning.tasks.decision_maker import Observation
from learning.tasks.environment import (
    CostSpec,
    Episodes,
    Flat,
    ObservationSpec,
    PowerSpec,
    RenderMode,
    RewardSpec,
    SchedulingEnv,
    names_options,
    observes_together,
)
from learning.tasks.episode_metrics import KEYS
from learning.tasks.episodes import EpisodeSource, Whole, platform_of
from learning.tasks.job_node.actions import PairFinder
from learning.tasks.job_node.observations import observations
from learning.tasks.job_node.pairs import PairOptions, Pairs
from learning.tasks.job_node.rewards import rewards
from schedulers.queue.orders import Memory

NO_ROOM = "no set of nodes has memory for it"
MOST_PAIRS = 1_000_000
"""Greatest number of pairs of jobs and nodes: more rows of an observation would fill the memory."""
_SHORTEST_WAIT_S = 1e-3
"""Shortest wait, s; late in a run, rounding would end a shorter one in the instant in which it began."""
TOO_HUNGRY = "its energy estimate exceeds its max_energy on every idle node that could hold it"


Placements = Annotated[Literal["one", "all"], Doc("starts in a pass: one, as published, or until nothing fits")]
Wait = Annotated[str | float, Doc("waiting is an action: no, until an event or a completion, or for that many seconds")]
Patience = Annotated[float, Ge(0), Unit("s"), Doc("longest wait while nothing runs")]
VisibleJobs = Annotated[int, Ge(1), Unit("jobs"), Doc("waiting jobs that can be chosen")]
MergesEqual = Annotated[bool | None, Doc("equal jobs are one choice; the observation says so unless given")]


class JobNodeMaker:
    """Decision-maker of JobNode: decides which job starts where.

    ``placements=one``: at most one start in a pass, as published, unless nothing runs. ``all``: goes on until nothing
    fits, or the agent waits.

    ``wait`` adds waiting as the last action; it means that nothing more is started in this pass. The next decision is at
    the next event (``event``), when a job has ended (``completion``), or at the next event but after that many seconds
    at the latest (a number). Waiting is allowed while jobs run, so that something will end. On a machine on which
    nothing runs only arrivals can change anything, and they are not known: there an agent may wait for at most
    ``patience`` s, and then not again before something has happened. An event that ends a wait also cancels its timer.
    So no agent can stall: every wait ends, and there can be no more waits in a row than events to come. Waiting costs
    the energy and the delay that it causes.

    When nothing runs and nothing can be chosen, jobs that exceed their ``max_energy`` on every idle node are rejected.
    """

    kind: Literal["scheduler", "power", "both"] = "scheduler"

    @checked
    def __init__(
        self,
        platform: Platform,
        observation: ObservationSpec = "default",
        *,
        placements: Placements = "one",
        wait: Wait = "no",
        patience: Patience = 1.0,
        num_jobs: VisibleJobs = 16,
        merge_equal: MergesEqual = None,
        memory: Memory = False,
    ):
        most = max(MOST_PAIRS // platform.node_count, 1)
        num_jobs = check_count(f"JobNode on {counted(platform.node_count, 'node')}, num_jobs", num_jobs, most)
        self.placements, self.memory, self.patience = placements, memory, patience
        self.wait, self.timer = _wait_option(wait)
        self.observation = observations.make(observation)
        merges = self.observation.merges_equal if merge_equal is None else merge_equal
        self.options = PairOptions(num_jobs, merges, memory, self.wait != "no")
        self.finder = PairFinder(self.options)
        actions = num_jobs * platform.node_count + self.options.wait
        self.action_space = spaces.Discrete(actions)
        boxes = self.observation.space(platform, self.options)
        self.feature_names: Mapping[str, Sequence[str]] = getattr(self.observation, "names", {})
        self.observation_space = spaces.Dict({**boxes, "action_mask": spaces.Box(0, 1, (actions,), np.int8)})

    # ------------------------------------------------------------------ DecisionMaker

    def begin(self, view: View) -> None:
        self.finder.begin(view)
        self.observation.begin(view, self.finder)
        self._pairs: Pairs | None = None
        self._started = self._waits = self._idled = False
        self._until_completion = False
        self._wait_ends = -math.inf  # at the latest, s
        self._version: object = None  # the machine as the last pass left it

    def attend(self, view: View) -> list[Decision]:
        """Begin a pass, and reject jobs that would otherwise block an idle machine for ever."""
        self._pairs = None
        self._started = False
        happened = view.submitted or view.ended or view.machine.version is not self._version
        self._waits = not happened and view.now < self._wait_ends
        if view.submitted or view.ended:
            self._idled = False
        if view.ended or not view.running_count:
            self._until_completion = False
        if (
            self.memory
            and view.planning.counts_memory
            and (never := [j for j in view.submitted if self._never_fits(view, j)])
        ):
            return [Reject(job, NO_ROOM) for job in never]
        if view.running_count or not view.pending_count or len(self.pairs(view)):
            return []
        jobs, _ = self.finder.eligible(view)
        rejects: list[Decision] = [Reject(job, TOO_HUNGRY) for job in jobs if self.finder.is_too_hungry(view, job)]
        if rejects:
            self._pairs = None  # of the queue as it was
        return rejects

    def goes_on(self, view: View) -> bool:
        """Return whether some pair is allowed, and the agent has neither waited nor had its one placement."""
        self._version = view.machine.version
        if self._waits or self._until_completion or not view.pending_count or not view.free_total:
            return False
        if self._started and self.placements == "one" and view.running_count:
            return False
        return len(self.pairs(view)) > 0

    def observe(self, view: View) -> Observation:
        """Return the observation with the mask."""
        pairs = self.pairs(view)
        return {**self.observation.observe(view, pairs), "action_mask": pairs.mask}

    def observe_together(self, makers: Sequence[JobNodeMaker], views: Sequence[View]) -> list[Observation]:
        """Observe several runs; in one go if the observation can do so."""
        pairs = [maker.pairs(view) for maker, view in zip(makers, views, strict=True)]
        own: Any = [maker.observation for maker in makers]
        if observes_together(own[0]):
            found = own[0].observe_together(own, views, pairs)
        else:
            found = [each.observe(view, its) for each, view, its in zip(own, views, pairs, strict=True)]
        return [{**each, "action_mask": its.mask} for each, its in zip(found, pairs, strict=True)]

    def decisions(self, view: View, action: int) -> list[Decision]:
        """Start the job on the node, or wait."""
        chosen = self.pairs(view).action(action)
        self._pairs = None
        if chosen is not None:
            self._started = True
            self._wait_ends = math.inf
            return [Start(*chosen)]
        self._waits = True
        if not view.running_count:
            self._idled = True
            timer: float | None = self.patience
        else:
            self._until_completion = self.wait == "completion"
            timer = self.timer
        self._wait_ends = math.inf if timer is None else view.now + timer
        return [] if timer is None else [WakeAt(self._wait_ends)]

    # ------------------------------------------------------------------

    def pairs(self, view: View) -> Pairs:
        """Return the allowed pairs, found once for every decision."""
        if self._pairs is None:
            may_wait = view.running_count > 0 or (self.patience > 0.0 and not self._idled)
            self._pairs = self.finder.pairs(view, may_wait)
        return self._pairs

    @staticmethod
    def _never_fits(view: View, job: Job) -> bool:
        """Return whether even the empty machine lacks memory for the job; schedulers never see such jobs."""
        if not view.is_pending(job):
            return False
        # When advance reservations are over, or the job's own begins.
        time = next((w.start for w in view.machine.reservations if w.name == job.reservation), math.inf)
        return view.planning.outlook(empty=True, withheld=True).place(job, memory=True, time=time) is None


class JobNode(SchedulingEnv):
    """The agent starts one of the pending jobs on one of the nodes, or waits.

    What is run: ``episodes``, or ``platform`` and ``workload`` (objects, files or specs) for the same jobs every time;
    without any of them a small built-in case. ``observation`` and ``reward`` are registered names with options, such as
    ``p2:features=wait_time+requested_cores`` and ``edp:shaped=no``; ``placements``, ``wait``, ``patience``, ``num_jobs``,
    ``merge_equal`` and ``memory`` are those of :class:`JobNodeMaker` and
    :class:`~learning.tasks.job_node.pairs.PairOptions`, the others those of :class:`~learning.tasks.environment.SchedulingEnv`.

    ==============  ========================================  =====================================================
    space           shape                                     what
    ==============  ========================================  =====================================================
    action          Discrete(num_jobs · nodes [+ 1])          job · nodes + node; the last one waits, if ``wait``
    observation     Dict; see the observation's class         ``default``: actions (A, F), state (S,); published:
                                                              observation (A, 9 or 10); always action_mask (A,)
    reward          float; see the reward's class             the return is minus the metric of the run
    info["cost"]    float, where ``cost`` names a reward      minus that reward: what is to be kept within a limit
    ==============  ========================================  =====================================================

    Raises InputError and SpecError for arguments that do not fit.
    """

    metric_names = KEYS

    @names_options
    def __init__(
        self,
        platform: Annotated[
            Platform | str | Path | None, Doc("machine of one case: an object, a file or a spec")
        ] = None,
        workload: Annotated[Workload | str | Path | None, Doc("jobs of one case: an object, a file or a spec")] = None,
        *,
        episodes: Episodes = None,
        observation: ObservationSpec = "default",
        reward: RewardSpec = "energy",
        placements: Placements = "one",
        wait: Wait = "no",
        patience: Patience = 1.0,
        num_jobs: VisibleJobs = 16,
        merge_equal: MergesEqual = None,
        memory: Memory = False,
        power: PowerSpec = None,
        cost: CostSpec = None,
        flat: Flat = False,
        render_mode: RenderMode = None,
    ):
        source = episode_source(platform, workload, episodes)
        maker = JobNodeMaker(
            platform_of(source),
            observation,
            placements=placements,
            wait=wait,
            patience=patience,
            num_jobs=num_jobs,
            merge_equal=merge_equal,
            memory=memory,
        )
        limited = None if cost is None else rewards.make(cost)
        super().__init__(
            maker, source, rewards.make(reward), flat=flat, power=power, cost=limited, render_mode=render_mode
        )


def episode_source(
    platform: Platform | str | Path | None, workload: Workload | str | Path | None, episodes: EpisodeSource | None
) -> EpisodeSource:
    """Return the given episodes, the whole workload, or a built-in case. Raises InputError for half an input."""
    if (platform is None) != (workload is None) or (episodes is not None and platform is not None):
        raise InputError("JobNode", "platform and workload, or episodes, or nothing")
    if episodes is not None:
        return episodes
    if platform is None or workload is None:
        return job_node_case()
    machine = Platform.read(platform) if isinstance(platform, str | Path) else platform
    jobs = Workload.read(workload) if isinstance(workload, str | Path) else workload
    if not isinstance(machine, Platform):
        raise InputError("JobNode, platform", "a platform, its file, or a spec", machine)
    if not isinstance(jobs, Workload):
        raise InputError("JobNode, workload", "a workload, its file, or a spec", jobs)
    return Whole(as_counted(machine, jobs), jobs)


def _wait_option(text: Any) -> tuple[str, float | None]:
    """Return what ends a wait, and the timer (s) if there is one."""
    if text in ("no", "event", "completion"):
        return text, None
    try:
        seconds = 0.0 if isinstance(text, bool) else float(text)
    except (TypeError, ValueError):
        seconds = 0.0
    if not _SHORTEST_WAIT_S <= seconds < np.inf:
        raise InputError("JobNode, wait", f"no, event, completion, or {_SHORTEST_WAIT_S:g} s or more", text)
    return "event", seconds
