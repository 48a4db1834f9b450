"""Configuration of a training: the keys of its file, checked, and their meanings.

The file is YAML or JSON; relative names of files start in its folder::

    environment:
      kind: job-node
      platform: platform.json
      workload: workload.json
      reward: energy
    iterations: 100
    baselines: ["list:smallest/high_mem_bw"]

Every key is a field of a class below, with its meaning (docs/reference/training.md has the same as a table). An unknown
key, a value of the wrong type and a missing file end in one line that names file and key.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from annotated_types import Ge, Le
from pydantic import BeforeValidator, Field, PlainSerializer, model_validator
from pydantic_core import PydanticCustomError

from cluster_sim.errors import FormatError, InputError
from cluster_sim.executors import WORKERS, Workers
from cluster_sim.files.atomic import write_bytes
from cluster_sim.files.documents import flat, read_document
from cluster_sim.formats.native_platform import Count, OwnKeys, Whole, key_field, validated
from cluster_sim.run.settings import (
    SETTINGS,
    FirstJobs,
    TimeUnit,
    as_in_a_run,
    located,
    located_policy,
    taken,
    with_settings,
)

Seed = Annotated[int, Ge(0), Le(2**63 - 1)]
"""Seed that torch accepts, with room for the seeds that are counted from it."""
_SHARE = re.compile(r"([0-9]+(?:\.[0-9]+)?) of \S.*")


def _limit(value: Any) -> Any:
    """Check a limit of a metric: a number, or a share of a baseline's value there, ``0.5 of timeout:0``."""
    share = _SHARE.fullmatch(value) if isinstance(value, str) else None
    number = float(share[1]) if share else value
    if isinstance(number, bool) or not isinstance(number, int | float) or not number > 0.0:
        raise PydanticCustomError("limit", "a number above 0, or a share of what a baseline reaches: 0.5 of timeout:0")
    return value


def _with_infinity(value: Any) -> Any:
    """Return a time, also for the words "inf" and "-inf", since JSON has no infinity; reject NaN."""
    if value != value:
        raise PydanticCustomError("time", "a time in s")
    return float(value) if value in ("inf", "-inf") else value


Time = Annotated[
    float,
    BeforeValidator(_with_infinity),
    PlainSerializer(lambda time: time if math.isfinite(time) else str(time), when_used="json"),
]
"""Time on the clock of a workload, s; also ``inf``, its end."""


class TrajectoryKeys(OwnKeys):
    """Episodes of consecutive jobs out of a workload, on a clock that starts at the first one's submission."""

    length: Count = key_field("jobs of an episode", ...)
    origin: Literal["random", "fixed"] | Whole = key_field(
        "first job of an episode: random, the first of all (fixed), or a number", "random"
    )


class _JobsKeys(OwnKeys):
    workload: str | None = key_field(SETTINGS["workload"].told("environment"))
    first: FirstJobs | None = key_field(SETTINGS["first"].meaning)
    slice: tuple[Time, Time] | None = key_field(SETTINGS["slice"].meaning, strict=False)
    time_unit: TimeUnit | None = key_field(SETTINGS["time_unit"].meaning)


Jobs = TypeVar("Jobs", bound=_JobsKeys)


class AlsoKeys(_JobsKeys):
    """Further log to learn from, or to validate on. Its episodes are cut and run like those of the first."""

    workload: str = key_field(SETTINGS["workload"].told("environment"), ...)
    platform: str | None = key_field("the machine that its jobs run on; that of the first log unless given")


class InputKeys(_JobsKeys):
    """Source of the jobs, for training or for validation."""

    trajectories: TrajectoryKeys | None = key_field("episodes are pieces of the workload: {length: 30, origin: random}")
    days: bool = key_field("episodes are days of the workload, or files of the folder that it names", False)
    fold: tuple[Whole, Count] | None = key_field(
        "[k, n]: leave out days k, k + n, k + 2n, …, to test on them", strict=False
    )
    fresh: bool = key_field(
        "every episode is a new draw of the generator that `workload` names; its spec has no seed", False
    )
    also: list[AlsoKeys] | None = key_field(
        "further logs, each as likely as the first; on other machines only for job-choice",
        min_length=1,
    )

    @model_validator(mode="after")
    def _something_to_cut(self) -> InputKeys:
        if self.workload is None:
            self._refuse("first", "slice", "time_unit", "trajectories", "days", "fold", "fresh", "also")
        return self

    def _refuse(self, *names: str) -> None:
        """Refuse keys that would be ignored without a workload."""
        for name in names:
            if getattr(self, name) not in (None, False):
                raise PydanticCustomError("workload", f"a workload, which {name} needs")

    @model_validator(mode="after")
    def _one_way_to_cut(self) -> InputKeys:
        if self.days and self.trajectories is not None:
            raise PydanticCustomError("one_way", "either days or trajectories")
        cuts = [self.trajectories, *(cut for log in (self, *(self.also or ())) for cut in (log.first, log.slice))]
        if self.fresh and (self.days or any(cut is not None for cut in cuts)):
            raise PydanticCustomError("fresh", "fresh workloads whole, without days, trajectories, first or slice")
        if self.fold is not None and not (self.days and self.fold[0] < self.fold[1] and self.fold[1] > 1):
            raise PydanticCustomError("fold", "fold: [k, n] with days, k below n, n at least 2")
        return self


Section = TypeVar("Section", bound=InputKeys)
_OF_INPUTS = ("platform", *InputKeys.model_fields)


@with_settings("environment", as_in_a_run)
class EnvironmentKeys(InputKeys):
    """Machine, jobs, observation, actions and reward of an agent."""

    kind: Literal["job-node", "policy-selection", "job-choice", "node-shutdown", "jobs-and-nodes"] = key_field(
        "which environment", "job-node"
    )
    platform: str | None = key_field(SETTINGS["platform"].told("environment"))
    observation: str | None = key_field("what the agent sees; the environment's default unless said otherwise")
    reward: str | None = key_field("what it is rewarded for; the environment's default unless said otherwise")
    options: dict[str, Any] = key_field("options of the environment, such as {placements: one}", default_factory=dict)

    @model_validator(mode="after")
    def _something_to_run(self) -> EnvironmentKeys:
        if self.workload is None:
            self._refuse(*(setting.key for setting in taken("environment") if setting.key not in _OF_INPUTS))
        return self


class ConstraintKeys(OwnKeys):
    """Limit on the mean cost of an episode, or of each class, kept by a multiplier that PPO learns with the policy."""

    limit: Annotated[float, Field(ge=0, allow_inf_nan=False)] = key_field("limit of the mean cost of an episode", ...)
    learning_rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = key_field(
        "growth of the multiplier in an iteration when the cost is 1 above the limit", ...
    )
    proportional: Annotated[float, Field(ge=0, allow_inf_nan=False)] = key_field(
        "added to the multiplier while the cost is 1 above the limit; damps swings", 0.0
    )
    initial: Annotated[float, Field(ge=0, allow_inf_nan=False)] = key_field(
        "the multiplier before the first iteration", 0.0
    )
    at_most: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = key_field(
        "most that an episode's cost counts when the multiplier is set; no bound unless given"
    )
    classes: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = key_field(
        "limits by the beginning of the name of the workload, or of a day's file: {busy: 0.15}",
        default_factory=dict,
    )


class AlgorithmKeys(OwnKeys):
    """Algorithm of the training."""

    name: str = key_field("ppo, reinforce or actor-critic", "ppo")
    published: str | None = key_field("begin with hyper-parameters as published: energy-scheduler or deepshutdown")
    options: dict[str, Any] = key_field("its hyper-parameters, such as {actor_lr: 0.001}", default_factory=dict)
    constraint: ConstraintKeys | None = key_field("see below; for ppo and an environment with a cost")


class ValidationKeys(InputKeys):
    """Episodes that choose the best agent; without a workload, the training's own (all, or a number of them)."""

    every: Count = key_field("iterations from one validation to the next", 5)
    episodes: Count = key_field("number of episodes, evenly spread over all", 10)
    patience: Count | None = key_field(
        "validations in a row without a better agent after which the training ends; it goes on to `iterations` unless given"
    )
    remainder: bool = key_field(
        "where all pieces are played, also the last one, which is shorter than `length`",
        False,
    )
    keep: Literal["best", "last"] = key_field(
        "which agent is kept: the best by validation, or the last, as papers do", "best"
    )


class WarmStartKeys(OwnKeys):
    """Learning from the decisions of a heuristic before learning from reward."""

    teacher: str = key_field(
        "who is imitated: a scheduler (job-node), an order of jobs (job-choice), a name (node-shutdown), "
        "a scheduler + a timeout (jobs-and-nodes)",
        ...,
    )
    episodes: Count = key_field("how many of its episodes to learn from", 16)
    rounds: Whole = key_field("rounds in which the agent plays that many episodes and the teacher corrects it", 0)
    options: dict[str, Any] = key_field("options of the imitation, such as {epochs: 20}", default_factory=dict)


class Config(OwnKeys):
    """Configuration of a whole training."""

    environment: EnvironmentKeys = key_field("see below", default_factory=EnvironmentKeys)
    algorithm: AlgorithmKeys = key_field("see below", default_factory=AlgorithmKeys)
    network: str = key_field("a spec of the registry of networks, such as scorer:hidden=32 or as-published", "scorer")
    iterations: Whole = key_field("rollouts, each followed by an update", 100)
    episodes: Count = key_field("episodes of a rollout", 16)
    group: Count = key_field("episodes that are played in lockstep; rounding makes the result depend on it", 16)
    workers: Workers = key_field(WORKERS)
    seed: Seed = key_field("of everything random", 0)
    seeds: Count = key_field("trainings, with seeds from `seed` on, each in a folder of its own", 1)
    objective: str | None = key_field(
        "what is minimised: a key of summary.json, or reward; the reward's metric unless given"
    )
    limits: dict[str, Annotated[float | str, BeforeValidator(_limit)]] = key_field(
        "limits of metrics' validation means: numbers, or such as 0.5 of timeout:0; the best agent stays furthest below",
        default_factory=dict,
    )
    baselines: list[str] = key_field(
        "schedulers to compare with (node-shutdown: power policies; jobs-and-nodes: scheduler + power policy)",
        default_factory=list,
    )
    validation: ValidationKeys = key_field("see below", default_factory=ValidationKeys)
    warm_start: WarmStartKeys | None = key_field("see below; none unless given")
    checkpoint_every: Count = key_field("iterations from one checkpoint to the next", 10)

    @model_validator(mode="after")
    def _something_remains(self) -> Config:
        pieces = self.environment if self.validation.workload is None else self.validation
        if self.validation.remainder and pieces.trajectories is None:
            raise PydanticCustomError("remainder", "trajectories, which remainder of validation needs")
        return self


SECTIONS: tuple[tuple[str, type[OwnKeys]], ...] = (
    ("", Config),
    ("environment", EnvironmentKeys),
    ("environment.trajectories", TrajectoryKeys),
    ("environment.also", AlsoKeys),
    ("algorithm", AlgorithmKeys),
    ("algorithm.constraint", ConstraintKeys),
    ("validation", ValidationKeys),
    ("warm_start", WarmStartKeys),
)
"""Sections of a configuration, for the manual."""

# Keys that may change when a training is resumed.
FREE_KEYS = ("workers", "seeds", "checkpoint_every")

_NOT_GIVEN = "nothing"


def read_config(path: str | Path) -> Config:
    """Read a configuration and make its files' names absolute. Raises FormatError naming file and key."""
    document = read_document(path)
    if not isinstance(document, dict):
        raise FormatError(path, "a training: keys such as 'environment' and 'iterations'", type(document).__name__)
    return placed(validated(Config, document, path), Path(path).parent)


def placed(config: Config, folder: Path) -> Config:
    """Return the configuration with absolute file names, also in specs of policies; they start in ``folder``."""

    def policy(spec: Any) -> Any:
        return located_policy(folder, spec) if isinstance(spec, str) else spec

    def limit(most: float | str) -> float | str:
        share, of, spec = str(most).partition(" of ")
        return f"{share} of {policy(spec)}" if of else most

    update: dict[str, Any] = {}

    def with_files(section: Jobs) -> Jobs:
        sources = {key: getattr(section, key, None) for key in ("platform", "workload")}
        return section.model_copy(update={key: located(folder, source) for key, source in sources.items() if source})

    def with_all_files(section: Section) -> Section:
        also = section.also and list(map(with_files, section.also))
        return with_files(section).model_copy(update={"also": also})

    update["validation"], environment = with_all_files(config.validation), with_all_files(config.environment)
    options = config.environment.options
    specs = {name: policy(options[name]) for name in ("scheduler", "power", "cost", "nodes") if name in options}
    parts = ("observation", "reward", "contention_model", "power_model")
    own = {name: policy(getattr(environment, name)) for name in parts}
    update["environment"] = environment.model_copy(update={"options": options | specs, **own})
    update["network"] = policy(config.network)
    update["baselines"] = list(map(policy, config.baselines))
    update["limits"] = {metric: limit(most) for metric, most in config.limits.items()}
    if config.warm_start is not None:
        update["warm_start"] = config.warm_start.model_copy(update={"teacher": policy(config.warm_start.teacher)})
    return config.model_copy(update=update)


def write_config(config: Config, path: str | Path) -> None:
    """Write a configuration so that :func:`read_config` reads the same one from any folder.

    Relative names of files, which only configurations made in Python have, start in the current folder.
    """
    config = placed(config, Path.cwd())
    text = yaml.safe_dump(config.model_dump(mode="json", exclude_none=True), sort_keys=False, allow_unicode=True)
    write_bytes(path, text.encode())


def check_same(config: Config, begun: Config, where: str | Path) -> None:
    """Raise InputError, naming the first key, if a training would go on with another configuration.

    Relative names of files start in the current folder, as for :func:`write_config`. Not even ``iterations`` may
    change, since learning rates depend on it; the division of work among processes may.
    """
    configs = (placed(config, Path.cwd()), begun)
    new, old = (
        dict(flat(each.model_dump(mode="json", exclude=set(FREE_KEYS), exclude_none=True))) for each in configs
    )  # an option that is null stays: it differs from one that is not given
    for key in dict.fromkeys([*old, *new]):
        begun_with, found = (keys.get(key, _NOT_GIVEN) for keys in (old, new))
        if begun_with != found:
            longer = "; a longer training is a new one" if key == "iterations" else ""
            raise InputError(f"{where}, {key}", f"{begun_with}, with which the training there began{longer}", found)
