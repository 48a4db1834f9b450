"""Jobs as schedulers see them, and what can become of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from cluster_sim.errors import InputError
from cluster_sim.read_only import ReadOnlyDict
from cluster_sim.spelling import Guess
from cluster_sim.workload.speedup import time_ratio

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

T = TypeVar("T")


def any_asks(columns: Mapping[str, Any], *names: str) -> bool:
    """Return whether any job asks for something in one of these columns: a number above 0, or a text."""
    for name in names:
        column = columns.get(name)
        if column is not None and (column > 0 if column.dtype.kind in "biuf" else column != "").any():
            return True
    return False


class JobState(StrEnum):
    """What became of a job by the end of the run."""

    COMPLETED = "completed"
    KILLED = "killed"
    REJECTED = "rejected"
    UNFINISHED = "unfinished"


_OF_RUN_TIMES = "requested_time: how long a job will run only a clairvoyant policy sees, in view.run_time(job)"


def _column(name: str, kind: Callable[[Any], T], meaning: str) -> T:
    """Make the property that reads a column of the workload in the job's row."""

    def read(job: Job) -> T:
        return kind(job._columns[name].item(job.index))

    return cast(T, property(read, doc=meaning))


class Job:
    """A job as its user submitted it: requests only, never how long it will really run.

    The attributes are the columns of the job schema (``cluster_sim.workload.fields``); those that every scheduler reads are
    kept here, the others are looked up in the workload's columns.
    """

    __slots__ = ("_columns", "index", "job_id", "requested_cores", "requested_time", "submit_time")

    _columns: dict[str, npt.NDArray[Any]]
    index: int  #: Position in the workload.
    job_id: str  #: The input's own id, as text.
    submit_time: float  #: s on the run's clock.
    requested_cores: int  #: One task each.
    requested_time: float  #: s of wall-clock; inf when none was given.

    cores = Guess("requested_cores")
    walltime, time_limit = Guess("requested_time"), Guess("requested_time")
    runtime, run_time, recorded_run_time, duration = (Guess(_OF_RUN_TIMES) for _ in range(4))

    nodes = _column("nodes", int, "Requested number of nodes; 0 leaves it to the width rule.")
    ntasks_per_node = _column("ntasks_per_node", int, "Requested tasks on each node; 0 leaves it to the width rule.")
    mem_vol = _column("mem_vol", float, "Memory volume that each task moves over the whole task, MB.")
    memory = _column("memory", float, "Memory that each task occupies, MB.")
    req_energy = _column("req_energy", float, "Requested energy per task, J; nan when not given.")
    max_energy = _column(
        "max_energy", float, "Most energy that it may be estimated to need on a node, J; inf: not given."
    )
    deadline = _column("deadline", float, "When it should have finished, s on the run's clock; inf when not given.")
    priority = _column("priority", float, "A higher one goes first, for the schedulers that look at it.")
    malleable = _column("malleable", bool, "Whether the number of the job's cores may change while it runs.")
    profile = _column("profile", str, "Name of the job's profile.")
    user = _column("user", str, "Who submitted the job.")
    queue = _column("queue", int, "Number of the job's queue; -1 when not given.")
    partition = _column("partition", str, 'Name or number of its partition; "-1" or empty when it does not say.')
    qos = _column("qos", str, "Quality of service that the job was submitted with.")
    account = _column("account", str, "Account that the job is charged to.")
    licenses = _column("licenses", str, "Licences that it holds while it runs, ``name:count,name:count``.")
    array_limit = _column("array_limit", int, "Tasks of its array (of ``7_1``: ``7_…``) that may run at once; 0: all.")
    gpus = _column("gpus", int, "GPUs that the job needs, on all its nodes together.")
    gpus_per_node = _column("gpus_per_node", int, "GPUs that the job needs on each of its nodes.")
    gpus_per_task = _column("gpus_per_task", int, "GPUs that the job needs for each of its tasks.")
    gpu_type = _column("gpu_type", str, "Type of these GPUs, several joined by ``|``; empty: any.")
    gpu_share = _column("gpu_share", float, "Share of each of its GPUs that the job takes.")
    resources = _column("resources", str, "Other units that it needs on each of its nodes, ``fpga:2;disk:1``.")
    exclusive = _column("exclusive", bool, "Whether the job has its nodes for itself.")
    reservation = _column("reservation", str, "Name of the advance reservation that it runs in; empty when in none.")

    switches = _column("switches", int, "Most leaf switches that the job's nodes may hang on; 0: any number.")
    switch_wait = _column("switch_wait", float, "s from submission after which any switches will do; inf: none.")

    def __init__(
        self,
        columns: dict[str, npt.NDArray[Any]],
        index: int,
        job_id: str,
        submit_time: float,
        requested_cores: int,
        requested_time: float,
    ):
        _set_columns(self, columns)
        _set_index(self, index)
        _set_id(self, job_id)
        _set_submit_time(self, submit_time)
        _set_cores(self, requested_cores)
        _set_time(self, requested_time)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Set an attribute, and tell the machine and the records, which keep what jobs ask for."""
        instead = "keep what you predict in a dictionary of your own, by job.index"
        raise InputError(f"job {self.job_id}, {name}", f"no assignment: jobs are read-only; {instead}")

    def __delattr__(self, name: str) -> NoReturn:
        self.__setattr__(name, None)

    def __reduce__(self) -> tuple[type[Job], tuple[Any, ...]]:
        fields = (self.index, self.job_id, self.submit_time, self.requested_cores, self.requested_time)
        return Job, (self._columns, *fields)

    def __lt__(self, other: Job) -> bool:
        """Compare by order of submission; a job that waits again ties with what it was before."""
        return self.index < other.index

    def _text(self, column: str) -> str:
        return str(self._columns[column][self.index])

    @property
    def is_shaped(self) -> bool:
        """Return whether the job names its nodes or its tasks on each; the width rule decides for all others."""
        columns, index = self._columns, self.index
        return bool(columns["nodes"].item(index) or columns["ntasks_per_node"].item(index))

    @property
    def min_cores(self) -> int:
        """Return the fewest cores that the job can run on, by default those requested (one on each node at least)."""
        fewest = int(self._columns["min_cores"].item(self.index)) or self.requested_cores
        return max(fewest, min(self.nodes, self.requested_cores))  # a task on each node that it insists on

    @property
    def max_cores(self) -> int:
        """Return the most cores that the job can run on; by default those requested."""
        return int(self._columns["max_cores"].item(self.index)) or self.requested_cores

    @property
    def in_parts(self) -> bool:
        """Return whether the job's work has parts; only between parts may the number of its cores change."""
        return self._text("parts") != ""

    @property
    def evolving(self) -> bool:
        """Return whether the job says itself on how many cores it asks to do some of its parts."""
        return "@" in self._text("parts")

    @property
    def checkpoints(self) -> bool:
        """Return whether the job makes checkpoints, from which it can go on when it is started again."""
        return self._text("checkpoint_interval") != ""

    def on_cores(self, cores: int) -> Job:
        """Return the job as asking for that many cores, and for the time that it would request on them.

        For placements of jobs that can run on other numbers of cores: ``view.place(job.on_cores(8))``.
        """
        if cores == self.requested_cores:
            return self
        return self.asking(cores, self.requested_time * time_ratio(self._text("speedup"), self.requested_cores, cores))

    def asking(self, cores: int, requested_time: float) -> Job:
        """Return the job as asking for so many cores and so long, s: for what is left of it, say."""
        return Job(self._columns, self.index, self.job_id, self.submit_time, cores, requested_time)

    @property
    def all_requests(self) -> Mapping[str, npt.NDArray[Any]]:
        """Return the columns of what the jobs of its workload request, of which this is one row."""
        return self._columns

    @property
    def tags(self) -> frozenset[str]:
        """Return the words that describe the job, for schedulers that look at them."""
        return frozenset(self._text("tags").split())

    @property
    def requires(self) -> frozenset[str]:
        """Return the tags that every node of the job must have."""
        return frozenset(self._text("requires").split())

    def __repr__(self) -> str:
        return f"<Job {self.job_id}: {self.requested_cores} cores for {self.requested_time:g} s>"


# The slots' own setters, which alone write to a job: once, when it is made.
_set_columns, _set_index, _set_id, _set_submit_time, _set_cores, _set_time = (
    vars(Job)[name].__set__
    for name in ("_columns", "index", "job_id", "submit_time", "requested_cores", "requested_time")
)


class JobColumns:
    """Many jobs at once, for functions written with numpy: the attributes of :class:`Job`, with one entry per job."""

    def __init__(self, one_of_them: Job, indices: npt.NDArray[np.int64]):
        self._columns = one_of_them._columns
        self._indices = indices

    @property
    def index(self) -> npt.NDArray[np.int64]:
        """Return the positions in the workload."""
        return self._indices

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        if name.startswith("_") or name not in self._columns:
            raise AttributeError(f"jobs have no column {name!r}")
        return self._columns[name][self._indices]


REQUEST_COLUMNS = (
    "job_id submit_time requested_cores requested_time nodes ntasks_per_node mem_vol memory req_energy max_energy "
    "deadline priority profile user group tags requires exclusive reservation switches switch_wait queue partition "
    "qos account licenses array_limit gpus gpus_per_node gpus_per_task gpu_type gpu_share resources "
    "min_cores max_cores malleable speedup parts checkpoint_interval checkpoint_time restart_time reconfiguration_time"
).split()
"""Columns of the workload that a scheduler may see: it does not see how much work a job really is."""


def request_columns(columns: dict[str, npt.NDArray[Any]]) -> ReadOnlyDict[npt.NDArray[np.generic]]:
    """Return the part of a workload's columns that schedulers may see."""
    return ReadOnlyDict((name, columns[name]) for name in REQUEST_COLUMNS if name in columns)


def requests(table: pd.DataFrame) -> list[Job]:
    """Return the jobs of a workload's table as schedulers see them, in its order."""
    columns = request_columns({str(name): table[name].to_numpy() for name in table.columns})
    rows = zip(*(columns[name].tolist() for name in REQUEST_COLUMNS[:4]), strict=True)
    return [
        Job(columns, index, job_id, submit_time, cores, requested_time)
        for index, (job_id, submit_time, cores, requested_time) in enumerate(rows)
    ]
