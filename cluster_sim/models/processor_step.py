"""One processor, step by step: how fast its tasks run, what it draws meanwhile, and what ends next.

The laws stand here once, pure: no clock that runs, no events. The memory channel of a run, predictions and the search for
an optimum all use them, in the same order of arithmetic, and so arrive at the same times to the last bit. A step is::

    demand = demand_of(groups)                      # MB/s
    adapt(groups, contention, demand, now)          # speeds, with progress credited
    due = next_end(groups)                          # s, if nothing else happens
    ended = complete(groups, due)                   # groups that end then; others may go on to another phase
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any, TypeVar

from cluster_sim.errors import InputError, counted
from cluster_sim.models.contention import Contention, ContentionModel, contention_models
from cluster_sim.models.power import Load, PowerModel, power_models, watts_by_cores
from cluster_sim.platform.hardware import POWER_PARAMETERS, check_power_parameters, is_number
from cluster_sim.platform.platform import Platform, ProcessorType
from cluster_sim.read_only import closed, shown
from cluster_sim.registry import describe
from cluster_sim.workload.phases import Phase as Phase


class TaskProgress:
    """The tasks of one job on one processor, and how far they are in the phases of their work.

    They always have the same rate and end together, so they are one unit. While a phase runs it has a planned finish,
    which every change of its speed supersedes.
    """

    __slots__ = ("bandwidth", "finish", "fixed", "later", "owner", "remaining", "since", "speed", "tasks")

    def __init__(self, owner: int, tasks: int, phases: Sequence[Phase], since: float, fixed: bool = False):
        self.owner = owner  #: Whose they are: a number that the caller chooses.
        self.tasks = tasks
        self.fixed = fixed  #: True if it waits rather than computes: no clock and no contention changes its time.
        self.speed = 1.0  #: Achieved over uncontended rate.
        self.later = phases  #: The phases to come.
        self.enter_phase(since)

    def enter_phase(self, now: float) -> None:
        """Begin the next phase."""
        seconds, self.bandwidth = self.later[0]  #: MB/s that each task asks for.
        self.later = self.later[1:]
        self.remaining = seconds  #: Work left in this phase at :attr:`since`, in seconds at full speed.
        self.since = now  #: When the speed last changed.
        self.finish = now + seconds / self.speed  #: When the phase ends if the speed stays.

    def change_speed(self, speed: float, now: float) -> None:
        """Credit the progress so far and go on at another speed."""
        remaining = self.remaining - (now - self.since) * self.speed
        self.remaining = remaining = remaining if remaining > 0.0 else 0.0
        self.since = now
        self.speed = speed
        self.finish = now + remaining / speed

    def change_rate(self, ratio: float, now: float) -> None:
        """Change the clock by ``ratio``: work left shrinks, and the bandwidth asked for grows, with it."""
        self.change_speed(self.speed, now)
        self.remaining /= ratio
        self.finish = now + self.remaining / self.speed
        self.bandwidth *= ratio
        self.later = [(seconds / ratio, bandwidth * ratio) for seconds, bandwidth in self.later]

    def copy(self) -> TaskProgress:
        """Return a copy that can be changed without changing this one."""
        other = TaskProgress.__new__(TaskProgress)
        other.owner, other.tasks, other.fixed, other.speed = self.owner, self.tasks, self.fixed, self.speed
        other.later, other.bandwidth, other.remaining = self.later, self.bandwidth, self.remaining
        other.since, other.finish = self.since, self.finish
        return other

    def left(self, now: float) -> float:
        """Work left at ``now``, all phases together, s at full speed."""
        return (self.finish - now) * self.speed + sum(seconds for seconds, _ in self.later)


Tasks = TypeVar("Tasks", bound=TaskProgress)


def demand_of(groups: Iterable[TaskProgress]) -> float:
    """Return the bandwidth that the running tasks of a processor ask for, MB/s."""
    return sum([group.tasks * group.bandwidth for group in groups])


def adapt(groups: Sequence[TaskProgress], contention: Contention, demand: float, now: float) -> None:
    """Change the speeds to what the contention model makes of this demand; below its threshold they are all 1."""
    if demand < contention.threshold:
        for group in groups:
            if group.speed != 1.0:
                group.change_speed(1.0, now)
        return
    computing = [group for group in groups if not group.fixed]
    speeds = contention.speedups([(group.tasks, group.bandwidth) for group in computing])
    for group, speed in zip(computing, speeds, strict=True):
        if speed != group.speed:
            group.change_speed(speed, now)


def next_end(groups: Iterable[TaskProgress]) -> float:
    """Return when the first of the phases that run ends, s; inf where none runs."""
    return min([group.finish for group in groups], default=math.inf)


def complete(groups: list[Tasks], due: float) -> list[Tasks]:
    """End the phases that are due; return the groups that have ended, which are taken out of ``groups``."""
    ended = []
    for group in groups:
        if group.finish <= due:
            if group.later:
                group.enter_phase(due)
            else:
                ended.append(group)
    for group in ended:
        groups.remove(group)
    return ended


Stretch = tuple[float, float, tuple[int, ...], tuple[float, ...]]
"""Start and end (s), the task groups of the processor that run meanwhile, by position, and the speed of each."""
Course = tuple[tuple[Stretch, ...], tuple[float, ...]]
"""The stretches of a processor, and when each of its task groups ends, s; 0 for one that had ended.

All tuples: thousands are remembered, and the garbage collector does not look into tuples of numbers.
"""


def course_of(groups: Sequence[tuple[int, float, float]], contention: Contention) -> Course:
    """Predict from now, time 0, if no group joins.

    ``groups`` are (tasks, seconds of work at full speed, MB/s that each task asks for), with one phase each. These are the
    steps above, with the same arithmetic, for forecasts, which are made by the hundred for each one that is lived through.
    """
    finish = [seconds for _, seconds, _ in groups]
    demands = [(tasks, bandwidth) for tasks, _, bandwidth in groups]
    left, since, speeds = finish.copy(), [0.0] * len(finish), [1.0] * len(finish)
    running = [i for i, seconds in enumerate(finish) if seconds > 0.0]
    now = 0.0
    course: list[Stretch] = []
    slows = True  # once nothing slows, nothing will: the demand only falls
    while running:
        wanted = [1.0] * len(running)
        if slows:
            asking = list(map(demands.__getitem__, running))
            slows = sum([tasks * bandwidth for tasks, bandwidth in asking]) >= contention.threshold
            wanted = contention.speedups(asking) if slows else wanted
            for i, speed in zip(running, wanted, strict=True):
                if speed != speeds[i]:
                    work = left[i] - (now - since[i]) * speeds[i]
                    left[i] = work = work if work > 0.0 else 0.0
                    since[i], speeds[i], finish[i] = now, speed, now + work / speed
        due = min(map(finish.__getitem__, running))
        course.append((now, due, tuple(running), tuple(wanted)))
        running = [i for i in running if finish[i] > due]
        now = due
    return tuple(course), tuple(finish)


def loads_of(groups: Iterable[TaskProgress], waiting: Iterable[int]) -> list[Load]:
    """Return what a power model looks at: running groups, and tasks of ended groups whose cores are still held.

    The latter wait actively, at full speed and without traffic.
    """
    loads = [(group.tasks, group.bandwidth, group.speed) for group in groups]
    loads += [(tasks, 0.0, 1.0) for tasks in waiting]
    return loads


_ROUNDING_W = 1e-9
"""Watts may be so far below 0."""


def _is_of_a_user(model: object) -> bool:
    """Return whether a model is not ours: then its answers are checked."""
    return type(model).__module__.partition(".")[0] != "cluster_sim"


class _Checked:
    """A user's contention model whose answers are looked at: time would stand still, or go back, with some speedups."""

    def __init__(self, contention: Contention, kind: ProcessorType, name: str):
        self._where = f"contention model {name}, processor type '{kind.name}'"
        threshold = getattr(contention, "threshold", math.nan)
        if not is_number(threshold) or threshold != threshold or not hasattr(contention, "speedups"):
            raise InputError(
                self._where, "on(…) to return what has a threshold, MB/s, and speedups(groups)", repr(contention)
            )
        self.threshold, self._speedups = threshold, contention.speedups

    def speedups(self, groups: Sequence[tuple[int, float]]) -> list[float]:
        """Return what the model says. Raises InputError unless there is a speedup in (0, 1] for each group."""
        found = self._speedups(groups)
        try:
            speeds = list(found)
        except TypeError:
            speeds = []
        if len(speeds) != len(groups):
            raise InputError(
                self._where, f"a list of speedups, one for each of {counted(len(groups), 'group')}", repr(found)
            )
        for speed in speeds:
            if not is_number(speed) or not 0.0 < speed <= 1.0:
                raise InputError(self._where, "speedups above 0, at most 1", repr(speed))
        return speeds


class ProcessorModel:
    """A type of processor with the models applied to it: how its tasks slow each other, what it draws."""

    __slots__ = ("_checks_watts", "contention", "courses", "follows_rates", "kind", "power", "watts")

    def __init__(self, kind: ProcessorType, contention: ContentionModel, power: PowerModel):
        self.kind = kind
        applied = contention.on(kind)
        self.contention = _Checked(applied, kind, describe(contention)) if _is_of_a_user(applied) else shown(applied)
        self.power = power
        self._checks_watts = _is_of_a_user(power)
        self.follows_rates = bool(getattr(power, "follows_rates", False))
        #: W with 0, 1, … all of its cores busy, for models that do not look at speeds.
        self.watts = watts_by_cores(power, kind)
        #: What :func:`course_of` has said of groups, for forecasts to remember.
        self.courses: dict[tuple[tuple[int, float, float], ...], Course] = {}
        self.__class__ = closed(ProcessorModel)

    def draw(self, loads: Sequence[Load]) -> tuple[float, list[float]]:
        """Return W with these task groups on it, for models that look at speeds: shared watts, and each group's own.

        Raises InputError if a user's power model returns anything else.
        """
        if not loads:
            return self.watts[0], []
        found: tuple[float, list[float]] = self.power.loaded_watts(self.kind, loads)  # type: ignore[attr-defined]
        if not self._checks_watts:
            return found
        try:
            shared, own = found
            drawn = float(shared), [float(watts) for watts in own]  # a user's model may give any kind of number
        except (TypeError, ValueError):
            drawn = math.nan, []
        least = min((drawn[0], *drawn[1]))
        if len(drawn[1]) != len(loads) or not (least >= -_ROUNDING_W and drawn[0] + sum(drawn[1]) < math.inf):
            where = f"power model {describe(self.power)}, processor type '{self.kind.name}', loaded_watts"
            expected = f"finite watts: the shared ones, and a list of {len(loads):,} for the groups"
            raise InputError(where, expected, repr(found))
        return drawn


class ProcessorModels:
    """Types of processors with the models applied to them, each made when it is first asked for.

    The models are pure and the types frozen, so one object may serve any number of runs.
    """

    def __init__(self, contention: ContentionModel, power: PowerModel):
        self.contention = contention
        self.power = power
        #: Return a type with the models applied.
        self.of: Callable[[ProcessorType], ProcessorModel] = cache(lambda kind: ProcessorModel(kind, contention, power))
        #: Return W of a type with 0, 1, … all of its cores busy: by itself, as not every run looks at contention.
        self.watts: Callable[[ProcessorType], tuple[float, ...]] = cache(partial(watts_by_cores, power))
        self.__class__ = closed(ProcessorModels)


@cache
def _built_in_power_models() -> dict[object, str]:
    """Return the names of the built-in power models by their classes."""
    factories: dict[str, Any] = {name: power_models.factory(name) for name in POWER_PARAMETERS}
    return {kind: name for name, factory in factories.items() for kind in (factory, closed(factory))}


def models_of(
    platform: Platform, contention: ContentionModel | str | None = None, power: PowerModel | str | None = None
) -> ProcessorModels:
    """Return the models that are asked for, as objects or specs, else the platform's own.

    Raises InputError for unknown names, and for parameters of a processor that they cannot take.
    """
    contention = platform.contention_model if contention is None else contention
    own_power, power = power is None, platform.power_model if power is None else power
    models = ProcessorModels(
        contention_models.make(contention) if isinstance(contention, str) else contention,
        power_models.make(power) if isinstance(power, str) else power,
    )
    for kind in platform.processor_types:  # now, not when two jobs meet on one
        models.contention.on(kind)
        if not own_power:  # the platform has checked those of its own
            check_power_parameters(kind, _built_in_power_models().get(type(models.power), ""))
    for model in (models.contention, models.power):
        if not _is_of_a_user(model):  # a user's own may count, or remember
            model.__class__ = closed(type(model))
    return models
