"""Episodes: what an environment runs from a reset to the end, and where they are drawn from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

import numpy as np

from cluster_sim.errors import InputError
from cluster_sim.platform.hardware import is_count
from cluster_sim.platform.platform import Platform
from cluster_sim.run.settings import Rules
from cluster_sim.workload.workload import Workload

Thing = TypeVar("Thing")

_SEEDS = 2**31


@dataclass(frozen=True, eq=False)
class Episode(Rules):
    """Episode: one run of jobs on a machine. ``seed`` is for chance in the run itself, such as boot times.

    ``until`` (s) cuts it short; ``enforce_walltime`` kills jobs that outlive their requested time; see
    :class:`~cluster_sim.run.settings.Rules`.
    """

    platform: Platform
    workload: Workload
    seed: int = 0
    name: str = ""


class EpisodeSource(Protocol):
    """Source of episodes. To write one: the platform, which all its episodes share, and the two methods.

    :class:`Several` joins several sources, perhaps on different platforms.
    """

    @property
    def platform(self) -> Platform:
        """Return the machine of every episode."""
        ...

    def draw(self, rng: np.random.Generator) -> Episode:
        """Draw an episode; only ``rng`` decides which."""
        ...

    def all(self) -> Sequence[Episode]:
        """Return every episode, for tests over all of them."""
        ...


@dataclass(frozen=True, eq=False)
class _Source(Rules):
    """Base of the sources below: the platform and the rules of their episodes."""

    platform: Platform

    def __post_init__(self) -> None:
        if not isinstance(self.platform, Platform):
            raise InputError("episodes, platform", "a platform, such as Platform.read gives", self.platform)

    def _episode(self, workload: Workload, name: str, seed: int) -> Episode:
        return Episode(self.platform, workload, seed, name, **self.rules())


@dataclass(frozen=True, eq=False)
class Whole(_Source):
    """Source of the same jobs every time. The seed of the run's chance is drawn; it is 0 in ``all()``."""

    workload: Workload

    def __post_init__(self) -> None:
        super().__post_init__()
        _checked(self.workload)

    def draw(self, rng: np.random.Generator) -> Episode:
        """Return the whole workload as an episode with a random seed."""
        return self._episode(self.workload, self.workload.name, int(rng.integers(_SEEDS)))

    def all(self) -> Sequence[Episode]:
        """Return the one episode."""
        return [self._episode(self.workload, self.workload.name, 0)]


@dataclass(frozen=True, eq=False)
class Trajectories(_Source):
    """Source of ``length`` consecutive jobs of a workload, from a random place, the first, or the one in ``origin``.

    Times count from the first job's submission, as in López (2023). ``all()`` cuts the workload into pieces of that
    length, the last of which may be shorter (:func:`whole_pieces` leaves it out). Raises InputError for a length or an
    origin that the workload does not have.
    """

    workload: Workload
    length: int
    origin: Literal["random", "fixed"] | int = "random"

    def __post_init__(self) -> None:
        super().__post_init__()
        jobs = len(_checked(self.workload))
        if not is_count(self.length, jobs):
            raise InputError("trajectories, length", f"a number of jobs from 1 to {jobs}", self.length)
        most = jobs - self.length
        if self.origin not in ("random", "fixed") and not is_count(self.origin, most, 0):
            raise InputError("trajectories, origin", f"random, fixed, or a position from 0 to {most}", self.origin)

    def draw(self, rng: np.random.Generator) -> Episode:
        """Draw jobs from a random place, each equally likely, or take them from the given one."""
        seed = int(rng.integers(_SEEDS))
        if self.origin == "random":
            return self._from(int(rng.integers(len(self.workload) - self.length + 1)), seed)
        return self._from(0 if self.origin == "fixed" else int(self.origin), seed)

    def all(self) -> Sequence[Episode]:
        """Return the whole workload, piece after piece; the one piece if its origin is given."""
        if self.origin == "random":
            return [self._from(first, 0) for first in range(0, len(self.workload), self.length)]
        return [self.draw(np.random.default_rng(0))]

    def _from(self, first: int, seed: int) -> Episode:
        jobs = consecutive(self.workload, first, self.length)
        return self._episode(jobs, f"{self.workload.name}[{first}:{first + len(jobs)}]", seed)


@dataclass(frozen=True, eq=False)
class Days(_Source):
    """Source of one of several workloads, each equally likely: a random day, as in Casagrande et al. (2022)."""

    days: Sequence[Workload]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.days:
            raise InputError("days", "at least one workload", "none")
        for day in self.days:
            _checked(day)

    def draw(self, rng: np.random.Generator) -> Episode:
        """Draw a day."""
        seed, number = int(rng.integers(_SEEDS)), int(rng.integers(len(self.days)))
        return self._episode(self.days[number], f"day {number}", seed)

    def all(self) -> Sequence[Episode]:
        """Return every day once."""
        return [self._episode(day, f"day {number}", 0) for number, day in enumerate(self.days)]


@dataclass(frozen=True, eq=False)
class Drawn(_Source):
    """Source of a fresh workload every time, made by a function of a random generator; ``all()`` has ``count``."""

    make: Callable[[np.random.Generator], Workload]
    count: int = 10

    def draw(self, rng: np.random.Generator) -> Episode:
        """Draw a new workload."""
        seed = int(rng.integers(_SEEDS))
        workload = _checked(self.make(rng))
        return self._episode(workload, workload.name, seed)

    def all(self) -> Sequence[Episode]:
        """Return the workloads that generators seeded with 0, 1, … make."""
        workloads = [_checked(self.make(np.random.default_rng(seed))) for seed in range(self.count)]
        return [self._episode(workload, f"draw {seed}", 0) for seed, workload in enumerate(workloads)]


@dataclass(frozen=True, eq=False)
class Several:
    """Source that draws from several sources, each equally likely: to learn from several logs.

    The machines may differ only if the decision-maker's observations and actions are the same on every machine, as with
    :class:`~learning.tasks.job_choice.environment.JobChoice`. ``all()`` has the episodes of one source after the other.
    ``names`` are the sources' names in messages; by default they are numbered.
    """

    sources: Sequence[EpisodeSource]
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not self.sources:
            raise InputError("several sources", "at least one", "none")
        if self.names and len(self.names) != len(self.sources):
            raise InputError("several sources, names", f"one for each of {len(self.sources):,}", len(self.names))

    @property
    def platform(self) -> Platform:
        """Return the machine of the first source."""
        return self.sources[0].platform

    def draw(self, rng: np.random.Generator) -> Episode:
        """Draw an episode of one of the sources."""
        return self.sources[int(rng.integers(len(self.sources)))].draw(rng)

    def all(self) -> Sequence[Episode]:
        """Return every episode of every source."""
        return [episode for source in self.sources for episode in source.all()]


def platform_of(source: EpisodeSource) -> Platform:
    """Return the machine of a source. Raises InputError for other objects."""
    if not hasattr(source, "draw"):
        raise InputError("episodes", "a source of them, such as Whole(platform, workload)", source)
    return source.platform


def machines_of(source: EpisodeSource, name: str = "episodes") -> list[tuple[str, Platform]]:
    """Return the machines of a source's episodes, each with the source's name in messages: its own, or ``name``."""
    if not isinstance(source, Several):
        return [(name, source.platform)]
    names = source.names or [f"{name}, source {number}" for number in range(len(source.sources))]
    return [
        machine for each, called in zip(source.sources, names, strict=True) for machine in machines_of(each, called)
    ]


def inputs_of(source: EpisodeSource) -> list[tuple[Platform, Workload]]:
    """Return the inputs of a source's episodes: its platform with its workload, or with each episode's."""
    if isinstance(source, Several):
        return [inputs for each in source.sources for inputs in inputs_of(each)]
    whole = getattr(source, "workload", None)
    if whole is not None:
        return [(source.platform, whole)]
    return [(episode.platform, episode.workload) for episode in source.all()]


def whole_pieces(pieces: Iterable[Episode], length: int) -> list[Episode]:
    """Return the pieces of full length that :class:`Trajectories` cuts a workload into, without the shorter one at its end."""
    return [piece for piece in pieces if len(piece.workload) == length]


def spread(episodes: Sequence[Thing], count: int) -> list[Thing]:
    """Return at most ``count`` of the episodes, or other things, evenly spread over them."""
    if len(episodes) <= count:
        return list(episodes)
    return [episodes[i * len(episodes) // count] for i in range(count)]


def consecutive(workload: Workload, first: int, length: int) -> Workload:
    """Return jobs ``first`` … of a workload, at most ``length``, with times from the first one's submission.

    Raises InputError for a first job that the workload does not have.
    """
    jobs = len(workload)
    if not 0 <= first < max(jobs, 1):
        raise InputError("first job", f"a position from 0 to {jobs - 1}", first)
    start = float(workload.columns["submit_time"][first]) if jobs else 0.0
    return workload.cut(first, min(first + length, jobs), start)


def _checked(workload: Workload) -> Workload:
    """Return the workload. Raises InputError for another object."""
    if not isinstance(workload, Workload):
        raise InputError("episodes, workload", "a workload, such as Workload.read gives", workload)
    return workload
