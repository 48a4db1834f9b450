"""Kinds of hardware that a platform is made of: processor types, node types, groups of equal nodes, clusters.

They are immutable and hashable, so that equal descriptions are equal types. When made they check their values, and keep
numbers as Python's own: counts as int, all else as float.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, replace
from difflib import get_close_matches
from typing import Any, NoReturn, Self, TypeGuard, TypeVar

import numpy as np

from cluster_sim.errors import InputError, told_apart
from cluster_sim.files.documents import MAX_NAME
from cluster_sim.platform.boot_times import boot_times
from cluster_sim.registry import Spec
from cluster_sim.spelling import nearest

Value = TypeVar("Value")

MAX_NODES = 10_000_000
MAX_CORES = 100_000_000
MAX_PROCESSORS_PER_NODE = 10_000
MAX_P_STATES = 1000
MAX_UNITS = 1_000_000
"""Most units of one resource in a node, and of one pool."""
MOST_PARAMETER = 1e100
"""Largest parameter of a contention model: far beyond any hardware, but no result overflows."""

LINEAR_POWER = ("static_w", "dynamic_w", "min_power")
POLYNOMIAL_POWER = ("idle_w", "p00", "p10", "p01", "p20", "p11", "p02")
POWER_PARAMETERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("linear", "baseline", "stall-aware", "idle"), LINEAR_POWER),
    "polynomial": POLYNOMIAL_POWER,
}
"""Parameters of a processor that each built-in power model knows."""
POWER_NAMES = tuple(dict.fromkeys(name for names in POWER_PARAMETERS.values() for name in names))
"""Parameters of all power models: a processor may have those of several."""
PIECEWISE_CONTENTION = ("b", "c", "da", "db", "dc", "dd")
GOMPERTZ_CONTENTION = tuple("aaa aab aba abb baa bab bba bbb caa cab cba cbb cca ccb daa dab dba dbb".split())
ROOFLINE_CONTENTION = ("bandwidth",)

CONTENTION_PARAMETERS: dict[str, tuple[str, ...]] = {
    "piecewise": PIECEWISE_CONTENTION,
    "gompertz": GOMPERTZ_CONTENTION,
    "roofline": ROOFLINE_CONTENTION,
}
"""Parameters that each built-in contention model needs of a processor that contends at all."""

RESOURCE_NAME = r"[^\W\d][\w.+@-]*"
"""Pattern of the name of a resource or licence: jobs ask for it in a list with signs between."""
_UNIT_TYPE = re.compile(r"[\w.+:-]+")
"""Pattern of a type of units, such as ``a100`` or ``1g.5gb``; jobs name several with ``|`` between."""

# Cluster ids appear in allocations such as `cluster0.node1.processor0:0-3;…` and in CSV.
# An id that ends as a node's name does could be taken for one.
_CLUSTER_ID = re.compile(r"(?!.*\.node[0-9]*$)[^\s,;:\"'\\/]+")


def check_name(where: str, name: object) -> None:
    """Raise InputError unless ``name`` can be printed on a line."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > MAX_NAME:
        raise InputError(where, f"1 to {MAX_NAME} printable characters", name)


def is_count(value: object, most: int, least: int = 1) -> TypeGuard[int | np.integer[Any]]:
    """Return whether ``value`` is an integer, and no truth value, from ``least`` to ``most``."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(least <= value <= most)


def check_count(where: str, value: object, most: int, least: int = 1) -> int:
    """Return ``value`` as an int. Raises InputError unless it is an integer from ``least`` to ``most``."""
    if not is_count(value, most, least):
        raise InputError(where, f"an integer from {least} to {most}", told_apart(value))
    return int(value)


def check_truth(where: str, value: object) -> None:
    """Raise InputError unless ``value`` is True or False: any text would count as true, ``"no"`` as well."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(where, "True or False", told_apart(value))


def is_number(value: object) -> TypeGuard[float]:
    """Return whether ``value`` is a number, and no truth value; infinity and NaN are numbers."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def check_number(where: str, value: object, positive: bool = False, non_negative: bool = False) -> float:
    """Return ``value`` as a float. Raises InputError unless it is a finite number of that sign."""
    try:
        number = float(value) if is_number(value) else math.nan
    except OverflowError:
        number = math.inf
    kind = "positive" if positive else "non-negative" if non_negative else ""
    if not math.isfinite(number) or (positive and number <= 0) or (non_negative and number < 0):
        raise InputError(where, f"a finite {kind} number", told_apart(value))
    return number


def _settle(described: object, **values: object) -> None:
    """Give a frozen description its values in the form in which everything else finds them."""
    for name, value in values.items():
        object.__setattr__(described, name, value)


class Frozen(dict[str, Value]):
    """A frozen, hashable mapping; the order of its keys does not count."""

    __slots__ = ()

    def __init__(self, values: Mapping[str, Value] | Iterable[tuple[str, Value]] = ()):
        super().__init__((str(name), value) for name, value in sorted(dict(values).items()))

    def __missing__(self, name: str) -> NoReturn:
        raise KeyError(f"{name}: expected {nearest(name, self)}")

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({super().__repr__()})"

    def __reduce__(self) -> tuple[type[Self], tuple[dict[str, Value]]]:
        return type(self), (dict(self),)

    def __or__(self, other: Any) -> Self:  # type: ignore[override]
        return type(self)({**self, **other})

    def copy(self) -> Self:
        """Return the same mapping: it cannot be changed."""
        return self

    def _refuse(self, *arguments: object, **keywords: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__.lower()} cannot be changed: make others")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse


class Parameters(Frozen[float]):
    """Parameters of a model."""

    __slots__ = ()


class Resources(Frozen["Resource"]):
    """The counted resources of a node, by name."""

    __slots__ = ()


def _parameters(where: str, values: Mapping[str, float]) -> Parameters:
    if not isinstance(values, Mapping):
        raise InputError(where, "a mapping of names to numbers", values)
    return Parameters({name: check_number(f"{where}.{name}", value) for name, value in values.items()})


@dataclass(frozen=True, slots=True)
class PState:
    """A performance state of a processor: a clock, and the parameters of the power model at it.

    Without ``power``, static and dynamic watts follow those of the processor's type by the square of the clock.
    """

    clock_ghz: float
    power: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class ProcessorType:
    """A kind of processor (socket): cores that share one clock and the memory channel.

    ``power``: parameters of the power model, in W; the ``linear`` model takes ``static_w`` (per processor),
    ``dynamic_w`` (per busy core) and ``min_power`` (fraction of ``static_w`` drawn when idle). Empty means 0 W.
    ``contention``: parameters of the contention model; ``piecewise`` takes ``b, c, da, db, dc, dd`` (MB/s),
    ``roofline`` takes ``bandwidth`` (MB/s), ``gompertz`` the eighteen of GOMPERTZ_CONTENTION. Those of several models
    may stand together. Empty means that tasks on this processor never slow each other.
    ``p_states``: all the states in which it can run, that of ``clock_ghz`` and ``power`` among them; it starts in that
    one. Empty means that there is no other.
    Raises InputError for an impossible value.
    """

    name: str
    cores: int
    clock_ghz: float
    flops_per_cycle: float = 1.0
    power: Mapping[str, float] = Parameters()
    contention: Mapping[str, float] = Parameters()
    p_states: tuple[PState, ...] = ()

    def __post_init__(self) -> None:
        where = f"processor type '{self.name}'"
        check_name("name of a processor type", self.name)
        _settle(
            self,
            cores=check_count(f"{where}, cores", self.cores, MAX_CORES),
            clock_ghz=check_number(f"{where}, clock_ghz", self.clock_ghz, positive=True),
            flops_per_cycle=check_number(f"{where}, flops_per_cycle", self.flops_per_cycle, positive=True),
            power=_parameters(f"{where}, power", self.power),
            contention=_parameters(f"{where}, contention", self.contention),
        )
        check_number(f"{where}, clock_ghz × flops_per_cycle", self.ops_per_s, positive=True)
        if self.p_states:
            check_count(f"{where}, number of p_states", len(self.p_states), MAX_P_STATES)
            states = []
            for i, state in enumerate(self.p_states):
                ghz = check_number(f"{where}, p_states[{i}].clock_ghz", state.clock_ghz, positive=True)
                power = power_by_square(self.power, ghz / self.clock_ghz) if state.power is None else state.power
                states.append(PState(ghz, _parameters(f"{where}, p_states[{i}].power", power)))
            _settle(self, p_states=tuple(states))

    @property
    def p_state(self) -> int | None:
        """Return the position of the current state in :attr:`p_states`; None for a clock or watts of no p-state."""
        if not self.p_states:
            return 0
        now = PState(self.clock_ghz, self.power)
        return self.p_states.index(now) if now in self.p_states else None

    def in_p_state(self, number: int) -> ProcessorType:
        """Return the processor in another of its p-states. Raises InputError when it has no such state."""
        count = max(len(self.p_states), 1)
        if not is_count(number, count - 1, 0):
            raise InputError(f"processor type '{self.name}', p-state", f"a number from 0 to {count - 1}", number)
        if not self.p_states:
            return self
        state = self.p_states[number]
        return replace(self, clock_ghz=state.clock_ghz, power=state.power or Parameters())

    @property
    def ops_per_s(self) -> float:
        """Return the peak rate of one core, operations per second."""
        return self.clock_ghz * self.flops_per_cycle * 1e9

    @property
    def gflops(self) -> float:
        """Return the peak rate of one core, 1e9 operations per second."""
        return self.ops_per_s / 1e9


def p_state_of(kind: ProcessorType, nominal: ProcessorType) -> int | None:
    """Return the p-state of a processor that is ``kind`` now and began as ``nominal``; None for a clock of no state."""
    if kind.p_states:
        return kind.p_state
    return 0 if kind == nominal else None


def power_by_square(power: Mapping[str, float], ratio: float) -> dict[str, float]:
    """Return the parameters at ``ratio`` times the clock: watts follow its square (Cruz 2023, processor table)."""
    watts = {name: power[name] * ratio**2 for name in ("static_w", "dynamic_w") if name in power}
    return {**power, **watts}


@dataclass(frozen=True, slots=True)
class PowerTransitions:
    """Costs of switching a node off and on: watts of the whole node, seconds.

    ``switch_on_w`` and ``switch_off_w`` are drawn during the transition; None stands for the node's idle watts. Instead,
    ``switch_on_j`` and ``switch_off_j`` say what a transition (of mean length) takes in all, drawn evenly: they become its
    watts. ``failed_w`` are drawn from a failure to the repair.
    ``switch_on_distribution`` has every boot take a time of its own, drawn with the run's seed: a spec such as
    ``uniform:50,70``, see :class:`~cluster_sim.platform.boot_times.BootTimes`. ``switch_on_s`` is then its mean, which is what
    schedulers expect.
    """

    off_w: float = 0.0
    switch_on_s: float = 0.0
    switch_on_w: float | None = None
    switch_off_s: float = 0.0
    switch_off_w: float | None = None
    switch_on_distribution: str = ""
    failed_w: float = 0.0
    switch_on_j: InitVar[float | None] = None
    switch_off_j: InitVar[float | None] = None

    def __post_init__(self, switch_on_j: float | None, switch_off_j: float | None) -> None:
        for name in ("off_w", "switch_on_s", "switch_on_w", "switch_off_s", "switch_off_w", "failed_w"):
            value = getattr(self, name)
            if value is not None:
                _settle(self, **{name: check_number(f"power transitions, {name}", value, non_negative=True)})
        if self.switch_on_distribution:
            mean = boot_times(self.switch_on_distribution).mean
            if self.switch_on_s not in (0.0, mean):
                expected = f"{mean:g}, the mean of {self.switch_on_distribution}, or nothing"
                raise InputError("power transitions, switch_on_s", expected, self.switch_on_s)
            _settle(self, switch_on_s=mean)
        self._spread("switch_on", switch_on_j)
        self._spread("switch_off", switch_off_j)

    def _spread(self, kind: str, joules: float | None) -> None:
        """Give a transition the watts that draw so many joules, evenly.

        Raises InputError if it has watts, or takes no time.
        """
        if joules is None:
            return
        where = f"power transitions, {kind}_j"
        energy = check_number(where, joules, non_negative=True)
        seconds = getattr(self, f"{kind}_s")
        if getattr(self, f"{kind}_w") is not None:
            raise InputError(where, f"either {kind}_j or {kind}_w", "both")
        if not seconds:
            raise InputError(where, f"a {kind}_s above 0 to spread the energy over", "0 s")
        _settle(self, **{f"{kind}_w": check_number(where, energy / seconds)})

    def scaled(self, factor: float) -> PowerTransitions:
        """Return the transitions with all watts times ``factor``.

        Figures per core become those of a node with that many cores.
        """
        scaled = {
            name: getattr(self, name) * factor
            for name in ("off_w", "switch_on_w", "switch_off_w", "failed_w")
            if getattr(self, name) is not None
        }
        return replace(self, **scaled)


def check_resource_name(where: str, name: object) -> None:
    """Raise InputError unless ``name`` can stand in a job's list of resources."""
    if not isinstance(name, str) or not re.fullmatch(RESOURCE_NAME, name) or len(name) > MAX_NAME:
        raise InputError(where, "a name of letters, digits, '_', '.', '+', '@' and '-' that begins with a letter", name)


@dataclass(frozen=True, slots=True)
class Resource:
    """Units of a node that jobs can ask for: ``count`` GPUs, FPGAs, disks.

    ``type`` tells what kind of units they are, such as ``a100``. ``memory_gb`` is the memory of one unit, for the record. A
    unit draws ``idle_w`` while its node is on, and ``max_w`` (by default as much) while the tasks of a job have it; of a job
    that has a share of it, that share of the difference. Under ``cap_w`` a unit draws no more than that.
    Raises InputError for an impossible value.
    """

    count: int
    type: str = ""
    memory_gb: float | None = None
    idle_w: float = 0.0
    max_w: float | None = None
    cap_w: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.type, str) or (self.type and not _UNIT_TYPE.fullmatch(self.type)):
            raise InputError("resource, type", "letters, digits and the signs . + : - _", self.type)
        idle_w = check_number("resource, idle_w", self.idle_w, non_negative=True)
        _settle(self, count=check_count("resource, count", self.count, MAX_UNITS, least=0), idle_w=idle_w)
        for name in ("memory_gb", "max_w", "cap_w"):
            value = getattr(self, name)
            if value is not None:
                _settle(self, **{name: check_number(f"resource, {name}", value, non_negative=True)})
        for name in ("max_w", "cap_w"):
            value = getattr(self, name)
            if value is not None and value < idle_w:
                raise InputError(f"resource, {name}", f"at least the {idle_w:g} W of idle_w", value)

    @property
    def busy_w(self) -> float:
        """Return what a unit draws more while tasks have it than when it is idle, W."""
        most = self.idle_w if self.max_w is None else self.max_w
        return (most if self.cap_w is None else min(most, self.cap_w)) - self.idle_w


@dataclass(frozen=True, slots=True)
class NodeType:
    """A kind of node: its processors, memory capacity in GB (None: unlimited), transitions, initial state and tags.

    ``resources`` are counted units by name, such as ``{"gpu": Resource(4, "a100")}``; a number stands for units that draw
    nothing. ``hosts`` of several cores each make up a node that a SimGrid file describes; 0: each of its cores is a host.
    """

    name: str
    processors: tuple[ProcessorType, ...]
    memory_gb: float | None = None
    transitions: PowerTransitions = PowerTransitions()
    initially_off: bool = False
    tags: frozenset[str] = frozenset()
    hosts: int = 0
    resources: Mapping[str, Resource] = Resources()

    def __post_init__(self) -> None:
        where = f"node type '{self.name}'"
        check_name("name of a node type", self.name)
        for name in self.resources:
            check_resource_name(f"{where}, resources", name)
        counted = {
            name: each if isinstance(each, Resource) else Resource(each) for name, each in self.resources.items()
        }
        _settle(self, resources=Resources(counted))
        _settle(self, processors=tuple(self.processors), tags=frozenset(self.tags))
        check_count(f"{where}, number of processors", len(self.processors), MAX_PROCESSORS_PER_NODE)
        check_count(f"{where}, cores", self.cores, MAX_CORES)
        check_count(f"{where}, hosts", self.hosts, self.cores, least=0)
        if self.hosts and len(self.processors) > 1:
            raise InputError(f"{where}, hosts", "a node of one processor", f"{len(self.processors)} processors")
        for tag in self.tags:
            check_name(f"{where}, tags", tag)
        if self.memory_gb is not None:
            _settle(self, memory_gb=check_number(f"{where}, memory_gb", self.memory_gb, non_negative=True))

    @property
    def cores(self) -> int:
        """Return the number of cores of all processors of the node."""
        return sum(processor.cores for processor in self.processors)

    @property
    def idle_resource_w(self) -> float:
        """Return what its counted resources draw while the node is on and no job has them, W."""
        return sum(each.count * each.idle_w for each in self.resources.values())

    @property
    def of_hosts(self) -> NodeType:
        """Return the node as Batsim uses it: a core for each host, as a job computes on one core of each host."""
        if not self.hosts:
            return self
        (processor,) = self.processors
        # Another name: nodes whose cores count may have the same processor.
        counted = replace(processor, name=f"{processor.name}, {self.hosts} of hosts", cores=self.hosts)
        return replace(self, processors=(counted,), hosts=0)

    @property
    def gflops(self) -> float:
        """Return the peak rate of all cores of the node together, 1e9 operations per second."""
        return sum(processor.cores * processor.gflops for processor in self.processors)


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """``count`` equal nodes; 0 is allowed and means none."""

    type: NodeType
    count: int

    def __post_init__(self) -> None:
        _settle(self, count=check_count(f"nodes of type '{self.type.name}', count", self.count, MAX_NODES, least=0))


@dataclass(frozen=True, slots=True)
class Cluster:
    """A named list of node groups; its nodes are numbered from 0 through all groups."""

    id: str
    groups: tuple[NodeGroup, ...]

    def __post_init__(self) -> None:
        check_name("id of a cluster", self.id)
        if not _CLUSTER_ID.fullmatch(self.id):
            raise InputError(
                f"cluster '{self.id}'",
                "an id without spaces, quotes, slashes, any of , ; : or '.node1' at its end",
                self.id,
            )
        _settle(self, groups=tuple(self.groups))

    @property
    def node_count(self) -> int:
        """Return the number of nodes of all groups."""
        return sum(group.count for group in self.groups)


def check_parameters(processor: ProcessorType, contention_model: str, power_model: str) -> None:
    """Refuse parameters that the built-in models cannot take; those of other models are their own affair.

    Raises InputError naming the processor type and the parameter.
    """
    where = f"processor type '{processor.name}'"
    check_power_parameters(processor, Spec.parse(power_model).name)
    if processor.p_states and processor.p_state is None:
        found = f"none of {processor.clock_ghz:g} GHz with its watts"
        raise InputError(f"{where}, p_states", "the state in which it starts among them", found)
    model = Spec.parse(contention_model)
    if model.name == "roofline" and (model.options or model.positional) and "bandwidth" not in processor.contention:
        return  # the spec has a bandwidth for those that have none
    if processor.contention:
        check_contention_parameters(processor, model.name)


def check_power_parameters(processor: ProcessorType, model: str) -> None:
    """Refuse parameters that a built-in power model cannot take. Raises InputError naming type and parameter."""
    where = f"processor type '{processor.name}'"
    if known := POWER_PARAMETERS.get(model):
        _check_power(where, processor.power, known)
        for i, state in enumerate(processor.p_states):
            _check_power(f"{where}, p_states[{i}]", state.power or {}, known)


def _check_power(where: str, power: Mapping[str, float], known: Sequence[str]) -> None:
    for name in power:  # other models may have parameters of their own beside these
        if name not in POWER_NAMES and (meant := get_close_matches(name, known, 1, 0.8)):
            raise InputError(f"{where}, power", f"{', '.join(known)} (the nearest is {meant[0]})", name)
    for name in {"static_w", "dynamic_w", "idle_w"}.intersection(known):
        check_number(f"{where}, power.{name}", power.get(name, 0.0), non_negative=True)
    least = power.get("min_power", 1.0)
    if "min_power" in known and not 0 <= least <= 1:
        raise InputError(f"{where}, power.min_power", "a fraction from 0 to 1", least)


def check_contention_parameters(processor: ProcessorType, model: str) -> None:
    """Refuse parameters that a built-in contention model cannot take. Raises InputError naming type and parameter."""
    where, given = f"processor type '{processor.name}'", processor.contention
    needed = CONTENTION_PARAMETERS.get(model, ())
    for name in needed:
        if name not in given:
            expected = f"all of {', '.join(needed)}"
            if model == "roofline":
                expected = "bandwidth, MB/s, or one for all that have none: roofline:bandwidth=MB/s"
            raise InputError(f"{where}, contention", expected, f"no {name}")
    if model == "piecewise":
        if given["b"] >= 0:
            raise InputError(f"{where}, contention.b", "a negative number", given["b"])
        check_number(f"{where}, contention.c", given["c"], non_negative=True)
        for name in needed:
            if abs(given[name]) > MOST_PARAMETER:
                raise InputError(f"{where}, contention.{name}", f"at most {MOST_PARAMETER:g}, of any sign", given[name])
    elif model == "roofline":
        check_number(f"{where}, contention.bandwidth", given["bandwidth"], positive=True)


def check_contention(processor: ProcessorType) -> str | None:
    """Return why the piecewise contention of a processor cannot be taken at its word; None when it can.

    The model divides by ``dc − n·dd``, n being the other tasks on the processor. Some published platforms let that
    fall to zero or below for an n that the processor can have; the model then takes s(q) = 0.
    """
    dc, dd = processor.contention.get("dc"), processor.contention.get("dd")
    if dc is None or dd is None:
        return None
    first = 0 if dc <= 0 else math.ceil(min(dc / dd, processor.cores)) if dd > 0 else processor.cores
    # The quotient is rounded, one way or the other; what the model computes is the difference.
    if first > 0 and dc - (first - 1) * dd <= 0:
        first -= 1
    elif first < processor.cores and dc - first * dd > 0:
        first += 1
    if first >= processor.cores:
        return None
    return (
        f"processor type '{processor.name}': contention parameters give dc - n*dd = {dc - first * dd:g} with "
        f"n = {first} other tasks (it can have {processor.cores - 1}); s(q) = 0 is used from there on"
    )
