"""What a slurm.conf says of how jobs are scheduled, as numbers, with Slurm's defaults for what it leaves out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cluster_sim.errors import FormatError, InputError
from cluster_sim.formats import slurm_values as values
from cluster_sim.platform.slurm import Partition, SlurmMachine

_NOT_SIMULATED = {
    "TopologyPlugin": ("topology/tree", "topology/3d_torus", "topology/block"),
    "SuspendProgram": (),
    "ResumeProgram": (),
}
_WHO = "scheduler 'slurm'"
_WITHOUT_EFFECT = ("sched_min_interval",)
"""Of the time that passes take, of which there is none here; what is said of it has to be numbers nevertheless."""


PREEMPT_MODES = ("OFF", "REQUEUE", "CANCEL", "SUSPEND")
"""What PreemptMode may say beside GANG."""


@dataclass(frozen=True, slots=True)
class PreemptSettings:
    """Who takes nodes from whom, and how. Times in s."""

    by_qos: bool  #: preempt/qos; otherwise preempt/partition_prio.
    mode: str  #: Where a partition, or a quality of service, has none of its own.
    gang: bool  #: Jobs of a higher tier run on cores of others, which are suspended meanwhile.
    modes: Mapping[str, str]  #: Of the partitions that have one of their own, by their names.
    grace: Mapping[str, float]  #: How long jobs go on when they are preempted, by partition.
    exempt_time: float = 0.0  #: How long jobs run before they may be preempted.
    may_requeue: bool = True  #: JobRequeue; otherwise those that would be requeued are cancelled.
    youngest_first: bool = False
    strict_order: bool = False
    reorder_count: int = 1
    pause: float = 40.0  #: KillWait and MessageTimeout: no job takes nodes from more jobs before that is over.


@dataclass(frozen=True, slots=True)
class Settings:
    """Times in s. Names are Slurm's, of ``SchedulerParameters`` and of keys of their own."""

    builtin: bool = False  #: sched/builtin: there is no backfill.
    whole_nodes: bool = True  #: select/linear; otherwise cons_tres, which gives out cores.
    counts_memory: bool = False
    priority_type: str = "priority/basic"
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
        """Whether a backfill pass tests only so many jobs of a user, a partition or an association."""
        return bool(self.bf_max_job_part or self.bf_max_job_user_part or self.bf_max_job_user or self.bf_max_job_assoc)

    @classmethod
    def of(cls, machine: SlurmMachine) -> Settings:
        """Those of a configuration. Raises FormatError for a value that cannot be, InputError for what is not simulated."""
        given = machine.parameters
        _refuse(machine)
        parameters = _Parameters(given.get("schedulerparameters", ""), machine.where("SchedulerParameters"))
        tests = parameters.whole("bf_max_job_test", 500)
        for name in _WITHOUT_EFFECT:
            parameters.number(name, 0.0)
        whole_nodes = given.get("selecttype", "select/cons_tres").lower().endswith("linear")
        select = given.get("selecttypeparameters", "").lower()
        scheduler = given.get("schedulertype", "sched/backfill").lower()
        kill_wait = float(_whole(machine, "KillWait", 30))
        return cls(
            builtin=scheduler.endswith("builtin"),
            whole_nodes=whole_nodes,
            counts_memory="memory" in select,
            priority_type=given.get("prioritytype", "priority/multifactor").lower(),
            bf_interval=parameters.number("bf_interval", 30.0, least=1.0),
            bf_resolution=parameters.number("bf_resolution", 60.0),
            bf_window=60.0 * parameters.number("bf_window", 1440.0),
            bf_max_job_test=tests,
            bf_max_job_user=parameters.whole("bf_max_job_user", 0),
            bf_max_job_part=parameters.whole("bf_max_job_part", 0),
            bf_max_job_assoc=parameters.whole("bf_max_job_assoc", 0),
            bf_max_job_user_part=parameters.whole("bf_max_job_user_part", 0),
            bf_max_job_start=parameters.whole("bf_max_job_start", 0),
            bf_max_job_array_resv=parameters.whole("bf_max_job_array_resv", 20),
            bf_node_space_size=parameters.whole("bf_node_space_size", tests),
            bf_min_age_reserve=parameters.number("bf_min_age_reserve", 0.0),
            bf_min_prio_reserve=parameters.whole("bf_min_prio_reserve", 0),
            bf_window_linear=parameters.number("bf_window_linear", 0.0),
            bf_licenses=parameters.has("bf_licenses"),
            bf_yield_interval=parameters.number("bf_yield_interval", 2e6) / 1e6,
            bf_yield_sleep=parameters.number("bf_yield_sleep", 5e5) / 1e6,
            bf_max_time=parameters.number("bf_max_time", parameters.number("bf_interval", 30.0)),
            bf_continue=parameters.has("bf_continue"),
            default_queue_depth=parameters.whole("default_queue_depth", 100),
            batch_sched_delay=parameters.number("batch_sched_delay", 3.0),
            sched_interval=parameters.number("sched_interval", 60.0, least=1.0),
            over_time_limit=_minutes(machine, "OverTimeLimit", 0.0),
            kill_wait=kill_wait,
            def_memory_per_cpu=_whole(machine, "DefMemPerCPU", 0),
            def_memory_per_node=_whole(machine, "DefMemPerNode", 0),
            licences=licences_of(given["licenses"], machine.where("Licenses")) if "licenses" in given else None,
            preempt=_preemption(machine, parameters, whole_nodes, kill_wait),
        )


def licences_of(text: str, where: str = "Licenses") -> dict[str, int]:
    """How many of each licence ``foo:4,bar`` speaks of; also with ``;`` and ``=`` for the signs between. Raises FormatError."""
    counts: dict[str, int] = {}
    for part in filter(None, text.replace(";", ",").split(",")):
        name, _, count = part.strip().replace("=", ":").partition(":")
        if not name or (count and not count.isdigit()):
            raise FormatError(where, "licences such as foo:4,bar", text)
        counts[name] = counts.get(name, 0) + int(count or 1)
    return counts


def _refuse(machine: SlurmMachine) -> None:
    """Raise InputError for what would make another schedule and is not simulated."""
    given = machine.parameters
    for key, refused in _NOT_SIMULATED.items():
        value = given.get(key.lower(), "").lower()
        if value and value != "(null)" and (not refused or value in refused):
            raise InputError(
                f"{_WHO}, {machine.where(key)}", "a configuration without it: it is not simulated", given[key.lower()]
            )
    if given.get("suspendtime", "").lower() not in ("", "-1", "infinite", "none"):
        raise InputError(
            f"{_WHO}, {machine.where('SuspendTime')}", "no power saving: it is not simulated", given["suspendtime"]
        )


def _preemption(
    machine: SlurmMachine, parameters: _Parameters, whole_nodes: bool, kill_wait: float
) -> PreemptSettings | None:
    """What is said of preemption; None without. Raises FormatError, and InputError for what is not simulated."""
    given = machine.parameters
    exempt_time = _duration(machine, "PreemptExemptTime")
    reorder_count = parameters.whole("preempt_reorder_count", 1)
    kind = given.get("preempttype", "preempt/none").lower().removeprefix("preempt/")
    mode, gang = _preempt_mode(machine.where("PreemptMode"), given.get("preemptmode", "OFF"))
    if kind == "none":
        if gang:
            raise InputError(
                f"{_WHO}, {machine.where('PreemptMode')}",
                "no time slices: they are not simulated",
                given["preemptmode"],
            )
        return None
    if kind not in ("partition_prio", "qos"):
        raise InputError(f"{_WHO}, {machine.where('PreemptType')}", "partition_prio, qos or none", given["preempttype"])
    modes = {
        p.name: _preempt_mode(f"PartitionName={p.name}", p.preempt_mode)[0]
        for p in machine.partitions
        if p.preempt_mode
    }
    if (gang or "SUSPEND" in {mode, *modes.values()}) and (kind == "qos" or whole_nodes or not gang):
        expected = "SUSPEND with GANG, partition_prio and cons_tres: other ways to suspend are not simulated"
        raise InputError(f"{_WHO}, {machine.where('PreemptMode')}", expected, given.get("preemptmode", mode))
    if gang:
        refuse_slices(machine.partitions)
    own = _Parameters(given.get("preemptparameters", ""), machine.where("PreemptParameters"))
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
        given.get("jobrequeue", "1") != "0",
        parameters.has("preempt_youngest_first") or own.has("youngest_first"),
        parameters.has("preempt_strict_order") or own.has("strict_order"),
        own.whole("reorder_count", reorder_count),
        kill_wait + _whole(machine, "MessageTimeout", 10),
    )


def _preempt_mode(where: str, text: str) -> tuple[str, bool]:
    """A value of PreemptMode: what is done to jobs, and whether it has GANG."""
    words = [word.strip() for word in text.upper().split(",")]
    modes = [word for word in words if word != "GANG"] or ["OFF"]
    if len(modes) > 1 or modes[0] not in PREEMPT_MODES:
        raise InputError(f"{_WHO}, {where}", f"one of {', '.join(PREEMPT_MODES)}, perhaps with GANG", text)
    return modes[0], "GANG" in words


def refuse_slices(partitions: Iterable[Partition], place: str = _WHO) -> None:
    """Raise InputError, which names the place, where jobs of one tier would take turns on their cores."""
    tiers: dict[int, set[int]] = {}
    for partition in partitions:
        kind, _, rows = partition.over_subscribe.partition(":")
        if kind in ("YES", "FORCE") and rows != "1":
            where = f"{place}, PartitionName={partition.name}, OverSubscribe"
            raise InputError(where, f"{kind}:1: time slices are not simulated", partition.over_subscribe)
        nodes = tiers.setdefault(partition.priority_tier, set())
        if not nodes.isdisjoint(partition.nodes):
            expected = "other nodes than another of its PriorityTier: time slices are not simulated"
            raise InputError(f"{place}, PartitionName={partition.name}", expected, "some")
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


def _whole(machine: SlurmMachine, key: str, default: int) -> int:
    text = machine.parameters.get(key.lower(), "")
    if text.upper() in ("", "UNLIMITED", "INFINITE"):
        return default
    if not text.isdigit():
        raise FormatError(machine.where(key), "a whole number", text)
    return int(text)


def _minutes(machine: SlurmMachine, key: str, default: float) -> float:
    unlimited = machine.parameters.get(key.lower(), "").upper() in ("UNLIMITED", "INFINITE")
    return math.inf if unlimited else 60.0 * _whole(machine, key, int(default))


def _duration(machine: SlurmMachine, key: str) -> float:
    """A duration, s; 0 where nothing is said. Raises FormatError."""
    text = machine.parameters.get(key.lower(), "")
    try:
        seconds = values.duration(text if text != "-1" else "")
    except ValueError as error:
        raise FormatError(machine.where(key), str(error), text) from None
    return 0.0 if math.isnan(seconds) else seconds
