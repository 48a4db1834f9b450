"""What Slurm's ``sacct --parsable2`` tells of jobs that ran: a header that names the columns, and a row a job and a step.

::

    sacct --parsable2 --allusers --starttime 2026-01-01 --format \\
        JobID,User,Account,Partition,QOS,Submit,Eligible,Start,End,Elapsed,Timelimit,State,ReqCPUS,AllocCPUS,ReqNodes,NNodes,ReqMem,ReqTRES,NodeList

CSV and Parquet with those names, and what ``sacct --json`` prints, are read too.
docs/guides/slurm.md has the table of what becomes
of each column. One core of the simulation is one CPU as Slurm counts it. Steps are folded into their jobs; the tasks of an
array are jobs; rows of one job that was requeued are one job. A row that cannot be understood is left out and counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Literal

import numpy as np

from cluster_sim.errors import FormatError, ModelWarning, SpecError, counted, warn_user
from cluster_sim.formats.slurm import conf_values as values
from cluster_sim.formats.slurm.sacct_clock import LocalClock
from cluster_sim.formats.slurm.sacct_columns import FREE_TEXT, NOT_OVER, READ, STATUS
from cluster_sim.formats.slurm.sacct_facts import Facts, facts_of
from cluster_sim.formats.slurm.sacct_jobs import Cells, FoldedJobs, awaited, few_switches
from cluster_sim.formats.slurm.sacct_json import table_of_document
from cluster_sim.formats.slurm.sacct_table import read_table
from cluster_sim.workload.fields import UNKNOWN
from cluster_sim.workload.job_table import Columns, shift
from cluster_sim.workload.workload import Workload

_TEXTS = {"partition": "partition", "qos": "qos", "account": "account", "user": "user", "group": "group",
          "profile": "jobname"}  # fmt: skip
_MOST_NAMED = 10
_CHOICES = {
    "requested_time": ("recorded", "none"),
    "cancelled": ("ran", "keep", "drop"),
    "failed": ("keep", "drop"),
    "unfinished": ("drop", "limit"),
    "cores": ("allocated", "requested"),
    "submission": ("submitted", "eligible"),
}


def read(
    path: str,
    document: Mapping[str, Any] | None = None,
    *,
    time_zone: str = "UTC",
    anonymise: bool = False,
    requested_time: Literal["recorded", "none"] = "recorded",
    cancelled: Literal["ran", "keep", "drop"] = "ran",
    failed: Literal["keep", "drop"] = "keep",
    unfinished: Literal["drop", "limit"] = "drop",
    cores: Literal["allocated", "requested"] = "allocated",
    submission: Literal["submitted", "eligible"] = "submitted",
    reference_gflops: float | None = None,
) -> Workload:
    """Read what sacct printed, gzipped or not. The first job left is submitted at 0 of the run's clock.

    Parameters
    ----------
    document : the content of the file, where that is what ``sacct --json`` printed.
    time_zone : of the times, which sacct prints as the clocks of the machine show them.
    anonymise : see :meth:`cluster_sim.workload.workload.Workload.anonymised`.
    requested_time : for jobs whose limit is not told (not those that have none): as in :func:`cluster_sim.formats.swf.read`.
    cancelled : of the jobs cancelled or preempted keep those that "ran" for some time, "keep" or "drop" all.
    failed : jobs that failed, in whichever way; they did use their CPUs.
    unfinished : jobs that wait or run have no run time yet: "drop" them, or let them take their time "limit".
    cores : a job asks for the CPUs that it was "allocated" (with whole nodes more than it asked for), or "requested".
    submission : a job joins the queue when it was "submitted", or when it was "eligible": after what it depended on, its
        begin time, and holds. Its waiting time is counted from there.
    reference_gflops : rate of one of the machine's cores, if known.

    Warns (ModelWarning) in one line each of jobs left out, of substitutes, and of what is not read. Raises FormatError
    naming line and column, SpecError for an unknown option value.
    """

    given = locals()
    for option, choices in _CHOICES.items():
        if given[option] not in choices:
            raise SpecError(f"{path}, option {option}", f"one of {', '.join(choices)}", given[option])
    table = read_table(path) if document is None else table_of_document(document)
    table.keep_understood(path)
    cells = Cells(table, path)
    clock = LocalClock(time_zone, path)
    jobs = FoldedJobs(cells, clock)
    facts = facts_of(cells, jobs, cores, unfinished == "limit")
    rows = np.flatnonzero(_kept(cells, jobs, facts, cancelled, failed))
    _warn(cells, jobs, facts, clock, rows, cores, submission)
    rows = np.repeat(rows, jobs.tasks[rows])
    columns = _columns(cells, jobs, facts, rows, requested_time == "recorded", submission == "eligible")
    origin = math.floor(float(columns["submit_time"].min()))
    shift(columns, origin)
    workload = Workload(
        columns,
        name=PurePath(path.removesuffix(".gz")).stem,
        header=["; Version: 2.2", f"; UnixStartTime: {origin}", f"; TimeZoneString: {time_zone}"],
        reference_gflops=reference_gflops,
        locate=lambda row: cells.place(jobs.rows[rows[row]]),
    )
    return workload.anonymised() if anonymise else workload


def _kept(cells: Cells, jobs: FoldedJobs, facts: Facts, cancelled: str, failed: str) -> np.ndarray:
    """Return which jobs can be simulated.

    A ModelWarning counts the others by reason; FormatError if there is no job left.
    """
    status = np.array([STATUS.get(state, UNKNOWN) for state in facts.state])
    none = np.zeros(len(jobs.rows), dtype=bool)
    pending = np.array([state in NOT_OVER for state in facts.state], dtype=bool) & np.isnan(facts.run)
    never_ran = np.isnan(facts.run) | (facts.run == 0)
    reasons = {
        "not over (they wait or run)": pending,
        "cancelled before they ran" if cancelled == "ran" else "cancelled": none
        if cancelled == "keep"
        else (status == 5) & (never_ran | (cancelled == "drop")),
        "failed": none if failed == "keep" else status == 0,
        "without a submission": np.isnan(jobs.submitted),
        "without CPUs": facts.cores <= 0,
        "without a run time": np.isnan(facts.run),
    }
    told: list[str] = []
    kept = ~none
    for reason, mask in reasons.items():
        mask = mask & kept
        kept &= ~mask
        number = int(jobs.tasks[mask].sum())
        if number:
            place = cells.table.places[jobs.rows[int(mask.argmax())]]
            told.append(f"{number:,} {reason} (first in {cells.table.counted_in} {place})")
    total = int(jobs.tasks.sum())
    if not kept.any():
        found = f"{total:,} jobs and {jobs.steps:,} steps" + (f", {', '.join(told)}" if told else "")
        raise FormatError(cells.path, "at least one job that can be simulated", found)
    if told:
        text = f"{cells.path}: {total - int(jobs.tasks[kept].sum()):,} of {total:,} jobs dropped: {', '.join(told)}"
        warn_user(ModelWarning(text))
    return kept


def _jobs(number: int) -> str:
    return "1 job" if number == 1 else f"{number:,} jobs"


def _warn(
    cells: Cells, jobs: FoldedJobs, facts: Facts, clock: LocalClock, rows: np.ndarray, cores: str, submission: str
) -> None:
    """Warn, in one line each, of rows left out, of substitutes, and of what is not read."""
    _warn_of_rows(cells)
    requeued = jobs.attempts[rows] > 1
    more_cpus = (facts.asked > 0) & (facts.used > facts.asked) & (facts.cores == facts.used)
    later = jobs.times["eligible"] > jobs.submitted
    unknown = Counter(state for state in facts.state if state not in STATUS and state not in NOT_OVER)
    attempts = int(jobs.attempts[rows][requeued].sum())
    told = (
        ("requeued", requeued.sum(), f"{attempts:,} attempts in all: the last one's run time counts"),
        (
            "allocated more CPUs than requested",
            more_cpus[rows].sum() if cores == "allocated" else 0,
            "they ask for what they got (cores=requested: for what they requested)",
        ),
        (
            "eligible later than submitted",
            later[rows].sum() if submission == "submitted" else 0,
            "they join the queue when submitted (submission=eligible: when eligible)",
        ),
        (
            "End before Start",
            (jobs.times["end"] < jobs.times["start"])[rows].sum(),
            "Elapsed is their run time",
        ),
        ("parts of heterogeneous jobs", sum("+" in jobs.ids[row] for row in rows), "each counts as a job of its own"),
        ("with licences", sum(bool(facts.licenses[row]) for row in rows), "which only the scheduler slurm simulates"),
        ("with a number given before", jobs.reused, "told apart by #2"),
        (
            "with a list of array tasks that Slurm has cut short",
            jobs.shortened,
            "only the tasks in it are known (SLURM_BITSTR_LEN=0 sacct … prints all)",
        ),
    )
    parts = [f"{what}: {_jobs(int(number))}, {means}" for what, number, means in told if number]
    hours = {
        "the hour that clocks skip when summer time begins (is the time zone right?)": clock.skipped,
        "the hour that clocks show twice when it ends (the first, unless the job's other times say the second)": clock.twice,
    }
    parts += [f"times in {what}: {number:,}" for what, number in hours.items() if number]
    if parts:
        warn_user(ModelWarning(f"{cells.path}: {'; '.join(parts)}"))
    columns = [name for key, name in cells.table.names.items() if key not in READ]
    if len(columns) > _MOST_NAMED:  # a full dump has a hundred
        columns = [*columns[:_MOST_NAMED], f"and {len(columns) - _MOST_NAMED} more"]
    odd = {
        "columns": columns,
        "TRES": [f"{name} ({_jobs(number)})" for name, number in sorted(facts.other_tres.items())],
        "states": [f"{state or 'none'} ({_jobs(number)})" for state, number in sorted(unknown.items())],
        "constraints": [f"{facts.odd_constraints:,} that are no list of features"] * bool(facts.odd_constraints),
    }
    unread = [
        f"{kind} {', '.join(names)}" for kind, names in odd.items() if names and (kind != "states" or any(unknown))
    ]
    if unread:
        warn_user(ModelWarning(f"{cells.path}: not read: {'; '.join(unread)}"))


def _warn_of_rows(cells: Cells) -> None:
    """Say which rows cannot be understood, and which were put together."""
    table = cells.table
    texts = [name for key, name in table.names.items() if key in FREE_TEXT]
    way_out = f"leave out {', '.join(texts)} or print with" if texts else "print with"
    if table.left_out:
        first, *others = table.left_out
        also = ", ".join(str(each.place) for each in others[:_MOST_NAMED]) + ("…" if len(others) > _MOST_NAMED else "")
        text = (
            f"{cells.path}: {len(table.left_out):,} of {len(set(table.places)) + len(table.left_out):,} rows left out; "
            f"{table.place_of('', first).strip()}: expected {first.expected}, found {first.found}"
        )
        if others:
            text += f"; then {table.counted_in} {also}"
        if any(not each.column for each in table.left_out):
            text += (
                f" (a text may hold the separator or a line break: {way_out} sacct --parsable2 --delimiter=$'\\x1f')"
            )
        warn_user(ModelWarning(text))
    if table.joined:
        text = f"{cells.path}: {counted(table.joined, 'row')} put together by ids, times and states"
        text += ": a text holds the separator or a line break"
        if table.emptied:
            emptied = ", ".join(f"{name} ({counted(number, 'row')})" for name, number in table.emptied.items())
            text += f"; texts left empty, because it is not clear where they end: {emptied}"
        warn_user(ModelWarning(text))


def _columns(
    cells: Cells, jobs: FoldedJobs, facts: Facts, rows: np.ndarray, assume_recorded: bool, when_eligible: bool
) -> Columns:
    """Return the columns of the job schema for the jobs that are kept."""
    chosen = [jobs.rows[row] for row in rows]
    submit = jobs.submitted[rows]
    eligible, start = jobs.times["eligible"][rows], jobs.times["start"][rows]
    joins = np.where((eligible > submit) & when_eligible, eligible, submit)
    run, limit = facts.run[rows], facts.limit[rows]
    not_told = np.isnan(limit)
    cpu_time = cells.numbers(chosen, ("totalcpu", values.duration))
    used_kb = np.array([jobs.most_memory_kb.get(jobs.ids[row].partition("#")[0], float(UNKNOWN)) for row in rows])
    ids = jobs.ids_of(rows)
    columns: Columns = {
        "job_id": np.array(ids, dtype=object),
        "submit_time": joins,
        "recorded_run_time": run,
        "requested_time": np.where(not_told, run if assume_recorded else math.inf, limit),
        "requested_time_assumed": not_told & assume_recorded,
        "requested_cores": facts.cores[rows],
        "requested_cores_assumed": facts.asked[rows] <= 0,
        "nodes": facts.nodes[rows],
        "memory": facts.memory[rows],
        "array_limit": np.array(jobs.limits_of(ids), dtype=np.int64),
        "gpus": facts.gpus[rows],
        "gpu_type": np.array([facts.gpu_types[row] for row in rows], dtype=object),
        "licenses": np.array([facts.licenses[row] for row in rows], dtype=object),
        "requires": np.array([facts.requires[row] for row in rows], dtype=object),
        "recorded_wait_time": np.where(start >= joins, start - joins, UNKNOWN),
        "used_cores": np.where(facts.used[rows] > 0, facts.used[rows], UNKNOWN),
        "avg_cpu_time": np.where(np.isfinite(cpu_time), cpu_time / np.maximum(facts.used[rows], 1), UNKNOWN),
        "used_memory": used_kb,
        "status": np.array([STATUS.get(facts.state[row], UNKNOWN) for row in rows]),
        "priority": np.array(cells.understood("priority", chosen, values.count), dtype=float),
    }
    for field, name in _TEXTS.items():
        if name in cells.table.columns:
            columns[field] = np.array(cells.texts(name, chosen), dtype=object)
    lines = cells.texts("submitline", chosen) if "submitline" in cells.table.columns else []
    asked = [few_switches(line) for line in lines]
    if any(most for most, _ in asked):
        columns["switches"] = np.array([most for most, _ in asked])
        columns["switch_wait"] = np.array([seconds for _, seconds in asked])
    if lines and not when_eligible:
        # The field `after` has no words for other dependencies than these two.
        tasks: dict[str, list[str]] = {}
        for job in ids:
            tasks.setdefault(job.partition("_")[0], []).append(job)
        order = {ids[row]: place for place, row in enumerate(np.argsort(joins, kind="stable"))}
        found = [awaited(line, job, order, tasks) for line, job in zip(lines, ids, strict=True)]
        others = sum(more for _, more in found)
        if others:
            text = f"dependencies other than afterok and afterany: {_jobs(others)}, which do not wait for them"
            warn_user(ModelWarning(f"{cells.path}: {text}"))
        columns["after"] = np.array([after for after, _ in found], dtype=object)
    if "nodelist" in cells.table.columns:
        lists = [text if text.lower() != "none assigned" else "" for text in cells.texts("nodelist", chosen)]
        columns["recorded_nodes"] = np.array(lists, dtype=object)
    return columns
