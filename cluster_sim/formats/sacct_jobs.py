"""The rows of a dump of sacct's as jobs: steps folded, tasks of arrays told apart, attempts put together."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from cluster_sim.errors import FormatError
from cluster_sim.formats import slurm_values as values
from cluster_sim.formats import submit_line
from cluster_sim.formats.sacct_clock import LocalClock
from cluster_sim.formats.sacct_table import SacctTable

Value = TypeVar("Value")

_JOB_ID = re.compile(
    r"(?P<job>[0-9]{1,18}(?:_[0-9]{1,18}|\+[0-9]{1,9})?)(?:_\[(?P<tasks>[^\[\]]*)\])?(?P<step>\.[^.].*)?"
)


class Cells:
    """The cells of a dump, read column by column; a text that occurs often is understood once."""

    def __init__(self, table: SacctTable, path: str):
        self.table = table
        self.path = path

    def place(self, row: int) -> str:
        """Where a row stands, for messages."""
        return f"{self.path} {self.table.counted_in} {self.table.places[row]}"

    def first_of(self, *names: str) -> str:
        """The first of the columns that there is; empty if there is none."""
        return next((name for name in names if name in self.table.columns), "")

    def texts(self, name: str, rows: list[int]) -> list[str]:
        """The cells of a column; empty ones if there is no such column."""
        if name not in self.table.columns:
            return [""] * len(rows)
        column = self.table.columns[name]
        return [column[row].strip() for row in rows]

    def understood(self, name: str, rows: list[int], parse: Callable[[str], Value]) -> list[Value]:
        """What the cells of a column say. Raises FormatError naming the first one that ``parse`` does not understand."""
        texts = self.texts(name, rows)
        known: dict[str, Value] = {}
        for position, text in enumerate(texts):
            if text not in known:
                try:
                    known[text] = parse(text)
                except ValueError as error:
                    where = f"{self.place(rows[position])}, {self.table.names[name]}"
                    raise FormatError(where, str(error), text) from None
        return [known[text] for text in texts]

    def numbers(self, rows: list[int], parse: Callable[[str], float], *names: str) -> np.ndarray:
        """The numbers in the first of the columns that there is; NaN without any."""
        name = self.first_of(*names)
        return np.array(self.understood(name, rows, parse), dtype=float) if name else np.full(len(rows), math.nan)


class FoldedJobs:
    """A job for every id: ``ids``, the ``rows`` of their last attempts, and ``times`` of these by column.

    ``submitted``, s since 1970, is that of the first attempt. ``tasks`` are more than one where those tasks of an array that
    never started share a row.
    """

    def __init__(self, cells: Cells, clock: LocalClock):
        name = cells.first_of("jobid", "jobidraw")
        if not cells.first_of("submit"):
            raise FormatError(cells.path, "a column Submit", ", ".join(cells.table.names.values()))
        every = list(range(len(cells.table)))
        found = cells.understood(name, every, _job_id)
        own = [row for row in every if not found[row].step]
        names = ("submit", "eligible", "start", "end")
        read = [cells.numbers(own, clock.read, name) for name in names]
        texts = [cells.texts(name, own) for name in names]
        self.times: dict[str, np.ndarray] = dict(zip(names, clock.in_order(texts, read), strict=True))
        self.steps = len(every) - len(own)
        self.reused = 0
        self.ids: list[str] = []
        last: list[int] = []  # positions in own
        attempts: list[int] = []
        first_submit: list[float] = []
        shared: list[tuple[range, ...] | None] = []
        for job, positions in self._by_job(cells, own, found).items():
            best = max(positions, key=self._recency)
            self.ids.append(job)
            last.append(best)
            shared.append(found[own[best]].tasks)
            attempts.append(len({self.times["start"][at] for at in positions if self.times["start"][at] > 0}))
            first_submit.append(float(np.fmin.reduce(self.times["submit"][positions], initial=math.inf)))
        self._shared = shared
        self.tasks = np.array([1 if each is None else sum(map(len, each)) for each in shared], dtype=int)
        self.rows = [own[position] for position in last]
        self.times = {name: column[last] for name, column in self.times.items()}
        submitted = np.array(first_submit, dtype=float)
        self.submitted = np.where(np.isinf(submitted), math.nan, submitted)
        restarts = np.nan_to_num(cells.numbers(self.rows, values.count, "restarts"))
        self.attempts = np.maximum(np.array(attempts, dtype=float), np.where(restarts > 0, restarts + 1, 0))
        self._limits = {one.job.partition("_")[0]: one.limit for one in found if one.limit}
        if cells.first_of("submitline"):
            for job, line in zip(self.ids, cells.texts("submitline", self.rows), strict=True):
                limit = submit_line.array_limit(line) if "_" in job else 0
                if limit:
                    self._limits.setdefault(job.partition("_")[0], limit)
        self.most_memory_kb = _largest_of_steps(cells, found, every)

    def ids_of(self, rows: np.ndarray) -> list[str]:
        """The ids of jobs, in whose ``rows`` one with several tasks comes so many times in succession."""
        ids: list[str] = []
        for row in dict.fromkeys(rows.tolist()):
            shared = self._shared[row]
            base = self.ids[row].partition("_")[0]
            ids += [self.ids[row]] if shared is None else [f"{base}_{task}" for part in shared for task in part]
        return ids

    def limits_of(self, ids: list[str]) -> list[int]:
        """How many tasks of the arrays of these jobs may run at once, as the rows of those that wait have it; 0: all."""
        most = np.iinfo(np.int64).max  # a damaged number may be any
        return [min(self._limits.get(job.partition("_")[0], 0), most) if "_" in job else 0 for job in ids]

    def _by_job(self, cells: Cells, own: list[int], found: list[_JobId]) -> dict[str, list[int]]:
        """The positions of each job's rows. A number that Slurm gave again, to another's job, gets ``#2`` behind it."""
        owners = list(zip(cells.texts("user", own), cells.texts("jobname", own), strict=True))
        jobs: dict[str, list[int]] = {}
        of_owner: dict[tuple[str, tuple[str, str]], str] = {}
        for position, row in enumerate(own):
            key = found[row].job, owners[position]
            if key not in of_owner:
                name, again = found[row].job, 2
                while name in jobs:
                    name, again = f"{found[row].job}#{again}", again + 1
                self.reused += again > 2
                of_owner[key] = name
                jobs[name] = []
            jobs[of_owner[key]].append(position)
        return jobs

    def _recency(self, position: int) -> tuple[float, float, int]:
        """What orders the attempts of a job: a requeue has a later submission, and one that waits has no start yet."""
        submit, start = self.times["submit"][position], self.times["start"][position]
        return (-math.inf if math.isnan(submit) else submit, math.inf if math.isnan(start) else start, position)


class _JobId(NamedTuple):
    job: str
    step: bool
    tasks: tuple[range, ...] | None  #: Of an array, those that wait and share a row.
    limit: int = 0  #: How many of its tasks may run at once; 0: all.


def _job_id(text: str) -> _JobId:
    match = _JOB_ID.fullmatch(text)
    if match is None or (match["tasks"] is not None and "_" in match["job"]):
        raise ValueError("a job's id such as 123, 123_4, 123_[5-9], 123+1 or 123.batch")
    if match["tasks"] is None:
        return _JobId(match["job"], match["step"] is not None, None)
    tasks = tuple(values.array_tasks(match["tasks"]))
    name = f"{match['job']}_[{match['tasks']}]"
    return _JobId(name, match["step"] is not None, tasks, values.array_limit(match["tasks"]))


def _largest_of_steps(cells: Cells, found: list[_JobId], rows: list[int]) -> dict[str, float]:
    """KB of memory that the largest task of each job used: only steps know."""
    most: dict[str, float] = {}
    if cells.first_of("maxrss"):
        for row, (amount, _) in zip(rows, cells.understood("maxrss", rows, values.memory), strict=True):
            if amount > 0:
                most[found[row].job] = max(most.get(found[row].job, 0.0), amount * 1024)
    return most
