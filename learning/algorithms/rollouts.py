"""Collecting experience: whole episodes, as a pure function of weights and seeds.

The episodes of one group run in lockstep, so that a network is asked about all of them at once; groups are spread over
the processes of any ``concurrent.futures.Executor``. The grouping of episodes may change the result, because sums in a
batch may round differently; the number of processes never changes it.

Episodes run from their reset to their end, and a finished one leaves its group. So no batch contains a reset, and no
step is thrown away.
"""

from __future__ import annotations

import gc
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from cluster_sim.errors import InputError
from learning.networks.building import make_network
from learning.networks.categorical import best, draw
from learning.networks.network import MASK, Kept, Network, Weights, one_thread
from learning.tasks.environment import SchedulingEnv
from learning.tasks.episode_metrics import which_ended

#: Maker of an environment. To be sent to other processes it must be picklable; equal makers share environments there,
#: so a frozen dataclass with ``__call__`` is best.
EnvironmentMaker = Callable[[], Any]

_ENVIRONMENT_KINDS = 4  # makers whose environments a process keeps
_OBJECTS_BEFORE_COLLECTION = 10_000  # threshold of new objects; Python's own is lower


@dataclass(slots=True)
class Trajectory:
    """Episode as its network saw it, with T decisions.

    Attributes:
        kept: T observations, what the network keeps of them.
        columns: (T,) the chosen columns of the logits.
        actions: (T,) the actions that these stand for.
        rewards: (T,) the reward after each.
        costs: (T,) what each cost, for a limit; empty if the environment has no cost.
        last: what is kept of the observation after the last step if the episode was truncated; None when it terminated.
        seed: of the episode.
        metrics: ``info["metrics"]`` of the last step, if the environment gives them.
        name: of the workload that was run, where the environment runs one.
        choices: decisions in which more than one action was allowed; None where the environment does not say.
        ended: which jobs ended (:func:`~learning.tasks.episode_metrics.which_ended`), where the environment runs some.
    """

    kept: list[Kept]
    columns: npt.NDArray[np.int64]
    actions: npt.NDArray[np.int64]
    rewards: npt.NDArray[np.float64]
    last: Kept | None = None
    seed: int = 0
    metrics: dict[str, float] = field(default_factory=dict)
    costs: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    name: str = ""
    choices: int | None = None
    ended: int | None = None

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def reward(self) -> float:
        """Sum of the rewards, without discount."""
        return float(self.rewards.sum())

    @property
    def cost(self) -> float:
        """Sum of the costs, without discount."""
        return float(self.costs.sum())


def episode_seeds(seed: int, iteration: int, count: int) -> list[int]:
    """Return the seeds of the episodes of one iteration, the same whenever it is run or resumed."""
    return [int(np.random.SeedSequence([seed, iteration, i]).generate_state(1)[0]) for i in range(count)]


def collect(
    make_environment: EnvironmentMaker,
    network: Network,
    seeds: Sequence[int],
    *,
    group: int = 16,
    greedy: bool = False,
    options: Sequence[dict[str, Any] | None] | None = None,
    executor: Executor | None = None,
) -> list[Trajectory]:
    """Run one episode for each seed, in the order of the seeds.

    Args:
        make_environment: makes an environment; what it makes is kept and reset for later episodes.
        network: decides; made by ``make_network``.
        seeds: of the episodes: of ``reset(seed=…)``, and of the drawing of actions.
        group: episodes in lockstep. Part of what fixes the result.
        greedy: take the most probable action, instead of drawing one.
        options: of ``reset(options=…)`` for each episode, for example ``{"episode": episode}``.
        executor: runs the groups; without one they run here, one after the other.

    Raises InputError for a group of less than one, or for a number of options other than that of seeds.
    """
    if group < 1:
        raise InputError("rollouts", "a group of at least 1 episode", group)
    if options is not None and len(options) != len(seeds):
        raise InputError("rollouts", f"options for {len(seeds)} episodes", len(options))
    tasks = [
        RolloutTask(
            make_environment, tuple(seeds[i : i + group]), greedy, None if options is None else options[i : i + group]
        )
        for i in range(0, len(seeds), group)
    ]
    if executor is None:
        with one_thread():
            found = [_run(task, _environments(make_environment, len(task.seeds)), network) for task in tasks]
    else:
        weights = network.weights()
        futures = [executor.submit(run_elsewhere, task, network.spec, weights) for task in tasks]
        found = [future.result() for future in futures]
    return [trajectory for trajectories in found for trajectory in trajectories]


@dataclass(frozen=True, slots=True)
class RolloutTask:
    """Task: the episodes of one group."""

    make_environment: EnvironmentMaker
    seeds: tuple[int, ...]
    greedy: bool
    options: Sequence[dict[str, Any] | None] | None


def run_elsewhere(task: RolloutTask, spec: str, weights: Weights) -> list[Trajectory]:
    """Run a task in this process, with a network built from its spec and its weights."""
    with one_thread():
        environments = _environments(task.make_environment, len(task.seeds))
        network = make_network(spec, environments[0].observation_space, int(environments[0].action_space.n))
        network.load_weights(weights)
        return _run(task, environments, network)


_kept_environments: OrderedDict[EnvironmentMaker, list[Any]] = OrderedDict()


def _environments(make_environment: EnvironmentMaker, count: int) -> list[Any]:
    """Return that many environments, made or used before in this process."""
    environments = _kept_environments.setdefault(make_environment, [])
    _kept_environments.move_to_end(make_environment)
    if len(_kept_environments) > _ENVIRONMENT_KINDS:
        _kept_environments.popitem(last=False)
    environments += [make_environment() for _ in range(count - len(environments))]
    return environments[:count]


_collecting = threading.Lock()
_collecting_rarely = 0  # number of blocks that run now, in any thread
_thresholds = gc.get_threshold()


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let Python look for garbage less often meanwhile: most of it is freed by its reference count.

    Each collection looks through all living objects of a group of episodes; by default that takes a fifth of their
    time.
    """
    # The whole process has one threshold: the first block changes it, and the last one restores it.
    global _thresholds, _collecting_rarely
    with _collecting:
        if not _collecting_rarely:
            _thresholds = gc.get_threshold()
            first, *others = _thresholds
            gc.set_threshold(max(first, _OBJECTS_BEFORE_COLLECTION) if first else 0, *others)
        _collecting_rarely += 1
    try:
        yield
    finally:
        with _collecting:
            _collecting_rarely -= 1
            if not _collecting_rarely:
                gc.set_threshold(*_thresholds)


@rare_collections()
def _run(task: RolloutTask, environments: Sequence[Any], network: Network) -> list[Trajectory]:
    """Step all episodes of a group together until the last of them ends."""
    ours = SchedulingEnv
    kinds = {type(environment) for environment in environments}
    together = all(issubclass(kind, ours) and kind.step is ours.step and kind.reset is ours.reset for kind in kinds)
    options = [None] * len(task.seeds) if task.options is None else task.options
    if together:
        begun = SchedulingEnv.reset_together(environments, task.seeds, options)
    else:
        asked = zip(environments, task.seeds, options, strict=True)
        begun = [environment.reset(seed=seed, options=wanted) for environment, seed, wanted in asked]
    episodes = [
        _Episode(environment, network, seed, observation)
        for environment, seed, (observation, _) in zip(environments, task.seeds, begun, strict=True)
    ]
    running, memory = episodes, None
    with torch.inference_mode():
        while running:
            batch = network.stack([episode.kept[-1] for episode in running])
            if network.recurrent:
                logits, _, memory = network(batch, memory)
            else:
                logits = network.policy(batch)  # the algorithm computes values later, for all decisions at once
            scores = logits.numpy()
            if task.greedy:
                columns = best(scores).tolist()
            else:
                columns = draw(scores, np.array([episode.rng.random() for episode in running])).tolist()
            environments = [episode.environment for episode in running]
            actions = [episode.action(column) for episode, column in zip(running, columns, strict=True)]
            if together:
                steps = SchedulingEnv.step_together(environments, actions)
            else:
                steps = [environment.step(action) for environment, action in zip(environments, actions, strict=True)]
            for episode, column, action, step in zip(running, columns, actions, steps, strict=True):
                episode.note(column, action, *step)
            if any(episode.over for episode in running):
                if memory is not None:
                    left = torch.tensor([not episode.over for episode in running])
                    memory = (memory[0][:, left], memory[1][:, left])
                running = [episode for episode in running if not episode.over]
    return [episode.trajectory() for episode in episodes]


class _Episode:
    """Running episode."""

    def __init__(self, environment: Any, network: Network, seed: int, observation: Any):
        self.environment, self.network, self.seed = environment, network, seed
        self.rng = np.random.default_rng([seed, 1])  # its own stream, not the environment's
        self.kept = [network.keep(observation)]
        self.columns: list[int] = []
        self.actions: list[int] = []
        self.rewards: list[float] = []
        self.costs: list[float] = []
        self.choices: int | None = None
        self._allows(observation)
        self.over = self.truncated = False
        self.metrics: dict[str, float] = {}

    def action(self, column: int) -> int:
        """Return the action that a column stands for now."""
        return self.network.action(self.kept[-1], column)

    def note(
        self,
        column: int,
        action: int,
        observation: Any,
        reward: float,
        terminated: bool,
        truncated: bool,
        info: dict[str, Any],
    ) -> None:
        """Add a step: the action that was taken and the environment's answer."""
        self.columns.append(column)
        self.actions.append(action)
        self.rewards.append(float(reward))
        if "cost" in info:
            self.costs.append(float(info["cost"]))
        self.over, self.truncated = terminated or truncated, truncated and not terminated
        if self.over:
            self.metrics = dict(info.get("metrics", {}))
        if not terminated:  # after the end there is nothing to decide, perhaps not even an allowed action
            self.kept.append(self.network.keep(observation))
            if not truncated:
                self._allows(observation)

    def _allows(self, observation: Any) -> None:
        """Count the decision that comes, if there is a choice in it."""
        if isinstance(observation, dict) and MASK in observation:
            self.choices = (self.choices or 0) + int(np.count_nonzero(observation[MASK]) > 1)

    def trajectory(self) -> Trajectory:
        """Return the episode as arrays, to learn from."""
        last = self.kept.pop() if self.truncated else None
        columns, actions = np.array(self.columns, dtype=np.int64), np.array(self.actions, dtype=np.int64)
        rewards, costs = np.array(self.rewards), np.array(self.costs, dtype=np.float64)
        simulation = getattr(self.environment, "simulation", None)
        name = "" if simulation is None else simulation.workload.name
        ended = None if simulation is None else which_ended(simulation)
        return Trajectory(
            self.kept, columns, actions, rewards, last, self.seed, self.metrics, costs, name, self.choices, ended
        )
