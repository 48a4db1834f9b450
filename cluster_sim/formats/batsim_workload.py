"""Batsim's workload JSON: jobs that name profiles, of which those that need no network or storage can be run.

::

    {"nb_res": 4,
     "jobs": [{"id": "w0!3", "subtime": 0.5, "walltime": 100, "res": 4, "profile": "10s"}],
     "profiles": {"10s": {"type": "delay", "delay": 10}}}

| profile (older and newer names) | what it becomes |
|---|---|
| ``delay`` (DelayProfile) | a run time that is the same on every core (column ``fixed_run_time``) |
| ``parallel_homogeneous`` (msg_par_hg, ParallelTaskHomogeneousProfile) | ``cpu`` operations per task |
| ``parallel_homogeneous_total`` (msg_par_hg_tot, or spread uniformly) | ``cpu / res`` operations per task |
| ``parallel`` (msg_par, ParallelTaskProfile) | the largest entry of ``cpu``, for every task: they end together |
| ``composed`` (SequentialCompositionProfile) | ``repeat`` times the sum of its parts: all delays, or all computation |

Communication (``com``) beside computation is left out, with a warning; a profile that only communicates, uses storage,
replays a trace or talks to the scheduler is refused by name, once a job uses it. A resource is a host, ``nb_res`` says how
many there are (``Workload.max_procs``). Times are not shifted, walltime −1 means none. Of the keys that Batsim leaves to its
users, those that our job schema has are read: ``user`` (or ``user_id``), ``priority``, ``deadline``, ``requires``,
``exclusive``, ``reservation``, ``tags``; others are ignored, with a warning that names those which Batsim does not know.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from cluster_sim.errors import FormatError, ModelWarning, SpecError, few, warn_user
from cluster_sim.spelling import UnknownKeys
from cluster_sim.workload.job_table import JOB_FIELD, Columns, in_words, to_seconds

if TYPE_CHECKING:
    from cluster_sim.workload.workload import Workload

MAX_NESTING = 50
NO_WALLTIME = -1

_TYPES = {
    "delay": ("delay", "DelayProfile"),
    "parallel": ("parallel", "msg_par", "ptask", "ParallelTaskProfile"),
    "parallel_homogeneous": (
        "parallel_homogeneous", "msg_par_hg", "ptask_homogeneous", "ParallelTaskHomogeneousProfile",
    ),
    "parallel_homogeneous_total": ("parallel_homogeneous_total", "msg_par_hg_tot"),
    "composed": ("composed", "sequential_composition", "SequentialCompositionProfile"),
}  # fmt: skip
_KIND_OF = {name: kind for kind, names in _TYPES.items() for name in names}
_REASONS = {
    "it replays a trace of MPI calls or resource usage": (
        "smpi", "usage_trace", "trace_replay", "TraceReplayProfile",
    ),
    "it reads and writes storage": (
        "parallel_homogeneous_pfs", "msg_par_hg_pfs", "msg_par_hg_pfs0", "msg_par_hg_pfs_tiers", "data_staging",
        "ParallelTaskOnStorageHomogeneousProfile", "ParallelTaskDataStagingBetweenStoragesProfile",
    ),
    "it talks to the scheduler": ("send", "recv", "SchedulerSendProfile", "SchedulerReceiveProfile"),
}  # fmt: skip
_REASON_OF = {name: reason for reason, names in _REASONS.items() for name in names}
_EXTRA_NUMBERS = ("priority", "deadline")
_EXTRA_TEXTS = ("requires", "reservation", "tags")
_JOB_KEYS = {
    "id",
    "subtime",
    "walltime",
    "res",
    "profile",
    "user",
    "user_id",
    "exclusive",
    *_EXTRA_NUMBERS,
    *_EXTRA_TEXTS,
}
_PROFILE_KEYS = {
    "delay": ("delay",),
    "parallel": ("cpu", "com"),
    "parallel_homogeneous": ("cpu", "com", "generation_strategy"),
    "parallel_homogeneous_total": ("cpu", "com"),
    "composed": ("seq", "repeat", "nb"),
}
_IGNORED_OF_FILE = (
    "description", "date", "command", "comments", "version", "simulation_time", "nb_profiles", "nb_jobs",
)  # fmt: skip
_IGNORED_OF_JOB = (
    "description",
    "extra_data",
    "expected_execution_time",
    "expected_state",
    "smpi_ranks_to_hosts_mapping",
)
_IGNORED_OF_PROFILE = ("description", "command", "np", "runtime", "real_res", "expected_execution_time")
"""Keys of Batsim's own files and of its converters that change nothing here."""
_EXPECTED = f"a profile that needs no network and no storage ({', '.join(_TYPES)})"


class _Amount(NamedTuple):
    """What a profile asks of a task: seconds of delay, operations, and whether it communicates besides."""

    delay_s: float = 0.0
    operations: float = 0.0
    communicates: bool = False
    uneven: bool = False


def is_batsim(document: object) -> bool:
    """Whether a parsed workload is Batsim's: its profiles have a type, and none counts ``req_ops`` as IRMaSim's do."""
    profiles = document.get("profiles") if isinstance(document, dict) else None
    if not isinstance(profiles, dict):
        return False
    entries = [profile for profile in profiles.values() if isinstance(profile, dict)]
    return any("type" in entry for entry in entries) and not any("req_ops" in entry for entry in entries)


def from_document(
    document: Any, source: str, *, time_unit: str = "seconds", unsupported: Literal["refuse", "drop"] = "refuse"
) -> Workload:
    """A workload from the parsed JSON; ``source`` is what errors call it.

    ``unsupported="drop"`` leaves out the jobs whose profiles cannot be run, with a ModelWarning, instead of refusing
    the file. Raises FormatError naming the job or the profile.
    """
    from cluster_sim.workload.workload import Workload

    if unsupported not in ("refuse", "drop"):
        raise SpecError(f"{source}, unsupported", "refuse or drop", unsupported)
    jobs, profiles = _jobs_and_profiles(document, source)
    keys = UnknownKeys(source)
    keys.look(document, ("nb_res", "jobs", "profiles"), "the file", _IGNORED_OF_FILE)
    for row, job in enumerate(document["jobs"]):
        keys.look(job, _JOB_KEYS, f"jobs[{row}]", _IGNORED_OF_JOB)
    for name, profile in document["profiles"].items():
        kind = _KIND_OF.get(str(profile.get("type"))) if isinstance(profile, dict) else None
        if kind is not None:  # others are refused, once a job uses them
            keys.look(profile, ("type", *_PROFILE_KEYS[kind]), f"profiles.{name}", _IGNORED_OF_PROFILE)
    keys.tell()
    amounts, kept = _amounts(jobs, _Profiles(profiles, source), source, unsupported)
    header = _header(document, source)
    columns = _columns([jobs[row] for row in kept], amounts, lambda row: f"{source}: jobs[{kept[row]}]")
    to_seconds(columns, time_unit)
    stem = source.replace("\\", "/").rpartition("/")[2].removesuffix(".gz")
    name = stem.rpartition(".")[0] or stem
    with in_words(
        {"submit_time": "subtime", "requested_time": "walltime", "requested_cores": "res", "operations": "cpu"}
    ):
        return Workload(columns, name, header=header, rebase=False, locate=lambda row: f"{source}: jobs[{kept[row]}]")


def _header(document: dict[str, Any], source: str) -> list[str]:
    """What the file says of its machine, as lines of an SWF header: that its resources are hosts, and how many."""
    header = ["; Version: 2.2", "; Resource: host"]
    if "nb_res" in document:
        hosts = _number(document, "nb_res", source)
        if hosts < 1 or hosts != int(hosts):
            raise FormatError(f"{source}.nb_res", "a whole number >= 1", document["nb_res"])
        header.append(f"; MaxNodes: {int(hosts)}")
    return header


def _jobs_and_profiles(document: Any, source: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    for key, kind in (("jobs", list), ("profiles", dict)):
        if not isinstance(document, dict) or not isinstance(document.get(key), kind):
            found = document.get(key, f"no {key}") if isinstance(document, dict) else document
            raise FormatError(source, f'an object with "{key}", {_noun(kind())}', _noun(found))
    if not document["jobs"]:
        raise FormatError(f"{source}: jobs", "at least one job", "none")
    for row, job in enumerate(document["jobs"]):
        if not isinstance(job, dict):
            raise FormatError(f"{source}: jobs[{row}]", "an object", _noun(job))
    return document["jobs"], document["profiles"]


def _amounts(
    jobs: list[dict[str, Any]], profiles: _Profiles, source: str, unsupported: str
) -> tuple[list[_Amount], list[int]]:
    """What each job asks for, and the positions of the jobs that are kept. Warns of what is left out."""
    amounts: list[_Amount] = []
    kept: list[int] = []
    refused: list[_UnsupportedProfileError] = []
    for row, job in enumerate(jobs):
        where = f"{source}: jobs[{row}]"
        name, cores = job.get("profile"), _number(job, "res", where)
        if cores < 1 or cores != int(cores):
            raise FormatError(f"{where}.res", "a whole number >= 1", job["res"])
        if not isinstance(name, str):
            raise FormatError(f"{where}.profile", "a profile's name", _noun(job.get("profile", "nothing")))
        try:
            amounts.append(profiles.amount(name, int(cores), f"{where}.profile"))
            kept.append(row)
        except _UnsupportedProfileError as error:
            if unsupported == "refuse":
                raise
            refused.append(error)
    if not kept:
        raise refused[0]
    communicating = sum(amount.communicates for amount in amounts)
    uneven = sum(amount.uneven for amount in amounts)
    if refused:
        text = f"{len(refused)} jobs are left out, their profiles cannot be run; the first: {refused[0]}"
        warn_user(ModelWarning(f"{source}: {text}"))
    if communicating:
        text = f"{communicating} jobs communicate, which costs nothing here: only their computation is simulated"
        warn_user(ModelWarning(f"{source}: {text}"))
    if uneven:
        text = f"the tasks of {uneven} jobs compute unequal amounts; each is given the largest, so more cores are busy"
        warn_user(ModelWarning(f"{source}: {text}"))
    return amounts, kept


def _columns(jobs: list[dict[str, Any]], amounts: list[_Amount], where: Callable[[int], str]) -> Columns:
    delays = np.array([amount.delay_s for amount in amounts])
    fixed = delays > 0
    operations = np.array([amount.operations for amount in amounts])
    columns: Columns = {
        "submit_time": np.array([_number(job, "subtime", where(row)) for row, job in enumerate(jobs)]),
        "requested_cores": np.array([int(job["res"]) for job in jobs], dtype=float),
        "requested_time": np.array([_walltime(job, where(row)) for row, job in enumerate(jobs)]),
        "operations": np.where(fixed, math.nan, operations),
        "recorded_run_time": np.where(fixed, delays, math.nan),
        "fixed_run_time": fixed,
        "profile": np.array([job["profile"] for job in jobs], dtype=object),
        "user": np.array([_text(job.get("user", job.get("user_id", ""))) for job in jobs], dtype=object),
    }
    for key in _EXTRA_NUMBERS:
        default = JOB_FIELD[key].default
        values = [_number(job, key, where(row), float(str(default))) for row, job in enumerate(jobs)]
        columns[key] = np.array(values)
    for key in _EXTRA_TEXTS:
        columns[key] = np.array([_words(job, key, where(row)) for row, job in enumerate(jobs)], dtype=object)
    columns["exclusive"] = np.array([_truth(job, "exclusive", where(row)) for row, job in enumerate(jobs)])
    columns["job_id"] = np.array([_id(job, where(row)) for row, job in enumerate(jobs)], dtype=object)
    return columns


def _words(job: dict[str, Any], key: str, where: str) -> str:
    value = job.get(key, "")
    if not isinstance(value, str):
        raise FormatError(f"{where}.{key}", "text", _noun(value))
    return value


def _truth(job: dict[str, Any], key: str, where: str) -> bool:
    value = job.get(key, False)
    if not isinstance(value, bool):
        raise FormatError(f"{where}.{key}", "true or false", _noun(value))
    return value


def _walltime(job: dict[str, Any], where: str) -> float:
    if "walltime" not in job or job["walltime"] == NO_WALLTIME:
        return math.inf
    walltime = _number(job, "walltime", where)
    if walltime <= 0:
        raise FormatError(f"{where}.walltime", "a time above 0, or -1 for none", job["walltime"])
    return walltime


def _id(job: dict[str, Any], where: str) -> str:
    value = job.get("id", "")
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise FormatError(f"{where}.id", "text or a whole number", _noun(job.get("id", "nothing")))
    return _text(value)


def _text(value: object) -> str:
    return str(value) if isinstance(value, str | int | float) else ""


class _UnsupportedProfileError(FormatError):
    """A profile that is right, but needs what is not simulated."""


class _Profiles:
    """The profiles of a file, taken apart when a job first uses them."""

    def __init__(self, entries: Mapping[str, Any], source: str):
        self._entries = entries
        self._source = source
        self._known: dict[tuple[str, int], _Amount] = {}

    def amount(self, name: str, cores: int, where: str, users: tuple[str, ...] = ()) -> _Amount:
        """What the profile asks of each of a job's ``cores`` tasks; ``users`` are the sequences it is a part of."""
        if (name, cores) not in self._known:
            if name not in self._entries:
                raise FormatError(where, f"the name of a profile ({few(self._entries, 5) or 'none there is'})", name)
            self._known[name, cores] = self._of(name, cores, users)
        return self._known[name, cores]

    def _of(self, name: str, cores: int, users: tuple[str, ...]) -> _Amount:
        where = f"{self._source}: profiles.{name}"
        entry = self._entries[name]
        if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
            raise FormatError(where, "an object with the profile's type", _noun(entry))
        match _KIND_OF.get(entry["type"]):
            case "delay":
                value = _number(entry, "delay", where)
                if value <= 0:
                    raise FormatError(f"{where}.delay", "a number above 0", value)
                return _Amount(delay_s=value)
            case "parallel":
                # One amount per task. They progress together (SimGrid's parallel tasks), so the largest tells the time.
                work = _list(entry, "cpu", where)
                communication = _list(entry, "com", where)
                if work and len(work) != cores:
                    raise FormatError(
                        f"{where}.cpu", f"an entry for each of the job's {cores} resources", f"{len(work)} entries"
                    )
                return _computing(max(work, default=0.0), any(communication), entry, where, uneven=len(set(work)) > 1)
            case "composed":
                return self._composed(entry, name, cores, users)
            case "parallel_homogeneous" | "parallel_homogeneous_total" as kind:
                work = _number(entry, "cpu", where, 0.0)
                communication = _number(entry, "com", where, 0.0)
                for key, value in (("cpu", work), ("com", communication)):
                    if value < 0:
                        raise FormatError(f"{where}.{key}", "a number >= 0", value)
                if (
                    kind == "parallel_homogeneous_total"
                    or entry.get("generation_strategy") == "DefinedAmountsSpreadUniformly"
                ):
                    work /= cores
                return _computing(work, communication > 0, entry, where)
        reason = _REASON_OF.get(entry["type"], "no type that is known")
        raise _UnsupportedProfileError(f"{where}.type", _EXPECTED, f"{entry['type']}: {reason}")

    def _composed(self, entry: dict[str, Any], name: str, cores: int, users: tuple[str, ...]) -> _Amount:
        where = f"{self._source}: profiles.{name}"
        if name in users or len(users) >= MAX_NESTING:
            raise FormatError(f"{where}.seq", f"at most {MAX_NESTING} sequences in each other, none in itself", name)
        repeat = entry.get("repeat", entry.get("nb", 1))
        if type(repeat) is not int or not 1 <= repeat < 2**53:
            raise FormatError(f"{where}.repeat", "a whole number >= 1", _noun(repeat))
        parts = entry.get("seq")
        if not isinstance(parts, list) or not parts or not all(isinstance(part, str) for part in parts):
            raise FormatError(f"{where}.seq", "a list of profiles' names", _noun(parts))
        amounts = [self.amount(part, cores, f"{where}.seq", (*users, name)) for part in parts]
        delay_s, operations = (_total([a[i] for a in amounts]) * repeat for i in (0, 1))
        if not max(delay_s, operations) < math.inf:
            raise FormatError(f"{where}.seq", "a sequence whose sum is a finite number", max(delay_s, operations))
        if delay_s and operations:
            expected = "a sequence of delays only or of computation only: one after the other is not simulated"
            raise _UnsupportedProfileError(f"{where}.seq", expected, "both")
        return _Amount(delay_s, operations, any(a.communicates for a in amounts), any(a.uneven for a in amounts))


def _total(amounts: list[float]) -> float:
    try:
        return math.fsum(amounts)
    except OverflowError:
        return math.inf


def _computing(
    operations: float, communicates: bool, entry: dict[str, Any], where: str, uneven: bool = False
) -> _Amount:
    if communicates and not operations:
        raise _UnsupportedProfileError(where, _EXPECTED, f"{entry['type']}: it only communicates")
    return _Amount(0.0, operations, communicates, uneven)


def _list(entry: dict[str, Any], key: str, where: str) -> list[float]:
    values = entry.get(key, [])
    if not isinstance(values, list):
        raise FormatError(f"{where}.{key}", "a list of numbers", _noun(values))
    numbers = [_finite(value, f"{where}.{key}[{i}]") for i, value in enumerate(values)]
    if min(numbers, default=0.0) < 0:
        raise FormatError(f"{where}.{key}", "numbers >= 0", min(numbers))
    return numbers


def _number(entry: Mapping[str, Any], key: str, where: str, default: float | None = None) -> float:
    if key not in entry and default is not None:
        return default
    return _finite(entry.get(key, "nothing"), f"{where}.{key}")


def _finite(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormatError(where, "a number", _noun(value))
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise FormatError(where, "a finite number", "one too large")
    return number


def _noun(value: object) -> str:
    """What a JSON value is, in a word, or itself when it is short."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "a list"
    if isinstance(value, int) and abs(value) > 10**30:
        return "a huge integer"
    return str(value)
