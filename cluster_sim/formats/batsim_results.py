"""Batsim's result files, written from our results and read back: ``_jobs``, ``_machine_states``, ``_consumed_energy``.

Resources are the platform's cores, numbered through in platform order. The table of jobs is also what evalys
(``JobSet.from_csv``) reads. Numbers are written in full, where Batsim rounds to six digits; times are in s.

| file | columns |
|---|---|
| ``_jobs.csv`` | JOB_COLUMNS; ``stretch`` is turnaround / execution time, ``allocated_resources`` reads ``0-3 7``; of a job \
that ran in pieces its last :mod:`unbroken time <cluster_sim.formats.unbroken>` |
| ``_machine_states.csv`` | STATE_COLUMNS; cores by state, a failed node's among the sleeping ones |
| ``_consumed_energy.csv`` | ENERGY_COLUMNS; J since time 0 at each start (s) and end (e) of a job and transition (p) |
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from cluster_sim.errors import FormatError, ModelWarning, warn_user
from cluster_sim.files.atomic import atomic_files, write_bytes
from cluster_sim.files.csv import as_numbers, check_lengths
from cluster_sim.files.reading import read_text
from cluster_sim.formats.unbroken import told_of_pieces, unbroken_times
from cluster_sim.machine.node import NodeState
from cluster_sim.platform.hardware import MAX_CORES
from cluster_sim.spelling import UnknownKeys
from cluster_sim.workload.fields import LONGEST_S

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

    from cluster_sim.platform.platform import Platform
    from cluster_sim.records.result import Result

JOB_COLUMNS = (
    "job_id workload_name profile submission_time requested_number_of_resources requested_time success final_state "
    "starting_time execution_time finish_time waiting_time turnaround_time stretch allocated_resources consumed_energy"
).split()
STATE_COLUMNS = "time nb_sleeping nb_switching_on nb_switching_off nb_idle nb_computing".split()
ENERGY_COLUMNS = "time energy event_type epower".split()

_FINAL_STATES = {
    "completed": "COMPLETED_SUCCESSFULLY",
    "killed": "COMPLETED_KILLED",
    "rejected": "REJECTED",
}
_WALLTIME_REACHED = "COMPLETED_WALLTIME_REACHED"
_TEXT_COLUMNS = ("job_id", "workload_name", "profile", "final_state", "allocated_resources", "event_type")
# Names before Batsim's version 2; evalys still writes the first.
_OLD_NAMES = {
    "jobID": "job_id",
    "requested_number_of_processors": "requested_number_of_resources",
    "allocated_processors": "allocated_resources",
}
# Columns that every version of Batsim and evalys has written; the others came and went.
_EVER_PRESENT = {
    "jobs": (
        "job_id submission_time requested_number_of_resources requested_time success starting_time finish_time "
        "allocated_resources"
    ).split(),
    "machine_states": STATE_COLUMNS,
    "consumed_energy": ["time", "energy", "event_type"],
}
_CHECKED = (
    "requested_number_of_resources", "submission_time", "starting_time", "finish_time", "requested_time", "success",
)  # fmt: skip
_EVENT_TYPES = ("s", "e", "p")
_NEVER = -1
_FEWEST_COLUMNS = 4
"""Columns, of those that every version has, by which a table of jobs is known."""
_ROUNDED = 1e-5
"""Relative difference that a number may have from its value by other numbers: they have six digits or decimals."""
_MOST_J = 1e30
"""Largest energy, J: energies can be added and divided without an overflow."""
_MAY_BE_EMPTY = ("success", "requested_time", "starting_time", "finish_time")


def write_outputs(result: Result, prefix: str | os.PathLike[str]) -> list[Path]:
    """Write all three files, ``PREFIX_jobs.csv`` and so on, together; their paths.

    A ModelWarning says how many jobs ran in pieces, of which the first file has one.
    """
    tables = {
        "jobs": jobs_table(result, f"{prefix}_jobs.csv"),
        "machine_states": machine_states_table(result),
        "consumed_energy": consumed_energy_table(result),
    }
    paths = {name: Path(f"{prefix}_{name}.csv") for name in tables}
    with atomic_files(paths["jobs"]) as aside:
        for name, table in tables.items():
            aside(paths[name]).write_bytes(_csv_bytes(table))
    return list(paths.values())


def write_jobs(result: Result, path: str | os.PathLike[str]) -> None:
    """Write the table of jobs, for evalys and all that reads Batsim's ``_jobs.csv``; warns as :func:`write_outputs`."""
    write_bytes(path, _csv_bytes(jobs_table(result, path)))


def _csv_bytes(table: pd.DataFrame) -> bytes:
    """Return a table as CSV; NaN is an empty cell, but ``NA`` in the column ``epower``, as in Batsim."""
    filled = table.assign(epower=table["epower"].astype(object).fillna("NA")) if "epower" in table else table
    return filled.to_csv(index=False, lineterminator="\n").encode()


# ---------------------------------------------------------------------- from a result


def jobs_table(result: Result, path: str | os.PathLike[str] = "") -> pd.DataFrame:
    """Return the jobs that are over or were rejected, as Batsim lists them; it does not list unfinished jobs.

    Batsim has one time and one set of cores for a job. A job that was run again or suspended, or whose cores changed,
    has in its row the last time without a break, and the cores that it kept throughout. The time before counts as
    waiting. Its energy is all that it took. A warning tells of such jobs, if there is a ``path`` to be written.
    """
    times = unbroken_times(result)
    if path and (told := told_of_pieces(result, times.in_pieces)):
        has = "the last time of each without a break, with the cores kept throughout; what was before counts as waiting"
        warn_user(ModelWarning(f"{os.fspath(path)}: {told}, and Batsim's files know one: this has {has}"))
    listed = (result.jobs["state"] != "unfinished").to_numpy()
    jobs, pieces = result.jobs[listed], times.in_pieces[listed]
    by_walltime = (jobs["state"] == "killed") & (jobs["reason"] == "walltime")
    limit = jobs["requested_time"].to_numpy(dtype=float)
    submit, run, wait, turnaround = (
        jobs[name].to_numpy(dtype=float) for name in ("submit_time", "run_time", "wait_time", "turnaround_time")
    )
    start, finish = times.start[listed], times.end[listed]
    run = np.where(pieces, finish - start, run)
    turnaround = np.where(pieces, finish - submit, turnaround)
    with np.errstate(divide="ignore", invalid="ignore"):
        stretch = turnaround / run
    return pd.DataFrame(
        {
            "job_id": jobs["job_id"],
            "workload_name": str(result.meta.get("workload", "")) or "workload",
            "profile": jobs["profile"],
            "submission_time": jobs["submit_time"],
            "requested_number_of_resources": jobs["requested_cores"],
            "requested_time": np.where(np.isfinite(limit), limit, -1.0),
            "success": (jobs["state"] == "completed").astype(int),
            "final_state": jobs["state"].map(_FINAL_STATES).mask(by_walltime, _WALLTIME_REACHED),
            "starting_time": start,
            "execution_time": run,
            "finish_time": finish,
            "waiting_time": np.where(pieces, start - submit, wait),
            "turnaround_time": turnaround,
            "stretch": stretch,
            "allocated_resources": [_ranges_text(times.cores[row]) for row in np.flatnonzero(listed).tolist()],
            "consumed_energy": jobs["energy_j"].where(jobs["start_time"].notna()),
        },
        columns=JOB_COLUMNS,
    ).reset_index(drop=True)


def _ranges_text(ranges: Sequence[tuple[int, int]]) -> str:
    merged: list[list[int]] = []
    for low, high in ranges:
        if merged and low == merged[-1][1] + 1:
            merged[-1][1] = high
        else:
            merged.append([low, high])
    return " ".join(f"{low}-{high}" if high > low else f"{low}" for low, high in merged)


def machine_states_table(result: Result) -> pd.DataFrame:
    """Return how many cores sleep, boot, shut down, idle and compute, with a row for each change."""
    platform = result.platform
    states, used = result.node_states, result.core_holds.used
    of_node = platform.node_cores[platform.node_indices(states["node"])]
    changes = [(used.start, used.end, used.last - used.first + 1)]
    for names in ((NodeState.OFF, NodeState.FAILED), (NodeState.SWITCHING_ON,), (NodeState.SWITCHING_OFF,)):
        chosen = states["state"].isin([str(name) for name in names]).to_numpy()
        start, stop = (states[name].to_numpy(dtype=float)[chosen] for name in ("start", "end"))
        changes.append((start, stop, of_node[chosen]))
    end = float(result.power["time"].iloc[-1])
    times = np.unique(np.concatenate([[0.0, end], *(np.concatenate([start, stop]) for start, stop, _ in changes)]))
    levels: list[npt.NDArray[np.int64]] = []
    for start, stop, cores in changes:
        change = np.bincount(np.searchsorted(times, start), cores, len(times))
        change -= np.bincount(np.searchsorted(times, stop), cores, len(times))
        levels.append(np.cumsum(change).astype(np.int64))
    computing, sleeping, switching_on, switching_off = levels
    # When the run ends, so do all intervals; the last row says what it was like before, as Batsim's does after.
    sleeping[-1], switching_on[-1], switching_off[-1] = _last(sleeping), _last(switching_on), _last(switching_off)
    idle = platform.core_count - computing - sleeping - switching_on - switching_off
    return pd.DataFrame(
        dict(zip(STATE_COLUMNS, (times, sleeping, switching_on, switching_off, idle, computing), strict=True))
    )


def _last(level: np.ndarray) -> int:
    return int(level[-2]) if len(level) > 1 else int(level[-1])


def consumed_energy_table(result: Result) -> pd.DataFrame:
    """Return the energy since time 0 at each event, and the mean power since the last one (NaN at the same time)."""
    jobs, states = result.jobs, result.node_states
    power_states = [str(NodeState.OFF), str(NodeState.SWITCHING_ON), str(NodeState.SWITCHING_OFF)]
    moved = states[states["state"].isin(power_states) & (states["start"] > 0)]
    started = jobs[jobs["start_time"].notna()]
    events = pd.concat(
        [
            pd.DataFrame({"time": started["finish_time"].dropna(), "event_type": "e"}),
            pd.DataFrame({"time": moved["start"].drop_duplicates(), "event_type": "p"}),
            pd.DataFrame({"time": started["start_time"], "event_type": "s"}),
        ]
    ).sort_values("time", kind="stable", ignore_index=True)
    times = events["time"].to_numpy(dtype=float)
    edges, watts = result.power["time"].to_numpy(), result.power["watts"].to_numpy()
    energy_at_edge = np.concatenate([[0.0], np.cumsum(watts[:-1] * np.diff(edges))])
    row = np.searchsorted(edges, times, side="right") - 1
    energy = energy_at_edge[row] + watts[row] * (times - edges[row])
    with np.errstate(divide="ignore", invalid="ignore"):
        power = np.diff(energy, prepend=0.0) / np.diff(times, prepend=0.0)
    events["energy"] = energy
    events["epower"] = np.where(np.diff(times, prepend=0.0) > 0, power, math.nan)
    return events[ENERGY_COLUMNS]


# ---------------------------------------------------------------------- from files


def read_jobs(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read Batsim's ``_jobs.csv`` of any version, or evalys' table, under the newest names of the columns.

    Jobs of several workloads that share an id get Batsim's other name for them, ``workload!id``. Raises FormatError naming
    file and column, also for an id that a workload has twice.
    """
    table = _read(path, "jobs")
    _check_jobs(table, path)
    _tell_contradictions(table, path)
    if "consumed_energy" in table:  # -1 where nothing was measured
        table["consumed_energy"] = table["consumed_energy"].where(table["consumed_energy"] >= 0)
    ids = table["job_id"]
    if "workload_name" in table:
        ids = ids.where(~ids.duplicated(keep=False), table["workload_name"] + "!" + ids)
    if ids.duplicated().any():
        row = int(ids.duplicated().to_numpy().argmax())
        raise FormatError(f"{path} row {row}, job {table['job_id'].iloc[row]}", "every job once", "it twice")
    return table.assign(job_id=ids)


def _check_jobs(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Raise FormatError for numbers that are none of a job's: parts of cores, times before others that come first."""
    number, submit, start, finish, limit, success = (table[name].to_numpy(dtype=float) for name in _CHECKED)
    ran = start >= 0
    has_machines = (table["allocated_resources"].fillna("") != "").to_numpy(dtype=bool)
    none = f"or {_NEVER} of a job that never started"
    checks: list[tuple[str, str, npt.NDArray[np.bool_]]] = [
        (
            _CHECKED[0],
            f"a whole number from 0 to {MAX_CORES}",
            (number >= 0) & (number <= MAX_CORES) & (number % 1 == 0),
        ),
        ("submission_time", f"a time from 0 to {LONGEST_S:g} s", (submit >= 0) & (submit <= LONGEST_S)),
        ("starting_time", f"a time up to {LONGEST_S:g} s, {none}", (ran & (start <= LONGEST_S)) | _is_none(start)),
        ("starting_time", "a time not before the submission", ~ran | (start >= submit - _rounding(submit))),
        ("finish_time", f"a time up to {LONGEST_S:g} s", (finish <= LONGEST_S) | _is_none(finish)),
        ("starting_time", "a time from 0 on of a job that succeeded", ran | (success != 1) | ~has_machines),
        ("finish_time", "a time not before the start", ~ran | (finish >= start - _rounding(start))),
        ("requested_time", f"a time from 0 s on, or {_NEVER} for none", (limit >= 0) | _is_none(limit)),
        ("success", "0 or 1", (success == 0) | (success == 1) | np.isnan(success)),
    ]
    if "consumed_energy" in table:
        energy = table["consumed_energy"].to_numpy(dtype=float)
        good = (energy >= 0) & (energy <= _MOST_J) | _is_none(energy)
        checks.append(("consumed_energy", f"J from 0 to {_MOST_J:g}, or {_NEVER} for not known", good))
    _require(table, path, checks)


def _require(
    table: pd.DataFrame, path: str | os.PathLike[str], checks: Iterable[tuple[str, str, npt.NDArray[np.bool_]]]
) -> None:
    """Raise FormatError for the first row in which a check (column, what is expected, where it holds) does not hold."""
    for column, expected, holds in checks:
        if not holds.all():
            row = int((~holds).argmax())
            raise FormatError(f"{path} row {row}, column {column}", expected, float(table[column].iloc[row]))


def _is_none(values: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray(np.isnan(values) | (values == _NEVER))


def _rounding(values: Floats) -> Floats:
    """Return by how much two equal values in these files may differ, as they have at least six digits."""
    return _ROUNDED * np.maximum(1.0, np.abs(values))


def _tell_contradictions(table: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Warn of columns that say other than the times and machines that are read; the first row of each."""
    submit, start, finish = (table[name].to_numpy(dtype=float) for name in _CHECKED[1:4])
    ran = (start >= 0) & np.isfinite(finish)
    with np.errstate(divide="ignore", invalid="ignore"):
        implied = {
            "execution_time": finish - start,
            "waiting_time": start - submit,
            "turnaround_time": finish - submit,
            "stretch": (finish - submit) / (finish - start),
        }
    for name, values in implied.items():
        if name not in table:
            continue
        said = table[name].to_numpy(dtype=float)
        scale = np.abs(values) / np.maximum(finish - start, _ROUNDED) if name == "stretch" else 1.0
        wrong = ran & np.isfinite(said) & np.isfinite(values)
        wrong &= np.abs(said - values) > 2.0 * np.maximum(_rounding(finish) * scale, _rounding(values))
        if wrong.any():
            row = int(wrong.argmax())
            count = f"{int(wrong.sum()):,} of {len(table):,} rows"
            text = (
                f"{count} contradict the times of submission, start and finish, which count (row {row}: {said[row]:g}"
            )
            warn_user(ModelWarning(f"{path}, column {name}: {text}, by those {values[row]:g})"))


def is_jobs_header(line: bytes) -> bool:
    """Return whether a line is the header of a table of jobs, of any version."""
    # Some columns are enough: the reader names one that is misspelt.
    return len(set(_EVER_PRESENT["jobs"]) & set(_columns(line.decode("utf-8", "replace")))) >= _FEWEST_COLUMNS


def read_machine_states(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read Batsim's ``_machine_states.csv``. Raises FormatError naming file, row and column."""
    table = _read(path, "machine_states")
    counts = {name: table[name].to_numpy(dtype=float) for name in STATE_COLUMNS[1:]}
    expected = f"a whole number from 0 to {MAX_CORES}"
    checks = [(name, expected, (n >= 0) & (n <= MAX_CORES) & (n % 1 == 0)) for name, n in counts.items()]
    _require(table, path, [*checks, *_rising(table, "time", LONGEST_S)])
    total = sum(counts.values(), np.zeros(len(table)))
    if len(table) and (total != total[0]).any():
        row = int((total != total[0]).argmax())
        raise FormatError(f"{path} row {row}", f"{total[0]:g} machines in all, as in the first row", f"{total[row]:g}")
    return table


def read_consumed_energy(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read Batsim's ``_consumed_energy.csv``; NaN for ``NA``. Raises FormatError naming file, row and column."""
    table = _read(path, "consumed_energy")
    checks = [*_rising(table, "time", LONGEST_S), *_rising(table, "energy", _MOST_J)]
    if "epower" in table:
        watts = table["epower"].to_numpy(dtype=float)
        checks.append(("epower", "W from 0 on, or NA", (watts >= 0) & (watts <= _MOST_J) | np.isnan(watts)))
    _require(table, path, checks)
    if not table["event_type"].isin(_EVENT_TYPES).all():
        row = int((~table["event_type"].isin(_EVENT_TYPES)).to_numpy().argmax())
        where, found = f"{path} row {row}, column event_type", table["event_type"].iloc[row]
        raise FormatError(where, f"one of {', '.join(_EVENT_TYPES)}", found)
    return table


def _rising(table: pd.DataFrame, name: str, most: float) -> list[tuple[str, str, npt.NDArray[np.bool_]]]:
    """Return the checks of a column that begins at 0 or later and never falls."""
    values = table[name].to_numpy(dtype=float)
    return [
        (name, f"a number from 0 to {most:g}", (values >= 0) & (values <= most)),
        (name, "a number not below that of the row before", np.diff(values, prepend=-math.inf) >= -_rounding(values)),
    ]


def _read(path: str | os.PathLike[str], kind: str) -> pd.DataFrame:
    text = read_text(path)
    check_lengths(text, path)
    header, newline, rows = text.partition("\n")
    columns = _columns(header)
    keys = UnknownKeys(path)
    known = {"jobs": JOB_COLUMNS, "machine_states": STATE_COLUMNS, "consumed_energy": ENERGY_COLUMNS}[kind]
    keys.look(columns, known, "its header", ("hacky_job_id", "metadata"), takes_others=True)
    keys.tell()
    try:
        table = pd.read_csv(
            io.StringIO(",".join(columns) + newline + rows),
            dtype=dict.fromkeys(_TEXT_COLUMNS, str),
            keep_default_na=False,
            na_values={name: [] if name in _TEXT_COLUMNS else ["", "NA", "nan", "-nan"] for name in columns},
            index_col=False,
        )
    except (ValueError, OverflowError) as error:
        raise FormatError(path, "a CSV table", str(error)) from None
    for name in _EVER_PRESENT[kind]:
        if name not in table:
            raise FormatError(path, f"a column '{name}'", f"columns {', '.join(map(str, table.columns))}")
    for name in table.columns.intersection([*JOB_COLUMNS, *STATE_COLUMNS, *ENERGY_COLUMNS]):
        if name in _TEXT_COLUMNS:
            continue
        column, numbers = table[name], as_numbers(table[name])
        wrong = (numbers.isna() & column.notna()) | np.isinf(numbers)
        if name in _EVER_PRESENT[kind] and name not in _MAY_BE_EMPTY:
            wrong |= numbers.isna()
        if wrong.any():
            row = int(wrong.to_numpy().argmax())
            found = "nothing" if pd.isna(column.iloc[row]) else column.iloc[row]
            raise FormatError(f"{path} row {row}, column {name}", "a number", found)
        table[name] = numbers
    return table


def _columns(header: str) -> list[str]:
    """Return the names in the first line of a table; old names are replaced by the newest."""
    names = [name.strip().strip('"') for name in header.lstrip("\ufeff").split(",")]
    return [_OLD_NAMES.get(name, name) for name in names]


def parse_resources(text: str, platform: Platform, where: str) -> npt.NDArray[np.int64]:
    """Return the core numbers of ``0-3 7``, rising.

    Raises FormatError for other text and for cores the platform lacks.
    """
    numbers: list[npt.NDArray[np.int64]] = []
    for part in text.split():
        first, dash, last = part.partition("-")
        # isdecimal also likes other scripts' digits.
        if not (part.isascii() and first.isdigit() and (last.isdigit() or not dash)) or len(part) > 40:
            raise FormatError(where, "resources such as 0-3 7", part)
        low, high = int(first), int(last or first)
        if high < low or high >= platform.core_count:
            raise FormatError(where, f"resources from 0 to {platform.core_count - 1}", part)
        numbers.append(np.arange(low, high + 1))
    return np.unique(np.concatenate(numbers)) if numbers else np.array([], np.int64)
