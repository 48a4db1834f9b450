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
from typing import Any, Literal, NamedTuple

import numpy as np

from cluster_sim.errors import FormatError, ModelWarning, SpecError, few, warn_user
from cluster_sim.spelling import UnknownKeys
from cluster_sim.workload.job_table import JOB_FIELD, Columns, in_words, to_seconds
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
    """Return whether a parsed workload is Batsim's: its profiles have a type, and none has IRMaSim's ``req_ops``."""
    profiles = document.get("profiles") if isinstance(document, dict) else None
    if not isinstance(profiles, dict):
        return False
    entries = [profile for profile in profiles.values() if isinstance(profile, dict)]
    return any("type" in entry for entry in entries) and not any("req_ops" in entry for entry in entries)


def from_document(
    document: Any, source: str, *, time_unit: str = "seconds", unsupported: Literal["refuse", "drop"] = "refuse"
) -> Workload:
    """Make a workload from the parsed JSON; ``source`` is what errors call it.

    ``unsupported="drop"`` leaves out the jobs whose profiles cannot be run, with a ModelWarning, instead of refusing
    the file. Raises FormatError naming the job or the profile.
    """

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
    header = ["; Version: 2.2", "; Resource: host"]
    if "nb_res" in document:
        hosts = _number(document, "nb_res", source)
        if hosts < 1 or hosts != int(hosts):
            raise FormatError(f"{source}.nb_res", "a whole number >= 1", document["nb_res"])
        header.append(f"; MaxNodes: {int(hosts)}")
    columns = _columns([jobs[row] for row in kept], amounts, lambda row: f"{source}: jobs[{kept[row]}]")
    to_seconds(columns, time_unit)
    stem = source.replace("\\", "/").rpartition("/")[2].removesuffix(".gz")
    name = stem.rpartition(".")[0] or stem
    with in_words(
        {"submit_time": "subtime", "requested_time": "walltime", "requested_cores": "res", "operations": "cpu"}
    ):
        return Workload(columns, name, header=header, rebase=False, locate=lambda row: f"{source}: jobs[{kept[row]}]")


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
    """Return what each job asks for, and the positions of the jobs that are kept. Warns of what is left out."""
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
    submit_times = [_number(job, "subtime", where(row)) for row, job in enumerate(jobs)]
    limits: list[float] = []
    for row, job in enumerate(jobs):
        has_limit = job.get("walltime", NO_WALLTIME) != NO_WALLTIME
        limit = _number(job, "walltime", where(row)) if has_limit else math.inf
        if limit <= 0:
            raise FormatError(f"{where(row)}.walltime", "a time above 0, or -1 for none", job["walltime"])
        limits.append(limit)
    users = [job.get("user", job.get("user_id", "")) for job in jobs]
    columns: Columns = {
        "submit_time": np.array(submit_times),
        "requested_cores": np.array([int(job["res"]) for job in jobs], dtype=float),
        "requested_time": np.array(limits),
        "operations": np.where(fixed, math.nan, operations),
        "recorded_run_time": np.where(fixed, delays, math.nan),
        "fixed_run_time": fixed,
        "profile": np.array([job["profile"] for job in jobs], dtype=object),
        "user": np.array([str(user) if isinstance(user, str | int | float) else "" for user in users], dtype=object),
    }
    for key in _EXTRA_NUMBERS:
        default = JOB_FIELD[key].default
        values = [_number(job, key, where(row), float(str(default))) for row, job in enumerate(jobs)]
        columns[key] = np.array(values)
    kinds = {**dict.fromkeys(_EXTRA_TEXTS, (str, "text")), "exclusive": (bool, "true or false")}
    for key, (kind, expected) in kinds.items():
        given = [job.get(key, kind()) for job in jobs]
        for row, value in enumerate(given):
            if not isinstance(value, kind):
                raise FormatError(f"{where(row)}.{key}", expected, _noun(value))
        columns[key] = np.array(given, dtype=bool if kind is bool else object)
    for row, job in enumerate(jobs):
        job_id = job.get("id", "")
        if isinstance(job_id, bool) or not isinstance(job_id, str | int) or job_id == "":
            raise FormatError(f"{where(row)}.id", "text or a whole number", _noun(job.get("id", "nothing")))
    columns["job_id"] = np.array([str(job["id"]) for job in jobs], dtype=object)
    return columns


class _UnsupportedProfileError(FormatError):
    """A correct profile that needs what is not simulated."""


class _Profiles:
    """The profiles of a file, taken apart when a job first uses them."""

    def __init__(self, entries: Mapping[str, Any], source: str):
        self._entries = entries
        self._source = source
        self._known: dict[tuple[str, int], _Amount] = {}

    def amount(self, name: str, cores: int, where: str, users: tuple[str, ...] = ()) -> _Amount:
        """Return what a profile asks of each of a job's ``cores`` tasks; ``users`` are the sequences it is a part of."""
        if (name, cores) in self._known:
            return self._known[name, cores]
        if name not in self._entries:
            raise FormatError(where, f"the name of a profile ({few(self._entries, 5) or 'none there is'})", name)
        place, entry = f"{self._source}: profiles.{name}", self._entries[name]
        if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
            raise FormatError(place, "an object with the profile's type", _noun(entry))
        kind = _KIND_OF.get(entry["type"])
        match kind:
            case "delay":
                delay_s = _number(entry, "delay", place)
                if delay_s <= 0:
                    raise FormatError(f"{place}.delay", "a number above 0", delay_s)
                amount = _Amount(delay_s=delay_s)
            case "parallel":
                # One amount per task. They progress together (SimGrid's parallel tasks), so the largest tells the time.
                work, traffic = _list(entry, "cpu", place), _list(entry, "com", place)
                if work and len(work) != cores:
                    expected = f"an entry for each of the job's {cores} resources"
                    raise FormatError(f"{place}.cpu", expected, f"{len(work)} entries")
                amount = _Amount(0.0, max(work, default=0.0), any(traffic), len(set(work)) > 1)
            case "parallel_homogeneous" | "parallel_homogeneous_total":
                of_task, sent = (_number(entry, key, place, 0.0) for key in ("cpu", "com"))
                for key, value in (("cpu", of_task), ("com", sent)):
                    if value < 0:
                        raise FormatError(f"{place}.{key}", "a number >= 0", value)
                is_total = entry.get("generation_strategy") == "DefinedAmountsSpreadUniformly" or kind.endswith("total")
                amount = _Amount(0.0, of_task / cores if is_total else of_task, sent > 0)
            case "composed":
                amount = self._composed(entry, name, cores, users)
            case _:
                reason = _REASON_OF.get(entry["type"], "no type that is known")
                raise _UnsupportedProfileError(f"{place}.type", _EXPECTED, f"{entry['type']}: {reason}")
        if amount.communicates and not (amount.operations or amount.delay_s):
            raise _UnsupportedProfileError(place, _EXPECTED, f"{entry['type']}: it only communicates")
        self._known[name, cores] = amount
        return amount

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
        try:
            delay_s = math.fsum(amount.delay_s for amount in amounts) * repeat
            operations = math.fsum(amount.operations for amount in amounts) * repeat
        except OverflowError:
            delay_s = operations = math.inf
        if not max(delay_s, operations) < math.inf:
            raise FormatError(f"{where}.seq", "a sequence whose sum is a finite number", max(delay_s, operations))
        if delay_s and operations:
            expected = "a sequence of delays only or of computation only: one after the other is not simulated"
            raise _UnsupportedProfileError(f"{where}.seq", expected, "both")
        return _Amount(delay_s, operations, any(a.communicates for a in amounts), any(a.uneven for a in amounts))


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
    """Return what a JSON value is, in a word, or the value itself when it is short."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "a list"
    if isinstance(value, int) and abs(value) > 10**30:
        return "a huge integer"
    return str(value)
