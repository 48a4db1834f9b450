"""Settings of a slurm.conf on how jobs are scheduled, as numbers, with Slurm's defaults for what it leaves out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cluster_sim.errors import FormatError, InputError, ModelWarning, warn_user
from cluster_sim.formats.slurm import conf_values as values
from cluster_sim.formats.slurm.conf_keys import Switches, is_finite
from cluster_sim.platform.platform import Platform
from cluster_sim.platform.slurm import DEFAULTS, Partition, SlurmMachine
from cluster_sim.platform.switches import TOP
from schedulers.slurm.priority.factors import Factors

_WHO = "scheduler 'slurm'"
_WITHOUT_EFFECT = ("sched_min_interval",)
_ENDLESS = ("UNLIMITED", "INFINITE")
_ROUTING = frozenset(
    map(str.lower, "NoCtldInAddrAny NoInAddrAny RoutePart RouteTree SwitchAsNodeRank BlockAsNodeRank".split())
)
"""Words of TopologyParam that change no schedule."""
_ENFORCED = {**dict.fromkeys(values.YES, "ANY"), **dict.fromkeys(values.NO, "NO")}
"""Values of EnforcePartLimits that mean ANY or NO."""
"""Of the time that passes take, of which there is none here; what is said of it has to be numbers nevertheless."""


PREEMPT_MODES = ("OFF", "REQUEUE", "CANCEL", "SUSPEND")
"""Values of PreemptMode beside GANG."""


@dataclass(frozen=True, slots=True)
class PreemptSettings:
    """Settings of preemption: who takes nodes from whom, and how. Times in s."""

    by_qos: bool  #: preempt/qos; otherwise preempt/partition_prio.
    mode: str  #: Where a partition, or a quality of service, has none of its own.
    gang: bool  #: Jobs of a higher tier run on cores of others, which are suspended meanwhile.
    modes: Mapping[str, str]  #: Modes of the partitions that have their own, by their names.
    grace: Mapping[str, float]  #: How long jobs go on when they are preempted, by partition.
    exempt_time: float = 0.0  #: How long jobs run before they may be preempted.
    may_requeue: bool = True  #: JobRequeue; otherwise those that would be requeued are cancelled.
    youngest_first: bool = False
    strict_order: bool = False
    reorder_count: int = 1
    pause: float = 40.0  #: KillWait and MessageTimeout: no job takes nodes from more jobs before that is over.


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the scheduler. Times in s. Names are Slurm's, of ``SchedulerParameters`` and of keys of their own."""

    builtin: bool = False  #: sched/builtin: there is no backfill.
    multifactor: bool = False  #: priority/multifactor; otherwise priority/basic.
    whole_nodes: bool = True  #: select/linear; otherwise cons_tres, which gives out cores.
    counts_memory: bool = False
    bf_interval: float = 30.0
    bf_resolution: float = 60.0
    bf_window: float = 86400.0
    bf_max_job_test: int = 500
    bf_max_job_user: int = 0
    bf_max_job_part: int = 0
    bf_max_job_assoc: int = 0
    bf_max_job_user_part: int = 0
    bf_max_job_start: int = 0
    bf_max_job_array_resv: int = 20
    bf_node_space_size: int = 500
    bf_min_age_reserve: float = 0.0
    bf_min_prio_reserve: int = 0
    bf_window_linear: float = 0.0
    bf_licenses: bool = False
    bf_yield_interval: float = 2.0  #: s
    bf_yield_sleep: float = 0.5  #: s
    bf_max_time: float = 30.0
    bf_continue: bool = False
    default_queue_depth: int = 100
    topology: str = (
        ""  #: How nodes are chosen by the switches above them: ``tree`` or ``dragonfly``; empty: they are not.
    )
    max_switch_wait: float = 300.0
    enforce_part_limits: str = "NO"  #: ALL, ANY or NO of its partitions have to admit a job when it is submitted.
    batch_sched_delay: float = 3.0
    sched_interval: float = 60.0
    over_time_limit: float = 0.0
    kill_wait: float = 30.0
    def_memory_per_cpu: float = 0.0  #: MB.
    def_memory_per_node: float = 0.0
    licences: Mapping[str, int] | None = None
    preempt: PreemptSettings | None = None

    @property
    def bf_limits_tests(self) -> bool:
        """Return whether a backfill pass tests only so many jobs of a user, a partition or an association."""
        return bool(self.bf_max_job_part or self.bf_max_job_user_part or self.bf_max_job_user or self.bf_max_job_assoc)

    @classmethod
    def of(cls, machine: SlurmMachine) -> Settings:
        """Return those of a configuration.

        Raises FormatError for a value that cannot be, InputError for what is not simulated, and for what Slurm 22.05 does not
        start with.
        """
        usual, switches = cls(), Switches(machine.parameters, [each.options for each in machine.partitions])
        _refuse(machine, switches)
        # Slurm refuses values that cannot be also where they count for nothing.
        Factors.of(machine, are_used=False)
        parameters = _Parameters(machine.said("SchedulerParameters"), machine.where("SchedulerParameters"))
        tests = parameters.whole("bf_max_job_test", usual.bf_max_job_test)
        for name in _WITHOUT_EFFECT:
            parameters.number(name, 0.0)
        whole_nodes = _has_whole_nodes(machine)
        select = _select_parameters(machine, whole_nodes)
        bf_interval = parameters.number("bf_interval", usual.bf_interval, least=1.0)
        kill_wait = float(_whole(machine, "KillWait"))
        of_a_node = _whole(machine, "DefMemPerNode")
        licences = machine.said("Licenses")
        enforced = machine.said("EnforcePartLimits").upper()
        is_endless = machine.said("OverTimeLimit").upper() in _ENDLESS
        return cls(
            builtin=machine.said("SchedulerType").lower().endswith("builtin"),
            multifactor=switches.multifactor,
            whole_nodes=whole_nodes,
            counts_memory="memory" in select,
            bf_interval=bf_interval,
            bf_resolution=parameters.number("bf_resolution", usual.bf_resolution),
            bf_window=60.0 * parameters.number("bf_window", usual.bf_window / 60.0),
            bf_max_job_test=tests,
            bf_max_job_user=parameters.whole("bf_max_job_user", usual.bf_max_job_user),
            bf_max_job_part=parameters.whole("bf_max_job_part", usual.bf_max_job_part),
            bf_max_job_assoc=parameters.whole("bf_max_job_assoc", usual.bf_max_job_assoc),
            bf_max_job_user_part=parameters.whole("bf_max_job_user_part", usual.bf_max_job_user_part),
            bf_max_job_start=parameters.whole("bf_max_job_start", usual.bf_max_job_start),
            bf_max_job_array_resv=parameters.whole("bf_max_job_array_resv", usual.bf_max_job_array_resv),
            bf_node_space_size=parameters.whole("bf_node_space_size", tests),
            bf_min_age_reserve=parameters.number("bf_min_age_reserve", usual.bf_min_age_reserve),
            bf_min_prio_reserve=parameters.whole("bf_min_prio_reserve", usual.bf_min_prio_reserve),
            bf_window_linear=parameters.number("bf_window_linear", usual.bf_window_linear),
            bf_licenses=parameters.has("bf_licenses"),
            bf_yield_interval=parameters.number("bf_yield_interval", 1e6 * usual.bf_yield_interval) / 1e6,
            bf_yield_sleep=parameters.number("bf_yield_sleep", 1e6 * usual.bf_yield_sleep) / 1e6,
            bf_max_time=parameters.number("bf_max_time", bf_interval),
            bf_continue=parameters.has("bf_continue"),
            default_queue_depth=parameters.whole("default_queue_depth", usual.default_queue_depth),
            topology=_topology(machine, switches, whole_nodes),
            max_switch_wait=parameters.number("max_switch_wait", usual.max_switch_wait),
            enforce_part_limits=_ENFORCED.get(enforced, enforced),
            batch_sched_delay=parameters.number("batch_sched_delay", usual.batch_sched_delay),
            sched_interval=parameters.number("sched_interval", usual.sched_interval, least=1.0),
            over_time_limit=math.inf if is_endless else 60.0 * _whole(machine, "OverTimeLimit"),
            kill_wait=kill_wait,
            def_memory_per_cpu=0 if of_a_node else _whole(machine, "DefMemPerCPU"),
            def_memory_per_node=of_a_node,
            licences=licences_of(licences, machine.where("Licenses")) if licences else None,
            preempt=_preemption(machine, switches, parameters, whole_nodes, kill_wait),
        )


def licences_of(text: str, where: str = "Licenses") -> dict[str, int]:
    """Count the licences of ``foo:4,bar``; also with ``;`` and ``=`` for the signs between. Raises FormatError."""
    counts: dict[str, int] = {}
    for part in filter(None, text.replace(";", ",").split(",")):
        name, _, count = part.strip().replace("=", ":").partition(":")
        if not name or (count and not count.isdigit()):
            raise FormatError(where, "licences such as foo:4,bar", text)
        counts[name] = counts.get(name, 0) + int(count or 1)
    return counts


def _refuse(machine: SlurmMachine, switches: Switches) -> None:
    """Raise InputError for what is switched on, would make another schedule, and is not simulated."""
    given = machine.parameters
    if switches.power_saving:
        expected = "INFINITE: power saving (SuspendProgram and ResumeProgram) is not simulated"
        for where, time in (
            (machine.where("SuspendTime"), given.get("suspendtime", "")),
            *((_place(each, "SuspendTime"), each.options.get("suspendtime", "")) for each in machine.partitions),
        ):
            if is_finite(time):
                raise InputError(f"{_WHO}, {where}", expected, time)
    for each in machine.partitions:
        kind, _, jobs = each.over_subscribe.partition(":")
        if kind == "FORCE" and int(jobs or 4) > 1 and each.nodes:
            expected = "NO, YES, EXCLUSIVE or FORCE:1: several jobs on a core at once are not simulated"
            raise InputError(f"{_WHO}, {_place(each, 'OverSubscribe')}", expected, each.over_subscribe)


def _topology(machine: SlurmMachine, switches: Switches, whole_nodes: bool) -> str:
    """Read how nodes are chosen by their switches. Raises InputError for what is not simulated with TopologyPlugin."""
    words = {word.lower() for word in filter(None, re.split(r"[,\s]+", machine.said("TopologyParam")))}
    plugin = machine.said("TopologyPlugin")
    if not switches.topology:
        return ""
    where = f"{_WHO}, {machine.where('TopologyPlugin')}"
    if plugin.lower() not in ("topology/tree", "tree"):
        raise InputError(where, "topology/tree or topology/none: others are not simulated", plugin)
    for word in words - _ROUTING - {"dragonfly"}:
        expected = "Dragonfly, or words that are about messages only: others are not simulated"
        raise InputError(f"{_WHO}, {machine.where('TopologyParam')}", expected, word)
    if whole_nodes:
        raise InputError(
            where, "SelectType=select/cons_tres: it is simulated with no other", machine.said("SelectType")
        )
    for each in machine.partitions:
        if each.nodes and each.over_subscribe != "EXCLUSIVE":
            expected = "EXCLUSIVE: with TopologyPlugin only whole nodes are simulated"
            raise InputError(f"{_WHO}, {_place(each, 'OverSubscribe')}", expected, each.over_subscribe)
    if len(set(machine.weights)) > 1:
        raise InputError(where, "nodes of one Weight: others are not simulated", f"{len(set(machine.weights))} weights")
    if switches.preemption:
        raise InputError(
            where, "PreemptType=preempt/none: preemption is not simulated with it", machine.said("PreemptType")
        )
    return "dragonfly" if "dragonfly" in words else "tree"


def check_topology(platform: Platform, settings: Settings) -> None:
    """Raise InputError unless a platform has the switches that its slurm.conf speaks of, and nodes that are alike."""
    machine = platform.slurm
    if not settings.topology or machine is None:
        return
    where = f"{_WHO}, {machine.where('TopologyPlugin')}"
    if not platform.switches:
        raise InputError(where, "a topology.conf with SwitchName=… beside the slurm.conf", "none")
    if (roots := platform.switch_tree.parents.count(TOP)) > 1:
        raise InputError(where, "one switch above all others in topology.conf", f"{roots} that hang on none")
    if len(widths := sorted(set(platform.node_cores.tolist()))) > 1:
        raise InputError(where, "nodes with as many CPUs each: others are not simulated", ", ".join(map(str, widths)))


def _place(partition: Partition, key: str) -> str:
    return ", ".join(filter(None, (partition.place, f"PartitionName={partition.name}, {key}")))


def _has_whole_nodes(machine: SlurmMachine) -> bool:
    """Return whether jobs have whole nodes, as by select/linear, the default below the plugins of Crays."""
    select = machine.said("SelectType").lower()
    return "linear" in select or ("cray" in select and "other_cons" not in machine.said("SelectTypeParameters").lower())


def _select_parameters(machine: SlurmMachine, whole_nodes: bool) -> str:
    """Return SelectTypeParameters in small letters. Raises InputError where cons_tres is not told what to give out."""
    text = machine.said("SelectTypeParameters").lower().replace(" ", "")
    if not whole_nodes and not {word.removesuffix("_memory") for word in text.split(",")} & {
        "cr_cpu",
        "cr_core",
        "cr_socket",
    }:
        select = machine.said("SelectType")
        expected = f"CR_CPU, CR_Core or CR_Socket, with or without _Memory, for SelectType={select}"
        where = f"{_WHO}, {machine.where('SelectTypeParameters' if text else 'SelectType')}"
        raise InputError(where, expected, machine.said("SelectTypeParameters") or "no SelectTypeParameters")
    return text


def defaults_taken(machine: SlurmMachine) -> str:
    """Return a line of the defaults of Slurm 22.05 that decide a schedule and that the file does not say; empty: it says all."""
    given = machine.parameters
    taken = [f"{key}={machine.said(key)}" for key in ("SelectType", "PriorityType") if not given.get(key.lower())]
    weights = [key for key in DEFAULTS if key.startswith("PriorityWeight") and machine.said(key) != "0"]
    if weights and not given.get("prioritytype"):
        taken.append(f"{', '.join(weights)} without effect")
    return f"not said, so Slurm 22.05's defaults hold: {', '.join(taken)}" if taken else ""


def _preemption(
    machine: SlurmMachine, switches: Switches, parameters: _Parameters, whole_nodes: bool, kill_wait: float
) -> PreemptSettings | None:
    """Read what is said of preemption; None without. Raises FormatError, and InputError for what is not simulated."""
    if switches.gang:
        refuse_slices(machine.partitions, by_tier=switches.preemption)
    said = machine.said("PreemptMode")
    if not switches.preemption:
        if set(said.upper().replace(" ", "").split(",")) - {"GANG", "OFF"}:
            _warn_of_preemption(machine, "PreemptMode", f"does nothing without PreemptType, found {said}")
        return None
    # A duration, s; 0 where nothing is said. Raises FormatError.
    text = machine.said("PreemptExemptTime")
    try:
        seconds = values.duration(text if text != "-1" else "")
    except ValueError as error:
        raise FormatError(machine.where("PreemptExemptTime"), str(error), text) from None
    exempt_time = 0.0 if math.isnan(seconds) else seconds
    reorder_count = parameters.whole("preempt_reorder_count", 1)
    mode, gang = _preempt_mode(machine.where("PreemptMode"), said)
    if mode == "OFF":
        _warn_of_preemption(machine, "PreemptType", f"needs another PreemptMode than {said}")
    own = _Parameters(machine.said("PreemptParameters"), machine.where("PreemptParameters"))
    kind = machine.said("PreemptType").lower().removeprefix("preempt/")
    if kind not in ("partition_prio", "qos"):
        found = machine.said("PreemptType")
        raise InputError(f"{_WHO}, {machine.where('PreemptType')}", "partition_prio, qos or none", found)
    modes = {
        p.name: _preempt_mode(_place(p, "PreemptMode"), p.preempt_mode)[0] for p in machine.partitions if p.preempt_mode
    }
    if (gang or "SUSPEND" in {mode, *modes.values()}) and (kind == "qos" or whole_nodes or not gang):
        expected = "SUSPEND with GANG, partition_prio and cons_tres: other ways to suspend are not simulated"
        raise InputError(f"{_WHO}, {machine.where('PreemptMode')}", expected, said)
    for name in ("min_exempt_priority", "reclaim_licenses"):
        if own.has(name):
            raise InputError(f"{_WHO}, {machine.where('PreemptParameters')}", "others: it is not simulated", name)
    return PreemptSettings(
        kind == "qos",
        mode,
        gang,
        modes,
        {p.name: p.grace_time_s for p in machine.partitions},
        exempt_time,
        _whole(machine, "JobRequeue") != 0,
        parameters.has("preempt_youngest_first") or own.has("youngest_first"),
        parameters.has("preempt_strict_order") or own.has("strict_order"),
        own.whole("reorder_count", reorder_count),
        kill_wait + _whole(machine, "MessageTimeout"),
    )


def _warn_of_preemption(machine: SlurmMachine, key: str, text: str) -> None:
    warn_user(ModelWarning(f"{_WHO}, {machine.where(key)}: {text}; Slurm 22.05 does not start with this"))


def _preempt_mode(where: str, text: str) -> tuple[str, bool]:
    """Read a value of PreemptMode: what is done to jobs, and whether it has GANG."""
    words = [word.strip() for word in text.upper().split(",")]
    modes = [word for word in words if word != "GANG"] or ["OFF"]
    if len(modes) > 1 or modes[0] not in PREEMPT_MODES:
        raise InputError(f"{_WHO}, {where}", f"one of {', '.join(PREEMPT_MODES)}, perhaps with GANG", text)
    return modes[0], "GANG" in words


def refuse_slices(partitions: Iterable[Partition], place: str = "", by_tier: bool = True) -> None:
    """Raise InputError, which names the place, where jobs of two partitions would take turns on their cores.

    With ``by_tier`` those of two tiers do not: the higher one suspends the other.
    """
    tiers: dict[int, set[int]] = {}
    for partition in partitions:
        nodes = tiers.setdefault(partition.priority_tier if by_tier else 0, set())
        if not nodes.isdisjoint(partition.nodes):
            another = "another of its PriorityTier" if by_tier else "another partition, under PreemptMode=GANG"
            expected = f"other nodes than {another}: time slices are not simulated"
            where = place or ", ".join(filter(None, (_WHO, partition.place)))
            raise InputError(f"{where}, PartitionName={partition.name}", expected, "some of the same")
        nodes.update(partition.nodes)


class _Parameters:
    """``SchedulerParameters=bf_interval=2,bf_continue``; ``where`` names the key in messages."""

    def __init__(self, text: str, where: str):
        self._where = where
        self._pairs: dict[str, str] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, _, value = part.partition("=")
            self._pairs[name.lower()] = value

    def has(self, name: str) -> bool:
        return name in self._pairs

    def number(self, name: str, default: float, least: float = 0.0) -> float:
        text = self._pairs.get(name)
        if text is None:
            return default
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not least <= number < math.inf:
            raise FormatError(f"{self._where}, {name}", f"a number >= {least:g}", text)
        return number

    def whole(self, name: str, default: int) -> int:
        number = self.number(name, default)
        if number != int(number):
            raise FormatError(f"{self._where}, {name}", "a whole number >= 0", self._pairs[name])
        return int(number)


def _whole(machine: SlurmMachine, key: str) -> int:
    """Read a whole number; without a limit, the default."""
    text = machine.said(key)
    text = DEFAULTS[key] if text.upper() in _ENDLESS else text
    if not text.isdigit():
        raise FormatError(machine.where(key), "a whole number", text)
    return int(text)
