"""What the values of a saved result must be: typed, bounded, in order, and none that contradicts another.

The files of a result are the user's to edit, and other programs read them, too. A value that no run can have written is
refused with its file, line and column. Rounding is allowed for: numbers of six digits are within it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cluster_sim.errors import FormatError
from cluster_sim.platform.node_state import NodeState
from cluster_sim.records.metrics import watt_minutes
from cluster_sim.workload.fields import RESULT_TABLES, SUMMARY_METRICS

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Truths = npt.NDArray[np.bool_]

_ROUNDED = 1e-5
"""Fraction by which a time may seem to be before one that it follows: other programs' tables have six digits."""
_SAME = 1e-8
"""Fraction of the largest summand by which two sums that say the same may differ."""
_ADDED = {"energy": "energy_j", "makespan": "last_completion_s"}
"""The largest number that metrics whose names begin so are added up of."""
JOB_STATES = ("completed", "killed", "rejected", "unfinished")
_WORDS = {
    ("jobs", "state"): JOB_STATES,
    ("holds", "kind"): ("job", "guest"),
    ("resource_holds", "kind"): ("job",),
    ("attempts", "outcome"): (
        "completed", "killed", "failed", "preempted", "requeued", "timeout", "cancelled", "unfinished",
    ),
    ("stages", "stage"): ("checkpoint", "restart", "reconfiguration"),
    ("node_states", "state"): tuple(NodeState),
    ("decisions", "decision"): ("start", "reserve", "hold", "block", "reject", "preempt", "resume", "resize"),
}  # fmt: skip
"""The words that a column may hold."""
_LEAST = {"p_state": -1.0, "slowdown": 1.0, "bounded_slowdown": 1.0}
"""The least value of columns, 0 for others."""
_MOST = {"work_done": 1.0, "share": 1.0, "saved": 1.0, "availability": 1.0, "share_delayed": 1.0}
_INFINITE = ("requested_time", "promised_time", "stretch")
"""Columns that may be infinite."""
_IN_ORDER = {
    "jobs": ("submit_time", "eligible_time", "allocation_time", "start_time", "finish_time"),
    "attempts": ("queue_time", "allocation_time", "start_time", "end_time", "over_time"),
    **dict.fromkeys(("holds", "resource_holds", "stages", "node_states", "p_states"), ("start", "end")),
}
"""Times of a row, none of which is before the one before it."""
_PARTS_OF_ENERGY = ("off", "switching_on", "idle", "computing", "switching_off", "failed")


_SAID: dict[str, tuple[type | tuple[type, ...], str]] = {
    **dict.fromkeys(("version", "scheduler", "platform", "workload", "power_policy", "start_date"), (str, "text")),
    "seed": (int, "a whole number"),
    "origin_s": ((int, float), "a number"),
}
"""Keys of a summary that say how its run was made."""


def check_values(table: pd.DataFrame, name: str, path: Path) -> None:
    """Raise FormatError for the first value of a table that no run can have written; its columns hold what they are to hold."""
    for column, words in ((column, words) for (of, column), words in _WORDS.items() if of == name):
        _require(table, path, column, table[column].isin(words).to_numpy(), f"one of {', '.join(words)}")
    for field in RESULT_TABLES[name]:
        if field.kind in ("float", "int") and field.name in table:
            values = table[field.name].to_numpy(dtype=float)
            least, most = _LEAST.get(field.name, 0.0), _MOST.get(field.name, math.inf)
            with np.errstate(invalid="ignore"):
                is_finite = np.asarray(~np.isinf(values) | ((values > 0) & (field.name in _INFINITE)))
                within = (values >= least - _rounding(values)) & (values <= most + _ROUNDED) & is_finite
            expected = f"a number from {least:g}" + (f" to {most:g}" if most < math.inf else " on")
            _require(table, path, field.name, within | np.isnan(values), expected)
    latest = np.full(len(table), -math.inf)
    for column in _IN_ORDER.get(name, ()):
        if column in table:
            (values,) = _columns(table, column)
            early = values < latest - _rounding(latest)
            _require(
                table,
                path,
                column,
                ~early,
                f"a time not before {latest[int(early.argmax())]:g} s" if early.any() else "",
            )
            latest = np.where(np.isnan(values), latest, values)
    for column, expected, values, largest in _implied(table, name):
        said = table[column].to_numpy(dtype=float)
        with np.errstate(invalid="ignore"):
            same = np.abs(said - values) <= _SAME * (1.0 + largest)
        _require(table, path, column, same | np.isnan(said) | np.isnan(values) | np.isinf(values), expected)


def _columns(table: pd.DataFrame, *names: str) -> list[Floats]:
    return [table[name].to_numpy(dtype=float) for name in names]


def _rounding(values: Floats) -> Floats:
    return _ROUNDED * np.maximum(1.0, np.abs(np.nan_to_num(values, posinf=0.0, neginf=0.0)))


def _require(table: pd.DataFrame, path: Path, column: str, holds: Truths, expected: str) -> None:
    if not holds.all():
        row = int((~holds).argmax())
        found = table[column].iloc[row]
        raise FormatError(
            f"{path}, line {row + 2}, {column}", expected, float(found) if not isinstance(found, str) else found
        )


def _implied(table: pd.DataFrame, name: str) -> Iterator[tuple[str, str, Floats, float]]:
    """Return (column, its meaning in words, its values by other columns, the largest number that these have).

    Of what a table says twice; values are NaN where it does not.
    """
    if name == "jobs":
        submit, start, finish, run, turnaround = _columns(
            table, "submit_time", "start_time", "finish_time", "run_time", "turnaround_time"
        )
        ended = np.where(np.isnan(start), np.nan, finish)
        largest = _largest(finish)
        yield "turnaround_time", "finish_time - submit_time", ended - submit, largest
        yield "run_time", "at most finish_time - start_time", np.minimum(run, ended - start), largest
        yield "wait_time", "turnaround_time - run_time", turnaround - run, largest
    elif name == "nodes":
        seconds = sum(_columns(table, *(f"{state}_s" for state in _PARTS_OF_ENERGY)), np.zeros(len(table)))
        expected = f"seconds that add up to those of the first node, {seconds[:1].sum():g} s"
        off = table["off_s"].to_numpy(dtype=float) - seconds + seconds[:1].sum()
        yield "off_s", expected, off, _largest(seconds)
        parts = _columns(table, *(f"{state}_j" for state in _PARTS_OF_ENERGY))
        energy = sum(parts, np.zeros(len(table)))
        yield "energy_j", " + ".join(f"{state}_j" for state in _PARTS_OF_ENERGY), energy, _largest(energy)
        wasted = parts[2] + parts[1] + parts[4]
        yield "energy_waste_j", "idle_j + switching_on_j + switching_off_j", wasted, _largest(energy)
        on, off = _columns(table, "switches_on", "switches_off")
        yield "on_off_cycles", "(switches_on + switches_off) // 2", (on + off) // 2, 0.0


def _largest(values: Floats) -> float:
    finite = values[np.isfinite(values)]
    return float(np.abs(finite).max()) if len(finite) else 0.0


def check_summary(summary: Mapping[str, Any], path: Path, jobs: pd.DataFrame | None = None) -> None:
    """Raise FormatError for a metric that no run has: no number, out of its bounds, or other than another says.

    ``jobs`` is the table of the jobs, by which they are counted.
    """
    for field in SUMMARY_METRICS:
        value = summary.get(field.name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int if field.kind == "int" else int | float):
            expected = "a whole number" if field.kind == "int" else "a number"
            raise FormatError(f"{path}, {field.name}", f"{expected}, or null", _shown(value))
        least = (
            -_ROUNDED * max(1.0, abs(_number(summary, "energy_j"))) if field.unit in ("J", "W min", "W") else -_ROUNDED
        )
        most = _MOST.get(field.name, math.inf)
        if not (math.isfinite(value) and least <= value <= most + _ROUNDED):
            raise FormatError(
                f"{path}, {field.name}", f"a finite number >= 0{f', at most {most:g}' * (most == 1)}", value
            )
    for name, expected, value in _implied_metrics(summary, jobs):
        said = _number(summary, name)
        added = _number(summary, _ADDED[name.partition("_")[0]]) if name.partition("_")[0] in _ADDED else 0.0
        if abs(said - value) > _SAME * max(1.0, abs(value), 0.0 if math.isnan(added) else added):
            raise FormatError(f"{path}, {name}", f"{value:g}, {expected}", said)


def _implied_metrics(summary: Mapping[str, Any], jobs: pd.DataFrame | None) -> Iterator[tuple[str, str, float]]:
    """Return (metric, why, its value by what else is said) where something is said twice; NaN: not known."""
    get = {field.name: _number(summary, field.name) for field in SUMMARY_METRICS}
    yield "makespan_s", "last_completion_s - first_submission_s", get["last_completion_s"] - get["first_submission_s"]
    yield "edp_js", "energy_j x makespan_s", get["energy_j"] * get["makespan_s"]
    yield "energy_wmin", "energy_j / 60", watt_minutes(get["energy_j"])
    yield "energy_waste_wmin", "energy_waste_j / 60", watt_minutes(get["energy_waste_j"])
    yield "energy_waste_by_core_wmin", "energy_waste_by_core_j / 60", watt_minutes(get["energy_waste_by_core_j"])
    by_state = [f"energy_{state}_j" for state in _PARTS_OF_ENERGY]
    yield "energy_j", " + ".join(by_state), sum(get[name] for name in by_state)
    wasted = sum(get[f"energy_{state}_j"] for state in ("idle", "switching_on", "switching_off"))
    yield "energy_waste_j", "energy_idle_j + energy_switching_on_j + energy_switching_off_j", wasted
    busy = get["energy_jobs_j"] + get["energy_guests_j"] + get["energy_unused_j"]
    yield "energy_computing_j", "energy_jobs_j + energy_guests_j + energy_unused_j", busy
    if jobs is not None:
        for state in JOB_STATES:
            yield f"jobs_{state}", f"the {state} jobs in the table of jobs", float((jobs["state"] == state).sum())


def check_said(meta: Mapping[str, Any], path: Path) -> None:
    """Raise FormatError for what a summary says of how the run was made, if it is of another kind."""
    for name, (kinds, expected) in _SAID.items():
        if name in meta and (isinstance(meta[name], bool) or not isinstance(meta[name], kinds)):
            raise FormatError(f"{path}, {name}", expected, _shown(meta[name]))
    if not math.isfinite(meta.get("origin_s", 0.0)):
        raise FormatError(f"{path}, origin_s", "a finite number", meta["origin_s"])


def _number(summary: Mapping[str, Any], name: str) -> float:
    value = summary.get(name)
    return math.nan if value is None else float(value)


def _shown(value: Any) -> Any:
    return value if isinstance(value, str | bool | int | float) else type(value).__name__
