"""A workload: the jobs that arrive at a platform, as one table, and what can be done to it before a run."""

from __future__ import annotations

import datetime
import os
import re
import zoneinfo
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol, overload

import numpy as np
import pandas as pd

from cluster_sim.amounts import amount
from cluster_sim.errors import InputError, SpecError, counted
from cluster_sim.files.reading import check_source
from cluster_sim.packages import sibling
from cluster_sim.registry import Registry
from cluster_sim.spelling import guessed, nearest
from cluster_sim.workload.days import SEQUENTIAL_S, day_edges, first_midnight, sequential_share
from cluster_sim.workload.dependencies import (
    When,
    after_texts,
    check_after,
    check_think_times,
    dependency_graph,
    has_after,
    without_absent,
)
from cluster_sim.workload.fields import FASTEST_GFLOPS, LONGEST_S, SLOWEST_GFLOPS
from cluster_sim.workload.job_table import (
    Columns,
    Locate,
    as_columns,
    as_frame,
    as_one_table,
    checked_columns,
    constant,
    read_only,
    shift,
    take,
)
from cluster_sim.workload.jobs import request_columns
from cluster_sim.workload.phases import parse_phases, phases_text
from cluster_sim.workload.resource_request import GPU_COLUMNS

if TYPE_CHECKING:
    import networkx as nx


class Capacity(Protocol):
    """What :meth:`Workload.fit_to` asks of a platform."""

    @property
    def core_count(self) -> int:
        """Return the number of cores of the whole platform."""

    @property
    def widest_node(self) -> int:
        """Return the number of cores of its widest node."""

    @property
    def of_hosts(self) -> Capacity:
        """Return this capacity with a core for each host."""


_MADE_LATER = ("jobs", "columns", "request_columns", "has_after")
"""Attributes that a workload keeps beside its columns once it has been asked for them."""
_MOST_SHAKEN_S = 1e12
_COUNT = re.compile(r"([0-9]{1,3}([,'_][0-9]{3})+|[0-9]+)(?!\w|[.,'][0-9])", re.ASCII)
"""Pattern of a whole number, its digits perhaps in groups; not the beginning of 0x40 or 1e3."""


_OF_A_NAME = re.compile(r"\bNote: (User|Group|Executable) \S+ is ")
"""Pattern of the notes in which :mod:`cluster_sim.formats.swf_schedule` writes the names behind numbers."""


_INSTEAD = {
    "to_csv": "write(path)",
    "save": "write(path)",
    "shape": "len(workload), jobs.shape",
    "describe": "jobs.describe()",
    "tail": "workload[-5:], jobs.tail()",
    "iloc": "jobs.iloc",
    "loc": "jobs.loc",
}
"""Names to use, by the names that people guess."""


class Workload:
    """Jobs in the order of their submission, held as columns.

    Its methods leave it as it is and return another workload. Take ``jobs`` as read-only.

    Parameters
    ----------
    jobs : table with columns of the job schema (``cluster_sim.workload.fields.JOB_FIELDS``, docs/reference/job-schema.md); needs
        ``submit_time``, ``requested_cores`` and ``operations`` or ``recorded_run_time``. Sorted by ``submit_time``
        (equal times keep their order), completed with defaults and checked.
    name : for titles and records.
    origin_s : what has been subtracted from the submission times of the source, in seconds.
    header : comment lines of the SWF file it came from, each beginning with ";", or such as say the same of another file.
    reference_gflops : rate of the cores that ``recorded_run_time`` was measured on; None: the platform's fastest.
    rebase : whether a part of it (:meth:`first`, :meth:`slice`, :meth:`split`) starts its own clock at its first
        submission, as SWF and IRMaSim users expect. ``origin_s`` and deadlines move along.

    Raises
    ------
    FormatError : naming the first offending row, the job and the column.
    """

    #: What :meth:`anonymised` made of the names of the log, in small letters, by column; it is written nowhere.
    aliases: Mapping[str, Mapping[str, str]] = MappingProxyType({})

    def __init__(
        self,
        jobs: pd.DataFrame | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        name: str = "",
        origin_s: float = 0.0,
        header: Sequence[str] = (),
        reference_gflops: float | None = None,
        rebase: bool = True,
        *,
        locate: Locate | None = None,
    ):
        if reference_gflops is not None and not SLOWEST_GFLOPS <= reference_gflops <= FASTEST_GFLOPS:
            expected = f"a rate from {SLOWEST_GFLOPS:g} to {FASTEST_GFLOPS:g}"
            raise InputError("workload, reference_gflops", expected, reference_gflops)
        if not isinstance(jobs, pd.DataFrame | Mapping):  # a mapping for each job
            if not isinstance(jobs, list | tuple) or not all(isinstance(job, Mapping) for job in jobs):
                raise InputError("workload", "columns by name, or a mapping for each job", jobs)
            jobs = as_one_table(jobs)
        columns = as_columns(jobs) if isinstance(jobs, pd.DataFrame) else jobs
        self._table = checked_columns(columns, f"workload {name}".rstrip(), locate)
        self.name = name
        self.origin_s = origin_s
        self.header = tuple(header)
        self.reference_gflops = reference_gflops
        self.rebase = rebase
        self.think_times = False  #: See :meth:`with_think_times`.

    @classmethod
    def of_checked(cls, columns: Columns, facts: Mapping[str, Any]) -> Workload:
        """Return a workload of columns that another one has checked, with its other attributes as ``facts``."""
        workload = cls.__new__(cls)
        workload._table = columns
        workload.name, workload.origin_s = facts["name"], facts["origin_s"]
        workload.header, workload.rebase = tuple(facts["header"]), facts["rebase"]
        workload.reference_gflops, workload.think_times = facts["reference_gflops"], facts["think_times"]
        return workload

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """Return a row for each job; made when first asked for, as it takes longer than many an episode of an agent."""
        return as_frame(self._table)

    @cached_property
    def columns(self) -> Columns:
        """Return ``jobs`` as arrays by column, for runs.

        Made once, as an agent may play one workload a thousand times.
        """
        return self._arrays()

    def _arrays(self) -> Columns:
        """Return the columns as read-only arrays, as they are now: a user may have changed the data frame."""
        return as_columns(self.jobs) if "jobs" in self.__dict__ else read_only(self._table)

    @cached_property
    def request_columns(self) -> Columns:
        """Return the ``columns`` that schedulers may see: the same object in every run, not to be written to."""
        return request_columns(self.columns)

    @cached_property
    def has_after(self) -> bool:
        """Return whether any job waits for another."""
        return has_after(self.columns)

    def __getstate__(self) -> dict[str, Any]:
        """Return, for other processes, the columns once, without what is made of them."""
        kept = {name: value for name, value in self.__dict__.items() if name not in _MADE_LATER}
        return kept | {"_table": dict(self._arrays())}

    def __len__(self) -> int:
        return len(self.jobs if "jobs" in self.__dict__ else self._table["submit_time"])

    @overload
    def __getitem__(self, key: slice) -> Workload: ...
    @overload
    def __getitem__(self, key: str) -> pd.Series: ...
    @overload
    def __getitem__(self, key: list[str]) -> pd.DataFrame: ...
    def __getitem__(self, key: Any) -> Any:
        """Return a column of :attr:`jobs`, several, or with a slice, ``workload[:100]``, the workload of these jobs.

        Raises KeyError, with the nearest name, for a column that there is not, InputError for a slice that leaves gaps.
        """
        if isinstance(key, slice):
            if key.step not in (None, 1):
                raise InputError("workload, slice", "a step of 1: parts of a workload are consecutive jobs", key.step)
            low, high, _ = key.indices(len(self))
            return self._part(low, max(low, high))
        for column in key if isinstance(key, list) else [key]:
            if column not in self.jobs.columns:
                raise KeyError(f"{column}: expected {nearest(str(column), list(self.jobs.columns))}")
        return self.jobs[key]

    if not TYPE_CHECKING:  # who are to go on knowing what there is

        def __getattr__(self, name: str) -> NoReturn:
            raise guessed(self, name, _INSTEAD)

    def __iter__(self) -> Iterator[Any]:
        """Yield the jobs in order of submission, as named tuples of their fields."""
        return iter(self.jobs.itertuples(index=False, name="JobFields"))

    def head(self, jobs: int = 5) -> pd.DataFrame:
        """Return the first rows of :attr:`jobs`."""
        return self.jobs.head(jobs)

    def __repr__(self) -> str:
        seconds = float(np.ptp(self.columns["submit_time"])) if len(self) else 0.0
        name = f"{self.name!r}: " if self.name else ""
        jobs = counted(len(self), "job")
        return f"<Workload {name}{jobs} submitted within {amount(seconds, 's')}, at most {counted(self.widest_job, 'core')} each>"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.jobs.head().to_html()}"

    # -- reading and writing ------------------------------------------------------------------------------------------

    @classmethod
    def read(cls, source: str | os.PathLike[str], **options: Any) -> Workload:
        """Read a workload from a file, or make it from the spec of a registered generator such as ``name:key=value``.

        Files: SWF, IRMaSim JSON and CSV, Batsim JSON, ElastiSim's jobs, native CSV, sacct's output, also gzipped. ``time_unit``
        ("seconds", "minutes", …) is what the file's times count; for the options of a format see its module in
        ``cluster_sim.formats``.
        Raises FormatError for bad files, SpecError for bad options.
        """
        check_source("Workload.read", source)
        text = os.fspath(source)
        if WORKLOAD_GENERATORS.names(text):
            if options:
                raise SpecError(text, "a generator's options within its spec", ", ".join(options))
            made = WORKLOAD_GENERATORS.make(text)
            if not isinstance(made, Workload):
                raise SpecError(f"workload generator '{text}'", "one that returns a Workload", type(made).__name__)
            return made
        workload: Workload = sibling("cluster_sim.formats.workload_files").read_workload(text, **options)
        return workload

    def write(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write ``.swf``, ``.json`` (IRMaSim) or ``.csv`` (native), gzipped with ``.gz`` after it, in one move."""
        sibling("cluster_sim.formats.workload_files").write_workload(self, os.fspath(path), **options)

    @classmethod
    def from_triples(
        cls,
        triples: Iterable[tuple[float, int, str]],
        profiles: Mapping[str, Mapping[str, Any]],
        name: str = "triples",
    ) -> Workload:
        """Make jobs from (submission in seconds, tasks, profile name).

        ``profiles`` maps a name to what its tasks do, in the words of an IRMaSim file: ``req_ops`` (instructions), and
        ``ipc``, ``req_time``, ``req_energy``, ``mem``, ``mem_vol`` where they matter.
        """
        jobs = [{"subtime": time, "res": tasks, "profile": profile} for time, tasks, profile in triples]
        document = {"jobs": jobs, "profiles": {k: dict(v) for k, v in profiles.items()}}
        made: Workload = sibling("cluster_sim.formats.irmasim_workload").from_document(document, name, name=name)
        return made

    # -- what the header of the log says ------------------------------------------------------------------------------

    def directive(self, name: str) -> str | None:
        """Return the value of the SWF header directive ``name``, such as ``MaxProcs``; None if absent."""
        for line in self.header:
            match = re.match(rf";\s*{re.escape(name)}\s*:\s*(.*?)\s*$", line, re.IGNORECASE)
            if match:
                return match[1]
        return None

    @property
    def max_procs(self) -> int:
        """Return the cores of the log's machine: MaxProcs, else MaxNodes, else the cores of the widest job."""
        return self.stated_procs or self.widest_job

    @property
    def stated_procs(self) -> int | None:
        """Return the cores of that machine as the header states them; None if it states none that can be read."""
        return self._count("MaxProcs") or self._count("MaxNodes") or None

    @cached_property
    def counts_hosts(self) -> bool:
        """Return whether ``requested_cores`` counts hosts, as Batsim's jobs do, rather than cores."""
        return self.directive("Resource") == "host"

    @property
    def unix_start_time(self) -> int | None:
        """Return the time (s since 1970) at which ``submit_time + origin_s`` is 0; None if not stated."""
        return self._count("UnixStartTime")

    @property
    def time_zone(self) -> str | None:
        """Name of the machine's time zone, such as Europe/Stockholm; None if not stated."""
        return self.directive("TimeZoneString")

    @property
    def clock_start(self) -> datetime.datetime | None:
        """Return the date at which the log's own clock is 0, in the machine's time zone; None if not stated.

        UTC where the header names no known zone. Summer time is as on that day all along: the log's clock has no jumps.
        """
        started = self.unix_start_time
        if started is None:
            return None
        try:
            zone: datetime.tzinfo = zoneinfo.ZoneInfo(self.time_zone or "UTC")
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            zone = datetime.UTC
        try:
            there = datetime.datetime.fromtimestamp(started, zone)
        except (ValueError, OverflowError, OSError):
            return None  # beyond the calendar
        return there.replace(tzinfo=datetime.timezone(there.utcoffset() or datetime.timedelta()))

    @property
    def start_date(self) -> datetime.datetime | None:
        """Return the date at second 0 of a run, in the machine's time zone; None if not stated."""
        started = self.clock_start
        try:
            return None if started is None else started + datetime.timedelta(seconds=self.origin_s)
        except OverflowError:
            return None

    @property
    def widest_job(self) -> int:
        """Return the most cores that a job requests; 0 without jobs."""
        return int(self.jobs["requested_cores"].max()) if len(self) else 0

    def _count(self, name: str) -> int | None:
        # Headers are written by people: "128 (see note)", "1,152", "-1", "unknown".
        match = _COUNT.match(self.directive(name) or "")
        # Eighteen digits are far beyond every machine, and not beyond what Python converts.
        return int(re.sub("[,'_]", "", match[0])[:18]) if match else None

    # -- parts --------------------------------------------------------------------------------------------------------

    def first(self, count: int) -> Workload:
        """Return the first ``count`` jobs (all, when there are fewer).

        As in every part, a job no longer waits for one that was left out; it counts as completed.
        """
        if not isinstance(count, int | np.integer) or count < 0:
            raise InputError("first", "a number of jobs >= 0", count)
        return self._part(0, min(count, len(self)))

    def slice(self, start_s: float, end_s: float) -> Workload:
        """Return the jobs submitted in [start_s, end_s) of this workload's clock. Raises InputError for other times."""
        if not all(isinstance(time, int | float | np.number) for time in (start_s, end_s)) or not start_s <= end_s:
            raise InputError("slice", "two times in s, a begin not after its end", f"{start_s} and {end_s}")
        low, high = np.searchsorted(self.jobs["submit_time"].to_numpy(), [start_s, end_s])
        return self._part(int(low), int(high))

    def split(self, parts: int) -> list[Workload]:
        """Return ``parts`` consecutive workloads of equal length; the last one also takes the rest."""
        if not isinstance(parts, int | np.integer) or not 1 <= parts <= len(self):
            raise InputError("split", f"a number of parts from 1 to {len(self)}", parts)
        size = len(self) // parts
        edges = [*range(0, size * parts, size), len(self)]
        return [self._part(low, high) for low, high in pairwise(edges)]

    def days(self, at_least: int = 2, midnight_s: float | None = None) -> list[Workload]:
        """Return a workload for each day with ``at_least`` submissions, on a clock that starts at the day's midnight.

        ``midnight_s`` is a midnight on this workload's clock; by default what the log's header says, see
        :func:`cluster_sim.workload.days.first_midnight`. A day has 24 hours, whatever summer time does.
        """
        if at_least < 1:
            raise InputError("days, at_least", "a number of jobs >= 1", at_least)
        midnight = first_midnight(self.clock_start, self.origin_s) if midnight_s is None else midnight_s
        return [self.cut(*edges) for edges in day_edges(self.jobs["submit_time"].to_numpy(), at_least, midnight)]

    def share_of_sequential_jobs(self, gap_s: float = SEQUENTIAL_S) -> float:
        """Return the share of jobs submitted less than ``gap_s`` after the one before; NaN for fewer than two jobs."""
        return sequential_share(self.jobs["submit_time"].to_numpy(), gap_s)

    def _part(self, low: int, high: int) -> Workload:
        return self.cut(low, high, float(self.jobs["submit_time"].iloc[low]) if self.rebase and high > low else 0.0)

    def cut(self, low: int, high: int, start_s: float) -> Workload:
        """Return jobs ``low`` … ``high`` - 1, by position; the clock of the part begins at ``start_s`` of this one."""
        columns = {name: values[low:high] for name, values in self._arrays().items()}
        shift(columns, start_s)
        return self._with(without_absent(columns), origin_s=self.origin_s + start_s)

    # -- changed jobs -------------------------------------------------------------------------------------------------

    def scale_load(self, factor: float) -> Workload:
        """Return the workload at ``factor`` times the load, by which it divides gaps between submissions and think times.

        Slack to deadlines is kept.
        """
        if not isinstance(factor, int | float | np.number) or not 0 < factor < np.inf:
            raise InputError("scale_load", "a factor above 0", factor)
        columns = self._arrays()
        submit = columns["submit_time"]
        with np.errstate(over="ignore", invalid="ignore"):
            columns["submit_time"] = submit[:1] + (submit - submit[:1]) / factor
        if not (columns["submit_time"] <= LONGEST_S).all():
            raise InputError("scale_load", f"a factor that leaves submissions within {LONGEST_S:g} s", factor)
        columns["deadline"] = columns["deadline"] + (columns["submit_time"] - submit)
        think = columns["think_time"]
        if (think > 0).any():
            columns["think_time"] = np.where(think > 0, think / factor, think)
        return self._with(columns)

    def shaken(self, seconds: float, seed: int = 0) -> Workload:
        """Move every submission by up to ``seconds`` to and fro, none before the first (Tsafrir and others 2007).

        Which of two schedulers is better on a log hangs on chance: one job a second later, and another is backfilled. Means
        over runs of the log shaken with several seeds are what the schedulers are worth, rather than the chance. Job i of the
        log is moved by the same whatever follows it; its slack to its deadline is kept, and so are think times.
        """
        if not 0 <= seconds <= _MOST_SHAKEN_S:
            raise InputError("shaken", f"seconds >= 0, and at most {_MOST_SHAKEN_S:g}", seconds)
        if seed < 0:
            raise InputError("shaken, seed", "a whole number >= 0", seed)
        columns = self._arrays()
        submit = columns["submit_time"]
        moved = submit + np.random.default_rng(seed).uniform(-seconds, seconds, len(self))
        columns["submit_time"] = np.maximum(moved, submit[:1])
        columns["deadline"] = columns["deadline"] + (columns["submit_time"] - submit)
        return self._with(take(columns, np.argsort(columns["submit_time"], kind="stable")))

    def fit_to(self, platform: Capacity, wider: Literal["clamp", "drop"] = "clamp") -> Workload:
        """Return the jobs that ``platform`` can hold: wider ones get fewer cores ("clamp") or are left out ("drop").

        A job that names its number of nodes can have that many times the cores of the widest node, any other all cores
        of the platform. Its work per task stays the same.
        """
        if wider not in ("clamp", "drop"):
            raise InputError("fit_to, wider", "clamp or drop", wider)
        columns = self._arrays()
        fits, limit = self._fitting(platform, columns)
        platform = platform.of_hosts if self.counts_hosts else platform
        cores, nodes, per_node = (columns[name] for name in ("requested_cores", "nodes", "ntasks_per_node"))
        if wider == "drop":
            return self._with(without_absent(take(columns, np.flatnonzero(fits))))
        fitted = np.minimum(cores, limit)
        columns["requested_cores"] = fitted
        columns["nodes"] = np.minimum(nodes, fitted)
        columns["ntasks_per_node"] = np.minimum(per_node, platform.widest_node)
        columns["requested_cores_assumed"] = columns["requested_cores_assumed"] & fits
        return self._with(columns)

    def too_wide(self, platform: Capacity) -> int:
        """Return how many jobs ``platform`` cannot hold: those that :meth:`fit_to` makes narrower or drops."""
        return int(np.count_nonzero(~self._fitting(platform, self.columns)[0]))

    def _fitting(self, platform: Capacity, columns: Columns) -> tuple[np.ndarray, np.ndarray]:
        """Return which jobs the platform can hold, and the most cores that each could have there."""
        platform = platform.of_hosts if self.counts_hosts else platform
        cores, nodes, per_node = (columns[name] for name in ("requested_cores", "nodes", "ntasks_per_node"))
        limit = np.where(nodes > 0, np.minimum(nodes * platform.widest_node, platform.core_count), platform.core_count)
        return (cores <= limit) & (per_node <= platform.widest_node), limit

    def executable(self, platform: Capacity) -> Workload:
        """Return the jobs that ran, fit the platform and asked for a time, the filters of Casagrande et al. (2022).

        A request that the reader had to assume, the log having none, is no request.
        """
        fitting = self.fit_to(platform, "drop")
        columns = as_columns(fitting.jobs)
        requested = columns["requested_time"]
        operations = columns["operations"]
        ran = (operations > 0) | np.isnan(operations) & (columns["recorded_run_time"] > 0)
        asked = np.isfinite(requested) & (requested > 0) & ~columns["requested_time_assumed"].astype(bool)
        return self._with(without_absent(take(columns, np.flatnonzero(ran & asked))))

    def with_profiles(self, mix: Mapping[str, tuple[float, float]], seed: int = 0) -> Workload:
        """Give the jobs of a log memory traffic: each draws a profile, and its ``mem_vol`` follows from its run time.

        Parameters
        ----------
        mix : profile name -> (share, bandwidth). Shares are relative; the bandwidth, in MB/s, is what one task moves
            while it runs uncontended on a core of the reference rate, so ``mem_vol = bandwidth x run time``.
        seed : of the draw; job i draws the same profile whatever follows it.

        Raises InputError for a mix without positive shares, and when run times are unknown because jobs are given in
        operations and the workload has no ``reference_gflops``.
        """
        shares = np.array([share for share, _ in mix.values()], dtype=float)
        bandwidths = np.array([bandwidth for _, bandwidth in mix.values()], dtype=float)
        if not (len(mix) and np.isfinite(shares).all() and (shares >= 0).all() and shares.sum() > 0):
            raise InputError("with_profiles", "shares >= 0, one of them above 0", dict(mix))
        if not (np.isfinite(bandwidths).all() and (bandwidths >= 0).all()):
            raise InputError("with_profiles", "bandwidths >= 0, in MB/s", dict(mix))
        # One uniform number per job, not Generator.choice: a longer workload then begins with the same draws.
        draws = np.random.default_rng(seed).random(len(self))
        kinds = np.searchsorted(np.cumsum(shares) / shares.sum(), draws, side="right").clip(max=len(mix) - 1)
        columns = self._arrays()
        columns["profile"] = np.array(list(mix), dtype=object)[kinds]
        operations = self.jobs["operations"].to_numpy()
        run_times = self.jobs["recorded_run_time"].to_numpy()
        given_as_work = ~np.isnan(operations)
        if given_as_work.any():
            if self.reference_gflops is None:
                job = self.jobs["job_id"].iloc[int(given_as_work.argmax())]
                raise InputError(f"job {job}", "a run time, or a workload with reference_gflops", "operations only")
            run_times = np.where(given_as_work, operations / (self.reference_gflops * 1e9), run_times)
        columns["mem_vol"] = bandwidths[kinds] * run_times
        return self._with(columns)

    def with_phases(self, phases: Mapping[str, Sequence[tuple[float, float]]]) -> Workload:
        """Give jobs of some profiles phases: profile name -> (share of work, share of memory volume) of each phase.

        Shares are relative; the job's totals stay. Raises InputError for shares that are negative or have no work.
        """
        columns = self._arrays()
        texts = columns["phases"].copy()
        for profile, pairs in phases.items():
            text = phases_text(pairs)
            parse_phases(text or "none")
            texts[columns["profile"] == profile] = text
        columns["phases"] = texts
        return self._with(columns)

    def with_energy(self, watts: float) -> Workload:
        """Give each job the energy estimate that P5's ``add_energy`` makes: requested time x ``watts``, per task.

        Jobs without a requested time get none.
        """
        if not 0 <= watts < np.inf:
            raise InputError("with_energy", "watts >= 0", watts)
        columns = self._arrays()
        requested = columns["requested_time"]
        columns["req_energy"] = np.where(np.isfinite(requested), requested, np.nan) * watts
        return self._with(columns)

    def with_checkpoints(self, interval: float | Literal["young", "daly"], time_s: float, restart_s: float) -> Workload:
        """Have every job make a checkpoint after each ``interval`` s of work, or as often as Young or Daly say.

        A checkpoint takes ``time_s``, going on from one ``restart_s``.
        """
        columns = self._arrays()
        values = {"checkpoint_interval": str(interval), "checkpoint_time": time_s, "restart_time": restart_s}
        for name, value in values.items():
            columns[name] = np.full(len(self), value, columns[name].dtype)
        return self._with(columns)

    def anonymised(self) -> Workload:
        """Return the workload with users, groups, accounts and applications as u1, g1, a1, j1 …, by appearance.

        Names of users and accounts count in any case, as Slurm has them. A run gives accounts the same names. Notes of the
        header that say who a number stands for are left out.
        """
        columns, aliases = self._arrays(), dict[str, dict[str, str]]()
        for name, letter in (("user", "u"), ("group", "g"), ("account", "a"), ("profile", "j")):
            texts = columns[name].tolist()
            keys = [text.lower() for text in texts] if name in ("user", "account") else texts
            distinct = dict.fromkeys(filter(None, keys))
            other = {text: f"{letter}{number}" for number, text in enumerate(distinct, start=1)}
            columns[name] = np.array([other.get(key, "") for key in keys], dtype=object)
            before = self.aliases.get(name)
            aliases[name] = other if before is None else {real: other[a] for real, a in before.items() if a in other}
        anonymised = self._with(columns)
        anonymised.aliases = aliases
        anonymised.header = tuple(line for line in self.header if not _OF_A_NAME.search(line))
        return anonymised

    @property
    def gpu_jobs(self) -> int:
        """Return how many jobs need GPUs."""
        columns = self._arrays()
        return int(np.logical_or.reduce([columns[name] > 0 for name in GPU_COLUMNS]).sum())

    def without_gpus(self) -> Workload:
        """Return the jobs as if they needed no GPUs, for a platform without any."""
        return self._with(self._arrays() | {name: constant(0, len(self)) for name in GPU_COLUMNS})

    # -- dependencies -------------------------------------------------------------------------------------------------

    def with_think_times(self) -> Workload:
        """Have users wait for their jobs: a job with a ``preceding_job`` is submitted ``think_time`` after its end.

        Then its own ``submit_time`` counts for nothing, that in the records is the one of the run. It does not matter
        what became of the preceding job. A think time that is not known is 0; a job whose preceding job is not in the
        workload is submitted at its own time. Without this a log is replayed by its submission times, as is usual.

        Raises InputError, naming them, for jobs that wait for each other in a circle.
        """
        check_think_times(self._arrays(), f"workload {self.name}".rstrip())
        other = self._with(self._arrays())
        other.think_times = True
        return other

    def with_dependencies(self, after: Mapping[Any, Iterable[Any]], when: When = "completed") -> Workload:
        """Have jobs wait for others: job id -> ids of those that must be over before it. Other jobs stay as they are.

        A single id may stand for a list of one. ``when`` "completed" rejects a job if one that it waits for is killed or
        rejected; "over" takes any end. Raises InputError for what is no mapping, for an id that the workload does not
        have, and for jobs that wait in a circle.
        """
        if when not in ("completed", "over"):
            raise InputError("with_dependencies, when", "completed or over", when)
        if not hasattr(after, "items"):
            raise InputError(
                "with_dependencies", "a mapping, job id -> ids of those that must be over before it", after
            )
        pairs = {}
        for job, befores in after.items():
            several = isinstance(befores, Iterable) and not isinstance(befores, str)
            pairs[job] = [(before, when) for before in (befores if several else [befores])]
        return self._with_after(pairs, "with_dependencies")

    def with_dag(self, graph: nx.DiGraph) -> Workload:
        """Return the workload with the dependencies of a directed graph of job ids.

        An edge leads from a job to one that waits for it.

        Replaces what the jobs of the graph waited for. An edge's attribute ``when`` is as in :meth:`with_dependencies`.
        Raises InputError for what is no graph, or one whose edges have no direction.
        """
        if not (hasattr(graph, "is_directed") and graph.is_directed()):
            expected = "a directed graph, in which an edge leads from a job to one that waits for it"
            raise InputError("with_dag", expected, f"a {type(graph).__name__}")
        pairs = {
            job: [
                (before, edge.get("when", "completed"))
                for before, _, edge in graph.in_edges(job, data=True)
                if "when" in edge or "think_time" not in edge  # an edge of dependencies() that is in other columns
            ]
            for job in graph
        }
        return self._with_after(pairs, "with_dag")

    def _with_after(self, pairs: Mapping[Any, Iterable[tuple[Any, When]]], source: str) -> Workload:
        columns = self._arrays()
        columns["after"] = after_texts(columns, pairs, source)
        check_after(columns, lambda row, column: f"{source}, job {columns['job_id'][row]}")
        if self.think_times:
            check_think_times(columns, source)
        return self._with(columns)

    def dependencies(self) -> nx.DiGraph:
        """Return a directed graph of job ids, with an edge from each job to every job that waits for it.

        Edges have the attribute ``when`` ("completed" or "over") or, in a workload with think times, ``think_time`` (s).
        """
        return dependency_graph(as_columns(self.jobs), self.think_times)

    # -----------------------------------------------------------------------------------------------------------------

    def _with(self, columns: Columns, origin_s: float | None = None) -> Workload:
        """Return this workload with other columns, which are known to be good."""
        other = object.__new__(Workload)
        other.__dict__.update(self.__dict__)
        for made in _MADE_LATER:
            other.__dict__.pop(made, None)  # of the jobs as they were, if a run has asked for it
        other._table = columns
        other.origin_s = self.origin_s if origin_s is None else origin_s
        return other


WORKLOAD_GENERATORS: Registry[Workload] = Registry("workload generator", "cluster_sim.workloads")
"""Generators by name, for ``Workload.read("name:key=value")`` and the command line."""
for _name, _function, _meaning in (
    ("lublin", "lublin", "Rigid parallel jobs with a daily cycle, after Lublin and Feitelson (2003)."),
    (
        "lopez-mixed",
        "lopez_mixed",
        "The training workload of López (2023), Experiment 4: jobs of 8 tasks of all six profiles of Table 4.16.",
    ),
    (
        "npb",
        "npb",
        "A batch as those of Herrera et al. (2021): sequential jobs, each one of seven NAS parallel benchmarks at random.",
    ),
    (
        "cruz",
        "cruz",
        "Jobs like those of Cruz (2023), Tables 5.1 and 5.2: three intensities, 2 or 4 tasks, submitted soon after each other.",
    ),
):
    WORKLOAD_GENERATORS.register_later(_name, "cluster_sim.workload.generators", _function, _meaning)
