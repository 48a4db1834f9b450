"""Validation, which chooses the best agent: greedy runs on episodes, against the best baseline of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cluster_sim.errors import InputError, naming
from cluster_sim.workload.fields import SUMMARY_METRICS, names
from learning.algorithms.rollouts import Trajectory, collect
from learning.tasks.episodes import Drawn, Episode, EpisodeSource, Several, Trajectories, spread, whole_pieces
from learning.training.algorithms import constraint_of
from learning.training.heuristics import (
    ENDED,
    REWARD,
    WHICH,
    check_minimised,
    ended,
    metric_of,
    of_other_jobs,
    policies,
    run_on,
)
from learning.training.inputs import MakeEnvironment, validation_episodes

if TYPE_CHECKING:
    import pandas as pd

    from learning.networks.network import Network
    from learning.tasks.environment import SchedulingEnv
    from learning.training.configuration import Config

R = TypeVar("R")
T = TypeVar("T")

_BREAKS_THE_LIMIT = 1e200  # greater than any mean of an objective


@dataclass(frozen=True, slots=True)
class Validated:
    """Result of a validation: ``values`` of the objective by episode, ``references`` of the best baselines there.

    ``score`` is least for the best agent. It is the mean ratio of the objective to the best baseline's, or without
    baselines the mean objective; if the training has limits, it is ``share``, the greatest ratio of a metric's mean to
    its limit. ``cost`` is the mean cost of an episode, ``over`` how far a mean cost is above its limit, in the worst
    class. An agent that keeps all limits is better than one that does not; of the others the nearest to the limits is
    the best (Deb 2000). ``baseline`` is the one with the least mean ratio over all episodes, ``baseline_values`` its
    values. ``unlike`` says where the agent ended other jobs than a baseline in the same episode, ``broken`` which
    limits of metrics it breaks.
    """

    values: tuple[float, ...]
    references: tuple[float, ...]
    baseline: str
    baseline_value: float
    share: float | None = None
    cost: float | None = None
    over: float = 0.0
    unlike: str = ""
    broken: str = ""
    baseline_values: tuple[float, ...] = ()

    @property
    def score(self) -> float:
        """Return the score of the agent; the least is the best."""
        if self.over > 0.0:
            return _BREAKS_THE_LIMIT * (1.0 + self.over)
        if self.share is not None:
            return self.share
        if not self.references:
            return float(np.mean(self.values))
        return float(np.mean([ratio(*pair) for pair in zip(self.values, self.references, strict=True)]))

    @property
    def reductions(self) -> list[float]:
        """Return the reductions in % against the best baseline of each episode."""
        return [100.0 * (1.0 - ratio(*pair)) for pair in zip(self.values, self.references, strict=True)]

    def numbers(self) -> dict[str, float]:
        """Return the figures that are logged."""
        numbers = {"validation/objective_mean": float(np.mean(self.values))}
        if self.references:
            numbers["validation/reduction_mean"] = float(np.mean(self.reductions))
            numbers["validation/reduction_min"] = min(self.reductions)
        if self.share is not None:
            numbers["validation/share"] = self.share
        if self.cost is not None:
            numbers |= {"validation/cost_mean": self.cost, "validation/cost_over": self.over}
        return numbers

    def facts(self) -> dict[str, Any]:
        """Return the facts that are kept about the best agent."""
        facts: dict[str, Any] = {
            "value": float(np.mean(self.values)),
            "reduction": float(np.mean(self.reductions)) if self.references else 0.0,
            "baseline": self.baseline,
            "baseline_value": self.baseline_value,
            "values": list(self.values),
            "baseline_values": list(self.baseline_values),
        }
        told = {"unlike": self.unlike, "over": self.over if self.over > 0.0 else None, "broken": self.broken}
        return facts | {name: what for name, what in told.items() if what}


class Validation:
    """Validation of a training: its episodes, and the baselines' values on each, computed once.

    ``fixed``: all episodes of the training are the same one; then ``single_baseline`` is the best baseline's objective
    there, else None.
    Raises InputError for an objective or a baseline that does not exist.
    """

    def __init__(self, config: Config, environment: SchedulingEnv, objective: str):
        check_names(config, environment, objective)
        self.objective = objective
        self._group = config.group
        keys = config.validation
        parts = _of_each(source_of(config, environment), keys.episodes, keys.remainder)
        self.episodes = [episode for part in parts for episode in part]
        # The log of each episode, for messages.
        self._logs = [log for log, part in zip(_logs(config), parts, strict=True) for _ in part]
        self._limits = _limits(config, environment, self.episodes, self._logs)
        runs = {
            spec: _runs(spec, config, environment, self.episodes, self._logs)
            for spec in dict.fromkeys(config.baselines)
        }
        self._baselines = {spec: _values(own, objective, self._logs) for spec, own in runs.items()}
        self._ended = {spec: list(map(ended, own)) for spec, own in runs.items()}
        self._constraint = constraint_of(config.algorithm)
        best = [min(values) for values in zip(*self._baselines.values(), strict=True)]
        self._references = tuple(best)
        mean_ratios = {
            name: np.mean([ratio(*pair) for pair in zip(values, best, strict=True)])
            for name, values in self._baselines.items()
        }
        self._best_baseline = min(mean_ratios, key=lambda name: mean_ratios[name], default="")
        drawn = config.environment.trajectories is not None and config.environment.trajectories.origin == "random"
        self.fixed = len(environment.episodes.all()) == 1 and not drawn
        self.single_baseline = best[0] if best and keys.workload is None and self.fixed else None

    def of(self, network: Network, make_environment: MakeEnvironment, executor: Executor | None) -> Validated:
        """Play every validation episode with greedy actions."""
        options = [{"episode": episode} for episode in self.episodes]
        found = collect(
            make_environment,
            network,
            [episode.seed for episode in self.episodes],
            group=self._group,
            greedy=True,
            options=options,
            executor=executor,
        )
        values = tuple(_by_log(self.value, found, self._logs))
        beside = tuple(self._baselines.get(self._best_baseline, ()))
        value = float(np.mean(beside)) if beside else 0.0
        costs = [trajectory.cost for trajectory in found if len(trajectory.costs)]
        cost = float(np.mean(costs)) if costs else None
        over = 0.0 if self._constraint is None else max(self._constraint.violations(found).values())
        means = {name: float(np.mean([metric_of(t.metrics, name) for t in found])) for name in self._limits}
        share = max((means[name] / most for name, most in self._limits.items()), default=None)
        broken = ", ".join(
            f"{name} is {means[name]:.6g}, {100.0 * (means[name] / most - 1.0):.3g} % above its limit of {most:.6g}"
            for name, most in self._limits.items()
            if means[name] > most
        )
        baseline, unlike = self._best_baseline, self.unlike(found)
        return Validated(values, self._references, baseline, value, share, cost, over, unlike, broken, beside)

    @property
    def is_level(self) -> bool:
        """Return whether all baselines reach one and the same number in all episodes, or there are none."""
        return len({value for values in self._baselines.values() for value in values}) <= 1

    @property
    def baselines(self) -> dict[str, tuple[float, float]]:
        """Return for each baseline its mean objective and its mean reduction.

        The reduction, in %, is against the best baseline of each episode: 0 at most.
        """
        found = {}
        for name, values in self._baselines.items():
            ratios = [ratio(*pair) for pair in zip(values, self._references, strict=True)]
            found[name] = (float(np.mean(values)), 100.0 * (1.0 - float(np.mean(ratios))))
        return found

    def unlike(self, found: Sequence[Trajectory]) -> str:
        """Say where the agent ended other jobs than the baselines."""
        if not self._ended or not all(name in trajectory.metrics for trajectory in found for name in ENDED):
            return ""
        others = [dict(zip(self._ended, each, strict=True)) for each in zip(*self._ended.values(), strict=True)]
        episodes = enumerate(zip(found, others, strict=True))
        told = ((f"episode {i}", ended(own.metrics | {WHICH: own.ended}), theirs) for i, (own, theirs) in episodes)
        return of_other_jobs(told, "validation episode")

    def has_value(self, trajectory: Trajectory) -> bool:
        """Return whether the objective is a number in an episode: a mean over jobs has no value if no job ended."""
        return self.objective == REWARD or trajectory.metrics.get(self.objective) is not None

    def value(self, trajectory: Trajectory) -> float:
        """Return the objective of an episode."""
        return -trajectory.reward if self.objective == REWARD else metric_of(trajectory.metrics, self.objective)


def source_of(config: Config, environment: SchedulingEnv) -> EpisodeSource:
    """Return the episodes of validation: of its own workload, or those of the training. Raises InputError.

    InputError is also raised for machines for which the environment was not made, and if a log would have no episode.
    """
    keys = config.validation
    if keys.workload is None:
        source = environment.episodes
    else:
        source = validation_episodes(keys, config.environment)
        environment.check_machines(source, "validation")
    logs = len(_logs(config))
    if keys.episodes < logs:
        raise InputError("validation.episodes", f"at least {logs}, one of each log", keys.episodes)
    return source


def _logs(config: Config) -> list[str]:
    """Return the names of the logs that are validated on, as in the configuration."""
    section = config.environment if config.validation.workload is None else config.validation
    return [log.workload or "the built-in jobs" for log in (section, *(section.also or ()))]


def as_many(source: EpisodeSource, count: int, remainder: bool = False) -> list[Episode]:
    """Return at most ``count`` episodes of a source, evenly spread over all; of fresh draws exactly ``count``.

    Several sources have equal numbers; the first ones have one more if ``count`` does not divide. Of the pieces of a
    workload only whole ones count, unless the ``remainder`` at its end is wanted.
    """
    return [episode for part in _of_each(source, count, remainder) for episode in part]


def _of_each(source: EpisodeSource, count: int, remainder: bool) -> list[list[Episode]]:
    """Return the episodes of :func:`as_many`, for each of several sources apart."""
    if isinstance(source, Several):
        each, more = divmod(count, len(source.sources))
        return [as_many(one, each + (i < more), remainder) for i, one in enumerate(source.sources)]
    if isinstance(source, Drawn) and source.count < count:
        source = replace(source, count=count)
    episodes = spread(source.all(), count)
    if isinstance(source, Trajectories) and not remainder:
        episodes = whole_pieces(episodes, source.length)
    return [episodes]


def ratio(value: float, reference: float) -> float:
    """Return value / reference; against 0, which allows no ratio, 1 + value: 1 for 0, and more for more."""
    return value / reference if reference else 1.0 + value


OBJECTIVES = {
    "energy": "energy_j",
    "edp": "edp_js",
    "edp-as-published": "edp_js",
    "makespan": "makespan_s",
    "wait": "mean_wait_s",
    "bounded-slowdown": "mean_bounded_slowdown",
}
"""Metrics, of which less is better, by the names of the rewards that are about them."""


def check_names(config: Config, environment: SchedulingEnv, objective: str) -> None:
    """Raise InputError for an objective, a limit or a baseline that does not exist or does not suit the others."""
    known = environment.metric_names
    told = "a key of summary.json"
    if known != names(SUMMARY_METRICS):
        told += f" that {config.environment.kind} tells ({', '.join(known)})"
    if objective != REWARD:
        check_minimised("objective", objective, known, f"reward, or {told}")
    if objective == REWARD and config.baselines:
        raise InputError("objective", "a key of summary.json, to compare with baselines", REWARD)
    for metric in config.limits:
        check_minimised("limits", metric, known, told)
    shares = [most.partition(" of ")[2] for most in config.limits.values() if isinstance(most, str)]
    for spec in dict.fromkeys([*config.baselines, *shares]):
        policies(spec, environment.maker.kind, config.environment.model_dump(mode="json"), trust=True)


def objective_of(environment: SchedulingEnv) -> str:
    """Return the metric that the reward is about: the reward names it, or has it by its own name.

    It is the reward itself if that is about several things, as for agents that switch nodes: an agent that never lets a
    job run wastes nothing.
    """
    reward = environment.reward
    said = getattr(reward, "objective", "")
    if environment.maker.kind != "scheduler":
        return REWARD
    if said in names(SUMMARY_METRICS):
        return str(said)
    return OBJECTIVES.get(getattr(reward, "spec", "").partition(":")[0], REWARD)


def _runs(
    spec: str, config: Config, environment: SchedulingEnv, episodes: Sequence[Episode], logs: Sequence[str]
) -> list[pd.Series]:
    """Return the summaries of a baseline's runs on each episode; ``logs`` has the log of each episode."""
    pair = policies(spec, environment.maker.kind, config.environment.model_dump(mode="json"), trust=True)
    return _by_log(lambda episode: run_on(episode, *pair), episodes, logs)


def _values(runs: Sequence[pd.Series], metric: str, logs: Sequence[str]) -> list[float]:
    """Return a metric of each of the runs; ``logs`` has the log of each run."""
    return _by_log(lambda run: metric_of(run, metric), runs, logs)


def _by_log(function: Callable[[T], R], things: Sequence[T], logs: Sequence[str]) -> list[R]:
    """Return the function's value of each thing; an InputError names the thing's log."""
    found = []
    for thing, log in zip(things, logs, strict=True):
        with naming(log):
            found.append(function(thing))
    return found


def _limits(
    config: Config, environment: SchedulingEnv, episodes: Sequence[Episode], logs: Sequence[str]
) -> dict[str, float]:
    """Return the limits of metrics, with shares of a baseline's mean as numbers."""
    limits, runs = {}, {}
    for metric, most in config.limits.items():
        if isinstance(most, str):
            share, _, spec = most.partition(" of ")
            if spec not in runs:
                runs[spec] = _runs(spec, config, environment, episodes, logs)
            of = float(np.mean(_values(runs[spec], metric, logs)))
            if not float(share) * of > 0.0:
                where = f"{', '.join(dict.fromkeys(logs))}: limits, {metric}"
                raise InputError(where, f"a limit above 0, and {spec} has {of:g}", most)
            most = float(share) * of
        limits[metric] = most
    return limits
