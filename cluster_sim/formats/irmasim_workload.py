"""IRMaSim's workload files: JSON with ``jobs`` and ``profiles``, and its CSV variant.

A job has ``subtime`` and either ``res`` (tasks) or some of ``nodes``, ``ntasks``, ``ntasks_per_node``; what its tasks
do stands in the job, or in the profile that it names (the job's own value wins)::

    {"jobs": [{"id": "a", "subtime": 0, "res": 4, "profile": "A"},
              {"id": "b", "subtime": 2, "ntasks": 3, "nodes": 1, "req_ops": 6.3e11, "ipc": 1, "req_time": 253}],
     "profiles": {"A": {"req_ops": 12500000000, "ipc": 1, "req_time": 5.5, "mem": 100, "mem_vol": 1}}}

The work of a task is ``ceil(req_ops / ipc)``. The CSV variant has the same words as its header, with ``application``
for the profile's name and ``runtime`` for what was measured. Keys that IRMaSim does not know but our job schema does
(``deadline``, ``max_energy``, ``user``, ``group``, ``tags``, ``priority``, ``requires``, ``exclusive``, ``reservation``,
``after``) are read and written too.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cluster_sim.errors import FormatError, ModelWarning, warn_user
from cluster_sim.files.atomic import write_bytes
from cluster_sim.files.csv import check_lengths
from cluster_sim.files.reading import read_bytes, read_text
from cluster_sim.spelling import UnknownKeys
from cluster_sim.workload.job_table import (
    JOB_FIELD,
    TRUTH,
    Columns,
    as_columns,
    first_submission,
    in_words,
    shift,
    to_seconds,
    unshifted,
)
from cluster_sim.workload.phases import phases_text
from cluster_sim.workload.workload import Workload

# IRMaSim's word -> our column, where the value needs no conversion.
_NUMBERS = {
    "req_time": "requested_time",
    "runtime": "recorded_run_time",
    "ipc": "ipc",
    "mem": "memory",
    "mem_vol": "mem_vol",
    "comm_vol": "comm_vol",
    "req_energy": "req_energy",
    "max_energy": "max_energy",
    "deadline": "deadline",
    "priority": "priority",
}
_THEIR_WORDS = {ours: theirs for theirs, ours in _NUMBERS.items()} | {"submit_time": "subtime", "operations": "req_ops"}
_TEXTS = ("user", "group", "tags", "phases", "requires", "reservation", "after")
_TRUTHS = ("exclusive",)
_WIDTHS = ("res", "nodes", "ntasks", "ntasks_per_node")
_OWN_COLUMNS = {"id", "ntasks", "req_ops", "req_time", "runtime", "application", "mem"}
"""Words of IRMaSim's CSV that the native one does not have."""
_KNOWN = {"id", "subtime", "profile", "application", "req_ops", *_WIDTHS, *_NUMBERS, *_TEXTS, *_TRUTHS}
_IGNORED = {"com", "type", "name"}
_IGNORED_OF_FILE = {"nb_res", "num_instructions", "description", "date", "comments", "version"}

KEPT = frozenset(
    {
        "job_id",
        "submit_time",
        "requested_cores",
        "nodes",
        "ntasks_per_node",
        "operations",
        "profile",
        "reference_gflops",
    }
    | {*_NUMBERS.values(), *_TEXTS, *_TRUTHS}
)
"""Columns that are written, and the rate that makes operations of run times."""


def is_csv(path: str) -> bool:
    """Return whether a CSV file is IRMaSim's: its header has ``subtime``, or two of its other words."""
    header = read_bytes(path).partition(b"\n")[0].decode(errors="replace")
    return "subtime" in header or len(_OWN_COLUMNS & {name.strip() for name in header.split(",")}) > 1


def read_csv(path: str, *, time_unit: str = "seconds", reference_gflops: float | None = None) -> Workload:
    """Read IRMaSim's CSV variant, gzipped or not, such as ``id,subtime,runtime,nodes,ntasks,req_time,req_ops``."""
    text = read_text(path)
    check_lengths(text, path)
    header, *rows = filter(None, csv.reader(io.StringIO(text), strict=True))
    jobs = [{key: _cell(key, cell) for key, cell in zip(header, cells, strict=True) if cell != ""} for cells in rows]
    for name in header:
        if header.count(name) > 1:
            raise FormatError(f"{path} line 1, column '{name}'", "each column once", f"it {header.count(name)} times")
    return from_document({"jobs": jobs}, path, time_unit=time_unit, reference_gflops=reference_gflops)


def from_document(
    document: Any,
    source: str,
    *,
    name: str | None = None,
    time_unit: str = "seconds",
    reference_gflops: float | None = None,
) -> Workload:
    """Make a workload from the parsed JSON; ``source`` is what errors call it.

    Times are shifted so that the first submission is 0 (``workload.origin_s``). Raises FormatError naming the job.
    """

    jobs, profiles = _jobs_and_profiles(document, source)
    merged = [_with_profile(job, profiles, f"{source}: jobs[{row}]") for row, job in enumerate(jobs)]
    keys = UnknownKeys(source)
    keys.look(document, ("jobs", "profiles"), "the file", _IGNORED_OF_FILE)
    for row, job in enumerate(jobs):
        keys.look(job, _KNOWN, f"jobs[{row}]", _IGNORED)
    for profile_name, profile in profiles.items():
        keys.look(profile, _KNOWN, f"profiles.{profile_name}", _IGNORED)
    keys.tell()
    columns = _columns(merged, source)
    to_seconds(columns, time_unit)
    origin_s = first_submission(columns)
    shift(columns, origin_s)
    stem = source.replace("\\", "/").rpartition("/")[2].removesuffix(".gz")
    with in_words(_THEIR_WORDS):
        return Workload(
            columns,
            name=stem.rpartition(".")[0] or stem if name is None else name,
            origin_s=origin_s,
            reference_gflops=reference_gflops,
            locate=lambda row: f"{source}: jobs[{row}]",
        )


def write(workload: Workload, path: str) -> None:
    """Write IRMaSim JSON, the values inline in each job; reading it again gives the same jobs.

    Times are moved back by ``origin_s``. Jobs given as run times become operations at ``reference_gflops``; without
    that, at 1 Gflop/s, and a ModelWarning says so. The profile's name goes to ``application``, which IRMaSim leaves
    alone. What only a log has (status, queue, …) is lost: all but ``KEPT``, of which ``Workload.write`` tells.
    """
    jobs = as_columns(workload.jobs)
    jobs["deadline"] = unshifted(jobs["deadline"], workload.origin_s)
    records: list[dict[str, Any]] = [
        {"id": job_id, "subtime": _whole(time)}
        for job_id, time in zip(jobs["job_id"], unshifted(jobs["submit_time"], workload.origin_s).tolist(), strict=True)
    ]
    columns = (jobs[name].tolist() for name in ("requested_cores", "nodes", "ntasks_per_node"))
    for record, cores, nodes, per_node in zip(records, *columns, strict=True):
        record["ntasks" if nodes or per_node else "res"] = cores
        if nodes:
            record["nodes"] = nodes
        if per_node:
            record["ntasks_per_node"] = per_node
    operations = _operations(workload, path).tolist()
    for record, work, ipc in zip(records, operations, jobs["ipc"].tolist(), strict=True):
        instructions = work * ipc
        if math.ceil(instructions / ipc) != math.ceil(work):
            # Rounding lifted the quotient above a whole number, which half an operation less cannot.
            instructions = (work - 0.5) * ipc
        record["req_ops"] = _whole(instructions)
    for theirs, ours in _NUMBERS.items():
        if ours != "recorded_run_time":
            always = theirs in ("ipc", "mem", "mem_vol")
            _add(records, theirs, jobs[ours], JOB_FIELD[ours].default if not always else None)
    for theirs, ours in (("application", "profile"), *((key, key) for key in _TEXTS)):
        _add(records, theirs, jobs[ours], "")
    for key in _TRUTHS:
        _add(records, key, jobs[key], False)
    lines = ",\n".join(f"  {json.dumps(record, ensure_ascii=False)}" for record in records)
    write_bytes(path, f'{{"jobs": [\n{lines}\n]}}\n'.encode())


# -- reading ----------------------------------------------------------------------------------------------------------


def _cell(key: str, cell: str) -> Any:
    """Return a CSV cell as JSON would have it: numbers as numbers. The checks refuse a cell that cannot be one."""
    if key in ("id", "application", "profile", *_TEXTS):
        return cell
    if key in _TRUTHS:
        return TRUTH.get(cell, cell)
    try:
        return cell if "_" in cell else float(cell)
    except ValueError:
        return cell


def _jobs_and_profiles(document: Any, source: str) -> tuple[list[Any], Mapping[str, Any]]:
    if not isinstance(document, dict) or not isinstance(document.get("jobs"), list):
        raise FormatError(source, 'an object with a list "jobs"', _kind(document))
    if not document["jobs"]:
        raise FormatError(f"{source}: jobs", "at least one job", "none")
    profiles = document.get("profiles", {})
    if not isinstance(profiles, dict):
        raise FormatError(f"{source}: profiles", "an object with a profile per name", _kind(profiles))
    for name, profile in profiles.items():
        if not isinstance(profile, dict):
            raise FormatError(f"{source}: profiles.{name}", "an object", _kind(profile))
    return document["jobs"], profiles


def _with_profile(job: Any, profiles: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a job with the values of its profile; of a list of phases with their sums, and their shares as text."""
    if not isinstance(job, dict):
        raise FormatError(where, "an object", _kind(job))
    name = job.get("profile")
    if name is not None:
        if not isinstance(name, str):
            raise FormatError(f"{where}.profile", "a profile's name", _kind(name))
        if name not in profiles:
            expected = f"one of {', '.join(profiles) or 'the profiles (there are none)'}"
            raise FormatError(f"{where}.profile", expected, name)
    merged: dict[str, Any] = job if name is None else {**profiles[name], **job}
    phases = merged.get("phases")
    if phases is None or isinstance(phases, str):
        return merged
    if not isinstance(phases, list) or not phases:
        raise FormatError(f"{where}.phases", "a list of phases, each with req_ops and mem_vol", _kind(phases))
    pairs = []
    for number, phase in enumerate(phases):
        values: list[Any] = [phase.get("req_ops"), phase.get("mem_vol", 0)] if isinstance(phase, dict) else [None]
        if any(type(value) not in (int, float) or not 0 <= value < 1e300 for value in values):
            raise FormatError(f"{where}.phases[{number}]", "an object with req_ops and mem_vol, numbers >= 0", phase)
        pairs.append((float(values[0]), float(values[1])))
    work, memory = (sum(column) for column in zip(*pairs, strict=True))
    return {**merged, "req_ops": work, "mem_vol": memory, "phases": phases_text(pairs)}


def _columns(jobs: list[dict[str, Any]], source: str) -> Columns:
    columns: Columns = {"submit_time": _numbers(jobs, "subtime", source, None)}
    if any("id" in job for job in jobs):
        ids = [job.get("id", row) for row, job in enumerate(jobs)]
        for row, job_id in enumerate(ids):
            if isinstance(job_id, bool) or not isinstance(job_id, str | int | float) or job_id == "":
                raise FormatError(f"{source}: jobs[{row}].id", "text or a number", _kind(job_id))
        columns["job_id"] = np.array([str(job_id) for job_id in ids], dtype=object)
    for theirs, ours in _NUMBERS.items():
        default = JOB_FIELD[ours].default
        columns[ours] = _numbers(jobs, theirs, source, float(default))  # type: ignore[arg-type]
    # Operations per task; may be absent only where a run time is given.
    ipc = columns["ipc"]
    instructions = _numbers(jobs, "req_ops", source, math.nan)
    absent = np.isnan(instructions) & np.isnan(columns["recorded_run_time"])
    if absent.any():
        raise FormatError(f"{source}: jobs[{int(absent.argmax())}]", "req_ops, here or in a profile", "none")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        work = np.ceil(instructions / ipc)
    # An impossible ipc is refused with its own name, and what is below 0 is not rounded up to it.
    columns["operations"] = np.where((ipc > 0) & (instructions >= 0), work, instructions)
    columns |= _widths(jobs, source)
    columns["profile"] = _text(jobs, "profile", source, "application")
    for key in _TEXTS:
        columns[key] = _text(jobs, key, source)
    for key in _TRUTHS:
        values = [job.get(key, False) for job in jobs]
        for row, value in enumerate(values):
            if not isinstance(value, bool | int | float) or value not in (0, 1):
                raise FormatError(f"{source}: jobs[{row}].{key}", "true or false", _kind(value))
        columns[key] = np.array(values, dtype=bool)
    return columns


def _widths(jobs: list[dict[str, Any]], source: str) -> Columns:
    """Return tasks and nodes by IRMaSim's rules: ``res`` alone, or any two of the others, by default one task a node."""
    res, nodes, tasks, per_node = (_numbers(jobs, key, source, 0.0) for key in _WIDTHS)
    for key, values in zip(_WIDTHS, (res, nodes, tasks, per_node), strict=True):
        given = np.array([key in job for job in jobs])
        wrong = given & ~((values >= 1) & (values == np.trunc(values)) & (values < 2**53))
        if wrong.any():
            row = int(wrong.argmax())
            raise FormatError(f"{source}: jobs[{row}].{key}", "a whole number >= 1", jobs[row][key])
    both = (res > 0) & (nodes + tasks + per_node > 0)
    _refuse(both, source, "either res or nodes, ntasks and ntasks_per_node", "both")
    _refuse((res == 0) & (tasks == 0) & (nodes == 0), source, "res, ntasks or nodes", "none of them")
    per = np.maximum(per_node, 1)
    disagree = (tasks > 0) & (nodes > 0) & (per_node > 0) & (nodes != np.ceil(tasks / per))
    _refuse(disagree, source, "nodes = ceil(ntasks / ntasks_per_node)", "other values")
    spread = (res == 0) & (nodes == 0)  # ntasks alone, or with ntasks_per_node
    return {
        "requested_cores": np.where(res > 0, res, np.where(tasks > 0, tasks, nodes * per)),
        "nodes": np.where(spread, np.ceil(tasks / per), nodes),
        "ntasks_per_node": np.where(spread | ((tasks == 0) & (nodes > 0)), per, per_node),
    }


def _numbers(jobs: list[dict[str, Any]], key: str, source: str, default: float | None) -> np.ndarray:
    """Return the values of ``key`` as floats; ``default`` where it is absent, None if it must be there."""
    values: list[Any] = [job.get(key, default) for job in jobs]
    if not set(map(type, values)) <= {int, float}:
        row = next(i for i, value in enumerate(values) if type(value) not in (int, float))
        raise FormatError(f"{source}: jobs[{row}].{key}", "a number", _kind(jobs[row].get(key, "nothing")))
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        # Integers beyond the largest float become infinite, for the check of the table to refuse.
        infinite = [math.inf if value > 0 else -math.inf for value in values]
        return np.array([v if abs(v) < 2**1023 else inf for v, inf in zip(values, infinite, strict=True)], float)


def _text(jobs: list[dict[str, Any]], key: str, source: str, otherwise: str = "") -> np.ndarray:
    values = [job.get(key, job.get(otherwise, "")) for job in jobs]
    for row, value in enumerate(values):
        if not isinstance(value, str):
            raise FormatError(f"{source}: jobs[{row}].{key}", "text", _kind(value))
    return np.array(values, dtype=object)


def _refuse(rows: np.ndarray, source: str, expected: str, found: str) -> None:
    if rows.any():
        raise FormatError(f"{source}: jobs[{int(rows.argmax())}]", expected, found)


def _kind(value: Any) -> str:
    """Return what a JSON value is, in a word, or the value itself when it is short."""
    if isinstance(value, dict):
        return f"an object with {', '.join(map(str, list(value)[:5])) or 'nothing in it'}"
    return f"a list of {len(value)}" if isinstance(value, list) else json.dumps(value, default=repr)


# -- writing ----------------------------------------------------------------------------------------------------------


def _whole(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _operations(workload: Workload, path: str) -> np.ndarray:
    operations = workload.jobs["operations"].to_numpy()
    unknown = np.isnan(operations)
    if not unknown.any():
        return operations
    gflops = workload.reference_gflops
    if gflops is None:
        gflops = 1.0
        text = f"{path}: jobs given as run times are written as work for cores of 1 Gflop/s (no reference_gflops)"
        warn_user(ModelWarning(text))
    return np.where(unknown, np.round(workload.jobs["recorded_run_time"].to_numpy() * gflops * 1e9), operations)


def _add(records: list[dict[str, Any]], key: str, values: np.ndarray, default: object) -> None:
    """Add ``key`` to each record, except where the value is the default."""
    for record, value in zip(records, values.tolist(), strict=True):
        is_default = value == default or (isinstance(value, float) and math.isnan(value))
        if not is_default:
            record[key] = _whole(value) if isinstance(value, float) else value
