"""The rows of a dump of sacct's as jobs: steps folded, tasks of arrays told apart, attempts put together.

The column ``SubmitLine`` alone says an array's throttle, and for whom a job waits.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from cluster_sim.errors import FormatError
from cluster_sim.formats.slurm import conf_values as values
from cluster_sim.formats.slurm import sacct_columns
from cluster_sim.formats.slurm.sacct_clock import LocalClock
from cluster_sim.formats.slurm.sacct_columns import NOT_OVER
from cluster_sim.formats.slurm.sacct_table import SacctTable

Value = TypeVar("Value")

_REQUEUED = NOT_OVER | {"PREEMPTED", "NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED"}
"""States after which Slurm itself may submit a job once more."""
_WAITING = frozenset({"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"})
_REMEMBERED_S = 300.0
"""Seconds until Slurm forgets a job that is over (MinJobAge): until then ``scontrol requeue`` can submit it again."""


class Cells:
    """The cells of a dump, read column by column; a text that occurs often is understood once."""

    def __init__(self, table: SacctTable, path: str):
        self.table = table
        self.path = path

    def place(self, row: int) -> str:
        """Say where a row stands, for messages."""
        return f"{self.path} {self.table.counted_in} {self.table.places[row]}"

    def has(self, *names: str) -> bool:
        """Return whether there is one of the columns."""
        return any(name in self.table.columns for name in names)

    def texts(self, name: str, rows: Iterable[int]) -> list[str]:
        """Return the cells of a column; empty ones if there is no such column."""
        column = self.table.columns.get(name)
        return [""] * len(list(rows)) if column is None else [column[row].strip() for row in rows]

    def understood(self, name: str, rows: Iterable[int], parse: Callable[[str], Value]) -> list[Value]:
        """Return what the cells of a column say, all of which can be parsed (:meth:`SacctTable.keep_understood`)."""
        texts = self.texts(name, rows)
        known = {text: parse(text) for text in set(texts)}
        return [known[text] for text in texts]

    def numbers(self, rows: list[int], *sources: tuple[str, Callable[[str], float]]) -> np.ndarray:
        """Return the number in the first column that has one, for each row; NaN if none has."""
        found = np.full(len(rows), math.nan)
        for name, parse in sources:
            missing = np.flatnonzero(np.isnan(found))
            if len(missing) and self.has(name):
                found[missing] = self.understood(name, [rows[at] for at in missing], parse)
        return found

    def states(self, rows: Iterable[int]) -> list[str]:
        """Return states in capitals, without who cancelled a job."""
        return self.understood("state", rows, sacct_columns.state)


@dataclass(slots=True)
class _Found:
    """A job, or those tasks of an array that share a row."""

    name: str
    positions: list[int]  #: Its rows among those of jobs, the last attempt's last.
    tasks: np.ndarray | None = None


class FoldedJobs:
    """A job for every id: ``ids``, the ``rows`` of their last attempts, and ``times`` of these by column.

    sacct keeps a record for each job (or task of an array) and time of submission; a requeue is a submission. Rows of the
    same record are one attempt, and its own row tells more than one that it shares with other tasks of its array.
    ``submitted``, s since 1970, is that of the first attempt. ``tasks`` are more than one where those tasks of an array that
    never started share a row.
    """

    def __init__(self, cells: Cells, clock: LocalClock):
        if not cells.has("submit"):
            raise FormatError(cells.path, "a column Submit", ", ".join(cells.table.names.values()))
        every = range(len(cells.table))
        ids = cells.understood("jobid", every, values.job_id)
        own = [row for row in every if not ids[row].is_step]
        self._ids = [ids[row] for row in own]
        self._users = cells.texts("user", own)
        self._states = cells.states(own)
        self._restarts = np.nan_to_num(cells.numbers(own, ("restarts", sacct_columns.count)))
        names = ("submit", "eligible", "start", "end")
        read = [cells.numbers(own, (name, clock.read)) for name in names]
        texts = [cells.texts(name, own) for name in names]
        times: dict[str, np.ndarray] = dict(zip(names, clock.in_order(texts, read), strict=True))
        self._submit, self._start, self._end = times["submit"], times["start"], times["end"]
        self.steps = len(every) - len(own)
        found = self._found()
        last = [each.positions[-1] for each in found]
        self.ids = [each.name for each in found]
        self._tasks = [each.tasks for each in found]
        self.tasks = np.array([1 if each is None else len(each) for each in self._tasks], dtype=int)
        self.rows = [own[position] for position in last]
        self.times = {name: column[last] for name, column in times.items()}
        self.submitted = np.array([np.fmin.reduce(self._submit[each.positions]) for each in found], dtype=float)
        starts = [len({self._start[at] for at in each.positions if self._start[at] > 0}) for each in found]
        again = self._restarts[last]
        self.attempts = np.maximum(np.array(starts, dtype=float), np.where(again > 0, again + 1, 0))
        self.reused = sum("#" in name for name in self.ids)
        self.shortened = sum(self._ids[at].is_shortened for at in last)
        self._limits = {each.number: each.limit for each in self._ids if each.limit}
        if cells.has("submitline"):
            for job, line in zip(self.ids, cells.texts("submitline", self.rows), strict=True):
                limit = array_limit(line) if "_" in job else 0
                if limit:
                    self._limits.setdefault(job.partition("_")[0], limit)
        self.most_memory_kb: dict[str, float] = {}
        if cells.has("maxrss"):
            used = cells.understood("maxrss", every, sacct_columns.memory)
            for row, (amount, _) in zip(ids, used, strict=True):
                if amount > 0:
                    self.most_memory_kb[row.name] = max(self.most_memory_kb.get(row.name, 0.0), amount * 1024)

    def ids_of(self, rows: np.ndarray) -> list[str]:
        """Return the ids of jobs.

        If a row stands for several tasks, ``rows`` repeats it, and each task gets its own id.
        """
        ids: list[str] = []
        for row in dict.fromkeys(rows.tolist()):
            tasks = self._tasks[row]
            ids += [self.ids[row]] if tasks is None else [f"{self.ids[row]}_{task}" for task in tasks.tolist()]
        return ids

    def limits_of(self, ids: list[str]) -> list[int]:
        """Return how many tasks of these jobs' arrays may run at once, as the rows of waiting tasks say; 0: all."""
        most = np.iinfo(np.int64).max  # a damaged number may be any
        return [min(self._limits.get(job.partition("_")[0], 0), most) if "_" in job else 0 for job in ids]

    def _found(self) -> list[_Found]:
        """Return every job, in the order in which the log first names them."""
        with_rows: dict[str, list[int]] = {}
        sharing: dict[str, list[int]] = {}
        for position, job in enumerate(self._ids):
            (with_rows if job.tasks is None else sharing).setdefault(job.name, []).append(position)
        found: list[_Found] = []
        tasks_of: dict[str, dict[int, list[int]]] = {number: {} for number in sharing}
        for name, positions in with_rows.items():
            found += [
                _Found(_numbered(name, k), attempts) for k, attempts in enumerate(self._apart(positions), start=1)
            ]
            number, _, task = name.partition("_")
            if task and number in sharing:
                tasks_of[number][int(task)] = positions
        for number, positions in sharing.items():
            found += self._of_shared_rows(number, positions, tasks_of[number])
        return sorted(found, key=lambda each: min(each.positions))

    def _apart(self, positions: list[int]) -> list[list[int]]:
        """Return the attempts of each job among rows of one id, which Slurm may have given again."""
        if len(positions) == 1:
            return [positions]
        jobs: list[list[int]] = []
        for position in sorted(positions, key=self._recency):
            if jobs and self._is_same_job(jobs[-1][-1], position):
                jobs[-1].append(position)
            else:
                jobs.append([position])
        return jobs

    def _of_shared_rows(self, number: str, positions: list[int], own: dict[int, list[int]]) -> list[_Found]:
        """Return the tasks of an array that neither a row of their own nor a later shared row describes."""
        found: list[_Found] = []
        later: list[tuple[int, np.ndarray]] = []  # shared rows and their tasks
        used = Counter({task: len(self._apart(rows)) for task, rows in own.items()})  # jobs with the task's id
        for position in sorted(positions, key=self._recency, reverse=True):
            ranges = self._ids[position].tasks or ()
            tasks = np.unique(
                np.concatenate([np.arange(r.start, r.stop, r.step) for r in ranges] or [np.empty(0, int)])
            )
            with_rows = [task for task, rows in own.items() if any(self._is_same_job(position, row) for row in rows)]
            known = [np.array(with_rows, dtype=int)]
            known += [others for at, others in later if self._is_same_job(position, at)]
            left = np.setdiff1d(tasks, np.concatenate(known))
            later.append((position, tasks))
            again = [task for task in left.tolist() if used[task]] if used else []  # the number was given again
            found += [_Found(_numbered(f"{number}_{task}", used[task] + 1), [position]) for task in again]
            left = np.setdiff1d(left, again)
            used.update(left.tolist() + again if own or len(positions) > 1 else ())
            if len(left):
                found.append(_Found(number, [position], left))
        return found

    def _is_same_job(self, earlier: int, later: int) -> bool:
        """Return whether two rows of one id are of one job: one record, or a requeue of it."""
        users = self._users[earlier], self._users[later]
        if all(users) and users[0] != users[1]:
            return False
        between = self._submit[later] - self._submit[earlier]
        if between == 0 or math.isnan(between):
            return True
        is_requeue = self._states[earlier] in _REQUEUED or self._restarts[later] > 0
        return between > 0 and bool(is_requeue or self._submit[later] - self._end[earlier] <= _REMEMBERED_S)

    def _recency(self, position: int) -> tuple[float, int, float, int]:
        """Return the sort key of a row: a requeue is submitted later, and the last row of a record knows its end."""
        submit, start, state = self._submit[position], self._start[position], self._states[position]
        progress = 2 if state not in NOT_OVER else 0 if state in _WAITING else 1
        start = math.inf if math.isnan(start) else start
        return (-math.inf if math.isnan(submit) else submit, progress, start, position)


def _numbered(name: str, time: int) -> str:
    """Return a job's id; a number tells apart the jobs to which Slurm gave the same id."""
    return name if time == 1 else f"{name}#{time}"


_ARRAY = re.compile(r"(?:^|\s)(?:--array[=\s]\s*|-a\s*)([0-9][0-9,:%-]*)(?=\s|$)")
_DEPENDENCY = re.compile(
    r"(?:^|\s)(?:--depend(?:ency)?[=\s]\s*|-d\s*)((?:after|singleton|expand)[a-z0-9_:,?+]*)(?=\s|$)", re.IGNORECASE
)
_SWITCHES = re.compile(r"(?:^|\s)--switches[=\s]\s*([0-9]{1,9})(?:@([0-9:-]+))?(?=\s|$)")
_MAX_SWITCH_WAIT_S = 300.0
"""Longest wait for few switches, s, where a slurm.conf does not set ``max_switch_wait``."""
_KINDS = {"afterok": "", "afterany": "any:"}


def array_limit(line: str) -> int:
    """Return how many tasks of the job's array may run at once; 0: all."""
    found = _ARRAY.search(line)
    try:
        return values.array_limit(found[1]) if found is not None else 0
    except ValueError:
        return 0


def few_switches(line: str) -> tuple[int, float]:
    """Return how many leaf switches a job asks for at most, and how long it waits for them, s; 0, inf: it does not ask."""
    found = _SWITCHES.search(line)
    if found is None or not int(found[1]):
        return 0, math.inf
    try:
        seconds = values.duration(found[2] or "")
    except ValueError:
        seconds = math.nan
    return int(found[1]), min(seconds, _MAX_SWITCH_WAIT_S) if seconds >= 0.0 else _MAX_SWITCH_WAIT_S


def awaited(line: str, job: str, order: Mapping[str, int], tasks: Mapping[str, Sequence[str]]) -> tuple[str, bool]:
    """Return the jobs that a job waits for, as the field ``after`` has them, and whether it waits for anything else.

    ``order`` has the place of each job of the log, by submission, ``tasks`` those of each array. Jobs that do not come before
    it are left out: of those that the log does not have it is not known what became of them, and ids come round again.
    """
    found = _DEPENDENCY.search(line)
    if found is None:
        return "", False
    after: dict[str, None] = {}
    own = order[job]
    is_whole = "?" not in found[1]
    for part in found[1].lower().split(",") if is_whole else ():
        kind, *jobs = part.split(":")
        is_whole = is_whole and kind in _KINDS and not any("+" in one for one in jobs)
        if kind in _KINDS:
            names = [task for one in jobs for task in tasks.get(one, [one])]
            after |= {_KINDS[kind] + name: None for name in names if order.get(name, own) < own}
    return " ".join(after), not is_whole
