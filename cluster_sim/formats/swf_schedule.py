"""A simulated schedule as a log in Standard Workload Format, with the waits and run times that came out.

A workload written as SWF (:mod:`.swf`) says what was asked for; this says what became of it, for the programs that analyse
logs. A line per job that was submitted, in order of submission:

| field | is |
|---|---|
| 1 job number | the job's id where all ids are whole numbers, else its position from 1 |
| 2 submit, 3 wait, 4 run time | s, of the run; −1 for what never started, and for the run time of what still runs |
| 5 allocated processors | cores that the job held, at most |
| 8 requested processors, 9 requested time | as asked for; no time is −1 |
| 11 status | 1 completed, 0 killed, 5 rejected, or cancelled before its start, −1 unfinished |
| 12 user, 13 group, 14 executable, 15 queue, 16 partition | numbers, from 1 in order of appearance, where names are no \
numbers; the header's notes list them |

A job that was stopped and run again or suspended, or whose cores changed, has more lines after this one: a line for each
piece, in which it had the same cores. The format's definition proposes that for jobs that are swapped out or restarted
from checkpoints. Such a line has the wait since the last piece, the run time and the cores of the piece, and status 2;
in the last line the status is 3 if the job completed and 4 if it was killed. Only the first has a submit time. The job's
own line sums up: its run time is that of all pieces, −1 while it is not over. Readers of workloads, ours too, pass over
the others.

Other fields are −1. SWF writes seconds without saying how fine; these keep all their digits.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cluster_sim.files.atomic import write_bytes
from cluster_sim.formats.swf import numbers_of_names, warn_of_names, whole_where_possible
from cluster_sim.workload.fields import UNKNOWN

if TYPE_CHECKING:
    from cluster_sim.records.reasons.spells import Spell
    from cluster_sim.records.result import Result

_Fields = dict[str, np.ndarray]
_STATUS = {"completed": 1, "killed": 0, "rejected": 5, "unfinished": -1}
_CANCELLED = 5
_TO_BE_CONTINUED = 2
_LAST_PIECE = {1: 3, 0: 4}
"""Status of the last line of a job in pieces, by its own."""
_MOST_NOTES = 1_000
_OF_NUMBERS = {"User": "user", "Group": "group", "Executable": "profile", "Queue": "queue", "Partition": "partition"}
"""Columns of which the file has numbers, and what the header's notes call them."""


def write_schedule(result: Result, path: str | os.PathLike[str]) -> None:
    """Write the schedule of a run as SWF, compressed when the name ends in ``.gz``.

    A ModelWarning says in which columns there are numbers instead of names.
    """
    jobs = result.jobs[result.jobs["submit_time"].notna()]
    named = [name for name in ("job_id", *_OF_NUMBERS.values()) if name in jobs]
    warn_of_names({name: jobs[name].to_numpy(dtype=object) for name in named}, path)
    table = schedule_table(result)
    text = table.to_csv(sep=" ", header=False, index=False, lineterminator="\n")
    header = "".join(f"; {line}\n" for line in _header(result, len(table)))
    write_bytes(path, (header + text).encode())


def schedule_table(result: Result) -> pd.DataFrame:
    """Return the 18 fields of each submitted job, and of its pieces if it has several; whole numbers where possible."""
    submitted = result.jobs["submit_time"].notna().to_numpy()
    jobs, used = result.jobs[submitted], result.core_holds.used_by_job
    held = np.bincount(used.tenant, used.last - used.first + 1, len(result.jobs)).astype(np.int64)
    run_time = result.jobs["run_time"].to_numpy(dtype=float).copy()
    pieces = {row: own for row, own in result.spells.items() if len(own) > 1}
    for row, own in pieces.items():
        held[row] = max(piece.cores for piece in own)
        run_time[row] = sum(piece.end - piece.start for piece in own) if run_time[row] >= 0.0 else UNKNOWN
    cores = held[submitted]
    limit = jobs["requested_time"].to_numpy(dtype=float)
    started = jobs["start_time"].notna().to_numpy()
    status = jobs["state"].map(_STATUS).to_numpy(dtype=np.int64)
    unknown = np.full(len(jobs), UNKNOWN, np.int64)
    origin = float(result.meta.get("origin_s") or 0.0)
    fields: _Fields = {
        "job": numbers_of_names(jobs["job_id"].to_numpy(dtype=object)),
        "submit": jobs["submit_time"].to_numpy(dtype=float) + origin,
        "wait": jobs["wait_time"].fillna(UNKNOWN).to_numpy(dtype=float),
        "run": np.where(np.isnan(run_time), UNKNOWN, run_time)[submitted],
        "allocated": np.where(cores > 0, cores, UNKNOWN),
        "cpu": unknown,
        "memory": unknown,
        "requested": jobs["requested_cores"].to_numpy(dtype=np.int64),
        "requested_time": np.where(np.isfinite(limit), limit, UNKNOWN),
        "requested_memory": unknown,
        "status": np.where((status == 0) & ~started, _CANCELLED, status),
        "user": numbers_of_names(jobs["user"].to_numpy(dtype=object)),
        "group": _numbers_of(jobs, "group", unknown),
        "executable": numbers_of_names(jobs["profile"].to_numpy(dtype=object)),
        "queue": _numbers_of(jobs, "queue", unknown),
        "partition": _numbers_of(jobs, "partition", unknown),
        "preceding": unknown,
        "think": unknown,
    }
    if pieces:
        fields = _with_pieces(fields, result.jobs["submit_time"].to_numpy(dtype=float), pieces)
    return pd.DataFrame({name: whole_where_possible(values) for name, values in fields.items()})


def _numbers_of(jobs: pd.DataFrame, column: str, otherwise: np.ndarray) -> np.ndarray:
    """Return as numbers a column of names that a table may lack."""
    return numbers_of_names(jobs[column].to_numpy(dtype=object)) if column in jobs else otherwise


def _with_pieces(fields: _Fields, submit_times: np.ndarray, pieces: dict[int, list[Spell]]) -> _Fields:
    """Return the fields with a line for each piece of a job after the job's own line."""
    line_of = np.cumsum(~np.isnan(submit_times)) - 1
    lines: list[int] = []
    told: list[dict[str, float]] = []
    for row, own in pieces.items():
        line, before = int(line_of[row]), submit_times[row]
        last_status = _LAST_PIECE.get(int(fields["status"][line]), _TO_BE_CONTINUED)
        for piece in own:
            lines.append(line)
            told.append(
                {
                    "submit": float(fields["submit"][line]) if piece is own[0] else UNKNOWN,
                    "wait": piece.start - before,
                    "run": piece.end - piece.start,
                    "allocated": piece.cores,
                    "status": last_status if piece is own[-1] else _TO_BE_CONTINUED,
                }
            )
            before = piece.end
    own_values = pd.DataFrame(told)
    order = np.argsort(np.append(np.arange(len(fields["job"])), np.array(lines) + 0.5), kind="stable")
    return {
        name: np.append(values, own_values[name].to_numpy() if name in own_values else values[lines])[order]
        for name, values in fields.items()
    }


def _header(result: Result, lines: int) -> list[str]:
    """Return the directives of the format's definition, a line each, whatever line breaks the input has."""
    from cluster_sim import __version__

    meta, platform, jobs = result.meta, result.platform, result.jobs
    told = [
        "Version: 2.2",
        f"Computer: {platform.id}, simulated",
        f"Conversion: cluster-sim {__version__}",
        f"MaxJobs: {int(jobs['submit_time'].notna().sum())}",
        f"MaxRecords: {lines}",
        f"MaxNodes: {platform.node_count}",
        f"MaxProcs: {platform.core_count}",
        f"Note: schedule of {meta.get('scheduler', '')} for workload {meta.get('workload', '')}",
    ]
    for what, column in _OF_NUMBERS.items():
        if column not in jobs:
            continue
        names = jobs[column].to_numpy(dtype=object)
        numbered = dict(zip(names.tolist(), numbers_of_names(names).tolist(), strict=True))
        named = [(number, name) for name, number in numbered.items() if name and str(number) != name]
        told += [f"Note: {what} {number} is {name}" for number, name in named[:_MOST_NOTES]]
    return [" ".join(line.split()) for line in told]
