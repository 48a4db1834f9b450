"""Which agent is best: greedy runs on validation episodes, against the best baseline of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cluster_sim.errors import InputError, naming
from cluster_sim.spelling import hint
from cluster_sim.workload.fields import MORE_IS_BETTER, SUMMARY_METRICS, names
from learning.algorithms.rollouts import Trajectory, collect
from learning.tasks.episodes import Drawn, Several, Trajectories, whole_pieces
from learning.training.algorithms import constraint_of
from learning.training.heuristics import ENDED, WHICH, ended, metric_of, of_other_jobs, policies, run_on
from learning.training.inputs import MakeEnvironment, validation_episodes

if TYPE_CHECKING:
    import pandas as pd

    from learning.networks.network import Network
    from learning.tasks.environment import SchedulingEnv
    from learning.tasks.episodes import Episode, EpisodeSource
    from learning.training.configuration import Config

R = TypeVar("R")
T = TypeVar("T")

_BREAKS_THE_LIMIT = 1e200  # beyond any mean of objectives, which have units


@dataclass(frozen=True, slots=True)
class Validated:
    """What a validation found. ``values`` of the objective by episode, and of the best baseline there (empty without).

    ``score`` is least for the best agent: the mean ratio of the objective to the best baseline's, or without baselines
    the mean objective; where the training has limits, ``share``, the greatest ratio of a metric's mean to its limit.
    ``cost`` is the mean cost of an episode, ``over`` by how much a mean cost is above its limit, in the class where that is
    most: whoever keeps all limits is better than whoever does not, and of those who do not the one that is nearest to
    them is the best (Deb 2000).
    ``baseline`` is the one with the least mean ratio over all episodes. ``unlike`` says where the agent ended other jobs
    than a baseline in the same episode; empty where it did not. ``broken`` says which limits of metrics it breaks.
    ``baseline_values``: what ``baseline`` reaches in each episode.
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
        """Least is best."""
        if self.over > 0.0:
            return _BREAKS_THE_LIMIT * (1.0 + self.over)
        if self.share is not None:
            return self.share
        if not self.references:
            return float(np.mean(self.values))
        return float(np.mean([ratio(*pair) for pair in zip(self.values, self.references, strict=True)]))

    @property
    def reductions(self) -> list[float]:
        """In % against the best baseline of each episode."""
        return [100.0 * (1.0 - ratio(*pair)) for pair in zip(self.values, self.references, strict=True)]

    def numbers(self) -> dict[str, float]:
        """The figures that are logged."""
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
        """The facts that are kept about the best agent."""
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
    """The validation of a training: its episodes, and what the baselines reach on each, worked out once.

    ``fixed``: every episode of the training is the same one; then ``single_baseline`` is the best baseline's objective
    there, else it is None.
    Raises InputError for an objective or a baseline that does not exist.
    """

    def __init__(self, config: Config, environment: SchedulingEnv, objective: str):
        check_names(config, environment, objective)
        self.objective = objective
        self._group = config.group
        keys = config.validation
        parts = _of_each(source_of(config, environment), keys.episodes, keys.remainder)
        self.episodes = [episode for part in parts for episode in part]
        # What messages call the log that an episode is of.
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
        # The baseline with the least mean ratio to the best one of each episode.
        baselines = self._baselines
        if not baselines:
            self._best_baseline = ""
        else:
            means = {
                name: np.mean([ratio(*pair) for pair in zip(values, best, strict=True)])
                for name, values in baselines.items()
            }
            self._best_baseline = min(means, key=lambda name: means[name])
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
        share, unlike, broken = self._share(means), self.unlike(found), self._broken(means)
        return Validated(
            values, self._references, self._best_baseline, value, share, cost, over, unlike, broken, beside
        )

    @property
    def is_level(self) -> bool:
        """Whether all baselines reach one and the same number in all episodes; where there are none, too."""
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

    def _share(self, means: Mapping[str, float]) -> float | None:
        """The greatest ratio of a limited metric's mean to its limit; None where nothing is limited."""
        return max((means[name] / most for name, most in self._limits.items()), default=None)

    def _broken(self, means: Mapping[str, float]) -> str:
        """Which limits of metrics the agent breaks, and by how much, in words."""
        return ", ".join(
            f"{name} is {means[name]:.6g}, {100.0 * (means[name] / most - 1.0):.3g} % above its limit of {most:.6g}"
            for name, most in self._limits.items()
            if means[name] > most
        )

    def unlike(self, found: Sequence[Trajectory]) -> str:
        """Say where the agent ended other jobs than the baselines."""
        if not self._ended or not all(name in trajectory.metrics for trajectory in found for name in ENDED):
            return ""
        others = [dict(zip(self._ended, each, strict=True)) for each in zip(*self._ended.values(), strict=True)]
        episodes = enumerate(zip(found, others, strict=True))
        told = ((f"episode {i}", ended(own.metrics | {WHICH: own.ended}), theirs) for i, (own, theirs) in episodes)
        return of_other_jobs(told, "validation episode")

    def has_value(self, trajectory: Trajectory) -> bool:
        """Whether the objective is a number in an episode: a mean over jobs is none where no job has ended."""
        return self.objective == REWARD or trajectory.metrics.get(self.objective) is not None

    def value(self, trajectory: Trajectory) -> float:
        """The objective of an episode."""
        return -trajectory.reward if self.objective == REWARD else metric_of(trajectory.metrics, self.objective)


def source_of(config: Config, environment: SchedulingEnv) -> EpisodeSource:
    """What a training validates on: a workload of its own, or what it learns from. Raises InputError.

    Also for machines that its environment was not made for, and where there would be no episode of some log.
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
    """The logs that are validated on, as the configuration names them."""
    section = config.environment if config.validation.workload is None else config.validation
    return [log.workload or "the built-in jobs" for log in (section, *(section.also or ()))]


def as_many(source: EpisodeSource, count: int, remainder: bool = False) -> list[Episode]:
    """At most ``count`` episodes of a source, evenly spread over all; of fresh draws there are as many as are asked for.

    Of several sources as many of each, the first ones with one more where that does not divide.

    Of the pieces of a workload only whole ones, unless the ``remainder`` at its end is asked for.
    """
    return [episode for part in _of_each(source, count, remainder) for episode in part]


def _of_each(source: EpisodeSource, count: int, remainder: bool) -> list[list[Episode]]:
    """What :func:`as_many` says, for each of several sources apart."""
    if not isinstance(source, Several):
        return [_of_one(source, count, remainder)]
    each, more = divmod(count, len(source.sources))
    return [as_many(one, each + (i < more), remainder) for i, one in enumerate(source.sources)]


def _of_one(source: EpisodeSource, count: int, remainder: bool) -> list[Episode]:
    if isinstance(source, Drawn) and source.count < count:
        source = replace(source, count=count)
    found = spread(source.all(), count)
    return whole_pieces(found, source.length) if isinstance(source, Trajectories) and not remainder else found


def spread(episodes: Sequence[T], count: int) -> list[T]:
    """At most ``count`` of the episodes, or whatever they are, evenly spread over them."""
    if len(episodes) <= count:
        return list(episodes)
    return [episodes[i * len(episodes) // count] for i in range(count)]


def ratio(value: float, reference: float) -> float:
    """value / reference. Against 0, where nothing can be a share, 1 + value: 1 for 0, and the more the worse."""
    return value / reference if reference else 1.0 + value


OBJECTIVES = {
    "energy": "energy_j",
    "edp": "edp_js",
    "edp-as-published": "edp_js",
    "makespan": "makespan_s",
    "wait": "mean_wait_s",
    "bounded-slowdown": "mean_bounded_slowdown",
}
"""The metric, of those of which less is better, that a reward is about, by the name of the reward."""

REWARD = "reward"
"""The objective that is no metric: minus the mean sum of rewards."""


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


def check_minimised(
    where: str,
    metric: str,
    known: Sequence[str] = tuple(names(SUMMARY_METRICS)),
    told: str = "a key of summary.json",
) -> None:
    """Raise InputError for a metric that is not among the ``known``, which are ``told``, or of which more is better."""
    if metric in MORE_IS_BETTER:
        raise InputError(where, f"a metric of which less is better ({', '.join(MORE_IS_BETTER)} are not)", metric)
    if metric not in known:
        raise InputError(where, told + hint(metric, known), metric)


def objective_of(environment: SchedulingEnv) -> str:
    """The metric that the reward is about: what it says itself, or by its name.

    The reward itself where it is about several things, as for agents that switch nodes: one that never lets a job run
    wastes nothing.
    """
    reward = environment.reward
    said = getattr(reward, "objective", "")
    if environment.maker.kind == "power":
        return REWARD
    return (
        said
        if said in names(SUMMARY_METRICS)
        else OBJECTIVES.get(getattr(reward, "spec", "").partition(":")[0], REWARD)
    )


def _runs(
    spec: str, config: Config, environment: SchedulingEnv, episodes: Sequence[Episode], logs: Sequence[str]
) -> list[pd.Series]:
    """The summaries of the runs of a baseline, on each episode, which is of the log beside it."""
    pair = policies(spec, environment.maker.kind, config.environment.model_dump(mode="json"), trust=True)
    return _by_log(lambda episode: run_on(episode, *pair), episodes, logs)


def _values(runs: Sequence[pd.Series], metric: str, logs: Sequence[str]) -> list[float]:
    """A metric of each of the runs, which is of the log beside it."""
    return _by_log(lambda run: metric_of(run, metric), runs, logs)


def _by_log(function: Callable[[T], R], things: Sequence[T], logs: Sequence[str]) -> list[R]:
    """The function's value of each thing; an InputError names the log beside it."""
    found = []
    for thing, log in zip(things, logs, strict=True):
        with naming(log):
            found.append(function(thing))
    return found


def _limits(
    config: Config, environment: SchedulingEnv, episodes: Sequence[Episode], logs: Sequence[str]
) -> dict[str, float]:
    """The limits of metrics; shares of a baseline's mean worked out."""
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
