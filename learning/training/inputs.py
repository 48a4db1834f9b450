"""Inputs of trainings: platforms and workloads of a configuration, read, cut and made into episode sources."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cluster_sim.errors import InputError, naming
from cluster_sim.formats.platform_files import has_time_unit
from cluster_sim.models.contention import contention_models
from cluster_sim.models.power import power_models
from cluster_sim.options import options_of
from cluster_sim.platform.platform import Platform
from cluster_sim.run.hosts import as_counted
from cluster_sim.run.settings import TIME_UNITS, Rules, part_of
from cluster_sim.spelling import one_of
from cluster_sim.workload.executed_days import all_as_executed
from cluster_sim.workload.workload import WORKLOAD_GENERATORS, Workload
from learning.tasks.episodes import Days, Drawn, Episode, EpisodeSource, Several, Trajectories, Whole

if TYPE_CHECKING:
    from learning.tasks.environment import SchedulingEnv
    from learning.training.configuration import EnvironmentKeys, InputKeys

T = TypeVar("T")

KINDS = {
    "job-node": "ClusterSim/JobNode-v0",
    "policy-selection": "ClusterSim/PolicySelection-v0",
    "job-choice": "ClusterSim/JobChoice-v0",
    "node-shutdown": "ClusterSim/NodeShutdown-v0",
    "jobs-and-nodes": "ClusterSim/JobsAndNodes-v0",
}
"""Kinds of environments by their names in a configuration."""


def training_episodes(keys: EnvironmentKeys) -> EpisodeSource | None:
    """Return the episodes to learn from; None for the environment's built-in case. Raises InputError."""
    if keys.platform is None and keys.workload is None:
        return None
    if keys.platform is None or keys.workload is None:
        raise InputError("environment", "both platform and workload, or neither for the built-in case")
    return _source(keys, keys, "environment")


def validation_episodes(keys: InputKeys, environment: EnvironmentKeys) -> EpisodeSource:
    """Return the episodes of a validation workload, on the training's platform by its rules. Raises InputError."""
    with naming("validation"):
        return _source(keys, environment, "validation")


def read_platform(keys: EnvironmentKeys) -> Platform:
    """Return the platform, with the given contention and power models instead of its own. Raises InputError."""
    if keys.platform is None:  # the built-in case runs on a machine of its own
        raise InputError("environment", "a platform, for a workload to run on")
    unit = _options(keys) if has_time_unit(keys.platform) else {}
    platform = Platform.read(keys.platform, **unit)
    given = keys.model_dump()
    makers: dict[str, Callable[[str], object]] = {
        "contention_model": contention_models.make,
        "power_model": power_models.make,
    }
    for name, make in makers.items():
        with naming(f"environment, {name}"):
            if given[name] is not None:
                make(given[name])  # a run would refuse it without naming the key
    return platform.with_models(*(given[name] for name in makers))


def rules_of(keys: EnvironmentKeys) -> dict[str, Any]:
    """Return the rules of the episodes' runs."""
    return keys.model_dump(include={field.name for field in fields(Rules)})


def read_days(keys: InputKeys) -> list[Workload]:
    """Read the days of a workload or of a folder, without the fold that is left out. Raises InputError."""
    return split_days(_all_days(keys), *keys.fold)[0] if keys.fold else _all_days(keys)


def all_days(keys: EnvironmentKeys) -> list[Episode]:
    """Return every day as an episode, days to train on and days left out, in order. Raises InputError."""
    return list(_source(keys.model_copy(update={"fold": None}), keys, "environment").all())


def split_days(days: Sequence[T], fold: int, folds: int) -> tuple[list[T], list[T]]:
    """Split days to train on from days to test on: day i is tested in fold i modulo ``folds``.

    So every fold has days from all over the log, and every day is tested in exactly one.
    """
    train = [day for i, day in enumerate(days) if i % folds != fold]
    test = [day for i, day in enumerate(days) if i % folds == fold]
    if not train or not test:
        raise InputError("days", f"at least {folds}, for as many folds", len(days))
    return train, test


def _source(keys: InputKeys, environment: EnvironmentKeys, section: str) -> EpisodeSource:
    """Return the episodes of all logs in a section of a configuration. Raises InputError that names the log's place."""
    platform = read_platform(environment)
    sources = {section: _of_one_log(keys, environment, platform)}
    for number, more in enumerate(keys.also or ()):
        place, machine = f"{section}.also[{number}]", platform
        jobs = {name: getattr(more, name) for name in type(more).model_fields if name != "platform"}
        with naming(place):
            if more.platform is not None:
                own = {"platform": more.platform, "time_unit": more.time_unit}
                machine = read_platform(environment.model_copy(update=own))
            sources[place] = _of_one_log(keys.model_copy(update=jobs), environment, machine)
    return Several([*sources.values()], [*sources]) if len(sources) > 1 else sources[section]


def _of_one_log(keys: InputKeys, environment: EnvironmentKeys, platform: Platform) -> EpisodeSource:
    rules = rules_of(environment)
    if keys.fresh:
        return Drawn(platform, FreshWorkloads.of(str(keys.workload)), **rules)
    if keys.days:
        days = read_days(keys)
        return Days(as_counted(platform, days[0]) if days else platform, all_as_executed(days, platform), **rules)
    workload = read_workload(keys)
    platform = as_counted(platform, workload)
    if keys.trajectories is not None:
        return Trajectories(platform, workload, keys.trajectories.length, keys.trajectories.origin, **rules)
    return Whole(platform, workload, **rules)


@dataclass(frozen=True)
class FreshWorkloads:
    """Maker of new workloads with the generator of a spec, each with a random seed."""

    spec: str

    @classmethod
    def of(cls, spec: str) -> FreshWorkloads:
        """Check the spec and make it. Raises InputError for other than a generator's spec, or one with a seed."""
        name, _, options = spec.partition(":")
        if name not in WORKLOAD_GENERATORS or any(option.partition("=")[0] == "seed" for option in options.split(",")):
            known = ", ".join(f"{generator}:…" for generator in WORKLOAD_GENERATORS)
            raise InputError("fresh, workload", f"a generator's spec without a seed ({known})", spec)
        return cls(spec)

    def __call__(self, rng: np.random.Generator) -> Workload:
        """Make a workload whose seed ``rng`` draws."""
        separator = "," if ":" in self.spec else ":"
        return Workload.read(f"{self.spec}{separator}seed={int(rng.integers(2**31))}")


def read_workload(keys: InputKeys) -> Workload:
    """Read the workload, cut as the keys say. Raises InputError."""
    with naming(keys.workload):
        workload = part_of(Workload.read(str(keys.workload), **_options(keys)), keys.slice, keys.first)
    if not len(workload):
        raise InputError(str(keys.workload), "at least one job")
    return workload


def _all_days(keys: InputKeys) -> list[Workload]:
    if os.path.isdir(str(keys.workload)):
        return read_folder(str(keys.workload), _options(keys), keys.first, keys.slice)
    return read_workload(keys).days()


def read_folder(folder: str, options: Mapping[str, Any], *cuts: object) -> list[Workload]:
    """Read the workloads in a folder, one a day, by the names of their files.

    ``cuts`` are options that take a part of a single file; a folder allows none. Raises InputError, also without a
    file.

    """
    if any(cut is not None for cut in cuts):
        raise InputError(folder, "a file, to take a part of; of a folder of days, every day is a case", "a folder")
    files = [file for file in sorted(Path(folder).iterdir()) if file.is_file()]
    if not files:
        raise InputError(folder, "a folder with workloads in it", "no file")
    return [Workload.read(file, **options) for file in files]


def _options(keys: InputKeys) -> dict[str, Any]:
    return {} if keys.time_unit is None else {"time_unit": TIME_UNITS[keys.time_unit]}


@dataclass(frozen=True)
class MakeEnvironment:
    """Maker of the environment of a configuration, in any process: keys are sent, and files are read on arrival.

    ``keys`` is an :class:`~learning.training.configuration.EnvironmentKeys` as JSON, so that equal configurations are equal.
    """

    keys: str

    @classmethod
    def of(cls, keys: EnvironmentKeys) -> MakeEnvironment:
        """Make it from the keys of a configuration."""
        return cls(keys.model_dump_json())

    def __call__(self) -> SchedulingEnv:
        """Make a new environment; its episodes are read once in a process. Raises InputError."""
        from learning.training.configuration import EnvironmentKeys

        keys = EnvironmentKeys.model_validate_json(self.keys)
        return environment_on(keys, _episodes(self.keys))


@lru_cache(maxsize=4)
def _episodes(keys: str) -> EpisodeSource | None:
    from learning.training.configuration import EnvironmentKeys

    return training_episodes(EnvironmentKeys.model_validate_json(keys))


_NOT_OF_A_TRAINING = ("platform", "workload", "flat", "render_mode")
"""Parameters of environments that are no options of a training: it has other keys for them, or no use."""


def environment_on(keys: EnvironmentKeys, episodes: EpisodeSource | None) -> SchedulingEnv:
    """Make an environment of the kind, observation, reward and options in ``keys``; without episodes the built-in case.

    Raises InputError for an option that the kind does not have, or a value of another type.
    """
    from learning import ENVIRONMENTS

    module, _, name = ENVIRONMENTS[KINDS[keys.kind]].partition(":")
    kind = getattr(import_module(module), name)
    named = {"episodes": episodes, "observation": keys.observation, "reward": keys.reward}
    arguments = keys.options | {key: value for key, value in named.items() if value is not None}
    options = {
        name: option
        for name, option in options_of(kind).items()
        if name not in named and name not in _NOT_OF_A_TRAINING
    }
    for key, value in keys.options.items():
        if key not in options:
            raise InputError("environment, options", one_of(key, options), key)
        option = options[key]
        if isinstance(option.default, str) and isinstance(value, bool):
            value = "yes" if value else "no"  # YAML reads these words as truth values
        elif isinstance(option.default, str) and isinstance(value, int | float):
            value = str(value)  # seconds, where a word is possible, too
        elif float in option.kinds and value == "inf":
            value = float(value)  # a word, because JSON has no number for it
        if value is not None or option.default is not None:
            value = option.check(value, f"environment, options, {key}")
        arguments[key] = value
    environment: SchedulingEnv = kind(**arguments)
    return environment
