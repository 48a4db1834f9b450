"""Results from Batsim's files, or from evalys' table of jobs: another program's simulation in our tables and figures.

| file | gives |
|---|---|
| ``PREFIX_jobs.csv`` | jobs, allocations, and with them the metrics of jobs |
| ``PREFIX_machine_states.csv`` | the number of machines, where there is no platform; a warning where machines slept |
| ``PREFIX_consumed_energy.csv`` | power and energy; without it they are unknown, and NaN |

Only the first must be there. Batsim says how many machines sleep, not which: nodes are COMPUTING while a job holds them, and
IDLE otherwise. It rounds times in the file of energies to six digits; they are put back on the times of the jobs.
Where jobs share machines a warning says so, and an assumption of the result: all of them count as busy for each.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from cluster_sim.errors import FormatError, ModelWarning, counted, naming, warn_user
from cluster_sim.files.json_values import for_json
from cluster_sim.formats.batsim_results import (
    STATE_COLUMNS,
    is_jobs_header,
    parse_resources,
    read_consumed_energy,
    read_jobs,
    read_machine_states,
)
from cluster_sim.machine.core_ranges import Holds, busy_intervals, by_unit
from cluster_sim.platform.platform import Platform
from cluster_sim.records.attempt_tables import attempts_of
from cluster_sim.records.clock_table import as_clock_table
from cluster_sim.records.contracts import RunRecords
from cluster_sim.records.core_holds import CoreHolds
from cluster_sim.records.empty_table import no_rows
from cluster_sim.records.energy_accounts import node_bounds
from cluster_sim.records.metrics import energy_delay_product, job_columns, mean_power, watt_minutes
from cluster_sim.records.result import Result
from cluster_sim.records.run_tables import idle_gaps
from cluster_sim.records.saved_tables import InOnePart
from cluster_sim.records.summary import Changes, job_metrics
from cluster_sim.workload.fields import RESULT_TABLES, SUMMARY_METRICS, names

if TYPE_CHECKING:
    import numpy.typing as npt

    from cluster_sim.machine.placement import Span

    Floats = npt.NDArray[np.float64]

_TIMES = ("starting_time", "finish_time", "submission_time")
_JOBS, _STATES = "_jobs.csv", "_machine_states.csv"
_DIGITS = 6  # of the times in the file of energies
_ROUNDED_S = 1e-5
"""Seconds that two jobs on a machine may seem to overlap, as Batsim rounds times to six decimals."""
_MOST_AT_ONCE = 5_000_000
"""Pairs of a job and a machine that are looked at together."""


def read_outputs(path: str | os.PathLike[str], platform: Platform | None = None) -> Result:
    """Return the result that Batsim left in ``PREFIX_jobs.csv`` and the files beside it; ``path`` is that file, or the prefix.

    An evalys table of jobs under any name is read, too. ``platform`` has a core, or a host of several, per machine of
    Batsim's, in its order. By default it has one-core nodes: as many as the machine states count, else up to the highest
    machine that a job used.
    Raises FormatError naming file, row and column.
    """
    name = os.fspath(path)
    file = name if os.path.isfile(name) else name + _JOBS
    prefix = file.removesuffix(_JOBS) if file.endswith(_JOBS) else None
    jobs = read_jobs(file)
    beside = {
        kind: read(f"{prefix}_{kind}.csv")
        for kind, read in (("machine_states", read_machine_states), ("consumed_energy", read_consumed_energy))
        if prefix is not None and os.path.isfile(f"{prefix}_{kind}.csv")
    }
    states = beside.get("machine_states")
    if platform is None:
        with naming(file):
            platform = Platform.homogeneous(nodes=_machine_count(jobs, states, file), cores=1)
    platform = platform.of_hosts
    if states is not None:
        most = int(states[["nb_sleeping", "nb_switching_on", "nb_switching_off"]].sum(axis=1).max())
        if most > 0:
            text = f"up to {most:,} machines slept or switched, it does not say which; they are shown as idle"
            warn_user(ModelWarning(f"{prefix}{_STATES}: {text}"))
    workload = jobs["workload_name"].iloc[0] if "workload_name" in jobs and len(jobs) else Path(file).stem
    meta = {"scheduler": "Batsim" if beside else "imported", "workload": str(workload), "platform": platform.id}
    tables = _ImportedTables(platform, jobs, beside.get("consumed_energy"), file)
    for line in tables.shared_machines:
        warn_user(ModelWarning(line))
    return Result(platform, meta | {"source": file}, tables)


def _machine_count(jobs: pd.DataFrame, states: pd.DataFrame | None, file: str) -> int:
    """Return the number of machines: as the states count them, else up to the highest that a job used."""
    if states is not None and len(states):
        return int(states[STATE_COLUMNS[1:]].iloc[0].sum())
    highest = -1
    for row, text in enumerate(jobs["allocated_resources"].fillna("")):
        for part in text.split():
            last = part.rpartition("-")[2]
            if not (last.isascii() and last.isdigit()) or len(last) > 9:
                raise FormatError(f"{file} row {row}, column allocated_resources", "resources such as 0-3 7", part)
            highest = max(highest, int(last))
    if highest < 0:
        expected = f"a job that was given machines, or PREFIX{_STATES} beside it, which counts them"
        raise FormatError(file, expected, "none")
    return highest + 1


def is_batsim_result(path: str | os.PathLike[str]) -> bool:
    """Return whether ``path`` is a table of jobs as Batsim and evalys write them, or the prefix of Batsim's files."""
    name = os.fspath(path)
    if not os.path.isfile(name):
        return os.path.isfile(name + _JOBS)
    with open(name, "rb") as file:
        return is_jobs_header(file.readline(4096))


class _ImportedTables(InOnePart):
    """Tables of a result, made from Batsim's."""

    def __init__(self, platform: Platform, jobs: pd.DataFrame, energy: pd.DataFrame | None, source: str):
        self._platform = platform
        # A job that was rejected starts at -1 in the tables of some versions.
        never = (jobs["starting_time"] < 0) & (jobs["starting_time"] < jobs["submission_time"])
        times = {name: jobs[name].mask(never) for name in ("starting_time", "finish_time")}
        self._raw = jobs.assign(**times)
        self._energy = energy
        self._source = source

    @cached_property
    def _horizon(self) -> float:
        ends = self._raw["finish_time"].to_numpy(dtype=float)
        return float(np.nanmax(ends)) if np.isfinite(ends).any() else 0.0

    def jobs(self) -> pd.DataFrame:
        """Return the jobs in order of submission; what Batsim does not say is NaN, and a walltime of -1 means none."""
        raw = self._raw
        start, finish, submit = (raw[name].to_numpy(dtype=float) for name in _TIMES)
        energy = raw["consumed_energy"].to_numpy(dtype=float) if "consumed_energy" in raw else math.nan
        limit = raw["requested_time"].to_numpy(dtype=float)
        limit = np.where(limit < 0, math.inf, limit)
        success = raw["success"].to_numpy(dtype=float) > 0
        final = raw["final_state"] if "final_state" in raw else pd.Series("", index=raw.index)
        ended = np.where(success, "completed", "killed")
        # One that ran may have been refused later, when it was to run again.
        state = np.where(np.isnan(start) | (final == "REJECTED"), "rejected", ended)
        columns = {
            "job_id": raw["job_id"],
            "submit_time": submit,
            "eligible_time": submit,
            "allocation_time": start,
            "start_time": start,
            "finish_time": finish,
            "state": state,
            "reason": np.where(final == "COMPLETED_WALLTIME_REACHED", "walltime", ""),
            "requested_cores": raw["requested_number_of_resources"].to_numpy(dtype=np.int64),
            "requested_time": limit,
            **job_columns(submit, start, finish, limit),
            "energy_j": np.where(np.isnan(start), 0.0, energy),
            "profile": raw["profile"].fillna("") if "profile" in raw else "",
            "user": "",
        }
        table = pd.DataFrame(columns, columns=names(RESULT_TABLES["jobs"]))
        return table.iloc[self._order].reset_index(drop=True)

    @cached_property
    def _order(self) -> npt.NDArray[np.int64]:
        """Return the rows of the file in order of submission."""
        return np.argsort(self._raw["submission_time"].to_numpy(dtype=float), kind="stable")

    @cached_property
    def _holds(self) -> Holds:
        """Return the cores in use, a row per run of neighbouring ones."""
        job: list[int] = []
        first: list[int] = []
        last: list[int] = []
        texts = self._raw["allocated_resources"].fillna("").tolist()
        start, end = (self._raw[name].to_numpy(dtype=float) for name in ("starting_time", "finish_time"))
        for row in np.flatnonzero(np.isfinite(start)).tolist():
            where = f"{self._source} row {row}, column allocated_resources"
            cores = parse_resources(texts[row], self._platform, where)
            if not len(cores):
                raise FormatError(where, "the resources of a job that started, such as 0-3 7", "none")
            breaks = np.flatnonzero(np.diff(cores) > 1)
            first += cores[np.concatenate([[0], breaks + 1])[: len(cores)]].tolist()
            last += cores[np.concatenate([breaks, [len(cores) - 1]])[: len(cores)]].tolist()
            job += [row] * (len(first) - len(job))
        owner = np.array(job, np.int64)
        return Holds(owner, np.array(first, np.int64), np.array(last, np.int64), start[owner], end[owner])

    def core_holds(self) -> CoreHolds:
        """Return who held which cores. Each job has one attempt, as these programs tell of no other."""
        order = self._order
        row = np.empty_like(order)
        row[order] = np.arange(len(order))
        ids = self._raw["job_id"].to_numpy(dtype=object)[order]
        return CoreHolds(ids, row, np.ones(len(row), np.int64), (), self._holds, self._holds.start)

    @cached_property
    def _known_holds(self) -> Holds | None:
        """Return the holds, or None where a row is wrong: :attr:`_holds` raises the error for those who need the cores."""
        try:
            return self._holds
        except FormatError:
            return None

    @cached_property
    def shared_machines(self) -> list[str]:
        """Return a line that says how many jobs share machines; none if no two jobs do."""
        holds = self._known_holds
        if holds is None:
            return []
        # Look at a part of the machines at a time, so that the memory that this takes stays small.
        machines = self._platform.core_count
        holds = holds.where(holds.end - holds.start > _ROUNDED_S)
        at_once = max(1, machines // (1 + int((holds.last - holds.first + 1).sum()) // _MOST_AT_ONCE))
        late = holds.where(slice(0))
        for begin in range(0, machines, at_once):
            each, machine = by_unit(holds.within(begin, begin + at_once), np.arange(machines + 1))
            order = np.lexsort((each.start, machine))
            each, machine = each.where(order), machine[order]
            latest_end = pd.Series(each.end).groupby(machine).cummax().to_numpy()
            is_late = np.zeros(len(machine), bool)
            is_late[1:] = (machine[1:] == machine[:-1]) & (latest_end[:-1] - each.start[1:] > _ROUNDED_S)
            late += each.where(is_late)
        if not len(late.tenant):
            return []
        first = int(np.argmin(late.start))
        job, core, since = int(late.tenant[first]), int(late.first[first]), float(late.start[first])
        count = f"{len(np.unique(late.tenant)):,} of {counted(len(self._raw), 'job')}"
        example = f"{self._raw['job_id'].iloc[job]} on {core} at {since:g} s"
        text = "which then count twice in core-seconds and in utilisation, be it more than 1"
        return [f"{self._source}: {count} begin on machines that another still has ({example}), {text}"]

    @cached_property
    def _busy(self) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
        return busy_intervals(self._holds, node_bounds(self._platform))

    def attempts(self) -> pd.DataFrame:
        """Return one attempt of each job that got machines."""
        return attempts_of(self.jobs())

    def stages(self) -> pd.DataFrame:
        """Return an empty table: these files do not tell."""
        return no_rows("stages")

    def node_states(self) -> pd.DataFrame:
        """Return the states: COMPUTING while a job holds a core of the node, IDLE otherwise."""
        busy = self._busy
        gaps = idle_gaps(*busy, range(self._platform.node_count), self._horizon)
        node, start, end = (np.concatenate(pair) for pair in zip(busy, gaps, strict=True))
        state = np.repeat(np.array(["COMPUTING", "IDLE"], object), [len(busy[0]), len(gaps[0])])
        order = np.lexsort((start, node))
        owner = np.array(self._platform.node_names(), object)[node]
        columns = {"node": owner[order], "state": state[order], "start": start[order], "end": end[order]}
        return pd.DataFrame(columns, columns=names(RESULT_TABLES["node_states"]))

    def nodes(self) -> pd.DataFrame:
        """Return the seconds of each node in each state; energy by node is not known, NaN."""
        count = self._platform.node_count
        node, start, end = self._busy
        computing = np.bincount(node, end - start, count)
        holds = self._holds
        busy = np.zeros(self._platform.core_count + 1)
        np.add.at(busy, holds.first, holds.end - holds.start)
        np.subtract.at(busy, holds.last + 1, holds.end - holds.start)
        edges = node_bounds(self._platform)[:-1]
        known: dict[str, Any] = {
            "node": self._platform.node_names(),
            "computing_s": computing,
            "idle_s": self._horizon - computing,
            "busy_core_s": np.add.reduceat(np.cumsum(busy)[:-1], edges),
        }
        columns = {
            field.name: known.get(field.name, np.nan if field.unit == "J" else 0) for field in RESULT_TABLES["nodes"]
        }
        return pd.DataFrame(columns, index=range(count))

    @cached_property
    def _power(self) -> pd.DataFrame:
        unknown = pd.DataFrame({"time": [0.0, self._horizon], "watts": [np.nan, np.nan]})
        if self._energy is None:
            return unknown
        times = self._energy["time"].to_numpy(dtype=float)
        # The file has times of six digits: take the one start or end of a job that rounds to a time, if there is one.
        exact = np.unique(self._raw[["starting_time", "finish_time"]].to_numpy(dtype=float))
        exact = exact[np.isfinite(exact)]
        if len(exact):
            right = np.searchsorted(exact, times).clip(min(1, len(exact) - 1), len(exact) - 1)
            left = np.maximum(right - 1, 0)
            nearest = np.where(np.abs(exact[left] - times) <= np.abs(exact[right] - times), exact[left], exact[right])
            unit = 10.0 ** (np.floor(np.log10(np.maximum(np.abs(times), 1e-9))) + 1 - _DIGITS)
            times = np.maximum.accumulate(np.where(np.abs(nearest - times) <= 0.5 * unit, nearest, times))
        energy = self._energy["energy"].to_numpy(dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            level = np.diff(energy, prepend=0.0) / np.diff(times, prepend=0.0)
        if "epower" in self._energy:  # power over the interval before the event; energies are rounded
            said = self._energy["epower"].to_numpy(dtype=float)
            level = np.where(np.isnan(said), level, said)
        moved = np.diff(times, prepend=0.0) > 0
        if not moved.any():
            return unknown
        starts = np.concatenate([[0.0], times[moved]])
        return pd.DataFrame({"time": starts, "watts": np.append(level[moved], level[moved][-1:])})

    def resource_holds(self) -> pd.DataFrame:
        """Return an empty table: these files do not tell."""
        return no_rows("resource_holds")

    def gpus(self) -> pd.DataFrame:
        """Return an empty table: these files do not tell."""
        return no_rows("gpus")

    def power(self) -> pd.DataFrame:
        """Return the power between the events of the file of energies; NaN if there is no such file."""
        return self._power

    def p_states(self) -> pd.DataFrame:
        """Return an empty table: these files do not tell."""
        return as_clock_table([])

    def conditions(self) -> None:
        """Return None: these files do not tell."""
        return

    def decisions(self) -> pd.DataFrame:
        """Return an empty table: these files do not tell."""
        return no_rows("decisions")

    def decision_spans(self) -> Sequence[tuple[Span, ...]]:
        """Return nothing: these files do not tell."""
        return ()

    def summary(self, result: RunRecords) -> dict[str, Any]:
        """Return the metrics of jobs, and energy and power in total; energies by state are not known, None."""
        power = result.power
        level = power["watts"].to_numpy(dtype=float)
        energy = float((level[:-1] * np.diff(power["time"])).sum())
        cores = result.platform.core_count
        held = self._known_holds
        changes = None
        if held is not None:
            core_s = float(((held.last - held.first + 1) * (held.end - held.start)).sum())
            changes = Changes(core_s, suspensions=0)
        known = job_metrics(result.jobs, result.attempts, cores, self._horizon, self._horizon, changes)
        known |= {
            "energy_j": energy,
            "edp_js": energy_delay_product(energy, known["makespan_s"]),
            "energy_jobs_j": float(result.jobs["energy_j"].sum(min_count=1)),
            "energy_wmin": watt_minutes(energy),
            "mean_watts": mean_power(energy, float(power["time"].iloc[-1])),
            "max_watts": float(np.nanmax(level)) if np.isfinite(level).any() else math.nan,
        }
        return {name: for_json(known.get(name)) for name in names(SUMMARY_METRICS)}

    def assumptions(self, result: RunRecords) -> list[str]:
        """Say that jobs share machines. Nothing else is known to be assumed: the run was another program's."""
        return list(self.shared_machines)
